"""The learner of each judge's Riesz weights, chosen on historical rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._battles import Comparisons
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for


@dataclass(frozen=True, slots=True)
class WeightLearner:
    """Learner of the functions gamma of one judge.

    Attributes
    ----------
    learner : learner or None
        With its feature map, where it has a span; unfitted where it has none; None
        where there are no features.
    ridge : ndarray of shape (n_span,) or None
        Ridge penalty of the span, beside the mean curvature.
    """

    learner: Any = None
    ridge: Array | None = None

    @property
    def has_span(self) -> bool:
        """Whether the weights are linear in fixed columns, and need no fit."""
        return self.learner is None or linearity(self.learner) == "fixed"


NO_BIAS = WeightLearner()
"""Of a source without features, and of people who have no bias."""


def human_learner(X: Comparisons, curvature: Array, bias: Any) -> WeightLearner:
    """Learner of the functions gamma of people, for the bias that was fitted.

    Parameters
    ----------
    X : Comparisons
        Rows in their roles.
    curvature : ndarray of shape (n_rows,)
        Weighted variance of each outcome.
    bias : learner or None
        Fitted bias of people, whose span is taken over; None where they have none.

    Returns
    -------
    WeightLearner
    """
    cut = X.by_judge(PEOPLE)
    known = curvature[cut.rows]
    if bias is None or not known.any():
        return NO_BIAS
    if linearity(bias) == "fixed":
        return WeightLearner(bias, bias.ridge(cut.pairs, known))
    own: Any = (
        bias.for_riesz_weights() if hasattr(bias, "for_riesz_weights") else clone(bias)
    )
    return WeightLearner(own.set_params(loss="squared"))


def weight_learners(
    X: Comparisons, curvature: Array, learner: Any
) -> list[WeightLearner]:
    """Fix the learner of every judge, with its columns and ridge, on historical rows.

    Parameters
    ----------
    X : Comparisons
        Rows in their roles. The columns of a span are those of the bias, whatever the
        arrivals look like: only where a judge has no historical row, they count.
    curvature : ndarray of shape (n_rows,)
        Weighted variance of each outcome.
    learner : str, learner or dict
        As in :class:`skanchor.RieszDebiaser`.

    Returns
    -------
    list of WeightLearner
        One per judge.
    """
    if not X.features_left.shape[1]:
        return [WeightLearner()] * len(X.judges)
    found = []
    for m, judge in enumerate(X.judges.tolist()):
        cut = X.by_judge(m)
        known = _historical(X, m, curvature)
        if not known.any():
            found.append(WeightLearner())
            continue
        own: Any = clone(learner_for(learner, judge))
        # Weights minimise a squared criterion, whatever the loss of the bias was.
        own.set_params(loss="squared")
        if linearity(own) != "fixed":
            found.append(WeightLearner(own))
            continue
        own.fit_span(cut.pairs, known)
        found.append(WeightLearner(own, own.ridge(cut.pairs, known)))
    return found


def _historical(X: Comparisons, m: int, curvature: Array) -> Array:
    """Weights of judge m's rows, of its historical ones where there are any."""
    cut = X.by_judge(m)
    known = curvature.take(cut.rows)
    historical = np.where(cut.involves(X.is_new), 0.0, known)
    return historical if historical.any() else known
