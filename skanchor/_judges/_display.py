"""Which side a judge's rows show first, and what that tells of its position effect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from skanchor._battles import JudgeRows
from skanchor._model.graph import count_components
from skanchor._model.link import sigmoid
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows
from skanchor.bias.protocol import last_stage
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.warning_log import warn


@dataclass(frozen=True, eq=False)
class Display:
    """The display order of one judge's rows, read as far as it is asked for.

    Attributes
    ----------
    cut : JudgeRows
        The rows of the judge.
    is_new : ndarray of shape (n_models,)
        New models.
    historical, counted : ndarray of shape (n_rows,)
        Which rows are historical, and which count.
    """

    cut: JudgeRows
    is_new: NDArray[np.bool_]
    historical: NDArray[np.bool_]
    counted: NDArray[np.bool_]

    @cached_property
    def turned(self) -> Array:
        """Order of historical rows, turned so that the earlier label comes first."""
        cut = self.cut
        return np.where(cut.left < cut.right, cut.order, -cut.order)[self.historical]

    @cached_property
    def seen(self) -> Array:
        """Order of arrival rows, turned so that the new model comes first."""
        cut, new = self.cut, np.append(self.is_new, False)
        arrival = (new[cut.left] ^ new[cut.right]) & self.counted
        return np.where(new[cut.left], cut.order, -cut.order)[arrival]

    @cached_property
    def is_varied(self) -> bool:
        """Whether no ranking of the models says which the historical rows show first.

        A ranking has no cycle, so that each model is a component of its own.
        """
        cut = self.cut
        known = self.historical & (cut.order != 0)
        ahead = cut.order[known] > 0
        left, right = cut.left[known], cut.right[known]
        # first[i, j]: some row shows model i before model j, (n_models, n_models).
        first = np.zeros((cut.n_models, cut.n_models), dtype=bool)
        first[np.where(ahead, left, right), np.where(ahead, right, left)] = True
        return count_components(first)[1] < cut.n_models

    @property
    def is_informative(self) -> bool:
        """Whether the table says more than that the display is the column order."""
        return bool((self.cut.order[self.counted] != 1).any())

    @property
    def is_known(self) -> bool:
        """Whether the display order of any historical row is known."""
        return bool(np.logical_and(self.cut.order, self.historical).any())

    def check(self, judge: Any) -> None:
        """Refuse a position effect that the historical rows cannot tell apart."""
        # A display order that depends on the pair alone shows one sign.
        historical = np.unique(self.turned[self.turned != 0])
        seen = self.seen
        one_sided = len(seen) > 0 and len(np.unique(seen)) == 1 and seen[0] != 0
        if len(historical) == 0 or (one_sided and len(historical) < 2):
            raise BattlesError(
                f"The position effect of judge {judge!r} cannot be learned: its "
                "historical rows do not show models in both orders"
                + (
                    ", while every arrival row has the same order."
                    if one_sided
                    else "."
                )
                + " Set position_effect=False (on the command line --set "
                "calibrator__position_effect=false), or add rows with the sides "
                "swapped."
            )

    def warn_of_omission(self, judge: Any) -> None:
        """Say that there is no position effect, where an order is reported."""
        if self.is_informative and (self.is_known or self.seen.any()):
            warn(
                DataWarning(
                    f"The position effect of judge {judge!r} is left out: its "
                    "historical rows do not show models in both orders. If it "
                    "favours a side, its verdicts mislead where that is not shared "
                    "evenly. Set position_effect=False (on the command line --set "
                    "calibrator__position_effect=false), or add rows with the sides "
                    "swapped.",
                    code="position-effect-not-shown",
                    subject=[judge],
                )
            )


def favour_of_a_side(
    learner: Any, task: TrainingRows, order: Array, times: Array | None = None
) -> tuple[float, float]:
    """Score test of a position effect that a fit has left out.

    Parameters
    ----------
    learner : learner
        Fitted on the task.
    task : TrainingRows
        Without the display order among its parametric columns.
    order : ndarray of shape (n_rows,)
        Display order.
    times : ndarray of shape (n_rows,), optional
        How many rows of the table each stands for, whose weights are summed.

    Returns
    -------
    effect : float
        The position effect that one step from zero gives, in judge logits.
    p_value : float
        Two-sided, with the variance that the residuals show; one without information.
    """
    weight, design = task.weight, task.parametric
    eta = design @ learner.parametric_coef_
    ridge = np.zeros(design.shape[1])
    if task.pairs.n_features:
        eta = eta + learner.contrast(task.pairs)
        stage = last_stage(learner, task.pairs, weight)
        if stage is not None:
            design = np.hstack([design, stage.columns])
            ridge = np.append(ridge, weight.sum() * stage.ridge)
    p = sigmoid(eta)
    residual, curvature = weight * (task.y - p), weight * p * (1.0 - p)
    # The order column less its projection on the fitted columns, in the metric of the
    # information: d - X (X' W X + ridge)^-1 X' W d, of shape (n_rows,).
    weighted = design * curvature[:, None]
    solver = SymmetricSolver.factorise(design.T @ weighted + np.diag(ridge))
    rest = order - design @ solver.solve(weighted.T @ order)
    squares = (rest * residual) ** 2
    if times is not None:
        squares /= times
    information, variance = curvature @ rest**2, squares.sum()
    # Of verdicts that the fit is sure of, rounding is all that is left.
    if not variance > 0 or not information > 1e-9 * weight.sum():
        return 0.0, 1.0
    # Score statistic sum(rest w eps), with variance sum((rest w eps)^2); one Newton
    # step from zero is the score over the information.
    total = rest @ residual
    z = abs(total) / np.sqrt(variance)
    return float(total / information), float(2.0 * ndtr(-z))
