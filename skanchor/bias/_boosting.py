"""The boosting loop: weak learners by Newton steps, linear columns fitted exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._comparisons import FeaturePairs
from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import fit_logistic, log_loss_terms
from skanchor._typing import Array
from skanchor.bias._weak_learners import WeakLearners
from skanchor.exceptions import LearnerError


@dataclass(frozen=True, slots=True)
class BoostingRows:
    """Rows of positive weight, and the columns whose coefficients are fitted exactly.

    Attributes
    ----------
    pairs : FeaturePairs
        Features of the two responses.
    targets : ndarray of shape (n_rows, n_targets)
        Outcomes, or targets.
    weight : ndarray of shape (n_rows,)
        Row weights, of sum one.
    linear : ndarray of shape (n_rows, n_columns)
        Columns of the exact fit: parametric ones and the linear part of psi.
    penalty : ndarray of shape (n_columns,)
        Ridge penalty of their coefficients.
    lower, upper : ndarray of shape (n_columns,)
        Bounds of their coefficients (logistic loss only).
    """

    pairs: FeaturePairs
    targets: Array
    weight: Array
    linear: Array
    penalty: Array
    lower: Array
    upper: Array


@dataclass(frozen=True, slots=True)
class Stage:
    """A weak learner and its step for each target."""

    learner: Any
    step: Array


@dataclass(frozen=True, slots=True)
class LinearFit:
    """An exact fit of the linear columns.

    Attributes
    ----------
    coef : ndarray of shape (n_columns, n_targets)
        Coefficients.
    at_bound : ndarray of shape (n_columns,)
        Those that lie on their bound.
    converged : bool
        Whether the solver converged.
    """

    coef: Array
    at_bound: NDArray[np.bool_]
    converged: bool

    @classmethod
    def zeros(cls, rows: BoostingRows) -> LinearFit:
        """All coefficients at zero."""
        n_columns = rows.linear.shape[1]
        coef = np.zeros((n_columns, rows.targets.shape[1]))
        return cls(coef, np.zeros(n_columns, dtype=bool), True)

    def scaled(self, scale: Array) -> LinearFit:
        """In other units of the targets."""
        return LinearFit(self.coef * scale, self.at_bound, self.converged)


@dataclass(frozen=True, slots=True)
class BoostingFit:
    """What boosting has found.

    Attributes
    ----------
    stages : list of Stage
        Weak learners in the order of the rounds.
    linear : LinearFit
        Last exact fit.
    n_best : int
        Number of rounds with the least held-out loss.
    """

    stages: list[Stage]
    linear: LinearFit
    n_best: int


@dataclass(frozen=True, slots=True)
class Boosting:
    """Boosting of weak learners beside linear columns.

    Attributes
    ----------
    rows : BoostingRows
        What it is fitted on.
    weak : WeakLearners
        Kind of the weak learners.
    logistic : bool
        Whether the loss is the logistic one, rather than the squared one.
    learning_rate : float
        Share of each Newton step that is taken.
    patience : int
        Rounds without a better held-out loss after which it stops.
    """

    rows: BoostingRows
    weak: WeakLearners
    logistic: bool
    learning_rate: float
    patience: int

    def run(self, train: NDArray[np.bool_], max_rounds: int) -> BoostingFit:
        """Boost on the training rows, and stop early by the loss of the others.

        Parameters
        ----------
        train : ndarray of shape (n_rows,)
            Training rows; where these are all rows, nothing stops it early.
        max_rounds : int
            Most rounds.

        Returns
        -------
        BoostingFit
        """
        rows = self.rows
        weight = np.where(train, rows.weight, 0.0)
        weight = weight / weight.sum()
        loss = (_LogisticLoss if self.logistic else _SquaredLoss).of(rows, weight)
        stopping = _EarlyStopping(
            np.where(train, 0.0, rows.weight), self.patience, max_rounds
        )
        left, right = (
            self.weak.encode(side) for side in (rows.pairs.left, rows.pairs.right)
        )
        boosted = np.zeros_like(rows.targets)
        linear = LinearFit.zeros(rows)
        stages: list[Stage] = []
        for number in range(max_rounds + 1):
            linear = loss.fit_linear(boosted, linear)
            eta = boosted + rows.linear @ linear.coef
            if stopping.ends(number, loss, eta) or number == max_rounds:
                break
            # The weak learner f is fitted to pseudo-residuals r = -dL/d eta, by single
            # responses; a row sees its contrast f(x_a) - f(x_b), (n_rows, n_targets).
            residual, curvature = loss.derivatives(eta)
            learner = self.weak.fit(left, right, residual, weight, number)
            contrast = self.weak.predict(learner, left)
            contrast = contrast - self.weak.predict(learner, right)
            # Newton step along the contrast, one for each target: the sum of w r f over
            # that of w V f^2, with the curvature V of the loss.
            slope = weight @ (residual * contrast)
            bend = weight @ (curvature * contrast**2)
            step = np.divide(slope, bend, out=np.zeros_like(slope), where=bend > 1e-12)
            if not step.any():
                break
            step *= self.learning_rate
            boosted += step * contrast
            stages.append(Stage(learner, step * loss.scale))
        if not np.isfinite(eta).all():
            raise LearnerError("boosting returned NaN or infinite values.")
        return BoostingFit(stages, linear.scaled(loss.scale), stopping.n_best)


class _EarlyStopping:
    """Watches the loss of held-out rows; without any, it never ends the rounds."""

    def __init__(self, weight: Array, patience: int, max_rounds: int):
        self.weight, self.patience = weight, patience
        self.n_best, self.least, self.since = max_rounds, np.inf, 0

    def ends(self, number: int, loss: _LogisticLoss | _SquaredLoss, eta: Array) -> bool:
        """Whether the rounds end with this number of them."""
        if not self.weight.any():
            return False
        value = loss.value(eta, self.weight)
        self.since += 1
        if value < self.least:
            self.n_best, self.least, self.since = number, value, 0
        return self.since >= self.patience


@dataclass(frozen=True, slots=True)
class _LogisticLoss:
    """Log loss of outcomes in [0, 1] (eq:calibration-estimation-v2)."""

    rows: BoostingRows
    weight: Array
    scale: Array

    @classmethod
    def of(cls, rows: BoostingRows, weight: Array) -> _LogisticLoss:
        return cls(rows, weight, np.ones(1))

    def fit_linear(self, boosted: Array, start: LinearFit) -> LinearFit:
        fit = fit_logistic(
            self.rows.linear,
            self.rows.targets[:, 0],
            self.weight,
            offset=boosted[:, 0],
            penalty=self.rows.penalty,
            lower=self.rows.lower,
            upper=self.rows.upper,
            start=start.coef[:, 0],
        )
        return LinearFit(fit.coef[:, None], fit.at_bound, fit.converged)

    def derivatives(self, eta: Array) -> tuple[Array, Array]:
        """Minus the slope of each row's loss in eta, and its curvature."""
        mean = expit(eta)
        return self.rows.targets - mean, mean * (1.0 - mean)

    def value(self, eta: Array, weight: Array) -> float:
        return float(weight @ log_loss_terms(self.rows.targets[:, 0], eta[:, 0]))


@dataclass(frozen=True, slots=True)
class _SquaredLoss:
    """Squared error of targets in units of their own.

    Every target counts alike for the splits, whatever its unit; ``scale`` holds the
    units.
    """

    rows: BoostingRows
    weight: Array
    scale: Array
    targets: Array
    gram: SymmetricSolver

    @classmethod
    def of(cls, rows: BoostingRows, weight: Array) -> _SquaredLoss:
        # Root mean square of each target, (n_targets,).
        spread = np.sqrt(weight @ rows.targets**2)
        scale = np.where(spread > 0, spread, 1.0)
        gram = rows.linear.T @ (rows.linear * weight[:, None])
        solver = SymmetricSolver.factorise(gram + np.diag(rows.penalty))
        return cls(rows, weight, scale, rows.targets / scale, solver)

    def fit_linear(self, boosted: Array, start: LinearFit) -> LinearFit:
        # (X' W X + penalty) b = X' W (y - boosted), for all targets at once.
        rest = (self.targets - boosted) * self.weight[:, None]
        coef = self.gram.solve(self.rows.linear.T @ rest)
        return LinearFit(coef, start.at_bound, start.converged)

    def derivatives(self, eta: Array) -> tuple[Array, Array]:
        """Minus the slope of each row's loss in eta, and its curvature."""
        return self.targets - eta, np.ones_like(eta)

    def value(self, eta: Array, weight: Array) -> float:
        return float(np.sum(weight @ (self.targets - eta) ** 2))
