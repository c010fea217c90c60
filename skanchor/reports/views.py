"""The tables and drawings of a report, arranged from the facts of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pandas as pd

from skanchor.pipeline import AnchorPipeline
from skanchor.readouts import reversals
from skanchor.reports.facts import Facts
from skanchor.reports.sentences import IN_FULL, described, percent
from skanchor.reports.tables import (
    Cell,
    Heading,
    Table,
    cell,
    interval,
    label,
    ranks_of,
    table_of,
)

PAGE_WIDTH = 4.6
"""Width of drawings in inches: a phone shows them without scrolling, with letters of
seven points, and a wide page two of them side by side."""


class Figure(NamedTuple):
    """A drawing as the address of an image, with its title and description."""

    name: str
    source: str
    title: str
    description: str


# ----------------------------------------------------------------------------- tables
def board_table(facts: Facts) -> Table:
    """The leaderboard, best first, with a bar for each interval."""
    board, digits = facts.board, facts.scale.digits
    is_known = board["determined"].tolist()
    ranks: Any = [
        cell(rank, 0) if known else Cell("?", math.inf)
        for rank, known in zip(board["rank"], is_known, strict=True)
    ]
    return table_of(
        "board",
        board.assign(
            rank=ranks, rank_set=ranks_of(board), interval=_intervals(board, digits)
        ),
        f"All models, best first, with {percent(facts.level)} intervals of scores",
        scale_digits=digits,
        marked=board["is_new"].tolist(),
        ordered_by=3,  # the column of scores
        bars=_bars(board, "low", "score", "high"),
    )


def _intervals(
    table: pd.DataFrame, form: Any, low: str = "low", high: str = "high"
) -> Any:
    """Both ends of intervals as cells."""
    return [interval(*ends, form) for ends in zip(table[low], table[high], strict=True)]


def _bars(table: pd.DataFrame, *ends: str) -> list[tuple[float, float, float]]:
    return list(table[list(ends)].itertuples(index=False, name=None))


def contrasts_table(facts: Facts, model: Any, place: int) -> Table:
    """A new model against all others, the strongest first."""
    table = facts.contrasts_of(model)
    return table_of(
        "contrasts",
        table.assign(win_interval=_intervals(table, "share", "win_low", "win_high")),
        f"How often people would prefer {label(model)} to each other model",
        name=f"wins-{place}",
        scale_digits=facts.scale.digits,
        marked=table["is_new"].tolist(),
        ordered_by=1,
        bars=_bars(table, "win_low", "win_probability", "win_high"),
        middle=0.5,
    )


def errors_table(facts: Facts) -> Table:
    """Half width of each new model's interval, parts of its variance, and limits."""
    table = facts.errors.copy()
    scaled = ["half_width", "verdicts", "judges"]
    table[scaled] *= facts.scale.per_logit
    parts = ["human", "judge", "cross", "items"]
    small = [name for name in parts if (table[name].abs() < 0.005).all()]
    return table_of(
        "errors",
        table.drop(columns=small),
        f"Half width of the {percent(facts.level)} interval of each new model, shares "
        "of its variance, and its limits",
        name="errors-table",
        scale_digits=facts.scale.digits,
    )


def contexts_table(facts: Facts) -> Table:
    """Score and interval of each model in each context."""
    digits = facts.scale.digits

    def score(board: pd.DataFrame, model: Any) -> Cell:
        if model not in board.index:
            # No row of this context compares the model with the others.
            return Cell("–", -math.inf)
        row = board.loc[model]
        if not row["determined"]:
            return Cell("?", -math.inf)
        shown = cell(row["score"], digits)
        ends = interval(row["low"], row["high"], digits)
        return Cell(f"{shown.text} ({ends.text})", shown.key)

    models = facts.board.index
    cells = {
        name: [score(board, model) for model in models]
        for name, board in facts.contexts.items()
    }
    caption = f"Score in each context, with {percent(facts.level)} intervals"
    plain = pd.DataFrame(index=models)
    table = table_of("board", plain, caption, name="contexts-table",
                     marked=facts.board["is_new"].tolist())  # fmt: skip
    for name, column in cells.items():
        table.headings.append(Heading(str(name), label(name), True, True))
        for row, one in zip(table.rows, column, strict=True):
            row.append(one)
    return table


def favours_table(
    favours: pd.DataFrame, model: Any, level: float, name: str = "favours"
) -> Table:
    """Favours that would change where a new model stands, the smallest first."""
    table = favours.loc[model].rename_axis("opponent")
    table = table.sort_values(["gamma_interval", "gamma_sign"], kind="stable")
    side = np.where(table["difference"] > 0, "above", "below")
    ratios = table.columns[table.columns.str.startswith("ratio")]
    idle = [one for one in ratios if table[one].isna().all()]
    caption = f"Unrecorded favours that would change where {label(model)} stands "
    return table_of(
        "favours",
        table.assign(side=side).drop(columns=idle),
        f"{caption}({percent(level)})",
        name=name,
        ordered_by=2,
    )


def first_favours_table(
    favours: pd.DataFrame, level: float, name: str = "favours"
) -> Table:
    """The statement on each new model that the smallest favour would change."""
    found = reversals(favours)
    first = found["gamma_interval"].groupby(level="model", sort=False).idxmin()
    table = found.loc[first].reset_index("opponent")
    side = np.where(table["difference"] > 0, "above", "below")
    names = ["opponent", "gamma_interval", "gamma_sign"]
    caption = "The first statement on each new model that a favour would change"
    return table_of("favours", table[names].assign(side=side),
                    f"{caption} ({percent(level)})", name=name)  # fmt: skip


def worth_table(worth: pd.DataFrame, model: Any, name: str = "worth") -> Table:
    """What each judge's verdicts on a new model are worth."""
    caption = f"What verdicts on {label(model)} are worth, in human votes"
    return table_of("worth", worth.loc[model].rename_axis("judge"), caption, name=name)


def judges_table(facts: Facts) -> Table:
    """What the rows say of each judge."""
    return table_of(
        "judges", facts.judges, "What the rows say of each judge", name="judges-table"
    )


def check_table(check: Any) -> Table:
    """Each historical model in turn, placed without its votes."""
    table = check.table.rename_axis("model")
    caption = "Each historical model in turn, placed without its votes"
    table = table.assign(rank_set=ranks_of(table))
    return table_of("check", table, caption, name="check-table")


def tables_of(facts: Facts) -> dict[str, list[Table]]:
    """Tables of a page by its sections; a section without tables is left out."""
    favours, models = facts.favours, described(facts)
    known = {
        "leaderboard": [board_table(facts)],
        "errors": [errors_table(facts)] if len(facts.errors) else [],
        "contexts": [contexts_table(facts)] if facts.contexts else [],
        "wins": [
            contrasts_table(facts, model, place)
            for place, model in enumerate(facts.new_models, 1)
        ],
        "change": [],
        "worth": [],
        "judges": [judges_table(facts)] if len(facts.judges) else [],
        "check": [] if facts.check is None else [check_table(facts.check)],
    }
    if favours is not None:
        if len(facts.new_models) > IN_FULL:
            known["change"].append(
                first_favours_table(favours, facts.level, "change-all")
            )
        known["change"] += [
            favours_table(favours, model, facts.level, f"change-{place}")
            for place, model in enumerate(models, 1)
        ]
    if facts.worth is not None and hasattr(facts.fitted, "design"):
        known["worth"] = [
            worth_table(facts.worth.table, model, f"worth-{place}")
            for place, model in enumerate(models, 1)
        ]
    return {name: tables for name, tables in known.items() if tables}


# --------------------------------------------------------------------------- drawings
def figures_of(facts: Facts) -> dict[str, list[Figure]]:
    """Drawings of a page by its sections; none without matplotlib, nor of a result.

    Intervals of scores and contrasts are bars in the tables, and not drawn again.
    """
    is_pipeline = isinstance(facts.fitted, AnchorPipeline)
    if find_spec("matplotlib") is None or not is_pipeline or not len(facts.judges):
        return {}
    return {"judges": list(_judge_figures(facts.fitted, facts.level))}


def _judge_figures(anchor: AnchorPipeline, level: float) -> Iterator[Figure]:
    """Sensitivities, calibration, biases and item effects of the judges."""
    from skanchor import plotting

    yield _figure(
        "figure-judges",
        "Sensitivity and position effect of each judge",
        "Right of one, a judge reacts more sharply than people; away from zero, it "
        "favours a side.",
        lambda: plotting.JudgeDisplay.from_estimator(anchor, level=level),
    )
    yield _figure(
        "figure-calibration",
        "How often each judge decides as predicted",
        "Share of verdicts for the answer that was expected to win, against the chance "
        "that was expected, in bins; on the diagonal both agree.",
        lambda: plotting.JudgeCalibrationDisplay.from_estimator(anchor, level=level),
    )
    if len(anchor.features_):
        yield _figure(
            "figure-bias",
            "What each judge favours, by feature",
            "How a feature of a response moves the judge's log-odds, at equal quality.",
            lambda: plotting.BiasDisplay.from_estimator(anchor, level=level),
        )
    found = anchor.result_.diagnostics
    if found is not None and not found.deviations.empty:
        yield _figure(
            "figure-deviations",
            "By how much each judge overrates each model",
            "Item effects, beyond score and features, with intervals. Blue ones are "
            "significant jointly; grey ones may be chance.",
            lambda: plotting.ItemDeviationDisplay.from_estimator(anchor, level=level),
        )


def _figure(name: str, title: str, description: str, draw: Callable[[], Any]) -> Figure:
    """A display as an SVG image inside the page, which a style sheet can invert."""
    import matplotlib
    import matplotlib.pyplot as plt

    from skanchor.plotting import figure_width

    # "none" stores text as text instead of outlines, and one font keeps it short. The
    # fixed salt and the missing date make the same drawing give the same bytes.
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "skanchor",
        "font.sans-serif": ["DejaVu Sans"],
    }
    file = BytesIO()
    with matplotlib.rc_context(settings), figure_width(PAGE_WIDTH):
        figure = draw().figure_
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
        plt.close(figure)
    text = " ".join(file.getvalue().decode().split())
    # Most signs are left as they are, which is shorter than base64. Single quotes and
    # ampersands are not: the address stands between single quotes in the page.
    source = quote(text[text.index("<svg") :], safe=' =:/;,()-.!?@*$+<>"')
    return Figure(name, f"data:image/svg+xml,{source}", title, description)
