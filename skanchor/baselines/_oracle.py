"""Likelihood of the arrival rows with all nuisance parameters known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from skanchor._admission import check_ranking
from skanchor._arrivals import ArrivalScorer
from skanchor._comparisons import Comparisons, count_rows, decide_roles
from skanchor._numerics.groups import Membership
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._ranking import RankingEstimator
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.results import RankingResult
from skanchor.sample import Sample


class Oracle(RankingEstimator):
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
    arrival : ArrivalScorer, optional
        The likelihood; None stands for ``ArrivalScorer()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    arrival_ : ArrivalScorer
        The fitted likelihood.
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

    _stands_for = {"arrival": lambda value: ArrivalScorer()}  # noqa: RUF012
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingEstimator._parameter_constraints,
        # `_check_truth` names the entries that are missing.
        "truth": "no_validation",
        "arrival": [ArrivalScorer, None],
    }

    def __init__(
        self,
        truth: Any = None,
        arrival: ArrivalScorer | None = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.truth = truth
        self.arrival = arrival
        self.new_models = new_models
        self.unseen = unseen

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        self._check_truth()
        X = decide_roles(sample.X, sample.weight, self.new_models)
        check_ranking(X, self.new_models)
        old = X.models[~X.is_new]
        unknown = [model for model in old.tolist() if model not in self.truth["scores"]]
        unknown += [j for j in X.judges.tolist() if j not in self.truth["bias"]]
        if unknown:
            raise BattlesError(f"The truth has no score for {unknown[:5]}.")
        self.models_, self.judges_ = X.models, X.judges
        self.new_models_ = X.models[X.is_new]
        known = sample.with_battles(self._nuisances(X))
        self.arrival_: ArrivalScorer = clone(self._part("arrival")).fit_sample(known)
        placed = self.arrival_.transform(known.X)
        covariance = np.zeros((len(X.models),) * 2)
        box = np.ix_(X.is_new, X.is_new)
        covariance[box] = self._sandwich(known.with_battles(placed))
        unbounded = np.zeros(len(X.models), dtype=bool)
        unbounded[X.is_new] = self.arrival_.at_bound_
        assert placed.scores is not None
        self.result_ = RankingResult(
            X.models,
            X.is_new,
            placed.scores[None],
            covariance[None],
            unbounded,
            *count_rows(X, sample.weight),
            inputs=sample.inputs,
        )

    def _check_truth(self) -> None:
        names = ("scores", "sensitivities", "bias")
        if self.truth is None or any(name not in self.truth for name in names):
            raise BattlesError(
                "Oracle needs truth= with 'scores', 'sensitivities' and 'bias', as in "
                "simulate_battles(...).truth."
            )

    def _nuisances(self, X: Comparisons) -> Comparisons:
        """Rows with the true scores, sensitivities, biases and item effects."""
        truth = self.truth
        # Centred over the historical models, like the scores of every method.
        scores = (
            truth["scores"]
            - truth["scores"]
            .reindex(self.models_[~np.isin(self.models_, self.new_models_)])
            .mean()
        )
        biases = np.zeros(len(X))
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            if judge in truth["bias"] and len(cut):
                psi = truth["bias"][judge]
                biases[cut.rows] = psi(cut.pairs.left) - psi(cut.pairs.right)
        deviations = None
        if truth.get("item_effects") is not None:
            table = truth["item_effects"].reindex(index=X.models, columns=X.judges)
            deviations = table.to_numpy(dtype=np.float64).T
        return X.with_columns(
            scores=scores.reindex(X.models).to_numpy(dtype=np.float64),
            new_models=tuple(self.new_models_.tolist()),
            sensitivities=truth["sensitivities"].reindex(X.judges).to_numpy(float),
            biases=biases,
            deviations=deviations,
        )

    def _sandwich(self, sample: Sample) -> Array:
        """Sandwich covariance A^-1 B A^-1 of the new scores, (n_new, n_new)."""
        X, weight, groups = sample.X, sample.weight, sample.groups
        rows = np.flatnonzero(X.involves_new & sample.counts)
        assert X.sensitivities is not None
        # The appended one is for people, whose code is -1.
        slope = np.append(X.sensitivities, 1.0)[X.judge[rows]]
        at = np.arange(len(rows))
        signs = np.zeros((len(rows), len(X.models)))
        signs[at, X.left[rows]], signs[at, X.right[rows]] = 1.0, -1.0
        # Gradient of the logit by the new scores: c_m times +1 or -1, (n_rows, n_new).
        design = (signs * slope[:, None])[:, X.is_new]
        p = expit(X.logits()[rows])
        # A = sum w V z z', with z the gradient; rows w (y - p) z, summed by group.
        bread = design.T @ (design * (weight[rows] * p * (1.0 - p))[:, None])
        terms = design * (weight[rows] * (sample.y[rows] - p))[:, None]
        if groups is not None:
            terms = Membership.of(groups[rows]).totals(terms).totals
        inverse = SymmetricSolver.factorise(bread).inverse()
        return np.asarray(inverse @ (terms.T @ terms) @ inverse)

    def _annotate(self, X: Comparisons) -> Comparisons:
        known = self._nuisances(X)
        scores = self.result_.all_scores.reindex(X.models).to_numpy(dtype=np.float64)
        return known.with_columns(scores=scores)
