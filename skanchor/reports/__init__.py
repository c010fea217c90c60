"""Results for people to read and for programs to parse."""

from skanchor.reports.best import best_note, may_be_best
from skanchor.reports.leaderboard import LeaderboardText, leaderboard_text
from skanchor.reports.page import render
from skanchor.reports.records import SCHEMA_VERSION, result_json
from skanchor.reports.summary import ItemEffects, RunSummary, summarize
from skanchor.reports.summary_text import summary_lines

__all__ = [
    "SCHEMA_VERSION",
    "ItemEffects",
    "LeaderboardText",
    "RunSummary",
    "best_note",
    "leaderboard_text",
    "may_be_best",
    "render",
    "result_json",
    "summarize",
    "summary_lines",
]
