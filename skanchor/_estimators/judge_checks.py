"""What is checked in the rows and in the fit of a judge, as one table of warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from skanchor._battles import FeaturePairs, JudgeRows
from skanchor._model.graph import count_components
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.link import sigmoid
from skanchor._model.separation import Separation, separation_of
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
from skanchor.warning_log import warn

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
    """Rows of a judge, what its learner is fitted on, and what the fit shows.

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

    def warn(self, level: float, *, is_auto: bool) -> None:
        """Warn of what the table of checks finds.

        A position effect that is left out is tested at ``level``. ``is_auto`` says that
        it is left out because the rows do not show it.
        """
        for code, category, holds, sentence in CHECKS:
            if holds(self, level, is_auto):
                text = sentence.format(fit=self, judge=self.judge)
                warn(category(text, code=code, subject=[self.judge]))

    # ------------------------------------------------------------------ display order
    @cached_property
    def historical(self) -> NDArray[np.bool_]:
        """Rows that the learner is fitted on."""
        return self.rows.weight > 0

    @property
    def has_order(self) -> bool:
        """Whether the display order of any historical row is known."""
        return bool(np.logical_and(self.cut.order, self.historical).any())

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
        cut = self.cut
        known = self.historical & (cut.order != 0)
        ahead = cut.order[known] > 0
        left, right = cut.left[known], cut.right[known]
        # first[i, j]: some row shows model i before model j, (n_models, n_models).
        first = np.zeros((cut.n_models, cut.n_models), dtype=bool)
        first[np.where(ahead, left, right), np.where(ahead, right, left)] = True
        return count_components(first)[1] < cut.n_models

    @property
    def is_order_lost(self) -> bool:
        """Whether rows report an order, other than that of the columns, in vain."""
        is_other = (self.cut.order[self.counted] != 1).any()
        return bool(is_other and (self.has_order or self.order_of_arrivals.any()))

    def check_orders(self) -> None:
        """Refuse a position effect that the historical rows cannot tell apart."""
        cut, seen = self.cut, self.order_of_arrivals
        # A display order that depends on the pair alone shows one sign, if it is turned
        # so that the earlier label comes first.
        turned = np.where(cut.left < cut.right, cut.order, -cut.order)[self.historical]
        n_orders = len(np.unique(turned[turned != 0]))
        one_sided = len(np.unique(seen)) == 1 and seen[0] != 0
        if n_orders == 0 or (one_sided and n_orders < 2):
            alike = ", while every arrival row has the same order" if one_sided else ""
            raise BattlesError(
                f"The position effect of judge {self.judge!r} cannot be learned: its "
                f"historical rows do not show models in both orders{alike}. {SWAP}"
            )

    def number(self, rows: NDArray[np.bool_]) -> int:
        """Number of rows of the table in a mask."""
        return int(rows.sum() if self.times is None else self.times[rows].sum())

    @cached_property
    def one_side(self) -> str:
        """The display side that all historical rows prefer, and their number."""
        known = self.historical & (self.cut.order != 0)
        shown = np.where(self.cut.order > 0, self.rows.y, 1.0 - self.rows.y)[known]
        number = self.number(known)
        if number < ONE_SIDED or len(np.unique(shown)) != 1 or shown[0] == 0.5:
            return ""
        side = "first" if shown[0] > 0.5 else "second"
        return f"{side} in all of its historical rows ({number})"

    @cached_property
    def favour(self) -> tuple[float, float]:
        """Effect and p-value of a position effect that the fit leaves out."""
        return favour_of_a_side(self.learner, self.rows, self.cut.order, self.times)

    @property
    def favoured(self) -> str:
        """The side that it favours, by how much, and how sure that is."""
        effect, p = self.favour
        side = "first" if effect > 0 else "second"
        return f"{side} by about {abs(effect):.2g} logits (p = {p:.1g})"

    # ------------------------------------------------------------------ coefficients
    @property
    def coef(self) -> Array:
        """Sensitivity, and the position effect where there is one."""
        return np.asarray(self.learner.parametric_coef_)

    @property
    def at_bound(self) -> NDArray[np.bool_]:
        """Which of these lie on their bound."""
        free = np.zeros(len(self.coef), dtype=bool)
        return np.asarray(getattr(self.learner, "at_bound_", free))

    @property
    def is_converged(self) -> bool:
        """Whether the fit converged."""
        return bool(getattr(self.learner, "converged_", True))

    @property
    def weakness(self) -> str:
        """How weak the sensitivity is, and what this means."""
        kind = "negative" if self.coef[0] < 0 else "close to zero"
        is_small = self.coef[0] >= -WEAK_SENSITIVITY
        meaning = "carry little of" if is_small else "run against"
        return f"{kind} ({self.coef[0]:.3g}): its verdicts {meaning} the human ranking."

    # -------------------------------------------------------------------- separation
    def span(self, pairs: FeaturePairs) -> Array:
        """Columns that features fix; none without features or for other learners."""
        if linearity(self.learner) == "fixed" and pairs.n_features:
            return np.asarray(self.learner.span(pairs))
        return np.zeros((len(pairs), 0))

    @cached_property
    def separation(self) -> Separation | None:
        """What separates the verdicts of a fit without an end, if anything does."""
        if self.is_converged and not self.at_bound[0]:
            return None
        design = np.hstack([self.rows.parametric, self.span(self.rows.pairs)])
        used = self.historical
        times = None if self.times is None else self.times[used]
        found = separation_of(design[used], self.rows.y[used], times)
        return found if len(found.columns) else None

    @property
    def separating(self) -> str:
        """The columns that separate the verdicts, and in how many rows."""
        assert self.separation is not None
        pairs, columns = self.rows.pairs, self.separation.columns
        names = ["the score difference", "the display order"][: len(self.coef)]
        width = self.span(pairs[:1]).shape[1]
        found = span_names(self.learner, pairs.names, width) if width else []
        names += [f"feature {name!r}" for name in found]
        what = ", ".join(names[i] for i in columns[:5])
        if not self.separation.alone:
            what = f"a combination of {len(columns)} columns, among them {what}"
        n_rows = self.number(self.historical)
        return (
            f"{what} in the {self.separation.n_rows} of its {n_rows} historical rows "
            "that differ in it"
        )


Condition = Callable[[JudgeFit, float, bool], Any]

CHECKS: tuple[tuple[str, type[SkanchorWarning], Condition, str], ...] = (
    (
        "position-effect-not-shown",
        DataWarning,
        lambda fit, _, is_auto: is_auto and fit.is_chosen and fit.is_order_lost,
        "The position effect of judge {judge!r} is left out: its historical rows do "
        "not show models in both orders. If it favours a side, its verdicts mislead "
        f"where that is not shared evenly. {SWAP}",
    ),
    (
        "one-sided-judge",
        WeakJudgeWarning,
        lambda fit, *_: len(fit.coef) == 1 and fit.one_side,
        "Judge {judge!r} prefers the side shown {fit.one_side}, whatever the models. "
        "If the columns are not in display order, add 'shown_first'; else drop the "
        "judge, or set position_effect='auto'.",
    ),
    (
        "position-effect-left-out",
        DiagnosticWarning,
        lambda fit, level, _: (
            fit.is_chosen
            and fit.is_varied
            and not fit.one_side
            and fit.favour[1] < level
        ),
        "Judge {judge!r} favours the side shown {fit.favoured}, which is left out. "
        "Set position_effect='auto'.",
    ),
    (
        "separated-judge",
        SeparationWarning,
        lambda fit, *_: fit.separation is not None,
        "The verdicts of judge {judge!r} are separated by {fit.separating}: no finite "
        "fit exists, and these rows carry next to no information. What the others say "
        "of the scores is unaffected. If a feature is made from the outcome, drop it "
        "(drop_features); else drop the judge (without=[{judge!r}]), or set a ridge "
        "penalty, such as LinearBias(alpha=0.01).",
    ),
    (
        "sensitivity-at-bound",
        WeakJudgeWarning,
        lambda fit, *_: fit.at_bound[0],
        "Sensitivity of judge {judge!r} lies on its bound, {fit.coef[0]:.3g}; "
        "intervals that use this judge are not valid.",
    ),
    (
        "weak-sensitivity",
        WeakJudgeWarning,
        lambda fit, *_: (
            fit.coef[0] < WEAK_SENSITIVITY
            and not fit.at_bound[0]
            and fit.separation is None
        ),
        "Sensitivity of judge {judge!r} is {fit.weakness}",
    ),
    (
        "position-effect-at-bound",
        WeakJudgeWarning,
        lambda fit, *_: fit.at_bound[1:].any(),
        "The position effect of judge {judge!r} lies on its bound, {fit.coef[1]:.3g}: "
        "its verdicts follow the display order and say next to nothing of the models.",
    ),
    (
        "judge-not-converged",
        ConvergenceWarning,
        lambda fit, *_: not fit.is_converged and fit.separation is None,
        "The fit of judge {judge!r} did not converge; its verdicts may be nearly "
        "separated. Set a ridge penalty, such as LinearBias(alpha=0.01).",
    ),
)
"""What a fit is warned of: code, category, condition and sentence."""


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
