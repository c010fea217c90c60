"""Stages of a baseline fitted to its rows, and the sums over rows that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._judges import JudgeCalibrator
from skanchor._model.graph import components, pair_sums
from skanchor._model.link import sigmoid
from skanchor._model.logistic import fit_logistic
from skanchor._numerics.arrivals import ArrivalRows
from skanchor._numerics.linalg import zero_sum_basis
from skanchor._typing import Array
from skanchor.exceptions import SeparationWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn


def check_plain(btl: BTLRegressor) -> None:
    """Refuse a bias of people, which baselines do not model."""
    if btl.bias is not None:
        raise ValueError(
            "Baselines do not support a bias of people: give a BTLRegressor with "
            "bias=None. "
            "AnchorPipeline(human_bias=...) controls for style."
        )


class Fits:
    """Stages fitted to rows with decided roles, and sums over these rows.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles.
    btl : BTLRegressor
        Unfitted model of the human rows.
    calibrator : JudgeCalibrator, optional
        Unfitted model of the judge rows.
    start : estimator, optional
        The method fitted on nearly the same rows: its stages are where these start.

    Attributes
    ----------
    btl_, calibrator_ : estimators
        Fitted stages; there is no calibrator before :meth:`calibrate`.
    scores : ndarray of shape (n_models,)
        Human scores, zero for new models.
    votes, verdicts, arrived : ndarray of shape (n_rows,)
        Rows that count: of people between historical models, of judges between
        historical models, and of judges with a new model.
    """

    def __init__(
        self,
        sample: Sample,
        btl: BTLRegressor,
        calibrator: JudgeCalibrator | None = None,
        start: Any = None,
    ):
        check_plain(btl)
        self.sample, self.X = sample, sample.X
        self.y, self.weight = sample.y, sample.weight
        X, counts = sample.X, sample.counts
        self.votes = counts & X.is_human & ~X.involves_new
        self.verdicts = counts & ~X.is_human & ~X.involves_new
        self.arrived = counts & ~X.is_human & X.involves_new
        self._template, self._start = calibrator, start
        near = None if start is None else start.btl_
        self.btl_: BTLRegressor = clone(btl).fit_sample(sample, near)
        self.calibrator_: JudgeCalibrator | None = None
        scores = np.nan_to_num(self.btl_.scores_for(X.models))
        self.scores = np.where(X.is_new, 0.0, scores)

    def calibrate(
        self,
        *,
        features: bool = True,
        pooled: bool = False,
        weight: Array | None = None,
    ) -> Comparisons:
        """Fit the judges to the human scores, and store them.

        Parameters
        ----------
        features : bool
            Whether judges have a bias.
        pooled : bool
            Whether all judges are one.
        weight : ndarray of shape (n_rows,), optional
            Weights of the rows in this fit, if they are others.

        Returns
        -------
        Comparisons
            All rows with what the judges have learned; new scores are zero.
        """
        X = self.btl_.transform(self.X)
        X = X if features else X.without_features()
        X = X.of_one_judge() if pooled else X
        calibrator: JudgeCalibrator = clone(self._template)
        if not features:
            calibrator.set_params(bias="linear")
        weight = self.weight if weight is None else weight
        sample = self.sample.with_battles(X).weighted(weight)
        near = None if self._start is None else self._start.calibrator_
        self.calibrator_ = calibrator.fit_sample(sample, near)
        return calibrator.transform(X).with_columns(scores=self.scores)

    def arrivals(self, known: Comparisons | None = None) -> Arrivals:
        """Rows with new models, by judges as calibrated or, without, as if by people.

        Parameters
        ----------
        known : Comparisons, optional
            As :meth:`calibrate` returns them.
        """
        rows = np.flatnonzero(self.sample.counts & self.X.involves_new)
        if known is None:
            known = self.X.with_columns(scores=self.scores)
        X = known.without_features()[rows]
        biases = np.zeros(len(rows)) if X.biases is None else X.biases
        slopes = np.ones(len(X.judges)) if X.sensitivities is None else X.sensitivities
        new = np.flatnonzero(X.is_new)
        return Arrivals(
            X.judge,
            (X.left[:, None] == new) * 1.0 - (X.right[:, None] == new),
            self.weight[rows],
            self.y[rows],
            # The last entry, index -1, is that of humans.
            np.append(slopes, 1.0)[X.judge],
            X.with_columns(biases=np.zeros(len(rows))).logits(),
            biases,
        )

    def wins(self, rows: NDArray[np.bool_]) -> Array:
        """(Half) wins of the row model over the column model, (n_models, n_models)."""
        sides, size = (self.X.left[rows], self.X.right[rows]), len(self.X.models)
        weight, y = self.weight[rows], self.y[rows]
        won = pair_sums(*sides, weight * y, size)
        return won + pair_sums(*sides, weight * (1.0 - y), size).T

    def mean_residual(self, rows: NDArray[np.bool_]) -> float:
        """Mean of outcome minus ``sigma(score difference)``, rows as recorded."""
        gap = self.scores[self.X.left[rows]] - self.scores[self.X.right[rows]]
        return float(np.average(self.y[rows] - sigmoid(gap), weights=self.weight[rows]))

    def common_scores(self, tables: Sequence[tuple[Array, float]]) -> Array:
        """BTL scores of tables of wins together, centred over the historical models.

        Parameters
        ----------
        tables : sequence of (wins, slope)
            Wins as :meth:`wins` gives them, and the factor of the score difference in
            their logits.

        Returns
        -------
        ndarray of shape (n_models,)
            NaN for models that nothing connects with the historical ones.
        """
        scores, new = np.full(len(self.X.models), np.nan), self.X.is_new
        part = components(np.any([wins + wins.T > 0 for wins, _ in tables], 0), "weak")
        if len(set(part[~new])) == 1:
            inside = np.flatnonzero(part == part[~new][0])
            basis = zero_sum_basis(len(inside))
            design, outcome, weight = [], [], []
            for wins, slope in tables:
                wins = wins[np.ix_(inside, inside)]
                games = np.triu(wins + wins.T)
                first, second = np.nonzero(games)
                design.append(slope * (basis[first] - basis[second]))
                weight.append(games[first, second])
                outcome.append(wins[first, second] / games[first, second])
            fit = fit_logistic(
                np.concatenate(design),
                np.concatenate(outcome),
                np.concatenate(weight),
                penalty=np.full(basis.shape[1], self.btl_.alpha),
            )
            scores[inside] = basis @ fit.coef
            if not fit.converged:
                warn(
                    SeparationWarning(
                        "Rows bound the scores of some models on one side only, and "
                        "no finite scores fit them: they are what the solver ended "
                        "with. Add comparisons or set alpha > 0.",
                        code="separated-scores",
                    )
                )
        bound = self.btl_.score_bound
        scores = np.clip(scores, -bound, bound)
        return scores - scores[~new].mean()


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Rows that involve new models, with all but the new scores known.

    Attributes
    ----------
    judge : ndarray of shape (n_rows,)
        Judge codes; -1 is human.
    signs : ndarray of shape (n_rows, n_new)
        +1 where the new model is first, -1 where it is second.
    weight, y : ndarray of shape (n_rows,)
        Weights and outcomes.
    slope : ndarray of shape (n_rows,)
        Sensitivity of the row's judge; one for humans.
    offset : ndarray of shape (n_rows,)
        Logit of the row without its bias, with the new scores at zero.
    biases : ndarray of shape (n_rows,)
        Bias of the row.
    """

    judge: NDArray[np.intp]
    signs: Array
    weight: Array
    y: Array
    slope: Array
    offset: Array
    biases: Array

    def mean_biases(self) -> Array:
        """Mean bias of each judge's arrival rows, seen from the new model's side.

        Returns
        -------
        ndarray of shape (n_rows,)
            The mean over the rows of the same judge and new model, turned back to the
            side on which the row has the new model. Rows between two new models keep
            their bias.
        """
        result = self.biases.copy()
        single = np.abs(self.signs).sum(axis=1) == 1
        for m in np.unique(self.judge[self.judge >= 0]):
            for side in self.signs.T:
                at = np.flatnonzero((self.judge == m) & single & (side != 0))
                if len(at):
                    toward = side[at] * self.biases[at]
                    mean = np.average(toward, weights=self.weight[at])
                    result[at] = mean * side[at]
        return result

    def root(
        self,
        weighting: str,
        *,
        rows: NDArray[np.bool_] | slice = slice(None),
        biases: Array | None = None,
        y: Array | None = None,
        shift: float = 0.0,
    ) -> Array:
        """Solve one equation for each new model; see :meth:`ArrivalRows.root`.

        Parameters
        ----------
        weighting : {"sensitivity", "equal"}
            Whether rows count by the sensitivity of their judge, or alike.
        rows : ndarray of shape (n_rows,) or slice
            Mask of the rows to use, by default all.
        biases, y : ndarray of shape (n_rows,), optional
            Biases and outcomes to use in place of the rows'.
        shift : float
            Added to the mean.

        Returns
        -------
        ndarray of shape (n_new,)
        """
        offset = self.offset + (self.biases if biases is None else biases)
        known = ArrivalRows(
            self.signs[rows],
            self.weight[rows],
            (self.y if y is None else y)[rows],
            self.slope[rows],
            offset[rows],
        )
        return known.root(weighting, np.zeros(self.signs.shape[1]), shift=shift)
