"""From the fit of all rows to the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import Comparisons, Inputs, count_rows
from skanchor._cells import Cells
from skanchor._crossfit.cross_fit import (
    FARTHEST,
    Repeat,
    RowInfluence,
    cross_fit,
    undetermined_scores,
    votes_alone,
)
from skanchor._crossfit.fits import FullFit
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.item_effects import ItemChoice, judges_of_arrivals
from skanchor._crossfit.stages import FittedStages, Stages, fit_stages
from skanchor._diagnostics.arrivals import check_arrivals
from skanchor._diagnostics.collect import OF_OVERLAP, ItemCheck, diagnose
from skanchor._diagnostics.sums import FitSums
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.one_sided import OpenRows, dispersion_of
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._text import first_five
from skanchor._typing import Array, InfluenceSource
from skanchor.bias.protocol import linearity
from skanchor.exceptions import InstabilityWarning
from skanchor.readouts import FittedRows
from skanchor.results import AnchorResult, ContextResult
from skanchor.warning_log import WarningLog, warn

BIAS_ERRORS = 2.0
"""Standard errors by which a bias may explain the outcome of a row of a model without a
finite estimate."""


@dataclass(frozen=True, slots=True)
class Inference:
    """What the result is made from.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    cells : Cells
        Rows of the table, put together where they are equal.
    all_rows, admitted : Sample
        All cells in their roles, and those that are fitted: models whose scores have
        no limit are on the board, but take no part.
    plugged : FittedStages
        The plug-in of the rows that are fitted.
    check : ItemCheck
        Whether verdicts deviate by model.
    choice : ItemChoice
        Whether item effects enter the fit, and why.
    fold_plan : list of FoldPlan
        Folds of each repeat; empty for votes alone.
    n_jobs, verbose
        As in :class:`skanchor.AnchorPipeline`.
    mix : mapping of label to float
        Share of each context in what is reported; None without contexts.
    """

    stages: Stages
    cells: Cells
    all_rows: Sample
    admitted: Sample
    plugged: FittedStages | None
    check: ItemCheck
    choice: ItemChoice
    fold_plan: list[FoldPlan]
    n_jobs: int | None
    verbose: int
    mix: Mapping[Any, float] | None = None

    def fit(self) -> FullFit:
        """Fit all rows."""
        assert self.plugged is not None
        return self.fit_with(self.choice.covariance(self.plugged.fit))

    def fit_with(self, items: ItemCovariance | None) -> FullFit:
        """Fit all rows with a covariance of the item effects; None leaves them out."""
        assert self.plugged is not None
        return FullFit.of(self.stages, self.admitted, self.plugged, items)

    def result(self, full: FullFit) -> AnchorResult:
        """Cross-fit, and assemble the result."""
        if full.chain.debiaser is None:
            result = self._plug_in(full)
        else:
            result = with_undetermined_apart(
                lambda sample: self._cross_fit(full, sample), full.sample
            )
        others = models_left_out(self.stages, self.all_rows, self.admitted)
        if others is not None:
            result = result.extended(self.all_rows.X, *others)
            result = with_open_rows(result, full, self.all_rows)
        return result if self.mix is None else ContextResult.of(result, self.mix)

    def _cross_fit(self, full: FullFit, sample: Sample) -> tuple[AnchorResult, FullFit]:
        """Result of these rows or of fewer, in the same folds, and the fit of them."""
        if sample is not full.sample:
            with WarningLog():
                # The fit of all rows has issued these warnings already.
                plugged = fit_stages(self.stages, sample)
            items = full.items
            if items is not None:
                items = items.for_judges(judges_of_arrivals(sample.X))
            full = FullFit.of(self.stages, sample, plugged, items)
        if self.fold_plan:
            folds = cross_fit(full, self.fold_plan, self.n_jobs, self.verbose)
        else:
            folds = votes_alone(full, self.cells.cell)
        result = assemble(full, *folds, sums_of(full), self.check, self.fold_plan)
        return result, full

    def _plug_in(self, full: FullFit) -> AnchorResult:
        X, n_models = full.chain.X, len(full.chain.X.models)
        unknown = np.full((1, 4, n_models, n_models), np.nan)
        return AnchorResult(
            X.models,
            X.is_new,
            full.chain.scores[None],
            unknown[:, 0],
            np.zeros(n_models, dtype=bool),
            *count_rows(X, full.sample.weight, full.sample.multiplicity),
            rows=RowInfluence(self.cells.rows_of(full.sample)),
            part_covariances=unknown,
            lower_bound=unknown[0, 0, 0],
            plug_in=full.chain.scores[None],
            fold_plan=self.fold_plan,
            inputs=_inputs(full),
            fitted=_fitted_rows(full),
        )


def sums_of(full: FullFit) -> FitSums:
    """Sums over all rows, with the dispersion of each source."""
    plug_in = full.chain.fit
    noise = plug_in.dispersions(without_items=True)
    return FitSums.of(plug_in.fit, plug_in.sources, full.sample.X.order, noise)


# ------------------------------------------------------- models that are not determined
def with_undetermined_apart(
    infer: Callable[[Sample], tuple[AnchorResult, FullFit]], sample: Sample
) -> AnchorResult:
    """Leave new models that rows do not determine out of the scores of the others.

    A fold that has such a model on its bound has a system that is nearly singular, and
    moves the scores of all models. The rows of the model say nothing about the others,
    so these get the results of a table without it. Folds stay as they are.

    Parameters
    ----------
    infer : callable
        Gives the result of a sample, and the fit of all of its rows.
    sample : Sample
        The rows; in what is inferred next, those of some new models are unusable.

    Returns
    -------
    AnchorResult
        Of all models; those set apart keep the plug-in, with an infinite error.
    """
    with WarningLog() as log:
        first, full = infer(sample)
    lost = first.unbounded & first.is_new
    if not lost.any():
        log.reissue()
        return first
    # New models that met only these leave the vocabulary, too: they have no row left.
    X, is_left = sample.X, ~lost
    left = X.relabel(X.models[is_left], X.judges)
    active = left.is_usable & (sample.weight > 0)
    is_left[is_left] = ~left.is_new | (left.appearances(active) > 0)
    left = X.relabel(X.models[is_left], X.judges)
    with WarningLog() as later:
        others = with_undetermined_apart(infer, sample.with_battles(left))
    if others.unbounded.all():
        # Nothing is determined, with these models or without them.
        log.reissue()
        return first
    if (first.unbounded & ~first.is_new).any():
        # The second result warns of the others.
        names = undetermined_scores(first.models[lost].tolist())
        log.warnings = [
            names if isinstance(one, InstabilityWarning) else one
            for one in log.warnings
        ]
    log.reissue()
    later.reissue()
    scores = pd.Series(full.chain.scores, X.models)
    result = others.extended(full.sample.X, scores, first.n_human, first.n_judge)
    if result.diagnostics is not None and first.diagnostics is not None:
        # Features that are far from those of the history may be why nothing is
        # determined, so that overlap is that of all rows.
        overlap = first.diagnostics.judges[OF_OVERLAP]
        judges = result.diagnostics.judges.assign(**overlap)
        diagnostics = replace(result.diagnostics, judges=judges)
        result = replace(result, diagnostics=diagnostics)
    return with_open_rows(result, full, full.sample)


LeftOut = tuple[pd.Series, NDArray[np.intp], NDArray[np.intp]]
"""Scores by votes alone, and numbers of people's and of judges' rows of each model."""


def models_left_out(
    stages: Stages, all_rows: Sample, admitted: Sample
) -> LeftOut | None:
    """What is reported of all models where some take no part in a fit; else None."""
    if len(all_rows.X.models) == len(admitted.X.models):
        return None
    btl = clone(stages.btl)
    if stages.fits_jointly(all_rows.X):
        btl.set_params(disconnected="warn")
    with WarningLog():
        # The admission has issued these warnings already.
        scores = btl.fit_sample(all_rows).scores_
    return scores, *count_rows(all_rows.X, all_rows.weight, all_rows.multiplicity)


def with_open_rows(
    result: AnchorResult, full: FullFit, all_rows: Sample
) -> AnchorResult:
    """Add the rows of models without a finite estimate to a result.

    Judges' biases are those of the fit of all rows, two standard errors in favour of
    each outcome. Biases that are not linear in fixed columns have no standard error:
    their rows do not count. What judges make of the models beyond their scores is as
    likely as the item effects say.

    Parameters
    ----------
    result : AnchorResult
        Of all models.
    full : FullFit
        The fit of all rows that are fitted.
    all_rows : Sample
        All rows in their roles; its models are those of the result.

    Returns
    -------
    AnchorResult
    """
    chain, is_open, fitted_rows = full.chain, result.unbounded, full.chain.X
    if not is_open.any() or is_open.all() or chain.debiaser is None:
        return result
    X = all_rows.X.relabel(result.models, fitted_rows.judges)
    X = chain.calibrator.transform(chain.btl.transform(X))
    # Of the other models only: of open ones they are unknown.
    deviations = None
    if fitted_rows.deviations is not None:
        at = pd.Index(fitted_rows.models).get_indexer(pd.Index(result.models))
        deviations = np.where((at >= 0) & ~is_open, fitted_rows.deviations[:, at], 0.0)
    X = X.with_columns(
        scores=np.zeros(len(result.models)),
        deviations=deviations,
        new_models=tuple(result.models[result.is_new].tolist()),
    )
    offset, errors = X.logits(), chain.debiaser.solution_.sensitivity_errors
    used = all_rows.counts & X.is_usable & np.isfinite(offset)
    if not chain.is_joint:
        # In two steps votes alone place the old models.
        is_old = is_open & ~result.is_new
        used &= X.is_human | ~(is_old[X.left] | is_old[X.right])
    # By judge; codes -2 and -1, of unknown judges and of people, index from the end.
    excluded = np.isin(fitted_rows.judges, list(chain.excluded_judges))
    used &= X.involves_new | ~np.append(excluded, [False, False])[X.judge]
    used &= np.append(np.isfinite(errors), [False, True])[X.judge]
    doubt = _doubt_of_biases(chain, X, used)
    rows = np.flatnonzero(used & np.isfinite(doubt))
    y = all_rows.y[rows]
    items = np.zeros((len(fitted_rows.judges),) * 2)
    if full.items is not None:
        items = full.items.covariance * full.items.inflation
    against = offset[rows] + doubt[rows] * (2.0 * y - 1.0)
    columns = X.left[rows], X.right[rows], y, all_rows.weight[rows], len(is_open)
    open_rows = OpenRows.of(
        is_open,
        SourceRows.apart(*columns, offset=against, count=all_rows.multiplicity[rows]),
        _dispersion(full, result),
        X.judge[rows] + 1,
        slope=np.zeros(0) if X.sensitivities is None else X.sensitivities,
        slope_error=errors,
        item_covariance=items,
    )
    return replace(result, open_rows=open_rows)


def _doubt_of_biases(
    chain: FittedStages, X: Comparisons, used: NDArray[np.bool_]
) -> Array:
    """How far the bias of each row may be off, in logits; infinite where unknown."""
    assert chain.debiaser is not None
    solution, doubt = chain.debiaser.solution_, np.zeros(len(X))
    for source, learner in enumerate(chain.learners):
        cut, at = X.by_judge(source - 1), solution.layout.span(source)
        if learner is None or not X.features_left.shape[1]:
            continue
        places = np.flatnonzero(used[cut.rows])
        rows = cut.rows[places]
        if linearity(learner) != "fixed" or at.stop == at.start:
            doubt[rows] = np.inf
            continue
        gram, head = solution.grams[source], solution.layout.n_items + 1
        span = learner.span(cut.pairs[places])
        system = SymmetricSystem.of(gram[head:, head:] + solution.prior[at, at])
        variance = np.einsum("ij,ji->i", span, system.solve(span.T))
        doubt[rows] = BIAS_ERRORS * np.sqrt(np.maximum(variance, 0.0))
    return doubt


def _dispersion(full: FullFit, result: AnchorResult) -> float:
    """How far groups and raters widen the errors of the scores."""
    sample, debiaser = full.sample, full.chain.debiaser
    if not len(sample.X.judges):
        return full.chain.btl.dispersion_
    if not sample.is_grouped and sample.raters is None:
        return 1.0
    assert debiaser is not None
    positions = pd.Index(result.models).get_indexer(pd.Index(sample.X.models))
    is_bounded = ~result.unbounded[positions]
    positions = positions[is_bounded]
    sampling = result.part_covariances[:, :3].sum(axis=1).mean(axis=0)
    solution = debiaser.solution_
    expected = solution.weights.expected_parts(solution.grams.items()).sum(axis=0)
    return dispersion_of(
        sampling[np.ix_(positions, positions)], expected[np.ix_(is_bounded, is_bounded)]
    )


# -------------------------------------------------------------------------- the result
def assemble(
    full: FullFit,
    repeats: list[Repeat],
    influence: InfluenceSource,
    sums: FitSums,
    check: ItemCheck,
    fold_plan: list[FoldPlan],
) -> AnchorResult:
    """Make the result of a cross-fit, of rows at hand or of kept sums and arrivals.

    Parameters
    ----------
    full : FullFit
        The fit of all rows; its sample holds those at hand.
    repeats : list of Repeat
        What the folds of each add up to.
    influence : InfluenceSource
        Influence of each row on each score.
    sums : FitSums
        Over all rows.
    check : ItemCheck
        Whether verdicts deviate by model.
    fold_plan : list of FoldPlan
        Folds of the rows at hand, in each repeat.

    Returns
    -------
    AnchorResult
    """
    chain, items, debiaser = full.chain, full.items, full.chain.debiaser
    assert debiaser is not None
    X, fit, solution = chain.X, chain.fit.fit, debiaser.solution_

    def stacked(name: str) -> Any:
        return np.array([getattr(repeat, name) for repeat in repeats])

    arrivals = check_arrivals(X.models, X.judges, fit, sums, widens=full.stages.widens)
    # Where judges disagree about a new model, its error is scaled up if so asked.
    square, plug_in = np.outer(arrivals.scale, arrivals.scale), stacked("plug_in")
    with np.errstate(over="ignore"):
        # A score that nothing determines may have a variance beyond all numbers.
        covariance = stacked("covariance") * square
    parts = stacked("part_covariances") * square
    # A judge whose verdicts seem free of noise may disagree beyond measure.
    variance = np.diagonal(covariance, axis1=1, axis2=2)
    lost = stacked("undetermined").any(axis=0) | chain.unbounded
    lost |= _hidden_scale(X, solution.own_item_variance, items, lost)
    result = AnchorResult(
        X.models,
        X.is_new,
        stacked("estimate"),
        covariance,
        lost | (variance > FARTHEST**2).any(axis=0),
        *sums.counts,
        parts[:, 3],
        np.inf if items is None else items.df,
        rows=influence,
        part_covariances=parts,
        lower_bound=solution.lower_bound,
        plug_in=plug_in,
        fold_plan=fold_plan,
        fitted=replace(_fitted_rows(full), fit=fit, sums=sums),
        inputs=_inputs(full),
    )
    largest = stacked("largest").max(axis=0)
    diagnostics = diagnose(result, chain, check, arrivals, largest)
    # In two steps the scale is no factor of everything: judges do not help to place the
    # old models. Weights, ties and groups change the noise of votes.
    scale_z = np.inf
    if chain.is_joint:
        scale_z = diagnostics.scale_z / float(sums.noise[-1]) ** 0.5
    return replace(result, diagnostics=diagnostics, scale_z=scale_z)


def _hidden_scale(
    X: Comparisons,
    own_variance: Array,
    items: ItemCovariance | None,
    lost: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Warn of new models whose judges deviate more than the historical scores differ.

    Deviations u_m move the sensitivity of judge m by ``u_m' theta / |theta|^2``, and so
    the score s of a new model by ``s`` times that, over the sensitivity. The variance
    of the factor is that of the new model's own deviation over ``|theta|^2``. Where it
    is one, sensitivities are as likely noise as not. An interval, in which they are
    first-order, is then far too short.

    Parameters
    ----------
    X : Comparisons
        Rows that carry the scores theta.
    own_variance : ndarray of shape (n_models,)
        Variance that the deviations from a model leave in its own score.
    items : ItemCovariance or None
        Covariance of the deviations.
    lost : ndarray of shape (n_models,)
        Models whose scores are not determined anyway.
    """
    if items is None:
        return np.zeros(len(own_variance), dtype=bool)
    assert X.scores is not None
    context = X.items.context
    theta = np.where(X.is_new, 0.0, X.scores)
    spread = np.bincount(context, theta**2)[context]
    hidden = np.asarray(X.is_new & (items.inflation * own_variance > spread) & ~lost)
    if hidden.any():
        names = X.models[hidden].tolist()
        warn(
            InstabilityWarning(
                f"The scores of {first_five(names)} are not determined: people's "
                f"scores of the {(~X.is_new).sum()} historical models are so close to "
                "each other that what judges like or dislike in single models hides "
                "how sensitive they are to quality. Add historical models that are "
                "clearly better or worse. They keep the plug-in score, with an "
                "infinite error.",
                code="hidden-scale",
                subject=names,
            )
        )
    return hidden


def _fitted_rows(full: FullFit) -> FittedRows:
    """What read-outs are computed from."""
    chain, sample = full.chain, full.sample.with_battles(full.chain.X)
    return FittedRows(sample, chain.learners, chain.debiaser, full.items)


def _inputs(full: FullFit) -> Inputs:
    """What was read, and what scores then say."""
    if full.stages.btl.bias is None:
        return full.sample.inputs
    return replace(full.sample.inputs, style_controlled=True)
