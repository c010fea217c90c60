"""Weights and groups: what leaves sums or errors unknown is refused or warned of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons.grouping import FEW_GROUPS
from skanchor._typing import Array
from skanchor.exceptions import DataWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn

__all__ = ["check_weights_and_groups"]

PART_OF_VERDICTS = 0.1
"""Share of the judges' rows from which on the groups of a judge are counted."""


def check_weights_and_groups(sample: Sample, *, as_counts: bool) -> Sample:
    """Refuse weights of too wide a range; warn of odd ones, and of few groups.

    Parameters
    ----------
    sample : Sample
        As a user gave it.
    as_counts : bool
        Whether weights stand for numbers of rows, as beside item effects.

    Returns
    -------
    Sample
        Extreme weights brought near one.
    """
    if as_counts and sample.multiplicity is None:
        _warn_of_odd_counts(sample.weight)
    _warn_of_few_groups(sample)
    if sample.multiplicity is not None:
        # Each row weighs one.
        return sample
    return sample.weighted(_scaled(sample.weight))


def _scaled(weight: Array) -> Array:
    """Refuse weights of too wide a range; scale extreme ones to a maximum of one."""
    unit = weight.max()
    scaled = weight / unit
    lost = (weight > 0) & (scaled < np.finfo(float).eps)
    if lost.any():
        raise ValueError(
            f"sample_weight spans too much: {lost.sum()} rows weigh less than 1e-15 "
            "of the heaviest. Rescale it, or set them to zero."
        )
    # Beside the prior of the item effects a weight is a number of rows: only where
    # squares would leave the range of floats is the unit free.
    return weight if 1e-100 < unit < 1e100 else scaled


def _warn_of_few_groups(sample: Sample) -> None:
    """Warn of groups too few for their spread to be known."""
    if sample.groups is None:
        return
    n_groups = _n_distinct(sample.groups[sample.weight > 0])
    few = _sources_of_few_groups(sample)
    if n_groups < FEW_GROUPS or few:
        what = f"{n_groups} groups"
        if n_groups >= FEW_GROUPS:
            what = f"few groups of some rows ({', '.join(few[:5])})"
        warn(
            DataWarning(
                f"There are {what}: with fewer than {FEW_GROUPS} the "
                "variance between groups is poorly known, training sets differ much, "
                "and intervals may be off. Use finer groups if there are any."
            )
        )


def _sources_of_few_groups(sample: Sample) -> list[str]:
    """Sources whose rows are few groups, and how many; judges of few rows aside."""
    X, used = sample.X, sample.counts
    assert sample.groups is not None
    verdicts = int((used & (X.judge >= 0)).sum())
    found = []
    for m, source in enumerate([None, *X.judges.tolist()], start=-1):
        rows = used & (X.judge == m)
        n_groups = _n_distinct(sample.groups[rows])
        matters = rows.sum() >= (PART_OF_VERDICTS * verdicts if m >= 0 else 1)
        if matters and n_groups < FEW_GROUPS:
            who = "people" if source is None else f"judge {source!r}"
            found.append(f"{n_groups} of {who}")
    return found


def _n_distinct(codes: NDArray[np.intp]) -> int:
    """Number of different codes."""
    return int(np.count_nonzero(np.bincount(codes)))


def _warn_of_odd_counts(weight: Array) -> None:
    """Warn of weights that cannot be numbers of rows."""
    known = weight[weight > 0]
    mean = float(known.mean())
    if 0.5 <= mean <= 2.0 or (known == np.round(known)).all():
        return
    warn(
        DataWarning(
            f"The mean of sample_weight is {mean:.3g}. Where judges may deviate by "
            "model, their deviations are fitted as if a weight were so many votes; "
            "divide relative weights by their mean, or set item_effects=None, to which "
            "their unit is nothing."
        )
    )
