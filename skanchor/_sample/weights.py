"""Checks of weights and groups that leave errors undetermined; the unit of weights.

Only the proportions of weights matter, with two exceptions: the prior of item effects,
and the tolerance of a fit. There a weight is a number of rows, in a unit in which the
mean weight of the historical rows is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import HUMAN, is_constant, number_rows
from skanchor._battles.grouping import FEW_GROUPS
from skanchor._sample.sample import Sample
from skanchor.exceptions import DataWarning
from skanchor.warning_log import warn

PART_OF_VERDICTS = 0.1
"""Share of the judges' rows from which on the groups of a judge are counted."""

MANY = 1 << 10
"""First rows of a source, which mostly show that its groups are not few."""


def check_weights_and_groups(sample: Sample) -> Sample:
    """Refuse weights of too wide a range; warn of few groups.

    Parameters
    ----------
    sample : Sample
        As a user gave it.

    Returns
    -------
    Sample
        Extreme weights are divided by the largest.
    """
    _warn_of_few_groups(sample)
    if sample.multiplicity is not None:
        # Each row weighs one.
        return sample
    weight = sample.weight[:1] if is_constant(sample.weight) else sample.weight
    largest = float(weight.max())
    lost = (weight > 0) & (weight / largest < np.finfo(float).eps)
    if lost.any():
        raise ValueError(
            f"sample_weight spans too much: {lost.sum()} rows weigh less than 1e-15 "
            "of the heaviest. Rescale it, or set them to zero."
        )
    # Squares of the others stay within the range of floats.
    return sample if 1e-100 < largest < 1e100 else sample.in_units(largest)


def mean_weight(sample: Sample) -> float:
    """Mean weight of the rows between historical models.

    Rows of new models are not part of it, so that a stored history has the same unit.
    Where weights differ, equal rows of one group may be parts of a row, and are one.

    Parameters
    ----------
    sample : Sample
        Rows whose roles are decided.

    Returns
    -------
    float
    """
    rows = sample.counts & ~sample.X.involves_new
    weight, number = sample.weight[rows], sample.number(rows)
    each = weight / (1.0 if sample.multiplicity is None else sample.multiplicity[rows])
    if sample.is_grouped and not np.allclose(each, each[:1], rtol=1e-12):
        number = _count_once(sample, rows)
    return float(weight.sum()) / number


def _count_once(sample: Sample, rows: NDArray[np.bool_]) -> int:
    """Number of rows, those of a group that agree in all but features counted once."""
    X, n_rows = sample.X, len(sample)
    number = 1.0 if sample.multiplicity is None else sample.multiplicity
    columns = X.judge, X.left, X.right, X.order, sample.y, sample.weight / number
    kind = np.zeros(n_rows, dtype=np.intp)
    kind[rows] = number_rows(*(column[rows] for column in columns)).kind
    assert sample.groups is not None
    return len(number_rows(sample.groups[rows], kind[rows]).first)


def _warn_of_few_groups(sample: Sample) -> None:
    """Warn of groups too few for their spread to be known."""
    if sample.groups is None:
        return
    n_groups = _n_groups(sample.groups[sample.weight > 0])
    few = _sources_of_few_groups(sample)
    if n_groups < FEW_GROUPS or few:
        what = f"{n_groups} groups"
        if n_groups >= FEW_GROUPS:
            what = f"few groups of some rows ({', '.join([*few.values()][:5])})"
        warn(
            DataWarning(
                f"There are {what}: with fewer than {FEW_GROUPS} the "
                "variance between groups is poorly known, training sets differ much, "
                "and intervals may be off. Use finer groups if there are any.",
                code="few-groups",
                subject=few,
            )
        )


def _sources_of_few_groups(sample: Sample) -> dict[str, str]:
    """Sources whose rows are few groups, and how many; judges of few rows aside."""
    X, used = sample.X, sample.counts
    assert sample.groups is not None
    verdicts = int((used & (X.judge >= 0)).sum())
    found = {}
    for m, source in enumerate([HUMAN, *X.judges.tolist()], start=-1):
        rows = used & (X.judge == m)
        n_groups = _n_groups(sample.groups[rows])
        matters = rows.sum() >= (PART_OF_VERDICTS * verdicts if m >= 0 else 1)
        if matters and n_groups < FEW_GROUPS:
            who = f"judge {source!r}" if m >= 0 else "people"
            found[source] = f"{n_groups} of {who}"
    return found


def _n_groups(codes: NDArray[np.intp]) -> int:
    """Number of groups; where the first rows have enough, the number of these."""
    for some in (codes[:MANY], codes):
        found = int(np.count_nonzero(np.bincount(some)))
        if found >= FEW_GROUPS:
            break
    return found
