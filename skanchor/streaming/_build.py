"""A stored history from a stream: a few passes about one point, then one for all folds.

A *point* is one value of the nuisances (scores, sensitivities, position effects, bias
coefficients, item effects) at which the likelihood is expanded. From the sums about a
point near the fit of all rows, every training set is fitted without reading its rows
again. One more pass sums the rows that each fold holds out, at the nuisances of that
fold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, pairwise
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
from skanchor._treatments import (
    ItemChoice,
    choose_item_effects,
    read_prior,
    warn_of_covariance,
)
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.bias.fitting import same_settings
from skanchor.bias.registry import learner_for
from skanchor.exceptions import ConvergenceWarning, LearnerError
from skanchor.streaming._checks import bends, check_items, fit_sums
from skanchor.streaming._folds_of_groups import FoldsOfGroups
from skanchor.streaming._likelihood import ExpandedLikelihood
from skanchor.streaming._local_columns import residual_sums
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
from skanchor.streaming._votes_by_group import VotesByGroup
from skanchor.warning_log import warn

NEAR = 1.0
"""Largest last step of the fit of all rows, in standard errors, at which the sums about
its point are used for the folds: the fits of the folds differ by more than that."""


@dataclass(frozen=True, eq=False)
class Built:
    """Results of all passes over a stream.

    Attributes
    ----------
    stored : StoredHistory
        Fits and sums of all folds, by which arrivals are placed.
    sums : FitSums
        Sums over all rows, for the diagnostics of arrivals.
    check : ItemCheck
        Test for item effects.
    treatment : str
        Treatment of the item effects.
    """

    stored: StoredHistory
    sums: FitSums
    check: ItemCheck
    treatment: str


@dataclass(eq=False)
class Builder:
    """Fits the nuisances of all training sets from passes over a stream.

    Attributes
    ----------
    stages : Stages
        Unfitted stages.
    layout : LocalLayout
        Meaning of the columns of the sums.
    settings : PassSettings
        Settings that are the same in all passes.
    runs : Runs
        Reads the stream.
    max_passes : int
        Largest number of passes for one purpose.
    pilot : HistoricalFit or None
        Fit of the sample, which gives the starting values; None once it has.
    """

    stages: Stages
    layout: LocalLayout
    settings: PassSettings
    runs: Runs
    max_passes: int
    pilot: HistoricalFit | None

    def build(self, item_effects: Any, item_prior: Any) -> Built:
        """Fit all rows, then every fold, and store the sums of each.

        Parameters
        ----------
        item_effects : str or None
            As in :class:`skanchor.AnchorPipeline`.
        item_prior : tuple of (float, float)
            As there.

        Returns
        -------
        Built
        """
        assert self.pilot is not None
        whole, check, point = self._start(self.pilot)
        choice = choose_item_effects(
            item_effects, whole.X, check, prior=read_prior(item_prior)
        )
        if choice.item_effects == "none":
            whole, point = self._approach("all rows", whole, self.stages, point)
            noise, items = point.noise(whole), None
        else:
            if point is None:
                whole, point = self._approach("all rows", whole, self.stages)
            # The dispersion of the residuals is taken before item effects are fitted.
            noise = point.noise(whole)
            whole, items, point = self._fit_items(whole, point, noise, choice)
        states = self._fit_folds(whole, point, items)
        sums = fit_sums(point, whole, noise)
        # Sums by group take memory: the sampled rows, of no more use, make room.
        del whole
        self.pilot, states = None, [state.without_rows() for state in states]
        self.layout = replace(
            self.layout, surveyed=self.layout.surveyed.without_sample()
        )
        point = replace(point, layout=self.layout)
        stored = self._store(states, point, self._hold_out(states), items)
        return Built(stored, sums, check, choice.item_effects)

    # ------------------------------------------------------------------- the whole
    def _start(
        self, pilot: HistoricalFit
    ) -> tuple[HistoricalFit, ItemCheck, Expansion | None]:
        """Calibrate the judges to the scores of the votes, and test for item effects.

        The joint fit would hide item effects, since judges then help to decide the
        scores. It starts from the judges that are calibrated here.

        Returns
        -------
        known : HistoricalFit
            Starting values of the fit of all rows.
        check : ItemCheck
            The test for item effects.
        point : Expansion or None
            Sums about the calibrated judges; None where there is no two-step fit.
        """
        is_joint = self.stages.fits_jointly(pilot.X)
        start = pilot.two_step if is_joint else pilot
        if start is None:
            # Votes alone give no finite scores, so there is nothing to test against.
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
        """Fit all rows without item effects, until the sums about it serve all views.

        Each round takes sums about the current fit (one pass) and minimises the
        expanded likelihood. A round whose step is short ends the loop, and its sums
        are returned with the fit.
        """
        for _ in range(self.max_passes):
            if point is None:
                point = self._about(what, known)
            known, step = self._refit(stages, known, point)
            if step <= NEAR:
                return known, point
            # The fit has left the region where these sums are accurate.
            point = None
        self._warn_not_converged(what)
        return known, self._about(what, known)

    def _fit_items(
        self,
        whole: HistoricalFit,
        point: Expansion,
        noise: Array,
        choice: ItemChoice,
    ) -> tuple[HistoricalFit, ItemCovariance, Expansion]:
        """Fit the item effects and their covariance together with all else.

        Returns the fit, the covariance of the item effects and sums about a point near
        the fit.
        """
        what = "item effects"
        for number in range(self.max_passes):
            items = self._covariance(whole, point, noise, choice)
            whole, step = self._refit(self.stages, whole, point, items)
            # The first sums were taken without item effects: at least one more pass.
            if number and step <= NEAR:
                break
            point = self._about(what, whole)
        else:
            self._warn_not_converged(what)
        warn_of_covariance(items, choice.prior, len(whole.X.models))
        return whole, items, point

    def _covariance(
        self,
        whole: HistoricalFit,
        point: Expansion,
        noise: Array,
        choice: ItemChoice,
    ) -> ItemCovariance:
        """Estimate the covariance of the item effects between judges."""
        # Weights divided by the dispersion give each source the information that its
        # residuals show, as the estimate of the covariance in memory does.
        surrogates = point.surrogates().over(noise)
        sample = self.layout.surveyed.sample.with_battles(whole.X)
        model = ExpandedLikelihood(sample, whole.calibrator, surrogates)
        return fit_item_covariance(model, choice.prior)

    # ------------------------------------------------------------------- the folds
    def _fit_folds(
        self, whole: HistoricalFit, point: Expansion, items: ItemCovariance | None
    ) -> list[HistoricalFit]:
        """Fit every training set from the point: all rows first, then each fold."""
        joint = self.stages.fits_jointly(whole.X)
        start = Chain(whole.btl, whole.calibrator, self.stages.arrival, whole.X, joint)
        states = [whole]
        for view in range(1, self.layout.folds.size + 1):
            known = whole
            if not joint:
                known = self._voted(whole, view, start)
            states.append(self._refit(self.stages, known, point, items, view)[0])
        return states

    def _hold_out(self, states: list[HistoricalFit]) -> list[Any]:
        """Sum the rows that each fold holds out.

        Returns
        -------
        list of SourceSums or GroupedHeld
            By judge, residuals of the held-out rows, with an axis of folds.
        """
        # From lists by fold, then judge, to one array (n_folds, n_local) by judge.
        local = [self.layout.theta(state) for state in states[1:]]
        theta = [np.array(own) for own in zip(*local, strict=True)]
        held: list[Any] = self.runs.run(
            "all folds", sum_held_out, (self.settings, theta), add_sums
        )
        # That was the last pass: which group each row has is of no more use.
        self.runs.groups = None
        return list(held)

    def _voted(
        self, known: HistoricalFit, view: int, start: Chain | None
    ) -> HistoricalFit:
        """Copy of a history with the scores that a view's votes alone give."""
        surveyed = self.layout.surveyed
        cells = surveyed.vote_cells(self.layout.folds, view)
        # Errors are read off the fit of all rows alone.
        grouped = None if view else surveyed.group_votes
        btl = surveyed.vote_fit(self.stages, cells, start, grouped)
        X = known.X.with_columns(scores=btl.scores_for(surveyed.models))
        return replace(known, btl=btl, X=X)

    # ----------------------------------------------------------------------- passes
    def _about(self, what: str, known: HistoricalFit) -> Expansion:
        """Sums over all rows about a history."""
        theta = self.layout.theta(known)
        arguments = (self.settings, theta, bends(known))
        sums = self.runs.run(what, sum_about_point, arguments, add_sums)
        return Expansion(self.layout, theta, sums)

    def _refit(
        self,
        stages: Stages,
        known: HistoricalFit,
        point: Expansion,
        items: ItemCovariance | None = None,
        view: int = 0,
    ) -> tuple[HistoricalFit, float]:
        """Fit a training set from the sums about a point.

        Returns the fit and how far it moved, in standard errors.
        """
        sample = self.layout.surveyed.sample
        return solve(stages, sample, known, point.surrogates(view), items)

    def _warn_not_converged(self, what: str) -> None:
        warn(
            ConvergenceWarning(
                f"After {self.max_passes} passes the fit of the stream ({what}) still "
                "moves by more than a standard error; raise max_passes.",
                code="stream-not-converged",
            )
        )

    # ------------------------------------------------------------------------ store
    def _store(
        self,
        states: list[HistoricalFit],
        point: Expansion,
        held: list[Any],
        items: ItemCovariance | None,
    ) -> StoredHistory:
        """Stored folds of all views, as a history that places arrivals."""
        folds = self.layout.folds
        for m in range(len(held)):
            # In place, so that no more than one judge's sums by group are in memory
            # twice.
            held[m] = self._residuals(m, held[m], states, point)
        votes = self.layout.surveyed.held_by_group(folds)
        stored = [
            self._fold(state, point, view, [own[view] for own in held], grouped)
            for view, (state, grouped) in enumerate(zip(states, votes, strict=True))
        ]
        # View 0 is all rows; then come n_splits views for each repeat.
        edges = range(1, folds.size + 2, folds.n_splits)
        repeats = [stored[slice(*ends)] for ends in pairwise(edges)]
        return StoredHistory(self.stages, items, stored[0], repeats)

    def _residuals(
        self, m: int, held: Any, states: list[HistoricalFit], point: Expansion
    ) -> list[SourceSums]:
        """Residuals of the rows of judge m that each view holds out."""
        folds = self.layout.folds
        grouped = isinstance(folds, FoldsOfGroups)
        # One fold after another, as sums by group take memory.
        by_fold = (
            held.of_folds(folds.table)
            if isinstance(folds, FoldsOfGroups)
            else (held[k] for k in range(folds.size))
        )
        found = []
        for state, own in zip(states, chain([None], by_fold), strict=True):
            assert state.X.scores is not None
            change = point.change(m, state.X.scores)
            n_models = len(state.X.models)
            found.append(residual_sums(own, n_models, change, grouped=grouped))
        return found

    def _fold(
        self,
        state: HistoricalFit,
        point: Expansion,
        view: int,
        of_judges: list[SourceSums],
        grouped: VotesByGroup | None,
    ) -> StoredFold:
        """The fit of a view, and the sums that replace its rows.

        By source these are the information of the training rows and the residuals of
        the held-out rows, from which the Riesz weights (eq:direct-riesz-objective-v2)
        and the correction (eq:feasible-anchor-estimator-v2) are computed.
        """
        X, folds, surveyed = state.X, self.layout.folds, self.layout.surveyed
        assert X.scores is not None
        votes, held = surveyed.vote_cells(folds, view), surveyed.held_votes(folds, view)
        known = {PEOPLE: vote_information(votes, X.scores)}
        residuals = {PEOPLE: vote_residuals(held, X.scores, grouped)}
        residuals |= dict(enumerate(of_judges))
        learners, theta = [], self.layout.theta(state)
        for m, judge in enumerate(X.judges.tolist()):
            known[m] = point.information(m, view, theta[m], X.scores)
            if self.layout.learners[m] is None:
                learners.append(WeightLearner())
                continue
            learner = _squared(state.calibrator.biases_[judge])
            # The Riesz criterion weights rows by w V: its ridge is that of kind one.
            ridge = point.ridge(m, view, kind=1, theta=theta[m])
            learners.append(WeightLearner(learner, ridge))
        # No row is stored: X only carries scores, sensitivities and effects.
        split, X = SplitSums(known, residuals), X.without_rows()
        return StoredFold(state.btl, state.calibrator, X, learners, split)


def _squared(learner: Any) -> Any:
    """Learner of the Riesz weights, with the span of a fitted bias learner."""
    squared = LinearBias(learner.feature_map, alpha=learner.alpha, loss="squared")
    # The fitted feature map is shared, so that both have the same columns.
    for name in ("feature_map_", "_width"):
        if name in vars(learner):
            setattr(squared, name, vars(learner)[name])
    return squared


def span_learners(stages: Stages, known: HistoricalFit) -> list[Any]:
    """Bias learners of the judges, whose spans are columns of the sums.

    Parameters
    ----------
    stages : Stages
        Unfitted stages.
    known : HistoricalFit
        Fit of the sample.

    Returns
    -------
    list
        For each judge its fitted bias learner, or None where there are no features.

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
