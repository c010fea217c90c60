"""The state of a history and its settings, as a header in JSON and arrays.

The state is a record, that is a dataclass, of numbers, texts, arrays and further
records. A file is read as the types that the fields of the records declare, so that it
can make nothing else, and its arrays must have the axes that these name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache, partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._battles.labels import as_objects
from skanchor._diagnostics.sums import N_TESTED
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.riesz import RieszDebiaser
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError
from skanchor.history._state import HistoryState
from skanchor.io.archive import Archive
from skanchor.pipeline import AnchorPipeline

PARTS = (ArrivalScorer, BTLRegressor, JudgeCalibrator, LinearBias, RieszDebiaser)
"""Estimators whose parameters a file may hold, beside those of the whole."""

_NUMBERS = "biuf"
"""Kinds of arrays of numbers."""

_DECLARED = {np.float64: "fiu", np.bool_: "b", np.intp: "iuf", np.int64: "iu"}
"""Kinds of the numbers in arrays that are declared to hold these."""

_OF_SPARSE = ("data", "indices", "indptr")


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
    for judge, one in zip(state.judges.tolist(), state.learners, strict=True):
        if one is not None and (type(one) is not LinearBias or one.feature_map):
            raise BattlesError(
                f"The bias learner of judge {judge!r} cannot be stored in a file, "
                "which holds that of a linear bias (LinearBias) without a feature "
                "map. Add the columns of a feature map to the table, or fit "
                "AnchorPipeline on all rows."
            )
    settings: dict[str, Any] = {}
    for name, value in anchor.get_params().items():
        if name == "cv" and not isinstance(value, (int, np.integer)):
            settings[name] = state.repeats[0]
        elif isinstance(value, np.random.RandomState):
            settings[name] = None
        elif not isinstance(value, PARTS):
            value = value.tolist() if isinstance(value, np.ndarray) else value
            settings[name] = _packed(value, name, {})
    arrays: dict[str, NDArray[Any]] = {}
    record = _packed(replace(state, learners=()), "state", arrays)
    return Archive({"settings": settings, "state": record}, arrays)


def unpacked_history(content: Archive) -> tuple[HistoryState, AnchorPipeline]:
    """State and settings from the content of a file; any error means a bad file.

    Settings are not validated here, but where a history takes them.
    """
    settings = content.header["settings"].items()
    anchor = AnchorPipeline().set_params(
        **{name: tuple(v) if isinstance(v, list) else v for name, v in settings}
    )
    header = content.header["state"]
    state, shapes = _unpacked(HistoryState, header, "state", content.arrays)
    _check(state)
    _check_shapes(state, shapes)
    learners: list[Any] = [None] * len(state.judges)
    if state.features:
        learners = [LinearBias(loss="logistic") for _ in learners]
        for source, learner in enumerate(learners, start=1):
            learner.coef_ = state.fits.x[0][state.fits.layout.span(source)]
            learner.feature_map_ = None
    return replace(state, learners=tuple(learners)), anchor


def _packed(value: Any, name: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """A value in types that JSON has; arrays of numbers are added to the others."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind in _NUMBERS:
            arrays[name] = value
            return name
        value = value.astype(object).tolist()
    if isinstance(value, (list, tuple)):
        return [_packed(one, f"{name}.{k}", arrays) for k, one in enumerate(value)]
    parts = {}
    if is_dataclass(value):
        parts = {one.name: getattr(value, one.name) for one in fields(value)}
    elif isinstance(value, csr_array):
        parts = {key: getattr(value, key) for key in (*_OF_SPARSE, "shape")}
    if parts:
        return {key: _packed(v, f"{name}.{key}", arrays) for key, v in parts.items()}
    value = value.item() if isinstance(value, np.generic) else value
    if not (value is None or isinstance(value, (bool, int, float, str))):
        raise BattlesError(
            f"{name} cannot be stored in a file, which holds numbers and texts, and no "
            f"objects such as {value!r:.60}. Labels must be text or numbers, and all "
            "judges have one kind of learner."
        )
    return value


_hints = lru_cache(partial(get_type_hints, include_extras=True))
_ARRAYS = np.ndarray, NDArray

Shape = tuple[str, list[str], tuple[int, ...]]
"""Name of an array, the names of its axes, and their lengths."""


def _unpacked(
    kind: Any, content: Any, name: str, arrays: Mapping[str, NDArray[Any]]
) -> tuple[Any, list[Shape]]:
    """The value of a declared kind that :func:`_packed` has packed, and its arrays."""
    shapes: list[Shape] = []

    def read(kind: Any, content: Any, name: str) -> Any:
        made, args = get_origin(kind) or kind, get_args(kind)
        if made is Annotated:
            value = read(args[0], content, name)
            shapes.append((name, args[1].split(), value.shape))
            return value
        if made in (Union, UnionType):
            return None if content is None else read(args[0], content, name)
        if is_dataclass(made):
            hints, parts = _hints(kind), content.items()
            return kind(**{k: read(hints[k], one, f"{name}.{k}") for k, one in parts})
        if made is tuple:
            _expect(isinstance(content, list), name)
            parts = enumerate(content)
            return tuple(read(args[0], one, f"{name}.{k}") for k, one in parts)
        if made is csr_array:
            entries = [arrays[f"{name}.{key}"] for key in _OF_SPARSE]
            _expect([one.dtype.kind for one in entries] == ["f", "i", "i"], name)
            matrix = csr_array(tuple(entries), shape=tuple(content["shape"]))
            # A file may come from anybody, and products do not check the indices.
            matrix.check_format(full_check=True)
            return matrix
        if made in _ARRAYS:
            # Since numpy 2.5 ``NDArray`` is an alias that keeps its own name.
            number = args[0] if made is NDArray else get_args(args[1])[0]
            if number is Any and isinstance(content, list):
                # Python's types of the labels stay.
                return as_objects(read(Any, one, name) for one in content)
            _expect(content == name, name)
            _expect(arrays[name].dtype.kind in _DECLARED.get(number, _NUMBERS), name)
            return arrays[name]
        types = (bool, int, float, str) if kind is Any else (kind,)
        is_whole = kind is float and type(content) is int
        _expect(is_whole or type(content) in types, name)
        return content

    return read(kind, content, name), shapes


def _check(state: HistoryState) -> None:
    """Refuse a state whose parts do not belong to each other."""
    fits, sums, counts, layout = state.fits, state.sums, state.counts, state.fits.layout
    n_sources, n_folds = 1 + len(state.judges), sum(state.repeats)
    by_source = sums.historical, sums.new, sums.ridges, layout.widths, layout.positions
    _expect({len(one) for one in by_source} == {n_sources}, "sources")
    _expect(sums.features is None or len(sums.features) == n_sources - 1, "features")
    _expect(fits.groups is None or len(fits.groups) == n_folds, "groups")
    _expect(len(state.repeats) and min(state.repeats) > 0, "repeats")
    _expect(min(layout.widths) >= 0, "widths")
    _expect(np.array_equal(layout.model, np.arange(len(state.models))), "layout")
    _expect(not layout.is_new.any() and not layout.context.any(), "layout")
    _expect((state.items is not None) == layout.has_item_effects, "items")
    _expect(0.0 < state.unit < np.inf, "unit")
    for labels in (state.models, state.judges):
        _expect(len(set(labels.tolist())) == len(labels), "labels")
        # Labels that cannot be ordered raise an error here.
        sorted(labels.tolist())
    codes = [one.codes for one in fits.groups or ()]
    _expect(all((np.diff(one) > 0).all() for one in codes), "codes")
    if counts is not None:
        n_models, n_judges = len(counts.models), len(counts.judges)
        low, high = (0, 0, -1, -1), (n_models, n_models, n_judges, 2)
        within = (counts.kinds >= low) & (counts.kinds < high)
        _expect(within.all() and (counts.counts >= 0).all(), "counts")


def _check_shapes(state: HistoryState, shapes: Sequence[Shape]) -> None:
    """Refuse an array whose axes have other lengths than in the rest."""
    layout, n, n_folds = state.fits.layout, len(state.models), sum(state.repeats)
    columns = np.array([n + 1 + width for width in layout.widths])
    # By source, or the same everywhere; what is not here all arrays of a record share.
    sizes: dict[Any, Any] = {
        "models": n,
        "judges": len(state.judges),
        "sources": 1 + len(state.judges),
        "features": len(state.features),
        "fits": 1 + n_folds,
        "folds": n_folds,
        "size": layout.size,
        "span": layout.widths,
        "columns": columns.max(),
        "triangle": columns.max() * (columns.max() + 1) // 2,
        "stacked": len(columns) * columns.max(),
        "tested": columns + N_TESTED,
        "tests": state.check.judges.shape[1],
        "coded": 4,
        "none": 0,
    }
    for name, axes, shape in shapes:
        numbers = re.findall(r"\d+", name)
        _expect(len(axes) == len(shape), name)
        for axis, length in zip(axes, shape, strict=True):
            key = axis if axis in sizes else (name.rpartition(".")[0], axis)
            size = sizes.setdefault(key, length)
            _expect(length == (size[int(numbers[0])] if np.ndim(size) else size), name)


def _expect(is_met: Any, name: Any) -> None:
    """Refuse a file in which something does not belong to the rest."""
    if not is_met:
        raise ValueError(f"{name!s:.80} does not belong to the rest")
