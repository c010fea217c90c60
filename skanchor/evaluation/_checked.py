"""Intervals tested on the historical models, each treated as new in turn."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from skanchor._diagnostics import IntervalCheck
from skanchor.evaluation._left_out import models_left_out
from skanchor.sample import Battles


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
    treatment = getattr(estimator, "item_effects_", None)
    unfitted = clone(estimator)
    if treatment in ("none", "random"):
        # As the fitted pipeline reports. Fits of different models run in parallel, so
        # that each fit itself uses one core.
        unfitted.set_params(item_effects=treatment, n_jobs=None, verbose=0)
    table, parts = models_left_out(
        unfitted, X, y, sample_weight, groups, weights, models, level, n_jobs, verbose,
        with_errors=True, issued=[*issued, *getattr(estimator, "warnings_", ())],
    )  # fmt: skip
    if "standard_error" not in table:
        raise TypeError(
            "Intervals can only be tested of a method with standard errors; use "
            "leave_one_model_out for one without."
        )
    order = table.index.argsort()
    table, parts = table.iloc[order], [parts[k] for k in order]
    # A score that is not determined has no parts, and is not tested.
    tested = [part for part in parts if part]
    is_finite = np.isfinite(table["standard_error"].to_numpy(np.float64))
    if not tested or len(tested) < is_finite.sum():
        return IntervalCheck.of(table, level=level, item_effects=treatment)
    none = {name: np.zeros_like(value) for name, value in tested[0].items()}
    rows, items = (
        [(part or none)[name] for part in parts] for name in ("row_parts", "item_parts")
    )
    df = float(np.median([part["item_df"] for part in tested]))
    return IntervalCheck.of(table, rows, items, df, level, treatment)
