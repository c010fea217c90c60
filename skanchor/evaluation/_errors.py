"""What makes up the error of a difference: judged score less human score of a model.

The errors of models that are left out in turn are correlated: they share votes,
verdicts and item effects. Each is a sum of parts that are uncorrelated with one
another: the influence of the rows, or of groups of dependent rows, and the item
effects. Two errors have the covariance of the products of their parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._btl import BTLRegressor
from skanchor._comparisons.labels import positions
from skanchor._model.graph import laplacian, pair_sums
from skanchor._model.link import sigmoid
from skanchor._riesz import RieszDebiaser
from skanchor._typing import Array
from skanchor.results import AnchorResult
from skanchor.sample import Sample

PARTS = 4_096
"""Most parts that stand for the rows. More rows are added up in so many random sets,
with random signs: sums of products stay the same in the mean, and correlations are off
by about ``1 / sqrt(PARTS)``, or .016."""


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
        self.sample, self.human, self.counted = sample, human, counted
        weight = sample.weight.astype(np.intp) if counted else np.ones(len(sample), int)
        self._times = np.broadcast_to(weight, len(sample))
        self._first = np.cumsum(self._times) - self._times

    def parts(
        self,
        fitted: Any,
        model: Any,
        rows: NDArray[np.intp],
        human_error: float,
    ) -> dict[str, list[float] | float]:
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
            ``row_parts``, at most `PARTS` numbers, ``item_parts``, one by judge and
            model of the sample, in logits; ``item_df``. Empty where the estimator has
            no influence values, or people have a bias.
        """
        result = getattr(fitted, "result_", None)
        debiaser = getattr(fitted, "debiaser_", None)
        if not isinstance(result, AnchorResult) or self.human.bias_ is not None:
            return {}
        error = float(result.standard_errors[model])
        if debiaser is None or not np.isfinite(error):
            return {}
        at = result.models.tolist().index(model)
        judged, items = result.influence[:, at], self._items(debiaser, model)
        judged = self._in_parts(judged, rows)
        own = judged @ judged + np.sum(items**2)
        # Reported errors may be larger: where judges disagree about the model, by the
        # inflation of the item part, or where errors allow for raters.
        scale = error / np.sqrt(own) if own > 0 else 0.0
        human = self._in_parts(self._human_influence(model))
        size = np.sqrt(human @ human)
        human = human * (human_error / size if size > 0 else 0.0)
        difference = scale * judged - human
        return {
            "row_parts": difference.tolist(),
            "item_parts": (scale * items).ravel().tolist(),
            "item_df": float(result.item_df),
        }

    def _items(self, debiaser: RieszDebiaser, model: Any) -> Array:
        """Parts from item effects, of shape (n_judges, n_models)."""
        X = self.sample.X
        parts = np.zeros((len(X.judges), len(X.models)))
        known = debiaser.solution_.item_errors
        if known is not None:
            target = debiaser.models_.tolist().index(model)
            judges, models = (
                [every.tolist().index(name) for name in own.tolist()]
                for every, own in (
                    (X.judges, debiaser.judges_),
                    (X.models, debiaser.models_),
                )
            )
            parts[np.ix_(judges, models)] = known[..., target]
        return parts

    def _human_influence(self, model: Any) -> Array:
        """Influence of each row on the human score, less the mean of the others."""
        X, human = self.sample.X, self.human
        n_models = len(human.models_)
        place = np.append(positions(X.models, human.models_), -1)
        left, right = place[X.left], place[X.right]
        votes = X.is_human & (left >= 0) & (right >= 0) & self.sample.counts
        votes &= left != right
        at = np.flatnonzero(votes)
        left, right, weight = left[at], right[at], self.sample.weight[at]
        scores = human.scores_.to_numpy()
        p = sigmoid(scores[left] - scores[right])
        # Information J = sum w V (e_l - e_r)(e_l - e_r)'; its null space is the mean.
        curvature = weight * p * (1.0 - p)
        information = laplacian(pair_sums(left, right, curvature, n_models))
        contrast = np.full(n_models, -1.0 / (n_models - 1))
        contrast[human.models_.tolist().index(model)] = 1.0
        direction = np.linalg.pinv(information, hermitian=True) @ contrast
        influence = np.zeros(len(X))
        each = np.ones(len(at)) if self.counted else weight
        residual = self.sample.y[at] - p
        influence[at] = each * residual * (direction[left] - direction[right])
        return np.repeat(influence, self._times)

    def _in_parts(
        self, influence: Array, rows: NDArray[np.intp] | None = None
    ) -> Array:
        """Add influence values up by group, and groups in at most `PARTS` sets."""
        if rows is None:
            rows = np.arange(len(self.sample))
        groups = self.sample.groups
        if groups is not None:
            unit = np.repeat(groups[rows], self._times[rows])
            n_units = int(groups.max()) + 1
        else:
            # Copies of a row that counts several times are independent rows.
            times = self._times[rows]
            start = np.repeat(self._first[rows] - (np.cumsum(times) - times), times)
            unit = start + np.arange(len(start))
            n_units = int(self._times.sum())
        totals = np.bincount(unit, influence, minlength=n_units)
        if n_units <= PARTS:
            return np.asarray(totals)
        # The same sets and signs for every model.
        rng = np.random.default_rng(0)
        part = rng.integers(PARTS, size=n_units)
        sign = rng.choice([-1.0, 1.0], size=n_units)
        return np.asarray(np.bincount(part, sign * totals, minlength=PARTS))
