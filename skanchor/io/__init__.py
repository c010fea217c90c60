"""Reading battles tables from files, and writing results to files."""

from skanchor.io._plain_tables.cases import Case as Case
from skanchor.io._plain_tables.names import words_of as words_of
from skanchor.io._plain_tables.order import may_be_swapped as may_be_swapped
from skanchor.io._plain_tables.sources import judge_cases as judge_cases
from skanchor.io._plain_tables.sources import judge_columns as judge_columns
from skanchor.io._plain_tables.sources import judges_by_value as judges_by_value
from skanchor.io._plain_tables.sources import partial_labels as partial_labels
from skanchor.io._plain_tables.sources import who_columns as who_columns
from skanchor.io._plain_tables.winners import names_loser as names_loser
from skanchor.io.atomic import write_atomically
from skanchor.io.reading import read_battles
from skanchor.io.splitting import split_battles

__all__ = ["read_battles", "split_battles", "write_atomically"]
