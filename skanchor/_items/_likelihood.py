"""The joint likelihood of judges, new scores and item effects, and its maximum."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._items._free import FreeParameters
from skanchor._judges import POSITION_BOUND, JudgeCalibrator
from skanchor._numerics.btl import laplacian
from skanchor._numerics.linalg import Columns
from skanchor._numerics.logistic import log_loss_terms, sigmoid
from skanchor._numerics.newton import SolverResult, Tolerance, minimise
from skanchor._numerics.parameters import PEOPLE, Parameters, without_rounding
from skanchor._numerics.sums import local_gram, local_score
from skanchor._typing import Array
from skanchor.bias.protocol import LastStage, last_stage, linearity, rejoined
from skanchor.sample import Sample

__all__ = ["NEAR_MODE", "ItemLikelihood"]


NEAR_MODE = 1e-2
"""Squared Newton decrement, in squared standard errors, of the last step to a mode: a
tenth of an error at most, which the last step squares."""

_STALE_MOVE = 0.2
"""Change of the logits up to which a Hessian is kept, as it changes by that share."""

_SHORT_STEPS = 8
"""Short steps in succession after which a fit is given up. A judge with about as many
rows as parameters may be sure of all of them once scores and deviations bend to it."""


class ItemLikelihood:
    """The joint likelihood of scores, judges and deviations, by aggregated blocks.

    The parameter vector holds scores s, sensitivities c, position effects p, bias
    coefficients b and standardised deviations v with ``u = L v``, unless it is not
    ``has_deviations``. Judge m sees it through the local columns (items, delta, order,
    span), for which one pass over its rows gives the gradient and the Gram matrix.
    """

    def __init__(
        self,
        sample: Sample,
        calibrator: JudgeCalibrator,
        *,
        has_deviations: bool = True,
        human_bias: Any = None,
    ):
        X, weight = sample.X, sample.weight
        self.X, self.y, self.weight = _merge_alike(sample)
        self.n_items, self.n_judges = len(X.models), len(X.judges)
        self.items = X.rows.selectors
        self.human_bias = human_bias
        self.spans: dict[int, Array | None] = {}
        self.rests: dict[int, Array] = {}
        self.coef: dict[int, Array] = {}
        ridges = []
        learners = [calibrator.biases_[judge] for judge in X.judges.tolist()]
        for m, learner in [*enumerate(learners), (PEOPLE, human_bias)]:
            cut = X.by_judge(m)
            row_weight = np.where(X.involves_new[cut.rows], 0.0, weight[cut.rows])
            # Without historical rows, coefficients stay as they are.
            basis = row_weight if row_weight.any() else np.ones(len(cut))
            stage = None
            if learner is not None:
                stage = last_stage(learner, cut.pairs, basis)
            self.spans[m] = None if stage is None else stage.columns
            self.rests[m] = self._rest(m, stage)
            self.coef[m] = np.empty(0) if stage is None else stage.coef
            ridges.append(
                np.empty(0) if stage is None else row_weight.sum() * stage.ridge
            )
        self.layout = Parameters(
            self.items,
            self.n_judges,
            positions=(X.position_effects is not None,) * self.n_judges,
            widths=tuple(len(self.coef[m]) for m in range(self.n_judges)),
            has_deviations=has_deviations,
            human_width=len(self.coef[PEOPLE]),
        )
        self.at, self.size = self.layout.at, self.layout.size
        self.ridge = np.zeros(self.size)
        self.ridge[self.at["bias"]] = np.concatenate(ridges)
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        at = self.at["sensitivity"]
        low[at], high[at] = calibrator.sensitivity_bounds
        at = self.at["position"]
        low[at], high[at] = -POSITION_BOUND, POSITION_BOUND
        # Those of the calibrator, for all parameters.
        self.bounds = low, high

    def _rest(self, m: int, stage: LastStage | None) -> Array:
        """Bias of a source's rows that stays as it is."""
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
            coef = coef | {
                m: _nearer(calibrator.biases_[judge], coef[m])
                for m, judge in enumerate(self.X.judges.tolist())
            }
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
        for m, values in coef.items():
            parameters[self.layout.bias[m]] = values
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
        if not self.layout.has_deviations:
            return np.zeros((self.n_judges, self.n_items))
        v = parameters[self.at["deviation"]].reshape(self.n_judges, self.n_items)
        return np.asarray(factor @ v)

    def annotate(self, parameters: Array, factor: Array, X: Comparisons) -> Comparisons:
        """Rows with the parameters written into their learned columns."""
        biases = X.biases if X.biases is not None else np.zeros(len(X))
        biases = biases.copy()
        for m, span in self.spans.items():
            if span is not None:
                own = span @ parameters[self.layout.bias[m]]
                biases[X.by_judge(m).rows] = own + self.rests[m]
        u = None
        if self.layout.has_deviations:
            u = self.deviations(parameters, factor)
        return X.with_columns(
            scores=self.items @ parameters[self.at["scores"]],
            sensitivities=without_rounding(parameters[self.at["sensitivity"]]),
            position_effects=parameters[self.at["position"]].copy()
            if self.layout.has_positions
            else None,
            biases=biases,
            deviations=u,
        )

    def calibrated(
        self, parameters: Array, calibrator: JudgeCalibrator
    ) -> JudgeCalibrator:
        """Copy of the calibrator with these judge parameters."""
        updated = copy(calibrator)
        judges = pd.Index(self.X.judges, name="judge")
        updated.sensitivities_ = pd.Series(
            without_rounding(parameters[self.at["sensitivity"]]),
            index=judges,
            name="sensitivity",
        )
        if self.layout.has_positions:
            updated.position_effects_ = pd.Series(
                parameters[self.at["position"]], index=judges, name="position"
            )
        updated.biases_ = dict(calibrator.biases_)
        for m, judge in enumerate(judges.tolist()):
            if self.spans[m] is not None:
                updated.biases_[judge] = rejoined(
                    calibrator.biases_[judge], parameters[self.layout.bias[m]].copy()
                )
        return updated

    def voters(self, parameters: Array) -> Any:
        """Copy of people's bias with these coefficients; None where they have none."""
        if self.spans[PEOPLE] is None:
            return self.human_bias
        coef = parameters[self.layout.bias[PEOPLE]].copy()
        return rejoined(self.human_bias, coef)

    def part(self, rows: NDArray[np.bool_]) -> ItemLikelihood:
        """The same parameters, seen by the chosen rows alone."""
        # Row numbers choose much faster than a mask where few rows are meant.
        part, chosen = copy(self), np.flatnonzero(rows)
        vars(part).pop("_laid", None)
        part.X = self.X.without_features()[chosen]
        part.y, part.weight = self.y[chosen], self.weight[chosen]
        at = {m: np.flatnonzero(rows[self.X.by_judge(m).rows]) for m in self.spans}
        part.spans = {
            m: None if span is None else span[at[m]] for m, span in self.spans.items()
        }
        part.rests = {m: rest[at[m]] for m, rest in self.rests.items()}
        return part

    def arrival_columns(self, parameters: Array, factor: Array) -> tuple[Array, Array]:
        """What the logits of arrival rows are linear in: scores and v of new models.

        Parameters
        ----------
        parameters : ndarray of shape (size,)
            All parameters; those of new models count for nothing.
        factor : ndarray of shape (n_judges, n_judges)
            L.

        Returns
        -------
        offset : ndarray of shape (n_rows,)
            Logits at zero.
        columns : ndarray of shape (n_rows, n_new * (1 + n_judges))
            In the order of the parameters.
        """
        X, new = self.X, np.flatnonzero(self.X.is_new)
        slopes = parameters[self.at["sensitivity"]]
        by_item = np.zeros((self.n_judges + 1, self.n_items))
        by_item[-1] = self.items @ parameters[self.at["scores"]]
        by_item[:-1] = slopes[:, None] * by_item[-1]
        by_item[:-1] += self.deviations(parameters, factor)
        by_item[:, new] = 0.0
        # The code of people, -1, is the last row.
        offset = by_item[X.judge, X.left] - by_item[X.judge, X.right]
        for m in range(self.n_judges):
            cut, span = X.by_judge(m), self.spans[m]
            own = self.rests[m].copy()
            if span is not None:
                own += span @ parameters[self.layout.bias[m]]
            if self.layout.has_positions:
                own += parameters[self.at["position"]][m] * cut.order
            offset[cut.rows] += own
        signs = (X.left[:, None] == new).astype(np.float64)
        signs -= X.right[:, None] == new
        share = np.zeros((self.n_judges + 1, 1 + self.n_judges))
        share[:-1, 0], share[-1, 0], share[:-1, 1:] = slopes, 1.0, factor
        columns = share[X.judge][:, :, None] * signs[:, None, :]
        return offset, columns.reshape(len(X), -1)

    @cached_property
    def _laid(self) -> tuple[NDArray[np.intp], Array, dict[int, slice]]:
        """Rows source after source, their outcomes, and where each source has them.

        Every pass then reads slices in place of picking the rows of each source.
        """
        cuts = {m: self.X.by_judge(m).rows for m in (PEOPLE, *range(self.n_judges))}
        stops = np.cumsum([len(rows) for rows in cuts.values()]).tolist()
        rows = np.concatenate(list(cuts.values()))
        places = map(slice, [0, *stops[:-1]], stops)
        return rows, self.y[rows], dict(zip(cuts, places, strict=True))

    def lay(self, values: Array) -> Array:
        """Values of the rows, in the order in which :meth:`derivatives` takes them."""
        return np.asarray(values[self._laid[0]])

    def logits(self, parameters: Array, factor: Array, weight: Array) -> Array:
        """Logits of weighted rows, zero where a row weighs nothing.

        Weights and logits are laid out by source, as :meth:`lay` does.
        """
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        # What each model adds to the logits of each judge.
        by_item = slopes[:, None] * scores + self.deviations(parameters, factor)
        _, y, places = self._laid
        eta = np.empty(len(y))
        for m, at in places.items():
            cut, span = self.X.by_judge(m), self.spans[m]
            own = cut.differences(scores if m == PEOPLE else by_item[m])
            own += self.rests[m]
            if self.layout.has_positions and m != PEOPLE:
                own += parameters[self.at["position"]][m] * cut.order
            if span is not None:
                own += span.dot(parameters[self.layout.bias[m]])
            eta[at] = own
        return np.where(weight > 0, eta, 0.0)

    def derivatives(
        self,
        parameters: Array,
        factor: Array,
        weight: Array,
        eta: Array,
        *,
        curved: bool = True,
    ) -> tuple[Array, Array | None]:
        """Gradient and expected Hessian over weighted rows, without prior.

        ``eta`` are the :meth:`logits`. The Hessian, most of the work, is None unless
        ``curved``.
        """
        X, n, layout = self.X, self.n_items, self.layout
        gradient = layout.no_gradient()
        hessian = layout.no_information() if curved else None
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        _, y, places = self._laid
        p = sigmoid(eta)
        expected = weight * p
        residuals = expected - weight * y
        curvatures = np.multiply(expected, np.subtract(1.0, p, out=p), out=p)
        judged = list(range(self.n_judges))
        if self.spans[PEOPLE] is None:
            human, at = X.by_judge(PEOPLE), places[PEOPLE]
            gradient[:n] += human.net(residuals[at])
            if hessian is not None and curvatures[at].any():
                hessian[:n, :n] += laplacian(human.pair_sums(curvatures[at]))
        else:
            # A judge of sensitivity one.
            judged.append(PEOPLE)
        for m in judged:
            cut, span, at = X.by_judge(m), self.spans[m], places[m]
            slope = 1.0 if m == PEOPLE else slopes[m]
            blocks = [cut.differences(scores)[:, None], cut.order[:, None]]
            if span is not None:
                blocks.append(span)
            extra = Columns(*blocks)
            local = local_score(cut, extra, residuals[at])
            layout.add_gradient(gradient, m, local, slope)
            if hessian is not None and curvatures[at].any():
                gram = local_gram(cut, extra, curvatures[at])
                layout.add_information(hessian, m, gram, slope)
        mixed = factor if self.layout.has_deviations else None
        reduced = layout.reduce_gradient(gradient, mixed)
        if hessian is None:
            return reduced, None
        return reduced, layout.reduce_information(hessian, mixed)

    def loss(self, eta: Array, weight: Array) -> float:
        """Loss of weighted rows at these logits, without prior, laid out by source."""
        return float(weight @ log_loss_terms(self._laid[1], eta))

    def newton(
        self,
        parameters: Array,
        factor: Array,
        rows: NDArray[np.bool_],
        free: NDArray[np.bool_],
        *,
        tol: float = NEAR_MODE,
        max_iter: int = 50,
    ) -> tuple[Array, bool]:
        """Minimise the penalised loss of ``rows`` over the ``free`` parameters."""
        found = self.minimum(parameters, factor, rows, free, tol=tol, max_iter=max_iter)
        parameters = parameters.copy()
        parameters[free] = found.coef
        return parameters, found.converged

    def minimum(
        self,
        parameters: Array,
        factor: Array,
        rows: NDArray[np.bool_],
        free: NDArray[np.bool_],
        *,
        tol: float,
        bounds: tuple[Array, Array] | None = None,
        max_iter: int = 50,
    ) -> SolverResult:
        """What :meth:`newton` finds, with the Hessian by the free parameters.

        Bounds are those of all parameters; None is those of the calibrator.
        """
        low, high = (bound[free] for bound in bounds or self.bounds)
        problem = FreeParameters(
            self,
            parameters,
            factor,
            self.lay(np.where(rows, self.weight, 0.0)),
            self.prior(factor),
            np.flatnonzero(free),
            low,
            high,
        )
        # Without deviations, scores that run away are looked at once they are far.
        short_steps = _SHORT_STEPS if self.layout.has_deviations else None
        tolerance = Tolerance(decrement=tol, drift=_STALE_MOVE, short_steps=short_steps)
        found = minimise(problem, parameters[free], tolerance, max_iter=max_iter)
        return replace(found, coef=np.clip(found.coef, low, high))

    def rescale(self, parameters: Array, factor: Array) -> None:
        """Multiply the deviations of each item by a factor, in place."""
        tail = self.at["deviation"]
        by_judge = parameters[tail].reshape(self.n_judges, self.n_items)
        parameters[tail] = (factor @ by_judge).ravel()

    def masks(
        self, *, joint: bool = False
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which parameters the historical and the arrival rows decide.

        Where the history is fitted jointly, its scores are among the former.
        """
        historical, arrival = (np.zeros(self.size, dtype=bool) for _ in range(2))
        for name in ("sensitivity", "position", "bias"):
            historical[self.at[name]] = True
        historical[self.layout.bias[PEOPLE]] = joint
        n_new = int(self.X.is_new.sum())
        historical[n_new : self.at["scores"].stop] = joint
        arrival[:n_new] = True
        if self.layout.has_deviations:
            new = np.tile(self.X.is_new, self.n_judges)
            historical[self.at["deviation"]] = ~new
            arrival[self.at["deviation"]] = new
        return historical, arrival


def _nearer(learner: Any, own: Array) -> Array:
    """Coefficients of a fit on nearly the same rows, where they mean the same."""
    if linearity(learner) != "fixed" or len(learner.coef_) != len(own):
        return own
    return np.asarray(learner.coef_)


def _merge_alike(sample: Sample) -> tuple[Comparisons, Array, Array]:
    """Merge rows that are alike to all parameters; without features these are many."""
    X, y, weight = sample.X, sample.y, sample.weight
    if X.features_left.shape[1]:
        return X, y, weight
    first, kind = X.rows.alike
    total = np.bincount(kind, weight, minlength=len(first))
    wins = np.bincount(kind, weight * y, minlength=len(first))
    mean = np.where(total > 0, wins, 0.5) / np.where(total > 0, total, 1.0)
    return X[first], mean, total.astype(np.float64)
