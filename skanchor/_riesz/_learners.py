"""The learner of each judge's Riesz weights, chosen on historical rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._comparisons import Comparisons, FeaturePairs, JudgeRows
from skanchor._numerics.blocks import bend
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for

CURVATURE = 0.8
"""Standard deviation of the curvature of a judge's scale, before the rows speak: wide,
as it only keeps what rows cannot tell from running away."""


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Rows as a curved scale sees them: features, and score differences."""

    features: FeaturePairs
    delta: Array


@dataclass(frozen=True, slots=True)
class CurvedScale:
    """A learner's span, and before it the curvature of the judge's scale.

    Attributes
    ----------
    learner : learner or None
        Its span follows; None where there are no features.
    """

    learner: Any

    def span(self, pairs: ScoredPairs) -> Array:
        """Columns of rows, of shape (n, 1 + n_span)."""
        column = bend(pairs.delta)[:, None]
        if self.learner is None:
            return column
        return np.hstack([column, np.asarray(self.learner.span(pairs.features))])


def row_pairs(
    learner: Any, X: Comparisons, cut: JudgeRows, chosen: Any = None
) -> FeaturePairs | ScoredPairs:
    """What the span of a learner reads of a judge's rows, all or some of them."""
    pairs = cut.pairs if chosen is None else cut.pairs[chosen]
    if not isinstance(learner, CurvedScale):
        return pairs
    delta = X.score_differences[cut.rows if chosen is None else cut.rows[chosen]]
    return ScoredPairs(pairs, np.where(np.isfinite(delta), delta, 0.0))


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
    X: Comparisons, curvature: Array, learner: Any, *, curved: bool = False
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
    curved : bool, default=False
        Whether the scales of judges may be curved.

    Returns
    -------
    list of WeightLearner
        One per judge.
    """
    found = _of_features(X, curvature, learner)
    if not curved:
        return found
    return [_curved(X, curvature, m, own) for m, own in enumerate(found)]


def _curved(
    X: Comparisons, curvature: Array, m: int, own: WeightLearner
) -> WeightLearner:
    """The learner of judge m with the curvature of its scale."""
    if not own.has_span:
        raise ValueError(
            "judge_scale='curved' needs learners of the Riesz weights that are linear "
            f"in fixed columns; that of judge {X.judges[m]!r} is not."
        )
    known = _historical(X, m, curvature)
    total = known.sum()
    # A normal prior with this standard deviation is a ridge of 1 / sd^2 beside the
    # summed information, and of its share beside the mean, as the other entries are.
    prior = np.array([1.0 / (CURVATURE**2 * total) if total > 0 else 0.0])
    ridge = prior if own.ridge is None else np.concatenate([prior, own.ridge])
    return WeightLearner(CurvedScale(own.learner), ridge)


def _historical(X: Comparisons, m: int, curvature: Array) -> Array:
    """Weights of judge m's rows, of its historical ones where there are any."""
    cut = X.by_judge(m)
    known = curvature.take(cut.rows)
    historical = np.where(cut.involves(X.is_new), 0.0, known)
    return historical if historical.any() else known


def _of_features(X: Comparisons, curvature: Array, learner: Any) -> list[WeightLearner]:
    """Learners of functions of features, by judge."""
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
