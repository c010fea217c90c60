"""Encoded battles: what every stage reads, and returns with learned columns added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.contexts import with_contexts
from skanchor._battles.field_state import FieldState
from skanchor._battles.judge_rows import JudgeRows
from skanchor._battles.labels import align, is_in, label_list, same_labels
from skanchor._battles.rows import EncodedRows
from skanchor._battles.table_rows import read_rows
from skanchor._typing import Array
from skanchor.exceptions import BattlesError

Value = TypeVar("Value")


class _OfRows(Generic[Value]):
    """An attribute of the encoded rows, which is one of the comparisons, too."""

    def __init__(self, doc: str):
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Value:
        found: Any = self if instance is None else getattr(instance.rows, self._name)
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(FieldState):
    """Encoded battles: integer codes, their labels, and the estimates of the stages.

    The object is immutable. It has a length, a shape and row indexing, so
    scikit-learn's splitters and searches slice it like a table. Slicing changes neither
    the vocabularies (``models``, ``judges``) nor the roles. It never holds outcomes.

    Attributes
    ----------
    rows : EncodedRows
        The columns of codes, labels and features, and what is derived from them. The
        columns are attributes of this class, too. Stages that add learned columns
        share one ``EncodedRows``.
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
        Human scores in logits, NaN for models without an estimate.
    sensitivities, position_effects : ndarray of shape (n_judges,) or None
        Judge parameters in logits per score unit and logits.
    biases : ndarray of shape (n_rows,) or None
        Bias contrast of each row in logits: h_m in rows of judge m, and the contrast of
        people's own bias in human rows, zero if none was fitted.
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

    rows: EncodedRows
    scores: Array | None = None
    sensitivities: Array | None = None
    position_effects: Array | None = None
    biases: Array | None = None
    deviations: Array | None = None
    item_covariance: Array | None = None

    # ----------------------------------------------------- the columns of the rows
    models = _OfRows[NDArray[Any]]("Labels of the models.")
    judges = _OfRows[NDArray[Any]]("Labels of the LLM judges.")
    left = _OfRows[NDArray[np.intp]]("Model codes of ``model_a``.")
    right = _OfRows[NDArray[np.intp]]("Model codes of ``model_b``.")
    judge = _OfRows[NDArray[np.intp]]("Judge codes; -1 is human, -2 unknown.")
    order = _OfRows[Array]("Display order of each row.")
    features_left = _OfRows[Array]("Response features of the first side.")
    features_right = _OfRows[Array]("Response features of the second side.")
    feature_names = _OfRows[tuple[str, ...]]("Names of the feature pairs.")
    named = _OfRows[bool]("Whether the table names its columns.")
    new_models = _OfRows[tuple[Any, ...] | None](
        "Labels of the models with free scores."
    )
    is_human = _OfRows[NDArray[np.bool_]]("Rows that carry a human vote.")
    is_new = _OfRows[NDArray[np.bool_]](
        "Models with free scores, aligned with ``models``."
    )
    involves_new = _OfRows[NDArray[np.bool_]](
        "Rows in which at least one side is a new model."
    )
    is_historical_judge_row = _OfRows[NDArray[np.bool_]](
        "Rows of a judge between historical models."
    )
    is_usable = _OfRows[NDArray[np.bool_]](
        "Rows of known models and judge that compare two different models."
    )

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
            A ``Comparisons`` is returned unchanged.
        new_models : sequence of labels, optional
            Models with free scores; slicing and stages keep them.

        Returns
        -------
        Comparisons

        Raises
        ------
        BattlesError
            If columns are missing or duplicated, a feature column lacks its other side,
            or ids are null.
        """
        encoded = table if isinstance(table, Comparisons) else cls(read_rows(table))
        if new_models is None:
            return encoded
        labels = label_list("new_models", new_models)
        return encoded.with_columns(new_models=tuple(labels))

    def __len__(self) -> int:
        return len(self.rows)

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
        return len(self), 2 + self.features_left.shape[1]

    def __getitem__(self, rows: Any) -> Comparisons:
        if isinstance(rows, tuple):
            # scikit-learn indexes rows as X[rows, ...].
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            # One row stays a table of one row.
            rows = [rows]
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.size == 0:
                # An empty list becomes an array of floats, which cannot index.
                rows = rows.astype(np.intp)
        return replace(
            self,
            rows=self.rows[rows],
            biases=None if self.biases is None else self.biases[rows],
        )

    def without_rows(self) -> Comparisons:
        """The same labels, and what has been learned of them.

        Unlike an empty slice it does not keep the rows in memory.
        """
        return self[np.empty(0, dtype=np.intp)]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: codes, labels and learned columns do not form one array."""
        raise TypeError(
            "Comparisons cannot become one array; its columns are arrays, such as "
            "left, right, judge and features_left. A transformer of features belongs "
            "into LinearBias(feature_map=transformer)."
        )

    def by_judge(self, judge: int) -> JudgeRows:
        """Return the usable rows of one judge (-1: human); computed once per judge."""
        return self.rows.by_judge(judge)

    def learned_scores(self) -> Array:
        """Return the scores of all models, NaN where unknown; raise without scores."""
        if self.scores is None:
            raise BattlesError(
                "These comparisons carry no scores; transform them with a fitted "
                "BTLRegressor first."
            )
        return self.scores

    @cached_property
    def score_differences(self) -> Array:
        """Score of the first side minus the second's, in logits; NaN if unknown."""
        scores = self.learned_scores()
        # Code -1, a model outside the vocabulary, picks the NaN at the end.
        padded = np.append(scores, np.nan)
        delta: Array = padded.take(self.left)
        delta -= padded.take(self.right)
        if np.isnan(scores).any():
            # A model against itself differs by zero, even if its score is unknown.
            delta[(self.left == self.right) & (self.left >= 0)] = 0.0
        return delta

    def logits(self) -> Array:
        """Return the logit of P(first side preferred by the row's judge).

        It uses what the stages have learned so far, and is NaN where the score of a
        model or the sensitivity of a judge is unknown. The array, of shape (n_rows,),
        is computed once and read-only.
        """
        return self._logits

    @cached_property
    def _logits(self) -> Array:
        # A human row has eta = delta (eq:human-model-new), a row of judge m
        # eta = c_m delta + h_m + u_{m,a} - u_{m,b} + o p_m (eq:hist-surrogate-model-new
        # with position and item effects). Until judges are calibrated, c_m is one.
        delta = self.score_differences
        slope = np.ones(len(self.judges) + 2)
        position = np.zeros(len(self.judges) + 2)
        # Codes -1 and -2 index from the end: human rows have slope one, those of an
        # unknown judge NaN.
        slope[-2] = np.nan
        if self.sensitivities is not None:
            slope[: len(self.judges)] = self.sensitivities
        if self.position_effects is not None:
            position[: len(self.judges)] = self.position_effects
        eta: Array = slope.take(self.judge)
        eta *= delta
        if self.biases is not None:
            eta += self.biases
        if self.deviations is not None:
            # u[m, i], with rows and a column of zeros at the end for the codes -1 and
            # -2: item effects are zero for people, and where none was estimated.
            width = len(self.models) + 1
            u = np.zeros((len(self.judges) + 2, width))
            u[: len(self.judges), :-1] = np.nan_to_num(self.deviations)
            # By one index, which is faster; a code -1 reads the column of zeros, too.
            start = self.judge * width
            eta += u.take(start + self.left) - u.take(start + self.right)
        if self.position_effects is not None:
            eta += position.take(self.judge) * self.order
        eta.flags.writeable = False
        return eta

    def unscored_models(self) -> list[str]:
        """Return the names of the models in these rows that have no score."""
        scores = np.full(len(self.models), np.nan)
        if self.scores is not None:
            scores = self.scores
        sides = np.unique(np.concatenate([self.left, self.right]))
        return [str(self.models[i]) for i in sides if i >= 0 and np.isnan(scores[i])]

    # ------------------------------------------------------------------ other columns
    def relabel(self, models: NDArray[Any], judges: NDArray[Any]) -> Comparisons:
        """Return the rows coded by other vocabularies.

        Models outside ``models`` get code -1, judges outside ``judges`` code -2. What
        was learned of models and judges is reordered with the labels, NaN for new ones.
        """
        if same_labels(models, self.models) and same_labels(judges, self.judges):
            return self

        def by_model(values: Any) -> Any:
            return align(values, self.models, models)

        def by_judge(values: Any) -> Any:
            return align(values, self.judges, judges)

        # `align` moves the first axis, so the other one is brought to the front by a
        # transpose: u is (n_judges, n_models), the covariance (n_judges, n_judges).
        u, covariance = self.deviations, self.item_covariance
        return replace(
            self,
            rows=self.rows.relabel(models, judges),
            scores=by_model(self.scores),
            sensitivities=by_judge(self.sensitivities),
            position_effects=by_judge(self.position_effects),
            deviations=None if u is None else by_judge(by_model(u.T).T),
            item_covariance=None
            if covariance is None
            else by_judge(by_judge(covariance).T),
        )

    def with_columns(self, **learned: Any) -> Comparisons:
        """Return the same rows with more learned columns.

        Parameters
        ----------
        **learned
            Any of ``scores``, ``sensitivities``, ``position_effects``, ``biases``,
            ``deviations``, ``item_covariance`` and ``new_models``.

        Returns
        -------
        Comparisons
        """
        new_models = learned.pop("new_models", self.new_models)
        if new_models != self.new_models:
            learned["rows"] = replace(self.rows, new_models=new_models)
        annotated = replace(self, **learned)
        # The cached difference still holds where the scores are the same.
        if "scores" not in learned and "score_differences" in vars(self):
            vars(annotated)["score_differences"] = self.score_differences
        return annotated

    def with_rows(self, **columns: Any) -> Comparisons:
        """Return the battles with other columns of ``EncodedRows``.

        Parameters
        ----------
        **columns
            Columns to replace, each with the present number of rows.

        Returns
        -------
        Comparisons
            The learned columns are unchanged.
        """
        return replace(self, rows=replace(self.rows, **columns))

    def with_features(self, names: tuple[str, ...]) -> Comparisons:
        """Return the rows with these features in this order.

        Parameters
        ----------
        names : tuple of str
            Names of features; a feature that the rows lack is filled with NaN.

        Returns
        -------
        Comparisons
        """
        if names == self.feature_names:
            return self
        return replace(self, rows=self.rows.with_features(names))

    def in_contexts(self, contexts: NDArray[Any]) -> Comparisons:
        """Return the rows with each model replaced by the model in the row's context.

        Parameters
        ----------
        contexts : ndarray of shape (n_rows,)
            Context of each row.

        Returns
        -------
        Comparisons
            Its ``models`` are labels of a context and a model each (``InContext``).
        """
        models, left, right = with_contexts(
            self.models, self.left, self.right, contexts
        )
        return self.with_rows(models=models, left=left, right=right)

    def without_order(self, judges: NDArray[Any]) -> Comparisons:
        """Return the rows; the display order of these judges' rows becomes unknown."""
        # The appended entries are for the codes -2 and -1, which index from the end.
        hit = np.append(is_in(self.judges, judges), [False, False])[self.judge]
        if not self.order[hit].any():
            return self
        return self.with_rows(order=np.where(hit, 0.0, self.order))

    def without_features(self) -> Comparisons:
        """Return the rows without their features, so that slicing is cheap."""
        return replace(self, rows=self.rows.without_features())

    def as_preferences(self) -> Comparisons:
        """Return the rows marked as named: outcomes are preferences in [0, 1]."""
        return self if self.named else self.with_rows(named=True)

    def of_one_judge(self) -> Comparisons:
        """Return the rows with all judges merged into one named "judges".

        Columns that were learned for single judges do not apply to the result.
        """
        # Codes 0, 1, ... become 0; -1 (human) and -2 (unknown) stay.
        return self.with_rows(
            judge=np.minimum(self.judge, 0), judges=np.array(["judges"], dtype=object)
        )

    def as_human(self) -> Comparisons:
        """Return the rows; usable ones become human votes on historical models."""
        judge = np.where(self.is_usable, -1, self.judge)
        return self.with_rows(judge=judge, new_models=())
