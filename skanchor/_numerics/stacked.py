"""Small systems of many folds, solved side by side as arrays with a leading axis.

What a single fold takes from `RieszProblem`, `judge_block` and `fit_logistic` is here
computed for all of them at once, where every system has full rank and every fit an
inner solution; None says that one has not, and that each must be looked at by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.information import clear_explained
from skanchor._numerics.linalg import (
    RANK_TOLERANCE,
    SymmetricSolver,
    standardised,
)
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.system import diagonal_by_model, joint_information
from skanchor._typing import Array

__all__ = ["StackedSystems", "fit_stacked", "project_spans"]


_SETTLED = 1e-7
"""Change of the logits by a whole Newton step whose error is below rounding."""

_MOST_STEPS = 15
"""Newton steps, after which a fit is no easy one."""

_FAR = 8.0
"""Coefficients beyond it, of scores or of item effects, may be on their way out."""


def fit_stacked(
    signs: Array,
    source: NDArray[np.intp],
    share: Array,
    offset: Array,
    y: Array,
    weight: Array,
    penalty: Array,
) -> tuple[Array, Array] | None:
    """Fit several logistic regressions of the same outcomes by Newton steps.

    The logit of a row is linear in what each score has of its source; a coefficient of
    kind k adds ``share[source, k]`` times itself to that.

    Parameters
    ----------
    signs : ndarray of shape (n_rows, n_scores)
        What the logit of a row takes of each score.
    source : ndarray of shape (n_rows,)
        Codes of the sources.
    share : ndarray of shape (n_fits, n_sources, n_kinds)
        What each kind of coefficient adds to the scores of a source.
    offset : ndarray of shape (n_fits, n_rows)
        Known parts of the logits.
    y : ndarray of shape (n_rows,)
        Outcomes in [0, 1].
    weight : ndarray of shape (n_fits, n_rows)
        Row weights.
    penalty : ndarray of shape (n_kinds,)
        Quadratic penalty of each kind, beside the summed loss.

    Returns
    -------
    coef : ndarray of shape (n_fits, n_kinds, n_scores)
    eta : ndarray of shape (n_fits, n_rows)
        Logits.
    None
        Where a fit has no minimum nearby, or whole steps do not lead there.
    """
    (n_fits, n_sources, n_kinds), n = share.shape, signs.shape[1]
    size = n_kinds * n
    # Sums by source: rows enter the coefficients through these alone.
    own = np.zeros((len(signs), n_sources, n))
    own[np.arange(len(signs)), source] = signs
    squares = (own[..., None] * signs[:, None, None]).reshape(len(signs), -1)
    by_source = own.reshape(len(signs), -1)
    pairs = share[..., None] * share[:, :, None]
    pairs = pairs.reshape(n_fits, n_sources, -1).transpose(0, 2, 1)
    turned = np.ascontiguousarray(share.transpose(0, 2, 1))
    eta, coef = offset.copy(), np.zeros((n_fits, n_kinds, n))
    ridge = np.diag(np.repeat(penalty, n))
    for _ in range(_MOST_STEPS):
        p = sigmoid(eta)
        expected = weight * p
        gradient = (expected - weight * y) @ by_source
        gradient = turned @ gradient.reshape(n_fits, n_sources, n)
        gradient += penalty[:, None] * coef
        expected *= 1.0 - p
        hessian = pairs @ (expected @ squares).reshape(n_fits, n_sources, -1)
        hessian = hessian.reshape(n_fits, n_kinds, n_kinds, n, n).swapaxes(2, 3)
        hessian = hessian.reshape(n_fits, size, size) + ridge
        try:
            step = np.linalg.solve(hessian, gradient.reshape(n_fits, size, 1))
        except np.linalg.LinAlgError:
            return None
        step = step.reshape(coef.shape)
        coef -= step
        move = (share @ step).reshape(n_fits, -1) @ by_source.T
        eta -= move
        if not np.abs(coef).max(initial=0.0) < _FAR:
            return None
        if np.abs(move).max(initial=0.0) < _SETTLED:
            return coef, eta
    return None


def project_spans(gram: Array, n_head: int, ridge: Array) -> tuple[Array, Array] | None:
    """Profile the span's coefficients out of Gram matrices over local columns.

    Parameters
    ----------
    gram : ndarray of shape (..., n_columns, n_columns)
        Information by item, delta, order and span.
    n_head : int
        Number of columns before the span's.
    ridge : ndarray of shape (..., n_span)
        Penalty of its coefficients.

    Returns
    -------
    projected : ndarray of shape (..., n_head, n_head)
    coef : ndarray of shape (..., n_span, n_head)
        Projection of the head on the span.
    None
        Where the rank of a span is short or in doubt.
    """
    head, tail = slice(n_head), slice(n_head, None)
    inner = gram[..., tail, tail].copy()
    diagonal = np.einsum("...ii->...i", inner)
    diagonal += ridge
    scale = np.sqrt(diagonal)
    if not scale.all():
        return None
    inner /= scale[..., :, None] * scale[..., None, :]
    try:
        inverse = np.linalg.inv(inner)
    except np.linalg.LinAlgError:
        return None
    own = np.einsum("...ii->...i", inverse)
    # As in `SymmetricSolver`: the trace bounds the condition number.
    bound = own.shape[-1] * own.sum(axis=-1)
    if own.size and not (own.min() > 0.0 and 10.0 * RANK_TOLERANCE * bound.max() < 1.0):
        return None
    inverse /= scale[..., :, None] * scale[..., None, :]
    coef = inverse @ gram[..., tail, head]
    projected = gram[..., head, head] - gram[..., head, tail] @ coef
    clear_explained(projected, gram[..., head, head])
    return projected, coef


@dataclass(frozen=True, eq=False, slots=True)
class StackedSystems:
    """Riesz systems of all scores, one for each fold.

    The parameters are those of `RieszProblem`: scores, sensitivities, position effects
    where there are any, and the standardised item effects v, where there are any.

    Attributes
    ----------
    items : ndarray of shape (n_items, n_scores)
        Selector of each item's score.
    slopes : ndarray of shape (n_folds, n_judges)
        Sensitivities.
    factor : ndarray of shape (n_judges, n_judges) or None
        Square root L of the covariance of the item effects, of orthogonal
        columns.
    human : ndarray of shape (n_folds, n_scores, n_scores)
        Information of the votes on the scores.
    weights : ndarray of shape (n_folds, p, n_items)
        Weights of all targets.
    penalty : ndarray of shape (n_folds, p, p) or None
        Ridge penalty; None where there is none.
    """

    items: Array
    slopes: Array
    factor: Array | None
    human: Array
    weights: Array
    penalty: Array | None

    @classmethod
    def solve(
        cls,
        items: Array,
        slopes: Array,
        factor: Array | None,
        people: Array,
        grams: Array,
        *,
        positions: bool,
        ridge: float = 0.0,
    ) -> StackedSystems | None:
        """Set the systems up and solve them.

        Parameters
        ----------
        items, slopes, factor
            As in the attributes.
        people : ndarray of shape (n_folds, n_items, n_items)
            Information of the votes, by item.
        grams : ndarray of shape (n_folds, n_judges, n_items + 2, n_items + 2)
            Of each judge by item, delta and order, biases profiled out.
        positions : bool
            Whether judges have position effects.
        ridge : float, default=0.0
            Ridge penalty, in shares of the diagonal of the information.

        Returns
        -------
        StackedSystems or None
            None where the rank of a system is short or in doubt.
        """
        joint, human = joint_information(
            items, slopes, factor, people, grams, positions=positions
        )
        penalty, raised = None, joint
        if ridge > 0.0:
            by_model = diagonal_by_model(items, slopes, people, grams, joint)
            penalty = ridge * by_model
            raised = joint + penalty
        targets = np.zeros((joint.shape[1], len(items)))
        targets[: items.shape[1]] = items.T
        weights = np.empty((len(joint), *targets.shape))
        for own, found in zip(raised, weights, strict=True):
            solver = SymmetricSolver.factorise(own)
            if solver.rank < len(own):
                return None
            found[:] = solver.solve(targets)
        return cls(items, slopes, factor, human, weights, penalty)

    @property
    def _n_scores(self) -> int:
        return self.items.shape[1]

    @property
    def _tail(self) -> Array:
        """Weights of the item effects."""
        n_folds, size, n_targets = self.weights.shape
        if self.factor is None:
            return np.empty((n_folds, 0, n_targets))
        return self.weights[:, size - self.slopes.shape[1] * len(self.items) :]

    def of_items(self) -> Array:
        """What the votes' columns multiply, of shape (n_folds, n_items, n_items)."""
        return np.asarray(self.items @ self.weights[:, : self._n_scores])

    def columns(self, coef: Array) -> Array:
        """What the local columns of the judges multiply in the weights.

        Parameters
        ----------
        coef : ndarray of shape (n_folds, n_judges, n_span, n_items + 2)
            Projections on the spans.

        Returns
        -------
        ndarray of shape (n_folds, n_judges, n_items + 2 + n_span, n_items)
        """
        (n_folds, n_judges), n = self.slopes.shape, len(self.items)
        head = np.zeros((n_folds, n_judges, n + 2, n))
        head[:, :, :n] = self.slopes[:, :, None, None] * self.of_items()[:, None]
        if self.factor is not None:
            tail = self._tail.reshape(n_folds, n_judges, -1)
            head[:, :, :n] += (self.factor @ tail).reshape(n_folds, n_judges, n, n)
        start = self._n_scores
        head[:, :, n] = self.weights[:, start : start + n_judges]
        start += n_judges
        if self.weights.shape[1] - self._tail.shape[1] > start:
            head[:, :, n + 1] = self.weights[:, start : start + n_judges]
        return np.concatenate([head, -(coef @ head)], axis=2)

    def prior_score(self, deviations: Array | None) -> Array:
        """Correction by the prior's own score, of shape (n_folds, n_items)."""
        if self.factor is None or deviations is None:
            return np.zeros((len(self.slopes), len(self.items)))
        v = standardised(self.factor, deviations)
        return np.asarray(-(v.reshape(len(v), 1, -1) @ self._tail)[:, 0])

    def item_covariance(self) -> Array:
        """Variance that the item effects leave, (n_folds, n_items, n_items)."""
        tail = self._tail
        return np.asarray(tail.transpose(0, 2, 1) @ tail)

    def expected_covariance(self, of_effects: Array | None = None) -> Array:
        """Sampling variance if outcomes are votes, (n_folds, 3, n_items, n_items).

        ``of_effects`` is :meth:`item_covariance`, where that is known.
        """
        w = self.weights
        scores = w[:, : self._n_scores]
        # The weights solve the system: the information times them is the targets.
        whole = self.items @ scores
        if self.penalty is not None:
            whole = whole - w.transpose(0, 2, 1) @ self.penalty @ w
        human = scores.transpose(0, 2, 1) @ self.human @ scores
        if of_effects is None:
            of_effects = self.item_covariance()
        judge = whole - of_effects - human
        return np.stack([human, judge, np.zeros_like(human)], axis=1)
