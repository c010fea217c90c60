"""Records of arrays, and settings of estimators, as a header in JSON and arrays.

A record is a dataclass. What a file holds is read as the types that the fields of the
records declare, so that it can make nothing but these: numbers, texts and records.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone

from skanchor._crossfit.item_test import ItemTest
from skanchor._diagnostics import N_TESTED, ItemCheck
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.riesz import RieszDebiaser
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError
from skanchor.history._state import HistoryState
from skanchor.io.archive import Archive
from skanchor.pipeline import AnchorPipeline

ESTIMATORS: dict[str, Any] = {
    one.__name__: one
    for one in (
        *(AnchorPipeline, ArrivalScorer, BTLRegressor, JudgeCalibrator, LinearBias),
        RieszDebiaser,
    )
}
"""Estimators whose settings a file may hold."""

_NUMBERS = {np.float64: "fiu", np.bool_: "b", np.intp: "iuf", np.int64: "iu"}
"""Kinds of the numbers in arrays that are declared to hold these."""

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
    arrays: dict[str, NDArray[Any]] = {}
    # Learners are those of the coefficients.
    record = _packed(replace(state, learners=()), "state", arrays)
    return Archive({"settings": _settings(anchor, "anchor"), "state": record}, arrays)


def unpacked_history(content: Archive) -> tuple[HistoryState, AnchorPipeline]:
    """State and settings from the content of a file; any error means a bad file."""
    anchor = _read_settings(content.header["settings"])
    anchor._validate_params()
    anchor.stages()
    state = _unpacked(HistoryState, content.header["state"], "state", content.arrays)
    _check(state, content.arrays)
    learners: list[Any] = [None] * len(state.judges)
    if state.features:
        learners = [LinearBias(loss="logistic") for _ in learners]
    for source, learner in enumerate(learners, start=1):
        if learner is not None:
            learner.coef_ = state.fits.x[0][state.fits.layout.span(source)]
            learner.feature_map_ = None
    return replace(state, learners=tuple(learners)), anchor


# ------------------------------------------------------------------------------ records
def _packed(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A record in types that JSON has; ``name`` is that of its arrays."""

    def inner(one: Any, key: Any) -> Any:
        return _packed(one, f"{name}.{key}", arrays)

    if is_dataclass(value):
        return {one.name: inner(getattr(value, one.name), one.name)
                for one in fields(value)}  # fmt: skip
    if isinstance(value, csr_array):
        parts = {key: inner(getattr(value, key), key) for key in _OF_SPARSE}
        return parts | {"shape": list(value.shape)}
    if isinstance(value, pd.DataFrame):
        parts = {"table": value.to_numpy(np.float64), "index": value.index.to_numpy()}
        names = {"name": value.index.name, "columns": value.columns.tolist()}
        return {key: inner(one, key) for key, one in parts.items()} | names
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
        return _packed_labels(value, name)
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return name
    if isinstance(value, Mapping):
        return [[inner(key, key), inner(one, key)] for key, one in value.items()]
    if isinstance(value, tuple):
        return [inner(one, number) for number, one in enumerate(value)]
    return _packed_number(value)


_OF_SPARSE = ("data", "indices", "indptr")


def _packed_number(value: Any) -> Any:
    """A number or text; JSON has no infinite numbers."""
    value = value.item() if isinstance(value, np.generic) else value
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    return {"number": str(value)} if is_infinite else value


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


def _unpacked(
    kind: Any, content: Any, name: str, arrays: Mapping[str, NDArray[Any]]
) -> Any:
    """The value of a declared kind that :func:`_packed` has packed."""
    made, args = get_origin(kind) or kind, get_args(kind)

    def inner(kind: Any, one: Any, key: Any) -> Any:
        return _unpacked(kind, one, f"{name}.{key}", arrays)

    if made in (Union, UnionType):
        if content is None:
            return None
        (kind,) = (one for one in args if one is not type(None))
        return _unpacked(kind, content, name, arrays)
    if is_dataclass(made):
        hints = _kinds(kind)
        return kind(
            **{key: inner(hints[key], one, key) for key, one in content.items()}
        )
    if made is np.ndarray:
        (number,) = get_args(args[1])
        if isinstance(content, dict):
            found = _unpacked_labels(content["labels"], content["are_texts"])
            return _expect(number is Any, name, found)
        found = arrays[_expect(content == name, name, name)]
        is_of = number is Any or found.dtype.kind in _NUMBERS[number]
        return _expect(is_of, name, found)
    if made is csr_array:
        parts = tuple(inner(NDArray[Any], content[key], key) for key in _OF_SPARSE)
        _expect([one.dtype.kind for one in parts] == ["f", "i", "i"], name)
        matrix = csr_array(parts, shape=tuple(content["shape"]))
        # A file may come from anybody, and products do not check the indices.
        matrix.check_format(full_check=True)
        return matrix
    if made is pd.DataFrame:
        table = inner(NDArray[np.float64], content["table"], "table")
        index = inner(NDArray[Any], content["index"], "index")
        index = pd.Index(index, name=content["name"])
        return pd.DataFrame(table, index, content["columns"])
    if made is tuple:
        return tuple(inner(args[0], one, k) for k, one in enumerate(content))
    if made in (dict, Mapping):
        keys = [_number(Any, key) for key, _ in content]
        pairs = zip(keys, content, strict=True)
        return {key: inner(args[1], one, key) for key, (_, one) in pairs}
    return _number(kind, content)


@lru_cache
def _kinds(record: type) -> dict[str, Any]:
    """Declared kinds of the fields of a record."""
    return get_type_hints(record)


def _number(kind: Any, content: Any) -> Any:
    """A number or text of a kind."""
    if isinstance(content, dict):
        content = float(content["number"])
    known = (bool, int, float, str) if kind is Any else (kind,)
    is_whole = kind is float and type(content) is int
    return _expect(is_whole or type(content) in known, kind, content)


def _unpacked_labels(values: list[Any], are_texts: bool) -> NDArray[Any]:
    """Labels as they were packed."""
    kinds = {type(label) for label in values}
    _expect(kinds <= ({str} if are_texts else {str, int, float, bool}), "labels")
    if are_texts:
        # Each entry takes as much as the longest one, which a file may have chosen.
        sizes = np.array([len(label) for label in values] or [0])
        if len(sizes) * sizes.max() <= _WIDE * (sizes.sum() + 1_000):
            return np.array(values, dtype=str)
    # Filled one by one, so that Python's types of the labels stay.
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


# ----------------------------------------------------------------------------- settings
def _settings(value: Any, name: str) -> Any:
    """Settings of an estimator in types that JSON has; ``name`` is for errors."""
    if type(value).__name__ in ESTIMATORS and isinstance(value, BaseEstimator):
        params = value.get_params(deep=False)
        values = {key: _settings(one, f"{name}.{key}") for key, one in params.items()}
        return {"class": type(value).__name__, "values": values}
    if isinstance(value, Mapping):
        pairs = value.items()
        return {"dict": [[_packed_number(key), _settings(one, f"{name}.{key}")]
                         for key, one in pairs]}  # fmt: skip
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_settings(one, f"{name}.{k}") for k, one in enumerate(value)]
    value = None if isinstance(value, np.random.RandomState) else _packed_number(value)
    if isinstance(value, (bool, int, float, str, dict)) or value is None:
        return value
    raise BattlesError(
        f"The setting {name}={value!r:.60} cannot be stored in a file, which holds "
        "numbers and texts, and no objects."
    )


def _read_settings(content: Any) -> Any:
    """Settings that :func:`_settings` has packed; lists are read as tuples."""
    if isinstance(content, list):
        return tuple(map(_read_settings, content))
    if not isinstance(content, dict):
        return content
    if "class" in content:
        values = content["values"].items()
        made = ESTIMATORS[content["class"]]
        return made(**{key: _read_settings(one) for key, one in values})
    if "dict" in content:
        return {key: _read_settings(one) for key, one in content["dict"]}
    return float(content["number"])


# ------------------------------------------------------------------------------ checks
def _check(state: HistoryState, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse a state whose arrays do not belong to each other."""
    n, layout, repeats = len(state.models), state.fits.layout, state.repeats
    n_judges, widths = len(state.judges), layout.widths
    _expect(len(repeats) and min(repeats) > 0 and min(widths) >= 0, "widths")
    _expect(len(widths) == len(layout.positions) == n_judges + 1, "widths")
    _expect(np.array_equal(layout.model, np.arange(n)), "layout")
    _expect(not layout.is_new.any() and not layout.context.any(), "layout")
    for labels in (state.models, state.judges):
        _expect(len(set(labels.tolist())) == len(labels), "labels")
        # Labels that cannot be ordered raise an error here.
        sorted(labels.tolist())
    _expect((state.items is not None) == layout.has_item_effects, "items")
    _expect(0.0 < state.unit < np.inf, "unit")
    known = ItemCheck.of(ItemTest(), state.judges.tolist()).judges
    _expect(known.columns.equals(state.check.judges.columns), "check")
    _expect(len(state.check.judges) == n_judges, "check")
    _expect(len(state.human_errors) == len(state.unbounded) == n, "errors")
    shapes = _shapes(state, sum(repeats), [n + 1 + width for width in widths])
    for name, values in arrays.items():
        # Sparse matrices are checked as a whole.
        if not name.endswith(_OF_SPARSE):
            _expect(shapes.get(name.removeprefix("state.")) == values.shape, name)
    if state.counts is not None:
        counts, size = state.counts, len(state.counts.models)
        low = np.array([0, 0, -1, -1, *(-1 for _ in repeats)])
        high = np.array([size, size, len(counts.judges), 2, *repeats])
        within = (counts.kinds >= low) & (counts.kinds < high)
        _expect(within.all() and (counts.counts >= 0).all(), "counts")


def _shapes(
    state: HistoryState, n_folds: int, columns: list[int]
) -> dict[str, tuple[int, ...]]:
    """Shapes of all arrays of numbers, by name."""
    n, m = len(state.models), len(state.judges)
    size, fits = state.fits.layout.size, 1 + n_folds
    shapes: dict[str, tuple[int, ...]] = {
        **dict.fromkeys(("models", "human_errors", "unbounded"), (n,)),
        **{f"fits.layout.{name}": (n,) for name in ("is_new", "context", "model")},
        **dict.fromkeys(("judges", "graded", "items.slopes"), (m,)),
        **dict.fromkeys(("fits.item_precision", "items.covariance"), (m, m)),
        "check.judges.table": state.check.judges.shape,
        "check.judges.index": (m,),
        "fits.x": (fits, size),
        "fits.converged": (fits,),
        "fits.ridge": (size,),
    }

    for source, (one, k) in enumerate(zip(state.fits.sources, columns, strict=True)):
        _expect(one.source == source, "sources")
        square = k * (k + 1) // 2
        at = f"fits.sources.{source}"
        shapes |= _named(at, gram=(fits, square), score=(n_folds, k))
        shapes |= _named(at, outer=(n_folds, square))
    groups = state.fits.groups
    _expect(groups is None or len(groups) == n_folds, "groups")
    for fold, group in enumerate(groups or ()):
        k = len(group.codes)
        shapes[f"fits.groups.{fold}.codes"] = (k,)
        wide = [(k, columns[0]), (k, sum(columns[1:]))]
        _expect([group.people.shape, group.judges.shape] == wide, "groups")
        _expect((np.diff(group.codes) > 0).all(), "codes of groups")
    if state.all_models is not None:
        names = ("models", "scores", "n_human", "n_judge")
        own = dict.fromkeys(names, (len(state.all_models.models),))
        shapes |= _named("all_models", **own)
    if state.counts is not None:
        k, labels = len(state.counts.counts), (state.counts.models, state.counts.judges)
        kinds, sizes = (k, 4 + len(state.repeats)), [(len(one),) for one in labels]
        shapes |= _named("counts", kinds=kinds, outcomes=(k,), counts=(k,))
        shapes |= _named("counts", models=sizes[0], judges=sizes[1])
    return shapes | _shapes_of_sums(state, columns)


def _named(at: str, **shapes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a record, by their names in the file."""
    return {f"{at}.{name}": shape for name, shape in shapes.items()}


def _shapes_of_sums(
    state: HistoryState, columns: list[int]
) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of the sums for diagnostics."""
    n, m, sums = len(state.models), len(state.judges), state.sums
    shapes = _named("sums", noise=(m + 1,), rows=(m + 1, n), verdicts=(n, n))
    parts = {"historical": sums.historical, "new": sums.new, "ridges": sums.ridges}
    _expect({len(one) for one in parts.values()} == {m + 1}, "sources of sums")
    for source, size in enumerate(columns):
        shapes[f"sums.ridges.{source}"] = (size - n - 1,)
        k = size + N_TESTED
        for name in ("historical", "new"):
            at = f"sums.{name}.{source}"
            shapes |= _named(at, gram=(k, k), score=(k,), outer=(0, 0))
    _expect(len(sums.features or ()) in (0, m), "features of sums")
    for judge, rows in enumerate(sums.features or ()):
        k, ends = 0 if rows is None else len(rows.contrasts), (len(state.features),)
        at = f"sums.features.{judge}"
        shapes |= _named(at, low=ends, high=ends, contrasts=(k, *ends), times=(k,))
    return shapes


def _expect(is_met: Any, name: Any, value: Any = None) -> Any:
    """The value; refuse a file in which it does not belong to the rest."""
    if not is_met:
        raise ValueError(f"{name!s:.80} does not belong to the rest")
    return value
