"""Rows by source, with the columns in which fitted learners are linear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import FeaturePairs, JudgeRows
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import LastStage, last_stage
from skanchor.exceptions import LearnerError


def biases_of(learner: Any, pairs: FeaturePairs, whose: str) -> Array:
    """Bias of each row, (n_rows,); NaN where a feature is missing.

    ``whose`` names the learner in the refusal of what it returns.
    """
    values = np.full(len(pairs), np.nan)
    at = np.flatnonzero(np.isfinite(np.hstack([pairs.left, pairs.right])).all(axis=1))
    if not len(at):
        return values
    some = pairs if len(at) == len(values) else pairs[at]
    found = np.asarray(learner.contrast(some))
    fault = f"shape {found.shape} for {len(at)} rows"
    if found.shape == (len(at),):
        n_faults = len(at) - int(np.isfinite(found).sum())
        fault = f"{n_faults} values that are not finite" if n_faults else ""
    if fault:
        raise LearnerError(
            f"The bias learner of {whose}, {type(learner).__name__}, returned {fault} "
            "from contrast()."
        )
    values[at] = found
    return values


def spans_of(learners: Sequence[Any], sample: Sample) -> list[LastStage]:
    """What of the bias of each source is linear in coefficients, and what is fixed.

    The ridge is in sums of losses, over the rows of history.
    """
    X, found = sample.X, []
    for source, learner in enumerate(learners):
        cut, places = rows_that_count(sample, source)
        none = np.zeros(0)
        span = LastStage(np.zeros((len(places), 0)), none, none)
        if learner is not None and X.features_left.shape[1] and len(places):
            pairs, weight = cut.pairs[places], sample.weight[cut.rows[places]]
            old = np.where(cut.involves(X.is_new)[places], 0.0, weight)
            stage = last_stage(learner, pairs, old if old.any() else weight)
            if stage is None:
                span = replace(span, rest=learner.contrast(pairs))
            else:
                span = replace(stage, ridge=old.sum() * stage.ridge)
        found.append(span)
    return found


def without_columns(sample: Sample, offset: Array) -> Iterator[LastStage]:
    """Spans without columns: of each source, the part of its logits that is known."""
    for source in range(1 + len(sample.X.judges)):
        cut, places = rows_that_count(sample, source)
        none = np.zeros(0)
        yield LastStage(
            np.zeros((len(places), 0)), none, none, offset[cut.rows[places]]
        )


def rows_that_count(sample: Sample, source: int) -> tuple[JudgeRows, NDArray[np.intp]]:
    """All rows of a source, and the places among them of those that count."""
    cut = sample.X.by_judge(source - 1)
    return cut, np.flatnonzero(sample.counts[cut.rows])


def source_rows(sample: Sample, spans: Iterable[LastStage]) -> list[SourceRows]:
    """Rows by source, historical ones and those of new models apart.

    Parameters
    ----------
    sample : Sample
        All rows.
    spans : iterable of LastStage
        Columns of the rows of each source that count, and what is fixed of their bias.

    Returns
    -------
    list of SourceRows
    """
    X = sample.X
    count = sample.multiplicity
    count = np.ones(len(sample)) if count is None else count
    group, rater = _codes_of_groups(sample), sample.raters
    rater = np.full(len(sample), -1) if rater is None else rater
    found = []
    for source, span in enumerate(spans):
        cut, places = rows_that_count(sample, source)
        rest = np.broadcast_to(span.rest, len(places))
        involves_new = cut.involves(X.is_new)[places]
        for is_new in (False, True):
            chosen = np.flatnonzero(involves_new == is_new)
            at = places[chosen]
            rows = cut.rows[at]
            if len(rows):
                found.append(
                    SourceRows(
                        source,
                        is_new,
                        rows,
                        cut.left[at],
                        cut.right[at],
                        cut.order[at].astype(np.float64),
                        np.asarray(span.columns)[chosen],
                        rest[chosen],
                        sample.y[rows],
                        sample.weight[rows],
                        count[rows],
                        group[rows],
                        rater[rows],
                        len(X.models),
                    )
                )
    return found


def _codes_of_groups(sample: Sample) -> NDArray[np.intp]:
    """Group of each row; -1 for a row that is the only one of its group."""
    if sample.groups is None:
        return np.full(len(sample), -1)
    code, groups = pd.factorize(sample.groups)
    size = np.bincount(code, minlength=len(groups))
    return np.where(size[code] > 1, code, -1)


def by_row(parts: Sequence[SourceRows], values: Sequence[Array], n_rows: int) -> Array:
    """Values of the rows of each source in the order of a table; zero elsewhere."""
    found = np.zeros((n_rows, *values[0].shape[1:]))
    for part, own in zip(parts, values, strict=True):
        found[part.rows] = own
    return found
