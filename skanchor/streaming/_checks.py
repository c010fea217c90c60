"""Tests and diagnostics of the fit of all rows, computed from sums alone.

These are the test for item effects, by which ``"auto"`` decides, and the sums from
which the diagnostics of arrivals are computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skanchor._crossfit.item_test import ItemTest, JudgeSums, item_test
from skanchor._diagnostics import (
    FitSums,
    FittedSource,
    HistoricalFeatures,
    tested_columns,
)
from skanchor._historical import HistoricalFit
from skanchor._model.sources import SourceSums
from skanchor._numerics.blocks import bend, fitted_columns
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums as BlockSums
from skanchor._pipeline_fit import PipelineFit
from skanchor._treatments import score_error_of
from skanchor._typing import Array
from skanchor.streaming._groups import grouped_dispersion
from skanchor.streaming._likelihood import VoteCells
from skanchor.streaming._local_columns import streamed_columns, with_delta
from skanchor.streaming._people import vote_information, vote_residuals
from skanchor.streaming._point import Expansion
from skanchor.streaming._sums import PAIRED
from skanchor.streaming._survey_result import SurveyResult


def check_items(point: Expansion, known: HistoricalFit) -> ItemTest:
    """Test for item effects, as :func:`skanchor._treatments.run_item_test`.

    Parameters
    ----------
    point : Expansion
        Sums about a point near the history.
    known : HistoricalFit
        Fit without item effects, calibrated to the scores of the votes.

    Returns
    -------
    ItemTest
    """
    X, surveyed, n_models = known.X, point.layout.surveyed, len(known.X.models)
    theta, judges = point.layout.theta(known), {}
    sampled = surveyed.sample.with_battles(X)
    fit = PipelineFit.of(sampled, known.calibrator).fit
    precision = fit.precision.copy()
    for m in range(len(X.judges)):
        # Dispersion under the hypothesis of no item effects: the sum of (w eps)^2 over
        # the sum of w V.
        curvature = float(point.training(m, "curvature", 0))
        noise = float(point.sums[m].squares) / curvature if curvature > 0.0 else 0.0
        grouped = point.sums[m].grouped
        if grouped is not None and curvature > 0.0:
            keys, values = grouped.merged()
            group, pair = keys.T
            noise = grouped_dispersion(
                group, pair, values, n_models, has_deviations=False
            )
        # From the ridge beside the mean loss to that beside the summed loss.
        ridge = point.weight(m) * point.ridge(m, kind=0)
        at = fit.layout.span(m + 1)
        precision[at, at] = np.diag(ridge)
        information = point.training(m, "information", 0)
        score = point.near(m, theta[m])
        sums = SourceSums(information, score, np.zeros_like(information), 0.0)
        residual, by_pair = (
            point.sums[m].pairs[PAIRED.index(name)]
            for name in ("residual", "curvature")
        )
        pairs = residual, by_pair, surveyed.verdict_counts(m, "n")
        judges[m + 1] = JudgeSums(sums, noise, pairs)
    error = score_error_of(known.btl, X.models)
    return item_test(replace(fit, precision=precision), judges, error)


def bends(known: HistoricalFit) -> Array:
    """Column that tests for a curved scale of the judges, by pair of models.

    It is :func:`skanchor._numerics.blocks.bend` of the score differences: times a
    judge's sensitivity, the derivative of the judge's logit by how bent its scale is.

    Parameters
    ----------
    known : HistoricalFit
        Fit that carries scores.

    Returns
    -------
    ndarray of shape (n_models, n_models)
    """
    scores = known.X.scores
    assert scores is not None
    return bend(scores[:, None] - scores)


def fit_sums(point: Expansion, known: HistoricalFit, noise: Array) -> FitSums:
    """Sums from which the diagnostics of arrivals are computed.

    Parameters
    ----------
    point : Expansion
        Sums about a point near the history.
    known : HistoricalFit
        Fit of all rows, with item effects where there are any.
    noise : ndarray of shape (n_judges + 1,)
        Dispersion of each source.

    Returns
    -------
    FitSums
    """
    X, surveyed = known.X, point.layout.surveyed
    assert X.scores is not None and X.sensitivities is not None
    votes = surveyed.vote_cells(point.layout.folds, 0)
    sources = {PEOPLE: _of_people(votes, X.scores)}
    n_judge, verdicts, apart = (np.zeros(len(X.models)) for _ in range(3))
    # Squared score difference of each pair of models.
    square, theta = (X.scores[:, None] - X.scores) ** 2, point.layout.theta(known)
    for m, judge in enumerate(X.judges.tolist()):
        counts, weight = (surveyed.verdict_counts(m, name) for name in ("n", "weight"))
        learner = known.calibrator.biases_.get(judge)
        score = point.near(m, theta[m])
        rows = _appearances(counts)
        sources[m] = _of_judge(point, m, score, X.scores, X.sensitivities[m], learner,
                            rows)  # fmt: skip
        n_judge += rows
        verdicts += _appearances(weight)
        # One number, added to every entry: the weighted sum of delta^2 over verdicts.
        apart += (weight * square).sum()
    n_human = sources[PEOPLE].rows
    return FitSums(
        sources,
        n_human.astype(np.intp),
        n_judge.astype(np.intp),
        verdicts,
        float(apart[0]),
        noise,
        _ranges_by_judge(surveyed),
    )


def _of_people(votes: VoteCells, scores: Array) -> FittedSource:
    """Sums of people, whose local columns are those of the items alone."""
    known, rest = vote_information(votes, scores), vote_residuals(votes, scores)
    n, none = len(scores), np.empty(0)
    rows = np.bincount(votes.left, votes.n, n) + np.bincount(votes.right, votes.n, n)
    counts = rows.astype(np.float64)
    assert known.information is not None and rest.score is not None
    return FittedSource.of_arrays(known.information, rest.score, none, none, counts)


def _of_judge(
    point: Expansion,
    m: int,
    score: Array,
    scores: Array,
    slope: float,
    learner: Any,
    rows: Array,
) -> FittedSource:
    """Sums of one judge by the tested columns.

    The rows and columns of changes on arrival rows stay zero: a history has no
    arrivals.
    """
    n, n_local = len(scores), len(score)
    change = with_delta(n, n_local - n, scores)
    blocks = tested_columns(n, n_local - n - 1)
    old, curve = blocks.at("items", "delta", "order", "span"), blocks["curve"].start
    gram, known = np.zeros((blocks.size,) * 2), np.zeros(blocks.size)
    fitted = _by_fitted_columns(point, m, score, change)
    gram[np.ix_(old, old)], known[old] = fitted.information, fitted.score
    # The tested column is ``slope`` times the column ``bends`` that was summed. In
    # order: its products with the other columns, with itself, and its score.
    *across, square, pulled = point.sums[m].bent * slope
    gram[curve, old] = gram[old, curve] = across @ change
    gram[curve, curve], known[curve] = square * slope, pulled
    ridge = pull = np.empty(0)
    if point.layout.learners[m] is not None:
        ridge = point.weight(m) * point.ridge(m, kind=0)
        pull = ridge * learner.coef_
    return FittedSource.of_arrays(gram, known, ridge, pull, rows)


def _ranges_by_judge(surveyed: SurveyResult) -> tuple[HistoricalFeatures | None, ...]:
    """For each judge, ranges of the features and the contrasts of the sampled rows."""
    if not surveyed.features:
        return (None,) * len(surveyed.judges)
    found = []
    for m, judge in enumerate(surveyed.judges.tolist()):
        contrasts = surveyed.sample.X.by_judge(m).pairs.contrast
        found.append(HistoricalFeatures(*surveyed.ranges[judge], contrasts).thinned())
    return tuple(found)


def _appearances(pairs: Array) -> Array:
    """Sum over all pairs that a model is part of, from sums by ordered pair."""
    return np.asarray(pairs.sum(axis=0) + pairs.sum(axis=1))


def _by_fitted_columns(
    point: Expansion, m: int, score: Array, change: Array
) -> BlockSums:
    """Information and score of all rows of a judge, by its fitted columns.

    ``score`` is by the streamed columns; ``change``, from :func:`with_delta`, turns
    streamed into fitted columns.
    """
    n_items = len(point.layout.surveyed.models)
    n_span = len(score) - streamed_columns(n_items, 0).size
    sums = BlockSums(
        streamed_columns(n_items, n_span),
        information=point.training(m, "information", 0),
        score=score,
    )
    return sums.in_columns(fitted_columns(n_items, n_span), change)
