"""Likelihood of the arrival rows with all nuisance parameters known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from skanchor._admission import check_ranking
from skanchor._battles import Comparisons, decide_roles
from skanchor.baselines._base import Baseline
from skanchor.baselines._likelihood import (
    SCORE_BOUND,
    arrivals_of,
    check_scores,
    laid_out,
    placed,
    sandwich,
)
from skanchor.exceptions import BattlesError
from skanchor.results.estimators import RankingEstimator
from skanchor.sample import Sample


class Oracle(Baseline, RankingEstimator):
    """Likelihood of the arrival rows with the true scores, sensitivities and biases.

    An information reference, which "uses the true nuisance functions" and "its arrival
    sandwich variance" (the paper, Section 5).

    Parameters
    ----------
    truth : mapping, optional
        ``scores`` (Series by historical model), ``sensitivities`` (Series by judge),
        ``bias`` (mapping from judge to a function of features, of shape (n, n_features)
        to (n,)) and optionally ``item_effects`` (DataFrame models x judges).
        ``simulate_battles`` returns them as ``truth``. Required.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    result_ : RankingResult
        True scores of the historical models, without error, and scores of the new ones
        with the sandwich covariance.

    Examples
    --------
    >>> from skanchor.baselines import Oracle
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> oracle = Oracle(truth=data.truth).fit(data.X, data.y)
    >>> bool(abs(oracle.scores_["new-model"] - 0.5) < 0.4)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingEstimator._parameter_constraints,
        # `_fit` names the entries that are missing.
        "truth": "no_validation",
    }

    def __init__(
        self,
        truth: Any = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.truth = truth
        self.new_models = new_models
        self.unseen = unseen

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        names = ("scores", "sensitivities", "bias")
        if self.truth is None or any(name not in self.truth for name in names):
            raise BattlesError(
                "Oracle needs truth= with 'scores', 'sensitivities' and 'bias', as in "
                "simulate_battles(...).truth."
            )
        X = decide_roles(sample.X, sample.weight, self.new_models)
        check_ranking(X, self.new_models)
        old = X.models[~X.is_new].tolist()
        unknown = [model for model in old if model not in self.truth["scores"]]
        unknown += [j for j in X.judges.tolist() if j not in self.truth["bias"]]
        if unknown:
            raise BattlesError(f"The truth has no score for {unknown[:5]}.")
        # Centred over the historical models, like the scores of every method.
        self._scores = self.truth["scores"] - self.truth["scores"].reindex(old).mean()
        sample = sample.with_battles(self._with_truth(X))
        scores = placed(sample)
        check_scores(X, scores)
        sample = sample.with_battles(sample.X.with_columns(scores=scores))
        fit, sources = laid_out(arrivals_of(sample))
        covariance, unbounded = sandwich(fit, sources, fit.layout.of_scores(X.is_new))
        unbounded |= X.is_new & (np.abs(scores) >= SCORE_BOUND)
        self._conclude(sample, scores, covariance, unbounded)

    def _with_truth(self, X: Comparisons) -> Comparisons:
        """Rows with the true scores, sensitivities, biases and item effects."""
        truth, biases = self.truth, np.zeros(len(X))
        effects = truth.get("item_effects")
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            if judge in truth["bias"] and len(cut):
                psi = truth["bias"][judge]
                biases[cut.rows] = psi(cut.pairs.left) - psi(cut.pairs.right)
                if effects is not None:
                    u = effects[judge].reindex(X.models).to_numpy(dtype=np.float64)
                    biases[cut.rows] += u[cut.left] - u[cut.right]
        return X.with_columns(
            scores=self._scores.reindex(X.models).to_numpy(dtype=np.float64),
            sensitivities=truth["sensitivities"].reindex(X.judges).to_numpy(float),
            biases=biases,
        )

    def _annotate(self, X: Comparisons) -> Comparisons:
        scored = super()._annotate(X)
        return self._with_truth(X).with_columns(
            scores=scored.scores, new_models=scored.new_models
        )
