"""Calibration of each judge against the human scores."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from skanchor._battles import Comparisons, JudgeRows, align, usable_features
from skanchor._battles.labels import label_index
from skanchor._checks import check_bounds
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.judge_checks import (
    SWAP,
    JudgeFit,
    warn_of_display,
    warn_of_fit,
)
from skanchor._model.graph import count_components
from skanchor._model.layout import without_rounding
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import biases_of
from skanchor.bias import AutoBias
from skanchor.bias.fitting import TrainingRows, fit_learner, same_settings
from skanchor.bias.protocol import (
    BiasLearner,
    for_riesz_weights,
    linearity,
    span_names,
)
from skanchor.bias.registry import LEARNER_CONSTRAINT, learner_for, make_learner
from skanchor.exceptions import (
    BattlesError,
    LearnerError,
)

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
        both orders. True raises an error where the rows of a judge do not. False leaves
        it out, and a warning names judges that favour a side.
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

    _needs_judges: ClassVar[bool] = True
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
        X, scores = sample.X, sample.X.learned_scores()
        if not X.features_complete:
            historical = sample.counts & (X.judge >= 0) & ~X.involves_new
            X = usable_features(X, historical & np.isfinite(X.score_differences))
        # Parametric columns: the score difference, whose coefficient is the
        # sensitivity, then the display order where it has an effect.
        slopes = check_bounds("sensitivity_bounds", self.sensitivity_bounds)
        low, high = np.array([slopes, (-POSITION_BOUND, POSITION_BOUND)]).T
        fits, choices = [], {}
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            weight, delta = sample.weight.take(cut.rows), cut.differences(scores)
            counted = weight > 0
            used = counted & ~cut.involves(X.is_new) & np.isfinite(delta)
            if not used.any():
                continue
            counts, delta = np.where(used, weight, 0.0), np.where(used, delta, 0.0)
            is_shown = shows_both_orders(cut, used)
            if self.position_effect and self.position_effect != "auto":
                check_orders(judge, cut, used, counted, X.is_new)
            n_columns = 1 + self._has_position_effect(judge, is_shown, start)
            rows = TrainingRows(
                cut.pairs,
                sample.y.take(cut.rows),
                counts,
                np.column_stack([delta, cut.order])[:, :n_columns],
                (low[:n_columns], high[:n_columns]),
            )
            near = None if start is None else start.biases_.get(judge)
            learner = self._learner(judge, X, near)
            fit_learner(learner, rows, judge, start=near, seed_offset=seed_offset)
            if isinstance(learner, AutoBias):
                losses = {f"loss {k}": v for k, v in learner.losses_.items()}
                gaps = {f"gap {k}": v for k, v in learner.gap_error_.items()}
                choices[judge] = {"picked": learner.picked_, **losses, **gaps}
                learner = learner.learner_
            _check_fitted(judge, learner, n_columns)
            times = sample.times[cut.rows]
            fits.append(JudgeFit(judge, learner, rows, cut.order, times))
            if start is None and n_columns == 1:
                # A position effect that is left out is looked at once, on all rows.
                warn_of_display(
                    fits[-1],
                    cut.order[counted],
                    is_auto=self.position_effect == "auto",
                    is_shown=is_shown,
                    n_judges=len(X.judges),
                )
        if not fits and self._needs_judges:
            raise BattlesError(
                "No judge has a historical row: nothing to calibrate against the human "
                "scores. Give judge rows between models with human votes."
            )
        self._keep(fits, X)
        table = pd.DataFrame.from_dict(choices, orient="index").rename_axis("judge")
        self.choices_: pd.DataFrame = table if start is None else start.choices_
        for fit in fits:
            warn_of_fit(fit)

    def _learner(self, judge: Any, X: Comparisons, near: BiasLearner | None) -> Any:
        """Unfitted learner of one judge."""
        # Without features there is no bias function to learn.
        bias = self.bias if X.features_left.shape[1] else "linear"
        learner: Any = clone(learner_for(bias, judge))
        if isinstance(learner, AutoBias) and near is not None:
            # Chosen once, on all rows: folds fit the pick.
            learner = clone(near)
        return learner.set_params(loss="logistic")

    def _has_position_effect(
        self, judge: Any, is_shown: bool, start: JudgeCalibrator | None
    ) -> bool:
        """Whether a judge gets a position effect, given whether its rows show it."""
        if self.position_effect != "auto":
            return bool(self.position_effect)
        if start is not None and judge in start.biases_:
            # Decided once, on all rows.
            return bool(start.has_position_effect_[judge])
        return is_shown

    def _keep(self, fits: list[JudgeFit], X: Comparisons) -> None:
        """Store what the learners have found."""
        self.judges_ = np.array([fit.judge for fit in fits], dtype=object)
        self.features_ = np.array(X.feature_names, dtype=object)
        self.biases_: dict[Any, BiasLearner] = {fit.judge: fit.learner for fit in fits}
        index = label_index(self.judges_, "judge")
        coefs = np.array([np.append(fit.coef, 0.0)[:2] for fit in fits]).reshape(-1, 2)
        displayed = np.array([len(fit.coef) > 1 for fit in fits], dtype=bool)
        slopes = without_rounding(coefs[:, 0])
        self.sensitivities_ = pd.Series(slopes, index, name="sensitivity")
        self.position_effects_ = pd.Series(coefs[:, 1], index, name="position")
        self.has_position_effect_ = pd.Series(displayed, index, dtype=bool)
        self.has_position_effect_.name = "has_position_effect"

    @property
    def coefficients_(self) -> pd.DataFrame:
        """What each judge favours, in judge logits per unit of each column."""
        rows = []
        for judge in self.judges_.tolist():
            learner: Any = self.biases_[judge]
            # Without a span, coefficients are not the whole bias.
            is_linear = linearity(learner) == "fixed"
            coef = getattr(learner, "coef_", []) if is_linear else []
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
        learners, is_chosen = {}, False
        for judge in self.judges_.tolist():
            one: Any = learner_for(learner, judge)
            is_same = hasattr(one, "for_riesz_weights") and same_settings(
                one, learner_for(self.bias, judge)
            )
            if is_same or (isinstance(one, AutoBias) and judge in self.choices_.index):
                one, is_chosen = for_riesz_weights(self.biases_[judge]), True
            learners[judge] = one
        return learners if is_chosen else learner

    def _annotate(self, X: Comparisons) -> Comparisons:
        biases = np.zeros(len(X))
        if X.biases is not None:
            # People's bias, which an earlier stage has added.
            biases[X.is_human] = X.biases[X.is_human]
        for m, judge in enumerate(X.judges.tolist()):
            if judge in self.biases_ and X.features_left.shape[1]:
                cut, whose = X.by_judge(m), f"judge {judge!r}"
                biases[cut.rows] = biases_of(self.biases_[judge], cut.pairs, whose)
        slopes, positions = (
            np.asarray(align(values.to_numpy(float), self.judges_, X.judges))
            for values in (self.sensitivities_, self.position_effects_)
        )
        return self.with_fitted_orders(X).with_columns(
            sensitivities=slopes,
            position_effects=positions if self.has_position_effect_.any() else None,
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

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return (X.judge >= 0) & ~X.involves_new


class NoJudges(JudgeCalibrator):
    """Calibrator of a table without judges: the historical leaderboard alone."""

    _needs_judges = False


def shows_both_orders(cut: JudgeRows, used: NDArray[np.bool_]) -> bool:
    """Whether no ranking of the models says which of two the used rows show first.

    A ranking has no cycle, so that each model is a component of its own.
    """
    used = used & (cut.order != 0)
    left, right, ahead = cut.left[used], cut.right[used], cut.order[used] > 0
    # first[i, j]: some row shows model i before model j, (n_models, n_models).
    first = np.zeros((cut.n_models, cut.n_models), dtype=bool)
    first[np.where(ahead, left, right), np.where(ahead, right, left)] = True
    return bool(count_components(first)[1] < cut.n_models)


def check_orders(
    judge: Any,
    cut: JudgeRows,
    used: NDArray[np.bool_],
    counted: NDArray[np.bool_],
    is_new: NDArray[np.bool_],
) -> None:
    """Refuse a position effect that the historical rows cannot tell apart."""
    # A display order that depends on the pair alone shows one sign, if it is turned so
    # that the earlier label comes first.
    turned = np.where(cut.left < cut.right, cut.order, -cut.order)
    n_orders = len(np.unique(turned[used & (cut.order != 0)]))
    # Rows with one new model, turned so that it comes first.
    new = np.append(is_new, False)
    arrival = (new[cut.left] ^ new[cut.right]) & counted
    orders = np.unique(np.where(new[cut.left], cut.order, -cut.order)[arrival])
    if n_orders == 0 or (n_orders == 1 and len(orders) == 1 and orders[0] != 0):
        raise BattlesError(
            f"The position effect of judge {judge!r} cannot be learned: its "
            f"historical rows do not show models in both orders. {SWAP}"
        )


def _check_fitted(judge: Any, learner: Any, n_parametric: int) -> None:
    """Refuse a learner that did not fit the parametric columns."""
    coef = np.asarray(getattr(learner, "parametric_coef_", np.nan), dtype=float)
    if coef.shape != (n_parametric,) or not np.isfinite(coef).all():
        raise LearnerError(
            f"The bias learner of judge {judge!r}, {type(learner).__name__}, must "
            f"store {n_parametric} finite parametric coefficients in "
            f"parametric_coef_, but it holds {coef.tolist()}."
        )
