"""Settings that change rows: frequency weights, and ties as half wins or left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._sample.sample import Sample, warn_of_counts
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn

TIES = ("half", "drop")
"""What becomes of ties: half a win for either side, or rows that have no influence."""

_LISTED = 5


def drops_ties(estimator: Any) -> bool:
    """Whether an estimator, or a part of it, leaves ties out.

    The rows are those of the whole, so that what a part says holds for all of it.
    """
    return _is_set(estimator, "ties", "drop")


def counts_rows(estimator: Any) -> bool:
    """Whether an estimator, or a part of it, takes weights for numbers of equal rows.

    The rows are those of the whole, so that what a part says holds for all of it.
    """
    return _is_set(estimator, "weights", "frequency")


def _is_set(estimator: Any, setting: str, wanted: str) -> bool:
    return any(
        name.rpartition("__")[2] == setting and value == wanted
        for name, value in estimator.get_params().items()
    )


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
        """Read the rules off all parameters of estimators that share the rows."""
        drops, counts = map(drops_ties, estimators), map(counts_rows, estimators)
        return cls(any(drops), any(counts))

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
    X = sample.X
    counts = sample.counts
    votes = counts & X.is_human
    if (votes.any() and not (votes & ~tied).any()) or not (counts & ~tied).any():
        what = "human vote" if votes.any() else "outcome"
        raise BattlesError(
            f"Every {what} is a tie: with ties left out there is nothing to fit. "
            "Count them as half a win: ties='half'."
        )
    # Models with votes, and those with a vote that is no tie; judges likewise below.
    voted, decided = (X.appearances(rows) > 0 for rows in (votes, votes & ~tied))
    models = X.models[voted & ~decided].tolist()
    if models:
        warn(
            DataWarning(
                f"All human votes on models {models[:_LISTED]} are ties, which are "
                "left out: they count as models without votes. Count them as half a "
                "win: ties='half'.",
                code="models-with-ties-only",
                subject=models,
            )
        )
    verdicts = counts & (X.judge >= 0)
    judged, deciding = (
        np.bincount(X.judge[rows], minlength=len(X.judges)) > 0
        for rows in (verdicts, verdicts & ~tied)
    )
    judges = X.judges[judged & ~deciding].tolist()
    if judges:
        warn(
            DataWarning(
                f"All verdicts of judges {judges[:_LISTED]} are ties, which are left "
                "out. Count them as half a win: ties='half'.",
                code="judges-with-ties-only",
                subject=judges,
            )
        )
