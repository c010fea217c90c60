"""Base class of transformers of texts: reads the texts and writes their features."""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import as_frame
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn


class TextTransformer(TransformerMixin, BaseEstimator):
    """Base of the transformers of texts.

    A subclass learns from distinct texts in ``_learn`` and computes their features in
    ``_values``, an array with a row for each text. It may combine both sides of a pair
    in ``_sides``. Each distinct text is processed once, however many rows contain it.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": [str, list, tuple],
        "keep_text": ["boolean"],
    }

    columns: Any
    keep_text: bool

    # ------------------------------------------------------------------- for subclasses
    def _learn(self, texts: list[str]) -> None:
        """Learn from the distinct texts of all columns."""
        raise NotImplementedError

    def _values(self, texts: list[str]) -> Array:
        """Features of texts, of shape (n_texts, n_features)."""
        raise NotImplementedError

    def _names(self) -> list[str]:
        """Names of the features, without prefixes and suffixes of columns."""
        raise NotImplementedError

    def _sides(self, one: Array, two: Array) -> tuple[Array, Array]:
        """Features of both columns of a pair, of shape (n_rows, n_features) each."""
        return one, two

    # ----------------------------------------------------------------- the public three
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the texts of all rows and sides.

        Parameters
        ----------
        X : column of texts or table
            A list, array or series of texts, or a table with pairs of such columns.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._validate_params()
        frame = _open(X)
        # Those of an earlier fit, which may have been on a column of texts.
        for name in ("feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        self.sources_ = None
        if frame is not None:
            self.sources_ = self._find_pairs(frame.columns)
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
            self.n_features_in_ = len(frame.columns)
        texts = chain.from_iterable(self._read(X, frame).values())
        self._learn(list(dict.fromkeys(text or "" for text in texts)))
        return self

    def transform(self, X: Any) -> Any:
        """Replace texts by their features.

        Parameters
        ----------
        X : column of texts or table
            As in :meth:`fit`.

        Returns
        -------
        array or table
            For a column of texts, an array of shape (n_texts, n_features). For a table,
            a table of the same type (or of the type set by ``set_output``): without the
            text columns unless ``keep_text``, and with the features after the other
            columns.
        """
        check_is_fitted(self)
        frame = _open(X)
        columns = self._read(X, frame)
        # Only transform warns of missing texts, so that fit_transform warns once.
        missing = {
            name: n for name, texts in columns.items() if (n := texts.count(None))
        }
        if missing:
            counts = ", ".join(f"{n} in {name}" for name, n in missing.items())
            message = f"Missing texts are read as empty ones: {counts}."
            warn(DataWarning(message, code="missing-texts", subject=missing))
        # Features are computed of distinct texts, and looked up by their codes.
        texts = [text or "" for text in chain.from_iterable(columns.values())]
        codes, distinct = pd.factorize(np.array(texts, dtype=object))
        values = np.empty((0, len(self._names())))
        values = self._values(list(distinct)) if len(distinct) else values
        blocks = np.split(values[codes], len(columns))
        if frame is None or self.sources_ is None:
            return blocks[0]
        pairs = zip(blocks[::2], blocks[1::2], strict=True)
        made = [*chain.from_iterable(self._sides(*pair) for pair in pairs)]
        others, names = self._others(frame.columns), self._made_names()
        taken = [name for at, name in enumerate(names) if name in others + names[:at]]
        if taken:
            raise BattlesError(
                f"The table has columns {taken[:5]} already; rename or drop them, or "
                "leave out the features of that name."
            )
        features = (
            # Columns of a block are strided views, which pyarrow cannot take.
            nw.new_series(n, np.ascontiguousarray(v), backend=frame.implementation)
            for n, v in zip(names, np.hstack(made).T, strict=True)
        )
        table = frame.with_columns(features).select(others + names)
        # scikit-learn would turn a table of another kind into an array first.
        kind = _get_output_config("transform", self)["dense"]
        made_by = {"pandas": table.to_pandas, "polars": table.to_polars}
        return made_by.get(kind, table.to_native)()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that :meth:`transform` returns.

        Parameters
        ----------
        input_features : None
            Ignored; the names seen in ``fit`` are used.

        Returns
        -------
        ndarray of str
            Other columns of the table first, then the features.
        """
        check_is_fitted(self)
        if self.sources_ is None:
            return np.array(self._names(), dtype=object)
        others = self._others(self.feature_names_in_)
        return np.array([*others, *self._made_names()], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # ------------------------------------------------------------------------- columns
    def _find_pairs(self, present: list[str]) -> tuple[tuple[str, str], ...]:
        """The pairs of columns of texts that `columns` names."""
        names = self.columns if isinstance(self.columns, list) else [self.columns]
        pairs = [
            name if isinstance(name, tuple) else (f"{name}_a", f"{name}_b")
            for name in names
        ]
        absent = [name for pair in pairs for name in pair if name not in present]
        if absent or not pairs:
            raise BattlesError(
                f"There are no columns of texts {' and '.join(map(str, absent))} among "
                f"{present[:20]}. Name the pairs in columns, as in "
                "columns=[('left', 'right')] (--text-columns left,right)."
            )
        return tuple(pairs)

    def _read(
        self, X: Any, frame: nw.DataFrame[Any] | None
    ) -> dict[str, list[str | None]]:
        """Texts of every column by its name; None where one is missing."""
        names = [*chain.from_iterable(self.sources_ or ())]
        present = [] if frame is None else frame.columns
        if not {*names} <= {*present} or bool(names) != (frame is not None):
            raise BattlesError(
                f"Fitted on texts in {', '.join(names) or 'no table'}, which X lacks."
            )
        columns = {"X": X} if frame is None else {n: frame[n].to_list() for n in names}
        texts: dict[str, list[str | None]] = {}
        for name, values in columns.items():
            listed = values.to_pylist() if hasattr(values, "to_pylist") else [*values]
            cells = pd.Series(listed, dtype=object)
            texts[name] = [*cells.mask(cells.isna(), None)]
            for row, cell in enumerate(texts[name]):
                if cell is not None and not isinstance(cell, str):
                    raise BattlesError(
                        f"{name} must hold texts: row {row} holds {str(cell)[:40]!r}, "
                        f"a {type(cell).__name__}. Join the turns of a conversation by "
                        "line ends, and turn other values into texts first."
                    )
        return texts

    def _others(self, columns: Any) -> list[str]:
        """Columns of the table that remain in the output."""
        texts = () if self.keep_text else chain.from_iterable(self.sources_ or ())
        dropped = {*texts}
        return [name for name in columns if name not in dropped]

    def _made_names(self) -> list[str]:
        """Names of the columns of features."""
        pairs = self.sources_ or ()
        return [
            # The name of a pair is needed only to distinguish several ones.
            (f"{pair[0].removesuffix('_a')}_" if len(pairs) > 1 else "") + name + side
            for pair in pairs
            for side in ("_a", "_b")
            for name in self._names()
        ]


def _open(X: Any) -> nw.DataFrame[Any] | None:
    """The table that holds columns of texts; None for a column of texts."""
    if isinstance(X, str):
        raise ValueError(
            "Iterable over raw text documents expected, string object received: "
            "give a list of texts."
        )
    frame = as_frame(X)
    if frame is None and isinstance(X, np.ndarray) and X.ndim > 1:
        raise ValueError(
            f"One column of texts is needed, got an array of shape {X.shape}."
        )
    return frame
