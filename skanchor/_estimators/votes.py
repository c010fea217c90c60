"""Votes of people: those that count, their sums, and what features say of them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import HUMAN, is_constant, usable_features
from skanchor._estimators.judges import fit_near
from skanchor._estimators.pipeline_fit import row_biases
from skanchor._model.btl import count_votes
from skanchor._model.fit import PEOPLE
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias import AutoBias
from skanchor.bias.fitting import TrainingRows
from skanchor.bias.registry import make_learner
from skanchor.exceptions import BattlesError

LEAST_WEIGHT = 1e-150
"""Weight of a vote, in that of the heaviest, whose square is still a number."""

FARTHEST = 5.0
"""Factor by which scores may shrink or grow once style is set apart, at the start."""


class HumanVotes(NamedTuple):
    """Votes on historical models, and their sums.

    Attributes
    ----------
    sample : Sample
        Rows that are votes and count, in the vocabulary of the models that have any.
    weight : ndarray of shape (n_votes,) or (1,)
        Weight of one of the votes that each row stands for, in units of the heaviest;
        one number if all are equal.
    unit : float
        Weight of the heaviest.
    sums : SourceRows
        Votes summed by pair of models and outcome.
    """

    sample: Sample
    weight: Array
    unit: float
    sums: SourceRows

    @classmethod
    def of(cls, sample: Sample) -> Self:
        """Add up the votes of a sample.

        Raises
        ------
        BattlesError
            If a weight is too small beside the largest.
        """
        X = sample.X
        are_votes = X.is_human & ~X.involves_new & sample.counts
        # Millions of votes alone are not copied.
        votes = sample if are_votes.all() else sample[np.flatnonzero(are_votes)]
        weight, times = (
            one[:1] if is_constant(one) else one
            for one in (votes.weight, votes.multiplicity)
        )
        weight = weight / times
        # Squares of tiny or huge weights leave the range of floats.
        unit = float(weight.max(initial=0.0)) or 1.0
        weight = weight / unit
        n_lost = int((weight < LEAST_WEIGHT).sum())
        if n_lost:
            raise BattlesError(
                f"sample_weight spans too much: {n_lost} rows weigh less than "
                f"{LEAST_WEIGHT:g} of the heaviest. Rescale it, or set them to zero."
            )
        X, totals = votes.X, (weight * times, weight**2 * times)
        present, sums = count_votes(X.left, X.right, votes.y, *totals, len(X.models))
        votes = votes.with_battles(X.relabel(X.models[present], X.judges[:0]))
        return cls(votes, weight, unit, sums)

    def single(self, bias: Any = None) -> SourceRows:
        """The votes one by one, with their groups and raters, beside a fitted bias."""
        votes, X = self.sample, self.sample.X
        return SourceRows.apart(
            X.left, X.right, votes.y, self.weight * votes.multiplicity, len(X.models),
            offset=row_biases(X, {-1: bias}), count=votes.multiplicity,
            group=votes.groups, rater=votes.raters,
        )  # fmt: skip


# ----------------------------------------------------------------- people's own bias
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
    votes = votes_on_scales(sample, np.zeros(len(scores)))
    cut = votes.X.by_judge(PEOPLE - 1)
    if not cut.pairs.n_features:
        raise BattlesError(
            "A bias of people needs features of the responses, and the table has none: "
            "give pairs of columns <name>_a and <name>_b in human rows, too."
        )
    # The score difference is a parametric column; its coefficient, one in the model,
    # may lie within a factor of FARTHEST, because the scores at the start include
    # style.
    y, weight = votes.y[cut.rows], votes.weight[cut.rows]
    delta = np.where(weight > 0, cut.differences(scores), 0.0)
    bounds = (np.array([1.0 / FARTHEST]), np.array([FARTHEST]))
    rows = TrainingRows(cut.pairs, y, weight, delta[:, None], bounds)
    learner = fit_near(make_learner(bias), rows, HUMAN, start, seed_offset)
    return learner.learner_ if isinstance(learner, AutoBias) else learner


def votes_on_scales(sample: Sample, scale: NDArray[Any]) -> Sample:
    """Rows of people alone, of which votes on historical models of one scale weigh.

    Votes across scales, or on models without one, say nothing of style.

    Parameters
    ----------
    sample : Sample
        Rows.
    scale : ndarray of shape (n_models,)
        Number of the scale of each model, -1 without one.

    Returns
    -------
    Sample
    """
    X = sample.X
    counts = X.is_human & ~X.involves_new & sample.counts
    counts &= (scale[X.left] >= 0) & (scale[X.left] == scale[X.right])
    people = usable_features(X, counts).relabel(X.models, X.judges[:0])
    return sample.with_battles(people).weighted(np.where(counts, sample.weight, 0.0))
