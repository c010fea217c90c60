"""Rows of new models (arrivals): admitted to a history, and assigned to its folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skanchor._battles import Comparisons, usable_features
from skanchor._battles.checks import graded_shares, warn_of_other_grades
from skanchor._battles.labels import argsort_labels, is_in
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.source_kfold import SourceKFold
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn


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
        warn(
            DataWarning(
                f"{past.sum()} rows compare historical models with each other; they "
                "place nobody and are left out. Add such rows to the history with "
                "update.",
                code="historical-rows",
            )
        )
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


def look_at_grades(admitted: Sample, facts: Mapping[str, Any]) -> None:
    """Warn of judges who graded the verdicts on old models or on new ones alone.

    Parameters
    ----------
    admitted : Sample
        Arrivals that the history can use.
    facts : mapping
        Facts about the history.
    """
    X, known = admitted.X, facts["graded_verdicts"]
    old = np.array([known.get(str(judge), 0.0) for judge in X.judges.tolist()])
    new, n_new = graded_shares(X, admitted.y, admitted.multiplicity, admitted.counts)
    # A history does not say how many verdicts a judge has there: many, by its purpose.
    many = np.full(len(old), 1e9)
    warn_of_other_grades(X.judges, old, new, many, n_new)


def with_models(models: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Sorted labels of historical and new models."""
    both = np.concatenate([models, new])
    return np.asarray(both[argsort_labels(both, "model_a and model_b")])


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
        warn(
            DataWarning(
                f"The features {list(names[:5])} are not used: the history was fitted "
                "without them.",
                code="unused-features",
                subject=names,
            )
        )


def _warn_of_judges(
    X: Comparisons, active: NDArray[np.bool_], judges: NDArray[Any]
) -> None:
    """Warn of rows by judges that the history has not calibrated."""
    counts = np.bincount(X.judge[active & (X.judge >= 0)], minlength=len(X.judges))
    strange = ~is_in(X.judges, judges.tolist()) & (counts > 0)
    if strange.any():
        warn(
            DataWarning(
                "The history does not know the judges "
                f"{X.judges[strange].tolist()[:5]} (it knows {judges.tolist()[:10]}); "
                f"their {counts[strange].sum()} rows are left out.",
                code="unknown-judges",
                subject=X.judges[strange],
            )
        )


def arrival_plans(
    sample: Sample,
    sizes: Sequence[int],
    random_state: Any,
    known: NDArray[np.intp] | None = None,
) -> list[FoldPlan]:
    """Assign arrivals to the folds of a history.

    Parameters
    ----------
    sample : Sample
        Arrivals with decided roles.
    sizes : sequence of int
        Number of folds of each repeat.
    random_state : int, RandomState or None
        Seed.
    known : ndarray of shape (n_repeats, n_groups), optional
        Fold of each group that the history has rows of; other groups have larger codes.

    Returns
    -------
    list of FoldPlan
    """
    if known is None:
        known = np.empty((len(sizes), 0), dtype=np.intp)
    folds = deal(sample, sizes, random_state, known)
    return [FoldPlan(*one) for one in zip(folds, sizes, strict=True)]


def deal(
    sample: Sample, sizes: Sequence[int], random_state: Any, known: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """Draw the fold of each row in each repeat, -1 where the row is not used.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles.
    sizes, random_state, known
        As in :func:`arrival_plans`.

    Returns
    -------
    list of ndarray of shape (n_rows,)
    """
    random = check_random_state(random_state)
    seeds = random.randint(np.iinfo(np.int32).max, size=len(sizes)).tolist()
    # Making a generator takes as long as drawing the folds, so one is reused for all
    # repeats; a generator that the user passed must not be seeded again.
    own = random if isinstance(random_state, Integral) else np.random.RandomState()
    folds = []
    for n_folds, seed, group_folds in zip(sizes, seeds, known, strict=True):
        own.seed(seed)
        folds.append(_drawn_folds(sample, n_folds, own, group_folds))
    return folds


def _drawn_folds(
    sample: Sample,
    n_folds: int,
    random: np.random.RandomState,
    group_folds: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Fold of each row in one repeat, -1 where the row is not used."""
    fold = np.full(len(sample), -1)
    rest, groups = np.flatnonzero(sample.counts), sample.groups
    if groups is not None:
        # A group that the history has rows of stays in its fold there.
        old = groups[rest] < len(group_folds)
        fold[rest[old]] = group_folds[groups[rest[old]]]
        rest = rest[~old]
    if not len(rest):
        return fold
    # Units that go to a fold as a whole: single rows, or groups.
    unit = np.arange(len(rest))
    if groups is not None:
        unit = np.unique(groups[rest], return_inverse=True)[1]
    n_units = int(unit.max()) + 1
    if n_units < n_folds:
        # SourceKFold needs at least one unit for each fold.
        fold[rest] = random.permutation(n_folds)[unit]
        return fold
    splitter = SourceKFold(n_folds, random_state=random)
    part = sample.X
    if len(rest) < len(part):
        part = part.without_features()[rest]
    fold[rest] = splitter.assign_folds(part, None if groups is None else unit)
    return fold


def check_groups_in_folds(
    plans: Sequence[FoldPlan],
    groups: NDArray[np.intp] | None,
    known: NDArray[np.intp] | None,
) -> None:
    """Refuse a plan that puts rows of one group into another fold than the history."""
    if groups is None or known is None:
        return
    for plan, group_folds in zip(plans, known, strict=True):
        for number, (_, test) in enumerate(plan):
            # Codes of the groups of the history come first.
            old = test[groups[test] < len(group_folds)]
            split = old[group_folds[groups[old]] != number]
            if len(split):
                raise ValueError(
                    f"cv puts row {int(split[0])} into fold {number}, but the history "
                    "holds rows of its group in another; a group must be held out as "
                    "a whole."
                )
