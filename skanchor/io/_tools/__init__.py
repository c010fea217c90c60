"""Readers of the files of evaluation tools, one a module, and how each is recognised.

A reader turns the raw table of a file into battles: `winner` for ``model_a``, people
as judge ``"human"`` and as `rater`, each game of a double one a row, all that depends
on each other under one `prompt_id`. It translates what a tool is known to write and
never guesses which way round a number goes.
"""

from skanchor.io._tools._cells import FAILED
from skanchor.io._tools._reader import Options, Reader
from skanchor.io._tools.recognition import READERS, nearest, reader_called, recognise

__all__ = [
    "FAILED",
    "READERS",
    "Options",
    "Reader",
    "nearest",
    "reader_called",
    "recognise",
]
