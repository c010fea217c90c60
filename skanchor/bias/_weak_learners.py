"""Weak learners of boosting, on responses: histogram trees, or any regressor.

Both kinds ``encode`` features once, are ``fit`` to the pseudo-residuals of
comparisons (the first response gets r, the second -r), and ``predict`` from what was
encoded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from skanchor._typing import Array
from skanchor.bias._trees import Bins, Tree, grow_tree
from skanchor.exceptions import LearnerError

GUIDES = 4
"""Mixtures of targets that choose the splits of the default trees."""


class WeakLearners(Protocol):
    """A kind of weak learner."""

    def encode(self, features: Array) -> Any:
        """Features of responses, as ``fit`` and ``predict`` take them."""
        ...

    def fit(
        self, left: Any, right: Any, residual: Array, weight: Array, number: int
    ) -> Any:
        """Fit the weak learner of one round to rows of positive weight.

        Parameters
        ----------
        left, right : object
            Encoded features of the two responses.
        residual : ndarray of shape (n_rows, n_targets)
            Pseudo-residuals.
        weight : ndarray of shape (n_rows,)
            Row weights.
        number : int
            Number of the round.

        Returns
        -------
        object
            For ``predict``.
        """
        ...

    def predict(self, learner: Any, encoded: Any) -> Array:
        """Values of encoded responses, of shape (n_rows, n_targets)."""
        ...


@dataclass(frozen=True, slots=True)
class HistogramTrees:
    """Trees on binned features, each on a few features drawn at random.

    Attributes
    ----------
    bins : Bins
        Bins of the features.
    seed : int
        Seed of the first round.
    max_depth, max_features, min_leaf : number
        Parameters of :class:`skanchor.bias.BoostedBias`.
    """

    bins: Bins
    seed: int
    max_depth: int
    max_features: int
    min_leaf: float

    def encode(self, features: Array) -> NDArray[np.intp]:
        return self.bins.codes(features)

    def fit(
        self,
        left: NDArray[np.intp],
        right: NDArray[np.intp],
        residual: Array,
        weight: Array,
        number: int,
    ) -> Tree:
        used, stacked, row_weight = _stack_responses(residual, weight)
        random = np.random.default_rng(self.seed + number)
        guide = stacked
        if stacked.shape[1] > GUIDES:
            # Many targets share splits that a few random mixtures can choose.
            guide = stacked @ random.normal(size=(stacked.shape[1], GUIDES))
        # Features of this tree; rows of the codes, of shape (n_features, n_responses).
        chosen = np.sort(random.permutation(len(left))[: self.max_features])
        tree = grow_tree(
            np.hstack([left[np.ix_(chosen, used)], right[np.ix_(chosen, used)]]),
            self.bins.size,
            stacked,
            row_weight,
            guide=guide,
            max_depth=self.max_depth,
            min_weight=self.min_leaf,
        )
        # The tree numbers the features that it was given; back to all features.
        return replace(tree, feature=chosen[tree.feature])

    def predict(self, learner: Tree, encoded: NDArray[np.intp]) -> Array:
        return learner.predict(encoded)


@dataclass(frozen=True, slots=True)
class Regressors:
    """Clones of a scikit-learn regressor, one for each target unless it takes many.

    Attributes
    ----------
    regressor : regressor
        Unfitted.
    seed : int
        Seed of the first round's regressor, where it takes one.
    """

    regressor: Any
    seed: int

    def encode(self, features: Array) -> Array:
        return features

    def fit(
        self, left: Array, right: Array, residual: Array, weight: Array, number: int
    ) -> list[Any]:
        used, targets, row_weight = _stack_responses(residual, weight)
        responses = np.vstack([left[used], right[used]])
        weak = clone(self.regressor)
        if "random_state" in weak.get_params():
            weak.set_params(random_state=(self.seed + number) % (2**31 - 1))
        extra: dict[str, Any] = {}
        if has_fit_parameter(weak, "sample_weight"):
            extra["sample_weight"] = row_weight * (len(row_weight) / row_weight.sum())
        elif not np.allclose(row_weight, row_weight[0]):
            raise LearnerError(
                f"the weak learner {type(weak).__name__} takes no sample_weight, but "
                "the rows have different weights."
            )
        # One regressor for all targets, if it takes several; else one for each.
        if targets.shape[1] == 1 or get_tags(weak).target_tags.multi_output:
            y = targets[:, 0] if targets.shape[1] == 1 else targets
            return [weak.fit(responses, y, **extra)]
        return [clone(weak).fit(responses, y, **extra) for y in targets.T]

    def predict(self, learner: list[Any], encoded: Array) -> Array:
        columns = [np.asarray(one.predict(encoded), dtype=float) for one in learner]
        for one, values in zip(learner, columns, strict=True):
            if values.ndim > 2 or len(values) != len(encoded):
                raise LearnerError(
                    f"the weak learner {type(one).__name__} predicted shape "
                    f"{values.shape} for {len(encoded)} rows."
                )
            if not np.isfinite(values).all():
                raise LearnerError(
                    f"the weak learner {type(one).__name__} predicted NaN or infinite "
                    "values."
                )
        return np.column_stack(columns)


def _stack_responses(
    residual: Array, weight: Array
) -> tuple[NDArray[np.intp], Array, Array]:
    """Rows of positive weight; targets and weights of their responses, all first ones
    before all second ones."""
    used = np.flatnonzero(weight > 0)
    stacked = np.vstack([residual[used], -residual[used]])
    return used, stacked, np.tile(weight[used], 2) / 2.0
