"""Records of arrays, and settings of estimators, as a header in JSON and arrays.

A record is a dataclass. Its file holds numbers and texts alone, and reading one makes
no class but those of ``CLASSES``. So the content of a file is that of the records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone

from skanchor._anchor import AnchorPipeline
from skanchor._arrivals import ArrivalScorer
from skanchor._btl import BTLRegressor
from skanchor._crossfit.state import StoredFits, StoredGroups, StoredSource
from skanchor._diagnostics import N_TESTED, FitSums, HistoricalFeatures, ItemCheck
from skanchor._judges import JudgeCalibrator
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.layout import Layout
from skanchor._model.sources import SourceSums
from skanchor._riesz import RieszDebiaser
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError
from skanchor.history._counts import RowCounts
from skanchor.history._state import AllModels, GroupFolds, HistoryState
from skanchor.io.archive import Archive

CLASSES: dict[str, Any] = {
    one.__name__: one
    for one in (
        *(AllModels, FitSums, GroupFolds, HistoricalFeatures),
        *(HistoryState, ItemCheck, ItemCovariance, Layout, RowCounts),
        *(SourceSums, StoredFits, StoredGroups, StoredSource),
        *(AnchorPipeline, ArrivalScorer, BTLRegressor, JudgeCalibrator, LinearBias),
        RieszDebiaser,
    )
}
"""What a file may hold: records, and settings of estimators."""

_NUMBERS = "biuf"
"""Kinds of the arrays of a file; arrays of other kinds are labels."""

_WIDE = 16
"""Characters that an array of texts may take for one that its labels have."""


def packed_history(state: HistoryState, anchor: AnchorPipeline) -> Archive:
    """Content of the file of a history.

    Parameters
    ----------
    state : HistoryState
        State of the history.
    anchor : AnchorPipeline
        Unfitted settings. A generator of random numbers is stored as None, and the
        number of folds instead of a ``cv`` that is a plan or a splitter.

    Returns
    -------
    Archive

    Raises
    ------
    BattlesError
        If a learner, a label or a setting cannot be stored in a file.
    """
    for judge, learner in zip(state.judges.tolist(), state.learners, strict=True):
        if learner is not None and (
            type(learner) is not LinearBias or learner.feature_map is not None
        ):
            raise BattlesError(
                f"The learner of judge {judge!r}, {learner!r:.60}, cannot be stored in "
                "a file, which holds numbers and no objects. Add the columns of a "
                "feature map to the table, and give LinearBias() those. Keep a linear "
                "learner, bias='linear' or LinearBias(feature_map=...), or fit "
                "AnchorPipeline on all rows.",
            )
    if not isinstance(anchor.cv, (int, np.integer)):
        anchor = clone(anchor).set_params(cv=state.repeats[0])
    # Learners are those of the coefficients.
    few = replace(state, learners=())
    arrays: dict[str, NDArray[Any]] = {}
    return Archive({
        "settings": _packed(anchor, "anchor", None),
        "state": _packed(few, "state", arrays),
    }, arrays)  # fmt: skip


def unpacked_history(content: Archive) -> tuple[HistoryState, AnchorPipeline]:
    """State and settings from the content of a file; any error means a bad file."""
    anchor, state = (
        _unpacked(content.header[name], content.arrays)
        for name in ("settings", "state")
    )
    anchor._validate_params()
    anchor.stages()
    _check(state)
    learners: list[Any] = [None] * len(state.judges)
    if state.features:
        learners = [LinearBias(loss="logistic") for _ in learners]
    for source, learner in enumerate(learners, start=1):
        if learner is not None:
            learner.coef_ = state.fits.x[0][state.fits.layout.span(source)]
            learner.feature_map_ = None
    return replace(state, learners=tuple(learners)), anchor


# ------------------------------------------------------------------------------ packing
def _packed(value: Any, name: str, arrays: dict[str, NDArray[Any]] | None) -> Any:
    """A value in types that JSON has; ``name`` is that of its arrays, and for errors.

    Without ``arrays``, in settings, arrays of numbers are listed.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.random.RandomState):
        return None

    def inner(one: Any, key: Any) -> Any:
        return _packed(one, f"{name}.{key}", arrays)

    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
        if arrays is None:
            return {"list": value.tolist()}
        arrays[name] = value
        return {"array": name}
    if isinstance(value, np.ndarray) and arrays is not None:
        return _packed_labels(value, name)
    if isinstance(value, csr_array):
        parts = {key: inner(getattr(value, key), key) for key in _OF_SPARSE}
        return {"sparse": parts | {"shape": list(value.shape)}}
    if isinstance(value, pd.DataFrame):
        index = inner(value.index.to_numpy(), "index")
        table = inner(value.to_numpy(np.float64), "table")
        return {"frame": [table, index, value.index.name, value.columns.tolist()]}
    if isinstance(value, (list, tuple)):
        return {"list": [inner(one, number) for number, one in enumerate(value)]}
    if isinstance(value, Mapping):
        return {"dict": [[inner(k, k), inner(v, k)] for k, v in value.items()]}
    if type(value).__name__ in CLASSES:
        if isinstance(value, BaseEstimator):
            params = value.get_params(deep=False)
            return _of_class(value, {k: inner(v, k) for k, v in params.items()})
        if is_dataclass(value):
            names = [one.name for one in fields(value)]
            return _of_class(value, {k: inner(getattr(value, k), k) for k in names})
    raise BattlesError(
        f"The setting {name}={value!r:.60} cannot be stored in a file, which holds "
        "numbers and texts, and no objects."
    )


_OF_SPARSE = ("data", "indices", "indptr")


def _of_class(value: Any, values: dict[str, Any]) -> dict[str, Any]:
    return {"class": type(value).__name__, "values": values}


def _packed_labels(labels: NDArray[Any], name: str) -> dict[str, Any]:
    """Labels that are texts, or texts and numbers."""
    values = labels.astype(object).tolist()
    for label in values:
        if type(label) not in (str, int, float, bool):
            raise BattlesError(
                f"The labels of {name.rpartition('.')[2]} must be text or numbers to "
                f"be stored in a file, but {label!r} is a {type(label).__name__}."
            )
    return {"labels": values, "are_texts": labels.dtype.kind == "U"}


def _unpacked(content: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that :func:`_packed` has packed."""

    def inner(one: Any) -> Any:
        return _unpacked(one, arrays)

    if not isinstance(content, dict):
        if isinstance(content, list):
            raise ValueError("a list has no kind")
        return content
    if "class" in content:
        made = CLASSES[content["class"]]
        record = made(**{key: inner(one) for key, one in content["values"].items()})
        for name, kind in _kinds(made).items():
            if not _is_of(getattr(record, name), kind):
                raise ValueError(f"{made.__name__}.{name} is no {kind!s:.80}")
        return record
    ((kind, value),) = (pair for pair in content.items() if pair[0] != "are_texts")
    if kind == "array":
        return arrays[value]
    if kind == "labels":
        return _unpacked_labels(value, are_texts=content["are_texts"])
    if kind == "sparse":
        parts = tuple(inner(value[key]) for key in _OF_SPARSE)
        if [one.dtype.kind for one in parts] != ["f", "i", "i"]:
            raise ValueError("a sparse matrix has no such numbers")
        matrix = csr_array(parts, shape=tuple(value["shape"]))
        # A file may come from anybody, and products do not check the indices.
        matrix.check_format(full_check=True)
        return matrix
    if kind == "frame":
        table, index, name, columns = value
        numbers, labels = inner(table), pd.Index(inner(index), name=name)
        if numbers.dtype.kind != "f":
            raise ValueError("a table has no such numbers")
        return pd.DataFrame(numbers, labels, columns)
    if kind == "list":
        return tuple(map(inner, value))
    if kind == "dict":
        return {inner(key): inner(one) for key, one in value}
    if kind == "number":
        return float(value)
    raise ValueError(f"nothing is a {kind!r:.40}")


@lru_cache
def _kinds(record: type) -> dict[str, Any]:
    """Kinds of what the fields of a record hold; nothing of other classes."""
    return get_type_hints(record) if is_dataclass(record) else {}


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of the kind that a field of a record is declared to have."""
    made, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if made in (Union, UnionType):
        return any(_is_of(value, one) for one in inner)
    if made is np.ndarray:
        if not isinstance(value, np.ndarray):
            return False
        (number,) = get_args(inner[1])
        return number is Any or value.dtype.kind in _KINDS[number]
    if made is tuple:
        return isinstance(value, tuple) and all(_is_of(one, inner[0]) for one in value)
    if made is None:
        return type(value) is kind or (kind is float and type(value) is int)
    return isinstance(value, made)


_KINDS = {np.float64: "fiu", np.bool_: "b", np.intp: "iuf", np.int64: "iu"}
"""Kinds of the numbers in arrays that are declared to hold these."""


def _unpacked_labels(values: list[Any], *, are_texts: bool) -> NDArray[Any]:
    """Labels as they were packed."""
    if any(type(label) not in (str, int, float, bool) for label in values):
        raise ValueError("labels are neither texts nor numbers")
    if are_texts:
        # Each entry takes as much as the longest one, which a file may have chosen.
        sizes = np.array([len(label) for label in values] or [0])
        if len(sizes) * sizes.max() <= _WIDE * (sizes.sum() + 1_000):
            return np.array(values, dtype=str)
    # Filled one by one, so that Python's types of the labels stay.
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


# ------------------------------------------------------------------------------ checks
def _check(state: HistoryState) -> None:
    """Refuse a state whose arrays do not belong to each other."""
    n, n_judges, n_features = (
        len(labels) for labels in (state.models, state.judges, state.features)
    )
    fits, layout, repeats = state.fits, state.fits.layout, state.repeats
    n_folds, n_columns = sum(repeats), [n + 1 + width for width in layout.widths]
    sizes = [*repeats, *(width + 1 for width in layout.widths)]
    _expect(min(sizes) > 0 and len(layout.widths) == n_judges + 1, "layout.widths")
    _expect(len(layout.positions) == n_judges + 1, "layout.positions")
    _shapes(layout, is_new=(n,), context=(n,), model=(n,))
    is_plain = np.array_equal(layout.model, np.arange(n))
    _expect(is_plain and not layout.is_new.any() and not layout.context.any(), "layout")
    for labels in (state.models, state.judges):
        _expect(labels.ndim == 1 and len(set(labels.tolist())) == len(labels), "labels")
        # Labels that cannot be ordered raise an error here.
        sorted(labels.tolist())
    _shapes(
        fits,
        x=(1 + n_folds, layout.size),
        converged=(1 + n_folds,),
        ridge=(layout.size,),
        item_precision=(n_judges, n_judges),
    )
    numbers = [one.source for one in fits.sources]
    _expect(numbers == list(range(n_judges + 1)), "sources")
    for source, size in zip(fits.sources, n_columns, strict=True):
        entries, score = size * (size + 1) // 2, (n_folds, size)
        _shapes(
            source, gram=(1 + n_folds, entries), score=score, outer=(n_folds, entries)
        )
    _shapes(state, human_errors=(n,), unbounded=(n,))
    _expect((state.items is not None) == layout.has_item_effects, "items")
    if state.items is not None:
        _shapes(state.items, covariance=(n_judges, n_judges), slopes=(n_judges,))
    _expect((fits.groups is None) == (state.groups is None), "groups")
    if fits.groups is not None and state.groups is not None:
        _check_groups(fits.groups, state.groups, repeats, n_columns)
    _check_sums(state.sums, n_columns, n, n_features)
    _expect(len(state.check.judges) == n_judges, "check")
    if state.all_models is not None:
        size = len(state.all_models.models)
        _shapes(state.all_models, scores=(size,), n_human=(size,), n_judge=(size,))
    if state.counts is not None:
        _check_counts(state.counts, repeats)
    _expect(0.0 < state.unit < np.inf, "unit")
    _expect(all(type(one) is str for one in state.fingerprints.values()), "prints")
    graded = state.facts["graded_verdicts"].values()
    _expect(all(type(share) is float for share in graded), "graded_verdicts")


def _check_groups(
    sums: StoredGroups, groups: GroupFolds, repeats: Sequence[int], columns: list[int]
) -> None:
    size, n_groups = len(sums.codes), len(groups.codes)
    _shapes(groups, codes=(n_groups,), folds=(len(repeats), n_groups))
    most = np.array(repeats)[:, None]
    _expect(((groups.folds >= -1) & (groups.folds < most)).all(), "folds of groups")
    _shapes(sums, codes=(size,), stops=(sum(repeats) + 1,), people=(size, columns[0]))
    _shapes(sums, judges=(size, sum(columns[1:])))
    _expect(((sums.codes >= 0) & (sums.codes < n_groups)).all(), "codes of groups")
    ends = np.array_equal(sums.stops[[0, -1]], [0, size])
    _expect(ends and (np.diff(sums.stops) >= 0).all(), "stops of groups")


def _check_sums(sums: FitSums, columns: list[int], n: int, n_features: int) -> None:
    n_judges = len(columns) - 1
    _shapes(sums, rows=(n_judges + 1, n), verdicts=(n, n), noise=(n_judges + 1,))
    widths = [(size - n - 1,) for size in columns]
    _expect([one.shape for one in sums.ridges] == widths, "ridges of sums")
    for part in (sums.historical, sums.new):
        _expect(len(part) == n_judges + 1, "sources of sums")
        for source, size in zip(part, columns, strict=True):
            total = size + N_TESTED
            _shapes(source, gram=(total, total), score=(total,), outer=(0, 0))
    _expect(len(sums.features or ()) in (0, n_judges), "features of sums")
    for rows in sums.features or ():
        if rows is not None:
            size = len(rows.contrasts)
            _shapes(rows, low=(n_features,), high=(n_features,))
            _shapes(rows, contrasts=(size, n_features))
            _shapes(rows, times=(size,))


def _check_counts(counts: RowCounts, repeats: Sequence[int]) -> None:
    size, n = len(counts.counts), len(counts.models)
    _shapes(counts, kinds=(size, 4 + len(repeats)), counts=(size,), outcomes=(size,))
    low = np.array([0, 0, -1, -1, *(-1 for _ in repeats)])
    high = np.array([n, n, len(counts.judges), 2, *repeats])
    within = (counts.kinds >= low) & (counts.kinds < high)
    _expect(within.all() and (counts.counts >= 0).all(), "counts")


def _shapes(record: Any, **shapes: tuple[int, ...]) -> None:
    """Refuse arrays of a record of other shapes."""
    for name, shape in shapes.items():
        _expect(getattr(record, name).shape == shape, f"{type(record).__name__}.{name}")


def _expect(is_met: Any, name: str) -> None:
    if not is_met:
        raise ValueError(f"{name} does not belong to the rest")
