"""Mean bias of people over each model's responses: the style that a score includes.

The style-included score of a model adds to its score what people make of the style of
its responses, set against the mean over the historical models. The mean runs over
responses: those of a historical model in human rows, those of a new one on arrival.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons, FeaturePairs
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, LearnerError


@dataclass(frozen=True, eq=False)
class ResponseMeans:
    """Means over the responses of each model.

    Attributes
    ----------
    learner : learner
        Fitted bias psi_0 of people, linear in a span.
    origin : ndarray of shape (n_features,)
        The response against which all others are seen; targets do not depend on it.
    spans : ndarray of shape (n_models, n_span)
        Mean of the span's columns.
    totals : ndarray of shape (n_models,)
        Weight of the responses.
    centre : ndarray of shape (n_models, n_models)
        What each target takes of the mean of each model: its own, less the mean over
        the historical ones.
    """

    learner: Any
    origin: Array
    spans: Array
    totals: Array
    centre: Array

    @classmethod
    def of(cls, X: Comparisons, weight: Array, learner: Any) -> Self:
        """Average over the responses of weighted rows."""
        if linearity(learner) != "fixed":
            raise LearnerError(
                "target='style_included' needs a human bias that is linear in fixed "
                f"columns, as 'linear' is; {type(learner).__name__} is not. Use "
                f"LinearBias, with a feature_map for curves, or "
                "target='style_controlled'."
            )
        old = (~X.is_new).astype(float)
        # Row i: model i's own mean, less the mean over the historical models.
        centre = np.eye(len(X.models)) - old / old.sum()
        # psi_0 is known up to a constant: any response may stand for the origin.
        origin = X.features_left[np.argmax(X.is_human & (weight > 0))]
        empty = np.empty((0, X.features_left.shape[1]))
        n_span = learner.span(FeaturePairs(empty, empty, X.feature_names)).shape[1]
        known = cls(learner, origin, np.zeros((0, n_span)), np.zeros(0), centre)
        sums, totals = np.zeros((len(X.models), n_span)), np.zeros(len(X.models))
        for rows, model, span in known._sides(X, np.flatnonzero(weight > 0)):
            np.add.at(sums, model, weight[rows, None] * span)
            totals += np.bincount(model, weight[rows], len(X.models))
        lost = X.models[totals == 0].tolist()
        if lost:
            raise BattlesError(
                f"Models {lost[:5]} have no response whose style could be included in "
                "their scores: historical models need human rows, new ones arrival "
                "rows. Scores at equal style need no such response."
            )
        return cls(learner, origin, sums / totals[:, None], totals, centre)

    @property
    def offsets(self) -> Array:
        """What each target adds to its score, of shape (n_models,)."""
        return np.asarray(self.centre @ (self.spans @ self.learner.coef_))

    @property
    def asked(self) -> Array:
        """What targets ask of the coefficients of the bias, (n_span, n_models)."""
        return np.asarray((self.centre @ self.spans).T)

    def influence(self, X: Comparisons, weight: Array, rows: NDArray[np.intp]) -> Array:
        """What the responses of some rows add to each target, by chance.

        Parameters
        ----------
        X : Comparisons
            Rows with their features.
        weight : ndarray of shape (n_rows,)
            Row weights.
        rows : ndarray of shape (n_chosen,)
            Row numbers.

        Returns
        -------
        ndarray of shape (n_chosen, n_models)
        """
        values = np.zeros((len(rows), len(X.models)))
        coef = self.learner.coef_
        means = self.spans @ coef
        # Each response is a draw from its model's responses: its distance from their
        # mean is the sampling error that it adds to the mean.
        for at, model, span in self._sides(X[rows], np.arange(len(rows))):
            apart = weight[rows[at]] * (span @ coef - means[model])
            values[at] += (apart / self.totals[model])[:, None] * self.centre.T[model]
        return values

    def _sides(
        self, X: Comparisons, rows: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Array]]:
        """Rows with a response that enters a mean, its model, its columns, by side."""
        votes = X.is_human & ~X.involves_new
        for side, features in (
            (X.left, X.features_left),
            (X.right, X.features_right),
        ):
            enters = X.is_usable & (votes | np.append(X.is_new, False)[side])
            at = rows[enters[rows]]
            found = features[at]
            origin = np.broadcast_to(self.origin, found.shape)
            pairs = FeaturePairs(found, origin, X.feature_names)
            yield at, side[at], self.learner.span(pairs)
