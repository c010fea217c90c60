"""The leaderboard: its scale, how models are ordered, and what their rank says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError

ELO_PER_LOGIT = 400.0 / math.log(10.0)
"""Elo points to one logit: 400 points are odds of ten to one."""

ELO_MEAN = 1000.0
"""Mean of the historical models in Elo points, where no model is the anchor."""

_UNITS = {"logit": 1.0, "elo": ELO_PER_LOGIT}
_OF_SCORES = ("score", "low", "high")


@dataclass(frozen=True, slots=True)
class Scale:
    """What a logit is worth, and which value stands where.

    Attributes
    ----------
    name : {"logit", "elo"}
        What scores are measured in.
    anchor : label or None
        The model that others are measured from: its own score is exact by definition,
        and the errors of the others are those of their differences to it. None centres
        the scores over the historical models.
    value : float
        Score of the anchor, or mean score of the historical models.
    """

    name: Literal["logit", "elo"] = "logit"
    anchor: Any = None
    value: float = 0.0

    @classmethod
    def of(
        cls,
        scale: Literal["logit", "elo"] | Scale = "logit",
        anchor: Mapping[Any, float] | None = None,
    ) -> Scale:
        """Read what a user asks for.

        Parameters
        ----------
        scale : {"logit", "elo"} or Scale, default="logit"
            Log-odds of a human vote, or Elo points, 400 / ln 10 to the logit.
        anchor : mapping of one model to its score, optional
            Such as ``{"gpt-4": 1000}``. None centres the historical models at 0 logits
            or 1000 points.

        Returns
        -------
        Scale
        """
        if isinstance(scale, Scale):
            return scale
        if scale not in _UNITS:
            raise ValueError(f"scale must be 'logit' or 'elo', got {scale!r}.")
        if anchor is None:
            return cls(scale, None, ELO_MEAN if scale == "elo" else 0.0)
        if not isinstance(anchor, Mapping) or len(anchor) != 1:
            raise ValueError(
                "anchor must map one model to its score, as in {'gpt-4': 1000}, got "
                f"{anchor!r}."
            )
        [(model, value)] = anchor.items()
        if not math.isfinite(value):
            raise ValueError(f"The anchor's score must be finite, got {value!r}.")
        return cls(scale, model, float(value))

    @property
    def per_logit(self) -> float:
        """Units of the scale to one logit."""
        return _UNITS[self.name]

    @property
    def digits(self) -> int:
        """Decimals of a score, or its error, that a reader wants."""
        return 2 if self.name == "logit" else 0

    def apply(self, table: pd.DataFrame) -> pd.DataFrame:
        """Bring scores, errors and intervals from logits to this scale.

        Parameters
        ----------
        table : DataFrame
            Columns ``score``, ``standard_error``, ``low`` and ``high``, as far as they
            are there: of scores that are centred, or relative to the anchor.

        Returns
        -------
        DataFrame
            The same columns on this scale, others as they were.
        """
        if self == Scale():
            return table
        table = table.copy()
        for name in table.columns.intersection([*_OF_SCORES, "standard_error"]):
            table[name] = table[name] * self.per_logit
            if name in _OF_SCORES:
                table[name] += self.value
        return table

    def check(self, models: Any, unbounded: Any) -> None:
        """Refuse an anchor that is no model, or that has no place on the scale.

        Parameters
        ----------
        models : ndarray of shape (n_models,)
            Labels.
        unbounded : ndarray of shape (n_models,)
            Models without a finite error.
        """
        if self.anchor is None:
            return
        names = models.tolist()
        if self.anchor not in names:
            raise BattlesError(
                f"The anchor {self.anchor!r} is none of the models; known are "
                f"{names[:10]}."
            )
        if unbounded[names.index(self.anchor)]:
            raise BattlesError(
                f"The anchor {self.anchor!r} has no determined score, so that nothing "
                "can be measured from it."
            )

    def __str__(self) -> str:
        unit = "log-odds of a human vote" if self.name == "logit" else "Elo points"
        if self.anchor is not None:
            return (
                f"{unit}, measured from {self.anchor!s}, which has {self.value:g} by "
                "definition: errors are those of the difference to it"
            )
        mean = "zero" if self.value == 0.0 else f"{self.value:g}"
        return f"{unit}, mean {mean} over the historical models"


def new_by_score(result: Any) -> list[Any]:
    """New models, best first; those whose score is not determined come last.

    Parameters
    ----------
    result : RankingResult
        Of a fit.

    Returns
    -------
    list of labels
    """
    table = result.all_scores.to_frame().assign(determined=result.determined)
    new = table[result.is_new].sort_values(["determined", "score"], ascending=False)
    return new.index.tolist()


def strongest_first(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Order the opponents of a model; those that nothing is known of come last.

    Parameters
    ----------
    contrasts : DataFrame
        By opponent, as of :meth:`RankingResult.contrasts`.

    Returns
    -------
    DataFrame
        The same rows.
    """
    is_open = ~np.isfinite(contrasts[["low", "high"]]).any(axis=1)
    order = np.lexsort((contrasts["difference"], is_open))
    return contrasts.iloc[order]
