"""Whether votes and verdicts together place all historical models on one scale.

A direction of the parameters is invisible if no logit moves along it: then the
information of the historical rows lacks rank. The rank decides; which judges fail to
join which models is explained by closure. A judge that is calibrated, having compared
two models whose distance is known, puts all models that it has compared on the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.graph import in_braces
from skanchor._model.layout import PEOPLE
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.sources import SourceRows
from skanchor._model.steps import Step
from skanchor._sample.admission import slight_ridge
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DisconnectedError

INVISIBLE = 1e-8
"""Eigenvalue of the information of unit diagonal at which a direction is invisible."""

FAR = 25.0
"""Score that no table of odds holds up: one comparison in 10^10 would go against it."""

LOADED = 1e-3
"""Size of a score in an invisible direction, in the largest, from which it is named."""


@dataclass(frozen=True, eq=False)
class Placement:
    """What the historical rows say of the scores of the historical models.

    Attributes
    ----------
    models, judges : ndarray
        Labels.
    old : ndarray of shape (n_models,)
        Historical models.
    scores, sensitivities : ndarray
        The joint fit.
    invisible : ndarray of shape (n_models, n_directions)
        Scores in the directions along which no logit moves.
    pairs : list of ndarrays of shape (3, n_rows)
        Of each judge, and last of people: left and right model of their rows, and the
        outcome.
    context : ndarray of shape (n_models,)
        Context of each model: those of different ones need no common scale. None where
        there is one for all.
    """

    models: NDArray[Any]
    judges: NDArray[Any]
    old: NDArray[np.bool_]
    scores: Array
    sensitivities: Array
    invisible: Array
    pairs: list[tuple[NDArray[np.intp], NDArray[np.intp], Array]]
    context: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, known: PipelineFit, step: Step) -> Placement:
        """Read the placement off a joint fit of the history, and what was fitted."""
        X, fit, layout = known.sample.X, known.fit, known.layout
        sources = [
            rows
            for rows in known.sources
            if not rows.is_new and rows.source in step.sources
        ]
        grams = (
            (rows.source, rows.information(rows.weight, fit.probabilities(rows)))
            for rows in sources
        )
        matrix = fit.centred(fit.information(grams))
        is_span = np.arange(layout.size) >= layout.position_effects.stop
        matrix[is_span, is_span] += fit.precision[is_span, is_span]
        head, spans = (np.flatnonzero(step.free & m) for m in (~is_span, is_span))
        cross = matrix[head[:, None], spans]
        taken = SymmetricSystem.of(matrix[spans[:, None], spans]).solve(cross.T)
        information = matrix[head[:, None], head] - cross @ taken
        directions = invisible_directions(information)
        invisible = np.zeros((layout.size, directions.shape[1]))
        invisible[head] = directions
        pairs = [
            _pairs([rows for rows in sources if rows.source == source])
            for source in (*range(1, layout.n_sources), PEOPLE)
        ]
        return cls(
            X.models,
            X.judges,
            ~X.is_new,
            fit.scores,
            fit.x[layout.sensitivities][1:],
            invisible[layout.scores],
            pairs,
            X.items.context,
        )

    def check(self, shrunk: bool = False) -> None:
        """Refuse a history that leaves scores, or their scale, undetermined.

        Where scores are shrunk, the ridge limits their scale.
        """
        if not shrunk:
            self._check_scale()
        self._check_rank()

    def _check_rank(self) -> None:
        loose = self.undetermined
        if not loose.any():
            return
        groups, calibrated = self.closure
        names = self.models[loose].tolist()[:5]
        parts = [self.models[self.old & part] for part in self._apart(groups)]
        if not parts:
            self._check_range()
            raise BattlesError(
                f"The features tell models {names} apart so well that the rows do not "
                "determine their scores; use fewer features or a simpler bias."
            )
        parts.sort(key=len, reverse=True)
        idle = self.judges[~calibrated].tolist()[:5]
        why = (
            f" Judges {idle} cannot join them: they compare no two models of one group "
            "with different scores, by which to calibrate them."
            if idle
            else ""
        )
        raise DisconnectedError(
            f"Human votes and verdicts leave {len(parts)} separate groups of models: "
            f"{in_braces(parts)}. Scores of different groups lie on no common "
            f"scale.{why} Add human votes between the groups, or drop one.",
        )

    @property
    def undetermined(self) -> NDArray[np.bool_]:
        """Models whose score moves in a direction that no row sees."""
        moved = np.abs(self.invisible)
        most = moved.max(axis=0, initial=0.0)
        return np.asarray(self.old & (moved > LOADED * most).any(axis=1))

    def _apart(self, groups: NDArray[np.intp]) -> list[NDArray[np.bool_]]:
        """Groups of the historical models of contexts that have more than one."""
        found = []
        context = np.zeros_like(groups) if self.context is None else self.context
        for code in np.unique(context):
            inside = context == code
            own = np.unique(groups[self.old & inside])
            found += [inside & (groups == g) for g in own if len(own) > 1]
        return found

    @cached_property
    def closure(self) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Groups of models on one scale, and which judges are calibrated.

        Groups are the components of the human comparisons. A judge is calibrated once
        a component of its own rows holds two models of one group with different
        scores; it then merges the groups that each of its components touches.
        """
        n = len(self.models)
        *own, groups = [_joined_models(left, right, n) for left, right, _ in self.pairs]
        calibrated = np.zeros(len(own), dtype=bool)
        while True:
            before = calibrated.copy()
            for m, parts in enumerate(own):
                calibrated[m] |= self._calibrates(parts, groups)
                if calibrated[m]:
                    groups = _joined_models(groups, n + parts, 2 * n)[groups]
            if (calibrated == before).all():
                return groups, calibrated

    def _calibrates(self, parts: NDArray[np.intp], groups: NDArray[np.intp]) -> bool:
        """Whether one part holds two models of one group with different scores."""
        both = parts[self.old] * len(self.models) + groups[self.old]
        scores = self.scores[self.old]
        for cell in np.unique(both):
            inside = scores[both == cell]
            if len(inside) > 1 and np.ptp(inside) > 1e-6:
                return True
        return False

    def _check_range(self) -> None:
        """Refuse scores that run away where votes and verdicts contradict."""
        middle = np.median(self.scores[self.old])
        far = self.old & (np.abs(self.scores - middle) > FAR)
        if far.any():
            raise BattlesError(
                "Human votes and verdicts contradict each other so much that no "
                "finite scores fit them both: those of "
                f"{self.models[far].tolist()[:5]} run away, and the judges' "
                "sensitivities go to zero. Drop judges that contradict people, or "
                "let votes alone decide the scores with historical_fit='two-step'.",
            )

    def _check_scale(self) -> None:
        """Refuse votes that put no bound on the scale, or none but zero on it."""
        left, right, y = self.pairs[-1]
        delta = self.scores[left] - self.scores[right]
        against = np.where(delta > 0, 1.0 - y, y)[delta != 0]
        # Where all are equal there is no scale to limit.
        if len(against) and not (against > 0).any():
            raise BattlesError(
                "No human vote contradicts the order of the scores that votes and "
                "verdicts agree on: the votes put no limit on the scale of the "
                "scores. Add votes, or set "
                f"BTLRegressor(alpha={slight_ridge(len(y))}).",
            )
        groups = _joined_models(left, right, len(self.models))
        placed_by_judges = len(self._apart(groups)) > 0
        if placed_by_judges and (self.sensitivities <= 0).all():
            raise BattlesError(
                "Human votes contradict the order in which the judges place the "
                "models, so that the scale of the scores is not positive. Add votes, "
                f"or set BTLRegressor(alpha={slight_ridge(len(y))}).",
            )


def _pairs(
    sources: Sequence[SourceRows],
) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
    """Left and right model of rows, and their outcomes."""
    nothing = np.zeros(0, dtype=np.intp)
    return (
        np.concatenate([nothing, *(rows.left for rows in sources)]),
        np.concatenate([nothing, *(rows.right for rows in sources)]),
        np.concatenate([np.zeros(0), *(rows.y for rows in sources)]),
    )


def invisible_directions(information: Array) -> Array:
    """Directions of the parameters along which information is zero, column by column.

    Those that leave all but a few parameters as they are come with rounding in these.
    """
    diagonal = np.maximum(information.diagonal(), 0.0)
    scale = np.divide(
        1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0
    )
    values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
    null = vectors[:, values < INVISIBLE]
    null[np.abs(null) <= LOADED] = 0.0
    # What no row sees at all has no scale, and any length will do.
    return np.asarray(np.where(scale > 0, scale, 1.0)[:, None] * null)


def _joined_models(
    left: NDArray[np.intp], right: NDArray[np.intp], size: int
) -> NDArray[np.intp]:
    """Component of each model in the graph of some rows."""
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)
