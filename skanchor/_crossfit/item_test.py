"""Do verdicts deviate by model in ways that score and features do not explain?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import chdtr, chdtrc

from skanchor._model.fit import Fit
from skanchor._model.linalg import RANK_TOLERANCE, SymmetricSystem
from skanchor._model.riesz import NO_DISPERSION
from skanchor._model.sources import SourceRows, SourceSums
from skanchor._typing import Array

RULED_OUT = 0.1
"""Probability of a statistic as small, with effects of the size that is expected, below
which the verdicts rule them out."""


@dataclass(frozen=True)
class ScoreTest:
    """Score test of a variance component, whose law has three moments of a chi-square.

    Attributes
    ----------
    value : float
        The statistic, whose law without item effects is a chi-square with ``df``.
    df : float
        Degrees of freedom; zero where the verdicts say nothing.
    scale : float
        Information on an effect of the kind that is tested.
    """

    value: float
    df: float
    scale: float

    @property
    def p_value(self) -> float:
        """Probability of a value as large, without item effects."""
        return chi_square_tail(self.value, self.df)

    def rules_out(self, variance: float) -> bool:
        """Whether the value speaks against a variance component, or nothing could."""
        # The component multiplies the variance of a score of information ``scale``.
        value = self.value / (1.0 + self.scale * variance)
        return not self.df > 0.0 or bool(chdtr(self.df, value) < RULED_OUT)


NOTHING = ScoreTest(0.0, 0.0, 0.0)
"""Test of verdicts that say nothing."""


class JudgeTest(NamedTuple):
    """Chi-square tests of one judge.

    Attributes
    ----------
    pearson, pearson_df : float
        Of its verdicts summed by pair of models, with degrees of freedom.
    chi2, df : float
        Of its verdicts summed by model.
    """

    pearson: float
    pearson_df: int
    chi2: float
    df: int


@dataclass(frozen=True, eq=False)
class ItemTest:
    """Tests whether verdicts deviate by model beyond score and features.

    Attributes
    ----------
    score : ScoreTest or None
        Of a variance of item effects, half of it shared by the judges; None where there
        are no scores to test against.
    common : ScoreTest or None
        Of item effects that all judges share, which look like errors of people's
        scores.
    by_judge : dict of int to JudgeTest
        Of each judge that can be tested, by its source.
    """

    score: ScoreTest | None = None
    common: ScoreTest | None = None
    by_judge: Mapping[int, JudgeTest] = field(default_factory=dict)

    @property
    def p_value(self) -> float:
        """Of the score test; NaN without one."""
        return np.nan if self.score is None else self.score.p_value

    def rules_out(self, sd: float) -> bool:
        """Whether the verdicts speak against effects of a size, or nothing could.

        They do if that holds for effects that judges share by half, and for effects
        that all judges share: runs of one judge pass for judges that agree.
        """
        if self.score is None or self.common is None:
            return False
        # An effect of variance sd^2, half of it shared, has half the covariance that is
        # tested.
        return self.score.rules_out(sd**2 / 2.0) and self.common.rules_out(sd**2)


@dataclass(frozen=True, eq=False)
class JudgeSums:
    """Sums over the historical rows of a judge, at the two-step fit.

    Attributes
    ----------
    sums : SourceSums
        By local column. Columns of the span that were not fitted are left out.
    dispersion : float
        Variance of a residual in units of that of a vote.
    by_pair : ndarray of shape (3, n_items, n_items)
        Residuals, information and number of rows of each ordered pair of items.
    """

    sums: SourceSums
    dispersion: float
    by_pair: Array

    @classmethod
    def of(cls, rows: SourceRows, p: Array, dispersion: float) -> JudgeSums:
        """Sum rows with these probabilities."""
        n, at = rows.n_items, rows.left * rows.n_items + rows.right
        columns = rows.weight * (rows.y - p), rows.weight * p * (1.0 - p), rows.count
        by_pair = np.array([np.bincount(at, values, n * n) for values in columns])
        sums = rows.statistics(rows.weight, p)
        return cls(sums, dispersion, by_pair.reshape(3, n, n))

    def __add__(self, other: JudgeSums) -> JudgeSums:
        by_pair = self.by_pair + other.by_pair
        return JudgeSums(self.sums + other.sums, self.dispersion, by_pair)

    def pearson(self, error: Array, n_fitted: float) -> tuple[float, int]:
        """Chi-square over pairs and its degrees of freedom.

        Parameters
        ----------
        error : ndarray of shape (n_items, n_items)
            Covariance of people's scores, in logits of the judge.
        n_fitted : float
            Degrees of freedom that the fit took.
        """
        residual, information, n_rows = self.by_pair
        # Both orders of a pair are one pair: residuals change their sign.
        a, b = np.nonzero(np.triu(n_rows + n_rows.T))
        sums = (residual - residual.T)[a, b]
        seen = (information + information.T)[a, b]
        spread = error[a, a] + error[b, b] - 2.0 * error[a, b]
        # Noise of outcomes, and what an error of the score difference adds to the sum.
        variance = self.dispersion * seen + seen**2 * spread
        has_noise = variance > 0
        chi2 = float(np.sum(sums[has_noise] ** 2 / variance[has_noise]))
        return chi2, max(len(a) - round(n_fitted), 0)


def chi_square_tail(value: float, df: float) -> float:
    """P-value of a chi-square: one without a degree of freedom, NaN if that is NaN."""
    return 1.0 if df <= 0.0 else float(chdtrc(df, value))


def item_test(
    fit: Fit, judges: Mapping[int, JudgeSums], score_covariance: Array
) -> ItemTest:
    """Test whether verdicts deviate by model beyond score and features.

    Residuals of the historical verdicts are summed by model and set against their
    covariance, errors of people's scores included. For all judges together it is the
    score test of a variance component, half of it shared by the judges, which has power
    where many judges of few rows deviate together.

    Parameters
    ----------
    fit : Fit
        The two-step fit without item effects: a joint fit would absorb a part of them.
    judges : mapping of int to JudgeSums
        Sums over the rows of each judge at that fit, by its source.
    score_covariance : ndarray of shape (n_items, n_items)
        Covariance of people's scores, zero for items without.

    Returns
    -------
    ItemTest
    """
    by_judge: dict[int, JudgeTest] = {}
    scores, informations, slopes = [], [], []
    for source, judge in judges.items():
        # A judge that only ties has no error to test against.
        noise = judge.dispersion
        if noise < NO_DISPERSION or not judge.by_pair[1].any():
            continue
        score, information, n_fitted = _beside_fit(fit, source, judge.sums)
        slope = fit.sensitivity(source)
        # Turned round, a judge that dislikes what people like deviates alike.
        scores.append(score * (-1.0 if slope < 0.0 else 1.0) / noise)
        informations.append(information / noise)
        slopes.append(abs(slope))
        reached = slope * informations[-1]
        system = SymmetricSystem.of(
            informations[-1] + reached @ score_covariance @ reached
        )
        value = float(scores[-1] @ system.solve(scores[-1]))
        pearson = judge.pearson(slope**2 * score_covariance, n_fitted)
        by_judge[source] = JudgeTest(*pearson, value, system.rank)
    sums = np.array(scores), np.array(informations), np.array(slopes)
    return ItemTest(*_score_test(*sums, score_covariance), by_judge)


def _beside_fit(fit: Fit, source: int, sums: SourceSums) -> tuple[Array, Array, float]:
    """Sums by item, their covariance beside what was fitted, and how much that is."""
    layout, n = fit.layout, fit.layout.n_items
    # What was fitted, by local column: score difference, display order, span.
    columns = np.eye(len(sums.gram))[:, n - 1 :]
    columns[:n, 0] = fit.scores
    at = layout.span(source)
    ridge = np.append([0.0, 0.0], fit.precision.diagonal()[at])
    # At its minimum the ridge of the span balances its score.
    score = np.append((sums.score @ columns)[:2], np.zeros(at.stop - at.start))
    is_fitted = np.ones(len(score), dtype=bool)
    is_fitted[1] = layout.positions[source]
    columns, score = columns[:, is_fitted], score[is_fitted]
    # What the fitted columns take of the items'.
    fitted, cross = columns.T @ sums.gram @ columns, columns.T @ sums.gram[:, :n]
    system = SymmetricSystem.of(fitted + np.diag(ridge[is_fitted]))
    taken = system.solve(cross)
    mixed = cross.T @ taken
    information = sums.gram[:n, :n] - mixed - mixed.T + taken.T @ fitted @ taken
    by_item = sums.score[:n] - taken.T @ score
    # Of items whose information was taken whole, only rounding is left.
    lost = information.diagonal() <= RANK_TOLERANCE * sums.gram[:n, :n].diagonal()
    information[lost], information[:, lost], by_item[lost] = 0.0, 0.0, 0.0
    return by_item, information, float(np.trace(system.solve(fitted)))


def _score_test(
    scores: Array, informations: Array, slopes: Array, score_covariance: Array
) -> tuple[ScoreTest, ScoreTest]:
    """Test variance zero against ``A = (I + 11') (x) I``, and against ``11' (x) I``.

    ``scores`` are of shape (n_judges, n_items), by judge and item. The statistics are
    sums of weighted chi-squares. Judges share nothing but the errors of people's
    scores, so that no matrix is larger than the block of a judge.
    """
    if not len(scores):
        return NOTHING, NOTHING
    reached = slopes[:, None, None] * informations
    # U U' is the covariance of people's scores once the verdicts are seen, by Woodbury.
    values, vectors = np.linalg.eigh(score_covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    total = np.tensordot(slopes, reached, axes=1)
    lower = np.linalg.cholesky(np.eye(len(root)) + root.T @ total @ root)
    root = np.linalg.solve(lower, root.T).T
    scores = scores - reached @ (root @ (root.T @ (slopes @ scores)))
    by_judge, alike = float(np.sum(scores**2)), float(np.sum(scores.sum(axis=0) ** 2))
    of_half, of_all = _traces(informations, reached @ root)
    return _with_law(by_judge + alike, of_half), _with_law(alike, of_all)


def _with_law(statistic: float, traces: Array) -> ScoreTest:
    """Test by the chi-square law with the three moments of a weighted sum of them."""
    first, second, third = traces
    if not (second > 0.0 and third > 0.0):
        return NOTHING
    df = second * (second / third) ** 2
    deviation = (statistic - first) / np.sqrt(2.0 * second)
    value = max(df + deviation * np.sqrt(2.0 * df), 0.0)
    return ScoreTest(float(value), float(df), float(third / second))


def _traces(informations: Array, shared: Array) -> tuple[Array, Array]:
    """Traces of V A, (V A)^2 and (V A)^3, for the variance V of all scores.

    The second are those for what all judges share, ``11' (x) I`` in the place of A.

    V has the blocks ``C_m = D_m - F_m F_m'`` of a judge and ``-F_m F_l'`` of two. With
    E one identity by judge, ``A = I + E E'``, so that the traces are those of the
    powers of V and of the products of ``E_k = E' V^k E``.
    """
    transposed = np.swapaxes(shared, 1, 2)
    corners = informations - shared @ transposed
    inners, outers = transposed @ shared, transposed @ corners @ shared
    powers = np.zeros(3)
    # Sums over the judges so far, and over their pairs; there is no difference of large
    # numbers in what follows.
    before, outer_before, pairs = np.zeros((3, *inners.shape[1:]))
    for corner, inner, outer in zip(corners, inners, outers, strict=True):
        powers += (
            np.trace(corner),
            np.vdot(corner, corner) + 2.0 * np.vdot(before, inner),
            np.vdot(corner, corner @ corner)
            + 3.0 * (np.vdot(before, outer) + np.vdot(outer_before, inner))
            - 6.0 * np.vdot(pairs, inner),
        )
        product = before @ inner
        pairs += (product + product.T) / 2.0
        before += inner
        outer_before += outer
    # Blocks of V E, and of V^2 E.
    reached = transposed.sum(axis=0)
    once = corners - shared @ (reached - transposed)
    crossed = transposed @ once
    twice = corners @ once - shared @ (crossed.sum(axis=0) - crossed)
    e1 = once.sum(axis=0)
    e2, e3 = (
        np.tensordot(once, power, axes=([0, 1], [0, 1])) for power in (once, twice)
    )
    second, third = np.vdot(e1, e1), np.vdot(e1, e1 @ e1)
    of_all = np.array([np.trace(e1), second, third])
    added = 2.0 * np.trace(e2), 3.0 * (np.trace(e3) + np.vdot(e1, e2))
    return powers + of_all + np.array([0.0, *added]), of_all
