"""Fits to many sets of row weights at once, by batched solvers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skanchor._btl import BTLRegressor
from skanchor._judges import POSITION_BOUND, JudgeCalibrator
from skanchor._numerics.batched import fit_judge, fit_scores_on_cells
from skanchor._refits._arrivals import JudgeFits
from skanchor._refits._cells import CellSums
from skanchor._refits._fits import BaseFits
from skanchor._refits._layout import Cut, Layout, columns_of
from skanchor._typing import Array
from skanchor.bias import LinearBias


class BatchedFits(BaseFits):
    """Many replicates, by batched solvers that start from the fit of all rows.

    Parameters
    ----------
    layout, weights, tol
        As in :class:`BaseFits`.
    shared : dict
        Fits that several methods share, filled on first use.
    fitted : estimator
        The method fitted on all rows, with its stages ``btl_`` and ``calibrator_``.

    Attributes
    ----------
    unsolved : ndarray of shape (n_replicates,)
        Replicates that a batched solver has left unsolved.
    """

    def __init__(
        self,
        layout: Layout,
        weights: Array,
        tol: float,
        shared: dict[Any, Any],
        fitted: Any,
    ):
        super().__init__(layout, weights, tol)
        self._shared_fits, self._fitted = shared, fitted
        self.unsolved = np.zeros(len(weights), dtype=bool)
        btl = getattr(fitted, "btl_", None) or BTLRegressor()
        self._bound, self._alpha = btl.score_bound, btl.alpha
        if id(fitted) not in layout.memo:
            # The start is the same for every block of replicates.
            models = layout.X.models
            layout.memo[id(fitted)] = (
                np.nan_to_num(btl.scores_for(models))
                if hasattr(btl, "scores_")
                else np.zeros(len(models)),
                np.median(np.atleast_2d(fitted.result_.estimates), axis=0),
            )
        self._human_start, self._start_scores = layout.memo[id(fitted)]

    @staticmethod
    def can_batch(fitted: Any) -> bool:
        """Whether the batched solvers know the method's stages."""
        calibrator = getattr(fitted, "calibrator_", None)
        if calibrator is None or not getattr(fitted, "uses_features", True):
            return True
        learners = calibrator.biases_.values()
        return all(
            type(learner) is LinearBias and learner.feature_map is None
            for learner in learners
        )

    def _shared(self, key: Any, make: Callable[[], tuple[Any, Any]]) -> Any:
        """Return a fit that methods share, and mark the replicates it left unsolved."""
        if key not in self._shared_fits:
            self._shared_fits[key] = make()
        result, solved = self._shared_fits[key]
        self.mark(solved)
        return result

    @cached_property
    def cells(self) -> CellSums:
        """Sums over alike rows, made once for all methods."""
        every = np.ones(len(self.weights), dtype=bool)
        return self._shared(
            "cells", lambda: (CellSums.of(self.layout, self.weights), every)
        )

    @property
    def _btl_key(self) -> tuple[Any, ...]:
        return ("human", self._alpha, self._bound)

    def human_scores(self) -> Array:
        """Scores of the historical models, zero for new ones; fitted once."""
        return self._shared(self._btl_key, self._human_scores)

    def _human_scores(self) -> tuple[Array, NDArray[np.bool_]]:
        # Votes summed by pair and display order, (n_replicates, n_cells), and the
        # columns of the incidence for the historical models alone.
        cells, size = self.cells.human, len(self.X.models)
        start = self._human_start[self.historical]
        found, solved = fit_scores_on_cells(
            cells.incidence[:, self.historical],
            cells.weight,
            cells.first,
            start,
            alpha=self._alpha,
            tol=self.tol,
        )
        scores = np.zeros((len(self.weights), size))
        scores[:, self.historical] = found
        return scores, solved & (np.abs(found).max(axis=1) < self._bound)

    def judges(self, *, features: bool = True, pooled: bool = False) -> JudgeFits:
        """Calibrate the judges, unless another method has done so."""
        fitted = self._fitted.calibrator_
        settings = tuple(
            tuple(np.ravel(learner.alpha if features else 0.0))
            for learner in fitted.biases_.values()
        )
        key = (
            *self._btl_key,
            features,
            pooled,
            settings,
            tuple(fitted.has_position_effect_),
            tuple(fitted.sensitivity_bounds),
        )
        if self.emphasis is None:
            return self._shared(
                key, lambda: self._judges(fitted, features, pooled, self.weights)
            )
        found, solved = self._judges(
            fitted, features, pooled, self.weights * self.emphasis
        )
        self.mark(solved)
        return found

    def _judges(
        self, fitted: JudgeCalibrator, features: bool, pooled: bool, weights: Array
    ) -> tuple[JudgeFits, NDArray[np.bool_]]:
        X, rows, scores = self.X, self.layout.arrival_rows, self.human_scores()
        n_replicates = len(weights)
        work = self.layout.work
        known = self._human_start
        # Codes of the judges of the arrival rows; -1 (people) stays, all others are one
        # judge where they are pooled.
        judges = ["judges"] if pooled else X.judges.tolist()
        judge = np.minimum(X.judge[rows], 0) if pooled else X.judge[rows]
        slopes = np.full((n_replicates, len(judges)), np.nan)
        biases = np.zeros((n_replicates, len(rows)))
        positions = np.zeros_like(biases)
        solved = np.ones(n_replicates, dtype=bool)
        for m, name in enumerate(judges):
            if name not in fitted.biases_:
                continue
            learner: Any = fitted.biases_[name]
            start = np.append(learner.parametric_coef_, learner.coef_)
            part, columns, weight, first = self._judge_rows(
                None if pooled else m, features, weights
            )
            displayed = bool(fitted.has_position_effect_[name])
            if displayed:
                columns = np.column_stack([part.order, columns])
            ridge = None
            if features and np.any(learner.alpha):
                assert isinstance(part, Cut)
                ridge = _ridge(learner.alpha, part, weight, columns.shape[1])
            # Score difference of each row in each replicate, (n_replicates, n_rows).
            delta = work.take("delta", weight.shape)
            np.matmul(scores, part.incidence.T, out=delta)
            coef, done = fit_judge(
                delta,
                columns,
                weight,
                first,
                start,
                start_delta=known[part.left] - known[part.right],
                ridge=ridge,
                tol=self.tol,
                work=work,
            )
            # The batched solver knows no bounds: a replicate that reaches one is left
            # to the slow fit.
            low, high = fitted.sensitivity_bounds
            solved &= done & (coef[:, 0] > low) & (coef[:, 0] < high)
            if displayed:
                solved &= np.abs(coef[:, 1]) < POSITION_BOUND
            # Columns of ``coef``: sensitivity, position effect if any, then the bias.
            slopes[:, m] = coef[:, 0]
            at = np.flatnonzero(judge == m)
            n_parametric = 1 + displayed
            if displayed:
                positions[:, at] = coef[:, 1:2] * X.order[rows[at]]
            if features:
                left, right = (side[rows[at]] for side in self.layout.features)
                biases[:, at] = coef[:, n_parametric:] @ (left - right).T
        return JudgeFits(slopes, biases, positions), solved

    def _judge_rows(
        self, judge: int | None, features: bool, weights: Array
    ) -> tuple[Cut | CellSums, Array, Array, Array]:
        """Historical rows of a judge, or of all, and their sums.

        Columns of contrasts, weights, and weights times outcomes.
        """
        if not features:
            cells = self.cells.judges
            cells = cells if judge is None else cells.of_judge(judge)
            return cells, np.empty((len(cells.left), 0)), cells.weight, cells.first
        cut = self.layout.cut(judge)
        weight = columns_of(weights, cut.rows)
        first = self.layout.work.take("first", weight.shape)
        np.multiply(weight, self.y[cut.rows], out=first)
        return cut, cut.contrast, weight, first

    def mark(self, solved: NDArray[np.bool_]) -> None:
        """Mark replicates that are not solved; the caller refits them one by one."""
        self.unsolved |= ~solved

    def _start(self) -> Array:
        return self._start_scores[self.new]

    def btl_scores(self, cells: CellSums, slope: Array | None = None) -> Array:
        """BTL scores from cells, begun from the method's own scores."""
        scores, solved = fit_scores_on_cells(
            cells.incidence,
            cells.weight,
            cells.first,
            self._start_scores,
            slope=slope,
            alpha=self._alpha,
            tol=self.tol,
        )
        self.mark(solved & (np.abs(scores).max(axis=1) < self._bound))
        return self.centred(scores)


def _ridge(alpha: ArrayLike, cut: Cut, weight: Array, n_columns: int) -> Array:
    """Diagonal of the ridge, as ``LinearBias.ridge`` has it, for every replicate."""
    # Weighted variance of each feature over both responses, (n_replicates, n_features);
    # the parametric columns before them have no ridge.
    share = np.hstack([weight, weight]) / (2.0 * weight.sum(axis=1, keepdims=True))
    mean = share @ cut.responses
    variance = share @ cut.responses**2 - mean**2
    result = np.zeros((len(weight), n_columns))
    result[:, n_columns - variance.shape[1] :] = np.asarray(alpha) * variance
    return result
