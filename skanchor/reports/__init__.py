"""Results for people to read and for programs to parse."""

from skanchor.reports.leaderboard import LeaderboardText, leaderboard_text
from skanchor.reports.page import render
from skanchor.reports.records import Reported, result_json

__all__ = [
    "LeaderboardText",
    "Reported",
    "leaderboard_text",
    "render",
    "result_json",
]
