"""Histories of data sets larger than memory: the engine's sums, batch by batch."""

from skanchor.large._history import fit_history

__all__ = ["fit_history"]
