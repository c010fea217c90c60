"""Battles tables: read and encoded once; each stage then adds learned columns."""

from skanchor._battles.comparisons import Comparisons
from skanchor._battles.labels import HUMAN, align
from skanchor._battles.outcomes import Outcomes
from skanchor._battles.roles import Inputs, count_rows, decide_roles, usable_features
from skanchor._battles.rows import FeaturePairs, JudgeRows, is_constant, number_rows
from skanchor._battles.table import as_frame, split_battles

__all__ = [
    "HUMAN",
    "Comparisons",
    "FeaturePairs",
    "Inputs",
    "JudgeRows",
    "Outcomes",
    "align",
    "as_frame",
    "count_rows",
    "decide_roles",
    "is_constant",
    "number_rows",
    "split_battles",
    "usable_features",
]
