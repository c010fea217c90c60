"""Likelihood of the deviations of each item by itself.

After scores, sensitivities and biases are profiled out, the likelihood of the
deviations u (judges by items) is Gaussian with a given information matrix, in which
items are correlated. Here the deviations of all other items are integrated out under
their prior, so that each item has a small Gaussian likelihood of its own, which does
not include the item's own prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skanchor._numerics.linalg import SymmetricSolver, mix_judges
from skanchor._numerics.types import Array

FLOOR = 1e-8
"""Least eigenvalue of the covariance, in squared logits: far below any sampling error,
and enough to keep every item's posterior invertible."""


@dataclass(frozen=True, slots=True)
class ItemEvidence:
    """Likelihood of each item's deviations, those of other items integrated out.

    As a function of the deviations u of item i under all judges, a vector of length
    n_judges, it is proportional to ``exp(q'u - u'Qu/2)``.

    Attributes
    ----------
    precision : ndarray of shape (n_items, n_judges, n_judges)
        Q.
    linear : ndarray of shape (n_items, n_judges)
        q.
    """

    precision: Array
    linear: Array

    @classmethod
    def of(cls, information: Array, target: Array, covariance: Array) -> ItemEvidence:
        """Compute each item's posterior, and divide it by the item's prior.

        The arguments are those of :func:`joint_posterior`.
        """
        means, spreads, _, back = _standardised(information, target, covariance)
        inverse = np.linalg.inv((spreads + spreads.transpose(0, 2, 1)) / 2.0)
        # The prior has mean zero, so that precision times mean is the likelihood's q.
        linear = np.einsum("imn,in->im", inverse, means) @ back.T
        # The likelihood's precision Q is the posterior's less the prior's, I. Rounding
        # must not make it indefinite.
        values, turned = np.linalg.eigh(inverse - np.eye(len(covariance)))
        precision = (turned * np.maximum(values, 0.0)[:, None, :]) @ turned.transpose(
            0, 2, 1
        )
        return cls(back @ precision @ back.T, linear)

    def posterior(self, factor: Array) -> tuple[Array, Array]:
        """Means and covariances of each item under the prior N(0, factor factor').

        They have the shapes (n_items, n_judges) and (n_items, n_judges, n_judges).
        """
        # F (I + F'QF)^-1 F', which exists for a singular factor F, too.
        inner = factor.T @ self.precision @ factor
        inner[:, np.arange(len(factor)), np.arange(len(factor))] += 1.0
        spread = factor @ np.linalg.solve(inner, np.broadcast_to(factor.T, inner.shape))
        return np.einsum("imn,in->im", spread, self.linear), spread

    def predictive(self, roots: Array, direction: Array) -> Array:
        """Log density of each item's data on a direction of u, given the other data.

        It is the density of all data, over that of the data with the direction profiled
        out as if it were free.

        Parameters
        ----------
        roots : ndarray of shape (..., n_items, n_judges, n_judges)
            Root R of the prior covariance R R' of each item.
        direction : ndarray of shape (n_judges,)
            d.

        Returns
        -------
        ndarray of shape (..., n_items)
        """
        # With S = I + R'QR, a log density is (q'R S^-1 R'q - log|S|) / 2. Without d it
        # has Q - p p'/a for Q and q - k p for q, where p = Q d, a = d'p and k = q'd/a.
        # By the formulas of Sherman and Morrison both follow from S^-1 alone.
        pull = self.precision @ direction
        amount = np.maximum(pull @ direction, FLOOR)
        k = (self.linear @ direction) / amount
        turned = np.swapaxes(roots, -1, -2)
        inner = turned @ self.precision @ roots
        np.einsum("...ii->...i", inner)[...] += 1.0
        right = turned @ np.stack([self.linear - k[:, None] * pull, pull], axis=-1)
        both = np.swapaxes(right, -1, -2) @ np.linalg.solve(inner, right)
        cross, own = both[..., 0, 1], both[..., 1, 1]
        # Variance of the data on d that the rest leaves, in units of its information.
        left = np.maximum(amount - own, np.finfo(float).eps * amount)
        gain = 2.0 * k * cross + k**2 * own - cross**2 / left
        return np.asarray(0.5 * (gain + np.log(left / amount)))


def joint_posterior(
    information: Array, target: Array, covariance: Array
) -> tuple[Array, Array]:
    """Posterior of the deviations of each item, all items under one prior.

    Parameters
    ----------
    information : ndarray of shape (n_judges * n_items, n_judges * n_items)
        Information on u, all items of the first judge, then those of the second and so
        on; all other parameters are profiled out.
    target : ndarray of shape (n_judges * n_items,)
        Product of the information with the unpenalised estimate of u.
    covariance : ndarray of shape (n_judges, n_judges)
        Prior covariance of the deviations.

    Returns
    -------
    means : ndarray of shape (n_items, n_judges)
    spreads : ndarray of shape (n_items, n_judges, n_judges)
        Covariances.
    """
    means, spreads, root, _ = _standardised(information, target, covariance)
    return means @ root.T, root @ spreads @ root.T


def _standardised(
    information: Array, target: Array, covariance: Array
) -> tuple[Array, Array, Array, Array]:
    """The same of the deviations v with u = R v and the prior N(0, I), R, and R'^-1."""
    n_judges = len(covariance)
    n_items = len(target) // n_judges
    values, vectors = np.linalg.eigh(covariance)
    scale = np.sqrt(np.maximum(values, FLOOR))
    root, back = vectors * scale, vectors / scale
    # Posterior precision and mean of v, of all items together.
    inner = mix_judges(information, root, n_items)
    inner.flat[:: len(inner) + 1] += 1.0
    solver = SymmetricSolver.beside_prior(inner)
    v = solver.solve((root.T @ target.reshape(n_judges, n_items)).ravel())
    # Posterior covariance of v of each item. The inverse is most of the work: only its
    # blocks of an item with itself are made.
    of_item = solver.root.reshape(n_judges, n_items, -1).transpose(1, 0, 2)
    spreads = of_item @ of_item.transpose(0, 2, 1)
    return v.reshape(n_judges, n_items).T, spreads, root, back


def shown_share(spreads: Array, covariance: Array) -> Array:
    """Share of the prior variance of each item's deviations that the data remove.

    Parameters
    ----------
    spreads : ndarray of shape (n_items, n_judges, n_judges)
        Posterior covariances of the deviations.
    covariance : ndarray of shape (n_judges, n_judges)
        Their prior covariance.

    Returns
    -------
    ndarray of shape (n_items,)
    """
    return np.asarray(1.0 - np.trace(spreads, axis1=1, axis2=2) / np.trace(covariance))
