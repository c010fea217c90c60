"""People's own bias: scores and a bias function fitted together on their votes.

People are a judge whose sensitivity is one: a vote has the logit
``theta_a - theta_b + psi_0(x_a) - psi_0(x_b)``. Scores then compare models at equal
style.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._comparisons import HUMAN, Comparisons, JudgeRows, usable_features
from skanchor._numerics.groups import Crossed, Membership
from skanchor._numerics.linalg import SymmetricSolver, zero_sum_basis
from skanchor._numerics.logistic import LogisticFit, fit_logistic, sigmoid
from skanchor._numerics.parameters import PEOPLE
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
        cut = usable_features(X, counts).by_judge(PEOPLE)
        weight = np.where(counts, sample.weight, 0.0)[cut.rows]
        groups, raters = (
            None if codes is None else codes[cut.rows]
            for codes in (sample.groups, sample.raters)
        )
        return cls(cut, sample.y[cut.rows], weight, groups, raters)


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
    """

    scores: Array
    bias: Any
    covariance: Array
    inverse: Array


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
    cut = X.by_judge(PEOPLE)
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
    scales: Sequence[NDArray[np.intp]],
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
    scales : sequence of ndarrays
        Models that share a scale. Votes across scales, or on models without one, say
        nothing of style.
    alpha : float
        Ridge of the scores, as in :class:`skanchor.BTLRegressor`.
    bias, start, seed_offset
        As in :func:`fit_bias`.

    Returns
    -------
    VoteFit
    """
    # theta = basis @ s, with one block of zero-sum columns for each scale.
    basis, votes = _coordinates(votes, len(scores), scales)
    scores, learner = basis @ (basis.T @ scores), start
    # Columns of the scores in a vote's logit, (n_votes, n_coordinates).
    design = votes.cut.incidence @ basis
    for _ in range(ROUNDS):
        learner = fit_bias(votes, scores, bias, learner, seed_offset)
        found = _Joined.of(design, votes, learner, alpha)
        scores, learner = basis @ found.scores, found.learner(learner)
        if linearity(learner) == "fixed":
            # The joint fit of scores and coefficients is exact. Others take turns.
            break
    sandwich, inverse = (
        basis @ one @ basis.T for one in found.covariances(votes, design.shape[1])
    )
    return VoteFit(scores, learner, sandwich, inverse)


def _coordinates(
    votes: Votes, n_models: int, scales: Sequence[NDArray[np.intp]]
) -> tuple[Array, Votes]:
    """Coordinates of the scores, and the votes between models of one scale."""
    number = np.full(n_models, -1)
    blocks = [np.empty((n_models, 0))]
    for at, scale in enumerate(scales):
        number[scale] = at
        block = np.zeros((n_models, len(scale) - 1))
        block[scale] = zero_sum_basis(len(scale))
        blocks.append(block)
    left, right = number[votes.cut.left], number[votes.cut.right]
    on = (left >= 0) & (left == right)
    return np.hstack(blocks), replace(votes, weight=np.where(on, votes.weight, 0.0))


@dataclass(frozen=True, slots=True)
class _Joined:
    """Logistic regression on the scores' columns and the last stage of a learner."""

    columns: Array
    offset: Array
    penalty: Array
    fit: LogisticFit
    n_scores: int

    @classmethod
    def of(cls, design: Array, votes: Votes, learner: Any, alpha: float) -> Self:
        """Fit; refuse votes that scores and features separate."""
        pairs, n_scores = votes.cut.pairs, design.shape[1]
        stage = last_stage(learner, pairs, votes.weight)
        if stage is None:
            rest = np.asarray(learner.contrast(pairs))
            none = np.empty(0)
            stage = LastStage(np.empty((len(rest), 0)), none, none, rest)
        # The logit is linear in the scores and in the coefficients of the last stage of
        # the learner; what its earlier stages give is an offset.
        columns = np.hstack([design, stage.columns])
        offset = np.broadcast_to(np.asarray(stage.rest, float), len(columns))
        penalty = np.append(np.full(n_scores, alpha), stage.ridge)
        fit = fit_logistic(
            columns, votes.y, votes.weight, offset=offset, penalty=penalty,
            start=np.append(np.zeros(n_scores), stage.coef),
        )  # fmt: skip
        used = votes.weight > 0
        if not fit.converged:
            if len(separation_of(columns[used], votes.y[used]).columns):
                raise BattlesError(
                    "Scores and features together separate the human votes, so that "
                    "no finite bias of people fits them. Use fewer features, or give "
                    "people's bias a ridge: human_bias=LinearBias(alpha=0.01).",
                )
            warn(
                ConvergenceWarning(
                    "Scores and bias of people did not converge.",
                    code="people-not-converged",
                )
            )
        return cls(columns, offset, penalty, fit, n_scores)

    @property
    def scores(self) -> Array:
        """Scores, in their coordinates."""
        return self.fit.coef[: self.n_scores]

    def learner(self, learner: Any) -> Any:
        """The learner with the coefficients of this fit."""
        coef = self.fit.coef[self.n_scores :]
        return rejoined(learner, coef) if len(coef) else learner

    def covariances(self, votes: Votes, n_scores: int) -> tuple[Array, Array]:
        """Sandwich and inverse information of the scores, in their coordinates."""
        p = sigmoid(self.columns @ self.fit.coef + self.offset)
        weight, used = votes.weight, np.flatnonzero(votes.weight > 0)
        scaled = self.columns * np.sqrt(weight * p * (1.0 - p))[:, None]
        total = scaled.T @ scaled + np.diag(weight.sum() * self.penalty)
        inverse = SymmetricSolver.factorise(total).inverse()
        values = (self.columns * (weight * (votes.y - p))[:, None])[used]
        meat = np.zeros((values.shape[1],) * 2)
        if votes.raters is not None:
            prompts = used if votes.groups is None else votes.groups[used]
            crossed = Crossed.of(prompts, votes.raters[used])
            meat = crossed.sums(values).excess()
        if votes.groups is not None:
            values = Membership.of(votes.groups[used]).totals(values).totals
        sandwich = inverse @ (meat + values.T @ values) @ inverse
        head = slice(n_scores)
        return sandwich[head, head], inverse[head, head]
