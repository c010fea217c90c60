"""Reading battles: files of all known formats become one table."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from skanchor._battles.features import other_side
from skanchor.exceptions import (
    AssumptionWarning,
    BattlesError,
    located,
)
from skanchor.io._encoding import likely_encodings
from skanchor.io._format import CODED, Format
from skanchor.io._lost_lines import BadLinesError
from skanchor.io._plain_tables import sources
from skanchor.io._plain_tables.cases import Case, undecided
from skanchor.io._plain_tables.names import quoted
from skanchor.io._plain_tables.nested import flattened
from skanchor.io._plain_tables.order import may_be_swapped
from skanchor.io._plain_tables.outcomes import holds_standard
from skanchor.io._plain_tables.plain import read_plain
from skanchor.io._plain_tables.refusals import no_battles
from skanchor.io._plain_tables.winners import may_be_tie_flag, refuse_losers_as_winners
from skanchor.io._progress import with_bar
from skanchor.io._request import Request, for_each_file
from skanchor.io._source import Source
from skanchor.io._tools._pandalm import joined_results, result_column
from skanchor.io._tools._reader import Reader
from skanchor.io._tools.recognition import reader_called, recognise
from skanchor.io.columns import is_coded, typed, with_texts
from skanchor.io.generic import (
    NEEDED,
    column_called,
    drop_failed,
    fail_invalid,
    relabelled,
    renamed,
    standard_names,
    without_blanks,
    without_empty_columns,
)
from skanchor.io.joined import COUNTED, join_tables, refuse_twice, with_counts
from skanchor.io.registry import format_of, refuse_other_kinds
from skanchor.warning_log import warn

PANDALM, RESULTS = "pandalm", "pandalm results"
"""Names of the formats of PandaLM's test set, and of a judge's results on it."""

_IDS = ("model_a", "model_b", "judge", "prompt_id", "rater")

_OF_EACH_FILE = ("path", "format", "judge")
"""Arguments that may differ from file to file."""

Path = str | os.PathLike[str]


def read_battles(
    path: Path | Sequence[Path],
    format: str | Sequence[str] = "auto",
    *,
    file_format: str | None = None,
    encoding: str | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[Any, Any] | None = None,
    models: Mapping[str, str] | None = None,
    judge: str | Sequence[str | None] | None = None,
    levels: Mapping[str, float] | None = None,
    tie_margin: float = 0.0,
    ratings: Sequence[str] | None = None,
    drop_invalid: bool = False,
    ids: Iterable[str] = (),
    verbose: int = 0,
) -> pd.DataFrame:
    """Read battles from one file or several, of an evaluation tool or a table.

    Parameters
    ----------
    path : str, path or sequence of them
        ``.csv``, ``.tsv`` or ``.jsonl`` (``.ndjson``, ``.json``), each also followed by
        ``.gz``, ``.bz2``, ``.zst`` or ``.zip``; ``.parquet`` (``.pq``) or ``.feather``
        (``.arrow``); ``"-"`` is standard input. Several files become one table. The
        name of a file is the judge of its rows where the file names none.
    format : str or sequence of str, default="auto"
        Name of the tool that wrote the files, such as ``"alpaca_eval"`` (the page on
        formats lists all), or ``"table"`` for a table with or without the standard
        columns. ``"auto"`` recognises tools by their columns, and reads other files as
        tables of battles or of ratings, in the one way that their names and values fit:
        the page on formats lists the names. What is assumed is warned of; a table that
        can be read in several ways is refused. A sequence gives one format for each
        file.
    file_format : str, optional
        File format such as ``"csv"``, where the suffix does not show it.
    encoding : str, optional
        Encoding such as ``"cp1252"``, of text that is neither UTF-8 nor UTF-16.
    columns : mapping from str to str, optional
        New names of columns, from the file's name to the standard one.
    labels : mapping, optional
        Outcome labels of tables, from the file's own to ``"model_a"``, ``"model_b"``,
        ``"tie"``, ``"both_bad"`` or a number in [0, 1]. ``""`` stands for empty cells.
    models : mapping from str to str, optional
        Other names of models and judges, such as ``{"GPT-4": "gpt-4"}`` where two names
        are one model's.
    judge : str or sequence of str, optional
        The judge of files that name none. A sequence gives one judge for each file,
        None where a file names its own. ``"human"`` means people.
    levels : mapping from str to float, optional
        Preferences that graded verdicts mean, such as ``{"A>B": 1.0, "B>A": 0.0}``. By
        default ``A>>B``, ``A>B``, ``A=B``, ``B>A``, ``B>>A`` are 1, 0.75, 0.5, 0.25, 0,
        and of tables without the first and the last ``A>B`` is 1. Of numbers, give the
        ends of their scale, such as ``{"1": 1.0, "7": 0.0}``.
    tie_margin : float, default=0.0
        Largest difference of two ratings that is a tie.
    ratings : sequence of str, optional
        Columns of ratings, one for each rater, of a table with a row for each response
        of a model to a prompt.
    drop_invalid : bool, default=False
        Leave out rows of tables whose outcome is empty or a failed verdict such as
        ``"error"``, ``"N/A"`` or -1 (those of tools are always left out), and bad lines
        of text: lines that are not JSON, or have not one cell for each column.
    ids : iterable of str, optional
        Further columns to read as text, such as a group column.
    verbose : int, default=0
        With 1, a bar on the standard error shows how much of a large file is read.

    Returns
    -------
    DataFrame
        The battles, as `split_battles` takes them. ``model_a``, ``model_b``, ``judge``,
        ``rater`` and ``prompt_id`` are text in every format: a model called "1" or
        "NA" keeps its name, and only an empty cell or a null is missing. ``winner`` is
        text, too, unless it holds only numbers. Other columns of a CSV that hold only
        numbers (or markers of missing ones, such as "NA") are numeric. Names of
        standard columns are matched without case and blanks around them. In tables of
        wins, ``count`` is the number of comparisons of a row: fit with
        ``sample_weight=X["count"]`` and ``weights="frequency"``. ``attrs["formats"]``
        has the format as which each file was read, ``attrs["assumed"]`` by file what
        was assumed.

    Raises
    ------
    BattlesError
        If the format is unknown or ambiguous, or if a file is not of the format that
        its suffix names.
    OSError
        If a file cannot be opened.

    Warns
    -----
    AssumptionWarning
        If names or values of a table were read in the one way that fits.
    DataWarning
        If failed verdicts are left out, with counts by judge and model, or if lines
        cannot be read, with their numbers.

    Examples
    --------
    >>> import tempfile
    >>> from skanchor import read_battles
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     size = file.write("left,right,winner\\nowl,elk,left\\n")
    ...     file.flush()
    ...     table = read_battles(file.name)
    >>> table.attrs["formats"].popitem()[1]
    'evalica'
    >>> table.to_dict("records")
    [{'model_a': 'owl', 'model_b': 'elk', 'winner': 'model_a'}]
    """
    given = {
        "path": _plain_path(path),
        "format": format if isinstance(format, str) else list(format),
        "file_format": file_format,
        "encoding": encoding,
        "columns": dict(columns or {}),
        "labels": dict(labels or {}),
        "models": dict(models or {}),
        "judge": judge,
        "levels": dict(levels or {}),
        "tie_margin": tie_margin,
        "ratings": list(ratings or ()),
        "drop_invalid": drop_invalid,
    }
    return read_given(given, frozenset(ids), verbose)


def read_given(
    given: Mapping[str, Any],
    ids: Iterable[str] = (),
    verbose: int = 0,
    *,
    codes: bool = False,
) -> pd.DataFrame:
    """Read battles with the arguments of :func:`read_battles` in a mapping.

    Parameters
    ----------
    given : mapping from str to object
        Arguments by name; those that are missing have their defaults.
    ids, verbose
        As there.
    codes : bool, default=False
        Whether models, judges and outcomes may be categories, not text, which saves
        much time and memory where only their codes are needed. They are where one file
        with standard names and outcomes holds them as codes, and nothing else is given.

    Returns
    -------
    DataFrame
    """
    usual = {"format": "auto", "tie_margin": 0.0, "drop_invalid": False}
    given = {
        name: value
        for name, value in given.items()
        if name == "path" or (value and value != usual.get(name))
    }
    return _read(given, ids, verbose, codes and [*given] == ["path"])


def _plain_path(path: Path | Sequence[Path]) -> Any:
    """Path as text, or paths as a list of texts."""
    one = isinstance(path, (str, os.PathLike))
    return os.fspath(path) if one else list(map(os.fspath, path))  # type: ignore[arg-type]


def _read(
    given: Mapping[str, Any], ids: Iterable[str], verbose: int, codes: bool
) -> pd.DataFrame:
    """Read battles with the arguments that a user has given to `read_battles`."""
    path, judge, columns = given["path"], given.get("judge"), given.get("columns", {})
    paths = [path] if isinstance(path, str) else path
    tie_margin = given.get("tie_margin", 0.0)
    if not paths:
        raise BattlesError("No file is given to read battles from.")
    if not tie_margin >= 0.0:
        raise ValueError(f"tie_margin must not be negative, got {tie_margin!r}.")
    known = {n: value for n, value in given.items() if n not in _OF_EACH_FILE}
    request = Request(
        **{**known, "levels": {str(k): v for k, v in given.get("levels", {}).items()}},
        verbose=verbose,
        ids={*_IDS, *ids, *(new for old, new in columns.items() if old in ids)},
        codes=codes and len(paths) == 1,
    )
    judges = for_each_file(judge, len(paths), "judges")
    refuse_twice(paths)
    refuse_losers_as_winners(columns, {**request.labels, **request.levels})
    tools = for_each_file(given.get("format", "auto"), len(paths), "formats")
    several = len(paths) > 1
    # Whether the user named the judge of each file: then a file's own must agree.
    told_each = several and not isinstance(judge, str) and len(set(judges)) > 1
    tables = [
        _read_file(Source.of(each), tool, request, name, several, told_each)
        for each, tool, name in zip(paths, tools, judges, strict=True)
    ]
    tables = _with_results(tables, request)
    request.refuse_leftovers(judge)
    table = with_counts(join_tables(tables), request.formats.values())
    table, said = without_blanks(table)
    if said:
        request.assumed.setdefault(", ".join(paths), []).extend(said)
        warn(
            AssumptionWarning(
                f"{', '.join(paths)}: {'; '.join(said)}.",
                code="blanks-in-labels",
                subject=(),
            ),
            stacklevel=5,
        )
    table.attrs["formats"] = request.formats
    table.attrs["assumed"] = request.assumed
    return table


def _read_file(
    source: Source,
    tool: str,
    request: Request,
    judge: str | None,
    several: bool,
    told_each: bool,
) -> pd.DataFrame:
    """Read the battles of one file; ``request`` records what was used."""
    known = format_of(source, request.file_format)
    where = source.label
    with with_bar(source, request.verbose) as watched:
        raw = _load(watched, known, request)
    request.saw_file(known, raw.columns)
    with located(where):
        # Names that the file has not may be those of fields in its cells.
        inner = {
            old: new
            for old, new in request.columns.items()
            if column_called(raw.columns, old) is None
        }
        raw = renamed(raw, request.columns)
        if tool == "auto" and several and result_column(raw) is not None:
            # The pairs are in another file: `_with_results` joins them.
            name = judge if judge is not None else _judge_of(source, judge)
            request.used_judge = True
            request.formats[source.path] = RESULTS
            return raw.assign(judge=name)
        reader, kind = _reader(raw, tool), "table"
        if request.codes and not (reader is None and _is_standard(raw)):
            # Other names and outcomes are looked for in texts.
            request.codes, raw = False, with_texts(raw, CODED)
        if reader is None and tool == "auto":
            if inner:
                raw = flattened(raw)
                request.saw_file(known, raw.columns)
                raw = renamed(raw, inner)
            table, kind = _of_plain(raw, request, where, from_text=known.is_text)
        elif reader is None:
            table = _as_table(standard_names(raw), request, from_text=known.is_text)
        else:
            table = _of_tool(raw, reader, request, where)
    request.formats[source.path] = kind if reader is None else reader.name
    if reader is None and tool == "auto" and several and judge is None:
        table = _with_source(table, source, request)
    if "judge" not in table and (
        judge is not None or several or (reader is not None and reader.needs_judge)
    ):
        table.insert(0, "judge", _judge_of(source, judge))
        request.used_judge = True
    elif judge is not None and told_each:
        _check_judge(table["judge"], judge, where)
    if reader is not None or request.drop_invalid:
        table = drop_failed(table, where)
    return request.merged(table)


def _is_standard(raw: pd.DataFrame) -> bool:
    """Whether names and outcomes are standard ones."""
    return {*NEEDED} <= {*raw.columns} and holds_standard(raw["winner"])


def _reader(raw: pd.DataFrame, tool: str) -> Reader | None:
    """The reader of the tool that wrote a file; None for a table."""
    if tool == "table":
        return None
    if tool != "auto":
        return reader_called(tool)
    found = recognise(raw)
    names = list(raw.columns)
    if found is not None and found.name == "evalica":
        # A tool that writes no more than a table does, where more columns matter.
        more = [*may_be_swapped(names), *may_be_tie_flag(names)]
        more += filter(sources.is_people_flag, names)
        return None if more else found
    return found


_MOST_BYTES = 1 << 24
"""Bytes of a file that are searched for its encoding."""

_DAMAGED = (EOFError, zipfile.BadZipFile, zlib.error)
"""Exceptions of damaged compressed files, besides ValueError and OSError."""


def _load(source: Source, known: Format, request: Request) -> pd.DataFrame:
    """The raw table of a file, without blanks around names of columns."""
    try:
        refuse_other_kinds(source, known)
        codes = known.read_codes if request.codes else None
        read = known.read if codes is None else codes
        raw = read(source, request.encoding, request.drop_invalid)
        raw.columns = [str(name).strip() for name in raw.columns]
        raw = without_empty_columns(raw)
        if raw.columns.has_duplicates:
            twice = raw.columns[raw.columns.duplicated()].tolist()
            raise ValueError(f"the columns {twice} occur more than once.")
    except (ValueError, TypeError, OSError, pa.ArrowException, *_DAMAGED) as error:
        cause = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise undecided(
            f"{source.label}: not readable as {known.name}: {cause}.",
            _advice(error, source),
        ) from error
    return raw


def _advice(error: Exception, source: Source) -> list[Case | str]:
    """Advice on a file that cannot be read."""
    if isinstance(error, BadLinesError) and error.may_be_dropped:
        return ["Leave such lines out with drop_invalid=True."]
    if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
        data = source.head(_MOST_BYTES)
        if len(data) == _MOST_BYTES:
            data = data[: data.rfind(b"\n") + 1]
        return [
            Case({"encoding": name}, f"If it has the line {line.strip()[:60]!r}")
            for name, line in likely_encodings(data).items()
        ]
    return []


def _with_results(tables: list[pd.DataFrame], request: Request) -> list[pd.DataFrame]:
    """Join results that refer to the pairs of another file by their ``idx``."""
    if RESULTS not in request.formats.values():
        return tables
    found, formats = [], list(request.formats.items())
    pairs = [
        table
        for table, (_, kind) in zip(tables, formats, strict=True)
        if kind == PANDALM
    ]
    for table, (path, kind) in zip(tables, formats, strict=True):
        if kind != RESULTS:
            found.append(table)
            continue
        with located(path):
            if not pairs:
                raise no_battles(table, NEEDED)
            joined = joined_results(table, pd.concat(pairs))
            found.append(drop_failed(joined.assign(judge=table["judge"]), path))
    return found


def _of_plain(
    raw: pd.DataFrame, request: Request, where: str, *, from_text: bool
) -> tuple[pd.DataFrame, str]:
    """Battles of a file that no tool wrote, in the one way that fits, and its kind."""
    found = read_plain(
        raw,
        lambda table: _with_types(table, request, from_text=from_text),
        labels=request.labels,
        levels=request.levels,
        ratings=request.ratings or None,
        tie_margin=request.tie_margin,
        drop_invalid=request.drop_invalid,
    )
    if found.outcomes is None:
        request.saw_ratings()
        if not pd.api.types.is_numeric_dtype(found.table["winner"]):
            found.table["winner"] = found.table["winner"].astype("str")
    else:
        request.saw_outcomes(found.outcomes)
    if found.says:
        request.assumed[where] = list(found.says)
        warn(
            AssumptionWarning(
                f"{where}: {'; '.join(found.says)}.", code="table-read-as"
            ),
            stacklevel=6,
        )
    return found.table, COUNTED if found.counted else "table"


def _with_source(table: pd.DataFrame, source: Source, request: Request) -> pd.DataFrame:
    """Say of a column that may name judges or people which it is, by the file's name.

    Of several files, one without a column ``judge`` names its judge.
    """
    found = sources.who_columns(table.columns)
    if "judge" in table or not found:
        return table
    labels = table[found[0]].dropna().unique().tolist()
    if len(found) > 1 or (len(labels) > 1 and not sources.human_like([source.stem])):
        with located(source.label):
            partial = sources.partial_labels(table, found[0])
            raise sources.judge_or_people(found, labels, partial)
    role = "judge" if len(labels) == 1 else "rater"
    if role in table:
        return table
    said = f"{found[0]!r} names {'the judge' if role == 'judge' else 'people'}"
    request.assumed.setdefault(source.label, []).append(said)
    warn(
        AssumptionWarning(
            f"{source.label}: {said}.", code="column-of-labels", subject=[found[0]]
        ),
        stacklevel=6,
    )
    return table.rename(columns={found[0]: role})


def _with_types(
    raw: pd.DataFrame, request: Request, *, from_text: bool
) -> pd.DataFrame:
    """Table whose columns have their types, those of labels text."""
    ids = {column_called(raw.columns, name) or name for name in request.ids}
    # As texts, one side of a feature would be of another type than the other.
    ids -= {name for name in ids if {other_side(name)} & set(raw.columns) - ids}
    if request.codes:
        ids -= {name for name in CODED if name in raw and is_coded(raw[name])}
    try:
        return typed(raw, ids, from_text=from_text)
    except (TypeError, ValueError) as error:
        raise BattlesError(f"the labels cannot be read: {error}.") from error


def _as_table(raw: pd.DataFrame, request: Request, *, from_text: bool) -> pd.DataFrame:
    """Typed table of a file read as it is, with outcomes relabelled."""
    table = _with_types(raw, request, from_text=from_text)
    if "winner" in table:
        request.saw_outcomes(table["winner"])
        if request.labels:
            table = relabelled(table, request.labels)
        if request.drop_invalid:
            table = fail_invalid(table)
    return table


def _of_tool(
    raw: pd.DataFrame, reader: Reader, request: Request, where: str
) -> pd.DataFrame:
    """Battles of a file that a tool wrote."""
    # A user may name a tool whose columns the file does not have.
    absent = [marks - set(raw.columns) for marks in reader.markers]
    if absent and all(absent):
        raise BattlesError(
            f"This is no file of {reader.name!r}, which has the columns "
            f"{sorted(reader.markers[0])}; it has {list(raw)[:20]}."
        )
    request.saw_tool(reader)
    options = reader.options(request.levels, request.tie_margin)
    try:
        table = reader.read(raw, options)
        _say_left_out(table.attrs.pop("left_out", []), raw, request, where)
        return typed(table, request.ids, from_text=False)
    except KeyError as error:
        raise BattlesError(
            f"A file of {reader.name!r} has the column {error.args[0]!r}; this one has "
            f"{list(raw)[:20]}."
        ) from error


def _say_left_out(
    names: Sequence[str], raw: pd.DataFrame, request: Request, where: str
) -> None:
    """Say which columns a tool's reader has left out; warn of those of features."""
    if not names:
        return
    said = f"{quoted(names)} {'is' if len(names) == 1 else 'are'} not read"
    request.assumed.setdefault(where, []).append(said)
    numbers = raw[list(names)].select_dtypes("number").columns.tolist()
    if any(name.casefold().endswith(("_a", "_b")) for name in numbers):
        warn(
            AssumptionWarning(
                f"{said}, and so are no features.",
                code="columns-not-read",
                subject=names,
            ),
            stacklevel=6,
        )


def _check_judge(judges: pd.Series, given: str, where: str) -> None:
    """Refuse a judge given by the user that differs from the file's own."""
    own = [name for name in judges.unique().tolist() if name != given]
    if own:
        raise BattlesError(
            f"{where}: its judge is given as {given!r}, but column 'judge' holds "
            f"{own[:5]}."
        )


def _judge_of(source: Source, judge: str | None) -> str:
    """Name of the judge of a file that names none."""
    if judge is None and source.is_nameless:
        raise BattlesError(f"{source.label} has no column 'judge': name the judge.")
    return judge if judge is not None else source.stem
