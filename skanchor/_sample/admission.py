"""Rows that a ranking is fitted to: what is refused, what is left out, what is told.

Every method that ranks new models uses it, the pipeline and the baselines alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._battles import Comparisons, decide_roles, usable_features
from skanchor._battles.checks import (
    graded_verdicts,
    warn_of_contradicting_judges,
    warn_of_other_grades,
    warn_of_runs,
)
from skanchor._model.graph import Connectivity
from skanchor._sample.judges import (
    leave_out_feature_separated,
    leave_out_judges,
    warn_of_thin_judges,
)
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError, DataWarning, DisconnectedError
from skanchor.warning_log import WarningLog, warn

_ALL_SOURCES = (
    "In a cross-validation, split with SourceKFold, which keeps rows of every source "
    "in training; learning_curve needs shuffle=True as well."
)


def admit_to_ranking(sample: Sample, new_models: Any) -> Sample:
    """Fix roles, leave out judges without history, refuse what cannot be ranked.

    Parameters
    ----------
    sample : Sample
        As a user gave it.
    new_models : sequence of labels or None
        Models with free scores; None means those without human rows.

    Returns
    -------
    Sample
        In the vocabulary of what is left, with its roles.

    Raises
    ------
    BattlesError
        If there is nothing to rank, no scale, or a new model that nothing places.
    """
    battles = decide_roles(sample.X, sample.weight, new_models)
    check_ranking(battles, new_models)
    return leave_out_judges(sample.with_battles(battles))


def admit_to_inference(
    sample: Sample,
    btl: Any,
    bias: Any,
    new_models: Sequence[Hashable] | None,
    *,
    jointly: bool,
) -> tuple[Sample, Sample]:
    """Rows in their roles, all of them and those that the chain of stages is fitted to.

    Parameters
    ----------
    sample : Sample
        As a user gave it.
    btl : BTLRegressor
        Stage 1, unfitted.
    bias : BiasLearner, str or dict
        Bias of the judges.
    new_models : sequence of labels or None
        Models to treat as new; None means those without human rows.
    jointly : bool
        Whether votes and verdicts decide the historical scores together.

    Returns
    -------
    all_rows, admitted : Sample
    """
    X = decide_roles(sample.X, sample.weight, new_models)
    check_ranking(X, new_models)
    sample = sample.with_battles(X)
    warn_of_contradicting_judges(X, sample.y, sample.weight, sample.times)
    if sample.groups is not None and len(X.judges) > 1:
        warn_of_runs(X, sample.y, np.unique(sample.groups, return_inverse=True)[1])
    grades = graded_verdicts(X, sample.y, sample.times, sample.counts)
    warn_of_other_grades(X.judges, *grades)
    if btl.bias is not None:
        # Before anything is fitted: those of new models are no votes of the BTL.
        usable_features(X, sample.counts & X.is_human)
    leave_out = leave_out_separated
    if jointly and len(X.judges):
        leave_out = leave_out_one_sided
    bounded = leave_out(sample, btl)
    X = bounded.X
    if not (bounded.counts & X.is_human & ~X.involves_new).any():
        raise BattlesError(
            "No human row is left between two of the "
            f"{np.count_nonzero(~X.is_new)} historical models "
            f"{X.models[~X.is_new].tolist()[:5]}, so human votes do not determine "
            "their scores. Add votes between them."
        )
    known = leave_out_judges(leave_out_judges(bounded), by_parameters=True)
    warn_of_thin_judges(known)
    return sample, leave_out_feature_separated(known, bias)


def warn_of_no_judges(sample: Sample) -> None:
    """Warn of a table all of whose rows count as human for want of a column."""
    if sample.inputs.all_human:
        n_rows = sample.number(sample.counts)
        warn(
            DataWarning(
                f"There is no column 'judge', so all {n_rows} rows count as human "
                "votes, and no row is by a judge. If a judge gave these outcomes, "
                "name it in a column 'judge', and add the votes of people.",
                code="no-judges",
                subject=["judge"],
            )
        )


def check_ranking(X: Comparisons, new_models: Any) -> None:
    """Refuse roles that leave nothing to rank or no scale to rank on."""
    if not (X.is_human & X.is_usable).any():
        raise BattlesError(
            f"No row is by a human: column 'judge' holds {X.judges.tolist()[:10]}. "
            "Rows of people have the label 'human'. If they have another label, name "
            "it in human. If all rows are a judge's, add the rows of people on the "
            f"same models. {_ALL_SOURCES}"
        )
    if not X.is_new.any() and new_models is None:
        unjudged = "" if len(X.judges) else " (all rows, without a column 'judge')"
        raise BattlesError(
            f"There is no new model: every model has human rows{unjudged}. Name the "
            "models to treat as new in new_models, or none, new_models=[] "
            f"(--no-new), for the historical leaderboard. {_ALL_SOURCES}"
        )
    for where, n_models in _historical_models(X):
        if n_models < 2:
            raise BattlesError(
                f"Historical models with human rows{where}: {n_models}; at least two "
                "are needed for a scale. Add rows of others."
            )


def _historical_models(X: Comparisons) -> list[tuple[str, int]]:
    """Number of historical models, of each context, with the words that name it."""
    contexts = X.items.contexts.tolist()
    code = X.items.context[~X.is_new]
    numbers = np.bincount(code, minlength=max(len(contexts), 1)).tolist()
    places = [f" in context {context!r}" for context in contexts] or [""]
    return list(zip(places, numbers, strict=True))


# ------------------------------------------------ historical models without a score
def leave_out_separated(sample: Sample, btl: Any) -> Sample:
    """Leave out historical models without a score: bound on one side, or on the bound.

    At the maximum of the likelihood, infinitely far out, the votes on the former say
    nothing of the other models. On rows of either no judge can be calibrated: where
    they stand is a convention, not their score.
    """
    hint = ""
    if len(sample.X.judges):
        hint = " historical_fit='joint' can place them by judge rows."
    try:
        with WarningLog() as log:
            trial = clone(btl).fit_sample(sample)
    except DisconnectedError as error:
        raise DisconnectedError(f"{error}{hint}") from None
    if not trial.unbounded_.any():
        # The chain will find the same, and warn of it.
        return sample
    log.hand_on()
    why = f"they lie on the bound of {trial.score_bound} logits"
    if trial.connectivity_.is_separated:
        why = f"in human votes, {trial.connectivity_.separation()}"
    return _without_models(sample, trial.models_[trial.unbounded_].tolist(), why, hint)


def leave_out_one_sided(sample: Sample, btl: Any) -> Sample:
    """Leave out historical models that votes and verdicts bound on one side only.

    Where judges help to place the historical models, a model that never won with people
    is placed by its judges; one that never won with any judge only by a ridge.
    """
    if btl.alpha > 0.0:
        return sample
    X = sample.X
    rows = sample.counts & ~X.involves_new
    left, right, y = X.left[rows], X.right[rows], sample.y[rows]
    # Wins of the row model over the column model, ties counted half, of people and
    # judges alike: only which of them are positive matters.
    wins = np.zeros((len(X.models),) * 2)
    np.add.at(wins, (left, right), y)
    np.add.at(wins, (right, left), 1.0 - y)
    old = ~X.is_new
    graph = Connectivity.of(wins[np.ix_(old, old)], X.models[old])
    if not graph.is_separated:
        return sample
    # Scores have limits within a strongly connected part: there, each model is ahead of
    # each other one along some chain of wins. Of each component the largest part stays.
    largest = {
        max((part for part in graph.strong_components if part[0] in whole), key=len)
        for whole in map(set, graph.components)
    }
    bounded = {model for part in largest if len(part) > 1 for model in part}
    lost = [model for model in X.models[old].tolist() if model not in bounded]
    why = f"in votes and verdicts together, {graph.separation()}"
    return _without_models(sample, lost, why)


def _without_models(
    sample: Sample, lost: list[Any], why: str, hint: str = ""
) -> Sample:
    """Leave out models without a score, warn of their rows, refuse what has no scale.

    ``why`` says why they have none, ``hint`` what else can place them.
    """
    X, votes = sample.X, sample.counts & sample.X.is_human
    alpha = slight_ridge(float(sample.weight[votes].sum()))
    is_kept = np.array([model not in lost for model in X.models.tolist()])
    kept = X.relabel(X.models[is_kept], X.judges)
    unused = X.is_usable & ~kept.is_usable & (sample.weight > 0)
    warn(
        DataWarning(
            f"The {sample.number(unused)} rows of models {lost[:5]}, whose scores have "
            "no limit or lie on the bound, are left out. Name them in new_models to "
            "place them with the judges' help, add votes, or set "
            f"BTLRegressor(alpha={alpha}).{hint}",
            code="models-left-out",
            subject=lost,
        )
    )
    is_scored = ~X.is_new & is_kept
    for code, (where, _) in enumerate(_historical_models(X)):
        if np.count_nonzero(is_scored & (X.items.context == code)) < 2:
            raise BattlesError(
                "Too few scores of historical models have limits on both sides"
                f"{where}: {why}. No two of them lie on a common scale. Add votes, or "
                f"set BTLRegressor(alpha={alpha})."
            )
    return sample.with_battles(kept)


def slight_ridge(n_votes: float) -> float:
    """A ridge worth advising: as one observation of each score beside these votes.

    Its pull does not grow with the votes. One that does leaves intervals too short.
    ``n_votes`` may be the sum of their weights.
    """
    return float(f"{1.0 / max(n_votes, 1.0):.0e}")
