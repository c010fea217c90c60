"""Resamples as row weights, and the loop over them that fits every method again."""

from __future__ import annotations

import warnings
from contextlib import suppress
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from skanchor._battles import align, decide_roles
from skanchor._checks import check_whole
from skanchor._crossfit.parallel import run_plan
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Battles, Sample
from skanchor._typing import Array, Seed
from skanchor.baselines import DirectScore
from skanchor.bootstrap._result import KINDS, BootstrapRanking, BootstrapResult, Kind
from skanchor.results.estimators import AroundMethod, RankingEstimator
from skanchor.warning_log import WarningLog, unheard, warn_of_data


def bootstrap(
    method: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    n_resamples: int = 500,
    n_jobs: int | None = None,
    random_state: Seed = None,
    verbose: int = 0,
) -> BootstrapResult:
    """Refit a method on resamples, which are the same for all methods at one seed.

    Parameters
    ----------
    method : estimator
        Unfitted. Which models are new is decided once, on all rows.
    X : battles table or Comparisons
        One row per comparison.
    y : array-like of shape (n_rows,)
        Outcomes.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; a resample multiplies them by how often the row was drawn. If the
        method or its BTLRegressor has ``weights="frequency"``, they are numbers of
        equal rows, each of which is drawn by itself.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        Groups of dependent rows, or the column that holds them. A group is drawn as a
        whole.
        By default the values of ``prompt_id``, if they repeat; None treats
        rows as independent.
    n_resamples : int, default=500
        Number of resamples.
    n_jobs : int, optional
        Number of blocks of resamples that run in parallel, as in joblib; it does not
        change the results.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    BootstrapResult

    Warns
    -----
    DataWarning
        If some resample cannot be fitted, for example because it lacks a model.

    Examples
    --------
    >>> from skanchor.baselines import HistoricalPPI
    >>> from skanchor.bootstrap import bootstrap
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> ppi = HistoricalPPI()
    >>> refits = bootstrap(ppi, data.X, data.y, n_resamples=20, random_state=0)
    >>> bool(0.05 < refits.standard_errors["new-model"] < 0.2)
    True
    """
    check_whole("n_resamples", n_resamples, 2)
    with WarningLog() as log:
        # Prompts are drawn, or rows, and raters are not.
        sample = Sample.from_battles(X, y, sample_weight, groups).without_raters()
        sample = RowRules.of(method).apply(sample)
    log.issue()
    # Outcomes are encoded in [0, 1] by now, whatever their labels were.
    X = sample.X.with_columns(named=True)
    fitted: Any = clone(method).fit(X, sample.y, sample.weight, sample.groups)
    X = decide_roles(X, sample.weight, fitted.new_models_.tolist())
    # Rows that are used, those of a source and of a pair within it side by side.
    sample = sample.with_battles(X)[np.flatnonzero(sample.counts)]
    X = sample.X
    sample = sample[np.lexsort((X.order, X.right, X.left, X.sources, X.involves_new))]
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    resampler = Resampler(sample, seed)
    jobs = [
        (sample, fitted, resampler, block, n_resamples - start)
        for block, start in enumerate(range(0, n_resamples, resampler.block))
    ]
    blocks = run_plan(
        _run_block, jobs, n_jobs=n_jobs, verbose=verbose, description="resamples"
    )
    is_new, values = fitted.result_.is_new, fitted.result_.all_scores.to_numpy(float)
    replicates = np.concatenate(blocks)
    result = BootstrapResult(fitted, fitted.models_, is_new, values, replicates)
    name = type(method).__name__
    if result.failed:
        problem = (
            f"{name} could not be fitted on {result.failed} of {n_resamples} "
            "resamples, which lack a model or a judge or leave the models unconnected."
        )
        if n_resamples - result.failed < 2:
            raise ValueError(problem)
        words = f"{problem} They are left out of the intervals."
        warn_of_data("failed-resamples", (), words)
    return result


def _run_block(
    sample: Sample, fitted: Any, resampler: Resampler, number: int, most: int
) -> Array:
    """Values on the first resamples of a block, (n, n_models).

    They are NaN where a resample is refused.
    """
    weights = resampler.draw(number)[:most]
    values = np.full((len(weights), len(fitted.models_)), np.nan)
    method = clone(fitted).set_params(new_models=fitted.new_models_.tolist())
    # Warnings of a refit are about a resample, and not about the data.
    with warnings.catch_warnings(), unheard(Warning):
        warnings.simplefilter("ignore")
        for row, weight in zip(values, weights, strict=True):
            with suppress(ValueError):
                # It starts from the fit of all rows.
                again = clone(method).fit_sample(sample.weighted(weight), fitted)
                scores = again.result_.all_scores.to_numpy(np.float64)
                row[:] = align(scores, again.models_, fitted.models_)
    return values


LEAST_STRATUM = 20
"""Smallest number of groups in a stratum that is resampled by itself."""


class Resampler:
    """Draw row weights: rows, or whole groups, with replacement within each source.

    A stratum is a source, or, with groups, the groups that have rows in the same set of
    sources. Groups are drawn as wholes, so that dependent rows stay together. Strata of
    fewer than twenty groups are pooled, since few groups would hardly vary.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles, all of which count.
    seed : int
        Seed. Every block of resamples has its own random stream, so that resamples do
        not depend on which process draws them, nor on the order.
    """

    def __init__(self, sample: Sample, seed: int):
        self.weight, self.seed = sample.weight, seed
        # Few enough resamples in a block that its weights stay small.
        self.block = int(np.clip(500_000 // len(sample), 2, 64))
        stratum, unit = sample.X.sources, np.arange(len(sample))
        if sample.groups is not None:
            # spans[g, s]: whether group g has rows of source s. Equal rows of this
            # table are one kind of group.
            _, unit = np.unique(sample.groups, return_inverse=True)
            spans = np.zeros((unit.max() + 1, stratum.max() + 1), dtype=bool)
            spans[unit, stratum] = True
            _, kind, sizes = np.unique(
                spans, axis=0, return_inverse=True, return_counts=True
            )
            rare = sizes < LEAST_STRATUM
            # If they are too few even together, the most frequent kind joins them.
            if sizes[rare].sum() < LEAST_STRATUM and rare.any():
                rare[np.argmax(sizes)] = True
            # The common stratum has the number of the first of its kinds.
            stratum = np.where(rare, np.argmax(rare), np.arange(len(sizes)))
            stratum = stratum[kind.ravel()]
        # Unit of each row, and units of each stratum.
        self._unit = unit
        self._strata = [np.flatnonzero(stratum == k) for k in np.unique(stratum)]

    def draw(self, number: int) -> Array:
        """Weights of the resamples of a block by its number, (block, n_rows)."""
        stream = np.random.SeedSequence(self.seed, spawn_key=(number, 0))
        rng = np.random.default_rng(stream)
        # How often each unit was drawn.
        counts = np.zeros((self.block, sum(map(len, self._strata))))
        for members in self._strata:
            # Small integers are drawn faster.
            size = len(members)
            kind = np.uint16 if size < 2**16 else np.uint32
            drawn = rng.integers(size, size=(self.block, size), dtype=kind)
            for count, units in zip(counts, drawn, strict=True):
                count[members] = np.bincount(units, minlength=size)
        return np.asarray(counts[:, self._unit] * self.weight)


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
    ):
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.kind = kind
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.new_models = new_models
        self.unseen = unseen

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        method = self._method()
        refits = bootstrap(
            method,
            **self._rows(sample),
            n_resamples=self.n_resamples,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
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
