"""The record of exposures to unrecorded favours, from sums or from rows of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skanchor._comparisons import Comparisons
from skanchor._diagnostics import FitSums
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszSystem
from skanchor._riesz import RieszDebiaser
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.results import Exposures
from skanchor.sample import Sample

MOST_FEATURES = 32
"""Most columns of a judge's bias whose favours are recorded one by one."""

AGREES = 1e-6
"""Error of the identity of the scores up to which columns of weights and sums agree."""


def exposures_of_sums(
    X: Comparisons,
    sums: FitSums,
    debiaser: RieszDebiaser,
    calibrator: JudgeCalibrator,
) -> Exposures | None:
    """Take exposures from the sums over all rows at the fit of all rows.

    Parameters
    ----------
    X : Comparisons
        Rows, or none, that carry everything the chain learned.
    sums : FitSums
        Over all rows, historical ones included.
    debiaser : RieszDebiaser
        Fitted; its weights are linear in the columns of the sums, or None is returned.
    calibrator : JudgeCalibrator
        Fitted.

    Returns
    -------
    Exposures or None
        None where weights have columns that are not summed: then only the rows tell.
    """
    system, n = debiaser.system_, len(X.models)
    n_judges = len(X.judges)
    favour = np.zeros((n_judges + 1, n, n))
    # The code of people, -1, is the last place.
    of_sources = [*system.judge_columns(), system.all_columns(PEOPLE)]
    for m in range(PEOPLE, n_judges):
        moved = _moved(system, sums, m, of_sources[m])
        if moved is None:
            return None
        favour[m] = moved
    # The rows of the scores in the identity, ``sum a V xi = L``, are linear in these
    # exposures: if they do not agree, the columns are not those of the weights.
    slopes = np.append(system.slopes, 1.0)
    held = system.layout.items.T @ np.einsum("m,mij->ij", slopes, favour)
    due = system.layout.items.T + system.gap[system.layout.at["scores"]]
    if not np.abs(held - due).max(initial=0.0) < AGREES:
        return None
    return _with_benchmarks(X, sums, calibrator, favour, debiaser)


def _moved(system: RieszSystem, sums: FitSums, m: int, columns: Array) -> Array | None:
    """``sum a V xi`` of a source by its columns of items, (n_items, n_scores).

    The weights of its rows have the coefficients ``columns``. None where these are of
    columns that are not summed.
    """
    own = sums.sources[m].sums
    blocks, gram = own.blocks, own.information
    assert gram is not None
    items, n_span = blocks["items"], blocks.widths[-1]
    n = items.stop
    weighted = np.zeros((blocks.size, columns.shape[1]))
    weighted[items] = columns[:n]
    if m != PEOPLE:
        weighted[blocks["delta"]], weighted[blocks["order"]] = columns[n : n + 2]
    # After the columns of items, delta and order.
    span = columns[n + 2 :]
    if m != PEOPLE and len(span) == n_span + 1 and system.slopes[m]:
        # The curvature of a scale comes first; its summed column is times the
        # sensitivity.
        weighted[blocks["curve"]], span = span[:1] / system.slopes[m], span[1:]
    if len(span) == n_span:
        weighted[blocks["span"]] = span
    elif gram.any():
        return None
    return np.asarray(gram[items] @ weighted)


def exposures_of_rows(
    sample: Sample,
    sums: FitSums,
    debiaser: RieszDebiaser,
    calibrator: JudgeCalibrator,
) -> Exposures:
    """Take exposures from all rows, whatever the learners of the weights are.

    Parameters
    ----------
    sample : Sample
        All rows, that carry everything the chain learned.
    sums : FitSums
        Over them; only recorded favours are read.
    debiaser : RieszDebiaser
        Fitted.
    calibrator : JudgeCalibrator
        Fitted.

    Returns
    -------
    Exposures
    """
    X = sample.X
    n, n_judges = len(X.models), len(X.judges)
    favour = np.zeros((n_judges + 1, n, n))
    weights, eta = debiaser.weights(X), X.logits()
    for m in range(PEOPLE, n_judges):
        cut = X.by_judge(m)
        at = cut.rows[sample.counts[cut.rows] & np.isfinite(eta[cut.rows])]
        p = sigmoid(eta[at])
        # (n_rows, n_scores): V a of each row, times its weight.
        moved = (sample.weight[at] * p * (1.0 - p))[:, None] * weights[at]
        for side, sign in ((X.left[at], 1.0), (X.right[at], -1.0)):
            np.add.at(favour[m], side, sign * moved)
    return _with_benchmarks(X, sums, calibrator, favour, debiaser)


def _with_benchmarks(
    X: Comparisons,
    sums: FitSums,
    calibrator: JudgeCalibrator,
    favour: Array,
    debiaser: RieszDebiaser,
) -> Exposures:
    """Add what is recorded of favours, position effects and item effects."""
    n_judges, n = len(X.judges), len(X.models)
    by_feature: list[tuple[Sequence[str], Array]] = []
    whole = np.full((n_judges, n), np.nan)
    for m, judge in enumerate(X.judges.tolist()):
        learner: Any
        learner, own = calibrator.biases_.get(judge), sums.sources[m].sums
        span, items = own.blocks["span"], own.blocks["items"]
        by_feature.append(((), np.empty((n, 0))))
        width = span.stop - span.start
        if linearity(learner) != "fixed" or not width or len(learner.coef_) != width:
            continue
        assert own.information is not None
        total = own.information.diagonal()[items, None]
        # Means over the rows of each model, with weights w V, of the differences of
        # the columns, positive where the model has more.
        mean = np.divide(
            own.information[items, span], total,
            out=np.full((n, width), np.nan), where=total > 0,
        )  # fmt: skip
        favours = mean * learner.coef_
        whole[m] = favours.sum(axis=1)
        if width <= MOST_FEATURES:
            own_names = span_names(learner, tuple(calibrator.features_), width)
            by_feature[m] = own_names, favours
    features = tuple(dict.fromkeys(name for names, _ in by_feature for name in names))
    place = {name: k for k, name in enumerate(features)}
    recorded = np.full((n_judges, n, len(features)), np.nan)
    for of_judge, (names, favours) in zip(recorded, by_feature, strict=True):
        of_judge[:, [place[name] for name in names]] = favours
    none = np.full(n_judges, np.nan)
    covariance, effects = X.item_covariance, X.deviations
    return Exposures(
        X.judges,
        debiaser.system_.slopes,
        favour,
        features,
        recorded,
        whole,
        none if X.position_effects is None else np.abs(X.position_effects),
        none if covariance is None else np.sqrt(np.diagonal(covariance)),
        none if effects is None else np.abs(effects[:, ~X.is_new]).max(axis=1),
    )
