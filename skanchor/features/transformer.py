"""Base class of transformers of texts: reads the texts and writes their features."""

from __future__ import annotations

from collections.abc import Callable
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

from skanchor._crossfit.parallel import run_plan
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


class TextTransformer(TransformerMixin, BaseEstimator):
    """Base of the transformers of texts.

    A subclass learns from distinct texts in ``_learn`` and computes their features in
    ``_values``, an array with a row for each text. It may combine both sides of a pair
    in ``_sides``. Each distinct text is processed once, however many rows contain it.
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
    n_jobs: int | None
    verbose: int

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

    def _sides(self, blocks: list[Array]) -> list[Array]:
        """Output features of a single column of texts, or of both columns of a pair.

        Each block has shape (n_rows, n_features).
        """
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
        # Attributes of an earlier fit, on a table or on a column of texts.
        for name in ("feature_names_in_", "n_features_in_", "sources_"):
            if hasattr(self, name):
                delattr(self, name)
        if frame is None:
            self.sources_: tuple[TextSource, ...] | None = None
        else:
            self.sources_ = find_sources(frame, self.columns)
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
            self.n_features_in_ = len(frame.columns)
        # Only transform warns of missing texts, so that fit_transform warns once.
        columns = self._read(X, frame, self.sources_, warns=False)
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
            For a column of texts, an array of shape (n_texts, n_features). For a table,
            a table of the same type (or of the type set by ``set_output``): without the
            text columns unless ``keep_text``, and with the features after the other
            columns.
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
        warns: bool = True,
    ) -> list[list[str]]:
        """Texts of every column; missing ones raise, or are empty with a warning."""
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
        counts = ", ".join(f"{n} in {name}" for name, n in missing.items() if n)
        if counts and self.missing == "raise":
            raise BattlesError(
                f"Texts are missing: {counts}. Drop the rows, or set missing='empty'."
            )
        if counts and warns:
            warn(
                DataWarning(
                    f"Missing texts are read as empty ones: {counts}.",
                    code="missing-texts",
                    subject=[name for name, n in missing.items() if n],
                )
            )
        return texts

    def _in_chunks(
        self,
        task: Callable[[list[str]], Array],
        texts: list[str],
        size: int,
        *,
        here: bool = False,
    ) -> list[Array]:
        """What a task returns for chunks of the texts; ``here`` is without workers."""
        return run_plan(
            task,
            [(texts[start : start + size],) for start in range(0, len(texts), size)],
            n_jobs=None if here else self.n_jobs,
            verbose=self.verbose,
            description="texts",
        )

    def _blocks(self, columns: list[list[str]]) -> list[Array]:
        """Features of every column, each of shape (n_rows, n_features)."""
        lengths = [len(column) for column in columns]
        everything = np.array([t for column in columns for t in column], dtype=object)
        # Compute the features of distinct texts, then look them up by code.
        codes, distinct = pd.factorize(everything)
        if len(distinct) == 0:
            return [np.empty((n, len(self._names()))) for n in lengths]
        values = self._values(list(distinct))[codes]
        return np.split(values, np.cumsum(lengths)[:-1])

    # -------------------------------------------------------------------------- writing
    def _stays(self, column: str) -> bool:
        """Whether a column of the table remains in the output."""
        texts = [name for source in self.sources_ or () for name in source.columns]
        return self.keep_text or column not in texts

    def _of(self, source: TextSource) -> list[list[str]]:
        """Names of the output features of each column of a source."""
        # The name of the source is needed only to distinguish several sources.
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
        """The table without text columns (unless `keep_text`), with the features."""
        kept = frame.select([name for name in frame.columns if self._stays(name)])
        # Feature columns by name. `blocks` has an entry for each column of each source.
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
            # By pandas itself, so that the index of the table is preserved.
            new = pd.DataFrame(made, index=frame.to_native().index)
            table = pd.concat([kept.to_native(), new], axis=1)
            return nw.from_native(table, eager_only=True)
        if not kept.columns:
            return nw.from_dict(made, backend=backend)
        # Columns of a block are strided views, which narwhals cannot pass to pyarrow.
        return kept.with_columns(
            nw.new_series(name, np.ascontiguousarray(values), backend=backend)
            for name, values in made.items()
        )

    def _as_asked(self, frame: nw.DataFrame[Any]) -> Any:
        """The table in the type set by ``set_output``, by default the user's own."""
        kind = _get_output_config("transform", self)["dense"]
        if kind == "pandas" and frame.implementation.is_pyarrow():
            # The metadata may declare a column as the index of an earlier pandas table.
            # Without it, all columns stay columns.
            return frame.to_native().replace_schema_metadata(None).to_pandas()
        if kind == "pandas":
            return frame.to_pandas()
        return frame.to_polars() if kind == "polars" else frame.to_native()


def _all(sources: tuple[TextSource, ...] | None) -> str:
    if sources is None:
        return "no table"
    return ", ".join(name for source in sources for name in source.columns)
