"""Reading battles from files by a mapping, and writing results to files."""

from skanchor._battles import split_battles
from skanchor.io._columns import Decision
from skanchor.io._tables import join_tables as join_tables
from skanchor.io._words import names_in_role as names_in_role
from skanchor.io.atomic import write_atomically
from skanchor.io.mapping import Mapping
from skanchor.io.reading import read_battles

__all__ = ["Decision", "Mapping", "read_battles", "split_battles", "write_atomically"]
