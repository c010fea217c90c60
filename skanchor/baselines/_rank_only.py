"""Base class of the methods whose outputs are win rates, not scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from skanchor._admission import admit_to_ranking
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._comparisons.labels import positions
from skanchor._ranking import RankOnlyEstimator
from skanchor._typing import Array
from skanchor.baselines._base import point_result
from skanchor.baselines._fits import Fits
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample


class RankOnly(RankOnlyEstimator):
    """Win rates of new models, and those of historical models from human scores."""

    _stands_for: ClassVar = {"btl": lambda value: BTLRegressor()}
    _parameter_constraints: ClassVar = {
        **RankOnlyEstimator._parameter_constraints,
        "btl": [BTLRegressor, None],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.btl = btl
        self.new_models = new_models
        self.unseen = unseen

    def _new_rates(self, fits: Fits) -> Array:
        """Win rates of the new models, of shape (n_new,)."""
        raise NotImplementedError

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = admit_to_ranking(sample.without_features(), self.new_models)
        X = sample.X
        fits = Fits(sample, self._part("btl"), start=start)
        theta = fits.scores[~X.is_new]
        # Of historical model j: mean over k of sigma(theta_j - theta_k), with k = j.
        rates = np.empty(len(X.models))
        rates[~X.is_new] = expit(theta[:, None] - theta).mean(axis=1)
        rates[X.is_new] = self._new_rates(fits)
        lost = X.models[~np.isfinite(rates)].tolist()
        if lost:
            raise BattlesError(
                f"New models {lost} have no judge row against a historical model, "
                "so they cannot be placed."
            )
        self.btl_ = fits.btl_
        self.models_, self.judges_ = X.models, X.judges
        self.new_models_ = X.models[X.is_new]
        self.result_ = point_result(sample, rates)

    def _implied_scores(self) -> Array:
        """Scores of all models, those of new models implied by their win rates.

        The score t of a new model solves mean over j of sigma(t - theta_j) = its rate.
        """
        scores = np.array(self.btl_.scores_for(self.models_))
        old = scores[np.isfinite(scores)]
        for i in np.flatnonzero(~np.isfinite(scores)):
            # Rates may lie outside (0, 1), where no score is finite.
            rate = np.clip(self.result_.estimates[i], 1e-6, 1.0 - 1e-6)
            # The mean win rate increases with t.
            scores[i] = brentq(
                lambda t, rate=rate: expit(t - old).mean() - rate, -40.0, 40.0,
                xtol=1e-12,
            )  # fmt: skip
        return scores

    def _annotate(self, X: Comparisons) -> Comparisons:
        code = positions(X.models, self.models_)
        scores = np.append(self._implied_scores(), np.nan)[code]
        known = X.with_columns(
            scores=scores, new_models=tuple(self.new_models_.tolist())
        )
        # Logits of a row are score difference plus bias, so the bias is what is left.
        eta = self._row_logits(known)
        return known.with_columns(biases=eta - known.score_differences)

    def _row_logits(self, X: Comparisons) -> Array:
        """Logit of each row: the difference of the implied scores."""
        return X.score_differences
