"""What the columns, outcomes and judges of a table are taken for: `Mapping`."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Iterable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._columns import Decision
from skanchor.io._layouts import LAYOUTS, build, fitting
from skanchor.io._proposal import propose
from skanchor.io._tables import FILE, as_table
from skanchor.io._words import MEANINGS, SHARES, UNCLEAR, outcome_key
from skanchor.io.atomic import write_atomically

VERSION = 1

_PARTS = ("columns", "outcomes", "judges", "models")


@dataclass(frozen=True)
class Mapping:
    """What a table is taken for: every column, outcome and judge, with the reasons.

    `propose` makes one of a table and decides nothing that its names and values leave
    open: such a meaning is ``"?"``. A mapping is shown, written to a file, edited
    there, and applied; `apply` refuses while a ``"?"`` is left.

    Attributes
    ----------
    layout : str
        How rows hold comparisons: ``"pairs"``, ``"winner and loser"``, ``"counts"``,
        ``"judges"`` (a column for each), ``"battles"`` (a row for each model and
        battle), ``"ratings"`` (a row for each response) or ``"scores"``.
    columns : dict of str to Decision
        Role of each column.
    outcomes : dict of str to Decision
        Meaning of each distinct outcome; ``"*"`` stands for many numbers.
    judges : dict of str to Decision
        Each label of a judge: ``"people"``, ``"judge"``, ``"judge: NAME"``, ``"drop"``.
    models : dict of str to Decision
        Other names of models.
    format : str
        Tool that wrote the table, or ``"table"``.
    source : str
        Name of the file, for messages.
    notes : tuple of str
        What helps to decide, such as all codings that numbers may have.
    path : str
        File that the mapping was read from, for messages.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor.io import Mapping
    >>> frame = pd.DataFrame({"left": ["owl"], "right": ["elk"], "vote": ["left"]})
    >>> mapping = Mapping.propose(frame.assign(annotator="ann"))
    >>> mapping.unclear
    ("is 'ann' in 'annotator' a person or a judge?",)
    >>> mapping = mapping.edited(judges={"ann": "people"})
    >>> X, y, counts = mapping.apply(frame.assign(annotator="ann"))
    >>> X.to_dict("records"), y.tolist()
    ([{'model_a': 'owl', 'model_b': 'elk', 'judge': 'human'}], ['model_a'])
    """

    layout: str
    columns: dict[str, Decision]
    outcomes: dict[str, Decision] = field(default_factory=dict)
    judges: dict[str, Decision] = field(default_factory=dict)
    models: dict[str, Decision] = field(default_factory=dict)
    format: str = "table"
    source: str = "table"
    notes: tuple[str, ...] = ()
    path: str = ""

    # ------------------------------------------------------------------------ proposal
    @classmethod
    def propose(
        cls,
        frame: Any,
        *,
        columns: Dict[str, str] | None = None,
        labels: Dict[Any, Any] | None = None,
        human: Iterable[str] | None = None,
        format: str = "auto",
        drop_invalid: bool = False,
    ) -> Mapping:
        """Say what a table is taken for.

        Parameters
        ----------
        frame : DataFrame
            The table as it is in a file.
        columns : dict of str to str, optional
            Roles of columns that are known, such as ``{"left": "model_a"}``.
        labels : dict, optional
            Meanings of outcomes that are known, such as ``{"draw": "tie"}``.
        human : iterable of str, optional
            Labels or patterns of people; all other labels are then judges.
        format : str, default="auto"
            Tool that wrote the table, or ``"table"`` for none.
        drop_invalid : bool, default=False
            Whether failed verdicts and empty cells are taken for no verdict.

        Returns
        -------
        Mapping
        """
        table = as_table(frame, format, drop_invalid=drop_invalid)
        mapping = cls(**propose(table, columns or {}, labels or {}, human))
        mapping.check(table.source)
        return mapping

    def edited(self, **parts: Any) -> Mapping:
        """Copy with other meanings, as an edited file has them.

        Parameters
        ----------
        **parts : dict
            Attributes by name, each with the entries that change, such as
            ``outcomes={"hm": "tie"}``; ``layout`` is a text.

        Returns
        -------
        Mapping
        """
        for part in parts.keys() & {*_PARTS}:
            new = {outcome_key(name): Decision(of) for name, of in parts[part].items()}
            parts[part] = {**getattr(self, part), **new}
        return replace(self, **parts)

    # ---------------------------------------------------------------------------- shown
    @property
    def unclear(self) -> tuple[str, ...]:
        """What is not known, in words."""
        column = next((n for n, d in self.columns.items() if d.meaning == "judge"), "")
        where = f" in {column!r}" if column and self.layout != "judges" else ""
        questions = []
        for part, name, one in self._open:
            rows = f" in {one.rows} row{'s' * (one.rows != 1)}" if one.rows else ""
            asks = {
                "columns": f"what column {name!r} holds",
                "outcomes": f"outcome {name!r}{rows}",
                "judges": f"is {name!r}{where} a person or a judge?",
                "models": f"is {name!r} another name of a model?",
            }
            if part == "outcomes" and name == SHARES:
                asks[part] = f"outcomes are {one.reason}"
            if part == "judges" and where and column == FILE:
                asks[part] = (
                    f"no column says who decided in {name!r}: people or a judge?"
                )
            questions.append(asks[part])
        return tuple(questions)

    @property
    def table(self) -> pd.DataFrame:
        """Every decision as a row: part, name, meaning, reason and rows."""
        names = ["part", "name", *Decision._fields]
        rows = [(part, name, *one) for part, name, one in self._decisions()]
        return pd.DataFrame(rows, columns=names).astype({"rows": "Int64"})

    def _decisions(self, *parts: str) -> list[tuple[str, str, Decision]]:
        """All decisions, or those of some parts, with their parts and names."""
        return [(part, name, one) for part in parts or _PARTS
                for name, one in getattr(self, part).items()]  # fmt: skip

    @property
    def _open(self) -> list[tuple[str, str, Decision]]:
        """Decisions that are not made."""
        return [row for row in self._decisions() if row[2].is_open]

    @property
    def commands(self) -> tuple[str, str]:
        """Commands that write the mapping of the source to a file, and use it."""
        words = shlex.split(self.source)
        stem = Path(words[0]).name.partition(".")[0] or "mapping"
        path = shlex.quote(f"{stem}.toml")
        # A mapping stands for the flags that edit what is proposed.
        edits = ("--columns", "--labels", "--human")
        end = next((n for n, w in enumerate(words) if w.startswith(edits)), len(words))
        return (
            f"skanchor inspect {self.source} -o {path}",
            f"skanchor rank {shlex.join(words[:end])} --mapping {path}",
        )

    # ---------------------------------------------------------------------------- files
    def to_toml(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the mapping as TOML, with the reasons as comments.

        Parameters
        ----------
        path : str or path, optional
            File to write, replaced as a whole.

        Returns
        -------
        str
            The text.
        """
        lines = [f"# What skanchor takes {self.source} for."]
        if self.unclear:
            lines.append('# Replace each "?" by a meaning.')
        lines += [f"# {note}" for note in self.notes]
        lines += [f"version = {VERSION}", f"layout = {_quoted(self.layout)}",
                  f"format = {_quoted(self.format)}"]  # fmt: skip
        for part in _PARTS:
            decisions = self._decisions(part)
            lines += ["", f"[{part}]"] if decisions else []
            for _, name, one in decisions:
                rows = f"{one.rows} rows: " if one.rows is not None else ""
                why = "".join(c if c.isprintable() else " " for c in rows + one.reason)
                lines.append(f"{_quoted(name)} = {_quoted(one.meaning)}  # {why}")
        text = "\n".join(lines) + "\n"
        if path is not None:
            write_atomically(path, text)
        return text

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a mapping from a file.

        Parameters
        ----------
        path : str or path
            File that `to_toml` has written, and that may have been edited.

        Returns
        -------
        Mapping
        """
        where = os.fspath(path)
        try:
            record = tomllib.loads(Path(path).read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BattlesError(f"{where}: is no TOML file ({error}).") from None
        if record.pop("version", None) != VERSION:
            raise BattlesError(f"{where}: is no mapping of version {VERSION}.")
        unknown = set(record) - {"layout", "format", *_PARTS}
        if unknown:
            raise BattlesError(f"{where}: has the unknown sections {sorted(unknown)}.")
        for part in record.keys() & {*_PARTS}:
            if not isinstance(record[part], dict):
                raise BattlesError(f"{where}: {part} must be a table.")
            decisions = record[part].items()
            record[part] = {name: Decision(meaning) for name, meaning in decisions}
        mapping = cls(**{"layout": "", "columns": {}, "path": where, **record})
        mapping.check(where)
        return mapping

    def check(self, where: str) -> None:
        """Refuse roles and meanings that do not exist."""
        if self.layout not in (*LAYOUTS, UNCLEAR):
            raise BattlesError(
                f"{where}: {self.layout!r} is no layout; the layouts are "
                f"{', '.join(LAYOUTS)}."
            )
        for part, name, one in self._decisions(*MEANINGS):
            meaning, meanings = one.meaning, MEANINGS[part]
            is_number = isinstance(meaning, (int, float)) and 0 <= meaning <= 1
            is_name = str(meaning).startswith(("keep as ", "judge: "))
            if not (meaning in meanings or one.is_open or is_name or is_number):
                raise BattlesError(
                    f"{where}: {name!r} in [{part}] has the unknown meaning "
                    f"{meaning!r}; it may be {', '.join(meanings)}."
                )

    # ---------------------------------------------------------------------------- apply
    def apply(self, frame: Any) -> tuple[pd.DataFrame, pd.Series, pd.Series | None]:
        """Turn a table into comparisons with standard names.

        Parameters
        ----------
        frame : DataFrame
            A table with the columns of the mapping.

        Returns
        -------
        X : DataFrame
            The comparisons, without their outcomes.
        y : Series
            The outcomes.
        counts : Series or None
            Number of comparisons that each row stands for, if they are counted.

        Raises
        ------
        BattlesError
            If a ``"?"`` is left, or if the mapping does not fit the table.
        """
        table = as_table(frame, self.format)
        self.check(table.source)
        self._refuse_unclear(table.files, list(table.frame.columns))
        names = [*table.frame.columns, FILE]
        lacking = [name for name in self.columns if name not in names]
        more = [name for name in names[:-1] if name not in {*self.columns, FILE}]
        differs = [f"lacks {lacking[:5]}"] * bool(lacking)
        differs += [f"also has {more[:5]}"] * bool(more)
        if differs:
            raise BattlesError(
                f"{table.files}: the mapping is for another table: this one "
                f"{' and '.join(differs)}."
            )
        return build(table, self)

    def _refuse_unclear(self, files: str, names: list[str]) -> None:
        """Refuse what is unclear, with the commands or the entries that decide it."""
        entries = [f"{_quoted(name)} in [{part}]" for part, name, _ in self._open]
        inspect, rank = self.commands
        roles = [one.meaning for one in self.columns.values()]
        if self.layout == UNCLEAR and not fitting(roles):
            shown = [name for name in names if name != FILE][:20]
            raise BattlesError(
                f"{files}: no columns are known to hold two models and who won. Its "
                f"columns are {shown}. If their names are unusual, give --columns "
                f"NAME=ROLE, or roles in a mapping ({inspect}); the page 'Reshape your "
                "file' has shapes that are read."
            )
        if not entries:
            return
        n, them = len(entries), "them" if len(entries) > 1 else "it"
        questions = "; ".join(self.unclear[:4]) + (f"; and {n - 4} more" * (n > 4))
        advice = f"Write {them} into a mapping: {inspect}, then {rank}."
        if self.path:
            advice = f"Change {', '.join(entries[:4])} of {self.path}."
        raise BattlesError(
            f"{files}: {n} {'things are' if n > 1 else 'thing is'} unclear "
            f"({questions}). {advice}"
        )


def _quoted(value: Any) -> str:
    """Value as TOML writes it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = json.dumps(str(value), ensure_ascii=False)
        return text.replace("\x7f", "\\u007f")
    return repr(value)
