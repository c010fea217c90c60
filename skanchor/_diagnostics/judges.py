"""What is known of the judges: their table, and errors of what was fitted to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import FeaturePairs
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import PEOPLE
from skanchor._model.linalg import SymmetricSystem
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import last_stage

GRID = 41
"""Values at which a partial effect is computed."""

TAIL = 0.01
"""Share of the responses beyond either end of the range that is shown."""


def judge_errors(sample: Sample, calibrator: JudgeCalibrator) -> dict[Any, Array]:
    """Covariance of the parameters of each judge, from its historical rows.

    Scores are taken as known. Where item effects are reported, they are integrated out.

    Parameters
    ----------
    sample : Sample
        Rows that carry all that was learned, ``AnchorPipeline._sample``.
    calibrator : JudgeCalibrator
        Fitted.

    Returns
    -------
    dict of label to ndarray of shape (n_parameters, n_parameters)
        Of the sensitivity, the position effect where there is one, and the coefficients
        of the last stage of the learner.
    """
    X, covariance = sample.X, sample.X.item_covariance
    if covariance is not None:
        # One judge at a time tells nothing of the correlations.
        covariance = np.diag(np.diag(covariance))
    plug_in = PipelineFit.of(sample, calibrator, covariance=covariance)
    fit, layout, errors = plug_in.fit, plug_in.layout, {}
    effects = layout.of_item_effects(np.ones(layout.n_items, dtype=bool))
    grams = {
        rows.source: rows.information(rows.weight, fit.probabilities(rows))
        for rows in plug_in.sources
        if rows.source != PEOPLE and not rows.is_new
    }
    for source, judge in enumerate(X.judges.tolist(), start=1):
        parameters = np.flatnonzero(layout.of_source(source))
        touched = np.zeros(layout.size, dtype=bool)
        touched[layout.parameters_of[source]] = True
        at = np.append(parameters, np.flatnonzero(touched & effects))
        matrix = fit.precision + fit.information(
            [(source, grams[source])] if source in grams else []
        )
        root = SymmetricSystem.of(matrix[at[:, None], at]).inverse_root[
            : len(parameters)
        ]
        errors[judge] = root @ root.T
    return errors


def partial_effects(
    sample: Sample, calibrator: JudgeCalibrator, judges: Sequence[Any]
) -> pd.DataFrame:
    """Bias of judges as one feature of a response changes, the others at their median.

    Parameters
    ----------
    sample, calibrator
        As in :func:`judge_errors`.
    judges : sequence of labels
        Some of the judges.

    Returns
    -------
    DataFrame
        By ``judge``, ``feature`` and ``point``, the number of the grid point: its
        ``value``; the ``effect`` in judge logits, against a response with the median of
        every feature; and its ``standard_error``, NaN for a learner without
        coefficients.
    """
    X, errors, tables = sample.X, judge_errors(sample, calibrator), {}
    for judge in judges:
        cut = X.by_judge(X.judges.tolist().index(judge))
        learner, covariance = calibrator.biases_[judge], errors[judge]
        rows = cut.rows[sample.counts[cut.rows]]
        responses = np.vstack([X.features_left[rows], X.features_right[rows]])
        centre = np.median(responses, axis=0)
        low, high = np.quantile(responses, [TAIL, 1.0 - TAIL], axis=0)
        for k, name in enumerate(X.feature_names):
            grid = np.tile(centre, (GRID, 1))
            grid[:, k] = np.linspace(low[k], high[k], GRID)
            pairs = FeaturePairs(grid, np.tile(centre, (GRID, 1)), X.feature_names)
            stage, error = last_stage(learner, pairs, np.ones(GRID)), np.nan
            if stage is not None:
                at = slice(len(covariance) - len(stage.coef), None)
                square = stage.columns @ covariance[at, at] * stage.columns
                error = np.sqrt(np.maximum(square.sum(axis=1), 0.0))
            effect = np.asarray(learner.contrast(pairs))
            columns = {"value": grid[:, k], "effect": effect, "standard_error": error}
            tables[judge, name] = pd.DataFrame(columns)
    return pd.concat(tables, names=["judge", "feature", "point"])


def verdict_table(sample: Sample) -> pd.DataFrame:
    """Rows, ties and first-side rate of each judge, in which a tie is half a win."""
    X, y = sample.X, sample.y
    verdicts = X.is_usable & ~X.is_human
    kinds = {
        "rows": verdicts & (sample.weight > 0),
        "ties": verdicts & sample.tied,
        "both_bad": verdicts & sample.both_bad,
    }
    table = pd.DataFrame(
        {name: sample.by_source(rows)[1:].astype(np.intp)
         for name, rows in kinds.items()},
        index=pd.Index(X.judges, name="judge"),
    )  # fmt: skip
    first_wins = np.where(X.order >= 0, y, 1.0 - y)
    rate = _share(sample, kinds["rows"] & (X.order != 0), first_wins)
    return table.assign(first_side_rate=rate)


def _share(sample: Sample, rows: NDArray[np.bool_], values: Any) -> Array:
    """Mean of values over some rows of each judge."""
    with np.errstate(invalid="ignore"):
        return sample.by_source(rows, values)[1:] / sample.by_source(rows)[1:]


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
    X, y = sample.X, sample.y
    delta = X.with_columns(scores=scores).score_differences
    decided = sample.counts & (y != 0.5) & ~X.involves_new & (delta != 0)
    table = verdict_table(sample)
    table["agreement"] = _share(sample, decided, (delta > 0) == (y > 0.5))
    names = ("sensitivity", "position_effect", "has_position_effect")
    attributes = ("sensitivities_", "position_effects_", "has_position_effect_")
    for name, attribute in zip(names, attributes, strict=True):
        table[name] = getattr(calibrator, attribute)[X.judges]
    chosen = calibrator.choices_
    if len(chosen):
        losses = chosen.filter(regex="^loss ")
        table = table.join(chosen["picked"].rename("bias")).join(losses)
    return table
