"""The fit of all rows from sums: passes about points near it, then one for folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._crossfit import item_effects as treatments
from skanchor._crossfit.fits import FullFit
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.item_test import ItemTest, JudgeSums, item_test
from skanchor._crossfit.stages import FittedStages, fit_stages
from skanchor._crossfit.state import HeldOut, StoredFits
from skanchor._diagnostics.collect import ItemCheck
from skanchor._diagnostics.sums import FitSums
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import Fit
from skanchor._model.influence import NO_DISPERSION
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.newton import FitOfAllRows, Step, grams_of
from skanchor._model.sources import SourceRows, sigmoid
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows, spans_of
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning
from skanchor.history import HistoryState, check_linear
from skanchor.large._passes import Batch, ExpandedRows, Passes, Reader
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog, warn

MOST_PASSES = 8
"""Most passes about points."""

NEAR = 1.0
"""Squared distance of a fit from the point of its sums, in squared standard errors, at
which the sums stand for the rows. What they miss is of its order, divided by the root
of the number of rows."""


def fit_rows(
    settings: AnchorPipeline,
    drawn: Sample,
    alone: Sample,
    reader: Reader,
    passes: Passes,
) -> tuple[HistoryState, list[FoldPlan]]:
    """Fit a sample, pass over all rows, and put the state of a history together.

    Parameters
    ----------
    settings : AnchorPipeline
        Unfitted.
    drawn : Sample
        Rows of judges and all kinds of votes, each standing for several.
    alone : Sample
        Rows that show the dispersion of residuals: the same, or where there are groups,
        the sampled rows and all votes one by one.
    reader, passes
        The data set.

    Returns
    -------
    state : HistoryState
    plans : list of FoldPlan
    """
    all_rows, admitted = settings.admitted(drawn)
    X = admitted.X

    def in_roles(sample: Sample) -> Sample:
        battles = sample.X.relabel(X.models, X.judges).with_columns(new_models=())
        return sample.with_battles(battles)

    reader = replace(reader, sample=in_roles(reader.sample))
    alone = admitted if alone is drawn else in_roles(alone)
    large = LargeFit(_fit_sample(settings, admitted, alone), alone, reader, passes)
    plug_in, sources, of_state = large.fit(settings)
    fits, totals = large.fit_folds(plug_in, sources)
    n_splits = reader.n_splits
    plans = [FoldPlan(one, n_splits) for one in np.concatenate(totals["plan"], axis=1)]
    chain = replace(large.full.chain, calibrator=plug_in.calibrated())
    state = HistoryState.assembled(
        replace(large.full, chain=chain),
        all_rows.X.models,
        fits,
        totals["sums"],
        repeats=(n_splits,) * reader.n_repeats,
        **of_state,
    )
    return state, plans


# ------------------------------------------------------------------ tasks of the passes
def _sources(
    reader: Reader, batch: Batch, calibrator: JudgeCalibrator
) -> tuple[Sample, list[SourceRows]]:
    """Rows of a batch, and the same by source; rows of a group have its code."""
    sample = reader.sampled(batch)
    fitted = sample.with_battles(calibrator.with_fitted_orders(sample.X))
    learners = [None, *map(calibrator.biases_.get, sample.X.judges.tolist())]
    parts = source_rows(fitted, spans_of(learners, fitted))
    if reader.is_grouped:
        parts = [replace(rows, group=batch.unit[rows.rows]) for rows in parts]
    return sample, parts


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
    sample, sources = _sources(reader, batch, calibrator)
    plan, n = reader.folds(batch.unit), reader.n_splits
    sums = FitSums.of(full, sources, sample.X.order, noise)
    totals: dict[Any, Any] = {"sums": sums.stored(sample)}
    for repeat, of_rows in enumerate(plan):
        tests = [rows.in_blocks(of_rows[rows.rows], n) for rows in sources]
        for number, test in enumerate(zip(*tests, strict=True), start=repeat * n):
            one = HeldOut.of(fits[number], test, is_grouped=reader.is_grouped)
            totals["test", number] = one
    return {**totals, "plan": [np.where(sample.counts, plan, -1).astype(np.int16)]}


# ---------------------------------------------------------------------------- all rows
def _fit_sample(anchor: AnchorPipeline, sample: Sample, alone: Sample) -> FullFit:
    """Fit the sampled rows; refuse settings under which sums stand for no rows."""
    stages = anchor.stages()
    full = FullFit.of(stages, sample, fit_stages(stages, sample), None)
    check_linear(full)
    if alone is sample:
        return full
    with WarningLog():
        # The votes by kind have told all that there is to warn of.
        btl = clone(stages.btl).set_params(disconnected="warn")
        by_votes = btl.fit_sample(alone).covariance_
    for one in filter(None, (full.chain, _two_step(full.plugged))):
        covariance = one.btl.covariance_
        one.btl.covariance_ = np.where(np.isfinite(covariance), by_votes, covariance)
    return full


def _two_step(plugged: FittedStages) -> FittedStages | None:
    """What the test for item effects is of, if votes alone give finite scores."""
    return plugged.two_step if plugged.is_joint else plugged


def _by_source(totals: Mapping[Any, Any], name: str, repeat: int) -> list[Any]:
    """Sums about a point in the place of rows."""
    return [one for key, one in totals.items() if key[:2] == (name, repeat)]


@dataclass(frozen=True, eq=False)
class LargeFit:
    """A fit of sampled rows, and the passes by which it becomes that of all rows.

    Attributes
    ----------
    full : FullFit
        Sampled rows of judges and all kinds of votes, each standing for several, and
        their fit without item effects.
    alone : Sample
        Rows that show the dispersion of residuals.
    reader, passes
        The data set.
    """

    full: FullFit
    alone: Sample
    reader: Reader
    passes: Passes

    def _steps(self, plug_in: PipelineFit, **settings: bool) -> Any:
        """Minimisations of a fit, with these settings in the place of its own."""
        plugged = self.full.plugged
        settings = {"is_joint": plugged.is_joint, **settings}
        return plug_in.steps(plugged.excluded_judges, **settings)

    def _noise(self, plug_in: PipelineFit, *, without_items: bool = True) -> Array:
        """Dispersion of each source at a fit without its item effects."""
        calibrator, X = plug_in.calibrated(), self.alone.X
        X = calibrator.transform(X.with_columns(scores=plug_in.fit.scores.copy()))
        rows = PipelineFit.of(self.alone.with_battles(X), calibrator)
        return rows.dispersions(without_items=without_items)

    def _laid_out(
        self, X: Any, calibrator: Any, items: ItemCovariance | None = None
    ) -> PipelineFit:
        """The parameters of fitted stages, with item effects of a covariance."""
        sample, stages = self.full.sample.with_battles(X), self.full.stages
        covariance = None if items is None else items.covariance
        plug_in = PipelineFit.of(
            sample, calibrator, covariance=covariance, alpha=stages.btl.alpha
        )
        return plug_in.with_score_bounds(stages.arrival.score_bounds)

    def fit(
        self, anchor: AnchorPipeline
    ) -> tuple[PipelineFit, list[list[Any]], dict[str, Any]]:
        """Newton's method over all rows, with one pass for each step.

        Returns
        -------
        known : PipelineFit
            Fit of all rows; its rows are the sampled ones.
        sources : list of list of ExpandedRows
            Of each repeat, sums of all rows in the place of rows, about a point near.
        of_state : dict
            Covariance of the item effects, the test for them, and what becomes of them,
            by attribute of :class:`skanchor.history.HistoryState`.
        """
        prior, test = treatments.read_prior(anchor.item_prior), ItemTest()
        plugged, two, two_step = self.full.plugged, None, _two_step(self.full.plugged)
        plug_in = self._laid_out(plugged.X, plugged.calibrator)
        if two_step is not None:
            error = treatments.score_error_of(two_step.btl, two_step.X.models)
            two = self._laid_out(two_step.X, two_step.calibrator)
        for _ in range(MOST_PASSES):
            points, far = {"full": plug_in.coefficients()}, 0.0
            if two is not None:
                points["two-step"] = two.coefficients()
            args = self.reader, plugged.calibrator, points
            totals, n_repeats = self.passes.run(all_rows, *args), self.reader.n_repeats
            sources = [_by_source(totals, "full", r) for r in range(n_repeats)]
            if two is not None:
                noise = self._noise(two, without_items=False)
                judges = {
                    key[1]: replace(one, dispersion=float(noise[key[1] - 1]))
                    for key, one in totals.items()
                    if key[0] == "test"
                }
                test = item_test(two.fit, judges, error)
                sums = _by_source(totals, "two-step", 0)
                # All votes are in the sample: their step has been made.
                two = _by_sums(two, sums, self._steps(two, is_joint=False)[1:2])
                far = _distance(two, sums)
            choice = treatments.choose_item_effects(
                anchor.item_effects, plugged.X, test, prior
            )
            X, calibrator = plug_in.annotate(plug_in.sample.X), plug_in.calibrated()
            items = None
            if choice.item_effects == "random":
                rows = replace(self._laid_out(X, calibrator), sources=sources[0])
                noise = self._noise(plug_in)
                items = treatments.item_covariance_of(rows, noise, prior)
            plug_in = self._laid_out(X, calibrator, items)
            plug_in = _by_sums(plug_in, sources[0], self._steps(plug_in))
            if max(_distance(plug_in, sources[0]), far) <= NEAR:
                break
        else:
            message = "The fit of the history did not converge."
            warn(ConvergenceWarning(message, code="history-not-converged"))
        if items is not None:
            treatments.warn_of_covariance(items, prior, len(X.models))
            items = items.for_judges(np.zeros(len(X.judges), dtype=bool))
        check = ItemCheck.of(test, X.judges.tolist())
        treatment = choice.item_effects
        return (
            plug_in,
            sources,
            {"items": items, "check": check, "treatment": treatment},
        )

    def fit_folds(
        self, plug_in: PipelineFit, sources: list[list[Any]]
    ) -> tuple[StoredFits, dict[Any, Any]]:
        """Fit every fold from the sums, and pass once over the rows that it holds out.

        Returns the fits, and what else that pass has found.
        """
        debiaser, reader = self.full.chain.debiaser, self.reader
        assert debiaser is not None
        curvature = {rows.source: rows.curvature_of_rows for rows in sources[0]}
        prior, trained = debiaser.weighing_.prior(plug_in.fit, curvature), []
        for of_repeat in sources:
            full = FitOfAllRows.of(
                plug_in.fit, self._steps(plug_in), of_repeat, plug_in.bounds
            )
            full = replace(full, prior=prior)
            for number in range(reader.n_splits):
                weights = [rows.training(number) for rows in of_repeat]
                fit = full.refitted(weights).fit
                grams = dict(grams_of(fit, of_repeat, weights))
                # Of the sums, information is that at the fit of all rows. The variances
                # of outcomes differ by one part in the root of the number of rows,
                # which the sampled rows that stand for all show well enough.
                for rows in plug_in.sources:
                    there, here = (
                        rows.information(rows.weight, one.probabilities(rows))
                        for one in (fit, full.fit)
                    )
                    grams[rows.source] = grams[rows.source] + (there - here)
                trained.append((fit, grams))
        noise = self._noise(plug_in)
        noise = np.where(noise < NO_DISPERSION, 1.0, noise)
        args = plug_in.calibrated(), [one for one, _ in trained], full.fit, noise
        totals = self.passes.run(folds, reader, *args)
        tests = [totals.pop(("test", number)) for number in range(len(trained))]
        stored = StoredFits.of(full, trained, tests, is_grouped=reader.is_grouped)
        return stored, totals


def _by_sums(
    plug_in: PipelineFit, sources: Sequence[ExpandedRows], steps: Sequence[Step]
) -> PipelineFit:
    """The same rows and learners, fitted to sums in the place of rows."""
    by_sums: Any = replace(plug_in, sources=list(sources))  # type: ignore[arg-type]
    return plug_in.moved(by_sums.fitted(steps).fit)


def _distance(plug_in: PipelineFit, sources: Sequence[ExpandedRows]) -> float:
    """Squared distance from the point of sums, in squared standard errors."""
    return sum(one.distance(plug_in.fit.coefficients(one.source)) for one in sources)
