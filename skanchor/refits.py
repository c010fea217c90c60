"""The parts that competing methods share, for one set of row weights or for many.

A baseline states its definition once, on arrays with a leading axis of replicates. An
ordinary fit is the one replicate whose shared parts come from the stages themselves
(:class:`StageFits`), with any learner of the bias; a bootstrap has many replicates,
whose parts come from batched solvers (:class:`BatchedFits`) and are computed once for
all methods that ask for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from sklearn.base import clone

from skanchor._numerics.batched import (
    Workspace,
    fit_judge,
    fit_scores_on_cells,
    newton,
)
from skanchor._numerics.linalg import zero_sum_basis
from skanchor._numerics.logistic import fit_logistic
from skanchor.bias import LinearBias
from skanchor.btl import BTLRegressor
from skanchor.comparisons import Comparisons, usable_features
from skanchor.judges import POSITION_BOUND, JudgeCalibrator

__all__ = [
    "Arrivals",
    "BatchedFits",
    "Cells",
    "Fits",
    "JudgeFits",
    "Layout",
    "StageFits",
]

Array = NDArray[np.float64]

SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits."""


# ------------------------------------------------------------------------------ layout
@dataclass(frozen=True, eq=False)
class Cut:
    """Rows of one judge, or of all; rows of a pair of models lie side by side.

    Attributes
    ----------
    rows, left, right, order : ndarray of shape (n,)
        Row numbers, model codes, display order.
    contrast : ndarray of shape (n, n_features)
        Features of the first response minus those of the second.
    responses : ndarray of shape (2 n, n_features)
        Features of both responses.
    incidence : ndarray of shape (n, n_models)
        +1 at the first model, -1 at the second.
    """

    rows: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: Array
    contrast: Array
    responses: Array
    incidence: Array


class Layout:
    """All that depends on the rows and their roles, but not on the weights.

    Parameters
    ----------
    X : Comparisons
        Rows with decided roles.
    y : ndarray of shape (n_rows,)
        Outcomes.
    weight : ndarray of shape (n_rows,)
        Weights of all rows; those without weight are left out.
    """

    def __init__(self, X: Comparisons, y: Array, weight: Array):
        self.used = X.is_usable & (weight > 0)
        self.X, self.y = X, y
        self.new = np.flatnonzero(X.is_new)
        self.historical = np.flatnonzero(~X.is_new)
        self._cuts: dict[Any, Cut] = {}
        self.work = Workspace()
        self.memo: dict[Any, Any] = {}

    @cached_property
    def features(self) -> tuple[Array, Array]:
        """Features of both sides; refused where a row that is used lacks one."""
        clean = usable_features(self.X, self.used & ~self.X.is_human)
        return clean.features_left, clean.features_right

    def cut(self, judge: int | None, *, arrivals: bool = False) -> Cut:
        """Historical rows of a judge, or all; None stands for every judge."""
        key = judge, arrivals
        if key not in self._cuts:
            X = self.X
            mine = X.judge >= 0 if judge is None else X.judge == judge
            rows = np.flatnonzero(self.used & mine & (arrivals | ~X.involves_new))
            rows = _alike(rows, X.left[rows] * len(X.models) + X.right[rows])
            left, right = (side[rows] for side in self.features)
            self._cuts[key] = Cut(
                rows,
                X.left[rows],
                X.right[rows],
                X.order[rows],
                left - right,
                np.vstack([left, right]),
                dense_incidence(X.left[rows], X.right[rows], len(X.models)),
            )
        return self._cuts[key]

    @cached_property
    def arrival_rows(self) -> NDArray[np.intp]:
        """Rows that involve a new model, by humans or by judges with history."""
        X = self.X
        known = np.zeros(len(X.judges) + 1, dtype=bool)
        known[X.judge[self.used & ~X.involves_new & (X.judge >= 0)]] = True
        known[-1] = True
        return np.flatnonzero(self.used & X.involves_new & known[X.judge])

    @cached_property
    def arrival_signs(self) -> Array:
        """+1 where a new model is first, -1 where second, (n_arrivals, n_new)."""
        return self.arrival_incidence[:, self.new]

    @cached_property
    def arrival_incidence(self) -> Array:
        """+1 at the first model, -1 at the second, of the arrival rows."""
        X, rows = self.X, self.arrival_rows
        return dense_incidence(X.left[rows], X.right[rows], len(X.models))

    @cached_property
    def runs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows in an order that brings alike rows together, and where each run starts.

        Alike are rows of the same two models in the same order, judge and display.
        """
        X, rows = self.X, np.flatnonzero(self.used)
        size = len(X.models)
        label = ((X.judge[rows] + 1) * size + X.left[rows]) * size + X.right[rows]
        label = 3 * label + X.order[rows].astype(np.intp) + 1
        at = _alike(np.arange(len(rows)), label)
        rows, label = rows[at], label[at]
        return rows, np.flatnonzero(np.append(True, np.diff(label) != 0))


def _alike(rows: NDArray[np.intp], label: NDArray[np.intp]) -> NDArray[np.intp]:
    """Bring rows of equal labels together, unless most of them lie so already."""
    if 4 * np.count_nonzero(np.diff(label)) > len(label):
        return rows[np.argsort(label, kind="stable")]
    return rows


def dense_incidence(
    left: NDArray[np.intp], right: NDArray[np.intp], n_models: int
) -> Array:
    """+1 at the first model, -1 at the second, of shape (n_rows, n_models)."""
    rows = np.arange(len(left))
    result = np.zeros((len(rows), n_models))
    result[rows, left] = 1.0
    result[rows, right] = -1.0
    return result


def columns_of(table: Array, rows: NDArray[np.intp]) -> Array:
    """Columns of a table; a view where they lie side by side."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows) and (np.diff(rows) == 1).all():
        return table[:, rows[0] : rows[-1] + 1]
    return table[:, rows]


# ------------------------------------------------------------------------------ counts
@dataclass(frozen=True, eq=False)
class Cells:
    """Sums over alike rows: the same two models in the same order, judge and display.

    Attributes
    ----------
    left, right, judge : ndarray of shape (n_cells,)
        Codes; judge -1 is human.
    order : ndarray of shape (n_cells,)
        Display order.
    weight, first : ndarray of shape (n_replicates, n_cells)
        Sums of weights, and of weights times outcomes.
    is_new : ndarray of shape (n_models,)
        Whether a model is new.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    judge: NDArray[np.intp]
    order: Array
    weight: Array
    first: Array
    is_new: NDArray[np.bool_]

    @classmethod
    def of(cls, layout: Layout, weights: Array) -> Cells:
        """Sum the rows that are used."""
        rows, starts = layout.runs
        own = columns_of(weights, rows)
        weight = np.add.reduceat(own, starts, axis=1)
        won = layout.work.take("a", own.shape)
        np.multiply(own, layout.y[rows], out=won)
        first = np.add.reduceat(won, starts, axis=1)
        X, at = layout.X, rows[starts]
        return cls(
            X.left[at],
            X.right[at],
            X.judge[at],
            X.order[at],
            weight,
            first,
            X.is_new,
        )

    def __getitem__(self, at: NDArray[Any]) -> Cells:
        return replace(
            self,
            left=self.left[at],
            right=self.right[at],
            judge=self.judge[at],
            order=self.order[at],
            weight=self.weight[:, at],
            first=self.first[:, at],
        )

    @property
    def involves_new(self) -> NDArray[np.bool_]:
        """Cells in which at least one side is a new model."""
        return self.is_new[self.left] | self.is_new[self.right]

    @property
    def human(self) -> Cells:
        """Human rows between historical models."""
        return self[(self.judge == -1) & ~self.involves_new]

    @property
    def judges(self) -> Cells:
        """Judge rows between historical models."""
        return self[(self.judge >= 0) & ~self.involves_new]

    @property
    def arrivals(self) -> Cells:
        """Judge rows that involve a new model."""
        return self[(self.judge >= 0) & self.involves_new]

    def of_judge(self, judge: int) -> Cells:
        """All rows of one judge."""
        return self[self.judge == judge]

    @cached_property
    def incidence(self) -> Array:
        """+1 at the first model, -1 at the second, of shape (n_cells, n_models)."""
        return dense_incidence(self.left, self.right, len(self.is_new))

    def differences(self, scores: Array) -> Array:
        """Score differences of the cells, of shape (n_replicates, n_cells)."""
        return scores @ self.incidence.T

    def mean_residual(self, scores: Array) -> Array:
        """Mean of outcome minus ``sigma(score difference)``, rows as recorded."""
        p = expit(self.differences(scores))
        return (self.first - self.weight * p).sum(axis=1) / self.weight.sum(axis=1)

    def tables(self) -> tuple[Array, Array]:
        """Games and wins of the row model against the column model.

        Returns
        -------
        games, wins : ndarray of shape (n_replicates, n_models, n_models)
        """
        size, n_cells = len(self.is_new), len(self.left)
        shape = (size * size, n_cells)
        at = np.arange(n_cells)
        ones = np.ones(n_cells)
        first = csr_array((ones, (self.left * size + self.right, at)), shape)
        second = csr_array((ones, (self.right * size + self.left, at)), shape)
        lost = self.weight - self.first
        games = np.asarray(first @ self.weight.T + second @ self.weight.T)
        wins = np.asarray(first @ self.first.T + second @ lost.T)
        return games.T.reshape(-1, size, size), wins.T.reshape(-1, size, size)


# ------------------------------------------------------------------------ arrival rows
@dataclass(frozen=True, eq=False)
class JudgeFits:
    """What the historical rows say of the judges.

    Attributes
    ----------
    sensitivities : ndarray of shape (n_replicates, n_judges)
        Sensitivity c, NaN for a judge without historical rows.
    biases, positions : ndarray of shape (n_replicates, n_arrivals)
        Bias h and position effect of each arrival row as recorded; zero for human rows.
    """

    sensitivities: Array
    biases: Array
    positions: Array


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Rows that involve new models, with all but the new scores known.

    Attributes
    ----------
    judge : ndarray of shape (n_rows,)
        Judge codes; -1 is human.
    signs : ndarray of shape (n_rows, n_new)
        +1 where the new model is first, -1 where it is second.
    weight, first : ndarray of shape (n_replicates, n_rows)
        Weights, and weights times outcomes.
    opponent : ndarray of shape (n_replicates, n_rows)
        Known part of the score difference: new scores count zero.
    sensitivities : ndarray of shape (n_replicates, n_rows)
        Sensitivity of the row's judge; one for humans.
    biases, positions : ndarray of shape (n_replicates, n_rows)
        Bias and position effect of the row.
    start : ndarray of shape (n_new,)
        First scores.
    tol : float
        Accepted error of the scores.
    """

    judge: NDArray[np.intp]
    signs: Array
    weight: Array
    first: Array
    opponent: Array
    sensitivities: Array
    biases: Array
    positions: Array
    start: Array
    tol: float

    def of_judge(self, judge: int) -> Arrivals:
        """Rows of one judge."""
        at = self.judge == judge
        return replace(
            self,
            judge=self.judge[at],
            signs=self.signs[at],
            **{
                name: getattr(self, name)[:, at]
                for name in (
                    "weight",
                    "first",
                    "opponent",
                    "sensitivities",
                    "biases",
                    "positions",
                )
            },
        )

    def mean_biases(self) -> Array:
        """Mean bias of each judge's arrival rows, seen from the new model's side.

        Returns
        -------
        ndarray of shape (n_replicates, n_rows)
            The mean over the rows of the same judge and new model, turned back to the
            side on which the row has the new model. Rows between two new models keep
            their own bias.
        """
        result = self.biases.copy()
        single = np.abs(self.signs).sum(axis=1) == 1
        for m in np.unique(self.judge[self.judge >= 0]):
            for side in self.signs.T:
                at = np.flatnonzero((self.judge == m) & single & (side != 0))
                weight = self.weight[:, at]
                total = weight.sum(axis=1)
                toward = (weight * self.biases[:, at]) @ side[at]
                mean = np.divide(
                    toward, total, out=np.zeros_like(total), where=total > 0
                )
                result[:, at] = mean[:, None] * side[at]
        return result

    def root(
        self,
        weighting: str,
        *,
        biases: Array | None = None,
        shift: Array | None = None,
    ) -> Array:
        """Solve one equation for each new model g.

        ``mean over its rows of k sign_g (y - sigma(c delta + h)) + shift = 0``, with k
        the sensitivity c (then it is the likelihood's) or one.

        Parameters
        ----------
        weighting : {"sensitivity", "equal"}
            The factor k.
        biases : ndarray of shape (n_replicates, n_rows), optional
            Bias h to use in place of the rows' own.
        shift : ndarray of shape (n_replicates,), optional
            Added to the mean.

        Returns
        -------
        ndarray of shape (n_replicates, n_new)
            Scores within the bounds; NaN where a new model has no row.
        """
        slope = self.sensitivities
        offset = slope * self.opponent + self.positions
        offset += self.biases if biases is None else biases
        n_new = self.signs.shape[1]
        pair = self.signs[:, :, None] * self.signs[:, None, :]
        pair = pair.reshape(len(pair), n_new**2)
        total = self.weight @ np.abs(self.signs)
        given = np.zeros(len(slope)) if shift is None else shift

        def equations(scores: Array, at: NDArray[np.intp]) -> tuple[Array, Array]:
            """Left sides and their derivatives."""
            # All replicates, most often: then there is nothing to copy.
            rows = slice(None) if len(at) == len(slope) else at
            c, w, n = slope[rows], self.weight[rows], np.maximum(total[rows], 1e-300)
            p = expit(offset[rows] + c * (scores @ self.signs.T))
            rest = w * p
            curvature = rest * (1.0 - p)
            curvature *= c
            np.subtract(self.first[rows], rest, out=rest)
            if weighting == "sensitivity":
                rest *= c
                curvature *= c
            second = (curvature @ pair).reshape(len(at), n_new, n_new)
            left = (rest @ self.signs) / n + given[rows, None]
            return left, -second / n[:, :, None]

        values, converged = newton(
            equations, np.tile(self.start, (len(slope), 1)), tol=self.tol
        )
        missing = total == 0
        inside = np.abs(values).max(axis=1, initial=0.0) < SCORE_BOUND
        for r in np.flatnonzero(~(converged & inside) & ~missing.all(axis=1)):
            values[r] = _bounded_root(equations, int(r), self.start)
        values[missing] = np.nan
        return values


def _bounded_root(
    equations: Callable[..., tuple[Array, Array]], replicate: int, start: Array
) -> Array:
    """Solve one replicate's equations within the bounds, as nearly as they allow."""
    at = np.array([replicate])

    def left(scores: Array) -> Array:
        return np.asarray(equations(scores[None], at)[0][0])

    def jacobian(scores: Array) -> Array:
        return np.asarray(equations(scores[None], at)[1][0])

    found = [
        least_squares(
            left,
            first,
            jacobian,
            bounds=(-SCORE_BOUND, SCORE_BOUND),
            xtol=1e-14,
            ftol=1e-14,
            gtol=1e-14,
        )
        for first in (np.clip(start, -5.0, 5.0), np.zeros_like(start))
    ]
    return np.asarray(min(found, key=lambda fit: float(fit.cost)).x)


# ------------------------------------------------------------------------ shared parts
class Fits:
    """Rows with decided roles, one or many sets of weights, and what is fitted to them.

    Parameters
    ----------
    layout : Layout
        The rows.
    weights : ndarray of shape (n_replicates, n_rows)
        Row weights.
    tol : float
        Accepted error of the parameters, in logits.

    Attributes
    ----------
    emphasis : ndarray of shape (n_replicates, n_rows) or None
        Factor of the weights of historical judge rows.
    """

    emphasis: Array | None = None

    def __init__(self, layout: Layout, weights: Array, tol: float):
        self.layout, self.weights, self.tol = layout, weights, tol
        self.X, self.y = layout.X, layout.y
        self.new, self.historical = layout.new, layout.historical

    @cached_property
    def cells(self) -> Cells:
        """Sums over alike rows."""
        return Cells.of(self.layout, self.weights)

    def human_scores(self) -> Array:
        """Scores of the historical models, zero for new ones."""
        raise NotImplementedError

    def judges(self, *, features: bool = True, pooled: bool = False) -> JudgeFits:
        """Calibrate the judges against the human scores.

        Parameters
        ----------
        features : bool
            Whether judges have a bias.
        pooled : bool
            Whether all judges are one.

        Returns
        -------
        JudgeFits
        """
        raise NotImplementedError

    def btl_scores(self, cells: Cells, slope: Array | None = None) -> Array:
        """BTL scores from cells, centred over the historical models."""
        raise NotImplementedError

    def mark(self, solved: NDArray[np.bool_]) -> None:
        """Take note of the replicates that a batched solver has solved."""

    def centred(self, scores: Array) -> Array:
        """Scores re-centred over the historical models."""
        return scores - scores[:, self.historical].mean(axis=1, keepdims=True)

    def arrivals(self, judges: JudgeFits, *, pooled: bool = False) -> Arrivals:
        """Arrival rows with all but the new scores known."""
        rows, X = self.layout.arrival_rows, self.X
        judge = np.minimum(X.judge[rows], 0) if pooled else X.judge[rows]
        scores = self.human_scores()
        # The last is for humans, whose code is -1.
        human = np.ones((len(self.weights), 1))
        slope = np.append(judges.sensitivities, human, axis=1)
        weight = columns_of(self.weights, rows)
        return Arrivals(
            judge,
            self.layout.arrival_signs,
            weight,
            weight * self.y[rows],
            scores @ self.layout.arrival_incidence.T,
            slope[:, judge],
            judges.biases,
            judges.positions,
            self._start(),
            self.tol,
        )

    def _start(self) -> Array:
        return np.zeros(len(self.new))


def one_judge(X: Comparisons) -> Comparisons:
    """Read all judges as one."""
    return replace(
        X,
        judge=np.minimum(X.judge, 0),
        judges=np.array(["judges"], dtype=object),
        _cache={},
    )


def without_features(X: Comparisons) -> Comparisons:
    """Leave the features out."""
    none = np.empty((len(X), 0))
    return replace(
        X, features_left=none, features_right=none, feature_names=(), _cache={}
    )


class StageFits(Fits):
    """One replicate, fitted by the stages themselves.

    Parameters
    ----------
    X : Comparisons
        Rows with decided roles.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and weights.
    groups : ndarray of shape (n_rows,) or None
        Group codes.
    btl : BTLRegressor
        Unfitted model of the human rows.
    calibrator : JudgeCalibrator or None
        Unfitted model of the judge rows.

    Attributes
    ----------
    btl_, calibrator_ : estimators
        Fitted stages; the calibrator is the one that was fitted last.
    notices : list of Warning
        What the stages have to say.
    """

    def __init__(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None,
        btl: BTLRegressor,
        calibrator: JudgeCalibrator | None = None,
    ):
        super().__init__(Layout(X, y, weight), weight[None], tol=1e-18)
        self.groups = groups
        self.notices: list[Warning] = []
        self.btl_: BTLRegressor = clone(btl)
        self.notices += self.btl_._fit(X, y, weight, groups)
        self._template = calibrator
        self.calibrator_: JudgeCalibrator | None = None

    def human_scores(self) -> Array:
        """Scores that ``btl_`` has fitted, zero for new models."""
        scores = self.btl_._scores_of(self.X.models)
        return np.where(self.X.is_new, 0.0, np.nan_to_num(scores))[None]

    def judges(self, *, features: bool = True, pooled: bool = False) -> JudgeFits:
        """Fit a clone of the calibrator, and keep it."""
        X = self.btl_._annotate(self.X)
        X = X if features else without_features(X)
        X = one_judge(X) if pooled else X
        weight = self.weights[0]
        if self.emphasis is not None:
            weight = weight * self.emphasis[0]
        calibrator = clone(self._template)
        if not features:
            calibrator.set_params(bias="linear")
        self.notices += calibrator._fit(X, self.y, weight, self.groups)
        self.calibrator_ = calibrator
        rows = self.layout.arrival_rows
        known = calibrator._annotate(X[rows])
        judged = ~X.is_human[rows]
        positions = np.zeros(len(rows))
        if known.position_effects is not None:
            effect = np.append(known.position_effects, 0.0)
            positions = effect[known.judge] * known.order
        return JudgeFits(
            known.sensitivities[None],
            np.where(judged, known.biases, 0.0)[None],
            np.where(judged, positions, 0.0)[None],
        )

    def btl_scores(self, cells: Cells, slope: Array | None = None) -> Array:
        """BTL scores from cells, by a solver that stands separated votes."""
        scores = np.full(len(self.X.models), np.nan)
        games = cells.incidence.T @ np.diag(cells.weight[0]) @ cells.incidence
        _, part = connected_components(games != 0)
        if len(set(part[self.historical])) == 1:
            inside = np.flatnonzero(part == part[self.historical[0]])
            used = np.isin(cells.left, inside) & (cells.weight[0] > 0)
            basis = zero_sum_basis(len(inside))
            factor = 1.0 if slope is None else slope[0, used, None]
            fit = fit_logistic(
                factor * cells.incidence[np.ix_(used, inside)] @ basis,
                cells.first[0, used] / cells.weight[0, used],
                cells.weight[0, used],
                penalty=np.full(basis.shape[1], self.btl_.alpha),
            )
            scores[inside] = basis @ fit.coef
        bound = self.btl_.score_bound
        return self.centred(np.clip(scores, -bound, bound)[None])


class BatchedFits(Fits):
    """Many replicates, by batched solvers that start from the fit of all rows.

    Parameters
    ----------
    layout, weights, tol
        As in :class:`Fits`.
    cache : dict
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
        cache: dict[Any, Any],
        fitted: Any,
    ):
        super().__init__(layout, weights, tol)
        self._cache, self._fitted = cache, fitted
        self.unsolved = np.zeros(len(weights), dtype=bool)
        btl = getattr(fitted, "btl_", None) or BTLRegressor()
        self._bound, self._alpha = btl.score_bound, btl.alpha
        if id(fitted) not in layout.memo:
            # Where to start from is the same for every block.
            models = layout.X.models
            layout.memo[id(fitted)] = (
                np.nan_to_num(btl._scores_of(models))
                if hasattr(btl, "scores_")
                else np.zeros(len(models)),
                np.median(np.atleast_2d(fitted.result_.estimates), axis=0),
            )
        self._human_start, self._start_scores = layout.memo[id(fitted)]

    @staticmethod
    def can_batch(fitted: Any) -> bool:
        """Whether the batched solvers know the method's stages."""
        calibrator = getattr(fitted, "calibrator_", None)
        if calibrator is None or not getattr(fitted, "_features", True):
            return True
        learners = calibrator.biases_.values()
        return all(
            type(learner) is LinearBias and learner.feature_map is None
            for learner in learners
        )

    def _shared(self, key: Any, make: Callable[[], tuple[Any, Any]]) -> Any:
        """Return a fit that others may have made before, and mark what it left."""
        if key not in self._cache:
            self._cache[key] = make()
        result, solved = self._cache[key]
        self.mark(solved)
        return result

    @cached_property
    def cells(self) -> Cells:
        """Sums over alike rows, made once for all methods."""
        every = np.ones(len(self.weights), dtype=bool)
        return self._shared(
            "cells", lambda: (Cells.of(self.layout, self.weights), every)
        )

    @property
    def _btl_key(self) -> tuple[Any, ...]:
        return ("human", self._alpha, self._bound)

    def human_scores(self) -> Array:
        """Scores of the historical models, zero for new ones; fitted once."""
        return self._shared(self._btl_key, self._human_scores)

    def _human_scores(self) -> tuple[Array, NDArray[np.bool_]]:
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
        """Calibrate the judges, or find that another method has done so."""
        fitted = self._fitted.calibrator_
        settings = tuple(
            learner.alpha if features else 0.0 for learner in fitted.biases_.values()
        )
        key = (
            *self._btl_key,
            features,
            pooled,
            settings,
            fitted.position_effect,
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
            part: Cut | Cells
            if features:
                part = self.layout.cut(None if pooled else m)
                columns = part.contrast
                weight = columns_of(weights, part.rows)
                first = work.take("first", weight.shape)
                np.multiply(weight, self.y[part.rows], out=first)
            else:
                part = self.cells.judges if pooled else self.cells.judges.of_judge(m)
                columns = np.empty((len(part.left), 0))
                weight, first = part.weight, part.first
            if fitted.position_effect:
                columns = np.column_stack([part.order, columns])
            ridge = None
            if features and learner.alpha:
                assert isinstance(part, Cut)
                ridge = _ridge(learner.alpha, part, weight, columns.shape[1])
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
            low, high = fitted.sensitivity_bounds
            solved &= done & (coef[:, 0] > low) & (coef[:, 0] < high)
            if fitted.position_effect:
                solved &= np.abs(coef[:, 1]) < POSITION_BOUND
            slopes[:, m] = coef[:, 0]
            at = np.flatnonzero(judge == m)
            n_parametric = 1 + int(fitted.position_effect)
            if fitted.position_effect:
                positions[:, at] = coef[:, 1:2] * X.order[rows[at]]
            if features:
                left, right = (side[rows[at]] for side in self.layout.features)
                biases[:, at] = coef[:, n_parametric:] @ (left - right).T
        return JudgeFits(slopes, biases, positions), solved

    def mark(self, solved: NDArray[np.bool_]) -> None:
        """Leave the other replicates to the caller."""
        self.unsolved |= ~solved

    def _start(self) -> Array:
        return self._start_scores[self.new]

    def btl_scores(self, cells: Cells, slope: Array | None = None) -> Array:
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


def _ridge(alpha: float, cut: Cut, weight: Array, n_columns: int) -> Array:
    """Diagonal of the ridge, as ``LinearBias.ridge`` has it, for every replicate."""
    share = np.hstack([weight, weight]) / (2.0 * weight.sum(axis=1, keepdims=True))
    mean = share @ cut.responses
    variance = share @ cut.responses**2 - mean**2
    result = np.zeros((len(weight), n_columns))
    result[:, n_columns - variance.shape[1] :] = alpha * variance
    return result
