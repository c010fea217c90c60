"""A kept history from a stream: a few passes about a point, then one at the folds.

Sums about a point that is near the fit of all rows say where every training set wants
to go. One more pass, at the nuisances of each, tells how far that was missed and sums
the rows held out; where the step that is left is short, these sums are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from skanchor._chain import Chain
from skanchor._diagnostics import FitSums, ItemCheck
from skanchor._historical import HistoricalFit
from skanchor._items import ItemCovariance, fit_item_covariance
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums
from skanchor._riesz import SplitSums, WeightLearner
from skanchor._stages import Stages
from skanchor._stored_folds import StoredFold, StoredHistory
from skanchor._treatments import Treatments, choose_treatments, warn_of_covariance
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.bias.fitting import same_settings
from skanchor.bias.registry import learner_for
from skanchor.exceptions import ConvergenceWarning, LearnerError
from skanchor.streaming._checks import bends, check_items, fit_sums
from skanchor.streaming._likelihood import ExpandedLikelihood
from skanchor.streaming._pass import (
    PassSettings,
    add_sums,
    sum_about_point,
    sum_held_out,
)
from skanchor.streaming._people import vote_information, vote_residuals
from skanchor.streaming._point import Expansion, LocalLayout
from skanchor.streaming._runs import Runs
from skanchor.streaming._solve import solve
from skanchor.streaming._sums import residual_sums
from skanchor.warning_log import warn

__all__ = ["Builder", "Built", "span_learners"]

NEAR = 1.0
"""Step of the fit of all rows, in standard errors, from which its sums serve the folds:
these lie farther apart than that."""


@dataclass(frozen=True, eq=False)
class Built:
    """What a stream has told.

    Attributes
    ----------
    stored : StoredHistory
        By which arrivals are placed.
    sums : FitSums
        Of all rows, for diagnostics.
    check : ItemCheck
        Of the item effects.
    treatment : str
        Treatment of the item effects.
    """

    stored: StoredHistory
    sums: FitSums
    check: ItemCheck
    treatment: str


@dataclass(eq=False)
class Builder:
    """Brings the nuisances of all training sets to where their rows want them.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    layout : LocalLayout
        What the columns of the sums are.
    settings : PassSettings
        The same in all passes.
    runs : Runs
        Reads the stream.
    tol : float
        Step in standard errors below which a fit is done.
    max_passes : int
        Most passes for one purpose.
    """

    stages: Stages
    layout: LocalLayout
    settings: PassSettings
    runs: Runs
    tol: float
    max_passes: int

    def build(self, pilot: HistoricalFit, item_effects: Any) -> Built:
        """Fit all rows, then every fold; keep the sums where the last step was short.

        Parameters
        ----------
        pilot : HistoricalFit
            Where to start.
        item_effects : str, array or None
            As in :class:`skanchor.AnchorPipeline`.

        Returns
        -------
        Built
        """
        whole, check, point = self._start(pilot)
        treatments = choose_treatments(item_effects, whole.X, check)
        if treatments.reported == "none":
            whole, point = self._approach("all rows", whole, self.stages, point)
            noise, items = point.noise(whole), None
        else:
            if point is None:
                whole, point = self._approach("all rows", whole, self.stages)
            noise = point.noise(whole)
            whole, items, point = self._fit_items(whole, point, noise, treatments)
        states, held = self._fit_folds(whole, point, items)
        kept = self._keep(states, point, held, items)
        sums = fit_sums(point, whole, noise)
        return Built(kept, sums, check, treatments.reported)

    # ------------------------------------------------------------------- the whole
    def _start(
        self, pilot: HistoricalFit
    ) -> tuple[HistoricalFit, ItemCheck, Expansion | None]:
        """Calibrate judges to the votes alone, and test for item effects there.

        A joint fit, which hides them, starts from these judges.
        """
        is_joint = self.stages.fits_jointly(pilot.X)
        start = pilot.two_step if is_joint else pilot
        if start is None:
            return pilot, ItemCheck.untested(pilot.X), None
        stages = replace(self.stages, historical_fit="two-step")
        known, point = self._approach("judges", self._voted(start, 0, None), stages)
        check = check_items(point, known)
        if not is_joint:
            return known, check, point
        joint = replace(pilot, X=known.X, calibrator=known.calibrator)
        return joint.with_scores(known.X), check, point

    def _approach(
        self,
        what: str,
        known: HistoricalFit,
        stages: Stages,
        point: Expansion | None = None,
    ) -> tuple[HistoricalFit, Expansion]:
        """Fit all rows without item effects, until sums about it serve all views."""
        for _ in range(self.max_passes):
            if point is None:
                point = self._about(what, known)
            known, step = self._settle(stages, known, point)
            if step <= NEAR:
                return known, point
            point = None
        self._tell(what)
        return known, self._about(what, known)

    def _fit_items(
        self,
        whole: HistoricalFit,
        point: Expansion,
        noise: Array,
        treatments: Treatments,
    ) -> tuple[HistoricalFit, ItemCovariance, Expansion]:
        """Fit item effects beside all else, and their covariance where it is asked."""
        what = "item effects"
        for number in range(self.max_passes):
            items = self._covariance(whole, point, noise, treatments)
            whole, step = self._settle(self.stages, whole, point, items)
            if number and step <= NEAR:
                break
            point = self._about(what, whole)
        else:
            self._tell(what)
        if treatments.given is None:
            warn_of_covariance(items, len(whole.X.models))
        return whole, items, point

    def _covariance(
        self,
        whole: HistoricalFit,
        point: Expansion,
        noise: Array,
        treatments: Treatments,
    ) -> ItemCovariance:
        if treatments.given is not None:
            return ItemCovariance(treatments.given)
        surrogates = point.surrogates().over(noise)
        sample = self.layout.surveyed.sample.with_battles(whole.X)
        model = ExpandedLikelihood(sample, whole.calibrator, surrogates)
        conservative = treatments.reported == "conservative"
        return fit_item_covariance(model, conservative=conservative)

    # ------------------------------------------------------------------- the folds
    def _fit_folds(
        self, whole: HistoricalFit, point: Expansion, items: ItemCovariance | None
    ) -> tuple[list[HistoricalFit], list[SourceSums]]:
        """Fit every training set from the point, and sum the rows at its nuisances."""
        joint = self.stages.fits_jointly(whole.X)
        start = Chain(whole.btl, whole.calibrator, self.stages.arrival, whole.X, joint)
        states = [whole]
        for view in range(1, self.layout.folds.size + 1):
            known = whole
            if not joint:
                known = self._voted(whole, view, start)
            states.append(self._settle(self.stages, known, point, items, view)[0])
        local = [self.layout.theta(state) for state in states[1:]]
        theta = [np.array(own) for own in zip(*local, strict=True)]
        held: list[SourceSums] = self.runs.run(
            "all folds", sum_held_out, (self.settings, theta), add_sums
        )
        return states, held

    def _voted(
        self, known: HistoricalFit, view: int, start: Chain | None
    ) -> HistoricalFit:
        """A history whose scores are those of a view's votes."""
        surveyed = self.layout.surveyed
        cells = surveyed.vote_cells(self.layout.folds, view)
        btl = surveyed.vote_fit(self.stages, cells, start)
        X = known.X.with_columns(scores=btl.scores_for(surveyed.models))
        return replace(known, btl=btl, X=X)

    # ----------------------------------------------------------------------- passes
    def _about(self, what: str, known: HistoricalFit) -> Expansion:
        """Sums over all rows about a history."""
        theta = self.layout.theta(known)
        arguments = (self.settings, theta, bends(known))
        sums = self.runs.run(what, sum_about_point, arguments, add_sums)
        return Expansion(self.layout, theta, sums)

    def _settle(
        self,
        stages: Stages,
        known: HistoricalFit,
        point: Expansion,
        items: ItemCovariance | None = None,
        view: int = 0,
    ) -> tuple[HistoricalFit, float]:
        """Fit a training set from the sums about a point; say how far it moved."""
        sample = self.layout.surveyed.sample
        return solve(stages, sample, known, point.surrogates(view), items)

    def _tell(self, what: str) -> None:
        warn(
            ConvergenceWarning(
                f"After {self.max_passes} passes the fit of the stream ({what}) still "
                "moves by more than the tolerance; raise max_passes."
            )
        )

    # ------------------------------------------------------------------------- keep
    def _keep(
        self,
        states: list[HistoricalFit],
        point: Expansion,
        held: list[SourceSums],
        items: ItemCovariance | None,
    ) -> StoredHistory:
        folds = self.layout.folds
        kept = [
            self._fold(state, point, held, view) for view, state in enumerate(states)
        ]
        edges = range(1, folds.size + 2, folds.n_splits)
        repeats = [kept[slice(*ends)] for ends in pairwise(edges)]
        return StoredHistory(self.stages, items, kept[0], repeats)

    def _fold(
        self, state: HistoricalFit, point: Expansion, sums: list[SourceSums], view: int
    ) -> StoredFold:
        """The history of a view, and the sums that stand for its rows."""
        X, folds, surveyed = state.X, self.layout.folds, self.layout.surveyed
        assert X.scores is not None
        votes, held = surveyed.vote_cells(folds, view), surveyed.held_votes(folds, view)
        known = {PEOPLE: vote_information(votes, X.scores)}
        residuals = {PEOPLE: vote_residuals(held, X.scores)}
        learners, theta = [], self.layout.theta(state)
        for m, judge in enumerate(X.judges.tolist()):
            known[m] = point.information(m, view, theta[m], X.scores)
            residuals[m] = residual_sums(
                sums[m], view, len(X.models), point.change(m, X.scores)
            )
            if self.layout.learners[m] is None:
                learners.append(WeightLearner())
                continue
            learner = _squared(state.calibrator.biases_[judge])
            ridge = point.ridge(m, view, kind=1, theta=theta[m])
            learners.append(WeightLearner(learner, ridge))
        kept = SplitSums(known, residuals)
        return StoredFold(state.btl, state.calibrator, X[:0], learners, kept)


def _squared(learner: Any) -> Any:
    """A learner of the weights with the span of a bias learner."""
    squared = LinearBias(learner.feature_map, alpha=learner.alpha, loss="squared")
    for name in ("feature_map_", "_width"):
        if name in vars(learner):
            setattr(squared, name, vars(learner)[name])
    return squared


def span_learners(stages: Stages, known: HistoricalFit) -> list[Any]:
    """Learners whose spans the sums are taken by, or None without features.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    known : HistoricalFit
        Fitted on a sample.

    Returns
    -------
    list
        By judge.

    Raises
    ------
    LearnerError
        If a bias is not linear, or the weights have another learner than the bias.
    """
    X, calibrator = known.X, known.calibrator
    if not X.features_left.shape[1]:
        return [None] * len(X.judges)
    found = []
    for judge in X.judges.tolist():
        bias: Any = calibrator.biases_[judge]
        if not isinstance(bias, LinearBias):
            raise LearnerError(
                f"The bias of judge {judge!r} has the learner {type(bias).__name__}, "
                "which needs all rows in memory. A stream takes LinearBias, with any "
                "feature map."
            )
        assert stages.debiaser is not None
        weights: Any = learner_for(calibrator.follow(stages.debiaser.learner), judge)
        if not same_settings(bias, weights, ("loss",)):
            raise LearnerError(
                "The Riesz weights of a stream must have the learner of the bias: set "
                "the debiaser's learner to 'calibrator'."
            )
        found.append(bias)
    return found
