"""The table of judges: rows, ties, agreement, sensitivity, position effect."""

from __future__ import annotations

import numpy as np
import pandas as pd

from skanchor._judges import JudgeCalibrator
from skanchor.sample import Sample

__all__ = ["judge_table"]


def judge_table(
    sample: Sample, scores: np.ndarray, calibrator: JudgeCalibrator
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
