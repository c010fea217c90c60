"""Information and influence of rows at fixed nuisances, from rows or stored sums.

Both kinds of evidence give the information of the training rows and the influence of
the held-out rows, source by source, so that the Riesz system reads them alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import JudgeRows
from skanchor._numerics.blocks import Blocks, fitted_columns, item_columns
from skanchor._numerics.group_products import group_products
from skanchor._numerics.groups import ColumnTotals
from skanchor._numerics.linalg import Columns
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums, information_weights
from skanchor._numerics.system import RieszSystem
from skanchor._riesz._influence import InfluenceSums
from skanchor._riesz._learners import NO_BIAS, WeightLearner
from skanchor._riesz._rows import (
    check_finite,
    row_influence,
    row_residuals,
    source_weights,
)
from skanchor._typing import Array
from skanchor.sample import Sample

_STEP = 4096
"""Rows of a step in sums over influence values."""

_MODELS, _ROWS_PER_MODEL = 40, 4
"""Models, and rows of a source by model, from which a product of its sums by pair of
models is less work than that of all influence values."""

_CELLS = 1 << 22
"""Influence values that are held at a time."""


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """Evidence of rows that are at hand.

    Attributes
    ----------
    sample : Sample
        Rows that carry the plug-in, with the weights of all.
    curvature : ndarray of shape (n_rows,)
        Training weight times the variance of the outcome.
    held_out : ndarray of shape (n_held_out,)
        Row numbers.
    """

    sample: Sample
    curvature: Array
    held_out: NDArray[np.intp]

    @classmethod
    def of(
        cls, sample: Sample, training: Array, held_out: NDArray[np.intp] | None = None
    ) -> Self:
        """Evidence of rows with these ``training`` weights."""
        eta = sample.X.logits()
        known = sample.X.is_usable & np.isfinite(eta)
        curvature = information_weights(sigmoid(eta), training)
        if not known.all():
            curvature[~known] = 0.0
        if held_out is None:
            held_out = np.arange(0)
        return cls(sample, curvature, held_out)

    @classmethod
    def held(cls, sample: Sample, rows: NDArray[np.intp]) -> Self:
        """Evidence of rows held out alone."""
        return cls(sample, np.zeros(len(sample)), rows)

    def information(self, m: int, learner: WeightLearner) -> SourceSums | None:
        """Information of a source's training rows; None where there are none."""
        cut = self.sample.X.by_judge(m)
        curvature = self.curvature.take(cut.rows)
        if m != PEOPLE and not curvature.any():
            return None
        blocks, columns = self._columns(m, cut, learner)
        times = self.sample.multiplicity_of(cut.rows)
        return SourceSums.of_information(blocks, cut, columns, curvature, times)

    def influence(self, system: RieszSystem) -> InfluenceSums:
        """Sums over the influence of the rows held out, few rows at a time."""
        if self.sample.is_grouped:
            # Groups connect rows of several sources, so sources are not summed apart.
            parts = self._steps(self.held_out)
            found = [self._influence(system, part) for part in parts]
        else:
            residual = self._residuals()
            sources = range(PEOPLE, len(self.sample.X.judges))
            found = [self._of_source(m, system, residual) for m in sources]
        return reduce(add, found)

    def _of_source(self, m: int, system: RieszSystem, residual: Array) -> InfluenceSums:
        """Sums over the influence of the rows held out of one source."""
        X, human = self.sample.X, m == PEOPLE
        chosen = np.flatnonzero(residual.take(X.by_judge(m).rows))
        rows = X.by_judge(m).rows[chosen]
        size, times = residual.take(rows), self.sample.multiplicity_of(rows)
        # With many models, and weights linear in columns, the products are cheaper by
        # the sums of the source; only the largest value then needs the rows.
        learner, n_models = _weight_learner(system, m), len(X.models)
        many = n_models >= _MODELS and len(chosen) > _ROWS_PER_MODEL * n_models
        if not many or learner is None:
            return reduce(
                add,
                (
                    InfluenceSums.of_rows(
                        self._of_places(m, system, chosen[part], size[part]),
                        human=human,
                        multiplicity=None if times is None else times[part],
                    )
                    for part in self._steps(np.arange(len(chosen)))
                ),
            )
        size = np.abs(size) if times is None else np.abs(size) / times
        if not X.features_left.shape[1]:
            # Rows that agree in all but the outcome have one weight. Those of a pair
            # follow each other.
            starts = np.flatnonzero(np.diff(X.rows.alike.kind.take(rows), prepend=-1))
            chosen, size = chosen[starts], np.maximum.reduceat(size, starts)
        largest = np.zeros(n_models)
        for part in self._steps(np.arange(len(chosen))):
            values = self._of_places(m, system, chosen[part], size[part])
            np.abs(values, out=values)
            np.maximum(largest, values.max(axis=0), out=largest)
        sums = self._residual_sums(m, learner, residual)
        return InfluenceSums.of_source(
            sums, system.all_columns(m), largest, human=human
        )

    def _of_places(
        self,
        m: int,
        system: RieszSystem,
        places: NDArray[np.intp],
        residual: Array,
    ) -> Array:
        """Influence of rows with these residuals in some places among a source's."""
        X = self.sample.X
        values = source_weights(system, X, m, places)
        values *= residual[:, None]
        check_finite(values, X.by_judge(m).rows[places])
        return values

    def _steps(self, rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Parts of which all influence values may be held; at least one."""
        step = max(_STEP, _CELLS // len(self.sample.X.models))
        starts = range(0, max(len(rows), 1), step)
        return [rows[start : start + step] for start in starts]

    def _residuals(self) -> Array:
        """Weight times outcome minus probability of the rows held out, else zero."""
        sample, held = self.sample, self.held_out
        result = np.zeros(len(sample))
        result[held] = sample.weight.take(held) * row_residuals(
            sample.X, sample.y, held
        )
        return result

    def _influence(
        self,
        system: RieszSystem,
        rows: NDArray[np.intp],
    ) -> InfluenceSums:
        values = self.influence_values(system, rows)
        return InfluenceSums.of(
            values,
            self.sample.X.is_human[rows],
            self.sample.membership(rows),
            self.sample.multiplicity_of(rows),
        )

    def influence_values(
        self,
        system: RieszSystem,
        rows: NDArray[np.intp],
    ) -> Array:
        """Weight, Riesz weight and residual of some rows, multiplied.

        Parameters
        ----------
        system : RieszSystem
            Solved.
        rows : ndarray of shape (n_chosen,)
            Row numbers.

        Returns
        -------
        ndarray of shape (n_chosen, n_models)
        """
        sample = self.sample
        values = row_influence(system, sample.X, sample.y, rows)
        check_finite(values, rows)
        values *= sample.weight[rows, None]
        return values

    def training_sums(self, learners: Sequence[WeightLearner]) -> dict[int, SourceSums]:
        """Information of the training rows, by source that has some.

        Parameters
        ----------
        learners : sequence of WeightLearner
            By judge; all with a span.

        Returns
        -------
        dict of int to SourceSums
        """
        found = {m: self.information(m, own) for m, own in _with_people(learners)}
        return {m: sums for m, sums in found.items() if sums is not None}

    def held_out_sums(self, learners: Sequence[WeightLearner]) -> dict[int, SourceSums]:
        """Sums over the residuals of the rows held out, by source.

        Parameters
        ----------
        learners : sequence of WeightLearner
            By judge; all with a span.

        Returns
        -------
        dict of int to SourceSums
        """
        residual = self._residuals()
        return {
            m: self._residual_sums(m, own, residual)
            for m, own in _with_people(learners)
        }

    def _residual_sums(
        self, m: int, learner: WeightLearner, residual: Array
    ) -> SourceSums:
        """Sums over the residuals of a source by its local columns."""
        cut = self.sample.X.by_judge(m)
        blocks, columns = self._columns(m, cut, learner)
        # Rows that were not held out have none, and belong to no group here.
        groups = self.sample.membership(cut.rows)
        times = self.sample.multiplicity_of(cut.rows)
        return SourceSums.of_residuals(
            blocks, cut, columns, residual.take(cut.rows), groups, times
        )

    def _columns(
        self, m: int, cut: JudgeRows, learner: WeightLearner
    ) -> tuple[Blocks, Columns]:
        """Blocks of a source's columns, and its columns beside those of the items."""
        if m == PEOPLE and learner.learner is None:
            return item_columns(cut.n_models), Columns(np.empty((len(cut), 0)))
        assert self.sample.X.scores is not None
        # Columns: items, score difference, display order, then the span of the bias.
        delta = cut.differences(self.sample.X.scores)
        # NaN where a model has no score; such rows have no curvature and no residual.
        delta = np.where(np.isfinite(delta), delta, 0.0)
        span = np.empty((len(cut), 0))
        if learner.learner is not None:
            span = np.asarray(learner.learner.span(cut.pairs))
        columns = Columns(delta[:, None], cut.order[:, None], span)
        return fitted_columns(cut.n_models, span.shape[1]), columns


@dataclass(frozen=True, eq=False)
class SplitSums:
    """Evidence of rows that are not at hand, by stored sums of them.

    Attributes
    ----------
    training : dict of int to SourceSums
        Information of the training rows, by source: judge, or ``PEOPLE``. Without
        judges that have none.
    held_out : dict of int to SourceSums
        Residuals of the rows held out, by source.
    known_products : ndarray or None
        The ``products``, where they are known.
    """

    training: dict[int, SourceSums]
    held_out: dict[int, SourceSums]
    known_products: Array | None = None

    @property
    def by_group(self) -> list[ColumnTotals]:
        """Residuals of the rows held out by group and source, people first."""
        found = [self.held_out[m].by_group for m in sorted(self.held_out)]
        return [one for one in found if one is not None]

    @cached_property
    def products(self) -> Array | None:
        """Summed products of the sums of each group, by the columns of all sources.

        None without groups, or where there are too few to be worth it.
        """
        if self.known_products is not None:
            return self.known_products
        return group_products(self.by_group) if self.by_group else None

    def information(self, m: int, learner: WeightLearner) -> SourceSums | None:
        """Information of a source's training rows; None where there are none."""
        return self.training.get(m)

    def influence(self, system: RieszSystem) -> InfluenceSums:
        """Sums over the influence of the rows held out."""
        return reduce(
            add,
            (
                InfluenceSums.of_source(known, system.all_columns(m), human=m == PEOPLE)
                for m, known in self.held_out.items()
            ),
        )

    def __add__(self, other: SplitSums) -> SplitSums:
        return SplitSums(
            _added(self.training, other.training),
            _added(self.held_out, other.held_out),
        )

    def embed(self, places: NDArray[np.intp], n_items: int) -> SplitSums:
        """The same sums among more items, of which these have the ``places``."""
        return SplitSums(
            {m: s.embed(places, n_items) for m, s in self.training.items()},
            {m: s.embed(places, n_items) for m, s in self.held_out.items()},
        )


Evidence = RowEvidence | SplitSums
"""Training rows and rows held out: of history, of arrivals, or of both."""


def _weight_learner(system: RieszSystem, m: int) -> WeightLearner | None:
    """Learner of a source's weights; None where they are not linear in columns."""
    projection = system.projection(m)
    if projection is None:
        return None
    learner = WeightLearner(projection.learner)
    is_linear = projection.learner is None or projection.coef is not None
    return learner if is_linear else None


def _with_people(
    learners: Sequence[WeightLearner],
) -> list[tuple[int, WeightLearner]]:
    """People, whose weights are linear in the items alone, and each judge."""
    return [(PEOPLE, NO_BIAS), *enumerate(learners)]


def _added(
    one: dict[int, SourceSums], other: dict[int, SourceSums]
) -> dict[int, SourceSums]:
    total = dict(one)
    for m, sums in other.items():
        total[m] = total[m] + sums if m in total else sums
    return total
