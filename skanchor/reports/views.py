"""The tables of a report, arranged from the facts of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from skanchor.reports.facts import Facts
from skanchor.reports.tables import (
    Table,
    intervals,
    label,
    percent,
    rank_sets,
    text_of,
)


def board_table(facts: Facts) -> Table:
    """The leaderboard, best first, with a bar for each interval."""
    models, digits = facts.models, facts.scale.digits
    shown: dict[str, Any] = {
        "rank": models["rank"].astype(object).where(models["determined"], "?"),
        "rank_set": rank_sets(models),
        "interval": intervals(models, digits, "low", "high"),
    }
    names = ["rank", "rank_set", "score", "standard_error", "interval"]
    return Table.of(
        "board",
        models.assign(**shown)[[*names, "n_human", "n_judge"]],
        f"All models, best first, with {percent(facts.level)} intervals of scores",
        digits=digits,
        marked=models["is_new"].tolist(),
        # Beside the mean score of the historical models, or the score of the anchor.
        bars=_bars(models[["low", "high", "score"]], facts.scale.value),
    )


def contrasts_table(facts: Facts, model: Any, number: int) -> Table:
    """A new model against all others, the strongest first."""
    table = facts.contrasts_of(model)
    table["interval"] = intervals(table, "share", "win_low", "win_high")
    names = ["win_probability", "interval", "difference", "p_adjusted", "decision"]
    return Table.of(
        f"wins-{number}",
        table[names],
        f"How often people would prefer {label(model)} to each other model",
        digits=facts.scale.digits,
        marked=table["is_new"].tolist(),
        bars=_bars(table[["win_low", "win_high", "win_probability"]], 0.5),
    )


def _bars(ends: pd.DataFrame, middle: float) -> pd.DataFrame:
    """Ends and values of intervals in percent of an axis, with a margin of 3."""
    table = ends.set_axis(["start", "end", "value"], axis=1).assign(middle=middle)
    # The score of a model that lost everything is a convention, and not drawn.
    finite = table[np.isfinite(table).all(axis=1)]
    low, high = finite.min().min(), finite.max().max()
    shown = 3.0 + 94.0 * (table - low) / (high - low if high > low else 1.0)
    return shown.where(np.isfinite(table).all(axis=1)).round(1)


def contexts_table(facts: Facts) -> Table:
    """Score and interval of each model in each context."""
    digits, models = facts.scale.digits, facts.models.index
    texts = {"Model": [label(model) for model in models]}
    for name, leaderboard in facts.contexts.items():
        scores = leaderboard["score"].map(lambda score: text_of(score, digits))
        ends = intervals(leaderboard, digits, "low", "high")
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
    table = table.assign(rank_set=rank_sets(table))
    names = ["true_score", "judged_score", "z", "p_adjusted", "compatible"]
    return Table.of(
        "check-table",
        table[[*names, "true_rank", "judged_rank", "rank_set"]],
        "Each historical model in turn, placed without its votes",
    )


def tables_of(facts: Facts) -> dict[str, list[Table]]:
    """Tables of a page by its sections; a section without tables is left out."""
    judges = facts.judges
    by_section: dict[str, list[Table]] = {
        "leaderboard": [board_table(facts)],
        "contexts": [contexts_table(facts)] if facts.contexts else [],
        "wins": [
            contrasts_table(facts, model, number)
            for number, model in enumerate(facts.new_models, 1)
        ],
        "judges": [] if judges.empty else [judges_table(judges)],
        "check": [] if facts.check is None else [check_table(facts.check)],
    }
    return {name: tables for name, tables in by_section.items() if tables}
