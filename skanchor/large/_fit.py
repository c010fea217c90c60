"""The fit of all rows from sums: passes about points near it, then one for folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._crossfit import item_effects as treatments
from skanchor._crossfit.fits import FullFit
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.item_test import ItemTest, JudgeSums, item_test
from skanchor._crossfit.stages import fit_stages
from skanchor._crossfit.state import HeldOut, StoredFits
from skanchor._diagnostics.collect import ItemCheck
from skanchor._diagnostics.sums import FitSums
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import Fit
from skanchor._model.newton import FitOfAllRows, Step, grams_of
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows, spans_of
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.history import HistoryState, check_linear
from skanchor.large._dataset import Batch, Passes, Reader
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import warn

MOST_PASSES = 8
"""Most passes about points."""

NEAR = 1.0
"""Squared distance of a fit from the point of its sums, in squared standard errors, at
which the sums stand for the rows. What they miss is of its order, divided by the root
of the number of rows."""


@dataclass(frozen=True, eq=False)
class ExpandedRows:
    """Quadratic expansion of the loss of historical rows about their coefficients.

    The logit of a row is linear in the coefficients of the local columns, so that the
    chain rule from there to the parameters, and with it the product of sensitivity and
    score, stays exact. Rows are summed in blocks, those that one fold holds out. Blocks
    take the place of rows, and are weighed as rows are.

    Attributes
    ----------
    source : int
        ``PEOPLE``, or the code of the judge.
    at : ndarray of shape (n_columns,)
        Coefficients of the local columns at the point.
    gram : ndarray of shape (n_blocks, n_columns, n_columns)
        Information of the rows of each block there.
    score : ndarray of shape (n_blocks, n_columns)
        Their scores.
    total : ndarray of shape (n_blocks,)
        Their summed weights.
    weight : ndarray of shape (n_blocks,)
        Weights of the blocks.
    """

    source: int
    at: Array
    gram: Array
    score: Array
    total: Array
    weight: Array

    is_new = False

    @classmethod
    def of(
        cls, rows: SourceRows, at: Array, block: NDArray[np.integer], n_blocks: int
    ) -> Self:
        """Sum historical rows of one source about a point, by the block of each."""
        size, parts = len(at), rows.in_blocks(block, n_blocks)
        gram, score = np.zeros((n_blocks, size, size)), np.zeros((n_blocks, size))
        for number, part in enumerate(parts):
            p = sigmoid(part.logits(at))
            gram[number] = part.information(part.weight, p)
            score[number] = part.sums(part.weight * (part.y - p))
        total = np.array([part.weight.sum() for part in parts])
        return cls(rows.source, at, gram, score, total, np.ones(n_blocks))

    def __add__(self, other: ExpandedRows) -> ExpandedRows:
        sums = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("gram", "score", "total")
        }
        return replace(self, **sums)

    def training(self, number: int) -> Array:
        """Weights of all blocks but one, which then stand for all rows."""
        left = self.total.sum() - self.total[number]
        if not left > 0.0:
            raise ValueError(
                f"Fold {number}: a training set keeps no row of people, or of a judge; "
                "use fewer folds or add rows."
            )
        weight = np.full(len(self.total), self.total.sum() / left)
        weight[number] = 0.0
        return weight

    def distance(self, coefficients: Array) -> float:
        """Squared distance from the point, in squared standard errors of all rows."""
        moved = coefficients - self.at
        return float(moved @ self.gram.sum(axis=0) @ moved)

    # ------------------------------------------------- as :class:`SourceRows` has them
    @property
    def cells(self) -> ExpandedRows:
        """Blocks are never equal."""
        return self

    def by_cell(self, values: Array) -> Array:
        """Values of the blocks."""
        return values

    def logits(self, coefficients: Array) -> Array:
        """Distance from the point, on which all that follows depends."""
        return np.asarray(coefficients - self.at)

    def loss(self, weight: Array, logits: Array) -> float:
        """Loss less that at the point."""
        by_block = self.gram @ logits @ logits / 2.0 - self.score @ logits
        return float(weight @ by_block)

    def slope(self, weight: Array, logits: Array) -> Array:
        """Derivative of the loss by the coefficients, (n_columns,)."""
        return np.asarray(weight @ (self.gram @ logits - self.score))

    def curvature(self, weight: Array, logits: Array) -> Array:
        """Second derivative of the loss, (n_columns, n_columns)."""
        return np.tensordot(weight, self.gram, axes=1)

    information = curvature


# ------------------------------------------------------------------ tasks of the passes
def _sources(
    reader: Reader, batch: Batch, calibrator: JudgeCalibrator
) -> list[SourceRows]:
    """Rows of a batch by source; rows of a group have its code."""
    sample = batch.sample
    fitted = sample.with_battles(calibrator.with_fitted_orders(sample.X))
    learners = [None, *map(calibrator.biases_.get, sample.X.judges.tolist())]
    parts = source_rows(fitted, spans_of(learners, fitted))
    if reader.is_grouped:
        parts = [replace(rows, group=batch.unit[rows.rows]) for rows in parts]
    return parts


def all_rows(
    reader: Reader,
    batch: Batch,
    calibrator: JudgeCalibrator,
    points: Mapping[str, list[Array]],
) -> dict[Any, Any]:
    """Sums about points, which are local coefficients by source.

    Those about ``"full"`` have a block for each fold of each repeat, those about
    ``"two-step"`` are the sums of the test for item effects.
    """
    totals: dict[Any, Any] = {}
    folds_of_rows = reader.folds(batch.unit)
    for rows in _sources(reader, batch, calibrator):
        source = rows.source
        for repeat, block in enumerate(folds_of_rows[:, rows.rows]):
            sums = ExpandedRows.of(rows, points["full"][source], block, reader.n_splits)
            totals["full", repeat, source] = sums
        if "two-step" in points and source:
            p = sigmoid(rows.logits(points["two-step"][source]))
            totals["test", 0, source] = JudgeSums.of(rows, p, 1.0)
    return totals


def folds(
    reader: Reader,
    batch: Batch,
    calibrator: JudgeCalibrator,
    fits: list[Fit],
    full: Fit,
    noise: Array,
) -> dict[Any, Any]:
    """Sums of the rows that each fold holds out at its fit, and for diagnostics.

    ``full`` is the fit of all rows, with the judges of ``calibrator``, and ``noise``
    the dispersion of each source.
    """
    sample, sources = batch.sample, _sources(reader, batch, calibrator)
    plan, n = reader.folds(batch.unit), reader.n_splits
    sums = FitSums.of(full, sources, sample.X.order, noise)
    totals: dict[Any, Any] = {"sums": sums.stored(sample)}
    for repeat, of_rows in enumerate(plan):
        tests = [rows.in_blocks(of_rows[rows.rows], n) for rows in sources]
        for number, test in enumerate(zip(*tests, strict=True), start=repeat * n):
            one = HeldOut.of(fits[number], test, is_grouped=reader.is_grouped)
            totals["test", number] = one
    return {**totals, "plan": [np.where(sample.counts, plan, -1).astype(np.int16)]}


# ---------------------------------------------------------------------------- all rows
def fit_rows(
    settings: AnchorPipeline,
    drawn: Sample,
    cells: Sample,
    reader: Reader,
    passes: Passes,
    fingerprints: Mapping[Any, str],
) -> tuple[HistoryState, list[FoldPlan]]:
    """Fit a sample, pass over all rows, and put the state of a history together.

    Parameters
    ----------
    settings : AnchorPipeline
        Unfitted.
    drawn : Sample
        Verdicts, each standing for several, and all votes.
    cells : Sample
        All rows without features and groups, with their numbers.
    reader, passes
        The data set.
    fingerprints : mapping
        Fingerprint by judge.

    Returns
    -------
    state : HistoryState
    plans : list of FoldPlan
    """
    board, admitted = settings.admitted(replace(drawn, groups=None))
    stages, X = settings.stages(), admitted.X
    admitted = replace(admitted, groups=drawn.groups)
    full = FullFit.of(stages, admitted, fit_stages(stages, admitted), None)
    check_linear(full)
    reader = replace(reader, models=X.models, judges=X.judges)
    plug_in, sources, of_state = _newton(settings, full, reader, passes)
    noise = _dispersions(full, plug_in, without_items=True)
    debiaser, trained = full.chain.debiaser, []
    assert debiaser is not None
    for of_repeat in sources:
        steps = _steps(full, plug_in)
        start = FitOfAllRows.of(plug_in.fit, steps, of_repeat, plug_in.bounds)
        start = replace(start, prior=debiaser.weighing_.prior(plug_in.fit))
        sampled = full.chain.fit.sources
        here = [
            rows.information(rows.weight, start.fit.probabilities(rows))
            for rows in sampled
        ]
        for number in range(reader.n_splits):
            weights = [rows.training(number) for rows in of_repeat]
            fit = start.refitted(weights).fit
            grams = dict(grams_of(fit, of_repeat, weights))
            # Of the sums, information is that at the point. The variances of outcomes
            # differ by one part in the root of the number of rows, which the sampled
            # rows that stand for all show well enough.
            for rows, at_point in zip(sampled, here, strict=True):
                there = rows.information(rows.weight, fit.probabilities(rows))
                grams[rows.source] += there - at_point
            trained.append((fit, grams))
    calibrator, fits = plug_in.calibrated(), [fit for fit, _ in trained]
    totals = passes.run(folds, reader, calibrator, fits, start.fit, noise)
    tests = [totals.pop(("test", number)) for number in range(len(trained))]
    state = HistoryState.assembled(
        replace(full.chain, calibrator=calibrator),
        cells.with_battles(cells.X.relabel(X.models, X.judges)),
        board.X.models,
        of_state.pop("check"),
        fits=StoredFits.of(start, trained, tests, is_grouped=reader.is_grouped),
        sums=totals["sums"],
        repeats=(reader.n_splits,) * reader.n_repeats,
        fingerprints=tuple(fingerprints.items()),
        **of_state,
    )
    plans = np.concatenate(totals["plan"], axis=1)
    return state, [FoldPlan(plan, reader.n_splits) for plan in plans]


def _newton(
    settings: AnchorPipeline, full: FullFit, reader: Reader, passes: Passes
) -> tuple[PipelineFit, list[list[Any]], dict[str, Any]]:
    """Newton's method over all rows from the fit of a sample, one pass for each step.

    Returns
    -------
    plug_in : PipelineFit
        Fit of all rows.
    sources : list of list of ExpandedRows
        Of each repeat, sums of all rows in the place of rows, about a point near.
    of_state : dict
        Covariance of the item effects, the test for them, and what becomes of them,
        by attribute of :class:`skanchor.history.HistoryState`.
    """
    plugged, plug_in, X = full.plugged, full.chain.fit, full.chain.X
    two_step = plugged.two_step if plugged.is_joint else plugged
    prior, test = treatments.read_prior(settings.item_prior), ItemTest()
    two = None
    if two_step is not None:
        two = two_step.fit
        error = treatments.score_error_of(two_step.btl, X.models)
        # All votes are in the sample: their step has been made.
        step = two.steps(is_joint=False)[1:2]
    for _ in range(MOST_PASSES):
        points, far = {"full": plug_in.coefficients()}, 0.0
        if two is not None:
            points["two-step"] = two.coefficients()
        totals = passes.run(all_rows, reader, plugged.calibrator, points)
        sources = [_about_fit(totals, k) for k in range(reader.n_repeats)]
        if two is not None:
            noise = _dispersions(full, two, without_items=False)
            judges = {
                m: replace(sums, dispersion=float(noise[m - 1]))
                for (name, _, m), sums in totals.items()
                if name == "test"
            }
            test = item_test(two.fit, judges, error)
            at, one = points["two-step"], np.ones(1)
            about: list[Any] = [
                ExpandedRows(m, at[m], sums.gram[None], sums.score[None], one, one)
                for m, sums in ((m, judge.sums) for m, judge in judges.items())
            ]
            two = replace(two, sources=about).fitted(step)
            far = _distance(two)
        choice = treatments.choose_item_effects(settings.item_effects, X, test, prior)
        history, items = replace(full.chain.fit, sources=sources[0]), None
        if choice.item_effects == "random":
            noise = _dispersions(full, plug_in, without_items=True)
            items = treatments.item_covariance_of(history, noise, prior)
            history = history.with_item_effects(items.covariance)
        plug_in = history.fitted(_steps(full, history))
        if max(_distance(plug_in), far) <= NEAR:
            break
    else:
        message = "The fit of the history did not converge."
        warn(ConvergenceWarning(message, code="history-not-converged"))
    if items is not None:
        treatments.warn_of_covariance(items, prior, len(X.models))
        items = items.for_judges(np.zeros(len(X.judges), dtype=bool))
    check = ItemCheck.of(test, X.judges.tolist())
    of_state = {"items": items, "check": check, "treatment": choice.item_effects}
    return plug_in, sources, of_state


def _about_fit(totals: Mapping[Any, Any], repeat: int) -> list[Any]:
    """Sums about the fit of all rows, by source."""
    return [one for key, one in totals.items() if key[:2] == ("full", repeat)]


def _steps(full: FullFit, plug_in: PipelineFit) -> list[Step]:
    """Minimisations of a fit to historical rows."""
    plugged = full.plugged
    return plug_in.steps(plugged.excluded_judges, is_joint=plugged.is_joint)


def _distance(plug_in: PipelineFit) -> float:
    """Squared distance from the point of its sums, in squared standard errors."""
    sums: Any = plug_in.sources
    return sum(one.distance(plug_in.fit.coefficients(one.source)) for one in sums)


def _dispersions(full: FullFit, plug_in: PipelineFit, *, without_items: bool) -> Array:
    """Dispersion of each source, by the sampled rows."""
    rows = full.chain.fit.sources
    if full.sample.groups is not None:
        # Rows of a group are drawn together: none stands for others of other groups.
        one = [np.ones(len(part)) for part in rows]
        pairs = zip(rows, one, strict=True)
        rows = [replace(part, weight=n, count=n) for part, n in pairs]
    return replace(plug_in, sources=rows).dispersions(without_items=without_items)
