"""Checks of a method on models, and on rows, whose answer is known."""

from skanchor._diagnostics import IntervalCheck
from skanchor.evaluation._checked import as_reported as as_reported
from skanchor.evaluation._checked import check_intervals
from skanchor.evaluation._checked import check_of_rows as check_of_rows
from skanchor.evaluation._left_out import leave_one_model_out
from skanchor.evaluation._left_out import models_left_out as models_left_out
from skanchor.evaluation._predicted import predict_left_out as predict_left_out

__all__ = [
    "IntervalCheck",
    "check_intervals",
    "leave_one_model_out",
]
