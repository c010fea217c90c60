"""Admission of battles to a ranking: decides roles, leaves out unusable rows.

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
from skanchor._sample.sample import Sample
from skanchor._sample.usable_judges import (
    leave_out_feature_separated,
    leave_out_judges,
    leave_out_little_history,
    warn_of_thin_judges,
)
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    DisconnectedError,
)
from skanchor.warning_log import WarningLog, warn


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
    everyone, admitted : Sample
    """
    battles = decide_roles(sample.X, sample.weight, new_models)
    check_ranking(battles, new_models)
    warn_of_contradicting_judges(battles, sample.y, sample.weight, sample.multiplicity)
    everyone = sample.with_battles(battles)
    if sample.groups is not None and len(battles.judges) > 1:
        group = np.unique(sample.groups, return_inverse=True)[1]
        warn_of_runs(battles, sample.y, group)
    grades = battles, sample.y, sample.multiplicity, everyone.counts
    warn_of_other_grades(battles.judges, *graded_verdicts(*grades))
    if btl.bias is not None:
        # Before anything is fitted: those of new models are no votes of the BTL.
        usable_features(battles, everyone.counts & battles.is_human)
    if jointly and len(battles.judges):
        bounded = leave_out_one_sided(everyone, btl)
    else:
        bounded = leave_out_separated(everyone, btl)
    check_contexts(everyone, bounded.X)
    X = bounded.X
    if not (bounded.counts & X.is_human & ~X.involves_new).any():
        raise BattlesError(
            "No human row is left between two of the "
            f"{np.count_nonzero(~X.is_new)} historical models "
            f"{X.models[~X.is_new].tolist()[:5]}, so human votes do not determine "
            "their scores. Add votes between them."
        )
    known = leave_out_little_history(leave_out_judges(bounded))
    warn_of_thin_judges(known)
    return everyone, leave_out_feature_separated(known, bias)


def warn_of_no_judges(sample: Sample) -> None:
    """Warn of a table all of whose rows count as human for want of a column."""
    inputs = sample.inputs
    if inputs.all_human:
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
        judges = X.judges.tolist()
        raise BattlesError(
            f"No row is by a human: column 'judge' holds {judges[:10]}. Rows of people "
            "have the label 'human'. If they have another label, name it in human. If "
            "all rows are a judge's, add the rows of people on the same models. In a "
            "cross-validation, split with SourceKFold, which keeps rows of every "
            "source in training; learning_curve needs shuffle=True as well."
        )
    if not X.is_new.any() and new_models is None:
        unjudged = "" if len(X.judges) else " (all rows, without a column 'judge')"
        raise BattlesError(
            f"There is no new model: every model has human rows{unjudged}. Name the "
            "models to treat as new in new_models, or none, new_models=[] "
            "(--no-new), for the historical leaderboard. In a cross-validation, "
            "split with SourceKFold, which keeps rows of every source in training; "
            "learning_curve needs shuffle=True as well.",
        )
    items = X.items
    n_contexts = max(len(items.contexts), 1)
    counts = np.bincount(items.context[~X.is_new], minlength=n_contexts)
    for code in np.flatnonzero(counts < 2)[:1].tolist():
        what = "Historical models with human rows"
        if len(items.contexts):
            what = f"Historical models with rows in context {items.contexts[code]!r}"
        raise BattlesError(
            f"{what}: {counts[code]}; at least two are needed for a scale. Add rows of "
            "others."
        )


def leave_out_separated(sample: Sample, btl: Any) -> Sample:
    """Leave out historical models without a score: bound on one side, or on the bound.

    At the maximum of the likelihood, infinitely far out, the votes on the former say
    nothing of the other models. On rows of either no judge can be calibrated: where
    they stand is a convention, not their score.
    """
    X = sample.X
    try:
        with WarningLog() as log:
            trial = clone(btl).fit_sample(sample)
    except DisconnectedError as error:
        if len(X.judges):
            raise DisconnectedError(f"{error} {_FIT_JOINTLY}") from None
        raise
    if not trial.unbounded_.any():
        # The chain will find the same, and warn of it.
        return sample
    for found in log.found:
        warn(found)
    graph, hint = trial.connectivity_, f" {_FIT_JOINTLY}" if len(X.judges) else ""
    lost = trial.models_[trial.unbounded_].tolist()
    if graph.is_separated:
        why, fault = "have no limit", _one_sided_by("Human votes", graph, sample)
    else:
        why, fault = (
            "lie on the bound",
            f"The scores of historical models {lost[:5]} lie on the bound of "
            f"{trial.score_bound} logits: no two models are left on a common scale.",
        )
    return _without_models(sample, lost, why, fault, hint)


_FIT_JOINTLY = "historical_fit='joint' can place them by judge rows."


def _ridge_advised(sample: Sample) -> str:
    """A slight ridge on the human scores, as code."""
    votes = sample.counts & sample.X.is_human
    alpha = slight_ridge(float(sample.weight[votes].sum()))
    return f"BTLRegressor(alpha={alpha})"


def slight_ridge(n_votes: float) -> float:
    """A ridge worth advising: as one observation of each score beside these votes.

    Its pull does not grow with the votes. One that does leaves intervals too short.
    ``n_votes`` may be the sum of their weights.
    """
    return float(f"{1.0 / max(n_votes, 1.0):.0e}")


def _one_sided_by(what: str, graph: Connectivity, sample: Sample) -> str:
    """Say why no two scores have limits on both sides, and what helps."""
    return (
        f"{what} bound the scores of all historical models on one side only: "
        f"{graph.separation()}. No two of them lie on a common scale. Add votes, or "
        f"set {_ridge_advised(sample)}."
    )


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
    held = {model for part in largest if len(part) > 1 for model in part}
    lost = [model for model in X.models[old].tolist() if model not in held]
    fault = _one_sided_by("Votes and verdicts together", graph, sample)
    return _without_models(sample, lost, "have no limit", fault)


def check_contexts(everyone: Sample, bounded: Comparisons) -> None:
    """Refuse contexts in which too few models have a score with limits.

    Parameters
    ----------
    everyone : Sample
        All rows in their roles.
    bounded : Comparisons
        The rows without models whose scores have no limit.
    """
    kept = bounded.models[~bounded.is_new]
    for context in everyone.X.items.contexts.tolist():
        if sum(label.context == context for label in kept) < 2:
            raise BattlesError(
                "Too few scores of historical models have limits on both sides in "
                f"context {context!r}: no two of them lie on a common scale. Add "
                f"votes, or set {_ridge_advised(everyone)}."
            )


def _without_models(
    sample: Sample, lost: list[Any], why: str, fault: str, hint: str = ""
) -> Sample:
    """Leave out models without a score, and warn of their rows.

    ``fault`` is the refusal where no two historical models are left.
    """
    X = sample.X
    is_kept = np.array([model not in lost for model in X.models.tolist()])
    if np.count_nonzero(is_kept & ~X.is_new) < 2:
        raise BattlesError(fault)
    kept = X.relabel(X.models[is_kept], X.judges)
    seen = X.is_usable & ~kept.is_usable & (sample.weight > 0)
    warn(
        DataWarning(
            f"The {sample.number(seen)} rows of models {lost[:5]}, whose scores {why}, "
            "are left out. Name them in new_models to place them with the judges' "
            f"help, add votes, or set {_ridge_advised(sample)}.{hint}",
            code="models-left-out",
            subject=lost,
        )
    )
    return sample.with_battles(kept)
