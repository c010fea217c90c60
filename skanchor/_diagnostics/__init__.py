"""Signs that an interval should not be trusted, read off a fit."""

from skanchor._diagnostics._arrivals import check_arrivals
from skanchor._diagnostics._collect import ItemCheck, diagnose
from skanchor._diagnostics._interval_check import IntervalCheck
from skanchor._diagnostics._judges import judge_errors, judge_table, partial_effects
from skanchor._diagnostics._report import KINDS, Diagnostics
from skanchor._diagnostics._sums import N_TESTED, FitSums, HistoricalFeatures

__all__ = [
    "KINDS",
    "N_TESTED",
    "Diagnostics",
    "FitSums",
    "HistoricalFeatures",
    "IntervalCheck",
    "ItemCheck",
    "check_arrivals",
    "diagnose",
    "judge_errors",
    "judge_table",
    "partial_effects",
]
