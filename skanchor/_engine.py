"""The cross-fit: fit every fold, and add up the results of the folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count
from operator import add

import numpy as np
from numpy.typing import NDArray

from skanchor._chain import Chain, complete, fit_stages
from skanchor._comparisons import Comparisons
from skanchor._folds import Fold, FoldPlan, as_folds, stream_plan
from skanchor._items import ItemCovariance
from skanchor._judges import WEAK_SENSITIVITY
from skanchor._numerics.groups import RaterSums
from skanchor._riesz import InfluenceSums, RowEvidence
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.exceptions import (
    DataWarning,
    InstabilityWarning,
    located,
)
from skanchor.sample import Sample
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
    plugged : Chain
        The plug-in.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    chain : Chain
        The complete chain.
    """

    stages: Stages
    sample: Sample
    plugged: Chain
    items: ItemCovariance | None
    chain: Chain

    @classmethod
    def of(
        cls,
        stages: Stages,
        sample: Sample,
        plugged: Chain,
        items: ItemCovariance | None,
    ) -> FullFit:
        """Complete the plug-in."""
        chain = complete(stages, plugged, sample, items)
        return cls(stages, sample, plugged, items, chain)

    @property
    def item_fit(self) -> Chain | None:
        """The complete chain, if it has item effects."""
        return None if self.items is None else self.chain


@dataclass(frozen=True, slots=True)
class FoldFit:
    """Results of one fold.

    Attributes
    ----------
    scores : ndarray of shape (n_models,)
        Plug-in of the training rows.
    sensitivities : ndarray of shape (n_judges,)
        Those of the training rows.
    prior_score : ndarray of shape (n_models,)
        Correction by the prior of the item effects.
    item_covariance : ndarray of shape (n_models, n_models)
        Variance that the item effects leave.
    expected : ndarray of shape (3, n_models, n_models)
        Sampling variance if outcomes are independent votes, by kind of row.
    undetermined : ndarray of shape (n_models,)
        Scores that the training rows do not determine.
    sums : InfluenceSums
        Over the influence of the rows held out.
    influence : ndarray of shape (n_test, n_models) or Chain
        That influence, or what it can be computed from anew.
    raters : RaterSums or None
        Of that of the votes by rater, whose votes are in several folds; None where
        errors do not allow for raters.
    """

    scores: Array
    sensitivities: Array
    prior_score: Array
    item_covariance: Array
    expected: Array
    undetermined: NDArray[np.bool_]
    sums: InfluenceSums
    influence: Array | Chain
    raters: RaterSums | None = None

    @classmethod
    def of(
        cls,
        chain: Chain,
        sums: InfluenceSums,
        influence: Array | Chain,
        raters: RaterSums | None = None,
    ) -> FoldFit:
        """Collect the results of a complete chain, fitted on the training rows."""
        slopes = chain.X.sensitivities
        assert chain.debiaser is not None and slopes is not None
        system = chain.debiaser.system_
        return cls(
            chain.scores,
            slopes,
            system.prior_score(chain.X.deviations),
            system.item_covariance(),
            system.expected_covariance(),
            chain.debiaser.undetermined_,
            sums,
            influence,
            raters,
        )


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
    repeats : list of lists of (fold, influence)
        By repeat and fold, the fold and its :attr:`FoldFit.influence`.
    cell : ndarray of shape (n_rows,), optional
        Cell of each row of the table; None where each row is its own.
    plans : sequence of FoldPlan, optional
        Folds of the rows of the table, where these have cells.
    """

    sample: Sample
    repeats: list[list[tuple[Fold, Array | Chain]]]
    cell: NDArray[np.intp] | None = None
    plans: Sequence[FoldPlan] = ()

    def values(self) -> Array:
        """Mean over the repeats, of shape (n_rows, n_models)."""
        cell, sample, n_repeats = self.cell, self.sample, len(self.repeats)
        n_rows = len(sample) if cell is None else len(cell)
        total = np.zeros((n_rows, len(sample.X.models)))
        for repeat, folds in enumerate(self.repeats):
            for number, (fold, influence) in enumerate(folds):
                test = fold.test
                if isinstance(influence, Chain):
                    influence = influence.influence(fold.held_out(sample)[test])
                if cell is None:
                    total[test] += influence / n_repeats
                    continue
                # Equal rows of a fold share the influence of their cell evenly.
                assert fold.test_times is not None
                each = influence / fold.test_times[:, None]
                _, rows = self.plans[repeat][number]
                total[rows] += each[np.searchsorted(test, cell[rows])] / n_repeats
        return total


@dataclass(frozen=True, slots=True)
class CrossFit:
    """The repeats of a cross-fit, and the influence values.

    Attributes
    ----------
    repeats : list of Repeat
        What each repeat adds up to.
    influence : RowInfluence
        Influence of each row on each score.
    """

    repeats: list[Repeat]
    influence: RowInfluence


def cross_fit(
    full: FullFit,
    plans: Sequence[Sequence[Fold] | FoldPlan],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossFit:
    """Fit every fold of every repeat, and pass on their warnings.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    plans : sequence of sequence of Fold, or of (train, test)
        Folds of each repeat.
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
        (full, number, next(seed_offset), fold)
        for plan in plans
        for number, fold in enumerate(as_folds(plan))
    ]
    return collect_folds(
        full, plans, stream_plan(_fit_fold, jobs, n_jobs=n_jobs, verbose=verbose)
    )


def collect_folds(
    full: FullFit,
    plans: Sequence[Sequence[Fold] | FoldPlan],
    done: Iterable[tuple[FoldFit, list[Warning]]],
) -> CrossFit:
    """Add up the folds of each repeat, and pass on their warnings.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    plans : sequence of sequence of Fold, or of (train, test)
        Folds of each repeat.
    done : iterable of (fold, warnings)
        Every fold, repeat by repeat, and what it warned of; read once.

    Returns
    -------
    CrossFit
    """
    rest = iter(done)
    by_fold: dict[int, list[Warning]] = {}
    repeats: list[Repeat] = []
    influence: list[list[tuple[Fold, Array | Chain]]] = []
    for plan in plans:
        folds: list[FoldFit] = []
        for number in range(len(plan)):
            fold, warnings_of_fold = next(rest)
            by_fold.setdefault(number, []).extend(warnings_of_fold)
            folds.append(fold)
        repeats.append(sum_up(full, folds))
        rows = (fold.without_groups() for fold in as_folds(plan))
        kept = (fold.influence for fold in folds)
        influence.append(list(zip(rows, kept, strict=True)))
    warn_of_folds(by_fold)
    for repeat in repeats:
        if repeat.instability is not None:
            warn(repeat.instability)
    return CrossFit(repeats, RowInfluence(full.sample, influence))


def _fit_fold(
    full: FullFit,
    number: int,
    seed_offset: int,
    rows: Fold,
) -> tuple[FoldFit, list[Warning]]:
    """Fit on the training rows and evaluate the correction on the test rows.

    ``number`` is that of the fold in its repeat, ``seed_offset`` that among all folds,
    by which learners have another seed in each, and the cross-fit averages them.
    """
    sample = full.sample
    with located(f"Fold {number}"), WarningLog() as log:
        training = rows.training(sample)
        plugged = fit_stages(
            full.stages, training, full.plugged, seed_offset, full.item_fit
        )
        chain = complete(
            full.stages, plugged, training, full.items, full.chain, seed_offset
        )
        assert chain.debiaser is not None
        test, held = rows.test, rows.held_out(sample).with_battles(chain.X)
        if chain.has_spans:
            sums = chain.debiaser.influence_sums([RowEvidence.held(held, test)])
            kept: Array | Chain = chain.without_rows()
        else:
            # Without spans the influence cannot be recomputed cheaply, and the fitted
            # learners may need more memory than its values: store the values.
            kept = chain.debiaser.influence_of_rows(held, test)
            sums = InfluenceSums.of(
                kept,
                sample.X.is_human[test],
                held.membership(test),
                held.multiplicity_of(test),
            ).with_closed_groups()
        fold = FoldFit.of(chain, sums, kept, _rater_sums(chain, held, test))
    return fold, log.found


def _rater_sums(chain: Chain, held: Sample, test: NDArray[np.intp]) -> RaterSums | None:
    """Influence of the votes held out, by rater; None without raters."""
    votes = test[held.X.is_human[test]]
    crossed = held.crossed(votes)
    if crossed is None:
        return None
    assert chain.debiaser is not None
    values = chain.debiaser.influence_of_rows(held, votes)
    times = held.multiplicity_of(votes)
    return crossed.sums(values if times is None else values / times[:, None])


def sum_up(full: FullFit, folds: list[FoldFit]) -> Repeat:
    """Sum up one cross-fit (eq:feasible-anchor-estimator-v2, -variance-v2).

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    folds : list of FoldFit
        All folds of one repeat.

    Returns
    -------
    Repeat
    """
    X, chain = full.sample.X, full.chain
    sums = sum((fold.sums for fold in folds[1:]), folds[0].sums)
    # Folds are averaged, not pooled; each fold's correction is already a mean over all
    # rows, so that corrections add up.
    plug_in = np.mean([fold.scores for fold in folds], axis=0)
    prior = np.mean([fold.prior_score for fold in folds], axis=0)
    expected = np.mean([fold.expected for fold in folds], axis=0)
    found, due = np.diag(sums.sampling), np.diag(expected.sum(axis=0))
    # Where the expected variance is zero, no row informs the score; it is not counted.
    if ((due > 0) & (found <= LEAST_NOISE * due)).any():
        warn(
            DataWarning(
                "The outcomes show no noise: each is what the fit predicts. The errors "
                "are those that independent votes would have.",
                code="no-noise",
            )
        )
        sums = replace(sums, outer=expected)
    raters = [fold.raters for fold in folds if fold.raters is not None]
    if raters:
        # A rater's votes are in several folds, and all of them are human rows.
        outer = sums.outer.copy()
        outer[0] += reduce(add, raters).excess()
        sums = replace(sums, outer=outer)
    inflation = 1.0 if full.items is None else full.items.inflation
    item_part = inflation * np.mean([fold.item_covariance for fold in folds], axis=0)
    step = sums.total + prior
    unstable = _unstable(chain, folds, step, np.diag(sums.sampling))
    if (~unstable & ~X.is_new).sum() < 2:
        # Scores are identified only up to a constant, so fewer than two stable
        # historical ones leave none determined.
        unstable[:] = True
    undetermined = np.any([fold.undetermined for fold in folds], axis=0)
    return Repeat(
        plug_in,
        # An unreliable correction is dropped; its error becomes infinite.
        np.where(unstable, chain.scores, plug_in + step),
        sums.sampling + item_part,
        item_part,
        np.concatenate([sums.outer, item_part[None]]),
        sums.largest,
        undetermined | unstable,
        _instability(X, chain, folds, unstable) if unstable.any() else None,
    )


def _unstable(
    full: Chain, folds: list[FoldFit], step: Array, variance: Array
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
    X: Comparisons, full: Chain, folds: list[FoldFit], unstable: NDArray[np.bool_]
) -> Warning:
    """Say which scores are not determined, and which judges and folds may be why."""
    slopes = np.array([fold.sensitivities for fold in folds])
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
