"""The stages fitted one after another: the plug-in, then item effects and weights."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from skanchor._crossfit.historical import fit_history
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.item_effects import ItemCovariance
from skanchor._sample.sample import Sample
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for
from skanchor.exceptions import ConvergenceWarning, SkanchorWarning
from skanchor.warning_log import warn


def fit_stages(stages: Stages, sample: Sample) -> FittedStages:
    """Fit the stages of the plug-in, each on what the earlier ones have learned.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided; weights of zero leave rows out.

    Returns
    -------
    FittedStages
        Without Riesz weights.
    """
    known = fit_history(stages, sample)
    arrival = clone(stages.arrival)
    arrival.fit_sample(sample.with_battles(known.X), known.fit)
    X = arrival.transform(known.X)
    return replace(known, arrival=arrival, X=X, fit=known.fit.with_new_scores(X))


def complete(
    stages: Stages,
    plugged: FittedStages,
    sample: Sample,
    items: ItemCovariance | None,
) -> FittedStages:
    """Add the item effects and the Riesz weights.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    plugged : FittedStages
        What :func:`fit_stages` returned for the sample.
    sample : Sample
        Rows whose roles are decided.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    FittedStages
    """
    X, calibrator, debiaser = plugged.X, plugged.calibrator, None
    btl = copy(plugged.btl)
    fit = plugged.fit.with_score_bounds(stages.arrival.score_bounds)
    if items is not None:
        fit = fit_item_effects(
            fit.with_item_effects(items.covariance),
            is_joint=plugged.is_joint,
            excluded_judges=plugged.excluded_judges,
        )
        X = fit.annotate(X).with_columns(item_covariance=items.covariance)
        if fit.has_history:
            calibrator = fit.calibrated()
        btl.bias_ = fit.voters()
    if stages.debiaser is not None:
        debiaser = clone(stages.debiaser)
        # Choices that the calibrator has made, of learners and ridges, are taken over.
        debiaser.learner = calibrator.follow(debiaser.learner)
        debiaser.set_params(human_bias=btl.bias_)
        _warn_of_narrow_weights(calibrator, debiaser)
        debiaser.fit_sample(sample.with_battles(X), fit)
    return replace(
        plugged, btl=btl, calibrator=calibrator, X=X, debiaser=debiaser, fit=fit
    )


def _warn_of_narrow_weights(calibrator: JudgeCalibrator, debiaser: Any) -> None:
    """Warn where the bias may curve and the weights' functions may not."""
    narrow = [
        judge
        for judge, learner in calibrator.biases_.items()
        if linearity(learner) != "fixed"
        and linearity(learner_for(debiaser.learner, judge)) == "fixed"
    ]
    if narrow:
        warn(
            SkanchorWarning(
                f"The bias of judges {narrow[:5]} has a flexible learner, but the "
                "Riesz weights have one that is linear in fixed columns: the "
                "correction then misses the part of the bias that is not linear, and "
                "intervals may be too short. Set the debiaser's learner to "
                "'calibrator', or leave debiaser at None.",
                code="narrow-weights",
                subject=narrow,
            )
        )


def fit_item_effects(
    start: PipelineFit, *, is_joint: bool, excluded_judges: Collection[Any] = ()
) -> PipelineFit:
    """Fit the item effects together with the judges and the new scores.

    Historical rows decide the parameters of the judges and the effects of historical
    models, with the scores fixed unless the history is fitted jointly. Rows of new
    models then decide their scores and effects. Without historical rows, the parameters
    of the history stay as they are.

    Parameters
    ----------
    start : PipelineFit
        The plug-in of the earlier stages, with the prior of the item effects. What of
        its learners is linear in coefficients is fitted again; the rest is held fixed.
    is_joint : bool
        Whether votes and verdicts decide the scores of historical models together.
    excluded_judges : collection of labels
        Judges excluded from these scores. They are calibrated to the scores that the
        others determine.

    Returns
    -------
    PipelineFit
    """
    steps = start.steps(excluded_judges, is_joint=is_joint)
    if not start.has_history:
        steps = steps[-1:]
    elif not is_joint:
        # Votes have decided the scores already.
        steps = steps[1:]
    found = start.fitted(steps)
    if not found.fit.converged:
        warn(
            ConvergenceWarning(
                "The fit of the item effects did not converge.",
                code="item-effects-not-converged",
            )
        )
    return found
