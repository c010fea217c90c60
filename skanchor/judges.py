"""Calibration of each judge against the human scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._numerics.separation import separating_columns
from skanchor.base import ComparisonEstimator, check_bounds
from skanchor.bias import AutoBias
from skanchor.bias.fitting import FitTask, fit_all, same_settings
from skanchor.bias.protocol import BiasLearner, span_names
from skanchor.bias.registry import LEARNER_CONSTRAINT, learner_for, make_learner
from skanchor.comparisons import (
    Comparisons,
    FeaturePairs,
    JudgeRows,
    align,
    all_finite,
    usable_features,
)
from skanchor.exceptions import (
    BattlesError,
    ConvergenceWarning,
    DataWarning,
    LearnerError,
    SeparationWarning,
    WeakJudgeWarning,
)

__all__ = ["JudgeCalibrator"]

Array = NDArray[np.float64]

ONE_SIDED = 10
"""Rows from which a judge that always prefers one display side is told."""

POSITION_BOUND = 20.0
"""Bound on the absolute position effect, in judge logits."""

WEAK_SENSITIVITY = 0.05
"""Sensitivities below this many judge logits per score unit are called weak."""


class JudgeCalibrator(ComparisonEstimator):
    """Sensitivity, bias and position effect of each judge.

    Reads historical judge rows that carry scores and fits, judge by judge,
    ``eta = c (theta_a - theta_b) + psi(x_a) - psi(x_b) + o p``.

    Parameters
    ----------
    bias : {"linear", "network", "boosted", "auto"}, learner or dict, default="linear"
        Learner of the bias function psi: a name, a learner, or a dict judge -> name or
        learner. ``"auto"`` picks for each judge by inner cross-validated log loss
        (:class:`skanchor.bias.AutoBias`).
    position_effect : bool, default=False
        Whether each judge gets an intercept p that belongs to the side shown first.
    sensitivity_bounds : tuple of (low, high), default=(-20, 20)
        Bounds of the sensitivity, in judge logits per unit of score.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    judges_ : ndarray of shape (n_judges,)
        Judges with historical rows.
    features_ : ndarray of shape (n_features,)
        Names of the response features that the biases are functions of, without
        ``_a`` and ``_b``.
    sensitivities_ : Series
        Sensitivity c by judge; 1 means as sharp as humans.
    position_effects_ : Series
        Position effect p by judge in judge logits, zero where not fitted.
    biases_ : dict
        Fitted learner by judge; the pick where the choice was automatic.
    coefficients_ : DataFrame
        What each judge favours: by judge, the coefficient of each column of the
        learner's feature map (without one, of each feature), in judge logits per unit
        of the column as it stands in the table. Above zero, the judge prefers more of
        it in a response, at equal human scores. NaN where a judge's learner has no such
        column; networks and boosted trees have none.
    choices_ : DataFrame
        Of each judge with an automatic choice: the ``picked`` learner, the held-out
        ``loss`` of every candidate, and the standard error of its ``gap`` to the best.

    Raises
    ------
    BattlesError
        If no judge has historical rows, or the position effect is not identified.

    Notes
    -----
    Solves eq:calibration-estimation-v2. A negative, near-zero or bound-hitting
    sensitivity is kept and told by a ``WeakJudgeWarning``.

    Examples
    --------
    >>> from skanchor import BTLRegressor, JudgeCalibrator
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> scored = BTLRegressor().fit(data.X, data.y).transform(data.X)
    >>> judges = JudgeCalibrator().fit(scored, data.y)
    >>> sorted(judges.sensitivities_.index)
    ['judge-1', 'judge-2', 'judge-3']
    >>> judges.coefficients_.columns.tolist()
    ['x1', 'x2', 'x3']
    """

    _stands_for: ClassVar = {"bias": make_learner}
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        "bias": LEARNER_CONSTRAINT,
        "position_effect": ["boolean"],
        "sensitivity_bounds": [tuple, list],
    }

    def __init__(
        self,
        bias: Any = "linear",
        *,
        position_effect: bool = False,
        sensitivity_bounds: tuple[float, float] = (-20.0, 20.0),
        unseen: str = "warn",
    ):
        self.bias = bias
        self.position_effect = position_effect
        self.sensitivity_bounds = sensitivity_bounds
        self.unseen = unseen

    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: JudgeCalibrator | None = None,
        draw: int = 0,
    ) -> list[Warning]:
        low, high = check_bounds("sensitivity_bounds", self.sensitivity_bounds)
        lower = np.array([low, -POSITION_BOUND])
        upper = np.array([high, POSITION_BOUND])
        delta = X.score_differences
        counted = weight > 0
        historical = counted & X.is_past_verdict
        assert X.scores is not None
        incomplete = bool(np.isnan(X.scores).any())
        if incomplete:
            historical &= np.isfinite(delta)
        X = usable_features(X, historical & X.is_usable)
        weight = np.where(historical, weight, 0.0)
        notices: list[Warning] = []
        learners: dict[Any, Any] = {}
        problems, orders = [], {}
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            row_weight = weight[cut.rows]
            if not row_weight.any():
                continue
            columns = [delta[cut.rows]]
            if incomplete:
                columns = [np.where(np.isfinite(columns[0]), columns[0], 0.0)]
            if self.position_effect:
                self._check_position(judge, X, cut, row_weight > 0, counted[cut.rows])
                columns.append(cut.order)
            # Without features there is no bias function to learn.
            bias = self.bias if X.features_left.shape[1] else "linear"
            learner: Any = clone(learner_for(bias, judge))
            if isinstance(learner, AutoBias) and start is not None:
                # Chosen once, on all rows: folds fit the pick.
                learner = clone(start.biases_[judge])
            learners[judge] = learner.set_params(loss="logistic")
            orders[judge] = cut.order
            problems.append(
                FitTask(
                    cut.pairs,
                    y[cut.rows],
                    row_weight,
                    np.column_stack(columns),
                    (lower[: len(columns)], upper[: len(columns)]),
                    None if start is None else start.biases_.get(judge),
                )
            )
        if not learners:
            raise BattlesError(
                "No judge has a historical row: nothing to calibrate against the human "
                "scores. Give judge rows between models with human votes."
            )
        names = list(learners)
        fit_all([learners[judge] for judge in names], problems, names, draw)
        sensitivities, positions = {}, {}
        choices = {}
        for (judge, learner), problem in zip(learners.items(), problems, strict=True):
            self._check_fitted(judge, learner, problem.parametric.shape[1])
            if isinstance(learner, AutoBias):
                choices[judge] = _choice(learner)
                learners[judge] = learner = learner.learner_
            coef = learner.parametric_coef_
            sensitivities[judge] = coef[0]
            positions[judge] = coef[1] if self.position_effect else 0.0
            notices += self._judge_notices(judge, learner, problem, orders[judge])
        table = pd.DataFrame.from_dict(choices, orient="index")
        self.choices_ = table.rename_axis("judge")
        if start is not None:
            self.choices_ = start.choices_
        self.judges_ = np.array(names, dtype=object)
        self.sensitivities_, self.position_effects_ = (
            pd.Series(values, dtype=float, name=name).rename_axis("judge")
            for name, values in (
                ("sensitivity", sensitivities),
                ("position", positions),
            )
        )
        self.biases_: dict[Any, BiasLearner] = learners
        self.features_ = np.array(X.feature_names, dtype=object)
        return notices

    @property
    def coefficients_(self) -> pd.DataFrame:
        """What each judge favours, in judge logits per unit of each column."""
        rows = []
        for judge in self.judges_.tolist():
            learner: Any = self.biases_[judge]
            # Without a span, coefficients are not the whole bias.
            coef = getattr(learner, "coef_", []) if hasattr(learner, "span") else []
            names = span_names(learner, tuple(self.features_), len(coef))
            rows.append(dict(zip(names, coef, strict=True)))
        index = pd.Index(self.judges_, name="judge")
        return pd.DataFrame(rows, index=index, dtype=np.float64)

    def _check_position(
        self,
        judge: Any,
        X: Comparisons,
        cut: JudgeRows,
        used: NDArray[np.bool_],
        counted: NDArray[np.bool_],
    ) -> None:
        """Refuse a position effect that the historical rows cannot tell apart."""
        # Turned so that the earlier label comes first, a display order that depends
        # on the pair alone shows one sign.
        turned = np.where(cut.left < cut.right, cut.order, -cut.order)
        historical = np.unique(turned[used & (turned != 0)])
        new = np.append(X.is_new, False)
        arrival = (new[cut.left] ^ new[cut.right]) & counted
        seen = np.where(new[cut.left], cut.order, -cut.order)[arrival]
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
                + " Set position_effect=False, or add rows with the sides swapped."
            )

    def _check_fitted(self, judge: Any, learner: Any, n_parametric: int) -> None:
        """Refuse a learner that did not fit the parametric columns."""
        coef = np.asarray(getattr(learner, "parametric_coef_", np.nan), dtype=float)
        if coef.shape != (n_parametric,) or not np.isfinite(coef).all():
            raise LearnerError(
                f"The bias learner of judge {judge!r}, {type(learner).__name__}, must "
                f"store {n_parametric} finite parametric coefficients in "
                f"parametric_coef_, but it holds {coef.tolist()}."
            )

    def follow(self, learner: Any) -> Any:
        """Put what this calibrator has chosen where another stage would choose.

        The pick of an automatic learner, and the settings that the same learner has
        chosen here: functions that psi was shrunk to leave out need no balance in the
        weights.

        Parameters
        ----------
        learner : str, learner or dict
            As the parameter ``bias``.

        Returns
        -------
        str, learner or dict
            The same, or a dict judge -> learner where a choice was made here.
        """
        settled = {}
        names = self.judges_.tolist()
        found = {judge: learner_for(learner, judge) for judge in names}
        for judge, one in found.items():
            mine: Any = self.biases_[judge]
            same = hasattr(one, "settled") and same_settings(
                one, learner_for(self.bias, judge)
            )
            picked = isinstance(one, AutoBias) and judge in self.choices_.index
            if same or picked:
                settled[judge] = (
                    mine.settled() if hasattr(mine, "settled") else clone(mine)
                )
        return found | settled if settled else learner

    def _judge_notices(
        self, judge: Any, learner: Any, problem: FitTask, order: Array
    ) -> list[Warning]:
        notices: list[Warning] = []
        known = (problem.sample_weight > 0) & (order != 0)
        shown = np.where(order > 0, problem.y, 1.0 - problem.y)[known]
        same = len(shown) >= ONE_SIDED and len(np.unique(shown)) == 1
        if same and shown[0] != 0.5 and not self.position_effect:
            side = "first" if shown[0] > 0.5 else "second"
            notices.append(
                WeakJudgeWarning(
                    f"Judge {judge!r} prefers the side shown {side} in all of its "
                    f"historical rows ({len(shown)}), whatever the models. If the "
                    "columns are not in display order, add 'shown_first'; else drop "
                    "the judge, or set position_effect=True."
                )
            )
        sensitivity = float(learner.parametric_coef_[0])
        at_bound = getattr(learner, "at_bound_", np.zeros(1, dtype=bool))
        converged = getattr(learner, "converged_", True)
        separating = ""
        if at_bound[0] or not converged:
            separating = self._separating(learner, problem)
        if separating:
            notices.append(
                SeparationWarning(
                    f"The verdicts of judge {judge!r} are separated by {separating}: "
                    "no finite fit exists, and its rows carry next to no information. "
                    + (
                        "If a feature is made from the outcome, drop it. "
                        if "feature" in separating
                        else ""
                    )
                    + "Set a ridge penalty, such as LinearBias(alpha=0.01), or drop "
                    "the judge."
                )
            )
        if at_bound[0]:
            notices.append(
                WeakJudgeWarning(
                    f"Sensitivity of judge {judge!r} lies on its bound, "
                    f"{sensitivity:.3g}; intervals that use this judge are not valid."
                )
            )
        elif sensitivity < WEAK_SENSITIVITY and not separating:
            kind = "negative" if sensitivity < 0 else "close to zero"
            notices.append(
                WeakJudgeWarning(
                    f"Sensitivity of judge {judge!r} is {kind} ({sensitivity:.3g}): "
                    + (
                        "its verdicts run against the human ranking."
                        if sensitivity < -WEAK_SENSITIVITY
                        else "its verdicts carry little of the human ranking."
                    )
                )
            )
        if at_bound[1:].any():
            notices.append(
                WeakJudgeWarning(
                    f"The position effect of judge {judge!r} lies on its bound, "
                    f"{learner.parametric_coef_[1]:.3g}: its verdicts follow the "
                    "display order and say next to nothing of the models."
                )
            )
        if not converged and not separating:
            notices.append(
                ConvergenceWarning(
                    f"The fit of judge {judge!r} did not converge; its verdicts may be "
                    "nearly separated. Set a ridge penalty, such as "
                    "LinearBias(alpha=0.01)."
                )
            )
        return notices

    def _separating(self, learner: Any, problem: FitTask) -> str:
        """Name the columns that separate a judge's verdicts, if any do."""
        design = problem.parametric
        names = ["the score difference", "the display order"][: design.shape[1]]
        if hasattr(learner, "span") and problem.X.n_features:
            span = learner.span(problem.X)
            design = np.hstack([design, span])
            found = span_names(learner, problem.X.names, span.shape[1])
            names += [f"feature {name!r}" for name in found]
        used = problem.sample_weight > 0
        columns, alone = separating_columns(design[used], problem.y[used])
        listed = ", ".join(names[i] for i in columns[:5])
        if alone or not len(columns):
            return listed
        return f"a combination of {len(columns)} columns, among them {listed}"

    def _annotate(self, X: Comparisons) -> Comparisons:
        known = set(self.judges_.tolist())
        biases = np.zeros(len(X))
        for m, judge in enumerate(X.judges.tolist()):
            if judge in known and X.features_left.shape[1]:
                cut = X.by_judge(m)
                if len(cut):
                    biases[cut.rows] = self._contrast(judge, cut, all_finite(X))
        return X.with_columns(
            sensitivities=self._by_judge(self.sensitivities_, X),
            position_effects=self._by_judge(self.position_effects_, X)
            if self.position_effect
            else None,
            biases=biases,
        )

    def _by_judge(self, values: pd.Series, X: Comparisons) -> Array:
        return np.asarray(align(values.to_numpy(float), self.judges_, X.judges))

    def _contrast(self, judge: Any, cut: JudgeRows, complete: bool) -> Array:
        pairs = cut.pairs
        if complete:
            return self._checked_contrast(judge, pairs)
        finite = np.isfinite(pairs.left).all(axis=1) & np.isfinite(pairs.right).all(
            axis=1
        )
        values = np.full(len(cut), np.nan)
        if finite.any():
            values[finite] = self._checked_contrast(judge, pairs[finite])
        return values

    def _checked_contrast(self, judge: Any, pairs: FeaturePairs) -> Array:
        """Contrasts of a judge's learner; refuse what is none."""
        learner: Any = self.biases_[judge]
        found = np.asarray(learner.contrast(pairs))
        if found.shape != (len(pairs),) or not np.isfinite(found).all():
            what = (
                f"{np.sum(~np.isfinite(found))} values that are not finite"
                if found.shape == (len(pairs),)
                else f"shape {found.shape} for {len(pairs)} rows"
            )
            raise LearnerError(
                f"The bias learner of judge {judge!r}, {type(learner).__name__}, "
                f"returned {what} from contrast()."
            )
        return found

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return (X.judge >= 0) & ~X.involves_new


def _choice(auto: AutoBias) -> dict[str, Any]:
    losses = {f"loss {name}": value for name, value in auto.losses_.items()}
    gaps = {f"gap {name}": value for name, value in auto.gap_error_.items()}
    return {"picked": auto.picked_, **losses, **gaps}


def unused_judges(
    X: Comparisons, weight: Array, needed: int = 1
) -> tuple[list[Any], list[Warning]]:
    """Judges with too few historical rows of positive weight, a warning for each."""
    rows = X.is_usable & (weight > 0) & (X.judge >= 0)
    historical = rows & ~X.involves_new
    size = len(X.judges)
    counts = np.bincount(X.judge[historical], minlength=size)
    lost = np.bincount(X.judge[rows], minlength=size)
    names: list[Any] = []
    notices: list[Warning] = []
    for name, n, whole in zip(X.judges, counts.tolist(), lost.tolist(), strict=True):
        if n >= needed:
            continue
        names.append(name)
        what = "no historical row" if n == 0 else f"{n} historical rows"
        why = "" if n == 0 else f", fewer than the {needed} that its features ask for"
        notices.append(
            DataWarning(
                f"Judge {name!r} has {what} to calibrate it{why}; its {whole} rows are "
                "left out."
            )
        )
    return names, notices
