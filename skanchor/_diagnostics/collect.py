"""The diagnostics of one fit, collected judge by judge and model by model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

from skanchor._battles import HUMAN, Comparisons, align
from skanchor._crossfit.item_test import ItemTest, chi_square_tail
from skanchor._diagnostics.arrivals import ArrivalCheck
from skanchor._diagnostics.report import Diagnostics
from skanchor._diagnostics.sums import FitSums, feature_overlap, historical_features
from skanchor._estimators.btl import BTLRegressor
from skanchor._model.fit import PEOPLE
from skanchor._model.logistic import fit_logistic
from skanchor._model.riesz import Information
from skanchor._sample.judge_checks import graded_in_part, graded_verdicts
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.results.intervals import relative_spread

if TYPE_CHECKING:
    from skanchor._crossfit.stages import FittedStages
    from skanchor.results import AnchorResult

_OF_TESTS = ["pearson", "pearson_df", "pearson_p", "item_chi2", "item_df", "item_p"]
OF_OVERLAP = ["outside_features", "effective_share", "largest_ratio"]
"""Columns of the judges' table that compare features of new models and of history."""

CERTAIN = 1e-6
"""Mean variance of verdicts below which they tell nothing, of models or of features."""

FEWEST = 10
"""Ties, and rows that are none, below which a level is not estimated."""


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
    result: AnchorResult,
    chain: FittedStages,
    check: ItemCheck,
    arrivals: ArrivalCheck,
    largest: Array,
) -> Diagnostics:
    """Collect the diagnostics of one fit.

    Parameters
    ----------
    result : AnchorResult
        The result without them. Its fitted rows are those of arrivals, and of history
        where these are at hand.
    chain : FittedStages
        Fitted to all rows.
    check : ItemCheck
        Of the item effects, on the historical rows.
    arrivals : ArrivalCheck
        Of what judges make of the new models.
    largest : ndarray of shape (n_models,)
        Largest influence of a row on each score, in size; of a group, where there are
        groups.

    Returns
    -------
    Diagnostics
    """
    sample, sums, btl = result.fitted.sample, result.fitted.sums, chain.btl
    assert sums is not None and chain.debiaser is not None
    X, old, solution = sample.X, ~sample.X.is_new, chain.debiaser.solution_
    scores, errors, df = result.moments
    plug_in = np.median(result.plug_in, axis=0)
    judge_errors = solution.sensitivity_errors
    # A sensitivity of minus zero is zero.
    slopes = solution.fit.x[solution.layout.sensitivities][1:] + 0.0
    features = historical_features(sample) if sums.features is None else sums.features
    overlap = feature_overlap(sample, features)
    # A score that is certain, or known to no row, has no such shares.
    with np.errstate(divide="ignore", invalid="ignore"):
        of_judges, of_models = _residual_shares(sums, solution)
        judges = check.judges.assign(
            sensitivity_error=judge_errors,
            sensitivity_z=np.where(judge_errors > 0, slopes / judge_errors, np.nan),
            residual_share=of_judges,
            **dict(zip(OF_OVERLAP, overlap.T, strict=True)),
        )
        models = {
            "residual_share": of_models,
            "largest_influence": (largest / errors) ** 2,
            "correction_z": (scores - plug_in) / errors,
            "outside_scores": _outside(X, scores),
            "self_judged": _self_judged(X, sums),
            "df": df,
        }
        historical = _historical(X, sums, solution, btl, chain.is_joint)
        style = _style(X, solution, btl.bias_)
    table = pd.DataFrame(models, pd.Index(X.models, name="model"), dtype=np.float64)
    table[largest == 0] = np.nan
    ridge_share = 1.0
    if btl.alpha:
        assert X.scores is not None
        ridge_share = relative_spread(X.scores[old], scores[old])
    return Diagnostics(
        judges,
        table[X.is_new],
        _item_effects(X, solution),
        check.p_value,
        arrivals,
        scale_z=1.0 / solution.scale_error if solution.scale_error else np.nan,
        ridge_share=ridge_share,
        historical=pd.DataFrame(historical, pd.Index(X.models, name="model"))[old],
        # A stored history has no rows, so that its ties cannot be counted.
        ties=tie_table(sample) if sums.features is None else pd.DataFrame(),
        style=style,
        grouped=sample.is_grouped,
        with_items=solution.layout.has_item_effects,
    )


def _residual_shares(sums: FitSums, solution: Information) -> tuple[Array, Array]:
    """Shares of what rows say of sensitivities and models that no bias can imitate."""
    scores, n = solution.fit.scores, solution.layout.n_items
    slopes = solution.fit.x[solution.layout.sensitivities]
    every, by_source = sums.all, np.full(len(slopes), np.nan)
    by_model = np.zeros((2, n))
    for source in sorted(solution.grams):
        pair = every[source].gram[:n, :n], solution.beside_span(source)[:n, :n]
        traces = [matrix.diagonal() for matrix in pair]
        by_model += slopes[source] ** 2 * np.array(traces)
        total, left = (scores @ matrix @ scores for matrix in pair)
        if traces[0].sum() >= CERTAIN * sums.rows[source].sum():
            by_source[source] = left / total if total > 0 else 0.0
    return by_source[1:], by_model[1] / by_model[0]


def _outside(X: Comparisons, scores: Array) -> Array:
    """Distance beyond the historical scores of the context, in that of their range."""
    outside = np.zeros(len(scores))
    for code in np.unique(X.items.context):
        inside = X.items.context == code
        old = scores[inside & ~X.is_new]
        low, high = old.min(), old.max()
        beyond = np.maximum(scores - high, low - scores) / (high - low)
        outside[inside] = np.maximum(beyond, 0.0)[inside]
    return outside


def _self_judged(X: Comparisons, sums: FitSums) -> Array:
    """Share of the verdicts on each model from a judge of its own name."""
    judges, items = X.judges.tolist(), X.items
    verdicts = sums.rows[PEOPLE + 1 :]
    by_itself = np.zeros(len(X.models))
    for at, name in enumerate(items.models[items.model]):
        if isinstance(name, str) and name in judges:
            by_itself[at] = verdicts[judges.index(name), at]
    return by_itself / np.maximum(verdicts.sum(axis=0), 1.0)


def _historical(
    X: Comparisons,
    sums: FitSums,
    solution: Information,
    btl: BTLRegressor,
    is_joint: bool,
) -> dict[str, Array]:
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
        columns["residual_share"] = left / sums.all[PEOPLE].gram.diagonal()[:n]
    return columns


def _style(X: Comparisons, solution: Information, bias: Any) -> pd.DataFrame:
    """Coefficients of people's bias with their errors; empty without a linear one."""
    at, values, names = solution.layout.span(PEOPLE), np.zeros((0, 3)), []
    if at.stop > at.start and linearity(bias) == "fixed":
        error = np.sqrt(solution.variances(at))
        values = np.column_stack([bias.coef_, error, bias.coef_ / error])
        names = span_names(bias, X.feature_names, len(values))
    index = pd.Index(names, name="column")
    return pd.DataFrame(values, index, ["coefficient", "standard_error", "z"])


def _item_effects(X: Comparisons, solution: Information) -> pd.DataFrame:
    """Item effects with their errors; empty without them."""
    at, values = np.empty((2, 0), dtype=int), np.empty((0, 2))
    if X.deviations is not None and X.item_covariance is not None:
        # As `from_product`, which would look for equal labels first.
        at = np.indices((len(X.judges), len(X.models))).reshape(2, -1)
        error = np.sqrt(solution.item_effect_variances)
        values = np.column_stack([X.deviations.ravel(), error.ravel()])
    names = ["judge", "model"]
    labels: Any = [pd.Index(X.judges, name=names[0]), pd.Index(X.models, name=names[1])]
    index = pd.MultiIndex(labels, list(at), names=names)
    return pd.DataFrame(values, index, ["deviation", "standard_error"])


# ------------------------------------------------------------------------------- ties
# Ties that count as half a win multiply the log-odds of a source by a constant, which a
# judge's sensitivity absorbs, as long as they depend on the difference of two scores
# alone. Where the rate of ties depends on how good both models are, too, and otherwise
# for people than for judges, the constant differs along the board.
def tie_table(sample: Sample) -> pd.DataFrame:
    """Ties of people and of each judge, and how they depend on the level of a pair.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything the chain learned, outcomes and weights.

    Returns
    -------
    DataFrame
        By source, people first: ``rows``, those of ties included; ``ties``;
        ``both_bad``, ties that call both responses bad; ``level``, by how much the
        log-odds of a tie rise with the mean score of the two models, beside how close
        they are, and its ``level_error``. The level is NaN where ties are left out or
        too few, or where a judge graded its verdicts on historical or on new models
        alone: only these then have ties. Without a tie it is zero, as then nothing
        depends on it.
    """
    X, tied = sample.X, sample.tied
    rows = sample.counts | (X.is_usable & tied)
    counts = [
        sample.by_source(one)
        for one in (rows, X.is_usable & tied, X.is_usable & sample.both_bad)
    ]
    table = pd.DataFrame(
        np.array(counts, dtype=np.intp).T,
        pd.Index([HUMAN, *X.judges.tolist()], name="source"),
        ["rows", "ties", "both_bad"],
    )
    grades = graded_verdicts(sample)
    in_part = np.append(False, graded_in_part(*grades).any(axis=0))
    eta, levels = X.logits(), np.full((len(table), 2), np.nan)
    fitted = np.isfinite(eta) & sample.counts
    is_known = ~in_part & ~sample.left_out.any()
    for source in np.flatnonzero(is_known).tolist():
        at = X.by_judge(source - 1).rows
        at = at[fitted[at]]
        levels[source] = _level(sample, at, eta[at], tied[at])
    return table.assign(level=levels[:, 0], level_error=levels[:, 1])


def _level(
    sample: Sample, at: NDArray[np.intp], eta: Array, tied: NDArray[np.bool_]
) -> tuple[float, float]:
    """Coefficient of the level in a logistic regression of ties, and its error.

    Beside it stands closeness, ``-log(2 cosh(eta / 2))``, whose coefficient is one
    under Davidson's model of ties.
    """
    n_ties, unknown = sample.number(at[tied]), (np.nan, np.nan)
    if not n_ties:
        return 0.0, 0.0
    if min(n_ties, sample.number(at) - n_ties) < FEWEST:
        return unknown
    X, weight = sample.X, sample.weight[at] / sample.weight[at].mean()
    assert X.scores is not None
    level = 0.5 * (X.scores[X.left[at]] + X.scores[X.right[at]])
    closeness = -np.logaddexp(0.5 * eta, -0.5 * eta)
    design = np.column_stack([np.ones(len(at)), closeness, level])
    design[:, 1:] -= np.average(design[:, 1:], axis=0, weights=weight)
    # The start is that model without the level.
    start = np.array([logit(weight @ tied / weight.sum()), 1.0, 0.0])
    fit = fit_logistic(
        design, tied.astype(np.float64), weight, start=start, tolerance=1e-10
    )
    p = expit(design @ fit.coef)
    hessian = design.T @ (design * (weight * p * (1.0 - p))[:, None])
    if not (fit.converged and np.linalg.cond(hessian) < 1e12):
        return unknown
    influence = design @ np.linalg.solve(hessian, [0.0, 0.0, 1.0])
    values = influence * weight * (tied - p)
    by_row = values / sample.multiplicity[at]
    square = float(values @ by_row)
    if sample.groups is not None:
        group, _ = pd.factorize(sample.groups[at])
        square = float(np.sum(np.bincount(group, by_row) ** 2))
    return float(fit.coef[2]), square**0.5
