"""Whether rows of a stream are copies of others, as the sample of its rows shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import number_rows
from skanchor._comparisons.oddities import DISTINCT, MANY_EQUAL
from skanchor._typing import Array
from skanchor.exceptions import DataWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn

_LEAST = 5
"""Pairs of equal rows in the sample from which copies are warned of."""


def warn_of_copies(sample: Sample, n_rows: Mapping[Any, int]) -> None:
    """Warn of verdicts that equal others in all columns, if features tell most apart.

    Rows are never in memory together, so that copies are looked for in the sample. It
    is drawn by the numbers of the rows: of the pairs of equal rows among N rows of a
    judge, it holds a share of s (s - 1) / (N (N - 1)) if it holds s rows.

    Parameters
    ----------
    sample : Sample
        Sampled rows of each judge; rows of people are not read.
    n_rows : mapping of label to int
        Number of all rows of each judge.
    """
    X = sample.X
    at = np.flatnonzero(~X.is_human)
    judge = X.judge[at]
    drawn = np.bincount(judge, minlength=len(X.judges)).astype(np.float64)
    known = np.array([n_rows[label] for label in X.judges.tolist()], dtype=np.float64)
    scale = known * (known - 1.0) / np.maximum(drawn * (drawn - 1.0), 1.0)
    # One number for the features of each row. A product of matrices may round equal
    # rows differently.
    factors = np.random.default_rng(0).random((2, len(X.feature_names)))
    mixed = (X.features_left[at] * factors[0]).sum(axis=1)
    mixed += (X.features_right[at] * factors[1]).sum(axis=1)
    alike = _pairs(judge, mixed)
    rest = X.left[at], X.right[at], X.order[at], sample.y[at]
    equal = _pairs(judge, mixed, *rest)
    total = known.sum()
    by_chance = (alike * scale).sum() / total
    copies = (equal * scale).sum() / total
    # With features of few values, rows are equal by chance. Where each row is there m
    # times, there are (m - 1) / 2 pairs for each.
    if by_chance > (1.0 / DISTINCT - 1.0) / 2.0 or equal.sum() < _LEAST:
        return
    # Share of rows that equal an earlier one: exact for two of each, or for few pairs.
    share = min(copies, 2.0 * copies / (1.0 + 2.0 * copies))
    if share > MANY_EQUAL:
        warn(
            DataWarning(
                f"Of {len(at)} sampled verdicts, {equal.sum():.0f} pairs are equal in "
                f"all columns: about {share:.0%} of the {total:.0f} verdicts of the "
                "stream are copies of others, and votes may be, too. Copies make "
                "errors too short. Drop them, or give rows of one prompt the same "
                "value in a column 'prompt_id'.",
                code="equal-rows",
            )
        )


def _pairs(judge: NDArray[np.intp], *columns: NDArray[Any]) -> Array:
    """By judge, the number of pairs of rows that agree in all columns."""
    found = number_rows(judge, *columns)
    size = found.size.astype(np.float64)
    pairs = size * (size - 1.0) / 2.0
    return np.bincount(judge[found.first], pairs).astype(np.float64)
