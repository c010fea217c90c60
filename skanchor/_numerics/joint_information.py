"""Information of all parameters of the joint system, from sums by source."""

from __future__ import annotations

import numpy as np

from skanchor._numerics.blocks import OWN_COLUMNS
from skanchor._numerics.types import Array


def joint_information(
    items: Array,
    slopes: Array,
    factor: Array | None,
    people: Array,
    grams: Array,
    *,
    positions: bool,
) -> tuple[Array, Array]:
    """Information of all parameters, of one system or of several side by side.

    Parameters
    ----------
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score.
    slopes : ndarray of shape (..., n_judges)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects.
    people : ndarray of shape (..., n_items, n_items)
        Information of the votes, by item.
    grams : ndarray of shape (..., n_judges, n_items + 2, n_items + 2)
        Of each judge by item, delta and order, biases profiled out.
    positions : bool
        Whether judges have position effects.

    Returns
    -------
    joint : ndarray of shape (..., p, p)
        Of scores, sensitivities, position effects and standardised item effects, the
        prior of these included.
    human : ndarray of shape (..., n_scores, n_scores)
        The votes' share.
    """
    lead, n_judges, (n, n_scores) = slopes.shape[:-1], slopes.shape[-1], items.shape
    # Columns of each judge with a coefficient of its own: delta and, where judges have
    # position effects, order.
    kinds = range(len(OWN_COLUMNS) if positions else 1)
    n_head = n_scores + n_judges * len(kinds)
    size = n_head + (0 if factor is None else n_judges * n)
    total = np.empty((*lead, size, size))
    c, each = slopes[..., None, None], np.arange(n_judges)
    of_items = grams[..., :n, :n]
    human = items.T @ people @ items
    seen = (c**2 * of_items).sum(axis=-3)
    total[..., :n_scores, :n_scores] = human + items.T @ seen @ items
    block = total[..., n_scores:n_head, n_scores:n_head]
    block[...] = 0.0
    # By judge.
    cross = [grams[..., :n, n + k] for k in kinds]
    places = [slice(n_scores + k * n_judges, n_scores + (k + 1) * n_judges)
              for k in kinds]  # fmt: skip
    for k in kinds:
        shared = items.T @ np.swapaxes(slopes[..., None] * cross[k], -1, -2)
        total[..., :n_scores, places[k]] = shared
        total[..., places[k], :n_scores] = np.swapaxes(shared, -1, -2)
        for j in kinds:
            own = grams[..., n + k, n + j]
            block[..., k * n_judges + each, j * n_judges + each] = own
    if factor is None:
        return total, human
    # v of judge a enters the logits of judge m with L[m, a].
    mixed = factor.T @ (c * of_items).reshape(*lead, n_judges, -1)
    mixed = mixed.reshape(*lead, n_judges * n, n) @ items
    total[..., n_head:, :n_scores] = mixed
    total[..., :n_scores, n_head:] = np.swapaxes(mixed, -1, -2)
    for k in kinds:
        # By judge a and item, and by judge m.
        shared = np.swapaxes(cross[k], -1, -2)[..., None, :, :] * factor.T[:, None, :]
        shared = shared.reshape(*lead, n_judges * n, n_judges)
        total[..., n_head:, places[k]] = shared
        total[..., places[k], n_head:] = np.swapaxes(shared, -1, -2)
    pairs = (factor[:, :, None] * factor[:, None, :]).reshape(n_judges, -1)
    both = pairs.T @ of_items.reshape(*lead, n_judges, -1)
    both = both.reshape(*lead, n_judges, n_judges, n, n)
    tail = total[..., n_head:, n_head:]
    # Axes that are split stay a view.
    tail.reshape(*lead, n_judges, n, n_judges, n)[...] = np.swapaxes(both, -3, -2)
    np.einsum("...ii->...i", tail)[...] += 1.0
    return total, human
