"""People's own bias: scores and a bias function fitted together on their votes.

People are a judge whose sensitivity is one: a vote has the logit
``theta_a - theta_b + psi_0(x_a) - psi_0(x_b)``. Scores then compare models at equal
style. Their fit is one step of the engine, and its sandwich the influence of the rows
with weights that are solved on these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import HUMAN, Comparisons, usable_features
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import Fit
from skanchor._model.influence import influence_of
from skanchor._model.layout import PEOPLE
from skanchor._model.logistic import separation_of
from skanchor._model.newton import grams_of, minimise
from skanchor._model.one_sided import dispersion_of
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import biases_of
from skanchor._typing import Array
from skanchor.bias import AutoBias
from skanchor.bias.fitting import TrainingRows, fit_learner
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import make_learner
from skanchor.exceptions import BattlesError, ConvergenceWarning
from skanchor.warning_log import warn

FARTHEST = 5.0
"""Factor by which scores may shrink or grow once style is set apart, at the start."""

ROUNDS = 3
"""Times that a learner without a span is fitted, in turn with the scores."""

_FAR, _TOLERANCE = 30.0, 1e-14
"""Logit of a vote beyond which the likelihood is flat, so that votes may be separated;
and squared decrement of Newton's last step, at which a fit to such votes is beyond."""


class Scale(NamedTuple):
    """Scores that votes of people are fitted beside.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        In logits.
    number : ndarray of shape (n_models,)
        Scale that each model is on, -1 without one. Votes across scales, or on models
        without one, say nothing of style.
    alpha : float
        Ridge of the scores, as in :class:`skanchor.BTLRegressor`.
    """

    scores: Array
    number: NDArray[np.intp]
    alpha: float


def vote_biases(bias: Any, X: Comparisons) -> Array:
    """Contrast of people's bias in human rows, NaN without features.

    Parameters
    ----------
    bias : learner
        Fitted.
    X : Comparisons
        Rows.

    Returns
    -------
    ndarray of shape (n_rows,)
        In other rows what they carry, or zero.
    """
    biases = np.zeros(len(X)) if X.biases is None else X.biases.copy()
    cut = X.by_judge(PEOPLE - 1)
    biases[cut.rows] = biases_of(bias, cut.pairs, "people")
    return biases


def fit_bias(
    sample: Sample, scores: Array, bias: Any, start: Any = None, seed_offset: int = 0
) -> Any:
    """Fit people's bias beside scores that are known up to a factor.

    Parameters
    ----------
    sample : Sample
        Rows; those of people between historical models count.
    scores : ndarray of shape (n_models,)
        Scores, in logits.
    bias : str or learner
        Unfitted.
    start : learner, optional
        Fitted on nearly the same rows: an automatic choice is that of this one.
    seed_offset : int, default=0
        As in :meth:`skanchor._estimators.base.ComparisonEstimator.fit_sample`.

    Returns
    -------
    learner
    """
    votes = _votes(sample)
    cut = votes.X.by_judge(PEOPLE - 1)
    if not cut.pairs.n_features:
        raise BattlesError(
            "A bias of people needs features of the responses, and the table has none: "
            "give pairs of columns <name>_a and <name>_b in human rows, too."
        )
    learner: Any = clone(make_learner(bias))
    if isinstance(learner, AutoBias) and start is not None:
        learner = clone(start)
    learner.set_params(loss="logistic")
    # The score difference is a parametric column; its coefficient, one in the model,
    # may lie within a factor of FARTHEST, because the scores at the start include
    # style.
    y, weight = votes.y[cut.rows], votes.weight[cut.rows]
    delta = np.where(weight > 0, scores[cut.left] - scores[cut.right], 0.0)
    bounds = (np.array([1.0 / FARTHEST]), np.array([FARTHEST]))
    rows = TrainingRows(cut.pairs, y, weight, delta[:, None], bounds)
    fit_learner(learner, rows, HUMAN, start=start, seed_offset=seed_offset)
    return learner.learner_ if isinstance(learner, AutoBias) else learner


def _votes(sample: Sample, scale: NDArray[np.intp] | None = None) -> Sample:
    """Rows of people alone, of which votes on historical models of one scale weigh."""
    X = sample.X
    counts = X.is_human & ~X.involves_new & sample.counts
    if scale is not None:
        counts &= (scale[X.left] >= 0) & (scale[X.left] == scale[X.right])
    people = usable_features(X, counts).relabel(X.models, X.judges[:0])
    return sample.with_battles(people).weighted(np.where(counts, sample.weight, 0.0))


@dataclass(frozen=True, eq=False, slots=True)
class VoteFit:
    """Scores and bias of people, fitted together.

    Attributes
    ----------
    bias : learner or None
        Fitted.
    rows : SourceRows
        Votes that count.
    weights : RieszWeights
        Of these rows, with the fit.
    unit : float
        Weight of a vote that is one there.
    """

    bias: Any
    rows: SourceRows
    weights: RieszWeights
    unit: float

    @classmethod
    def of(
        cls, sample: Sample, scale: Scale, learner: Any, *, is_fitted: bool = False
    ) -> VoteFit:
        """Fit scores and the last stage of a learner, or take both as they are.

        What a learner without a span has learned beside its last coefficients is taken
        as known.
        """
        number = scale.number
        votes = _votes(sample, number)
        unit = float(votes.weight[votes.weight > 0].mean())
        X = votes.X.with_columns(scores=scale.scores, new_models=())
        votes = votes.with_battles(X).in_units(unit)
        known = PipelineFit.of(votes, None, learner, alpha=scale.alpha)
        (rows,) = known.sources
        # Models without a scale are a context of their own, and stay where they are.
        context = np.where(number < 0, number.max() + 1, number)
        layout = replace(known.layout, context=context)
        fit = replace(known.fit, layout=layout)
        fit.x[layout.scores] = layout.targets.T @ fit.x
        if not is_fitted:
            free = layout.of_scores(number >= 0) | layout.of_source(PEOPLE)
            fit, _ = minimise(fit, [rows], [rows.weight], free, tolerance=_TOLERANCE)
            _check(fit, rows)
            learner = known.moved(fit).voters()
        grams = grams_of(fit, [rows], [rows.weight])
        return cls(learner, rows, RieszWeights.solve(fit, grams, fit.precision), unit)

    @property
    def scores(self) -> Array:
        """Scores of the models, which sum to zero within each scale."""
        return self.weights.fit.scores

    @property
    def inverse(self) -> Array:
        """Inverse information of the scores."""
        targets = self.weights.fit.layout.targets
        return np.asarray(targets.T @ self.weights.values / self.unit)

    def covariance(self) -> tuple[Array, float]:
        """Sandwich of the scores, and how far groups and raters widen it."""
        n_raters = int(self.rows.rater.max(initial=-1)) + 1
        alone = np.full(len(self.rows), -1)
        apart = replace(self.rows, group=alone, rater=alone)
        found = influence_of(self.weights, [self.rows], n_raters).covariance_parts()[0]
        independent = influence_of(self.weights, [apart], 0).parts[0]
        return found, dispersion_of(found, independent)


def fit_votes(
    sample: Sample, scale: Scale, bias: Any, start: Any = None, seed_offset: int = 0
) -> VoteFit:
    """Fit scores and bias together.

    Parameters
    ----------
    sample : Sample
        Rows; those of people between historical models count.
    scale : Scale
        Scores to start from: those of the votes without a bias.
    bias, start, seed_offset
        As in :func:`fit_bias`.

    Returns
    -------
    VoteFit
    """
    votes, learner = _votes(sample, scale.number), start
    for _ in range(ROUNDS):
        learner = fit_bias(votes, scale.scores, bias, learner, seed_offset)
        found = VoteFit.of(votes, scale, learner)
        scale, learner = scale._replace(scores=found.scores), found.bias
        if linearity(learner) == "fixed":
            # The joint fit of scores and coefficients is exact. Others take turns.
            break
    return found


def _check(fit: Fit, rows: SourceRows) -> None:
    """Refuse votes that scores and the columns of a bias separate."""
    is_far = np.abs(fit.logits(rows)).max(initial=0.0) > _FAR
    if is_far or not fit.converged:
        items = np.eye(rows.n_items)
        design = np.hstack([items[rows.left] - items[rows.right], rows.span])
        if len(separation_of(design, rows.y).columns):
            raise BattlesError(
                "Scores and features together separate the human votes, so that "
                "no finite bias of people fits them. Use fewer features, or give "
                "people's bias a ridge: human_bias is a LinearBias with alpha 0.01.",
            )
    if not fit.converged:
        warn(
            ConvergenceWarning(
                "Scores and bias of people did not converge.",
                code="people-not-converged",
            )
        )
