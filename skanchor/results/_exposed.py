"""What unrecorded favours would change in a result: intervals, ranks, breakdowns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd

from skanchor._checks import check_level
from skanchor._inference import bias_aware_quantile, half_width_to_zero, largest_bias
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, SkanchorWarning
from skanchor.results._exposures import (
    CHECKED_UP_TO,
    Exposures,
    Unrecorded,
    check_gammas,
)
from skanchor.results._rank_sets import insertion_sets
from skanchor.results._ranking import RankingResult
from skanchor.warning_log import warn

_BENCHMARKS = {
    "favour": "favour",
    "position": "position_effect",
    "item_sd": "item_sd",
    "deviation": "largest_deviation",
}
"""By name of a ratio in :meth:`AnchorResult.breakdown`, the column of its benchmark."""


class ExposedResult(RankingResult):
    """Base class of a result with a record of exposures to favours of judges."""

    exposures: Exposures | None

    def _exposed(self) -> Exposures:
        """The record of exposures; refuse where there is none, or nothing to expose."""
        if np.isnan(self.covariances).all():
            raise BattlesError(
                "This is a plug-in, without standard errors: there is no interval that "
                "a favour could change. Fit AnchorPipeline with debiaser=None."
            )
        new = self.is_new & np.isfinite(self.moments[1])
        if not new.any():
            names = self.models[self.is_new][:5].tolist()
            raise BattlesError(
                f"The rows do not determine the scores of new models {names!r}, so "
                "there are no statements that a favour could change. Add rows first."
                if names
                else "There is no new model that judges could favour."
            )
        if self.exposures is None:
            raise BattlesError(
                "This result has no record of the effects of favours: its weights are "
                "not linear in fixed columns. Call this method of the fitted "
                "AnchorPipeline, which reads its rows."
            )
        return self.exposures

    def _unrecorded(
        self,
        kind: str,
        judges: Sequence[Hashable] | None,
        family: Sequence[Hashable] | None,
    ) -> Unrecorded:
        member = None
        if family is not None:
            strangers = [name for name in family if name not in self._index]
            if strangers or not len(family):
                raise BattlesError(
                    f"family names {strangers[:5]!r}, which are no models of this "
                    f"result; it has {self.models[:10].tolist()!r}."
                )
            member = self._index.isin(list(family))
        return self._exposed().unrecorded(self.is_new, kind, judges, member)

    def sensitivity(
        self,
        gamma: float | Sequence[float] = (0.0, 0.1, 0.2, 0.4),
        kind: Literal["favour", "family"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
        method: Literal["romano-wolf", "holm"] = "romano-wolf",
    ) -> pd.DataFrame:
        """Intervals and rank sets that allow for favours that no column records.

        A judge may like a new model for reasons that scores, features and item effects
        do not describe, such as a style that resembles its own. The data cannot
        distinguish such a favour from a better model. This method says how much favours
        of a given size would change.

        Parameters
        ----------
        gamma : float or sequence of float, default=(0.0, 0.1, 0.2, 0.4)
            Size of the favour up to which the result must hold, in judge logits.
        kind : {"favour", "family"}, default="favour"
            With ``"favour"`` a judge adds up to gamma, or subtracts it, in the logit of
            the new model (``model``) in all its rows; judges may have different signs.
            With ``"family"`` it favours all models in ``family``, which may include
            historical ones.
        judges : sequence of labels, optional
            Judges that may have favours; all by default.
        family : sequence of labels, optional
            Models of the family.
        level : float, default=0.95
            Confidence level in (0, 1).
        method : {"romano-wolf", "holm"}, default="romano-wolf"
            As in :meth:`rank_sets`.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``opponent``, ``gamma``): ``bias``, the largest
            change of the difference by such favours; ``low`` and ``high`` of the
            difference, which are those of :meth:`contrasts` if gamma is zero;
            ``rank_low`` and ``rank_high`` of the model among the historical ones. Rows
            of a model whose score is not determined have no finite limits.

        Raises
        ------
        BattlesError
            For a plug-in; if no score of a new model is determined; if the result has
            no ``exposures``; and for unknown judges and models.

        Notes
        -----
        All is to first order in gamma. An interval is "difference +- cv(bias / error)
        error" of Armstrong and Kolesar, with the log scale of :meth:`contrasts`. Tests
        for ranks subtract the bias from the difference.
        """
        gammas, favour = check_gammas(gamma), self._unrecorded(kind, judges, family)
        check_level(level)
        if max(gammas) > CHECKED_UP_TO:
            warn(
                SkanchorWarning(
                    f"gamma={max(gammas):g} is beyond {CHECKED_UP_TO:g} judge logits, "
                    "up to which the first order was compared with refits: take these "
                    "rows as a rough guide.",
                    code="large-gamma",
                )
            )
        first, second = self._new_pairs()
        estimate, error, df = self._pairs(first, second)
        tests = self._tests(level, method, None)
        new, old = np.flatnonzero(self.is_new), np.flatnonzero(~self.is_new)
        others, place = np.tile(old, (len(new), 1)), np.cumsum(self.is_new) - 1
        parts = []
        for size in gammas:
            bias = favour.bias(first, second, size)
            low, high = self._biased_limits(estimate, error, df, level, bias)
            biased = replace(tests, bias=partial(favour.bias, gamma=size))
            ranks = insertion_sets(biased, new, others, level)
            of_model = {
                name: limit[place[first]]
                for name, limit in zip(("rank_low", "rank_high"), ranks, strict=True)
            }
            known = {"bias": bias, "low": low, "high": high}
            index = self._pair_index(first, second).to_frame().assign(gamma=size)
            part = pd.DataFrame(known | of_model, pd.MultiIndex.from_frame(index))
            parts.append(part)
        table = pd.concat(parts)
        # Sizes of a pair side by side, pairs in the order of the contrasts.
        order = np.arange(len(table)).reshape(len(gammas), -1).T.ravel()
        return table.iloc[order]

    def _biased_limits(
        self, estimate: Array, error: Array, df: Array, level: float, bias: Array
    ) -> tuple[Array, Array]:
        """Limits that allow for a bias of a size, in either direction."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(error > 0, bias / error, 0.0)
        half = bias_aware_quantile(share, level, df) * error
        return self._limits(estimate, error, np.where(error > 0, half, bias), level)

    def breakdown(
        self,
        kind: Literal["favour", "family"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """How large a favour must be to undo a statement about a new model.

        Parameters
        ----------
        kind, judges, family, level
            As in :meth:`sensitivity`.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``opponent``):

            - ``difference``: score of the model minus that of the opponent.
            - ``gamma_sign``: the favour of every judge, each with its worst sign, with
              which the difference would be zero.
            - ``gamma_interval``: the favour with which the interval of the difference
              would contain zero; zero if it contains zero already.
            - ``weakest_judge``: the judge whose favour changes the difference most, and
              ``weakest_gamma``: the favour of this judge alone with which the
              difference would be zero.
            - ``ratio_favour``, ``ratio_position``, ``ratio_item_sd``,
              ``ratio_deviation``: ``gamma_interval`` over the largest recorded favour,
              position effect, standard deviation of the item effects, and item effect
              of these judges; see :meth:`benchmarks`.

            Infinite if no favour is large enough.

        Raises
        ------
        BattlesError
            As in :meth:`sensitivity`.
        """
        favour, check = self._unrecorded(kind, judges, family), check_level(level)
        first, second = self._new_pairs()
        estimate, error, df = self._pairs(first, second)
        known = np.isfinite(error)
        margin = np.where(known, np.abs(estimate), np.nan)
        half = half_width_to_zero(estimate, error, check, self.scale_z)
        # Largest bias for which the interval excludes zero; all of the difference if
        # it has no error.
        some = known & (error > 0)
        quantile = np.divide(half, error, out=np.zeros_like(half), where=some)
        room = margin.copy()
        room[some] = largest_bias(quantile[some], check, df[some]) * error[some]
        alone = favour.until_by_judge(first, second, margin)
        weakest = np.argmin(np.where(np.isnan(alone), np.inf, alone), axis=0)
        least = alone[weakest, np.arange(len(first))]
        interval = favour.until(first, second, room)
        table = pd.DataFrame(
            {
                "difference": estimate,
                "gamma_sign": favour.until(first, second, margin),
                "gamma_interval": interval,
                "weakest_judge": np.where(
                    np.isfinite(least), favour.judges.astype(object)[weakest], None
                ),
                "weakest_gamma": least,
            },
            index=self._pair_index(first, second),
        )
        marks = self.benchmarks()
        marks = marks[marks.index.isin(favour.judges.tolist(), level="judge")]
        largest = marks.abs().groupby(level="model", sort=False).max()
        for name, column in _BENCHMARKS.items():
            of_model = largest[column].reindex(table.index.get_level_values("model"))
            size = of_model.to_numpy(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                table[f"ratio_{name}"] = np.where(size > 0, interval / size, np.nan)
        return table

    def benchmarks(self) -> pd.DataFrame:
        """Sizes of recorded effects, to compare unrecorded favours with.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``judge``) of the new models: ``sensitivity``;
            ``exposure``, the decrease of the model's score for each logit of a favour
            of the judge, if the favour is taken into account; ``favour``, the mean
            favour in judge logits that the recorded features give the model in the
            judge's rows, and ``favour_x`` for each column x of its bias;
            ``position_effect``, its absolute value; ``item_sd``, the standard deviation
            of the item effects; ``largest_deviation``, the largest absolute item effect
            of a historical model. NaN if the judge has no such effect.

        Raises
        ------
        BattlesError
            As in :meth:`sensitivity`.

        Notes
        -----
        The mean weights rows by the variance of their outcomes, as the score does. For
        a model without votes, sensitivity times exposure is the judge's share in the
        score, and these shares add up to one over judges.
        """
        return self._exposed().benchmarks(self.models, self.is_new)
