"""Joint likelihood of scores, judges and item effects, and its maximum."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._comparisons.labels import label_index
from skanchor._comparisons.rows import EncodedRows
from skanchor._items._free import FreeParameters
from skanchor._judges import POSITION_BOUND, JudgeCalibrator
from skanchor._model.graph import laplacian
from skanchor._model.link import log_loss_terms, sigmoid
from skanchor._numerics.arrow_information import (
    ArrowSums,
    DenseSums,
    information_sums,
)
from skanchor._numerics.linalg import Columns
from skanchor._numerics.newton import SolverResult, Tolerance, minimise
from skanchor._numerics.parameters import PEOPLE, without_rounding
from skanchor._numerics.sums import local_gram, local_score
from skanchor._typing import Array
from skanchor.bias.protocol import LastStage, last_stage, linearity, rejoined
from skanchor.sample import Sample

NEAR_MODE = 1e-2
"""Squared Newton decrement, in squared standard errors, of the last step to a mode. The
step is at most a tenth of a standard error long, and leaves the square of that."""

_STALE_MOVE = 0.2
"""Change of the logits up to which a Hessian is reused: its relative change is no
larger."""

_SHORT_STEPS, _SHORT_STEPS_OF_SCORES = 8, 16
"""Consecutive short steps after which a fit is given up, with deviations and without. A
judge with about as many rows as parameters may be fitted perfectly once scores and
deviations adapt to it; scores that few votes hold may run away without end."""


class ItemLikelihood:
    """Joint likelihood of scores, judges and deviations, computed source by source.

    The parameter vector holds scores s, sensitivities c, position effects p, bias
    coefficients b and, with ``has_deviations``, standardised deviations v, ``u = L v``
    (see :class:`~skanchor._numerics.parameters.Parameters`). The rows of a source
    depend on it through the local columns (items, delta, order, span), by which one
    pass over the rows gives the gradient and the Gram matrix.

    Dictionaries have the sources as keys, the code of a judge or ``PEOPLE``: ``spans``
    has the columns that the bias is linear in, of shape (n_source_rows, n_span) or None
    without any, ``rests`` the fixed part of the bias of each row, in logits, and
    ``coef`` the coefficients of the columns in the fit that was given.
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
            stage, ridge = None, np.empty(0)
            if learner is not None and X.features_left.shape[1]:
                cut = X.by_judge(m)
                row_weight = np.where(X.involves_new[cut.rows], 0.0, weight[cut.rows])
                # Without historical rows coefficients are not fitted, so that the
                # weights only need to be positive.
                basis = row_weight if row_weight.any() else np.ones(len(cut))
                stage = last_stage(learner, cut.pairs, basis)
                # The ridge of a learner is relative to its mean loss, here losses are
                # sums.
                if stage is not None:
                    ridge = row_weight.sum() * stage.ridge
            self.spans[m] = None if stage is None else stage.columns
            self.rests[m] = self._rest(m, stage)
            self.coef[m] = np.empty(0) if stage is None else stage.coef
            ridges.append(ridge)
        self.layout = X.rows.layout(
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
        # The calibrator's bounds of c and p; all other parameters are unbounded.
        self.bounds = low, high

    def for_factor(self, factor: Array) -> Self:
        """The same likelihood, with as many v of each item as L has columns.

        Parameters
        ----------
        factor : ndarray of shape (n_judges, n_effects)
            L.

        Returns
        -------
        ItemLikelihood
        """
        if factor.shape == (self.n_judges, self.n_judges):
            return self
        found, head = copy(self), self.at["deviation"].start
        found.layout = replace(self.layout, n_effects=factor.shape[1])
        found.at, found.size = found.layout.at, found.layout.size
        more = np.zeros(found.size - head)
        low, high = (bound[:head] for bound in self.bounds)
        found.ridge = np.append(self.ridge[:head], more)
        found.bounds = np.append(low, more - np.inf), np.append(high, more + np.inf)
        return found

    def _rest(self, m: int, stage: LastStage | None) -> Array:
        """Fixed part of the bias of a source's rows, of shape (n_source_rows,)."""
        rows = self.X.by_judge(m).rows
        if stage is not None:
            return np.broadcast_to(stage.rest, len(rows))
        biases = self.X.biases
        return np.zeros(len(rows)) if biases is None else biases.take(rows)

    def start(
        self, factor: Array, near: tuple[Comparisons, JudgeCalibrator] | None = None
    ) -> Array:
        """Parameters that the comparisons carry, of shape (size,).

        Where ``near`` is given, a fit on nearly the same rows, all but the historical
        scores come from it. Deviations u become v by least squares, which is exact
        where u lies in the range of ``factor``.
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
        # The free scores s solve S s = scores; the selectors S are orthonormal.
        parameters[self.at["scores"]] = self.items.T @ scores
        parameters[self.at["sensitivity"]] = known.sensitivities
        if known.position_effects is not None:
            parameters[self.at["position"]] = known.position_effects
        for m, values in coef.items():
            parameters[self.layout.bias[m]] = values
        if known.deviations is not None:
            self.set_deviations(parameters, factor, known.deviations)
        return parameters

    def set_deviations(self, parameters: Array, factor: Array, u: Array) -> None:
        """Set the v of least length with ``u = L v``, or nearly so, in place."""
        v = np.asarray(np.linalg.lstsq(factor, u, rcond=None)[0], np.float64)
        parameters[self.at["deviation"]] = v.ravel()

    def prior(self, factor: Array | None) -> Array:
        """Diagonal of the quadratic penalty of all parameters, of shape (size,).

        It is the ridge of the biases and, with a factor, the prior v ~ N(0, I). Without
        one the deviations have no prior.
        """
        diagonal = self.ridge.copy()
        if factor is not None:
            diagonal[self.at["deviation"]] = 1.0
        return diagonal

    def deviations(self, parameters: Array, factor: Array) -> Array:
        """Deviations u of shape (n_judges, n_items)."""
        if not self.layout.has_deviations:
            return np.zeros((self.n_judges, self.n_items))
        v = parameters[self.at["deviation"]].reshape(-1, self.n_items)
        return np.asarray(factor @ v)

    def annotate(self, parameters: Array, factor: Array, X: Comparisons) -> Comparisons:
        """Return the rows ``X`` with the parameters in their learned columns."""
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
        judges = label_index(self.X.judges, "judge")
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
        for m, judge in enumerate(self.X.judges.tolist()):
            if self.spans[m] is not None:
                updated.biases_[judge] = rejoined(
                    calibrator.biases_[judge], parameters[self.layout.bias[m]].copy()
                )
        return updated

    def voters(self, parameters: Array) -> Any:
        """Copy of people's bias with these coefficients; None if they have no bias."""
        if self.spans[PEOPLE] is None:
            return self.human_bias
        coef = parameters[self.layout.bias[PEOPLE]].copy()
        return rejoined(self.human_bias, coef)

    def arrivals(self) -> ItemLikelihood:
        """The likelihood of the rows of new models alone, with the same parameters."""
        part, (chosen, rows) = copy(self), self.X.rows.arrivals
        # The cached order of all rows does not hold for the part.
        vars(part).pop("_laid", None)
        part.X = _cut(self.X, rows, chosen)
        part.y, part.weight = self.y[chosen], self.weight[chosen]
        # Rows of a source are in the same order in the part.
        new = self.X.involves_new
        at = {m: np.flatnonzero(new[self.X.by_judge(m).rows]) for m in self.spans}
        part.spans = {
            m: None if span is None else span[at[m]] for m, span in self.spans.items()
        }
        part.rests = {m: rest[at[m]] for m, rest in self.rests.items()}
        return part

    @cached_property
    def _laid(self) -> tuple[NDArray[np.intp], Array, dict[int, slice]]:
        """Rows sorted by source, their outcomes, and the slice of each source.

        Every pass over the rows can then take slices, which need no copies.
        """
        cuts = {m: self.X.by_judge(m).rows for m in (PEOPLE, *range(self.n_judges))}
        stops = np.cumsum([len(rows) for rows in cuts.values()]).tolist()
        rows = np.concatenate(list(cuts.values()))
        places = map(slice, [0, *stops[:-1]], stops)
        return rows, self.y[rows], dict(zip(cuts, places, strict=True))

    def lay(self, values: Array) -> Array:
        """Values of the rows sorted by source, as :meth:`derivatives` takes them."""
        return np.asarray(values[self._laid[0]])

    def logits(self, parameters: Array, factor: Array, weight: Array) -> Array:
        """Logits of weighted rows, zero for rows of weight zero.

        Weights and logits, of shape (n_rows,), are sorted by source as by :meth:`lay`.
        """
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        # c_m s_i + u_mi, of shape (n_judges, n_items).
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
    ) -> tuple[Array, Any]:
        """Gradient and expected Hessian of the summed loss, without prior.

        ``eta`` are the :meth:`logits`; ``weight`` is sorted by source, too. The Hessian
        is most of the work, and None unless ``curved``.

        Returns
        -------
        gradient : ndarray of shape (size,)
        hessian : ndarray of shape (size, size), ArrowMatrix or None
        """
        gradient, sums = self.sums(parameters, factor, weight, eta, curved=curved)
        mixed = factor if self.layout.has_deviations else None
        reduced = self.layout.reduce_gradient(gradient, mixed)
        return reduced, None if sums is None else sums.matrix()

    def sums(
        self,
        parameters: Array,
        factor: Array,
        weight: Array,
        eta: Array,
        *,
        curved: bool = True,
    ) -> tuple[Array, ArrowSums | DenseSums | None]:
        """Gradient by item, and sums that make the Hessian of :meth:`derivatives`."""
        X, n, layout = self.X, self.n_items, self.layout
        # Sums are taken by item, and reduced to the parameters at the end.
        gradient = layout.no_gradient()
        mixed = factor if layout.has_deviations else None
        scores = self.items @ parameters[self.at["scores"]]
        slopes = parameters[self.at["sensitivity"]]
        hessian = information_sums(layout, slopes, mixed) if curved else None
        _, y, places = self._laid
        p = sigmoid(eta)
        # w (p - y), the derivative of the loss by the logit, and w p (1 - p).
        expected = weight * p
        residuals = expected - weight * y
        curvatures = np.multiply(expected, np.subtract(1.0, p, out=p), out=p)
        judged = list(range(self.n_judges))
        if self.spans[PEOPLE] is None:
            # People without a bias have the item columns alone.
            human, at = X.by_judge(PEOPLE), places[PEOPLE]
            gradient[:n] += human.net(residuals[at])
            if hessian is not None and curvatures[at].any():
                hessian.add(PEOPLE, laplacian(human.pair_sums(curvatures[at])))
        else:
            # People with a bias are treated as a judge of sensitivity one.
            judged.append(PEOPLE)
        for m in judged:
            cut, span, at = X.by_judge(m), self.spans[m], places[m]
            slope = 1.0 if m == PEOPLE else slopes[m]
            # Columns that follow those of the items: delta, order and span.
            blocks = [cut.differences(scores)[:, None], cut.order[:, None]]
            if span is not None:
                blocks.append(span)
            extra = Columns(*blocks)
            local = local_score(cut, extra, residuals[at])
            layout.add_gradient(gradient, m, local, slope)
            if hessian is not None and curvatures[at].any():
                hessian.add(m, local_gram(cut, extra, curvatures[at]))
        return gradient, hessian

    def loss(self, eta: Array, weight: Array) -> float:
        """Summed loss of rows sorted by source at these logits, without prior."""
        return float(weight @ log_loss_terms(self._laid[1], eta))

    def minimum(
        self,
        parameters: Array,
        factor: Array,
        rows: NDArray[np.bool_],
        free: NDArray[np.bool_],
        *,
        tol: float = NEAR_MODE,
        bounds: tuple[Array, Array] | None = None,
        max_iter: int = 50,
    ) -> SolverResult:
        """Minimise the penalised loss of ``rows`` over the ``free`` parameters.

        ``bounds`` are those of all parameters; by default they are ``self.bounds``.
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
        has_deviations = self.layout.has_deviations
        short_steps = _SHORT_STEPS if has_deviations else _SHORT_STEPS_OF_SCORES
        tolerance = Tolerance(decrement=tol, drift=_STALE_MOVE, short_steps=short_steps)
        found = minimise(problem, parameters[free], tolerance, max_iter=max_iter)
        return replace(found, coef=np.clip(found.coef, low, high))

    def rescale(self, parameters: Array, factor: Array) -> None:
        """Multiply the deviations of each item by a factor, in place.

        ``factor``, of shape (n_judges, n_judges), acts on the vector of all judges.
        """
        tail = self.at["deviation"]
        by_judge = parameters[tail].reshape(self.n_judges, self.n_items)
        parameters[tail] = (factor @ by_judge).ravel()

    def masks(
        self, *, joint: bool = False
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the parameters that historical and that arrival rows decide.

        The former include the scores of historical models and the bias of people if the
        history is fitted jointly. Both have the shape (size,).
        """
        historical, arrival = (np.zeros(self.size, dtype=bool) for _ in range(2))
        for name in ("sensitivity", "position", "bias"):
            historical[self.at[name]] = True
        historical[self.layout.bias[PEOPLE]] = joint
        # The free scores of new models come first, then the historical coordinates.
        n_new = int(self.X.is_new.sum())
        historical[n_new : self.at["scores"].stop] = joint
        arrival[:n_new] = True
        if self.layout.has_deviations:
            at = self.at["deviation"]
            new = np.tile(self.X.is_new, (at.stop - at.start) // self.n_items)
            historical[self.at["deviation"]] = ~new
            arrival[self.at["deviation"]] = new
        return historical, arrival


def _nearer(learner: Any, own: Array) -> Array:
    """Coefficients of a learner fitted on nearly the same rows, where comparable.

    They are comparable if features alone determine the columns of the learner, and
    their number is the same. Otherwise ``own`` is returned.
    """
    if linearity(learner) != "fixed" or len(learner.coef_) != len(own):
        return own
    return np.asarray(learner.coef_)


def _merge_alike(sample: Sample) -> tuple[Comparisons, Array, Array]:
    """Merge rows with equal local columns into one row of their mean outcome.

    Returns rows, outcomes and weights. With features, rows are not merged, since equal
    rows are rare.
    """
    X, y, weight = sample.X, sample.y, sample.weight
    if X.features_left.shape[1]:
        return X, y, weight
    alike = X.rows.alike
    total, wins = (
        np.bincount(alike.kind, values, len(alike.first))
        for values in (weight, weight * y)
    )
    # Classes of total weight zero get the outcome 1/2, which has no influence.
    mean = np.where(total > 0, wins, 0.5) / np.where(total > 0, total, 1.0)
    return _cut(X, X.rows.merged, alike.first), mean, total.astype(np.float64)


def _cut(X: Comparisons, rows: EncodedRows, chosen: NDArray[np.intp]) -> Comparisons:
    """Chosen rows, as ``X[chosen]``, where these are known already."""
    biases = None if X.biases is None else X.biases[chosen]
    return replace(X, rows=rows, biases=biases)
