"""Maximum likelihood of all rows together, in the linear class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._comparisons import FeaturePairs, count_rows
from skanchor._numerics.batched import JointModel, LinearRows
from skanchor._numerics.linalg import zero_sum_basis
from skanchor._numerics.pair_counts import LEAST_NOISE
from skanchor._numerics.parameters import Parameters, selectors
from skanchor._ranking import RankingEstimator
from skanchor._refits import SCORE_BOUND, BaseFits, StageFits, columns_of
from skanchor._typing import Array
from skanchor.baselines._base import TwoStages, check_scores
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, ConvergenceWarning, DataWarning
from skanchor.results import RankingResult
from skanchor.sample import Sample
from skanchor.warning_log import warn

__all__ = ["JointLikelihood"]

# Share of a score that may be lost in solving for it.
_LOST = 1e-6

# Mean sensitivity below which a calibration is no place to start from.
_LEAST_SCALE = 0.1


class JointLikelihood(TwoStages, RankingEstimator):
    """Scores, sensitivities and biases fitted at once, with the sandwich covariance."""

    _features: ClassVar[bool] = True
    _pooled: ClassVar[bool] = False
    _human: ClassVar[bool] = True

    # ---------------------------------------------------------------------- definition
    def _model(self, fits: BaseFits) -> JointModel:
        """The likelihood of the rows."""
        X, layout = fits.X, fits.layout
        human = None
        if self._human:
            votes = fits.cells[fits.cells.judge == -1]
            none = np.empty((len(votes.left), 0))
            human = LinearRows(votes.incidence, none, votes.weight, votes.first)
        judges = []
        for m, judge in enumerate(X.judges.tolist()):
            cut = layout.cut(m, arrivals=True)
            displayed = self.calibrator_.has_position_effect_[judge]
            blocks = [cut.order[:, None]] if displayed else []
            weight, ridge = columns_of(fits.weights, cut.rows), None
            if self.uses_features:
                learner: Any = self.calibrator_.biases_[judge]
                self._check_linear(learner)
                left, right = np.split(cut.responses, 2)
                pairs = FeaturePairs(left, right)
                blocks.append(learner.span(pairs))
                if learner.alpha:
                    n_before = len(X.models) + len(blocks) - 1
                    penalty = [w.sum() * learner.ridge(pairs, w) for w in weight]
                    ridge = np.pad(penalty, ((0, 0), (n_before, 0)))
            own = np.hstack(blocks) if blocks else np.empty((len(cut.rows), 0))
            first = weight * fits.y[cut.rows]
            judges.append(
                LinearRows(cut.incidence, own, weight, first, ridge, layout.work)
            )
        displayed = self.calibrator_.has_position_effect_[X.judges].tolist()
        parameters = Parameters(
            selectors(X.is_new, zero_sum_basis(len(fits.historical))),
            len(judges),
            positions=tuple(displayed),
            widths=tuple(
                rows.own.shape[1] - has
                for rows, has in zip(judges, displayed, strict=True)
            ),
        )
        return JointModel(parameters, human, judges, unit_scale=not self._human)

    def _check_linear(self, learner: Any) -> None:
        if not (linearity(learner) == "fixed" and hasattr(learner, "ridge")):
            raise BattlesError(
                f"{type(self).__name__} needs biases that are linear in their "
                f"coefficients, such as LinearBias, got {learner!r}."
            )

    def _estimate(self, fits: BaseFits) -> Array:
        """Scores of all models, of shape (n_replicates, n_models)."""
        model = self._model(fits)
        values, converged = model.fit(self._values, len(fits.weights), tol=fits.tol)
        fits.mark(converged)
        return np.asarray(values[:, : model.selectors.shape[1]] @ model.selectors.T)

    # ----------------------------------------------------------------------------- fit
    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        X = sample.X
        fits = StageFits(sample, self._part("btl"), self._part("calibrator"))
        plug_in = fits.human_scores().copy()
        arrivals = fits.arrivals(fits.judges(features=self.uses_features))
        plug_in[:, fits.new] = arrivals.root("sensitivity")
        self._keep(sample, fits)
        check_scores(X, plug_in[0])
        model = self._model(fits)
        first = self._first_values(model, plug_in[0])
        values, converged = model.climb(first, tol=fits.tol)
        if not converged:
            warn(
                ConvergenceWarning(
                    "The joint likelihood did not converge; a model or a feature may "
                    "be separated."
                )
            )
        self._values: Array = np.clip(values, -100.0, 100.0)
        self._update_calibrator(model)
        scores = model.selectors @ self._values[: model.selectors.shape[1]]
        covariance, undetermined = self._sandwich(model, fits, sample.groups)
        unbounded = undetermined | (np.abs(scores) >= SCORE_BOUND)
        self.result_ = RankingResult(
            X.models,
            X.is_new,
            np.clip(scores, -SCORE_BOUND, SCORE_BOUND)[None],
            covariance[None],
            unbounded | (not converged),
            *count_rows(X, sample.weight),
            inputs=sample.inputs,
        )

    def _first_values(self, model: JointModel, scores: Array) -> Array:
        layout = model.layout
        first = np.zeros(layout.size)
        free = layout.at["scores"]
        first[free] = np.linalg.lstsq(model.selectors, scores, rcond=None)[0]
        learners = self.calibrator_.biases_.values()
        for part, learner in zip(model.parts(), learners, strict=True):
            known: Any = learner
            first[part] = np.concatenate([known.parametric_coef_, known.coef_])
        if model.unit_scale:
            slopes = layout.at["sensitivity"]
            scale = first[slopes].mean()
            if scale < _LEAST_SCALE:
                # From judges against the votes no way leads to a mean of one: judges
                # are alike at first, and their rows say the rest.
                first[free], first[slopes] = 0.0, 1.0
            else:
                first[free] *= scale
                first[slopes] /= scale
        return first

    def _update_calibrator(self, model: JointModel) -> None:
        """Let predictions use the joint fit."""
        fitted = self.calibrator_
        for judge, part in zip(fitted.biases_, model.parts(), strict=True):
            own = self._values[part]
            n_parametric = 1 + int(fitted.has_position_effect_[judge])
            learner: Any = fitted.biases_[judge]
            learner.parametric_coef_ = own[:n_parametric]
            learner.coef_ = own[n_parametric:]
            fitted.sensitivities_[judge] = own[0]
            if n_parametric > 1:
                fitted.position_effects_[judge] = own[1]

    def _sandwich(
        self, model: JointModel, fits: BaseFits, groups: NDArray[np.intp] | None
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Covariance of all scores from the influence of each row, or group.

        The mask flags scores of which the rows say nothing.
        """
        X, weight = fits.X, fits.weights[0]
        values = self._values[None]
        n_models, n_scores = model.selectors.shape
        only = np.zeros(1, dtype=np.intp)
        _, second = model.equations(values, only)
        parts = [model.human, *model.judges] if model.human else model.judges
        total = sum(float(rows.weight.sum()) for rows in parts)
        targets = np.zeros((second.shape[1], n_models))
        targets[:n_scores] = model.selectors.T
        solved = np.linalg.pinv(second[0], hermitian=True) @ targets
        undetermined = np.abs(second[0] @ solved - targets).max(axis=0) > _LOST
        solved /= total
        theta = model.selectors @ self._values[:n_scores]
        influence, chance = np.zeros((2, len(X), n_models))
        if model.human is not None:
            rows = np.flatnonzero(fits.layout.used & X.is_human)
            left, right = X.left[rows], X.right[rows]
            lever = model.selectors @ solved[:n_scores]
            lever = weight[rows, None] * (lever[left] - lever[right])
            influence[rows], chance[rows] = _noise(
                fits.y[rows], theta[left] - theta[right], lever
            )
        for m, (part, columns) in enumerate(
            zip(model.parts(), model.judges, strict=True)
        ):
            rows = fits.layout.cut(m, arrivals=True).rows
            own = self._values[part]
            eta = columns.logits(np.append(own[0] * theta, own[1:]))
            turn = model.gradient_map(values, part)[0]
            lever = turn @ solved
            lever = (
                columns.incidence @ lever[:n_models] + columns.own @ lever[n_models:]
            )
            influence[rows], chance[rows] = _noise(
                fits.y[rows], eta, weight[rows, None] * lever
            )
        if groups is not None:
            sums = np.zeros((int(groups.max()) + 1, n_models))
            np.add.at(sums, groups, influence)
            influence = sums
        covariance, expected = influence.T @ influence, chance.T @ chance
        found, due = covariance.diagonal(), expected.diagonal()
        if ((due > 0) & (found <= LEAST_NOISE * due)).any():
            warn(
                DataWarning(
                    "The rows show no noise: every outcome is what the fit predicts. "
                    "The errors are those that independent rows would have."
                )
            )
            covariance = expected
        return covariance, undetermined


def _noise(y: Array, eta: Array, lever: Array) -> tuple[Array, Array]:
    """What rows contribute to the scores: their residuals, and standard ones."""
    p = expit(eta)
    return (y - p)[:, None] * lever, np.sqrt(p * (1.0 - p))[:, None] * lever
