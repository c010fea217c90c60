"""Folds by source, the fold plan as data, and the loop over it."""

from skanchor._folds._draw import are_drawn, make_plans
from skanchor._folds._plan import (
    DrawnPlan,
    Fold,
    FoldPlan,
    as_folds,
    check_training_sets,
    fold_of_rows,
    plan_weights,
)
from skanchor._folds._run import run_plan, stream_plan
from skanchor._folds._source_kfold import SourceKFold

__all__ = [
    "DrawnPlan",
    "Fold",
    "FoldPlan",
    "SourceKFold",
    "are_drawn",
    "as_folds",
    "check_training_sets",
    "fold_of_rows",
    "make_plans",
    "plan_weights",
    "run_plan",
    "stream_plan",
]
