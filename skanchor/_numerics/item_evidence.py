"""The likelihood of the deviations of each item, apart from their prior.

After scores, sensitivities and biases are profiled out, the likelihood of the
deviations u (judges by items) is Gaussian with a given information matrix. Its items
are correlated; here the deviations of the other items are integrated out, so that each
item has a small Gaussian likelihood of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skanchor._numerics.linalg import SymmetricSolver, mix_judges
from skanchor._numerics.types import Array

__all__ = ["FLOOR", "ItemEvidence", "shown_share"]


FLOOR = 1e-8
"""Least eigenvalue of the covariance, in squared logits: far below any sampling error,
and enough to keep every item's posterior invertible."""


@dataclass(frozen=True, slots=True)
class ItemEvidence:
    """Likelihood of each item's deviations, those of other items integrated out.

    The likelihood of item i's deviations is ``exp(q'u - u'Qu/2)``.

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
        """Each item's own likelihood, from its posterior with the prior taken out.

        Parameters
        ----------
        information : ndarray of shape (n_judges * n_items, n_judges * n_items)
            Information of the deviations, judges first, all else profiled out.
        target : ndarray of shape (n_judges * n_items,)
            Its product with the unpenalised estimate.
        covariance : ndarray of shape (n_judges, n_judges)
            Prior covariance of the deviations.

        Returns
        -------
        ItemEvidence
        """
        n_judges = len(covariance)
        n_items = len(target) // n_judges
        values, vectors = np.linalg.eigh(covariance)
        scale = np.sqrt(np.maximum(values, FLOOR))
        root, back = vectors * scale, vectors / scale
        inner = mix_judges(information, root, n_items)
        inner[np.diag_indices_from(inner)] += 1.0
        solver = SymmetricSolver.factorise(inner)
        v = solver.solve((root.T @ target.reshape(n_judges, n_items)).ravel())
        # Of the inverse, which is most of the work, only what one item has with itself.
        of_item = solver.root.reshape(n_judges, n_items, -1).transpose(1, 0, 2)
        own = of_item @ of_item.transpose(0, 2, 1)
        own_inverse = np.linalg.inv((own + own.transpose(0, 2, 1)) / 2.0)
        by_item = v.reshape(n_judges, n_items).T
        linear = np.einsum("imn,in->im", own_inverse, by_item) @ back.T
        values, turned = np.linalg.eigh(own_inverse - np.eye(n_judges))
        precision = (turned * np.maximum(values, 0.0)[:, None, :]) @ turned.transpose(
            0, 2, 1
        )
        return cls(back @ precision @ back.T, linear)

    def posterior(self, factor: Array) -> tuple[Array, Array]:
        """Means and covariances under the prior N(0, factor factor')."""
        inner = factor.T @ self.precision @ factor
        inner[:, np.arange(len(factor)), np.arange(len(factor))] += 1.0
        spread = factor @ np.linalg.solve(inner, np.broadcast_to(factor.T, inner.shape))
        return np.einsum("imn,in->im", spread, self.linear), spread

    def without(self, direction: Array) -> ItemEvidence:
        """Forget what the data say along one direction, as if its score were free."""
        pull = self.precision @ direction
        amount = np.maximum(pull @ direction, FLOOR)
        return ItemEvidence(
            self.precision
            - pull[:, :, None] * pull[:, None, :] / amount[:, None, None],
            self.linear - pull * ((self.linear @ direction) / amount)[:, None],
        )

    def predictive(self, covariances: Array) -> Array:
        """Log density of each item under its own prior, up to a constant."""
        roots = np.linalg.cholesky(covariances + FLOOR * np.eye(covariances.shape[-1]))
        turned = roots.transpose(0, 2, 1)
        inner = turned @ self.precision @ roots
        inner[:, np.arange(roots.shape[1]), np.arange(roots.shape[1])] += 1.0
        q = (turned @ self.linear[:, :, None])[..., 0]
        explained = np.einsum(
            "im,im->i", q, np.linalg.solve(inner, q[..., None])[..., 0]
        )
        return np.asarray(0.5 * (explained - np.linalg.slogdet(inner)[1]))


def shown_share(spreads: Array, covariance: Array) -> Array:
    """Share of each item's deviations that the data show.

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
