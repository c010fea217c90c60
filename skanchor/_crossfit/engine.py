"""Fit of all rows, the fit of each fold from there, and the sum over folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._model.fit import Fit
from skanchor._model.influence import Influence, influence_of
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._model.steps import grams_of
from skanchor._typing import Array


@dataclass(frozen=True, eq=False)
class FoldResult:
    """What one fold gives.

    Attributes
    ----------
    scores : ndarray of shape (n_items,)
        Plug-in scores of the training rows, centred.
    weights : RieszWeights
        Of the training rows, with their fit.
    influence : Influence
        Of the rows held out.
    expected : ndarray of shape (3, n_items, n_items)
        Parts of the sampling covariance if outcomes were independent votes.
    """

    scores: Array
    weights: RieszWeights
    influence: Influence
    expected: Array

    @classmethod
    def of(
        cls,
        fit: Fit,
        sources: Sequence[SourceRows],
        training: Sequence[Array],
        prior: Array,
        held_out: Sequence[SourceRows],
        n_raters: int,
    ) -> FoldResult:
        """Weigh the residuals of rows held out, by a fit to the training rows.

        Parameters
        ----------
        fit : Fit
            Fitted to the training rows.
        sources : sequence of SourceRows
            All rows, with the columns of the weights.
        training : sequence of ndarray
            Weights of the rows of each source in training.
        prior : ndarray of shape (size, size)
            As in :meth:`RieszWeights.solve`.
        held_out : sequence of SourceRows
            Rows held out, with the same columns.
        n_raters : int
            Number of raters of the table.

        Returns
        -------
        FoldResult
        """
        grams = grams_of(fit, sources, training)
        weights = RieszWeights.solve(fit, grams, prior)
        return cls(
            fit.layout.targets.T @ fit.x,
            weights,
            influence_of(weights, held_out, n_raters),
            weights.expected_parts(grams),
        )


@dataclass(frozen=True, eq=False)
class SumOfFolds:
    """The folds of one repeat, added up (eq:feasible-anchor-estimator-v2).

    Attributes
    ----------
    plug_in : ndarray of shape (n_items,)
        Mean of the folds' plug-in scores.
    estimate : ndarray of shape (n_items,)
        Corrected scores.
    parts : ndarray of shape (4, n_items, n_items)
        Covariance by people's rows, judges' rows, both together, and item effects.
    expected : ndarray of shape (3, n_items, n_items)
        The first three of these if outcomes were independent votes.
    largest : ndarray of shape (n_items,)
        Largest influence of a group of rows.
    undetermined : ndarray of shape (n_items,)
        Scores that some training rows leave open.
    """

    plug_in: Array
    estimate: Array
    parts: Array
    expected: Array
    largest: Array
    undetermined: NDArray[np.bool_]

    @classmethod
    def of(cls, folds: Sequence[FoldResult]) -> SumOfFolds:
        """Add up the folds."""
        influence = folds[0].influence
        for fold in folds[1:]:
            influence = influence + fold.influence
        weights = [fold.weights for fold in folds]
        items = np.mean([one.item_covariance for one in weights], axis=0)
        prior = np.mean([one.prior_score for one in weights], axis=0)
        plug_in = np.mean([fold.scores for fold in folds], axis=0)
        return cls(
            plug_in,
            # Each fold's influence is already that of its share of all rows.
            plug_in + influence.total + prior,
            np.stack([*influence.covariance_parts(), items]),
            np.mean([fold.expected for fold in folds], axis=0),
            influence.largest,
            np.any([one.undetermined for one in weights], axis=0),
        )
