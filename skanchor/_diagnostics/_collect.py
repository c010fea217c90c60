"""The diagnostics of one fit, collected judge by judge and model by model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor._battles import Comparisons, align
from skanchor._battles.labels import label_index
from skanchor._crossfit.item_test import ItemTest, chi_square_tail
from skanchor._diagnostics._arrivals import ArrivalCheck
from skanchor._diagnostics._report import Diagnostics
from skanchor._diagnostics._sums import FitSums, feature_overlap, historical_features
from skanchor._diagnostics._ties import tie_table
from skanchor._estimators.btl import BTLRegressor
from skanchor._model.layout import PEOPLE
from skanchor._model.riesz import Solution
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.results.intervals import relative_spread

_OF_TESTS = ["pearson", "pearson_df", "pearson_p", "item_chi2", "item_df", "item_p"]
_OF_JUDGES = [
    *("sensitivity_error", "sensitivity_z", "residual_share"),
    *("outside_features", "effective_share", "largest_ratio"),
]
_OF_MODELS = [
    *("residual_share", "largest_influence", "correction_z"),
    *("outside_scores", "self_judged", "df"),
]


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
        return cls(pd.DataFrame(table, index, _OF_TESTS), test.p_value)


def diagnose(
    sample: Sample,
    sums: FitSums,
    solution: Solution,
    btl: BTLRegressor,
    moments: tuple[Array, Array, Array],
    plug_in: Array,
    largest: Array,
    check: ItemCheck,
    arrivals: ArrivalCheck,
    *,
    is_joint: bool,
) -> Diagnostics:
    """Collect the diagnostics of one fit.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything that was learned, and their weights: those of
        arrivals, and of history where these are at hand.
    sums : FitSums
        Over all rows.
    solution : Solution
        Of all rows.
    btl : BTLRegressor
        Fitted to the votes.
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
    is_joint : bool
        Whether votes and verdicts were fitted jointly, and judges not to the scores of
        votes, taken for exact.

    Returns
    -------
    Diagnostics
    """
    X, scores = sample.X, moments[0]
    judges = pd.DataFrame(
        np.hstack([check.judges.to_numpy(float), _by_judge(sample, sums, solution)]),
        check.judges.index,
        [*_OF_TESTS, *_OF_JUDGES],
    )
    models = pd.DataFrame(
        _by_model(X, sums, solution, moments, plug_in, largest)[X.is_new],
        label_index(X.models[X.is_new], "model"),
        _OF_MODELS,
    )
    ridge_share, old = 1.0, ~X.is_new
    if btl.alpha:
        assert X.scores is not None
        ridge_share = relative_spread(X.scores[old], scores[old])
    return Diagnostics(
        judges,
        models,
        _item_effects(X, solution),
        check.p_value,
        arrivals,
        scale_z=1.0 / solution.scale_error if solution.scale_error else np.nan,
        ridge_share=ridge_share,
        historical=_historical(X, sums, solution, btl, is_joint),
        # A stored history has no rows, so that its ties cannot be counted.
        ties=tie_table(sample) if sums.features is None else pd.DataFrame(),
        style=_style(X, solution, btl.bias_),
        grouped=sample.is_grouped,
        with_items=solution.layout.has_item_effects,
    )


def _by_judge(sample: Sample, sums: FitSums, solution: Solution) -> Array:
    """How well each judge tells models apart, and whether arrivals are like history.

    Of shape (n_judges, 6), columns as in ``_OF_JUDGES``.
    """
    layout, found = solution.layout, np.full((len(sample.X.judges), 6), np.nan)
    slopes = solution.fit.x[layout.sensitivities][1:]
    errors = found[:, 0] = solution.sensitivity_errors
    found[:, 1] = np.divide(slopes, errors, out=found[:, 1], where=errors > 0)
    scores, n = solution.fit.scores, layout.n_items
    for source, every in enumerate(sums.all[1:], start=1):
        total = scores @ every.gram[:n, :n] @ scores
        if source in solution.grams:
            # Verdicts that are certain leave nothing.
            left = scores @ solution.beside_span(source)[:n, :n] @ scores
            found[source - 1, 2] = left / total if total > 0 else 0.0
    known = historical_features(sample) if sums.features is None else sums.features
    found[:, 3:] = feature_overlap(sample, known)
    return found


def _by_model(
    X: Comparisons,
    sums: FitSums,
    solution: Solution,
    moments: tuple[Array, Array, Array],
    plug_in: Array,
    largest: Array,
) -> Array:
    """Of each model what ``_OF_MODELS`` names, of shape (n_models, 6)."""
    (scores, errors, df), items, n = moments, X.items, len(X.models)
    low, high, total, left = np.zeros((4, n))
    for code in np.unique(items.context):
        inside = items.context == code
        old = scores[inside & ~X.is_new]
        low[inside], high[inside] = old.min(), old.max()
    for source, slope in enumerate(solution.fit.x[solution.layout.sensitivities]):
        if source in solution.grams:
            total += slope**2 * sums.all[source].gram.diagonal()[:n]
            left += slope**2 * solution.beside_span(source).diagonal()[:n]
    judges = X.judges.tolist()
    names = [items.models[code] for code in items.model]
    by_itself = [
        sums.rows[1 + judges.index(name), at]
        if isinstance(name, str) and name in judges
        else 0.0
        for at, name in enumerate(names)
    ]
    outside = np.maximum(0.0, np.maximum(scores - high, low - scores))
    verdicts = sums.rows[PEOPLE + 1 :].sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        table = np.column_stack(
            [
                left / total,
                (largest / errors) ** 2,
                (scores - plug_in) / errors,
                outside / (high - low),
                by_itself / np.maximum(verdicts, 1.0),
                df,
            ]
        )
    table[largest == 0] = np.nan
    return table


def _historical(
    X: Comparisons,
    sums: FitSums,
    solution: Solution,
    btl: BTLRegressor,
    is_joint: bool,
) -> pd.DataFrame:
    """Votes of each historical model, error of its human score, and what it does."""
    scores, n = solution.fit.scores, len(X.models)
    error = np.asarray(align(np.sqrt(np.diag(btl.covariance_)), btl.models_, X.models))
    # Noise in a regressor makes its slope, the sensitivity, too small by this share:
    # the model's part of sum w error^2 over sum w delta^2.
    spread = scores @ sums.verdicts @ scores
    noise = np.full(n, np.nan)
    if spread > 0 and not is_joint:
        noise = sums.verdicts.diagonal() * error**2 / spread
    columns = {"votes": sums.rows[PEOPLE], "human_error": error, "score_noise": noise}
    if btl.bias_ is not None:
        left = solution.beside_span(PEOPLE).diagonal()[:n]
        with np.errstate(divide="ignore", invalid="ignore"):
            columns["residual_share"] = left / sums.all[PEOPLE].gram.diagonal()[:n]
    return pd.DataFrame(columns, label_index(X.models, "model"))[~X.is_new]


def _style(X: Comparisons, solution: Solution, bias: Any) -> pd.DataFrame:
    """Coefficients of people's bias with their errors; empty without a linear one."""
    at, values, names = solution.layout.span(PEOPLE), np.zeros((0, 3)), []
    if at.stop > at.start and linearity(bias) == "fixed":
        error = np.sqrt(solution.information.variances(at))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.column_stack([bias.coef_, error, bias.coef_ / error])
        names = span_names(bias, X.feature_names, len(values))
    index = pd.Index(names, name="column")
    return pd.DataFrame(values, index, ["coefficient", "standard_error", "z"])


def _item_effects(X: Comparisons, solution: Solution) -> pd.DataFrame:
    """Item effects with their errors; empty without them."""
    at, values = np.empty((2, 0), dtype=int), np.empty((0, 2))
    if X.deviations is not None and X.item_covariance is not None:
        # As `from_product`, which would look for equal labels first.
        at = np.indices((len(X.judges), len(X.models))).reshape(2, -1)
        error = np.sqrt(solution.item_effect_variances)
        values = np.column_stack([X.deviations.ravel(), error.ravel()])
    names = ["judge", "model"]
    labels: Any = [label_index(X.judges, names[0]), label_index(X.models, names[1])]
    index = pd.MultiIndex(labels, list(at), names=names)
    return pd.DataFrame(values, index, ["deviation", "standard_error"])
