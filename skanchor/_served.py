"""Whether a fit supports computations with other rows, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skanchor._comparisons import has_contexts
from skanchor.exceptions import BattlesError

if TYPE_CHECKING:
    from skanchor._riesz import RieszDebiaser
    from skanchor.sample import Sample


def check_served(
    what: str, debiaser: RieszDebiaser | None, sample: Sample, *, in_closed_form: bool
) -> RieszDebiaser:
    """Refuse methods without a formula for the effect of other rows.

    Parameters
    ----------
    what : str
        What cannot be computed then.
    debiaser : RieszDebiaser or None
        Fitted; None for a plug-in.
    sample : Sample
        Rows that were fitted.
    in_closed_form : bool
        Whether the weights must be known of rows that are not there, by a formula.

    Returns
    -------
    RieszDebiaser
        As given.

    Raises
    ------
    BattlesError
        With the reason.
    """
    if debiaser is None:
        why = "a plug-in, debiaser='passthrough', has no errors"
    elif has_contexts(sample.X):
        why = "with contexts a row counts for several scores of a model"
    else:
        why = _without_span(debiaser, sample) if in_closed_form else ""
        if not why:
            return debiaser
    raise BattlesError(
        f"{what} cannot be computed: {why}. Fit an AnchorPipeline without it."
    )


def _without_span(debiaser: RieszDebiaser, sample: Sample) -> str:
    """Whose learner has no linear span, in words, or an empty text."""
    labels = ["people", *sample.X.judges.tolist()]
    for label, one in zip(labels, debiaser.learners_, strict=True):
        if not one.has_span:
            return (
                f"the learner of {label} has no linear span, so that the information "
                "of further rows is not known"
            )
    return ""
