"""Do verdicts deviate by model in ways that score and features do not explain?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons, JudgeRows
from skanchor._diagnostics._item_score_test import (
    ModelSums,
    ScoreTest,
    chi_square_tail,
    score_test,
)
from skanchor._items import LEAST_DISPERSION, dispersions
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.blocks import fitted_columns
from skanchor._numerics.linalg import (
    RANK_TOLERANCE,
    Columns,
    SymmetricSolver,
)
from skanchor._numerics.sums import (
    SourceSums,
    information_weights,
    local_gram,
    local_score,
)
from skanchor._typing import Array
from skanchor.bias.protocol import last_stage
from skanchor.sample import Sample

DETECTED = 0.2
"""P-value of the item-effects check below which ``"auto"`` takes them as random."""

RULED_OUT = 0.1
"""Probability of a statistic as small, with deviations of the size that is expected,
below which the verdicts rule them out."""


@dataclass(frozen=True, eq=False)
class ItemCheck:
    """Whether verdicts deviate by model beyond score and features.

    Attributes
    ----------
    judges : DataFrame
        By judge: ``pearson``, ``pearson_df``, ``pearson_p``, ``item_chi2``,
        ``item_df``, ``item_p``. NaN where a judge has no historical row, or the fit
        explains every verdict exactly, as with one that only ties.
    p_value : float
        Of the test over all judges that can be tested, one if there is none; NaN where
        there are no human scores to test against.
    test : ScoreTest or None
        The test; None where there is nothing to test, and from files.
    """

    judges: pd.DataFrame
    p_value: float
    test: ScoreTest | None = None

    @property
    def detected(self) -> bool:
        """Whether the verdicts show item effects: also without a test."""
        return not self.p_value >= DETECTED

    def rules_out(self, sd: float) -> bool:
        """Whether the verdicts speak against deviations of a size, or nothing could.

        Parameters
        ----------
        sd : float
            Standard deviation of the deviations, in judge logits.

        Returns
        -------
        bool
        """
        return self.test is None or self.test.p_of_size(sd) < RULED_OUT

    @classmethod
    def untested(cls, X: Comparisons) -> ItemCheck:
        """No test, for votes that alone give the models no scores."""
        return cls(tests_table({judge: {} for judge in X.judges.tolist()}), np.nan)


def item_effects_check(
    sample: Sample, btl: BTLRegressor, calibrator: JudgeCalibrator
) -> ItemCheck:
    """Test whether verdicts deviate by model beyond score and features.

    Residuals of the historical judge rows are summed by pair (Pearson's chi-square)
    and by model; the sums by model are set against their covariance, the error of the
    human scores included. Over all judges the score test of a variance component is
    taken, for deviations that are halfway shared between judges: it has power where
    many judges of few rows each deviate together.

    Parameters
    ----------
    sample : Sample
        Rows that carry scores, sensitivities and biases, without item effects.
    btl : BTLRegressor
        Fitted on the human rows.
    calibrator : JudgeCalibrator
        Fitted; what of its learners is linear in coefficients is profiled out.

    Returns
    -------
    ItemCheck
    """
    X = sample.X
    error = score_error_of(btl, X.models)
    eta = X.logits()
    noise = dispersions(sample, has_deviations=False)
    judges: list[ItemTestSums | None] = []
    for m, judge in enumerate(X.judges.tolist()):
        residuals = _HistoricalResiduals.of(sample, m, eta)
        # A judge that only ties, say: its verdicts have no error to test against.
        if not residuals.curvature.any() or noise[m] < LEAST_DISPERSION:
            judges.append(None)
            continue
        judges.append(residuals.tested(X, calibrator.biases_[judge], float(noise[m])))
    return tested_items(X, judges, error)


@dataclass(frozen=True, eq=False, slots=True)
class ItemTestSums:
    """What the test reads of the historical rows of one judge.

    Attributes
    ----------
    sums : SourceSums
        Information and score, by the blocks of :func:`fitted_columns`.
    ridge : ndarray of shape (n_span,)
        Penalty of the span, beside the summed loss.
    dispersion : float
        Variance of a residual in units of that of a vote.
    by_pair : tuple of ndarray of shape (n_models, n_models)
        Residuals, information and number of rows of each ordered pair of models.
    """

    sums: SourceSums
    ridge: Array
    dispersion: float
    by_pair: tuple[Array, Array, Array]

    def after_fit(self, *, positions: bool) -> tuple[Array, Array, float]:
        """Take out what was fitted, as :func:`after_fit`: order if ``positions``."""
        assert self.sums.information is not None and self.sums.score is not None
        parametric = ["delta", "order"] if positions else ["delta"]
        used = self.sums.blocks.at("items", *parametric, "span")
        # Neither delta nor the display order has a penalty.
        ridge = np.concatenate([np.zeros(len(parametric)), self.ridge])
        score = self.sums.score[used]
        # At its minimum the ridge of the span balances its score.
        score[len(score) - len(self.ridge) :] = 0.0
        return after_fit(self.sums.information[np.ix_(used, used)], score, ridge)


def tested_items(
    X: Comparisons, judges: Sequence[ItemTestSums | None], error: Array
) -> ItemCheck:
    """Test the sums of all judges, whether their rows are at hand or streamed.

    Parameters
    ----------
    X : Comparisons
        Rows, or none, that carry sensitivities and position effects.
    judges : sequence of ItemTestSums or None
        By judge; None where there is nothing to test.
    error : ndarray of shape (n_models, n_models)
        Covariance of the human scores, in squared logits.

    Returns
    -------
    ItemCheck
    """
    assert X.sensitivities is not None
    rows: dict[Any, dict[str, float]] = {}
    found: list[ModelSums] = []
    for judge, slope, own in zip(
        X.judges.tolist(), X.sensitivities.tolist(), judges, strict=True
    ):
        rows[judge] = {}
        if own is None:
            continue
        sums, seen, n_fitted = own.after_fit(positions=X.position_effects is not None)
        # Turned round, a judge that dislikes what people like deviates alike.
        sign = -1.0 if slope < 0 else 1.0
        by_model = ModelSums(sign * sums, seen, own.dispersion, abs(slope))
        found.append(by_model)
        rows[judge] = pearson(*own.by_pair, own.dispersion, slope**2 * error, n_fitted)
        rows[judge] |= by_model.chi_square(error)
    if not found:
        return ItemCheck(tests_table(rows), 1.0)
    test = score_test(found, error)
    p_value = 1.0 if test is None else test.p_value
    return ItemCheck(tests_table(rows), p_value, test)


def tests_table(rows: dict[Any, dict[str, float]]) -> pd.DataFrame:
    """Test of each judge, NaN where there is none."""
    names = ["pearson", "pearson_df", "pearson_p", "item_chi2", "item_df", "item_p"]
    values = [[row.get(name, np.nan) for name in names] for row in rows.values()]
    table = np.array(values, dtype=np.float64).reshape(len(rows), len(names))
    return pd.DataFrame(table, pd.Index(list(rows), name="judge"), names)


def score_error_of(btl: BTLRegressor, models: NDArray[Any]) -> Array:
    """Covariance of the human scores of all models, zero where there is none."""
    error = np.zeros((len(models), len(models)))
    place = {model: i for i, model in enumerate(models.tolist())}
    at = [place[model] for model in btl.models_.tolist()]
    finite = np.where(np.isfinite(btl.covariance_), btl.covariance_, 0.0)
    error[np.ix_(at, at)] = finite
    return error


@dataclass(frozen=True, slots=True)
class _HistoricalResiduals:
    """Residuals of one judge's rows, zero but for the historical ones.

    Attributes
    ----------
    cut : JudgeRows
        The rows of the judge.
    judge : int
        Its code.
    used : ndarray of shape (n_rows,)
        Its historical rows of positive weight.
    weight, values, curvature : ndarray of shape (n_rows,)
        Row weights, weighted residuals, weighted variances of the outcomes.
    """

    cut: JudgeRows
    judge: int
    used: NDArray[np.bool_]
    weight: Array
    values: Array
    curvature: Array

    @classmethod
    def of(cls, sample: Sample, judge: int, eta: Array) -> _HistoricalResiduals:
        X = sample.X
        cut = X.by_judge(judge)
        eta, weight = eta.take(cut.rows), sample.weight.take(cut.rows)
        used = (weight > 0) & ~cut.involves(X.is_new) & np.isfinite(eta)
        weight = np.where(used, weight, 0.0)
        p = expit(np.where(used, eta, 0.0))
        curvature = information_weights(p, weight)
        # Beside no information at all, a residual is rounding.
        residual = np.where(curvature > 0, weight * (sample.y.take(cut.rows) - p), 0.0)
        return cls(cut, judge, used, weight, residual, curvature)

    def tested(self, X: Comparisons, learner: Any, dispersion: float) -> ItemTestSums:
        """Sum the rows, by the columns that were fitted."""
        cut = self.cut
        delta = np.where(self.used, X.score_differences.take(cut.rows), 0.0)
        span, ridge = np.empty((len(cut), 0)), np.empty(0)
        stage = last_stage(learner, cut.pairs, self.weight)
        if stage is not None:
            span, ridge = stage.columns, self.weight.sum() * stage.ridge
        columns = Columns(delta[:, None], cut.order[:, None], span)
        sums = SourceSums(
            fitted_columns(cut.n_models, len(ridge)),
            information=local_gram(cut, columns, self.curvature),
            score=local_score(cut, columns, self.values),
        )
        return ItemTestSums(sums, ridge, dispersion, self.by_pair())

    def by_pair(self) -> tuple[Array, Array, Array]:
        """Residuals, information and number of rows of each ordered pair of models."""
        values = self.values, self.curvature, self.used.astype(np.float64)
        residual, information, n_rows = map(self.cut.pair_sums, values)
        return residual, information, n_rows


def after_fit(gram: Array, score: Array, ridge: Array) -> tuple[Array, Array, float]:
    """Information on deviations by model after a fit, and what the fit took.

    Parameters
    ----------
    gram : ndarray of shape (n_models + n_fitted, n_models + n_fitted)
        Information of the models, and of the columns that were fitted.
    score : ndarray of shape (n_models + n_fitted,)
        Residuals, summed by these columns. Those of what was fitted are zero, unless
        the fit ended on a bound.
    ridge : ndarray of shape (n_fitted,)
        Penalty of what was fitted.

    Returns
    -------
    sums : ndarray of shape (n_models,)
        Sums by model, without what the fitted columns still explain: a fit on a bound
        leaves them a part, which says nothing of single models.
    seen : ndarray of shape (n_models, n_models)
        Covariance of sums by model, after a fit that may be shrunk.
    taken : float
        Degrees of freedom, fewer than coefficients where the fit was shrunk.
    """
    n_models = len(gram) - len(ridge)
    head, tail = slice(n_models), slice(n_models, None)
    solver = SymmetricSolver.factorise(gram[tail, tail] + np.diag(ridge))
    # T = (X' W X + ridge)^-1 X' W Z, what the fitted columns X take of the models' Z.
    # Sums by model after the fit are Z' eps - T' X' eps, with the covariance
    # (Z - X T)' W (Z - X T).
    taken = solver.solve(gram[tail, head])
    cross = gram[head, tail] @ taken
    seen = gram[head, head] - cross - cross.T + taken.T @ gram[tail, tail] @ taken
    sums = score[head] - taken.T @ score[tail]
    # Of models whose information was taken whole, only rounding is left.
    lost = seen.diagonal() <= RANK_TOLERANCE * gram[head, head].diagonal()
    seen[lost], seen[:, lost], sums[lost] = 0.0, 0.0, 0.0
    return sums, seen, float(np.trace(solver.solve(gram[tail, tail])))


def pearson(
    residual: Array,
    information: Array,
    n_rows: Array,
    dispersion: float,
    score_error: Array,
    n_fitted: float,
) -> dict[str, float]:
    """Pearson's chi-square over pairs, the error of the human scores included.

    Parameters
    ----------
    residual, information, n_rows : ndarray of shape (n_models, n_models)
        Sums by ordered pair, and how many rows there are.
    dispersion : float
        Variance of a residual in units of that of a vote.
    score_error : ndarray of shape (n_models, n_models)
        Covariance of the human scores, in logits of the judge.
    n_fitted : float
        Degrees of freedom that the fit took.

    Returns
    -------
    dict of str to float
    """
    # Both orders of a pair are one pair: residuals change their sign, information does
    # not. Only pairs with rows are counted.
    a, b = np.nonzero(np.triu(n_rows + n_rows.T))
    sums = (residual - residual.T)[a, b]
    seen = (information + information.T)[a, b]
    spread = score_error[a, a] + score_error[b, b] - 2.0 * score_error[a, b]
    # Noise of the outcomes, and what an error of the score difference adds to the sum.
    variance = dispersion * seen + seen**2 * spread
    some = variance > 0
    chi = float(np.sum(sums[some] ** 2 / variance[some]))
    df = max(len(a) - round(n_fitted), 0)
    return {"pearson": chi, "pearson_df": df, "pearson_p": chi_square_tail(chi, df)}
