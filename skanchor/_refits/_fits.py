"""Interface of the shared fits: human scores, judges and rows of new models."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skanchor._refits._arrivals import Arrivals, JudgeFits
from skanchor._refits._cells import CellSums
from skanchor._refits._layout import Layout, columns_of
from skanchor._typing import Array


class BaseFits:
    """Rows with decided roles, one or many sets of weights, and what is fitted to them.

    Parameters
    ----------
    layout : Layout
        The rows.
    weights : ndarray of shape (n_replicates, n_rows)
        Row weights.
    tol : float
        Accepted error of the parameters, in logits.

    Attributes
    ----------
    emphasis : ndarray of shape (n_replicates, n_rows) or None
        Factor of the weights of historical judge rows.
    """

    emphasis: Array | None = None

    def __init__(self, layout: Layout, weights: Array, tol: float):
        self.layout, self.weights, self.tol = layout, weights, tol
        self.X, self.y = layout.X, layout.y
        self.new, self.historical = layout.new, layout.historical

    @cached_property
    def cells(self) -> CellSums:
        """Sums over alike rows."""
        return CellSums.of(self.layout, self.weights)

    def human_scores(self) -> Array:
        """Scores of the historical models, zero for new ones."""
        raise NotImplementedError

    def judges(self, *, features: bool = True, pooled: bool = False) -> JudgeFits:
        """Calibrate the judges against the human scores.

        Parameters
        ----------
        features : bool
            Whether judges have a bias.
        pooled : bool
            Whether all judges are one.

        Returns
        -------
        JudgeFits
        """
        raise NotImplementedError

    def btl_scores(self, cells: CellSums, slope: Array | None = None) -> Array:
        """BTL scores from cells, centred over the historical models."""
        raise NotImplementedError

    def mark(self, solved: NDArray[np.bool_]) -> None:
        """Record which replicates a batched solver has solved."""

    def centred(self, scores: Array) -> Array:
        """Scores re-centred over the historical models."""
        return scores - scores[:, self.historical].mean(axis=1, keepdims=True)

    def arrivals(self, judges: JudgeFits, *, pooled: bool = False) -> Arrivals:
        """Arrival rows with all but the new scores known."""
        rows, X = self.layout.arrival_rows, self.X
        judge = np.minimum(X.judge[rows], 0) if pooled else X.judge[rows]
        scores = self.human_scores()
        # The last entry, index -1, is that of humans.
        human = np.ones((len(self.weights), 1))
        slope = np.append(judges.sensitivities, human, axis=1)
        weight = columns_of(self.weights, rows)
        return Arrivals(
            judge,
            self.layout.arrival_signs,
            weight,
            weight * self.y[rows],
            scores @ self.layout.arrival_incidence.T,
            slope[:, judge],
            judges.biases,
            judges.positions,
            self._start(),
            self.tol,
        )

    def _start(self) -> Array:
        return np.zeros(len(self.new))
