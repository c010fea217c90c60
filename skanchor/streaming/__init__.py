"""Histories larger than memory: read in batches, summed in parallel, stored as sums.

The first pass, the survey, counts the rows and draws a sample of them. A fit of the
sample gives starting values. A few more passes then bring the fit of every training set
to convergence. Each pass adds up small sums over the rows of each judge; the
computations between two passes use these sums and the sample only.
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
