"""The fit of many learners at once: one per judge, and per inner fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from skanchor.exceptions import LearnerError, locate


@dataclass(frozen=True, slots=True)
class FitTask:
    """The arguments of one call of :meth:`BiasLearner.fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor.bias import FitTask, LinearBias
    >>> pairs = np.array([[[1.0], [0.0]], [[0.0], [2.0]]])
    >>> task = FitTask(pairs, np.array([1.0, 0.0]))
    >>> task.sample_weight is None
    True
    """

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
    """Fit each learner on its task; those of equal settings together, if they can be.

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
    for learner in learners:
        derive_seeds(learner, seed_offset)
    # Groups of learners that are fitted in one call, the first that waits leading each.
    waiting = list(range(len(learners)))
    while waiting:
        together = _fitted_together(learners, tasks, waiting)
        waiting = [i for i in waiting if i not in together]
        try:
            _fit_group([learners[i] for i in together], [tasks[i] for i in together])
        except LearnerError as error:
            judge = names[together[error.problem]]
            raise LearnerError(
                f"The bias learner of judge {judge!r} failed: {error}"
            ) from error
        except Exception as error:
            judges = ", ".join(repr(names[i]) for i in together)
            locate(error, f"Bias of judge {judges}")
            raise


def _fitted_together(
    learners: Sequence[Any], tasks: Sequence[FitTask], waiting: Sequence[int]
) -> list[int]:
    """Numbers of the learners that are fitted with the first of those waiting."""
    first = learners[waiting[0]]
    if not hasattr(first, "fit_many"):
        return [waiting[0]]
    unshared = getattr(first, "unshared_params", ())
    width = np.shape(tasks[waiting[0]].parametric)[1:]
    return [
        i
        for i in waiting
        if np.shape(tasks[i].parametric)[1:] == width
        and same_settings(first, learners[i], unshared)
    ]


def _fit_group(learners: Sequence[Any], tasks: Sequence[FitTask]) -> None:
    first = learners[0]
    if hasattr(first, "fit_many"):
        first.fit_many(learners, tasks)
        return
    task = tasks[0]
    # Learners of a user's own need not know the arguments that are not given.
    given = {
        name: getattr(task, name)
        for name in ("parametric", "bounds", "start")
        if getattr(task, name) is not None
    }
    first.fit(task.X, task.y, task.sample_weight, **given)


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
