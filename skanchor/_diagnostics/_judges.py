"""What is known of the judges: their table, and errors of what was fitted to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import FeaturePairs
from skanchor._judges import JudgeCalibrator
from skanchor._model.link import sigmoid
from skanchor._typing import Array
from skanchor.bias.protocol import last_stage
from skanchor.sample import Sample

GRID = 41
"""Values at which a partial effect is computed."""

TAIL = 0.01
"""Share of the responses beyond either end of the range that is shown."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgeErrors:
    """Covariance of one judge's parameters: sensitivity, position effect, bias.

    From the information of the judge's historical rows, the scores taken as known.
    Where item effects are reported, they are integrated out.

    Attributes
    ----------
    learner : learner
        Fitted to the judge.
    covariance : ndarray of shape (n_parameters, n_parameters)
        The sensitivity, the position effect where there is one, then the coefficients
        of the learner's last stage.
    n_parametric : int
        One, or two with a position effect.
    """

    learner: Any
    covariance: Array
    n_parametric: int

    @classmethod
    def of(cls, sample: Sample, calibrator: JudgeCalibrator, judge: Any) -> JudgeErrors:
        """Sum up the information of one judge.

        Parameters
        ----------
        sample : Sample
            Rows that carry all that was learned, ``AnchorPipeline._sample``.
        calibrator : JudgeCalibrator
            Fitted.
        judge : label
            One of its judges.

        Returns
        -------
        JudgeErrors
        """
        X, m = sample.X, sample.X.judges.tolist().index(judge)
        cut, learner = X.by_judge(m), calibrator.biases_[judge]
        eta = X.logits()
        used = np.flatnonzero(
            X.is_historical_judge_row[cut.rows]
            & sample.counts[cut.rows]
            & np.isfinite(eta[cut.rows])
        )
        rows = cut.rows[used]
        weight, p = sample.weight[rows], sigmoid(eta[rows])
        columns = [X.score_differences[rows]]
        if calibrator.has_position_effect_[judge]:
            columns.append(cut.order[used])
        ridge = np.zeros(len(columns))
        stage = last_stage(learner, cut.pairs[used], weight)
        if stage is not None:
            columns.extend(stage.columns.T)
            ridge = np.append(ridge, weight.sum() * stage.ridge)
        A, curvature = np.column_stack(columns), weight * p * (1.0 - p)
        information = A.T @ (curvature[:, None] * A) + np.diag(ridge)
        if X.item_covariance is not None and X.item_covariance[m, m] > 0:
            Z = cut.incidence[used]
            cross = np.asarray(Z.T @ (curvature[:, None] * A))
            inner = np.asarray((Z.T @ Z.multiply(curvature[:, None])).toarray())
            inner[np.diag_indices_from(inner)] += 1.0 / X.item_covariance[m, m]
            information -= cross.T @ np.linalg.solve(inner, cross)
        n_parametric = len(A.T) if stage is None else len(A.T) - len(stage.coef)
        covariance = np.asarray(np.linalg.pinv(information, hermitian=True), float)
        return cls(learner, covariance, n_parametric)

    @property
    def position_effect(self) -> float:
        """Standard error of the position effect; NaN where there is none."""
        if self.n_parametric < 2:
            return float("nan")
        return float(np.sqrt(self.covariance[1, 1]))

    def contrast(self, pairs: FeaturePairs) -> Array:
        """Standard errors of bias contrasts; NaN for a learner without coefficients."""
        stage = last_stage(self.learner, pairs, np.ones(len(pairs)))
        if stage is None:
            return np.full(len(pairs), np.nan)
        own = self.covariance[self.n_parametric :, self.n_parametric :]
        variance = np.einsum("ij,jk,ik->i", stage.columns, own, stage.columns)
        return np.sqrt(np.maximum(variance, 0.0))


def partial_effects(
    sample: Sample, calibrator: JudgeCalibrator, judge: Any
) -> pd.DataFrame:
    """Bias of a judge as one feature of a response changes, the others at their median.

    Parameters
    ----------
    sample : Sample
        Rows that carry all that was learned, ``AnchorPipeline._sample``.
    calibrator : JudgeCalibrator
        Fitted.
    judge : label
        One of its judges.

    Returns
    -------
    DataFrame
        By ``feature`` and number of the grid point: its ``value``; the ``effect`` in
        judge logits, against a response with the median of every feature; and its
        ``standard_error``, NaN for a learner without coefficients.
    """
    X = sample.X
    cut = X.by_judge(X.judges.tolist().index(judge))
    rows = cut.rows[sample.counts[cut.rows]]
    responses = np.vstack([X.features_left[rows], X.features_right[rows]])
    centre = np.median(responses, axis=0)
    low, high = np.quantile(responses, [TAIL, 1.0 - TAIL], axis=0)
    errors = JudgeErrors.of(sample, calibrator, judge)
    tables = {}
    for k, name in enumerate(X.feature_names):
        grid = np.tile(centre, (GRID, 1))
        grid[:, k] = np.linspace(low[k], high[k], GRID)
        pairs = FeaturePairs(grid, np.tile(centre, (GRID, 1)), X.feature_names)
        tables[name] = pd.DataFrame(
            {
                "value": grid[:, k],
                "effect": np.asarray(errors.learner.contrast(pairs)),
                "standard_error": errors.contrast(pairs),
            }
        )
    if not tables:
        return pd.DataFrame(columns=["value", "effect", "standard_error"])
    return pd.concat(tables, names=["feature", "point"])


def judge_table(
    sample: Sample, scores: Array, calibrator: JudgeCalibrator
) -> pd.DataFrame:
    """Rows, ties, first-side rate, agreement, sensitivity and position effect.

    Parameters
    ----------
    sample : Sample
        Battles in their roles, outcomes and weights.
    scores : ndarray of shape (n_models,)
        Final score of each model of the battles.
    calibrator : JudgeCalibrator
        Fitted on all rows.

    Returns
    -------
    DataFrame
        As :meth:`skanchor.AnchorPipeline.summary`, by judge.
    """
    X, y, weight = sample.X, sample.y, sample.weight
    delta = X.with_columns(scores=scores).score_differences
    tied, both_bad = sample.tied, sample.both_bad
    table = {}
    for m, judge in enumerate(X.judges.tolist()):
        cut = X.by_judge(m)
        rows = cut.rows[weight[cut.rows] > 0]
        shown = np.where(X.order[rows] >= 0, y[rows], 1.0 - y[rows])
        ordered = X.order[rows] != 0
        decided = rows[(y[rows] != 0.5) & ~X.involves_new[rows]]
        decided = decided[delta[decided] != 0]
        agrees = (delta[decided] > 0) == (y[decided] > 0.5)
        table[judge] = {
            "rows": sample.number(rows),
            "ties": sample.number(cut.rows[tied[cut.rows]]),
            "both_bad": sample.number(cut.rows[both_bad[cut.rows]]),
            "first_side_rate": sample.mean(shown[ordered], rows[ordered]),
            "agreement": sample.mean(agrees, decided),
            "sensitivity": calibrator.sensitivities_[judge],
            "position_effect": calibrator.position_effects_[judge],
            "has_position_effect": bool(calibrator.has_position_effect_[judge]),
        }
    found = pd.DataFrame.from_dict(table, orient="index").rename_axis("judge")
    chosen = calibrator.choices_
    if len(chosen):
        losses = chosen.filter(regex="^loss ")
        found = found.join(chosen["picked"].rename("bias")).join(losses)
    return found
