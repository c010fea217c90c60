"""The chain of stages, fitted on all rows or on a training set."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._typing import Array
from skanchor.arrivals import ArrivalScorer
from skanchor.bias import LinearBias
from skanchor.bias.registry import learner_for
from skanchor.btl import BTLRegressor
from skanchor.comparisons import Comparisons, align
from skanchor.exceptions import (
    Advice,
    BattlesError,
    Remedy,
    SkanchorWarning,
    WeakJudgeWarning,
)
from skanchor.historical import (
    EXACT,
    NEAR,
    fit_jointly,
    separated_judges,
)
from skanchor.items import ItemCovariance, fit_deviations
from skanchor.judges import JudgeCalibrator, NoJudges
from skanchor.riesz import RieszDebiaser
from skanchor.sample import Sample
from skanchor.warning_log import WarningLog, warn

__all__ = [
    "Chain",
    "History",
    "Stages",
    "add_item_effects",
    "complete",
    "fit_arrivals",
    "fit_history",
    "fit_stages",
]


ROUNDS = 2
"""Times that a learner without a span is fitted again on jointly fitted scores."""


@dataclass(frozen=True, slots=True)
class Stages:
    """Unfitted stages; without a debiaser the chain ends in the plug-in.

    ``historical_fit`` is ``"two-step"``, or ``"joint"`` where votes and verdicts decide
    the historical scores together.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    debiaser: RieszDebiaser | None
    historical_fit: str = "two-step"

    def fits_jointly(self, X: Comparisons) -> bool:
        """Whether there are judges to fit jointly with people."""
        return self.historical_fit == "joint" and len(X.judges) > 0


@dataclass(frozen=True, slots=True)
class History:
    """Stages fitted on the historical rows, and rows with what they learned.

    Where the history is fitted jointly, in the fit of all rows ``two_step`` is the fit
    that it started from, if votes alone gave every score a finite value. Judges put
    ``aside`` have no say in the scores.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    X: Comparisons
    two_step: History | None = None
    aside: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True)
class Chain:
    """Fitted stages, and the rows with all that they learned.

    ``is_joint``, ``two_step`` and ``aside`` are those of the :class:`History`.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    X: Comparisons
    debiaser: RieszDebiaser | None = None
    is_joint: bool = False
    two_step: History | None = None
    aside: frozenset[Any] = frozenset()

    @property
    def scores(self) -> Array:
        """Plug-in scores of all models."""
        assert self.X.scores is not None
        return self.X.scores

    @property
    def has_spans(self) -> bool:
        """Whether biases and weights are linear in columns, so that little is kept."""
        assert self.debiaser is not None
        learners = [*self.calibrator.biases_.values()]
        found = self.debiaser.system_.projections
        learners += [one.learner for one in found if one is not None]
        return all(one is None or hasattr(one, "fit_span") for one in learners)

    def without_rows(self) -> Chain:
        """The same chain without the rows that it was fitted on."""
        return replace(self, X=self.X[:0], two_step=None)

    def annotate(self, X: Comparisons) -> Comparisons:
        """Other rows, in the roles of the fit, with all that this chain has learned."""
        for stage in (self.btl, self.calibrator, self.arrival):
            X = stage.transform(X)
        return X.with_columns(
            scores=self.X.scores,
            deviations=self.X.deviations,
            item_covariance=self.X.item_covariance,
        )

    def influence(self, sample: Sample) -> Array:
        """Influence of other rows in the roles of the fit, (n_rows, n_models)."""
        assert self.debiaser is not None
        known = sample.with_battles(self.annotate(sample.X))
        return self.debiaser.influence_of_rows(known, np.arange(len(sample)))

    @property
    def unbounded(self) -> NDArray[np.bool_]:
        """Models whose score lies at a bound, or has none."""
        flags = np.zeros(len(self.X.models), dtype=bool)
        place = {model: i for i, model in enumerate(self.X.models.tolist())}
        for models, at_bound in (
            (self.btl.models_, self.btl.unbounded_),
            (self.arrival.new_models_, self.arrival.at_bound_),
        ):
            flags[[place[model] for model in models[at_bound].tolist()]] = True
        return flags


Fitted = TypeVar("Fitted", History, Chain)


def fit_stages(
    stages: Stages, sample: Sample, start: Chain | None = None, seed_offset: int = 0
) -> Chain:
    """Fit the stages of the plug-in, each on what the earlier ones have learned.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided; weights of zero leave rows out.
    start : Chain, optional
        Fitted on nearly the same rows. A training set that places models worse than
        it does is refused.
    seed_offset : int, default=0
        As in :meth:`skanchor.base.ComparisonEstimator.fit_sample`.

    Returns
    -------
    Chain
        Without Riesz weights.
    """
    history = fit_history(stages, sample, start, seed_offset)
    return fit_arrivals(stages, history, sample, start, seed_offset)


def fit_history(
    stages: Stages, sample: Sample, start: Chain | None = None, seed_offset: int = 0
) -> History:
    """Fit what the historical rows alone decide.

    Parameters
    ----------
    stages, sample, start, seed_offset
        As in :func:`fit_stages`.

    Returns
    -------
    History
        The same whatever arrives, and whether it is there or not.
    """
    if not stages.fits_jointly(sample.X):
        return _fit_in_two_steps(stages, sample, start, seed_offset)
    if start is not None:
        return _fit_near(stages, sample, start, seed_offset)
    first, is_finite = _start_jointly(stages, sample)
    found = _fit_in_turns(stages, sample, first)
    return replace(found, two_step=first if is_finite else None)


def fit_arrivals(
    stages: Stages,
    history: History,
    sample: Sample,
    start: Chain | None = None,
    seed_offset: int = 0,
) -> Chain:
    """Fit the scores of the new models, all else fixed.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    history : History
        Its rows, which carry what was learned, hold the arrivals.
    sample : Sample
        Outcomes, weights and groups of these rows.
    start, seed_offset
        As in :func:`fit_stages`.

    Returns
    -------
    Chain
        Without Riesz weights.
    """
    arrival = clone(stages.arrival)
    near = None if start is None else start.arrival
    arrival.fit_sample(sample.with_battles(history.X), near, seed_offset)
    return Chain(
        history.btl,
        history.calibrator,
        arrival,
        arrival.transform(history.X),
        is_joint=stages.fits_jointly(history.X),
        two_step=history.two_step,
        aside=history.aside,
    )


def _fit_in_two_steps(
    stages: Stages, sample: Sample, start: Chain | None, seed_offset: int
) -> History:
    """Scores by people's votes alone, then judges calibrated against them."""
    near = None if start is None else start.btl
    btl = clone(stages.btl).fit_sample(sample, near, seed_offset)
    if start is not None:
        _check_votes(btl, start.btl)
    near = None if start is None else start.calibrator
    return _calibrate(stages, sample, btl, btl.transform(sample.X), near, seed_offset)


def _start_jointly(stages: Stages, sample: Sample) -> tuple[History, bool]:
    """The two-step fit, and whether it is one.

    Where votes alone give no finite scores on one scale, those of a ridge stand in.
    """
    with WarningLog() as of_votes:
        btl = clone(stages.btl).set_params(disconnected="warn").fit_sample(sample)
        is_finite = btl.connectivity_.is_connected and not btl.unbounded_.any()
        if not is_finite:
            votes = sample.X.is_human & sample.X.is_usable & ~sample.X.involves_new
            btl.set_params(alpha=1.0 / sample.weight[votes].sum())
            btl.fit_sample(sample)
    with WarningLog() as of_judges:
        start = _calibrate(stages, sample, btl, btl.transform(sample.X))
    told = [*of_votes.found, *of_judges.found]
    if not is_finite:
        # What votes alone leave open, the joint fit does not suffer from; and judges
        # look bad beside scores that are none.
        told = [w for w in of_judges.found if not isinstance(w, WeakJudgeWarning)]
    for found in told:
        warn(found)
    return start, is_finite


def _calibrate(
    stages: Stages,
    sample: Sample,
    btl: BTLRegressor,
    X: Comparisons,
    near: JudgeCalibrator | None = None,
    seed_offset: int = 0,
) -> History:
    """Calibrate the judges against the scores that the rows carry."""
    calibrator = clone(stages.calibrator) if len(X.judges) else NoJudges()
    calibrator.fit_sample(sample.with_battles(X), near, seed_offset)
    return History(btl, calibrator, calibrator.transform(X))


def _fit_in_turns(stages: Stages, sample: Sample, start: History) -> History:
    """Fit scores and judges together, from a two-step fit.

    A learner without a span sees only the scores that it is given: it is fitted again
    on those of the joint fit, in turn with it.
    """
    aside = separated_judges(sample.with_battles(start.X), start.calibrator)
    found = _step_jointly(stages, sample, start, aside)
    drifted = separated_judges(sample.with_battles(found.X), found.calibrator) - aside
    if drifted:
        warn(_of_drift(drifted))
        aside |= drifted
        found = _step_jointly(stages, sample, start, aside)
    learners = start.calibrator.biases_.values()
    if all(hasattr(learner, "span") for learner in learners):
        return found
    for _ in range(ROUNDS):
        with WarningLog():
            again = _calibrate(stages, sample, start.btl, found.X, found.calibrator)
        found = _step_jointly(stages, sample, again, aside)
    return found


def _of_drift(judges: Collection[Any]) -> WeakJudgeWarning:
    """Warn of judges that would measure scores without error."""
    return WeakJudgeWarning(
        f"Where judges {sorted(judges, key=str)[:5]} help to place the historical "
        "models, their verdicts are separated by the scores: no finite sensitivity "
        "fits them. They are calibrated, but have no say in those scores."
    )


def _fit_near(
    stages: Stages, sample: Sample, start: Chain, seed_offset: int
) -> History:
    """Fit scores and judges together, from the fit of nearly the same rows."""
    btl, calibrator = start.btl, start.calibrator
    X = calibrator.transform(btl.transform(sample.X))
    X = X.with_columns(scores=np.where(X.is_new, np.nan, start.scores))
    if all(map(_has_fixed_span, calibrator.biases_.values())):
        # Nothing of the learners depends on the rows that they see.
        known = History(btl, calibrator, X)
    else:
        known = _calibrate(stages, sample, btl, X, calibrator, seed_offset)
    return _step_jointly(stages, sample, known, start.aside, NEAR)


def _has_fixed_span(learner: Any) -> bool:
    """Whether a learner is linear in the features themselves."""
    return isinstance(learner, LinearBias) and learner.feature_map is None


def _step_jointly(
    stages: Stages,
    sample: Sample,
    start: History,
    aside: frozenset[Any],
    tol: float = EXACT,
) -> History:
    """Minimise the joint loss from where a history stands.

    Judges put aside are calibrated on what the others find.
    """
    X, calibrator = fit_jointly(
        sample.with_battles(start.X),
        start.calibrator,
        stages.btl.alpha,
        tol=tol,
        aside=aside,
    )
    assert X.scores is not None
    btl = copy(start.btl)
    scores = align(X.scores, X.models, btl.models_)
    btl.scores_ = pd.Series(scores, index=btl.scores_.index, name="score")
    btl.unbounded_ = np.abs(scores) >= btl.score_bound
    found = History(btl, calibrator, X, aside=aside)
    if not aside:
        return found
    with WarningLog():
        # The others are where their own likelihood has its maximum, and stay there.
        again = _calibrate(stages, sample, btl, X, calibrator)
    return replace(again, aside=aside)


def add_item_effects(
    stages: Stages,
    known: Fitted,
    sample: Sample,
    items: ItemCovariance | None,
    start: Chain | None = None,
) -> Fitted:
    """Fit the item effects beside judges and new scores, where there are any.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    known : History or Chain
        Fitted without item effects.
    sample : Sample
        Outcomes, weights and groups of its rows.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    start : Chain, optional
        What :func:`complete` returned for nearly the same rows.

    Returns
    -------
    History or Chain
        As ``known``.
    """
    if items is None:
        return known
    near = None if start is None else (start.X, start.calibrator)
    X, calibrator = fit_deviations(
        sample.with_battles(known.X),
        known.calibrator,
        items.covariance,
        near,
        joint=stages.fits_jointly(known.X),
    )
    return replace(known, X=X, calibrator=calibrator)


def complete(
    stages: Stages,
    plugged: Chain,
    sample: Sample,
    items: ItemCovariance | None,
    start: Chain | None = None,
    seed_offset: int = 0,
) -> Chain:
    """Add the item effects of one treatment and the Riesz weights.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    plugged : Chain
        What :func:`fit_stages` returned for the sample.
    sample : Sample
        Rows whose roles are decided.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    start : Chain, optional
        What this function returned for nearly the same rows.
    seed_offset : int, default=0
        As in :func:`fit_stages`.

    Returns
    -------
    Chain
    """
    chain = add_item_effects(stages, plugged, sample, items, start)
    X, calibrator, debiaser = chain.X, chain.calibrator, None
    if stages.debiaser is not None:
        debiaser = clone(stages.debiaser)
        debiaser.learner = calibrator.follow(debiaser.learner)
        if start is None:
            _warn_of_narrow_weights(calibrator, debiaser)
        debiaser.fit_sample(sample.with_battles(X), seed_offset=seed_offset)
    return replace(chain, debiaser=debiaser)


def _check_votes(btl: BTLRegressor, full: BTLRegressor) -> None:
    """Refuse a training set that places models worse than all rows do."""
    advice = Advice(Remedy.KEEP_VOTES_IN_FOLDS)
    absent = [m for m in full.models_.tolist() if m not in set(btl.models_.tolist())]
    if absent:
        raise BattlesError(
            f"The training set keeps no human row of models {absent[:5]}.",
            advice=advice,
        )
    loose = set(btl.models_[btl.unbounded_].tolist())
    loose -= set(full.models_[full.unbounded_].tolist())
    if loose:
        raise BattlesError(
            "Without the votes held out, the scores of models "
            f"{sorted(loose, key=str)[:5]} have no limit on one side (they never won, "
            "or never lost).",
            advice=advice,
        )


def _warn_of_narrow_weights(calibrator: JudgeCalibrator, debiaser: Any) -> None:
    """Warn where the bias may curve and the weights' functions may not."""
    narrow = [
        judge
        for judge, learner in calibrator.biases_.items()
        if not hasattr(learner, "span")
        and hasattr(learner_for(debiaser.learner, judge), "span")
    ]
    if narrow:
        warn(
            SkanchorWarning(
                f"The bias of judges {narrow[:5]} has a flexible learner, but the "
                "Riesz weights have one that is linear in fixed columns: the "
                "correction then misses what is between the two, and intervals may be "
                "too short. "
                "Set the debiaser's learner to 'calibrator', or leave debiaser at None."
            )
        )
