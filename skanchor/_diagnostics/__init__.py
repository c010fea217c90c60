"""Signs that an interval should not be trusted, read off a fitted chain."""

from skanchor._diagnostics._arrivals import check_arrivals
from skanchor._diagnostics._collect import diagnose
from skanchor._diagnostics._historical import historical_table, with_noise
from skanchor._diagnostics._interval_check import IntervalCheck
from skanchor._diagnostics._item_check import (
    DETECTED,
    RULED_OUT,
    ItemCheck,
    ItemTestSums,
    item_effects_check,
    score_error_of,
    tested_items,
)
from skanchor._diagnostics._judges import JudgeErrors, judge_table, partial_effects
from skanchor._diagnostics._overlap import HistoricalFeatures
from skanchor._diagnostics._report import KINDS, Diagnostics
from skanchor._diagnostics._style import style_shares, style_table
from skanchor._diagnostics._sums import FitSums, FittedSource, tested_columns

__all__ = [
    "DETECTED",
    "KINDS",
    "RULED_OUT",
    "Diagnostics",
    "FitSums",
    "FittedSource",
    "HistoricalFeatures",
    "IntervalCheck",
    "ItemCheck",
    "ItemTestSums",
    "JudgeErrors",
    "check_arrivals",
    "diagnose",
    "historical_table",
    "item_effects_check",
    "judge_table",
    "partial_effects",
    "score_error_of",
    "style_shares",
    "style_table",
    "tested_columns",
    "tested_items",
    "with_noise",
]
