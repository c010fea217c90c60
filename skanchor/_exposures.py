"""The record of exposures to unrecorded favours, from sums or from rows of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skanchor._comparisons import Comparisons
from skanchor._crossfit.solution import Solution
from skanchor._diagnostics import FitSums
from skanchor._judges import JudgeCalibrator
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.results import Exposures

MOST_FEATURES = 32
"""Most columns of a judge's bias whose favours are recorded one by one."""


def exposures_of(
    X: Comparisons, sums: FitSums, solution: Solution, calibrator: JudgeCalibrator
) -> Exposures:
    """Read exposures off the information of all rows at the fit of all rows.

    Parameters
    ----------
    X : Comparisons
        Rows, or none, that carry everything the chain learned.
    sums : FitSums
        Over all rows, historical ones included.
    solution : Solution
        Of the Riesz weights.
    calibrator : JudgeCalibrator
        Fitted.

    Returns
    -------
    Exposures
    """
    # In a result the judges come first, and people last.
    favour = np.roll(solution.exposures(), -1, axis=0)
    n_judges, n = len(X.judges), len(X.models)
    by_feature: list[tuple[Sequence[str], Array]] = []
    whole = np.full((n_judges, n), np.nan)
    for m, judge in enumerate(X.judges.tolist()):
        learner: Any
        learner, own = calibrator.biases_.get(judge), sums.sources[m].sums
        span, items = own.blocks["span"], own.blocks["items"]
        by_feature.append(((), np.empty((n, 0))))
        width = span.stop - span.start
        if linearity(learner) != "fixed" or not width or len(learner.coef_) != width:
            continue
        assert own.information is not None
        total = own.information.diagonal()[items, None]
        # Means over the rows of each model, with weights w V, of the differences of
        # the columns, positive where the model has more.
        mean = np.divide(
            own.information[items, span], total,
            out=np.full((n, width), np.nan), where=total > 0,
        )  # fmt: skip
        favours = mean * learner.coef_
        whole[m] = favours.sum(axis=1)
        if width <= MOST_FEATURES:
            own_names = span_names(learner, tuple(calibrator.features_), width)
            by_feature[m] = own_names, favours
    features = tuple(dict.fromkeys(name for names, _ in by_feature for name in names))
    place = {name: k for k, name in enumerate(features)}
    recorded = np.full((n_judges, n, len(features)), np.nan)
    for of_judge, (names, favours) in zip(recorded, by_feature, strict=True):
        of_judge[:, [place[name] for name in names]] = favours
    none = np.full(n_judges, np.nan)
    covariance, effects = X.item_covariance, X.deviations
    return Exposures(
        X.judges,
        solution.fit.x[solution.layout.sensitivities][1:],
        favour,
        features,
        recorded,
        whole,
        none if X.position_effects is None else np.abs(X.position_effects),
        none if covariance is None else np.sqrt(np.diagonal(covariance)),
        none if effects is None else np.abs(effects[:, ~X.is_new]).max(axis=1),
    )
