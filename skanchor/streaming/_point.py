"""What is known of the rows about one point, in the terms of each training set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skanchor._historical import HistoricalFit
from skanchor._items import LEAST_DISPERSION
from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array
from skanchor.streaming._likelihood import Surrogate, Surrogates
from skanchor.streaming._pass import span_squares
from skanchor.streaming._people import judge_dispersion, vote_dispersion
from skanchor.streaming._reading import Folds
from skanchor.streaming._solve import local_coefficients
from skanchor.streaming._sums import PointSums, StreamedRows, with_delta
from skanchor.streaming._survey_result import SurveyResult

__all__ = ["Expansion", "LocalLayout"]


@dataclass(frozen=True, eq=False)
class LocalLayout:
    """What the columns of the sums are, the same in all passes.

    Attributes
    ----------
    surveyed : SurveyResult
        What the survey has settled.
    folds : Folds
        Which fold holds a row out.
    learners : list
        By judge the learner that has the span, or None without features.
    displayed : ndarray of shape (n_judges,)
        Judges with a position effect; of others the display order says nothing.
    """

    surveyed: SurveyResult
    folds: Folds
    learners: list[Any]
    displayed: Array

    @cached_property
    def samples(self) -> list[StreamedRows]:
        """Sampled rows of each judge, which stand for all of them."""
        X, found = self.surveyed.sample.X, []
        for m, (learner, fold) in enumerate(
            zip(self.learners, self.surveyed.sample_folds, strict=True)
        ):
            cut = X.by_judge(m)
            span = [] if learner is None else [learner.span(cut.pairs)]
            columns = np.column_stack([cut.order, *span])
            y, weight = self.surveyed.sample.y, self.surveyed.sample.weight
            # As they were drawn, fold after fold.
            drawn = np.argsort(cut.rows)
            own, squares = cut.rows[drawn], None
            if self.alphas[m]:
                squares = span_squares(learner, cut.pairs)[drawn]
            left, right = cut.left[drawn], cut.right[drawn]
            found.append(
                StreamedRows(
                    left, right, columns[drawn], y[own], weight[own], fold, squares
                )
            )
        return found

    @property
    def n_items(self) -> int:
        """Number of models."""
        return len(self.surveyed.models)

    @property
    def alphas(self) -> list[float]:
        """Ridge of each judge's bias."""
        return [0.0 if one is None else float(one.alpha) for one in self.learners]

    def theta(self, known: HistoricalFit) -> list[Array]:
        """Local coefficients of a history, by judge."""
        return local_coefficients(known, self.learners)

    def informative(self, m: int, n_local: int) -> Array:
        """One for each local column, zero for an order of display that says nothing."""
        found = np.ones(n_local)
        found[self.n_items] = self.displayed[m]
        return found


@dataclass(frozen=True, eq=False)
class Expansion:
    """Sums about a point, from which near it everything else follows.

    Attributes
    ----------
    layout : LocalLayout
        Of the columns.
    theta : list of ndarray of shape (n_local,)
        By judge, where the sums were taken.
    sums : list of PointSums
        By judge.
    """

    layout: LocalLayout
    theta: list[Array]
    sums: list[PointSums]

    def training(self, m: int, name: str, view: int) -> Any:
        """Sum of one kind over the rows of a judge that a view trains on."""
        return self.sums[m].training(name, view, self.layout.folds.n_splits)

    def surrogate(self, m: int, view: int = 0) -> Surrogate:
        """What stands for the rows of a judge that a view trains on.

        Parameters
        ----------
        m : int
            The judge.
        view : int
            The training set; zero is all rows.

        Returns
        -------
        Surrogate
            Rows with the weight of all rows of the judge.
        """
        informative, omega = (
            self.layout.informative(m, len(self.theta[m])),
            self.omega(m, view),
        )
        score, gram = (
            self.training(m, name, view) for name in ("score", "information")
        )
        return Surrogate(
            self.theta[m],
            omega * informative * score,
            omega * gram * np.outer(informative, informative),
            self.weight(m) * self.ridge(m, view, kind=0),
            self.layout.samples[m],
            omega * self._sampled_weight(m, view),
            informative,
        )

    def near(self, m: int, theta: Array) -> Array:
        """Score of all rows of a judge at other local coefficients."""
        return self.surrogate(m).near(theta)[0]

    def surrogates(self, view: int = 0) -> Surrogates:
        """What stands for all rows that a view trains on."""
        judges = tuple(self.surrogate(m, view) for m in range(len(self.sums)))
        surveyed, folds = self.layout.surveyed, self.layout.folds
        return Surrogates(surveyed.vote_cells(folds, view), judges)

    def _sampled_weight(self, m: int, view: int) -> Array:
        """Weights of sampled rows that stand for those that a view trains on."""
        rows = self.layout.samples[m]
        weight = rows.weight
        if view:
            repeat, fold = divmod(view - 1, self.layout.folds.n_splits)
            weight = weight * (rows.fold[repeat] != fold)
        if not weight.any():
            return weight
        return np.asarray(weight * (self.training(m, "weight", view) / weight.sum()))

    def _change(self, m: int, view: int, theta: Array) -> Array:
        """By sampled row, the change of curvature from the point to theta."""
        rows = self.layout.samples[m]
        before, after = (sigmoid(rows.logits(at)) for at in (self.theta[m], theta))
        change = after * (1.0 - after) - before * (1.0 - before)
        return np.asarray(self._sampled_weight(m, view) * change)

    def weight(self, m: int) -> float:
        """Weight of all rows of a judge."""
        return float(self.training(m, "weight", 0))

    def omega(self, m: int, view: int) -> float:
        """Weight of all rows of a judge, in that of a training set."""
        own = float(self.training(m, "weight", view))
        # What is left of a difference of sums is not weight.
        if not own > 1e-12 * self.weight(m):
            raise ValueError(
                "A training set keeps no row of a judge; use fewer folds or add rows."
            )
        return self.weight(m) / own

    def ridge(self, m: int, view: int, kind: int, theta: Array | None = None) -> Array:
        """Ridge beside the mean loss, or beside the mean curvature.

        Parameters
        ----------
        m : int
            The judge.
        view : int
            The training set; zero is all rows.
        kind : {0, 1}
            One is beside the curvature.
        theta : ndarray of shape (n_local,), optional
            Where the curvature is taken; None is the point.

        Returns
        -------
        ndarray of shape (n_span,)
        """
        alpha = self.layout.alphas[m]
        if not alpha:
            return np.zeros(len(self.theta[m]) - self.layout.n_items - 1)
        total = self.training(m, ("weight", "curvature")[kind], view)
        span_moments = self.training(m, "span_moments", view)[kind]
        if kind and theta is not None:
            change = self._change(m, view, theta)
            squares = self.layout.samples[m].squares
            assert squares is not None
            total, span_moments = total + change.sum(), span_moments + change @ squares
        first, second = np.split(span_moments / (2.0 * total), 2)
        return np.asarray(alpha * (second - first**2))

    def noise(self, known: HistoricalFit) -> Array:
        """Dispersion of the residuals of each source, people last."""
        scores = known.X.scores
        assert scores is not None
        votes = self.layout.surveyed.vote_cells(self.layout.folds, 0)
        found = [
            judge_dispersion(own, self.layout.n_items, self.layout.folds.n_splits)
            for own in self.sums
        ]
        noise = np.array([*found, vote_dispersion(votes, scores)])
        return np.where(noise < LEAST_DISPERSION, 1.0, noise)

    def information(self, m: int, view: int, theta: Array, scores: Array) -> SourceSums:
        """Information of a view's training rows, at its local coefficients."""
        own, change = self.surrogate(m, view), self.change(m, scores)
        curvature = float(self.training(m, "curvature", view))
        curvature += float(self._change(m, view, theta).sum())
        n_items, n_span = self.layout.n_items, len(theta) - self.layout.n_items - 1
        return SourceSums(
            fitted_columns(n_items, n_span),
            information=change.T @ own.near(theta)[1] @ change,
            curvature=np.asarray(curvature * self.omega(m, view)),
            n_rows=np.asarray(int(self.training(m, "n_rows", view))),
        )

    def change(self, m: int, scores: Array) -> Array:
        """Local columns with the score difference, from those without."""
        n_local = len(self.theta[m])
        n_items = self.layout.n_items
        found = with_delta(n_items, n_local - n_items, scores)
        return found * self.layout.informative(m, n_local)[:, None]
