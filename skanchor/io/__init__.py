"""Reading battles tables from files, and writing results to files."""

from skanchor.io.atomic import write_atomically
from skanchor.io.reading import read_battles

__all__ = ["read_battles", "write_atomically"]
