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
from skanchor.io._layouts import Built, build
from skanchor.io._meanings import propose
from skanchor.io._roles import UNCLEAR, Decision
from skanchor.io._tables import FILE, Table, as_table
from skanchor.io._words import LAYOUTS, MEANINGS, outcome_key
from skanchor.io.atomic import write_atomically

VERSION = 1

_DECIDED = ("columns", "outcomes", "judges")
_SECTIONS = (*_DECIDED, "ignored", "models", "scale")


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
        Meaning of each distinct outcome.
    judges : dict of str to Decision
        Each label of a judge: ``"people"``, ``"judge"``, ``"judge: NAME"``, ``"drop"``.
    models : dict of str to str
        Other names of models.
    scale : dict of str to object or None
        What numbers mean: ``{"model_a": 7, "model_b": 1}`` for the ends of a scale, or
        ``{"sign": "model_a"}`` where positive ones favour that side.
    format : str
        Tool that wrote the table, or ``"table"``.
    source : str
        Name of the file, for messages.
    notes : tuple of str
        What helps to decide, such as all codings that numbers may have.

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
    models: dict[str, str] = field(default_factory=dict)
    scale: dict[str, Any] | None = None
    format: str = "table"
    source: str = "table"
    notes: tuple[str, ...] = ()

    # ------------------------------------------------------------------------ proposal
    @classmethod
    def propose(
        cls,
        frame: pd.DataFrame,
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
        return cls.of_table(table, columns, labels, human)

    @classmethod
    def of_table(
        cls,
        table: Table,
        columns: Dict[str, str] | None = None,
        labels: Dict[Any, Any] | None = None,
        human: Iterable[str] | None = None,
    ) -> Mapping:
        """Say what a table is taken for that was read from files.

        Parameters
        ----------
        table : Table
            The table.
        columns, labels, human
            As in :meth:`propose`.

        Returns
        -------
        Mapping
        """
        found = cls(**propose(table, columns or {}, labels or {}, human))
        found.check(table.source)
        return found

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
        for part in parts.keys() & {*_DECIDED}:
            new = {outcome_key(name): Decision(of) for name, of in parts[part].items()}
            parts[part] = {**getattr(self, part), **new}
        return replace(self, **parts)

    def of(self, source: str) -> Mapping:
        """The mapping with another name of its source, for messages.

        Parameters
        ----------
        source : str
            Files, as a command names them.

        Returns
        -------
        Mapping
        """
        return replace(self, source=source)

    # ---------------------------------------------------------------------------- shown
    @property
    def unclear(self) -> tuple[str, ...]:
        """What is not known, in words."""
        found = [f"what column {name!r} holds"
                 for name, one in self.columns.items() if one.is_open]  # fmt: skip
        found += [f"is {name!r} another name of a model?"
                  for name, one in self.models.items() if one == UNCLEAR]  # fmt: skip
        if self.scale is not None and UNCLEAR in self.scale.values():
            found.append("what the numbers among the outcomes mean")
        for value, one in self.outcomes.items():
            if one.is_open:
                rows = "" if one.rows is None else f" in {one.rows} rows"
                found.append(f"outcome {value!r}{rows}")
        names = [n for n, one in self.columns.items() if one.meaning == "judge"]
        names = [] if self.layout == "judges" else names[:1]
        asks = f"is {{!r}} in {names[0]!r} a person or a judge?" if names else (
            "is {!r} a person or a judge?")  # fmt: skip
        if names == [FILE]:
            asks = "no column says who decided in {!r}: people or a judge?"
        found += [asks.format(k) for k, one in self.judges.items() if one.is_open]
        return tuple(found)

    @property
    def table(self) -> pd.DataFrame:
        """Every decision as a row: part, name, meaning, rows and reason."""
        rows = [
            (part, name, one.meaning, one.rows, one.reason)
            for part in _DECIDED
            for name, one in getattr(self, part).items()
        ]
        rows += [("models", old, new, None, "") for old, new in self.models.items()]
        rows += [("scale", end, at, None, "") for end, at in (self.scale or {}).items()]
        names = ["part", "name", "meaning", "rows", "reason"]
        return pd.DataFrame(rows, columns=names).astype({"rows": "Int64"})

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
        ignored = {n: d for n, d in self.columns.items() if d.meaning == "ignored"}
        used = {n: d for n, d in self.columns.items() if n not in ignored}
        for title, part in (("columns", used), ("outcomes", self.outcomes),
                            ("judges", self.judges)):  # fmt: skip
            lines += ["", f"[{title}]"]
            for name, one in part.items():
                rows = f"{one.rows} rows: " if one.rows is not None else ""
                why = "".join(c if c.isprintable() else " " for c in rows + one.reason)
                lines.append(f"{_quoted(name)} = {_quoted(one.meaning)}  # {why}")
        reasons = {name: one.reason for name, one in ignored.items()}
        for title, values in (("ignored", reasons), ("models", self.models),
                              ("scale", self.scale)):  # fmt: skip
            if values:
                lines += ["", f"[{title}]"]
                lines += [f"{_quoted(k)} = {_quoted(v)}" for k, v in values.items()]
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
        odd = set(record) - {"layout", "format", *_SECTIONS}
        if odd:
            raise BattlesError(f"{where}: has the unknown sections {sorted(odd)}.")
        if any(not isinstance(record.get(part, {}), dict) for part in _SECTIONS):
            raise BattlesError(f"{where}: {', '.join(_SECTIONS)} must be tables.")
        ignored = record.pop("ignored", {}).items()
        for part in _DECIDED:
            decisions = record.get(part, {}).items()
            record[part] = {name: Decision(meaning) for name, meaning in decisions}
        for name, why in ignored:
            record["columns"][name] = Decision("ignored", str(why))
        found = cls(**{"layout": "", **record})
        found.check(where)
        return found

    def check(self, where: str) -> None:
        """Refuse roles and meanings that do not exist."""
        if self.layout not in LAYOUTS:
            raise BattlesError(
                f"{where}: {self.layout!r} is no layout; the layouts are "
                f"{', '.join(LAYOUTS)}."
            )
        for part, meanings in MEANINGS.items():
            for name, one in getattr(self, part).items():
                meaning = one.meaning
                number = isinstance(meaning, (int, float)) and 0 <= meaning <= 1
                named = str(meaning).startswith(("keep as ", "judge: "))
                if not (meaning in meanings or one.is_open or named or number):
                    raise BattlesError(
                        f"{where}: {name!r} in [{part}] has the unknown meaning "
                        f"{meaning!r}; it may be {', '.join(meanings)}."
                    )

    # ---------------------------------------------------------------------------- apply
    def apply(
        self, frame: pd.DataFrame
    ) -> tuple[pd.DataFrame, pd.Series, pd.Series | None]:
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
        return self.built(as_table(frame, self.format))

    def built(self, table: Table) -> Built:
        """Apply the mapping to a table that has been read."""
        self.check(self.source)
        if self.unclear:
            inspect, rank = self.commands
            n = len(self.unclear)
            some = "; ".join(self.unclear[:4])
            some += f"; and {n - 4} more" if n > 4 else ""
            raise BattlesError(
                f"{table.files}: {n} {'things are' if n > 1 else 'thing is'} unclear "
                f"({some}). Write {'them' if n > 1 else 'it'} into a mapping: "
                f"{inspect}, then {rank}."
            )
        names = [*table.frame.columns, FILE]
        lacking = [name for name in self.columns if name not in names]
        more = [name for name in names[:-1] if name not in {*self.columns, FILE}]
        said = [f"lacks {lacking[:5]}"] * bool(lacking)
        said += [f"also has {more[:5]}"] * bool(more)
        if said:
            raise BattlesError(
                f"{table.files}: the mapping is for another table: this one "
                f"{' and '.join(said)}."
            )
        return build(table, self)


def _quoted(value: Any) -> str:
    """Value as TOML writes it."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = json.dumps(str(value), ensure_ascii=False)
        return text.replace("\x7f", "\\u007f")
    return repr(value)
