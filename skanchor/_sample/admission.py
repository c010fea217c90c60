"""Rows that a ranking is fitted to: what is refused, what is left out, what is told.

Every method that ranks new models uses it, the pipeline and the baselines alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._battles import Comparisons, decide_roles, usable_features
from skanchor._battles.roles import lacking_source
from skanchor._model.graph import Connectivity
from skanchor._model.logistic import Separation, fit_logistic, separation_of
from skanchor._sample.judge_checks import check_judges
from skanchor._sample.sample import Sample
from skanchor.bias.protocol import span_names
from skanchor.bias.registry import learner_for
from skanchor.exceptions import BattlesError, DisconnectedError, SeparationWarning
from skanchor.warning_log import WarningLog, warn_of_data

ROWS_PER_PARAMETER = 5
"""Historical rows of a judge for its sensitivity and each feature; with fewer its bias
may be anything, and its one-step corrections harm the scores of all models."""

PILOT_ROWS = 2000
"""Rows of a judge that are looked at first: what separates all separates these."""

SEVERAL_JUDGES, ROWS_OF_SENSITIVITY = 5, 60
"""Judges, and historical rows of each, below which one sensitivity for all of them is
as good as one for each, or better: see docs/evidence/coverage.md."""


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
    check_judges(sample)
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
            f"{X.models[~X.is_new].tolist()[:5]}. Add votes between them."
        )
    calibrated = leave_out_judges(leave_out_judges(bounded), by_parameters=True)
    n_old = _verdicts(calibrated)[1]
    if len(n_old) >= SEVERAL_JUDGES and np.median(n_old) < ROWS_OF_SENSITIVITY:
        warn_of_data(
            "thin-judges",
            calibrated.X.judges,
            f"The {len(n_old):,} judges have {np.median(n_old):.0f} verdicts each on "
            f"historical models, in the median. Fewer than {ROWS_OF_SENSITIVITY} "
            "hardly show a sensitivity, so intervals are likely very wide. Fit judges "
            "that are alike as one (pool).",
        )
    return sample, leave_out_feature_separated(calibrated, bias)


def warn_of_no_judges(sample: Sample) -> None:
    """Warn of a table all of whose rows count as human for want of a column."""
    if sample.inputs.all_human:
        n_rows = sample.number(sample.counts)
        warn_of_data(
            "no-judges",
            ["judge"],
            f"There is no column 'judge', so all {n_rows} rows count as human votes. "
            "If a judge gave them, name it in that column, and add people's votes.",
        )


def check_ranking(X: Comparisons, new_models: Any) -> None:
    """Refuse roles that leave nothing to rank or no scale to rank on."""
    if not (X.is_human & X.is_usable).any():
        raise lacking_source(
            f"No row is by a human: column 'judge' holds {X.judges.tolist()[:10]}. "
            "Rows of people have the label 'human'; of another label, name it in "
            "human. If there are none, add the rows of people on the same models."
        )
    if not X.is_new.any() and new_models is None:
        unjudged = "" if len(X.judges) else " (all rows, without a column 'judge')"
        raise lacking_source(
            f"There is no new model: every model has human rows{unjudged}. Name the "
            "models to treat as new in new_models, or an empty list (--no-new) for "
            "the historical leaderboard."
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
        hint = " A joint historical_fit can place them by judge rows."
    try:
        with WarningLog() as log:
            trial = clone(btl).fit_sample(sample)
    except DisconnectedError as error:
        raise DisconnectedError(f"{error}{hint}") from None
    if not trial.unbounded_.any():
        # The chain will find the same, and warn of it.
        return sample
    log.reissue()
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
    left = X.relabel(X.models[is_kept], X.judges)
    unused = X.is_usable & ~left.is_usable & (sample.weight > 0)
    warn_of_data(
        "models-left-out",
        lost,
        f"Rows of models {lost[:5]}, whose scores have no limit or lie on the bound, "
        f"are left out: {sample.number(unused)}. Name them in new_models to place "
        "them with the judges' help, add votes, or set "
        f"BTLRegressor(alpha={alpha}).{hint}",
    )
    is_scored = ~X.is_new & is_kept
    for code, (where, _) in enumerate(_historical_models(X)):
        if np.count_nonzero(is_scored & (X.items.context == code)) < 2:
            raise BattlesError(
                "Too few scores of historical models have limits on both sides"
                f"{where}: {why}. No two of them lie on a common scale. Add votes, or "
                f"set BTLRegressor(alpha={alpha})."
            )
    return sample.with_battles(left)


def slight_ridge(n_votes: float) -> float:
    """A ridge worth advising: as one observation of each score beside these votes.

    Its pull does not grow with the votes. One that does leaves intervals too short.
    ``n_votes`` may be the sum of their weights.
    """
    return float(f"{1.0 / max(n_votes, 1.0):.0e}")


# --------------------------------------------- judges whose rows say nothing of models
def leave_out_judges(sample: Sample, *, by_parameters: bool = False) -> Sample:
    """Leave out judges without history; refuse new models that nothing else places.

    With ``by_parameters`` those that have fewer historical rows than their features
    ask for are left out, too, unless no other judge places some new model.
    """
    X, (n_rows, n_old), needed = sample.X, _verdicts(sample), 1
    if by_parameters:
        needed = ROWS_PER_PARAMETER * (1 + X.features_left.shape[1])
    few = X.judges[n_old < needed].tolist()
    left = X.relabel(X.models, X.judges[n_old >= needed])
    lost = _unplaced(sample, left)
    if by_parameters and (not few or not len(left.judges) or lost):
        return sample
    for judge, n, n_all in zip(X.judges, n_old, n_rows, strict=True):
        if n < needed:
            warn_of_data(
                "uncalibrated-judge",
                [judge],
                f"Judge {judge!r} has {n} historical rows, fewer than the {needed} "
                f"that calibrate it; its rows are left out: {n_all}.",
            )
    if lost or (few and not len(left.judges)):
        what = f"New model {lost[0]!r}" if lost else "The table"
        why = f" ({few} have no row between two models with votes)" if few else ""
        raise BattlesError(
            f"{what} has no comparison by a calibrated judge{why}. Add some by a judge "
            "that has compared old models, too."
        )
    used = left.is_usable & ~left.is_human & (sample.weight > 0)
    return sample.with_battles(usable_features(left, used))


def _verdicts(sample: Sample) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number of rows of the table by each judge, of all and of the historical ones."""
    old = sample.counts & ~sample.X.involves_new
    n_rows, n_old = sample.by_source(sample.counts)[1:], sample.by_source(old)[1:]
    return n_rows.astype(np.intp), n_old.astype(np.intp)


def _unplaced(sample: Sample, left: Comparisons) -> list[Any]:
    """New models that are in no usable row of positive weight."""
    seen = left.appearances(left.is_usable & (sample.weight > 0)) > 0
    return left.models[left.is_new & ~seen].tolist()


def leave_out_feature_separated(sample: Sample, bias: Any) -> Sample:
    """Leave out judges whose verdicts features settle, whatever the models.

    Their bias has no finite fit, and beside it their sensitivity has none: where a fit
    stops on its way to infinity is rounding, and so is what such rows then say of the
    models. That there is such a way is a matter of the features alone, and needs no
    score.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    bias : str, learner or dict
        Of the judges' calibrator.

    Returns
    -------
    Sample

    Raises
    ------
    BattlesError
        If no other judge places a new model, or none is left.
    """
    X, separating = sample.X, {}
    for m, judge in enumerate(X.judges.tolist() if X.feature_names else ()):
        columns = _separating_features(sample, m, clone(learner_for(bias, judge)))
        if columns:
            separating[judge] = columns
    if not separating:
        return sample
    is_kept = np.array([judge not in separating for judge in X.judges.tolist()])
    left = X.relabel(X.models, X.judges[is_kept])
    lost, n_rows = _unplaced(sample, left), _verdicts(sample)[0][~is_kept]
    for (judge, columns), n in zip(separating.items(), n_rows, strict=True):
        fault = f"The verdicts of judge {judge!r} are separated by {columns}"
        advice = (
            f"Leave out features (features) or judge {judge!r} (without), or set a "
            "ridge penalty (calibrator__bias__alpha)."
        )
        if lost or not len(left.judges):
            what = f"places new model {lost[0]!r}" if lost else "is left"
            raise BattlesError(
                f"{fault}, whatever the models, and no other judge {what}. {advice}"
            )
        warn_of_data(
            "separated-by-features",
            [judge],
            f"{fault}: no finite fit exists, and its rows say almost nothing about the "
            f"models. All {n} are left out. Is a feature made of the outcome? {advice}",
            SeparationWarning,
        )
    return sample.with_battles(left)


def _separating_features(sample: Sample, m: int, learner: Any) -> str:
    """Columns that separate half of a judge's historical verdicts; "" if none do."""
    X = sample.X
    cut = X.by_judge(m)
    used = np.flatnonzero(~X.involves_new[cut.rows] & sample.counts[cut.rows])
    if not (hasattr(learner, "fit_span") and len(used)):
        return ""
    rows, weight = cut.rows[used], np.ones(len(used))
    pairs, y = cut.pairs[used], sample.y[rows]
    learner.fit_span(pairs, weight)
    # A ridge keeps coefficients finite: only columns without one can separate.
    free = np.flatnonzero(learner.ridge(pairs, weight) == 0.0)
    pilot = np.arange(0, len(used), -(-len(used) // PILOT_ROWS))
    columns = learner.span(pairs[pilot])[:, free]
    # The fit by features alone, which is fast, tells whether there may be no end.
    if not len(free) or fit_logistic(columns, y[pilot], weight[pilot]).converged:
        return ""
    span = learner.span(pairs)
    split = separation_of(span[:, free], y, sample.multiplicity[rows])
    if not len(split.columns) or 2 * split.n_rows < sample.number(rows):
        return ""
    names = span_names(learner, tuple(X.feature_names), span.shape[1])
    return separating_columns(split, [f"feature {names[k]!r}" for k in free])


def separating_columns(split: Separation, names: Sequence[str]) -> str:
    """Name the columns that separate verdicts, given the names of all of them."""
    shown = ", ".join(names[k] for k in split.columns[:5])
    if split.alone:
        return shown
    return f"a combination of {len(split.columns)} columns, among them {shown}"
