"""Riesz weights: how much the residual of each row corrects each score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.information import JudgeBlock, judge_block, selectors
from skanchor._numerics.linalg import (
    SymmetricSolver,
    covariance_factor,
    mix_judges,
    zero_sum_basis,
)
from skanchor._numerics.logistic import sigmoid
from skanchor.base import ComparisonEstimator, check_weight
from skanchor.bias._base import learner_for, make_learner
from skanchor.comparisons import Comparisons, source_codes, usable_features
from skanchor.exceptions import BattlesError, SkanchorWarning

__all__ = ["RieszDebiaser"]

Array = NDArray[np.float64]

SEPARATED = 1e-9
"""Variance of an outcome below which its row carries no information."""


@dataclass(frozen=True, slots=True)
class RieszSystem:
    """Solved Riesz system of all scores.

    Attributes
    ----------
    information : ndarray of shape (p, p)
        Information J of (new scores, historical coordinates, sensitivities,
        position effects) after the bias functions.
    human_information : ndarray of shape (p, p)
        The human rows' share of it.
    gap : ndarray of shape (p, n_targets)
        ``sum omega a V xi - L``, what the weights leave of the identity.
    weights : ndarray of shape (p, n_targets)
        w = J^-1 L for the targets L, the scores of all items.
    targets : ndarray of shape (p, n_targets)
        L.
    blocks : tuple of JudgeBlock
        One per judge.
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score among the first n_scores parameters.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects, whose standardised
        values v, u = L v, are the last parameters.
    solver : SymmetricSolver
        Inverse of ``information``.
    """

    information: Array
    human_information: Array
    gap: Array
    weights: Array
    targets: Array
    blocks: tuple[JudgeBlock | None, ...]
    items: Array
    factor: Array | None
    solver: SymmetricSolver

    def columns(self, m: int, X: Comparisons) -> Array:
        """Map the parameters to judge m's columns (items, delta, order)."""
        return _judge_columns(X, m, self.items, self.factor, len(self.targets))

    @property
    def n_deviations(self) -> int:
        """Number of item-effect parameters, at the end of the vector."""
        return 0 if self.factor is None else len(self.factor) * len(self.items)

    def item_covariance(self) -> Array:
        """Variance that the item effects leave in the targets, W_u' R W_u."""
        tail = self.weights[len(self.weights) - self.n_deviations :]
        return np.asarray(tail.T @ tail)

    def prior_score(self, X: Comparisons) -> Array:
        """Correction by the prior's own score, -(R u)' W_u, for each target."""
        if self.factor is None:
            return np.zeros(len(self.items))
        assert X.deviations is not None
        v = np.linalg.lstsq(self.factor, X.deviations, rcond=None)[0].ravel()
        tail = self.weights[len(self.weights) - self.n_deviations :]
        return np.asarray(-(v @ tail))


def _judge_columns(
    X: Comparisons, m: int, items: Array, factor: Array | None, size: int
) -> Array:
    n_items, n_scores = items.shape
    columns = np.zeros((n_items + 2, size))
    assert X.sensitivities is not None
    columns[:n_items, :n_scores] = X.sensitivities[m] * items
    columns[n_items, n_scores + m] = 1.0
    if X.position_effects is not None:
        columns[n_items + 1, n_scores + len(X.judges) + m] = 1.0
    if factor is not None:
        start = size - len(factor) * n_items
        columns[:n_items, start:] = np.kron(factor[m], np.eye(n_items))
    return columns


class RieszDebiaser(ComparisonEstimator):
    """Riesz weights of every score, from rows that carry a complete plug-in.

    Parameters
    ----------
    learner : {"linear"}, learner or dict, default="linear"
        Class of the functions gamma of the Riesz weights, a learner as in
        :class:`JudgeCalibrator`. With a learner that has a linear span the weights are
        exact; any other learner projects the gradient columns by weighted least
        squares, one fit for every target.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_ : ndarray of shape (n_models,)
        Targets: the score of each model, historical ones centred.
    information_ : ndarray of shape (p, p)
        Information of the free parameters after the bias functions.
    identity_error_ : float
        Largest entry of ``|sum omega a V xi - l|``; zero up to rounding for linear
        spans.

    Raises
    ------
    BattlesError
        If the rows lack scores, sensitivities or biases.

    Notes
    -----
    Minimises eq:direct-riesz-objective-v2 for all targets in one factorisation.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skanchor import ArrivalScorer, BTLRegressor, JudgeCalibrator, RieszDebiaser
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> chain = make_pipeline(BTLRegressor(), JudgeCalibrator(), ArrivalScorer())
    >>> plugged = chain.fit(data.X, data.y).transform(data.X)
    >>> debiaser = RieszDebiaser().fit(plugged, data.y)
    >>> debiaser.influence(plugged, data.y).shape
    (8500, 11)
    """

    _stands_for: ClassVar = {"learner": make_learner}

    def __init__(self, learner: Any = "linear", *, unseen: str = "warn"):
        self.learner = learner
        self.unseen = unseen

    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: RieszDebiaser | None = None,
    ) -> list[Warning]:
        eta = X.logits()
        used = X.is_usable & (weight > 0) & np.isfinite(eta)
        X = usable_features(X, used & ~X.is_human)
        weight = np.where(used, weight, 0.0)
        p = sigmoid(np.where(used, eta, 0.0))
        curvature = p * (1.0 - p)
        # Separated verdicts say nothing: their inverse would be rounding noise.
        curvature = np.where(curvature > SEPARATED, weight * curvature, 0.0)
        self._system = self._solve(X, curvature)
        self.models_ = X.models
        self.judges_ = X.judges
        self.information_ = self._system.information
        missing = self._system.information @ self._system.weights
        self.identity_error_ = float(np.abs(self._system.gap).max())
        codes = source_codes(X)
        keys = self._source_keys(X, codes)
        totals = np.bincount(codes + 1, weight, minlength=len(keys) + 1)[1:]
        self._source_totals = dict(zip(keys, totals.tolist(), strict=True))
        notices: list[Warning] = []
        lost = np.abs(missing - self._system.targets).max(axis=0) > 1e-5
        if lost.any():
            notices.append(
                SkanchorWarning(
                    f"The rows do not determine the scores of "
                    f"{X.models[lost].tolist()[:5]}; their intervals are not valid."
                )
            )
        self._undetermined = lost
        return notices

    def _solve(self, X: Comparisons, curvature: Array) -> RieszSystem:
        if X.scores is None or np.isnan(X.scores).all():
            raise BattlesError(
                "These comparisons carry no scores; transform them with fitted "
                "BTLRegressor, JudgeCalibrator and ArrivalScorer first."
            )
        n_items, n_judges = len(X.models), len(X.judges)
        items = selectors(X.is_new, zero_sum_basis(n_items - int(X.is_new.sum())))
        n_scores = items.shape[1]
        has_position = X.position_effects is not None
        size = n_scores + n_judges * (1 + has_position)
        factor = None
        if X.item_covariance is not None:
            factor = covariance_factor(X.item_covariance)
            size += n_judges * n_items
        delta = np.where(np.isfinite(X.score_differences), X.score_differences, 0.0)

        human = X.by_judge(-1)
        pairs = pair_sums(human.left, human.right, curvature[human.rows], n_items)
        information = np.zeros((size, size))
        information[:n_scores, :n_scores] = items.T @ laplacian(pairs) @ items
        human_information = information.copy()
        identity = information.copy()
        blocks: list[JudgeBlock | None] = []
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            row_weight = curvature[cut.rows]
            if not row_weight.any():
                blocks.append(None)
                continue
            learner: Any = None
            if X.features_left.shape[1]:
                learner = clone(learner_for(self.learner, judge))
                learner.set_params(loss="squared")
            block = judge_block(cut, delta[cut.rows], row_weight, learner)
            # By u, of which a judge sees its own; the parameters are v, u = L v.
            own = None if factor is None else np.eye(n_judges)
            columns = _judge_columns(X, m, items, own, size)
            at = np.flatnonzero(columns.any(axis=0))
            columns, box = columns[:, at], np.ix_(at, at)
            information[box] += columns.T @ block.gram @ columns
            identity[box] += columns.T @ block.identity @ columns
            blocks.append(block)
        if factor is not None:
            information = mix_judges(information, factor, n_items)
            identity = mix_judges(identity, factor, n_items)
            # The prior on the standardised item effects is one more observation each.
            prior = np.arange(size - n_judges * n_items, size)
            information[prior, prior] += 1.0
            identity[prior, prior] += 1.0
        targets = np.zeros((size, n_items))
        targets[:n_scores] = items.T
        solver = SymmetricSolver.factorise(information)
        weights = solver.solve(targets)
        return RieszSystem(
            information,
            human_information,
            identity.T @ weights - targets,
            weights,
            targets,
            tuple(blocks),
            items,
            factor,
            solver,
        )

    def _row_weights(self, X: Comparisons, rows: NDArray[np.intp]) -> Array:
        """Riesz weights of the chosen rows, of shape (n_chosen, n_targets).

        Zero for rows that cannot be used.
        """
        system = self._system
        n_items = len(X.models)
        weights = np.zeros((len(rows), n_items))
        place = np.full(len(X), -1)
        place[rows] = np.arange(len(rows))
        scores = X.scores
        assert scores is not None
        n_scores = system.items.shape[1]
        item_weights = system.items @ system.weights[:n_scores]
        human = X.by_judge(-1)
        at = place[human.rows]
        chosen = np.flatnonzero(at >= 0)
        weights[at[chosen]] = (
            item_weights[human.left[chosen]] - item_weights[human.right[chosen]]
        )
        for m, block in enumerate(system.blocks):
            cut = X.by_judge(m)
            at = place[cut.rows]
            chosen = np.flatnonzero(at >= 0)
            if block is None or not len(chosen):
                continue
            left, right = cut.left[chosen], cut.right[chosen]
            columns = system.columns(m, X) @ system.weights
            # What a row says of its two models and of the sensitivity, by model.
            by_item = columns[:n_items] + np.outer(scores, columns[n_items])
            values = by_item[left] - by_item[right]
            if X.position_effects is not None:
                values += np.outer(cut.order[chosen], columns[n_items + 1])
            values -= block.correction(cut.pairs[chosen], columns)
            weights[at[chosen]] = values
        return weights

    def _aligned(self, X: Any) -> Comparisons:
        encoded = self._encode(X)
        aligned = encoded.relabel(self.models_, self.judges_)
        if aligned.scores is None or aligned.sensitivities is None:
            if len(self.judges_) == 0 and aligned.scores is not None:
                return aligned
            raise BattlesError(
                "RieszDebiaser needs comparisons that carry scores, sensitivities and "
                "biases; transform them with the fitted earlier stages first."
            )
        return aligned

    def weights(self, X: Any) -> Array:
        """Riesz weights of rows.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            Weight a of each row's residual in the score of each of ``models_``, in
            logits; zero for rows that cannot be used.
        """
        aligned = self._aligned(X)
        rows = np.flatnonzero(self._valid(aligned))
        weights = np.zeros((len(aligned), len(self.models_)))
        weights[rows] = self._row_weights(aligned, rows)
        return weights

    def influence(self, X: Any, y: Any) -> Array:
        """Weight times residual of each row, the terms of the correction.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.
        y : array-like of shape (n_rows,)
            Outcomes.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            In logits of each score.
        """
        aligned = self._aligned(X)
        values = self._outcome_values(aligned, y)
        return self._influence(aligned, values, np.arange(len(aligned)))

    def _influence(self, X: Comparisons, y: Array, rows: NDArray[np.intp]) -> Array:
        """Influence of the chosen rows, zero where they cannot be used."""
        part = X.without_features()[rows]
        eta = part.logits()
        valid = part.is_usable & np.isfinite(eta)
        influence = self._row_weights(X, rows)
        influence *= np.where(valid, y[rows] - sigmoid(eta), 0.0)[:, None]
        influence[~valid] = 0.0
        return influence

    def _lower_bound(self, X: Comparisons) -> Array:
        """Part of each score's variance that judge rows cannot lower.

        B_l of thm:human-scale-information-limit-v2, at the scores and sensitivities
        that X carries: judges say nothing about the scale of the scores.
        """
        system = self._system
        n_scores, n_judges = system.items.shape[1], len(X.judges)
        assert X.scores is not None
        direction = np.zeros(len(system.weights))
        direction[:n_scores] = np.linalg.lstsq(system.items, X.scores, rcond=None)[0]
        if X.sensitivities is not None:
            direction[n_scores : n_scores + n_judges] = -X.sensitivities
        length = np.linalg.norm(direction)
        if length == 0.0:
            # No score and no sensitivity: there is no scale to be unsure of.
            return np.zeros(system.targets.shape[1])
        direction /= length
        information = direction @ system.human_information @ direction
        return np.asarray((system.targets.T @ direction) ** 2 / information)

    @staticmethod
    def _valid(X: Comparisons) -> NDArray[np.bool_]:
        return X.is_usable & np.isfinite(X.logits())

    @staticmethod
    def _source_keys(X: Comparisons, codes: NDArray[np.intp]) -> list[Any]:
        """Name each source by its judge and its new models."""
        if "source keys" in X._cache:
            known: list[Any] = X._cache["source keys"]
            return known
        keys: list[Any] = []
        judges = [*X.judges.tolist(), None, "human"]
        new = np.append(X.is_new, False)
        values, rows = np.unique(codes, return_index=True)
        for row in rows[values >= 0].tolist():
            sides = [s for s in (X.left[row], X.right[row]) if new[s]]
            keys.append((judges[X.judge[row]], frozenset(X.models[sides].tolist())))
        X._cache["source keys"] = keys
        return keys

    def _annotate(self, X: Comparisons) -> Comparisons:
        return X

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return self._valid(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the Riesz criterion on the given rows, summed over the targets.

        The mean of each source stands for all of its rows in ``fit``, so that the
        value on held-out rows is comparable with the one in training.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.
        y : ignored
            The criterion does not read outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            Higher is better.
        """
        aligned = self._aligned(X)
        weight = check_weight(sample_weight, aligned)
        rows = self._valid(aligned) & (weight > 0)
        if not rows.any():
            raise BattlesError("RieszDebiaser.score found no row that it can weigh.")
        a = self._row_weights(aligned, np.flatnonzero(rows))
        p = sigmoid(aligned.logits()[rows])
        squares = weight[rows] * p * (1.0 - p) * np.einsum("ij,ij->i", a, a)
        codes = source_codes(aligned)
        keys = self._source_keys(aligned, codes)
        sums = np.bincount(codes[rows], squares, minlength=len(keys))
        counts = np.bincount(codes[rows], weight[rows], minlength=len(keys))
        total = sum(
            self._source_totals.get(key, 0.0) * s / c
            for key, s, c in zip(keys, sums, counts, strict=True)
            if c > 0
        )
        linear = 2.0 * np.sum(self._system.targets * self._system.weights)
        return float(linear - total)
