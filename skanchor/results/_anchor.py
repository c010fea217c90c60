"""The result of the cross-fitted chain: parts of the variance, influence, folds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._checks import check_level
from skanchor._comparisons import Comparisons
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

if TYPE_CHECKING:
    from skanchor._diagnostics import Diagnostics
    from skanchor._folds import FoldPlan

__all__ = ["AnchorResult"]


class InfluenceSource(Protocol):
    """What computes influence values when they are asked for."""

    def values(self) -> Array:
        """Influence of each row on each score, of shape (n_rows, n_models)."""


@dataclass(frozen=True, eq=False, slots=True)
class PaddedInfluence:
    """Influence on the scores of more models, zero for those that took no part."""

    inner: InfluenceSource
    place: NDArray[np.intp]
    size: int

    def values(self) -> Array:
        """Influence of each row on each score, of shape (n_rows, n_models)."""
        inner = self.inner.values()
        values = np.zeros((len(inner), self.size))
        values[:, self.place] = inner
        return values


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnchorResult(RankingResult):
    """Result of :class:`AnchorPipeline`: scores, covariance and influence values.

    Attributes
    ----------
    rows : InfluenceSource
        What ``influence`` is computed from.
    influence : ndarray of shape (n_rows, n_models)
        Influence of each row on each score, in logits; the mean over repeats. Without
        rows in a result that is kept beside the one reported.
    part_covariances : ndarray of shape (n_repeats, 4, n_models, n_models)
        Human, judge, cross (= 2 C_HJ) and item parts of the covariance.
    parts : ndarray of shape (n_repeats, 4, n_models)
        Those of the variance.
    lower_bound : ndarray of shape (n_models,)
        Variance that only more human votes can lower, B_l.
    plug_in : ndarray of shape (n_repeats, n_models)
        Scores before the correction.
    fold_plan : list of lists of (train, test)
        The folds of each repeat.
    diagnostics : Diagnostics or None
        Signs that an interval should not be trusted; None for a plug-in.
    exposures : Exposures or None
        What favours of the judges would do to each score; None for a plug-in, and
        where only the rows tell.
    """

    rows: InfluenceSource
    part_covariances: Array
    lower_bound: Array
    plug_in: Array
    fold_plan: list[FoldPlan]
    diagnostics: Diagnostics | None = None
    exposures: Exposures | None = None

    def extended(
        self,
        X: Comparisons,
        human_scores: pd.Series,
        n_human: NDArray[np.intp],
        n_judge: NDArray[np.intp],
    ) -> AnchorResult:
        """Add the models that were left out, at the scores of the human fit.

        Parameters
        ----------
        X : Comparisons
            Rows in the vocabulary of all models.
        human_scores : Series
            Scores of the historical models among them.
        n_human, n_judge : ndarray of shape (n_models,)
            Rows of each model.

        Returns
        -------
        AnchorResult
            With an infinite error where a model was left out.
        """
        place = np.flatnonzero(np.isin(X.models, self.models))
        size = len(X.models)
        scores = human_scores.reindex(X.models).to_numpy(np.float64, copy=True)
        context = X.rows.items.context
        for code in np.unique(context):
            inside = context == code
            kept = np.intersect1d(place, np.flatnonzero(inside))
            scores[inside] -= np.nanmean(scores[kept])

        def padded(values: Any, fill: Any = 0.0) -> Array:
            result = np.full((*values.shape[:-1], size), fill)
            result[..., place] = values
            return result

        def square(values: Array, fill: float = 0.0) -> Array:
            turned = np.swapaxes(padded(values, fill), -1, -2)
            return np.swapaxes(padded(turned, fill), -1, -2)

        outside = np.ones(size, dtype=bool)
        outside[place] = False
        estimates, plug_in = padded(self.estimates), padded(self.plug_in)
        estimates[:, outside] = plug_in[:, outside] = scores[outside]
        return replace(
            self,
            models=X.models,
            is_new=X.is_new,
            estimates=estimates,
            covariances=square(self.covariances),
            unbounded=outside | (padded(self.unbounded) > 0),
            n_human=n_human,
            n_judge=n_judge,
            item_covariances=None
            if self.item_covariances is None
            else square(self.item_covariances),
            rows=PaddedInfluence(self.rows, place, size),
            part_covariances=square(self.part_covariances, np.nan),
            lower_bound=padded(self.lower_bound, np.nan),
            plug_in=plug_in,
            exposures=None
            if self.exposures is None
            else self.exposures.padded(place, size),
        )

    @property
    def parts(self) -> Array:
        """Human, judge, cross and item parts of each variance."""
        return np.diagonal(self.part_covariances, axis1=-2, axis2=-1)

    @cached_property
    def influence(self) -> Array:
        """Influence of each row on each score, in logits; computed when asked for."""
        return self.rows.values()

    @property
    def variance(self) -> pd.DataFrame:
        """Parts of the new models' variance.

        The columns ``human``, ``judge``, ``cross`` and ``items`` add up to the squared
        standard error, but for the spread between repeats; ``lower_bound`` is the part
        that judges cannot lower.
        """
        human, judge, cross, items = np.median(self.parts, axis=0)
        table = pd.DataFrame(
            {
                "human": human,
                "judge": judge,
                "cross": cross,
                "items": items,
                "lower_bound": self.lower_bound,
            },
            index=self._index,
        )
        return table[self.is_new]

    # --------------------------------------------------------------- unrecorded favour
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
                "that no favour can change what is said of them. Add rows first."
                if names
                else "There is no new model, of which judges could make too much."
            )
        # A result of an earlier version has no such attribute.
        found = getattr(self, "exposures", None)
        if found is None:
            raise BattlesError(
                "This result has no record of what favours would move. It comes from "
                "an earlier version, or its weights are bounded or not linear in fixed "
                "columns. Ask the fitted AnchorPipeline, which reads its rows, or fit "
                "again."
            )
        return found

    def _unrecorded(
        self,
        shape: str,
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
        return self._exposed().unrecorded(self.is_new, shape, judges, member)

    def sensitivity(
        self,
        gamma: float | Sequence[float] = (0.0, 0.1, 0.2, 0.4),
        shape: Literal["favour", "drift", "family", "rowwise"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
        method: Literal["romano-wolf", "holm"] = "romano-wolf",
    ) -> pd.DataFrame:
        """Intervals and rank sets that allow for favours which no column records.

        A judge may like a new model for reasons that neither scores nor features nor
        item effects hold, such as its own style. The data cannot tell such a favour
        from a better model; this says what favours of a size would do.

        Parameters
        ----------
        gamma : float or sequence of float, default=(0.0, 0.1, 0.2, 0.4)
            Size of the favour up to which the result must hold, in judge logits.
        shape : {"favour", "drift", "family", "rowwise"}, default="favour"
            What a judge may do. ``"favour"``: add up to gamma, up or down, to the logit
            of the new model (``model``) in all its rows; every judge has a sign of its
            own. ``"drift"``: react to score differences more or less strongly than on
            the historical rows, by a factor of up to ``1 + gamma``. ``"family"``: like
            the models in ``family`` together, historical ones among them.
            ``"rowwise"``: be off by up to gamma in each row of a new model by itself,
            which only a fitted :class:`skanchor.AnchorPipeline` can tell.
        judges : sequence of labels, optional
            Judges that may favour; all by default.
        family : sequence of labels, optional
            Models of the family.
        level : float, default=0.95
            Confidence level in (0, 1).
        method : {"romano-wolf", "holm"}, default="romano-wolf"
            As in :meth:`rank_sets`.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``opponent``, ``gamma``): ``bias``, the most that
            the favours may move the difference; ``low`` and ``high`` of the difference,
            those of :meth:`contrasts` where gamma is zero; ``rank_low`` and
            ``rank_high`` of the model among the historical ones. Rows of a model whose
            score is not determined have no finite limits.

        Raises
        ------
        BattlesError
            For a plug-in, where no new model is determined, where the record of
            exposures is missing, and for unknown judges and models.

        Notes
        -----
        To first order in gamma. An interval is "difference +- cv(bias / error) error",
        of Armstrong and Kolesar, with the log scale of :meth:`contrasts`. Tests for
        ranks take the bias off the difference.
        """
        gammas, favour = check_gammas(gamma), self._unrecorded(shape, judges, family)
        check_level(level)
        if max(gammas) > CHECKED_UP_TO:
            warn(
                SkanchorWarning(
                    f"gamma={max(gammas):g} is beyond {CHECKED_UP_TO:g} judge logits, "
                    "up to which the first order was compared with refits; "
                    "AnchorPipeline.breakdown(exact=True) makes refits."
                )
            )
        first, second = self._new_pairs()
        estimate, error, df = self._pairs(first, second)
        tests = self._tests(level, method, None)
        new, old = np.flatnonzero(self.is_new), np.flatnonzero(~self.is_new)
        others, place = np.tile(old, (len(new), 1)), np.cumsum(self.is_new) - 1
        parts = []
        for size in gammas:
            up, down = favour.bias(first, second, size)
            # A bias upwards leaves room for a true difference that is lower.
            low, _ = self._biased_limits(estimate, error, df, level, up)
            _, high = self._biased_limits(estimate, error, df, level, down)
            ranks = insertion_sets(
                tests.allowing(partial(_upward, favour, size)), new, others, level
            )
            of_model = {
                name: limit[place[first]]
                for name, limit in zip(("rank_low", "rank_high"), ranks, strict=True)
            }
            known = {"bias": np.maximum(up, down), "low": low, "high": high}
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
        shape: Literal["favour", "drift", "family", "rowwise"] = "favour",
        judges: Sequence[Hashable] | None = None,
        family: Sequence[Hashable] | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """How large a favour must be that undoes what is said of a new model.

        Parameters
        ----------
        shape, judges, family, level
            As in :meth:`sensitivity`.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``opponent``): ``difference``; ``gamma_sign``, the
            favour of every judge, each with its worst sign, that would make it zero;
            ``gamma_interval``, that with which its interval would hold zero, which is
            zero where it does today; ``weakest_judge``, that which moves it most, and
            ``weakest_gamma``, its favour alone that would make it zero. Infinite where
            no favour does. ``ratio_favour``, ``ratio_position``, ``ratio_item_sd`` and
            ``ratio_deviation``: gamma_interval over the largest of the recorded
            favours, position effects, standard deviations of the item effects, and
            item effects of these judges, as :meth:`benchmarks` shows them.

        Raises
        ------
        BattlesError
            As in :meth:`sensitivity`.
        """
        favour, check = self._unrecorded(shape, judges, family), check_level(level)
        first, second = self._new_pairs()
        estimate, error, df = self._pairs(first, second)
        known, upward = np.isfinite(error), estimate > 0
        margin = np.where(known, np.abs(estimate), np.nan)
        half = half_width_to_zero(estimate, error, check, self.scale_z)
        # What a bias may be before the interval holds zero; all of the difference where
        # it has no error.
        some = known & (error > 0)
        quantile = np.divide(half, error, out=np.zeros_like(half), where=some)
        room = margin.copy()
        room[some] = largest_bias(quantile[some], check, df[some]) * error[some]
        alone = favour.until_by_judge(first, second, margin, upward)
        weakest = np.argmin(np.where(np.isnan(alone), np.inf, alone), axis=0)
        least = alone[weakest, np.arange(len(first))]
        interval = favour.until(first, second, room, upward)
        table = pd.DataFrame(
            {
                "difference": estimate,
                "gamma_sign": favour.until(first, second, margin, upward),
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
        """Sizes that the data record, to compare unrecorded favours with.

        Returns
        -------
        DataFrame
            Indexed by (``model``, ``judge``) of the new models: ``sensitivity``;
            ``exposure``, by how much the model's score falls for each logit of favour
            that the judge is found to have; ``favour``, the mean favour in judge
            logits that the recorded features give the model in the judge's rows, and
            ``favour_x`` for each column x of its bias; ``position_effect`` in size;
            ``item_sd``, standard deviation of the item effects; ``largest_deviation``,
            the largest item effect of a historical model in size. NaN where there is
            none.

        Raises
        ------
        BattlesError
            As in :meth:`sensitivity`.

        Notes
        -----
        Rows weigh in the mean by the variance of their outcomes, by which they weigh in
        the score. Sensitivity times exposure, summed over judges, is one where people
        have not voted on the model: it is the judge's share in the score.
        """
        return self._exposed().benchmarks(self.models, self.is_new)


_BENCHMARKS = {
    "favour": "favour",
    "position": "position_effect",
    "item_sd": "item_sd",
    "deviation": "largest_deviation",
}
"""By name of a ratio in :meth:`AnchorResult.breakdown`, the column of its benchmark."""


def _upward(
    favour: Unrecorded, gamma: float, better: NDArray[np.intp], worse: NDArray[np.intp]
) -> Array:
    """Largest bias in favour of the first of pairs."""
    return favour.bias(better, worse, gamma)[0]
