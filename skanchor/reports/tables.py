"""Tables as people read them: columns, headings and rounding, the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import pandas as pd

from skanchor._text import printable

if TYPE_CHECKING:
    from rich.table import Table as Grid

COLUMNS: dict[str, dict[str, tuple[str, Any]]] = {
    "board": {
        "rank": ("Rank", 0),
        "rank_set": ("Rank set", 0),
        "score": ("Score", "scale"),
        "standard_error": ("Standard error", "scale"),
        "interval": ("Interval", "scale"),
        "n_human": ("Human rows", 0),
        "n_judge": ("Judge rows", 0),
    },
    "contrasts": {
        "win_probability": ("Chance to win", "share"),
        "win_interval": ("Interval", "share"),
        "difference": ("Score difference", "scale"),
        "p_adjusted": ("Adjusted p", "p"),
        "decision": ("Decision", "text"),
    },
    "errors": {
        "half_width": ("Half width", "scale"),
        "human": ("Votes", "share"),
        "judge": ("Single verdicts", "share"),
        "cross": ("Shared groups", "share"),
        "items": ("Item effects", "share"),
        "verdicts": ("With more verdicts", "scale"),
        "judges": ("With new judges", "scale"),
        "votes": ("Votes to halve it", "about"),
    },
    "favours": {
        "side": ("It is", "text"),
        "opponent": ("Opponent", "text"),
        "gamma_interval": ("In doubt from", "favour"),
        "gamma_sign": ("Reversed from", "favour"),
        "weakest_judge": ("Most by", "text"),
        "weakest_gamma": ("By it alone", "favour"),
        "ratio_item_sd": ("Item effects", 1),
        "ratio_favour": ("Recorded favours", 1),
        "ratio_position": ("Position effects", 1),
    },
    "sensitivity": {
        "gamma": ("Favour", 2),
        "low": ("Low", 2),
        "high": ("High", 2),
        "rank_low": ("Best rank", 0),
        "rank_high": ("Worst rank", 0),
    },
    "worth": {
        "verdicts": ("Verdicts", 0),
        "replaces": ("Replace", 0),
        "alone": ("Alone", 0),
        "next_verdict": ("One more", 3),
        "never_more": ("Never more than", 0),
    },
    "outlook": {
        "votes": ("Votes", "rows"),
        "verdicts": ("Verdicts", "rows"),
        "both": ("Of each", "rows"),
    },
    "design": {
        "source": ("Source", "text"),
        "opponent": ("Opponent", "text"),
        "rows": ("Rows", 0),
        "spend": ("Cost", 2),
        "gain": ("Gain (1e-6)", 2),
    },
    "fragility": {
        "difference": ("Difference", 2),
        "t": ("t", 1),
        "allowed": ("Rows", 0),
        "first_order": ("First order", "search"),
        "re_solved": ("Re-solved", "search"),
        "k": ("Needed", "search"),
        "share": ("Share", "fraction"),
        "status": ("Result", "text"),
    },
    "rows": {
        "model_b": ("model_b", "text"),
        "judge": ("judge", "text"),
        "outcome": ("outcome", 2),
        "count": ("rows", 0),
    },
    "judges": {
        "rows": ("Rows", 0),
        "ties": ("Ties", 0),
        "agreement": ("Agreement", "share"),
        "first_side_rate": ("Prefers first side", "share"),
        "sensitivity": ("Sensitivity", 2),
        "sensitivity_error": ("Standard error", 2),
        "position_effect": ("Position effect", 2),
    },
    "check": {
        "true_score": ("Score by votes", 2),
        "score": ("Score by judges", 2),
        "z": ("Miss in s.e.", 1),
        "p_adjusted": ("Adjusted p", "p"),
        "compatible": ("Agrees", "yes"),
        "true_rank": ("Rank by votes", 0),
        "rank": ("Rank by judges", 0),
        "rank_set": ("Rank set", 0),
    },
    "methods": {
        "rmse": ("Error", 3),
        "rank_error": ("Places off", 2),
        "own_rank_error": ("Among its own", 2),
        "exact": ("Right place", "share"),
        "compatible": ("Agrees", "share"),
        "width": ("Width", 2),
        "models": ("Models", 0),
    },
    "inspected": {
        "rows": ("Rows", 0),
        "ties": ("Ties", "share"),
        "first_side_rate": ("First side wins", "share"),
        "both_orders": ("Pairs in both orders", "share"),
        "new_models": ("New models", 0),
    },
    "mapping": {
        "meaning": ("Is", "text"),
        "rows": ("Rows", "rows"),
        "reason": ("Why", "text"),
    },
}
"""By name of a table, heading and form of its columns (see `text_of`)."""

DISPENSABLE = ("Judge rows", "Human rows", "Standard error")
"""Columns that a narrow terminal leaves out, in the order in which they go."""

NAMED = 6
"""Largest number of names in a sentence."""

WORDS = ("text", "yes")
"""Forms of columns that are aligned on the left."""


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

    def to_markdown(self) -> str:
        """The table in Markdown, below its caption; needs tabulate."""
        safe = self.texts.map(
            lambda text: text.replace("\\", r"\\").replace("|", r"\|")
        )
        aligned = ["right" if one else "left" for one in self.is_number]
        text = safe.to_markdown(index=False, disable_numparse=True, colalign=aligned)
        return f"{self.caption}\n\n{text}\n" if self.caption else f"{text}\n"

    def to_latex(self) -> str:
        """The table in LaTeX, with rules of booktabs; its caption is a comment."""
        shown = self.texts.style.hide(axis="index").format(escape="latex")
        text: str = shown.format_index(escape="latex", axis=1).to_latex(
            hrules=True, column_format="".join("lr"[one] for one in self.is_number)
        )
        return f"% {self.caption}\n{text}" if self.caption else text

    def to_text(self, width: int | None = None, terminal: bool = False) -> str:
        """The table for a terminal, new models with a star.

        Parameters
        ----------
        width : int, optional
            Characters in a line. `DISPENSABLE` columns go until the table fits; names
            and numbers are never broken. None leaves lines as long as they are.
        terminal : bool, default=False
            Whether to use bold and colour (`NO_COLOR` is respected).

        Returns
        -------
        str
            Lines without trailing blanks.
        """
        from rich.console import Console

        console = Console(
            file=StringIO(),
            width=1_000_000,  # more than any terminal has, so that rich breaks nothing
            force_terminal=terminal,
            color_system="auto" if terminal else None,
            legacy_windows=False,
        )
        known = [name for name in DISPENSABLE if name in self.texts]
        for n_gone in range(len(known) + 1):
            grid = self._grid(known[:n_gone])
            if width is None or console.measure(grid).maximum <= width:
                break
        with console.capture() as capture:
            console.print(grid, crop=False)
        lines = [line.rstrip() for line in capture.get().splitlines()]
        if n_gone:
            gone = [name for name in self.texts if name in known[:n_gone]]
            lines += ["", f"Columns left out: {', '.join(gone)}"]
        return "\n".join(lines)

    def _grid(self, gone: Sequence[str]) -> Grid:
        """The table for rich, without some columns."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(
            box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0)
        )
        texts = self.texts.drop(columns=list(gone))
        for heading, is_number in zip(
            map(str, self.texts), self.is_number, strict=True
        ):
            if heading not in gone:
                # Each word of a heading has a line, but for the names of the rows.
                words = heading.replace(" ", "\n") if len(grid.columns) else heading
                justify: Any = "right" if is_number else "left"
                grid.add_column(words, justify=justify, no_wrap=True, vertical="bottom")
        for at, (name, *cells) in enumerate(texts.itertuples(index=False, name=None)):
            is_new = len(self.marked) > 0 and self.marked[at]
            if any(self.marked):
                name = f"{'*' if is_new else ' '} {name}"
            # As Text, a name with square brackets is not read as markup.
            row = map(Text, (name, *cells))
            grid.add_row(*row, style="bold green" if is_new else None)
        return grid


def table_of(
    columns: str,
    frame: pd.DataFrame,
    caption: str = "",
    *,
    name: str = "",
    scale_digits: int = 2,
    **more: Any,
) -> Table:
    """Turn a DataFrame into a table as people read it.

    Parameters
    ----------
    columns : str
        Key of `COLUMNS`; columns that the frame lacks are left out.
    frame : DataFrame
        The data; its index names the rows. Texts stay as they are.
    caption : str
        What the table shows.
    name : str, optional
        Target of links; the key of the columns by default.
    scale_digits : int, default=2
        Decimals of scores and of their differences.
    **more : object
        Further attributes of the table.

    Returns
    -------
    Table
    """
    names = [f"{n:.3f}" if isinstance(n, float) else label(n) for n in frame.index]
    texts = {str(frame.index.name or "").capitalize(): names}
    is_number = [False]
    for key, (heading, form) in COLUMNS[columns].items():
        if key in frame:
            form = scale_digits if form == "scale" else form
            texts[heading] = [text_of(value, form) for value in frame[key]]
            is_number.append(form not in WORDS)
    return Table(
        name or columns, label(caption), pd.DataFrame(texts), is_number, **more
    )


# ------------------------------------------------------------------------------ cells
def text_of(value: Any, form: Any) -> str:
    """What a cell shows.

    ``form`` is a number of decimals, or "text", "yes" (of truth values), "share" (in
    percent), "fraction" (two digits of a percent), "p", "favour" (zero is "now"),
    "rows" or "search" (whole numbers, infinite ones in words) or "about" (two digits).
    """
    if value is None or value is pd.NA or value != value:
        return "–"
    if form == "text" or isinstance(value, str):
        return label(value)
    if form == "yes":
        return "yes" if value else "no"
    value = float(value)
    if form in ("rows", "search", "about") and math.isinf(value):
        return "more" if form == "search" else "never"
    if form in ("rows", "search"):
        return f"{math.ceil(value):,}"
    if form == "share":
        # 0 and 100 % only for shares that are exactly that.
        shown = round(100 * value)
        shown = min(max(shown, 1), 99) if 0 < value < 1 else shown
        return f"{shown} %".replace("-", "−")
    if form == "fraction":
        return f"{100 * value:.2g} %"
    if form == "favour" and value == 0:
        return "now"
    if form == "about":
        return rounded(value)
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if form == "p":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    digits = 2 if form == "favour" else form
    # Adding zero turns -0.0 into 0.0, so that "-0.00" is never shown.
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def percent(share: float) -> str:
    """A share in percent, with all its digits."""
    return f"{100 * share:.6g} %"


def rounded(value: float) -> str:
    """A number to two digits, with commas between thousands."""
    if value < 10:
        return f"{math.ceil(value)}"
    digits = 1 - math.floor(math.log10(value))
    return f"{round(value, digits):,.0f}"


def label(name: Any) -> str:
    """A name as it is shown: on one line, with control characters visible."""
    return printable(str(name)).replace("\n", "\\n")


def intervals(table: pd.DataFrame, form: Any, low: str, high: str) -> list[str]:
    """Both ends of each interval in one text."""
    ends = zip(table[low], table[high], strict=True)
    return [f"{text_of(a, form)} to {text_of(b, form)}" for a, b in ends]


def rank_sets(table: pd.DataFrame) -> list[str]:
    """Rank sets of a table with ``rank_low`` and ``rank_high``."""
    ends = zip(table["rank_low"], table["rank_high"], strict=True)
    return [f"{low}" if low == high else f"{low}–{high}" for low, high in ends]


def records_of(frame: pd.DataFrame, **names: str) -> list[dict[Any, Any]]:
    """Rows of a DataFrame as dicts, its index included, perhaps by another name."""
    if "index" in names:
        frame = frame.rename_axis(names["index"])
    return frame.reset_index().to_dict("records")


def texts_of(mapping: Mapping[Any, Any]) -> str:
    """Pairs of a mapping, as in ``a 1, b 2``."""
    return ", ".join(f"{label(name)} {value}" for name, value in mapping.items())


def joined(names: Sequence[Any]) -> str:
    """Names with commas, and "and" before the last; only a few of many."""
    shown = [label(name) for name in names]
    if len(shown) > NAMED:
        shown = [*shown[: NAMED - 1], f"{len(shown) - NAMED + 1} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
