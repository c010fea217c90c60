"""Fit of the nuisances of a training set, from sums over its rows about a point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skanchor._historical import HistoricalFit, Placement
from skanchor._items import ItemCovariance
from skanchor._numerics.arrow import among
from skanchor._numerics.linalg import covariance_factor
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
        placed = Placement.of(model, parameters, every, hessian)
        placed.check(stages.btl.alpha > 0)
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
