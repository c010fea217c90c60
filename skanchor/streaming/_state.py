"""State of a streamed history, in the form of one that was fitted in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skanchor._assembly import scores_of_everyone
from skanchor._comparisons.grades import CLEAR, shares_by_label
from skanchor._stages import Stages
from skanchor.history import Board, GroupFolds, HistoryState
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
    return HistoryState(
        built.stored,
        built.sums,
        built.check,
        built.treatment,
        _board(surveyed, stages),
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


def _board(surveyed: SurveyResult, stages: Stages) -> Board | None:
    """Scores and row counts of all models with votes, if some of them are not fitted.

    None where every model with votes is fitted.
    """
    everyone = surveyed.everyone
    models = everyone.X.models
    if len(models) == len(surveyed.models):
        return None
    scores = scores_of_everyone(stages, everyone)
    index = pd.Index(models)

    def appearances(used: Any) -> pd.Series:
        """Number of rows of each model, on either side, in the cells ``used``."""
        X, n = everyone.X, np.where(used, surveyed.rows, 0.0)
        first, second = (
            np.bincount(side, n, len(models)) for side in (X.left, X.right)
        )
        return pd.Series((first + second).astype(np.intp), index)

    X = everyone.X
    used = X.is_usable
    return Board(
        scores.reindex(index),
        appearances(used & X.is_human),
        appearances(used & ~X.is_human),
    )
