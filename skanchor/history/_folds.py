"""Stored folds of a history as arrays, of which the fit of all rows is the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._comparisons.labels import label_index
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.blocks import fitted_columns, item_columns
from skanchor._numerics.groups import ColumnTotals
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums
from skanchor._riesz import SplitSums, WeightLearner
from skanchor._stored_folds import StoredFold
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.exceptions import BattlesError

Arrays = dict[str, NDArray[Any]]
PRODUCTS = "group_products"
"""Array of the summed products of the sums by group; the fit of all rows has none."""


# ------------------------------------------------------------------------------ packing
def pack_folds(folds: Sequence[StoredFold]) -> Arrays:
    """Arrays of all folds of a history.

    Parameters
    ----------
    folds : sequence of StoredFold
        The fit of all rows, then the folds of all repeats.

    Returns
    -------
    dict of str to ndarray
        Most arrays have a first axis of folds.

    Raises
    ------
    BattlesError
        If a learner is not linear in the features themselves.
    """
    per_fold = [_pack_fold(fold) for fold in folds]
    arrays = {
        # An array that a fold lacks (such as position effects, where it has no judge
        # with one) is NaN.
        name: np.array([one.get(name, np.full_like(first, np.nan)) for one in per_fold])
        for name, first in per_fold[0].items()
    }
    errors = folds[0].btl.standard_errors_.reindex(folds[0].X.models)
    arrays["human_errors"] = errors.to_numpy(np.float64)
    for m in range(PEOPLE, len(folds[0].X.judges)):
        arrays |= _pack_source(folds, m)
    products = [fold.sums.products for fold in folds[1:]]
    some = [one for one in products if one is not None]
    if len(some) == len(products) and len({len(one) for one in some}) == 1:
        arrays[PRODUCTS] = np.array(some)
    return arrays


def _pack_fold(fold: StoredFold) -> Arrays:
    """Fitted values of a fold, by model or judge; the names are those in the file."""
    X, calibrator = fold.X, fold.calibrator
    judges, n_features = X.judges.tolist(), X.features_left.shape[1]
    # By judge: coefficients of the bias and ridge of the Riesz weights; whether the
    # judge is calibrated, and whether its weights have a learner.
    coef, ridge = np.zeros((2, len(judges), n_features))
    known, has_learner = np.zeros((2, len(judges)), dtype=bool)
    for m, judge in enumerate(judges):
        learner = calibrator.biases_.get(judge)
        own = fold.learners[m]
        for one in (learner, own.learner):
            _check_linear(one, judge, n_features)
        known[m] = learner is not None
        if n_features and learner is not None:
            coef[m] = getattr(learner, "coef_", np.nan)
        has_learner[m] = own.learner is not None
        if own.ridge is not None:
            ridge[m] = own.ridge
    displayed = calibrator.has_position_effect_.reindex(judges, fill_value=False)
    # Only models with votes have a score of the BTL stage, bounded or not.
    voted = np.isin(X.models, fold.btl.models_)
    unbounded = np.zeros(len(X.models), dtype=bool)
    unbounded[voted] = fold.btl.unbounded_
    arrays = {
        "scores": X.scores,
        "voted": voted,
        "unbounded": unbounded,
        "sensitivities": X.sensitivities,
        "position_effects": X.position_effects,
        "has_position_effect": displayed.to_numpy(bool),
        "is_calibrated": known,
        "coef": coef,
        "has_weights": has_learner,
        "ridge": ridge,
        "deviations": X.deviations,
    }
    return {name: values for name, values in arrays.items() if values is not None}


def _check_linear(learner: Any, judge: Any, n_features: int) -> None:
    """Refuse a learner that is not determined by a few numbers."""
    if learner is None or not n_features:
        return
    if type(learner) is not LinearBias or learner.feature_map is not None:
        raise BattlesError(
            f"The learner of judge {judge!r}, {learner!r:.60}, cannot be stored in a "
            "file, which holds numbers and no objects. Add the columns of a feature "
            "map to the table, and give LinearBias() those. Keep a linear learner, "
            "bias='linear' or LinearBias(feature_map=...), or fit AnchorPipeline on "
            "all rows.",
        )


def _pack_source(folds: Sequence[StoredFold], m: int) -> Arrays:
    """Sums over the rows of one source, with a first axis of folds.

    Folds may differ in the width of the span; all arrays are as wide as the widest,
    with zeros in the columns that a fold lacks.
    """
    width = max(fold.sums.held_out[m].blocks.size for fold in folds)
    n = len(folds)
    gram, score = np.zeros((n, width, width)), np.zeros((n, width))
    # ``size`` has the sum of w V and the number of rows.
    size = np.zeros((n, 2))
    found: dict[str, Any] = {"gram": gram, "size": size, "score": score}
    grouped = folds[0].sums.held_out[m].by_group is not None
    if not grouped:
        found["outer"] = np.zeros((n, width, width))
    by_group = []
    for number, fold in enumerate(folds):
        # Information of the training rows, and residuals of the held-out rows.
        known, rest = fold.sums.training.get(m), fold.sums.held_out[m]
        if known is not None:
            at = slice(known.blocks.size)
            gram[number, at, at] = known.information
            size[number] = known.curvature, known.n_rows
        at = slice(rest.blocks.size)
        score[number, at] = rest.score
        if rest.outer is not None:
            found["outer"][number, at, at] = rest.outer
        elif rest.by_group is not None:
            by_group.append(rest.by_group)
    if grouped:
        found |= _pack_groups(by_group)
    return {f"{_source_name(m)}/{name}": values for name, values in found.items()}


def _pack_groups(by_group: Sequence[ColumnTotals]) -> Arrays:
    """Sums by group, those of a fold below those of the one before.

    The groups of fold k lie between ``stops[k]`` and ``stops[k + 1]``. Sums by item are
    stored where they are not zero, ``entries`` of each group.
    """
    widest = max(one.others.shape[1] for one in by_group)
    stops = np.cumsum([0, *(len(one.groups) for one in by_group)])
    others = np.zeros((stops[-1], widest))
    for one, (start, stop) in zip(by_group, pairwise(stops.tolist()), strict=True):
        others[start:stop, : one.others.shape[1]] = one.others
    return {
        "groups": np.concatenate([one.groups for one in by_group]),
        "stops": stops,
        "entries": np.concatenate([np.diff(one.items.indptr) for one in by_group]),
        "items": np.concatenate([one.items.indices for one in by_group]),
        "net": np.concatenate([one.items.data for one in by_group]),
        "others": others,
    }


def _source_name(m: int) -> str:
    """Name of a source in the file."""
    return "people" if m == PEOPLE else f"judge {m}"


# ---------------------------------------------------------------------------- unpacking
def unpack_folds(
    arrays: Mapping[str, NDArray[Any]], X: Comparisons
) -> list[StoredFold]:
    """Rebuild the folds from the arrays of :func:`pack_folds`.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Arrays of :func:`pack_folds`.
    X : Comparisons
        Without rows, with the models, judges and features of the history and the
        covariance of item effects.

    Returns
    -------
    list of StoredFold
        The fit of all rows first.
    """
    return [_unpack_fold(arrays, X, k) for k in range(len(arrays["scores"]))]


def _unpack_fold(
    arrays: Mapping[str, NDArray[Any]], X: Comparisons, k: int
) -> StoredFold:
    """Rebuild the fold with index k."""

    def own(name: str) -> Any:
        """Values of this fold."""
        return arrays[name][k] if name in arrays else None

    # All NaN where this fold has no position effects, and others have.
    effects = own("position_effects")
    if effects is not None and np.isnan(effects).all():
        effects = None
    # The biases are values by row, of which there are none.
    learned = X.with_columns(
        scores=own("scores"),
        sensitivities=own("sensitivities"),
        position_effects=effects,
        deviations=own("deviations"),
        biases=np.zeros(0),
    )
    has_features = X.features_left.shape[1] > 0
    learners = [
        WeightLearner(_fitted_linear(np.empty(0), "squared"), ridge)
        if weighs and has_features
        else WeightLearner()
        for weighs, ridge in zip(own("has_weights"), own("ridge"), strict=True)
    ]
    sums = _unpack_split(arrays, learners, k, len(X.models))
    return StoredFold(
        _btl(arrays, X, k), _calibrator(arrays, X, k), learned, learners, sums
    )


def _btl(arrays: Mapping[str, NDArray[Any]], X: Comparisons, k: int) -> BTLRegressor:
    """Fitted BTL stage of fold k; only the fit of all rows (k = 0) has errors."""
    voted = arrays["voted"][k]
    btl = BTLRegressor()
    btl.bias_ = None
    btl.models_ = X.models[voted]
    index = label_index(btl.models_, "model")
    btl.scores_ = pd.Series(arrays["scores"][k][voted], index=index, name="score")
    btl.unbounded_ = arrays["unbounded"][k][voted]
    errors = arrays["human_errors"][voted]
    btl.covariance_ = np.diag(errors**2 if k == 0 else np.full(len(errors), np.nan))
    return btl


def _calibrator(
    arrays: Mapping[str, NDArray[Any]], X: Comparisons, k: int
) -> JudgeCalibrator:
    """Fitted calibrator of fold k."""
    known = arrays["is_calibrated"][k]
    calibrator = JudgeCalibrator()
    calibrator.judges_ = X.judges[known]
    calibrator.features_ = np.array(X.feature_names, dtype=object)
    calibrator.choices_ = pd.DataFrame()
    index = label_index(calibrator.judges_, "judge")

    def of_judges(values: Any, name: str) -> pd.Series:
        return pd.Series(values[k][known], index=index, name=name)

    effects = arrays.get("position_effects", np.zeros_like(arrays["sensitivities"]))
    effects = np.nan_to_num(effects)
    calibrator.sensitivities_ = of_judges(arrays["sensitivities"], "sensitivity")
    calibrator.position_effects_ = of_judges(effects, "position")
    calibrator.has_position_effect_ = of_judges(
        arrays["has_position_effect"], "has_position_effect"
    )
    coefs = arrays["coef"][k][known]
    calibrator.biases_ = {
        judge: _fitted_linear(coef, "logistic")
        for judge, coef in zip(calibrator.judges_.tolist(), coefs, strict=True)
    }
    return calibrator


def _fitted_linear(coef: Array, loss: str) -> LinearBias:
    """Fitted learner that is linear in the features themselves.

    It needs no ``alpha``: the ridge of the weights is stored with the fold.
    """
    learner = LinearBias(loss=loss)
    learner.coef_, learner.feature_map_ = coef, None
    return learner


def _unpack_split(
    arrays: Mapping[str, NDArray[Any]],
    learners: Sequence[WeightLearner],
    k: int,
    n_models: int,
) -> SplitSums:
    """Rebuild the sums of all sources in fold k."""
    training, held_out = {}, {}
    for m in range(PEOPLE, len(learners)):

        def own(name: str, m: int = m) -> Any:
            """Sums of this source and fold."""
            return arrays[f"{_source_name(m)}/{name}"][k]

        blocks = item_columns(n_models)
        if m != PEOPLE:
            # The arrays are as wide as in the widest fold. A fold without a learner of
            # the weights has no span.
            n_span = len(own("score")) - fitted_columns(n_models, 0).size
            has_span = learners[m].learner is not None
            blocks = fitted_columns(n_models, n_span if has_span else 0)
        at = slice(blocks.size)
        curvature, n_rows = own("size")
        # A judge without training rows in this fold has no information.
        if m == PEOPLE or n_rows:
            training[m] = SourceSums(
                blocks,
                information=own("gram")[at, at],
                curvature=curvature,
                n_rows=n_rows.astype(np.intp),
            )
        score = own("score")[at]
        if f"{_source_name(m)}/outer" in arrays:
            outer = own("outer")[at, at]
            held_out[m] = SourceSums(blocks, score=score, outer=outer)
            continue
        by_group = _unpack_groups(arrays, _source_name(m), k, n_models, blocks.size)
        held_out[m] = SourceSums(blocks, score=score, by_group=by_group)
    products = None
    if k and PRODUCTS in arrays:
        products = arrays[PRODUCTS][k - 1]
        size = sum(held_out[m].blocks.size for m in held_out)
        if products.shape != (size, size):
            raise ValueError(f"{PRODUCTS} has the shape {products.shape}")
    return SplitSums(training, held_out, products)


def _unpack_groups(
    arrays: Mapping[str, NDArray[Any]], source: str, k: int, n_models: int, width: int
) -> ColumnTotals:
    """Rebuild the sums by group of a source in fold k."""

    def own(name: str) -> Any:
        return arrays[f"{source}/{name}"]

    some = slice(*own("stops")[k : k + 2].tolist())
    groups = own("groups")[some]
    if not len(groups):
        # Not a part of arrays that would stay in memory for its sake.
        return ColumnTotals.nothing(n_models, width - n_models)
    ends = np.concatenate([[0], np.cumsum(own("entries"))])[some.start : some.stop + 1]
    held = slice(ends[0], ends[-1])
    content = own("net")[held], own("items")[held], ends - ends[0]
    items = csr_array(content, (len(groups), n_models))
    # A file may come from anybody, and products do not check the indices.
    items.check_format(full_check=True)
    return ColumnTotals(groups, items, own("others")[some, : width - n_models])
