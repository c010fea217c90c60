"""The cross-fit: fit every fold, and add up the results of the folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._crossfit.engine import FoldResult, SumOfFolds
from skanchor._crossfit.fit_stages import complete
from skanchor._crossfit.fold_fits import FoldFits, influence_by_row, sources_of
from skanchor._crossfit.folds import HeldOutShares, rows_held_out
from skanchor._crossfit.parallel import stream_plan
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.judge_checks import WEAK_SENSITIVITY
from skanchor._estimators.riesz import warn_of_unidentified
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array, InfluenceSource
from skanchor.exceptions import (
    ConvergenceWarning,
    DataWarning,
    InstabilityWarning,
    located,
)
from skanchor.warning_log import WarningLog, warn, warn_of_folds

FAR = 3.0
"""Length in logits beyond which one corrective step from the plug-in is unreliable."""

FARTHEST = 100.0
"""Standard error in logits, far beyond all scores, that only rounding can leave."""

LEAST_NOISE = 1e-20
"""Share of the variance of independent votes below which a variance is rounding."""


@dataclass(frozen=True, slots=True)
class FullFit:
    """The fit of all rows, which every fold starts from.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided.
    plugged : FittedStages
        The plug-in.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    chain : FittedStages
        The complete chain.
    """

    stages: Stages
    sample: Sample
    plugged: FittedStages
    items: ItemCovariance | None
    chain: FittedStages

    @classmethod
    def of(
        cls,
        stages: Stages,
        sample: Sample,
        plugged: FittedStages,
        items: ItemCovariance | None,
    ) -> FullFit:
        """Complete the plug-in."""
        chain = complete(stages, plugged, sample, items)
        return cls(stages, sample, plugged, items, chain)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Sums over the folds of one repeat.

    Attributes
    ----------
    plug_in : ndarray of shape (n_models,)
        Mean plug-in score of the folds.
    estimate : ndarray of shape (n_models,)
        Corrected scores (eq:feasible-anchor-estimator-v2); the plug-in of all rows
        where a score is unstable.
    covariance : ndarray of shape (n_models, n_models)
        Sampling covariance and the part of the item effects.
    item_part : ndarray of shape (n_models, n_models)
        The part of the item effects.
    part_covariances : ndarray of shape (4, n_models, n_models)
        Covariance by human rows, judge rows, both together, and item effects.
    largest : ndarray of shape (n_models,)
        Largest influence of one row, in size.
    undetermined : ndarray of shape (n_models,)
        Scores that the rows do not determine in some fold, or that are unstable.
    instability : Warning or None
        Which scores are unstable, if any.
    """

    plug_in: Array
    estimate: Array
    covariance: Array
    item_part: Array
    part_covariances: Array
    largest: Array
    undetermined: NDArray[np.bool_]
    instability: Warning | None

    @property
    def parts(self) -> Array:
        """Human, judge, cross and item parts of the variances, (4, n_models)."""
        return np.diagonal(self.part_covariances, axis1=1, axis2=2)


@dataclass(frozen=True, eq=False, slots=True)
class RowInfluence:
    """Influence of each row on each score, computed when it is asked for.

    Attributes
    ----------
    sample : Sample
        The rows, or cells of equal ones.
    shares : sequence of HeldOutShares
        By repeat, the share of each row of the sample that each fold holds out.
    repeats : list of lists of ndarray or RieszWeights
        By repeat and fold, the influence of the rows that it holds out, or the weights
        that give it.
    cell : ndarray of shape (n_rows,), optional
        Cell of each row of the table; None where each row is its own.
    learners : sequence of learner
        Fitted biases, from whose columns Riesz weights give influence.
    """

    sample: Sample
    shares: Sequence[HeldOutShares] = ()
    repeats: Sequence[Sequence[Array | RieszWeights]] = ()
    cell: NDArray[np.intp] | None = None
    learners: Sequence[Any] = ()

    def values(self) -> Array:
        """Mean over the repeats, of shape (n_rows, n_models)."""
        cell, sample, n_repeats = self.cell, self.sample, len(self.repeats)
        n_rows = len(sample) if cell is None else len(cell)
        total = np.zeros((n_rows, len(sample.X.models)))
        sources: list[SourceRows] = []
        for shares, folds in zip(self.shares, self.repeats, strict=True):
            for number, influence in enumerate(folds):
                share = shares[number]
                test = np.flatnonzero(share)
                if isinstance(influence, RieszWeights):
                    sources = sources or sources_of(self.learners, sample)
                    held_out = rows_held_out(sources, share)
                    influence = influence_by_row(influence, held_out, len(sample))[test]
                if cell is None:
                    total[test] += influence / n_repeats
                    continue
                # Equal rows of a fold share the influence of their cell evenly.
                assert sample.multiplicity is not None
                each = influence / (share * sample.multiplicity)[test, None]
                rows = np.flatnonzero(shares.plan.fold == number)
                total[rows] += each[np.searchsorted(test, cell[rows])] / n_repeats
        return total


@dataclass(frozen=True, slots=True)
class CrossFit:
    """The repeats of a cross-fit, and the influence values.

    Attributes
    ----------
    repeats : list of Repeat
        What each repeat adds up to.
    influence : InfluenceSource
        Influence of each row on each score.
    """

    repeats: list[Repeat]
    influence: InfluenceSource


def cross_fit(
    full: FullFit,
    fits: FoldFits,
    shares: Sequence[HeldOutShares],
    test_shares: Sequence[HeldOutShares],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossFit:
    """Fit every fold of every repeat, and pass on their warnings.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    fits : FoldFits
        That fit by the one engine, from which the folds start.
    shares, test_shares : sequence of HeldOutShares
        By repeat, what each fold holds out: of the rows that are fitted, and of those
        whose influence is summed.
    n_jobs : int, optional
        Folds fitted in parallel, as in joblib.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    CrossFit
    """
    seed_offset = count(1)
    jobs = [
        (full, fits, number, next(seed_offset), fitted, tested)
        for fitted, tested in zip(shares, test_shares, strict=True)
        for number in range(len(fitted))
    ]
    done = stream_plan(_fit_fold, jobs, n_jobs=n_jobs, verbose=verbose)
    return collect_folds(full, test_shares, done)


def collect_folds(
    full: FullFit,
    shares: Sequence[HeldOutShares],
    done: Iterable[tuple[FoldResult, Array | RieszWeights, list[Warning]]],
) -> CrossFit:
    """Add up the folds of each repeat, and pass on their warnings.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    shares : sequence of HeldOutShares
        By repeat, what each fold holds out.
    done : iterable of (fold, influence, warnings)
        Every fold, repeat by repeat, the influence of the rows that it holds out or
        the weights that give it, and what it warned of; read once.

    Returns
    -------
    CrossFit
    """
    rest = iter(done)
    by_fold: dict[int, list[Warning]] = {}
    repeats: list[Repeat] = []
    influence: list[list[Array | RieszWeights]] = []
    for plan in shares:
        folds: list[FoldResult] = []
        influence.append([])
        for number in range(len(plan)):
            fold, of_rows, warnings_of_fold = next(rest)
            by_fold.setdefault(number, []).extend(warnings_of_fold)
            folds.append(fold)
            influence[-1].append(of_rows)
        repeats.append(sum_up(full, folds))
    warn_of_folds(by_fold)
    for repeat in repeats:
        if repeat.instability is not None:
            warn(repeat.instability)
    return CrossFit(repeats, RowInfluence(full.sample, shares, influence))


def _fit_fold(
    full: FullFit,
    fits: FoldFits,
    number: int,
    seed_offset: int,
    shares: HeldOutShares,
    test_shares: HeldOutShares,
) -> tuple[FoldResult, Array | RieszWeights, list[Warning]]:
    """Fit on the training rows and evaluate the correction on the test rows.

    ``number`` is that of the fold in its repeat, ``seed_offset`` that among all folds,
    by which learners have another seed in each, and the cross-fit averages them.
    """
    with located(f"Fold {number}"), WarningLog() as log:
        training = fits.training(shares.kept(number))
        fold, influence = fits.fold(test_shares[number], training, seed_offset)
        warn_of_fold(fold.weights, full.sample.X.models)
    return fold, influence, log.found


def warn_of_fold(weights: RieszWeights, models: NDArray[Any]) -> None:
    """Warn of a fold that did not converge, or leaves scores open."""
    if not weights.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit did not converge: no finite sensitivities and scores fit "
                "votes and verdicts together. Leave out judges with few rows, or let "
                "votes alone decide the scores with historical_fit='two-step'.",
                code="fold-not-converged",
            )
        )
    elif weights.undetermined.any():
        warn_of_unidentified(models[weights.undetermined])


def sum_up(full: FullFit, folds: list[FoldResult]) -> Repeat:
    """Sum up one cross-fit (eq:feasible-anchor-estimator-v2, -variance-v2).

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    folds : list of FoldResult
        All folds of one repeat.

    Returns
    -------
    Repeat
    """
    X, chain, total = full.sample.X, full.chain, SumOfFolds.of(folds)
    sampling = total.parts[:3]
    found, due = np.diag(sampling.sum(axis=0)), np.diag(total.expected.sum(axis=0))
    # Where the expected variance is zero, no row informs the score; it is not counted.
    if ((due > 0) & (found <= LEAST_NOISE * due)).any():
        warn(
            DataWarning(
                "The outcomes show no noise: each is what the fit predicts. The errors "
                "are those that independent votes would have.",
                code="no-noise",
            )
        )
        sampling = total.expected
    inflation = 1.0 if full.items is None else full.items.inflation
    item_part = inflation * total.parts[3]
    covariance = sampling.sum(axis=0)
    step = total.estimate - total.plug_in
    unstable = _unstable(chain, folds, step, np.diag(covariance))
    too_few = (~unstable & ~X.is_new).sum() < 2
    if too_few or not all(fold.weights.fit.converged for fold in folds):
        # Scores are identified only up to a constant, so fewer than two stable
        # historical ones leave none determined. Nor does a fit that found no minimum.
        unstable[:] = True
    return Repeat(
        total.plug_in,
        # An unreliable correction is dropped; its error becomes infinite.
        np.where(unstable, chain.scores, total.estimate),
        covariance + item_part,
        item_part,
        np.concatenate([sampling, item_part[None]]),
        total.largest,
        total.undetermined | unstable,
        _instability(X, chain, folds, unstable) if unstable.any() else None,
    )


def _unstable(
    full: FittedStages, folds: list[FoldResult], step: Array, variance: Array
) -> NDArray[np.bool_]:
    """Find scores that one corrective step cannot reach, of shape (n_models,).

    The correction is one Newton step, which is accurate only near the plug-in. A score
    is unstable if a fold's plug-in lies far from that of all rows, if the step is
    several logits long, or if its variance is zero or far beyond all scores.
    """
    apart = np.abs(np.array([fold.scores for fold in folds]) - full.scores)
    moved = (apart > FAR).any(axis=0) | (np.abs(step) > FAR)
    return np.asarray(moved | (variance == 0.0) | ~(variance < FARTHEST**2))


STEADY = (
    "Add rows, use fewer folds (cv), or set a ridge penalty such as "
    "LinearBias(alpha=0.01)."
)
"""What helps where scores are not determined."""


def _instability(
    X: Comparisons,
    full: FittedStages,
    folds: list[FoldResult],
    unstable: NDArray[np.bool_],
) -> Warning:
    """Say which scores are not determined, and which judges and folds may be why."""
    fits = [fold.weights.fit for fold in folds]
    slopes = np.array([fit.x[fit.layout.sensitivities][1:] for fit in fits])
    apart = np.abs(np.array([fold.scores for fold in folds]) - full.scores)
    least = slopes.min(axis=0)
    weak = [m for m in np.argsort(least, kind="stable") if least[m] < WEAK_SENSITIVITY]
    judges = X.judges.tolist()
    causes = [
        f"judge {judges[m]!r} in folds "
        f"{np.flatnonzero(slopes[:, m] < WEAK_SENSITIVITY).tolist()} "
        f"(down to {least[m]:.2g})"
        for m in weak[:5]
    ]
    if len(weak) > 5:
        causes.append(f"{len(weak) - 5} more")
    away = np.flatnonzero((apart[:, unstable] > FAR).any(axis=1)).tolist()
    names = X.models[unstable].tolist()
    others = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return InstabilityWarning(
        f"The scores of {names[:5]}{others} are not determined: the "
        "correction of the plug-in is too large for one step"
        + (f", and folds {away} place them {FAR:g} logits off" if away else "")
        + ". They keep the plug-in score, with an infinite error."
        + (f" Sensitivities are weak: {'; '.join(causes)}." if causes else "")
        + f" {STEADY}",
        code="undetermined-scores",
        subject=names,
    )
