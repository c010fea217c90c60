"""Codes of sources, and what counts as a sensitivity."""

from __future__ import annotations

import numpy as np

from skanchor._typing import Array

LEAST_SENSITIVITY = 1e-10
"""Sensitivity below which a judge is uninformative: what is left is rounding."""


def count_parameters(n_items: int, n_judges: int, *, deviations: bool = False) -> int:
    """About how many parameters a joint fit has, those of biases left out.

    Parameters
    ----------
    n_items, n_judges : int
        Numbers of items, and of judges.
    deviations : bool
        Whether there are item effects.

    Returns
    -------
    int
        The scores, a sensitivity and a position effect for every judge, and a
        deviation for every judge and item.
    """
    return n_items + n_judges * (2 + n_items * deviations)


def without_rounding(sensitivities: Array) -> Array:
    """Sensitivities with values that are rounding set to zero.

    Otherwise even the smallest one would identify scores, by rounding alone.

    Parameters
    ----------
    sensitivities : ndarray of shape (n_judges,)
        Fitted sensitivities.

    Returns
    -------
    ndarray of shape (n_judges,)
    """
    return np.where(np.abs(sensitivities) < LEAST_SENSITIVITY, 0.0, sensitivities)
