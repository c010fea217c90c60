"""Intervals tested on the historical models, each treated as new in turn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from skanchor._diagnostics import IntervalCheck
from skanchor.evaluation._left_out import models_left_out
from skanchor.sample import Battles

_PARTS = ("row_parts", "item_parts", "item_df")


def check_intervals(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    weights: Literal["importance", "frequency"] | None = None,
    models: Sequence[Hashable] | None = None,
    issued: Iterable[Warning] = (),
    level: float = 0.95,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> IntervalCheck:
    """Test the intervals of a method on models whose human scores are known.

    Treats each historical model in turn as if it were new, as
    :func:`leave_one_model_out` does. Four tests ask whether scores and human scores
    differ by more than their errors explain: the largest miss of any model, the miss of
    the best model, the direction of the misses from the best model to the worst, and
    the number of models whose two scores agree.

    Parameters
    ----------
    estimator : estimator
        A method with standard errors. A fitted ``AnchorPipeline`` is tested with the
        treatment of item effects that it reports; an unfitted one chooses anew for each
        model left out.
    X, y, sample_weight, groups, weights, models, level, n_jobs, verbose
        As in :func:`leave_one_model_out`.
    issued : iterable of Warning, default=()
        Warnings that have been issued already. Those of a fitted estimator are known.

    Returns
    -------
    IntervalCheck

    Raises
    ------
    BattlesError
        If a named model has no human rows.
    TypeError
        If the estimator has no standard errors.

    Notes
    -----
    The errors of models left out are correlated, because they share votes, verdicts and
    item effects, and human scores have errors of their own. P-values come from the
    joint law of all differences, to first order: the influence of each row on score and
    human score, and the item effects, whose estimated variance has few degrees of
    freedom. For methods other than ``AnchorPipeline``, and where
    people have a bias, the differences are taken as uncorrelated.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.evaluation import check_intervals
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(2000, 200, n_models=6, random_state=0)
    >>> anchor = AnchorPipeline(cv=3, random_state=0).fit(data.X, data.y)
    >>> found = check_intervals(anchor, data.X, data.y)
    >>> found.n_models, bool(found.p_value > 0.01)
    (6, True)
    """
    rows = models_left_out(
        as_reported(estimator),
        X,
        y,
        sample_weight=sample_weight,
        groups=groups,
        weights=weights,
        models=models,
        with_errors=True,
        issued=[*issued, *getattr(estimator, "warnings_", ())],
        level=level,
        n_jobs=n_jobs,
        verbose=verbose,
    )
    return check_of_rows(rows, level, getattr(estimator, "item_effects_", None))


def as_reported(estimator: Any) -> Any:
    """Clone with the treatment of item effects that a fitted pipeline reports."""
    treatment = getattr(estimator, "item_effects_", None)
    unfitted = clone(estimator)
    if treatment in ("none", "random"):
        unfitted.set_params(item_effects=treatment)
    return unfitted


def check_of_rows(
    rows: Mapping[Any, Mapping[str, Any]],
    level: float,
    item_effects: str | None = None,
) -> IntervalCheck:
    """Test the rows of :func:`models_left_out`.

    Parameters
    ----------
    rows : mapping from label to mapping
        By model left out, its row, with or without the parts of its error.
    level : float
        Level of the intervals.
    item_effects : str, optional
        Treatment of the item effects in all fits.

    Returns
    -------
    IntervalCheck
    """
    index = pd.Index(list(rows), name="model")
    plain = [
        {name: value for name, value in row.items() if name not in _PARTS}
        for row in rows.values()
    ]
    table = pd.DataFrame(plain, index=index).sort_index()
    if "standard_error" not in table:
        raise TypeError(
            "Intervals can only be tested of a method with standard errors; use "
            "leave_one_model_out for one without."
        )
    ordered = [rows[model] for model in table.index]
    # A score that is not determined has no parts, and is not tested.
    tested = [row for row in ordered if np.isfinite(row["standard_error"])]
    if not tested or not all("row_parts" in row for row in tested):
        return IntervalCheck.of(table, level=level, item_effects=item_effects)
    none = {name: np.zeros_like(tested[0][name]) for name in _PARTS}
    row_parts, item_parts = (
        [row.get(name, none[name]) for row in ordered] for name in _PARTS[:2]
    )
    return IntervalCheck.of(
        table,
        row_parts,
        item_parts,
        float(np.median([row["item_df"] for row in tested])),
        level,
        item_effects,
    )
