"""What there is to warn of in the fit of one judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skanchor._numerics.separation import separating_columns
from skanchor._typing import Array
from skanchor.bias.fitting import FitTask
from skanchor.bias.protocol import span_names
from skanchor.exceptions import (
    Advice,
    ConvergenceWarning,
    DiagnosticWarning,
    Remedy,
    SeparationWarning,
    WeakJudgeWarning,
)
from skanchor.judges._display import favour_of_a_side
from skanchor.warning_log import warn

__all__ = ["WEAK_SENSITIVITY", "JudgeWarnings"]

ONE_SIDED = 10
"""Rows from which a judge that always prefers one display side is warned of."""

WEAK_SENSITIVITY = 0.05
"""Sensitivities below this many judge logits per score unit are called weak."""


@dataclass(frozen=True, slots=True)
class JudgeWarnings:
    """What there is to warn of in the fit of one judge."""

    judge: Any
    learner: Any
    task: FitTask
    order: Array

    def issue(self, level: float = 0.0) -> None:
        """Warn of a judge that follows the display, is separated, weak or unsettled.

        A favour for one side that the fit leaves out is tested at ``level``.
        """
        if self.task.parametric.shape[1] == 1 and not self._of_one_side():
            self._of_favour(level)
        at_bound = getattr(self.learner, "at_bound_", np.zeros(1, dtype=bool))
        converged = getattr(self.learner, "converged_", True)
        separating = ""
        if at_bound[0] or not converged:
            separating = self.separating()
        if separating:
            self._of_separation(separating)
        self._of_sensitivity(at_bound[0], separating)
        if at_bound[1:].any():
            warn(
                WeakJudgeWarning(
                    f"The position effect of judge {self.judge!r} lies on its bound, "
                    f"{self.learner.parametric_coef_[1]:.3g}: its verdicts follow the "
                    "display order and say next to nothing of the models."
                )
            )
        if not converged and not separating:
            warn(
                ConvergenceWarning(
                    f"The fit of judge {self.judge!r} did not converge; its verdicts "
                    "may be nearly separated.",
                    advice=Advice(Remedy.SHRINK_BIAS, {"alpha": 0.01}),
                )
            )

    def _of_one_side(self) -> bool:
        known = (self.task.sample_weight > 0) & (self.order != 0)
        shown = np.where(self.order > 0, self.task.y, 1.0 - self.task.y)[known]
        same = len(shown) >= ONE_SIDED and len(np.unique(shown)) == 1
        if same and shown[0] != 0.5:
            side = "first" if shown[0] > 0.5 else "second"
            warn(
                WeakJudgeWarning(
                    f"Judge {self.judge!r} prefers the side shown {side} in all of its "
                    f"historical rows ({len(shown)}), whatever the models.",
                    advice=Advice(Remedy.SHOW_ORDER),
                )
            )
        return same

    def _of_favour(self, level: float) -> None:
        effect, p = favour_of_a_side(self.learner, self.task, self.order)
        if p < level:
            side = "first" if effect > 0 else "second"
            warn(
                DiagnosticWarning(
                    f"Judge {self.judge!r} favours the side shown {side} by about "
                    f"{abs(effect):.2g} logits (p = {p:.1g}), which is left out.",
                    advice=Advice(Remedy.FIT_POSITION),
                )
            )

    def _of_separation(self, separating: str) -> None:
        feature = " If a feature is made from the outcome, drop it."
        warn(
            SeparationWarning(
                f"The verdicts of judge {self.judge!r} are separated by {separating}: "
                "no finite fit exists, and its rows carry next to no information."
                + (feature if "feature" in separating else ""),
                advice=Advice(Remedy.SHRINK_OR_DROP_JUDGE, {"alpha": 0.01}),
            )
        )

    def _of_sensitivity(self, at_bound: bool, separating: str) -> None:
        sensitivity = float(self.learner.parametric_coef_[0])
        if at_bound:
            warn(
                WeakJudgeWarning(
                    f"Sensitivity of judge {self.judge!r} lies on its bound, "
                    f"{sensitivity:.3g}; intervals that use this judge are not valid."
                )
            )
        elif sensitivity < WEAK_SENSITIVITY and not separating:
            kind = "negative" if sensitivity < 0 else "close to zero"
            warn(
                WeakJudgeWarning(
                    f"Sensitivity of judge {self.judge!r} is {kind} "
                    f"({sensitivity:.3g}): "
                    + (
                        "its verdicts run against the human ranking."
                        if sensitivity < -WEAK_SENSITIVITY
                        else "its verdicts carry little of the human ranking."
                    )
                )
            )

    def separating(self) -> str:
        """Name the columns that separate the judge's verdicts, if any do."""
        task, learner = self.task, self.learner
        design = task.parametric
        names = ["the score difference", "the display order"][: design.shape[1]]
        if hasattr(learner, "span") and task.X.n_features:
            span = learner.span(task.X)
            design = np.hstack([design, span])
            found = span_names(learner, task.X.names, span.shape[1])
            names += [f"feature {name!r}" for name in found]
        used = task.sample_weight > 0
        columns, alone = separating_columns(design[used], task.y[used])
        listed = ", ".join(names[i] for i in columns[:5])
        if alone or not len(columns):
            return listed
        return f"a combination of {len(columns)} columns, among them {listed}"
