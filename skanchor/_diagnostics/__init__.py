"""Signs that an interval should not be trusted, read off a fitted chain."""

from skanchor._diagnostics._arrivals import check_arrivals
from skanchor._diagnostics._collect import ItemCheck, diagnose
from skanchor._diagnostics._historical import historical_table, with_noise
from skanchor._diagnostics._interval_check import IntervalCheck
from skanchor._diagnostics._judges import JudgeErrors, judge_table, partial_effects
from skanchor._diagnostics._overlap import HistoricalFeatures
from skanchor._diagnostics._report import KINDS, Diagnostics
from skanchor._diagnostics._style import style_shares, style_table
from skanchor._diagnostics._sums import FitSums, FittedSource, tested_columns

__all__ = [
    "KINDS",
    "Diagnostics",
    "FitSums",
    "FittedSource",
    "HistoricalFeatures",
    "IntervalCheck",
    "ItemCheck",
    "JudgeErrors",
    "check_arrivals",
    "diagnose",
    "historical_table",
    "judge_table",
    "partial_effects",
    "style_shares",
    "style_table",
    "tested_columns",
    "with_noise",
]
