"""Tables as people read them, with headings and rounding that are the same everywhere.

:class:`Table` has the texts of the cells; functions below arrange those of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from unicodedata import combining, east_asian_width

import numpy as np
import pandas as pd

from skanchor._text import printable

if TYPE_CHECKING:
    from skanchor.reports.facts import Facts

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

FORMS = {
    **dict.fromkeys(["win_probability", "agreement", "first_side_rate"], "share"),
    **dict.fromkeys(["both_orders", "share", "probability", "exact"], "share"),
    **dict.fromkeys(["held", "compatible", "ties"], "share"),
    "p_adjusted": "p",
}
"""How columns are written, as in :func:`text_of`; others have decimals."""

WORDS = {
    *("side", "opponent", "decision", "weakest_judge", "source", "status", "meaning"),
    *("reason", "judge", "model_b"),
}
"""Columns that are aligned on the left."""

DISPENSABLE = ("Judge rows", "Human rows", "Standard error")
"""Columns that a narrow terminal leaves out, in the order in which they go."""

NAMED = 6
"""Largest number of names in a sentence."""


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


def joined(names: Sequence[Any]) -> str:
    """Names with commas, and "and" before the last; only a few of many."""
    shown = [label(name) for name in names]
    if len(shown) > NAMED:
        shown = [*shown[: NAMED - 1], f"{len(shown) - NAMED + 1} more"]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _intervals(table: pd.DataFrame, form: Any, low: str, high: str) -> pd.Series:
    """Both ends of each interval in one text."""
    ends = table[[low, high]].astype(object).map(lambda value: text_of(value, form))
    return ends[low] + " to " + ends[high]


def rank_sets(table: pd.DataFrame) -> list[str]:
    """Rank sets of a table with ``rank_low`` and ``rank_high``, as texts."""
    ends = zip(table["rank_low"], table["rank_high"], strict=True)
    return [f"{low}" if low == high else f"{low}–{high}" for low, high in ends]


# ----------------------------------------------------------------------------- tables
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
        names = [f"{n:.3f}" if isinstance(n, float) else label(n) for n in frame.index]
        texts = {str(frame.index.name or "").replace("_", " ").capitalize(): names}
        for key, column in frame.items():
            form = FORMS.get(str(key), digits)
            if column.dtype == float and not (column[np.isfinite(column)] % 1).any():
                # Numbers of rows, some of them infinite or unknown.
                form = FORMS.get(str(key), 0)
            heading = str(key).replace("_", " ").capitalize()
            heading = HEADINGS.get(str(key), heading)
            texts[heading] = [text_of(value, form) for value in column]
        is_number = [False, *(key not in WORDS for key in frame)]
        return cls(name, label(caption), pd.DataFrame(texts), is_number, **more)

    def to_markdown(self) -> str:
        """The table in Markdown, new models bold, below its caption; needs tabulate."""
        texts = self.texts.map(
            lambda text: text.replace("\\", r"\\").replace("|", r"\|")
        )
        names = zip(texts.iloc[:, 0], self.marked or [False] * len(texts), strict=True)
        bold = [f"**{name}**" if is_new else name for name, is_new in names]
        texts.isetitem(0, bold)
        aligned = ["right" if one else "left" for one in self.is_number]
        text = texts.to_markdown(index=False, disable_numparse=True, colalign=aligned)
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
        lines, left_out = self._lines(), []
        for name in DISPENSABLE:
            if width is None or max(map(_cells, lines)) <= width:
                break
            left_out += [name] * (name in self.texts)
            lines = self._lines(left_out)
        if coloured:
            # Rows come last.
            for at in np.flatnonzero(self.marked) - len(self.texts):
                lines[at] = f"\x1b[1;32m{lines[at]}\x1b[0m"
        if left_out:
            lines += ["", f"Columns left out: {', '.join(reversed(left_out))}"]
        return "\n".join(lines)

    def _lines(self, left_out: Sequence[str] = ()) -> list[str]:
        """Lines of headings, a rule, and the rows, without some columns."""
        columns: list[list[str]] = []
        is_number = []
        for heading, numbers in zip(self.texts, self.is_number, strict=True):
            if heading not in left_out:
                # Each word of a heading has a line, but for the names of the rows.
                words = str(heading).split() if columns else [str(heading)]
                columns.append([*words, *self.texts[heading]])
                is_number.append(numbers)
        if any(self.marked):
            stars = ["* " if is_new else "  " for is_new in self.marked]
            names = zip(stars, columns[0][1:], strict=True)
            columns[0][1:] = [star + name for star, name in names]
        height = max(map(len, columns))
        for column, numbers in zip(columns, is_number, strict=True):
            column[:0] = [""] * (height - len(column))
            wide = max(map(_cells, column))
            for at, cell in enumerate(column):
                blanks = " " * (wide - _cells(cell))
                column[at] = blanks + cell if numbers else cell + blanks
        rows = ["  ".join(row) for row in zip(*columns, strict=True)]
        rows.insert(height - len(self.texts), "─" * _cells(rows[0]))
        return [row.rstrip() for row in rows]


def _cells(text: str) -> int:
    """Number of cells of a terminal that a text takes."""
    # Marks take no cell of their own, and letters of East Asia take two.
    return sum(
        0 if combining(letter) else 1 + (east_asian_width(letter) in "WF")
        for letter in text
    )


# -------------------------------------------------------------------------- of a run
def board_table(facts: Facts) -> Table:
    """The leaderboard, best first, with a bar for each interval."""
    models, digits = facts.models, facts.scale.digits
    shown = models.assign(
        rank=models["rank"].astype(object).where(models["determined"], "?"),
        rank_set=rank_sets(models),
        interval=_intervals(models, digits, "low", "high"),
    )
    names = ["rank", "rank_set", "score", "standard_error", "interval"]
    return Table.of(
        "board",
        shown[[*names, "n_human", "n_judge"]],
        f"All models, best first, with {percent(facts.level)} intervals of scores",
        digits,
        marked=models["is_new"].tolist(),
        # Beside the mean score of the historical models, or the score of the anchor.
        bars=_bars(models[["low", "high", "score"]], facts.scale.value),
    )


def contrasts_table(facts: Facts, model: Any, number: int) -> Table:
    """A new model against all others, the strongest first."""
    table = facts.contrasts_of(model)
    table["interval"] = _intervals(table, "share", "win_low", "win_high")
    names = ["win_probability", "interval", "difference", "p_adjusted", "decision"]
    return Table.of(
        f"wins-{number}",
        table[names],
        f"How often people would prefer {label(model)} to each other model",
        facts.scale.digits,
        marked=table["is_new"].tolist(),
        bars=_bars(table[["win_low", "win_high", "win_probability"]], 0.5),
    )


def _bars(ends: pd.DataFrame, middle: float) -> pd.DataFrame:
    """Ends and values of intervals in percent of an axis, with a margin of 3."""
    table = ends.set_axis(["start", "end", "value"], axis=1).assign(middle=middle)
    # The score of a model that lost everything is a convention, and not drawn.
    is_finite = np.isfinite(table.to_numpy()).all(axis=1)
    table = table[is_finite].reindex(table.index)
    low, high = table.min().min(), table.max().max()
    return (3.0 + 94.0 * (table - low) / (high - low if high > low else 1.0)).round(1)


def contexts_table(facts: Facts) -> Table:
    """Score and interval of each model in each context."""
    digits, models = facts.scale.digits, facts.models.index
    texts = {"Model": [label(model) for model in models]}
    for name, leaderboard in facts.contexts.items():
        scores = leaderboard["score"].map(lambda score: text_of(score, digits))
        ends = _intervals(leaderboard, digits, "low", "high")
        shown = (scores + " (" + ends + ")").where(leaderboard["determined"], "?")
        # No row of this context compares the other models.
        texts[label(name)] = shown.reindex(models, fill_value="–").tolist()
    caption = f"Score in each context, with {percent(facts.level)} intervals"
    is_number = [False, *[True] * len(facts.contexts)]
    marked = facts.models["is_new"].tolist()
    return Table("contexts-table", caption, pd.DataFrame(texts), is_number, marked)


def favours_table(favours: pd.DataFrame, model: Any, level: float) -> Table:
    """Favours that would change where a new model stands, the smallest first."""
    table = favours.loc[model].rename_axis("opponent")
    table = table.sort_values(["gamma_interval", "gamma_sign"], kind="stable")
    table = table.assign(side=np.where(table["difference"] > 0, "above", "below"))
    names = ["side", "gamma_interval", "gamma_sign", "weakest_judge", "ratio_item_sd"]
    shown = table[[*names, "ratio_favour", "ratio_position"]].dropna(axis=1, how="all")
    caption = f"Unrecorded favours that would change where {label(model)} stands"
    return Table.of("favours", shown, f"{caption} ({percent(level)})")


def tables_by_model(
    name: str, frame: pd.DataFrame, models: Iterable[Any] | None = None, **more: Any
) -> list[Table]:
    """Rows of each new model, or of some, in a table of its own."""
    chosen = frame.index.unique("model") if models is None else models
    return [Table.of(name, frame.loc[one], str(one), **more) for one in chosen]


def judges_table(judges: pd.DataFrame) -> Table:
    """Rows, agreement and parameters of each judge."""
    names = ["rows", "ties", "agreement", "first_side_rate", "sensitivity"]
    shown = judges.filter([*names, "sensitivity_error", "position_effect"])
    return Table.of("judges-table", shown, "What the rows say of each judge")


def check_table(check: Any) -> Table:
    """Each historical model in turn, placed without its votes."""
    table = check.table.rename_axis("model")
    table = table.rename(columns={"score": "judged_score", "rank": "judged_rank"})
    names = ["true_score", "judged_score", "z", "p_adjusted", "compatible"]
    shown = table[[*names, "true_rank", "judged_rank"]].assign(
        rank_set=rank_sets(table)
    )
    caption = "Each historical model in turn, placed without its votes"
    return Table.of("check-table", shown, caption)


def tables_of(facts: Facts) -> dict[str, list[Table]]:
    """Tables of a page by its sections."""
    wins = enumerate(facts.new_models, 1)
    return {
        "leaderboard": [board_table(facts)],
        "contexts": [contexts_table(facts)] if facts.contexts else [],
        "wins": [contrasts_table(facts, model, number) for number, model in wins],
        "judges": [] if facts.judges.empty else [judges_table(facts.judges)],
        "check": [] if facts.check is None else [check_table(facts.check)],
    }
