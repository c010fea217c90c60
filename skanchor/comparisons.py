"""The battles table and its encoded form: outcomes, labels, roles, features.

A battles table enters once, through :meth:`Comparisons.from_battles`, and from
then on only gains columns: each stage of the chain returns the same rows with
what it has learned (scores, sensitivities, biases).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from skanchor.exceptions import BattlesError, DataWarning

__all__ = ["HUMAN", "Comparisons", "Outcomes", "split_battles"]

HUMAN = "human"
"""Label of the rows that carry human votes in the ``judge`` column."""

WINNER_VALUES = {
    "model_a": 1.0,
    "model_b": 0.0,
    "tie": 0.5,
    "tie (bothbad)": 0.5,
    "both_bad": 0.5,
}
"""Outcome labels of a battles table and the preference for ``model_a`` they mean."""

_HOW_TO_RENAME = "Rename columns with split_battles(table, columns={given: standard})."
_SIDES = {"model_a": 1.0, "model_b": -1.0}
_RESERVED = ("model_a", "model_b", "judge", "shown_first")
# Rows beyond which a column of objects is worth a look at their addresses, and rows
# of a step that stays in the cache.
_MANY, _STEP = 10_000, 1 << 16

# Python places no two objects closer together, in bytes.
_ALIGNMENT = 16


# --------------------------------------------------------------------------- outcomes
@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes as preferences for the first side, with the labels they came in.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Preference for ``model_a`` in [0, 1]; ties are one half.
    classes : ndarray of shape (2,)
        The two labels in sorted order, as scikit-learn has them.
    first_wins : int
        Index in ``classes`` of the label that means "the first side won".
    """

    values: NDArray[np.float64]
    classes: NDArray[Any]
    first_wins: int

    @classmethod
    def encode(
        cls, y: ArrayLike, *, named: bool, models: Iterable[Any] = ()
    ) -> Outcomes:
        """Read outcomes: names and preferences of a named table, else two labels.

        The models of the table are only for an error to know their names.
        """
        if issparse(y):
            raise TypeError("y is sparse; give a dense array of outcomes.")
        column = nw.from_native(y, series_only=True, pass_through=True)
        if named and isinstance(column, nw.Series) and _is_text(column):
            return cls._of_labels(*_text_codes(column), models)
        values = np.asarray(y)
        if values.ndim == 2 and values.shape[1] == 1:
            from sklearn.exceptions import DataConversionWarning

            warnings.warn(
                "A column-vector y was passed when a 1d array was expected.",
                DataConversionWarning,
                stacklevel=3,
            )
            values = values.ravel()
        if values.ndim != 1:
            raise BattlesError(
                f"y must have one outcome per battle, got shape {values.shape}."
            )
        return cls._named(values, models) if named else cls._two_labels(values)

    @classmethod
    def _named(cls, y: NDArray[Any], models: Iterable[Any]) -> Outcomes:
        if y.dtype.kind in "OUST":
            codes, labels = _factorize(y.astype(object, copy=False))
            if all(isinstance(label, str) for label in labels):
                return cls._of_labels(codes, labels, models)
            _refuse_missing_outcomes(codes)
        try:
            values = y.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise BattlesError(
                "Outcomes must be all labels or all numbers in [0, 1], got "
                f"{sorted({type(value).__name__ for value in y})}."
            ) from None
        # A comparison with NaN is false.
        low, high = _range(values)
        if len(values) and not (low >= 0.0 and high <= 1.0):
            bad = ~((values >= 0) & (values <= 1))
            raise BattlesError(
                f"Outcomes must be in [0, 1]; row {int(np.argmax(bad))} has "
                f"{float(values[np.argmax(bad)])!r}."
            )
        classes = np.array([0, 1], dtype=y.dtype if y.dtype.kind in "biuf" else int)
        return cls(values, classes, 1)

    @classmethod
    def _of_labels(
        cls, codes: NDArray[np.intp], labels: NDArray[Any], models: Iterable[Any]
    ) -> Outcomes:
        _refuse_missing_outcomes(codes)
        unknown = [label for label in labels if label not in WINNER_VALUES]
        if unknown:
            row = int(np.argmax(codes == list(labels).index(unknown[0])))
            raise BattlesError(
                f"Unknown outcome labels {unknown[:5]}, first in row {row}; "
                + _how_to_recode(labels, unknown, models)
            )
        values = np.array([WINNER_VALUES[label] for label in labels])
        return cls(values[codes], np.array(["model_a", "model_b"]), 0)

    @classmethod
    def _two_labels(cls, y: NDArray[Any]) -> Outcomes:
        from sklearn.utils import assert_all_finite
        from sklearn.utils.multiclass import check_classification_targets

        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
            inside = (y >= 0) & (y <= 1)
            if inside.all() and np.isin([0.0, 1.0], y).any() and (y % 1 != 0).any():
                return cls(y.astype(np.float64), np.array([0.0, 1.0]), 1)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise BattlesError(
                "Only binary classification is supported. The type of the target is "
                f"multiclass: {len(classes)} labels, such as {classes[:3].tolist()}."
            )
        if len(classes) < 2:
            raise BattlesError(
                "Outcomes have only one class, "
                f"{classes[0]!r}; both sides must win at least once."
            )
        return cls(codes.astype(np.float64), classes, 1)


def _how_to_recode(
    labels: Iterable[str], unknown: list[str], models: Iterable[Any]
) -> str:
    """Say what to do about outcomes that are none by their labels."""
    if not set(unknown) - set(models):
        return (
            "they are names of models. Put in their place the column that names the "
            "winner, 'model_a' or 'model_b': "
            "y.mask(y == X['model_a'], 'model_a').mask(y == X['model_b'], 'model_b')."
        )
    if all(map(_is_number, labels)):
        return "they are numbers as text. Convert them: y.astype(float)."
    return f"use {sorted(WINNER_VALUES)} or numbers in [0, 1]."


def _refuse_missing_outcomes(codes: NDArray[np.intp]) -> None:
    missing = codes < 0
    if missing.any():
        raise BattlesError(
            f"y has {missing.sum()} missing outcomes, the first in row "
            f"{int(np.argmax(missing))}; drop those battles."
        )


# ------------------------------------------------------------------------ row records
class FeaturePairs:
    """Features of the two responses of each comparison: what a bias learner sees.

    Chosen rows are copied out of the table when they are first read, since most
    learners read the contrast alone.

    Parameters
    ----------
    left, right : ndarray of shape (n_table, n_features)
        Features of the first and of the second response.
    names : tuple of str
        Names of the features.
    rows : ndarray of shape (n_rows,), optional
        Row numbers; None means all.
    """

    def __init__(
        self,
        left: NDArray[np.float64],
        right: NDArray[np.float64],
        names: tuple[str, ...] = (),
        rows: NDArray[np.intp] | None = None,
    ):
        self.names = names
        self._table = left, right
        self._rows = rows

    @classmethod
    def of(cls, X: Any) -> FeaturePairs:
        """Take pairs as they are; read an array as responses against the origin."""
        if isinstance(X, FeaturePairs):
            return X
        return cls(X, np.zeros_like(X))

    def __len__(self) -> int:
        return len(self._table[0] if self._rows is None else self._rows)

    def __getitem__(self, rows: Any) -> FeaturePairs:
        inside = np.arange(len(self)) if self._rows is None else self._rows
        part = FeaturePairs(*self._table, self.names, inside[rows])
        if "contrast" in self.__dict__:
            numbers = isinstance(rows, np.ndarray) and rows.dtype.kind == "i"
            part.__dict__["contrast"] = (
                self.contrast.T.take(rows, axis=1).T if numbers else self.contrast[rows]
            )
        return part

    @property
    def n_features(self) -> int:
        """Number of features of a response."""
        return self._table[0].shape[1]

    def _side(self, side: int) -> NDArray[np.float64]:
        table = self._table[side]
        if self._rows is None:
            return table
        chosen = table.take(self._rows, axis=0)
        # Every stage shares them: a learner must not write into them.
        chosen.flags.writeable = False
        return chosen

    @cached_property
    def left(self) -> NDArray[np.float64]:
        """Features of the first response, of shape (n_rows, n_features)."""
        return self._side(0)

    @cached_property
    def right(self) -> NDArray[np.float64]:
        """Features of the second response, of shape (n_rows, n_features)."""
        return self._side(1)

    @cached_property
    def contrast(self) -> NDArray[np.float64]:
        """Features of the first response minus those of the second."""
        left, right = self._side(0), self._side(1)
        # Column by column, as every pass over the rows weighs whole columns.
        contrast = np.subtract(left, right, order="F")
        contrast.flags.writeable = False
        return contrast


@dataclass(frozen=True, eq=False)
class JudgeRows:
    """The usable rows of one judge, in contiguous arrays.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row numbers in the comparisons they were cut from.
    left, right, order : ndarray of shape (n,)
        Model codes and display order.
    pairs : FeaturePairs
        Features.
    n_models : int
        Size of the vocabulary.
    """

    rows: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: NDArray[np.float64]
    pairs: FeaturePairs
    n_models: int

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def _sides(self) -> NDArray[np.int32]:
        """Model codes of the two sides, row after row."""
        return np.column_stack([self.left, self.right]).astype(np.int32).ravel()

    def _entries(self, values: NDArray[np.float64]) -> csr_array:
        """Sparse (n, n_models) matrix: values at the first models, minus at others."""
        n = len(self.rows)
        entries = np.repeat(values, 2)
        np.negative(entries[1::2], out=entries[1::2])
        starts = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
        return csr_array((entries, self._sides, starts), (n, self.n_models))

    @property
    def incidence(self) -> csr_array:
        """Sparse (n, n_models) matrix with +1 at the first model, -1 at the second."""
        return self._entries(np.ones(len(self.rows)))

    def net(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the values of each model's rows, minus those where it is second."""
        first, second = (
            np.bincount(side, values, self.n_models) for side in (self.left, self.right)
        )
        return np.asarray(first - second)

    def group_sums(
        self, values: NDArray[np.float64], groups: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Sums over each group of the values of a model's rows, those not zero.

        ``groups`` holds the codes of all rows of the comparisons.
        """
        code = groups[self.rows]
        size = int(code.max(initial=-1)) + 1
        at = np.arange(len(code))
        member = csr_array((np.ones(len(code)), (code, at)), (size, len(code)))
        return np.asarray((member @ self._entries(values)).data)

    def item_sums(
        self, values: NDArray[np.float64], factor: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sum of factor times values of the rows of each model, minus where second.

        Parameters
        ----------
        values : ndarray of shape (n, n_columns)
            Values of the rows.
        factor : ndarray of shape (n,)
            Factors of the rows.

        Returns
        -------
        ndarray of shape (n_models, n_columns)
        """
        return np.asarray(self._entries(factor).T @ values)


# ----------------------------------------------------------------------- comparisons
@dataclass(frozen=True, eq=False)
class Comparisons:
    """Encoded battles: integer codes with their labels, and what stages have learned.

    Immutable. It has a length, a shape and row indexing, so scikit-learn's splitters
    and searches slice it like a table; slicing never changes the vocabulary or the
    roles. It never holds outcomes.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels of the models; ``left`` and ``right`` point into it.
    judges : ndarray of shape (n_judges,)
        Labels of the LLM judges; ``judge`` points into it, -1 is a human vote.
    left, right : ndarray of shape (n_rows,)
        Model codes of ``model_a`` and ``model_b``; -1 is a model outside ``models``.
    judge : ndarray of shape (n_rows,)
        Judge codes; -1 is human, -2 a judge outside ``judges``.
    order : ndarray of shape (n_rows,)
        +1 where ``model_a`` was shown first, -1 where second, 0 where unknown.
    features_left, features_right : ndarray of shape (n_rows, n_features)
        Response features of the two sides.
    feature_names : tuple of str
        Names of the feature pairs, without ``_a`` and ``_b``.
    new_models : tuple or None
        Labels of the models with free scores; None before roles are decided.
    scores : ndarray of shape (n_models,) or None
        Human scores in logits, NaN where no stage has learned one.
    sensitivities, position_effects : ndarray of shape (n_judges,) or None
        Judge parameters in logits per score unit and logits.
    biases : ndarray of shape (n_rows,) or None
        Bias contrast h_m of each row in judge logits; zero on human rows.
    deviations : ndarray of shape (n_judges, n_models) or None
        Item effects u in judge logits.
    item_covariance : ndarray of shape (n_judges, n_judges) or None
        Covariance of the item effects of one model.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import Comparisons
    >>> table = pd.DataFrame(
    ...     {"model_a": ["x", "y"], "model_b": ["y", "z"], "judge": ["human", "gpt"]}
    ... )
    >>> battles = Comparisons.from_battles(table)
    >>> battles.models.tolist(), battles.judges.tolist(), len(battles[:1])
    (['x', 'y', 'z'], ['gpt'], 1)
    """

    models: NDArray[Any]
    judges: NDArray[Any]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    judge: NDArray[np.intp]
    order: NDArray[np.float64]
    features_left: NDArray[np.float64]
    features_right: NDArray[np.float64]
    feature_names: tuple[str, ...] = ()
    named: bool = True
    new_models: tuple[Any, ...] | None = None
    scores: NDArray[np.float64] | None = None
    sensitivities: NDArray[np.float64] | None = None
    position_effects: NDArray[np.float64] | None = None
    biases: NDArray[np.float64] | None = None
    deviations: NDArray[np.float64] | None = None
    item_covariance: NDArray[np.float64] | None = None
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    # ------------------------------------------------------------------ construction
    @classmethod
    def from_battles(
        cls, table: Any, *, new_models: Sequence[Any] | None = None
    ) -> Comparisons:
        """Encode a battles table.

        Parameters
        ----------
        table : dataframe, array of shape (n_rows, 2 + n_features) or Comparisons
            pandas, polars or pyarrow table with columns ``model_a``, ``model_b``,
            optionally ``judge``, ``shown_first`` and feature pairs ``<name>_a``,
            ``<name>_b``; or a bare array whose first two columns are model ids.
            A ``Comparisons`` comes back as it is.
        new_models : sequence of labels, optional
            Models with free scores, carried along by slicing and stages.

        Returns
        -------
        Comparisons

        Raises
        ------
        BattlesError
            If columns are missing, duplicated or half a pair, or ids are null.
        """
        if isinstance(table, Comparisons):
            encoded = table
        else:
            frame = as_frame(table)
            if frame is not None:
                encoded = _from_frame(frame)
            else:
                encoded = _from_array(table)
        if new_models is not None:
            labels = label_list("new_models", new_models)
            encoded = replace(encoded, new_models=tuple(labels), _cache={})
        if encoded is not table:
            encoded._cache["all known"] = True
        return encoded

    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        new = "" if self.new_models is None else f", {self.is_new.sum()} of them new"
        parts = [
            f"{len(self)} rows, {self.is_human.sum()} of them human",
            f"{len(self.models)} models{new}",
        ]
        for kind, labels in (("judges", self.judges), ("features", self.feature_names)):
            names = ", ".join(map(str, labels[:5])) + ", ..." * (len(labels) > 5)
            parts.append(f"{len(labels)} {kind}" + (f" ({names})" if names else ""))
        return f"Comparisons: {'; '.join(parts)}"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of the bare-array form (two ids, then the features)."""
        return len(self.left), 2 + self.features_left.shape[1]

    def __getitem__(self, rows: Any) -> Comparisons:
        if isinstance(rows, tuple):
            # scikit-learn indexes rows as X[rows, ...].
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.size == 0:
                rows = rows.astype(np.intp)
        return replace(
            self,
            left=self.left[rows],
            right=self.right[rows],
            judge=self.judge[rows],
            order=self.order[rows],
            features_left=self.features_left[rows],
            features_right=self.features_right[rows],
            biases=None if self.biases is None else self.biases[rows],
            _cache={},
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: rows of models, judges and learned columns are no array."""
        raise TypeError(
            "Comparisons cannot become one array; its columns are arrays, such as "
            "left, right, judge and features_left."
        )

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k in self._field_names()}

    @classmethod
    def _field_names(cls) -> tuple[str, ...]:
        return tuple(name for name in cls.__dataclass_fields__ if name != "_cache")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _cache={})

    # ------------------------------------------------------------------------- views
    @property
    def is_human(self) -> NDArray[np.bool_]:
        """Rows that carry a human vote."""
        return self.judge == -1

    @cached_property
    def is_new(self) -> NDArray[np.bool_]:
        """Models with free scores, aligned with ``models``."""
        return _isin(self.models, self.new_models or ())

    @property
    def involves_new(self) -> NDArray[np.bool_]:
        """Rows in which at least one side is a new model."""
        if "involves new" not in self._cache:
            padded = np.append(self.is_new, False)
            self._cache["involves new"] = (
                padded[self.left] | padded[self.right]
                if padded.any()
                else constant(False, len(self))
            )
        involves: NDArray[np.bool_] = self._cache["involves new"]
        return involves

    @property
    def is_past_verdict(self) -> NDArray[np.bool_]:
        """Rows of a judge between historical models."""
        if "past verdict" not in self._cache:
            self._cache["past verdict"] = (self.judge >= 0) & ~self.involves_new
        past: NDArray[np.bool_] = self._cache["past verdict"]
        return past

    @property
    def is_usable(self) -> NDArray[np.bool_]:
        """Rows of known models and judge that compare two different models."""
        if "usable" not in self._cache:
            self._cache["usable"] = (
                (self.left >= 0)
                & (self.right >= 0)
                & (self.left != self.right)
                & (self.judge > -2)
            )
        usable: NDArray[np.bool_] = self._cache["usable"]
        return usable

    @property
    def all_known(self) -> bool:
        """Whether every model of the rows is in the vocabulary."""
        if "all known" not in self._cache:
            self._cache["all known"] = all(
                len(side) == 0 or int(side.min()) >= 0
                for side in (self.left, self.right)
            )
        known: bool = self._cache["all known"]
        return known

    def by_judge(self, judge: int) -> JudgeRows:
        """Return the usable rows of one judge (-1: human), cut out once."""
        key = f"judge {judge}"
        if key not in self._cache:
            rows = np.flatnonzero((self.judge == judge) & self.is_usable)
            self._cache[key] = JudgeRows(
                rows,
                self.left[rows],
                self.right[rows],
                self.order[rows],
                FeaturePairs(
                    self.features_left, self.features_right, self.feature_names, rows
                ),
                len(self.models),
            )
        cut: JudgeRows = self._cache[key]
        return cut

    @cached_property
    def score_differences(self) -> NDArray[np.float64]:
        """Score of the first side minus the second's, in logits; NaN if unknown."""
        if self.scores is None:
            raise BattlesError(
                "These comparisons carry no scores; transform them with a fitted "
                "BTLRegressor first."
            )
        padded = np.append(self.scores, np.nan)
        delta: NDArray[np.float64] = padded.take(self.left)
        delta -= padded.take(self.right)
        if np.isnan(self.scores).any():
            delta[(self.left == self.right) & (self.left >= 0)] = 0.0
        return delta

    def logits(self) -> NDArray[np.float64]:
        """Logit of P(first side preferred by the row's judge).

        Uses what the stages have learned so far; NaN where a model or a judge has
        not been learned.
        """
        delta = self.score_differences
        slope = np.ones(len(self.judges) + 2)
        position = np.zeros(len(self.judges) + 2)
        # Codes -1 and -2 index from the end: human rows have slope one, an
        # unknown judge has none.
        slope[-2] = np.nan
        if self.sensitivities is not None:
            slope[: len(self.judges)] = self.sensitivities
        if self.position_effects is not None:
            position[: len(self.judges)] = self.position_effects
        eta: NDArray[np.float64] = slope.take(self.judge)
        eta *= delta
        if self.biases is not None:
            eta += self.biases
        if self.deviations is not None:
            # Zero for humans and for what no stage has learned.
            u = np.zeros((len(self.judges) + 2, len(self.models) + 1))
            u[: len(self.judges), : len(self.models)] = np.nan_to_num(self.deviations)
            eta += u[self.judge, self.left] - u[self.judge, self.right]
        if self.position_effects is not None:
            eta += position.take(self.judge) * self.order
        return eta

    def unscored_models(self) -> list[str]:
        """Names of the models in these rows that carry no score."""
        scores = np.full(len(self.models), np.nan)
        if self.scores is not None:
            scores = self.scores
        sides = np.unique(np.concatenate([self.left, self.right]))
        return [str(self.models[i]) for i in sides if i >= 0 and np.isnan(scores[i])]

    # ------------------------------------------------------------------- vocabularies
    def relabel(self, models: NDArray[Any], judges: NDArray[Any]) -> Comparisons:
        """Express the rows in the given vocabularies; unknown labels become -1, -2.

        Learned scores and judge parameters move with their labels.
        """
        if _same(models, self.models) and _same(judges, self.judges):
            return self
        model_map = np.append(_positions(self.models, models), -1)
        judge_map = np.append(_positions(self.judges, judges, missing=-2), [-2, -1])
        return replace(
            self,
            models=models,
            judges=judges,
            left=model_map[self.left],
            right=model_map[self.right],
            judge=judge_map[self.judge],
            scores=align(self.scores, self.models, models),
            sensitivities=align(self.sensitivities, self.judges, judges),
            position_effects=align(self.position_effects, self.judges, judges),
            deviations=None
            if self.deviations is None
            else align(
                align(self.deviations.T, self.models, models).T,
                self.judges,
                judges,
            ),
            item_covariance=None
            if self.item_covariance is None
            else align(
                align(self.item_covariance, self.judges, judges).T,
                self.judges,
                judges,
            ),
            _cache={},
        )

    def with_columns(self, **learned: Any) -> Comparisons:
        """Return the same rows with more learned columns.

        Parameters
        ----------
        **learned
            Any of ``scores``, ``sensitivities``, ``position_effects``, ``biases``
            and ``new_models``.

        Returns
        -------
        Comparisons
        """
        # The cache holds what depends on the rows and their roles alone.
        if learned.get("new_models", self.new_models) != self.new_models:
            learned["_cache"] = {}
        annotated = replace(self, **learned)
        if "scores" not in learned and "score_differences" in self.__dict__:
            annotated.__dict__["score_differences"] = self.score_differences
        return annotated

    def with_features(self, names: tuple[str, ...]) -> Comparisons:
        """Return the rows with these features in this order.

        Parameters
        ----------
        names : tuple of str
            Names of features; one that the rows lack is NaN.

        Returns
        -------
        Comparisons
        """
        if names == self.feature_names:
            return self
        # The last column stands for those that are absent.
        place = {name: k for k, name in enumerate(self.feature_names)}
        at = [place.get(name, len(place)) for name in names]
        absent = np.full((len(self), 1), np.nan)
        left, right = (
            np.hstack([side, absent]).take(at, axis=1)
            for side in (self.features_left, self.features_right)
        )
        return replace(
            self,
            features_left=left,
            features_right=right,
            feature_names=names,
            _cache={},
        )

    def without_features(self) -> Comparisons:
        """Return the rows without their features, so that slicing is cheap."""
        none = np.empty((len(self), 0))
        return replace(
            self, features_left=none, features_right=none, feature_names=(), _cache={}
        )


# ------------------------------------------------------------------------------ roles
def decide_roles(
    X: Comparisons, weight: NDArray[np.float64], new_models: Sequence[Any] | None
) -> Comparisons:
    """Fix which models are historical and which are new, from rows that count.

    Parameters
    ----------
    X : Comparisons
        The battles.
    weight : ndarray of shape (n_rows,)
        Row weights; rows of weight zero decide nothing.
    new_models : sequence of labels or None
        Models with free scores; None means those without human rows.

    Returns
    -------
    Comparisons
        The rows in the vocabulary of models and judges that have rows of positive
        weight, with ``new_models`` set.

    Raises
    ------
    BattlesError
        If a named model has no row, or a model without human rows is not named.
    """
    active = X.is_usable & (weight > 0)
    if not active.any():
        raise BattlesError(
            "No battle between two different models has positive weight."
        )
    human = active & X.is_human
    counts = _appearances(X, active)
    human_counts = _appearances(X, human)
    present = X.models[counts > 0]
    without_votes = X.models[(counts > 0) & (human_counts == 0)]
    if new_models is None:
        new_models = X.new_models
    if new_models is None:
        new = tuple(without_votes)
    else:
        new = tuple(new_models)
        absent = [model for model in new if not _isin(present, [model]).any()]
        if absent:
            raise BattlesError(
                f"new_models names {absent}, which no battle of positive weight "
                f"involves; known models are {present[:10].tolist()}."
            )
        forgotten = without_votes[~_isin(without_votes, new)]
        if len(forgotten):
            raise BattlesError(
                f"Models {forgotten.tolist()} have no human rows and are not in "
                "new_models. Add them to new_models, or drop their rows."
            )
    judges = X.judges[
        np.bincount(X.judge[active & (X.judge >= 0)], minlength=len(X.judges)) > 0
    ]
    return replace(X.relabel(present, judges), new_models=new, _cache={})


def _appearances(X: Comparisons, rows: NDArray[np.bool_]) -> NDArray[np.intp]:
    size = len(X.models)
    return np.bincount(X.left[rows], minlength=size) + np.bincount(
        X.right[rows], minlength=size
    )


def source_codes(X: Comparisons) -> NDArray[np.intp]:
    """Number the source of each row: its judge, and which new models it involves.

    Parameters
    ----------
    X : Comparisons
        Battles whose roles are decided.

    Returns
    -------
    ndarray of shape (n_rows,)
        Codes from zero; rows that no stage can use have code -1.
    """
    if "sources" in X._cache:
        known: NDArray[np.intp] = X._cache["sources"]
        return known
    position = np.append(np.where(X.is_new, np.cumsum(X.is_new), 0), 0)
    left, right = position[X.left], position[X.right]
    width = int(position.max()) + 1
    low, high = np.minimum(left, right), np.maximum(left, right)
    label = ((X.judge + 2) * width + low) * width + high
    label = np.where(X.is_usable, label, -1)
    size = int(label.max(initial=0)) + 2
    if size <= 4 * len(label):
        # Counting numbers the labels in use much faster than sorting.
        used = np.bincount(label + 1, minlength=size) > 0
        used[0] = False
        codes = (np.cumsum(used) - 1).take(label + 1)
        codes[label == -1] = -1
    else:
        values, codes = np.unique(label, return_inverse=True)
        codes -= int(values[0] == -1)
    X._cache["sources"] = codes
    return codes


# ------------------------------------------------------------------------------- door
def split_battles(
    table: Any,
    *,
    columns: dict[str, str] | None = None,
    human: Any = HUMAN,
    outcome: str = "winner",
) -> tuple[Any, Any]:
    """Split a table of battles into ``X`` and ``y``, renaming its columns.

    Parameters
    ----------
    table : pandas, polars or pyarrow table
        One row per comparison.
    columns : dict, optional
        Renames, from the table's name to the standard one, such as
        ``{"left": "model_a", "verdict": "winner"}``.
    human : label or list of labels, default="human"
        What marks the human rows in the judge column; it becomes ``"human"``.
    outcome : str, default="winner"
        Standard name of the outcome column.

    Returns
    -------
    X : table
        The table without its outcome, of the type given.
    y : series
        The outcomes.

    Raises
    ------
    BattlesError
        If a column or a human label is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import split_battles
    >>> table = pd.DataFrame({"l": ["x"], "r": ["y"], "winner": ["model_a"]})
    >>> X, y = split_battles(table, columns={"l": "model_a", "r": "model_b"})
    >>> list(X.columns), y.tolist()
    (['model_a', 'model_b'], ['model_a'])
    """
    frame = as_frame(table)
    if frame is None:
        raise TypeError(
            "split_battles needs a pandas, polars or pyarrow table, got "
            f"{type(table).__name__}."
        )
    renames = dict(columns or {})
    _require(frame.columns, renames)
    # The renamed column takes the name; the column that had it would be ambiguous.
    taken = set(renames.values()) - set(renames)
    frame = frame.drop([name for name in frame.columns if name in taken])
    frame = frame.rename(renames)
    _require(frame.columns, [outcome, "model_a", "model_b"])
    labels = list(human) if pd.api.types.is_list_like(human) else [human]
    if labels != [HUMAN]:
        frame = _with_human(frame, labels)
    return frame.drop(outcome).to_native(), frame[outcome].to_native()


def _with_human(frame: nw.DataFrame[Any], labels: list[Any]) -> nw.DataFrame[Any]:
    """Give the rows of these judges the standard human label."""
    _require(frame.columns, ["judge"])
    judges = frame["judge"].unique().to_list()
    absent = [label for label in labels if label not in judges]
    if absent or not labels:
        raise BattlesError(
            f"No row of column 'judge' holds the human labels {absent}; it holds "
            f"{judges[:10]}."
        )
    if HUMAN in judges and HUMAN not in labels:
        raise BattlesError(
            f"Column 'judge' holds {HUMAN!r} beside the human labels {labels}; name it "
            "among them, or rename that judge first."
        )
    return frame.with_columns(
        judge=nw.when(nw.col("judge").is_in(labels))
        .then(nw.lit(HUMAN))
        .otherwise(nw.col("judge").cast(nw.String))
    )


def _require(present: Iterable[str], wanted: Iterable[str]) -> None:
    present = list(present)
    missing = [name for name in wanted if name not in present]
    if missing:
        raise BattlesError(
            f"The battles table lacks the columns {missing}; it has {present[:20]}. "
            f"{_HOW_TO_RENAME}"
        )


def as_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Open a pandas, polars or pyarrow table; None for an array or the like."""
    rows_are_dicts = isinstance(table, (list, tuple)) and isinstance(
        next(iter(table), None), Mapping
    )
    # Some sparse matrices are dicts; their refusal is check_array's.
    if rows_are_dicts or (isinstance(table, Mapping) and not issparse(table)):
        kind = type(table).__name__ + (" of dicts" if rows_are_dicts else "")
        raise TypeError(
            f"Battles were given as a {kind}; make them a table with "
            "pandas.DataFrame(X)."
        )
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:
        names = list(getattr(table, "column_names", None) or table.columns)
        twice = sorted({str(name) for name in names if names.count(name) > 1})
        raise BattlesError(
            f"The columns {twice} occur more than once; rename or drop the copies."
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"A lazy table ({type(table).__name__}) has no rows yet; collect it first."
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def is_named(table: Any) -> bool:
    """Whether a table names its columns, rather than being a bare array."""
    if isinstance(table, Comparisons):
        return table.named
    frame = as_frame(table)
    if frame is None:
        return False
    # A frame without the standard names is a bare array with headers.
    return bool({"model_a", "model_b", "judge"} & set(frame.columns))


def _from_frame(frame: nw.DataFrame[Any]) -> Comparisons:
    names = list(frame.columns)
    known = {"model_a", "model_b", "judge"}
    if not known & set(names) and len(names) >= 2:
        # A frame without the two names is a bare array with headers.
        columns = [np.asarray(column.to_numpy()) for column in frame.iter_columns()]
        return _from_columns(columns, tuple(map(str, names)), named=False)
    _require(names, ["model_a", "model_b"])
    features = _feature_pairs(frame)
    sides = [_labels(frame["model_a"], "model_a"), _labels(frame["model_b"], "model_b")]
    models, (left, right) = _merge(sides)
    if "judge" in names:
        codes, labels = _labels(frame["judge"], "judge")
        # Judges are named by their text: the human label is a string.
        keep = np.array([label != HUMAN for label in labels], dtype=bool)
        judges, position = labels[keep], np.full(len(labels), -1)
        rank = _argsort(judges, "judge")
        position[np.flatnonzero(keep)[rank]] = np.arange(len(judges))
        judges, judge = judges[rank], position[codes]
    else:
        judges, judge = np.array([], dtype=object), constant(-1, len(frame))
    order = constant(1.0, len(frame))
    if "shown_first" in names:
        order = _display_order(_to_numpy(frame["shown_first"]))
    left_block, right_block = (
        np.column_stack(
            [_numeric(frame[name + side], name + side) for name in features]
        )
        if features
        else np.empty((len(frame), 0))
        for side in ("_a", "_b")
    )
    return Comparisons(
        models, judges, left, right, judge.astype(np.intp, copy=False), order,
        left_block, right_block, feature_names=tuple(features),
    )  # fmt: skip


def _from_array(table: Any) -> Comparisons:
    from sklearn.utils import check_array

    values = check_array(table, dtype=None, ensure_all_finite=False)
    if values.shape[1] < 2:
        raise BattlesError(
            f"Found array with {values.shape[1]} feature(s) (shape={values.shape}) "
            "while a minimum of 2 is required: two model ids, then features."
        )
    return _from_columns(list(values.T), (), named=False)


def _from_columns(
    columns: list[NDArray[Any]], names: tuple[str, ...], *, named: bool
) -> Comparisons:
    if len(columns[0]) == 0:
        raise BattlesError("Found array with 0 sample(s); give at least one battle.")
    sides = []
    for i, column in enumerate(columns[:2]):
        name = names[i] if names else f"column {i}"
        sides.append(_labels(column, name))
    models, (left, right) = _merge(sides)
    rest = [
        _as_float(column, names[i] if names else f"column {i}")
        for i, column in enumerate(columns[2:], start=2)
    ]
    block = np.column_stack(rest) if rest else np.empty((len(left), 0))
    return Comparisons(
        models,
        np.array([], dtype=object),
        left,
        right,
        constant(-1, len(left)),
        constant(1.0, len(left)),
        block,
        # A bare array states features of the battle, read as a contrast.
        np.zeros_like(block),
        feature_names=names[2:] or tuple(f"x{i}" for i in range(block.shape[1])),
        named=named,
    )


def _feature_pairs(frame: nw.DataFrame[Any]) -> list[str]:
    names = [name for name in frame.columns if name not in _RESERVED]
    stems_a = [name[:-2] for name in names if name.endswith("_a")]
    stems_b = {name[:-2] for name in names if name.endswith("_b")}
    half = sorted(
        [stem + "_a" for stem in stems_a if stem not in stems_b]
        + [stem + "_b" for stem in stems_b if stem not in stems_a]
    )
    if half:
        raise BattlesError(
            f"Feature columns {half} lack their other side; features come in pairs "
            "<name>_a and <name>_b. Add the partner, or rename or drop the column."
        )
    kept = []
    for stem in stems_a:
        if stem.casefold().startswith("winner"):
            warnings.warn(
                f"Columns {stem}_a and {stem}_b are left out: by their name they hold "
                "the outcome. Drop them, or rename them if they are a feature.",
                DataWarning,
                stacklevel=5,
            )
            continue
        columns = [frame[stem + side] for side in ("_a", "_b")]
        kinds = [_feature_kind(column) for column in columns]
        if set(kinds) == {"text", "number"}:
            types = ", ".join(str(column.dtype) for column in columns)
            raise BattlesError(
                f"Columns {stem}_a and {stem}_b differ in type: {types}."
            )
        if kinds == ["number", "number"]:
            kept.append(stem)
        elif kinds == ["text", "text"] and all(map(_reads_as_numbers, columns)):
            warnings.warn(
                f"Columns {stem}_a and {stem}_b hold numbers as text, which is no "
                "feature; convert them to numbers to use them.",
                DataWarning,
                stacklevel=5,
            )
    return kept


def _feature_kind(column: nw.Series[Any]) -> str:
    """Say what a column of a pair holds: numbers, text, or what travels unread."""
    kind = column.dtype
    if isinstance(kind, (nw.String, nw.Categorical, nw.Enum)):
        return "text"
    if kind.is_numeric() or kind == nw.Boolean:
        return "number"
    values = column.to_numpy() if kind in (nw.Object, nw.Unknown) else np.empty(0)
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {column.name!r}.")
    numeric = [isinstance(value, (int, float, np.number)) for value in values]
    if any(numeric):
        odd = ~(np.array(numeric) | pd.isna(values))
        if odd.any():
            row = int(np.argmax(odd))
            raise BattlesError(
                f"Feature {column.name!r} must be numeric: row {row} holds "
                f"{values[row]!r}, a {type(values[row]).__name__}."
            )
        return "number"
    return "other"


def _reads_as_numbers(column: nw.Series[Any]) -> bool:
    """Whether the first few texts of a column are numbers."""
    head = column.head(100).drop_nulls().cast(nw.String).to_list()[:5]
    return bool(head) and all(map(_is_number, head))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _numeric(column: nw.Series[Any], name: str) -> NDArray[np.float64]:
    return _as_float(_to_numpy(column), name)


def _as_float(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: feature {name!r}.")
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        example = next(
            (value for value in values if not isinstance(value, (int, float))), None
        )
        kind = TypeError if isinstance(error, TypeError) else BattlesError
        raise kind(
            f"Feature {name!r} must be numeric: argument must be a string or a real "
            f"number, got {example!r}."
        ) from None
    if np.isinf(result).any():
        raise BattlesError(
            f"Feature {name!r} contains infinity, first in row "
            f"{int(np.argmax(np.isinf(result)))}."
        )
    return result


def _to_numpy(column: nw.Series[Any]) -> NDArray[Any]:
    return np.asarray(column.to_numpy())


def _display_order(shown: NDArray[Any]) -> NDArray[np.float64]:
    shown = shown.astype(object)
    missing = pd.isna(shown)
    unknown = [value for value in pd.unique(shown[~missing]) if value not in _SIDES]
    if unknown:
        raise BattlesError(
            f"Column 'shown_first' holds {unknown[:5]}; use 'model_a', 'model_b' or "
            "null for unknown."
        )
    order = np.zeros(len(shown))
    for label, sign in _SIDES.items():
        order[~missing & (shown == label)] = sign
    return order


# ----------------------------------------------------------------------------- labels
def _labels(
    column: nw.Series[Any] | NDArray[Any], name: str
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes and distinct labels of an id column."""
    if isinstance(column, nw.Series) and _is_text(column):
        codes, labels = _text_codes(column)
        missing = codes < 0
        if missing.any():
            raise BattlesError(
                f"Column {name!r} has {missing.sum()} missing ids, the first in "
                f"row {int(np.argmax(missing))}."
            )
        return codes, labels
    values = _to_numpy(column) if isinstance(column, nw.Series) else column
    if np.iscomplexobj(values):
        raise BattlesError(f"Complex data not supported: id column {name!r}.")
    if values.dtype.kind in "iu":
        return _integer_codes(values)
    if values.dtype.kind == "U":
        values = values.astype(object)
    if values.dtype.kind == "O":
        for value in values[:1]:
            known = isinstance(value, (str, int, float, np.generic))
            if not known and not pd.api.types.is_scalar(value):
                raise TypeError(
                    f"Ids in column {name!r} must be strings or numbers: argument must "
                    f"be a string or a real number, got {type(value).__name__}."
                )
    codes, labels = _factorize(values)
    missing = codes < 0
    if missing.any():
        raise BattlesError(
            f"Column {name!r} contains NaN or null ids ({missing.sum()} rows, the "
            f"first in row {int(np.argmax(missing))})."
        )
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise BattlesError(f"Column {name!r} contains infinity.")
    return codes, labels


def label_list(name: str, labels: Iterable[Any]) -> list[Any]:
    """List the labels of a parameter; refuse a text, whose letters it would list."""
    if isinstance(labels, str):
        raise TypeError(f"{name} must be a list of labels, got the text {labels!r}.")
    return list(labels)


def constant(value: float, size: int) -> NDArray[Any]:
    """Column of one value that takes no room."""
    return np.broadcast_to(np.asarray(value), size)


def is_constant(column: NDArray[Any]) -> bool:
    """Whether a column repeats one value by the way it is stored."""
    return column.strides == (0,)


def _is_text(column: nw.Series[Any]) -> bool:
    if str(getattr(column.to_native(), "dtype", None)) == "object":
        return False
    return isinstance(column.dtype, (nw.String, nw.Categorical, nw.Enum))


def _text_codes(column: nw.Series[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes, -1 where null, and the labels in use of a text or categorical column."""
    array = column.to_arrow()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    indices = array.indices.fill_null(-1) if array.null_count else array.indices
    codes = indices.to_numpy(zero_copy_only=False).astype(np.intp)
    labels = np.array(array.dictionary.to_pylist(), dtype=object)
    # A category that no row uses is not a model.
    return _drop_unused(codes, labels)


def _integer_codes(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    low, high = _range(values)
    if high - low >= len(values):
        codes, labels = pd.factorize(values)
        return codes.astype(np.intp), labels
    # Numbers of a narrow range need no table of hashes.
    codes = values.astype(np.intp, copy=False)
    codes = codes - low if low else codes
    return _drop_unused(codes, np.arange(low, high + 1).astype(values.dtype))


def _range(values: NDArray[Any]) -> tuple[Any, Any]:
    """Smallest and largest value, read once from memory; NaN if any is."""
    parts = [values[start : start + _STEP] for start in range(0, len(values), _STEP)]
    if not parts:
        return 0, -1
    limits = [(part.min(), part.max()) for part in parts]
    low, high = np.array(limits).T
    return low.min().item(), high.max().item()


def _drop_unused(
    codes: NDArray[np.intp], labels: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    used = np.zeros(len(labels) + 1, dtype=bool)
    for start in range(0, len(codes), _STEP):
        # Code -1 marks the last entry, which is no label.
        used[codes[start : start + _STEP]] = True
        if used[:-1].all():
            return codes, labels
    place = np.append(np.cumsum(used[:-1]) - 1, -1)
    return place.take(codes), labels[used[:-1]]


def _factorize(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Codes, -1 where missing, and labels of a column of any kind."""
    if values.dtype.kind == "O" and len(values) > _MANY:
        # Equal strings of a column that was read from a file mostly are one object,
        # and addresses are told apart much faster than texts.
        address = np.frombuffer(np.ascontiguousarray(values), dtype=np.intp)
        if len(set(address[:_MANY].tolist())) < _MANY // 2:
            at, example = _addresses(address)
            codes, labels = pd.factorize(values[example])
            if len(labels) == len(example) and (codes >= 0).all():
                return at, np.asarray(labels)
            return codes.take(at), np.asarray(labels)
    codes, labels = pd.factorize(values)
    return codes.astype(np.intp, copy=False), np.asarray(labels)


def _addresses(
    address: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Codes of addresses, and a row of each code."""
    low, high = _range(address)
    size = (high - low) // _ALIGNMENT + 1
    if size > 32 * len(address):
        at, distinct = pd.factorize(address)
        example = np.empty(len(distinct), dtype=np.intp)
        example[at] = np.arange(len(at))
        return at, example
    # Objects close together need no table of hashes. Of this one, of codes from one on,
    # the system hands out only the pages that are touched.
    table = np.zeros(size, dtype=np.int32)
    codes, examples, n_known = np.empty(len(address), dtype=np.intp), [], 0
    for start in range(0, len(address), _STEP):
        slot = address[start : start + _STEP] - low
        slot //= _ALIGNMENT
        part = table.take(slot)
        fresh = np.flatnonzero(part == 0)
        if len(fresh):
            # Of the rows that write into a slot, one is read back.
            table[slot[fresh]] = fresh
            first = fresh[table.take(slot[fresh]) == fresh]
            table[slot[first]] = np.arange(n_known + 1, n_known + len(first) + 1)
            examples.append(start + first)
            n_known += len(first)
            part = table.take(slot)
        np.subtract(part, 1, out=codes[start : start + _STEP])
    return codes, np.concatenate(examples)


def _merge(
    columns: Sequence[tuple[NDArray[np.intp], NDArray[Any]]],
) -> tuple[NDArray[Any], list[NDArray[np.intp]]]:
    """Bring coded columns to one sorted vocabulary."""
    stacked = np.concatenate([labels for _, labels in columns])
    codes, labels = pd.factorize(stacked)
    rank = _argsort(labels, "model_a and model_b")
    place = np.empty(len(labels), dtype=np.intp)
    place[rank] = np.arange(len(labels))
    start, result = 0, []
    for column_codes, column_labels in columns:
        stop = start + len(column_labels)
        moved = place[codes[start:stop]]
        same = np.array_equal(moved, np.arange(len(moved)))
        result.append(column_codes if same else moved.take(column_codes))
        start = stop
    return np.asarray(labels)[rank], result


def _argsort(labels: NDArray[Any], name: str) -> NDArray[np.intp]:
    kinds = {type(label).__name__ for label in labels}
    try:
        return np.argsort(labels, kind="stable")
    except TypeError:
        raise TypeError(
            f"Ids of {name} mix types that cannot be ordered: {sorted(kinds)}; convert "
            "them to strings."
        ) from None


def _isin(labels: NDArray[Any], wanted: Iterable[Any]) -> NDArray[np.bool_]:
    chosen = set(wanted)
    return np.fromiter((label in chosen for label in labels), bool, len(labels))


def _same(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a is b or (
        len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))
    )


def _positions(
    labels: NDArray[Any], vocabulary: NDArray[Any], missing: int = -1
) -> NDArray[np.intp]:
    place = {label: i for i, label in enumerate(vocabulary)}
    return np.array([place.get(label, missing) for label in labels], dtype=np.intp)


def align(values: Any, old: NDArray[Any], new: NDArray[Any]) -> Any:
    """Move rows of ``values`` with their labels; NaN where a label is new."""
    if values is None or _same(old, new):
        return values
    missing = np.full((1, *values.shape[1:]), np.nan)
    return np.concatenate([values, missing])[_positions(new, old)]


def usable_features(X: Comparisons, used: NDArray[np.bool_]) -> Comparisons:
    """Refuse missing features in rows that are used, and blank them elsewhere.

    Rows without weight then add exactly zero to every sum.
    """
    if all_finite(X):
        return X
    finite = np.isfinite(X.features_left) & np.isfinite(X.features_right)
    bad = used & ~finite.all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        column = X.feature_names[int(np.argmin(finite[row]))]
        raise BattlesError(
            f"Feature {column!r} contains NaN in {bad.sum()} judge rows, the first in "
            f"row {row}. Fill the values or drop the rows."
        )
    return replace(
        X,
        features_left=np.where(finite, X.features_left, 0.0),
        features_right=np.where(finite, X.features_right, 0.0),
        _cache={},
    )


# -------------------------------------------------------------- odd rows and labels
def row_notices(
    frame: nw.DataFrame[Any] | None,
    X: Comparisons,
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> list[Warning]:
    """Tell rows and labels that a reader would not expect to be there.

    Parameters
    ----------
    frame : DataFrame or None
        The table, for the columns that the encoded rows do not carry.
    X : Comparisons
        The encoded rows.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.

    Returns
    -------
    list of warnings
        On a table whose judges are in a column of another name, on labels that differ
        in blanks or case alone, on self-comparisons, and on copies of a battle where
        ``prompt_id`` tells battles apart.
    """
    notices = [*_misspelt_judge(frame, X), *_near_copies(X, weight)]
    alone = constant(False, len(X))
    if _ever_equal(X.left, X.right):
        alone = (X.left == X.right) & (weight > 0)
    if alone.any():
        sides = _appearances(X, (weight > 0) & ~alone)
        lost = X.models[np.unique(X.left[alone & (sides[X.left] == 0)])].tolist()
        notices.append(
            DataWarning(
                f"{alone.sum()} rows compare a model with itself and count for nothing"
                + (f"; models {lost} appear in no other row." if lost else ".")
            )
        )
    if frame is not None and "prompt_id" in frame.columns:
        copies = _copies(frame, X, y, (weight > 0) & ~alone)
        if copies.any():
            notices.append(
                DataWarning(
                    f"{copies.sum()} rows are copies of earlier ones (same prompt_id, "
                    "models, judge, verdict and features), the first in row "
                    f"{int(np.argmax(copies))}. Drop them, unless different people "
                    "cast them; a column 'rater' then tells them apart."
                )
            )
    return notices


def _misspelt_judge(frame: nw.DataFrame[Any] | None, X: Comparisons) -> list[Warning]:
    if frame is None or not X.named or "judge" in frame.columns:
        return []
    like = [name for name in map(str, frame.columns) if "judge" in name.casefold()]
    if not like:
        return []
    return [
        DataWarning(
            f"There is no column 'judge', so all rows count as human; {like} may be "
            f"meant. {_HOW_TO_RENAME}"
        )
    ]


def _near_copies(X: Comparisons, weight: NDArray[np.float64]) -> list[Warning]:
    """Tell models and judges whose names differ in blanks or case alone."""
    if not (_look_alike(X.models) or _look_alike([HUMAN, *X.judges])):
        return []
    used = weight > 0
    models = X.models[_appearances(X, used) > 0]
    judges = [HUMAN, *X.judges[np.unique(X.judge[used & (X.judge >= 0)])]]
    return [
        DataWarning(
            f"The {kind}s {alike} differ in blanks or case alone, and each counts as a "
            f"{kind} of its own"
            + (f" (only {HUMAN!r} marks human rows)" if HUMAN in alike else "")
            + ". Give them one name if they are one."
        )
        for kind, labels in (("model", models), ("judge", judges))
        for alike in _look_alike(labels)
    ]


def _look_alike(labels: Iterable[Any]) -> list[list[str]]:
    """Texts that are equal but for case and blanks around them, side by side."""
    alike: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            alike.setdefault(label.strip().casefold(), []).append(label)
    return [same for same in alike.values() if len(same) > 1]


def _ever_equal(first: NDArray[np.intp], second: NDArray[np.intp]) -> bool:
    """Whether two columns agree in any row, without a column of answers."""
    parts = (slice(start, start + _STEP) for start in range(0, len(first), _STEP))
    return any((first[part] == second[part]).any() for part in parts)


def _copies(
    frame: nw.DataFrame[Any],
    X: Comparisons,
    y: NDArray[np.float64],
    rows: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Rows that repeat an earlier one, whichever side comes first in either."""
    turned = X.left > X.right
    columns = [
        np.minimum(X.left, X.right),
        np.maximum(X.left, X.right),
        X.judge,
        np.where(turned, -X.order, X.order),
        np.where(turned, 1.0 - y, y),
    ]
    for name in ("prompt_id", "rater"):
        if name in frame.columns:
            columns.append(pd.factorize(_to_numpy(frame[name]))[0])
    # Null prompts are not one prompt.
    rows = rows & (columns[5] >= 0)
    key = np.zeros(len(X), dtype=np.intp)
    for column in columns:
        codes, values = pd.factorize(column)
        key, _ = pd.factorize(key * len(values) + codes)
    at = np.flatnonzero(rows)
    # Features are compared only where all else agrees.
    at = at[pd.Series(key[at]).duplicated(keep=False)]
    first, second = X.features_left[at], X.features_right[at]
    swap = turned[at, None]
    table = pd.DataFrame(
        np.hstack([np.where(swap, second, first), np.where(swap, first, second)])
    ).assign(key=key[at])
    copies = np.zeros(len(X), dtype=bool)
    copies[at[table.duplicated()]] = True
    return copies


def all_finite(X: Comparisons) -> bool:
    """Whether no feature of any row is missing."""
    if "finite" not in X._cache:
        X._cache["finite"] = bool(
            np.isfinite(X.features_left).all() and np.isfinite(X.features_right).all()
        )
    finite: bool = X._cache["finite"]
    return finite
