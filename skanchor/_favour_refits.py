"""Breakdowns by refits in which favours or drifts of the judges are taken as known."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._assembly import Inference
from skanchor._chain import fit_stages
from skanchor._engine import FullFit
from skanchor._items import ItemCovariance
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.results import AnchorResult, Unrecorded
from skanchor.warning_log import WarningLog

LARGEST = {"favour": 3.0, "family": 3.0, "drift": 1.0}
"""Largest favour in judge logits, and largest drift, that is refitted, by shape:
outcomes hardly tell models apart where a judge is taken to be so biased."""

NODES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the largest favour of interest that are refitted."""


ROUNDS = 40
"""Most fits of all rows until the shift by a drift is that of its own scores."""

SETTLED = 1e-5
"""Change of the new scores in logits below which that shift has settled."""


@dataclass(frozen=True, slots=True)
class KnownFavours:
    """Refits of all rows, in which favours or drifts of the judges are known.

    The history is that of the fit, and so are folds and item effects.

    Attributes
    ----------
    inference : Inference
        What the reported result is made from.
    items : ItemCovariance or None
        Covariance of its item effects.
    """

    inference: Inference
    items: ItemCovariance | None

    def shift(self, liked: Collection[object], favours: dict[object, float]) -> Array:
        """Shift of the logits of all rows, of shape (n_rows,).

        Parameters
        ----------
        liked : collection of labels
            New models that the judges favour alike.
        favours : dict of label to float
            By judge, how many logits it adds to these models.
        """
        X = self.inference.admitted.X
        items = X.rows.items
        own = pd.Index(items.models).isin(list(liked))[items.model]
        # The last entry is that of the code -1, an unknown model.
        member = np.append(own, False).astype(np.float64)
        sign = member[X.left] - member[X.right]
        return np.asarray(sign * self._by_row(favours))

    def _by_row(self, values: dict[object, float]) -> Array:
        """A number by judge, in each row; zero in rows of people."""
        X = self.inference.admitted.X
        # Codes of people and of unknown judges are the last two.
        by_judge = np.zeros(len(X.judges) + 2)
        for judge, value in values.items():
            by_judge[X.judges.tolist().index(judge)] = value
        return np.asarray(by_judge[X.judge])

    def liking(
        self, liked: Collection[object], favours: dict[object, float]
    ) -> AnchorResult:
        """Fit again, with favours for new models that are known.

        Parameters
        ----------
        liked, favours
            As in :meth:`shift`.

        Returns
        -------
        AnchorResult
            Its warnings are dropped: the fit without favours has issued them.
        """
        with WarningLog():
            return self._result(*self._fit(self.shift(liked, favours)))

    def drifting(self, changes: dict[object, float]) -> AnchorResult:
        """Fit again, with sensitivities on the rows of new models that are known.

        Parameters
        ----------
        changes : dict of label to float
            By judge, gamma: its sensitivity was multiplied by ``1 + gamma``, or where
            gamma is negative divided by ``1 - gamma``.

        Returns
        -------
        AnchorResult
            Its warnings are dropped.

        Notes
        -----
        The shift is the change of the sensitivity times the score difference. That is
        of the scores of the refit itself, found by iteration: with a growth g the new
        score falls by g times what it is raised to, hence the step of ``1 / (1 + g)``.
        """
        growth = {
            judge: gamma if gamma > 0 else gamma / (1.0 - gamma)
            for judge, gamma in changes.items()
        }
        X = self.inference.admitted.X
        grown = np.where(X.involves_new, self._by_row(growth), 0.0)
        step = 1.0 / (1.0 + max(growth.values(), default=0.0))
        with WarningLog():
            stages, full = self._fit(np.zeros(len(X)))
            scores = full.chain.scores
            for _ in range(ROUNDS):
                at = full.chain.X.with_columns(scores=scores)
                assert at.sensitivities is not None
                slopes = np.append(at.sensitivities, np.zeros(2))[at.judge]
                # NaN, in rows of unknown models, would be no number in their place.
                apart = np.nan_to_num(at.score_differences)
                stages, full = self._fit(grown * slopes * apart)
                moved = step * (full.chain.scores - scores)
                scores = scores + moved
                if not np.nanmax(np.abs(moved)) >= SETTLED:
                    break
            return self._result(stages, full)

    def _fit(self, shift: Array) -> tuple[Stages, FullFit]:
        """Fit all rows, whose logits are shifted."""
        known = self.inference
        stages = replace(known.stages, shift=shift)
        plugged = fit_stages(stages, known.admitted)
        return stages, FullFit.of(stages, known.admitted, plugged, self.items)

    def _result(self, stages: Stages, full: FullFit) -> AnchorResult:
        """Cross-fit."""
        return replace(self.inference, stages=stages, verbose=0).result(full)


def exact_breakdown(
    table: pd.DataFrame,
    favour: Unrecorded,
    index: dict[object, int],
    refit: Callable[[object, dict[object, float]], AnchorResult],
    largest: float,
) -> pd.DataFrame:
    """Add to breakdowns of first order those of refits.

    Parameters
    ----------
    table : DataFrame
        As of :meth:`skanchor.AnchorResult.breakdown`.
    favour : Unrecorded
        Exposures.
    index : dict of label to int
        Place of each model.
    refit : callable
        Takes a new model and the favour or drift of each judge, and gives the result
        of a refit.
    largest : float
        Largest one that is refitted.

    Returns
    -------
    DataFrame
        With the columns ``exact_sign`` and ``exact_interval``: the favours whose
        removal in a refit moves the difference as far as its ``gamma_sign`` and
        ``gamma_interval`` do to first order. NaN beyond the largest favour that is
        refitted.
    """
    first, second = (
        np.array([index[label] for label in table.index.get_level_values(name)])
        for name in ("model", "opponent")
    )
    difference = table["difference"].to_numpy(np.float64)
    # Sign of each judge's favour that pushes the difference away from zero, which
    # refits take off again.
    signs = np.sign(favour.of_pairs(first, second)) * np.sign(difference)
    sizes = table[["gamma_sign", "gamma_interval"]].to_numpy(np.float64)
    with np.errstate(invalid="ignore"):
        within = np.isfinite(sizes) & (sizes <= largest)
    # What favours of these sizes take off to first order, in logits.
    margins = np.column_stack(
        [
            np.where(difference > 0, *favour.bias(first, second, size))
            for size in np.where(within, sizes, 0.0).T
        ]
    )
    found = np.full(sizes.shape, np.nan)
    # Refits serve all opponents of a model to whom the same signs are the worst.
    groups: dict[tuple[object, ...], list[int]] = {}
    for pair, (model, _) in enumerate(table.index):
        if within[pair].any():
            groups.setdefault((model, *signs[:, pair].tolist()), []).append(pair)
    for (model, *own), pairs in groups.items():
        farthest = 1.05 * sizes[pairs][within[pairs]].max()
        nodes = farthest * np.array((0.0, *NODES))
        moved = np.zeros((len(nodes), len(pairs)))
        for row, size in enumerate(nodes[1:], 1):
            favours = dict(
                zip(favour.judges.tolist(), size * np.array(own), strict=True)
            )
            scores = refit(model, favours).all_scores.to_numpy()
            apart = scores[first[pairs]] - scores[second[pairs]]
            moved[row] = np.abs(difference[pairs]) - apart * np.sign(difference[pairs])
        for place, pair in enumerate(pairs):
            for kind in np.flatnonzero(within[pair]):
                found[pair, kind] = _reached(
                    nodes, moved[:, place], margins[pair, kind]
                )
    return table.assign(exact_sign=found[:, 0], exact_interval=found[:, 1])


def _reached(nodes: Array, moved: NDArray[np.float64], margin: float) -> float:
    """Favour at which the polynomial through the refits reaches a margin."""
    if margin == 0:
        return 0.0
    polynomial = np.polynomial.Polynomial.fit(nodes, moved, len(nodes) - 1)
    roots = (polynomial - margin).roots()
    real = roots.real[np.abs(roots.imag) < 1e-9]
    inside = real[(real >= 0) & (real <= 1.1 * nodes[-1])]
    return float(inside.min()) if len(inside) else np.nan
