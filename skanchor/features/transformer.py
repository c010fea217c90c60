"""Base class of transformers of texts: reads the texts and writes their features."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import as_frame
from skanchor._crossfit.parallel import run_plan
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn


class TextSource(NamedTuple):
    """A column of texts in a table, or a pair of them.

    Parameters
    ----------
    name : str
        Prefix of the names of its features, if there are several sources.
    columns : tuple of str
        Names of one column or two.
    """

    name: str
    columns: tuple[str, ...]


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
        frame, sources = self._open(X)
        self.sources_ = sources
        # Those of an earlier fit, which may have been on a column of texts.
        for name in ("feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        if frame is not None:
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
            self.n_features_in_ = len(frame.columns)
        # Only transform warns of missing texts, so that fit_transform warns once.
        columns = self._read(X, frame, sources, warns=False)
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
        frame, sources = self._open(X)
        if sources != self.sources_:
            fitted, found = (
                ", ".join(name for source in one for name in source.columns)
                if one is not None else "no table"
                for one in (self.sources_, sources)
            )  # fmt: skip
            raise BattlesError(f"Fitted on texts in {fitted}, got texts in {found}.")
        columns = self._read(X, frame, sources)
        # Compute the features of distinct texts, then look them up by code.
        texts = np.array([t for column in columns for t in column], dtype=object)
        codes, distinct = pd.factorize(texts)
        values = np.empty((0, len(self._names())))
        values = self._values(list(distinct)) if len(distinct) else values
        ends = np.cumsum([len(column) for column in columns])[:-1]
        blocks = np.split(values[codes], ends)
        if frame is None or sources is None:
            return self._sides(blocks)[0]
        remaining = iter(blocks)
        made = [
            block
            for source in sources
            for block in self._sides([next(remaining) for _ in source.columns])
        ]
        return self._as_asked(self._with_features(frame, np.hstack(made)))

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
        others = filter(self._stays, self.feature_names_in_)
        return np.array([*others, *self._made_names()], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "sources_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    # -------------------------------------------------------------------------- reading
    def _open(
        self, X: Any
    ) -> tuple[nw.DataFrame[Any] | None, tuple[TextSource, ...] | None]:
        """The table and its columns of texts; None for a column of texts."""
        if isinstance(X, str):
            raise ValueError(
                "Iterable over raw text documents expected, string object received: "
                "give a list of texts."
            )
        frame = as_frame(X)
        if frame is None:
            return None, None
        given = [self.columns] if isinstance(self.columns, (str, tuple)) else (
            self.columns)  # fmt: skip
        if not given:
            raise ValueError("columns names no column of texts.")
        return frame, tuple(_find_source(list(frame.columns), one) for one in given)

    def _read(
        self, X: Any, frame: nw.DataFrame[Any] | None, sources: Any, warns: bool = True
    ) -> list[list[str]]:
        """Texts of every column; missing ones raise, or are empty with a warning."""
        columns = {"X": _column_of_texts(X)} if frame is None else {
            name: frame[name].to_list() for source in sources for name in source.columns
        }  # fmt: skip
        texts = [list(_texts_of(values, name)) for name, values in columns.items()]
        missing = {
            name: column.count(None)
            for name, column in zip(columns, texts, strict=True)
            if None in column
        }
        counts = ", ".join(f"{n} in {name}" for name, n in missing.items())
        if counts and self.missing == "raise":
            raise BattlesError(
                f"Texts are missing: {counts}. Drop the rows, or set missing='empty'."
            )
        if counts and warns:
            said = f"Missing texts are read as empty ones: {counts}."
            warn(DataWarning(said, code="missing-texts", subject=list(missing)))
        return [[text or "" for text in column] for column in texts]

    def _in_chunks(
        self,
        task: Callable[[list[str]], Array],
        texts: list[str],
        size: int,
        *,
        here: bool = False,
    ) -> Array:
        """What a task returns for chunks of the texts; ``here`` is without workers."""
        chunks = [(texts[at : at + size],) for at in range(0, len(texts), size)]
        n_jobs = None if here else self.n_jobs
        return np.vstack(
            run_plan(
                task, chunks, n_jobs=n_jobs, verbose=self.verbose, description="texts"
            )
        )

    # -------------------------------------------------------------------------- writing
    def _stays(self, column: str) -> bool:
        """Whether a column of the table remains in the output."""
        texts = [name for source in self.sources_ or () for name in source.columns]
        return self.keep_text or column not in texts

    def _made_names(self) -> Iterator[str]:
        """Names of the columns of features."""
        sources = self.sources_ or ()
        for source in sources:
            # The name of the source is needed only to distinguish several sources.
            prefix = f"{source.name}_" if len(sources) > 1 else ""
            for side in ("_a", "_b") if len(source.columns) == 2 else ("",):
                for name in self._names():
                    yield f"{prefix}{name}{side}"

    def _with_features(
        self, frame: nw.DataFrame[Any], values: Array
    ) -> nw.DataFrame[Any]:
        """The table without text columns (unless `keep_text`), with the features."""
        others = frame.select([name for name in frame.columns if self._stays(name)])
        made = dict(zip(self._made_names(), values.T, strict=True))
        taken = [name for name in made if name in others.columns]
        if taken:
            raise BattlesError(
                f"The table has columns {taken[:5]} already; rename or drop them, or "
                "leave out the features of that name."
            )
        backend = frame.implementation
        if backend.is_pandas():
            # By pandas itself, so that the index of the table is preserved.
            new = pd.DataFrame(made, index=frame.to_native().index)
            table = pd.concat([others.to_native(), new], axis=1)
            return nw.from_native(table, eager_only=True)
        if not others.columns:
            return nw.from_dict(made, backend=backend)
        # Columns of a block are strided views, which narwhals cannot pass to pyarrow.
        return others.with_columns(
            nw.new_series(name, np.ascontiguousarray(column), backend=backend)
            for name, column in made.items()
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


def _find_source(present: list[str], given: Any) -> TextSource:
    """The source that a name, or a pair of names, stands for."""
    pair = given if isinstance(given, tuple) else (f"{given}_a", f"{given}_b")
    if len(pair) == 2 and set(pair) <= set(present):
        # The source of ("text_a", "text_b") is called "text", else as its first column.
        same = pair[0][:-2] == pair[1][:-2] and pair[0][-2:] == "_a"
        return TextSource(pair[0][:-2] if same else pair[0], pair)
    # A single column: the named one, or the only one that the table has.
    single = given if given in present else present[0]
    if isinstance(given, tuple) or (given not in present and len(present) > 1):
        raise BattlesError(
            f"There are no columns of texts {' and '.join(map(str, pair))}; the table "
            f"has {present[:20]}. Name the pairs in columns, as in "
            "columns=[('left', 'right')]."
        )
    return TextSource(single, (single,))


def _column_of_texts(X: Any) -> Any:
    """Values of a column of texts: a series, a list, or an array of one column."""
    series = nw.from_native(X, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_list()
    if isinstance(X, np.ndarray) and X.ndim > 1:
        if X.ndim > 2 or X.shape[1] != 1:
            raise ValueError(
                f"One column of texts is needed, got an array of shape {X.shape}."
            )
        return X[:, 0]
    return list(X)


def _texts_of(values: Any, name: str) -> Iterator[str | None]:
    """Texts of a column; None where one is missing."""
    for row, value in enumerate(values):
        if isinstance(value, str):
            yield str(value)
        elif value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value))):
            yield None
        else:
            raise BattlesError(
                f"{name} must hold texts: row {row} holds {str(value)[:40]!r}, a "
                f"{type(value).__name__}. Join the turns of a conversation by line "
                "ends, and turn other values into texts first."
            )
