"""Results for people to read and for programs to parse."""

from skanchor.reports.best import best_note, may_be_best
from skanchor.reports.leaderboard import LeaderboardText, leaderboard_text
from skanchor.reports.page import render
from skanchor.reports.records import result_json

__all__ = [
    "LeaderboardText",
    "best_note",
    "leaderboard_text",
    "may_be_best",
    "render",
    "result_json",
]
