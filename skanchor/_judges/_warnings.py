"""What there is to warn of in the fit of one judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._judges._display import favour_of_a_side
from skanchor._numerics.separation import Separation, separation_of
from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows
from skanchor.bias.protocol import linearity, span_names
from skanchor.exceptions import (
    ConvergenceWarning,
    DiagnosticWarning,
    SeparationWarning,
    WeakJudgeWarning,
)
from skanchor.warning_log import warn

ONE_SIDED = 10
"""Rows from which a judge that always prefers one display side is warned of."""

WEAK_SENSITIVITY = 0.05
"""Sensitivities below this many judge logits per score unit are called weak."""


@dataclass(frozen=True, slots=True)
class JudgeWarnings:
    """What there is to warn of in the fit of one judge.

    ``times`` says how many rows of the table each row of the task stands for.
    """

    judge: Any
    learner: Any
    task: TrainingRows
    order: Array
    times: Array | None = None

    def issue(self, level: float = 0.0) -> None:
        """Warn of a judge that follows the display, is separated, weak or unsettled.

        A favour for one side that the fit leaves out is tested at ``level``.
        """
        if self.task.parametric.shape[1] == 1 and not self._of_one_side():
            self._of_favour(level)
        at_bound = getattr(self.learner, "at_bound_", np.zeros(1, dtype=bool))
        converged = getattr(self.learner, "converged_", True)
        found = None
        if at_bound[0] or not converged:
            found = self.separation()
        if found is not None:
            self._of_separation(found)
        self._of_sensitivity(at_bound[0], found is not None)
        if at_bound[1:].any():
            warn(
                WeakJudgeWarning(
                    f"The position effect of judge {self.judge!r} lies on its bound, "
                    f"{self.learner.parametric_coef_[1]:.3g}: its verdicts follow the "
                    "display order and say next to nothing of the models.",
                    code="position-effect-at-bound",
                    subject=[self.judge],
                )
            )
        if not converged and found is None:
            warn(
                ConvergenceWarning(
                    f"The fit of judge {self.judge!r} did not converge; its verdicts "
                    "may be nearly separated. Set a ridge penalty, such as "
                    "LinearBias(alpha=0.01).",
                    code="judge-not-converged",
                    subject=[self.judge],
                )
            )

    def _of_one_side(self) -> bool:
        known = (self.task.weight > 0) & (self.order != 0)
        shown = np.where(self.order > 0, self.task.y, 1.0 - self.task.y)[known]
        number = self._number(known)
        same = number >= ONE_SIDED and len(np.unique(shown)) == 1
        if same and shown[0] != 0.5:
            side = "first" if shown[0] > 0.5 else "second"
            warn(
                WeakJudgeWarning(
                    f"Judge {self.judge!r} prefers the side shown {side} in all of "
                    f"its historical rows ({number}), whatever the models. If the "
                    "columns are not in display order, add 'shown_first'; else drop "
                    "the judge, or set position_effect='auto'.",
                    code="one-sided-judge",
                    subject=[self.judge],
                )
            )
        return same

    def _of_favour(self, level: float) -> None:
        effect, p = favour_of_a_side(self.learner, self.task, self.order, self.times)
        if p < level:
            side = "first" if effect > 0 else "second"
            warn(
                DiagnosticWarning(
                    f"Judge {self.judge!r} favours the side shown {side} by about "
                    f"{abs(effect):.2g} logits (p = {p:.1g}), which is left out. Set "
                    "position_effect='auto'.",
                    code="position-effect-left-out",
                    subject=[self.judge],
                )
            )

    def _of_separation(self, found: Separation) -> None:
        names = self._column_names()
        listed = [names[i] for i in found.columns[:5]]
        cause = f"The verdicts of judge {self.judge!r} are separated by "
        what = ", ".join(listed)
        if not found.alone:
            what = f"a combination of {len(found.columns)} columns, among them {what}"
        n_rows = self._number(self.task.weight > 0)
        if 2 * found.n_rows < n_rows:
            outcome = (
                f" in the {found.n_rows} of its {n_rows} historical rows that differ "
                "in it: that coefficient is not determined, and such rows carry next "
                "to no information. What the others say of the scores is unaffected."
            )
        else:
            outcome = (
                ": no finite fit exists, and its rows carry next to no information."
            )
        of_features = [name for name in listed if name.startswith("feature")]
        if of_features:
            outcome += " If a feature is made from the outcome, drop it."
        feature = "the feature (drop_features) or " if of_features else ""
        warn(
            SeparationWarning(
                f"{cause}{what}{outcome} Drop {feature}the judge "
                f"(without=[{self.judge!r}]), or set a ridge penalty, such as "
                "LinearBias(alpha=0.01).",
                code="separated-judge",
                subject=[self.judge],
            )
        )

    def _of_sensitivity(self, at_bound: bool, separated: bool) -> None:
        sensitivity = float(self.learner.parametric_coef_[0])
        if at_bound:
            warn(
                WeakJudgeWarning(
                    f"Sensitivity of judge {self.judge!r} lies on its bound, "
                    f"{sensitivity:.3g}; intervals that use this judge are not valid.",
                    code="sensitivity-at-bound",
                    subject=[self.judge],
                )
            )
        elif sensitivity < WEAK_SENSITIVITY and not separated:
            kind = "negative" if sensitivity < 0 else "close to zero"
            warn(
                WeakJudgeWarning(
                    f"Sensitivity of judge {self.judge!r} is {kind} "
                    f"({sensitivity:.3g}): "
                    + (
                        "its verdicts run against the human ranking."
                        if sensitivity < -WEAK_SENSITIVITY
                        else "its verdicts carry little of the human ranking."
                    ),
                    code="weak-sensitivity",
                    subject=[self.judge],
                )
            )

    def _number(self, rows: NDArray[np.bool_]) -> int:
        """Number of rows of the table in a mask."""
        return int(rows.sum() if self.times is None else self.times[rows].sum())

    def separation(self) -> Separation | None:
        """What separates the judge's verdicts, if anything does."""
        task = self.task
        design = task.parametric
        if self._has_span:
            design = np.hstack([design, self.learner.span(task.pairs)])
        used = task.weight > 0
        times = None if self.times is None else self.times[used]
        found = separation_of(design[used], task.y[used], times)
        return found if len(found.columns) else None

    @property
    def _has_span(self) -> bool:
        return linearity(self.learner) == "fixed" and self.task.pairs.n_features > 0

    def _column_names(self) -> list[str]:
        task = self.task
        names = ["the score difference", "the display order"]
        names = names[: task.parametric.shape[1]]
        if self._has_span:
            width = self.learner.span(task.pairs[:1]).shape[1]
            found = span_names(self.learner, task.pairs.names, width)
            names += [f"feature {name!r}" for name in found]
        return names
