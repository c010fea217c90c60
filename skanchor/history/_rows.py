"""Admission of the rows of a history and of arrivals, as in the pipeline."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skanchor._anchor import AnchorPipeline
from skanchor._battles import Comparisons, as_frame
from skanchor._battles.grouping import (
    AUTO,
    PROMPT_COLUMN,
    is_own_label,
    prompt_groups,
)
from skanchor._row_rules import RowRules
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history._state import GroupFolds
from skanchor.sample import Battles, Sample
from skanchor.warning_log import warn


@dataclass(frozen=True, slots=True)
class HistoryRows:
    """How the rows of a history and of arrivals are admitted.

    Searching all parameters for them takes as long as placing arrivals in a few folds,
    so a history does it once.

    Attributes
    ----------
    rules : RowRules
        Of ties and of weights.
    random_state : int, RandomState or None
        Seed of the folds.
    """

    rules: RowRules
    random_state: Any

    @classmethod
    def of(cls, anchor: AnchorPipeline) -> Self:
        """Read the rules off the parameters of a pipeline and of its stages."""
        return cls(RowRules.of(anchor), anchor.random_state)

    @property
    def seed(self) -> Any:
        """Seed of the folds, the same at every call."""
        # A copy, since drawing from a RandomState would change it.
        return deepcopy(self.random_state)

    def admit(
        self,
        X: Battles,
        y: ArrayLike,
        sample_weight: Any,
        groups: Any,
        *,
        lists_rows: bool = True,
    ) -> tuple[Sample, NDArray[Any] | None]:
        """Admit rows as the pipeline would.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in :meth:`skanchor.AnchorPipeline.fit`.
        lists_rows : bool
            Whether rows that weights count are listed; otherwise they have numbers.

        Returns
        -------
        sample : Sample
        labels : ndarray or None
            Labels of the groups, by code.
        """
        sample, labels = Sample.admit_with_labels(X, y, sample_weight, groups)
        if sample.raters is not None:
            sample = sample.without_raters()
            warn(
                DataWarning(
                    "A history stores no sums by rater, so that its errors do not "
                    f"allow for {sample.inputs.n_raters} raters who may differ. "
                    "AnchorPipeline on all rows has errors by rater; "
                    "groups='prompt_id' leaves raters out.",
                    code="raters-ignored",
                )
            )
        return self.rules.apply(sample, lists_rows=lists_rows), labels


def groups_of_arrivals(groups: Any, X: Battles, known: GroupFolds | None) -> Any:
    """What ``groups="auto"`` stands for where rows are added to a history.

    Parameters
    ----------
    groups : array-like, str or None
        As a user gave them.
    X : battles table or Comparisons
        The rows that are added.
    known : GroupFolds or None
        Groups of the history. Without any, rows that are added have none either.

    Returns
    -------
    array-like, str, RowGroups or None
    """
    if not isinstance(groups, str) or groups != AUTO:
        return groups
    frame = None if isinstance(X, Comparisons) else as_frame(X)
    if known is None:
        if frame is not None and PROMPT_COLUMN in frame.columns:
            prompts = frame[PROMPT_COLUMN].drop_nulls()
            if prompts.n_unique() < len(prompts):
                warn(
                    DataWarning(
                        "The history has no groups of dependent rows, so that these "
                        f"rows count as independent, although {PROMPT_COLUMN!r} "
                        "repeats among them. Fit the history again with all rows.",
                        code="history-without-groups",
                        subject=[PROMPT_COLUMN],
                    )
                )
        return None
    if frame is None or PROMPT_COLUMN not in frame.columns:
        return None
    # They may be few here, or not repeat, and yet be prompts of the history.
    return prompt_groups(frame)


def among_groups(
    sample: Sample, labels: NDArray[Any] | None, known: GroupFolds | None
) -> Sample:
    """Replace the codes of the groups of arrivals by those of the history.

    Parameters
    ----------
    sample : Sample
        Arrivals.
    labels : ndarray or None
        Labels of their groups, by code.
    known : GroupFolds or None
        Groups of the history.

    Returns
    -------
    Sample
        Groups that the history does not have get codes after those it has.

    Raises
    ------
    BattlesError
        If one of the two has groups, and the other has none.
    """
    if labels is None or sample.groups is None:
        if known is not None:
            raise BattlesError(
                "The history was fitted with groups of dependent rows; give the groups "
                "of these rows, too, or the numbers of the rows where these are "
                "independent."
            )
        return sample
    if known is None:
        raise BattlesError(
            "The history was fitted without groups of dependent rows, so that these "
            "rows cannot have any. Fit the history again with all rows.",
        )
    code = known.places(labels)
    # Rows without a prompt have labels by their number in their own table.
    is_new = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind in "OU":
        is_new[:] = [is_own_label(label) for label in labels.tolist()]
    # A group of the history none of whose rows was used has no fold: it counts as new.
    is_new |= (code < 0) | (known.folds[:, code] < 0).any(axis=0)
    code[is_new] = len(known.codes) + np.arange(np.count_nonzero(is_new))
    return replace(sample, groups=code[sample.groups])
