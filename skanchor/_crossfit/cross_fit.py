"""The sum of folds: each fold's influence added up, and what is not determined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._crossfit.folds import FoldPlan, rows_held_out
from skanchor._crossfit.one_fold import (
    FoldResult,
    FoldStart,
    fit_fold,
    influence_by_row,
)
from skanchor._crossfit.parallel import stream_plan
from skanchor._crossfit.stages import FullFit
from skanchor._estimators.judges import WEAK_SENSITIVITY
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows, spans_of
from skanchor._text import first_five
from skanchor._typing import Array
from skanchor.exceptions import DataWarning, InstabilityWarning
from skanchor.warning_log import warn, warn_of_parts

FAR = 3.0
"""Length in logits beyond which one corrective step from the plug-in is unreliable."""

FARTHEST = 100.0
"""Standard error in logits, far beyond all scores, that only rounding can leave."""

LEAST_NOISE = 1e-20
"""Share of the variance of independent votes below which a variance is rounding."""

STEADY = (
    "Add rows, use fewer folds (cv), or set a ridge penalty such as "
    "LinearBias(alpha=0.01)."
)
"""What helps where scores are not determined."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The folds of one repeat, added up (eq:feasible-anchor-estimator-v2).

    Attributes
    ----------
    plug_in : ndarray of shape (n_models,)
        Mean plug-in score of the folds.
    estimate : ndarray of shape (n_models,)
        Corrected scores; the plug-in of all rows where a score is unstable.
    covariance : ndarray of shape (n_models, n_models)
        Sampling covariance and the part of the item effects.
    part_covariances : ndarray of shape (4, n_models, n_models)
        Covariance by human rows, judge rows, both together, and item effects.
    largest : ndarray of shape (n_models,)
        Largest influence of one row, in size; of a group, where there are groups.
    undetermined : ndarray of shape (n_models,)
        Scores that the rows do not determine in some fold, or that are unstable.
    """

    plug_in: Array
    estimate: Array
    covariance: Array
    part_covariances: Array
    largest: Array
    undetermined: NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class RowInfluence:
    """Influence of each row on each score, computed when it is asked for.

    Attributes
    ----------
    sample : Sample
        The rows, or cells of equal ones.
    plans : sequence of FoldPlan
        Folds of each repeat.
    repeats : list of lists of ndarray or RieszWeights
        By repeat and fold, the influence of the rows that it holds out, or the weights
        that give it.
    learners : sequence of learner
        Fitted biases, from whose columns Riesz weights give influence.
    """

    sample: Sample
    plans: Sequence[FoldPlan] = ()
    repeats: Sequence[Sequence[Array | RieszWeights]] = ()
    learners: Sequence[Any] = ()

    def values(self) -> Array:
        """Mean over the repeats, of shape (n_rows, n_models)."""
        sample = self.sample
        n_rows = len(self.plans[0].fold) if self.plans else len(sample)
        total = np.zeros((n_rows, len(sample.X.models)))
        sources: list[SourceRows] = []
        for plan, folds in zip(self.plans, self.repeats, strict=True):
            for number, influence in enumerate(folds):
                share = plan.held_out(number)
                test = np.flatnonzero(share)
                if isinstance(influence, RieszWeights):
                    sources = sources or source_rows(
                        sample, spans_of(self.learners, sample)
                    )
                    held_out = rows_held_out(sources, share)
                    influence = influence_by_row(influence, held_out, len(sample))[test]
                rows = np.flatnonzero(plan.fold == number)
                place = rows if plan.cell is None else plan.cell[rows]
                if plan.size is not None:
                    # Equal rows of a fold share the influence of their cell evenly.
                    influence = influence / (share * plan.size)[test, None]
                at = np.searchsorted(test, place)
                total[rows] += influence[at] / len(self.repeats)
        return total


def cross_fit(
    full: FullFit,
    plans: Sequence[FoldPlan],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> tuple[list[Repeat], RowInfluence]:
    """Fit every fold of every repeat, and pass on their warnings.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    plans : sequence of FoldPlan
        Folds of each repeat.
    n_jobs : int, optional
        Folds fitted in parallel, as in joblib.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    repeats : list of Repeat
    influence : RowInfluence
    """
    start = FoldStart.of(full)
    places = [(plan, number) for plan in plans for number in range(plan.n_folds)]
    jobs = [(start, *place, offset) for offset, place in enumerate(places, start=1)]
    done = stream_plan(fit_fold, jobs, n_jobs=n_jobs, verbose=verbose)
    return collect_folds(full, plans, done)


def collect_folds(
    full: FullFit, plans: Sequence[FoldPlan], done: Iterable[FoldResult]
) -> tuple[list[Repeat], RowInfluence]:
    """Add up the folds of each repeat, and pass on their warnings.

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    plans : sequence of FoldPlan
        Folds of each repeat.
    done : iterable of FoldResult
        Every fold, repeat by repeat; read once.

    Returns
    -------
    repeats : list of Repeat
    influence : RowInfluence
    """
    rest = iter(done)
    repeats = [[next(rest) for _ in range(plan.n_folds)] for plan in plans]
    by_fold: dict[int, list[Warning]] = {}
    for folds in repeats:
        for number, fold in enumerate(folds):
            by_fold.setdefault(number, []).extend(fold.warnings)
    # Before the sums, which look at the result of all folds.
    warn_of_parts(by_fold, "In folds {}, not on all rows")
    sample = full.sample.with_battles(full.chain.X)
    values = [
        [one.weights if one.values is None else one.values for one in folds]
        for folds in repeats
    ]
    influence = RowInfluence(sample, plans, values, full.chain.learners)
    return [sum_folds(full, folds) for folds in repeats], influence


def sum_folds(full: FullFit, folds: Sequence[FoldResult]) -> Repeat:
    """Sum up one cross-fit (eq:feasible-anchor-estimator-v2, -variance-v2).

    Parameters
    ----------
    full : FullFit
        The fit of all rows.
    folds : sequence of FoldResult
        All folds of one repeat.

    Returns
    -------
    Repeat
    """
    influence = folds[0].influence
    for fold in folds[1:]:
        influence = influence + fold.influence
    weights = [fold.weights for fold in folds]
    plug_in = np.mean([fold.scores for fold in folds], axis=0)
    # Each fold's influence is already that of its share of all rows.
    step = influence.total + np.mean([one.prior_score for one in weights], axis=0)
    sampling = influence.covariance_parts()
    expected = np.mean([fold.expected for fold in folds], axis=0)
    found, due = np.diag(sampling.sum(axis=0)), np.diag(expected.sum(axis=0))
    # Where the expected variance is zero, no row informs the score; it is not counted.
    if ((due > 0) & (found <= LEAST_NOISE * due)).any():
        warn(
            DataWarning(
                "The outcomes show no noise: each is what the fit predicts. The errors "
                "are those that independent votes would have.",
                code="no-noise",
            )
        )
        sampling = expected
    inflation = 1.0 if full.items is None else full.items.inflation
    items = inflation * np.mean([one.item_covariance for one in weights], axis=0)
    covariance, X = sampling.sum(axis=0), full.sample.X
    # The correction is one Newton step, which is accurate only near the plug-in. A
    # score is unstable if a fold's plug-in lies far from that of all rows, if the step
    # is several logits long, or if its variance is zero or far beyond all scores.
    apart = np.abs([fold.scores - full.chain.scores for fold in folds])
    variance = np.diag(covariance)
    unstable = (apart > FAR).any(axis=0) | (np.abs(step) > FAR) | (variance == 0.0)
    unstable |= ~(variance < FARTHEST**2)
    too_few = (~unstable & ~X.is_new).sum() < 2
    if too_few or not all(one.fit.converged for one in weights):
        # Scores are identified only up to a constant, so fewer than two stable
        # historical ones leave none determined. Nor does a fit that found no minimum.
        unstable[:] = True
    if unstable.any():
        far = np.flatnonzero((apart[:, unstable] > FAR).any(axis=1)).tolist()
        places = f", and folds {far} place them {FAR:g} logits off" if far else ""
        why = ": the correction of the plug-in is too large for one step" + places
        weak = _weak_judges(X.judges.tolist(), weights)
        warn(undetermined_scores(X.models[unstable].tolist(), why, weak))
    lost = np.any([one.undetermined for one in weights], axis=0)
    return Repeat(
        plug_in,
        # An unreliable correction is dropped; its error becomes infinite.
        np.where(unstable, full.chain.scores, plug_in + step),
        covariance + items,
        np.concatenate([sampling, items[None]]),
        influence.largest,
        lost | unstable,
    )


def _weak_judges(judges: list[Any], weights: list[RieszWeights]) -> str:
    """Say which judges hardly tell models apart in which folds, the weakest first."""
    fits = [one.fit for one in weights]
    # Of shape (n_folds, n_judges); people, who come first, have sensitivity one.
    slopes = np.array([fit.x[fit.layout.sensitivities][1:] for fit in fits])
    least = slopes.min(axis=0)
    weak = [m for m in np.argsort(least, kind="stable") if least[m] < WEAK_SENSITIVITY]
    causes = [
        f"judge {judges[m]!r} in folds "
        f"{np.flatnonzero(slopes[:, m] < WEAK_SENSITIVITY).tolist()} "
        f"(down to {least[m]:.2g})"
        for m in weak[:5]
    ]
    if len(weak) > 5:
        causes.append(f"{len(weak) - 5} more")
    return f" Sensitivities are weak: {'; '.join(causes)}." if causes else ""


def undetermined_scores(
    names: list[Any], why: str = "", causes: str = ""
) -> InstabilityWarning:
    """Warning of models that keep the plug-in score, with an infinite error."""
    return InstabilityWarning(
        f"The scores of {first_five(names)} are not determined{why}. They keep the "
        f"plug-in score, with an infinite error.{causes} {STEADY}",
        code="undetermined-scores",
        subject=names,
    )
