"""Results for people to read and for programs to parse."""

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
    "leaderboard_text",
    "render",
    "result_json",
    "summarize",
    "summary_lines",
]
