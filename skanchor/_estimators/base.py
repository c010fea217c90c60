"""What every estimator shares: admission of data, labels, probabilities and tags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, TransformerTags
from sklearn.utils._param_validation import InvalidParameterError, StrOptions
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from skanchor._battles import Comparisons, Outcomes
from skanchor._battles.grouping import read_contexts
from skanchor._battles.table import is_named
from skanchor._machine import limited_threads, threads_for
from skanchor._model.sources import log_loss_terms, sigmoid
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Battles, Sample, check_weight
from skanchor._text import first_five
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.warning_log import WarningLog, warn_of_data

_ALIKE_NAMES = ("look-alike-models", "look-alike-judges")
"""Codes of warnings that may say why a fit is refused: two names of one model."""


class ComparisonEstimator(ClassifierMixin, BaseEstimator):
    """Base of the estimators that read battles.

    A subclass implements the hooks ``_fit``, which learns from an admitted sample and
    warns through :func:`skanchor.warning_log.warn`, ``_annotate``, which adds what it
    learned to encoded rows, and ``_scored_rows``. Users fit with ``fit``; an estimator
    that fits another as its part does so with ``fit_sample``; there is no third way.
    Outcomes are binary preferences, so the tags are a binary classifier's.
    """

    # Parameters that may be None or a string, and the estimator this stands for.
    _stands_for: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "unseen": [StrOptions({"warn", "raise"})]
    }
    # Whether it ends in errors, which depend on what weights are; whether it fits rows
    # that stand for several equal ones; and whether its errors allow for votes of one
    # rater that depend on each other.
    _has_errors = _fits_cells = _allows_for_raters = False
    # Names of the features seen in fit, by which later tables are read.
    _seen_features: tuple[str, ...] | None = None
    unseen: str
    # Column of contexts, of an estimator that allows for them.
    context: str | None = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator and of nested estimators.

        If a nested estimator is None or a string, it is first replaced by the estimator
        that ``fit`` would use for it.

        Parameters
        ----------
        **params : dict
            Parameters, such as ``calibrator__bias__alpha=1``.

        Returns
        -------
        self
        """
        for name in list(params):
            part, nested, _ = name.partition("__")
            if nested and part in self._stands_for:
                value = params.get(part, getattr(self, part))
                params[part] = self._standing_for(part, value)
        super().set_params(**params)
        return self

    def _part(self, name: str) -> Any:
        """Estimator in a parameter, or the one that its None or string stands for."""
        return self._standing_for(name, getattr(self, name))

    def _standing_for(self, name: str, value: Any) -> Any:
        if value is None or isinstance(value, str):
            return self._stands_for[name](value)
        return value

    def _validate_params(self) -> None:
        """Validate the parameters, those of the parts included, before any work."""
        super()._validate_params()
        for name in self._stands_for:
            part = getattr(self, name)
            for learner in part.values() if isinstance(part, Mapping) else [part]:
                if hasattr(learner, "_parameter_constraints"):
                    learner._validate_params()
        for name, value in self.get_params().items():
            if isinstance(value, int) and abs(value) > sys.float_info.max:
                raise InvalidParameterError(
                    f"The {name!r} parameter of {type(self).__name__} must be below "
                    f"{sys.float_info.max:.2g}; it has {value.bit_length()} bits."
                )

    def fit(
        self,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
    ) -> Self:
        """Fit on battles.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes: ``model_a``, ``model_b``, ``tie`` and so on, or preferences for
            ``model_a`` in [0, 1].
        sample_weight : array-like of shape (n_rows,), optional
            Row weights; rows of weight zero have no influence.
        groups : array-like of shape (n_rows,), str or None, default="auto"
            Groups of dependent rows, or the column that holds them, such as the prompt.
            If an estimator has folds, all rows of a group are in the same fold.
            By default the values of ``prompt_id``, if they repeat. The errors of
            :class:`skanchor.AnchorPipeline` and :class:`skanchor.BTLRegressor` then
            also allow for raters who voted repeatedly (column ``rater``). None treats
            rows as independent.

        Returns
        -------
        self
        """
        self._forget()
        log = WarningLog()
        try:
            self._validate_params()
            with log:
                sample = self._admitted(X, y, sample_weight, groups)
                if not sample.X.named:
                    # Before the fit: a wrong table is the first fault to name.
                    validate_data(self, X, skip_check_array=True)
                may_warn, lists_rows = self._has_errors, not self._fits_cells
                rules = RowRules.of(self)
                self.fit_sample(
                    rules.apply(sample, may_warn=may_warn, lists_rows=lists_rows)
                )
            self.warnings_ = tuple(log.distinct)
        except BaseException as error:
            # An interrupt, too, leaves no half-fitted estimator behind.
            self._forget()
            if isinstance(error, BattlesError):
                # Two spellings of one model may be why.
                log.issue(codes=_ALIKE_NAMES)
            raise
        log.issue()
        return self

    def _admitted(
        self, X: Battles, y: ArrayLike, sample_weight: Any, groups: Any
    ) -> Sample:
        """Validate and encode what ``fit`` is given.

        With contexts its models are labels of model and context. Encoded rows may have
        their contexts already.
        """
        sample = Sample.from_battles(X, y, sample_weight, groups)
        if not self._allows_for_raters:
            sample = sample.without_raters()
        if self.context is None or sample.X.has_contexts:
            return sample
        return sample.in_contexts(read_contexts(self.context, X), self.context)

    def fit_sample(
        self, sample: Sample, start: Any = None, seed_offset: int = 0
    ) -> Self:
        """Fit on a sample that has been admitted; other estimators call this.

        Parameters
        ----------
        sample : Sample
            Encoded battles, outcomes, weights and groups.
        start : estimator, optional
            The same estimator fitted on nearly the same rows, as a starting point.
        seed_offset : int, default=0
            Number of the training set, from which learners with a ``random_state``
            derive their seeds; zero keeps the seeds as they are.

        Returns
        -------
        self
        """
        self.classes_ = sample.outcomes.classes
        self.n_features_in_ = sample.X.shape[1]
        self._first_wins = sample.outcomes.first_wins
        self._tied_labels = sample.outcomes.tied_labels
        self._seen_features = sample.X.feature_names if sample.X.named else None
        # About as many parameters as a joint fit has, those of biases left out.
        size = len(sample.X.models) + 2 * len(sample.X.judges)
        with limited_threads(threads_for(size)):
            self._fit(sample, start, seed_offset)
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit has learned."""
        for name in list(vars(self)):
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        """Learn from a sample; the arguments are those of :meth:`fit_sample`."""
        raise NotImplementedError

    def _annotate(self, X: Comparisons) -> Comparisons:
        """Encoded rows with the columns that this estimator has learned."""
        raise NotImplementedError

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        """Rows that :meth:`score` averages over."""
        raise NotImplementedError

    def _encode(self, X: Battles) -> Comparisons:
        """Read a table by the names of the features that ``fit`` has seen."""
        check_is_fitted(self)
        if not isinstance(X, Comparisons) and not is_named(X):
            # Before the columns are read: a wrong number of them is the first fault.
            if hasattr(X, "columns"):
                validate_data(self, X, skip_check_array=True, reset=False)
            else:
                X = validate_data(
                    self, X, dtype=None, ensure_all_finite=False, reset=False
                )
        encoded = Comparisons.from_battles(X)
        if self._seen_features is not None:
            encoded = encoded.with_features(self._seen_features)
        if self.context is None or encoded.has_contexts:
            return encoded
        return encoded.in_contexts(read_contexts(self.context, X))

    def transform(self, X: Battles) -> Any:
        """Return the battles with the columns that this stage has estimated.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        Comparisons or ndarray of shape (n_rows, 1 + n_features)
            The rows for the next stage. A bare array, which no later stage can read,
            becomes numbers: the logit of each row, then its features.
        """
        encoded = self._encode(X)
        if encoded.named or isinstance(X, Comparisons):
            return self._annotate(encoded)
        contrast = encoded.features_left - encoded.features_right
        return np.column_stack([self._logits(encoded), contrast])

    def fit_transform(
        self,
        X: Battles,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = "auto",
    ) -> Comparisons | Array:
        """Fit, then :meth:`transform` the same rows.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.
        groups : array-like of shape (n_rows,), str or None, default="auto"
            Groups of dependent rows, or the column that holds them.
            By default the values of ``prompt_id``, if they repeat; None treats
            rows as independent.

        Returns
        -------
        Comparisons or ndarray of shape (n_rows, 1 + n_features)
            As :meth:`transform`.
        """
        return self.fit(X, y, sample_weight, groups).transform(X)

    def _logits(self, X: Battles) -> Array:
        """Logit of each row; zero, with a warning, where its models tell nothing."""
        annotated = self._annotate(self._encode(X))
        eta = annotated.logits()
        alone = (annotated.left == annotated.right) & (annotated.left >= 0)
        missing = ~np.isfinite(eta) & ~alone
        if missing.any():
            _refuse_unknown(annotated, missing)
            names = annotated[missing].unscored_models()
            text = (
                f"Rows of models without a score ({names[:5]}) are given probability "
                f"1/2: {missing.sum()}."
            )
            if self.unseen == "raise":
                raise BattlesError(text)
            warn_of_data("models-without-score", names, text)
        if alone.any():
            text = (
                "Rows that compare a model with itself are given probability 1/2: "
                f"{alone.sum()}."
            )
            warn_of_data("self-comparisons", (), text)
        return np.where(missing | alone, 0.0, eta)

    def win_probability(self, X: Battles) -> Array:
        """Probability that the row's judge prefers ``model_a``, in any label order.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return sigmoid(self._logits(X))

    def decision_function(self, X: Battles) -> Array:
        """Logit of the probability of ``classes_[1]``.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows,)

        Raises
        ------
        BattlesError
            If the outcomes of ``fit`` had ties as labels, because a decision function
            for two classes does not fit three.
        """
        eta = self._logits(X)
        if self._tied_labels:
            raise BattlesError(
                "There is no decision function after a fit to outcomes with ties: "
                "scikit-learn treats ties as a third class. Leave their rows out, or "
                "use metrics.log_loss_scorer; in win_probability a tie is half a win."
            )
        return eta if self._first_wins == 1 else -eta

    def predict_proba(self, X: Battles) -> Array:
        """Probabilities of the two outcome labels.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows, 2)
            Columns follow ``classes_``.
        """
        eta = self._logits(X)
        sides = [sigmoid(-eta), sigmoid(eta)]
        return np.column_stack(sides if self._first_wins == 1 else sides[::-1])

    def predict(self, X: Battles) -> NDArray[Any]:
        """More probable outcome label of each row.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        likelier = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likelier])

    def _outcome_values(self, X: Comparisons, y: ArrayLike) -> Array:
        """Preferences for the first side, in the labels of ``fit``."""
        if X.named:
            return Outcomes.encode(y, named=True).values
        labels = np.asarray(y)
        if not np.isin(labels, self.classes_).all():
            raise BattlesError(f"y has labels other than {self.classes_.tolist()}.")
        return (labels == self.classes_[1]).astype(np.float64)

    def score(
        self, X: Battles, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the mean log loss over the rows that this estimator models.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            Higher is better; nats per row.
        """
        encoded = self._encode(X)
        values = self._outcome_values(encoded, y)
        check_consistent_length(encoded, values)
        weight = check_weight(sample_weight, encoded)
        annotated = self._annotate(encoded)
        rows = self._scored_rows(annotated) & annotated.is_usable & (weight > 0)
        if RowRules.of(self).drops_ties:
            rows &= values != 0.5
        read = rows & np.isfinite(annotated.logits())
        if not read.any():
            _refuse_unknown(annotated, rows)
            raise BattlesError(
                f"{type(self).__name__}.score found no row that it models."
            )
        loss = log_loss_terms(values[read], annotated[read].logits())
        return -float(np.average(loss, weights=weight[read]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Stages hand battles on; TransformerMixin would promise arrays and set_output.
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = False
        return tags


def _refuse_unknown(X: Comparisons, missing: NDArray[np.bool_]) -> None:
    """Refuse rows without a logit whose models have scores: of judges, or features."""
    if X.sensitivities is not None:
        # Codes -1 and -2, people and judges of no label, index from the end.
        unknown = np.append(np.isnan(X.sensitivities), [False, False])[X.judge]
        names = X.judges[np.unique(X.judge[unknown & missing])].tolist()
        if names:
            raise BattlesError(
                f"Judges {first_five(names)} were not calibrated: fit had no usable "
                "historical rows of these judges. Drop their rows, or add such rows."
            )
    rows = np.flatnonzero(missing & np.isfinite(X.score_differences))
    if len(rows):
        is_blank = np.all(~np.isfinite(X.features_left[rows]), axis=0).tolist()
        blank = [name for name, b in zip(X.feature_names, is_blank, strict=True) if b]
        raise BattlesError(
            f"Rows with NaN features: {len(rows)}, the first is row {rows[0]}."
            + f" No row has the features {blank[:5]} that fit has seen." * bool(blank)
        )
