"""What every estimator shares: the door, labels, probabilities and tags."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, TransformerTags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from skanchor._numerics.logistic import log_loss_terms
from skanchor.comparisons import (
    Comparisons,
    Outcomes,
    as_frame,
    constant,
    is_named,
    row_notices,
)
from skanchor.exceptions import Advised, BattlesError, DataWarning

__all__ = ["ComparisonEstimator", "Entry", "check_bounds", "check_level", "enter"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entry:
    """What passes the door of ``fit``.

    Attributes
    ----------
    X : Comparisons
        Encoded battles.
    outcomes : Outcomes
        Encoded outcomes.
    weight : ndarray of shape (n_rows,)
        Row weights.
    groups : ndarray of shape (n_rows,) or None
        Group codes.
    notices : list of warnings
        What the rows give reason to tell.
    """

    X: Comparisons
    outcomes: Outcomes
    weight: Array
    groups: NDArray[np.intp] | None
    notices: list[Warning]


def enter(X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Entry:
    """Validate and encode what a user gives to ``fit``."""
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: give the outcomes "
            "(see split_battles)."
        )
    encoded = Comparisons.from_battles(X)
    if len(encoded) == 0:
        raise BattlesError("Found array with 0 sample(s): the battles table is empty.")
    outcomes = Outcomes.encode(y, named=encoded.named, models=encoded.models)
    check_consistent_length(encoded, outcomes.values)
    weight = check_weight(sample_weight, encoded)
    if not encoded.named and len(np.unique(outcomes.values[weight > 0])) < 2:
        # As if the rows of weight zero were not there.
        raise BattlesError(
            "Outcomes of positive weight have only one class; both sides must win at "
            "least once."
        )
    codes = resolve_groups(groups, X, len(encoded))
    notices: list[Warning] = []
    if not isinstance(X, Comparisons):
        # Encoded rows have been through this door before.
        notices = row_notices(as_frame(X), encoded, outcomes.values, weight)
    return Entry(encoded, outcomes, weight, codes, notices)


def check_weight(sample_weight: Any, X: Comparisons) -> Array:
    """Validate row weights; None is one for each row."""
    if sample_weight is None:
        return constant(1.0, len(X))
    # Array-API dispatch asks for an array here.
    weight: Array = _check_sample_weight(
        sample_weight, X.left, dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: every "
            "sample_weight is zero."
        )
    return weight


def resolve_groups(groups: Any, table: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Group codes from an array, or from the column of the table with that name."""
    if groups is None:
        return None
    if isinstance(groups, str):
        frame = as_frame(table)
        if frame is None or groups not in frame.columns:
            known = frame.columns[:20] if frame is not None else "none"
            raise BattlesError(
                f"groups names the column {groups!r}, which X lacks (columns: {known})"
                "; give an array with one group per row instead."
            )
        groups = frame[groups].to_numpy()
    groups = np.asarray(groups)
    if groups.shape != (n_rows,):
        raise BattlesError(
            f"groups must have one entry per row, {n_rows}, got shape {groups.shape}."
        )
    codes, _ = pd.factorize(groups)
    if (codes < 0).any():
        raise BattlesError(
            f"groups has missing values, the first in row {int(np.argmin(codes))}."
        )
    return codes


def check_level(level: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie strictly between 0 and 1, got {level!r}.")
    return float(level)


def locate(error: Exception, where: str) -> None:
    """Say in the message of an exception where it came from."""
    if isinstance(error, Advised):
        error.locate(where)
    elif error.args and str(error) == error.args[0]:
        error.args = (f"{where}: {error}", *error.args[1:])
    else:
        error.add_note(where)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say where exceptions came from that leave the block."""
    try:
        yield
    except Exception as error:
        locate(error, where)
        raise


def check_bounds(name: str, bounds: Any) -> tuple[float, float]:
    """Refuse bounds that are not a pair of numbers in order."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not low < high:
        raise ValueError(f"{name} must be (low, high) with low < high, got {bounds!r}.")
    return low, high


def emit(notices: Sequence[Warning], stacklevel: int = 3) -> None:
    """Issue each distinct warning once."""
    seen = set()
    for notice in notices:
        key = (type(notice), str(notice))
        if key not in seen:
            seen.add(key)
            warnings.warn(notice, stacklevel=stacklevel)


class ComparisonEstimator(ClassifierMixin, BaseEstimator):
    """Base of the estimators that read battles.

    A subclass implements ``_fit``, which gets encoded rows and returns the warnings
    to issue, and ``_annotate``, which adds what it learned to encoded rows. Outcomes
    are binary preferences, so the tags are a binary classifier's.
    """

    # Parameters that may be None or a string, and the estimator this stands for.
    _stands_for: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "unseen": [StrOptions({"warn", "raise"})]
    }
    # Names of the features seen in fit, by which later tables are read.
    _seen_features: tuple[str, ...] | None = None

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of nested estimators included.

        Setting a nested parameter of a part that is None or a string first replaces
        it by the estimator it stands for.

        Parameters
        ----------
        **params : dict
            Parameters, such as ``calibrator__bias__alpha=1``.

        Returns
        -------
        self
        """
        for name in params:
            part, nested, _ = name.partition("__")
            if nested and part in self._stands_for and part not in params:
                value = getattr(self, part)
                if value is None or isinstance(value, str):
                    setattr(self, part, self._stands_for[part](value))
        super().set_params(**params)
        return self

    def _validate_params(self) -> None:
        """Validate the parameters, those of the parts included, before any work."""
        super()._validate_params()
        for name in self._stands_for:
            part = getattr(self, name)
            for each in part.values() if isinstance(part, Mapping) else [part]:
                if hasattr(each, "_parameter_constraints"):
                    each._validate_params()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
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
            Row weights; rows of weight zero count for nothing.
        groups : array-like of shape (n_rows,) or str, optional
            Groups of dependent rows, or the column that holds them, such as the prompt.
            Where an estimator has folds, a group goes whole to one of them.

        Returns
        -------
        self
        """
        self._forget()
        try:
            self._validate_params()
            entry = enter(X, y, sample_weight, groups)
            self._remember_input(X, entry)
            notices = self._fit(
                entry.X, entry.outcomes.values, entry.weight, entry.groups
            )
        except BaseException:
            # An interrupt, too, leaves no half-fitted estimator behind.
            self._forget()
            raise
        emit([*entry.notices, *notices])
        return self

    def _forget(self) -> None:
        """Drop what an earlier fit has learned."""
        for name in list(vars(self)):
            if name.endswith("_") and not name.startswith("_"):
                delattr(self, name)

    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: Any = None,
    ) -> list[Warning]:
        raise NotImplementedError

    def _annotate(self, X: Comparisons) -> Comparisons:
        raise NotImplementedError

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        """Rows that :meth:`score` averages over."""
        raise NotImplementedError

    def _remember_input(self, X: Any, entry: Entry) -> None:
        self.classes_ = entry.outcomes.classes
        self._first_wins = entry.outcomes.first_wins
        self._seen_features = entry.X.feature_names if entry.X.named else None
        if not entry.X.named:
            validate_data(self, X, skip_check_array=True)
        else:
            self.n_features_in_ = entry.X.shape[1]

    def _encode(self, X: Any) -> Comparisons:
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
        seen = self._seen_features
        return encoded if seen is None else encoded.with_features(seen)

    def transform(self, X: Any) -> Any:
        """Return the battles with what this stage has learned.

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
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> Any:
        """Fit, then :meth:`transform` the same rows.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.
        groups : array-like of shape (n_rows,) or str, optional
            Groups of dependent rows, or the column that holds them.

        Returns
        -------
        Comparisons or ndarray of shape (n_rows, 1 + n_features)
            As :meth:`transform`.
        """
        return self.fit(X, y, sample_weight, groups).transform(X)

    def _logits(self, X: Any) -> Array:
        encoded = self._encode(X)
        known = self._annotate(encoded)
        eta = known.logits()
        self_rows = (known.left == known.right) & (known.left >= 0)
        missing = ~np.isfinite(eta) & ~self_rows
        if missing.any():
            self._refuse_unknown_judges(known, missing)
            _refuse_blanks(known, missing)
            names = known[missing].unscored_models()
            message = (
                f"{missing.sum()} rows involve models without a score ({names[:5]}); "
                "they are given probability 1/2."
            )
            if getattr(self, "unseen", "warn") == "raise":
                raise BattlesError(message)
            warnings.warn(message, DataWarning, stacklevel=4)
        if self_rows.any():
            warnings.warn(
                f"{self_rows.sum()} rows compare a model with itself; they are given "
                "probability 1/2.",
                DataWarning,
                stacklevel=4,
            )
        return np.where(missing | self_rows, 0.0, eta)

    def _refuse_unknown_judges(
        self, X: Comparisons, missing: NDArray[np.bool_]
    ) -> None:
        slope = X.sensitivities
        if slope is None:
            return
        unknown = (X.judge >= 0) & np.isnan(np.append(slope, [np.nan] * 2)[X.judge])
        if (unknown & missing).any():
            names = X.judges[np.unique(X.judge[unknown & missing])].tolist()
            raise BattlesError(
                f"Judges {names} were not calibrated: they had no historical rows in "
                "fit. Drop their rows, or fit with historical rows of theirs."
            )

    def win_probability(self, X: Any) -> Array:
        """P(``model_a`` preferred by the row's judge), free of label order.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return expit(self._logits(X))

    def decision_function(self, X: Any) -> Array:
        """Logit of the probability of ``classes_[1]``.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        eta = self._logits(X)
        return eta if self._first_wins == 1 else -eta

    def predict_proba(self, X: Any) -> Array:
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
        eta = self.decision_function(X)
        return np.column_stack([expit(-eta), expit(eta)])

    def predict(self, X: Any) -> NDArray[Any]:
        """More probable outcome label of each row.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        eta = self.decision_function(X)
        labels: NDArray[Any] = self.classes_[(eta > 0).astype(int)]
        return labels

    def _outcome_values(self, X: Comparisons, y: Any) -> Array:
        """Preferences for the first side, in the labels of ``fit``."""
        if X.named:
            return Outcomes.encode(y, named=True, models=X.models).values
        labels = np.asarray(y)
        if labels.dtype.kind in "biuf" and self.classes_.dtype.kind in "biuf":
            low, high = (float(label) for label in self.classes_)
            return np.asarray((labels - low) / (high - low), dtype=np.float64)
        unknown = sorted(set(labels.tolist()) - set(self.classes_.tolist()))
        if unknown:
            raise BattlesError(f"y has labels unseen in fit: {unknown[:5]}.")
        return (labels == self.classes_[1]).astype(np.float64)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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
        known, values, weight = self._score_inputs(X, y, sample_weight)
        loss = log_loss_terms(values, known.logits())
        return -float(np.average(loss, weights=weight))

    def _score_inputs(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Comparisons, Array, Array]:
        encoded = self._encode(X)
        values = self._outcome_values(encoded, y)
        check_consistent_length(encoded, values)
        weight = check_weight(sample_weight, encoded)
        known = self._annotate(encoded)
        rows = self._scored_rows(known) & known.is_usable & (weight > 0)
        read = rows & np.isfinite(known.logits())
        if not read.any():
            _refuse_blanks(known, rows)
            raise BattlesError(
                f"{type(self).__name__}.score found no row that it models."
            )
        return known[read], values[read], weight[read]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Stages hand battles on; TransformerMixin would promise arrays and set_output.
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.classifier_tags.multi_class = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = False
        return tags


def _refuse_blanks(X: Comparisons, missing: NDArray[np.bool_]) -> None:
    """Refuse rows without a logit, although their models have scores."""
    blank = missing & np.isfinite(X.score_differences)
    if not blank.any():
        return
    rows = np.flatnonzero(blank)
    known = np.isfinite(X.features_left[rows]).any(axis=0)
    names = [X.feature_names[k] for k in np.flatnonzero(~known)]
    if names:
        raise BattlesError(
            f"{len(rows)} rows have NaN, or no columns, for the features {names[:5]} "
            f"that fit has seen ({names[0] + '_a'!r}, {names[0] + '_b'!r} and so on)."
        )
    raise BattlesError(
        f"{len(rows)} rows have NaN features, the first in row {rows[0]}."
    )
