"""Folds of a fitted chain by the one engine.

Learners that are linear in columns which the features fix keep these columns, and the
folds start from the fit of all rows. Others are fitted anew to the training rows. What
of them is linear in its coefficients is then fitted together with all else, and the
rest is part of the offset of each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone

from skanchor._crossfit.engine import FoldResult
from skanchor._crossfit.folds import rows_held_out, training_set
from skanchor._crossfit.historical import check_training_set
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.human_bias import fit_bias
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._estimators.weighing import Weighing
from skanchor._model.fit import Fit
from skanchor._model.influence import residuals, row_influence
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows, variance_of
from skanchor._model.steps import FitOfAllRows
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import by_row, source_rows, spans_of
from skanchor._typing import Array
from skanchor.bias.fitting import same_settings
from skanchor.bias.protocol import linearity


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Fit of all rows, from which the folds of a table are fitted.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    plugged : FittedStages
        The plug-in of all rows, without item effects.
    chain : FittedStages
        The complete chain of all rows.
    sample : Sample
        The rows with what the chain has learned, their outcomes and weights. Equal ones
        may be one.
    tested : Sample
        The same where rows are held out, with their groups: rows of several groups are
        apart.
    test_sources : list of SourceRows
        The latter by source.
    full : FitOfAllRows
        Their fit; where learners are fitted anew, its start.
    is_fixed : bool
        Whether all biases are linear in columns that the features fix.
    is_shared : bool
        Whether the Riesz weights are linear in these columns, too.
    """

    stages: Stages
    plugged: FittedStages
    chain: FittedStages
    sample: Sample
    tested: Sample
    test_sources: Sequence[SourceRows]
    full: FitOfAllRows
    is_fixed: bool
    is_shared: bool

    @classmethod
    def of(
        cls, stages: Stages, plugged: FittedStages, chain: FittedStages, sample: Sample
    ) -> FoldFits:
        """Lay out the rows, and take over what the chain has fitted to them.

        Parameters
        ----------
        stages, plugged, chain, sample
            As the attributes.

        Returns
        -------
        FoldFits
        """
        assert stages.debiaser is not None
        learners, weighing = chain.learners, stages.debiaser.learner
        is_fixed = all(one is None or linearity(one) == "fixed" for one in learners)
        is_same = isinstance(weighing, str) and weighing == "calibrator"
        is_same = is_same or same_settings(weighing, stages.calibrator.bias)
        full = _start(stages, chain)
        if is_fixed:
            full = FitOfAllRows.of(full.fit, full.steps, full.sources, full.bounds)
        assert chain.debiaser is not None
        solution = chain.debiaser.solution_
        # A judge whose rows say nothing has no columns of weights.
        is_same = is_same and solution.layout.widths == full.fit.layout.widths
        is_shared = is_fixed and is_same
        if is_shared:
            full = replace(full, prior=solution.prior)
        return cls(
            stages, plugged, chain, sample, sample, full.sources, full, is_fixed,
            is_shared,
        )  # fmt: skip

    def over(self, tested: Sample) -> FoldFits:
        """The same fit, of which other rows are held out.

        Parameters
        ----------
        tested : Sample
            The rows, with what the chain has learned, where those that are fitted stand
            for several of them. Only shared columns can tell what they are.

        Returns
        -------
        FoldFits
        """
        assert self.is_shared
        sources = sources_of(self.chain.learners, tested)
        return replace(self, tested=tested, test_sources=sources)

    def training(self, kept: Array) -> Sample:
        """The rows, weighted as in training; refused if they place models worse."""
        training = training_set(self.sample, kept)
        check_training_set(self.stages, self.plugged, training)
        return training

    def fold(
        self, share: Array, training: Sample, seed_offset: int
    ) -> tuple[FoldResult, Array | RieszWeights]:
        """Fit rows with their weights in training, and sum up those held out.

        Parameters
        ----------
        share : ndarray of shape (n_rows,)
            Share of each row of ``tested`` that is held out.
        training : Sample
            All rows, with their weights in training.
        seed_offset : int
            Number of the fold, from which learners derive their seeds.

        Returns
        -------
        found : FoldResult
        influence : RieszWeights or ndarray of shape (n_test, n_items)
            The influence of the rows held out, or the weights that give it by the
            columns of the fit of all rows.
        """
        chain, full = self.chain, self.full
        if not self.is_fixed:
            chain = self._learned_anew(training, seed_offset)
            full = _start(self.stages, chain)
        weights = [training.weight[part.rows] for part in full.sources]
        fit, sources, prior = full.refitted(weights), full.sources, full.prior
        test_sources = self.test_sources
        if not self.is_shared:
            fit, sources, prior = self._weighed(
                fit, sources, chain, training, seed_offset
            )
            test_sources = sources
        held_out = rows_held_out(test_sources, share)
        raters = self.tested.raters
        n_raters = 0 if raters is None else int(raters.max(initial=-1)) + 1
        found = FoldResult.of(fit, sources, weights, prior, held_out, n_raters)
        if self.is_shared:
            return found, found.weights
        values = influence_by_row(found.weights, held_out, len(training))
        return found, values[share > 0]

    def _learned_anew(self, training: Sample, seed_offset: int) -> FittedStages:
        """The chain with learners that are fitted to training rows.

        Those whose columns the features fix stay as they are. The others are fitted
        beside the scores of all rows or, where votes alone decide the historical
        scores, beside those of the votes in training.
        """
        btl, scores = copy(self.plugged.btl), self.plugged.scores
        if not self.chain.is_joint:
            btl = clone(self.stages.btl).fit_sample(training, btl, seed_offset)
            scores = btl.scores_for(training.X.models)
        known = training.with_battles(training.X.with_columns(scores=scores))
        if self.chain.is_joint and btl.bias_ is not None:
            near = btl.bias_
            btl.bias_ = fit_bias(known, scores, btl.bias, near, seed_offset)
        calibrator = self.plugged.calibrator
        if len(known.X.judges):
            calibrator = clone(self.stages.calibrator)
            calibrator.fit_sample(known, self.plugged.calibrator, seed_offset)
        found, human = copy(self.chain.calibrator), copy(self.chain.btl)
        found.biases_ = {
            judge: before if linearity(before) == "fixed" else calibrator.biases_[judge]
            for judge, before in found.biases_.items()
        }
        if human.bias_ is not None and linearity(human.bias_) != "fixed":
            human.bias_ = btl.bias_
        fit = laid_out(self.stages, self.sample, found, human.bias_)
        return replace(self.chain, btl=human, calibrator=found, fit=fit)

    def _weighed(
        self,
        fit: Fit,
        sources: Sequence[SourceRows],
        chain: FittedStages,
        training: Sample,
        seed_offset: int,
    ) -> tuple[Fit, list[SourceRows], Array]:
        """Fit and rows with the columns of the Riesz weights, and their prior."""
        debiaser = self.stages.debiaser
        assert debiaser is not None
        curvature = _curvature(fit, sources, training.weight)
        X = training.X.with_columns(scores=fit.scores)
        weighing = Weighing.of(
            training.with_battles(X),
            curvature,
            # Choices that the calibrator has made, of learners and ridges, are taken
            # over.
            chain.calibrator.follow(debiaser.learner),
            chain.btl.bias_,
            debiaser.inner_folds,
            seed_offset,
        )
        offset = by_row(sources, [fit.bias(part) for part in sources], len(training))
        fit = weighing.fit(fit)
        rows = weighing.rows(self.sample, offset)
        return fit, rows, weighing.prior(fit, X, curvature)


def influence_by_row(
    weights: RieszWeights, held_out: Sequence[SourceRows], n_rows: int
) -> Array:
    """Influence of rows held out, in the order of a table; zero for other rows."""
    values = [row_influence(weights, one, residuals(weights, one)) for one in held_out]
    return by_row(held_out, values, n_rows)


def _curvature(fit: Fit, sources: Sequence[SourceRows], weight: Array) -> Array:
    """Weight times variance of the outcome, by row."""
    p = by_row(sources, [fit.probabilities(part) for part in sources], len(weight))
    return weight * variance_of(p)


def laid_out(
    stages: Stages, sample: Sample, calibrator: JudgeCalibrator, human_bias: Any
) -> PipelineFit:
    """Rows and parameters, with what has been fitted to them as a start."""
    return PipelineFit.of(
        sample,
        calibrator,
        human_bias,
        covariance=sample.X.item_covariance,
        alpha=stages.btl.alpha,
    ).with_score_bounds(stages.arrival.score_bounds)


def _start(stages: Stages, chain: FittedStages) -> FitOfAllRows:
    """The steps by which a fold is fitted, from the fit of all rows."""
    known = chain.fit
    steps = known.steps(
        chain.excluded_judges,
        is_joint=chain.is_joint,
        is_unweighted=stages.arrival.equation == "unweighted",
    )
    fit = known.fit
    return FitOfAllRows(fit, steps, known.sources, known.bounds, fit.precision, ())


def sources_of(learners: Sequence[Any], sample: Sample) -> list[SourceRows]:
    """Rows by source, with the columns in which fitted biases are linear."""
    return source_rows(sample, spans_of(learners, sample))
