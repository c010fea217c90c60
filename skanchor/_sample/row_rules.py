"""What settings, weights and groups say of the rows of a fit.

Settings change rows: frequency weights, and ties as half wins or left out. Of
importance weights only the proportions matter, with two exceptions: the prior of item
effects, and the tolerance of a fit. There a weight is a number of rows, in a unit in
which the mean weight of the historical rows is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import HUMAN, number_rows
from skanchor._battles.grouping import FEW_GROUPS
from skanchor._sample.sample import Sample, warn_of_counts
from skanchor.exceptions import BattlesError
from skanchor.warning_log import warn_of_data

TIES = ("half", "drop")
"""What becomes of ties: half a win for either side, or rows that have no influence."""

PART_OF_VERDICTS = 0.1
"""Share of the judges' rows from which on the groups of a judge are counted."""


@dataclass(frozen=True, slots=True)
class RowRules:
    """What settings say of the rows that an estimator is given.

    Attributes
    ----------
    drops_ties : bool
        Whether ties are left out.
    counts : bool
        Whether weights are numbers of equal rows.
    """

    drops_ties: bool
    counts: bool

    @classmethod
    def of(cls, *estimators: Any) -> Self:
        """Read the rules off all parameters of estimators that share the rows.

        The rows are those of the whole, so that what a part says holds for all of it.
        """
        settings = {
            (name.rpartition("__")[2], value)
            for estimator in estimators
            for name, value in estimator.get_params().items()
            if isinstance(value, str)
        }
        return cls(("ties", "drop") in settings, ("weights", "frequency") in settings)

    def apply(
        self, sample: Sample, *, may_warn: bool = True, lists_rows: bool = True
    ) -> Sample:
        """List the rows that weights count, then count the ties among them.

        Importance weights that look like counts are warned of unless ``may_warn`` is
        false, as for estimators without errors. An estimator that fits cells is given
        the rows with their numbers (``lists_rows=False``), if these can be cells.
        """
        # Ties are counted in the rows of the table, so that counts are listed, or
        # become the numbers of equal rows, before ties are looked at.
        if self.counts and not lists_rows and not sample.X.features_left.shape[1]:
            sample = sample.counted()
        elif self.counts:
            sample = sample.expanded()
        elif may_warn:
            warn_of_counts(sample)
        return treat_ties(sample, drop=self.drops_ties)


def treat_ties(sample: Sample, *, drop: bool) -> Sample:
    """Count the ties of a sample, and leave them out where that is asked for.

    Parameters
    ----------
    sample : Sample
        As a user gave it.
    drop : bool
        Whether rows of ties lose their weight.

    Returns
    -------
    Sample
        The same rows; its ``inputs`` tell how many ties there are, and ``tied`` keeps
        which rows they are.

    Raises
    ------
    BattlesError
        If no vote is left.
    """
    tied = sample.tied
    if not tied.any():
        return sample
    inputs = replace(
        sample.inputs,
        ties="drop" if drop else "half",
        n_ties=sample.number(tied),
        n_both_bad=sample.number(sample.both_bad),
    )
    sample = replace(sample, inputs=inputs)
    if not drop:
        return sample
    _check_what_is_left(sample, tied)
    weight = np.where(tied, 0.0, sample.weight)
    return replace(sample, weight=weight, left_out=tied)


def _check_what_is_left(sample: Sample, tied: NDArray[np.bool_]) -> None:
    """Refuse votes that are all ties; name judges and models that have nothing else."""
    X, counts = sample.X, sample.counts
    votes, verdicts = counts & X.is_human, counts & (X.judge >= 0)
    if not ((votes if votes.any() else counts) & ~tied).any():
        what = "human vote" if votes.any() else "outcome"
        raise BattlesError(
            f"Every {what} is a tie: with ties left out there is nothing to fit. "
            "Count them as half a win: set ties to half."
        )
    decided = sample.by_source(verdicts & ~tied)[1:]
    judges = X.judges[(sample.by_source(verdicts)[1:] > 0) & (decided == 0)].tolist()
    voted, left = X.appearances(votes), X.appearances(votes & ~tied)
    models = X.models[(voted > 0) & (left == 0)].tolist()
    for names, kind, what in (
        (models, "models", "human votes on models"),
        (judges, "judges", "verdicts of judges"),
    ):
        if names:
            warn_of_data(
                f"{kind}-with-ties-only",
                names,
                f"All {what} {names[:5]} are ties, which are left out, as if there "
                "were none. Count ties as half a win: set ties to half.",
            )


# ------------------------------------------------------------------ weights and groups
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
    weight = sample.weight / sample.multiplicity
    largest = float(weight.max())
    lost = (weight > 0) & (weight / largest < np.finfo(float).eps)
    if lost.any():
        raise ValueError(
            "sample_weight spans too much. Rows below 1e-15 of the heaviest: "
            f"{lost.sum()}. Rescale it, or set them to zero."
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
    weight, X, n_rows = sample.weight[rows], sample.X, sample.number(rows)
    if sample.groups is not None and not np.allclose(weight, weight[:1], rtol=1e-12):
        columns = X.judge, X.left, X.right, X.order, sample.y, sample.weight
        of_rows = (column[rows] for column in (sample.groups, *columns))
        n_rows = len(number_rows(*of_rows).first)
    return float(weight.sum()) / n_rows


def _warn_of_few_groups(sample: Sample) -> None:
    """Warn of sources with groups too few for their spread to be known."""
    if sample.groups is None:
        return
    X = sample.X
    rows = pd.DataFrame({"source": X.judge, "group": sample.groups})[sample.counts]
    groups = rows.groupby("source")["group"].agg(["size", "nunique"])
    verdicts = groups["size"].drop(-1, errors="ignore").sum()
    # Judges of few rows matter little.
    matters = (groups.index == -1) | (groups["size"] >= PART_OF_VERDICTS * verdicts)
    few = groups["nunique"][matters & (groups["nunique"] < FEW_GROUPS)]
    # Code -1, of people, is the last label.
    names = [[*X.judges.tolist(), HUMAN][code] for code in few.index]
    if names:
        listed = [f"{n} of {name!r}" for n, name in zip(few, names, strict=True)]
        n_groups = rows["group"].nunique()
        warn_of_data(
            "few-groups",
            names,
            f"There are {n_groups} groups, only {', '.join(listed[:5])}: with fewer "
            f"than {FEW_GROUPS} the variance between groups is poorly known, training "
            "sets differ much, and intervals may be off. Use finer groups if there are "
            "any.",
        )
