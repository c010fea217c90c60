"""Style features of arenas: four counts, and contrasts of two responses.

Markdown is counted by the regular expressions that arenas use; a parser would not
reproduce published figures. A contrast depends on both responses. Each side gets half
of it, with opposite signs, so that the difference of the sides is the contrast.
"""

from __future__ import annotations

import re

import numpy as np

from skanchor._typing import Array

_CODE = re.compile(r"```([^`]*)```")
_HEADER = re.compile(r"^#{1,6}\s", re.MULTILINE)
_LISTS = (
    re.compile(r"^\s*\d+\.\s", re.MULTILINE),
    re.compile(r"^\s*[-*+]\s", re.MULTILINE),
)
_BOLD = (re.compile(r"\*\*[^*\n]+\*\*"), re.compile(r"__[^_\n]+__"))

STYLE = ("length", "headers", "lists", "bold")
"""Names of the counts."""


def arena_counts(text: str) -> dict[str, int]:
    """Count length, headers, list items and bold spans.

    Parameters
    ----------
    text : str
        A response whose turns are joined by line ends.

    Returns
    -------
    dict
        Counts by the names of `STYLE`. Length is in words (arenas count tokens of a
        vocabulary) and includes code; the other three counts do not.
    """
    without_code = _CODE.sub("", text)
    return {
        "length": len(text.split()),
        "headers": len(_HEADER.findall(without_code)),
        "lists": sum(len(kind.findall(without_code)) for kind in _LISTS),
        "bold": sum(len(kind.findall(without_code)) for kind in _BOLD),
    }


def ratio_halves(a: Array, b: Array) -> Array:
    """Half of the contrast (a - b) / (a + b + 1) of counts.

    Parameters
    ----------
    a, b : ndarray of shape (n_rows, 4)
        Counts of the two sides.

    Returns
    -------
    ndarray of shape (n_rows, 4)
        The first side's half; the second's is its negative.
    """
    return (a - b) / (a + b + 1.0) / 2.0


def density_halves(a: Array, b: Array) -> Array:
    """Half of the contrasts of length and of markdown per length.

    The contrast of lengths is (a - b) / (a + b), or zero for two empty responses. The
    contrast of another count is (d_a - d_b) / (d_a + d_b + 1), with the densities d =
    count / (length + 1).

    Parameters
    ----------
    a, b : ndarray of shape (n_rows, 4)
        Counts of the two sides, length first.

    Returns
    -------
    ndarray of shape (n_rows, 4)
        The first side's half; the second's is its negative.
    """
    # Column 0 is the length. Where both are zero, divide by one to get zero.
    total = a[:, :1] + b[:, :1]
    length = (a[:, :1] - b[:, :1]) / np.where(total > 0.0, total, 1.0) / 2.0
    dense_a, dense_b = (side[:, 1:] / (side[:, :1] + 1.0) for side in (a, b))
    return np.hstack([length, ratio_halves(dense_a, dense_b)])
