"""Fits to one set of row weights, by the stages of the pipeline."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from skanchor._btl import BTLRegressor
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.graph import components
from skanchor._numerics.linalg import zero_sum_basis
from skanchor._numerics.logistic import fit_logistic
from skanchor._refits._arrivals import JudgeFits
from skanchor._refits._cells import CellSums
from skanchor._refits._fits import BaseFits
from skanchor._refits._layout import Layout
from skanchor._typing import Array
from skanchor.exceptions import SeparationWarning
from skanchor.sample import Sample
from skanchor.warning_log import warn


def check_plain(btl: BTLRegressor) -> None:
    """Refuse a bias of people, which baselines and their bootstraps do not model."""
    if btl.bias is not None:
        raise ValueError(
            "Baselines do not support a bias of people: give a BTLRegressor with "
            "bias=None. "
            "AnchorPipeline(human_bias=...) controls for style."
        )


class StageFits(BaseFits):
    """One replicate, fitted by the stages themselves.

    Parameters
    ----------
    sample : Sample
        Rows with decided roles.
    btl : BTLRegressor
        Unfitted model of the human rows.
    calibrator : JudgeCalibrator, optional
        Unfitted model of the judge rows.

    Attributes
    ----------
    btl_, calibrator_ : estimators
        Fitted stages; the calibrator is the one that was fitted last.
    """

    def __init__(
        self,
        sample: Sample,
        btl: BTLRegressor,
        calibrator: JudgeCalibrator | None = None,
    ):
        check_plain(btl)
        super().__init__(Layout(sample), sample.weight[None], tol=1e-18)
        self.sample = sample
        self.btl_: BTLRegressor = clone(btl).fit_sample(sample)
        self._template = calibrator
        self.calibrator_: JudgeCalibrator | None = None

    def human_scores(self) -> Array:
        """Scores that ``btl_`` has fitted, zero for new models."""
        scores = self.btl_.scores_for(self.X.models)
        return np.where(self.X.is_new, 0.0, np.nan_to_num(scores))[None]

    def judges(self, *, features: bool = True, pooled: bool = False) -> JudgeFits:
        """Fit a clone of the calibrator, and store it."""
        X = self.btl_.transform(self.X)
        X = X if features else X.without_features()
        X = X.of_one_judge() if pooled else X
        weight = self.weights[0]
        if self.emphasis is not None:
            weight = weight * self.emphasis[0]
        calibrator = clone(self._template)
        if not features:
            calibrator.set_params(bias="linear")
        calibrator.fit_sample(self.sample.with_battles(X).weighted(weight))
        self.calibrator_ = calibrator
        rows = self.layout.arrival_rows
        known = calibrator.transform(X[rows])
        judged = ~X.is_human[rows]
        positions = np.zeros(len(rows))
        if known.position_effects is not None:
            effect = np.append(known.position_effects, 0.0)
            positions = effect[known.judge] * known.order
        return JudgeFits(
            known.sensitivities[None],
            np.where(judged, known.biases, 0.0)[None],
            np.where(judged, positions, 0.0)[None],
        )

    def btl_scores(self, cells: CellSums, slope: Array | None = None) -> Array:
        """BTL scores from cells, by a solver that handles separated votes."""
        scores = np.full(len(self.X.models), np.nan)
        games = cells.incidence.T @ np.diag(cells.weight[0]) @ cells.incidence
        part = components(games != 0, "weak")
        if len(set(part[self.historical])) == 1:
            inside = np.flatnonzero(part == part[self.historical[0]])
            used = np.isin(cells.left, inside) & (cells.weight[0] > 0)
            basis = zero_sum_basis(len(inside))
            factor = 1.0 if slope is None else slope[0, used, None]
            fit = fit_logistic(
                factor * cells.incidence[np.ix_(used, inside)] @ basis,
                cells.first[0, used] / cells.weight[0, used],
                cells.weight[0, used],
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
        return self.centred(np.clip(scores, -bound, bound)[None])
