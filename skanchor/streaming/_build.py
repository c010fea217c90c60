"""A kept history from a stream: survey, pilot, and passes until the step is short."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.bias.fitting import same_settings
from skanchor.bias.registry import learner_for
from skanchor.chain import Chain, Stages
from skanchor.exceptions import ConvergenceWarning, LearnerError
from skanchor.historical import History
from skanchor.history import KeptFold, KeptHistory
from skanchor.items import LEAST_DISPERSION, ItemCovariance, fit_item_covariance
from skanchor.riesz import KeptSums, WeightLearner
from skanchor.streaming._ground import Ground
from skanchor.streaming._likelihood import ExpandedLikelihood, Expansion, Nearby
from skanchor.streaming._pass import PassSettings, add_sums, sum_parts
from skanchor.streaming._people import (
    judge_dispersion,
    vote_dispersion,
    vote_information,
    vote_residuals,
)
from skanchor.streaming._runs import Runs
from skanchor.streaming._solve import local_coefficients, solve
from skanchor.streaming._sums import (
    LocalSums,
    information,
    residual_sums,
    with_delta,
)
from skanchor.warning_log import warn

__all__ = ["Builder", "span_learners"]

NEAR = 0.05
"""Step of the fit of all rows, in standard errors, from which folds begin."""


@dataclass(eq=False)
class Builder:
    """Brings the nuisances of all training sets to where their rows want them.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    ground : Ground
        What the survey has settled.
    settings : PassSettings
        The same in all passes.
    runs : Runs
        Reads the stream.
    alphas : list of float
        Ridge of each judge's bias.
    tol : float
        Step in standard errors below which a fit is done.
    max_passes : int
        Most passes for one purpose.
    """

    stages: Stages
    ground: Ground
    settings: PassSettings
    runs: Runs
    alphas: list[float]
    tol: float
    max_passes: int

    def build(self, pilot: History, items: ItemCovariance | bool) -> KeptHistory:
        """Fit all rows, then every fold; keep the sums where the last step was short.

        Parameters
        ----------
        pilot : History
            Where to start.
        items : ItemCovariance or bool
            Covariance of the item effects; True learns it, False leaves them out.

        Returns
        -------
        KeptHistory
        """
        whole = self._with_votes(pilot, 0, None)
        if items is False:
            whole, _ = self._fit_whole(whole, None, most=1)
            covariance = None
        else:
            whole, sums = self._fit_whole(whole, None)
            noise = self._noise(whole, sums)
            whole, covariance = self._fit_items(whole, sums, noise, items)
        folds, start = self.settings.folds, self._chain(whole)
        states = [whole]
        states += [self._with_votes(whole, v + 1, start) for v in range(folds.size)]
        later = states
        for _ in range(self.max_passes):
            states = later
            sums = self._pass("all folds", states, whole_only=False)
            found = [
                solve(
                    self.stages,
                    self.ground.sample,
                    state,
                    self._nearby(sums, view, state),
                    covariance,
                )
                for view, state in enumerate(states)
            ]
            if max(step for _, step in found) <= self.tol:
                break
            later = [state for state, _ in found]
        else:
            warn(
                ConvergenceWarning(
                    f"After {self.max_passes} passes the folds of the stream still "
                    "move by more than the tolerance; raise max_passes."
                )
            )
        return self._keep(states, sums, covariance)

    # ------------------------------------------------------------------- the whole
    def _fit_whole(
        self, whole: History, items: ItemCovariance | None, most: int | None = None
    ) -> tuple[History, list[LocalSums]]:
        """Fit all rows without item effects; sums are of before the last step."""
        most = self.max_passes if most is None else most
        for _ in range(most):
            sums = self._pass("all rows", [whole], whole_only=True)
            nearby = self._nearby(sums, 0, whole)
            known, step = solve(self.stages, self.ground.sample, whole, nearby, items)
            if step <= NEAR:
                # The sums are those of where it stands.
                return whole, sums
            whole = known
        return whole, sums

    def _fit_items(
        self,
        whole: History,
        sums: list[LocalSums],
        noise: Array,
        items: ItemCovariance | bool,
    ) -> tuple[History, ItemCovariance]:
        """Fit item effects beside all else, and their covariance where it is asked."""
        for _ in range(self.max_passes):
            nearby = self._nearby(sums, 0, whole)
            if isinstance(items, ItemCovariance):
                covariance = items
            else:
                model = ExpandedLikelihood(
                    self.ground.sample.with_battles(whole.X),
                    whole.calibrator,
                    nearby.over(noise),
                )
                covariance = fit_item_covariance(model)
            whole, step = solve(
                self.stages, self.ground.sample, whole, nearby, covariance
            )
            if step <= NEAR:
                break
            sums = self._pass("item effects", [whole], whole_only=True)
        else:
            warn(
                ConvergenceWarning(
                    f"After {self.max_passes} passes the item effects of the stream "
                    "still move; raise max_passes."
                )
            )
        return whole, covariance

    def _noise(self, whole: History, sums: list[LocalSums]) -> Array:
        """Dispersion of the residuals of each source, people last."""
        scores = whole.X.scores
        assert scores is not None
        n_items = len(scores)
        votes = self.ground.vote_cells(self.settings.folds, 0)
        found = [judge_dispersion(own, n_items) for own in sums]
        found.append(vote_dispersion(votes, scores))
        noise = np.array(found)
        return np.where(noise < LEAST_DISPERSION, 1.0, noise)

    # ------------------------------------------------------------------ of one view
    def _with_votes(self, known: History, view: int, start: Chain | None) -> History:
        """A history whose human scores are those of a view's votes, in two steps."""
        if self.stages.fits_jointly(known.X):
            return known
        cells = self.ground.vote_cells(self.settings.folds, view)
        btl = self.ground.vote_fit(self.stages, cells, start)
        X = known.X.with_columns(scores=btl.scores_for(self.ground.models))
        return replace(known, btl=btl, X=X)

    def _chain(self, whole: History) -> Chain:
        return Chain(whole.btl, whole.calibrator, self.stages.arrival, whole.X)

    def _pass(
        self, what: str, states: list[History], *, whole_only: bool
    ) -> list[LocalSums]:
        """Sums over all rows, at the nuisances of each view."""
        learners = self.settings.learners
        local = [local_coefficients(state, learners) for state in states]
        theta = [np.array(own) for own in zip(*local, strict=True)]
        arguments = (self.settings, theta, whole_only)
        found: list[LocalSums] = self.runs.run(what, sum_parts, arguments, add_sums)
        return found

    def _nearby(self, sums: list[LocalSums], view: int, state: History) -> Nearby:
        """Expansion of a view's loss about where its sums were taken."""
        local = local_coefficients(state, self.settings.learners)
        judges = []
        for own, theta, alpha in zip(sums, local, self.alphas, strict=True):
            omega = _omega(own, view)
            ridge = float(own.weight[0]) * self._ridge(own, view, alpha, kind=0)
            judges.append(
                Expansion(theta, omega * own.score[view], omega * own.gram[view], ridge)
            )
        votes = self.ground.vote_cells(self.settings.folds, view)
        return Nearby(votes, tuple(judges))

    def _ridge(self, own: LocalSums, view: int, alpha: float, kind: int) -> Array:
        """Ridge beside the mean loss, or beside the mean curvature (kind one)."""
        n_span = own.score.shape[1] - len(self.ground.models) - 1
        if not alpha:
            return np.zeros(n_span)
        total = own.weight[view] if kind == 0 else own.curvature[view]
        first, second = np.split(own.spread[kind, view] / (2.0 * total), 2)
        variance: Array = second - first**2
        return alpha * variance

    # ------------------------------------------------------------------------- keep
    def _keep(
        self,
        states: list[History],
        sums: list[LocalSums],
        items: ItemCovariance | None,
    ) -> KeptHistory:
        folds = self.settings.folds
        kept = [self._fold(state, sums, view) for view, state in enumerate(states)]
        edges = range(1, folds.size + 2, folds.n_splits)
        repeats = [kept[slice(*ends)] for ends in pairwise(edges)]
        return KeptHistory(self.stages, items, kept[0], repeats)

    def _fold(self, state: History, sums: list[LocalSums], view: int) -> KeptFold:
        """The history of a view, and the sums that stand for its rows."""
        X, folds = state.X, self.settings.folds
        assert X.scores is not None
        n_items = len(X.models)
        votes = self.ground.vote_cells(folds, view)
        held = self.ground.held_votes(folds, view)
        known = {PEOPLE: vote_information(votes, X.scores)}
        residuals = {PEOPLE: vote_residuals(held, X.scores)}
        learners = []
        for m, (own, judge) in enumerate(zip(sums, X.judges.tolist(), strict=True)):
            width = own.score.shape[1] - n_items
            change = with_delta(n_items, width, X.scores)
            known[m] = information(own, view, _omega(own, view), change)
            residuals[m] = residual_sums(own, view, change)
            if self.settings.learners[m] is None:
                learners.append(WeightLearner())
                continue
            learner = _squared(state.calibrator.biases_[judge])
            ridge = self._ridge(own, view, self.alphas[m], kind=1)
            learners.append(WeightLearner(learner, ridge))
        kept = KeptSums(known, residuals)
        return KeptFold(state.btl, state.calibrator, X[:0], learners, kept)


def _omega(own: LocalSums, view: int) -> float:
    """Weight of all rows of a judge, in that of a training set."""
    if own.weight[view] <= 0:
        raise ValueError(
            "A training set keeps no row of a judge; use fewer folds or add rows."
        )
    return float(own.weight[0] / own.weight[view])


def _squared(learner: Any) -> Any:
    """A learner of the weights with the span of a bias learner."""
    squared = LinearBias(learner.feature_map, alpha=learner.alpha, loss="squared")
    for name in ("feature_map_", "_width"):
        if name in vars(learner):
            setattr(squared, name, vars(learner)[name])
    return squared


def span_learners(stages: Stages, known: History) -> list[Any]:
    """Learners whose spans the sums are taken by, or None without features.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    known : History
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
