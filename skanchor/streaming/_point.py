"""Sums over the rows about one point, and what they give for each training set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skanchor._historical import HistoricalFit
from skanchor._model.dispersion import NO_DISPERSION
from skanchor._model.link import sigmoid
from skanchor._typing import Array
from skanchor.streaming._likelihood import Surrogate, Surrogates
from skanchor.streaming._pass import span_squares
from skanchor.streaming._people import judge_dispersion, vote_dispersion
from skanchor.streaming._reading import Folds
from skanchor.streaming._solve import local_coefficients
from skanchor.streaming._sums import PointSums, StreamedRows
from skanchor.streaming._survey_result import SurveyResult


@dataclass(frozen=True, eq=False)
class LocalLayout:
    """Meaning of the columns of the sums, the same in all passes.

    The local columns of a judge's rows are those of the items, the display order and
    the span of the bias function: n_local = n_items + 1 + n_span.

    Attributes
    ----------
    surveyed : SurveyResult
        Models, judges, votes and sampled rows.
    folds : Folds
        Which fold holds a row out.
    learners : list
        For each judge its fitted bias learner, or None without features.
    displayed : ndarray of shape (n_judges,)
        Whether the judge has a position effect; else its display order is not used.
    samples : list of StreamedRows
        Sampled rows of each judge, weighted to represent all of its rows.
    """

    surveyed: SurveyResult
    folds: Folds
    learners: list[Any]
    displayed: Array
    samples: list[StreamedRows]

    @classmethod
    def of(
        cls, surveyed: SurveyResult, folds: Folds, learners: list[Any], displayed: Array
    ) -> Self:
        """Take the local columns of the sampled rows."""
        X, found = surveyed.sample.X, []
        y, weight = surveyed.sample.y, surveyed.sample.weight
        for m, (learner, fold) in enumerate(
            zip(learners, surveyed.sample_folds, strict=True)
        ):
            cut = X.by_judge(m)
            span = [] if learner is None else [learner.span(cut.pairs)]
            columns = np.column_stack([cut.order, *span])
            # ``by_judge`` may reorder rows: this restores the order of ``fold``.
            drawn = np.argsort(cut.rows)
            own, squares = cut.rows[drawn], None
            if _alpha(learner).any():
                squares = span_squares(learner, cut.pairs)[drawn]
            left, right = cut.left[drawn], cut.right[drawn]
            found.append(
                StreamedRows(
                    left, right, columns[drawn], y[own], weight[own], fold, squares
                )
            )
        return cls(surveyed, folds, learners, displayed, found)

    @property
    def n_items(self) -> int:
        """Number of models."""
        return len(self.surveyed.models)

    @property
    def alphas(self) -> list[Array]:
        """Ridge penalty of each judge's bias learner; zero without features.

        Each is of shape (), or (n_span,) where columns have penalties of their own.
        """
        return list(map(_alpha, self.learners))

    def theta(self, known: HistoricalFit) -> list[Array]:
        """Local coefficients of a history, for each judge of shape (n_local,)."""
        return local_coefficients(known, self.learners)

    def informative(self, m: int, n_local: int) -> Array:
        """One for each local column, but zero for a display order without an effect."""
        # The display order is the column after those of the items.
        found = np.ones(n_local)
        found[self.n_items] = self.displayed[m]
        return found


def _alpha(learner: Any) -> Array:
    return np.asarray(0.0 if learner is None else learner.alpha)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Sums about a point, from which all views can be fitted near it.

    Attributes
    ----------
    layout : LocalLayout
        Meaning of the columns.
    theta : list of ndarray of shape (n_local,)
        The point: for each judge the local coefficients at which sums were taken.
    sums : list of PointSums
        Sums for each judge.
    """

    layout: LocalLayout
    theta: list[Array]
    sums: list[PointSums]

    def training(self, m: int, name: str, view: int) -> Any:
        """Sum of one kind over the rows of a judge that a view trains on."""
        return self.sums[m].training(name, view, self.layout.folds.n_splits)

    def surrogate(self, m: int, view: int = 0) -> Surrogate:
        """Surrogate likelihood of the rows of a judge that a view trains on.

        Parameters
        ----------
        m : int
            The judge.
        view : int
            The training set; zero is all rows.

        Returns
        -------
        Surrogate
            Scaled by ``omega`` to the weight of all rows of the judge.
        """
        # Without a position effect, the display order is taken out of score and Gram
        # matrix, so that no coefficient of it moves.
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
            self.weight(m) * self.ridge(m, kind=0),
            self.layout.samples[m],
            omega * self._sampled_weight(m, view),
            informative,
        )

    def near(self, m: int, theta: Array) -> Array:
        """Score of all rows of a judge at other local coefficients."""
        return self.surrogate(m).near(theta)[0]

    def surrogates(self, view: int = 0) -> Surrogates:
        """Likelihoods of all rows that a view trains on, votes and verdicts."""
        judges = tuple(self.surrogate(m, view) for m in range(len(self.sums)))
        surveyed, folds = self.layout.surveyed, self.layout.folds
        return Surrogates(surveyed.vote_cells(folds, view), judges)

    def _sampled_weight(self, m: int, view: int) -> Array:
        """Weights of the sampled rows, of shape (n_sampled,), in a view's training set.

        Rows that the view holds out have weight zero. The others are scaled to the
        weight of all rows that it trains on.
        """
        rows = self.layout.samples[m]
        weight = rows.weight
        if view:
            # Views 1, 2, ... are the folds of the first repeat, then of the second.
            repeat, fold = divmod(view - 1, self.layout.folds.n_splits)
            weight = weight * (rows.fold[repeat] != fold)
        if not weight.any():
            return weight
        return np.asarray(weight * (self.training(m, "weight", view) / weight.sum()))

    def _change(self, m: int, theta: Array) -> Array:
        """Change of ``w V`` of each sampled row from the point to theta."""
        rows = self.layout.samples[m]
        before, after = (sigmoid(rows.logits(at)) for at in (self.theta[m], theta))
        change = after * (1.0 - after) - before * (1.0 - before)
        return np.asarray(self._sampled_weight(m, 0) * change)

    def weight(self, m: int) -> float:
        """Sum of the weights of all rows of a judge."""
        return float(self.training(m, "weight", 0))

    def omega(self, m: int, view: int) -> float:
        """Weight of all rows of a judge over that of a view's training rows.

        It is the omega of eq:direct-riesz-objective-v2: a weighted sum over the
        training rows estimates the sum over all rows.
        """
        own = float(self.training(m, "weight", view))
        # A training sum is the difference of two sums: below this it is rounding.
        if not own > 1e-12 * self.weight(m):
            raise ValueError(
                "A training set keeps no row of a judge; use fewer folds or add rows."
            )
        return self.weight(m) / own

    def ridge(self, m: int, kind: int, theta: Array | None = None) -> Array:
        """Ridge penalty of each bias coefficient, for rows weighted to sum one.

        It is that of all rows in every training set.

        It is alpha times the variance of the span's function over the responses, as
        :class:`skanchor.bias.LinearBias` has it.

        Parameters
        ----------
        m : int
            The judge.
        kind : {0, 1}
            Weights of the rows: 0 is ``w``, for the bias; 1 is ``w V``, for the Riesz
            weights.
        theta : ndarray of shape (n_local,), optional
            Local coefficients at which V is taken; None is the point.

        Returns
        -------
        ndarray of shape (n_span,)
        """
        alpha = self.layout.alphas[m]
        if not alpha.any():
            return np.zeros(len(self.theta[m]) - self.layout.n_items - 1)
        total = self.training(m, ("weight", "curvature")[kind], 0)
        span_moments = self.training(m, "span_moments", 0)[kind]
        if kind and theta is not None:
            change = self._change(m, theta)
            squares = self.layout.samples[m].squares
            assert squares is not None
            total, span_moments = total + change.sum(), span_moments + change @ squares
        # First and second moment; the two is for the two responses of a row.
        first, second = np.split(span_moments / (2.0 * total), 2)
        return np.asarray(alpha * (second - first**2))

    def noise(self, known: HistoricalFit) -> Array:
        """Dispersion of the residuals of each source, of shape (n_judges + 1,).

        People come last. Sources whose dispersion is only rounding have one.
        """
        scores = known.X.scores
        assert scores is not None
        surveyed, folds = self.layout.surveyed, self.layout.folds
        votes = surveyed.vote_cells(folds, 0)
        found = [
            judge_dispersion(own, self.layout.n_items, self.layout.folds.n_splits)
            for own in self.sums
        ]
        noise = np.array([*found, vote_dispersion(votes, scores, surveyed.group_votes)])
        return np.where(noise < NO_DISPERSION, 1.0, noise)
