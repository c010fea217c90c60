"""Calibration of each judge against the human scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from skanchor._base import ComparisonEstimator
from skanchor._battles import (
    Comparisons,
    FeaturePairs,
    JudgeRows,
    align,
    usable_features,
)
from skanchor._battles.labels import label_index
from skanchor._checks import check_bounds
from skanchor._judges._display import Display
from skanchor._judges._warnings import JudgeWarnings
from skanchor._numerics.parameters import without_rounding
from skanchor._typing import Array
from skanchor.bias import AutoBias
from skanchor.bias.fitting import FitTask, fit_all, same_settings
from skanchor.bias.protocol import BiasLearner, linearity, span_names
from skanchor.bias.registry import LEARNER_CONSTRAINT, learner_for, make_learner
from skanchor.exceptions import BattlesError, LearnerError
from skanchor.sample import Sample

FAVOUR = 0.01
"""P-value, among all judges, of a favour for one side that is warned of."""

POSITION_BOUND = 20.0
"""Bound on the absolute position effect, in judge logits."""


class JudgeCalibrator(ComparisonEstimator):
    """Sensitivity, bias and position effect of each judge.

    Uses the historical rows of each judge, with human scores, and fits
    ``eta = c (theta_a - theta_b) + psi(x_a) - psi(x_b) + o p`` to them, judge by judge.
    Here eta is the log-odds that the judge prefers the first response, and o is 1 if it
    was shown first and -1 if second.

    Parameters
    ----------
    bias : {"linear", "network", "boosted", "auto"}, learner or dict, default="linear"
        Learner of the bias function psi: a name, a learner, or a dict from judges to
        names or learners. ``"auto"`` chooses one for each judge by cross-validated log
        loss (:class:`skanchor.bias.AutoBias`).
    position_effect : {"auto"} or bool, default="auto"
        Whether each judge has a position effect p, its preference for the side shown
        first. ``"auto"`` fits it for each judge whose historical rows show pairs in
        both orders. True raises an error if the rows of a judge do not identify it.
        False leaves it out, and a warning names judges that favour a side.
    sensitivity_bounds : tuple of (low, high), default=(-20, 20)
        Bounds of the sensitivity, in judge logits per unit of score.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    judges_ : ndarray of shape (n_judges,)
        Judges with historical rows.
    features_ : ndarray of shape (n_features,)
        Names of the response features that the biases depend on, without ``_a`` and
        ``_b``.
    sensitivities_ : Series
        Sensitivity c by judge; 1 means as sharp as humans.
    position_effects_ : Series
        Position effect p by judge in judge logits, zero where not fitted.
    has_position_effect_ : Series
        Whether the position effect was fitted, by judge.
    biases_ : dict
        Fitted learner by judge; the chosen one with ``"auto"``.
    coefficients_ : DataFrame
        What each judge favours. A row is a judge; a column is a column of the learner's
        feature map, or a feature if there is no map. Values are in judge logits per
        unit of the column in the table. If a value is above zero, the judge prefers
        responses with more of it, at equal human scores. NaN if a judge's learner has
        no such column; networks and boosted trees have none.
    choices_ : DataFrame
        For each judge with an automatic choice: the ``picked`` learner, the held-out
        ``loss`` of every candidate, and the standard error of its ``gap`` to the best.

    Raises
    ------
    BattlesError
        If no judge has historical rows, or the position effect is not identified.

    Notes
    -----
    Solves eq:calibration-estimation-v2. If a sensitivity is negative, near zero or on
    its bound, a ``WeakJudgeWarning`` is issued, and the sensitivity is used as it is.

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
        "position_effect": ["boolean", StrOptions({"auto"})],
        "sensitivity_bounds": [tuple, list],
    }

    def __init__(
        self,
        bias: Any = "linear",
        *,
        position_effect: bool | str = "auto",
        sensitivity_bounds: tuple[float, float] = (-20.0, 20.0),
        unseen: str = "warn",
    ):
        self.bias = bias
        self.position_effect = position_effect
        self.sensitivity_bounds = sensitivity_bounds
        self.unseen = unseen

    def _fit(
        self,
        sample: Sample,
        start: JudgeCalibrator | None = None,
        seed_offset: int = 0,
    ) -> None:
        X = sample.X
        scores = X.learned_scores()
        if not X.features_complete:
            historical = (sample.weight > 0) & X.is_historical_judge_row & X.is_usable
            X = usable_features(X, historical & np.isfinite(X.score_differences))
        tasks, displays = {}, {}
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            weight, delta = sample.weight.take(cut.rows), cut.differences(scores)
            counted = weight > 0
            used = counted & ~cut.involves(X.is_new) & np.isfinite(delta)
            if used.any():
                displays[judge] = display = Display(cut, X.is_new, used, counted)
                counts = np.where(used, weight, 0.0)
                columns = [np.where(used, delta, 0.0)]
                if self._has_position_effect(judge, display, start):
                    columns.append(cut.order)
                near = None if start is None else start.biases_.get(judge)
                tasks[judge] = self._task(
                    cut, sample.y.take(cut.rows), counts, columns, near
                )
        if not tasks:
            raise BattlesError(
                "No judge has a historical row: nothing to calibrate against the human "
                "scores. Give judge rows between models with human votes."
            )
        learners = {judge: self._learner(judge, X, start) for judge in tasks}
        names = list(tasks)
        fit_all(list(learners.values()), list(tasks.values()), names, seed_offset)
        self.judges_ = np.array(names, dtype=object)
        self.features_ = np.array(X.feature_names, dtype=object)
        self._keep(learners, tasks, start)
        codes = {judge: m for m, judge in enumerate(X.judges.tolist())}
        for judge, learner in self.biases_.items():
            # In a training set of all rows there is nothing new to test.
            tested = start is None and displays[judge].is_varied
            cut = X.by_judge(codes[judge])
            times = sample.multiplicity_of(cut.rows)
            found = JudgeWarnings(judge, learner, tasks[judge], cut.order, times)
            found.issue(FAVOUR / len(tasks) if tested else 0.0)

    def _task(
        self,
        cut: JudgeRows,
        y: Array,
        weight: Array,
        columns: list[Array],
        near: BiasLearner | None,
    ) -> FitTask:
        """What the learner of one judge is fitted on."""
        low, high = check_bounds("sensitivity_bounds", self.sensitivity_bounds)
        # Parametric columns: the score difference, whose coefficient is the
        # sensitivity, then the display order where there is a position effect.
        bounds = np.array([[low, high], [-POSITION_BOUND, POSITION_BOUND]])
        lower, upper = bounds[: len(columns)].T
        return FitTask(cut.pairs, y, weight, np.array(columns).T, (lower, upper), near)

    def _has_position_effect(
        self, judge: Any, display: Display, start: JudgeCalibrator | None
    ) -> bool:
        """Whether a judge gets a position effect."""
        if not self.position_effect:
            return False
        if self.position_effect != "auto":
            display.check(judge)
            return True
        if start is not None and judge in start.biases_:
            # Decided once, on all rows.
            return bool(start.has_position_effect_[judge]) and display.is_known
        if not display.is_varied:
            display.warn_of_omission(judge)
        return display.is_varied

    def _learner(
        self, judge: Any, X: Comparisons, start: JudgeCalibrator | None
    ) -> Any:
        """Unfitted learner of one judge."""
        # Without features there is no bias function to learn.
        bias = self.bias if X.features_left.shape[1] else "linear"
        learner: Any = clone(learner_for(bias, judge))
        if isinstance(learner, AutoBias) and start is not None:
            # Chosen once, on all rows: folds fit the pick.
            learner = clone(start.biases_[judge])
        return learner.set_params(loss="logistic")

    def _keep(
        self,
        learners: dict[Any, Any],
        tasks: dict[Any, FitTask],
        start: JudgeCalibrator | None,
    ) -> None:
        """Store what the learners have found."""
        sensitivities, positions, displayed, choices = [], [], [], {}
        self.biases_: dict[Any, BiasLearner] = {}
        for judge, learner in learners.items():
            _check_fitted(judge, learner, tasks[judge].parametric.shape[1])
            if isinstance(learner, AutoBias):
                choices[judge] = _choice(learner)
                learner = learner.learner_
            self.biases_[judge] = learner
            coef = learner.parametric_coef_
            sensitivities.append(coef[0])
            positions.append(coef[1] if len(coef) > 1 else 0.0)
            displayed.append(len(coef) > 1)
        if start is None:
            table = pd.DataFrame.from_dict(choices, orient="index")
            self.choices_ = table.rename_axis("judge")
        else:
            self.choices_ = start.choices_
        self.sensitivities_, self.position_effects_, self.has_position_effect_ = (
            pd.Series(values, label_index(self.judges_, "judge"), name=name)
            for name, values in (
                ("sensitivity", without_rounding(np.array(sensitivities))),
                ("position", np.array(positions)),
                ("has_position_effect", np.array(displayed, dtype=bool)),
            )
        )

    @property
    def coefficients_(self) -> pd.DataFrame:
        """What each judge favours, in judge logits per unit of each column."""
        rows = []
        for judge in self.judges_.tolist():
            learner: Any = self.biases_[judge]
            # Without a span, coefficients are not the whole bias.
            coef = (
                getattr(learner, "coef_", []) if linearity(learner) == "fixed" else []
            )
            names = span_names(learner, tuple(self.features_), len(coef))
            rows.append(dict(zip(names, coef, strict=True)))
        index = pd.Index(self.judges_, name="judge")
        return pd.DataFrame(rows, index=index, dtype=np.float64)

    def follow(self, learner: Any) -> Any:
        """Learners for another stage, with the choices made by this calibrator.

        An automatic learner becomes the chosen one. A learner with this calibrator's
        settings gets the ridge that was chosen here.

        Parameters
        ----------
        learner : str, learner or dict
            As the parameter ``bias``, or ``"calibrator"``, which is that parameter.

        Returns
        -------
        str, learner or dict
            The same, or a dict from judges to learners if this calibrator has chosen.
        """
        if isinstance(learner, str) and learner == "calibrator":
            learner = self.bias
        chosen = {}
        names = self.judges_.tolist()
        found = {judge: learner_for(learner, judge) for judge in names}
        for judge, one in found.items():
            mine: Any = self.biases_[judge]
            same = hasattr(one, "for_riesz_weights") and same_settings(
                one, learner_for(self.bias, judge)
            )
            picked = isinstance(one, AutoBias) and judge in self.choices_.index
            if same or picked:
                chosen[judge] = (
                    mine.for_riesz_weights()
                    if hasattr(mine, "for_riesz_weights")
                    else clone(mine)
                )
        return found | chosen if chosen else learner

    def _annotate(self, X: Comparisons) -> Comparisons:
        known, complete = set(self.judges_.tolist()), X.features_complete
        biases = np.zeros(len(X))
        if X.biases is not None:
            # People's bias, which an earlier stage has added.
            biases[X.is_human] = X.biases[X.is_human]
        for m, judge in enumerate(X.judges.tolist()):
            if judge in known and X.features_left.shape[1]:
                cut = X.by_judge(m)
                if len(cut):
                    biases[cut.rows] = self._contrast(judge, cut, complete)
        displayed = self.has_position_effect_.to_numpy(np.bool_)
        return self.with_fitted_orders(X).with_columns(
            sensitivities=self._by_judge(self.sensitivities_, X),
            position_effects=self._by_judge(self.position_effects_, X)
            if displayed.any()
            else None,
            biases=biases,
        )

    def with_fitted_orders(self, X: Comparisons) -> Comparisons:
        """Rows without the display orders that the fit does not use.

        Parameters
        ----------
        X : Comparisons
            Rows.

        Returns
        -------
        Comparisons
        """
        displayed = self.has_position_effect_.to_numpy(np.bool_)
        if displayed.any() and not displayed.all():
            # To what follows, the display of the others' rows is unknown.
            return X.without_order(self.judges_[~displayed])
        return X

    def _by_judge(self, values: pd.Series, X: Comparisons) -> Array:
        return np.asarray(align(values.to_numpy(float), self.judges_, X.judges))

    def _contrast(self, judge: Any, cut: JudgeRows, complete: bool) -> Array:
        pairs = cut.pairs
        if complete:
            return self._checked_contrast(judge, pairs)
        # Rows that lack a feature have no bias, and so no logit: NaN.
        finite = np.isfinite(np.hstack([pairs.left, pairs.right])).all(axis=1)
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


class NoJudges(JudgeCalibrator):
    """Calibrator of a table without judges: the historical leaderboard alone."""

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        self.judges_ = np.array([], dtype=object)
        self.features_ = np.array(sample.X.feature_names, dtype=object)
        self._keep({}, {}, None)


def _choice(auto: AutoBias) -> dict[str, Any]:
    losses = {f"loss {name}": value for name, value in auto.losses_.items()}
    gaps = {f"gap {name}": value for name, value in auto.gap_error_.items()}
    return {"picked": auto.picked_, **losses, **gaps}


def _check_fitted(judge: Any, learner: Any, n_parametric: int) -> None:
    """Refuse a learner that did not fit the parametric columns."""
    coef = np.asarray(getattr(learner, "parametric_coef_", np.nan), dtype=float)
    if coef.shape != (n_parametric,) or not np.isfinite(coef).all():
        raise LearnerError(
            f"The bias learner of judge {judge!r}, {type(learner).__name__}, must "
            f"store {n_parametric} finite parametric coefficients in "
            f"parametric_coef_, but it holds {coef.tolist()}."
        )
