"""Bradley-Terry-Luce scores of the historical models from human votes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import expit, ndtri
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length

from skanchor._checks import check_level
from skanchor._numerics.btl import PairCounts, fit_scores, laplacian_inverse
from skanchor._numerics.graph import Connectivity, describe_connectivity
from skanchor._typing import Array
from skanchor.base import ComparisonEstimator
from skanchor.comparisons import Comparisons, align, is_constant
from skanchor.exceptions import (
    Advice,
    BattlesError,
    BoundWarning,
    ConvergenceWarning,
    DataWarning,
    DisconnectedError,
    Remedy,
    SeparationWarning,
)
from skanchor.sample import WEIGHTS, Sample
from skanchor.warning_log import warn

__all__ = ["BTLRegressor"]


LEAST_NOISE = 1e-26
"""Variance of outcomes, in that of votes, below which it is rounding."""

ELO_SCALE = 400.0 / np.log(10.0)
"""Elo points per logit."""


class BTLRegressor(ComparisonEstimator):
    """Bradley-Terry-Luce scores by maximum likelihood, with their covariance.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge: half the squared norm of the scores beside the mean loss.
    score_bound : float, default=15.0
        Bound on the absolute scores, in logits.
    covariance : {"sandwich", "fisher", "clustered"}, default="sandwich"
        Covariance of the scores. ``"sandwich"`` sums score vectors over ``groups``
        where they are given to ``fit``; ``"clustered"`` insists on them.
    disconnected : {"raise", "warn"}, default="raise"
        What to do when the comparisons do not join all models. With ``"warn"`` the
        scores of each component are centred on their own.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model that ``fit`` has not scored.
    tol : float, default=1e-10
        Tolerance on the gradient per unit weight.
    max_iter : int, default=100
        Most Newton steps.
    weights : {"importance", "frequency"}, default="importance"
        What ``sample_weight`` is: with ``"frequency"`` a number of equal votes, for the
        covariance of the table that lists them all. Scores are the same.

    Attributes
    ----------
    models_ : ndarray of shape (n_models,)
        Models with votes.
    scores_ : Series
        Scores in logits by model; they sum to zero.
    covariance_ : ndarray of shape (n_models, n_models)
        Covariance of the scores; infinite variance marks a score that the votes
        bound on one side only.
    connectivity_ : Connectivity
        Components, strong components, models that never won or never lost.
    unbounded_ : ndarray of shape (n_models,)
        Whether the votes bound a model's score on one side only, or it lies on
        ``score_bound``.
    converged_ : bool
        Whether the solver converged.
    n_iter_ : int
        Newton steps taken.

    Raises
    ------
    DisconnectedError
        If the comparisons leave the models in several components.

    Notes
    -----
    Solves eq:human-estimation-v2 from the K x K win counts, so the cost of a step does
    not depend on the number of votes. Ties enter as half a win and one row.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import BTLRegressor
    >>> X = pd.DataFrame({"model_a": ["x", "x", "y"], "model_b": ["y", "y", "x"]})
    >>> btl = BTLRegressor().fit(X, ["model_a", "model_b", "model_b"])
    >>> btl.scores_.round(2).to_dict()
    {'x': 0.35, 'y': -0.35}
    >>> btl.elo(rating=1000)["rating"].round().astype(int).to_dict()
    {'x': 1060, 'y': 940}
    """

    _has_errors = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "score_bound": [Interval(Real, 0, None, closed="neither")],
        **ComparisonEstimator._parameter_constraints,
        "covariance": [StrOptions({"sandwich", "fisher", "clustered"})],
        "disconnected": [StrOptions({"raise", "warn"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions(set(WEIGHTS))],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        score_bound: float = 15.0,
        covariance: str = "sandwich",
        disconnected: str = "raise",
        unseen: str = "warn",
        tol: float = 1e-10,
        max_iter: int = 100,
        weights: str = "importance",
    ):
        self.alpha = alpha
        self.score_bound = score_bound
        self.covariance = covariance
        self.disconnected = disconnected
        self.unseen = unseen
        self.tol = tol
        self.max_iter = max_iter
        self.weights = weights

    def _fit(
        self,
        sample: Sample,
        start: BTLRegressor | None = None,
        seed_offset: int = 0,
    ) -> None:
        X, groups = sample.X, sample.groups
        if self.covariance == "clustered" and groups is None:
            raise ValueError("covariance='clustered' needs groups in fit.")
        rows = self._counted(sample)
        left, right, y = X.left[rows], X.right[rows], sample.y[rows]
        share = sample.weight[rows]
        if is_constant(share):
            share = share[:1]
        # Squares of tiny or huge weights leave the range of floats.
        unit = share.max() if share.size else 1.0
        share = share / unit
        counts = PairCounts.from_rows(left, right, y, share, len(X.models))
        games = counts.weight + counts.weight.T
        present = np.flatnonzero(games.sum(axis=1) > 0)
        if not len(present):
            self._fit_nothing(sample)
            return
        counts = counts.among(present)
        self.models_ = X.models[present]
        self.connectivity_ = describe_connectivity(counts.wins, self.models_)
        self._check_graph()
        scores = self._fit_scores(counts, start)
        meat = None
        if self.covariance != "fisher" and groups is not None:
            place = np.full(len(X.models), -1)
            place[present] = np.arange(len(present))
            meat = _clustered_meat(
                place[left], place[right], y, share, groups[rows], scores
            )
        elif self.covariance == "sandwich":
            meat = counts.meat(scores)
        if meat is not None:
            expected = counts.expected_meat(scores)
            if np.trace(meat) <= LEAST_NOISE * np.trace(expected):
                meat = expected
                warn(
                    DataWarning(
                        "Human rows show no noise: every outcome is what the scores "
                        "predict. The errors are those that independent votes would "
                        "have."
                    )
                )
        self.covariance_ = self._covariance(counts, scores, meat)
        if meat is None:
            self.covariance_ /= unit

    def _fit_scores(self, counts: PairCounts, start: BTLRegressor | None) -> Array:
        """Fit ``scores_`` of the models of the counts, and flag those without limit."""
        first = None
        if start is not None:
            first = start.scores_for(self.models_)
            first = None if np.isnan(first).any() else first
        scores, self.converged_, self.n_iter_ = fit_scores(
            counts.wins,
            alpha=self.alpha,
            bound=self.score_bound,
            start=first,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        if not self.converged_ and self.connectivity_.is_strongly_connected:
            warn(
                ConvergenceWarning(
                    f"BTL scores did not converge in {self.n_iter_} steps."
                )
            )
        scores = self._centre(scores)
        self.scores_ = pd.Series(scores, index=self._index, name="score")
        self.unbounded_ = self._flag_unbounded(scores)
        if self.unbounded_.any() and self.connectivity_.is_strongly_connected:
            warn(
                BoundWarning(
                    f"Scores of {self.models_[self.unbounded_].tolist()} lie on the "
                    f"bound of {self.score_bound} logits; their intervals fail."
                )
            )
        return scores

    def _counted(self, sample: Sample) -> NDArray[np.intp] | slice:
        """Rows that count: human votes of positive weight on historical models."""
        X, weight = sample.X, sample.weight
        if (
            sample.groups is None
            and all(map(is_constant, (weight, X.judge, X.involves_new)))
            and len(X)
            and X.judge[0] == -1
            and X.rows.all_known
        ):
            # Nothing tells rows apart, and there is no need to look at each; models
            # against themselves fall on the diagonal of the counts.
            return slice(None)
        votes = X.is_human & ~X.involves_new & (weight > 0)
        return np.flatnonzero(votes & X.is_usable)

    def _fit_nothing(self, sample: Sample) -> None:
        """Score no model, if every vote compares a model with itself."""
        X = sample.X
        votes = X.is_human & ~X.involves_new & (sample.weight > 0) & (X.left >= 0)
        if self.disconnected != "warn" or not votes.any():
            raise BattlesError(
                "No human row compares two historical models; human rows carry the "
                "label 'human' in column 'judge'."
            )
        self.models_ = np.empty(0, dtype=object)
        self.connectivity_ = Connectivity((), (), (), ())
        self.scores_ = pd.Series(index=self._index, dtype=float, name="score")
        self.covariance_ = np.zeros((0, 0))
        self.unbounded_ = np.zeros(0, dtype=bool)
        self.converged_, self.n_iter_ = True, 1
        warn(
            SeparationWarning(
                "Every human row compares a model with itself: no model has a score."
            )
        )

    def _check_graph(self) -> None:
        """Refuse, or warn of, votes that leave scores undetermined."""
        graph = self.connectivity_
        if not graph.is_connected:
            groups = "; ".join(
                "{"
                + ", ".join(map(str, part[:5]))
                + (", ..." if len(part) > 5 else "")
                + "}"
                for part in graph.components[:5]
            )
            message = (
                f"The human comparisons leave {len(graph.components)} separate groups "
                f"of models: {groups}. Scores of different groups lie on no common "
                "scale."
            )
            if self.disconnected == "raise":
                raise DisconnectedError(message, advice=Advice(Remedy.JOIN_GROUPS))
            warn(
                SeparationWarning(
                    f"{message} Add comparisons between the groups; each group is "
                    "centred on its own."
                )
            )
        if graph.is_separated and self.alpha == 0.0:
            warn(
                SeparationWarning(
                    "Human votes bound some scores on one side only: "
                    f"{graph.separation()}. Their scores stop where the likelihood is "
                    f"flat, at most {self.score_bound} logits out, and their standard "
                    "errors are infinite.",
                    advice=Advice(Remedy.BOUND_SCORES),
                )
            )

    def _centre(self, scores: Array) -> Array:
        result = scores.copy()
        for part in self.connectivity_.components:
            rows = np.isin(np.arange(len(scores)), self._place(part))
            result[rows] -= result[rows].mean()
        return result

    def _place(self, labels: Any) -> NDArray[np.intp]:
        place = {label: i for i, label in enumerate(self.models_.tolist())}
        return np.array([place[label] for label in labels], dtype=np.intp)

    def _flag_unbounded(self, scores: Array) -> NDArray[np.bool_]:
        flags = np.abs(scores) >= self.score_bound * (1.0 - 1e-9)
        if self.alpha == 0.0 and not self.connectivity_.is_strongly_connected:
            anchored: set[Any] = set()
            for part in self.connectivity_.components:
                inside = set(part)
                # Strong components come largest first: the largest of a component
                # carries its scale.
                largest = next(
                    strong
                    for strong in self.connectivity_.strong_components
                    if strong[0] in inside
                )
                # A single model among others carries no scale.
                if len(largest) > 1 or len(part) == 1:
                    anchored |= set(largest)
            flags |= np.array([m not in anchored for m in self.models_.tolist()])
        return flags

    def _inverse(self, counts: PairCounts, scores: Array) -> Array:
        """Inverse information of the scores that have a limit, zero for the others.

        Between separate groups of models there is no information: each is centred on
        its own.
        """
        free = np.flatnonzero(~self.unbounded_)
        place = np.full(len(scores), -1)
        place[free] = np.arange(len(free))
        parts = [place[self._place(part)] for part in self.connectivity_.components]
        inverse = np.zeros((len(scores), len(scores)))
        # Games against unbounded models say nothing.
        inverse[np.ix_(free, free)] = laplacian_inverse(
            counts.among(free).information(scores[free]),
            [part[part >= 0] for part in parts if (part >= 0).any()],
            self.alpha * counts.weight.sum(),
        )
        return inverse

    def _covariance(
        self, counts: PairCounts, scores: Array, meat: Array | None
    ) -> Array:
        """Sandwich, or the inverse information without ``meat``.

        Infinite where a score has no limit.
        """
        inverse = self._inverse(counts, scores)
        covariance = inverse if meat is None else inverse @ meat @ inverse
        covariance[self.unbounded_, self.unbounded_] = np.inf
        return covariance

    @property
    def _index(self) -> pd.Index:
        return pd.Index(self.models_, name="model")

    @property
    def standard_errors_(self) -> pd.Series:
        """Standard errors of the scores, in logits."""
        return pd.Series(
            np.sqrt(np.diag(self.covariance_)),
            index=self._index,
            name="standard_error",
        )

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Normal confidence intervals of the scores.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high`` in logits, by model.
        """
        half = ndtri(0.5 + check_level(level) / 2.0) * self.standard_errors_
        low, high = self.scores_ - half, self.scores_ + half
        # Separation bounds a score on one side: the interval is half-open.
        shut = ~np.isfinite(half)
        low = low.mask(shut & (self.scores_ > 0), self.scores_)
        high = high.mask(shut & (self.scores_ < 0), self.scores_)
        return pd.DataFrame({"low": low, "high": high})

    def elo(
        self, level: float = 0.95, *, anchor: Any = None, rating: float = 1000.0
    ) -> pd.DataFrame:
        """Scores on the Elo scale, 400 points per factor ten in the odds.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level of the interval.
        anchor : label, optional
            Model that is given ``rating`` exactly; None gives it to the mean model.
        rating : float, default=1000.0
            Rating of the anchor.

        Returns
        -------
        DataFrame
            Columns ``rating``, ``low``, ``high``, by model; with an anchor the interval
            is that of the difference to it.
        """
        check_level(level)
        scores, covariance = self.scores_.to_numpy(), self.covariance_
        if anchor is not None:
            if anchor not in self.scores_.index:
                raise BattlesError(f"Unknown anchor {anchor!r}.")
            at = int(self._place([anchor])[0])
            scores = scores - scores[at]
            total = np.diag(covariance) + covariance[at, at]
            spread = np.subtract(
                total,
                2.0 * covariance[at],
                out=np.full(len(total), np.inf),
                where=np.isfinite(total),
            )
            spread[at] = 0.0
        else:
            spread = np.diag(covariance)
        half = ndtri(0.5 + level / 2.0) * np.sqrt(np.maximum(spread, 0.0))
        table = pd.DataFrame(
            {"rating": scores, "low": scores - half, "high": scores + half},
            index=self._index,
        )
        return rating + ELO_SCALE * table

    def scores_for(self, models: NDArray[Any]) -> Array:
        """Scores of the given models, in logits.

        Parameters
        ----------
        models : ndarray of shape (n,)
            Labels.

        Returns
        -------
        ndarray of shape (n,)
            NaN where a model has no score.
        """
        return align(self.scores_.to_numpy(), self.models_, models)

    def _annotate(self, X: Comparisons) -> Comparisons:
        scores = self.scores_for(X.models)
        new = X.new_models
        if new is None:
            new = tuple(X.models[np.isnan(scores)].tolist())
        return X.with_columns(scores=scores, new_models=new)

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return X.is_human

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D^2 on human rows: the share of log loss that the scores remove.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            1 is perfect, 0 is tossing a fair coin.
        """
        if hasattr(self, "models_") and not len(self.models_):
            # Every row is a toss of a fair coin, exactly.
            check_consistent_length(self._encode(X), y, sample_weight)
            return 0.0
        return 1.0 + super().score(X, y, sample_weight) / np.log(2.0)


def _clustered_meat(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    y: Array,
    weight: Array,
    groups: NDArray[np.intp],
    scores: Array,
) -> Array:
    residual = weight * (y - expit(scores[left] - scores[right]))
    rows = np.concatenate([groups, groups])
    columns = np.concatenate([left, right])
    values = np.concatenate([residual, -residual])
    shape = (int(groups.max()) + 1, len(scores))
    totals = coo_array((values, (rows, columns)), shape=shape).tocsr()
    return np.asarray((totals.T @ totals).todense())
