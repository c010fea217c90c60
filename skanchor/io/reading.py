"""Battles from files: read, taken for what a mapping says, and given standard names."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pandas as pd

from skanchor.io._columns import as_text
from skanchor.io._several import read_tables
from skanchor.io.mapping import Mapping

Path = str | os.PathLike[str]


def read_battles(
    paths: Path | Sequence[Path],
    mapping: Mapping | Path | None = None,
    format: str | Sequence[str] = "auto",
    *,
    encoding: str | None = None,
    drop_invalid: bool = False,
) -> pd.DataFrame:
    """Read battles from one file or several, of an evaluation tool or a table.

    Parameters
    ----------
    paths : str, path or sequence of them
        CSV (also with tabs, semicolons or bars), JSON, JSON Lines, Parquet or Feather;
        text may be packed by gzip, bzip2, zstd or zip. Their kind is recognised by the
        first bytes. Several files become one table. ``"-"`` is standard input.
    mapping : Mapping or path, optional
        What the files hold. Without one, it is proposed, and refused if anything in it
        is unclear: see :class:`skanchor.io.Mapping`.
    format : str or sequence of str, default="auto"
        Name of the tool that wrote the files, such as ``"alpaca_eval"``; ``"table"``
        for none. ``"auto"`` recognises tools by their columns. A sequence has one for
        each file.
    encoding : str, optional
        Encoding such as ``"cp1252"``, of text that is neither UTF-8 nor UTF-16.
    drop_invalid : bool, default=False
        Leave out rows without a verdict, rows whose winner is not compared there, and
        lines that cannot be read; they are counted in a warning.

    Returns
    -------
    DataFrame
        The battles, as `split_battles` takes them: ``model_a``, ``model_b``, ``judge``
        (``"human"`` for people), ``winner``, and what else the files hold. ``count`` is
        the number of comparisons of a row of a table of wins. ``attrs["mapping"]`` is
        the mapping that was used.

    Raises
    ------
    BattlesError
        If a file cannot be read, if something in it is unclear, or if the mapping is
        for another one.
    OSError
        If a file cannot be opened.

    Warns
    -----
    DataWarning
        If rows or lines are left out, with their numbers.

    Examples
    --------
    >>> import tempfile
    >>> from skanchor import read_battles
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     size = file.write("left,right,evaluator,vote\\nowl,elk,human,left\\n")
    ...     file.flush()
    ...     table = read_battles(file.name)
    ...
    >>> table.to_dict("records")
    [{'model_a': 'owl', 'model_b': 'elk', 'judge': 'human', 'winner': 'model_a'}]
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if mapping is not None and not isinstance(mapping, Mapping):
        mapping = Mapping.from_toml(mapping)
    if mapping is not None and format == "auto":
        format = mapping.format
    table = read_tables(given, format, encoding, drop_invalid, coded=True)
    if mapping is None:
        mapping = Mapping.of_table(table)
    mapping = mapping.of(table.source)
    X, y, _ = mapping.built(table)
    for name in list(X.columns):
        X[name] = as_text(X[name])
    X.insert(list(X.columns).index("judge") + 1, "winner", as_text(y))
    X.attrs["mapping"] = mapping
    return X
