"""Rows of models without a finite estimate, with what the others' rows have taught."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._crossfit.stages import FullFit
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.one_sided import OpenRows, dispersion_of
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.results import AnchorResult

BIAS_ERRORS = 2.0
"""Standard errors by which a bias may explain the outcome of a row."""


def with_open_rows(
    result: AnchorResult, full: FullFit, everyone: Sample
) -> AnchorResult:
    """Add the rows of models without a finite estimate to a result.

    Judges' biases are those of the fit of all rows, two standard errors in favour of
    each outcome. Biases that are not linear in fixed columns have no standard error:
    their rows do not count. What judges make of the models beyond their scores is as
    likely as the item effects say.

    Parameters
    ----------
    result : AnchorResult
        Of all models.
    full : FullFit
        The fit of all rows that are fitted.
    everyone : Sample
        All rows in their roles; its models are those of the result.

    Returns
    -------
    AnchorResult
    """
    chain, is_open = full.chain, result.unbounded
    if not is_open.any() or is_open.all() or result.diagnostics is None:
        return result
    known = chain.X
    X = everyone.X.relabel(result.models, known.judges)
    for stage in (chain.btl, chain.calibrator):
        X = stage.transform(X)
    # Of the other models only: of open ones they are unknown.
    deviations = None
    if known.deviations is not None:
        at = pd.Index(known.models).get_indexer(pd.Index(result.models))
        deviations = np.where((at >= 0) & ~is_open, known.deviations[:, at], 0.0)
    X = X.with_columns(
        scores=np.zeros(len(result.models)),
        deviations=deviations,
        new_models=tuple(result.models[result.is_new].tolist()),
    )
    offset = X.logits()
    used = everyone.counts & X.is_usable & np.isfinite(offset)
    if not chain.is_joint:
        # In two steps votes alone place the old models.
        is_old = is_open & ~result.is_new
        used &= X.is_human | ~(is_old[X.left] | is_old[X.right])
    out = np.isin(known.judges, list(chain.excluded_judges))
    used &= X.involves_new | ~np.append(out, [False, False])[X.judge]
    errors = result.diagnostics.judges["sensitivity_error"].reindex(known.judges)
    measured = np.append(np.isfinite(errors), [False, True])
    used &= measured[X.judge]
    doubt = _doubt_of_biases(full, X, used)
    rows = np.flatnonzero(used & np.isfinite(doubt))
    y, weight, times = everyone.y[rows], everyone.weight[rows], everyone.multiplicity
    items = np.zeros((len(known.judges),) * 2)
    if full.items is not None:
        items = full.items.covariance * full.items.inflation
    found = OpenRows.of(
        is_open,
        (X.left[rows], X.right[rows], y, weight),
        weight**2 / (1.0 if times is None else times[rows]),
        _dispersion(full, result),
        X.judge[rows],
        offset[rows] + doubt[rows] * (2.0 * y - 1.0),
        slope=np.zeros(0) if X.sensitivities is None else X.sensitivities,
        slope_error=errors.to_numpy(np.float64),
        item_covariance=items,
    )
    return replace(result, open_rows=found)


def _doubt_of_biases(full: FullFit, X: Comparisons, used: NDArray[np.bool_]) -> Array:
    """How far the bias of each row may be off, in logits; infinite where unknown."""
    chain, doubt = full.chain, np.zeros(len(X))
    assert chain.debiaser is not None
    solution = chain.debiaser.solution_
    for source, learner in enumerate(chain.learners):
        cut, at = X.by_judge(source - 1), solution.layout.span(source)
        if learner is None or not X.features_left.shape[1]:
            continue
        places = np.flatnonzero(used[cut.rows])
        rows = cut.rows[places]
        if linearity(learner) != "fixed" or at.stop == at.start:
            doubt[rows] = np.inf
            continue
        gram, head = solution.grams[source], solution.layout.n_items + 1
        fixed: Any = learner
        span = fixed.span(cut.pairs[places])
        system = SymmetricSystem.of(gram[head:, head:] + solution.prior[at, at])
        variance = np.einsum("ij,ji->i", span, system.solve(span.T))
        doubt[rows] = BIAS_ERRORS * np.sqrt(np.maximum(variance, 0.0))
    return doubt


def _dispersion(full: FullFit, result: AnchorResult) -> float:
    """How far groups and raters widen the errors of the scores."""
    sample, debiaser = full.sample, full.chain.debiaser
    if not len(sample.X.judges):
        return full.chain.btl.dispersion_
    if not sample.is_grouped and sample.raters is None:
        return 1.0
    assert debiaser is not None
    every = pd.Index(result.models).get_indexer(pd.Index(sample.X.models))
    own = ~result.unbounded[every]
    place = every[own]
    sampling = result.covariances.mean(axis=0)
    if result.item_covariances is not None:
        sampling = sampling - result.item_covariances.mean(axis=0)
    solution = debiaser.solution_
    expected = solution.weights.expected_parts(solution.grams.items()).sum(axis=0)
    return dispersion_of(sampling[np.ix_(place, place)], expected[np.ix_(own, own)])
