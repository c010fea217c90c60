"""Item effects: what each judge thinks of a model beyond score and features.

A judge may like or dislike a model in ways that no feature shows. The deviations
``u[m, i]`` of judge m from model i are random, alike in law over models and correlated
between judges, ``u[:, i] ~ N(0, Sigma_u)``. They enter the logit of a judge row as
``u[m, a] - u[m, b]``: item columns of the system, with a prior.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.information import local_gram, selectors
from skanchor._numerics.item_covariance import (
    PRIOR_VARIANCE,
    DeviationLikelihood,
    fit_covariance,
    inflation,
)
from skanchor._numerics.linalg import (
    Columns,
    SymmetricSolver,
    covariance_factor,
    mix_judges,
    zero_sum_basis,
)
from skanchor._numerics.logistic import SAFE_MOVE, log_loss_terms, sigmoid
from skanchor._numerics.shrinkage import Shrinkage
from skanchor.bias._base import LastStage, last_stage, rejoined
from skanchor.comparisons import Comparisons, JudgeRows
from skanchor.exceptions import BattlesError, ConvergenceWarning
from skanchor.judges import JudgeCalibrator

__all__ = [
    "ItemCovariance",
    "dispersions",
    "estimate_item_covariance",
    "fit_deviations",
]

Array = NDArray[np.float64]

MIN_HISTORICAL = 5
"""Historical models below which the covariance of the deviations is not estimated."""

LEAST_DISPERSION = 1e-10
"""Variance of a source's residuals, in that of votes, below which they are rounding."""

STALE_MOVE = 0.2
"""Change of the logits up to which a Hessian is kept, as it changes by that share."""


@dataclass(frozen=True, eq=False)
class ItemCovariance:
    """Estimated covariance of the deviations.

    Attributes
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared judge logits.
    shrinkage : Shrinkage or None
        Shares of the judges' own variances and correlations kept in it; None where
        it was given.
    inflation : float
        Factor of the item part of a variance, for Sigma_u being estimated.
    df : float
        Degrees of freedom of the item part; infinite where Sigma_u was given.
    free : float
        Models' worth of deviations that it was learned from: two less than there are,
        and fewer where features tell models apart.
    converged : bool
        Whether the last step changed it by less than the tolerance.
    """

    covariance: Array
    shrinkage: Shrinkage | None = None
    inflation: float = 1.0
    df: float = np.inf
    free: float = np.inf
    converged: bool = True


class _Model:
    """The joint likelihood of scores, judges and deviations, by aggregated blocks.

    The parameter vector holds scores s, sensitivities c, position effects p, bias
    coefficients b and standardised deviations v with ``u = L v``. Judge m sees it
    through the local columns (items, delta, order, span), for which one pass over its
    rows gives the gradient and the Gram matrix.
    """

    def __init__(
        self, X: Comparisons, y: Array, weight: Array, calibrator: JudgeCalibrator
    ):
        self.X, self.y, self.weight = _cells(X, y, weight)
        self.n_items, self.n_judges = len(X.models), len(X.judges)
        basis = zero_sum_basis(self.n_items - int(X.is_new.sum()))
        self.items = selectors(X.is_new, basis)
        self.has_position = X.position_effects is not None
        self.spans: list[Array | None] = []
        self.rests: list[Array] = []
        self.coef: list[Array] = []
        ridges = []
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            row_weight = np.where(X.involves_new[cut.rows], 0.0, weight[cut.rows])
            stage = last_stage(calibrator.biases_[judge], cut.pairs, row_weight)
            self.spans.append(None if stage is None else stage.columns)
            self.rests.append(self._rest(m, stage))
            self.coef.append(np.empty(0) if stage is None else stage.coef)
            ridges.append(
                np.empty(0) if stage is None else row_weight.sum() * stage.ridge
            )
        widths = [len(c) for c in self.coef]
        edges = np.cumsum(
            [
                0,
                self.items.shape[1],
                self.n_judges,
                self.n_judges * self.has_position,
                sum(widths),
                self.n_judges * self.n_items,
            ]
        )
        names = ("scores", "sensitivity", "position", "bias", "deviation")
        self.at = {
            name: slice(int(a), int(b))
            for name, (a, b) in zip(names, pairwise(edges), strict=True)
        }
        starts = int(edges[3]) + np.cumsum([0, *widths])
        self.bias_at = [slice(int(a), int(b)) for a, b in pairwise(starts)]
        self.size = int(edges[-1])
        self.ridge = np.zeros(self.size)
        self.ridge[self.at["bias"]] = np.concatenate(ridges) if ridges else []

    def _rest(self, m: int, stage: LastStage | None) -> Array:
        """Bias of judge m's rows that stays as it is."""
        rows = self.X.by_judge(m).rows
        if stage is not None:
            return np.broadcast_to(stage.rest, len(rows))
        biases = self.X.biases
        return np.zeros(len(rows)) if biases is None else biases.take(rows)

    def start(
        self, factor: Array, near: tuple[Comparisons, JudgeCalibrator] | None = None
    ) -> Array:
        """Parameters that the comparisons carry, as far as ``factor`` can say them.

        All but the historical scores come from ``near``, a fit on nearly the same rows,
        where there is one.
        """
        known, coef = self.X, self.coef
        if near is not None:
            known, calibrator = near
            coef = [
                _nearer(calibrator.biases_[judge], own)
                for judge, own in zip(self.X.judges.tolist(), coef, strict=True)
            ]
        assert self.X.scores is not None and known.scores is not None
        assert known.sensitivities is not None
        scores = np.where(self.X.is_new, known.scores, self.X.scores)
        parameters = np.zeros(self.size)
        parameters[self.at["scores"]] = np.linalg.lstsq(self.items, scores, rcond=None)[
            0
        ]
        parameters[self.at["sensitivity"]] = known.sensitivities
        if known.position_effects is not None:
            parameters[self.at["position"]] = known.position_effects
        for where, values in zip(self.bias_at, coef, strict=True):
            parameters[where] = values
        if known.deviations is not None:
            v = np.linalg.lstsq(factor, known.deviations, rcond=None)[0]
            parameters[self.at["deviation"]] = v.ravel()
        return parameters

    def prior(self, factor: Array | None) -> Array:
        """Diagonal of the quadratic penalty; no prior on u itself without a factor."""
        diagonal = self.ridge.copy()
        if factor is not None:
            diagonal[self.at["deviation"]] = 1.0
        return diagonal

    def deviations(self, parameters: Array, factor: Array) -> Array:
        """Deviations u of shape (n_judges, n_items)."""
        v = parameters[self.at["deviation"]].reshape(self.n_judges, self.n_items)
        return np.asarray(factor @ v)

    def annotate(self, parameters: Array, factor: Array, X: Comparisons) -> Comparisons:
        """Rows with the parameters written into their learned columns."""
        biases = X.biases if X.biases is not None else np.zeros(len(X))
        biases = biases.copy()
        for m, (where, span) in enumerate(zip(self.bias_at, self.spans, strict=True)):
            if span is not None:
                biases[X.by_judge(m).rows] = span @ parameters[where] + self.rests[m]
        return X.with_columns(
            scores=self.items @ parameters[self.at["scores"]],
            sensitivities=parameters[self.at["sensitivity"]].copy(),
            position_effects=parameters[self.at["position"]].copy()
            if self.has_position
            else None,
            biases=biases,
            deviations=self.deviations(parameters, factor),
        )

    def calibrated(
        self, parameters: Array, calibrator: JudgeCalibrator
    ) -> JudgeCalibrator:
        """Copy of the calibrator with these judge parameters."""
        updated = copy(calibrator)
        judges = pd.Index(self.X.judges, name="judge")
        updated.sensitivities_ = pd.Series(
            parameters[self.at["sensitivity"]], index=judges, name="sensitivity"
        )
        if self.has_position:
            updated.position_effects_ = pd.Series(
                parameters[self.at["position"]], index=judges, name="position"
            )
        updated.biases_ = dict(calibrator.biases_)
        for m, judge in enumerate(judges.tolist()):
            if self.spans[m] is not None:
                updated.biases_[judge] = rejoined(
                    calibrator.biases_[judge], parameters[self.bias_at[m]].copy()
                )
        return updated

    def part(self, rows: NDArray[np.bool_]) -> _Model:
        """The same parameters, seen by the chosen rows alone."""
        # Row numbers choose much faster than a mask where few rows are meant.
        part, chosen = copy(self), np.flatnonzero(rows)
        part.X = self.X.without_features()[chosen]
        part.y, part.weight = self.y[chosen], self.weight[chosen]
        at = [
            np.flatnonzero(rows[self.X.by_judge(m).rows]) for m in range(self.n_judges)
        ]
        part.spans = [
            None if span is None else span[own]
            for span, own in zip(self.spans, at, strict=True)
        ]
        part.rests = [rest[own] for rest, own in zip(self.rests, at, strict=True)]
        return part

    def derivatives(
        self, parameters: Array, factor: Array, weight: Array, *, curved: bool = True
    ) -> tuple[Array, Array, Array]:
        """Logits, gradient and expected Hessian over weighted rows, without prior.

        The Hessian, most of the work, is zero unless ``curved``.
        """
        X, n = self.X, self.n_items
        gradient, hessian = np.zeros(self.size), np.zeros((self.size, self.size))
        at_scores = self.at["scores"]
        scores = self.items @ parameters[at_scores]
        slopes = parameters[self.at["sensitivity"]]
        # What each model adds to the logits of each judge.
        by_item = slopes[:, None] * scores + self.deviations(parameters, factor)
        eta = np.zeros(len(self.y))

        def loss(cut: JudgeRows, logits: Array) -> tuple[Array, Array]:
            """Derivatives of the rows' loss by their logits; these are kept."""
            w = weight.take(cut.rows)
            eta[cut.rows] = logits = np.where(w > 0, logits, 0.0)
            p = sigmoid(logits)
            weighted = w * p
            residual = weighted - w * self.y.take(cut.rows)
            return residual, weighted * np.subtract(1.0, p, out=p)

        human = X.by_judge(-1)
        residual, curvature = loss(human, _differences(scores, human))
        gradient[at_scores] += self.items.T @ human.net(residual)
        if curved and curvature.any():
            sums = pair_sums(human.left, human.right, curvature, n)
            hessian[at_scores, at_scores] += self.items.T @ laplacian(sums) @ self.items
        for m in range(self.n_judges):
            cut, span = X.by_judge(m), self.spans[m]
            blocks = [_differences(scores, cut)[:, None], cut.order[:, None]]
            if span is not None:
                blocks.append(span)
            extra = Columns(*blocks)
            own = np.zeros(extra.shape[1])
            if self.has_position:
                own[1] = parameters[self.at["position"]][m]
            own[2:] = parameters[self.bias_at[m]]
            logits = _differences(by_item[m], cut) + extra.dot(own)
            logits += self.rests[m]
            residual, curvature = loss(cut, logits)
            local = np.concatenate([cut.net(residual), extra.sums(residual)])
            at, columns = self._columns(m, parameters, extra.shape[1])
            gradient[at] += columns.T @ local
            if curved and curvature.any():
                gram = local_gram(cut, extra, curvature)
                hessian[np.ix_(at, at)] += columns.T @ gram @ columns
        # So far by u; the parameters are v, u = L v.
        tail = self.at["deviation"]
        by_judge = gradient[tail].reshape(self.n_judges, n)
        gradient[tail] = (factor.T @ by_judge).ravel()
        return eta, gradient, mix_judges(hessian, factor, n) if curved else hessian

    def _columns(
        self, m: int, parameters: Array, n_extra: int
    ) -> tuple[NDArray[np.intp], Array]:
        """Parameters that judge m sees, and their map to its local columns."""
        n, at, everything = self.n_items, self.at, np.arange(self.size)
        blocks = [everything[at["scores"]], everything[at["sensitivity"]][[m]]]
        if self.has_position:
            blocks.append(everything[at["position"]][[m]])
        blocks += [
            everything[self.bias_at[m]],
            everything[at["deviation"]].reshape(self.n_judges, n)[m],
        ]
        where = np.concatenate(blocks)
        n_scores = self.items.shape[1]
        columns = np.zeros((n + n_extra, len(where)))
        columns[:n, :n_scores] = parameters[at["sensitivity"]][m] * self.items
        columns[:n, len(where) - n :] = np.eye(n)
        columns[n, n_scores] = 1.0
        if self.has_position:
            columns[n + 1, n_scores + 1] = 1.0
        first = n_scores + 1 + self.has_position
        width = n_extra - 2
        columns[n + 2 :, first : first + width] = np.eye(width)
        return where, columns

    def newton(
        self,
        parameters: Array,
        factor: Array,
        rows: NDArray[np.bool_],
        free: NDArray[np.bool_],
        *,
        tol: float = 1e-2,
        max_iter: int = 50,
    ) -> tuple[Array, bool]:
        """Minimise the penalised loss of ``rows`` over the ``free`` parameters."""
        prior = self.prior(factor)
        where = np.flatnonzero(free)
        weight = np.where(rows, self.weight, 0.0)

        def loss(eta: Array, parameters: Array) -> float:
            terms = log_loss_terms(self.y, eta)
            return float(weight @ terms) + 0.5 * float(prior @ parameters**2)

        eta, gradient, hessian = self.derivatives(parameters, factor, weight)
        drift = 0.0
        for _ in range(max_iter):
            slope = (gradient + prior * parameters)[where]
            curvature = hessian[np.ix_(where, where)] + np.diag(prior[where])
            step = -SymmetricSolver.factorise(curvature).solve(slope)
            decrement = -float(slope @ step)
            if decrement <= tol:
                # A tenth of a standard error at most, which this step squares.
                parameters = parameters.copy()
                parameters[where] += step
                return parameters, True
            length, value = 1.0, None
            while True:
                trial = parameters.copy()
                trial[where] += length * step
                found = self.derivatives(trial, factor, weight, curved=False)
                change = np.abs(found[0] - eta).max(initial=0.0)
                if change <= SAFE_MOVE:
                    # The curvature changes too little for the loss to rise.
                    break
                value = loss(eta, parameters) if value is None else value
                if loss(found[0], trial) <= value + 1e-9 * abs(value) or length < 1e-6:
                    break
                length /= 2.0
            parameters, drift = trial, drift + change
            eta, gradient, _ = found
            if drift > STALE_MOVE:
                _, _, hessian = self.derivatives(parameters, factor, weight)
                drift = 0.0
        return parameters, False

    def rescale(self, parameters: Array, factor: Array) -> None:
        """Multiply the deviations of each item by a factor, in place."""
        tail = self.at["deviation"]
        by_judge = parameters[tail].reshape(self.n_judges, self.n_items)
        parameters[tail] = (factor @ by_judge).ravel()

    def masks(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which parameters the historical and the arrival rows decide."""
        historical, arrival = (np.zeros(self.size, dtype=bool) for _ in range(2))
        for name in ("sensitivity", "position", "bias"):
            historical[self.at[name]] = True
        new = np.tile(self.X.is_new, self.n_judges)
        historical[self.at["deviation"]] = ~new
        arrival[self.at["deviation"]] = new
        arrival[: int(self.X.is_new.sum())] = True
        return historical, arrival


def _nearer(learner: Any, own: Array) -> Array:
    """Coefficients of a fit on nearly the same rows, where they mean the same."""
    if not hasattr(learner, "span") or len(learner.coef_) != len(own):
        return own
    return np.asarray(learner.coef_)


def _differences(values: Array, cut: JudgeRows) -> Array:
    """Value of the first model of each row minus the second's."""
    difference: Array = values.take(cut.left)
    difference -= values.take(cut.right)
    return difference


def _cells(X: Comparisons, y: Array, weight: Array) -> tuple[Comparisons, Array, Array]:
    """Merge rows that no parameter tells apart; without features these are many."""
    if X.features_left.shape[1]:
        return X, y, weight
    if "cells" not in X._cache:
        n_models = len(X.models) + 1
        key = (X.judge + 2) * n_models + X.left + 1
        key = (key * n_models + X.right + 1) * 3 + X.order.astype(np.intp) + 1
        X._cache["cells"] = np.unique(key, return_index=True, return_inverse=True)[1:]
    first, cell = X._cache["cells"]
    total = np.bincount(cell, weight, minlength=len(first))
    wins = np.bincount(cell, weight * y, minlength=len(first))
    mean = np.where(total > 0, wins, 0.5) / np.where(total > 0, total, 1.0)
    return X[first], mean, total.astype(np.float64)


def fit_deviations(
    X: Comparisons,
    y: Array,
    weight: Array,
    calibrator: JudgeCalibrator,
    covariance: Array,
    near: tuple[Comparisons, JudgeCalibrator] | None = None,
) -> tuple[Comparisons, JudgeCalibrator, list[Warning]]:
    """Fit the deviations, and with them the judges and the new scores.

    Historical rows decide the judges and the deviations of historical models, with the
    scores fixed; arrival rows then decide the new scores and their deviations.

    Parameters
    ----------
    X : Comparisons
        Rows that carry the plug-in of the earlier stages.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    calibrator : JudgeCalibrator
        Fitted. What of its learners is linear in coefficients (the span, or the last
        stage) is fitted again beside the deviations; the rest is held fixed.
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u.
    near : tuple of (Comparisons, JudgeCalibrator), optional
        What this function returned on nearly the same rows: where to start.

    Returns
    -------
    X : Comparisons
        Rows with updated parameters and ``deviations``.
    calibrator : JudgeCalibrator
        A copy with the updated judge parameters.
    notices : list of warnings
    """
    model = _Model(X, y, weight, calibrator)
    factor = covariance_factor(covariance)
    historical, arrival = model.masks()
    cells = model.X
    old = ~cells.involves_new & cells.is_usable
    first = model.start(factor, near)
    parameters, settled = model.newton(first, factor, old, historical)
    if arrival.any():
        late = model.part(cells.involves_new & cells.is_usable)
        every = np.ones(len(late.X), dtype=bool)
        parameters, again = late.newton(parameters, factor, every, arrival)
        settled = settled and again
    notices: list[Warning] = []
    if not settled:
        notices.append(
            ConvergenceWarning("The fit of the item effects did not settle.")
        )
    fitted = model.annotate(parameters, factor, X)
    return (
        fitted.with_columns(item_covariance=covariance),
        model.calibrated(parameters, calibrator),
        notices,
    )


def dispersions(
    X: Comparisons,
    y: Array,
    weight: Array,
    groups: NDArray[np.intp] | None,
    *,
    deviating: bool,
) -> Array:
    """Variance of historical residuals in that of independent votes, by source.

    Half-wins vary less than votes, and the sums by model of rows that share a group
    more, as do rows with a weight.

    Parameters
    ----------
    X : Comparisons
        Rows that carry the plug-in, without item effects.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    groups : ndarray of shape (n_rows,) or None
        Groups of dependent rows.
    deviating : bool
        Whether what a source thinks of each model is taken out first. A test of there
        being nothing of the kind needs the variance under that hypothesis.

    Returns
    -------
    ndarray of shape (n_judges + 1,)
        By judge, people last; one where there is nothing to see.
    """
    eta = X.logits()
    used = ~X.involves_new & X.is_usable & np.isfinite(eta) & (weight > 0)
    p = sigmoid(np.where(used, eta, 0.0))
    residual = np.where(used, y - p, 0.0)
    variance = np.where(used, p * (1.0 - p), 0.0)
    found = np.ones(len(X.judges) + 1)
    for m in range(-1, len(X.judges)):
        cut = X.by_judge(m)
        w, v = weight[cut.rows], variance[cut.rows]
        total = float(w @ v)
        if not total > 0:
            continue
        r = w * residual[cut.rows]
        taken = 0.0
        if deviating:
            sums = pair_sums(cut.left, cut.right, w * v, len(X.models))
            solver = SymmetricSolver.factorise(laplacian(sums))
            r -= w * v * _differences(solver.solve(cut.net(r)), cut)
            inverse = solver.inverse()
            size = np.diag(inverse)
            squared = pair_sums(cut.left, cut.right, (w * v) ** 2, len(X.models))
            taken = float(np.sum(squared * (size[:, None] + size - 2.0 * inverse)))
        squares = float(r @ r)
        if groups is not None:
            # What is taken counts once in a group, a lone row at both of its models.
            counted = groups[cut.rows[w * v > 0]]
            taken *= len(counted) / len(np.unique(counted))
            squares = 0.5 * float(np.sum(cut.group_sums(r, groups) ** 2))
        found[m] = squares / max(total - taken, 0.5 * total)
    return found


def _profile(
    hessian: Array, at: NDArray[np.bool_], fixed: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Information on parameters ``at`` with ``fixed`` ones profiled out.

    The second array is what a gradient by the fixed ones takes from theirs.
    """
    cross = hessian[np.ix_(at, fixed)]
    solver = SymmetricSolver.factorise(hessian[np.ix_(fixed, fixed)])
    taken = np.asarray(solver.solve(cross.T).T)
    return hessian[np.ix_(at, at)] - taken @ cross.T, taken


def _count_shown(information: Array, factor: Array) -> float:
    """How many of the deviations the data show beside their prior."""
    scaled = mix_judges(information, factor, len(information) // len(factor))
    return float(np.trace(scaled @ np.linalg.inv(scaled + np.eye(len(scaled)))))


def estimate_item_covariance(
    X: Comparisons,
    y: Array,
    weight: Array,
    calibrator: JudgeCalibrator,
    groups: NDArray[np.intp] | None = None,
    *,
    conservative: bool = False,
    tol: float = 1e-3,
) -> ItemCovariance:
    """Estimate Sigma_u from the historical rows by EM with chosen shrinkage.

    Parameters
    ----------
    X : Comparisons
        Rows that carry the plug-in of the earlier stages.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    calibrator : JudgeCalibrator
        Fitted. What of its learners is linear in coefficients is profiled out.
    groups : ndarray of shape (n_rows,), optional
        Groups of dependent rows.
    conservative : bool
        Divides by one less than the number of historical models, which keeps the
        covariance away from zero.
    tol : float
        Relative change of the covariance at which the steps stop.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        If there are fewer than five historical models.
    """
    n_historical = int((~X.is_new).sum())
    if n_historical < MIN_HISTORICAL:
        raise BattlesError(
            f"Item effects need at least {MIN_HISTORICAL} historical models to learn "
            f"their covariance, here are {n_historical}; give item_effects an array, "
            "or None for the interval without them."
        )
    noise = dispersions(X, y, weight, groups, deviating=True)
    noise = np.where(noise < LEAST_DISPERSION, 1.0, noise)
    model = _Model(X, y, weight / noise[X.judge], calibrator)
    rows = ~model.X.involves_new & model.X.is_usable
    historical, _ = model.masks()
    free = historical.copy()
    free[model.at["scores"]] = True
    free[: int(X.is_new.sum())] = False
    at_u = np.zeros(model.size, dtype=bool)
    at_u[model.at["deviation"]] = historical[model.at["deviation"]]
    fixed = free & ~at_u
    identity = np.eye(model.n_judges)
    covariance, shrinkage = PRIOR_VARIANCE * identity, Shrinkage()
    parameters = model.start(identity)
    prior = model.prior(None)
    converged = False
    for step in range(10):
        # The mode under the current covariance exists where votes are separated too.
        factor = covariance_factor(covariance)
        model.rescale(parameters, np.asarray(np.linalg.pinv(factor), np.float64))
        parameters, _ = model.newton(parameters, factor, rows, free)
        model.rescale(parameters, factor)
        _, gradient, hessian = model.derivatives(
            parameters, identity, np.where(rows, model.weight, 0.0)
        )
        hessian[np.diag_indices(model.size)] += prior
        right = (
            hessian @ np.where(free, parameters, 0.0) - gradient - prior * parameters
        )
        information, taken = _profile(hessian, at_u, fixed)
        target = right[at_u] - taken @ right[fixed]
        before = covariance
        slopes = parameters[model.at["sensitivity"]]
        # Judges that dislike what people like are turned round, as the shrinkage
        # takes judges to deviate alike.
        sign = np.where(slopes < 0, -1.0, 1.0)
        turned, flip = np.outer(sign, sign), np.repeat(sign, n_historical)
        likelihood = DeviationLikelihood(
            information * np.outer(flip, flip), target * flip, np.abs(slopes)
        )
        covariance, shrinkage, settled = fit_covariance(
            likelihood,
            covariance * turned,
            shrinkage,
            conservative=conservative,
            choose=step < 3,
            tol=tol,
        )
        covariance *= turned
        change = np.abs(covariance - before).max()
        # A tenth of a variance is far below what so few items tell of it.
        if settled and change <= 100 * tol * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
    n_free = n_historical - 2.0
    bias = np.zeros(model.size, dtype=bool)
    bias[model.at["bias"]] = True
    if bias.any():
        # Features that tell models apart take items away.
        factor = covariance_factor(covariance)
        known = _count_shown(_profile(hessian, at_u, fixed & ~bias)[0], factor)
        if known > 0:
            n_free *= _count_shown(information, factor) / known
    arrivals = model.X.involves_new & model.X.is_usable & ~model.X.is_human
    seen = np.isin(np.arange(model.n_judges), model.X.judge[arrivals])
    if not seen.any():
        seen[:] = True
    inflated, df = inflation(
        covariance * turned, shrinkage, np.abs(slopes), seen, n_free
    )
    return ItemCovariance(covariance, shrinkage, inflated, df, n_free, converged)
