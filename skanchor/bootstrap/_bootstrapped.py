"""An estimator whose intervals come from refits."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Literal

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from skanchor._typing import Seed
from skanchor.baselines import DirectScore
from skanchor.bootstrap._refit import bootstrap
from skanchor.bootstrap._result import KINDS, BootstrapRanking, Kind
from skanchor.results.estimators import AroundMethod, RankingEstimator
from skanchor.sample import WEIGHTS, Sample

_AT_BOUND = 1e-9
"""Standard error in logits up to which a score lies on its bound in every resample."""


class Bootstrapped(AroundMethod, RankingEstimator):
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

    _stands_for: ClassVar[dict[str, Any]] = {"estimator": lambda value: DirectScore()}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AroundMethod._parameter_constraints,
        "n_resamples": [Interval(Integral, 2, None, closed="left")],
        "kind": [StrOptions(set(KINDS))],
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
        method = self._method()
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
        self.models_, self.new_models_ = refits.models, refits.models[refits.is_new]
        inner, inputs = self.estimator_.result_, sample.inputs
        # A score that is the same in all resamples lies on a bound. Its standard error
        # is unknown, and not zero.
        at_bound = refits.standard_errors.to_numpy() <= _AT_BOUND
        # The method was fitted on encoded battles: the names of the columns that were
        # given are those of the sample.
        self.result_ = BootstrapRanking(
            refits.models,
            refits.is_new,
            refits.estimates[None],
            refits.covariance[None],
            at_bound | getattr(inner, "unbounded", False),
            inner.n_human,
            inner.n_judge,
            inputs=inputs if inner.inputs.features else inputs.without_features(),
            refits=refits,
            kind=self.kind,
        )
