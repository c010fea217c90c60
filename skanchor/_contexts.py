"""Contexts of prompts: the mix that is reported, and where they are refused."""

from __future__ import annotations

from typing import Any

from skanchor._crossfit.stages import Stages
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError
from skanchor.results import Mixture, check_mix


def context_mix(
    sample: Sample, context: str | None, mix: Any, stages: Stages
) -> dict[Any, float] | None:
    """Check and complete the shares of contexts in the reported scores.

    Parameters
    ----------
    sample : Sample
        All rows, with decided roles.
    context : str or None
        Column of the contexts.
    mix : mapping of label to float or None
        The user's shares; None gives each context the same share.
    stages : Stages
        The unfitted stages.

    Returns
    -------
    dict of label to float, or None
        Share of each context; None if there are no contexts.

    Raises
    ------
    BattlesError
        If a context of the mix lacks a model, or the settings do not go with contexts.
    """
    X = sample.X
    if context is None:
        if mix is not None:
            raise ValueError(
                "context_mix has shares of contexts: name their column by context."
            )
        return None
    if not X.has_contexts:
        raise BattlesError(
            f"These rows were encoded without their contexts (column {context!r}): "
            "give the table itself."
        )
    if stages.btl.bias is not None:
        raise ValueError(
            "human_bias cannot be combined with context: fit the rows of each context "
            "alone, or leave one of the two out."
        )
    names = X.items.contexts.tolist()
    if mix is None:
        mix = dict.fromkeys(names, 1.0 / len(names))
    shares = check_mix(mix, names)
    # Raises if a context of the mix lacks a model, with the advice added here.
    try:
        Mixture.of(X.models, shares)
    except BattlesError as error:
        raise BattlesError(
            f"{error} The reported scores are means over all contexts, unless "
            "context_mix gives the share of each."
        ) from None
    if not stages.fits_jointly(X):
        # Without a joint fit, verdicts do not contribute to historical scores.
        _check_votes_by_context(sample)
    return shares


def refuse_contexts(estimator: Any, what: str) -> None:
    """Raise for a method with contexts where contexts are not supported.

    Parameters
    ----------
    estimator : estimator
        The method, or a scikit-learn pipeline that ends in it.
    what : str
        Name of the function that does not support contexts.
    """
    method = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if getattr(method, "context", None) is not None:
        raise ValueError(
            f"{what} does not support contexts, and context={method.context!r} asks "
            "for them: leave it at None, and give the rows of one context at a time."
        )


def _check_votes_by_context(sample: Sample) -> None:
    """Raise for historical models without votes in a context (two-step fit)."""
    X = sample.X
    votes = X.appearances(sample.counts & X.is_human)
    lost = X.models[~X.is_new & (votes == 0)].tolist()
    if lost:
        raise BattlesError(
            f"No human votes place {lost[:5]}. historical_fit='joint' can place them "
            "by judge rows."
        )
