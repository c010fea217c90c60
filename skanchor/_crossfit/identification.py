"""Whether votes and verdicts together place all historical models on one scale.

A direction of the parameters is invisible if no logit moves along it: then the
information of the historical rows lacks rank. Models whose scores move along it, and
judges whose sensitivities do, are named.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import PEOPLE
from skanchor._model.graph import components, in_braces
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import Step, grams_of
from skanchor._model.sources import SourceRows
from skanchor._sample.admission import slight_ridge
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DisconnectedError

INVISIBLE = 1e-8
"""Eigenvalue of the information of unit diagonal at which a direction is invisible."""

FAR = 25.0
"""Score that no table of odds holds up: one comparison in 10^10 would go against it."""

LOADED = 1e-3
"""Size of a parameter in an invisible direction, in the largest, if it moves."""


def check_identified(history: PipelineFit, step: Step, *, is_shrunk: bool) -> None:
    """Refuse a history that leaves scores, or their scale, undetermined.

    Parameters
    ----------
    history : PipelineFit
        Joint fit of the history.
    step : Step
        What was fitted.
    is_shrunk : bool
        Whether a ridge of the scores limits their scale.

    Raises
    ------
    BattlesError
    """
    if not is_shrunk:
        _check_scale(history)
    fit, layout, old = history.fit, history.layout, ~history.layout.is_new
    sources = [
        rows
        for rows in history.sources
        if not rows.is_new and rows.source in step.sources
    ]
    weights = [rows.weight for rows in sources]
    matrix = fit.centred(fit.information(grams_of(fit, sources, weights)))
    # What a span or item effects can explain is taken off the other parameters.
    is_tail = np.arange(layout.size) >= layout.position_effects.stop
    matrix[is_tail, is_tail] += fit.precision[is_tail, is_tail]
    head, tail = (np.flatnonzero(step.free & mask) for mask in (~is_tail, is_tail))
    cross = matrix[head[:, None], tail]
    taken = SymmetricSystem.of(matrix[tail[:, None], tail]).solve(cross.T)
    directions = invisible_directions(matrix[head[:, None], head] - cross @ taken)
    moved = np.zeros((layout.size, directions.shape[1]))
    moved[head] = directions
    of_scores = moved[layout.scores]
    # Sensitivities have another unit than scores.
    largest = np.abs(of_scores).max(axis=0, initial=0.0)
    is_open = old & (np.abs(of_scores) > LOADED * largest).any(axis=1)
    if is_open.any():
        _refuse(history, sources, head, moved, is_open)


def _refuse(
    history: PipelineFit,
    sources: Sequence[SourceRows],
    free: NDArray[np.intp],
    moved: Array,
    is_open: NDArray[np.bool_],
) -> None:
    """Say why scores are open, which move along with ``moved``, (size, n_directions).

    ``free`` are the parameters that were fitted, spans and item effects apart.
    """
    fit, layout, old = history.fit, history.layout, ~history.layout.is_new
    models, judges = history.sample.X.models, history.sample.X.judges
    far = old & (np.abs(fit.scores - np.median(fit.scores[old])) > FAR)
    if far.any():
        raise BattlesError(
            "Human votes and verdicts contradict each other so much that no "
            f"finite scores fit them both: those of {models[far].tolist()[:5]} run "
            "away, and the judges' sensitivities go to zero. Drop judges that "
            "contradict people, or let votes alone decide the scores: "
            "set historical_fit to two-step."
        )
    # Which rows there are, whatever their weights, the outcomes and the features.
    is_used = [(rows.weight > 0).astype(np.float64) for rows in sources]
    used = [(a.source, a.gram(b)) for a, b in zip(sources, is_used, strict=True)]
    design = fit.centred(fit.information(used))
    core = free[free < layout.position_effects.start]
    if not invisible_directions(design[core[:, None], core]).shape[1]:
        raise BattlesError(
            f"The features tell models {models[is_open].tolist()[:5]} apart so well "
            "that the rows do not determine their scores; use fewer features or a "
            "simpler bias."
        )
    # Historical models that move together, in contexts with several groups.
    of_scores, parts = moved[layout.scores], []
    largest = np.abs(of_scores).max(axis=0)
    rounded = np.round(of_scores / np.maximum(largest, np.finfo(float).tiny), 4)
    for code in np.unique(layout.context):
        inside = np.flatnonzero(old & (layout.context == code))
        _, group = np.unique(rounded[inside], axis=0, return_inverse=True)
        if group.any():
            parts += [models[inside[group.ravel() == k]] for k in np.unique(group)]
    parts.sort(key=len, reverse=True)
    idle = judges[(np.abs(moved[layout.sensitivities][1:]) > 0.0).any(axis=1)].tolist()
    why = (
        f" Judges {idle[:5]} cannot join them: they compare no two models of one group "
        "with different scores, by which to calibrate them."
        if idle
        else ""
    )
    raise DisconnectedError(
        f"Human votes and verdicts leave {len(parts)} separate groups of models: "
        f"{in_braces(parts)}. Scores of different groups lie on no common "
        f"scale.{why} Add human votes between the groups, or drop one."
    )


def _check_scale(history: PipelineFit) -> None:
    """Refuse votes that put no bound on the scale, or none but zero on it."""
    layout, scores, why = history.layout, history.fit.scores, ""
    votes = [r for r in history.sources if r.source == PEOPLE and not r.is_new]
    n_votes, links = 0, np.zeros((layout.n_items,) * 2)
    for rows in votes:
        used = rows.weight > 0
        n_votes = int(np.count_nonzero(used))
        links[rows.left[used], rows.right[used]] = 1.0
        delta = rows.differences(scores)
        against = np.where(delta > 0, 1.0 - rows.y, rows.y)[used & (delta != 0.0)]
        # Where all are equal there is no scale to limit.
        if len(against) and not against.any():
            why = (
                "No human vote contradicts the order of the scores that votes and "
                "verdicts agree on, so that there is no limit on the scale of the "
                "scores"
            )
    old = ~layout.is_new
    n_parts = len(np.unique(components(links > 0, "weak")[old]))
    is_apart = n_parts > len(np.unique(layout.context[old]))
    if is_apart and (history.fit.x[layout.sensitivities][1:] <= 0).all():
        why = why or (
            "Human votes contradict the order in which the judges place the models, so "
            "that the scale of the scores is not positive"
        )
    if why:
        ridge = f"BTLRegressor(alpha={slight_ridge(n_votes)})"
        raise BattlesError(f"{why}. Add votes, or set {ridge}.")


def invisible_directions(information: Array) -> Array:
    """Directions of the parameters along which information is zero, column by column.

    Those that leave all but a few parameters as they are come with rounding in these.
    """
    diagonal = np.maximum(information.diagonal(), 0.0)
    scale = np.zeros_like(diagonal)
    np.divide(1.0, np.sqrt(diagonal), out=scale, where=diagonal > 0)
    values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
    null = vectors[:, values < INVISIBLE]
    null[np.abs(null) <= LOADED] = 0.0
    # What no row sees at all has no scale, and any length will do.
    return np.asarray(np.where(scale > 0, scale, 1.0)[:, None] * null)
