"""The fit of all rows from sums: passes about points near it, then one for folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from skanchor._battles import Comparisons
from skanchor._crossfit import item_effects as treatments
from skanchor._crossfit.full_fit import FullFit
from skanchor._crossfit.held_out import HeldOut
from skanchor._crossfit.item_test import ItemTest, JudgeSums, item_test
from skanchor._crossfit.stages import FittedStages, fit_stages
from skanchor._crossfit.state import StoredFits
from skanchor._diagnostics import FitSums
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import Fit
from skanchor._model.influence import NO_DISPERSION
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.newton import FitOfAllRows, grams_of
from skanchor._model.sources import ExpandedRows, SourceRows, sigmoid
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows, spans_of
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.history import check_linear
from skanchor.large._rows import Batch, Passes, Reader
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog, warn

MOST_PASSES = 8
"""Most passes about points."""

NEAR = 1.0
"""Squared distance of a fit from the point of its sums, in squared standard errors, at
which the sums stand for the rows. What they miss is of its order, divided by the root
of the number of rows."""


@dataclass(frozen=True, eq=False)
class Start:
    """Fit of the sampled rows, from which the fit of all rows starts.

    Attributes
    ----------
    full : FullFit
        Sampled rows of judges and all kinds of votes, each standing for several, and
        their fit without item effects.
    alone : Sample
        Rows that show the dispersion of residuals: the same, or where there are groups
        or weights, the sampled rows and all votes one by one.
    """

    full: FullFit
    alone: Sample

    @classmethod
    def of(cls, anchor: AnchorPipeline, sample: Sample, alone: Sample) -> Self:
        """Fit the sampled rows; refuse settings under which sums stand for no rows."""
        stages = anchor.stages()
        start = cls(FullFit.of(stages, sample, fit_stages(stages, sample), None), alone)
        check_linear(start.full)
        if alone is not sample:
            with WarningLog():
                # The votes by kind have told all that there is to warn of.
                btl = clone(stages.btl).set_params(disconnected="warn")
                found = btl.fit_sample(alone).covariance_
            fits = start.full.chain, start.two_step
            for one in {id(c.btl): c.btl for c in fits if c is not None}.values():
                is_open = ~np.isfinite(one.covariance_)
                one.covariance_ = np.where(is_open, one.covariance_, found)
        return start

    @property
    def two_step(self) -> FittedStages | None:
        """What the test for item effects is of, if votes alone give finite scores."""
        plugged = self.full.plugged
        return plugged.two_step if plugged.is_joint else plugged

    def laid_out(
        self, X: Comparisons, calibrator: Any, items: ItemCovariance | None = None
    ) -> PipelineFit:
        """The parameters of fitted stages, with item effects of a covariance."""
        stages = self.full.stages
        known = PipelineFit.of(
            self.full.sample.with_battles(X),
            calibrator,
            covariance=None if items is None else items.covariance,
            alpha=stages.btl.alpha,
        )
        return known.with_score_bounds(stages.arrival.score_bounds)

    def steps(self, known: PipelineFit, **settings: bool) -> Any:
        """Minimisations of the fit, with these settings in the place of its own."""
        plugged = self.full.plugged
        settings = {"is_joint": plugged.is_joint, **settings}
        return known.steps(plugged.excluded_judges, **settings)

    def dispersions(self, known: PipelineFit, **settings: bool) -> Array:
        """Dispersion of each source at a fit without its item effects."""
        calibrator, X = known.calibrated(), self.alone.X
        X = calibrator.transform(X.with_columns(scores=known.fit.scores.copy()))
        rows = PipelineFit.of(self.alone.with_battles(X), calibrator)
        return rows.dispersions(**settings)


# ---------------------------------------------------------------------------- passes
def _sources(
    reader: Reader, batch: Batch, calibrator: JudgeCalibrator
) -> tuple[Sample, list[SourceRows]]:
    """Rows of a batch, and the same by source; rows of a group have its code."""
    sample = reader.sampled(batch)
    fitted = sample.with_battles(calibrator.with_fitted_orders(sample.X))
    learners = [None, *map(calibrator.biases_.get, sample.X.judges.tolist())]
    found = source_rows(fitted, spans_of(learners, fitted))
    if reader.is_grouped:
        found = [replace(rows, group=batch.unit[rows.rows]) for rows in found]
    return sample, found


def all_rows(
    reader: Reader,
    batch: Batch,
    calibrator: JudgeCalibrator,
    points: Mapping[str, list[Array]],
) -> dict[Any, Any]:
    """Sums about points, which are local coefficients by source.

    Those about ``"full"`` have a block for each fold of each repeat, and beside those
    about ``"two-step"`` are the sums of the test for item effects.
    """
    totals: dict[Any, Any] = {}
    folds_of_rows = reader.folds(batch.unit)
    for rows in _sources(reader, batch, calibrator)[1]:
        source = rows.source
        for repeat, block in enumerate(folds_of_rows[:, rows.rows]):
            at, n_blocks = points["full"][source], reader.n_splits
            sums = ExpandedRows.of(rows, at, block, n_blocks)
            totals["full", repeat, source] = sums
        if "two-step" in points and source:
            at, whole = points["two-step"][source], np.zeros(len(rows), dtype=np.intp)
            totals["two-step", 0, source] = ExpandedRows.of(rows, at, whole, 1)
            totals["test", source] = JudgeSums.of(rows, sigmoid(rows.logits(at)), 1.0)
    return totals


def folds(
    reader: Reader,
    batch: Batch,
    calibrator: JudgeCalibrator,
    fits: list[Fit],
    full: Fit,
    noise: Array,
) -> dict[Any, Any]:
    """Sums of the rows that each fold holds out at its fit, and for diagnostics.

    ``full`` is the fit of all rows, with the judges of ``calibrator``, and ``noise``
    the dispersion of each source.
    """
    found: dict[Any, Any] = {}
    sample, sources = _sources(reader, batch, calibrator)
    n = reader.n_splits
    for repeat, of_rows in enumerate(reader.folds(batch.unit)):
        tests = [rows.in_blocks(of_rows[rows.rows], n) for rows in sources]
        for fold, test in enumerate(zip(*tests, strict=True)):
            number = repeat * n + fold
            one = HeldOut.of(fits[number], test, is_grouped=reader.is_grouped)
            found["test", number] = one
    sums = FitSums.of(full, sources, sample.X.order, noise)
    found["sums"] = sums.stored(sample)
    plan = np.where(sample.counts, reader.folds(batch.unit), -1).astype(np.int16)
    if reader.counts:
        # As in memory, the plan numbers the rows that a row stands for.
        plan = np.repeat(plan, batch.weight.astype(np.intp), axis=1)
    found["plan"] = [plan]
    return found


# ---------------------------------------------------------------------------- all rows
@dataclass(frozen=True, eq=False)
class FittedSums:
    """The fit of all rows, and the sums about a point near it.

    Attributes
    ----------
    fit : PipelineFit
        Fit of all rows; its rows are the sampled ones.
    sources : list of list of ExpandedRows
        Of each repeat, sums of all rows in the place of rows.
    items : ItemCovariance or None
        Covariance of the item effects.
    test : ItemTest
        Test for item effects.
    treatment : str
        What becomes of them.
    """

    fit: PipelineFit
    sources: list[list[Any]]
    items: ItemCovariance | None
    test: ItemTest
    treatment: str


def fit_sums(
    anchor: AnchorPipeline, start: Start, reader: Reader, passes: Passes
) -> FittedSums:
    """Newton's method over all rows, with one pass for each step."""
    prior, items, test = treatments.read_prior(anchor.item_prior), None, ItemTest()
    plugged, two_step = start.full.plugged, start.two_step
    full = start.laid_out(plugged.X, plugged.calibrator)
    two = None if two_step is None else start.laid_out(two_step.X, two_step.calibrator)
    for _ in range(MOST_PASSES):
        points, far = {"full": full.coefficients()}, 0.0
        if two is not None:
            points["two-step"] = two.coefficients()
        totals = passes.run(all_rows, reader, plugged.calibrator, points)
        sources = [_by_source(totals, "full", r) for r in range(reader.n_repeats)]
        if two is not None:
            test, sums = _tested(start, two, totals), _by_source(totals, "two-step", 0)
            # All votes are in the sample: their step has been made.
            two = two.by_sums(sums, start.steps(two, is_joint=False)[1:2])
            far = two.distance(sums)
        choice = treatments.choose_item_effects(
            anchor.item_effects, plugged.X, test, prior
        )
        X, calibrator = full.annotate(full.sample.X), full.calibrated()
        items = None
        if choice.item_effects == "random":
            noise = start.dispersions(full, without_items=True)
            rows = replace(start.laid_out(X, calibrator), sources=sources[0])
            items = treatments.item_covariance_of(rows, noise, prior)
        full = start.laid_out(X, calibrator, items)
        full = full.by_sums(sources[0], start.steps(full))
        if max(full.distance(sources[0]), far) <= NEAR:
            break
    else:
        message = "The fit of the history did not converge."
        warn(ConvergenceWarning(message, code="history-not-converged"))
    if items is not None:
        treatments.warn_of_covariance(items, prior, len(X.models))
        items = items.for_judges(np.zeros(len(X.judges), dtype=bool))
    return FittedSums(full, sources, items, test, choice.item_effects)


def _by_source(totals: Mapping[Any, Any], name: str, repeat: int) -> list[Any]:
    """Sums about a point in the place of rows."""
    return [one for key, one in totals.items() if key[:2] == (name, repeat)]


def _tested(start: Start, two: PipelineFit, totals: Mapping[Any, Any]) -> ItemTest:
    """Test for item effects, from sums about a two-step fit."""
    noise = start.dispersions(two, without_items=False)
    judges = {
        key[1]: replace(one, dispersion=float(noise[key[1] - 1]))
        for key, one in totals.items()
        if key[0] == "test"
    }
    assert start.two_step is not None
    error = treatments.score_error_of(start.two_step.btl, two.sample.X.models)
    return item_test(two.fit, judges, error)


# ------------------------------------------------------------------------------- folds
def fit_folds(
    start: Start, known: FittedSums, reader: Reader, passes: Passes
) -> tuple[StoredFits, dict[Any, Any]]:
    """Fit every fold from the sums, and pass once over the rows that each holds out.

    Parameters
    ----------
    start : Start
        Fit of the sampled rows.
    known : FittedSums
        Fit of all rows.
    reader, passes
        The data set.

    Returns
    -------
    fits : StoredFits
        Fits, and sums of the rows that they hold out.
    totals : dict
        What else that pass has found.
    """
    fit, debiaser = known.fit, start.full.chain.debiaser
    assert debiaser is not None
    curvature = {rows.source: rows.curvature_of_rows for rows in known.sources[0]}
    prior, trained = debiaser.weighing_.prior(fit.fit, curvature), []
    for sources in known.sources:
        steps = start.steps(fit)
        full = FitOfAllRows.of(fit.fit, steps, sources, fit.bounds, prior)
        for number in range(reader.n_splits):
            weights = [rows.training(number) for rows in sources]
            found = full.refitted(weights)
            grams = dict(grams_of(found, sources, weights))
            # Of the sums, information is that at the fit of all rows. The variances of
            # outcomes differ by one part in the root of the number of rows, which the
            # sampled rows that stand for all show well enough.
            for rows in fit.sources:
                there, here = (
                    rows.information(rows.weight, one.probabilities(rows))
                    for one in (found, full.fit)
                )
                grams[rows.source] = grams[rows.source] + (there - here)
            trained.append((found, grams))
    noise = start.dispersions(fit, without_items=True)
    noise = np.where(noise < NO_DISPERSION, 1.0, noise)
    fits, calibrator = [one for one, _ in trained], fit.calibrated()
    totals = passes.run(folds, reader, calibrator, fits, full.fit, noise)
    tests = [totals.pop(("test", number)) for number in range(len(fits))]
    return StoredFits.of(full, trained, tests), totals
