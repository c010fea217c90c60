"""The sum of folds: each fold's influence added up, and what is not determined."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._crossfit.fits import FoldResult, FullFit, fit_fold, influence_by_row
from skanchor._crossfit.folds import (
    FoldPlan,
    places_all_models,
    rows_held_out,
    scales_of_training,
)
from skanchor._crossfit.parallel import stream_plan
from skanchor._crossfit.stages import fit_history
from skanchor._estimators.judges import WEAK_SENSITIVITY
from skanchor._model.newton import grams_of
from skanchor._model.riesz import Information, RieszWeights, influence_of
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
        sample, sources = self.sample, list[SourceRows]()
        n_rows = len(self.plans[0].fold) if self.plans else len(sample)
        total = np.zeros((n_rows, len(sample.X.models)))
        for plan, folds in zip(self.plans, self.repeats, strict=True):
            for number, influence in enumerate(folds):
                share = plan.held_out(number)
                test = np.flatnonzero(share)
                if isinstance(influence, RieszWeights):
                    spans = [] if sources else spans_of(self.learners, sample)
                    sources = sources or source_rows(sample, spans)
                    held_out = rows_held_out(sources, share)
                    influence = influence_by_row(influence, held_out, len(sample))[test]
                rows = cells = np.flatnonzero(plan.fold == number)
                if plan.cell is not None:
                    # Equal rows of a fold share the influence of their cell evenly.
                    cells, size = plan.cell[rows], share * sample.multiplicity
                    influence = influence / size[test, None]
                at = np.searchsorted(test, cells)
                total[rows] += influence[at] / len(self.repeats)
        return total


# ------------------------------------------------------------------------ sum of folds
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
    start = full.start() if full.chain.is_fixed else None
    jobs: list[tuple[Any, ...]] = []
    for plan in plans:
        scales = scales_of_training(full.sample, plan)
        is_placed = places_all_models(full.sample, plan)
        for number in range(plan.n_folds):
            fold = full, start, plan, number, scales[number], is_placed[number]
            jobs.append((*fold, 1 + len(jobs)))
    done = stream_plan(fit_fold, jobs, n_jobs=n_jobs, verbose=verbose)
    return collect_folds(full, plans, done)


def collect_folds(
    full: FullFit, plans: Sequence[FoldPlan], done: Iterable[FoldResult]
) -> tuple[list[Repeat], RowInfluence]:
    """Add up the folds of each repeat, and pass on their warnings."""
    results = iter(done)
    repeats = [[next(results) for _ in range(plan.n_folds)] for plan in plans]
    by_fold: dict[int, list[Warning]] = {}
    for folds in repeats:
        for number, fold in enumerate(folds):
            by_fold.setdefault(number, []).extend(fold.warnings)
    # Before the sums, which look at the result of all folds.
    warn_of_parts(by_fold, "In folds {}, not on all rows")
    values = [
        [one.weights if one.values is None else one.values for one in folds]
        for folds in repeats
    ]
    sample = full.sample.with_battles(full.chain.X)
    influence = RowInfluence(sample, plans, values, full.chain.learners)
    return [sum_folds(full, folds) for folds in repeats], influence


def sum_folds(full: FullFit, folds: Sequence[FoldResult]) -> Repeat:
    """Sum up one cross-fit (eq:feasible-anchor-estimator-v2, -variance-v2)."""
    influence = folds[0].influence
    for fold in folds[1:]:
        influence = influence + fold.influence
    weights = [fold.weights for fold in folds]
    plug_in = np.mean([fold.scores for fold in folds], axis=0)
    # Each fold's influence is already that of its share of all rows.
    step = influence.total + np.mean([one.prior_score for one in weights], axis=0)
    sampling = influence.covariance_parts()
    expected = np.mean([fold.expected for fold in folds], axis=0)
    variances = np.diag(sampling.sum(axis=0))
    by_votes = np.diag(expected.sum(axis=0))
    # Where the expected variance is zero, no row informs the score; it is not counted.
    if ((by_votes > 0) & (variances <= LEAST_NOISE * by_votes)).any():
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
    covariance = sampling.sum(axis=0)
    # The correction is one Newton step, which is accurate only near the plug-in. A
    # score is unstable if a fold's plug-in lies far from that of all rows, if the step
    # is several logits long, or if its variance is zero or far beyond all scores.
    scores, variance = full.chain.scores, np.diag(covariance)
    apart = np.abs([fold.scores - scores for fold in folds]) > FAR
    unstable = apart.any(axis=0) | (np.abs(step) > FAR) | (variance == 0.0)
    unstable |= ~(variance < FARTHEST**2)
    too_few = (~unstable & ~full.sample.X.is_new).sum() < 2
    if too_few or not all(one.fit.converged for one in weights):
        # Scores are identified only up to a constant, so fewer than two stable
        # historical ones leave none determined. Nor does a fit that found no minimum.
        unstable[:] = True
    if unstable.any():
        _warn_of_unstable(full.sample, unstable, apart, weights)
    lost = np.any([one.undetermined for one in weights], axis=0)
    return Repeat(
        plug_in,
        # An unreliable correction is dropped; its error becomes infinite.
        np.where(unstable, scores, plug_in + step),
        covariance + items,
        np.concatenate([sampling, items[None]]),
        influence.largest,
        lost | unstable,
    )


def _warn_of_unstable(
    sample: Sample,
    unstable: NDArray[np.bool_],
    apart: NDArray[np.bool_],
    weights: list[RieszWeights],
) -> None:
    """Warn of unstable scores, and of weak judges, which may make them so.

    ``apart`` says which models each fold places far from where all rows do.
    """
    why, causes = ": the correction of the plug-in is too large for one step", ""
    if apart.any():
        folds = np.flatnonzero(apart.any(axis=1)).tolist()
        why += f", and folds {folds} place them {FAR:g} logits off"
    # People, who come first, have sensitivity one.
    slopes = [one.fit.x[one.fit.layout.sensitivities][1:] for one in weights]
    weak = sample.X.judges[np.min(slopes, axis=0) < WEAK_SENSITIVITY].tolist()
    if weak:
        causes = f" Sensitivities are weak: judges {first_five(weak)}, in some folds."
    warn(undetermined_scores(sample.X.models[unstable].tolist(), why, causes))


def undetermined_scores(
    names: list[Any], why: str = "", causes: str = ""
) -> InstabilityWarning:
    """Warning of models that keep the plug-in score, with an infinite error."""
    return InstabilityWarning(
        f"The scores of {first_five(names)} are not determined{why}. They keep the "
        f"plug-in score, with an infinite error.{causes} Add rows, use fewer folds "
        "(cv), or set a ridge penalty (calibrator__bias__alpha).",
        code="undetermined-scores",
        subject=names,
    )


# --------------------------------------------------------------------------- no judges
def votes_alone(
    full: FullFit, cell: NDArray[np.intp] | None
) -> tuple[list[Repeat], RowInfluence]:
    """Put the fit of the votes in the place of a cross-fit.

    At the maximum of the likelihood the influence of the votes adds up to zero: there
    is nothing to correct, and its squares add up to the sandwich. New models are fitted
    with the others.

    Parameters
    ----------
    full : FullFit
        The fit of all rows, without judges.
    cell : ndarray of shape (n_rows,) or None
        Cell of each row of the table.

    Returns
    -------
    repeats : list of Repeat
        One.
    influence : RowInfluence
    """
    chain, sample, X = full.chain, full.sample, full.sample.X
    if X.is_new.any():
        all_models = sample.with_battles(X.with_columns(new_models=()))
        chain = fit_history(full.stages, all_models)
    btl, plug_in = chain.btl, chain.fit
    at = [X.models.tolist().index(model) for model in btl.models_.tolist()]
    # Scores are centred over the historical models, which all have one.
    layout = replace(plug_in.layout, is_new=X.is_new)
    fit = replace(plug_in.fit, layout=layout)
    centring = layout.targets[layout.scores]
    covariance, is_lost = np.zeros_like(centring), np.ones(len(X.models), dtype=bool)
    # A score whose error is infinite is marked so.
    covariance[np.ix_(at, at)] = np.nan_to_num(btl.covariance_, posinf=0.0)
    is_lost[at] = btl.unbounded_
    covariance, scores = centring.T @ covariance @ centring, centring.T @ fit.scores
    weights = [rows.weight for rows in plug_in.sources]
    grams = grams_of(fit, plug_in.sources, weights)
    riesz = Information.of(fit, grams, fit.precision).weights
    largest = np.zeros(len(X.models))
    if X.is_new.any():
        largest = influence_of(riesz, plug_in.sources, 0).largest
    repeat = Repeat(
        plug_in=scores,
        estimate=scores,
        covariance=covariance,
        part_covariances=np.stack([covariance, *np.zeros((3, *covariance.shape))]),
        largest=largest,
        undetermined=riesz.undetermined | is_lost,
    )
    n_rows = len(sample) if cell is None else len(cell)
    plan = FoldPlan(np.zeros(n_rows, dtype=np.int8), 1)
    if cell is not None:
        plan = plan.merged(cell, sample.multiplicity)
    sample = sample.with_battles(chain.X)
    return [repeat], RowInfluence(sample, [plan], [[riesz]], chain.learners)
