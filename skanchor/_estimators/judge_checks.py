"""What is told of the fit of a judge: display orders, separation, weak verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr

from skanchor._model.linalg import SymmetricSystem
from skanchor._model.logistic import separation_of
from skanchor._model.sources import sigmoid
from skanchor._sample.admission import separating_columns
from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows
from skanchor.bias.protocol import last_stage, linearity, span_names
from skanchor.exceptions import (
    ConvergenceWarning,
    DataWarning,
    DiagnosticWarning,
    SeparationWarning,
    SkanchorWarning,
    WeakJudgeWarning,
)
from skanchor.warning_log import warn_of

FAVOUR = 0.01
"""P-value, among all judges, of a favour for one side that is warned of."""

WEAK_SENSITIVITY = 0.05
"""Sensitivities below this many judge logits per score unit are called weak."""

SWAP = (
    "Set position_effect to False (--set calibrator__position_effect=false), or "
    "add rows with the sides swapped."
)

_SENTENCES: dict[str, tuple[type[SkanchorWarning], str]] = {
    "position-effect-not-shown": (
        DataWarning,
        "The position effect of judge {judge!r} is left out: its historical rows do "
        "not show models in both orders. If it favours a side, its verdicts mislead "
        f"where that is not shared evenly. {SWAP}",
    ),
    "position-effect-left-out": (
        DiagnosticWarning,
        "Judge {judge!r} favours the side shown {side} by about {size:.2g} logits "
        "(p = {p:.1g}), which is left out. Set position_effect to auto. If the columns "
        "are not in display order, add 'shown_first'.",
    ),
    "position-effect-at-bound": (
        WeakJudgeWarning,
        "The position effect of judge {judge!r} lies on its bound, {value:.3g}: its "
        "verdicts follow the display order and say next to nothing of the models.",
    ),
    "separated-judge": (
        SeparationWarning,
        "The verdicts of judge {judge!r} are separated by {columns}: no finite fit "
        "exists, and these rows carry next to no information. What the others say of "
        "the scores is unaffected. If a feature is made from the outcome, drop it "
        "(features); else drop the judge (without), or set a ridge penalty (alpha of "
        "its bias).",
    ),
    "sensitivity-at-bound": (
        WeakJudgeWarning,
        "Sensitivity of judge {judge!r} lies on its bound, {value:.3g}; intervals that "
        "use this judge are not valid.",
    ),
    "weak-sensitivity": (
        WeakJudgeWarning,
        "Sensitivity of judge {judge!r} is {kind} ({value:.3g}): its verdicts "
        "{meaning} the human ranking.",
    ),
    "judge-not-converged": (
        ConvergenceWarning,
        "The fit of judge {judge!r} did not converge; its verdicts may be nearly "
        "separated. Set a ridge penalty (alpha of its bias).",
    ),
}
"""Category and sentence of each warning of the fit of a judge, by code."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgeFit:
    """A judge's fitted learner, with the rows that it was fitted on.

    Attributes
    ----------
    judge : hashable
        Label.
    learner : learner
        Fitted.
    rows : TrainingRows
        All rows of the judge; only historical ones have a weight. Parametric columns
        are the score difference, then the display order where it has an effect.
    order : ndarray of shape (n_rows,)
        Display order.
    times : ndarray of shape (n_rows,) or None
        How many rows of the table each stands for.
    """

    judge: Any
    learner: Any
    rows: TrainingRows
    order: Array
    times: Array | None

    @property
    def coef(self) -> Array:
        """Sensitivity, and the position effect where there is one."""
        return np.asarray(self.learner.parametric_coef_)


def warn_of_display(
    fit: JudgeFit, order: Array, *, is_auto: bool, is_shown: bool, n_judges: int
) -> None:
    """Warn where a position effect is left out that may be there.

    ``order`` is that of all rows that count, those of new models among them, and
    ``is_shown`` says whether the historical ones show models in both orders.
    """
    tell = partial(warn_of, _SENTENCES, subject=[fit.judge], judge=fit.judge)
    if is_auto:
        # Rows report an order, other than that of the columns, in vain.
        if order.any() and (order != 1).any():
            tell("position-effect-not-shown")
    elif is_shown:
        effect, p = favour_of_a_side(fit)
        if p < FAVOUR / n_judges:
            side = "first" if effect > 0 else "second"
            tell("position-effect-left-out", side=side, size=abs(effect), p=p)


def warn_of_fit(fit: JudgeFit) -> None:
    """Warn of verdicts that are separated, weak, or follow the display order."""
    tell = partial(warn_of, _SENTENCES, subject=[fit.judge], judge=fit.judge)
    slope, *position = fit.coef
    nowhere = np.zeros(len(fit.coef), dtype=bool)
    at_bound = np.asarray(getattr(fit.learner, "at_bound_", nowhere))
    is_converged = bool(getattr(fit.learner, "converged_", True))
    columns = "" if is_converged and not at_bound[0] else _separating(fit)
    if columns:
        tell("separated-judge", columns=columns)
    if at_bound[0]:
        tell("sensitivity-at-bound", value=slope)
    elif slope < WEAK_SENSITIVITY and not columns:
        kind = "negative" if slope < 0 else "close to zero"
        meaning = "carry little of" if slope >= -WEAK_SENSITIVITY else "run against"
        tell("weak-sensitivity", kind=kind, meaning=meaning, value=slope)
    if at_bound[1:].any():
        tell("position-effect-at-bound", value=position[0])
    if not is_converged and not columns:
        tell("judge-not-converged")


def _separating(fit: JudgeFit) -> str:
    """The columns that separate the verdicts, and in how many rows; "" if none do."""
    pairs, used, learner = fit.rows.pairs, fit.rows.weight > 0, fit.learner
    design = fit.rows.parametric
    names = ["the score difference", "the display order"][: design.shape[1]]
    if linearity(learner) == "fixed" and pairs.n_features:
        span = np.asarray(learner.span(pairs))
        found = span_names(learner, pairs.names, span.shape[1])
        names += [f"feature {name!r}" for name in found]
        design = np.hstack([design, span])
    times = np.ones(len(used)) if fit.times is None else fit.times
    separation = separation_of(design[used], fit.rows.y[used], times[used])
    if not len(separation.columns):
        return ""
    return (
        f"{separating_columns(separation, names)} in the {separation.n_rows} of its "
        f"{int(times[used].sum())} historical rows that differ in it"
    )


def favour_of_a_side(fit: JudgeFit) -> tuple[float, float]:
    """Score test of a position effect that a fit has left out.

    Parameters
    ----------
    fit : JudgeFit
        Without the display order among its parametric columns.

    Returns
    -------
    effect : float
        The position effect that one step from zero gives, in judge logits.
    p_value : float
        Two-sided, with the variance that the residuals show; one without information.
    """
    rows, learner, order = fit.rows, fit.learner, fit.order
    weight, design = rows.weight, rows.parametric
    eta, ridge = design @ fit.coef, np.zeros(design.shape[1])
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
    squares = (rest * residual) ** 2 / (1.0 if fit.times is None else fit.times)
    information, variance = curvature @ rest**2, squares.sum()
    # Of verdicts that the fit is sure of, rounding is all that is left.
    if not variance > 0 or not information > 1e-9 * weight.sum():
        return 0.0, 1.0
    # Score statistic sum(rest w eps), with variance sum((rest w eps)^2); one Newton
    # step from zero is the score over the information.
    total = rest @ residual
    z = abs(total) / np.sqrt(variance)
    return float(total / information), float(2.0 * ndtr(-z))
