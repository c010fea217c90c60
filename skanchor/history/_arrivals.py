"""Rows of new models (arrivals): admitted to a history, and assigned to its folds.

Fingerprints of judges show whether a judge has changed since the history.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from skanchor._battles import Comparisons, as_frame, usable_features
from skanchor._battles.grouping import (
    AUTO,
    PROMPT_COLUMN,
    label_codes,
    prompt_groups,
)
from skanchor._battles.labels import is_in, sorted_labels
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.source_kfold import SourceKFold
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Battles, Sample
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn


# ------------------------------------------------------------------------- admission
def admit_rows(
    rules: RowRules,
    X: Battles,
    y: ArrayLike,
    sample_weight: Any,
    groups: Any,
    *,
    lists_rows: bool = True,
) -> tuple[Sample, NDArray[Any] | None]:
    """Admit rows of a history, or arrivals, as the pipeline would.

    Parameters
    ----------
    rules : RowRules
        What becomes of ties and of weights.
    X, y, sample_weight, groups
        As in :meth:`skanchor.AnchorPipeline.fit`.
    lists_rows : bool
        Whether rows that weights count are listed; otherwise they have numbers.

    Returns
    -------
    sample : Sample
    labels : ndarray or None
        Labels of the groups, by code.
    """
    sample, labels = Sample.admit_with_labels(X, y, sample_weight, groups)
    if sample.raters is not None:
        sample = sample.without_raters()
        warn_of_raters(sample.inputs.n_raters)
    return rules.apply(sample, lists_rows=lists_rows), labels


def refuse_unvoted(sample: Sample) -> None:
    """Refuse models without votes, which cannot be historical."""
    X, active = sample.X, sample.counts
    votes = X.appearances(active & X.is_human)
    unvoted = X.models[(X.appearances(active) > 0) & (votes == 0)].tolist()
    if unvoted and votes.any():
        raise BattlesError(
            f"Models {unvoted[:5]} have no human row: they are no history. Leave "
            "their rows out of the history, and place them with it.",
        )


def warn_of_raters(number: int) -> None:
    """Warn of raters, whom the errors of a history do not allow for."""
    message = (
        "A history stores no sums by rater, so that its errors do not allow for "
        f"{number} raters who may differ. AnchorPipeline on all rows has errors by "
        "rater; groups='prompt_id' leaves raters out."
    )
    warn(DataWarning(message, code="raters-ignored"))


def admit_arrivals(
    sample: Sample, known: Comparisons, lost: NDArray[Any]
) -> tuple[Sample, Sample]:
    """Decide the roles of models, and admit the rows that a history can use.

    Every model that the history does not know is new.

    Parameters
    ----------
    sample : Sample
        All rows that the user gave.
    known : Comparisons
        Models, judges and features of the history.
    lost : ndarray
        Models that the history left out. They are neither opponents nor new.

    Returns
    -------
    everyone : Sample
        All rows that involve a new model.
    admitted : Sample
        Rows whose judge and opponents the history knows, encoded by its judges and by
        its models and the new ones.

    Raises
    ------
    BattlesError
        If there is no new model, if a new model has no admitted row, or if a feature is
        missing.
    """
    X = _with_features(sample.X, known.feature_names)
    historical = np.concatenate([known.models, lost])
    active = X.is_usable & (sample.weight > 0)
    # New are all models of rows that are used, except those of the history, fitted or
    # left out.
    seen = X.models[X.appearances(active) > 0]
    new = seen[~is_in(seen, historical.tolist())]
    if not len(new):
        raise BattlesError(
            "There is no new model: the history knows every model of these rows. Add "
            "such rows to the history with update.",
        )
    X = X.with_columns(new_models=tuple(new.tolist()))
    # Rows between historical models belong to a history, not to arrivals.
    past = active & ~X.involves_new
    if past.any():
        message = (
            f"{past.sum()} rows compare historical models with each other; they "
            "place nobody and are left out. Add such rows to the history with "
            "update."
        )
        warn(DataWarning(message, code="historical-rows"))
    inputs = replace(sample.inputs, features=known.feature_names)
    sample = replace(sample.weighted(np.where(past, 0.0, sample.weight)), inputs=inputs)
    _warn_of_judges(X, active & ~past, known.judges)
    # Rows with other models or judges than these become unusable.
    everyone = X.relabel(with_models(historical, new), X.judges)
    admitted = X.relabel(with_models(known.models, new), known.judges)
    used = admitted.is_usable & (sample.weight > 0)
    placed = admitted.appearances(used) > 0
    lonely = admitted.models[admitted.is_new & ~placed].tolist()
    if lonely:
        raise BattlesError(
            f"New model {lonely[0]!r} has no comparison with a model of the history by "
            "a judge that the history knows."
        )
    admitted = usable_features(admitted, used & ~admitted.is_human)
    return sample.with_battles(everyone), sample.with_battles(admitted)


def with_models(models: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Sorted labels of historical and new models."""
    return sorted_labels([models, new], "model_a and model_b")[0]


def _with_features(X: Comparisons, names: tuple[str, ...]) -> Comparisons:
    """The rows with the features of the history; raise where one is missing."""
    missing = [name for name in names if name not in X.feature_names]
    if missing and not X.is_human.all():
        raise BattlesError(
            f"The history was fitted with the features {list(names)[:20]}, of which "
            f"these rows lack {missing[:5]} (columns {missing[0] + '_a'!r}, "
            f"{missing[0] + '_b'!r})."
        )
    warn_of_features([name for name in X.feature_names if name not in names])
    return X.with_features(names)


def warn_of_features(names: Sequence[str]) -> None:
    """Warn of features of added rows that the history was fitted without."""
    if names:
        message = (
            f"The features {list(names[:5])} are not used: the history was fitted "
            "without them."
        )
        warn(DataWarning(message, code="unused-features", subject=names))


def _warn_of_judges(
    X: Comparisons, active: NDArray[np.bool_], judges: NDArray[Any]
) -> None:
    """Warn of rows by judges that the history has not calibrated."""
    counts = np.bincount(X.judge[active & (X.judge >= 0)], minlength=len(X.judges))
    strange = ~is_in(X.judges, judges.tolist()) & (counts > 0)
    if strange.any():
        message = (
            "The history does not know the judges "
            f"{X.judges[strange].tolist()[:5]} (it knows {judges.tolist()[:10]}); "
            f"their {counts[strange].sum()} rows are left out."
        )
        warn(DataWarning(message, code="unknown-judges", subject=X.judges[strange]))


# ---------------------------------------------------------------------------- groups
def groups_of_arrivals(groups: Any, X: Battles, *, are_stored: bool) -> Any:
    """What ``groups="auto"`` stands for where rows are added to a history.

    Parameters
    ----------
    groups : array-like, str or None
        As a user gave them.
    X : battles table or Comparisons
        The rows that are added.
    are_stored : bool
        Whether the history has groups. Without any, rows that are added have none
        either.

    Returns
    -------
    array-like, str, RowGroups or None
    """
    if not isinstance(groups, str) or groups != AUTO:
        return groups
    frame = None if isinstance(X, Comparisons) else as_frame(X)
    if frame is None or PROMPT_COLUMN not in frame.columns:
        return None
    if are_stored:
        # They may be few here, or not repeat, and yet be prompts of the history.
        return prompt_groups(frame)
    prompts = frame[PROMPT_COLUMN].drop_nulls()
    if prompts.n_unique() < len(prompts):
        message = (
            "The history has no groups of dependent rows, so that these "
            f"rows count as independent, although {PROMPT_COLUMN!r} "
            "repeats among them. Fit the history again with all rows."
        )
        warn(
            DataWarning(message, code="history-without-groups", subject=[PROMPT_COLUMN])
        )
    return None


def group_codes(
    sample: Sample, labels: NDArray[Any] | None, *, are_stored: bool
) -> NDArray[np.int64] | None:
    """64-bit code of each group of arrivals, by which a history knows it.

    Parameters
    ----------
    sample : Sample
        Arrivals.
    labels : ndarray or None
        Labels of their groups, by code.
    are_stored : bool
        Whether the history has groups.

    Returns
    -------
    ndarray of shape (n_groups,) or None
        -1 for rows without a prompt, which are groups of their own.

    Raises
    ------
    BattlesError
        If one of the two has groups, and the other has none.
    """
    has_groups = labels is not None and sample.groups is not None
    if are_stored and not has_groups:
        raise BattlesError(
            "The history was fitted with groups of dependent rows; give the groups "
            "of these rows, too, or the numbers of the rows where these are "
            "independent."
        )
    if has_groups and not are_stored:
        raise BattlesError(
            "The history was fitted without groups of dependent rows, so that these "
            "rows cannot have any. Fit the history again with all rows.",
        )
    if labels is None or not has_groups:
        return None
    # Rows without a prompt have no label.
    is_alone = [label is None for label in labels.tolist()]
    return np.where(is_alone, -1, label_codes(labels, "groups"))


# ----------------------------------------------------------------------------- folds
def draw_plans(
    sample: Sample,
    sizes: Sequence[int],
    random_state: Any,
    known: NDArray[np.intp] | None = None,
) -> list[FoldPlan]:
    """Draw the folds of the rows that are used, in each repeat.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles.
    sizes : sequence of int
        Number of folds of each repeat.
    random_state : int, RandomState or None
        Seed.
    known : ndarray of shape (n_repeats, n_groups), optional
        Fold of each group that the history has rows of, -1 for others.

    Returns
    -------
    list of FoldPlan
    """
    random, plans = check_random_state(random_state), []
    seeds = random.randint(np.iinfo(np.int32).max, size=len(sizes)).tolist()
    for repeat, (n_folds, seed) in enumerate(zip(sizes, seeds, strict=True)):
        fold, groups = np.full(len(sample), -1), sample.groups
        rest = np.flatnonzero(sample.counts)
        if groups is not None and known is not None:
            # A group that the history has rows of stays in its fold there.
            fold[rest] = known[repeat][groups[rest]]
            rest = rest[fold[rest] < 0]
        if len(rest):
            own = np.random.RandomState(seed)
            fold[rest] = _drawn_folds(sample, rest, n_folds, own)
        plans.append(FoldPlan(fold, n_folds))
    return plans


def _drawn_folds(
    sample: Sample, rows: NDArray[np.intp], n_folds: int, random: np.random.RandomState
) -> NDArray[np.intp]:
    """Fold of some rows, in one repeat."""
    # Units that go to a fold as a whole: single rows, or groups.
    unit, groups = np.arange(len(rows)), None
    if sample.groups is not None:
        groups = unit = np.unique(sample.groups[rows], return_inverse=True)[1]
    if unit.max() + 1 < n_folds:
        # SourceKFold needs at least one unit for each fold.
        return random.permutation(n_folds)[unit]
    part = sample.X
    if len(rows) < len(part):
        part = part.without_features()[rows]
    return SourceKFold(n_folds, random_state=random).assign_folds(part, groups)


def check_given_plans(
    plans: Sequence[FoldPlan],
    sizes: Sequence[int],
    groups: NDArray[np.intp] | None,
    known: NDArray[np.intp] | None,
) -> None:
    """Refuse plans that have other folds than the history, or tear its groups apart.

    ``groups`` are those of the rows, of which the history has some in ``known`` folds.
    """
    found = [len(plan) for plan in plans]
    if found != list(sizes):
        raise ValueError(
            f"cv must have {list(sizes)} folds, as the history has, got {found}."
        )
    if groups is None or known is None:
        return
    for plan, group_folds in zip(plans, known, strict=True):
        own = group_folds[groups]
        split = np.flatnonzero((own >= 0) & (plan.fold >= 0) & (own != plan.fold))
        if len(split):
            raise ValueError(
                f"cv puts row {split[0]} into fold {plan.fold[split[0]]}, but the "
                "history holds rows of its group in another; a group must be held "
                "out as a whole."
            )


# ------------------------------------------------------------------------ fingerprints
def judge_fingerprint(*parts: str) -> str:
    """Fingerprint of a judge: a hash of everything that its verdicts depend on.

    Parameters
    ----------
    *parts : str
        Texts such as the name and version of the judge's model, its prompt, and its
        temperature.

    Returns
    -------
    str
        Sixteen hexadecimal digits, which depend on the parts and their order.

    Examples
    --------
    >>> from skanchor import judge_fingerprint
    >>> judge_fingerprint("gpt-4o-2024-08-06", "Which answer is better?")
    '38d7e385c462b9a5'
    """
    digest = hashlib.sha256()
    for part in parts:
        text = part.encode()
        # With the length of each part, different lists never give the same text.
        digest.update(f"{len(text)}:".encode() + text)
    return digest.hexdigest()[:16]


def check_fingerprints(
    known: Mapping[Any, str], given: Mapping[Any, str] | None
) -> None:
    """Refuse judges that have changed since the history was fitted.

    Parameters
    ----------
    known : mapping
        Fingerprints in the history, by judge.
    given : mapping or None
        Fingerprints of the judges of arrivals. None skips the check, with a warning
        where the history has fingerprints.

    Raises
    ------
    BattlesError
        If the fingerprint of a judge has changed.
    """
    if given is None:
        if known:
            message = (
                f"The history has fingerprints of judges {list(known)[:5]}, and "
                "none was given here, so nothing shows whether a judge has "
                "changed."
            )
            warn(DataWarning(message, code="no-fingerprints", subject=known))
        return
    changed = [
        judge for judge, own in known.items() if judge in given and given[judge] != own
    ]
    if changed:
        raise BattlesError(
            f"Judges {changed[:5]} have changed since the history was fitted: their "
            "fingerprints differ. Their old sensitivity and bias do not apply to "
            "their new verdicts. Calibrate the judge again on historical rows, under "
            "a new name, or leave its rows out. With fingerprints=None nothing is "
            "compared.",
        )
    unknown = [judge for judge in given if judge not in known]
    if unknown:
        message = (
            f"The history has no fingerprint of judges {unknown[:5]}, so it is "
            f"unknown whether they have changed."
        )
        warn(DataWarning(message, code="judges-without-fingerprint", subject=unknown))
