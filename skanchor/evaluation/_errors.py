"""What makes up the error of a difference: judged score less human score of a model.

The errors of models that are left out in turn are correlated: they share votes,
verdicts and item effects. Each is a sum of parts that are uncorrelated with one
another: the influence of the rows, or of groups of dependent rows, and the item
effects. Two errors have the covariance of the products of their parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.linalg import norm
from numpy.typing import NDArray

from skanchor._battles import decide_roles
from skanchor._battles.labels import positions
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.pipeline_fit import carried
from skanchor._model.riesz import Information, residuals, row_influence
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows
from skanchor._typing import Array


class DifferenceErrors:
    """Finds the parts of the error of each difference.

    Parameters
    ----------
    sample : Sample
        All rows.
    human : BTLRegressor
        The human scores, fitted to all votes.
    counted : bool
        Whether weights are numbers of equal rows.
    """

    def __init__(self, sample: Sample, human: BTLRegressor, counted: bool):
        self.sample, self.has_bias = sample, human.bias_ is not None
        self._times = np.where(counted, sample.weight, 1.0).astype(np.intp)
        X = decide_roles(sample.X, sample.weight, None)
        X = X.with_columns(scores=human.scores_for(X.models))
        fit, (votes, *_) = carried(X), source_rows(sample.with_battles(X))
        gram = votes.information(votes.weight, fit.probabilities(votes))
        weights = Information.of(fit, [(votes.source, gram)], fit.precision).weights
        influence = row_influence(weights, votes, residuals(weights, votes))
        # Only its direction is read, which is the same whatever the score is less.
        self._of_votes = self._in_parts(influence, votes.rows)

    def parts(
        self, fitted: Any, model: Any, rows: NDArray[np.intp], human_error: float
    ) -> dict[str, Any]:
        """Parts of the error of one model's difference.

        Parameters
        ----------
        fitted : estimator
            Fitted without the votes on the model.
        model : label
            The model left out.
        rows : ndarray of shape (n_chosen,)
            The rows that it was fitted on.
        human_error : float
            Standard error of the model's human score.

        Returns
        -------
        dict
            ``row_parts``, one by row or group, ``item_parts``, one by judge and model
            of the sample, in logits; ``item_df``. Empty where the estimator has no
            influence values, or people have a bias.
        """
        debiaser = getattr(fitted, "debiaser_", None)
        if self.has_bias or debiaser is None:
            return {}
        result = fitted.result_
        error = float(result.standard_errors[model])
        if not np.isfinite(error):
            return {}
        # Copies of a row that counts several times are rows of the fit.
        influence = result.influence[:, result.models.tolist().index(model)]
        copy = np.repeat(np.arange(len(rows)), self._times[rows])
        total = np.bincount(copy, influence).astype(np.float64)
        judged = self._in_parts(total, rows)
        X, item_errors = self.sample.X, debiaser.solution_.item_errors
        items = np.zeros((len(X.judges), len(X.models)))
        if item_errors.size:
            judges = positions(debiaser.judges_, X.judges)
            models = positions(debiaser.models_, X.models)
            target = debiaser.models_.tolist().index(model)
            items[np.ix_(judges, models)] = item_errors[..., target]
        human = self._of_votes[:, X.models.tolist().index(model)]
        # Reported errors may be larger: where judges disagree about the model, by the
        # inflation of the item part, or where errors allow for raters.
        scale = error / (np.hypot(norm(judged), norm(items)) or np.inf)
        human = human * (human_error / (norm(human) or np.inf))
        return {
            "row_parts": scale * judged - human,
            "item_parts": (scale * items).ravel(),
            "item_df": float(result.item_df),
        }

    def _in_parts(self, influence: Array, rows: NDArray[np.intp]) -> Array:
        """Influence of rows, (n_chosen, ...), by row or group of the sample."""
        unit, groups, size = rows, self.sample.groups, len(self.sample)
        if groups is None:
            # Copies of a row are independent: k of them with influence s together have
            # the square s^2 / k.
            influence = (influence.T / np.sqrt(self._times[rows])).T
        else:
            unit, size = groups[rows], int(groups.max()) + 1
        parts = np.zeros((size, *influence.shape[1:]))
        np.add.at(parts, unit, influence)
        return parts
