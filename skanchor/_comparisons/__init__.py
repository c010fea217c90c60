"""Battles tables: read and encoded once; each stage then adds learned columns."""

from skanchor._comparisons.agreement import (
    warn_of_contradicting_judges,
    warn_of_runs,
)
from skanchor._comparisons.contexts import (
    InContext,
    Items,
    has_contexts,
    read_contexts,
)
from skanchor._comparisons.encoded import Comparisons
from skanchor._comparisons.equal_rows import EqualRows, equal_texts, number_rows
from skanchor._comparisons.grouping import join_groups
from skanchor._comparisons.in_chunks import chunks, first_rows, look_up
from skanchor._comparisons.inputs import Inputs
from skanchor._comparisons.judge_rows import JudgeRows
from skanchor._comparisons.labels import align, constant, is_constant, label_list
from skanchor._comparisons.oddities import advice_on_spellings
from skanchor._comparisons.outcomes import Outcomes
from skanchor._comparisons.pairs import FeaturePairs
from skanchor._comparisons.people import HUMAN
from skanchor._comparisons.roles import count_rows, decide_roles, usable_features
from skanchor._comparisons.rows import EncodedRows
from skanchor._comparisons.table import as_frame, split_table

__all__ = [
    "HUMAN",
    "Comparisons",
    "EncodedRows",
    "EqualRows",
    "FeaturePairs",
    "InContext",
    "Inputs",
    "Items",
    "JudgeRows",
    "Outcomes",
    "advice_on_spellings",
    "align",
    "as_frame",
    "chunks",
    "constant",
    "count_rows",
    "decide_roles",
    "equal_texts",
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
