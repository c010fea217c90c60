"""Joint maximum likelihood of all rows, with biases linear in their coefficients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._comparisons import FeaturePairs, count_rows
from skanchor._numerics.batched import JointModel, LinearRows
from skanchor._numerics.groups import Membership
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

# Largest error in J J^+ t = t, by which a target t counts as determined.
_LOST = 1e-6

# Smallest mean sensitivity of a calibration from which the joint fit may start.
_LEAST_SCALE = 0.1


class JointLikelihood(TwoStages, RankingEstimator):
    """Scores, sensitivities and biases fitted at once, with the sandwich covariance."""

    # Whether human rows are in the likelihood. If not, mean sensitivity one fixes the
    # scale.
    _human: ClassVar[bool] = True

    # ---------------------------------------------------------------------- definition
    def _model(self, fits: BaseFits) -> JointModel:
        """The likelihood of the rows, for all sets of weights in `fits`."""
        X, layout = fits.X, fits.layout
        human = None
        if self._human:
            # Votes are summed over rows of the same two models. Their only columns are
            # those of the incidence, so eta = theta_a - theta_b.
            votes = fits.cells[fits.cells.judge == -1]
            none = np.empty((len(votes.left), 0))
            human = LinearRows(votes.incidence, none, votes.weight, votes.first)
        judges = []
        for m, judge in enumerate(X.judges.tolist()):
            cut = layout.cut(m, arrivals=True)
            # Own columns of the judge beside the incidence: display order o, if it has
            # a position effect, and contrasts phi(x_a) - phi(x_b).
            displayed = self.calibrator_.has_position_effect_[judge]
            blocks = [cut.order[:, None]] if displayed else []
            weight, ridge = columns_of(fits.weights, cut.rows), None
            if self.uses_features:
                learner: Any = self.calibrator_.biases_[judge]
                self._check_linear(learner)
                left, right = np.split(cut.responses, 2)
                pairs = FeaturePairs(left, right)
                blocks.append(learner.span(pairs))
                if np.any(learner.alpha):
                    # The ridge of the mean loss becomes one of the sum of losses. It is
                    # zero for the scores and the position effect, which come before.
                    n_before = len(X.models) + len(blocks) - 1
                    penalty = [w.sum() * learner.ridge(pairs, w) for w in weight]
                    ridge = np.pad(penalty, ((0, 0), (n_before, 0)))
            own = np.hstack(blocks) if blocks else np.empty((len(cut.rows), 0))
            first = weight * fits.y[cut.rows]
            judges.append(
                LinearRows(cut.incidence, own, weight, first, ridge, layout.work)
            )
        displayed = self.calibrator_.has_position_effect_[X.judges].tolist()
        # Free scores, then sensitivities, position effects and bias coefficients.
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
        # Each replicate starts from the fit with the original weights.
        model = self._model(fits)
        values, converged = model.fit(self._values, len(fits.weights), tol=fits.tol)
        fits.mark(converged)
        return np.asarray(values[:, : model.selectors.shape[1]] @ model.selectors.T)

    # ----------------------------------------------------------------------------- fit
    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        X = sample.X
        fits = StageFits(sample, self._part("btl"), self._part("calibrator"))
        # The two-step plug-in, from which the joint likelihood is maximised.
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
                    "be separated.",
                    code="joint-not-converged",
                )
            )
        # Separated parameters drift to infinity; the bound keeps exponentials finite.
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
        """Parameter vector of the two-step plug-in, of shape (n_parameters,)."""
        layout = model.layout
        first = np.zeros(layout.size)
        free = layout.at["scores"]
        # Free scores s from scores of the models, theta = S s.
        first[free] = np.linalg.lstsq(model.selectors, scores, rcond=None)[0]
        learners = self.calibrator_.biases_.values()
        # Of each judge: sensitivity, position effect (if any), bias coefficients.
        for part, learner in zip(model.parts(), learners, strict=True):
            known: Any = learner
            first[part] = np.concatenate([known.parametric_coef_, known.coef_])
        if model.unit_scale:
            slopes = layout.at["sensitivity"]
            scale = first[slopes].mean()
            if scale < _LEAST_SCALE:
                # If judges contradict the votes on average, dividing by the mean would
                # turn their signs. Start from equal judges and equal scores instead.
                first[free], first[slopes] = 0.0, 1.0
            else:
                # The products c_m delta stay the same; the mean of c_m becomes one.
                first[free] *= scale
                first[slopes] /= scale
        return first

    def _update_calibrator(self, model: JointModel) -> None:
        """Write the joint estimates into the calibrator, which predictions use."""
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
        """Sandwich covariance of all scores, from the influence of rows or groups.

        Returns
        -------
        covariance : ndarray of shape (n_models, n_models)
        undetermined : ndarray of shape (n_models,)
            Scores that the rows do not determine.
        """
        X, weight = fits.X, fits.weights[0]
        values = self._values[None]
        n_models, n_scores = model.selectors.shape
        only = np.zeros(1, dtype=np.intp)
        # J, minus the second derivative of the mean log likelihood of all parameters.
        _, second = model.equations(values, only)
        parts = [model.human, *model.judges] if model.human else model.judges
        total = sum(float(rows.weight.sum()) for rows in parts)
        # Targets are the scores theta = S s: columns S' in the rows of the free scores.
        targets = np.zeros((second.shape[1], n_models))
        targets[:n_scores] = model.selectors.T
        # J^+ targets. A target outside the range of J is not determined.
        solved = np.linalg.pinv(second[0], hermitian=True) @ targets
        undetermined = np.abs(second[0] @ solved - targets).max(axis=0) > _LOST
        # From the mean to the sum: `solved` is now the inverse of the summed J.
        solved /= total
        theta = model.selectors @ self._values[:n_scores]
        # Influence of each row on each score, w (y - p) xi' J^-1 targets, and its
        # standard deviation under the model; xi is the gradient of the row's logit.
        influence, chance = np.zeros((2, len(X), n_models))
        if model.human is not None:
            # xi = S_a - S_b.
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
            # The logit is linear in coefficients (c theta, own), and `turn` is their
            # derivative by the parameters: (n_columns, n_parameters).
            turn = model.gradient_map(values, part)[0]
            lever = turn @ solved
            lever = (
                columns.incidence @ lever[:n_models] + columns.own @ lever[n_models:]
            )
            influence[rows], chance[rows] = _noise(
                fits.y[rows], eta, weight[rows, None] * lever
            )
        if groups is not None:
            # Rows of a group depend on each other: sum their influences, then square.
            influence = Membership.of(groups).totals(influence).totals
        # If rows are independent, sums over groups have the same expected squares as
        # single rows: ``expected`` is due with and without groups.
        covariance, expected = influence.T @ influence, chance.T @ chance
        # Outcomes that equal their probabilities, or residuals that cancel within each
        # group, would give errors of almost zero.
        found, due = covariance.diagonal(), expected.diagonal()
        if ((due > 0) & (found <= LEAST_NOISE * due)).any():
            why = "The rows show no noise: every outcome is what the fit predicts."
            if groups is not None:
                why = "The residuals of the rows cancel within their groups."
            warn(
                DataWarning(
                    f"{why} The errors are those that independent rows would have.",
                    code="no-noise" if groups is None else "residuals-cancel",
                )
            )
            covariance = expected
        return covariance, undetermined


def _noise(y: Array, eta: Array, lever: Array) -> tuple[Array, Array]:
    """Influence of rows on the scores, and its standard deviation under the model.

    `lever` holds weight times xi' J^-1 of the rows; all have shape (n_rows, n_models).
    """
    p = expit(eta)
    return (y - p)[:, None] * lever, np.sqrt(p * (1.0 - p))[:, None] * lever
