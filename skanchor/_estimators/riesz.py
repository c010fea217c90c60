"""Riesz weights: how much the residual of each row corrects each score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from skanchor._battles import (
    HUMAN,
    Comparisons,
    FeaturePairs,
    JudgeRows,
    Outcomes,
    usable_features,
)
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.pipeline_fit import carried
from skanchor._model.fit import PEOPLE, Fit
from skanchor._model.riesz import Information
from skanchor._model.sources import ResidualRows, SourceRows, sigmoid, variance_of
from skanchor._sample.sample import Battles, Sample, check_weight
from skanchor._sample.source_rows import rows_that_count, source_rows
from skanchor._typing import Array
from skanchor.bias import BiasLearner
from skanchor.bias.fitting import TrainingRows, fit_learner, same_settings
from skanchor.bias.protocol import LastStage, for_riesz_weights, linearity
from skanchor.bias.registry import LEARNER_CONSTRAINT, learner_for, make_learner
from skanchor.exceptions import BattlesError, LearnerError, SkanchorWarning
from skanchor.warning_log import warn_of_data


def _own_learner(learner: Any) -> Any:
    """The learner that a string names, if it is not another stage's."""
    if learner == "calibrator":
        raise ValueError(
            "The learner 'calibrator' is that of AnchorPipeline's calibrator: set "
            "those of calibrator__bias, or first set debiaser__learner to a learner."
        )
    return make_learner(learner)


class RieszDebiaser(ComparisonEstimator):
    """Riesz weights of every score, from rows with a complete plug-in.

    Parameters
    ----------
    learner : str, learner or dict, default="linear"
        Learner of the functions gamma of the Riesz weights, as in
        :class:`JudgeCalibrator`. Inside :class:`AnchorPipeline` it may be
        ``"calibrator"``, which means the learner of the calibrator. If the learner has
        a linear span, the weights are exact. If it has none, the gradient columns are
        regressed on its contrasts by weighted least squares, one fit for every target.
    inner_folds : int, default=2
        Inner folds of these regressions. The information uses out-of-fold residuals,
        and other rows are corrected by the mean over the folds' learners. With one fold
        it uses in-sample residuals, which is valid for learners that cannot overfit.
    human_bias : learner, optional
        Fitted bias of people, which :class:`AnchorPipeline` sets to ``bias_`` of its
        :class:`BTLRegressor`; None if people have none.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_ : ndarray of shape (n_models,)
        Targets: the score of each model, historical ones centred.
    information_ : ndarray of shape (p, p)
        Information of all parameters that rows decide, with its prior.
    solution_ : Information
        The solved system: weights and information of all parameters.
    learners_ : tuple of WeightFunctions
        Functions gamma in the weights of each source, people first.
    undetermined_ : ndarray of shape (n_models,)
        Whether the rows leave a score undetermined.
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

    _stands_for: ClassVar = {"learner": _own_learner}
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        "learner": LEARNER_CONSTRAINT,
        "inner_folds": [Interval(Integral, 1, None, closed="left")],
        "human_bias": [HasMethods(["contrast", "set_params"]), None],
    }

    def __init__(
        self,
        learner: str | BiasLearner = "linear",
        *,
        inner_folds: int = 2,
        human_bias: str | BiasLearner | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.learner = learner
        self.inner_folds = inner_folds
        self.human_bias = human_bias
        self.unseen = unseen

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        X, eta = sample.X, sample.X.logits()
        used, has_bias = sample.counts & np.isfinite(eta), self.human_bias is not None
        is_whole = bool((used == sample.counts).all())
        rows = usable_features(X, used if has_bias else used & ~X.is_human)
        sample = sample.with_battles(rows).weighted(np.where(used, sample.weight, 0.0))
        curvature = sample.weight * variance_of(sigmoid(np.where(used, eta, 0.0)))
        weighing = self.weighing(sample, curvature, seed_offset)
        fit = carried(X, X.item_covariance).with_spans(weighing.widths)
        if start is not None and is_whole and weighing.are_biases(start.learners):
            # The columns of the weights are those of the biases, which are laid out.
            parts = [replace(a, offset=start.fit.bias(a)) for a in start.sources]
        else:
            parts = weighing.rows(sample)
        self.keep(X, weighing, Information.of_rows(fit, parts, weighing.prior(fit)))
        totals = np.bincount(X.sources + 1, sample.weight)[1:].tolist()
        self._source_totals = dict(zip(X.source_keys, totals, strict=True))

    def weighing(
        self, sample: Sample, curvature: Array, seed_offset: int = 0
    ) -> Weighing:
        """Choose columns by historical rows, or project the rows' own columns.

        Parameters
        ----------
        sample : Sample
            Rows of the fit.
        curvature : ndarray of shape (n_rows,)
            Weight times the variance of the outcome; zero for rows that do not count.
        seed_offset : int, default=0
            Number of the training set, from which learners derive their seeds.

        Returns
        -------
        Weighing
        """
        X, learner, functions = sample.X, self._part("learner"), []
        for source, judge in enumerate([HUMAN, *X.judges.tolist()]):
            cut, is_people = X.by_judge(source - 1), source == PEOPLE
            of_rows = curvature[cut.rows]
            has_columns = of_rows.any() and X.features_left.shape[1]
            if not has_columns or (is_people and self.human_bias is None):
                functions.append(WeightFunctions())
                continue
            one: Any = self.human_bias
            if not is_people:
                one = clone(learner_for(learner, judge))
            if linearity(one) == "fixed":
                # The columns of a span are those of the bias, whatever the arrivals
                # look like: only where a judge has no historical row, they count.
                old = np.where(cut.involves(X.is_new), 0.0, of_rows)
                weight = old if old.any() else of_rows
                if not is_people:
                    one.fit_span(cut.pairs, weight)
                ridge = old.sum() * one.ridge(cut.pairs, weight)
                functions.append(WeightFunctions(one, ridge))
                continue
            if is_people:
                one = for_riesz_weights(one)
            # Weights minimise a squared criterion, whatever the loss of the bias.
            one.set_params(loss="squared")
            places = np.flatnonzero(of_rows > 0)
            at, none = cut.rows[places], np.empty((len(places), 0))
            targets = _columns(cut, len(X.models))[places]
            rows = TrainingRows(cut.pairs[places], targets, of_rows[places], none)
            fold = _inner_folds(sample, at, self.inner_folds)
            inner = []
            for k in range(fold.max() + 1):
                train = np.flatnonzero((fold != k) | (fold.max() == 0))
                fitted = clone(one), rows[train], judge
                inner.append(fit_learner(*fitted, seed_offset=seed_offset))
            folds = np.full(len(sample), -1)
            folds[at] = fold
            functions.append(WeightFunctions(one, inner=tuple(inner), fold=folds))
        return Weighing(tuple(functions))

    def keep(self, X: Comparisons, weighing: Weighing, solution: Information) -> Self:
        """Store solved weights, and warn of scores that these leave open.

        Parameters
        ----------
        X : Comparisons
            Rows with the models and judges of the weights.
        weighing : Weighing
            Columns of the weights.
        solution : Information
            The weights.

        Returns
        -------
        self
        """
        self.models_, self.judges_ = X.models, X.judges
        self.weighing_, self.solution_ = weighing, solution
        self.learners_ = weighing.functions
        self.information_ = solution.matrix
        self.identity_error_ = float(np.abs(solution.gap).max(initial=0.0))
        self.undetermined_ = solution.weights.undetermined
        if self.undetermined_.any():
            warn_of_unidentified(X.models[self.undetermined_])
        return self

    def _aligned(self, X: Battles) -> Comparisons:
        """Encoded rows in the vocabulary of the fit."""
        aligned = self._encode(X).relabel(self.models_, self.judges_)
        lacks_judges = len(self.judges_) > 0 and aligned.sensitivities is None
        if aligned.scores is None or lacks_judges:
            raise BattlesError(
                "RieszDebiaser needs comparisons that carry scores, sensitivities and "
                "biases; transform them with the fitted earlier stages first."
            )
        return aligned

    def weights(self, X: Battles) -> Array:
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
        one = np.ones(len(aligned))
        sample = Sample(aligned, Outcomes(0.0 * one, np.array([0, 1]), 1), one)
        weights = np.zeros((len(aligned), len(self.models_)))
        for part in self.weighing_.rows(sample, is_training=False):
            local = self.solution_.weights.local(part.source)
            weights[part.rows] = part.products(local)
        return weights

    def influence(self, X: Battles, y: ArrayLike) -> Array:
        """Weight times residual of each row, the terms of the correction.

        Their sum is that of eq:arrival-residual-correction-v2.

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
        residual = self._outcome_values(aligned, y) - sigmoid(aligned.logits())
        # Rows without a logit have weights of zero.
        return self.weights(X) * np.nan_to_num(residual)[:, None]

    def _annotate(self, X: Comparisons) -> Comparisons:
        return X

    def score(
        self, X: Battles, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the Riesz criterion on the given rows, summed over the targets.

        The mean over the given rows of a source is multiplied by the number of its rows
        in ``fit``, so that values on held-out rows and on training rows are comparable.
        The prior of item effects has no rows and is left out.

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
        aligned, squares = self._aligned(X), np.sum(self.weights(X) ** 2, axis=1)
        weight, p = check_weight(sample_weight, aligned), sigmoid(aligned.logits())
        used = np.isfinite(p) & aligned.is_usable & (weight > 0)
        if not used.any():
            raise BattlesError("RieszDebiaser.score found no row that it can weigh.")
        targets = self.solution_.layout.targets
        gain = 2.0 * np.sum(targets * self.solution_.weights.values)
        for source, key in enumerate(aligned.source_keys):
            rows = used & (aligned.sources == source)
            if rows.any():
                loss = p[rows] * (1.0 - p[rows]) * squares[rows]
                mean = np.average(loss, weights=weight[rows])
                gain -= self._source_totals.get(key, 0.0) * mean
        return float(gain)


def warn_of_unidentified(models: NDArray[Any]) -> None:
    """Warn of models whose scores the rows of a fit do not determine."""
    text = (
        f"The rows do not determine the scores of {models[:5].tolist()}; their "
        "intervals are not valid."
    )
    warn_of_data("unidentified-scores", models, text, SkanchorWarning)


@dataclass(frozen=True, eq=False, slots=True)
class WeightFunctions:
    """Functions gamma of the features in the weights of one source.

    A learner with a span has their columns. Any other is fitted to the columns of items
    and display order, from which its projections are then subtracted.

    Attributes
    ----------
    learner : learner or None
        With its feature map, where it has a span; unfitted where it has none; None
        where there are no features.
    ridge : ndarray of shape (n_span,)
        Ridge penalty of the span, beside the summed curvature of historical rows.
    inner : tuple of learners
        A learner without a span, fitted to the columns on the inner folds.
    fold : ndarray of shape (n_rows,)
        Inner fold of each training row, so that its projection is out of fold, and a
        learner's fit to the noise of these rows does not count as explained. Other rows
        have -1, and the mean over the learners.
    """

    learner: Any = None
    ridge: Array = field(default_factory=lambda: np.zeros(0))
    inner: tuple[Any, ...] = ()
    fold: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def less_projections(
        self, part: SourceRows, X: Comparisons, is_training: bool
    ) -> SourceRows:
        """Rows with the columns of items and display order less their projections."""
        if not self.inner:
            return part
        columns = _columns(part, part.n_items)
        fold = self.fold[part.rows] if is_training else np.full(len(part), -1)
        sides = X.features_left, X.features_right
        pairs = FeaturePairs(*sides, X.feature_names, part.rows)
        for k, one in enumerate(self.inner):
            share = np.where(fold < 0, 1.0 / len(self.inner), fold == k)
            at = np.flatnonzero(share)
            if len(at):
                columns[at] -= share[at, None] * one.contrast(pairs[at])
        if not np.isfinite(columns).all():
            raise LearnerError("the learner of the Riesz weights returned NaN.")
        attributes = {f.name: getattr(part, f.name) for f in fields(part)}
        return ResidualRows(**attributes, residual=columns)


def _inner_folds(
    sample: Sample, rows: NDArray[np.intp], n_folds: int
) -> NDArray[np.intp]:
    """Inner fold of some rows, from zero.

    Rows of one group stay together. There are no more folds than groups; one group
    leaves none to hold out, and is fitted and predicted in full.
    """
    group = rows if sample.groups is None else sample.groups[rows]
    groups, code = np.unique(group, return_inverse=True)
    fold = np.random.default_rng(0).permutation(len(groups)) % n_folds
    return np.asarray(fold[code])


def _columns(rows: SourceRows | JudgeRows, n_items: int) -> Array:
    """Columns of items and display order, dense, of shape (n, n_items + 1).

    The score difference is a combination of the columns of the items.
    """
    items = np.eye(n_items)
    return np.column_stack([items[rows.left] - items[rows.right], rows.order])


@dataclass(frozen=True, eq=False, slots=True)
class Weighing:
    """Functions of the features in the Riesz weights of all sources, people first."""

    functions: tuple[WeightFunctions, ...]

    @property
    def has_spans(self) -> bool:
        """Whether the weights of all sources are linear in fixed columns."""
        return not any(one.inner for one in self.functions)

    def are_biases(self, learners: Sequence[Any]) -> bool:
        """Whether these are the columns that the fitted biases of sources have."""
        return self.has_spans and all(
            len(one.ridge) == np.size(getattr(bias, "coef_", ()))
            and (not len(one.ridge) or same_settings(one.learner, bias))
            for one, bias in zip(self.functions, learners, strict=True)
        )

    def rows(self, sample: Sample, *, is_training: bool = True) -> list[SourceRows]:
        """Rows by source, with the columns of the weights; their bias is fixed.

        Parameters
        ----------
        sample : Sample
            Rows that carry the plug-in; those without a logit are left out.
        is_training : bool
            Whether they are the rows of the fit, whose projections are out of fold.

        Returns
        -------
        list of SourceRows
        """
        usable = np.isfinite(sample.X.logits())
        sample = sample.weighted(np.where(usable, sample.weight, 0.0))
        return [
            self.functions[part.source].less_projections(part, sample.X, is_training)
            for part in source_rows(sample, self._spans(sample))
        ]

    def _spans(self, sample: Sample) -> Iterator[LastStage]:
        """Columns of each source, one after the other: together they are large."""
        biases = np.zeros(len(sample)) if sample.X.biases is None else sample.X.biases
        for cut, one in zip(rows_that_count(sample), self.functions, strict=True):
            columns, none = np.zeros((len(cut), len(one.ridge))), 0.0 * one.ridge
            if columns.size:
                columns = np.asarray(one.learner.span(cut.pairs))
            yield LastStage(columns, none, none, biases[cut.rows])

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each source."""
        return tuple(len(one.ridge) for one in self.functions)

    def prior(self, fit: Fit) -> Array:
        """Precision that enters the weights: of item effects, and ridges of spans."""
        layout, at = fit.layout, fit.layout.item_effects
        prior = np.zeros((layout.size, layout.size))
        for source, one in enumerate(self.functions):
            span = layout.span(source)
            prior[span, span] = np.diag(one.ridge)
        prior[at, at] = fit.precision[at, at]
        return prior
