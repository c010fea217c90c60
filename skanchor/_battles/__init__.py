"""Battles tables: read and encoded once; each stage then adds learned columns."""

from skanchor._battles.agreement import (
    warn_of_contradicting_judges,
    warn_of_runs,
)
from skanchor._battles.contexts import (
    InContext,
    Items,
    has_contexts,
    read_contexts,
)
from skanchor._battles.encoded import Comparisons
from skanchor._battles.equal_rows import EqualRows, equal_texts, number_rows
from skanchor._battles.grouping import join_groups
from skanchor._battles.in_chunks import chunks, first_rows, look_up
from skanchor._battles.inputs import Inputs
from skanchor._battles.judge_rows import JudgeRows
from skanchor._battles.labels import align, constant, is_constant, label_list
from skanchor._battles.oddities import advice_on_spellings
from skanchor._battles.outcomes import Outcomes
from skanchor._battles.pairs import FeaturePairs
from skanchor._battles.people import HUMAN
from skanchor._battles.roles import count_rows, decide_roles, usable_features
from skanchor._battles.rows import EncodedRows
from skanchor._battles.table import as_frame, split_table

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
