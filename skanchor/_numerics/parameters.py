"""The parameter vector: where scores, judges' parameters and item effects lie in it.

The vector holds free scores s, sensitivities c, position effects p, bias coefficients b
and standardised deviations v, with ``u = L v`` for a square root L of the covariance of
the item effects u. The logits of a source depend on it through local columns: the
items, the score difference delta, the display order, and the span of its bias function.

Sums over rows are taken by local columns and added up *by item*: in a vector that has
the score of every item in place of the free scores, and u in place of v. There each
source changes few entries. The complete sums are then reduced to the free scores and v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.blocks import OWN_COLUMNS, fitted_columns
from skanchor._numerics.field_state import FieldState
from skanchor._numerics.linalg import mix_judges
from skanchor._numerics.types import Array

PEOPLE = -1
"""Code of the human rows among the sources; the judges have the codes 0, 1, ..."""

LEAST_SENSITIVITY = 1e-10
"""Sensitivity below which a judge is uninformative: what is left is rounding."""

_KINDS = ("scores", "sensitivity", "position", "bias", "deviation")


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
        The scores, a coefficient of each of ``OWN_COLUMNS`` for every judge, and a
        deviation for every judge and item.
    """
    return n_items + n_judges * (len(OWN_COLUMNS) + n_items * deviations)


def selectors(is_new: NDArray[np.bool_], basis: Array) -> Array:
    """Matrix that gives the scores of all items from the free scores.

    The free scores are those of the new models, then the coordinates of the historical
    ones in ``basis``, whose columns sum to zero.

    Parameters
    ----------
    is_new : ndarray of shape (n_items,)
        Which items are new models.
    basis : ndarray of shape (n_historical, n_historical - 1)
        Basis of the scores of the historical models.

    Returns
    -------
    ndarray of shape (n_items, n_new + n_historical - 1)
        Unit vectors for new models, rows of the basis for the others.
    """
    n_new = int(is_new.sum())
    rows = np.zeros((len(is_new), n_new + basis.shape[1]))
    rows[np.flatnonzero(is_new), np.arange(n_new)] = 1.0
    rows[~is_new, n_new:] = basis
    return rows


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


@dataclass(frozen=True, eq=False)
class Parameters(FieldState):
    """Layout of the parameter vector (s, c, p, b, v).

    Attributes
    ----------
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score among the free scores.
    n_judges : int
        Number of judges; each has a sensitivity.
    positions : tuple of bool
        Whether each judge has a position effect; empty where none has.
    widths : tuple of int
        Number of bias coefficients of each judge; empty where the biases are profiled
        out.
    has_deviations : bool
        Whether there are item effects: a deviation for each judge and item.
    human_width : int
        Number of bias coefficients of people, which follow those of the judges.
    owners : ndarray of shape (n_items,) or None
        Code of each item's owner, such as the model that appears in several contexts
        as several items; the items of an owner may share a deviation. None where every
        item has deviations of its own.
    n_effects : int or None
        Number of standardised deviations of each item, the columns of L; None for one
        for each judge.
    """

    items: Array
    n_judges: int
    positions: tuple[bool, ...] = ()
    widths: tuple[int, ...] = ()
    has_deviations: bool = False
    human_width: int = 0
    owners: NDArray[np.intp] | None = None
    n_effects: int | None = None

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def _n_effects(self) -> int:
        return self.n_judges if self.n_effects is None else self.n_effects

    @cached_property
    def has_positions(self) -> bool:
        """Whether any judge has a position effect."""
        return any(self.positions)

    @cached_property
    def at(self) -> dict[str, slice]:
        """Slice of each kind of parameter, by the names in ``_KINDS``."""
        lengths = (
            self.items.shape[1],
            self.n_judges,
            sum(self.positions),
            sum(self.widths) + self.human_width,
            self._n_effects * self.n_items * self.has_deviations,
        )
        edges = np.cumsum([0, *lengths]).tolist()
        return {
            kind: slice(*ends)
            for kind, ends in zip(_KINDS, pairwise(edges), strict=True)
        }

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.at["deviation"].stop

    @cached_property
    def bias(self) -> dict[int, slice]:
        """Slice of the bias coefficients of each source, by its code."""
        widths = self.widths or (0,) * self.n_judges
        edges = self.at["bias"].start + np.cumsum([0, *widths, self.human_width])
        ends = [slice(*ends) for ends in pairwise(edges.tolist())]
        return dict(zip([*range(self.n_judges), PEOPLE], ends, strict=True))

    def of_judge(self, m: int) -> NDArray[np.intp]:
        """Indices of judge m's sensitivity, position effect and bias coefficients."""
        return self._own[m] - self._shift

    @property
    def _shift(self) -> int:
        """Difference in length of the vector by item and the parameter vector.

        All parameters after the scores lie this much further behind by item.
        """
        return self.n_items - self.items.shape[1]

    @property
    def _size_by_item(self) -> int:
        """Length of the vector by item, which has u in place of v."""
        tail = self.n_judges * self.n_items * self.has_deviations
        return self.at["deviation"].start + self._shift + tail

    @cached_property
    def _own(self) -> dict[int, NDArray[np.intp]]:
        """Indices, in the vector by item, of each source's c, p and b."""
        index = np.arange(self.size) + self._shift
        found = {PEOPLE: index[self.bias[PEOPLE]]}
        for m in range(self.n_judges):
            own = [index[self.at["sensitivity"]][m : m + 1]]
            if self._has_position(m):
                # Judges without a position effect have no entry among the effects.
                before = sum(self.positions[:m])
                own.append(index[self.at["position"]][before : before + 1])
            if self.widths:
                own.append(index[self.bias[m]])
            found[m] = np.concatenate(own)
        return found

    def _deviations(self, m: int) -> slice:
        """Slice, in the vector by item, of the deviations u of judge m."""
        start = self.at["deviation"].start + self._shift + m * self.n_items
        return slice(start, start + self.n_items)

    def _used(self, m: int, n_columns: int) -> NDArray[np.intp]:
        """Local columns, after those of the items, that ``_own`` has coefficients of.

        The two have the same order: delta for c, order for p, span for b.
        """
        return self._joined(m, n_columns)[0][self.n_items :]

    @cached_property
    def _known(self) -> dict[tuple[int, int], tuple[NDArray[np.intp], ...]]:
        """Cache of :meth:`_joined`, which sums over rows ask for again and again."""
        return {}

    def _joined(self, m: int, n_columns: int) -> tuple[NDArray[np.intp], ...]:
        """Local columns that have coefficients, and indices by item of these.

        Those of the items come first; their coefficients are the scores.
        """
        if (m, n_columns) not in self._known:
            items = np.arange(self.n_items)
            if m == PEOPLE:
                # Neither delta nor order: their sensitivity is one.
                span = fitted_columns(self.n_items, 0).size
                used = np.arange(span, n_columns)[: self.human_width]
            else:
                used = np.arange(self.n_items, n_columns)
                if not self._has_position(m):
                    used = np.delete(used, OWN_COLUMNS.index("order"))
            self._known[m, n_columns] = (
                np.concatenate([items, used]),
                np.concatenate([items, self._own[m]]),
            )
        return self._known[m, n_columns]

    def effects(self, k: int) -> NDArray[np.intp]:
        """Indices of the standardised deviations of all items in column k of L."""
        start = self.at["deviation"].start + k * self.n_items
        return np.arange(start, start + self.n_items)

    def _has_position(self, m: int) -> bool:
        return bool(self.positions) and self.positions[m]

    def _deviates(self, m: int) -> bool:
        return self.has_deviations and m != PEOPLE

    # ------------------------------------------------------------------ sums by item
    def no_gradient(self, *shape: int) -> Array:
        """Gradient by item, all zero; with ``shape=(k,)`` k gradients side by side."""
        return np.zeros((self._size_by_item, *shape))

    def no_information(self) -> Array:
        """Information by item, all zero."""
        return np.zeros((self._size_by_item,) * 2)

    def add_gradient(self, total: Array, m: int, local: Array, slope: float) -> None:
        """Add sums over the rows of a source by local column to a gradient by item.

        Parameters
        ----------
        total : ndarray of shape (n,) or (n, k)
            Changed in place.
        m : int
            The judge, or ``PEOPLE``.
        local : ndarray of shape (n_items + 2 + n_span,) or (n_items + 2 + n_span, k)
            Sums by item, delta, order and span.
        slope : float
            Its sensitivity; one for people.
        """
        n = self.n_items
        # The logit has c_m (s_a - s_b) + u_ma - u_mb: sums by item count c_m times for
        # the scores, and once for the deviations.
        total[:n] += slope * local[:n]
        total[self._own[m]] += local[self._used(m, len(local))]
        if self._deviates(m):
            total[self._deviations(m)] += local[:n]

    def add_information(self, total: Array, m: int, gram: Array, slope: float) -> None:
        """Add a Gram matrix over a source's local columns to an information by item.

        Parameters
        ----------
        total : ndarray of shape (n, n)
            Changed in place.
        m : int
            The judge, or ``PEOPLE``.
        gram : ndarray of shape (n_items + 2 + n_span, n_items + 2 + n_span)
            By item, delta, order and span.
        slope : float
            Its sensitivity; one for people.
        """
        n, (used, index) = self.n_items, self._joined(m, len(gram))
        if len(used) < len(gram):
            gram = gram[used[:, None], used]
        scale = np.ones(len(used))
        scale[:n] = slope
        # The matrix need not be symmetric, so that both off-diagonal blocks are added.
        left, right = scale[:, None] * gram, gram * scale
        total[index[:, None], index] += left * scale
        if self._deviates(m):
            at = self._deviations(m)
            total[at, at] += gram[:n, :n]
            total[at, index] += right[:n]
            total[index, at] += left[:, :n]

    def reduce_gradient(self, total: Array, factor: Array | None) -> Array:
        """Reduce a gradient by item, or several side by side, to one by parameter.

        Parameters
        ----------
        total : ndarray of shape (n,) or (n, k)
            Sums by item.
        factor : ndarray of shape (n_judges, n_effects) or None
            L, where there are deviations.

        Returns
        -------
        ndarray of shape (size,) or (size, k)
        """
        n = self.n_items
        reduced = np.concatenate([self.items.T @ total[:n], total[n:]])
        if factor is not None:
            # With u = L v, the derivative by v is L' times that by u.
            start = self.at["deviation"].start
            mixed = factor.T @ reduced[start:].reshape(self.n_judges, -1)
            mixed = mixed.reshape(-1, *reduced.shape[1:])
            reduced = np.concatenate([reduced[:start], mixed])
        return reduced

    def reduce_information(self, total: Array, factor: Array | None) -> Array:
        """Reduce an information by item to one by parameter.

        Parameters
        ----------
        total : ndarray of shape (n, n)
            Sums by item.
        factor : ndarray of shape (n_judges, n_effects) or None
            L, where there are deviations.

        Returns
        -------
        ndarray of shape (size, size)
        """
        n, n_scores = self.n_items, self.items.shape[1]
        reduced = np.empty((len(total) - self._shift,) * 2)
        # S' from the left and S from the right, where rows or columns are scores.
        head = self.items.T @ total[:n]
        reduced[:n_scores, :n_scores] = head[:, :n] @ self.items
        reduced[:n_scores, n_scores:] = head[:, n:]
        reduced[n_scores:, :n_scores] = total[n:, :n] @ self.items
        reduced[n_scores:, n_scores:] = total[n:, n:]
        return reduced if factor is None else mix_judges(reduced, factor, n)

    # -------------------------------------------------------------- vectors by item
    def by_item(self, vectors: Array, factor: Array | None) -> Array:
        """Expand parameters to vectors by item: all scores, and u in place of v.

        Parameters
        ----------
        vectors : ndarray of shape (..., size, k)
            Parameters.
        factor : ndarray of shape (n_judges, n_effects) or None
            L, where there are deviations.

        Returns
        -------
        ndarray of shape (..., n, k)
        """
        n_scores = self.items.shape[1]
        of_items = self.items @ vectors[..., :n_scores, :]
        full = np.concatenate([of_items, vectors[..., n_scores:, :]], axis=-2)
        if factor is not None:
            # u = L v for every item and vector: judges get an axis of their own.
            start = self._deviations(0).start
            tail = full[..., start:, :]
            *lead, _, k = tail.shape
            by_effect = tail.reshape(*lead, self._n_effects, -1)
            u = (factor @ by_effect).reshape(*lead, -1, k)
            full = np.concatenate([full[..., :start, :], u], axis=-2)
        return full

    def local(self, vectors: Array, m: int, slope: float | Array) -> Array:
        """What the local columns of a source multiply, of vectors by item.

        Parameters
        ----------
        vectors : ndarray of shape (..., n, k)
            As :meth:`by_item` returns them.
        m : int
            The judge, or ``PEOPLE``.
        slope : float or ndarray of shape (...,)
            Its sensitivity; one for people.

        Returns
        -------
        ndarray of shape (..., n_items + 2 + n_span, k)
        """
        n = self.n_items
        bias = self.bias[m]
        width = bias.stop - bias.start
        *lead, _, k = vectors.shape
        n_columns = fitted_columns(n, width).size
        found = np.zeros((*lead, n_columns, k))
        found[..., :n, :] = np.asarray(slope)[..., None, None] * vectors[..., :n, :]
        if self._deviates(m):
            found[..., :n, :] += vectors[..., self._deviations(m), :]
        found[..., self._used(m, n_columns), :] = vectors[..., self._own[m], :]
        return found
