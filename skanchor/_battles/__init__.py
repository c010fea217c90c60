"""Battles tables: read and encoded once; each stage then adds learned columns."""

from skanchor._battles.checks import warn_of_contradicting_judges, warn_of_runs
from skanchor._battles.comparisons import Comparisons
from skanchor._battles.grouping import join_groups, read_contexts
from skanchor._battles.labels import (
    HUMAN,
    InContext,
    Items,
    align,
    label_list,
)
from skanchor._battles.outcomes import Outcomes
from skanchor._battles.roles import Inputs, count_rows, decide_roles, usable_features
from skanchor._battles.rows import (
    EqualRows,
    FeaturePairs,
    JudgeRows,
    constant,
    first_rows,
    is_constant,
    look_up,
    number_rows,
)
from skanchor._battles.table import as_frame, split_battles

__all__ = [
    "HUMAN",
    "Comparisons",
    "EqualRows",
    "FeaturePairs",
    "InContext",
    "Inputs",
    "Items",
    "JudgeRows",
    "Outcomes",
    "align",
    "as_frame",
    "constant",
    "count_rows",
    "decide_roles",
    "first_rows",
    "is_constant",
    "join_groups",
    "label_list",
    "look_up",
    "number_rows",
    "read_contexts",
    "split_battles",
    "usable_features",
    "warn_of_contradicting_judges",
    "warn_of_runs",
]
