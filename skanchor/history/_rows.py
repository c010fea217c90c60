"""Rows of a history, and of new models: admitted, in their roles, in its folds."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skanchor._battles import Comparisons, Outcomes, as_frame, usable_features
from skanchor._battles.grouping import (
    AUTO,
    PROMPT_COLUMN,
    find_groups,
    label_codes,
    prompt_groups,
)
from skanchor._battles.labels import is_in, sorted_labels
from skanchor._crossfit.folds import FoldPlan, make_plans
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history._state import HistoryState, warn_of_features
from skanchor.io import join_tables
from skanchor.warning_log import warn


# ------------------------------------------------------------------------- admission
def admit_rows(
    rules: RowRules,
    rows: tuple[Any, Any, Any, Any],
    *,
    are_stored: bool | None = None,
    lists_rows: bool = False,
) -> tuple[Sample, NDArray[Any] | None]:
    """Admit rows as the pipeline would.

    Parameters
    ----------
    rules : RowRules
        What becomes of ties and of weights.
    rows : tuple of (X, y, sample_weight, groups)
        As in :meth:`skanchor.AnchorPipeline.fit`.
    are_stored : bool, optional
        Whether the history to which they are added has groups; None where there is no
        history. By default, rows that are added to one without groups have none either.
    lists_rows : bool
        Whether rows that weights count are listed; otherwise they have numbers.

    Returns
    -------
    sample : Sample
    labels : ndarray or None
        Labels of the groups, by code.
    """
    X, y, sample_weight, groups = rows
    is_default = isinstance(groups, str) and groups == AUTO
    if is_default and are_stored is not None:
        groups, frame = None, None if isinstance(X, Comparisons) else as_frame(X)
        if frame is not None and PROMPT_COLUMN in frame.columns:
            # They may be few here, or not repeat, and yet be prompts of the history.
            prompts = prompt_groups(frame)
            groups = prompts if are_stored else None
            if not are_stored and len(prompts.labels) < len(frame):
                message = (
                    "The history has no groups of dependent rows, so that these "
                    f"rows count as independent, although {PROMPT_COLUMN!r} "
                    "repeats among them. Fit the history again with all rows."
                )
                code = "history-without-groups"
                warn(DataWarning(message, code=code, subject=[PROMPT_COLUMN]))
    row_groups = find_groups(groups, X, len(X))
    sample = Sample.from_battles(X, y, sample_weight, row_groups)
    if sample.raters is not None:
        sample = sample.without_raters()
        warn_of_raters(sample.inputs.n_raters)
    return rules.apply(sample, lists_rows=lists_rows), row_groups.labels


def warn_of_raters(number: int) -> None:
    """Warn of raters, whom the errors of a history do not allow for."""
    message = (
        "A history stores no sums by rater, so that its errors do not allow for "
        f"{number} raters who may differ. AnchorPipeline on all rows has errors by "
        "rater; groups by prompt_id leave raters out."
    )
    warn(DataWarning(message, code="raters-ignored"))


def admit_arrivals(sample: Sample, state: HistoryState) -> Sample:
    """Decide the roles of models, and admit the rows that a history can use.

    Every model that the history does not know is new.

    Parameters
    ----------
    sample : Sample
        All rows that the user gave.
    state : HistoryState
        The history. Models that it has left out are neither opponents nor new.

    Returns
    -------
    Sample
        Rows whose judge and opponents the history knows, encoded by its judges and by
        its models and the new ones.

    Raises
    ------
    BattlesError
        If there is no new model, if a new model has no admitted row, or if a feature is
        missing.
    """
    X, names = sample.X, state.features
    missing = [name for name in names if name not in X.feature_names]
    if missing and not X.is_human.all():
        raise BattlesError(
            f"The history was fitted with the features {list(names)[:20]}, of which "
            f"these rows lack {missing[:5]} (columns {missing[0] + '_a'!r}, "
            f"{missing[0] + '_b'!r})."
        )
    warn_of_features([name for name in X.feature_names if name not in names])
    X = X.with_features(names)
    historical = np.concatenate([state.models, state.lost])
    active = X.is_usable & (sample.weight > 0)
    seen = X.models[X.appearances(active) > 0]
    new = seen[~is_in(seen, historical.tolist())]
    if not len(new):
        raise BattlesError(
            "There is no new model: the history knows every model of these rows. Add "
            "such rows to the history with update."
        )
    X = X.with_columns(new_models=tuple(new.tolist()))
    # Rows between historical models belong to a history, not to arrivals.
    past = active & ~X.involves_new
    if past.any():
        message = (
            "Rows that compare historical models with each other place nobody and "
            f"are left out: {past.sum()}. Add such rows to the history with update."
        )
        warn(DataWarning(message, code="historical-rows"))
    inputs = replace(sample.inputs, features=names)
    sample = replace(sample.weighted(np.where(past, 0.0, sample.weight)), inputs=inputs)
    verdicts = active & ~past & (X.judge >= 0)
    counts = np.bincount(X.judge[verdicts], minlength=len(X.judges))
    strange = ~is_in(X.judges, state.judges.tolist()) & (counts > 0)
    if strange.any():
        message = (
            "The history does not know the judges "
            f"{X.judges[strange].tolist()[:5]} (it knows {state.judges.tolist()[:10]});"
            f" their rows are left out: {counts[strange].sum()}."
        )
        warn(DataWarning(message, code="unknown-judges", subject=X.judges[strange]))
    # Rows with other models or judges than these become unusable.
    models, _ = sorted_labels([state.models, new], "model_a and model_b")
    admitted = X.relabel(models, state.judges)
    used = admitted.is_usable & (sample.weight > 0)
    lonely = admitted.is_new & (admitted.appearances(used) == 0)
    if lonely.any():
        raise BattlesError(
            f"New model {admitted.models[lonely][0]!r} has no comparison with a model "
            "of the history by a judge that the history knows."
        )
    admitted = usable_features(admitted, used & ~admitted.is_human)
    return sample.with_battles(admitted)


def join_rows(past: Any, new_rows: Sequence[Any]) -> tuple[Any, Any, Any, Any]:
    """Concatenate two tuples of (X, y, sample_weight, groups).

    The last two may be missing in the first. A missing weight counts as one.
    """
    both = (*past, *(None, AUTO)[len(past) - 2 :]), new_rows
    frames = [as_frame(X) for X, *_ in both]
    if any(frame is None for frame in frames):
        raise TypeError("Rows are added to rows of a pandas, polars or pyarrow table.")
    tables = [frame.to_pandas() for frame in frames if frame is not None]
    y = [Outcomes.encode(outcomes, named=True).values for _, outcomes, *_ in both]
    weights = [one for _, _, one, _ in both]
    if any(one is not None for one in weights):
        pairs = zip(weights, map(len, tables), strict=True)
        weights = [np.ones(n) if one is None else np.asarray(one) for one, n in pairs]
    groups = [one for *_, one in both]
    named = [one is None or isinstance(one, str) for one in groups]
    if any(named) and not (all(named) and groups[0] == groups[1]):
        raise BattlesError(
            "Old and new rows need groups of one kind: none, those of a column that "
            "both have, or labels of all rows."
        )
    if not any(named):
        groups = [np.concatenate([np.asarray(one, dtype=object) for one in groups])]
    weight = None if weights[0] is None else np.concatenate(weights)
    return join_tables(tables), np.concatenate(y), weight, groups[0]


# ---------------------------------------------------------------------------- groups
def group_codes(
    labels: NDArray[Any] | None, state: HistoryState
) -> NDArray[np.int64] | None:
    """64-bit code of each group of arrivals, by which a history knows it.

    It is -1 for rows without a prompt, which are groups of their own. ``labels`` are
    those of the groups, by code.

    Raises
    ------
    BattlesError
        If the history has groups, and the rows have none, or the other way round.
    """
    are_stored = state.n_groups is not None
    if are_stored != (labels is not None):
        raise BattlesError(
            f"The history was fitted {'with' if are_stored else 'without'} groups of "
            "dependent rows: give the groups of these rows where it has some (their "
            "numbers if they are independent), and None where it has none. Or "
            "fit it again with all rows."
        )
    if labels is None:
        return None
    # Rows without a prompt have no label.
    is_alone = [label is None for label in labels.tolist()]
    return np.where(is_alone, -1, label_codes(labels, "groups"))


# ----------------------------------------------------------------------------- folds
def arrival_plans(
    cv: Any,
    sample: Sample,
    state: HistoryState,
    codes: NDArray[np.int64] | None,
    random_state: Any,
) -> list[FoldPlan]:
    """Folds of arrivals in each repeat: those given, or drawn ones.

    A group of which the history has rows is in its fold there.

    Parameters
    ----------
    cv : list of plans or None
        Folds; None draws them.
    sample : Sample
        Rows with decided roles.
    state : HistoryState
        The history.
    codes : ndarray of shape (n_groups,) or None
        Code of each group.
    random_state : int, RandomState or None
        Seed, which is left as it is.

    Returns
    -------
    list of FoldPlan

    Raises
    ------
    ValueError
        If the plans have other folds than the history, or tear its groups apart.
    """
    sizes, used = state.repeats, np.flatnonzero(sample.counts)
    stays, groups = np.full((len(sizes), len(sample)), -1), np.arange(len(sample))
    if sample.groups is not None and codes is not None:
        groups, old_folds = sample.groups, state.folds_of(codes)
        stays[:, used] = old_folds[:, groups[used]]
    if cv is not None:
        plans = make_plans(cv, len(sizes), sample, deepcopy(random_state))
        if [len(plan) for plan in plans] != list(sizes):
            raise ValueError(
                f"cv must have {list(sizes)} folds, as the history has, got "
                f"{[len(plan) for plan in plans]}."
            )
        for plan, fold in zip(plans, stays, strict=True):
            split = np.flatnonzero((fold >= 0) & (plan.fold != fold))
            if len(split):
                raise ValueError(
                    f"cv puts row {split[0]} into fold {plan.fold[split[0]]}, but the "
                    "history holds rows of its group in another; a group must be held "
                    "out as a whole."
                )
        return plans
    # The groups that a history knows are the same in each repeat.
    others = sample.weighted(np.where(stays[0] < 0, sample.weight, 0.0))
    units, unit = np.unique(groups[others.counts], return_inverse=True)
    plans = []
    for repeat, (n_folds, fold) in enumerate(zip(sizes, stays, strict=True)):
        seed = deepcopy(random_state)
        if len(units) >= n_folds:
            drawn = make_plans(n_folds, repeat + 1, others, seed)[repeat].fold
            fold[others.counts] = drawn[others.counts]
        else:
            # There are fewer units than folds, which a pipeline refuses.
            fold[others.counts] = check_random_state(seed).permutation(n_folds)[unit]
        plans.append(FoldPlan(fold, n_folds))
    return plans
