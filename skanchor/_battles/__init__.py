"""Battles tables: read and encoded once; each stage then adds learned columns."""

from skanchor._battles.checks import warn_of_contradicting_judges, warn_of_runs
from skanchor._battles.columns import (
    chunks,
    constant,
    first_rows,
    is_constant,
    look_up,
    number_rows,
)
from skanchor._battles.comparisons import Comparisons
from skanchor._battles.contexts import (
    InContext,
    Items,
    has_contexts,
    read_contexts,
)
from skanchor._battles.features import FeaturePairs
from skanchor._battles.grouping import join_groups
from skanchor._battles.inputs import Inputs
from skanchor._battles.judge_rows import JudgeRows
from skanchor._battles.labels import align, label_list
from skanchor._battles.outcomes import Outcomes
from skanchor._battles.roles import count_rows, decide_roles, usable_features
from skanchor._battles.table import HUMAN, as_frame, split_table

__all__ = [
    "HUMAN",
    "Comparisons",
    "FeaturePairs",
    "InContext",
    "Inputs",
    "Items",
    "JudgeRows",
    "Outcomes",
    "align",
    "as_frame",
    "chunks",
    "constant",
    "count_rows",
    "decide_roles",
    "first_rows",
    "has_contexts",
    "is_constant",
    "join_groups",
    "label_list",
    "look_up",
    "number_rows",
    "read_contexts",
    "split_table",
    "usable_features",
    "warn_of_contradicting_judges",
    "warn_of_runs",
]
