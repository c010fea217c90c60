"""Rows by source, with the columns in which fitted learners are linear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import FeaturePairs, JudgeRows
from skanchor._model.sources import SourceRows, extra_columns
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import LastStage, last_stage
from skanchor.exceptions import LearnerError


def biases_of(learner: Any, pairs: FeaturePairs, whose: str) -> Array:
    """Bias of each row, (n_rows,); NaN where a feature is missing.

    ``whose`` names the learner in the refusal of what it returns.
    """
    values = np.full(len(pairs), np.nan)
    # A difference is finite where both of its sides are.
    at = np.flatnonzero(np.isfinite(pairs.contrast).all(axis=1))
    if not len(at):
        return values
    complete = pairs if len(at) == len(values) else pairs[at]
    biases = np.asarray(learner.contrast(complete))
    if biases.shape != (len(at),) or not np.isfinite(biases).all():
        raise LearnerError(
            f"The bias learner of {whose}, {type(learner).__name__}, must return a "
            f"finite number for each of {len(at)} rows from contrast(), got shape "
            f"{biases.shape}."
        )
    values[at] = biases
    return values


def rows_that_count(sample: Sample) -> Iterator[JudgeRows]:
    """Rows of each source that count, people first."""
    counts = sample.counts
    for source in range(1 + len(sample.X.judges)):
        cut = sample.X.by_judge(source - 1)
        yield cut[np.flatnonzero(counts[cut.rows])]


def spans_of(learners: Sequence[Any], sample: Sample) -> list[LastStage]:
    """What of the bias of each source is linear in coefficients, and what is fixed.

    The ridge is in sums of losses, over the rows of history.
    """
    X, spans, none = sample.X, [], np.zeros(0)
    for cut, learner in zip(rows_that_count(sample), learners, strict=True):
        span = LastStage(np.zeros((len(cut), 0)), none, none)
        if learner is not None and X.features_left.shape[1] and len(cut):
            pairs, weight = cut.pairs, sample.weight[cut.rows]
            old = np.where(cut.involves(X.is_new), 0.0, weight)
            stage = last_stage(learner, pairs, old if old.any() else weight)
            if stage is None:
                span = replace(span, fixed=learner.contrast(pairs))
            else:
                span = replace(stage, ridge=old.sum() * stage.ridge)
        spans.append(span)
    return spans


def source_rows(
    sample: Sample, spans: Iterable[LastStage] | None = None
) -> list[SourceRows]:
    """Rows by source, historical ones and those of new models apart.

    Parameters
    ----------
    sample : Sample
        All rows.
    spans : iterable of LastStage, optional
        Columns of the rows of each source that count, and what is fixed of their bias.
        Without them there are no columns, and the bias that the rows carry is fixed.

    Returns
    -------
    list of SourceRows
    """
    X, alone, none = sample.X, np.full(len(sample), -1), np.zeros(0)
    rater = alone if sample.raters is None else sample.raters
    biases = np.broadcast_to(0.0 if X.biases is None else X.biases, len(sample))
    group = alone
    if sample.groups is not None:
        code, labels = pd.factorize(sample.groups)
        size = np.bincount(code, minlength=len(labels))
        group = np.where(size[code] > 1, code, -1)
    columns_by_source = repeat(None, 1 + len(X.judges)) if spans is None else spans
    parts, sources = [], zip(rows_that_count(sample), columns_by_source, strict=True)
    for source, (cut, span) in enumerate(sources):
        if span is None:
            nothing = np.zeros((len(cut), 0))
            span = LastStage(nothing, none, none, biases[cut.rows])
        fixed = np.broadcast_to(span.fixed, len(cut))
        involves_new = cut.involves(X.is_new)
        for is_new in (False, True):
            at = np.flatnonzero(involves_new == is_new)
            rows = cut.rows[at]
            if len(rows):
                part = SourceRows(
                    source, is_new, rows, cut.left[at], cut.right[at],
                    extra_columns(cut.order[at], np.asarray(span.columns)[at]),
                    fixed[at], sample.y[rows], sample.weight[rows],
                    sample.multiplicity[rows],
                    group[rows], rater[rows], len(X.models),
                )  # fmt: skip
                parts.append(part)
    return parts


def by_row(parts: Sequence[SourceRows], values: Sequence[Array], n_rows: int) -> Array:
    """Values of the rows of each source in the order of a table; zero elsewhere."""
    ordered = np.zeros((n_rows, *values[0].shape[1:]))
    for part, part_values in zip(parts, values, strict=True):
        ordered[part.rows] = part_values
    return ordered
