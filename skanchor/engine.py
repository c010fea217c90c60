"""The cross-fit: the loop over folds, and what the folds add up to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._typing import Array
from skanchor.chain import Chain, Stages, complete, fit_stages
from skanchor.comparisons import Comparisons
from skanchor.exceptions import Advice, InstabilityWarning, Remedy, located
from skanchor.folds import FoldPlan, stream_plan, training_weights
from skanchor.items import ItemCovariance
from skanchor.judges import WEAK_SENSITIVITY
from skanchor.sample import Sample
from skanchor.treatments import Treatments
from skanchor.warning_log import WarningLog, warn, warn_of_folds

__all__ = ["CrossFit", "FullFit", "Repeat", "cross_fit"]


FAR = 3.0
"""Logits beyond which one corrective step from the plug-in is not believed."""

_STEP = 4096
"""Rows of a step in sums over influence values."""


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
    treatments : Treatments
        Treatments of the item effects.
    chains : dict
        The complete chain by treatment.
    """

    stages: Stages
    sample: Sample
    plugged: Chain
    treatments: Treatments
    chains: dict[str, Chain]

    @classmethod
    def of(
        cls, stages: Stages, sample: Sample, plugged: Chain, treatments: Treatments
    ) -> FullFit:
        """Complete the plug-in under every treatment."""
        chains = {
            name: complete(stages, plugged, sample, items)
            for name, items in treatments.covariances.items()
        }
        return cls(stages, sample, plugged, treatments, chains)


@dataclass(frozen=True, slots=True)
class FoldFit:
    """What a fold hands back for one treatment of the item effects.

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
    undetermined : ndarray of shape (n_models,)
        Scores that the training rows do not determine.
    """

    scores: Array
    sensitivities: Array
    prior_score: Array
    item_covariance: Array
    undetermined: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Repeat:
    """What the folds of one repeat add up to."""

    plug_in: Array
    estimate: Array
    covariance: Array
    item_part: Array
    parts: Array
    largest: Array
    undetermined: NDArray[np.bool_]
    instability: Warning | None


@dataclass(frozen=True, slots=True)
class CrossFit:
    """The repeats of every treatment, and the influence values of the one reported.

    Attributes
    ----------
    repeats : dict
        List of :class:`Repeat` by treatment.
    influence : ndarray of shape (n_rows, n_models)
        Influence of each row on each score, the mean over repeats.
    """

    repeats: dict[str, list[Repeat]]
    influence: Array


def cross_fit(
    full: FullFit, plans: list[FoldPlan], n_jobs: int | None = None, verbose: int = 0
) -> CrossFit:
    """Fit every fold of every repeat; warn of what the folds warn of.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    plans : list of FoldPlan
        Folds of each repeat.
    n_jobs : int, optional
        Folds fitted in parallel, as in joblib.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    CrossFit
    """
    sample, treatments = full.sample, full.treatments
    seed_offset = count(1)
    jobs = [
        (full, number, next(seed_offset), train, test)
        for plan in plans
        for number, (train, test) in enumerate(plan)
    ]
    done = stream_plan(_fit_fold, jobs, n_jobs=n_jobs, verbose=verbose)
    by_fold: dict[int, list[Warning]] = {}
    repeats: dict[str, list[Repeat]] = {name: [] for name in treatments.covariances}
    influence: Array | None = None
    for plan in plans:
        collected = {
            name: _Collected.of(sample, kept=name == treatments.reported)
            for name in treatments.covariances
        }
        for number, (_, test) in enumerate(plan):
            found, warnings_of_fold = next(done)
            by_fold.setdefault(number, []).extend(warnings_of_fold)
            for name, (fold, terms) in found.items():
                collected[name].add(fold, terms, test)
        for name, items in treatments.covariances.items():
            repeats[name].append(collected[name].sum_up(full.chains[name], items))
        share = collected[treatments.reported].influence
        assert share is not None
        share /= len(plans)
        influence = share if influence is None else influence + share
    warn_of_folds(by_fold)
    for repeat in repeats[treatments.reported]:
        if repeat.instability is not None:
            warn(repeat.instability)
    assert influence is not None
    return CrossFit(repeats, influence)


def _fit_fold(
    full: FullFit,
    number: int,
    seed_offset: int,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[dict[str, tuple[FoldFit, Array]], list[Warning]]:
    """Fit on the training rows and evaluate the correction on the test rows.

    ``number`` is that of the fold in its repeat, ``seed_offset`` that among all folds,
    by which learners have another seed in each, and the cross-fit averages them.
    """
    sample, found = full.sample, {}
    with located(f"Fold {number}"), WarningLog() as log:
        training = sample.weighted(training_weights(sample, train))
        plugged = fit_stages(full.stages, training, full.plugged, seed_offset)
        for name, items in full.treatments.covariances.items():
            chain = complete(
                full.stages, plugged, training, items, full.chains[name], seed_offset
            )
            assert chain.debiaser is not None
            terms = chain.debiaser.influence_of_rows(chain.X, sample.y, test)
            if not np.isfinite(terms).all():
                row = int(test[np.argmin(np.isfinite(terms).all(axis=1))])
                raise ValueError(
                    f"The influence of row {row} is not finite: check what the "
                    "learners return."
                )
            slopes, system = chain.X.sensitivities, chain.debiaser.system_
            fold = FoldFit(
                chain.scores,
                np.empty(0) if slopes is None else slopes,
                system.prior_score(chain.X),
                system.item_covariance(),
                chain.debiaser.undetermined_,
            )
            found[name] = fold, terms * sample.weight[test, None]
    return found, log.found


class _Collected:
    """What the folds of one repeat hand back for one treatment.

    Values by row are kept for what is reported, and where groups may span folds; else
    they are summed as they come.
    """

    def __init__(self, sample: Sample, influence: Array | None, sums: InfluenceSums):
        self.sample, self.influence, self.sums = sample, influence, sums
        self.folds: list[FoldFit] = []

    @classmethod
    def of(cls, sample: Sample, *, kept: bool) -> _Collected:
        size = len(sample.X.models)
        by_row = kept or sample.groups is not None
        influence = np.zeros((len(sample), size)) if by_row else None
        return cls(sample, influence, InfluenceSums.of(size))

    def add(self, fold: FoldFit, terms: Array, test: NDArray[np.intp]) -> None:
        """Add a fold, with the influence of its test rows."""
        self.folds.append(fold)
        if self.influence is None:
            self.sums.add(terms, self.sample.X.is_human[test], None)
        else:
            self.influence[test] = terms

    def sum_up(self, full: Chain, items: ItemCovariance | None) -> Repeat:
        """Estimate and variance of one cross-fit.

        The mean plug-in plus the summed influence (eq:feasible-anchor-estimator-v2).
        """
        X, folds, sums = self.sample.X, self.folds, self.sums
        if self.influence is not None:
            sums.add(self.influence, X.is_human, self.sample.groups)
        plug_in = np.mean([fold.scores for fold in folds], axis=0)
        prior = np.mean([fold.prior_score for fold in folds], axis=0)
        inflation = 1.0 if items is None else items.inflation
        item_part = inflation * np.mean(
            [fold.item_covariance for fold in folds], axis=0
        )
        step = sums.total + prior
        unstable = _unstable(full, folds, step, np.diag(sums.sampling))
        undetermined = np.any([fold.undetermined for fold in folds], axis=0)
        return Repeat(
            plug_in,
            # No number is better than one that cannot be believed.
            np.where(unstable, full.scores, plug_in + step),
            sums.sampling + item_part,
            item_part,
            np.vstack([sums.parts, np.diag(item_part)]),
            sums.largest,
            undetermined | unstable,
            _instability(X, full, folds, unstable) if unstable.any() else None,
        )


@dataclass(slots=True)
class InfluenceSums:
    """Sums over the influence values of one repeat."""

    total: Array
    sampling: Array
    parts: Array
    largest: Array

    @classmethod
    def of(cls, size: int) -> InfluenceSums:
        """Empty sums for ``size`` scores."""
        return cls(
            np.zeros(size), np.zeros((size, size)), np.zeros((3, size)), np.zeros(size)
        )

    def add(
        self,
        influence: Array,
        is_human: NDArray[np.bool_],
        groups: NDArray[np.intp] | None,
    ) -> None:
        """Add rows; a group must come whole."""
        sampling, parts = _covariance(influence, is_human, groups)
        self.total += influence.sum(axis=0)
        self.sampling += sampling
        self.parts += parts
        low, high = (
            influence.min(axis=0, initial=0.0),
            influence.max(axis=0, initial=0.0),
        )
        self.largest = np.maximum(self.largest, np.maximum(high, -low))


def _unstable(
    full: Chain, folds: list[FoldFit], step: Array, variance: Array
) -> NDArray[np.bool_]:
    """Scores that one corrective step cannot reach.

    The correction is a step along the tangent; a fold whose plug-in lies far from that
    of all rows, or a step of several logits, has left the region where the tangent says
    something.
    """
    apart = np.abs(np.array([fold.scores for fold in folds]) - full.scores)
    return np.asarray(
        (apart > FAR).any(axis=0) | (np.abs(step) > FAR) | (variance == 0.0)
    )


def _instability(
    X: Comparisons, full: Chain, folds: list[FoldFit], unstable: NDArray[np.bool_]
) -> Warning:
    """Say which scores are not determined, and which judges and folds may be why."""
    slopes = np.array([fold.sensitivities for fold in folds])
    apart = np.abs(np.array([fold.scores for fold in folds]) - full.scores)
    causes = []
    for m, judge in enumerate(X.judges.tolist()):
        weak = np.flatnonzero(slopes[:, m] < WEAK_SENSITIVITY).tolist()
        if weak:
            least = slopes[weak, m].min()
            causes.append(f"judge {judge!r} in folds {weak} (down to {least:.2g})")
    away = np.flatnonzero((apart[:, unstable] > FAR).any(axis=1)).tolist()
    return InstabilityWarning(
        f"The scores of {X.models[unstable].tolist()[:5]} are not determined: the "
        "correction of the plug-in is beyond what one step can do"
        + (f", and folds {away} place them {FAR:g} logits off" if away else "")
        + ". They keep the plug-in score, with an infinite error."
        + (f" Sensitivities are weak: {'; '.join(causes)}." if causes else ""),
        advice=Advice(Remedy.STEADY_CORRECTION, {"alpha": 0.01}),
    )


def _covariance(
    influence: Array, is_human: NDArray[np.bool_], groups: NDArray[np.intp] | None
) -> tuple[Array, Array]:
    """Covariance of the scores and its human, judge and cross parts.

    The summed squares of influence, by group (eq:feasible-anchor-variance-v2).
    """
    size = influence.shape[1]
    human, judge, cross = np.zeros((3, size, size))
    if groups is not None:
        n_groups = int(groups.max()) + 1
        by_kind = [
            _group_totals(influence[rows], groups[rows], n_groups)
            for rows in (is_human, ~is_human)
        ]
        human, judge = (totals.T @ totals for totals in by_kind)
        cross = by_kind[0].T @ by_kind[1]
        cross = cross + cross.T
    else:
        # In steps that stay in the cache, where a copy costs nothing.
        for start in range(0, len(influence), _STEP):
            part = slice(start, start + _STEP)
            votes = influence[part][is_human[part]]
            verdicts = influence[part][~is_human[part]]
            human += votes.T @ votes
            judge += verdicts.T @ verdicts
    parts = np.array([np.diag(part) for part in (human, judge, cross)])
    return human + judge + cross, parts


def _group_totals(influence: Array, groups: NDArray[np.intp], size: int) -> Array:
    n = len(groups)
    gather = csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, size))
    return np.asarray(gather.T @ influence)
