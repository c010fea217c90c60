"""The fit of many learners: one per judge, and per inner fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skanchor.exceptions import LearnerError, locate


@dataclass(frozen=True, slots=True)
class FitTask:
    """The arguments of one call of :meth:`BiasLearner.fit`."""

    X: Any
    y: Any
    sample_weight: Any = None
    parametric: Any = None
    bounds: Any = None
    start: Any = None


def fit_all(
    learners: Sequence[Any],
    tasks: Sequence[FitTask],
    names: Sequence[Any],
    seed_offset: int = 0,
) -> None:
    """Fit each learner on its task.

    Parameters
    ----------
    learners : sequence of learners
        Unfitted; they are fitted in place.
    tasks : sequence of FitTask
        One for each learner.
    names : sequence
        Judges, for the errors.
    seed_offset : int, default=0
        Number of the training set, from which :func:`derive_seeds` derives seeds.
    """
    for learner, task, judge in zip(learners, tasks, names, strict=True):
        derive_seeds(learner, seed_offset)
        # Learners of users need not take the arguments that are None.
        options = {
            name: getattr(task, name)
            for name in ("parametric", "bounds", "start")
            if getattr(task, name) is not None
        }
        try:
            learner.fit(task.X, task.y, task.sample_weight, **options)
        except LearnerError as error:
            raise LearnerError(
                f"The bias learner of judge {judge!r} failed: {error}"
            ) from error
        except Exception as error:
            locate(error, f"Bias of judge {judge!r}")
            raise


def derive_seeds(learner: Any, seed_offset: int) -> None:
    """Replace a learner's seeds by others, derived from them and from a number.

    A cross-fit numbers its training sets, so that a learner has another seed in each
    of them and the average over the folds averages over seeds, too.

    Parameters
    ----------
    learner : learner
        Unfitted; integer parameters named ``random_state``, those of its parts
        included, are replaced.
    seed_offset : int
        Number of the training set; zero leaves the seeds as they are.
    """
    if not seed_offset:
        return
    seeds = {
        name: _derived(int(value), seed_offset)
        for name, value in learner.get_params().items()
        if name.split("__")[-1] == "random_state" and isinstance(value, Integral)
    }
    learner.set_params(**seeds)


def _derived(seed: int, seed_offset: int) -> int:
    return int(np.random.SeedSequence([seed, seed_offset]).generate_state(1)[0] >> 1)


def same_settings(first: Any, other: Any, unshared: tuple[str, ...] = ()) -> bool:
    """Whether two learners have equal parameters, apart from those in ``unshared``.

    Parts that are estimators, or lists of them, are compared by their own parameters.

    Parameters
    ----------
    first, other : learner
        What is compared.
    unshared : tuple of str, default=()
        Parameters that may differ.

    Returns
    -------
    bool
    """
    if first is other:
        return True
    if type(first) is not type(other):
        return False
    if hasattr(first, "get_params"):
        ours, theirs = (
            {k: v for k, v in one.get_params(deep=False).items() if k not in unshared}
            for one in (first, other)
        )
        return ours.keys() == theirs.keys() and all(
            same_settings(ours[name], theirs[name]) for name in ours
        )
    if isinstance(first, (list, tuple)):
        return len(first) == len(other) and all(map(same_settings, first, other))
    return bool(np.all(first == other))
