"""A stored history from a stream: a few passes about one point, then one for all folds.

A *point* is one value of the nuisances (scores, sensitivities, position effects, bias
coefficients, item effects) at which the likelihood is expanded. From the sums about a
point near the fit of all rows, every training set is fitted without reading its rows
again. One more pass sums the rows that each fold holds out, at the nuisances of that
fold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from skanchor._chain import Chain
from skanchor._crossfit.item_test import ItemTest
from skanchor._crossfit.state import (
    StoredFits,
    StoredGroups,
    StoredSource,
    sums_by_group,
)
from skanchor._diagnostics import FitSums, ItemCheck
from skanchor._historical import HistoricalFit
from skanchor._model.item_effects import (
    ItemCovariance,
    estimate_covariance,
    inverse_covariance,
)
from skanchor._model.layout import Layout
from skanchor._numerics.groups import ColumnTotals
from skanchor._stages import Stages
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
from skanchor.history import parameters_of
from skanchor.streaming._checks import bends, check_items, fit_sums
from skanchor.streaming._folds_of_groups import FoldsOfGroups
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
from skanchor.streaming._solve import ExpandedHistory, solve
from skanchor.warning_log import warn

NEAR = 1.0
"""Largest last step of the fit of all rows, in standard errors, at which the sums about
its point are used for the folds: the fits of the folds differ by more than that."""


@dataclass(frozen=True, eq=False)
class Built:
    """Results of all passes over a stream.

    Attributes
    ----------
    stored : StoredFits
        Fits and sums of all folds, by which arrivals are placed.
    whole : HistoricalFit
        The fit of all rows, without these.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    sums : FitSums
        Sums over all rows, for the diagnostics of arrivals.
    check : ItemCheck
        Test for item effects.
    treatment : str
        Treatment of the item effects.
    """

    stored: StoredFits
    whole: HistoricalFit
    items: ItemCovariance | None
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
        whole, test, point = self._start(self.pilot)
        choice = choose_item_effects(
            item_effects, whole.X, test, prior=read_prior(item_prior)
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
        check = ItemCheck.of(test, states[0].X.judges.tolist())
        return Built(stored, states[0], items, sums, check, choice.item_effects)

    # ------------------------------------------------------------------- the whole
    def _start(
        self, pilot: HistoricalFit
    ) -> tuple[HistoricalFit, ItemTest, Expansion | None]:
        """Calibrate the judges to the scores of the votes, and test for item effects.

        The joint fit would hide item effects, since judges then help to decide the
        scores. It starts from the judges that are calibrated here.

        Returns
        -------
        known : HistoricalFit
            Starting values of the fit of all rows.
        test : ItemTest
            The test for item effects.
        point : Expansion or None
            Sums about the calibrated judges; None where there is no two-step fit.
        """
        is_joint = self.stages.fits_jointly(pilot.X)
        start = pilot.two_step if is_joint else pilot
        if start is None:
            # Votes alone give no finite scores, so there is nothing to test against.
            return pilot, ItemTest(), None
        stages = replace(self.stages, historical_fit="two-step")
        known, point = self._approach("judges", self._voted(start, 0, None), stages)
        test = check_items(point, known)
        if not is_joint:
            return known, test, point
        joint = replace(pilot, X=known.X, calibrator=known.calibrator)
        return joint.with_scores(known.X), test, point

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
        slopes = model.start(np.eye(model.n_judges))[model.at["sensitivity"]]
        found = estimate_covariance(ExpandedHistory(model), slopes, choice.prior)
        return found.for_judges(np.zeros(model.n_judges, dtype=bool))

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
    ) -> StoredFits:
        """Fits and sums of all views, by which arrivals are placed."""
        X, folds, n_items = states[0].X, self.layout.folds, self.layout.n_items
        theta = self.layout.theta(states[0])
        layout = Layout(
            np.zeros(n_items, dtype=bool),
            np.zeros(n_items, dtype=np.intp),
            np.arange(n_items),
            (0, *(len(own) - n_items - 1 for own in theta)),
            (False, *self.layout.displayed.astype(bool).tolist()),
            items is not None,
        )
        grams = [self._information(state, point, k) for k, state in enumerate(states)]
        ridge = np.zeros(layout.size)
        for m, gram in enumerate(grams[0][1:]):
            # The trace of a Laplacian is twice the sum of its weights. The Riesz
            # criterion weights rows by w V: its ridge is that of kind one.
            total = np.trace(gram[:n_items, :n_items]) / 2.0
            own = point.ridge(m, kind=1, theta=theta[m])
            ridge[layout.span(1 + m)] = total * own
        scores, outers, groups = self._residuals(states, held)
        every = grams, scores, outers
        precision = np.zeros((len(X.judges),) * 2)
        if items is not None:
            precision = inverse_covariance(items.covariance)
        sources = [
            StoredSource.of(source, *([one[source] for one in sums] for sums in every))
            for source in range(layout.n_sources)
        ]
        return StoredFits(
            layout,
            np.array([parameters_of(layout, one.X, one.calibrator) for one in states]),
            np.ones(len(states), dtype=bool),
            ridge,
            precision,
            tuple(sources),
            StoredGroups.of(groups) if isinstance(folds, FoldsOfGroups) else None,
        )

    def _information(
        self, state: HistoricalFit, point: Expansion, view: int
    ) -> list[Array]:
        """Information of the training rows of each source, people first."""
        assert state.X.scores is not None
        votes = self.layout.surveyed.vote_cells(self.layout.folds, view)
        people = vote_information(votes, state.X.scores).information
        assert people is not None
        found = [_with_order(people)]
        for m, theta in enumerate(self.layout.theta(state)):
            informative = self.layout.informative(m, len(theta))
            gram = point.surrogate(m, view).near(theta)[1]
            found.append(gram * np.outer(informative, informative))
        return found

    def _residuals(
        self, states: list[HistoricalFit], held: list[Any]
    ) -> tuple[list[list[Array]], list[list[Array]], list[Any]]:
        """Scores of the rows that each fold holds out, their products, and by group.

        Each has an entry for each fold, with one for each source, people first.
        """
        folds, surveyed = self.layout.folds, self.layout.surveyed
        votes = iter(surveyed.held_by_group(folds))
        next(votes)
        by_judge = [
            own.of_folds(folds.table)
            if isinstance(folds, FoldsOfGroups)
            else map(own.__getitem__, range(folds.size))
            for own in held
        ]
        scores: list[list[Array]] = []
        outers: list[list[Array]] = []
        groups: list[Any] = []
        for view, (grouped, *judges) in enumerate(
            zip(votes, *by_judge, strict=True), start=1
        ):
            own = states[view].X.scores
            assert own is not None
            people = vote_residuals(surveyed.held_votes(folds, view), own, grouped)
            assert people.score is not None
            scores.append([np.append(people.score, 0.0), *(m.score for m in judges)])
            if grouped is None:
                outers.append([_with_order(people.outer), *(m.outer for m in judges)])
                continue
            outers.append([np.zeros((len(score),) * 2) for score in scores[-1]])
            tables = [one.by_group for one in (people, *judges)]
            groups.append(sums_by_group(list(map(_by_column, tables, scores[-1]))))
        return scores, outers, groups


def _by_column(totals: ColumnTotals, score: Array) -> tuple[Any, csr_array]:
    """Codes of groups, and their sums by as many columns as a score has."""
    n_items = totals.items.shape[1]
    others = np.zeros((len(totals.groups), len(score) - n_items))
    others[:, : totals.others.shape[1]] = totals.others
    return totals.groups, hstack([totals.items, csr_array(others)], format="csr")


def _with_order(gram: Any) -> Array:
    """Sums of votes by item, beside which there is no display order."""
    return np.pad(gram, (0, 1))


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
