"""The diagnostics of one fitted chain, collected judge by judge and model by model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import Comparisons
from skanchor._battles.labels import label_index
from skanchor._crossfit.item_test import ItemTest, chi_square_tail
from skanchor._crossfit.solution import Solution
from skanchor._diagnostics._arrivals import ArrivalCheck
from skanchor._diagnostics._overlap import HistoricalFeatures, feature_overlap
from skanchor._diagnostics._report import Diagnostics
from skanchor._diagnostics._sums import FitSums
from skanchor._diagnostics._ties import tie_table
from skanchor._typing import Array
from skanchor.sample import Sample

_OF_JUDGES = pd.Index(
    [
        "sensitivity_error",
        "sensitivity_z",
        "residual_share",
        "outside_features",
        "effective_share",
        "largest_ratio",
    ]
)

_OF_MODELS = pd.Index(
    [
        "residual_share",
        "largest_influence",
        "correction_z",
        "outside_scores",
        "self_judged",
        "df",
    ]
)

_OF_TESTS = pd.Index(
    ["pearson", "pearson_df", "pearson_p", "item_chi2", "item_df", "item_p"]
)

_OF_DEVIATIONS = pd.Index(["deviation", "standard_error"])


@dataclass(frozen=True, eq=False)
class ItemCheck:
    """What is reported of the tests for item effects.

    Attributes
    ----------
    judges : DataFrame
        By judge: ``pearson``, ``pearson_df``, ``pearson_p``, ``item_chi2``,
        ``item_df``, ``item_p``. NaN where a judge has no historical row, or the fit
        explains every verdict exactly, as with one that only ties.
    p_value : float
        Of the test over all judges; NaN where there are no scores to test against.
    """

    judges: pd.DataFrame
    p_value: float

    @classmethod
    def of(cls, test: ItemTest, judges: Sequence[Any]) -> ItemCheck:
        """Tabulate tests by the labels of the judges."""
        table = np.full((len(judges), len(_OF_TESTS)), np.nan)
        for source, one in test.by_judge.items():
            by_pair = (one.pearson, one.pearson_df)
            by_model = (one.chi2, one.df)
            values = [(*pair, chi_square_tail(*pair)) for pair in (by_pair, by_model)]
            table[source - 1] = np.ravel(values)
        index = pd.Index(judges, name="judge")
        return cls(pd.DataFrame(table, index, _OF_TESTS.copy()), test.p_value)


def diagnose(
    sample: Sample,
    sums: FitSums,
    solution: Solution,
    moments: tuple[Array, Array, Array],
    plug_in: Array,
    largest: Array,
    check: ItemCheck,
    arrivals: ArrivalCheck,
    **found: Any,
) -> Diagnostics:
    """Collect the diagnostics of one fitted chain.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything the chain learned, and their weights: those of
        arrivals, and of history where these are at hand.
    sums : FitSums
        Over all rows.
    solution : Solution
        Of all rows.
    moments : tuple of ndarray of shape (n_models,)
        Final scores, their standard errors, and degrees of freedom.
    plug_in : ndarray of shape (n_models,)
        Scores before the correction.
    largest : ndarray of shape (n_models,)
        Largest influence of a row on each score, in size; of a group, where there are
        groups.
    check : ItemCheck
        Of the item effects, on the historical rows.
    arrivals : ArrivalCheck
        Of what judges make of the new models.
    **found
        What is known of other attributes of the diagnostics.

    Returns
    -------
    Diagnostics
    """
    X = sample.X
    tested = check.judges
    judges = pd.DataFrame(
        np.hstack([tested.to_numpy(float), _by_judge(sample, sums, solution)]),
        tested.index,
        tested.columns.append(_OF_JUDGES),
    )
    scores, errors, df = moments
    low, high = _historical_range(X, scores)
    outside = np.maximum(0.0, np.maximum(scores - high, low - scores))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [
            _residual_share(X, sums, solution),
            (largest / errors) ** 2,
            (scores - plug_in) / errors,
            outside / (high - low),
            _self_judged(X, sums),
            df,
        ]
    by_model = np.column_stack(values)[X.is_new]
    by_model[largest[X.is_new] == 0] = np.nan
    models = pd.DataFrame(
        by_model, label_index(X.models[X.is_new], "model"), _OF_MODELS.copy()
    )
    return Diagnostics(
        judges,
        models,
        _deviations(X, solution),
        check.p_value,
        arrivals,
        scale_z=1.0 / solution.scale_error if solution.scale_error else np.nan,
        grouped=sample.is_grouped,
        with_items=X.deviations is not None and X.item_covariance is not None,
        # A stored history has no rows, so that its ties cannot be counted.
        ties=tie_table(sample) if sums.features is None else pd.DataFrame(),
        **found,
    )


def _historical_range(X: Comparisons, scores: Array) -> tuple[Array, Array]:
    """Lowest and highest historical score beside each model, in its context."""
    context = X.items.context
    low, high = np.empty((2, len(scores)))
    for code in np.unique(context):
        old = scores[(context == code) & ~X.is_new]
        low[context == code], high[context == code] = old.min(), old.max()
    return low, high


def _by_judge(sample: Sample, sums: FitSums, solution: Solution) -> Array:
    """How well each judge tells models apart, and whether arrivals are like history.

    Of shape (n_judges, 6), columns as in ``_OF_JUDGES``.
    """
    X, n_models = sample.X, len(sample.X.models)
    used = sample.counts & np.isfinite(X.logits())
    found = np.full((len(X.judges), len(_OF_JUDGES)), np.nan)
    slopes, errors = (
        solution.fit.x[solution.layout.sensitivities][1:],
        solution.sensitivity_errors,
    )
    found[:, 0] = errors
    found[:, 1] = np.divide(slopes, errors, out=found[:, 1], where=errors > 0)
    scores = np.append(solution.fit.scores, 0.0)
    for m in range(len(X.judges)):
        raw = sums.sources[m].gram[n_models, n_models]
        if m + 1 in solution.grams and raw > 0:
            found[m, 2] = scores @ solution.beside_span(m + 1) @ scores / raw
    known: Iterable[HistoricalFeatures | None] | None = sums.features
    if known is None:
        known = (
            HistoricalFeatures.of(sample, m, used[X.by_judge(m).rows])
            for m in range(len(found))
        )
    found[:, 3:] = feature_overlap(sample, used, known)
    return found


def _residual_share(X: Comparisons, sums: FitSums, solution: Solution) -> Array:
    """Share of each score's gradient that the bias functions cannot imitate."""
    n_models = len(X.models)
    total, kept = np.zeros((2, n_models))
    for source, slope in enumerate(solution.fit.x[solution.layout.sensitivities]):
        if source in solution.grams:
            own = sums.sources[source - 1].gram.diagonal()[:n_models]
            total += slope**2 * own
            kept += slope**2 * solution.beside_span(source).diagonal()[:n_models]
    return np.asarray(kept / total)


def _self_judged(X: Comparisons, sums: FitSums) -> Array:
    """Share of each model's verdicts that come from a judge of the same name."""
    at = {judge: m for m, judge in enumerate(X.judges.tolist())}
    items = X.items
    own = [
        at.get(model, -1) if isinstance(model, str) else -1
        for model in items.models[items.model].tolist()
    ]
    total, itself = np.zeros(len(own)), np.zeros(len(own))
    for m in range(len(at)):
        verdicts = sums.sources[m].rows
        total += verdicts
        itself += np.where(np.equal(own, m), verdicts, 0.0)
    return np.divide(itself, total, out=np.zeros(len(own)), where=total > 0)


def _deviations(X: Comparisons, solution: Solution) -> pd.DataFrame:
    at, values = np.empty((2, 0), dtype=int), np.empty((0, 2))
    if X.deviations is not None and X.item_covariance is not None:
        # As `from_product`, which would look for equal labels first.
        at = np.indices((len(X.judges), len(X.models))).reshape(2, -1)
        error = np.sqrt(solution.item_effect_variances)
        values = np.column_stack([X.deviations.ravel(), error.ravel()])
    names = ["judge", "model"]
    labels: Any = [label_index(X.judges, names[0]), label_index(X.models, names[1])]
    index = pd.MultiIndex(labels, list(at), names=names)
    return pd.DataFrame(values, index, _OF_DEVIATIONS.copy())
