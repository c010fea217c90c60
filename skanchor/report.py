"""Results for people to read and for programs to parse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

    from skanchor.anchor import AnchorPipeline

__all__ = ["leaderboard_text", "render", "result_json"]


def leaderboard_text(table: pd.DataFrame, level: float = 0.95) -> Group:
    """Lay out a leaderboard, new models marked.

    Parameters
    ----------
    table : DataFrame
        What `AnchorPipeline.leaderboard` returns.
    level : float, default=0.95
        The level that it was asked for.

    Returns
    -------
    rich.console.Group
        For ``rich.print``, or for `render`, which gives a string.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    percent = f"{100 * level:.6g} %"
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    grid.add_column("rank (set)", no_wrap=True)
    grid.add_column("  model", overflow="fold")
    grid.add_column("score", justify="right", no_wrap=True)
    grid.add_column("s.e.", justify="right", no_wrap=True)
    grid.add_column(f"{percent} interval", justify="right", no_wrap=True)
    grid.add_column("human\nrows", justify="right", no_wrap=True)
    grid.add_column("judge\nrows", justify="right", no_wrap=True)
    width = len(str(len(table)))
    ends = [_number(value) for side in ("low", "high") for value in table[side]]
    pad = max((len(end) for end in ends), default=0)
    for model, row in zip(table.index, table.to_dict("records"), strict=True):
        name = Text(("* " if row["is_new"] else "  ") + _printable(model))
        grid.add_row(
            f"{row['rank']:>{width}} ({_span(row['rank_low'], row['rank_high'])})",
            name,
            _number(row["score"]),
            _number(row["standard_error"]),
            Text(f"[{_number(row['low']):>{pad}}, {_number(row['high']):>{pad}}]"),
            str(row["n_human"]),
            str(row["n_judge"]),
            style="bold green" if row["is_new"] else None,
        )
    n_new = int(table["is_new"].sum())
    notes = (
        f"Scores are log-odds of a human vote, mean zero over the {len(table) - n_new} "
        "historical models.\n"
        f"In brackets: {percent} rank set among all {len(table)} models."
    )
    if n_new:
        notes += " * marks new models."
    return Group(grid, Text(""), Text(notes, style="dim"))


def render(renderable: Any, *, width: int | None = None, terminal: bool = False) -> str:
    """Turn a rich renderable into text.

    Parameters
    ----------
    renderable : object
        Anything rich can print.
    width : int, optional
        Columns of the page; None takes what the content needs, up to 400.
    terminal : bool, default=False
        Whether to use bold and colour (`NO_COLOR` is respected).

    Returns
    -------
    str
        The text, lines without trailing blanks.
    """
    from io import StringIO

    from rich.console import Console

    console = Console(
        file=StringIO(),
        width=400 if width is None else width,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        legacy_windows=False,
    )
    with console.capture() as capture:
        console.print(renderable)
    lines = capture.get().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def result_json(pipeline: AnchorPipeline, level: float = 0.95) -> dict[str, Any]:
    """Everything a program may want of a fitted pipeline, fit for strict JSON.

    Parameters
    ----------
    pipeline : AnchorPipeline
        Fitted.
    level : float, default=0.95
        Level of intervals and rank sets.

    Returns
    -------
    dict
        ``level``; ``item_effects``, the treatment reported; ``models``, the rows of the
        leaderboard, best first; ``new_models``, for each its score, standard error,
        interval, the ``intervals`` by treatment, ``rank_set`` among the historical
        models, the parts of its ``variance``, and its ``contrasts`` to every other
        model; ``judges``, the rows of the summary. Infinite numbers are the strings
        ``"inf"`` and ``"-inf"``, undefined ones null.
    """
    board = pipeline.leaderboard(level)
    contrasts = pipeline.contrasts(level)
    interval, ranks = pipeline.conf_int(level), pipeline.rank_sets(level)
    variance = pipeline.variance_
    new = [
        {
            "model": model,
            "score": pipeline.scores_[model],
            "standard_error": pipeline.standard_errors_[model],
            **interval.loc[model].to_dict(),
            "intervals": {
                name: result.conf_int(level).loc[model].to_dict()
                for name, result in pipeline.results_.items()
            },
            "rank_set": ranks.loc[model].to_dict(),
            "variance": variance.loc[model].to_dict(),
            "contrasts": _records(contrasts.loc[model], "opponent"),
        }
        for model in board.index[board["is_new"]].tolist()
    ]
    result: dict[str, Any] = _plain(
        {
            "level": level,
            "item_effects": pipeline.item_effects_,
            "models": _records(board, "model"),
            "new_models": new,
            "judges": _records(pipeline.summary(), "judge"),
        }
    )
    return result


def _records(table: pd.DataFrame, label: str) -> list[dict[Any, Any]]:
    return table.rename_axis(label).reset_index().to_dict("records")


def _plain(value: Any) -> Any:
    """Turn numpy scalars and non-finite numbers into what JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    # Adding zero keeps "-0.000" off the board.
    return f"{round(value, 3) + 0.0:.3f}"


def _span(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _printable(label: Any) -> str:
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in str(label)
    )
