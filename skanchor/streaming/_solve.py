"""The nuisances of a training set, from sums over its rows near them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skanchor._historical import HistoricalFit, Placement
from skanchor._items import ItemCovariance
from skanchor._numerics.linalg import covariance_factor
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.sample import Sample
from skanchor.streaming._likelihood import ExpandedLikelihood, Surrogates
from skanchor.warning_log import warn

__all__ = ["local_coefficients", "solve"]

EXACT = 1e-10
"""Squared Newton decrement of the last step between two passes, in squared errors."""


def local_coefficients(known: HistoricalFit, learners: list[Any]) -> list[Array]:
    """What multiplies items, display order and span, by judge.

    Parameters
    ----------
    known : HistoricalFit
        Fitted.
    learners : list
        By judge a learner, or None where there are no features.

    Returns
    -------
    list of ndarray of shape (n_local,)
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
    """Minimise the loss of a training set, from where a history stands.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        A few rows, that carry what is learned.
    known : HistoricalFit
        Where to start: scores, judges and item effects.
    surrogates : Nearby
        What stands for the rows of the training set.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    known : HistoricalFit
    step : float
        Length of the step in standard errors: of all combinations of the nuisances,
        the one that moved most.
    """
    is_joint = stages.fits_jointly(known.X)
    model = ExpandedLikelihood(
        sample.with_battles(known.X),
        known.calibrator,
        surrogates,
        has_deviations=items is not None,
    )
    free, _ = model.masks(joint=is_joint)
    factor = np.zeros((model.n_judges,) * 2)
    if items is not None:
        factor = covariance_factor(items.covariance)
    elif is_joint:
        total = surrogates.votes.weight.sum()
        model.ridge[model.at["scores"]] = stages.btl.alpha * total
    start, every = model.start(factor), np.ones(len(model.X), dtype=bool)
    found = model.minimum(start, factor, every, free, tol=EXACT)
    if not found.converged:
        warn(ConvergenceWarning("A fit between two passes of the stream did not end."))
    parameters = start.copy()
    parameters[free] = found.coef
    assert found.hessian is not None
    if is_joint:
        hessian = np.zeros((model.size, model.size))
        hessian[np.ix_(free, free)] = found.hessian
        placed = Placement.of(model, parameters, every, hessian)
        placed.check(stages.btl.alpha > 0)
    moved = (parameters - start)[free]
    square = float(moved @ found.hessian @ moved)
    step = max(square, 0.0) ** 0.5
    X = model.annotate(parameters, factor, known.X)
    if items is not None:
        X = X.with_columns(item_covariance=items.covariance)
    calibrator = model.calibrated(parameters, known.calibrator)
    again = replace(known, X=X, calibrator=calibrator)
    return (again.with_scores(X) if is_joint else again), step
