"""Sums over rows from which the diagnostics are computed, of rows or stored sums.

They are taken at the fit of all rows. Those of arrivals are added to those of history,
so that neither needs the other's rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import JudgeRows, count_rows
from skanchor._diagnostics._overlap import HistoricalFeatures
from skanchor._judges import JudgeCalibrator
from skanchor._model.dispersion import NO_DISPERSION
from skanchor._model.link import sigmoid
from skanchor._numerics.blocks import Blocks, bend
from skanchor._numerics.linalg import Columns
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums, local_gram, local_score
from skanchor._typing import Array
from skanchor.bias.protocol import LastStage, last_stage
from skanchor.sample import Sample

CHANGES = ("sensitivity", "position")
"""What may change on arrival rows, and the blocks of columns that tell."""


def tested_columns(n_items: int, n_span: int) -> Blocks:
    """Blocks of the local columns of a judge: what is fitted, and what is tested.

    ``items``, ``delta`` and ``order`` are fitted. ``sensitivity`` and ``position`` are
    changes on arrival rows, and ``curve`` is the curvature of the judge's scale; these
    are tested. ``span`` has the last stage of the bias learner.
    """
    return Blocks.of(
        items=n_items,
        delta=1,
        order=1,
        sensitivity=1,
        position=1,
        curve=1,
        span=n_span,
    )


@dataclass(frozen=True, eq=False, slots=True)
class FittedSource:
    """Sums over the rows of one source at the fit of all rows.

    Attributes
    ----------
    sums : SourceSums
        Information and score. The blocks of people are ``items`` and ``span``, those of
        a judge :func:`tested_columns`; the span is the last stage of the bias learner.
    ridge : ndarray of shape (n_stage,)
        Ridge penalty of the last stage: that of a row, times the historical weight.
    pull : ndarray of shape (n_stage,)
        What it pulls the coefficients by.
    rows : ndarray of shape (n_items,)
        Number of rows of each model.
    """

    sums: SourceSums
    ridge: Array
    pull: Array
    rows: Array

    @classmethod
    def of_arrays(
        cls, gram: Array, score: Array, ridge: Array, pull: Array, rows: Array
    ) -> Self:
        """Sums by their arrays alone: the widths tell the blocks."""
        n_items, n_span = len(rows), len(ridge)
        blocks = tested_columns(n_items, n_span)
        if len(score) < blocks.size:
            blocks = Blocks.of(items=n_items, span=n_span)
        return cls(SourceSums(blocks, information=gram, score=score), ridge, pull, rows)

    @property
    def gram(self) -> Array:
        """Information of the columns, of shape (n_columns, n_columns)."""
        assert self.sums.information is not None
        return self.sums.information

    @property
    def score(self) -> Array:
        """Their scores, of the residuals, of shape (n_columns,)."""
        assert self.sums.score is not None
        return self.sums.score

    def fitted(self, by_column: Array) -> Array:
        """Rows of an array by column, of the columns that are fitted.

        Parameters
        ----------
        by_column : ndarray of shape (n_columns, ...)
            By column of the sums.

        Returns
        -------
        ndarray of shape (n_items + 1 + n_span, ...)
            Of items, display order and span; zero for the order of people.
        """
        n, n_span = len(self.rows), len(self.ridge)
        items, span = by_column[:n], by_column[len(by_column) - n_span :]
        order = np.zeros((1, *by_column.shape[1:]))
        if len(by_column) > n + n_span:
            order = by_column[self.sums.blocks["order"]]
        return np.concatenate([items, order, span])

    def plus(self, late: FittedSource, places: NDArray[np.intp]) -> FittedSource:
        """Add sums of arrivals, among whose models these models have the ``places``."""
        sums = late.sums.copy()
        sums.gain(self.sums, places)
        return FittedSource(
            sums,
            self.ridge + late.ridge,
            self.pull + late.pull,
            late.rows + np.bincount(places, self.rows, len(late.rows)),
        )

    def scaled(self, factor: float) -> FittedSource:
        """The same sums, each row with so many times its weight."""
        return replace(
            self,
            sums=replace(
                self.sums,
                information=factor * self.gram,
                score=factor * self.score,
            ),
            ridge=factor * self.ridge,
            pull=factor * self.pull,
        )


@dataclass(frozen=True, eq=False, slots=True)
class FitSums:
    """Sums over all rows, at the fit of all rows.

    Attributes
    ----------
    sources : dict of int to FittedSource
        By judge, and people at ``PEOPLE``.
    n_human, n_judge : ndarray of shape (n_models,)
        Rows of each model.
    verdicts : ndarray of shape (n_models,)
        Weight of the historical judge rows of each model.
    spread_of_scores : float
        Sum over these of their weight times the squared score difference.
    noise : ndarray of shape (n_judges + 1,)
        Variance of the historical residuals of each source in that of independent
        votes, people last.
    features : tuple of HistoricalFeatures or None
        Of each judge, None where it has none; None where the rows are at hand.
    """

    sources: dict[int, FittedSource]
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]
    verdicts: Array
    spread_of_scores: float
    noise: Array
    features: tuple[HistoricalFeatures | None, ...] | None = None

    @classmethod
    def of(
        cls,
        sample: Sample,
        order: Array,
        calibrator: JudgeCalibrator,
        noise: Array,
        human_bias: Any = None,
    ) -> FitSums:
        """Sum rows.

        Parameters
        ----------
        sample : Sample
            Rows that carry everything the chain learned, outcomes and weights.
        order : ndarray of shape (n_rows,)
            Display order, whether or not the fit uses it.
        calibrator : JudgeCalibrator
            Fitted.
        noise : ndarray of shape (n_judges + 1,)
            Dispersion of each source, people last, by all historical rows.
        human_bias : learner, optional
            Fitted bias of people.

        Returns
        -------
        FitSums
        """
        X = sample.X
        noise = np.where(noise < NO_DISPERSION, 1.0, noise)
        eta = X.logits()
        sources = {PEOPLE: _people(sample, eta, human_bias)}
        for m, judge in enumerate(X.judges.tolist()):
            learner = calibrator.biases_.get(judge)
            sources[m] = _judge(sample, m, order, eta, learner)
        old = sample.counts & (X.judge >= 0) & ~X.involves_new
        weight = sample.weight[old]
        verdicts = np.zeros(len(X.models))
        for side in (X.left, X.right):
            verdicts += np.bincount(side[old], weight, minlength=len(X.models))
        apart = float(weight @ X.score_differences[old] ** 2)
        counts = count_rows(X, sample.weight, sample.multiplicity)
        return cls(sources, *counts, verdicts, apart, noise)

    def plus(self, late: FitSums, places: NDArray[np.intp]) -> FitSums:
        """Add the sums of arrivals; noise and features stay what they are.

        Parameters
        ----------
        late : FitSums
            Of the arrivals, by these models and new ones.
        places : ndarray of shape (n_models,)
            Index of each of these models among those of the arrivals.

        Returns
        -------
        FitSums
            By the models of the arrivals.
        """

        def added(name: str) -> NDArray[Any]:
            total = getattr(late, name).copy()
            total[places] += getattr(self, name)
            return np.asarray(total)

        return FitSums(
            {m: own.plus(late.sources[m], places) for m, own in self.sources.items()},
            added("n_human"),
            added("n_judge"),
            added("verdicts"),
            self.spread_of_scores + late.spread_of_scores,
            self.noise,
            self.features,
        )

    def __add__(self, other: FitSums) -> FitSums:
        """Sums of other historical rows of the same models, stored, too, are added."""
        total = self.plus(other, np.arange(len(self.verdicts)))
        if self.features is None or other.features is None:
            return total
        pairs = zip(self.features, other.features, strict=True)
        both = (one + more if one and more else one or more for one, more in pairs)
        return replace(total, features=tuple(both))

    def stored(self, sample: Sample) -> FitSums:
        """The same sums, with what is kept of the features of their rows.

        Parameters
        ----------
        sample : Sample
            The rows, all historical.

        Returns
        -------
        FitSums
        """
        X = sample.X
        used = sample.counts & np.isfinite(X.logits())
        found = (
            HistoricalFeatures.of(sample, m, used[X.by_judge(m).rows])
            for m in range(len(X.judges))
        )
        thin = tuple(None if one is None else one.thinned() for one in found)
        return replace(self, features=thin)


def _people(sample: Sample, eta: Array, bias: Any) -> FittedSource:
    """Sum over the human rows with logits ``eta``, NaN where not used."""
    cut = sample.X.by_judge(PEOPLE)
    used, residual, curvature = _of_rows(sample, cut.rows, eta)
    weight = np.where(used, sample.weight[cut.rows], 0.0)
    stage = None
    if bias is not None:
        stage = last_stage(bias, cut.pairs, weight)
    tested = np.empty((len(cut), 0))
    rows = _rows_of_models(sample, PEOPLE, used)
    return _summed(cut, tested, residual, curvature, stage, weight, rows)


def _judge(
    sample: Sample, m: int, order: Array, eta: Array, learner: Any
) -> FittedSource:
    """Sum over the rows of judge m."""
    X, cut = sample.X, sample.X.by_judge(m)
    used, residual, curvature = _of_rows(sample, cut.rows, eta)
    arrival = cut.involves(X.is_new)
    delta = np.where(used, X.score_differences.take(cut.rows), 0.0)
    assert X.sensitivities is not None
    shown = np.where(arrival & used, order.take(cut.rows), 0.0)
    turned = np.where(np.append(X.is_new, False)[cut.left], shown, -shown)
    if not (turned > 0).any() or not (turned < 0).any():
        # A side shown first throughout is the score of who is shown there.
        shown = np.zeros(len(cut))
    slope = X.sensitivities[m]
    tested = [slope * arrival * delta, shown, slope * bend(delta)]
    known = np.where(arrival | ~used, 0.0, sample.weight.take(cut.rows))
    # Arrivals change nothing of the penalty.
    stage = last_stage(
        learner, cut.pairs, known if known.any() else np.ones(len(known))
    )
    columns = np.column_stack([delta, cut.order, *tested])
    rows = _rows_of_models(sample, m, used)
    return _summed(cut, columns, residual, curvature, stage, known, rows)


def _summed(
    cut: JudgeRows,
    columns: Array,
    residual: Array,
    curvature: Array,
    stage: LastStage | None,
    weight: Array,
    rows: Array,
) -> FittedSource:
    """Sum over rows by item, by these columns and by those of the last stage.

    ``weight`` is that of the rows by which the penalty of the stage counts.
    """
    blocks, ridge, pull = [columns], np.empty(0), np.empty(0)
    if stage is not None:
        blocks.append(stage.columns)
        ridge = weight.sum() * stage.ridge
        pull = ridge * stage.coef
    extra = Columns(*blocks)
    gram = local_gram(cut, extra, curvature)
    score = local_score(cut, extra, residual)
    return FittedSource.of_arrays(gram, score, ridge, pull, rows)


def _of_rows(
    sample: Sample, rows: NDArray[np.intp], eta: Array
) -> tuple[NDArray[np.bool_], Array, Array]:
    """Which of some rows are used, their weighted residuals and curvatures."""
    logits, weight = eta.take(rows), sample.weight.take(rows)
    # Rows of a source are usable.
    used = (weight > 0) & np.isfinite(logits)
    weight = np.where(used, weight, 0.0)
    p = sigmoid(np.where(used, logits, 0.0))
    return used, weight * (sample.y.take(rows) - p), weight * p * (1.0 - p)


def _rows_of_models(sample: Sample, m: int, used: NDArray[np.bool_]) -> Array:
    cut, size = sample.X.by_judge(m), len(sample.X.models)
    times = sample.multiplicity_of(cut.rows)
    number = used if times is None else used * times
    return np.asarray(
        np.bincount(cut.left, number, size) + np.bincount(cut.right, number, size)
    )
