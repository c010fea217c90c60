"""Bootstrap intervals from full refits on resamples that all methods share.

A resample is a row of weights: within each source, rows (or whole groups) are drawn
with replacement as often as there are. Methods that state their definition on arrays
with an axis of replicates (all of :mod:`skanchor.baselines`) are refitted in blocks by
batched solvers, which start from the fit of all rows and whose shared parts, such as
the judge fits, are computed once for all methods; any other estimator is refitted one
resample at a time.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval

from skanchor._numerics.batched import Workspace
from skanchor.base import check_level, emit, enter
from skanchor.baselines import DirectScore
from skanchor.comparisons import Comparisons, decide_roles, source_codes
from skanchor.exceptions import DataWarning
from skanchor.folds import stream_plan
from skanchor.inference import RankingResult
from skanchor.io import write_atomically
from skanchor.ranking import RankingEstimator, RankOnlyEstimator
from skanchor.refits import BatchedFits, Layout

__all__ = ["BootstrapResult", "Bootstrapped", "Resampler", "bootstrap"]

Array = NDArray[np.float64]

KINDS = ("basic", "percentile", "studentized")

LEAST_STRATUM = 20
"""Groups from which on a stratum of resamples has a fair variance of its own."""


# --------------------------------------------------------------------------- resamples
class Resampler:
    """Draw row weights: rows, or whole groups, with replacement within each source.

    Groups that span several sources are drawn as wholes from the groups that span the
    same ones, so that what a prompt's rows share stays together. Where fewer than
    twenty span the same ones, they are drawn together with other such groups: alone
    they would hardly vary.

    Parameters
    ----------
    X : Comparisons
        Rows with decided roles.
    weight : ndarray of shape (n_rows,)
        Weights of the rows; those without weight are not drawn.
    groups : ndarray of shape (n_rows,), optional
        Group codes.
    seed : int
        Seed. Every block of resamples has a stream of its own, so that resamples do
        not depend on who draws them, or when.
    """

    def __init__(
        self,
        X: Comparisons,
        weight: Array,
        groups: NDArray[np.intp] | None,
        seed: int,
    ):
        self.weight, self.seed = weight, seed
        self._unit_weights = bool((weight == 1.0).all())
        used = np.flatnonzero(X.is_usable & (weight > 0))
        source = source_codes(X)[used]
        if groups is None:
            unit, stratum = np.arange(len(used)), source
        else:
            _, unit = np.unique(groups[used], return_inverse=True)
            spans = np.zeros((unit.max() + 1, source.max() + 1), dtype=bool)
            spans[unit, source] = True
            _, kind, sizes = np.unique(
                spans, axis=0, return_inverse=True, return_counts=True
            )
            stratum = _pooled(sizes)[kind.ravel()]
        # Units of a stratum side by side, and the place of each row's unit.
        order = np.argsort(stratum, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        sizes = np.bincount(stratum)
        self._sizes = sizes[sizes > 0]
        self._unit: NDArray[np.intp] | None = np.full(len(weight), len(order))
        self._unit[used] = place[unit]
        if np.array_equal(self._unit, np.arange(len(weight))):
            self._unit = None
        # Small enough for the caches, large enough to spread the calls over.
        self.block = int(np.clip(500_000 // max(len(weight), 1), 2, 64))
        self._work = Workspace()

    def _counts(self, drawn: NDArray[np.intp], name: str) -> Array:
        """Weights of the rows from the units drawn, (n_resamples, n_rows)."""
        n_resamples, n_units = drawn.shape
        counts = self._work.take(name, (n_resamples, n_units + 1))
        for r, units in enumerate(drawn):
            counts[r] = np.bincount(units, minlength=n_units + 1)
        if self._unit is None:
            own = counts[:, :-1]
        else:
            own = self._work.take(name + " rows", (n_resamples, len(self.weight)))
            np.take(counts, self._unit, axis=1, out=own, mode="clip")
        if not self._unit_weights:
            own *= self.weight
        return own

    def draw(self, number: int, n_inner: int = 0) -> tuple[Array, Iterator[Array]]:
        """Draw one block.

        The arrays are used again: each holds until the next of its kind is drawn.

        Parameters
        ----------
        number : int
            Number of the block.
        n_inner : int, default=0
            Resamples of each resample.

        Returns
        -------
        weights : ndarray of shape (block, n_rows)
            Weights of the resamples.
        inner : iterator of ndarrays of shape (n_inner, n_rows)
            Weights of the resamples of each resample.
        """
        stream = np.random.SeedSequence(self.seed, spawn_key=(number,))
        outer_seed, inner_seed = stream.spawn(2)
        drawn = self._draw(np.random.default_rng(outer_seed), self.block, "units")
        return self._counts(drawn, "outer"), self._inner(drawn, inner_seed, n_inner)

    def _inner(
        self, drawn: NDArray[np.intp], seed: np.random.SeedSequence, n_inner: int
    ) -> Iterator[Array]:
        rng = np.random.default_rng(seed)
        if n_inner:
            for units in drawn:
                again = self._draw(rng, n_inner, "inner units")
                yield self._counts(units[again], "inner")

    def _draw(self, rng: np.random.Generator, n: int, name: str) -> NDArray[np.intp]:
        """Places drawn within each stratum, of shape (n, n_units)."""
        drawn = self._work.take(name, (n, int(self._sizes.sum())), np.intp)
        begin = 0
        for size in self._sizes.tolist():
            end = begin + size
            kind = np.uint16 if size < 2**16 else np.uint32
            drawn[:, begin:end] = rng.integers(size, size=(n, size), dtype=kind)
            drawn[:, begin:end] += begin
            begin = end
        return drawn


def _pooled(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Stratum that each kind of group is drawn in: its own, or one for the rare."""
    rare = sizes < LEAST_STRATUM
    if sizes[rare].sum() < LEAST_STRATUM and rare.any():
        rare[np.argmax(sizes)] = True
    stratum = np.arange(len(sizes))
    return np.where(rare, np.argmax(rare), stratum)


# ------------------------------------------------------------------------------ result
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
        Values of all rows: scores in logits, or win rates of a rank-only method.
    replicates : ndarray of shape (n_resamples, n_models)
        Values of each resample; NaN where its refit was impossible.
    inner_covariances : ndarray of shape (n_resamples, n_models, n_models) or None
        Covariance of the refits on resamples of each resample.
    """

    estimator: Any
    models: NDArray[Any]
    is_new: NDArray[np.bool_]
    estimates: Array
    replicates: Array
    inner_covariances: Array | None = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}: {len(self.replicates)} refits of "
            f"{type(self.estimator).__name__}, {self.failed} of them failed; "
            f"{len(self.models)} models, {int(self.is_new.sum())} of them new"
        )

    @property
    def _index(self) -> pd.Index:
        return pd.Index(self.models, name="model")

    @property
    def failed(self) -> int:
        """Resamples on which the method could not be fitted."""
        return int(np.isnan(self.replicates).any(axis=1).sum())

    @property
    def covariance(self) -> Array:
        """Covariance of the values of all models, of shape (n_models, n_models)."""
        return np.cov(self.replicates[self._good], rowvar=False, ddof=1)

    @property
    def _good(self) -> NDArray[np.bool_]:
        return np.asarray(~np.isnan(self.replicates).any(axis=1))

    @property
    def standard_errors(self) -> pd.Series:
        """Standard deviation of each model's value over the resamples."""
        error = self.replicates[self._good].std(axis=0, ddof=1)
        return pd.Series(error, index=self._index, name="standard_error")

    def limits(
        self, targets: Array, level: float = 0.95, kind: str = "basic"
    ) -> tuple[Array, Array]:
        """Confidence limits of linear functions of the values.

        Parameters
        ----------
        targets : ndarray of shape (n_models, n_targets)
            Coefficients of the functions.
        level : float, default=0.95
            Confidence level in (0, 1).
        kind : {"basic", "percentile", "studentized"}, default="basic"
            ``basic`` reflects the quantiles q of the refits about the estimate t, (2 t
            - q_high, 2 t - q_low); ``percentile`` takes them as they are;
            ``studentized`` takes the quantiles of (refit - t) / error, with the error
            of each refit from ``n_inner`` resamples of its resample.

        Returns
        -------
        low, high : ndarray of shape (n_targets,)
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}.")
        tail = (1.0 - check_level(level)) / 2.0
        good = self._good
        estimate, values = self.estimates @ targets, self.replicates[good] @ targets
        if kind == "percentile":
            low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
            return low, high
        if kind == "basic":
            low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
            return 2.0 * estimate - high, 2.0 * estimate - low
        if self.inner_covariances is None:
            raise ValueError(
                "Studentized intervals need the error of every refit: give n_inner, "
                "such as 25, to draw resamples of each resample."
            )
        spread = self.inner_covariances[good]
        inner = np.sqrt(np.einsum("pt,rpq,qt->rt", targets, spread, targets))
        error = values.std(axis=0, ddof=1)
        usable = (inner > 0).all(axis=1)
        t = (values - estimate)[usable] / inner[usable]
        low, high = np.quantile(t, [tail, 1.0 - tail], axis=0)
        return estimate - high * error, estimate - low * error

    def conf_int(self, level: float = 0.95, kind: str = "basic") -> pd.DataFrame:
        """Confidence intervals of the new models' values.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).
        kind : {"basic", "percentile", "studentized"}, default="basic"
            As in :meth:`limits`.

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high``, by new model.
        """
        targets = np.eye(len(self.models))[:, self.is_new]
        low, high = self.limits(targets, level, kind)
        return pd.DataFrame({"low": low, "high": high}, self._index[self.is_new])

    def rank_intervals(self, level: float = 0.95) -> pd.DataFrame:
        """Insertion ranks with percentile intervals, for rank-only methods as well.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1) of each model's interval.

        Returns
        -------
        DataFrame
            Columns ``rank``, ``low``, ``high`` by new model; 1 is best.
        """
        tail = (1.0 - check_level(level)) / 2.0
        every = np.vstack([self.estimates, self.replicates[self._good]])
        old = every[:, ~self.is_new]
        ranks = np.stack(
            [1 + (old > every[:, [g]]).sum(axis=1) for g in np.flatnonzero(self.is_new)]
        )
        low = np.quantile(ranks[:, 1:], tail, axis=1, method="inverted_cdf")
        high = np.quantile(ranks[:, 1:], 1.0 - tail, axis=1, method="inverted_cdf")
        return pd.DataFrame(
            {"rank": ranks[:, 0], "low": low.astype(int), "high": high.astype(int)},
            index=self._index[self.is_new],
        )


# ------------------------------------------------------------------------------ engine
@dataclass(frozen=True, eq=False)
class _Problem:
    """What every block shares."""

    X: Comparisons
    y: Array
    groups: NDArray[np.intp] | None
    fitted: dict[str, Any]
    layouts: dict[str, tuple[int, Layout]]
    resampler: Resampler
    n_inner: int
    tol: float
    batched: bool


def bootstrap(
    methods: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    n_resamples: int = 500,
    n_inner: int = 0,
    tol: float = 1e-5,
    batched: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> dict[str, BootstrapResult]:
    """Refit methods on resamples that all of them share.

    Parameters
    ----------
    methods : mapping from str to estimator, or list of estimators
        Unfitted methods by name; those of a list are named by their class. Their roles
        (which models are new) are decided once, on all rows.
    X : battles table or Comparisons
        One row per comparison.
    y : array-like of shape (n_rows,)
        Outcomes.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; a resample multiplies them by how often the row was drawn.
    groups : array-like of shape (n_rows,) or str, optional
        Groups of dependent rows, drawn as wholes, or the column that holds them.
    n_resamples : int, default=500
        Number of resamples.
    n_inner : int, default=0
        Resamples of each resample, for studentized intervals; 25 is a common choice.
    tol : float, default=1e-5
        Accepted error of the batched solvers, in logits.
    batched : bool, default=True
        Whether to use the batched solvers; False refits one resample at a time.
    n_jobs : int, optional
        Blocks of resamples in parallel, as in joblib; it does not change the results.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.
    verbose : int, default=0
        Shows a progress bar when positive.
    checkpoint : path, optional
        File that keeps the finished blocks. If it exists, and was written for the same
        data and settings, the run goes on from there.

    Returns
    -------
    dict of BootstrapResult
        By name of the method.

    Warns
    -----
    DataWarning
        If some resample cannot be fitted, for example because it lacks a model.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore, HistoricalPPI
    >>> from skanchor.bootstrap import bootstrap
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> methods = {"plug-in": DirectScore(), "PPI": HistoricalPPI()}
    >>> refits = bootstrap(methods, data.X, data.y, n_resamples=50, random_state=0)
    >>> bool(0.05 < refits["PPI"].standard_errors["new-model"] < 0.2)
    True
    """
    for name, value, least in (
        ("n_resamples", n_resamples, 2),
        ("n_inner", n_inner, 0),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ValueError(f"{name} must be an integer, got {value!r}.")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}.")
    if n_inner == 1:
        raise ValueError("n_inner must be 0 or at least 2: one refit has no spread.")
    methods = _by_name(methods)
    entry = enter(X, y, sample_weight, groups)
    emit(entry.notices)
    fitted = {}
    extra = {} if entry.groups is None else {"groups": entry.groups}
    for name, method in methods.items():
        fitted[name] = clone(method).fit(
            entry.X, y, sample_weight=entry.weight, **extra
        )
    if not fitted:
        return {}
    new_models = next(iter(fitted.values())).new_models_.tolist()
    roles = decide_roles(entry.X, entry.weight, new_models)
    order = _side_by_side(roles, entry.weight)
    roles, rows = roles[order], entry.X[order]
    values, weight = entry.outcomes.values[order], entry.weight[order]
    codes = None if entry.groups is None else entry.groups[order]
    seed, done, key = _resume(checkpoint, random_state, entry, methods, n_inner, tol)
    resampler = Resampler(roles, weight, codes, seed)
    problem = _Problem(
        replace(rows, named=True),
        values,
        codes,
        fitted,
        _layouts(fitted, rows, values, weight),
        resampler,
        int(n_inner),
        tol,
        batched,
    )
    sizes = {
        number: min(resampler.block, int(n_resamples) - begin)
        for number, begin in enumerate(range(0, int(n_resamples), resampler.block))
    }
    # The last block of a shorter run may hold too few.
    first = next(iter(fitted))
    todo = [b for b in sizes if b not in done or len(done[b][first][0]) < sizes[b]]
    found = stream_plan(
        _run_block,
        [(problem, number, sizes[number]) for number in todo],
        n_jobs=n_jobs,
        verbose=verbose,
        description="resamples",
    )
    for number, block in zip(todo, found, strict=True):
        done[number] = block
        if checkpoint is not None:
            _save(checkpoint, key, seed, done)
    return {
        name: _collect(fitted[name], [done[b][name] for b in sizes],
                       int(n_resamples), name)
        for name in fitted
    }  # fmt: skip


def _by_name(methods: Any) -> Mapping[str, Any]:
    if isinstance(methods, Mapping):
        return methods
    if not isinstance(methods, (list, tuple)):
        raise TypeError(
            "methods must be a dict from names to estimators, or a list of estimators, "
            f"got {type(methods).__name__}."
        )
    named = {type(method).__name__: method for method in methods}
    if len(named) < len(methods):
        raise ValueError(
            "Methods of one class cannot be told apart by it; give a dict from names "
            "to estimators."
        )
    return named


def _side_by_side(X: Comparisons, weight: Array) -> NDArray[np.intp]:
    """Rows that count, those of a source, and alike rows within it, side by side.

    Sums over alike rows and the rows of a source are then slices of the weights.
    """
    used = np.flatnonzero(X.is_usable & (weight > 0))
    keys = (X.order, X.right, X.left, source_codes(X), X.involves_new)
    return used[np.lexsort([key[used] for key in keys])]


def _layouts(
    fitted: dict[str, Any], X: Comparisons, y: Array, weight: Array
) -> dict[str, tuple[int, Layout]]:
    """Rows in each method's own roles; methods of equal roles share them."""
    made: dict[Any, tuple[int, Layout]] = {}
    result = {}
    for name, method in fitted.items():
        judges = getattr(method, "judges_", X.judges)
        key = tuple(
            tuple(labels.tolist())
            for labels in (method.models_, method.new_models_, judges)
        )
        if key not in made:
            own = X.relabel(method.models_, judges)
            own = replace(own, new_models=tuple(key[1]), _cache={})
            made[key] = len(made), Layout(own, y, weight)
        result[name] = made[key]
    return result


def _run_block(
    problem: _Problem, number: int, size: int
) -> dict[str, tuple[Array, Array | None]]:
    """Refit every method on the first resamples of one block."""
    weights, inner = problem.resampler.draw(number, problem.n_inner)
    weights = weights[:size]
    with warnings.catch_warnings():
        # What refits say of single resamples is not about the data.
        warnings.simplefilter("ignore")
        values = _refit(problem, weights)
        errors: dict[str, Array | None] = dict.fromkeys(values)
        spreads = [_refit(problem, block) for block in islice(inner, size)]
        if spreads:
            for name in values:
                errors[name] = np.array([_spread(block[name]) for block in spreads])
    return {name: (values[name], errors[name]) for name in values}


def _spread(values: Array) -> Array:
    """Covariance of the refits that there are, of shape (n_models, n_models)."""
    return np.cov(values[~np.isnan(values).any(axis=1)], rowvar=False, ddof=1)


def _refit(problem: _Problem, weights: Array) -> dict[str, Array]:
    """Values of every method on resamples given as weights."""
    caches: dict[int, dict[Any, Any]] = {}
    result = {}
    for name, method in problem.fitted.items():
        number, layout = problem.layouts[name]
        values = np.full((len(weights), len(method.models_)), np.nan)
        todo = np.ones(len(weights), dtype=bool)
        if problem.batched and hasattr(method, "_estimate"):
            fits = BatchedFits(
                layout, weights, problem.tol, caches.setdefault(number, {}), method
            )
            if fits.can_batch(method):
                values = np.array(method._estimate(fits))
                todo = fits.unsolved | ~np.isfinite(values).all(axis=1)
        for r in np.flatnonzero(todo):
            values[r] = _fit_one(problem, method, weights[r])
        result[name] = values
    return result


def _fit_one(problem: _Problem, method: Any, weight: Array) -> Array:
    """Values of a method fitted anew; NaN where its rows do not allow a fit."""
    again = clone(method)
    if "new_models" in again.get_params(deep=False):
        again.set_params(new_models=method.new_models_.tolist())
    extra = {} if problem.groups is None else {"groups": problem.groups}
    try:
        again.fit(
            problem.X,
            problem.y,
            sample_weight=weight,
            **extra,
        )
    except ValueError:
        return np.full(len(method.models_), np.nan)
    return _values(again).reindex(method.models_).to_numpy(dtype=np.float64)


def _values(fitted: Any) -> pd.Series:
    """Values of all models that a method has fitted."""
    result = fitted.result_
    values: pd.Series = (
        result.values if hasattr(result, "values") else (result.all_scores)
    )
    return values


def _collect(
    fitted: Any, blocks: list[tuple[Array, Array | None]], n: int, name: str
) -> BootstrapResult:
    errors = [error for _, error in blocks if error is not None]
    models = fitted.models_
    result = BootstrapResult(
        fitted,
        models,
        np.isin(models, fitted.new_models_),
        _values(fitted).to_numpy(dtype=np.float64),
        np.concatenate([values for values, _ in blocks])[:n],
        np.concatenate(errors)[:n] if errors else None,
    )
    if n - result.failed < 2:
        raise ValueError(
            f"{name} could not be fitted on any of {n} resamples; the rows of some "
            "model or judge are too few to draw from."
        )
    if result.failed:
        warnings.warn(
            DataWarning(
                f"{name} could not be fitted on {result.failed} of {n} resamples, "
                "which lack a model or a judge or leave the models unconnected. They "
                "are left out of the intervals."
            ),
            stacklevel=3,
        )
    return result


# -------------------------------------------------------------------------- checkpoint
def _resume(
    path: Any, random_state: Any, entry: Any, methods: Any, n_inner: int, tol: float
) -> tuple[int, dict[int, Any], str]:
    """Seed, finished blocks and fingerprint of a run that may have begun before."""
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    if path is None:
        return seed, {}, ""
    X = entry.X
    rows = (X.models.tolist(), X.judges.tolist(), X.left, X.right, X.judge, X.order,
            X.features_left, X.features_right)  # fmt: skip
    key = joblib.hash(
        (rows, entry.outcomes.values, entry.weight, entry.groups, dict(methods),
         n_inner, tol)
    )  # fmt: skip
    if not os.path.exists(path):
        return seed, {}, key
    try:
        saved = joblib.load(path)
        known, old_seed, blocks = saved["key"], saved["seed"], saved["blocks"]
    except Exception as error:
        raise ValueError(
            f"{os.fspath(path)} is not a checkpoint of a bootstrap ({error}); name "
            "another file, or delete it."
        ) from error
    if known != key or (random_state is not None and old_seed != seed):
        raise ValueError(
            f"{os.fspath(path)} belongs to a run with other data, methods, seed or "
            "settings; name another file, or delete it."
        )
    return old_seed, blocks, key


def _save(path: Any, key: str, seed: int, blocks: dict[int, Any]) -> None:
    buffer = io.BytesIO()
    joblib.dump({"key": key, "seed": seed, "blocks": blocks}, buffer)
    write_atomically(path, buffer.getvalue())


# --------------------------------------------------------------------------- estimator
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
    kind: str

    def _place(self, table: pd.DataFrame, targets: Array, level: float) -> None:
        """Write limits into a table of linear targets."""
        table["low"], table["high"] = self.refits.limits(targets, level, self.kind)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """As the base class, from quantiles of the refits."""
        return self.refits.conf_int(level, self.kind)

    def leaderboard(self, level: float = 0.95) -> pd.DataFrame:
        """As the base class, with intervals from quantiles of the refits."""
        table = super().leaderboard(level)
        rows = pd.Index(self.models).get_indexer(table.index)
        self._place(table, np.eye(len(self.models))[:, rows], level)
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
        table["win_low"], table["win_high"] = expit(table["low"]), expit(table["high"])
        return table


class Bootstrapped(RankingEstimator):
    """A method with bootstrap intervals from full refits.

    Turns a method that ends in scores into one with the results of
    ``AnchorPipeline``: errors, intervals, contrasts and rank sets.

    Parameters
    ----------
    estimator : estimator, optional
        The method; None stands for ``DirectScore()``. Rank-only methods are refused:
        see :func:`bootstrap` and :meth:`BootstrapResult.rank_intervals`.
    n_resamples : int, default=500
        Number of resamples.
    kind : {"basic", "percentile", "studentized"}, default="basic"
        Kind of the intervals, as in :meth:`BootstrapResult.limits`.
    n_inner : int, default=25
        Resamples of each resample, for studentized intervals only.
    n_jobs : int, optional
        Blocks of resamples in parallel, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the resamples.
    verbose : int, default=0
        Shows a progress bar when positive.
    checkpoint : path, optional
        File that keeps finished blocks, as in :func:`bootstrap`.
    new_models : sequence of labels, optional
        Models to place; None leaves it to the method.
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
    >>> ppi = Bootstrapped(HistoricalPPI(), n_resamples=100, random_state=0)
    >>> ppi.fit(data.X, data.y).conf_int().columns.tolist()
    ['low', 'high']
    """

    _stands_for: ClassVar = {"estimator": lambda value: DirectScore()}

    _parameter_constraints: ClassVar = {
        **RankingEstimator._parameter_constraints,
        "estimator": [HasMethods(["fit", "get_params"]), None],
        "n_resamples": [Interval(Integral, 2, None, closed="left")],
        # Which there are is said where they are read.
        "kind": [str],
        "n_inner": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        n_resamples: int = 500,
        *,
        kind: str = "basic",
        n_inner: int = 25,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        new_models: Any = None,
        unseen: str = "warn",
    ):
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.kind = kind
        self.n_inner = n_inner
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.new_models = new_models
        self.unseen = unseen

    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: Any = None,
    ) -> list[Warning]:
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {self.kind!r}.")
        method = DirectScore() if self.estimator is None else clone(self.estimator)
        if isinstance(method, RankOnlyEstimator):
            raise TypeError(
                f"{type(method).__name__} only ranks: it has no scores to bound. Call "
                "skanchor.bootstrap.bootstrap and rank_intervals()."
            )
        if self.new_models is not None:
            method.set_params(new_models=self.new_models)
        (refits,) = bootstrap(
            {type(method).__name__: method},
            # Outcomes are preferences by now, whatever their labels were.
            replace(X, named=True, _cache={}),
            y,
            sample_weight=weight,
            groups=groups,
            n_resamples=self.n_resamples,
            n_inner=self.n_inner if self.kind == "studentized" else 0,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
            checkpoint=self.checkpoint,
        ).values()
        self.estimator_, self.refits_ = refits.estimator, refits
        self.models_, self.new_models_ = refits.models, self.estimator_.new_models_
        inner = self.estimator_.result_
        unbounded = getattr(inner, "unbounded", np.zeros(len(refits.models), bool))
        self.result_ = BootstrapRanking(
            refits.models,
            refits.is_new,
            refits.estimates[None],
            refits.covariance[None],
            unbounded,
            inner.n_human,
            inner.n_judge,
            refits=refits,
            kind=self.kind,
        )
        return []

    def _annotate(self, X: Comparisons) -> Comparisons:
        return self.estimator_._annotate(X)
