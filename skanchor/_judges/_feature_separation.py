"""Judges whose verdicts are separated by features, and so do not rank models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from skanchor._model.logistic import fit_logistic
from skanchor._numerics.separation import separation_of
from skanchor._typing import Array
from skanchor.bias.protocol import span_names
from skanchor.bias.registry import learner_for
from skanchor.sample import Sample

PILOT_ROWS = 2000
"""Rows of a judge that are looked at first: what separates all separates these."""


@dataclass(frozen=True, slots=True)
class FeatureSeparation:
    """What settles the verdicts of a judge.

    Attributes
    ----------
    judge : hashable
        Label.
    columns : list of str
        Names of the features that separate the verdicts.
    alone : bool
        Whether each of them does so alone.
    """

    judge: Any
    columns: list[str]
    alone: bool


def feature_separated_judges(sample: Sample, bias: Any) -> list[FeatureSeparation]:
    """Judges half of whose historical verdicts features separate, or more.

    Their bias has no finite fit, and beside it their sensitivity has none: where a fit
    stops on its way to infinity is rounding, and so is what such rows then say of the
    models. That there is such a way is a matter of the features alone, and needs no
    score. Columns with a ridge have none.

    Parameters
    ----------
    sample : Sample
        Rows in their roles.
    bias : str, learner or dict
        As the parameter of :class:`skanchor.JudgeCalibrator`.

    Returns
    -------
    list of SettledVerdicts
    """
    X = sample.X
    if not X.features_left.shape[1]:
        return []
    found = []
    for m, judge in enumerate(X.judges.tolist()):
        learner: Any = clone(learner_for(bias, judge))
        if not (hasattr(learner, "fit_span") and hasattr(learner, "ridge")):
            continue
        cut = X.by_judge(m)
        historical = X.is_historical_judge_row[cut.rows] & X.is_usable[cut.rows]
        used = np.flatnonzero(historical & (sample.weight[cut.rows] > 0))
        if not len(used):
            continue
        pairs, y = cut.pairs[used], sample.y[cut.rows[used]]
        weight = np.ones(len(used))
        times = sample.multiplicity_of(cut.rows[used])
        learner.fit_span(pairs, weight)
        # A ridge keeps coefficients finite: only columns without one can separate.
        free = np.flatnonzero(learner.ridge(pairs, weight) == 0.0)
        if not len(free):
            continue
        some = np.arange(0, len(used), -(-len(used) // PILOT_ROWS))
        if not _may_be_separated(learner.span(pairs[some])[:, free], y[some]):
            continue
        span = learner.span(pairs)
        split = separation_of(span[:, free], y, times)
        n_rows = sample.number(cut.rows[used])
        if len(split.columns) and 2 * split.n_rows >= n_rows:
            names = span_names(learner, tuple(X.feature_names), span.shape[1])
            columns = [names[free[k]] for k in split.columns]
            found.append(FeatureSeparation(judge, columns, split.alone))
    return found


def _may_be_separated(span: Array, y: Array) -> bool:
    """Whether the fit by features alone, which is fast, has no end."""
    return not fit_logistic(span, y, np.ones(len(y))).converged
