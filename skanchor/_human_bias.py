"""People's own bias: scores and a bias function fitted together on their votes.

People are a judge whose sensitivity is one: a vote has the logit
``theta_a - theta_b + psi_0(x_a) - psi_0(x_b)``. Scores then compare models at equal
style.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import HUMAN, Comparisons, JudgeRows, usable_features
from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import minimise
from skanchor._model.one_sided import dispersion_of
from skanchor._model.sources import SourceRows
from skanchor._numerics.groups import Crossed, Membership
from skanchor._numerics.parameters import PEOPLE as HUMAN_JUDGE
from skanchor._numerics.separation import separation_of
from skanchor._typing import Array
from skanchor.bias import AutoBias
from skanchor.bias.fitting import FitTask, fit_all
from skanchor.bias.protocol import LastStage, last_stage, linearity, rejoined
from skanchor.bias.registry import make_learner
from skanchor.exceptions import BattlesError, ConvergenceWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn

FARTHEST = 5.0
"""Factor by which scores may shrink or grow once style is set apart, at the start."""

ROUNDS = 3
"""Times that a learner without a span is fitted, in turn with the scores."""

_FAR, _TOLERANCE = 30.0, 1e-14
"""Logit of a vote beyond which the likelihood is flat, so that votes may be separated;
and squared decrement of Newton's last step, at which a fit to such votes is beyond."""


@dataclass(frozen=True, slots=True)
class Votes:
    """Human rows that count.

    Attributes
    ----------
    cut : JudgeRows
        All human rows of a table.
    y, weight : ndarray of shape (n,)
        Outcomes; weights, zero for rows that do not count.
    groups : ndarray of shape (n,) or None
        Codes of groups of dependent rows.
    raters : ndarray of shape (n,) or None
        Codes of raters, -1 without one; None where errors do not allow for raters.
    """

    cut: JudgeRows
    y: Array
    weight: Array
    groups: NDArray[np.intp] | None = None
    raters: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Human rows between historical models; others weigh nothing."""
        X = sample.X
        counts = X.is_human & ~X.involves_new & sample.counts
        cut = usable_features(X, counts).by_judge(HUMAN_JUDGE)
        weight = np.where(counts, sample.weight, 0.0)[cut.rows]
        groups, raters = (
            None if codes is None else codes[cut.rows]
            for codes in (sample.groups, sample.raters)
        )
        return cls(cut, sample.y[cut.rows], weight, groups, raters)

    def on_scales(self, scale: NDArray[np.intp]) -> Self:
        """Votes, of which those across scales, or on models without one, weigh nothing.

        ``scale`` has the code of the scale of each model, -1 for a model without one.
        """
        left, right = scale[self.cut.left], scale[self.cut.right]
        counts = (left >= 0) & (left == right)
        return replace(self, weight=np.where(counts, self.weight, 0.0))

    def source_rows(self, span: Array, n_models: int) -> tuple[SourceRows, float]:
        """Votes of positive weight with a span, and the unit of their weights."""
        cut, used = self.cut, self.weight > 0
        n, unit = int(used.sum()), float(self.weight[used].mean())
        alone = np.full(n, -1)
        rows = SourceRows(
            PEOPLE, False, cut.rows[used], cut.left[used], cut.right[used],
            order=np.zeros(n), span=span[used], offset=np.zeros(n), y=self.y[used],
            weight=self.weight[used] / unit, count=np.ones(n), group=alone,
            rater=alone, n_items=n_models,
        )  # fmt: skip
        return rows, unit

    def summed_squares(self, values: Array) -> Array:
        """Products of values of votes of positive weight, summed by group and rater."""
        used = self.weight > 0
        groups = np.arange(len(used)) if self.groups is None else self.groups
        totals = Membership.of(groups[used]).totals(values).totals
        squares = totals.T @ totals
        if self.raters is not None:
            crossed = Crossed.of(groups[used], self.raters[used])
            squares += crossed.sums(values).excess()
        return np.asarray(squares)


@dataclass(frozen=True, slots=True)
class VoteFit:
    """Scores and bias of people.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        In logits; they sum to zero within each scale.
    bias : learner
        Fitted.
    covariance : ndarray of shape (n_models, n_models)
        Sandwich of the scores, what a learner without a span has learned beside its
        last coefficients being taken as known.
    inverse : ndarray of shape (n_models, n_models)
        Inverse information instead.
    dispersion : float
        As :func:`dispersion_of` gives it for groups and raters.
    """

    scores: Array
    bias: Any
    covariance: Array
    inverse: Array
    dispersion: float


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
    cut = X.by_judge(HUMAN_JUDGE)
    sides = np.hstack([cut.pairs.left, cut.pairs.right])
    finite = np.flatnonzero(np.isfinite(sides).all(axis=1))
    biases[cut.rows] = np.nan
    if len(finite):
        biases[cut.rows[finite]] = bias.contrast(cut.pairs[finite])
    return biases


def fit_bias(
    votes: Votes, scores: Array, bias: Any, start: Any = None, seed_offset: int = 0
) -> Any:
    """Fit people's bias beside scores that are known up to a factor.

    Parameters
    ----------
    votes : Votes
        Human rows.
    scores : ndarray of shape (n_models,)
        Scores, in logits.
    bias : str or learner
        Unfitted.
    start : learner, optional
        Fitted on nearly the same rows: an automatic choice is that of this one.
    seed_offset : int, default=0
        As in :meth:`skanchor._base.ComparisonEstimator.fit_sample`.

    Returns
    -------
    learner
    """
    cut = votes.cut
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
    delta = np.where(votes.weight > 0, scores[cut.left] - scores[cut.right], 0.0)
    bounds = (np.array([1.0 / FARTHEST]), np.array([FARTHEST]))
    task = FitTask(cut.pairs, votes.y, votes.weight, delta[:, None], bounds, start)
    fit_all([learner], [task], [HUMAN], seed_offset)
    return learner.learner_ if isinstance(learner, AutoBias) else learner


def fit_votes(
    votes: Votes,
    scores: Array,
    scale: NDArray[np.intp],
    alpha: float,
    bias: Any,
    start: Any = None,
    seed_offset: int = 0,
) -> VoteFit:
    """Fit scores and bias together.

    Parameters
    ----------
    votes : Votes
        Human rows.
    scores : ndarray of shape (n_models,)
        Scores to start from: those of the votes without a bias.
    scale : ndarray of shape (n_models,)
        Code of the scale that each model is on, -1 without one. Votes across scales,
        or on models without one, say nothing of style.
    alpha : float
        Ridge of the scores, as in :class:`skanchor.BTLRegressor`.
    bias, start, seed_offset
        As in :func:`fit_bias`.

    Returns
    -------
    VoteFit
    """
    votes, learner = votes.on_scales(scale), start
    for _ in range(ROUNDS):
        learner = fit_bias(votes, scores, bias, learner, seed_offset)
        joint = _fit_jointly(votes, scores, scale, alpha, learner)
        scores, learner = joint.scores, joint.bias
        if linearity(learner) == "fixed":
            # The joint fit of scores and coefficients is exact. Others take turns.
            break
    return joint


def vote_influence(
    votes: Votes, scores: Array, scale: NDArray[np.intp], alpha: float, learner: Any
) -> tuple[NDArray[np.intp], Array]:
    """Influence of votes on scores that are fitted to them.

    Parameters
    ----------
    votes : Votes
        Human rows.
    scores : ndarray of shape (n_models,)
        Fitted scores.
    scale : ndarray of shape (n_models,)
        As in :func:`fit_votes`.
    alpha : float
        Ridge of the scores.
    learner : learner or None
        Fitted bias of people, if they have one.

    Returns
    -------
    rows : ndarray of shape (n_votes,)
        Numbers of the rows that are votes of positive weight.
    influence : ndarray of shape (n_votes, n_models)
        Inverse information times the weighted score of each vote.
    """
    problem = _VoteProblem.of(votes.on_scales(scale), scores, scale, alpha, learner)
    return problem.rows.rows, problem.influence(problem.start)[0]


@dataclass(frozen=True, eq=False, slots=True)
class _VoteProblem:
    """The likelihood of votes by scores and the last stage of a learner.

    Attributes
    ----------
    votes : Votes
        Human rows.
    stage : LastStage
        Of the learner; without columns where it has none.
    rows : SourceRows
        Votes of positive weight, whose span has a last column of what the earlier
        stages give, with a coefficient of one.
    unit : float
        Weight that is one there.
    start : Fit
        The given scores and coefficients.
    free : ndarray of shape (size,)
        Mask of the parameters that are fitted.
    """

    votes: Votes
    stage: LastStage
    rows: SourceRows
    unit: float
    start: Fit
    free: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        votes: Votes,
        scores: Array,
        scale: NDArray[np.intp],
        alpha: float,
        learner: Any,
    ) -> Self:
        """Lay out the parameters of a fit that starts at given ones."""
        stage = last_stage(learner, votes.cut.pairs, votes.weight)
        if stage is None:
            columns, none = np.empty((len(votes.y), 0)), np.empty(0)
            rest = 0.0 if learner is None else learner.contrast(votes.cut.pairs)
            stage = LastStage(columns, none, none, rest)
        rest = np.broadcast_to(stage.rest, len(votes.y))
        span = np.column_stack([stage.columns, rest])
        rows, unit = votes.source_rows(span, len(scores))
        # Models without a scale are a context of their own, and stay where they are.
        context = np.where(scale < 0, scale.max() + 1, scale)
        is_new = np.zeros(len(scale), dtype=bool)
        model = np.arange(len(scale))
        layout = Layout(is_new, context, model, (rows.span.shape[1],), (False,))
        ridge, x = np.zeros((2, layout.size))
        ridge[layout.scores] = alpha
        ridge[layout.span(PEOPLE)] = np.append(stage.ridge, 0.0)
        x[layout.scores] = scores
        x[layout.scores] = layout.targets.T @ x
        x[layout.sensitivities] = 1.0
        x[layout.span(PEOPLE)] = np.append(stage.coef, 1.0)
        free = layout.of_scores(scale >= 0) | layout.of_source(PEOPLE)
        free[-1] = False
        start = Fit(layout, x, np.diag(rows.weight.sum() * ridge))
        return cls(votes, stage, rows, unit, start, free)

    def influence(self, fit: Fit) -> tuple[Array, Array]:
        """Influence of each vote on each score, and the inverse information."""
        rows, free = self.rows, self.free
        p, targets = fit.probabilities(rows), fit.layout.targets
        gram = rows.information(rows.weight, p)
        information = fit.penalised(fit.information([(PEOPLE, gram)]))
        inverse = np.zeros_like(targets)
        system = SymmetricSystem.of(information[np.ix_(free, free)])
        inverse[free] = system.solve(targets[free])
        influence = rows.products(fit.local_weights(PEOPLE, inverse))
        influence *= (rows.weight * (rows.y - p))[:, None]
        return influence, targets.T @ inverse / self.unit


def _fit_jointly(
    votes: Votes, scores: Array, scale: NDArray[np.intp], alpha: float, learner: Any
) -> VoteFit:
    """Fit scores and the last stage of a learner, the span of people's votes."""
    problem = _VoteProblem.of(votes, scores, scale, alpha, learner)
    start, rows, stage = problem.start, problem.rows, problem.stage
    fit, _ = minimise(start, [rows], [rows.weight], problem.free, tolerance=_TOLERANCE)
    is_far = np.abs(fit.logits(rows)).max(initial=0.0) > _FAR
    if is_far or not fit.converged:
        _refuse_separation(votes, stage.columns)
    if not fit.converged:
        warn(
            ConvergenceWarning(
                "Scores and bias of people did not converge.",
                code="people-not-converged",
            )
        )
    coef = fit.x[fit.layout.span(PEOPLE)][:-1]
    learner = rejoined(learner, coef) if len(coef) else learner
    influence, inverse = problem.influence(fit)
    covariance, dispersion = votes.summed_squares(influence), 1.0
    if votes.groups is not None or votes.raters is not None:
        dispersion = dispersion_of(covariance, influence.T @ influence)
    return VoteFit(fit.scores, learner, covariance, inverse, dispersion)


def _refuse_separation(votes: Votes, columns: Array) -> None:
    """Refuse votes that scores and the columns of a bias separate."""
    used = votes.weight > 0
    design = np.hstack([votes.cut.incidence.toarray(), columns])[used]
    if len(separation_of(design, votes.y[used]).columns):
        raise BattlesError(
            "Scores and features together separate the human votes, so that "
            "no finite bias of people fits them. Use fewer features, or give "
            "people's bias a ridge: human_bias=LinearBias(alpha=0.01).",
        )
