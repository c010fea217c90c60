"""What favours that no column records would change: intervals, ranks, breakdowns."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from skanchor._checks import check_level
from skanchor._text import printable
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, SkanchorWarning
from skanchor.readouts._answer import Answer, check_labels, determined_models
from skanchor.readouts._exposures import Exposures
from skanchor.warning_log import warn

if TYPE_CHECKING:
    from skanchor import AnchorResult

KINDS = ("favour", "family")
"""What an unrecorded favour may be."""

CHECKED_UP_TO = 1.5
"""Largest favour in judge logits at which the first order was compared with refits."""

NO_EXPOSURE = 1e-9
"""Exposure below which a judge cannot move a score: what is left is rounding."""

RATIOS = {
    "favour": "favour",
    "position": "position_effect",
    "item_sd": "item_sd",
    "deviation": "largest_deviation",
}
"""By name of a ratio of a breakdown, the column of its benchmark."""

_MARKS = {
    "item_sd": "the usual item effect of these judges",
    "favour": "the largest favour that recorded features give it",
    "position": "the largest position effect",
}
"""Benchmarks of a sentence, in the order in which they are named."""


class Sensitivity(Answer):
    """Intervals and rank sets that allow for favours, and how large these must be.

    Attributes
    ----------
    table : DataFrame
        Indexed by (``model``, ``opponent``, ``gamma``): ``bias``, the largest change of
        the difference by favours of this size; ``low`` and ``high`` of the difference,
        which are those of ``contrasts`` if gamma is zero; ``rank_low`` and
        ``rank_high`` of the model among the historical ones. Rows of a model whose
        score is not determined have no finite limits.
    sentences : tuple of str
        Of each new model the statements that the smallest favour would undo.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> found = anchor.sensitivity(gamma=[0.0, 0.5])
    >>> found.breakdown().loc[("new-model", "model-10"), "gamma_interval"].round(2)
    np.float64(0.37)
    """

    def breakdown(self) -> pd.DataFrame:
        """How large a favour must be to undo each statement, as ``breakdown``."""
        table: pd.DataFrame = self.details["breakdowns"]
        return table


def sensitivity(
    result: AnchorResult,
    gamma: float | Sequence[float] = (0.0, 0.1, 0.2, 0.4),
    kind: Literal["favour", "family"] = "favour",
    judges: Sequence[Hashable] | None = None,
    family: Sequence[Hashable] | None = None,
    level: float = 0.95,
    method: Literal["romano-wolf", "holm"] = "romano-wolf",
) -> Sensitivity:
    """Intervals and rank sets that allow for favours that no column records.

    A judge may like a new model for reasons that scores, features and item effects do
    not describe, such as a style that resembles its own. The data cannot distinguish
    such a favour from a better model. This method says how much favours of a given size
    would change.

    Parameters
    ----------
    gamma : float or sequence of float, default=(0.0, 0.1, 0.2, 0.4)
        Size of the favour up to which the result must hold, in judge logits.
    kind : {"favour", "family"}, default="favour"
        With ``"favour"`` a judge adds up to gamma, or subtracts it, in the logit of the
        new model (``model``) in all its rows; judges may have different signs. With
        ``"family"`` it favours all models in ``family``, which may include historical
        ones.
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
    Sensitivity
        ``table`` by model, opponent and gamma, and ``breakdown()``.

    Raises
    ------
    BattlesError
        For a plug-in; if no score of a new model is determined; and for unknown judges
        and models.

    Notes
    -----
    All is to first order in gamma. An interval is "difference +- cv(bias / error)
    error" of Armstrong and Kolesar, with the log scale of :meth:`contrasts`. Tests for
    ranks subtract the bias from the difference.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> table = anchor.sensitivity(gamma=[0.0, 0.5]).table
    >>> of_pair = table.loc[("new-model", "model-10")]
    >>> of_pair[["rank_low", "rank_high"]].to_numpy().tolist()
    [[4, 6], [3, 7]]
    """
    sizes = np.atleast_1d(np.asarray(gamma, dtype=np.float64))
    if sizes.ndim != 1 or not len(sizes):
        raise ValueError(f"gamma must be a number or a list of numbers, got {gamma!r}.")
    bad = sizes[~np.isfinite(sizes) | (sizes < 0)]
    if len(bad):
        raise ValueError(f"gamma must be finite and not negative, got {bad[0]:g}.")
    _, exposed = _exposed_differences(result, kind, judges, family)
    if sizes.max() > CHECKED_UP_TO:
        warn(
            SkanchorWarning(
                f"gamma={sizes.max():g} is beyond {CHECKED_UP_TO:g} judge logits, up "
                "to which the first order was compared with refits: take these rows as "
                "a rough guide.",
                code="large-gamma",
            )
        )
    table = result.within_bias(exposed.sum(axis=0), sizes.tolist(), level, method)
    broken = breakdown(result, kind, judges, family, level)
    sentences = breakdown_sentences(broken, benchmarks(result))
    return Sensitivity(table, tuple(sentences), {"breakdowns": broken})


def breakdown(
    result: AnchorResult,
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
        - ``gamma_interval``: the favour with which the interval of the difference would
          contain zero; zero if it contains zero already.
        - ``weakest_judge``: the judge whose favour changes the difference most, and
          ``weakest_gamma``: the favour of this judge alone with which the difference
          would be zero.
        - ``ratio_favour``, ``ratio_position``, ``ratio_item_sd``, ``ratio_deviation``:
          ``gamma_interval`` over the largest recorded favour, position effect, standard
          deviation of the item effects, and item effect of these judges; see
          :meth:`benchmarks`.

        Infinite if no favour is large enough. NaN if one of the two scores is not
        determined, and in ratios to effects that no judge has.

    Raises
    ------
    BattlesError
        As in :meth:`sensitivity`.
    """
    names, exposed = _exposed_differences(result, kind, judges, family)
    margins = result.bias_margins(check_level(level))
    first, second = result.new_pairs()
    by_judge = exposed[:, first, second]
    margin = margins["margin"].to_numpy()
    # Without judges nobody has a favour.
    alone = np.vstack([_until(by_judge, margin), np.full(len(first), np.inf)])
    weakest = np.argmin(np.where(np.isnan(alone), np.inf, alone), axis=0)
    least = alone[weakest, np.arange(len(first))]
    labels = np.array([*names, None], dtype=object)
    together = by_judge.sum(axis=0)
    interval = _until(together, margins["room"].to_numpy())
    table = pd.DataFrame(
        {
            "difference": margins["difference"],
            "gamma_sign": _until(together, margin),
            "gamma_interval": interval,
            "weakest_judge": np.where(np.isfinite(least), labels[weakest], None),
            "weakest_gamma": least,
        },
        index=margins.index,
    )
    marks = benchmarks(result)
    marks = marks[marks.index.isin(names, level="judge")]
    largest = marks.abs().groupby(level="model", sort=False).max()
    for name, column in RATIOS.items():
        of_model = largest[column].reindex(table.index.get_level_values("model"))
        size = of_model.to_numpy(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            table[f"ratio_{name}"] = np.where(size > 0, interval / size, np.nan)
    return table


def benchmarks(result: AnchorResult) -> pd.DataFrame:
    """Sizes of recorded effects, to compare unrecorded favours with.

    Returns
    -------
    DataFrame
        Indexed by (``model``, ``judge``) of the new models: ``sensitivity``;
        ``exposure``, the decrease of the model's score for each logit of a favour of
        the judge, if the favour is taken into account; ``favour``, the mean favour in
        judge logits that the recorded features give the model in the judge's rows, and
        ``favour_x`` for each column x of its bias; ``position_effect``, its absolute
        value; ``item_sd``, the standard deviation of the item effects;
        ``largest_deviation``, the largest absolute item effect of a historical model.
        NaN if the judge has no such effect.

    Raises
    ------
    BattlesError
        As in :meth:`sensitivity`.

    Notes
    -----
    The mean weights rows by the variance of their outcomes, as the score does. For a
    model without votes, sensitivity times exposure is the judge's share in the score,
    and these shares add up to one over judges.
    """
    return _exposures(result).benchmarks(result.models, result.is_new)


def _exposures(result: AnchorResult) -> Exposures:
    """The exposures of a result; refuse where there is nothing to expose."""
    if np.isnan(result.covariances).all() or result.exposures is None:
        raise BattlesError(
            "This is a plug-in, without standard errors: there is no interval that a "
            "favour could change. Fit AnchorPipeline with a debiaser."
        )
    determined_models(result)
    return result.exposures


def _exposed_differences(
    result: AnchorResult,
    kind: str,
    judges: Sequence[Hashable] | None,
    family: Sequence[Hashable] | None,
) -> tuple[list[Any], Array]:
    """Labels of judges, and sizes of exposures of differences; refuse bad labels.

    The sizes, of shape (n_judges, n_models, n_models), are by new model and other
    model, and the other way round. Of two new models the first is the favoured one.
    """
    exposures, is_new = _exposures(result), result.is_new
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}.")
    if (kind == "family") != (family is not None and len(family) > 0):
        raise ValueError(
            "family names the models that judges may like together: it goes with "
            "the kind 'family', and with no other."
        )
    judge_names = exposures.judges.index.tolist()
    judges = [judges] if isinstance(judges, str) else judges
    labels = judge_names if judges is None else list(dict.fromkeys(judges)) or [None]
    check_labels(labels, judge_names, "judges")
    # moved[m, i, j]: of score j by what is liked where model i is concerned.
    moved = exposures.favour[[judge_names.index(name) for name in labels]]
    if family is not None:
        models = result.models.tolist()
        check_labels(family, models, "models")
        liked = [name in family for name in models]
        together = moved[:, liked].sum(axis=1, keepdims=True)
        moved = np.broadcast_to(together, moved.shape)
    own_change = np.diagonal(moved, axis1=1, axis2=2)[..., None]
    sizes = np.where(is_new[:, None], np.abs(own_change - moved), 0.0)
    return labels, np.where(is_new[:, None], sizes, np.swapaxes(sizes, 1, 2))


def _until(exposure: Array, margin: Array) -> Array:
    """Favours that move differences of these exposures by a margin."""
    # An unknown margin leaves the answer unknown.
    reached = (exposure > NO_EXPOSURE) | np.isnan(margin)
    return np.where(reached, margin / np.where(reached, exposure, 1.0), np.inf)


# ------------------------------------------------------------------------------- words
def _reversals(table: pd.DataFrame) -> pd.DataFrame:
    """Statements on new models that would be the first to fall, the best model first.

    They are for each model the clear statement with the smallest breakdown above it and
    below it; where none is clear, the one that would turn first.
    """
    table = table[table["gamma_sign"].notna()]
    mean = table["difference"].groupby(level="model").mean()
    chosen = [table.iloc[:0]]
    for model in mean.sort_values(ascending=False, kind="stable").index:
        of_model = table.loc[[model]]
        clear = of_model[of_model["gamma_interval"] > 0]
        up = clear["difference"] > 0
        chosen += (
            [of_model.nsmallest(1, "gamma_sign")]
            if clear.empty
            else [clear[side].nsmallest(1, "gamma_interval") for side in (up, ~up)]
        )
    return pd.concat(chosen)


def breakdown_sentences(table: pd.DataFrame, marks: pd.DataFrame) -> Iterator[str]:
    """Say which favours would undo the statements that fall first.

    Parameters
    ----------
    table, marks : DataFrame
        As :func:`breakdown` and :func:`benchmarks` return them.

    Yields
    ------
    str
        One or two sentences for each statement that would be the first to fall.
    """
    reversals = _reversals(table)
    largest = marks.abs().groupby(level="model").max()
    # A model without verdicts has no benchmarks.
    largest = largest.reindex(reversals.index.unique("model"))
    for model, opponent in reversals.index:
        row = reversals.loc[(model, opponent)]
        yield _in_words(_named(model), _named(opponent), row, largest.loc[model])


def _in_words(model: str, opponent: str, row: pd.Series, sizes: pd.Series) -> str:
    """What would undo a statement; ``sizes`` are the largest recorded effects."""
    gamma, is_above = row["gamma_interval"], row["difference"] > 0
    text = f"{model} is {'above' if is_above else 'below'} {opponent}"
    if math.isinf(gamma):
        return f"{text}, with any favour of judges."
    if gamma == 0:
        text += (
            " by the estimate alone. A favour or disfavour of "
            f"{row['gamma_sign']:.2f} judge logits, for reasons not recorded, reverses "
            "this order."
        )
    else:
        verb = "favour" if is_above else "disfavour"
        size = "less than 0.01" if gamma < 0.01 else f"more than {gamma:.2f}"
        text += (
            f" unless judges {verb} it by {size} judge logits for reasons not recorded."
        )
        ratios = [
            f"{row[f'ratio_{name}']:.1f} times {words} ({sizes[RATIOS[name]]:.2f})"
            for name, words in _MARKS.items()
            if sizes[RATIOS[name]] > 0
        ]
        if ratios:
            listed = " and ".join(filter(None, [", ".join(ratios[:-1]), ratios[-1]]))
            text += f" That is {listed}."
    if not pd.isna(row["weakest_judge"]):
        text += f" The judge with the largest effect is {_named(row['weakest_judge'])}."
    return text


def _named(label: Any) -> str:
    """A label on one line."""
    return printable(str(label)).replace("\n", "\\n")
