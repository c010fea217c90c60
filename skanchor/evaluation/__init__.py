"""Checks of a method on models whose answer is known."""

from skanchor._diagnostics.interval_check import IntervalCheck
from skanchor.evaluation._left_out import check_intervals, leave_one_model_out

__all__ = ["IntervalCheck", "check_intervals", "leave_one_model_out"]
