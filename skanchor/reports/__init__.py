"""Results for people to read and for programs to parse."""

from skanchor.reports.answers import answer
from skanchor.reports.best import best_note, may_be_best
from skanchor.reports.checked import check_notes, check_section, check_table
from skanchor.reports.document import Document as Document
from skanchor.reports.document import Table as Table
from skanchor.reports.favours import IN_FULL as IN_FULL
from skanchor.reports.favours import breakdown_table, change_lines, change_table
from skanchor.reports.fragile import fragility_table, rows_table
from skanchor.reports.html import to_html
from skanchor.reports.latex import latex_table, to_latex
from skanchor.reports.leaderboard import LeaderboardText as LeaderboardText
from skanchor.reports.leaderboard import leaderboard_text
from skanchor.reports.markdown import markdown_table, to_markdown
from skanchor.reports.overview import Overview as Overview
from skanchor.reports.overview import overview
from skanchor.reports.page import render
from skanchor.reports.plans import (
    design_table,
    outlook_table,
    separation_table,
    worth_table,
)
from skanchor.reports.records import SCHEMA_VERSION as SCHEMA_VERSION
from skanchor.reports.records import Reported as Reported
from skanchor.reports.records import as_json_value as as_json_value
from skanchor.reports.records import benchmarks_json as benchmarks_json
from skanchor.reports.records import check_json, result_json
from skanchor.reports.sections import leaderboard_table, report_document
from skanchor.reports.summary import ItemEffects as ItemEffects
from skanchor.reports.summary import RunSummary, summarize
from skanchor.reports.summary_text import summary_lines
from skanchor.reports.tables import table_of, table_text
from skanchor.reports.verdict import interval_verdict

__all__ = [
    "RunSummary",
    "answer",
    "best_note",
    "breakdown_table",
    "change_lines",
    "change_table",
    "check_json",
    "check_notes",
    "check_section",
    "check_table",
    "design_table",
    "fragility_table",
    "interval_verdict",
    "latex_table",
    "leaderboard_table",
    "leaderboard_text",
    "markdown_table",
    "may_be_best",
    "outlook_table",
    "overview",
    "render",
    "report_document",
    "result_json",
    "rows_table",
    "separation_table",
    "summarize",
    "summary_lines",
    "table_of",
    "table_text",
    "to_html",
    "to_latex",
    "to_markdown",
    "worth_table",
]
