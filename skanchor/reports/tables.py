"""Tables as people read them: headings and rounding, the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from unicodedata import combining, east_asian_width

import numpy as np
import pandas as pd

from skanchor._text import printable

HEADINGS = {
    "n_human": "Human rows",
    "n_judge": "Judge rows",
    "win_probability": "Chance to win",
    "p_adjusted": "Adjusted p",
    "true_score": "Score by votes",
    "judged_score": "Score by judges",
    "true_rank": "Rank by votes",
    "judged_rank": "Rank by judges",
    "z": "Miss in s.e.",
    "side": "It is",
    "gamma": "Favour",
    "gamma_interval": "In doubt from",
    "gamma_sign": "Reversed from",
    "ratio_item_sd": "Item effects",
    "ratio_favour": "Recorded favours",
    "ratio_position": "Position effects",
    "k": "Needed",
    "t": "t",
    "rmse": "Error",
}
"""Headings of columns whose names do not say what they are."""

SHARES = {
    *("win_probability", "agreement", "first_side_rate", "both_orders", "share"),
    *("probability", "exact", "held", "compatible", "ties"),
}
"""Columns in percent, but for whole numbers and truth values."""

WORDS = {
    *("side", "opponent", "decision", "weakest_judge", "source", "status", "meaning"),
    *("reason", "judge", "model_b"),
}
"""Columns that are aligned on the left."""

DISPENSABLE = ("Judge rows", "Human rows", "Standard error")
"""Columns that a narrow terminal leaves out, in the order in which they go."""

NAMED = 6
"""Largest number of names in a sentence."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column names its rows.

    Attributes
    ----------
    name, caption : str
        Target of links to the table, and what it shows.
    texts : DataFrame
        What the cells show, by headings.
    is_number : sequence of bool
        Whether each column has numbers, which are aligned on the right.
    marked : sequence of bool
        Whether each row is of a new model; empty if none is.
    bars : DataFrame, optional
        For each row, ``start``, ``end`` and ``value`` of an interval and a ``middle``
        for reference, in percent of the width of an axis that all rows share.
    """

    name: str
    caption: str
    texts: pd.DataFrame
    is_number: Sequence[bool]
    marked: Sequence[bool] = ()
    bars: pd.DataFrame | None = None

    @classmethod
    def of(
        cls,
        name: str,
        frame: pd.DataFrame,
        caption: str = "",
        *,
        digits: int = 2,
        **more: Any,
    ) -> Self:
        """Turn a DataFrame into a table as people read it.

        Parameters
        ----------
        name : str
            Target of links.
        frame : DataFrame
            The columns to show; its index names the rows.
        caption : str
            What the table shows.
        digits : int, default=2
            Decimals of numbers.
        **more : object
            Further attributes of the table.

        Returns
        -------
        Table
        """
        rows = [f"{n:.3f}" if isinstance(n, float) else label(n) for n in frame.index]
        texts = {str(frame.index.name or "").replace("_", " ").capitalize(): rows}
        is_number = [False]
        for key, column in frame.items():
            form: Any = digits
            if key in SHARES or key == "p_adjusted":
                form = "share" if key in SHARES else "p"
            elif column.dtype == float and not (column[np.isfinite(column)] % 1).any():
                # Numbers of rows, some of them infinite or unknown.
                form = 0
            heading = str(key).replace("_", " ").capitalize()
            heading = HEADINGS.get(str(key), heading)
            texts[heading] = [text_of(value, form) for value in column]
            is_number.append(key not in WORDS)
        return cls(name, label(caption), pd.DataFrame(texts), is_number, **more)

    def to_markdown(self) -> str:
        """The table in Markdown, new models bold, below its caption; needs tabulate."""
        safe = self.texts.map(
            lambda text: text.replace("\\", r"\\").replace("|", r"\|")
        )
        if any(self.marked):
            names = zip(safe.iloc[:, 0], self.marked, strict=True)
            bold = [f"**{name}**" if is_new else name for name, is_new in names]
            safe = safe.assign(**{safe.columns[0]: bold})
        aligned = ["right" if one else "left" for one in self.is_number]
        text = safe.to_markdown(index=False, disable_numparse=True, colalign=aligned)
        caption = self.caption + "; new models are bold" * any(self.marked)
        return f"{caption}\n\n{text}\n" if caption else f"{text}\n"

    def to_latex(self) -> str:
        """The table in LaTeX, new models bold, with rules of booktabs.

        Its caption is a comment.
        """
        shown = self.texts.style.hide(axis="index").format(escape="latex")
        if any(self.marked):
            marks = ["textbf: --rwrap" if is_new else "" for is_new in self.marked]
            shown = shown.apply(lambda names: marks, subset=[self.texts.columns[0]])
        text: str = shown.format_index(escape="latex", axis=1).to_latex(
            hrules=True, column_format="".join("lr"[one] for one in self.is_number)
        )
        return f"% {self.caption}\n{text}" if self.caption else text

    def to_text(self, width: int | None = None, coloured: bool = False) -> str:
        """The table for a terminal, new models with a star.

        Parameters
        ----------
        width : int, optional
            Characters in a line. `DISPENSABLE` columns go until the table fits; names
            and numbers are never broken. None leaves lines as long as they are.
        coloured : bool, default=False
            Whether new models are bold and green.

        Returns
        -------
        str
            Lines without trailing blanks.
        """
        gone: list[str] = []
        lines = self._lines(gone)
        for name in DISPENSABLE:
            if width is None or max(map(_cells, lines)) <= width:
                break
            if name in self.texts:
                gone.append(name)
                lines = self._lines(gone)
        if coloured:
            # Rows come last.
            for at, is_new in enumerate(self.marked, len(lines) - len(self.texts)):
                lines[at] = f"\x1b[1;32m{lines[at]}\x1b[0m" if is_new else lines[at]
        if gone:
            left_out = [name for name in self.texts if name in gone]
            lines += ["", f"Columns left out: {', '.join(left_out)}"]
        return "\n".join(lines)

    def _lines(self, gone: Sequence[str]) -> list[str]:
        """Lines of headings, a rule, and the rows, without some columns."""
        columns: list[tuple[list[str], list[str], bool]] = []
        for heading, is_number in zip(self.texts, self.is_number, strict=True):
            if heading in gone:
                continue
            texts = self.texts[heading].tolist()
            # Each word of a heading has a line, but for the names of the rows.
            words = str(heading).split() if columns else [str(heading)]
            if not columns and any(self.marked):
                marks = ["* " if is_new else "  " for is_new in self.marked]
                texts = [mark + text for mark, text in zip(marks, texts, strict=True)]
            columns.append((words, texts, is_number))
        height = max(len(words) for words, *_ in columns)
        filled = []
        for words, texts, is_number in columns:
            cells = [*[""] * (height - len(words)), *words, *texts]
            wide = max(map(_cells, cells))
            blanks = [" " * (wide - _cells(cell)) for cell in cells]
            filled.append(
                [blank + cell if is_number else cell + blank
                 for cell, blank in zip(cells, blanks, strict=True)]
            )  # fmt: skip
        rows = ["  ".join(row) for row in zip(*filled, strict=True)]
        lines = [*rows[:height], "─" * _cells(rows[0]), *rows[height:]]
        return [line.rstrip() for line in lines]


def _cells(text: str) -> int:
    """Number of cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    # Marks take no cell of their own, and letters of East Asia take two.
    return sum(
        0 if combining(letter) else 1 + (east_asian_width(letter) in "WF")
        for letter in text
    )


# ------------------------------------------------------------------------------ cells
def text_of(value: Any, form: Any = 2) -> str:
    """What a cell shows.

    ``form`` is a number of decimals, which numbers above 100 do not have, or "share"
    (in percent) or "p".
    """
    if value is None or value is pd.NA or value != value:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, str):
        return label(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if form == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    if isinstance(value, (int, np.integer)):
        text = str(value)
    elif form == "share":
        # 0 and 100 % only for shares that are exactly that.
        shown = round(100 * value)
        text = f"{min(max(shown, 1), 99) if 0 < value < 1 else shown} %"
    elif abs(value) >= 100:
        text = f"{value:,.0f}"
    else:
        # Adding zero turns -0.0 into 0.0, so that "-0.00" is never shown.
        text = f"{round(value, form) + 0.0:.{form}f}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in percent, with all its digits."""
    return f"{100 * share:.6g} %"


def label(name: Any) -> str:
    """A name as it is shown: on one line, with control characters visible."""
    return printable(str(name)).replace("\n", "\\n")


def intervals(table: pd.DataFrame, form: Any, low: str, high: str) -> pd.Series:
    """Both ends of each interval in one text."""
    ends = table[[low, high]].astype(object).map(lambda value: text_of(value, form))
    return ends[low] + " to " + ends[high]


def rank_sets(table: pd.DataFrame) -> list[str]:
    """Rank sets of a table with ``rank_low`` and ``rank_high``."""
    ends = zip(table["rank_low"], table["rank_high"], strict=True)
    return [f"{low}" if low == high else f"{low}–{high}" for low, high in ends]


def joined(names: Sequence[Any]) -> str:
    """Names with commas, and "and" before the last; only a few of many."""
    shown = [label(name) for name in names]
    if len(shown) > NAMED:
        shown = [*shown[: NAMED - 1], f"{len(shown) - NAMED + 1} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
