"""Fit of the nuisances of a training set, from sums over its rows about a point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._historical import HistoricalFit, Placement, invisible_directions
from skanchor._model.item_effects import (
    MODE_TOLERANCE,
    ItemCovariance,
    Posterior,
    spread_of,
)
from skanchor._numerics.arrow import ArrowMatrix, among
from skanchor._numerics.linalg import SymmetricSolver, covariance_factor
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.sample import Sample
from skanchor.streaming._likelihood import ExpandedLikelihood, Surrogates
from skanchor.warning_log import warn

EXACT = 1e-10
"""Tolerance of a fit between two passes: squared length of the last Newton step, in
squared standard errors."""


def local_coefficients(known: HistoricalFit, learners: list[Any]) -> list[Array]:
    """Local coefficients of each judge: of items, display order and span.

    Parameters
    ----------
    known : HistoricalFit
        Fitted history.
    learners : list
        For each judge its bias learner, or None where there are no features.

    Returns
    -------
    list of ndarray of shape (n_local,)
        For each judge: ``c_m theta_i + u_{m,i}`` of each item, the position effect,
        and the coefficients of the bias.
    """
    X = known.X
    assert X.scores is not None and X.sensitivities is not None
    by_item = X.sensitivities[:, None] * X.scores
    if X.deviations is not None:
        by_item = by_item + X.deviations
    found = []
    for m, judge in enumerate(X.judges.tolist()):
        position = np.zeros(1)
        if X.position_effects is not None:
            position = X.position_effects[m : m + 1]
        own: Any = known.calibrator.biases_[judge]
        bias = np.empty(0) if learners[m] is None else own.coef_
        found.append(np.concatenate([by_item[m], position, bias]))
    return found


def solve(
    stages: Stages,
    sample: Sample,
    known: HistoricalFit,
    surrogates: Surrogates,
    items: ItemCovariance | None,
) -> tuple[HistoricalFit, float]:
    """Minimise the loss of a training set, starting from another fit.

    Parameters
    ----------
    stages : Stages
        Unfitted stages.
    sample : Sample
        A few rows, which carry the parameters.
    known : HistoricalFit
        Starting values: scores, judges and item effects.
    surrogates : Surrogates
        Likelihoods of the rows of the training set.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    known : HistoricalFit
        The fit.
    step : float
        Length of the step: the largest change, in its own standard error, of any
        linear combination of the nuisances.
    """
    is_joint = stages.fits_jointly(known.X)
    model = ExpandedLikelihood(
        sample.with_battles(known.X),
        known.calibrator,
        surrogates,
        has_deviations=items is not None,
    )
    # Item effects are u = L v with Sigma_u = L L'; ``factor`` is L, of shape
    # (n_judges, n_effects).
    factor = np.zeros((model.n_judges,) * 2)
    if items is not None:
        factor = covariance_factor(items.covariance)
        model = model.for_factor(factor)
    elif is_joint:
        # The ridge of the scores stands beside the mean loss of the votes.
        total = surrogates.votes.weight.sum()
        model.ridge[model.at["scores"]] = stages.btl.alpha * total
    # In two steps the scores stay at those of the votes; jointly they are free, too.
    free, _ = model.masks(joint=is_joint)
    start, every = model.start(factor), np.ones(len(model.X), dtype=bool)
    found = model.minimum(start, factor, every, free, tol=EXACT)
    if not found.converged:
        warn(
            ConvergenceWarning(
                "A fit between two passes of the stream did not end.",
                code="stream-not-converged",
            )
        )
    parameters = start.copy()
    parameters[free] = found.coef
    assert found.hessian is not None
    if is_joint:
        # Check that votes and verdicts together identify the scores.
        hessian = among(found.hessian, free)
        _placement(model, parameters, hessian).check(stages.btl.alpha > 0)
    # The maximum over l of (l'd)^2 / (l'H^-1 l), for a step d, is d'H d.
    moved = (parameters - start)[free]
    square = float(moved @ (found.hessian @ moved))
    step = max(square, 0.0) ** 0.5
    X = model.annotate(parameters, factor, known.X)
    if items is not None:
        X = X.with_columns(item_covariance=items.covariance)
    calibrator = model.calibrated(parameters, known.calibrator)
    again = replace(known, X=X, calibrator=calibrator)
    return (again.with_scores(X) if is_joint else again), step


def _placement(model: ExpandedLikelihood, parameters: Array, hessian: Any) -> Placement:
    """What a fitted likelihood says of the scores; its Hessian is of the whole loss."""
    if isinstance(hessian, ArrowMatrix):
        hessian = hessian.dense()
    X, n_new, bias = model.X, int(model.X.is_new.sum()), model.at["bias"]
    head = np.arange(n_new, bias.start)
    cross = hessian[head, bias]
    taken = SymmetricSolver.factorise(hessian[bias, bias]).solve(cross.T)
    information = hessian[np.ix_(head, head)] - np.diag(model.ridge[head])
    directions = invisible_directions(information - cross @ taken)
    selectors, pairs = model.items[:, n_new:], []
    for m in (*range(model.n_judges), -1):
        cut = X.by_judge(m)
        used = model.weight[cut.rows] > 0
        pairs.append((cut.left[used], cut.right[used], model.y[cut.rows[used]]))
    return Placement(
        X.models,
        X.judges,
        ~X.is_new,
        model.items @ parameters[model.at["scores"]],
        parameters[model.at["sensitivity"]],
        selectors @ directions[: selectors.shape[1]],
        pairs,
        X.rows.items.context,
    )


class ExpandedHistory:
    """Likelihood of historical rows under covariances of item effects, from sums.

    Parameters
    ----------
    model : ExpandedLikelihood
        Of rows whose weights are those of independent votes.
    """

    def __init__(self, model: ExpandedLikelihood):
        self.model, size = model, model.size
        self.free = model.masks(joint=True)[0]
        self.at_effects = np.zeros(size, dtype=bool)
        self.at_effects[model.at["deviation"]] = True
        self.at_effects &= self.free
        self.spans = np.zeros(size, dtype=bool)
        self.spans[model.at["bias"]] = True
        # Between calls the parameters hold u itself: with L = I, u = v.
        self.parameters = model.start(np.eye(model.n_judges))

    def expand(self, sigma: Array) -> bool:
        """Whether there is a mode; the sums are an expansion already."""
        self.posterior(sigma)
        return self.converged

    def posterior(self, sigma: Array) -> Posterior:
        """Posterior of the item effects under a covariance."""
        model, factor = self.model, np.asarray(np.linalg.cholesky(sigma), np.float64)
        parameters = self.parameters.copy()
        model.rescale(parameters, np.asarray(np.linalg.inv(factor), np.float64))
        rows = np.ones(len(model.X), dtype=bool)
        found = model.minimum(
            parameters, factor, rows, self.free, tol=MODE_TOLERANCE**2
        )
        parameters[self.free], self.converged = found.coef, found.converged
        weight = model.lay(model.weight)
        eta = model.logits(parameters, factor, weight)
        _, information = model.derivatives(parameters, factor, weight, eta)
        information[np.diag_indices(model.size)] += model.prior(factor)
        self.information, self.factor = information, factor
        model.rescale(parameters, factor)
        self.parameters = parameters
        return Posterior(
            parameters[self.at_effects].reshape(len(sigma), -1),
            self._spread(self.free),
            parameters[model.at["sensitivity"]],
        )

    def spread_without_spans(self, sigma: Array) -> Array:
        """Spread at the last mode if the coefficients of spans were known."""
        return self._spread(self.free & ~self.spans)

    def _spread(self, free: NDArray[np.bool_]) -> Array:
        low, high = self.model.bounds
        free = free & (low < self.parameters) & (self.parameters < high)
        n_judges = len(self.factor)
        of_v = spread_of(self.information, free, self.at_effects, n_judges)
        return np.asarray(self.factor @ of_v @ self.factor.T)
