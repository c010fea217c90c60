"""The interface of a bias learner.

A bias learner models one response, ``psi(x)``; a comparison sees the contrast
``psi(x_a) - psi(x_b)``, which is antisymmetric by construction. The same class serves
two losses: ``"logistic"`` fits a judge's verdicts together with a few parametric
columns (the score difference, the display order), ``"squared"`` fits the weighted
least squares of the Riesz step, several targets at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import _check_sample_weight, validate_data

from skanchor.base import locate
from skanchor.comparisons import FeaturePairs
from skanchor.exceptions import LearnerError

__all__ = [
    "LEARNER_CONSTRAINT",
    "BiasLearner",
    "ContrastMixin",
    "LastStage",
    "Problem",
    "enter_pairs",
    "fit_all",
    "last_stage",
    "learner_for",
    "make_learner",
    "redraw",
    "rejoined",
    "same_settings",
    "simplest_within_error",
    "span_names",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """What one learner is fitted on: the arguments of :meth:`BiasLearner.fit`."""

    X: Any
    y: Any
    sample_weight: Any = None
    parametric: Any = None
    bounds: Any = None
    start: Any = None


@dataclass(frozen=True, slots=True)
class LastStage:
    """The part of a fitted psi that is linear in its coefficients.

    Attributes
    ----------
    columns : ndarray of shape (n_rows, n_columns)
        Contrasts that the coefficients weigh.
    ridge : ndarray of shape (n_columns,)
        Diagonal of the ridge penalty, beside the mean weighted loss.
    coef : ndarray of shape (n_columns,)
        Coefficients.
    rest : ndarray of shape (n_rows,) or float
        Contrasts of what is not linear in them.
    """

    columns: Array
    ridge: Array
    coef: Array
    rest: Array | float = 0.0


@runtime_checkable
class BiasLearner(Protocol):
    """What a learner of psi must offer; it is also a scikit-learn ``BaseEstimator``.

    Its constructor has a parameter ``loss`` with the values ``"logistic"`` and
    ``"squared"``; callers set it with ``set_params`` on a clone. Integer parameters
    named ``random_state``, those of its parts included, are replaced in every fold by
    seeds derived from them, so that a cross-fit averages over what is drawn.

    A learner whose contrasts lie in a fixed linear span may add ``span(pairs)``, of
    shape (n_rows, n_columns), and ``ridge(pairs, sample_weight)``, of shape
    (n_columns,): the Riesz weights are then exact and need no fit.

    A class that fits several problems faster together than one by one may add a class
    method ``fit_many(learners, problems)``, for learners of equal parameters.

    A fitted learner without a span whose last stage is linear in coefficients may add
    ``last_stage(pairs, sample_weight)``, a :class:`LastStage`, and ``rejoined(coef)``,
    a copy with other coefficients: item effects are then fitted jointly with that
    stage. Beside any other learner psi stays as it was fitted without them, and keeps
    what it has taken of the deviations.

    A learner that chooses settings of its own may add ``settled()``, an unfitted copy
    with the chosen ones: where both halves have the same learner, the Riesz weights
    take what the calibrator has chosen.
    """

    def fit(
        self,
        X: FeaturePairs,
        y: Array,
        sample_weight: Array | None = None,
        *,
        parametric: Array | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        start: Any = None,
    ) -> Self:
        """Fit psi on pairs.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses, n_rows pairs of n_features.
        y : ndarray of shape (n_rows,) or (n_rows, n_targets)
            Outcomes in [0, 1] for the logistic loss; targets of the contrast for the
            squared loss.
        sample_weight : ndarray of shape (n_rows,), optional
            Row weights, non-negative; rows of weight zero must count for nothing.
        parametric : ndarray of shape (n_rows, n_parametric), optional
            Logistic loss only: columns whose coefficients are fitted jointly with psi
            and stored as ``parametric_coef_``.
        bounds : (low, high), optional
            Bounds of the parametric coefficients, for all or for each.
        start : learner, optional
            The same learner fitted on nearly the same rows; may be ignored.
        """
        ...

    def contrast(self, X: FeaturePairs) -> Array:
        """Return psi(left) - psi(right), (n_rows,) or (n_rows, n_targets)."""
        ...


class ContrastMixin:
    """Derive :meth:`contrast` from a method ``psi(features)``."""

    def psi(self, features: Array) -> Array:
        """Bias of single responses, of shape (n_rows,) or (n_rows, n_targets)."""
        raise NotImplementedError

    def contrast(self, X: FeaturePairs) -> Array:
        """Bias of the first response minus that of the second.

        Parameters
        ----------
        X : FeaturePairs
            Features of the two responses.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_targets)
        """
        pairs = FeaturePairs.of(X)
        return self.psi(pairs.left) - self.psi(pairs.right)


# Names are checked by make_learner, the one place that knows them.
LEARNER_CONSTRAINT: list[Any] = [
    str,
    HasMethods(["fit", "contrast", "set_params"]),
    dict,
]


def make_learner(bias: Any) -> BiasLearner:
    """Turn the name of a learner into a learner; a learner comes back as it is."""
    if isinstance(bias, str):
        # Imported here: these modules import this one.
        from skanchor.bias import AutoBias, BoostedBias, LinearBias, NetworkBias

        known: dict[str, Any] = {
            "linear": LinearBias,
            "network": NetworkBias,
            "boosted": BoostedBias,
            "auto": AutoBias,
        }
        if bias not in known:
            raise ValueError(
                f"Unknown bias learner {bias!r}; known names are {list(known)}."
            )
        return known[bias]()  # type: ignore[no-any-return]
    missing = [m for m in ("fit", "contrast", "set_params") if not hasattr(bias, m)]
    if missing:
        raise TypeError(f"bias learner {bias!r} lacks {', '.join(missing)}().")
    return bias  # type: ignore[no-any-return]


def learner_for(bias: Any, judge: Any) -> BiasLearner:
    """Pick the learner of one judge from a name, a learner or a dict by judge."""
    if isinstance(bias, Mapping):
        if judge not in bias:
            raise ValueError(
                f"The dict of bias learners has no entry for judge {judge!r}; it has "
                f"{list(bias)}."
            )
        bias = bias[judge]
    return make_learner(bias)


def last_stage(learner: Any, pairs: FeaturePairs, weight: Array) -> LastStage | None:
    """Return what of a fitted learner is linear in coefficients, if anything is."""
    if not pairs.n_features:
        return None
    if hasattr(learner, "last_stage"):
        found: LastStage = learner.last_stage(pairs, weight)
        return found
    if hasattr(learner, "span"):
        return LastStage(
            learner.span(pairs), learner.ridge(pairs, weight), learner.coef_
        )
    return None


def rejoined(learner: Any, coef: Array) -> Any:
    """Copy of a fitted learner with other coefficients of its last stage."""
    if hasattr(learner, "rejoined"):
        return learner.rejoined(coef)
    updated = copy(learner)
    updated.coef_ = coef
    return updated


def fit_all(
    learners: Sequence[Any],
    problems: Sequence[Problem],
    names: Sequence[Any],
    draw: int = 0,
) -> None:
    """Fit each learner on its problem, those that can together.

    Parameters
    ----------
    learners : sequence of learners
        Unfitted; they are fitted in place.
    problems : sequence of Problem
        One for each learner.
    names : sequence
        Judges, for the errors.
    draw : int, default=0
        Number of the training set; but for number zero, seeds are replaced by those
        that :func:`redraw` derives.
    """
    for learner in learners:
        redraw(learner, draw)
    waiting = list(range(len(learners)))
    while waiting:
        first = learners[waiting[0]]
        together = waiting[:1]
        if hasattr(first, "fit_many"):
            own = getattr(first, "_own_parameters", ())
            together = [i for i in waiting if same_settings(first, learners[i], own)]
        waiting = [i for i in waiting if i not in together]
        try:
            if hasattr(first, "fit_many"):
                first.fit_many(
                    [learners[i] for i in together], [problems[i] for i in together]
                )
            else:
                given = problems[together[0]]
                extra = {
                    name: getattr(given, name)
                    for name in ("parametric", "bounds", "start")
                    if getattr(given, name) is not None
                }
                first.fit(given.X, given.y, given.sample_weight, **extra)
        except LearnerError as error:
            judge = names[together[error.problem]]
            raise LearnerError(
                f"The bias learner of judge {judge!r} failed: {error}"
            ) from error
        except Exception as error:
            judges = ", ".join(repr(names[i]) for i in together)
            locate(error, f"Bias of judge {judges}")
            raise


def redraw(learner: Any, draw: int) -> None:
    """Give a learner seeds of its own, derived from its seeds and a number.

    Parameters
    ----------
    learner : learner
        Unfitted; integer parameters named ``random_state``, those of its parts
        included, are replaced.
    draw : int
        Zero leaves them as they are.
    """
    if not draw:
        return
    seeds = {
        name: int(np.random.SeedSequence([int(value), draw]).generate_state(1)[0] >> 1)
        for name, value in learner.get_params().items()
        if name.split("__")[-1] == "random_state" and isinstance(value, Integral)
    }
    learner.set_params(**seeds)


def same_settings(first: Any, other: Any, but: tuple[str, ...] = ()) -> bool:
    """Whether two learners differ in no more than the parameters named in ``but``.

    Their parts, estimators or lists of them, are compared alike.
    """
    if first is other:
        return True
    if type(first) is not type(other):
        return False
    if hasattr(first, "get_params"):
        # Parts that are estimators are compared by their own parameters.
        ours, theirs = (
            {k: v for k, v in one.get_params(deep=False).items() if k not in but}
            for one in (first, other)
        )
        return ours.keys() == theirs.keys() and all(
            same_settings(ours[name], theirs[name]) for name in ours
        )
    if isinstance(first, (list, tuple)):
        return len(first) == len(other) and all(map(same_settings, first, other))
    return bool(np.all(first == other))


def simplest_within_error(terms: Array) -> int:
    """First column whose sum exceeds the least by no more than its standard error.

    Parameters
    ----------
    terms : ndarray of shape (n_rows, n_choices)
        Held-out loss of each row under each choice, the simplest choice first.

    Returns
    -------
    int
    """
    best = int(np.argmin(terms.sum(axis=0)))
    gaps = terms - terms[:, [best]]
    error = np.sqrt(len(gaps)) * gaps.std(axis=0)
    return int(np.argmax(gaps.sum(axis=0) <= error))


def enter_pairs(
    learner: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[FeaturePairs, Array, Array]:
    """Take encoded pairs as they are; validate arrays."""
    if isinstance(X, FeaturePairs):
        learner.n_features_in_ = X.left.shape[1]
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        return X, np.asarray(y, dtype=np.float64), weight
    squared = learner.loss == "squared"
    X, y = validate_data(
        learner, X, y, dtype=np.float64, y_numeric=True, multi_output=squared
    )
    y = y.astype(np.float64)
    if not squared and not ((y >= 0) & (y <= 1)).all():
        raise ValueError("Outcomes must be in [0, 1] for loss='logistic'.")
    weight = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not weight.any():
        raise ValueError("Sample weights are all zero.")
    return FeaturePairs.of(X), y, weight


def span_names(learner: Any, features: tuple[str, ...], size: int) -> list[str]:
    """Distinct names of the columns of a learner's span.

    They are the features', or what its feature map makes of them; where that has no
    names to give, columns are numbered.
    """
    names = list(features)
    feature_map = getattr(learner, "feature_map_", None)
    if feature_map is not None:
        try:
            names = list(feature_map.get_feature_names_out(np.array(names, object)))
        except (AttributeError, ValueError):
            names = []
    names = [str(name) for name in names]
    if len(set(names)) != size or len(names) != size:
        return [f"column {i} of the feature map" for i in range(size)]
    return names
