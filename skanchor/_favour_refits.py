"""Breakdowns by refits in which favours of the judges are taken as known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._assembly import Inference
from skanchor._chain import fit_stages
from skanchor._engine import FullFit
from skanchor._items import ItemCovariance
from skanchor._typing import Array
from skanchor.results import AnchorResult, Unrecorded
from skanchor.warning_log import WarningLog

__all__ = ["KnownFavours", "exact_breakdown"]

LARGEST = 3.0
"""Largest favour in judge logits that is refitted: outcomes hardly tell models apart
where a judge is taken to be so biased."""

NODES = (0.25, 0.5, 0.75, 1.0)
"""Shares of the largest favour of interest that are refitted."""


@dataclass(frozen=True, slots=True)
class KnownFavours:
    """Refits of all rows, whose judges are known to favour a new model.

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

    def shift(self, model: object, favours: dict[object, float]) -> Array:
        """Shift of the logits of all rows, of shape (n_rows,).

        Parameters
        ----------
        model : label
            The new model.
        favours : dict of label to float
            By judge, how many logits it adds to the model.
        """
        X = self.inference.admitted.X
        items = X.rows.items
        liked = items.models[items.model] == model
        # The last entry is that of the code -1, an unknown model.
        member = np.append(liked, False).astype(np.float64)
        sign = member[X.left] - member[X.right]
        # Codes of people and of unknown judges are the last two.
        by_judge = np.zeros(len(X.judges) + 2)
        for judge, favour in favours.items():
            by_judge[X.judges.tolist().index(judge)] = favour
        return np.asarray(sign * by_judge[X.judge])

    def result(self, model: object, favours: dict[object, float]) -> AnchorResult:
        """Fit again, with favours that are known.

        Parameters
        ----------
        model, favours
            As in :meth:`shift`.

        Returns
        -------
        AnchorResult
            Its warnings are dropped: the fit without favours has issued them.
        """
        known = self.inference
        stages = replace(known.stages, shift=self.shift(model, favours))
        with WarningLog():
            plugged = fit_stages(stages, known.admitted)
            own = replace(known, stages=stages, plugged=plugged, verbose=0)
            full = FullFit.of(stages, known.admitted, plugged, self.items)
            return own.result(full)


def exact_breakdown(
    table: pd.DataFrame,
    favour: Unrecorded,
    index: dict[object, int],
    refit: Callable[[object, dict[object, float]], AnchorResult],
) -> pd.DataFrame:
    """Add to breakdowns of first order those of refits.

    Parameters
    ----------
    table : DataFrame
        As of :meth:`skanchor.results.AnchorResult.breakdown`.
    favour : Unrecorded
        Exposures to favours of the shape ``"favour"``.
    index : dict of label to int
        Place of each model.
    refit : callable
        Takes a new model and the favour of each judge, and gives the result of a refit.

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
        within = np.isfinite(sizes) & (sizes <= LARGEST)
        exposed = np.abs(difference) / sizes[:, 0]
    margins = sizes * exposed[:, None]
    found = np.full(sizes.shape, np.nan)
    # Refits serve all opponents of a model to whom the same signs are the worst.
    groups: dict[tuple[object, ...], list[int]] = {}
    for pair, (model, _) in enumerate(table.index):
        if within[pair].any():
            groups.setdefault((model, *signs[:, pair].tolist()), []).append(pair)
    for (model, *own), pairs in groups.items():
        largest = 1.05 * sizes[pairs][within[pairs]].max()
        nodes = largest * np.array((0.0, *NODES))
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
