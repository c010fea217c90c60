"""The score test of a variance of item effects, on sums over models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import chdtr, chdtrc

from skanchor._numerics.linalg import SymmetricSolver, semidefinite_root
from skanchor._typing import Array


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Score test of a variance component, whose law has three moments of a chi-square.

    Attributes
    ----------
    value : float
        The statistic: of the law chi-square with ``df`` where there are no deviations.
    df : float
        Degrees of freedom.
    scale : float
        Information on a deviation of the kind that is tested, ``(I + 11') (x) I``.
    """

    value: float
    df: float
    scale: float

    @property
    def p_value(self) -> float:
        """Probability of a value as large, without deviations."""
        return chi_square_tail(self.value, self.df)

    def p_of_size(self, sd: float) -> float:
        """Probability of a value as small, with deviations of a size.

        A deviation of variance ``sd^2``, half of it shared by the judges, multiplies
        the variance of a score of information ``scale`` by ``1 + scale sd^2 / 2``.

        Parameters
        ----------
        sd : float
            Standard deviation of the deviations, in judge logits.

        Returns
        -------
        float
        """
        return float(chdtr(self.df, self.value / (1.0 + self.scale * sd**2 / 2.0)))


@dataclass(frozen=True, slots=True)
class ModelSums:
    """Residuals of one judge's historical rows, summed by model.

    Attributes
    ----------
    sums : ndarray of shape (n_models,)
        The sums.
    information : ndarray of shape (n_models, n_models)
        Information of deviations by model, after what was fitted.
    dispersion : float
        Variance of a residual in units of that of a vote.
    slope : float
        Sensitivity; the sums are turned round where it is negative.
    """

    sums: Array
    information: Array
    dispersion: float
    slope: float

    @property
    def from_score_error(self) -> Array:
        """What an error of the human scores adds to the sums, per dispersion."""
        return self.slope / self.dispersion * self.information

    def chi_square(self, error: Array) -> dict[str, float]:
        """Test the sums of this judge, with ``error`` the human scores' covariance."""
        seen = self.information
        covariance = self.dispersion * seen + self.slope**2 * seen @ error @ seen
        solver = SymmetricSolver.factorise(covariance)
        chi = float(self.sums @ solver.solve(self.sums))
        return {"item_chi2": chi, "item_df": solver.rank,
                "item_p": chi_square_tail(chi, solver.rank)}  # fmt: skip


def score_test(judges: Sequence[ModelSums], error: Array) -> ScoreTest | None:
    """Test deviations with variance zero against ``(I + 11') (x) I``.

    The statistic is a sum of weighted chi-squares; the chi-square law with its first
    three moments gives the tail. Judges share nothing but the error of the human
    scores, so that their covariance is inverted by Woodbury's identity. None where the
    sums have no information.
    """
    n_models = len(error)
    scores, pull = [], np.zeros(n_models)
    total, from_score_error = np.zeros((2, n_models, n_models))
    for one in judges:
        seen = SymmetricSolver.factorise(one.information)
        scores.append(one.information @ seen.solve(one.sums) / one.dispersion)
        total += one.slope * one.from_score_error
        from_score_error += one.from_score_error
        pull += one.slope * scores[-1]
    root = _shared_root(error, total)
    pulled = root @ (root.T @ pull)
    traces = _Traces(root, from_score_error)
    for one, score in zip(judges, scores, strict=True):
        score -= one.from_score_error @ pulled
        traces.add(one)
    first, second, third = traces.tested()
    if not (second > 0 and third > 0):
        return None
    statistic = float(np.sum(np.square(scores)) + np.sum(np.sum(scores, axis=0) ** 2))
    # Of small numbers, powers may fall below all numbers.
    df = second * (second / third) ** 2
    deviation = (statistic - first) / np.sqrt(2.0 * second)
    value = max(df + deviation * np.sqrt(2.0 * df), 0.0)
    return ScoreTest(value, float(df), float(third / second))


def _shared_root(error: Array, total: Array) -> Array:
    """U with U U' the error of the human scores once all judges are seen.

    Woodbury's ``R (I + R' total R)^-1 R'`` for a root R of the error.
    """
    root = semidefinite_root(error)
    inner = root.T @ total @ root
    inner.flat[:: len(inner) + 1] += 1.0
    lower = np.linalg.cholesky(inner)
    return np.asarray(solve_triangular(lower, root.T, lower=True).T)


class _Traces:
    """Traces of V, V^2 and V^3 for the variance V of all scores, judge by judge.

    V has the blocks ``D_m - F_m F_m'`` of a judge and ``-F_m F_n'`` of two, for
    ``D_m = information / dispersion`` and ``F_m = slope D_m U``. A judge more borders V
    by a column v and a corner, which adds terms in ``v'v`` and ``v'Vv`` to the traces;
    sums over the judges so far give both, so that no matrix is larger than one block.

    Parameters
    ----------
    root : ndarray of shape (n_models, n_root)
        U, with U U' the error of the human scores once all judges are seen.
    from_score_error : ndarray of shape (n_models, n_models)
        Sum of ``slope D_m`` over all judges.
    """

    def __init__(self, root: Array, from_score_error: Array):
        self.root, self.reached = root, root.T @ from_score_error
        n_models, n_root = root.shape
        self.traces = np.zeros(3)
        # F'F and F'VF over the judges so far, with F the column of the F_m.
        self.square, self.inner = np.zeros((2, n_root, n_root))
        # E'VE, E'V^2E, F'VE and the trace of E'V^3E, with E one identity by judge.
        self.once, self.twice = np.zeros((2, n_models, n_models))
        self.cross = np.zeros((n_root, n_models))
        self.thrice = 0.0

    def add(self, one: ModelSums) -> None:
        """Border V by a judge."""
        D, F = one.information / one.dispersion, one.from_score_error @ self.root
        corner = D - F @ F.T
        own, seen = F.T @ F, F.T @ (corner @ F)
        # Of v = F F_m', with F the column so far.
        self._border(
            corner,
            _trace(self.square, own),
            _trace(self.square, seen),
            _trace(self.inner, own),
        )
        mixed = self.square @ own
        self.inner += seen - mixed - mixed.T
        self.square += own
        # Its rows of VE.
        rows = D - F @ self.reached
        cross = F.T @ rows
        self.thrice += _trace(corner, rows @ rows.T)
        self.thrice -= 2.0 * _trace(self.cross, cross)
        self.once += rows
        self.twice += rows.T @ rows
        self.cross += cross

    def tested(self) -> Array:
        """Traces of the powers of ``V (I + E E')``, once all judges are in V.

        They are those of V bordered by the sum over judges.
        """
        self._border(
            self.once, np.trace(self.twice), _trace(self.once, self.twice), self.thrice
        )
        return self.traces

    def _border(
        self, corner: Array, square: float, within: float, cubic: float
    ) -> None:
        """Add what a corner C and a column v add.

        ``square``, ``within`` and ``cubic`` are the traces of ``v'v``, ``C v'v`` and
        ``v'Vv``.
        """
        self.traces += (
            np.trace(corner),
            _trace(corner, corner) + 2.0 * square,
            _trace(corner, corner @ corner) + 3.0 * (within + cubic),
        )


def _trace(left: Array, right: Array) -> float:
    """Trace of ``left' right``."""
    return float(np.vdot(left, right))


def chi_square_tail(chi: float, df: float) -> float:
    """P-value of a chi-square; one without a degree of freedom."""
    return float(chdtrc(df, chi)) if df > 0 else 1.0
