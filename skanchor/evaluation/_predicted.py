"""Rows predicted by fits to the rows of other folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from skanchor._comparisons import decide_roles
from skanchor._folds import SourceKFold, stream_plan
from skanchor._typing import Seed
from skanchor.exceptions import DiagnosticWarning
from skanchor.sample import Battles, Sample
from skanchor.warning_log import WarningLog, unheard


def predict_left_out(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    n_splits: int = 5,
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> pd.DataFrame:
    """Predict each row by a fit to the rows of other folds.

    Parameters
    ----------
    estimator : estimator
        Anything with ``fit`` and ``win_probability``.
    X : battles table or Comparisons
        One row per comparison.
    y : array-like of shape (n_rows,)
        Outcomes.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        Groups of dependent rows, or the column that holds them.
        By default the values of ``prompt_id``, if they repeat; None treats
        rows as independent.
    n_splits : int, default=5
        Number of folds, which are drawn by source as in `SourceKFold`.
    random_state : int, RandomState or None, default=None
        Seed of the folds.
    n_jobs : int, optional
        Folds in parallel, as in joblib.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    DataFrame
        By row number, for all usable rows: ``judge`` (None for people),
        ``probability`` that the first model is preferred, ``outcome`` in [0, 1] and
        ``weight``.
    """
    with WarningLog() as log:
        sample = Sample.admit(X, y, sample_weight, groups)
    log.issue()
    new_models = estimator.get_params().get("new_models")
    if new_models is None:
        # Decided by all rows: in a training set without its votes, a historical model
        # would be taken for a new one.
        roles = decide_roles(sample.X, sample.weight, None)
        new_models = roles.models[roles.is_new].tolist()
        if "new_models" in estimator.get_params():
            estimator = clone(estimator).set_params(new_models=new_models)
    folds = SourceKFold(n_splits, new_models=new_models, random_state=random_state)
    fold = folds.assign_folds(sample.X, sample.groups)
    jobs = [(estimator, sample, fold == k) for k in range(n_splits)]
    done = stream_plan(_predict, jobs, n_jobs=n_jobs, verbose=verbose)
    return pd.concat(done).sort_index()


def _predict(estimator: Any, sample: Sample, test: NDArray[np.bool_]) -> pd.DataFrame:
    """Predictions of the test rows by a fit to all other rows."""
    train, at = sample[np.flatnonzero(~test)], np.flatnonzero(test & sample.counts)
    extra: dict[str, Any] = {"sample_weight": train.weight}
    if train.groups is not None:
        extra["groups"] = train.groups
    # Diagnostics concern intervals, which are not used here.
    with unheard(DiagnosticWarning):
        fitted = clone(estimator).fit(train.X.as_preferences(), train.y, **extra)
    rows = sample[at]
    X = rows.X
    # People, whose code is negative, get the last name, None.
    names = np.append(X.judges.astype(object), [None])
    return pd.DataFrame(
        {
            "judge": names[np.where(X.judge >= 0, X.judge, len(X.judges))],
            "probability": fitted.win_probability(X.as_preferences()),
            "outcome": rows.y,
            "weight": rows.weight,
        },
        index=at,
    )
