"""What a streamed history keeps beside its folds, as one that was fitted in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skanchor._assembly import scores_of_everyone
from skanchor._stages import Stages
from skanchor.history import Board, HistoryState
from skanchor.streaming._build import Built
from skanchor.streaming._survey_result import SurveyResult

__all__ = ["state_of_stream"]


def state_of_stream(
    built: Built,
    surveyed: SurveyResult,
    stages: Stages,
    fingerprints: Mapping[Any, str],
) -> HistoryState:
    """All that a history keeps, of a stream.

    Parameters
    ----------
    built : Built
        Its folds, sums for diagnostics, and test for item effects.
    surveyed : SurveyResult
        What the survey has settled.
    stages : Stages
        Unfitted.
    fingerprints : mapping
        Of judges, where they were given.

    Returns
    -------
    HistoryState
    """
    votes = surveyed.votes[surveyed.votes["repeat"] == 0]
    n_votes = int(votes["n"].sum())
    facts = {
        "rows": n_votes + int(surveyed.verdicts["n"].sum()),
        "votes": n_votes,
        "streamed": True,
    }
    return HistoryState(
        built.stored,
        built.sums,
        built.check,
        built.treatment,
        _board(surveyed, stages),
        None,
        dict(fingerprints),
        facts,
    )


def _board(surveyed: SurveyResult, stages: Stages) -> Board | None:
    """Models with votes that are not fitted, beside all others; None without any."""
    everyone = surveyed.everyone
    models = everyone.X.models
    if len(models) == len(surveyed.models):
        return None
    scores = scores_of_everyone(stages, everyone)
    index = pd.Index(models)

    def appearances(used: Any) -> pd.Series:
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
