"""Histories larger than memory: read in batches, summed side by side, kept as sums.

A survey counts the rows, a fit of a sample says where to start, and a few passes bring
every fold to where its own rows want it. A pass adds up small sums over the rows of
each judge, and between two passes nothing but these sums is looked at.
"""

from skanchor.streaming._parts import open_data as open_data
from skanchor.streaming._reading import Folds
from skanchor.streaming._stream import StreamedHistory, StreamOptions, stream_history

__all__ = [
    "Folds",
    "StreamOptions",
    "StreamedHistory",
    "stream_history",
]
