"""Joint maximum likelihood of all rows, with biases linear in their coefficients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons, FeaturePairs, count_rows
from skanchor._model.btl_errors import LEAST_NOISE
from skanchor._model.fit import Fit
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import minimise
from skanchor._model.sources import SourceRows
from skanchor._numerics.arrivals import SCORE_BOUND
from skanchor._numerics.groups import Membership
from skanchor._ranking import RankingEstimator
from skanchor._typing import Array
from skanchor.baselines._base import TwoStages, check_scores
from skanchor.baselines._fits import Fits
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, ConvergenceWarning, DataWarning
from skanchor.results import RankingResult
from skanchor.sample import Sample
from skanchor.warning_log import warn

# Largest error in J J^+ t = t, by which a target t counts as determined.
_LOST = 1e-6

# Smallest mean sensitivity of a calibration from which the joint fit may start.
_LEAST_SCALE = 0.1

# Bound on all parameters: it keeps the exponentials of separated ones finite.
_FARTHEST = 100.0

# Squared Newton decrement of the last step, in squared standard errors: of a fit, and
# of one of many on nearly the same rows, which differ by about one.
_EXACT, _NEAR = 1e-18, 1e-10


class JointLikelihood(TwoStages, RankingEstimator):
    """Scores, sensitivities and biases fitted at once, with the sandwich covariance."""

    # Whether human rows are in the likelihood. If not, mean sensitivity one fixes the
    # scale.
    _human: ClassVar[bool] = True

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        X = sample.X
        fits = Fits(sample, self._part("btl"), self._part("calibrator"), start)
        # The two-step plug-in, from which the joint likelihood is maximised.
        known = fits.calibrate(features=self.uses_features)
        plug_in = fits.scores.copy()
        plug_in[X.is_new] = fits.arrivals(known).root("sensitivity")
        self._keep(sample, fits)
        check_scores(X, plug_in)
        sources = self._sources(sample)
        first = self._plugged_in(X, sources, plug_in)
        bound = np.full(len(first.x), _FARTHEST)
        fit, _ = minimise(
            first,
            sources,
            [rows.weight for rows in sources],
            first.layout.estimated,
            bounds=(-bound, bound),
            tolerance=_EXACT if start is None else _NEAR,
        )
        if not fit.converged:
            warn(
                ConvergenceWarning(
                    "The joint likelihood did not converge; a model or a feature may "
                    "be separated.",
                    code="joint-not-converged",
                )
            )
        self._update_calibrator(fit)
        if start is None:
            covariance, undetermined = self._sandwich(fit, sources, sample.groups)
        else:
            # Of refits only the scores are read.
            covariance = np.full((len(X.models),) * 2, np.nan)
            undetermined = np.zeros(len(X.models), dtype=bool)
        unbounded = undetermined | (np.abs(fit.scores) >= SCORE_BOUND)
        self.result_ = RankingResult(
            X.models,
            X.is_new,
            np.clip(fit.scores, -SCORE_BOUND, SCORE_BOUND)[None],
            covariance[None],
            unbounded | (not fit.converged),
            *count_rows(X, sample.weight),
            inputs=sample.inputs,
        )

    def _sources(self, sample: Sample) -> list[SourceRows]:
        """Rows of people, if they take part, and of each judge."""
        X, judges = sample.X, sample.X.judges.tolist()
        # Only their proportions matter, and squares of tiny weights would be zero.
        weight = sample.weight / sample.weight[sample.counts].mean()
        sources = []
        for source in range(0 if self._human else 1, 1 + len(judges)):
            cut = X.by_judge(source - 1)
            used = weight[cut.rows] > 0
            rows, span = cut.rows[used], np.empty((np.count_nonzero(used), 0))
            if source != PEOPLE and self.uses_features:
                span = self._linear(judges[source - 1]).span(cut.pairs[used])
            alone = np.full(len(rows), -1)
            sources.append(
                SourceRows(
                    source=source,
                    is_new=False,
                    rows=rows,
                    left=cut.left[used],
                    right=cut.right[used],
                    order=cut.order[used],
                    span=span,
                    offset=np.zeros(len(rows)),
                    y=sample.y[rows],
                    weight=weight[rows],
                    count=np.ones(len(rows)),
                    group=alone,
                    rater=alone,
                    n_items=len(X.models),
                )
            )
        return sources

    def _plugged_in(
        self, X: Comparisons, sources: list[SourceRows], scores: Array
    ) -> Fit:
        """Give the parameters of the two-step plug-in, and the ridge of the biases."""
        judges, fitted = X.judges.tolist(), self.calibrator_
        widths = [rows.span.shape[1] for rows in sources if rows.source != PEOPLE]
        layout = Layout(
            X.is_new,
            np.zeros(len(X.models), dtype=np.intp),
            np.arange(len(X.models)),
            (0, *widths),
            (False, *fitted.has_position_effect_[judges]),
        )
        x, ridge = np.zeros((2, layout.size))
        x[layout.scores] = scores
        slopes = fitted.sensitivities_[judges].to_numpy()
        if not self._human:
            scale = slopes.mean()
            if scale < _LEAST_SCALE:
                # If judges contradict the votes on average, dividing by the mean would
                # turn their signs. Start from equal judges and equal scores instead.
                x[layout.scores], slopes, scale = 0.0, np.ones(len(judges)), 1.0
            # The products c_m delta stay the same; the mean of c_m becomes one.
            x[layout.scores] *= scale
            slopes = slopes / scale
        x[layout.sensitivities] = [1.0, *slopes]
        x[layout.position_effects] = [0.0, *fitted.position_effects_[judges]]
        for rows in sources:
            if rows.source != PEOPLE and self.uses_features:
                learner = self._linear(judges[rows.source - 1])
                pairs = FeaturePairs(X.features_left, X.features_right, rows=rows.rows)
                own = layout.span(rows.source)
                x[own] = learner.coef_
                # The ridge of the mean loss becomes one of the sum of losses.
                ridge[own] = rows.weight.sum() * learner.ridge(pairs, rows.weight)
        precision = np.diag(ridge)
        if not self._human:
            # The likelihood is flat along the scale, so that any penalty fixes it: here
            # half the square of mean sensitivity - 1. The one is that of people, which
            # is not fitted.
            gap = np.zeros(layout.size)
            gap[layout.sensitivities] = [-1.0, *np.full(len(judges), 1.0 / len(judges))]
            precision += sum(rows.weight.sum() for rows in sources) * np.outer(gap, gap)
        return Fit(layout, x, precision)

    def _linear(self, judge: Any) -> Any:
        """The fitted learner of a judge, which must be linear in its coefficients."""
        learner = self.calibrator_.biases_[judge]
        if not (linearity(learner) == "fixed" and hasattr(learner, "ridge")):
            raise BattlesError(
                f"{type(self).__name__} needs biases that are linear in their "
                f"coefficients, such as LinearBias, got {learner!r}."
            )
        return learner

    def _update_calibrator(self, fit: Fit) -> None:
        """Write the joint estimates into the calibrator, which predictions use."""
        fitted, layout = self.calibrator_, fit.layout
        positions = fit.x[layout.position_effects]
        for m, (judge, learner) in enumerate(fitted.biases_.items(), start=1):
            own: Any = learner
            known = [fit.sensitivity(m), positions[m]]
            own.parametric_coef_ = np.array(known[: 1 + layout.positions[m]])
            own.coef_ = fit.x[layout.span(m)]
            fitted.sensitivities_[judge], fitted.position_effects_[judge] = known

    def _sandwich(
        self, fit: Fit, sources: list[SourceRows], groups: NDArray[np.intp] | None
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Sandwich covariance of all scores, from the influence of rows or groups.

        Returns
        -------
        covariance : ndarray of shape (n_models, n_models)
        undetermined : ndarray of shape (n_models,)
            Scores that the rows do not determine.
        """
        layout, n_models = fit.layout, fit.layout.n_items
        chances = {rows.source: fit.probabilities(rows) for rows in sources}
        # J, minus the second derivative of the log likelihood of all parameters.
        second = fit.penalised(
            fit.information(
                (rows.source, rows.information(rows.weight, chances[rows.source]))
                for rows in sources
            )
        )
        slopes = np.arange(layout.sensitivities.start, layout.sensitivities.stop)
        for rows in sources:
            if rows.source != PEOPLE:
                # The coefficients c s of the items have a second derivative by c and s,
                # which the residuals multiply.
                residual = rows.weight * (rows.y - chances[rows.source])
                mixed = rows.sums(residual)[:n_models]
                second[layout.scores, slopes[rows.source]] -= mixed
                second[slopes[rows.source], layout.scores] -= mixed
        free = np.flatnonzero(layout.estimated)
        second, targets = second[free[:, None], free], layout.targets[free]
        # J^+ targets. A target outside the range of J is not determined.
        solved = np.zeros((layout.size, n_models))
        solved[free] = SymmetricSystem.of(second).solve(targets)
        undetermined = np.abs(second @ solved[free] - targets).max(axis=0) > _LOST
        # Influence of each row on each score, w (y - p) xi' J^-1 targets, and its
        # standard deviation under the model; xi is the gradient of the row's logit.
        n_rows = sum(map(len, sources))
        influence, chance = np.zeros((2, n_rows, n_models))
        start = 0
        for rows in sources:
            p, at = chances[rows.source], slice(start, start + len(rows))
            lever = rows.products(fit.local_weights(rows.source, solved))
            influence[at] = (rows.weight * (rows.y - p))[:, None] * lever
            chance[at] = (rows.weight * np.sqrt(p * (1.0 - p)))[:, None] * lever
            start = at.stop
        if groups is not None:
            # Rows of a group depend on each other: sum their influences, then square.
            group = groups[np.concatenate([rows.rows for rows in sources])]
            influence = Membership.of(group).totals(influence).totals
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
