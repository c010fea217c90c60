"""Builds the report of a fitted method: a document of sections."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from skanchor._anchor import AnchorPipeline
from skanchor.reports.advice import points
from skanchor.reports.answers import (
    answer,
    best_lines,
    joined_names,
    label,
    percent,
)
from skanchor.reports.document import (
    Block,
    Cell,
    Code,
    Document,
    Points,
    Section,
    Table,
    Text,
    number,
    span,
)
from skanchor.reports.favours import change_section
from skanchor.reports.figures import (
    board_figure,
    can_draw,
    contrast_figure,
    judge_figures,
)
from skanchor.reports.interval_check import check_section
from skanchor.reports.summary import RunSummary, result_with_errors, summarize
from skanchor.reports.summary_text import settings_lines
from skanchor.reports.tables import table_of
from skanchor.reports.uncertainty import uncertainty_section
from skanchor.results import (
    AnchorResult,
    ContextResult,
    RankingResult,
    Scale,
    new_by_score,
    strongest_first,
)
from skanchor.results.adjustment import is_significant
from skanchor.results.estimators import RankingEstimator

_DRAWN = 3
"""Largest number of new models whose contrasts are drawn."""


def report_document(
    fitted: RankingEstimator | RankingResult,
    level: float = 0.95,
    *,
    summary: RunSummary | None = None,
    command: str | None = None,
    figures: bool = False,
    **layout: Any,
) -> Document:
    """Put together the report of a fit.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
        A fitted method with standard errors, such as ``AnchorPipeline``; or its result,
        which has no information on judges and settings.
    level : float, default=0.95
        Level of intervals and rank sets.
    summary : RunSummary, optional
        Facts of the run, from `summarize`; computed if None.
    command : str, optional
        The command that makes the same report again.
    figures : bool, default=False
        Whether to add figures. Only HTML shows them, and without matplotlib there are
        none.
    **layout
        Further arguments of the leaderboard: ``scale``, ``anchor``, ``sort``,
        ``ranks``.

    Returns
    -------
    Document
        For `to_html`.
    """
    result = result_with_errors(fitted)
    facts = summarize(fitted, level) if summary is None else summary
    board = result.leaderboard(level, **layout)
    scale = Scale.of(layout.get("scale", "logit"), layout.get("anchor"))
    blocks: list[Block] = [Points(points(result, facts.warnings, facts.judges))]
    sections = [
        Section("before", "Before you rely on this", blocks),
        Section("leaderboard", "Leaderboard", _leaderboard(board, facts, scale)),
    ]
    errors = uncertainty_section(fitted, scale, level)
    if errors is not None:
        sections.append(errors)
    if isinstance(result, ContextResult):
        sections.append(_context_section(result, board, level, scale, layout))
    if result.is_new.any():
        sections.append(_contrast_section(result, level, scale))
        change = change_section(fitted, level)
        if change is not None:
            sections.append(change)
    if len(facts.judges):
        sections.append(_judge_section(facts.judges))
    diagnostics = result.diagnostics if isinstance(result, AnchorResult) else None
    if diagnostics is not None and diagnostics.check is not None:
        sections.append(check_section(diagnostics.check))
    if figures and can_draw():
        _add_figures(sections, fitted, level, scale)
    sections.append(_settings_section(facts, command))
    return Document(
        "Where people would rank the models", answer(result, level), sections
    )


def _add_figures(
    sections: list[Section],
    fitted: RankingEstimator | RankingResult,
    level: float,
    scale: Scale,
) -> None:
    """Add to each section the figures that belong to it."""
    result = result_with_errors(fitted)
    by_name = {section.name: section.blocks for section in sections}
    by_name["leaderboard"].append(board_figure(result, level, scale))
    for place, model in enumerate(new_by_score(result)[:_DRAWN], 1):
        by_name["wins"].append(contrast_figure(result, model, place, level, scale))
    if isinstance(fitted, AnchorPipeline) and "judges" in by_name:
        by_name["judges"] += judge_figures(fitted, level)


# --------------------------------------------------------------------------- sections
def leaderboard_table(
    board: pd.DataFrame, level: float = 0.95, scale: Scale | None = None
) -> Table:
    """Lay out a leaderboard.

    Parameters
    ----------
    board : DataFrame
        A leaderboard, as returned by `AnchorPipeline.leaderboard`.
    level : float, default=0.95
        Level of its intervals and rank sets.
    scale : Scale, optional
        Unit and zero of the scores; logits if not given.

    Returns
    -------
    Table
        One row for each model, with a bar for its interval.
    """
    digits = Scale().digits if scale is None else scale.digits
    ranks = board[["rank", "rank_low", "rank_high", "determined"]].to_numpy(object)
    cells: dict[str, list[Any]] = {
        "rank": [number(r, 0) if k else Cell("?", math.inf) for r, _, _, k in ranks],
        "rank_set": [span(low, high) for _, low, high, _ in ranks],
    }
    return table_of(
        board.assign(**cells).rename_axis("model"),
        f"All models, best first, with {percent(level)} intervals of their scores",
        {
            "rank": ("Rank", 0),
            "rank_set": ("Rank set", 0),
            "score": ("Score", digits, True),
            "standard_error": ("Standard error", digits),
            "low": ("Low", digits, True),
            "high": ("High", digits, True),
            "n_human": ("Human rows", 0, True),
            "n_judge": ("Judge rows", 0, True),
        },
        name="leaderboard-table",
        marked=board["is_new"].tolist(),
        ordered_by=3,  # the column of scores: model, rank and rank set come before it
        searchable=True,
        bars=_bars(board, "low", "score", "high"),
        bars_after=2,
    )


def _bars(table: pd.DataFrame, *ends: str) -> list[tuple[float, float, float]]:
    """Lower ends, values and upper ends of intervals, by row."""
    return list(table[list(ends)].itertuples(index=False, name=None))


def _leaderboard(board: pd.DataFrame, facts: RunSummary, scale: Scale) -> list[Block]:
    """Blocks of the section: the table, who may be the best, and how to read it."""
    level = facts.level
    notes = (
        f"Scores are {scale}. With {percent(level)} confidence the ranks of all models "
        f"lie in their rank sets; each interval by itself holds at {percent(level)}."
    )
    if not board["determined"].all():
        notes += (
            " A question mark in place of a rank: the rows do not determine the score."
        )
    blocks: list[Block] = [leaderboard_table(board, level, scale)]
    if len(facts.best):
        blocks.append(Text(f"{' '.join(best_lines(facts.best, level))}."))
    return [*blocks, Text(notes, is_note=True)]


def _context_section(
    result: ContextResult,
    board: pd.DataFrame,
    level: float,
    scale: Scale,
    layout: dict[str, Any],
) -> Section:
    """The scores of all models in each context, side by side."""
    boards = {
        name: one.leaderboard(level, **layout)
        for name, one in result.by_context.items()
    }
    cells = {
        name: [_in_context(model, one, scale) for model in board.index]
        for name, one in boards.items()
    }
    table = table_of(
        pd.DataFrame(cells, index=board.index.rename("model")),
        f"Score in each context, with {percent(level)} intervals",
        {name: (label(name), 0, True) for name in boards},
        name="contexts-table",
        marked=board["is_new"].tolist(),
    )
    mixed = joined_names(
        [f"{percent(share)} {label(name)}" for name, share in result.mix.items()]
    )
    note = (
        f"Everything else in this report is for the mix of {mixed}. The historical "
        "models have mean zero in each context."
    )
    return Section(
        "contexts", "Each context by itself", [table, Text(note, is_note=True)]
    )


def _in_context(model: Any, board: pd.DataFrame, scale: Scale) -> Cell:
    """Score and interval of a model in one context, as one cell."""
    if model not in board.index:
        # No row of this context compares the model with the others.
        return Cell("–", -math.inf)
    row = board.loc[model]
    if not row["determined"]:
        return Cell("?", -math.inf)
    score, low, high = (
        number(row[name], scale.digits).text for name in ("score", "low", "high")
    )
    return Cell(f"{score} ({low} to {high})", row["score"])


def _contrast_section(result: RankingResult, level: float, scale: Scale) -> Section:
    """A table for each new model: its contrasts with all others, strongest first."""
    table = result.contrasts(level)
    blocks: list[Block] = []
    columns = {
        "win_probability": ("Chance to win", "share", True),
        "win_low": ("Low", "share", True),
        "win_high": ("High", "share", True),
        "difference": ("Score difference", scale.digits, True),
        "p_adjusted": ("Adjusted p", _p_value),
        "decided": ("Decided", "text"),
    }
    is_new = dict(zip(result.models.tolist(), result.is_new.tolist(), strict=True))
    for place, model in enumerate(new_by_score(result)):
        own = strongest_first(table.loc[model])
        sides = np.where(own["difference"] > 0, "better", "worse")
        decided = is_significant(own["p_adjusted"].to_numpy(), level)
        own = own.assign(
            difference=own["difference"] * scale.per_logit,
            decided=np.where(decided, sides, "not decided"),
        )
        blocks.append(
            table_of(
                own.rename_axis("opponent"),
                f"How often people would prefer {label(model)} to each other model",
                columns,
                name=f"wins-{place + 1}",
                marked=[is_new[opponent] for opponent in own.index],
                ordered_by=1,
                bars=_bars(own, "win_low", "win_probability", "win_high"),
                middle=0.5,
                bars_after=1,
                bars_in_percent=True,
            )
        )
    blocks.append(
        Text(
            "Ties count half. Low and high bound each chance on its own at "
            f"{percent(level)}; a comparison is decided where its p-value, adjusted "
            f"for all comparisons of new models together, is at most {1 - level:.2g}.",
            is_note=True,
        )
    )
    return Section("wins", "The new models against all others", blocks)


_JUDGE_COLUMNS = {
    "rows": ("Rows", 0),
    "ties": ("Ties", 0),
    "agreement": ("Agreement", "share", True),
    "first_side_rate": ("Prefers first side", "share"),
    "sensitivity": ("Sensitivity", 2, True),
    "sensitivity_error": ("Standard error", 2),
    "position_effect": ("Position effect", 2),
}


def _judge_section(table: pd.DataFrame) -> Section:
    """The table of judges, with the columns that are known, and how to read it."""
    note = (
        "Agreement is how often a judge prefers the model with the higher final "
        "score, on pairs of models with votes. A sensitivity above 1 means that it "
        "reacts more sharply than people to the same difference. The position effect "
        "is what it adds, in log-odds, to the side shown first."
    )
    caption = "What the rows say of each judge"
    table = table.rename_axis("judge")
    shown = table_of(table, caption, _JUDGE_COLUMNS, name="judges-table")
    return Section("judges", "The judges", [shown, Text(note, is_note=True)])


def _settings_section(facts: RunSummary, command: str | None) -> Section:
    """Rows, decisions, settings and versions of the run, and its command."""
    points: list[str] = []
    for line in settings_lines(facts):
        if line.startswith(" "):
            # Indented lines belong to the point above them.
            points[-1] += f" {line.strip()}"
        else:
            points.append(line)
    blocks: list[Block] = [Points([(line, "") for line in points])]
    if command is not None:
        blocks.append(Code(command))
    return Section("settings", "What was used, and how to make this again", blocks)


# ------------------------------------------------------------------------------ cells
def _p_value(value: float) -> Cell:
    return Cell("< 0.001", value) if value < 0.001 else number(value, 3)
