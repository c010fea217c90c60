"""Riesz weights: how much the residual of each row corrects each score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from skanchor._numerics.btl import laplacian, pair_sums
from skanchor._numerics.information import (
    JudgeBlock,
    fitted_block,
    gradient_columns,
    judge_block,
    selectors,
)
from skanchor._numerics.linalg import (
    SymmetricSolver,
    covariance_factor,
    mix_judges,
    zero_sum_basis,
)
from skanchor._numerics.logistic import sigmoid
from skanchor.base import ComparisonEstimator, check_weight
from skanchor.bias.fitting import FitTask, fit_all
from skanchor.bias.registry import LEARNER_CONSTRAINT, learner_for, make_learner
from skanchor.comparisons import (
    Comparisons,
    FeaturePairs,
    source_codes,
    usable_features,
)
from skanchor.exceptions import BattlesError, LearnerError, SkanchorWarning

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
        w = J^-1 L for the targets L, the scores of all items; with J's diagonal raised
        by ``ridge``.
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
        Inverse of ``information``, its diagonal raised by ``ridge``.
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


@dataclass(frozen=True, slots=True)
class _Fit:
    """A judge whose gradient columns a learner without a span projects."""

    judge: int
    name: Any
    learner: Any
    pairs: FeaturePairs
    columns: Array
    weight: Array
    group: NDArray[np.intp]

    def spanned(self, learners: Sequence[Any]) -> JudgeBlock:
        """Project on the span of what the learners found."""
        learned = _Learned(tuple(learners))
        span = learned.span(self.pairs)
        weighted = span * self.weight[:, None]
        cross = weighted.T @ self.columns
        coef = SymmetricSolver.factorise(weighted.T @ span).solve(cross)
        gram = self.columns.T @ (self.columns * self.weight[:, None]) - cross.T @ coef
        return JudgeBlock(gram, gram, learned, coef)


@dataclass(frozen=True, slots=True)
class _Learned:
    """Fitted learners: their mean, or the span of all their contrasts."""

    learners: tuple[Any, ...]

    def contrast(self, pairs: FeaturePairs) -> Array:
        return np.mean([_finite(a.contrast(pairs)) for a in self.learners], axis=0)

    def span(self, pairs: FeaturePairs) -> Array:
        if not self.learners:
            return np.empty((len(pairs), 0))
        return np.hstack([_finite(a.contrast(pairs)) for a in self.learners])


def _curvature(eta: Array, weight: Array) -> Array:
    """Weighted variance of the outcomes."""
    p = sigmoid(eta)
    curvature = p * (1.0 - p)
    # Separated verdicts say nothing: their inverse would be rounding noise.
    return np.where(curvature > SEPARATED, weight * curvature, 0.0)


def _finite(values: Array) -> Array:
    if not np.isfinite(values).all():
        raise LearnerError("the learner of the Riesz weights returned NaN.")
    return values


def _project(fits: Sequence[_Fit], inner_folds: int, draw: int) -> list[JudgeBlock]:
    """Fit the projections of all judges and inner folds."""
    learners, problems, names, places = [], [], [], []
    for number, fit in enumerate(fits):
        # Rows of one group stay together.
        groups, code = np.unique(fit.group, return_inverse=True)
        # Fewer where a judge has fewer; one group leaves none to hold out.
        n_folds = min(inner_folds, len(groups))
        dealt = np.random.default_rng(0).permutation(len(groups)) % n_folds
        fold = dealt[code]
        for k in range(n_folds):
            train = np.flatnonzero(fold != k) if n_folds > 1 else slice(None)
            learners.append(clone(fit.learner))
            problems.append(
                FitTask(fit.pairs[train], fit.columns[train], fit.weight[train])
            )
            names.append(fit.name)
            places.append((number, np.flatnonzero(fold == k)))
    fit_all(learners, problems, names, draw)
    fitted = [np.zeros_like(fit.columns) for fit in fits]
    for learner, (number, test) in zip(learners, places, strict=True):
        fitted[number][test] = _finite(learner.contrast(fits[number].pairs[test]))
    blocks = []
    for number, fit in enumerate(fits):
        mine = [a for a, (at, _) in zip(learners, places, strict=True) if at == number]
        blocks.append(
            fitted_block(fit.columns, fitted[number], fit.weight, _Learned(tuple(mine)))
        )
    return blocks


class RieszDebiaser(ComparisonEstimator):
    """Riesz weights of every score, from rows that carry a complete plug-in.

    Parameters
    ----------
    learner : str, learner or dict, default="linear"
        Class of the functions gamma of the Riesz weights, a learner as in
        :class:`JudgeCalibrator`. With a learner that has a linear span the weights are
        exact, and the next three parameters do not matter.
    route : {"projection", "direct"}, default="projection"
        How any other learner is used. ``"projection"`` regresses the gradient columns
        on contrasts by weighted least squares, one fit for every target. ``"direct"``
        descends on the criterion itself: in each round the learner is fitted to what
        the weights leave of every target, and the criterion is minimised exactly over
        the span of all that was learned so far.
    inner_folds : int, default=2
        Inner folds of the projection: its information takes residuals out of fold, and
        rows outside the fit are corrected by the mean over the folds' learners. One
        takes residuals in sample, which is right for learners that cannot overfit.
    rounds : int, default=3
        Rounds of the direct route.
    ridge : float, default=0.0
        Ridge penalty of the parametric part of the weights, in shares of the diagonal
        of the information: shortens all corrections.
    weight_bound : float, optional
        Bounds the absolute weight of a row, in multiples of the root mean square of
        the target's weights over the rows of ``fit``: shortens extreme corrections.
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
        spans without ``ridge``.

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
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        "learner": LEARNER_CONSTRAINT,
        "route": [StrOptions({"projection", "direct"})],
        "inner_folds": [Interval(Integral, 1, None, closed="left")],
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "weight_bound": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        learner: Any = "linear",
        *,
        route: str = "projection",
        inner_folds: int = 2,
        rounds: int = 3,
        ridge: float = 0.0,
        weight_bound: float | None = None,
        unseen: str = "warn",
    ):
        self.learner = learner
        self.route = route
        self.inner_folds = inner_folds
        self.rounds = rounds
        self.ridge = ridge
        self.weight_bound = weight_bound
        self.unseen = unseen

    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: RieszDebiaser | None = None,
        draw: int = 0,
    ) -> list[Warning]:
        eta = X.logits()
        used = X.is_usable & (weight > 0) & np.isfinite(eta)
        X = usable_features(X, used & ~X.is_human)
        weight = np.where(used, weight, 0.0)
        curvature = _curvature(np.where(used, eta, 0.0), weight)
        del eta
        self._limit = None
        self._system = self._solve(X, curvature, groups, draw)
        if self.weight_bound is not None:
            a = self._row_weights(X, np.flatnonzero(used))
            self._limit = self.weight_bound * np.sqrt(np.mean(a**2, axis=0))
        self.models_ = X.models
        self.judges_ = X.judges
        self.information_ = self._system.information
        missing = self._system.information @ self._system.weights
        ridge = self.ridge * np.diag(self._system.information)
        missing += ridge[:, None] * self._system.weights
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

    def _solve(
        self,
        X: Comparisons,
        curvature: Array,
        groups: NDArray[np.intp] | None,
        draw: int,
    ) -> RieszSystem:
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
        targets = np.zeros((size, n_items))
        targets[:n_scores] = items.T
        # u = L v mixes the judges, so that their blocks are summed by u first.
        own = None if factor is None else np.eye(n_judges)

        def assemble(blocks: Sequence[JudgeBlock | None]) -> RieszSystem:
            joint = information.copy()
            identity = joint.copy()
            for m, block in enumerate(blocks):
                if block is not None:
                    # By u, of which a judge sees its own; the parameters are v.
                    columns = _judge_columns(X, m, items, own, size)
                    at = np.flatnonzero(columns.any(axis=0))
                    columns, box = columns[:, at], np.ix_(at, at)
                    joint[box] += columns.T @ block.gram @ columns
                    identity[box] += columns.T @ block.identity @ columns
            if factor is not None:
                joint = mix_judges(joint, factor, n_items)
                identity = mix_judges(identity, factor, n_items)
                # The prior of the item effects is one more observation each.
                at = np.arange(size - n_judges * n_items, size)
                joint[at, at] += 1.0
                identity[at, at] += 1.0
            ridged = joint + np.diag(self.ridge * np.diag(joint))
            solver = SymmetricSolver.factorise(ridged)
            weights = solver.solve(targets)
            return RieszSystem(
                joint,
                human_information,
                identity.T @ weights - targets,
                weights,
                targets,
                tuple(blocks),
                items,
                factor,
                solver,
            )

        # Judges whose learner has a span are exact; the others are fitted, together.
        blocks: list[JudgeBlock | None] = [None] * n_judges
        fits: list[_Fit] = []
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            used = curvature[cut.rows] > 0
            if not used.any():
                continue
            if not X.features_left.shape[1]:
                blocks[m] = judge_block(cut, delta[cut.rows], curvature[cut.rows], None)
                continue
            learner: Any = clone(learner_for(self.learner, judge))
            learner.set_params(loss="squared")
            if hasattr(learner, "span"):
                learner.fit_span(cut.pairs, curvature[cut.rows])
                blocks[m] = judge_block(
                    cut, delta[cut.rows], curvature[cut.rows], learner
                )
                continue
            rows = cut.rows[used]
            columns = gradient_columns(cut, delta[cut.rows])[used]
            group = rows if groups is None else groups[rows]
            pairs_used = cut.pairs[np.flatnonzero(used)]
            fits.append(
                _Fit(m, judge, learner, pairs_used, columns, curvature[rows], group)
            )
        if self.route == "projection":
            projected = _project(fits, self.inner_folds, draw)
            for fit, block in zip(fits, projected, strict=True):
                blocks[fit.judge] = block
            return assemble(blocks)
        for fit in fits:
            blocks[fit.judge] = fit.spanned([])
        system = assemble(blocks)
        learned: list[list[Any]] = [[] for _ in fits]
        for _ in range(self.rounds if fits else 0):
            # What the weights make of each target, for the learners to take away.
            wanted = [fit.columns @ system.columns(fit.judge, X) @ system.weights
                      for fit in fits]  # fmt: skip
            found = [clone(fit.learner) for fit in fits]
            problems = [
                FitTask(fit.pairs, y, fit.weight)
                for fit, y in zip(fits, wanted, strict=True)
            ]
            fit_all(found, problems, [fit.name for fit in fits], draw)
            for fit, known, learner in zip(fits, learned, found, strict=True):
                known.append(learner)
                blocks[fit.judge] = fit.spanned(known)
            system = assemble(blocks)
        return system

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
        left, right = human.left[chosen], human.right[chosen]
        weights[at[chosen]] = item_weights.take(left, axis=0)
        weights[at[chosen]] -= item_weights.take(right, axis=0)
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
            values = by_item.take(left, axis=0)
            values -= by_item.take(right, axis=0)
            if X.position_effects is not None:
                values += np.outer(cut.order[chosen], columns[n_items + 1])
            values -= block.correction(cut.pairs[chosen], columns)
            weights[at[chosen]] = values
        if self._limit is not None:
            weights = np.clip(weights, -self._limit, self._limit)
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
        value on held-out rows is comparable with the one in training. The prior of
        item effects has no rows and is left out.

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
