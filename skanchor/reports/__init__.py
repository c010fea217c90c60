"""Results for people to read and for programs to parse."""

from skanchor.reports.answer import answer
from skanchor.reports.html import to_html
from skanchor.reports.latex import to_latex
from skanchor.reports.leaderboard import LeaderboardText, leaderboard_text
from skanchor.reports.markdown import to_markdown
from skanchor.reports.page import render
from skanchor.reports.records import result_json
from skanchor.reports.sections import report_document
from skanchor.reports.verdict import coverage_verdict

__all__ = [
    "LeaderboardText",
    "answer",
    "coverage_verdict",
    "leaderboard_text",
    "render",
    "report_document",
    "result_json",
    "to_html",
    "to_latex",
    "to_markdown",
]
