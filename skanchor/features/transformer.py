"""A transformer of texts: which texts it reads and where their features go."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from skanchor._documented import DocumentedMixin
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.features.sources import (
    TextSource,
    column_of_texts,
    find_sources,
    open_table,
    read_texts,
)
from skanchor.warning_log import warn


class TextTransformer(DocumentedMixin, TransformerMixin, BaseEstimator):
    """Base of the transformers of texts.

    A subclass learns from distinct texts in ``_learn``, gives their features in
    ``_values``, an array with a row for each text, and may look at both sides of a pair
    in ``_sides``. Each distinct text is read once, however many rows hold it.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "columns": [str, list, tuple],
        "keep_text": ["boolean"],
        "missing": [StrOptions({"empty", "raise"})],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    columns: Any
    keep_text: bool
    missing: str

    # ------------------------------------------------------------------- for subclasses
    def _learn(self, texts: list[str]) -> None:
        """Learn from the distinct texts of all sides."""
        raise NotImplementedError

    def _values(self, texts: list[str]) -> Array:
        """Features of texts."""
        raise NotImplementedError

    def _names(self) -> list[str]:
        """Names of the features."""
        raise NotImplementedError

    def _sides(self, blocks: list[Array]) -> list[Array]:
        """Features of one column of texts, or of both of a pair, as they go out."""
        return blocks

    # ----------------------------------------------------------------- the public three
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the texts of all rows and sides.

        Parameters
        ----------
        X : column of texts or table
            A list, array or series of texts, or a table with columns of texts.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._validate_params()
        frame = open_table(X)
        for name in ("feature_names_in_", "n_features_in_", "sources_"):
            if hasattr(self, name):
                delattr(self, name)
        if frame is None:
            self.sources_: tuple[TextSource, ...] | None = None
        else:
            self.sources_ = find_sources(frame, self.columns)
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
            self.n_features_in_ = len(frame.columns)
        # Missing texts are told once, by transform.
        columns = self._read(X, frame, self.sources_, tell=False)
        self._learn(list(dict.fromkeys(text for column in columns for text in column)))
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
            Of a column of texts, an array of shape (n_texts, n_features). Of a table, a
            table of the type given (or what ``set_output`` asks for): the text columns
            gone unless ``keep_text``, the features behind the other columns.
        """
        check_is_fitted(self, "sources_")
        frame = open_table(X)
        sources = None if frame is None else find_sources(frame, self.columns)
        if sources != self.sources_:
            raise BattlesError(
                f"Fitted on texts in {_all(self.sources_)}, got texts in "
                f"{_all(sources)}."
            )
        blocks = self._blocks(self._read(X, frame, sources))
        if frame is None or sources is None:
            return self._sides(blocks)[0]
        return self._as_asked(self._with_features(frame, sources, blocks))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that :meth:`transform` gives.

        Parameters
        ----------
        input_features : None
            Ignored; the names seen in ``fit`` count.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "sources_")
        if self.sources_ is None:
            return np.array(self._names(), dtype=object)
        kept = [name for name in self.feature_names_in_ if self._stays(name)]
        made = [
            name
            for source in self.sources_
            for names in self._of(source)
            for name in names
        ]
        return np.array([*kept, *made], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "sources_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # -------------------------------------------------------------------------- reading
    def _read(
        self,
        X: Any,
        frame: nw.DataFrame[Any] | None,
        sources: Any,
        tell: bool = True,
    ) -> list[list[str]]:
        """Texts of every column; missing ones are told or refused."""
        if frame is None:
            columns = {"X": column_of_texts(X)}
        else:
            columns = {
                name: frame[name].to_list()
                for source in sources
                for name in source.columns
            }
        texts, missing = [], {}
        for name, values in columns.items():
            read, missing[name] = read_texts(values, name)
            texts.append(read)
        told = ", ".join(f"{n} in {name}" for name, n in missing.items() if n)
        if told and self.missing == "raise":
            raise BattlesError(
                f"Texts are missing: {told}. Drop the rows, or set missing='empty'."
            )
        if told and tell:
            warn(DataWarning(f"Missing texts are read as empty ones: {told}."))
        return texts

    def _blocks(self, columns: list[list[str]]) -> list[Array]:
        """Features of every column, each distinct text read once."""
        lengths = [len(column) for column in columns]
        everything = np.array([t for column in columns for t in column], dtype=object)
        codes, distinct = pd.factorize(everything)
        if len(distinct) == 0:
            return [np.empty((n, len(self._names()))) for n in lengths]
        values = self._values(list(distinct))[codes]
        return np.split(values, np.cumsum(lengths)[:-1])

    # -------------------------------------------------------------------------- writing
    def _stays(self, column: str) -> bool:
        texts = [name for source in self.sources_ or () for name in source.columns]
        return self.keep_text or column not in texts

    def _of(self, source: TextSource) -> list[list[str]]:
        """Names of the features of each column of a source."""
        prefix = f"{source.name}_" if len(self.sources_ or ()) > 1 else ""
        return [
            [f"{prefix}{name}{side}" for name in self._names()] for side in source.sides
        ]

    def _with_features(
        self,
        frame: nw.DataFrame[Any],
        sources: tuple[TextSource, ...],
        blocks: list[Array],
    ) -> nw.DataFrame[Any]:
        kept = frame.select([name for name in frame.columns if self._stays(name)])
        made: dict[str, Array] = {}
        remaining = iter(blocks)
        for source in sources:
            own = self._sides([next(remaining) for _ in source.columns])
            for names, block in zip(self._of(source), own, strict=True):
                made.update(zip(names, block.T, strict=True))
        taken = [name for name in made if name in kept.columns]
        if taken:
            raise BattlesError(
                f"The table has columns {taken[:5]} already; rename or drop them, or "
                "leave out the features of that name."
            )
        backend = frame.implementation
        if backend.is_pandas():
            new = pd.DataFrame(made, index=frame.to_native().index)
            table = pd.concat([kept.to_native(), new], axis=1)
            return nw.from_native(table, eager_only=True)
        if not kept.columns:
            return nw.from_dict(made, backend=backend)
        # narwhals cannot give pyarrow a view of every other number.
        return kept.with_columns(
            nw.new_series(name, np.ascontiguousarray(values), backend=backend)
            for name, values in made.items()
        )

    def _as_asked(self, frame: nw.DataFrame[Any]) -> Any:
        """The kind of table that ``set_output`` asks for, the user's own by default."""
        kind = _get_output_config("transform", self)["dense"]
        if kind == "pandas" and frame.implementation.is_pyarrow():
            # A column that pandas once had as its index is a column here.
            return frame.to_native().replace_schema_metadata(None).to_pandas()
        if kind == "pandas":
            return frame.to_pandas()
        return frame.to_polars() if kind == "polars" else frame.to_native()


def _all(sources: tuple[TextSource, ...] | None) -> str:
    if sources is None:
        return "no table"
    return ", ".join(name for source in sources for name in source.columns)
