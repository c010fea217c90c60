"""Tables that no tool wrote: which column is what, and what its values mean.

A table is read where exactly one reading fits it. What is assumed is said; a table that
can be read in several ways is refused with the calls that decide.
"""

from skanchor.io._plain_tables.names import quoted, words_of
from skanchor.io._plain_tables.nested import flattened
from skanchor.io._plain_tables.order import may_be_swapped
from skanchor.io._plain_tables.outcomes import holds_standard
from skanchor.io._plain_tables.plain import Plain, read_plain
from skanchor.io._plain_tables.refusals import no_battles
from skanchor.io._plain_tables.sources import (
    absent_people_file,
    human_like,
    is_people_flag,
    judge_calls,
    judge_columns,
    judge_or_people,
    judges_by_value,
    may_be_else,
    partial_labels,
    people_patterns,
)
from skanchor.io._plain_tables.understood import needs_names
from skanchor.io._plain_tables.winners import (
    may_be_tie_flag,
    names_loser,
    refuse_losers_as_winners,
)

__all__ = [
    "Plain",
    "absent_people_file",
    "flattened",
    "holds_standard",
    "human_like",
    "is_people_flag",
    "judge_calls",
    "judge_columns",
    "judge_or_people",
    "judges_by_value",
    "may_be_else",
    "may_be_swapped",
    "may_be_tie_flag",
    "names_loser",
    "needs_names",
    "no_battles",
    "partial_labels",
    "people_patterns",
    "quoted",
    "read_plain",
    "refuse_losers_as_winners",
    "words_of",
]
