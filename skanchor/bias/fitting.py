"""The rows that a bias learner is fitted on, and the fit of one learner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skanchor._battles import FeaturePairs
from skanchor._typing import Array, Indices
from skanchor.exceptions import LearnerError, locate


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of a fit: the arguments of :meth:`BiasLearner.fit`.

    Attributes
    ----------
    pairs : FeaturePairs
        Features of the two responses.
    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Outcomes, or targets.
    weight : ndarray of shape (n_rows,)
        Row weights.
    parametric : ndarray of shape (n_rows, n_parametric)
        Columns that are fitted jointly with the bias; there may be none.
    bounds : (low, high)
        Bounds of their coefficients, for all or for each.
    """

    pairs: FeaturePairs
    y: Array
    weight: Array
    parametric: Array
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf)

    def __len__(self) -> int:
        return len(self.weight)

    def __getitem__(self, rows: Indices) -> TrainingRows:
        columns = ("pairs", "y", "weight", "parametric")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    def counted(self) -> TrainingRows:
        """Rows of positive weight, with weights of sum one."""
        rows = self[np.flatnonzero(self.weight > 0)]
        return replace(rows, weight=rows.weight / rows.weight.sum())

    def in_units_of_targets(self, loss: str) -> tuple[TrainingRows, Array]:
        """Rows with targets of mean square one, and the units, (n_targets,).

        All targets then count alike, whatever their units. ``y`` becomes of shape
        (n_rows, n_targets). Outcomes of the logistic loss have the unit one.
        """
        y = self.y.reshape(len(self), -1)
        unit = np.ones(y.shape[1])
        if loss == "squared":
            root = np.sqrt(self.weight @ y**2)
            unit = np.where(root > 0, root, 1.0)
        return replace(self, y=y / unit), unit


def fit_learner(
    learner: Any,
    rows: TrainingRows,
    judge: Any,
    *,
    start: Any = None,
    seed_offset: int = 0,
) -> Any:
    """Fit a learner in place, and name the judge in its errors.

    Parameters
    ----------
    learner : learner
        Unfitted.
    rows : TrainingRows
        What it is fitted on.
    judge : hashable
        Whose rows they are.
    start : learner, optional
        The same learner fitted on nearly the same rows.
    seed_offset : int, default=0
        Number of the training set. A cross-fit numbers its training sets, so that a
        learner has other seeds in each of them, and the average over the folds averages
        over seeds, too. Zero leaves the seeds as they are.

    Returns
    -------
    learner
    """
    if seed_offset:
        learner.set_params(**_derived_seeds(learner, seed_offset))
    # Learners of users need not take arguments that say nothing.
    options: dict[str, Any] = {} if start is None else {"start": start}
    if rows.parametric.shape[1]:
        options |= {"parametric": rows.parametric, "bounds": rows.bounds}
    try:
        learner.fit(rows.pairs, rows.y, rows.weight, **options)
    except LearnerError as error:
        raise LearnerError(
            f"The bias learner of judge {judge!r} failed: {error}"
        ) from error
    except Exception as error:
        locate(error, f"Bias of judge {judge!r}")
        raise
    return learner


def _derived_seeds(learner: Any, seed_offset: int) -> dict[str, int]:
    """Seeds by parameter, derived from those of a learner, its parts included."""
    return {
        name: int(
            np.random.SeedSequence([int(value), seed_offset]).generate_state(1)[0] >> 1
        )
        for name, value in learner.get_params().items()
        if name.split("__")[-1] == "random_state" and isinstance(value, Integral)
    }


def same_settings(first: Any, other: Any) -> bool:
    """Whether two learners have equal parameters.

    Parts that are estimators, or lists of them, are compared by their own parameters.

    Parameters
    ----------
    first, other : learner
        What is compared.

    Returns
    -------
    bool
    """
    if first is other:
        return True
    if type(first) is not type(other):
        return False
    if hasattr(first, "get_params"):
        first, other = first.get_params(deep=False), other.get_params(deep=False)
    if isinstance(first, dict):
        return first.keys() == other.keys() and all(
            same_settings(value, other[name]) for name, value in first.items()
        )
    if isinstance(first, (list, tuple)):
        return len(first) == len(other) and all(map(same_settings, first, other))
    return bool(np.all(first == other))
