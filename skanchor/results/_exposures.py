"""How far favours that no column records would move each score, to first order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._typing import Array
from skanchor.exceptions import BattlesError

KINDS = ("favour", "family")
"""What an unrecorded favour may be."""

FAVOUR_OF = "favour_"
"""Beginning of the name of a column with the mean favour that a feature gives."""

CHECKED_UP_TO = 1.5
"""Largest favour in judge logits at which the first order was compared with refits."""

NO_EXPOSURE = 1e-9
"""Exposure below which a judge cannot move a score: what is left is rounding."""

Indices = NDArray[np.intp]


def pad_scores(
    values: NDArray[Any], place: Indices, size: int, fill: float = 0.0
) -> Array:
    """Values by score, the last axis, at their places among ``size`` scores."""
    result = np.full((*values.shape[:-1], size), fill)
    result[..., place] = values
    return result


def check_gammas(gamma: float | Sequence[float]) -> list[float]:
    """Sizes of favours; refuse what is no number, or negative."""
    values = np.atleast_1d(np.asarray(gamma, dtype=np.float64))
    if values.ndim != 1 or not len(values):
        raise ValueError(f"gamma must be a number or a list of numbers, got {gamma!r}.")
    if not np.isfinite(values).all() or (values < 0).any():
        bad = values[~np.isfinite(values) | (values < 0)]
        raise ValueError(f"gamma must be finite and not negative, got {bad[0]:g}.")
    return list(values.tolist())


@dataclass(frozen=True, eq=False)
class Exposures:
    """What favours of each judge do to each score, and favours that are recorded.

    The exposure of a score to a shift of the logits of some rows is the sum of ``a V``
    over them, with a the Riesz weight and V the variance of the outcome: the score
    moves by minus the shift times it once the shift is taken into account.

    Attributes
    ----------
    judges : ndarray of shape (n_judges,)
        Labels.
    sensitivities : ndarray of shape (n_judges,)
        Their sensitivities.
    favour : ndarray of shape (n_judges + 1, n_items, n_scores)
        Exposure of each score to a favour for each item on all rows of the source,
        which is positive where the item is shown as ``model_a``; people last.
    features : tuple of str
        Columns of the features that favours are recorded of.
    recorded : ndarray of shape (n_judges, n_items, n_features)
        Mean favour that each feature gives an item, in judge logits: its coefficient
        times the mean difference of its column on the item's rows, which weigh by V.
    whole : ndarray of shape (n_judges, n_items)
        The same of all features together; NaN where a judge's bias is not linear in
        fixed columns.
    position, item_sd, deviation : ndarray of shape (n_judges,)
        Position effect in size, standard deviation of the item effects, and the largest
        item effect of a historical model in size, in judge logits; NaN where there is
        none.
    """

    judges: NDArray[Any]
    sensitivities: Array
    favour: Array
    features: tuple[str, ...]
    recorded: Array
    whole: Array
    position: Array
    item_sd: Array
    deviation: Array

    def padded(self, place: Indices, size: int) -> Exposures:
        """The same among more models, of which these have the ``place``."""

        pad = partial(pad_scores, place=place, size=size)
        return self.mixed(pad, pad, pad)

    def mixed(
        self,
        mean: Callable[[Array], Array],
        favoured: Callable[[Array], Array],
        recorded: Callable[[Array], Array],
    ) -> Exposures:
        """The same for scores that are means of these, and models liked in all of them.

        Parameters
        ----------
        mean, favoured, recorded : callable
            Take arrays whose last axis is of scores, of items that are liked, and of
            items with recorded favours.

        Returns
        -------
        Exposures
        """
        favour = np.swapaxes(favoured(np.swapaxes(mean(self.favour), 1, 2)), 1, 2)
        return replace(
            self,
            favour=favour,
            recorded=np.swapaxes(recorded(np.swapaxes(self.recorded, 1, 2)), 1, 2),
            whole=recorded(self.whole),
        )

    def unrecorded(
        self,
        is_new: NDArray[np.bool_],
        kind: str,
        judges: Sequence[Hashable] | None,
        family: NDArray[np.bool_] | None,
    ) -> Unrecorded:
        """Exposures of the differences of new models to favours of one kind.

        Parameters
        ----------
        is_new : ndarray of shape (n_models,)
            Which models are new.
        kind : {"favour", "family"}
            What may be favoured.
        judges : sequence of labels or None
            Judges that may; None means all.
        family : ndarray of shape (n_models,) or None
            Models that are liked together, with ``kind="family"``.

        Returns
        -------
        Unrecorded
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}.")
        if (kind == "family") != (family is not None):
            raise ValueError(
                "family names the models that judges may like together: it goes with "
                "kind='family', and with no other kind."
            )
        chosen, new = self._chosen(judges), np.flatnonzero(is_new)
        if family is None:
            # (n_judges, n_new, n_scores): a favour for the new model itself.
            moved = self.favour[:-1, new]
            exposures = moved[:, np.arange(len(new)), new][..., None] - moved
        else:
            moved = self.favour[:-1][:, family].sum(axis=1)
            exposures = moved[:, new, None] - moved[:, None, :]
        place = np.cumsum(is_new) - 1
        return Unrecorded(self.judges[chosen], exposures[chosen], is_new, place)

    def _chosen(self, judges: Sequence[Hashable] | None) -> Indices:
        """Numbers of the judges of these labels."""
        known = self.judges.tolist()
        if judges is None:
            return np.arange(len(known))
        if isinstance(judges, str) or not isinstance(judges, Sequence):
            judges = [judges]
        strangers = [name for name in judges if name not in known]
        if strangers or not judges:
            raise BattlesError(
                f"judges {strangers[:5]!r} are none of this fit; known are "
                f"{known[:10]!r}."
            )
        return np.array([known.index(name) for name in dict.fromkeys(judges)])

    def benchmarks(
        self, models: NDArray[Any], is_new: NDArray[np.bool_]
    ) -> pd.DataFrame:
        """Recorded sizes beside which a favour may be held, by new model and judge."""
        new = np.flatnonzero(is_new)
        own = self.favour[:-1, new, new].T
        n_judges = len(self.judges)
        index = pd.MultiIndex.from_product(
            [models[new].tolist(), self.judges.tolist()], names=["model", "judge"]
        )
        recorded = self.recorded[:, new].transpose(1, 0, 2)
        recorded = recorded.reshape(len(new) * n_judges, -1)
        table = {
            "sensitivity": np.tile(self.sensitivities, len(new)),
            "exposure": own.ravel(),
            "favour": self.whole[:, new].T.ravel(),
            **{
                f"{FAVOUR_OF}{name}": recorded[:, k]
                for k, name in enumerate(self.features)
            },
            "position_effect": np.tile(self.position, len(new)),
            "item_sd": np.tile(self.item_sd, len(new)),
            "largest_deviation": np.tile(self.deviation, len(new)),
        }
        return pd.DataFrame(table, index=index)


@dataclass(frozen=True, eq=False)
class Unrecorded:
    """Exposures of the difference of each new model to each model, for one kind.

    Attributes
    ----------
    judges : ndarray of shape (n_judges,)
        Judges that may favour.
    exposures : ndarray of shape (n_judges, n_new, n_models)
        Of the difference of the new model and the other one.
    is_new : ndarray of shape (n_models,)
        Which models are new.
    place : ndarray of shape (n_models,)
        Number of each new model among the new ones.
    """

    judges: NDArray[Any]
    exposures: Array
    is_new: NDArray[np.bool_]
    place: Indices

    def bias(self, first: Indices, second: Indices, gamma: float) -> Array:
        """Largest bias of differences, up or down, for favours of up to gamma.

        Parameters
        ----------
        first, second : ndarray of shape (n_pairs,)
            Models, the first of which, or else the second, is new.
        gamma : float
            Size of the favours; judges may have different signs.

        Returns
        -------
        ndarray of shape (n_pairs,)
            In logits, not negative.
        """
        return np.asarray(gamma * self._sizes(first, second).sum(axis=0))

    def until(self, first: Indices, second: Indices, margin: Array) -> Array:
        """Size of favours whose bias reaches a margin.

        Parameters
        ----------
        first, second : ndarray of shape (n_pairs,)
            As in :meth:`bias`.
        margin : ndarray of shape (n_pairs,)
            In logits, not negative.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Infinite where no favour does.
        """
        return _until(self._sizes(first, second).sum(axis=0), margin)

    def until_by_judge(self, first: Indices, second: Indices, margin: Array) -> Array:
        """As :meth:`until`, for each judge by itself, (n_judges, n_pairs)."""
        return _until(self._sizes(first, second), margin)

    def _sizes(self, first: Indices, second: Indices) -> Array:
        """Absolute exposures of differences, (n_judges, n_pairs)."""
        forward = self.is_new[first]
        new = np.where(forward, first, second)
        other = np.where(forward, second, first)
        return np.asarray(np.abs(self.exposures[:, self.place[new], other]))


def _until(exposure: Array, margin: Array) -> Array:
    """Favours that move differences of these absolute exposures by a margin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gamma = margin / exposure
    # An unknown margin leaves the answer unknown.
    reached = (exposure > NO_EXPOSURE) | np.isnan(margin)
    return np.where(reached, gamma, np.inf)
