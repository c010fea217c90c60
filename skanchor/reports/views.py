"""The tables of a report, arranged from the facts of a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skanchor.readouts import reversals
from skanchor.reports.facts import IN_FULL, Facts
from skanchor.reports.tables import (
    Table,
    intervals,
    label,
    percent,
    rank_sets,
    table_of,
    text_of,
)


def board_table(facts: Facts) -> Table:
    """The leaderboard, best first, with a bar for each interval."""
    board, digits = facts.board, facts.scale.digits
    rank = board["rank"].astype(object).where(board["determined"], "?")
    shown: dict[str, Any] = {
        "rank": rank,
        "rank_set": rank_sets(board),
        "interval": intervals(board, digits, "low", "high"),
    }
    return table_of(
        "board",
        board.assign(**shown),
        f"All models, best first, with {percent(facts.level)} intervals of scores",
        scale_digits=digits,
        marked=board["is_new"].tolist(),
        # Beside the mean score of the historical models, or the score of the anchor.
        bars=_bars(board[["low", "high", "score"]], facts.scale.value),
    )


def contrasts_table(facts: Facts, model: Any, place: int) -> Table:
    """A new model against all others, the strongest first."""
    table = facts.contrasts_of(model)
    return table_of(
        "contrasts",
        table.assign(win_interval=intervals(table, "share", "win_low", "win_high")),
        f"How often people would prefer {label(model)} to each other model",
        name=f"wins-{place}",
        scale_digits=facts.scale.digits,
        marked=table["is_new"].tolist(),
        bars=_bars(table[["win_low", "win_high", "win_probability"]], 0.5),
    )


def _bars(ends: pd.DataFrame, middle: float) -> pd.DataFrame:
    """Ends and values of intervals in percent of an axis, with a margin of 3."""
    table = ends.set_axis(["start", "end", "value"], axis=1).assign(middle=middle)
    # The score of a model that lost everything is a convention, and not drawn.
    known = table[np.isfinite(table).all(axis=1)]
    low, high = known.min().min(), known.max().max()
    shown = 3.0 + 94.0 * (table - low) / (high - low if high > low else 1.0)
    return shown.where(np.isfinite(table).all(axis=1)).round(1)


def errors_table(facts: Facts) -> Table:
    """Half width of each new model's interval, parts of its variance, and limits."""
    table = facts.errors.copy()
    table[["half_width", "verdicts", "judges"]] *= facts.scale.per_logit
    parts = ["human", "judge", "cross", "items"]
    return table_of(
        "errors",
        table.drop(columns=[one for one in parts if (table[one].abs() < 0.005).all()]),
        f"Half width of the {percent(facts.level)} interval of each new model, shares "
        "of its variance, and its limits",
        name="errors-table",
        scale_digits=facts.scale.digits,
    )


def contexts_table(facts: Facts) -> Table:
    """Score and interval of each model in each context."""
    digits, models = facts.scale.digits, facts.board.index
    texts = {"Model": [label(model) for model in models]}
    for name, board in facts.contexts.items():
        ends = intervals(board, digits, "low", "high")
        shown = pd.Series(
            [f"{text_of(score, digits)} ({both})"
             for score, both in zip(board["score"], ends, strict=True)],
            board.index,
        ).where(board["determined"], "?")  # fmt: skip
        # No row of this context compares the other models.
        texts[label(name)] = shown.reindex(models, fill_value="–").tolist()
    caption = f"Score in each context, with {percent(facts.level)} intervals"
    is_number = [False, *[True] * len(facts.contexts)]
    marked = facts.board["is_new"].tolist()
    return Table("contexts-table", caption, pd.DataFrame(texts), is_number, marked)


def favours_table(
    favours: pd.DataFrame, model: Any, level: float, name: str = "favours"
) -> Table:
    """Favours that would change where a new model stands, the smallest first."""
    table = favours.loc[model].rename_axis("opponent")
    table = table.sort_values(["gamma_interval", "gamma_sign"], kind="stable")
    ratios = table.columns[table.columns.str.startswith("ratio")]
    table = table.drop(columns=[one for one in ratios if table[one].isna().all()])
    caption = f"Unrecorded favours that would change where {label(model)} stands"
    return _favours(table, f"{caption} ({percent(level)})", name)


def first_favours_table(
    favours: pd.DataFrame, level: float, name: str = "favours"
) -> Table:
    """The statement on each new model that the smallest favour would change."""
    found = reversals(favours)
    first = found["gamma_interval"].groupby(level="model", sort=False).idxmin()
    table = found.loc[first].reset_index("opponent")
    names = ["opponent", "gamma_interval", "gamma_sign", "difference"]
    caption = "The first statement on each new model that a favour would change"
    return _favours(table[names], f"{caption} ({percent(level)})", name)


def _favours(table: pd.DataFrame, caption: str, name: str) -> Table:
    side = np.where(table["difference"] > 0, "above", "below")
    return table_of("favours", table.assign(side=side), caption, name=name)


def check_table(check: Any) -> Table:
    """Each historical model in turn, placed without its votes."""
    table = check.table.rename_axis("model")
    caption = "Each historical model in turn, placed without its votes"
    table = table.assign(rank_set=rank_sets(table))
    return table_of("check", table, caption, name="check-table")


def tables_of(facts: Facts) -> dict[str, list[Table]]:
    """Tables of a page by its sections; a section without tables is left out."""
    favours, described = facts.favours, list(enumerate(facts.described, 1))
    by_section: dict[str, list[Table]] = {
        "leaderboard": [board_table(facts)],
        "wins": [
            contrasts_table(facts, model, place)
            for place, model in enumerate(facts.new_models, 1)
        ],
    }
    if len(facts.errors):
        by_section["errors"] = [errors_table(facts)]
    if facts.contexts:
        by_section["contexts"] = [contexts_table(facts)]
    if favours is not None:
        many = len(facts.new_models) > IN_FULL
        first = [first_favours_table(favours, facts.level, "change-all")] * many
        by_section["change"] = first + [
            favours_table(favours, model, facts.level, f"change-{place}")
            for place, model in described
        ]
    if facts.worth is not None and hasattr(facts.fitted, "design"):
        by_section["worth"] = [
            table_of(
                "worth",
                facts.worth.table.loc[model].rename_axis("judge"),
                f"What verdicts on {label(model)} are worth, in human votes",
                name=f"worth-{place}",
            )
            for place, model in described
        ]
    if len(facts.judges):
        caption = "What the rows say of each judge"
        table = table_of("judges", facts.judges, caption, name="judges-table")
        by_section["judges"] = [table]
    if facts.check is not None:
        by_section["check"] = [check_table(facts.check)]
    return {name: tables for name, tables in by_section.items() if tables}
