"""Calibration of each judge against the human scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from skanchor._battles import Comparisons, JudgeRows, align, usable_features
from skanchor._battles.labels import label_index
from skanchor._checks import check_bounds
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.pipeline_fit import POSITION_BOUND, row_biases
from skanchor._model.fit import without_rounding
from skanchor._model.graph import components
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.logistic import separation_of
from skanchor._model.sources import sigmoid
from skanchor._sample.admission import separating_columns
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias import AutoBias
from skanchor.bias.fitting import TrainingRows, fit_learner, same_settings
from skanchor.bias.protocol import for_riesz_weights, last_stage, linearity, span_names
from skanchor.bias.registry import LEARNER_CONSTRAINT, learner_for, make_learner
from skanchor.exceptions import (
    BattlesError,
    ConvergenceWarning,
    DiagnosticWarning,
    LearnerError,
    SeparationWarning,
    WeakJudgeWarning,
)
from skanchor.warning_log import warn_of_data

FAVOUR = 0.01
"""P-value, among all judges, of a favour for one side that is warned of."""

WEAK_SENSITIVITY = 0.05
"""Sensitivities below this many judge logits per score unit are called weak."""

_NOT_SHOWN = (
    "The position effect of judge {judge!r} cannot be learned: its historical rows do "
    "not show models in both orders. Set position_effect to False (--set "
    "calibrator__position_effect=false), or add rows with the sides swapped."
)


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

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        X, scores = sample.X, sample.X.learned_scores()
        slopes = check_bounds("sensitivity_bounds", self.sensitivity_bounds)
        low, high = np.array([slopes, (-POSITION_BOUND, POSITION_BOUND)]).T
        used = sample.counts & ~X.is_human & ~X.involves_new
        used &= np.isfinite(X.score_differences)
        X = usable_features(X, used)
        biases, choices, has_position = {}, {}, []
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            places = np.flatnonzero(used[cut.rows])
            if not len(places):
                continue
            history = cut[places]
            near = None if start is None else start.biases_.get(judge)
            if start is None or near is None:
                has_effect = self._has_position_effect(judge, history, cut, sample)
            else:
                # Decided once, on all rows.
                has_effect = bool(start.has_position_effect_[judge])
            n, at = 1 + has_effect, history.rows
            # Parametric columns: the score difference, whose coefficient is the
            # sensitivity, then the display order where it has an effect.
            delta = history.differences(scores)
            columns = np.column_stack([delta, history.order])[:, :n]
            outcomes, bounds = (sample.y[at], sample.weight[at]), (low[:n], high[:n])
            rows = TrainingRows(history.pairs, *outcomes, columns, bounds)
            # Without features there is no bias function to learn.
            bias = self.bias if rows.pairs.n_features else "linear"
            one = fit_near(learner_for(bias, judge), rows, judge, near, seed_offset)
            if isinstance(one, AutoBias):
                losses = {f"loss {k}": v for k, v in one.losses_.items()}
                gaps = {f"gap {k}": v for k, v in one.gap_error_.items()}
                choices[judge] = {"picked": one.picked_, **losses, **gaps}
                one = one.learner_
            biases[judge] = one
            has_position.append(has_effect)
            times = sample.multiplicity[at]
            if start is None and not self.position_effect:
                # What is left out is looked at once, on all rows.
                favour = favour_of_a_side(one, rows, history.order, times)
                if favour[1] < FAVOUR / len(X.judges) and shows_both_orders(history):
                    _warn_of_favour(judge, *favour)
            _warn_of_fit(judge, one, rows, times)
        if len(X.judges) and not biases:
            raise BattlesError(
                "No judge has a historical row: nothing to calibrate against the human "
                "scores. Give judge rows between models with human votes."
            )
        self.features_ = np.array(X.feature_names, dtype=object)
        table = pd.DataFrame.from_dict(choices, orient="index").rename_axis("judge")
        self.choices_: pd.DataFrame = table if start is None else start.choices_
        coefs = [np.append(one.parametric_coef_, 0.0)[:2] for one in biases.values()]
        slopes, positions = np.reshape(coefs, (-1, 2)).T
        self.with_parameters(biases, slopes, positions, has_position)

    def _has_position_effect(
        self, judge: Any, history: JudgeRows, cut: JudgeRows, sample: Sample
    ) -> bool:
        """Decide on the position effect of a judge; refuse one that rows do not show.

        ``history`` are the rows of the fit among those of the judge.
        """
        if not self.position_effect:
            return False
        counted = cut[np.flatnonzero(sample.weight[cut.rows] > 0)]
        if self.position_effect == "auto":
            is_shown = shows_both_orders(history)
            # Rows report an order, other than that of the columns, in vain.
            if not is_shown and counted.order.any() and (counted.order != 1).any():
                text = f"{_NOT_SHOWN.format(judge=judge)} It is left out."
                warn_of_data("position-effect-not-shown", [judge], text)
            return is_shown
        # A display order that depends on the pair alone shows one sign, if it is turned
        # so that the earlier label comes first. So do rows with one new model, if they
        # are turned so that it comes first.
        turned = np.where(history.left < history.right, 1, -1) * history.order
        sides = (
            sample.X.is_new[side].astype(int) for side in (counted.left, counted.right)
        )
        side = np.subtract(*sides)
        orders = set(turned[turned != 0])
        arrivals = set((side * counted.order)[side != 0])
        if not orders or (len(orders) == 1 and len(arrivals) == 1 and arrivals != {0}):
            raise BattlesError(_NOT_SHOWN.format(judge=judge))
        return True

    def with_parameters(
        self,
        biases: Mapping[Any, Any],
        sensitivities: Array,
        position_effects: Array,
        has_position_effect: Sequence[bool],
    ) -> Self:
        """Set parameters that were estimated elsewhere.

        Parameters
        ----------
        biases : mapping
            Fitted learner by judge.
        sensitivities, position_effects, has_position_effect : of shape (n_judges,)
            In the order of the judges; whether position effects were fitted.

        Returns
        -------
        self
        """
        self.biases_ = dict(biases)
        self.judges_ = np.array(list(biases), dtype=object)
        index = label_index(self.judges_, "judge")
        slopes = without_rounding(sensitivities)
        self.sensitivities_ = pd.Series(slopes, index, name="sensitivity")
        self.position_effects_ = pd.Series(position_effects, index, name="position")
        self.has_position_effect_ = pd.Series(has_position_effect, index, dtype=bool)
        self.has_position_effect_.name = "has_position_effect"
        return self

    @property
    def coefficients_(self) -> pd.DataFrame:
        """What each judge favours, in judge logits per unit of each column."""
        rows = []
        for learner in self.biases_.values():
            # Without a span, coefficients are not the whole bias.
            is_linear = linearity(learner) == "fixed"
            coef = getattr(learner, "coef_", []) if is_linear else []
            names = span_names(learner, tuple(self.features_), len(coef))
            rows.append(dict(zip(names, coef, strict=True)))
        index = label_index(self.judges_, "judge")
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
        learners: dict[Any, Any] = {}
        for judge, fitted in self.biases_.items():
            one: Any = learner_for(learner, judge)
            is_same = hasattr(one, "for_riesz_weights") and same_settings(
                one, learner_for(self.bias, judge)
            )
            if is_same or (isinstance(one, AutoBias) and judge in self.choices_.index):
                learners[judge] = for_riesz_weights(fitted)
        if not learners:
            return learner
        return {judge: learner_for(learner, judge) for judge in self.biases_} | learners

    def _annotate(self, X: Comparisons) -> Comparisons:
        slopes, positions = (
            np.asarray(align(values.to_numpy(float), self.judges_, X.judges))
            for values in (self.sensitivities_, self.position_effects_)
        )
        learners = {m: self.biases_.get(j) for m, j in enumerate(X.judges.tolist())}
        return self.with_fitted_orders(X).with_columns(
            sensitivities=slopes,
            position_effects=positions if self.has_position_effect_.any() else None,
            biases=row_biases(X, learners),
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


def fit_near(
    bias: Any, rows: TrainingRows, judge: Any, near: Any, seed_offset: int
) -> Any:
    """Fit a clone of a learner; ``near`` is one fitted on nearly the same rows."""
    learner = clone(bias)
    if isinstance(learner, AutoBias) and near is not None:
        # Chosen once, on all rows: folds fit the pick.
        learner = clone(near)
    learner.set_params(loss="logistic")
    fit_learner(learner, rows, judge, start=near, seed_offset=seed_offset)
    fitted, size = getattr(learner, "learner_", learner), rows.parametric.shape[1]
    coef = np.asarray(getattr(fitted, "parametric_coef_", np.nan), dtype=float)
    if coef.shape != (size,) or not np.isfinite(coef).all():
        raise LearnerError(
            f"The bias learner of judge {judge!r}, {type(fitted).__name__}, must store "
            f"{size} finite parametric coefficients, and has {coef.tolist()}."
        )
    return learner


def shows_both_orders(history: JudgeRows) -> bool:
    """Whether no ranking of the models says which of two the rows show first.

    A ranking has no cycle, so that each model is a component of its own.
    """
    ordered = history[np.flatnonzero(history.order)]
    left, right, ahead = ordered.left, ordered.right, ordered.order > 0
    # first[i, j]: some row shows model i before model j, (n_models, n_models).
    first = np.zeros((ordered.n_models, ordered.n_models), dtype=bool)
    first[np.where(ahead, left, right), np.where(ahead, right, left)] = True
    return len(np.unique(components(first, "strong"))) < ordered.n_models


def _warn_of_fit(judge: Any, learner: Any, rows: TrainingRows, times: Array) -> None:
    """Warn of verdicts that are separated, weak, or follow the display order."""
    slope, nowhere = learner.parametric_coef_[0], np.zeros(2, dtype=bool)
    at_bound = np.asarray(getattr(learner, "at_bound_", nowhere))
    is_converged = bool(getattr(learner, "converged_", True))
    columns = ""
    if at_bound[0] or not is_converged:
        columns = _separating(learner, rows, times)
    if columns:
        text = (
            f"The verdicts of judge {judge!r} are separated by {columns}: no finite "
            "fit exists, and these rows carry next to no information. What the others "
            "say of the scores is unaffected. Drop a feature that is made from the "
            "outcome, or the judge (without), or set a ridge (alpha of its bias)."
        )
        warn_of_data("separated-judge", [judge], text, SeparationWarning)
    elif not is_converged:
        text = (
            f"The fit of judge {judge!r} did not converge; its verdicts may be nearly "
            "separated. Set a ridge (alpha of its bias)."
        )
        warn_of_data("judge-not-converged", [judge], text, ConvergenceWarning)
    if at_bound[0]:
        text = (
            f"Sensitivity of judge {judge!r} lies on its bound, {slope:.3g}; intervals "
            "that use this judge are not valid."
        )
        warn_of_data("sensitivity-at-bound", [judge], text, WeakJudgeWarning)
    elif slope < WEAK_SENSITIVITY and not columns:
        kind = "negative" if slope < -WEAK_SENSITIVITY else "close to zero"
        text = (
            f"Sensitivity of judge {judge!r} is {kind} ({slope:.3g}): its verdicts "
            "carry little of the human ranking, or run against it."
        )
        warn_of_data("weak-sensitivity", [judge], text, WeakJudgeWarning)
    if at_bound[1:].any():
        text = (
            f"The position effect of judge {judge!r} lies on its bound: its verdicts "
            "follow the display order and say next to nothing of the models."
        )
        warn_of_data("position-effect-at-bound", [judge], text, WeakJudgeWarning)


def _separating(learner: Any, rows: TrainingRows, times: Array) -> str:
    """The columns that separate the verdicts, and in how many rows; "" if none do."""
    pairs, design = rows.pairs, rows.parametric
    names = ["the score difference", "the display order"][: design.shape[1]]
    if linearity(learner) == "fixed" and pairs.n_features:
        span = np.asarray(learner.span(pairs))
        columns = span_names(learner, pairs.names, span.shape[1])
        names += [f"feature {name!r}" for name in columns]
        design = np.hstack([design, span])
    separation = separation_of(design, rows.y, times)
    if not len(separation.columns):
        return ""
    return (
        f"{separating_columns(separation, names)} in the {separation.n_rows} of its "
        f"{int(times.sum())} historical rows that differ in it"
    )


def _warn_of_favour(judge: Any, effect: float, p: float) -> None:
    """Warn of a position effect that is left out, and that the rows show."""
    side = "first" if effect > 0 else "second"
    text = (
        f"Judge {judge!r} favours the side shown {side} by about {abs(effect):.2g} "
        f"logits (p = {p:.1g}), which is left out. Set position_effect to auto. If the "
        "columns are not in display order, add 'shown_first'."
    )
    warn_of_data("position-effect-left-out", [judge], text, DiagnosticWarning)


def favour_of_a_side(
    learner: Any, rows: TrainingRows, order: Array, times: Array
) -> tuple[float, float]:
    """Score test of a position effect that a fit has left out.

    ``order`` is the display order, ``times`` how many rows each row stands for. Returns
    the position effect that one step from zero gives, in judge logits, and a two-sided
    p-value with the variance that the residuals show.
    """
    weight, design = rows.weight, rows.parametric
    eta, ridge = design @ learner.parametric_coef_, np.zeros(design.shape[1])
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
    residual_order = order - design @ solver.solve(weighted.T @ order)
    information = curvature @ residual_order**2
    variance = np.sum((residual_order * residual) ** 2 / times)
    # Of verdicts that the fit is sure of, rounding is all that is left.
    if not variance > 0 or not information > 1e-9 * weight.sum():
        return 0.0, 1.0
    # Score statistic sum(rest w eps), with variance sum((rest w eps)^2); one Newton
    # step from zero is the score over the information.
    total = residual_order @ residual
    z = abs(total) / np.sqrt(variance)
    return float(total / information), float(2.0 * ndtr(-z))
