"""Tests and diagnostics of the fit of all rows, computed from sums alone.

These are the test for item effects, by which ``"auto"`` decides, and the sums from
which the diagnostics of arrivals are computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from skanchor._diagnostics import (
    FitSums,
    FittedSource,
    HistoricalFeatures,
    ItemCheck,
    ItemTestSums,
    score_error_of,
    tested_columns,
    tested_items,
)
from skanchor._historical import HistoricalFit
from skanchor._items import LEAST_DISPERSION
from skanchor._numerics.blocks import bend, fitted_columns
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums
from skanchor._typing import Array
from skanchor.streaming._groups import grouped_dispersion
from skanchor.streaming._likelihood import VoteCells
from skanchor.streaming._local_columns import streamed_columns, with_delta
from skanchor.streaming._people import vote_information, vote_residuals
from skanchor.streaming._point import Expansion
from skanchor.streaming._sums import PAIRED
from skanchor.streaming._survey_result import SurveyResult


def check_items(point: Expansion, known: HistoricalFit) -> ItemCheck:
    """Test for item effects, as :func:`skanchor._diagnostics.item_effects_check`.

    Parameters
    ----------
    point : Expansion
        Sums about a point near the history.
    known : HistoricalFit
        Fit without item effects, calibrated to the scores of the votes.

    Returns
    -------
    ItemCheck
    """
    X = known.X
    assert X.sensitivities is not None and X.scores is not None
    theta, surveyed = point.layout.theta(known), point.layout.surveyed
    judges: list[ItemTestSums | None] = []
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
                group, pair, values, len(X.models), has_deviations=False
            )
        if noise < LEAST_DISPERSION:
            judges.append(None)
            continue
        # From the ridge beside the mean loss to that beside the summed loss.
        ridge = point.weight(m) * point.ridge(m, 0, kind=0)
        change = with_delta(len(X.models), 1 + len(ridge), X.scores)
        sums = _by_fitted_columns(point, m, point.near(m, theta[m]), change)
        residual, information = (
            point.sums[m].pairs[PAIRED.index(name)]
            for name in ("residual", "curvature")
        )
        by_pair = residual, information, surveyed.verdict_counts(m, "n")
        judges.append(ItemTestSums(sums, ridge, noise, by_pair))
    return tested_items(X, judges, score_error_of(known.btl, X.models))


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
        ridge = point.weight(m) * point.ridge(m, 0, kind=0)
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
) -> SourceSums:
    """Information and score of all rows of a judge, by its fitted columns.

    ``score`` is by the streamed columns; ``change``, from :func:`with_delta`, turns
    streamed into fitted columns.
    """
    n_items = len(point.layout.surveyed.models)
    n_span = len(score) - streamed_columns(n_items, 0).size
    sums = SourceSums(
        streamed_columns(n_items, n_span),
        information=point.training(m, "information", 0),
        score=score,
    )
    return sums.in_columns(fitted_columns(n_items, n_span), change)
