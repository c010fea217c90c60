"""The result of votes alone: a maximum likelihood fit, for which no row is held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._crossfit.cross_fit import Repeat
from skanchor._crossfit.stages import FullFit
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.human_bias import Scale, VoteFit
from skanchor._model.influence import group_matrix, residuals, row_influence
from skanchor._sample.sample import Sample
from skanchor._typing import Array


@dataclass(frozen=True, eq=False, slots=True)
class VoteInfluence:
    """Influence of each vote on each score, computed when it is asked for.

    Attributes
    ----------
    btl : BTLRegressor
        Fitted.
    sample : Sample
        The rows that it was fitted to, or cells of equal ones.
    centre : ndarray of shape (n_models,)
        Share of each model in the mean score that is zero.
    cell : ndarray of shape (n_rows,), optional
        Cell of each row of the table; None where each row is its own.
    """

    btl: BTLRegressor
    sample: Sample
    centre: Array
    cell: NDArray[np.intp] | None = None

    def _of_each(self) -> Array:
        """Influence of each of the rows that a row of the sample stands for."""
        btl, sample = self.btl, self.sample
        if btl.bias_ is None:
            sample = sample.with_battles(sample.X.without_features())
        models, lost = sample.X.models, btl.models_[btl.unbounded_].tolist()
        part = {m: k for k, p in enumerate(btl.connectivity_.components) for m in p}
        scale = [-1 if m in lost else part.get(m, -1) for m in models.tolist()]
        scores = np.nan_to_num(btl.scores_for(models))
        known = Scale(scores, np.array(scale), btl.alpha)
        fit = VoteFit.of(sample, known, btl.bias_, is_fitted=True)
        values = np.zeros((len(sample), len(models)))
        residual = residuals(fit.weights, fit.rows)
        np.add.at(values, fit.rows.rows, row_influence(fit.weights, fit.rows, residual))
        values = _centred(values, self.centre, sample)
        count = sample.multiplicity
        # Equal rows share the influence of their cell evenly.
        return values if count is None else np.asarray(values / count[:, None])

    def values(self) -> Array:
        """Influence of each row of the table, of shape (n_rows, n_models)."""
        return self._of_each() if self.cell is None else self._of_each()[self.cell]

    def largest(self) -> Array:
        """Largest influence of a row, or of a group, on each score, in size."""
        values, groups = self._of_each(), self.sample.groups
        values = values if groups is None else group_matrix(groups) @ values
        return np.asarray(np.abs(values).max(axis=0))


def _centred(values: Array, centre: Array, sample: Sample) -> Array:
    """Values by score in the last axis, less their mean over the historical models."""
    context = sample.X.items.context
    shares = np.where(context[:, None] == context, centre, 0.0)
    return np.asarray(values - values @ shares.T)


def likelihood_fit(
    full: FullFit, cell: NDArray[np.intp] | None
) -> tuple[list[Repeat], VoteInfluence]:
    """Put the fit of the votes in the place of a cross-fit.

    At the maximum of the likelihood the influence of the votes adds up to zero: there
    is nothing to correct, and its squares add up to the sandwich. New models are fitted
    with the others.

    Parameters
    ----------
    full : FullFit
        The fit of all rows, without judges.
    cell : ndarray of shape (n_rows,) or None
        Cell of each row of the table.

    Returns
    -------
    repeats : list of Repeat
        One.
    influence : VoteInfluence
    """
    btl, sample, X = full.chain.btl, full.sample, full.sample.X
    if X.is_new.any():
        sample = sample.with_battles(X.with_columns(new_models=()))
        btl = clone(full.stages.btl).fit_sample(sample)
    debiaser, size, models = full.chain.debiaser, len(X.models), X.models.tolist()
    assert debiaser is not None
    place = [models.index(model) for model in btl.models_.tolist()]
    covariance, is_lost = np.zeros((size, size)), np.ones(size, dtype=bool)
    # A score whose error is infinite is marked so.
    known = np.where(np.isfinite(btl.covariance_), btl.covariance_, 0.0)
    covariance[np.ix_(place, place)], is_lost[place] = known, btl.unbounded_
    context = X.items.context
    is_centre = np.where(X.is_new | is_lost, 0.0, 1.0)
    centre = is_centre / np.maximum(np.bincount(context, is_centre), 1.0)[context]
    scores = _centred(np.nan_to_num(btl.scores_for(X.models)), centre, sample)
    covariance = _centred(_centred(covariance, centre, sample).T, centre, sample)
    rows = VoteInfluence(btl, sample, centre, cell)
    nothing = np.zeros((size, size))
    repeat = Repeat(
        plug_in=scores,
        estimate=scores,
        covariance=covariance,
        part_covariances=np.stack([covariance, nothing, nothing, nothing]),
        largest=rows.largest() if X.is_new.any() else np.zeros(size),
        undetermined=debiaser.undetermined_ | is_lost,
    )
    return [repeat], rows
