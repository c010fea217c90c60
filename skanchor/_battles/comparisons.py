"""Encoded battles: what every stage reads, and returns with learned columns added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.labels import (
    HUMAN,
    InContext,
    Items,
    align,
    as_objects,
    factorize,
    is_in,
    label_list,
    positions,
    same_labels,
    sorted_labels,
)
from skanchor._battles.rows import JudgeRows, constant, first_rows, number_rows
from skanchor._battles.table import encode
from skanchor._typing import Array
from skanchor.exceptions import BattlesError

ROW_COLUMNS = ("left", "right", "judge", "order", "features_left", "features_right")
"""Attributes of `Comparisons` with one entry for each row, read from the table."""

_LEARNED = frozenset(
    "scores sensitivities position_effects biases deviations item_covariance".split()
)


def _of_rows(compute: Callable[[Comparisons], Any]) -> Any:
    """Property of rows and roles alone, which all stages share once it is computed."""

    @wraps(compute)
    def look_up(self: Comparisons) -> Any:
        name = compute.__name__
        if name not in self.derived:
            self.derived[name] = compute(self)
        return self.derived[name]

    return property(look_up)


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons:
    """Encoded battles: integer codes, their labels, and the estimates of the stages.

    The object is immutable. It has a length, a shape and row indexing, so
    scikit-learn's splitters and searches slice it like a table. Slicing changes neither
    the vocabularies (``models``, ``judges``) nor the roles. It never holds outcomes.

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
    named : bool
        Whether the table names its columns; False for a bare array.
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
    derived : dict
        What was computed of rows and roles alone. It is shared by all stages.

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
    order: Array
    features_left: Array
    features_right: Array
    feature_names: tuple[str, ...] = ()
    named: bool = True
    new_models: tuple[Any, ...] | None = None
    scores: Array | None = None
    sensitivities: Array | None = None
    position_effects: Array | None = None
    biases: Array | None = None
    deviations: Array | None = None
    item_covariance: Array | None = None
    derived: dict[str, Any] = field(default_factory=dict)

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
        encoded = table if isinstance(table, Comparisons) else cls(**encode(table))
        if new_models is None:
            return encoded
        new = tuple(label_list("new_models", new_models))
        return encoded.with_columns(new_models=new)

    # ------------------------------------------------------- as scikit-learn uses it
    def __len__(self) -> int:
        return len(self.left)

    def __repr__(self) -> str:
        new = "" if self.new_models is None else f", {self.is_new.sum()} of them new"
        return (
            f"Comparisons: {len(self)} rows, {self.is_human.sum()} of them human; "
            f"{len(self.models)} models{new}; {len(self.judges)} judges; "
            f"{len(self.feature_names)} features"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of the bare-array form (two ids, then the features)."""
        return len(self), 2 + self.features_left.shape[1]

    def __getitem__(self, rows: Any) -> Comparisons:
        if isinstance(rows, tuple):
            # scikit-learn indexes rows as X[rows, ...].
            rows = rows[0]
        if not isinstance(rows, slice):
            # One row stays a table of one row; an empty list is an array of floats.
            rows = np.atleast_1d(rows)
            rows = rows if rows.size else rows.astype(np.intp)
        names = ROW_COLUMNS if self.biases is None else (*ROW_COLUMNS, "biases")
        return self.with_columns(**{name: getattr(self, name)[rows] for name in names})

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: codes, labels and learned columns do not form one array."""
        raise TypeError(
            "Comparisons cannot become one array. A transformer of features belongs "
            "into LinearBias(feature_map=transformer)."
        )

    def __getstate__(self) -> dict[str, Any]:
        # What can be computed again is not stored.
        names = self.__dataclass_fields__
        return {name: getattr(self, name) for name in names} | {"derived": {}}

    # ---------------------------------------------------------------- rows and roles
    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The arrays with one entry for each row, in the order of `ROW_COLUMNS`."""
        return tuple(getattr(self, name) for name in ROW_COLUMNS)

    @_of_rows
    def is_human(self) -> NDArray[np.bool_]:
        """Rows that carry a human vote."""
        return self.judge == -1

    @_of_rows
    def is_new(self) -> NDArray[np.bool_]:
        """Models with free scores, aligned with ``models``."""
        return is_in(self.models, self.new_models or ())

    @_of_rows
    def items(self) -> Items:
        """The entries of ``models`` split into contexts and models."""
        return Items.of(self.models)

    @property
    def has_contexts(self) -> bool:
        """Whether the labels of the models are models in contexts."""
        return len(self.items.contexts) > 0

    @_of_rows
    def involves_new(self) -> NDArray[np.bool_]:
        """Rows in which at least one side is a new model."""
        if not self.is_new.any():
            return constant(False, len(self))
        # Code -1, a model outside the vocabulary, reads the False at the end.
        padded = np.append(self.is_new, False)
        return np.asarray(padded[self.left] | padded[self.right])

    @_of_rows
    def is_usable(self) -> NDArray[np.bool_]:
        """Rows of known models and judge that compare two different models."""
        is_coded = (self.left >= 0) & (self.right >= 0) & (self.judge > -2)
        return is_coded & (self.left != self.right)

    @_of_rows
    def features_complete(self) -> bool:
        """Whether no feature of any row is missing."""
        sides = self.features_left, self.features_right
        return all(bool(np.isfinite(side).all()) for side in sides)

    def by_judge(self, judge: int) -> JudgeRows:
        """Return the usable rows of one judge (-1: human); computed once per judge."""
        stored: dict[int, JudgeRows] = self.derived.setdefault("by_judge", {})
        if judge not in stored:
            stored[judge] = JudgeRows.of(self, judge)
        return stored[judge]

    @_of_rows
    def sources(self) -> NDArray[np.intp]:
        """Source code of each row: its judge, context, and the new models it involves.

        Codes start at zero without gaps; unusable rows have code -1.
        """
        # New models have numbers from one, others have zero. The order of the two
        # sides does not matter.
        number = np.where(self.is_new, np.cumsum(self.is_new), 0)
        rows, codes = np.flatnonzero(self.is_usable), np.full(len(self), -1)
        sides = np.sort([number[self.left[rows]], number[self.right[rows]]], axis=0)
        context = self.items.context[self.left[rows]]
        codes[rows] = number_rows(self.judge[rows], *sides, context).kind
        return codes

    @_of_rows
    def source_keys(self) -> list[tuple[Any, frozenset[Any], Any]]:
        """Judge (or ``"human"``), new models and context of each source."""
        judges, keys = [*self.judges.tolist(), HUMAN], []
        n_sources = int(self.sources.max(initial=-1)) + 1
        # Code -1, of rows without a source, indexes from the end.
        for row in first_rows(self.sources, n_sources + 1)[:-1].tolist():
            sides = np.array([self.left[row], self.right[row]])
            new = frozenset(self.models[sides[self.is_new[sides]]].tolist())
            context = getattr(self.models[sides[0]], "context", None)
            keys.append((judges[self.judge[row]], new, context))
        return keys

    def appearances(
        self, rows: NDArray[np.bool_], times: Array | None = None
    ) -> NDArray[np.intp]:
        """Return how many of the chosen rows involve each model, shape (n_models,).

        ``times``, of shape (n_rows,), says how many rows each stands for.
        """
        # Without a copy of the columns where all rows are chosen.
        at: Any = slice(None) if rows.all() else rows
        sides = np.concatenate([self.left[at], self.right[at]])
        number = None if times is None else np.tile(times[at], 2)
        return np.bincount(sides, number, len(self.models)).astype(np.intp)

    # ------------------------------------------------------- what the stages learned
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
        # Code -1, a model outside the vocabulary, picks the NaN at the end.
        padded = np.append(self.learned_scores(), np.nan)
        delta: Array = padded.take(self.left)
        delta -= padded.take(self.right)
        if np.isnan(padded[:-1]).any():
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
        n_judges, n_models = len(self.judges), len(self.models)
        # Codes -1 and -2 index from the end: human rows have slope one, those of an
        # unknown judge NaN.
        slope = np.append(np.ones(n_judges), [np.nan, 1.0])
        if self.sensitivities is not None:
            slope[:n_judges] = self.sensitivities
        eta: Array = slope.take(self.judge)
        eta *= self.score_differences
        if self.biases is not None:
            eta += self.biases
        if self.deviations is not None:
            # u[m, i], with rows and a column of zeros at the end for the codes -1 and
            # -2: item effects are zero for people, and where none was estimated.
            u = np.zeros((n_judges + 2, n_models + 1))
            u[:n_judges, :-1] = np.nan_to_num(self.deviations)
            eta += u[self.judge, self.left] - u[self.judge, self.right]
        if self.position_effects is not None:
            position = np.append(self.position_effects, [0.0, 0.0])
            eta += position.take(self.judge) * self.order
        eta.flags.writeable = False
        return eta

    def unscored_models(self) -> list[str]:
        """Return the names of the models in these rows that have no score."""
        shown = np.unique(np.concatenate([self.left, self.right]))
        shown = shown[shown >= 0]
        if self.scores is not None:
            shown = shown[np.isnan(self.scores[shown])]
        return list(map(str, self.models[shown]))

    # ------------------------------------------------------------------ other columns
    def with_columns(self, **columns: Any) -> Comparisons:
        """Return the battles with other columns, labels or roles.

        Parameters
        ----------
        **columns
            Any of the attributes. Columns of rows replace all of them together.

        Returns
        -------
        Comparisons
        """
        if columns.get("new_models") == self.new_models:
            columns.pop("new_models", None)
        if columns.keys() - _LEARNED:
            columns["derived"] = {}
        return replace(self, **columns)

    def relabel(self, models: NDArray[Any], judges: NDArray[Any]) -> Comparisons:
        """Return the rows coded by other vocabularies.

        Models outside ``models`` get code -1, judges outside ``judges`` code -2. What
        was learned of models and judges is reordered with the labels, NaN for new ones.
        """
        if same_labels(models, self.models) and same_labels(judges, self.judges):
            return self

        by_model = partial(align, old=self.models, new=models)
        by_judge = partial(align, old=self.judges, new=judges)
        # The entries at the end map the codes -1, and -2, -1, to themselves.
        model_map = np.append(positions(self.models, models), -1)
        places = positions(self.judges, judges)
        judge_map = np.append(np.where(places < 0, -2, places), [-2, -1])
        return self.with_columns(
            models=models,
            judges=judges,
            left=model_map[self.left],
            right=model_map[self.right],
            judge=judge_map[self.judge],
            scores=by_model(self.scores),
            sensitivities=by_judge(self.sensitivities),
            position_effects=by_judge(self.position_effects),
            deviations=by_judge(by_model(self.deviations, axis=1)),
            item_covariance=by_judge(by_judge(self.item_covariance, axis=1)),
        )

    def with_features(self, names: tuple[str, ...]) -> Comparisons:
        """Return the rows with these features in this order; NaN for absent ones."""
        if names == self.feature_names:
            return self
        old, new = as_objects(self.feature_names), as_objects(names)
        left, right = (
            np.ascontiguousarray(align(side, old, new, axis=1))
            for side in (self.features_left, self.features_right)
        )
        return self.with_columns(
            features_left=left, features_right=right, feature_names=names
        )

    def without_features(self) -> Comparisons:
        """Return the rows without their features, so that slicing is cheap."""
        return self.with_features(())

    def in_contexts(self, contexts: NDArray[Any]) -> Comparisons:
        """Return the rows with each model replaced by the model in the row's context.

        ``contexts`` has the context of each row. The ``models`` of the result are
        labels of a context and a model each (``InContext``), sorted so; combinations
        that do not occur are left out.
        """
        code, labels = factorize(contexts, "The column of contexts")
        labels, (codes,) = sorted_labels([labels], "contexts")
        start, size = codes[code] * len(self.models), len(self.models)
        sides = np.stack([self.left, self.right])
        # Models outside the vocabulary keep the code -1.
        grid = np.where(sides < 0, -1, start + sides)
        pairs, number = np.unique(grid, return_inverse=True)
        n_outside = int(pairs[0] < 0) if len(pairs) else 0
        models = as_objects(
            InContext(labels[at // size], self.models[at % size])
            for at in pairs[n_outside:].tolist()
        )
        left, right = number.reshape(sides.shape) - n_outside
        return self.with_columns(models=models, left=left, right=right)

    def without_order(self, judges: NDArray[Any]) -> Comparisons:
        """Return the rows; the display order of these judges' rows becomes unknown."""
        # The appended entries are for the codes -2 and -1, which index from the end.
        hit = np.append(is_in(self.judges, judges), [False, False])[self.judge]
        if not self.order[hit].any():
            return self
        return self.with_columns(order=np.where(hit, 0.0, self.order))
