"""The fit of the historical rows, in two steps or of votes and verdicts together."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from sklearn.base import clone

from skanchor._battles import Comparisons, align
from skanchor._btl import BTLRegressor
from skanchor._historical._joint import EXACT, NEAR, fit_jointly
from skanchor._historical._separation import runaway_judges, separated_judges
from skanchor._human_bias import Votes, fit_bias
from skanchor._judges import JudgeCalibrator, NoJudges
from skanchor._model.graph import components, pair_sums
from skanchor._numerics.parameters import PEOPLE
from skanchor._pipeline_fit import PipelineFit
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, WeakJudgeWarning
from skanchor.sample import Sample
from skanchor.warning_log import WarningLog, warn

ROUNDS = 2
"""Times that a learner without a span is fitted again on jointly fitted scores."""


class WarmStart(Protocol):
    """A fit of nearly the same rows, arrivals among them or not, to start from."""

    @property
    def btl(self) -> BTLRegressor:
        """The fitted stage of the human scores."""

    @property
    def calibrator(self) -> JudgeCalibrator:
        """The fitted stage of the judges: sensitivities, biases, position effects."""

    @property
    def scores(self) -> Array:
        """Scores of all models, in logits."""

    @property
    def excluded_judges(self) -> frozenset[Any]:
        """Judges without whose verdicts scores are fitted."""


@dataclass(frozen=True, slots=True)
class HistoricalFit:
    """Stages fitted on the historical rows, and rows with what they learned.

    Where the history is fitted jointly, in the fit of all rows ``two_step`` is the fit
    that it started from, if votes alone gave every score a finite value. Scores are
    fitted without the verdicts of ``excluded_judges``, which the scores separate.
    ``fit`` lays all of it out, once that was asked for.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    X: Comparisons
    two_step: HistoricalFit | None = None
    excluded_judges: frozenset[Any] = frozenset()
    fit: PipelineFit | None = None

    def with_scores(self, X: Comparisons) -> HistoricalFit:
        """The same history, its rows and the scores of its votes those of other rows.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores.

        Returns
        -------
        History
        """
        assert X.scores is not None
        btl = copy(self.btl)
        scores = align(X.scores, X.models, btl.models_)
        btl.scores_ = pd.Series(scores, index=btl.scores_.index, name="score")
        btl.unbounded_ = np.abs(scores) >= btl.score_bound
        return replace(self, btl=btl, X=X)

    def without_rows(self) -> HistoricalFit:
        """The same fit without the rows that it was made on."""
        return replace(self, X=self.X.without_rows(), two_step=None, fit=None)


def fit_history(
    stages: Stages,
    sample: Sample,
    start: WarmStart | None = None,
) -> HistoricalFit:
    """Fit what the historical rows alone decide.

    Parameters
    ----------
    stages, sample, start
        As in :func:`skanchor._chain.fit_stages`.

    Returns
    -------
    HistoricalFit
        It does not depend on rows of new models.
    """
    if not stages.fits_jointly(sample.X):
        return _fit_in_two_steps(stages, sample, start)
    if start is not None:
        return _fit_near(stages, sample, start)
    first, is_finite = _start_jointly(stages, sample)
    first = replace(first, fit=laid_out(stages, first, sample))
    found = _fit_in_turns(stages, sample, first)
    return replace(found, two_step=first if is_finite else None)


def _fit_in_two_steps(
    stages: Stages, sample: Sample, start: WarmStart | None
) -> HistoricalFit:
    """Scores by people's votes alone, then judges calibrated against them."""
    near = None if start is None else start.btl
    btl = clone(stages.btl).fit_sample(sample, near)
    if start is not None:
        _check_training_votes(btl, start.btl)
    near = None if start is None else start.calibrator
    return _calibrate(stages, sample, btl, btl.transform(sample.X), near)


def votes_identify(sample: Sample) -> bool:
    """Whether votes alone give all historical models finite scores on one scale."""
    X = sample.X
    votes = X.by_judge(PEOPLE)
    weight = np.where(X.is_usable & ~X.involves_new, sample.weight, 0.0)[votes.rows]
    y = np.where(weight > 0, sample.y[votes.rows], 0.0)
    wins, losses = (
        pair_sums(votes.left, votes.right, weight * won, len(X.models))
        for won in (y, 1.0 - y)
    )
    wins += losses.T
    old, context = ~X.is_new, X.items.context
    parts = components(wins > 0, "strong")[old]
    # Models of different contexts never meet.
    return len(np.unique(parts)) == len(np.unique(context[old]))


def _start_jointly(stages: Stages, sample: Sample) -> tuple[HistoricalFit, bool]:
    """The two-step fit, from which the joint fit starts, and whether it is valid.

    Where votes alone give no finite scores on one scale, it has those of a slight
    ridge, which serve as a start only.
    """
    with WarningLog() as of_votes:
        btl = clone(stages.btl).set_params(disconnected="warn").fit_sample(sample)
        voted = np.isfinite(btl.scores_for(sample.X.models)) | sample.X.is_new
        is_finite = (
            btl.connectivity_.is_connected
            and not btl.unbounded_.any()
            and bool(voted.all())
        )
        if not is_finite:
            votes = sample.X.is_human & sample.X.is_usable & ~sample.X.involves_new
            btl.set_params(alpha=1.0 / sample.weight[votes].sum())
            btl.fit_sample(sample)
    with WarningLog() as of_judges:
        X = btl.transform(sample.X)
        # A model without votes starts at zero, in the middle.
        X = X.with_columns(scores=np.where(voted, X.scores, 0.0))
        start = _calibrate(stages, sample, btl, X)
    warnings = [*of_votes.found, *of_judges.found]
    if not is_finite:
        # Warnings of votes that give no finite scores do not concern the joint fit, nor
        # do weak sensitivities against the scores of a ridge.
        warnings = [w for w in of_judges.found if not isinstance(w, WeakJudgeWarning)]
    for found in warnings:
        warn(found)
    return start, is_finite


def _calibrate(
    stages: Stages,
    sample: Sample,
    btl: BTLRegressor,
    X: Comparisons,
    near: JudgeCalibrator | None = None,
) -> HistoricalFit:
    """Calibrate the judges against the scores that the rows carry."""
    calibrator = clone(stages.calibrator) if len(X.judges) else NoJudges()
    calibrator.fit_sample(sample.with_battles(X), near)
    return HistoricalFit(btl, calibrator, calibrator.transform(X))


def _fit_in_turns(
    stages: Stages, sample: Sample, start: HistoricalFit
) -> HistoricalFit:
    """Fit scores and judges together, from a two-step fit.

    A learner without a span sees only the scores that it is given: it is fitted again
    on those of the joint fit, in turn with it.
    """
    # A judge whose verdicts the scores separate has no finite sensitivity. It would fix
    # score differences without error, so it takes no part in the scores.
    assert start.fit is not None
    excluded_judges = separated_judges(start.fit, start.calibrator)
    found = _step_jointly(stages, start, excluded_judges)
    # Judges that the joint scores separate, or whose sensitivity ran away, follow.
    assert found.fit is not None
    drifted = separated_judges(found.fit, found.calibrator)
    drifted |= runaway_judges(start.calibrator, found.calibrator)
    drifted -= excluded_judges
    if drifted:
        warn(_of_drift(drifted))
        excluded_judges |= drifted
        found = _step_jointly(stages, start, excluded_judges)
    if all(linearity(learner) == "fixed" for learner in _learners(start)):
        return found
    # Flexible learners and scores in turn: the learners see the latest joint scores.
    for _ in range(ROUNDS):
        with WarningLog():
            btl, X = _refit_bias(sample, found.btl, found.X)
            again = _calibrate(stages, sample, btl, X, found.calibrator)
        again = replace(again, fit=laid_out(stages, again, sample))
        found = _step_jointly(stages, again, excluded_judges)
    return found


def _of_drift(judges: Collection[Any]) -> WeakJudgeWarning:
    """Warn of judges that would measure scores without error."""
    named = sorted(judges, key=str)[:5]
    return WeakJudgeWarning(
        f"Where judges {named} help to place the historical models, their verdicts "
        "are separated by the scores, or nearly so: no finite sensitivity fits them. "
        "They are calibrated, but are excluded from the joint fit of those scores. "
        f"If intervals are wide, leave them out: without={named}.",
        code="separated-in-joint-fit",
        subject=sorted(judges, key=str),
    )


def _fit_near(stages: Stages, sample: Sample, start: WarmStart) -> HistoricalFit:
    """Fit scores and judges together, from the fit of nearly the same rows.

    Learners keep their columns.
    """
    btl, calibrator = start.btl, start.calibrator
    X = calibrator.transform(btl.transform(sample.X))
    X = X.with_columns(scores=np.where(X.is_new, np.nan, start.scores))
    known = HistoricalFit(btl, calibrator, X)
    known = replace(known, fit=laid_out(stages, known, sample))
    return _step_jointly(stages, known, start.excluded_judges, NEAR)


def _learners(known: HistoricalFit) -> list[Any]:
    """Fitted learners of all judges, and of people where they have a bias."""
    human = known.btl.bias_
    return [*known.calibrator.biases_.values(), *([] if human is None else [human])]


def _refit_bias(
    sample: Sample, btl: BTLRegressor, X: Comparisons
) -> tuple[BTLRegressor, Comparisons]:
    """Fit people's bias, where they have one, to the scores that the rows carry."""
    if btl.bias_ is None:
        return btl, X
    assert X.scores is not None
    votes = Votes.of(sample.with_battles(X))
    btl = copy(btl)
    btl.bias_ = fit_bias(votes, X.scores, btl.bias, btl.bias_)
    return btl, btl.transform(X).with_columns(scores=X.scores)


class FittedStages(Protocol):
    """Stages with the rows that they were fitted to."""

    @property
    def btl(self) -> BTLRegressor:
        """The fitted stage of the human scores."""

    @property
    def calibrator(self) -> JudgeCalibrator:
        """The fitted stage of the judges."""

    @property
    def X(self) -> Comparisons:  # noqa: N802 (the name that scikit-learn gives rows)
        """Rows with what the stages learned."""

    @property
    def fit(self) -> PipelineFit | None:
        """The stages in one vector; None where that was not asked for yet."""


def laid_out(stages: Stages, known: FittedStages, sample: Sample) -> PipelineFit:
    """Parameters of fitted stages in one vector.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    known : HistoricalFit or Chain
        Fitted, without item effects.
    sample : Sample
        Its rows.

    Returns
    -------
    PipelineFit
    """
    if known.fit is not None:
        return known.fit
    rows, alpha = sample.with_battles(known.X), stages.btl.alpha
    return PipelineFit.of(rows, known.calibrator, known.btl.bias_, alpha=alpha)


def _step_jointly(
    stages: Stages,
    start: HistoricalFit,
    excluded_judges: frozenset[Any],
    tol: float = EXACT,
) -> HistoricalFit:
    """Minimise the joint loss, from a fit of the history."""
    assert start.fit is not None
    fit = fit_jointly(
        start.fit, stages.btl.alpha, tol=tol, excluded_judges=excluded_judges
    )
    X, before = fit.annotate(start.X), start.X.scores
    assert X.scores is not None and before is not None
    # New scores stay what they are.
    X = X.with_columns(scores=np.where(X.is_new, before, X.scores))
    found = HistoricalFit(
        start.btl, fit.calibrated(), X, excluded_judges=excluded_judges, fit=fit
    ).with_scores(X)
    found.btl.bias_ = fit.voters()
    return found


def _check_training_votes(btl: BTLRegressor, full: BTLRegressor) -> None:
    """Refuse a training set that places models worse than all rows do."""
    advice = (
        "Use fewer folds (cv), add votes on them, or name them in new_models, so that "
        "judge rows place them, too."
    )
    absent = [m for m in full.models_.tolist() if m not in set(btl.models_.tolist())]
    if absent:
        raise BattlesError(
            f"The training set keeps no human row of models {absent[:5]}. {advice}"
        )
    loose = set(btl.models_[btl.unbounded_].tolist())
    loose -= set(full.models_[full.unbounded_].tolist())
    if loose:
        raise BattlesError(
            "Without the votes held out, the scores of models "
            f"{sorted(loose, key=str)[:5]} have no limit on one side (they never won, "
            f"or never lost). {advice}"
        )
