"""The chain of stages: fitted on all rows, fitted on a fold, and summed up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from skanchor.arrivals import ArrivalScorer
from skanchor.base import locate, located
from skanchor.btl import BTLRegressor
from skanchor.comparisons import Comparisons
from skanchor.exceptions import BattlesError, InstabilityWarning
from skanchor.folds import fold_weights
from skanchor.items import ItemCovariance, fit_deviations
from skanchor.judges import WEAK_SENSITIVITY, JudgeCalibrator
from skanchor.riesz import RieszDebiaser

__all__ = [
    "Chain",
    "Fold",
    "Problem",
    "Repeat",
    "Sums",
    "complete",
    "fit_fold",
    "fit_stages",
    "merge_notices",
    "sum_up",
]

Array = NDArray[np.float64]

FAR = 3.0
"""Logits beyond which one corrective step from the plug-in is not believed."""

_STEP = 4096
"""Rows of a step in sums over influence values."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What every fold shares: unfitted stages, encoded data, roles, treatments."""

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    debiaser: RieszDebiaser | None
    X: Comparisons
    y: Array
    weight: Array
    groups: NDArray[np.intp] | None
    source: NDArray[np.intp]
    source_names: list[str]
    involved: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Chain:
    """Fitted stages, and the rows with all that they learned."""

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    X: Comparisons
    debiaser: RieszDebiaser | None = None

    @property
    def scores(self) -> Array:
        """Plug-in scores of all models."""
        assert self.X.scores is not None
        return self.X.scores


@dataclass(frozen=True, slots=True)
class Fold:
    """What a fold hands back for one treatment of the item effects."""

    scores: Array
    sensitivities: Array
    influence: Array
    prior_score: Array
    item_covariance: Array
    undetermined: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Repeat:
    """What the folds of one repeat add up to."""

    plug_in: Array
    estimate: Array
    covariance: Array
    item_part: Array
    parts: Array
    largest: Array
    undetermined: NDArray[np.bool_]
    notices: list[Warning]


def fit_stages(
    problem: Problem, weight: Array, start: Chain | None = None, draw: int = 0
) -> tuple[Chain, list[Warning]]:
    """Fit the stages of the plug-in, each on what the earlier ones have learned."""
    X, notices = problem.X, []
    fitted: list[Any] = []
    for name in ("btl", "calibrator", "arrival"):
        stage = clone(getattr(problem, name))
        options = {} if start is None else {"start": getattr(start, name)}
        if name == "calibrator":
            stage = stage if len(X.judges) else NoJudges()
            options["draw"] = draw
        notices += stage._fit(
            X,
            problem.y,
            weight,
            problem.groups,
            **options,
        )
        if name == "btl" and start is not None:
            _check_votes(stage, start.btl)
        stage._seen_features = X.feature_names
        X = stage._annotate(X)
        fitted.append(stage)
    btl, calibrator, arrival = fitted
    return Chain(btl, calibrator, arrival, X), notices


def complete(
    problem: Problem,
    stages: Chain,
    weight: Array,
    items: ItemCovariance | None,
    start: Chain | None = None,
    draw: int = 0,
) -> tuple[Chain, list[Warning]]:
    """Add the item effects of one treatment and the Riesz weights."""
    X, calibrator = stages.X, stages.calibrator
    notices: list[Warning] = []
    if items is not None:
        near = None if start is None else (start.X, start.calibrator)
        X, calibrator, notices = fit_deviations(
            X, problem.y, weight, calibrator, items.covariance, near
        )
    debiaser = None
    if problem.debiaser is not None:
        debiaser = clone(problem.debiaser)
        debiaser.learner = calibrator.follow(debiaser.learner)
        notices += debiaser._fit(X, problem.y, weight, problem.groups, draw=draw)
        debiaser._seen_features = X.feature_names
    return replace(stages, calibrator=calibrator, X=X, debiaser=debiaser), notices


def _check_votes(btl: BTLRegressor, full: BTLRegressor) -> None:
    """Refuse a training set that places models worse than all rows do."""
    advice = (
        "use fewer folds, add votes of theirs, or name them in new_models, so that "
        "judge rows place them, too."
    )
    absent = [m for m in full.models_.tolist() if m not in set(btl.models_.tolist())]
    if absent:
        raise BattlesError(
            f"The training set keeps no human row of models {absent[:5]}; {advice}"
        )
    loose = set(btl.models_[btl._unbounded].tolist())
    loose -= set(full.models_[full._unbounded].tolist())
    if loose:
        raise BattlesError(
            "Without the votes held out, the scores of models "
            f"{sorted(loose, key=str)[:5]} have no limit on one side (they never won, "
            f"or never lost); {advice}"
        )


class NoJudges(JudgeCalibrator):
    """Calibrator of a table without judges: the historical leaderboard alone."""

    def _fit(self, X: Comparisons, *args: Any, **kwargs: Any) -> list[Warning]:
        self.judges_ = np.array([], dtype=object)
        nobody = pd.Index(self.judges_, name="judge")
        self.sensitivities_ = pd.Series(index=nobody, dtype=float, name="sensitivity")
        self.position_effects_ = pd.Series(index=nobody, dtype=float, name="position")
        self.features_ = np.array(X.feature_names, dtype=object)
        self.biases_ = {}
        self.choices_ = pd.DataFrame()
        return []


def fit_fold(
    number: int,
    draw: int,
    problem: Problem,
    stages: Chain,
    full: dict[str, Chain],
    treatments: dict[str, ItemCovariance | None],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[dict[str, Fold], list[Warning]]:
    """Fit on the training rows and evaluate the correction on the test rows.

    ``number`` is that of the fold in its repeat, ``draw`` that among all folds:
    learners that draw at random draw anew in each, and the cross-fit averages them.
    """
    weight, source = problem.weight, problem.source
    folds: dict[str, Fold] = {}
    with located(f"Fold {number}"):
        train_weight = fold_weights(
            weight, source, train, problem.source_names, problem.involved
        )
        plugged, notices = fit_stages(problem, train_weight, stages, draw)
        for name, items in treatments.items():
            chain, found = complete(
                problem, plugged, train_weight, items, full[name], draw
            )
            notices += found
            debiaser = chain.debiaser
            assert debiaser is not None
            terms = debiaser._influence(chain.X, problem.y, test)
            if not np.isfinite(terms).all():
                row = int(test[np.argmin(np.isfinite(terms).all(axis=1))])
                raise ValueError(
                    f"The influence of row {row} is not finite: check what the "
                    "learners return."
                )
            slopes = chain.X.sensitivities
            folds[name] = Fold(
                chain.scores,
                np.empty(0) if slopes is None else slopes,
                terms * weight[test, None],
                debiaser._system.prior_score(chain.X),
                debiaser._system.item_covariance(),
                debiaser._undetermined,
            )
    return folds, notices


@dataclass(slots=True)
class Sums:
    """Sums over the influence values of one repeat."""

    total: Array
    sampling: Array
    parts: Array
    largest: Array

    @classmethod
    def of(cls, size: int) -> Sums:
        """Empty sums for ``size`` scores."""
        return cls(
            np.zeros(size), np.zeros((size, size)), np.zeros((3, size)), np.zeros(size)
        )

    def add(
        self,
        influence: Array,
        is_human: NDArray[np.bool_],
        groups: NDArray[np.intp] | None,
    ) -> None:
        """Add rows; a group must come whole."""
        sampling, parts = _covariance(influence, is_human, groups)
        self.total += influence.sum(axis=0)
        self.sampling += sampling
        self.parts += parts
        low, high = (
            influence.min(axis=0, initial=0.0),
            influence.max(axis=0, initial=0.0),
        )
        self.largest = np.maximum(self.largest, np.maximum(high, -low))


def sum_up(
    X: Comparisons,
    full: Chain,
    sums: Sums,
    folds: list[Fold],
    inflation: float,
) -> Repeat:
    """Sum up one cross-fit."""
    plug_in = np.mean([fold.scores for fold in folds], axis=0)
    prior = np.mean([fold.prior_score for fold in folds], axis=0)
    item_part = inflation * np.mean([fold.item_covariance for fold in folds], axis=0)
    step = sums.total + prior
    shaky = _shaky(full, folds, step, np.diag(sums.sampling))
    return Repeat(
        plug_in,
        # No number is better than one that cannot be believed.
        np.where(shaky, full.scores, plug_in + step),
        sums.sampling + item_part,
        item_part,
        np.vstack([sums.parts, np.diag(item_part)]),
        sums.largest,
        np.any([fold.undetermined for fold in folds], axis=0) | shaky,
        [_shaky_notice(X, full, folds, shaky)] if shaky.any() else [],
    )


def _shaky(
    full: Chain, folds: list[Fold], step: Array, variance: Array
) -> NDArray[np.bool_]:
    """Scores that one corrective step cannot reach.

    The correction is a step along the tangent; a fold whose plug-in lies far from that
    of all rows, or a step of several logits, has left the region where the tangent says
    something.
    """
    apart = np.abs(np.array([fold.scores for fold in folds]) - full.scores)
    return np.asarray(
        (apart > FAR).any(axis=0) | (np.abs(step) > FAR) | (variance == 0.0)
    )


def _shaky_notice(
    X: Comparisons, full: Chain, folds: list[Fold], shaky: NDArray[np.bool_]
) -> Warning:
    """Say which scores are not determined, and which judges and folds may be why."""
    slopes = np.array([fold.sensitivities for fold in folds])
    apart = np.abs(np.array([fold.scores for fold in folds]) - full.scores)
    causes = []
    for m, judge in enumerate(X.judges.tolist()):
        weak = np.flatnonzero(slopes[:, m] < WEAK_SENSITIVITY).tolist()
        if weak:
            least = slopes[weak, m].min()
            causes.append(f"judge {judge!r} in folds {weak} (down to {least:.2g})")
    away = np.flatnonzero((apart[:, shaky] > FAR).any(axis=1)).tolist()
    return InstabilityWarning(
        f"The scores of {X.models[shaky].tolist()[:5]} are not determined: the "
        "correction of the plug-in is beyond what one step can do"
        + (f", and folds {away} place them {FAR:g} logits off" if away else "")
        + ". They keep the plug-in score, with an infinite error. "
        + (f"Sensitivities are weak: {'; '.join(causes)}. " if causes else "")
        + "Add rows, use fewer folds, or set a ridge penalty such as "
        "LinearBias(alpha=0.01)."
    )


def merge_notices(
    by_fold: dict[int, list[Warning]], told: Sequence[Warning]
) -> list[Warning]:
    """Merge what the folds say, in so far as the fit on all rows has not said it."""

    def gist(notice: Warning) -> tuple[Any, ...]:
        # Without numbers; but names, in quotes, may hold digits.
        parts = re.split(r"('[^']*')", str(notice))
        parts[::2] = [re.sub(r"-?\d[\d.,e+-]*", "#", part) for part in parts[::2]]
        return type(notice), *parts

    known = {gist(notice) for notice in told}
    merged: dict[tuple[Any, ...], tuple[Warning, list[int]]] = {}
    for number, notices in by_fold.items():
        for notice in notices:
            if gist(notice) not in known:
                folds = merged.setdefault(gist(notice), (notice, []))[1]
                folds += [] if number in folds else [number]
    return [
        _of_folds(notice, f"In folds {folds}, not on all rows")
        for notice, folds in merged.values()
    ]


def _of_folds(notice: Warning, where: str) -> Warning:
    """The same warning, located; its folds may share the one that they gave."""
    copied = copy(notice)
    locate(copied, where)
    return copied


def _covariance(
    influence: Array, is_human: NDArray[np.bool_], groups: NDArray[np.intp] | None
) -> tuple[Array, Array]:
    """Covariance of the scores and its human, judge and cross parts."""
    size = influence.shape[1]
    human, judge, cross = np.zeros((3, size, size))
    if groups is not None:
        n_groups = int(groups.max()) + 1
        by_kind = [
            _group_totals(influence[rows], groups[rows], n_groups)
            for rows in (is_human, ~is_human)
        ]
        human, judge = (totals.T @ totals for totals in by_kind)
        cross = by_kind[0].T @ by_kind[1]
        cross = cross + cross.T
    else:
        # In steps that stay in the cache, where a copy costs nothing.
        for start in range(0, len(influence), _STEP):
            part = slice(start, start + _STEP)
            votes = influence[part][is_human[part]]
            verdicts = influence[part][~is_human[part]]
            human += votes.T @ votes
            judge += verdicts.T @ verdicts
    parts = np.array([np.diag(part) for part in (human, judge, cross)])
    return human + judge + cross, parts


def _group_totals(influence: Array, groups: NDArray[np.intp], size: int) -> Array:
    n = len(groups)
    gather = csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, size))
    return np.asarray(gather.T @ influence)
