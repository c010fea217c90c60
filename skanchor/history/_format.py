"""The content of a history's file: a header in JSON, and arrays.

Arrays of fitted values have a first axis of folds: the first entry is the fit of all
rows, then come the folds, repeat by repeat. The page docs/history.md describes each
array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons, EncodedRows
from skanchor._diagnostics import FitSums, FittedSource, HistoricalFeatures, ItemCheck
from skanchor._items import ItemCovariance
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.shrinkage import Shrinkage
from skanchor._stages import Stages
from skanchor._stored_folds import StoredFold, StoredHistory
from skanchor.history._counts import RowCounts
from skanchor.history._folds import pack_folds, unpack_folds
from skanchor.history._json import pack_labels, unpack_labels
from skanchor.history._state import Board, GroupFolds, HistoryState

Arrays = dict[str, NDArray[Any]]
# Attributes that are stored of a FittedSource, of FitSums, of HistoricalFeatures and of
# an ItemCovariance.
_OF_SOURCE = ("gram", "score", "ridge", "pull", "rows")
_OF_SUMS = ("n_human", "n_judge", "verdicts", "spread_of_scores", "noise")
_OF_FEATURES = ("low", "high", "contrasts")
_OF_ITEMS = ("inflation", "df", "free", "converged")


def pack_state(state: HistoryState) -> tuple[dict[str, Any], Arrays]:
    """Header and arrays of the file of a history.

    Parameters
    ----------
    state : HistoryState
        State of the history.

    Returns
    -------
    header : dict
        Labels and facts, of types that JSON has.
    arrays : dict of str to ndarray
        All numbers.

    Raises
    ------
    BattlesError
        If a label or a learner cannot be stored in a file.
    """
    history, X = state.history, state.history.whole.X
    header = {
        "models": pack_labels(X.models, "models"),
        "judges": pack_labels(X.judges, "judges"),
        "features": list(X.feature_names),
        "repeats": [len(folds) for folds in history.repeats],
        "treatment": state.treatment,
        "unit": state.unit,
        "fingerprints": [
            [pack_labels([judge], "judges"), print_]
            for judge, print_ in state.fingerprints.items()
        ],
        "facts": dict(state.facts),
    }
    # The fit of all rows, then the folds of all repeats; ``repeats`` of the header has
    # the number of folds of each.
    folds = [history.whole, *(fold for repeat in history.repeats for fold in repeat)]
    arrays = pack_folds(folds)
    arrays |= _pack_sums(state.sums)
    arrays["check/judges"] = state.check.judges.to_numpy(np.float64)
    arrays["check/p_value"] = np.array(state.check.p_value)
    header["check"] = state.check.judges.columns.tolist()
    if history.items is not None:
        arrays |= _pack_items(history.items)
    if state.board is not None:
        board = state.board
        header["board"] = pack_labels(board.scores.index.to_numpy(), "models")
        arrays["board/scores"] = board.scores.to_numpy(np.float64)
        arrays["board/n_human"] = board.n_human.to_numpy()
        arrays["board/n_judge"] = board.n_judge.to_numpy()
    if state.groups is not None:
        header["groups"] = pack_labels(state.groups.labels, "groups")
        arrays["groups/folds"] = state.groups.folds
    if state.counts is not None:
        header["counted"] = {
            name: pack_labels(getattr(state.counts, name), name)
            for name in ("models", "judges")
        }
        for name in ("kinds", "outcomes", "counts"):
            arrays[f"rows/{name}"] = getattr(state.counts, name)
    return header, arrays


def unpack_state(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], stages: Stages
) -> HistoryState:
    """Rebuild the state of a history from the content of its file.

    Parameters
    ----------
    header, arrays
        Header and arrays of :func:`pack_state`.
    stages : Stages
        Unfitted stages.

    Returns
    -------
    HistoryState
    """
    models, judges = (unpack_labels(header[name]) for name in ("models", "judges"))
    items = _unpack_items(arrays) if "items/covariance" in arrays else None
    # Without rows, but with the labels, to which the fitted values belong.
    rows = _no_rows(models, judges, tuple(header["features"]))
    X = Comparisons(rows, item_covariance=None if items is None else items.covariance)
    folds = unpack_folds(arrays, X)
    history = StoredHistory(stages, items, folds[0], _by_repeat(folds[1:], header))
    tests = pd.DataFrame(
        arrays["check/judges"], pd.Index(judges, name="judge"), header["check"]
    )
    board = groups = counts = None
    if "board" in header:
        index = pd.Index(unpack_labels(header["board"]))
        names = ("scores", "n_human", "n_judge")
        board = Board(*(pd.Series(arrays[f"board/{name}"], index) for name in names))
    if "groups" in header:
        groups = GroupFolds(unpack_labels(header["groups"]), arrays["groups/folds"])
    if "counted" in header:
        labels = (
            unpack_labels(header["counted"][name]) for name in ("models", "judges")
        )
        names = ("kinds", "outcomes", "counts")
        counts = RowCounts(*labels, *(arrays[f"rows/{name}"] for name in names))
    return HistoryState(
        history,
        _unpack_sums(arrays, len(judges)),
        ItemCheck(tests, float(arrays["check/p_value"])),
        str(header["treatment"]),
        board,
        groups,
        {unpack_labels(one)[0]: print_ for one, print_ in header["fingerprints"]},
        header["facts"],
        counts,
        float(header["unit"]),
    )


def _no_rows(
    models: NDArray[Any], judges: NDArray[Any], features: tuple[str, ...]
) -> EncodedRows:
    """Encoded rows with these labels, of which there are none."""
    none = np.arange(0)
    blank = np.empty((0, len(features)))
    return EncodedRows(
        models, judges, none, none, none, np.empty(0), blank, blank, features,
        new_models=(),
    )  # fmt: skip


def _by_repeat(
    folds: list[StoredFold], header: Mapping[str, Any]
) -> list[list[StoredFold]]:
    """Split the folds of all repeats into a list for each repeat."""
    stops = np.cumsum([0, *header["repeats"]]).tolist()
    return [folds[a:b] for a, b in pairwise(stops)]


# -------------------------------------------------------------- sums, item effects
def _pack_sums(sums: FitSums) -> Arrays:
    """Arrays of the sums for diagnostics."""
    arrays = {f"sums/{name}": np.asarray(getattr(sums, name)) for name in _OF_SUMS}
    for m, source in sums.sources.items():
        for name in _OF_SOURCE:
            arrays[f"sums/{_source(m)}/{name}"] = getattr(source, name)
    for m, known in enumerate(sums.features or ()):
        if known is not None:
            for name in _OF_FEATURES:
                arrays[f"features/{m}/{name}"] = getattr(known, name)
    return arrays


def _unpack_sums(arrays: Mapping[str, NDArray[Any]], n_judges: int) -> FitSums:
    """Rebuild the sums for diagnostics."""
    sources = {
        m: FittedSource.of_arrays(
            *(arrays[f"sums/{_source(m)}/{name}"] for name in _OF_SOURCE)
        )
        for m in range(PEOPLE, n_judges)
    }
    features = tuple(
        HistoricalFeatures(*(arrays[f"features/{m}/{name}"] for name in _OF_FEATURES))
        if f"features/{m}/low" in arrays
        else None
        for m in range(n_judges)
    )
    known: dict[str, Any] = {name: arrays[f"sums/{name}"] for name in _OF_SUMS}
    known["spread_of_scores"] = float(known["spread_of_scores"])
    return FitSums(sources, **known, features=features)


def _source(m: int) -> str:
    """Name of a source in the arrays of the sums for diagnostics."""
    return "people" if m == PEOPLE else str(m)


def _pack_items(items: ItemCovariance) -> Arrays:
    """Arrays of the covariance of item effects."""
    numbers = [float(getattr(items, name)) for name in _OF_ITEMS]
    shares = [getattr(items.shrinkage, field.name) for field in fields(Shrinkage)]
    return {
        "items/covariance": items.covariance,
        "items/numbers": np.array(numbers),
        "items/slopes": items.slopes,
        "items/shrinkage": np.array(shares, dtype=np.float64),
    }


def _unpack_items(arrays: Mapping[str, NDArray[Any]]) -> ItemCovariance:
    """Rebuild the covariance of item effects."""
    numbers = dict(zip(_OF_ITEMS, arrays["items/numbers"].tolist(), strict=True))
    numbers["converged"] = bool(numbers["converged"])
    return ItemCovariance(
        arrays["items/covariance"],
        Shrinkage(*arrays["items/shrinkage"].tolist()),
        arrays["items/slopes"],
        **numbers,
    )
