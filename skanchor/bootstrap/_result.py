"""Results of refits: replicates, their covariance, and intervals of two kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._checks import check_level
from skanchor._typing import Array, Indices
from skanchor.results import RankingResult

Kind = Literal["basic", "percentile"]
KINDS: tuple[Kind, ...] = ("basic", "percentile")


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult:
    """Refits of one method.

    Attributes
    ----------
    estimator : estimator
        The method fitted on all rows.
    models : ndarray of shape (n_models,)
        Labels.
    is_new : ndarray of shape (n_models,)
        Whether the model is new.
    estimates : ndarray of shape (n_models,)
        Values from all rows: scores in logits, or win rates of a rank-only method.
    replicates : ndarray of shape (n_resamples, n_models)
        Values of each resample; NaN where its refit was impossible.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.bootstrap import bootstrap
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> refits = bootstrap(
    ...     DirectScore(), data.X, data.y, n_resamples=20, random_state=0
    ... )
    >>> refits.replicates.shape
    (20, 11)
    >>> refits.conf_int(0.9, kind="percentile").columns.tolist()
    ['low', 'high']
    """

    estimator: Any
    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    estimates: Array
    replicates: Array

    @property
    def _index(self) -> pd.Index:
        return pd.Index(self.models, name="model")

    def __repr__(self) -> str:
        return (
            f"BootstrapResult: {len(self.replicates)} refits of "
            f"{type(self.estimator).__name__}, {self.failed} of them failed; "
            f"{len(self.models)} models, {self.is_new.sum()} of them new"
        )

    @property
    def failed(self) -> int:
        """Number of resamples on which the method could not be fitted."""
        return int((~self._good).sum())

    @property
    def covariance(self) -> Array:
        """Covariance of the values of all models, of shape (n_models, n_models)."""
        return np.cov(self.replicates[self._good], rowvar=False, ddof=1)

    @property
    def _good(self) -> NDArray[np.bool_]:
        """Mask of the resamples on which the method could be fitted."""
        return np.asarray(~np.isnan(self.replicates).any(axis=1))

    @property
    def standard_errors(self) -> pd.Series:
        """Standard deviation of each model's value over the resamples."""
        error = self.replicates[self._good].std(axis=0, ddof=1)
        return pd.Series(error, index=self._index, name="standard_error")

    def limits(
        self, targets: Array, level: float = 0.95, kind: Kind = "basic"
    ) -> tuple[Array, Array]:
        """Confidence limits of linear functions of the values.

        Parameters
        ----------
        targets : ndarray of shape (n_models, n_targets)
            Coefficients of the functions.
        level : float, default=0.95
            Confidence level in (0, 1).
        kind : {"basic", "percentile"}, default="basic"
            ``basic`` reflects the quantiles q of the refits about the estimate t, (2 t
            - q_high, 2 t - q_low); ``percentile`` takes them as they are.

        Returns
        -------
        low, high : ndarray of shape (n_targets,)
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}.")
        tail = (1.0 - check_level(level)) / 2.0
        # Targets of the estimate, (n_targets,), and of the refits, (n_good, n_targets).
        estimate = self.estimates @ targets
        values = self.replicates[self._good] @ targets
        low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
        if kind == "percentile":
            return low, high
        return 2.0 * estimate - high, 2.0 * estimate - low

    def conf_int(self, level: float = 0.95, kind: Kind = "basic") -> pd.DataFrame:
        """Confidence intervals of the new models' values.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).
        kind : {"basic", "percentile"}, default="basic"
            As in :meth:`limits`.

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high``, a row for each new model.
        """
        targets = np.eye(len(self.models))[:, self.is_new]
        low, high = self.limits(targets, level, kind)
        return pd.DataFrame({"low": low, "high": high}, self._index[self.is_new])

    def rank_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Insertion ranks with percentile intervals, also for rank-only methods.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1) of each model's interval.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``low`` and ``high``, a row for each new model; 1 is best.
        """
        tail = (1.0 - check_level(level)) / 2.0
        # Row 0 is the estimate, then come the refits; ranks has shape (1 + n, n_new).
        every = np.vstack([self.estimates, self.replicates[self._good]])
        old, new = every[:, None, ~self.is_new], every[:, self.is_new, None]
        ranks = 1 + (old > new).sum(axis=2)
        # "inverted_cdf" gives ranks that occur, and no averages of two.
        tails = [tail, 1.0 - tail]
        low, high = np.quantile(ranks[1:], tails, axis=0, method="inverted_cdf")
        columns = {"rank": ranks[0], "low": low, "high": high}
        return pd.DataFrame(columns, self._index[self.is_new]).astype(int)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class BootstrapRanking(RankingResult):
    """Scores with the covariance of their refits, and intervals from their quantiles.

    Attributes
    ----------
    refits : BootstrapResult
        The refits.
    kind : str
        Kind of the intervals.
    """

    refits: BootstrapResult
    kind: Kind

    def limits(
        self, first: Indices, second: Indices | None, level: float
    ) -> tuple[Array, Array]:
        """Limits of scores, or of their differences, from quantiles of the refits."""
        unit = np.eye(len(self.models))
        targets = unit[:, first] - (0.0 if second is None else unit[:, second])
        low, high = self.refits.limits(targets, level, self.kind)
        # A target that includes an unbounded score has an infinite interval.
        is_open = (targets[self.unbounded] != 0).any(axis=0)
        return np.where(is_open, -np.inf, low), np.where(is_open, np.inf, high)
