"""Types of columns: labels are text, and columns of numbers only are numeric."""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor.exceptions import DataWarning
from skanchor.io._coded import CodedText, arrow_text, coded_text

_MISSING = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None"})
# Decimal commas. A comma before three digits may also mark thousands, and is not clear.
_WITH_COMMA = r"[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?"
_CLEAR_COMMA = r"[-+]?\d+,(?:\d{1,2}|\d{4,})(?:[eE][-+]?\d+)?"
_WHOLE = r"\d+\.0"
# Labels that are shown stay as they are written.
_SHOWN = frozenset({"model_a", "model_b", "judge"})
_BOOLEANS = {"True": True, "true": True, "False": False, "false": False}


def shown_value(value: Any) -> str:
    """Text of a value; whole numbers have no point, as in a column with a null."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def label_key(label: Any) -> str:
    """Key by which outcome labels are compared: without case, blanks and type."""
    return shown_value(label).strip().casefold()


def as_texts(column: pd.Series) -> pd.Series:
    """Return a column as text, in which what is missing stays missing."""
    texts = column.astype("str")
    # Before its third version pandas makes texts such as "nan" of what is missing.
    return texts.where(column.notna()) if texts.dtype == object else texts


def values_of_codes(values: list[Any], codes: NDArray[np.intp]) -> pd.Series:
    """Value of each code, in a column of the type that the values have in common.

    Parameters
    ----------
    values : list
        Value of each code from zero; all are in use.
    codes : ndarray of shape (n_rows,)
        Codes; -1 is missing.

    Returns
    -------
    Series of shape (n_rows,)
    """
    # The type is inferred of the few values, not of the many rows.
    missing = [None] if (codes < 0).any() else []
    column = pd.Series([*values, *missing], dtype=object).infer_objects()
    data = arrow_text(column)
    if data is None:
        return column.iloc[codes]
    few = CodedText.of_dictionary(data.dictionary_encode())
    return CodedText.of(few.codes.take(codes), few.texts).to_series()


def coded(column: pd.Series) -> tuple[NDArray[Any], list[Any]]:
    """Codes of the values of a column, and its different values in their order.

    Parameters
    ----------
    column : Series of shape (n_rows,)
        Column of any type.

    Returns
    -------
    codes : ndarray of shape (n_rows,)
        Code of each row, -1 where it is null, in integers that may be narrow.
    values : list
        Different values, without nulls.
    """
    found = coded_text(column)
    if found is not None:
        return found.codes, found.labels
    codes, values = pd.factorize(column, use_na_sentinel=True)
    return codes, values.tolist()


def distinct(column: pd.Series, *, nulls: bool = False) -> list[Any]:
    """Different values of a column in the order of its rows.

    Parameters
    ----------
    column : Series
        Column of any type.
    nulls : bool, default=False
        Whether a null is one of the values.

    Returns
    -------
    list
    """
    found = coded_text(column)
    if found is None:
        return list((column if nulls else column.dropna()).unique().tolist())
    if not nulls:
        return found.labels
    # A null as the column has it.
    missing = np.flatnonzero(found.codes < 0)[:1]
    return [*found.labels, *column.iloc[missing].tolist()]


def is_coded(column: pd.Series) -> bool:
    """Whether a column has categories that are texts."""
    is_category = isinstance(column.dtype, pd.CategoricalDtype)
    return is_category and coded_text(column) is not None


def with_texts(table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Turn columns of categories that are texts into columns of text.

    Parameters
    ----------
    table : DataFrame
        The table.
    names : iterable of str
        Columns to turn; the table need not have them.

    Returns
    -------
    DataFrame
    """
    due = [name for name in names if name in table and is_coded(table[name])]
    return table.assign(**{name: _labels_as_text(table[name]) for name in due})


def typed(table: pd.DataFrame, ids: set[str], *, from_text: bool) -> pd.DataFrame:
    """Give the columns of a table their types.

    Parameters
    ----------
    table : DataFrame
        Table as a format's ``read`` returns it.
    ids : set of str
        Columns of labels, which become text.
    from_text : bool
        Whether all cells are text, so that numbers must be parsed.

    Returns
    -------
    DataFrame
        The same columns, typed.
    """
    columns = {}
    for name in table.columns:
        column = table[name]
        # Columns that were made of others may have their type already.
        if from_text and not pd.api.types.is_numeric_dtype(column):
            column = _parsed(column, name, is_id=name in ids)
        elif name in ids:
            column = _labels_as_text(column)
        columns[name] = column
    return pd.DataFrame(columns, columns=table.columns)


def _whole_numbers(column: pd.Series) -> pd.Series:
    """Labels 17.0 as 17, where all end so: programs write them so beside empty cells.

    In another file of the same prompts they are 17.
    """
    known = column.dropna()
    for labels in (known.head(10), known):
        if not labels.str.fullmatch(_WHOLE).all():
            return column
    return column.str.removesuffix(".0")


def _parsed(column: pd.Series, name: str, *, is_id: bool) -> pd.Series:
    """Give a column of text its type."""
    missing = column == ""
    if is_id:
        # A label may be called "NA": only an empty cell is missing.
        column = column.mask(missing)
        return column if name in _SHOWN else _whole_numbers(column)
    # Arrow parses most columns of numbers fast; the code below handles all others.
    whole = _numbers_by_arrow(column)
    if whole is not None:
        return whole
    missing = column.isin(_MISSING)
    values = column[~missing]
    if name.endswith(("_a", "_b")) or name == "winner":
        if _has_decimal_commas(values, name):
            return pd.to_numeric(column.mask(missing).str.replace(",", "."))
    # Parse distinct texts only: outcomes and judges are few texts in many rows.
    codes, texts = pd.factorize(values)
    numbers = pd.to_numeric(pd.Series(texts), errors="coerce")
    is_number = numbers.notna().to_numpy()
    if is_number.all():
        return pd.to_numeric(column.mask(missing))
    if texts.isin(list(_BOOLEANS)).all():
        return column.mask(missing).map(_BOOLEANS)
    is_number = is_number[codes]
    if name[-2:] in ("_a", "_b") and is_number.mean() > 0.5:
        row = int(values.index[~is_number][0])
        warnings.warn(
            DataWarning(
                f"Column {name!r} is taken as text, not as a feature: row {row} holds "
                f"{column[row]!r}.",
                code="text-feature",
                subject=[name],
            ),
            stacklevel=4,
        )
    # In a column of text, "NA" and the like are text; only in ``shown_first`` they
    # mean an unknown order.
    return column.mask(missing if name == "shown_first" else column == "")


def _has_decimal_commas(values: pd.Series, name: str) -> bool:
    """Whether all values are numbers with a decimal comma, such as ``0,5``."""
    # A look at the first values saves the search where no value has a comma.
    head = values.head(100)
    head = head[head.str.contains(",", regex=False)]
    if not len(head) or not values.str.fullmatch(_WITH_COMMA).all():
        return False
    is_clear = bool(values.str.fullmatch(_CLEAR_COMMA).any())
    if not is_clear:
        warnings.warn(
            DataWarning(
                f"Column {name!r} is taken as text: the comma of {head.iloc[0]!r} may "
                "mark decimals or thousands.",
                code="unclear-commas",
                subject=[name],
            ),
            stacklevel=5,
        )
    return is_clear


def with_points(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Table in which numbers with a decimal comma have a point, where that is clear.

    Parameters
    ----------
    table : DataFrame
        Table as it is in the file.
    names : list of str
        Columns that may hold such numbers.

    Returns
    -------
    DataFrame
    """
    changed = {}
    for name in names:
        head = table[name].dropna().head(100).tolist()
        if not all(isinstance(cell, str) for cell in head) or not head:
            continue
        if not all(re.fullmatch(f"({_WITH_COMMA})?", cell.strip()) for cell in head):
            continue
        texts = table[name].astype("str").str.strip()
        filled = texts[texts.notna() & texts.ne("")]
        if filled.str.fullmatch(_WITH_COMMA).all() and (
            filled.str.fullmatch(_CLEAR_COMMA).any()
        ):
            changed[name] = texts.str.replace(",", ".", regex=False)
    return table.assign(**changed) if changed else table


def _numbers_by_arrow(column: pd.Series) -> pd.Series | None:
    """Numbers of a column of text, parsed by Arrow, which is fast; None if it fails."""
    import pyarrow as pa
    from pyarrow import compute

    texts = pa.array(column, type=pa.string(), from_pandas=True)
    missing = compute.is_in(texts, value_set=pa.array(sorted(_MISSING)))
    texts = compute.if_else(missing, pa.scalar(None, pa.string()), texts)
    # Arrow would also parse hexadecimal numbers, which are text here.
    if compute.any(compute.match_substring(texts, "x", ignore_case=True)).as_py():
        return None
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = compute.cast(texts, kind)
        except pa.ArrowInvalid:
            continue
        return pd.Series(numbers.to_numpy(zero_copy_only=False), index=column.index)
    return None


def _labels_as_text(column: pd.Series) -> pd.Series:
    """Column of labels as text; nulls stay missing."""
    if column.dtype == "str":
        return column
    try:
        codes, labels = pd.factorize(column)
    except TypeError:
        odd = next(label for label in column if not isinstance(label, Hashable))
        raise ValueError(
            f"column {column.name!r} holds {odd!r:.40}, a {type(odd).__name__}"
        ) from None
    names = [_label_text(label) for label in labels.tolist()]
    # Nulls have the code -1, which ``reindex`` does not find and makes missing.
    return pd.Series(names, dtype="str").reindex(codes).set_axis(column.index)


def _label_text(label: Any) -> str:
    """Text of one label."""
    return label.decode() if isinstance(label, bytes) else shown_value(label)
