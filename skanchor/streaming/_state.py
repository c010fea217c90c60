"""State of a streamed history, in the form of one that was fitted in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._assembly import scores_of_everyone
from skanchor._comparisons.grades import CLEAR, shares_by_label
from skanchor._stages import Stages
from skanchor.history import (
    AllModels,
    GroupFolds,
    HistoryState,
    errors_of_votes,
    learners_of,
)
from skanchor.streaming._build import Built
from skanchor.streaming._folds_of_groups import FoldsOfGroups
from skanchor.streaming._reading import Folds
from skanchor.streaming._survey_result import SurveyResult


def state_of_stream(
    built: Built,
    surveyed: SurveyResult,
    stages: Stages,
    fingerprints: Mapping[Any, str],
    folds: Folds,
) -> HistoryState:
    """State of a history that was fitted on a stream.

    Parameters
    ----------
    built : Built
        Stored folds, sums for diagnostics, and the test for item effects.
    surveyed : SurveyResult
        Models, judges and counts of the rows.
    stages : Stages
        Unfitted stages.
    fingerprints : mapping
        Fingerprint of each judge for which one was given.
    folds : Folds
        Which fold holds a group out.

    Returns
    -------
    HistoryState
    """
    # Each repeat has cells of all votes: one repeat counts every vote once.
    votes = surveyed.votes[surveyed.votes["repeat"] == 0]
    n_votes = int(votes["n"].sum())
    facts = {
        "rows": n_votes + int(surveyed.verdicts["n"].sum()),
        "votes": n_votes,
        "graded_verdicts": _graded(surveyed),
        "streamed": True,
    }
    groups = None
    if surveyed.groups is not None and isinstance(folds, FoldsOfGroups):
        groups = GroupFolds(surveyed.groups, folds.table)
    X, calibrator = built.whole.X, built.whole.calibrator
    return HistoryState(
        X.models,
        X.judges,
        X.feature_names,
        built.stored,
        (folds.n_splits,) * folds.n_repeats,
        learners_of(X, calibrator),
        built.items,
        *errors_of_votes(X.models, built.whole.btl),
        built.sums,
        built.check,
        built.treatment,
        _all_models(surveyed, stages),
        groups,
        dict(fingerprints),
        facts,
        unit=surveyed.unit,
    )


def _graded(surveyed: SurveyResult) -> Mapping[str, float]:
    """Share of graded verdicts of each judge that has any."""
    verdicts = surveyed.verdicts
    by_judge = verdicts.assign(g=verdicts["n"].where(~verdicts["y"].isin(CLEAR), 0))
    n = by_judge.groupby("judge")[["g", "n"]].sum().reindex(surveyed.judges)
    return shares_by_label(surveyed.judges, (n["g"] / n["n"]).to_numpy(np.float64))


def _all_models(surveyed: SurveyResult, stages: Stages) -> AllModels | None:
    """Scores and row counts of all models with votes, if some of them are not fitted.

    None where every model with votes is fitted.
    """
    everyone = surveyed.everyone
    models = everyone.X.models
    if len(models) == len(surveyed.models):
        return None
    X, n = everyone.X, len(models)
    scores = scores_of_everyone(stages, everyone).reindex(pd.Index(models))

    def appearances(used: Any) -> NDArray[np.intp]:
        """Number of rows of each model, on either side, in the cells ``used``."""
        rows = np.where(used, surveyed.rows, 0.0)
        first, second = (np.bincount(side, rows, n) for side in (X.left, X.right))
        return np.asarray((first + second).astype(np.intp))

    return AllModels(
        models,
        scores.to_numpy(np.float64),
        appearances(X.is_usable & X.is_human),
        appearances(X.is_usable & ~X.is_human),
    )
