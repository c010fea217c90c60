"""Information of all parameters by blocks: each judge's own, and those that all share.

Shared are the scores and the bias of people. A judge's own are its sensitivity, its
position effect and its bias.
"""

from __future__ import annotations

import numpy as np

from skanchor._numerics.arrow import ArrowMatrix
from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.linalg import MANY_JUDGES
from skanchor._numerics.parameters import PEOPLE, Parameters
from skanchor._numerics.types import Array


def information_sums(
    layout: Parameters, slopes: Array, factor: Array | None
) -> ArrowSums | DenseSums:
    """Sums of Gram matrices that become the information of all parameters.

    Parameters
    ----------
    layout : Parameters
        The parameter vector.
    slopes : ndarray of shape (n_judges,)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_effects) or None
        L, where there are item effects.

    Returns
    -------
    ArrowSums or DenseSums
        The former where judges are many and have no item effects.
    """
    if factor is None and layout.n_judges >= MANY_JUDGES:
        return ArrowSums(layout, slopes)
    return DenseSums(layout, slopes, factor)


class DenseSums:
    """Information by item of all sources, until it becomes one by parameter.

    Parameters
    ----------
    layout, slopes, factor
        As in :func:`information_sums`.
    """

    def __init__(self, layout: Parameters, slopes: Array, factor: Array | None):
        self.layout, self.slopes, self.factor = layout, slopes, factor
        self.total = layout.no_information()

    def add(self, m: int, gram: Array) -> None:
        """Add the Gram matrix of a source by its local columns."""
        slope = 1.0 if m == PEOPLE else self.slopes[m]
        self.layout.add_information(self.total, m, gram, slope)

    def matrix(self) -> Array:
        """Information by parameter, without prior."""
        return self.layout.reduce_information(self.total, self.factor)


class ArrowSums:
    """Gram matrices of all sources, until they become an :class:`ArrowMatrix`.

    Parameters
    ----------
    layout, slopes
        As in :func:`information_sums`.

    Attributes
    ----------
    people : ndarray of shape (n_columns, n_columns)
        Of people by their local columns (items, delta, order, span).
    judges : ndarray of shape (n_judges, n_columns, n_columns)
        Of each judge; columns beyond its span are zero.
    """

    def __init__(self, layout: Parameters, slopes: Array):
        self.layout, self.slopes = layout, slopes
        n = layout.n_items
        width = fitted_columns(n, max(layout.widths, default=0)).size
        self.people = np.zeros((fitted_columns(n, layout.human_width).size,) * 2)
        self.judges = np.zeros((layout.n_judges, width, width))

    def add(self, m: int, gram: Array) -> None:
        """Add the Gram matrix of a source by its first local columns."""
        n = len(gram)
        if m == PEOPLE:
            self.people[:n, :n] += gram
        else:
            self.judges[m, :n, :n] += gram

    def matrix(self) -> ArrowMatrix:
        """Information by parameter, without prior."""
        return arrow_information(self.layout, self.slopes, self.people, self.judges)


def arrow_information(
    layout: Parameters,
    slopes: Array,
    people: Array,
    grams: Array,
) -> ArrowMatrix:
    """Information of all parameters by blocks.

    The matrices need not be symmetric.

    Parameters
    ----------
    layout : Parameters
        The parameter vector.
    slopes : ndarray of shape (..., n_judges)
        Sensitivities.
    people : ndarray of shape (..., n_columns, n_columns)
        Of people, by item or by all local columns.
    grams : ndarray of shape (..., n_judges, n_columns, n_columns)
        Of each judge by its local columns (items, delta, order, span).

    Returns
    -------
    ArrowMatrix
    """
    items, (n, n_scores), size = layout.items, layout.items.shape, layout.size
    n_judges, width = layout.n_judges, grams.shape[-1]
    n_human = layout.human_width
    head = n_scores + n_human
    at = layout.at
    shared_at = [np.arange(n_scores), np.arange(size)[layout.bias[PEOPLE]]]
    own_at = np.full((n_judges, width), size)
    own_at[:, n] = np.arange(size)[at["sensitivity"]]
    if layout.has_positions:
        own_at[:, n + 1] = np.arange(size)[at["position"]]
    for m in range(n_judges):
        bias = layout.bias[m]
        own_at[m, n + 2 : n + 2 + bias.stop - bias.start] = np.arange(size)[bias]
    # A judge's items are c_m s; its other columns have coefficients of their own.
    by_shared = np.zeros((*slopes.shape, n, head))
    by_shared[..., :n_scores] = slopes[..., None, None] * items
    scale = np.ones((n_judges, width))
    scale[:, :n] = 0.0
    turned = np.swapaxes(by_shared, -1, -2)
    shared = (turned @ grams[..., :n, :n] @ by_shared).sum(axis=-3)
    shared[..., :n_scores, :n_scores] += items.T @ people[..., :n, :n] @ items
    if n_human:
        span = slice(n + 2, n + 2 + n_human)
        human = slice(n_scores, head)
        shared[..., :n_scores, human] += items.T @ people[..., :n, span]
        shared[..., human, :n_scores] += people[..., span, :n] @ items
        shared[..., human, human] += people[..., span, span]
    return ArrowMatrix(
        size,
        np.concatenate(shared_at),
        own_at,
        shared,
        scale[:, :, None] * grams * scale[:, None, :],
        scale[:, :, None] * (grams[..., :n] @ by_shared),
        (turned @ grams[..., :n, :]) * scale[:, None, :],
    )
