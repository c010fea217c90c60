"""Fits of a pipeline's table without some of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Sample
from skanchor._typing import Indices
from skanchor.exceptions import BattlesError
from skanchor.warning_log import WarningLog

if TYPE_CHECKING:
    from skanchor import AnchorPipeline, AnchorResult


def rows_of_fit(
    anchor: AnchorPipeline, X: Any, y: Any, sample_weight: Any, groups: Any
) -> Indices:
    """Row of the table of each row that was fitted; refuse another table."""
    with WarningLog():
        given = anchor._admitted(X, y, sample_weight, groups)
        rules = RowRules.of(anchor)
        sample = rules.apply(given, may_warn=False)
    fitted = anchor._inference.cells.rows
    if len(sample) != len(fitted) or sample.digest != fitted.digest:
        raise BattlesError(
            f"These {len(given):,} rows are not those that this pipeline was fitted "
            "on: give the X, y, sample_weight and groups of fit, in the same order."
        )
    origin: Indices = given.copies if rules.counts else np.arange(len(given))
    return origin


def refit_without(
    anchor: AnchorPipeline, gone: Indices, *, anew: bool = False
) -> AnchorResult | None:
    """Result of the table without some rows; None where the fit breaks.

    It has the folds and the item effects of the fit, whose covariance ``anew``
    estimates again.
    """
    rows, result = anchor._inference.cells.rows, anchor.result_
    weight = np.array(rows.weight)
    weight[gone] = 0.0
    try:
        # What these rows would be warned of is no fault of the table.
        with WarningLog():
            found = refit(anchor, rows.weighted(weight), anew=anew)
    except (BattlesError, np.linalg.LinAlgError):
        return None
    error = found.all_standard_errors.reindex(result.models)
    lost = ~np.isfinite(error) & np.isfinite(result.all_standard_errors)
    return None if lost.any() else found


def refit(
    anchor: AnchorPipeline, sample: Sample, *, anew: bool = False
) -> AnchorResult:
    """Result of other rows by the settings of a fit; see :func:`refit_without`."""
    settings = {"cv": anchor.fold_plan_, "new_models": anchor.new_models_.tolist()}
    inference = clone(anchor).set_params(**settings, verbose=0).prepare(sample)
    if anew:
        choice = replace(inference.choice, item_effects=anchor.item_effects_)
        inference = replace(inference, choice=choice)
        return inference.result(inference.fit())
    if inference.admitted.X.judges.tolist() != anchor.judges_.tolist():
        raise BattlesError("A judge has too few rows left.")
    return inference.result(inference.fit_with(anchor.result_.fitted.items))
