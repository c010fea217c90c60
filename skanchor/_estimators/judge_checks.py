"""What is checked in the rows and in the fit of a judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from skanchor._battles import JudgeRows
from skanchor._model.graph import count_components
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.logistic import separation_of
from skanchor._model.sources import sigmoid
from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows
from skanchor.bias.protocol import last_stage, linearity, span_names
from skanchor.exceptions import (
    BattlesError,
    ConvergenceWarning,
    DataWarning,
    DiagnosticWarning,
    SeparationWarning,
    SkanchorWarning,
    WeakJudgeWarning,
)

ONE_SIDED = 10
"""Rows from which a judge that always prefers one display side is warned of."""

WEAK_SENSITIVITY = 0.05
"""Sensitivities below this many judge logits per score unit are called weak."""

SWAP = (
    "Set position_effect=False (on the command line --set "
    "calibrator__position_effect=false), or add rows with the sides swapped."
)


@dataclass(frozen=True, eq=False)
class JudgeFit:
    """Rows of a judge, what its learner is fitted on, and the fitted learner.

    Attributes
    ----------
    judge : hashable
        Label.
    cut : JudgeRows
        All rows of the judge.
    is_new : ndarray of shape (n_models,)
        New models.
    counted : ndarray of shape (n_rows,)
        Rows of positive weight.
    rows : TrainingRows
        What the learner is fitted on: only historical rows have a weight. Parametric
        columns are the score difference, then the display order where it has an effect.
    times : ndarray of shape (n_rows,) or None
        How many rows of the table each stands for.
    learner : learner
        Fitted.
    is_chosen : bool
        Whether a position effect is left out here, and not in an earlier fit.
    """

    judge: Any
    cut: JudgeRows
    is_new: NDArray[np.bool_]
    counted: NDArray[np.bool_]
    rows: TrainingRows
    times: Array | None = None
    learner: Any = None
    is_chosen: bool = False

    def without_position_effect(self, *, is_chosen: bool) -> JudgeFit:
        """The same, the display order not among the columns."""
        low, high = np.asarray(self.rows.bounds)[:, :1]
        columns = self.rows.parametric[:, :1]
        rows = replace(self.rows, parametric=columns, bounds=(low, high))
        return replace(self, rows=rows, is_chosen=is_chosen)

    @property
    def coef(self) -> Array:
        """Sensitivity, and the position effect where there is one."""
        return np.asarray(self.learner.parametric_coef_)

    @cached_property
    def shown(self) -> NDArray[np.bool_]:
        """Historical rows whose display order is known."""
        return (self.rows.weight > 0) & (self.cut.order != 0)

    @property
    def order_of_arrivals(self) -> Array:
        """Order of arrival rows, turned so that the new model comes first."""
        cut, new = self.cut, np.append(self.is_new, False)
        arrival = (new[cut.left] ^ new[cut.right]) & self.counted
        return np.where(new[cut.left], cut.order, -cut.order)[arrival]

    @cached_property
    def is_varied(self) -> bool:
        """Whether no ranking of the models says which the historical rows show first.

        A ranking has no cycle, so that each model is a component of its own.
        """
        cut, ahead = self.cut, self.cut.order[self.shown] > 0
        left, right = cut.left[self.shown], cut.right[self.shown]
        # first[i, j]: some row shows model i before model j, (n_models, n_models).
        first = np.zeros((cut.n_models, cut.n_models), dtype=bool)
        first[np.where(ahead, left, right), np.where(ahead, right, left)] = True
        return count_components(first)[1] < cut.n_models

    def check_orders(self) -> None:
        """Refuse a position effect that the historical rows cannot tell apart."""
        cut, arrivals = self.cut, self.order_of_arrivals
        # A display order that depends on the pair alone shows one sign, if it is turned
        # so that the earlier label comes first.
        turned = np.where(cut.left < cut.right, cut.order, -cut.order)[self.shown]
        n_orders = len(np.unique(turned))
        one_sided = len(np.unique(arrivals)) == 1 and arrivals[0] != 0
        if n_orders == 0 or (one_sided and n_orders < 2):
            alike = ", while every arrival row has the same order" if one_sided else ""
            raise BattlesError(
                f"The position effect of judge {self.judge!r} cannot be learned: its "
                f"historical rows do not show models in both orders{alike}. {SWAP}"
            )

    def number(self, rows: NDArray[np.bool_]) -> int:
        """Number of rows of the table in a mask."""
        return int(rows.sum() if self.times is None else self.times[rows].sum())


Finding = tuple[str, type[SkanchorWarning], str]
"""Code, category and sentence of a warning."""


def findings(fit: JudgeFit, level: float, *, is_auto: bool) -> Iterator[Finding]:
    """List what a fit is warned of.

    A position effect that is left out is tested at ``level``. ``is_auto`` says that it
    is left out because the rows do not show it.
    """
    yield from _of_display(fit, level, is_auto)
    judge, coef = f"judge {fit.judge!r}", fit.coef
    at_bound = np.asarray(getattr(fit.learner, "at_bound_", np.zeros(len(coef)) > 0))
    is_converged = bool(getattr(fit.learner, "converged_", True))
    separating = "" if is_converged and not at_bound[0] else _separating(fit)
    if separating:
        yield (
            "separated-judge",
            SeparationWarning,
            f"The verdicts of {judge} are separated by {separating}: no finite fit "
            "exists, and these rows carry next to no information. What the others say "
            "of the scores is unaffected. If a feature is made from the outcome, drop "
            f"it (drop_features); else drop the judge (without=[{fit.judge!r}]), or "
            "set a ridge penalty, such as LinearBias(alpha=0.01).",
        )
    if at_bound[0]:
        yield (
            "sensitivity-at-bound",
            WeakJudgeWarning,
            f"Sensitivity of {judge} lies on its bound, {coef[0]:.3g}; intervals that "
            "use this judge are not valid.",
        )
    elif coef[0] < WEAK_SENSITIVITY and not separating:
        kind = "negative" if coef[0] < 0 else "close to zero"
        meaning = "carry little of" if coef[0] >= -WEAK_SENSITIVITY else "run against"
        yield (
            "weak-sensitivity",
            WeakJudgeWarning,
            f"Sensitivity of {judge} is {kind} ({coef[0]:.3g}): its verdicts {meaning} "
            "the human ranking.",
        )
    if at_bound[1:].any():
        yield (
            "position-effect-at-bound",
            WeakJudgeWarning,
            f"The position effect of {judge} lies on its bound, {coef[1]:.3g}: its "
            "verdicts follow the display order and say next to nothing of the models.",
        )
    if not is_converged and not separating:
        yield (
            "judge-not-converged",
            ConvergenceWarning,
            f"The fit of {judge} did not converge; its verdicts may be nearly "
            "separated. Set a ridge penalty, such as LinearBias(alpha=0.01).",
        )


def _of_display(fit: JudgeFit, level: float, is_auto: bool) -> Iterator[Finding]:
    """What is warned of where the display order is left out."""
    if len(fit.coef) > 1:
        return
    judge, order = f"judge {fit.judge!r}", fit.cut.order
    is_known = fit.shown.any() or fit.order_of_arrivals.any()
    # Rows report an order, other than that of the columns, in vain.
    if is_auto and fit.is_chosen and is_known and (order[fit.counted] != 1).any():
        yield (
            "position-effect-not-shown",
            DataWarning,
            f"The position effect of {judge} is left out: its historical rows do not "
            "show models in both orders. If it favours a side, its verdicts mislead "
            f"where that is not shared evenly. {SWAP}",
        )
    preferred = np.where(order > 0, fit.rows.y, 1.0 - fit.rows.y)[fit.shown]
    n_shown = fit.number(fit.shown)
    if n_shown >= ONE_SIDED and preferred[0] != 0.5 and np.ptp(preferred) == 0.0:
        yield (
            "one-sided-judge",
            WeakJudgeWarning,
            f"Judge {fit.judge!r} prefers the side shown "
            f"{'first' if preferred[0] > 0.5 else 'second'} in all of its historical "
            f"rows ({n_shown}), whatever the models. If the columns are not in display "
            "order, add 'shown_first'; else drop the judge, or set "
            "position_effect='auto'.",
        )
    elif fit.is_chosen and fit.is_varied:
        effect, p = favour_of_a_side(fit.learner, fit.rows, order, fit.times)
        if p < level:
            side = "first" if effect > 0 else "second"
            yield (
                "position-effect-left-out",
                DiagnosticWarning,
                f"Judge {fit.judge!r} favours the side shown {side} by about "
                f"{abs(effect):.2g} logits (p = {p:.1g}), which is left out. Set "
                "position_effect='auto'.",
            )


def _separating(fit: JudgeFit) -> str:
    """The columns that separate the verdicts, and in how many rows; "" if none do."""
    pairs, used, learner = fit.rows.pairs, fit.rows.weight > 0, fit.learner
    design, names = fit.rows.parametric, ["the score difference", "the display order"]
    names = names[: design.shape[1]]
    if linearity(learner) == "fixed" and pairs.n_features:
        span = np.asarray(learner.span(pairs))
        found = span_names(learner, pairs.names, span.shape[1])
        names += [f"feature {name!r}" for name in found]
        design = np.hstack([design, span])
    times = None if fit.times is None else fit.times[used]
    separation = separation_of(design[used], fit.rows.y[used], times)
    columns = separation.columns
    if not len(columns):
        return ""
    what = ", ".join(names[i] for i in columns[:5])
    if not separation.alone:
        what = f"a combination of {len(columns)} columns, among them {what}"
    return (
        f"{what} in the {separation.n_rows} of its {fit.number(used)} historical rows "
        "that differ in it"
    )


def favour_of_a_side(
    learner: Any, rows: TrainingRows, order: Array, times: Array | None = None
) -> tuple[float, float]:
    """Score test of a position effect that a fit has left out.

    Parameters
    ----------
    learner : learner
        Fitted on the rows.
    rows : TrainingRows
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
    weight, design = rows.weight, rows.parametric
    eta = design @ learner.parametric_coef_
    ridge = np.zeros(design.shape[1])
    if rows.pairs.n_features:
        eta = eta + learner.contrast(rows.pairs)
        stage = last_stage(learner, rows.pairs, weight)
        if stage is not None:
            design = np.hstack([design, stage.columns])
            ridge = np.append(ridge, weight.sum() * stage.ridge)
    p = sigmoid(eta)
    residual, curvature = weight * (rows.y - p), weight * p * (1.0 - p)
    # The order column less its projection on the fitted columns, in the metric of the
    # information: d - X (X' W X + ridge)^-1 X' W d, of shape (n_rows,).
    weighted = design * curvature[:, None]
    solver = SymmetricSystem.of(design.T @ weighted + np.diag(ridge))
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
