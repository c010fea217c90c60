"""An estimator whose intervals come from refits."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from skanchor._comparisons import Comparisons
from skanchor._ranking import RankingEstimator, RankOnlyEstimator
from skanchor._typing import Array, Seed
from skanchor.baselines import DirectScore
from skanchor.bootstrap._refit import bootstrap
from skanchor.bootstrap._result import KINDS, BootstrapResult, Kind
from skanchor.results import RankingResult
from skanchor.sample import WEIGHTS, Sample

_AT_BOUND = 1e-9
"""Standard error in logits up to which a score lies on its bound in every resample."""


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

    def _place(self, table: pd.DataFrame, targets: Array, level: float) -> None:
        """Write the limits of linear targets, (n_models, n_targets), into a table."""
        low, high = self.refits.limits(targets, level, self.kind)
        # A target that includes an unbounded score has an infinite interval.
        known = ~(targets[self.unbounded] != 0).any(axis=0)
        table["low"] = np.where(known, low, -np.inf)
        table["high"] = np.where(known, high, np.inf)

    def intervals(
        self, level: float = 0.95, relative_to: Hashable | None = None
    ) -> pd.DataFrame:
        """As the base class, with intervals from quantiles of the refits."""
        table = super().intervals(level, relative_to)
        # One target for each score; relative to a model, the score minus that model's.
        targets = np.eye(len(self.models))
        if relative_to is not None:
            targets[table.index.get_loc(relative_to)] -= 1.0
        self._place(table, targets, level)
        return table

    def contrasts(self, level: float = 0.95) -> pd.DataFrame:
        """As the base class, with intervals from quantiles of the refits."""
        table = super().contrasts(level)
        index = pd.Index(self.models)
        eye = np.eye(len(self.models))
        first, second = (
            index.get_indexer(table.index.get_level_values(name))
            for name in ("model", "opponent")
        )
        self._place(table, eye[:, first] - eye[:, second], level)
        # The probability of a win is a monotone function of the contrast.
        table["win_low"], table["win_high"] = expit(table["low"]), expit(table["high"])
        return table


class Bootstrapped(RankingEstimator):
    """A method with bootstrap intervals from full refits.

    It gives a method that estimates scores the results of ``AnchorPipeline``: standard
    errors, intervals, contrasts and rank sets.

    Parameters
    ----------
    estimator : estimator, optional
        The method; None means ``DirectScore()``. Rank-only methods are refused: use
        :func:`bootstrap` and :meth:`BootstrapResult.rank_intervals` for them.
    n_resamples : int, default=500
        Number of resamples.
    kind : {"basic", "percentile"}, default="basic"
        Kind of the intervals, as in :meth:`BootstrapResult.limits`.
    n_jobs : int, optional
        Number of blocks of resamples that run in parallel, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.
    verbose : int, default=0
        Shows a progress bar when positive.
    new_models : sequence of labels, optional
        Models to place; None leaves the choice to the method.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.
    weights : {"importance", "frequency"}, default="importance"
        Meaning of ``sample_weight``, as in :func:`bootstrap`.

    Attributes
    ----------
    models_, new_models_ : ndarray
        Labels.
    estimator_ : estimator
        The method fitted on all rows.
    refits_ : BootstrapResult
        The refits.
    result_ : BootstrapRanking
        Scores, the covariance of the refits, and intervals.

    Examples
    --------
    >>> from skanchor.baselines import HistoricalPPI
    >>> from skanchor.bootstrap import Bootstrapped
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> ppi = Bootstrapped(HistoricalPPI(), n_resamples=20, random_state=0)
    >>> ppi.fit(data.X, data.y).conf_int().columns.tolist()
    ['low', 'high']
    """

    _stands_for: ClassVar = {"estimator": lambda value: DirectScore()}

    _parameter_constraints: ClassVar = {
        **RankingEstimator._parameter_constraints,
        "estimator": [HasMethods(["fit", "get_params"]), None],
        "n_resamples": [Interval(Integral, 2, None, closed="left")],
        # ``_fit`` checks the value, with a message that lists the kinds.
        "kind": [str],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "weights": [StrOptions(set(WEIGHTS))],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_resamples: int = 500,
        *,
        kind: Kind = "basic",
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        new_models: Any = None,
        unseen: Literal["warn", "raise"] = "warn",
        weights: Literal["importance", "frequency"] = "importance",
    ):
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.kind = kind
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.new_models = new_models
        self.unseen = unseen
        self.weights = weights

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {self.kind!r}.")
        method = clone(self._part("estimator"))
        if isinstance(method, RankOnlyEstimator):
            raise TypeError(
                f"{type(method).__name__} only ranks: it has no scores to bound. Call "
                "skanchor.bootstrap.bootstrap and rank_intervals()."
            )
        if self.new_models is not None:
            method.set_params(new_models=self.new_models)
        (refits,) = bootstrap(
            {type(method).__name__: method},
            # The outcomes of a sample are preferences in [0, 1], no longer labels.
            sample.X.as_preferences(),
            sample.y,
            sample_weight=sample.weight,
            groups=sample.groups,
            weights=self.weights,
            n_resamples=self.n_resamples,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        ).values()
        self.estimator_, self.refits_ = refits.estimator, refits
        self.models_, self.new_models_ = refits.models, self.estimator_.new_models_
        inner = self.estimator_.result_
        # A score that is the same in all resamples lies on a bound. Its standard error
        # is unknown, and not zero.
        at_bound = refits.standard_errors.to_numpy() <= _AT_BOUND
        unbounded = at_bound | getattr(inner, "unbounded", False)
        # The method was fitted on encoded battles: the names of the columns that were
        # given are those of the sample.
        inputs = sample.inputs
        if not inner.inputs.features:
            inputs = inputs.without_features()
        self.result_ = BootstrapRanking(
            refits.models,
            refits.is_new,
            refits.estimates[None],
            refits.covariance[None],
            unbounded,
            inner.n_human,
            inner.n_judge,
            inputs=inputs,
            refits=refits,
            kind=self.kind,
        )

    def _annotate(self, X: Comparisons) -> Comparisons:
        return self.estimator_.transform(X)
