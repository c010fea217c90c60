"""Readers of the files of evaluation tools, one in each module, and their recognition.

A reader turns the raw table of a file into battles: the outcome is `winner`, the judge
of people's votes is ``"human"`` and the person is `rater`, two games of a pair are two
rows, and rows that depend on each other have one `prompt_id`. It translates what a tool
is known to write, and never guesses in which direction a number goes.
"""

from skanchor.io._tools._cells import FAILED, is_number_or_text
from skanchor.io._tools._grades import grade, mirrored
from skanchor.io._tools._pandalm import joined_results, result_column
from skanchor.io._tools._reader import Options, Reader
from skanchor.io._tools._wins import rows_of_counts
from skanchor.io._tools.recognition import READERS, nearest, reader_called, recognise

__all__ = [
    "FAILED",
    "READERS",
    "Options",
    "Reader",
    "grade",
    "is_number_or_text",
    "joined_results",
    "mirrored",
    "nearest",
    "reader_called",
    "recognise",
    "result_column",
    "rows_of_counts",
]
