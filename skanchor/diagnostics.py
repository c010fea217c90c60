"""Signs that an interval should not be trusted, read off a fitted chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2

from skanchor._numerics.information import local_gram
from skanchor._numerics.linalg import Columns, SymmetricSolver, covariance_factor
from skanchor.bias.protocol import last_stage
from skanchor.btl import BTLRegressor
from skanchor.comparisons import Comparisons
from skanchor.exceptions import DiagnosticWarning
from skanchor.inference import RankingResult
from skanchor.items import LEAST_DISPERSION, dispersions
from skanchor.judges import JudgeCalibrator
from skanchor.riesz import RieszDebiaser

if TYPE_CHECKING:
    from skanchor._numerics.information import JudgeBlock

__all__ = [
    "DETECTED",
    "Diagnostics",
    "ItemCheck",
    "diagnose",
    "item_effects_check",
]

Array = NDArray[np.float64]

DETECTED = 0.05
"""P-value of the item-effects check below which ``"auto"`` takes them as random."""

OVERLOOKED = 0.01
"""The same, below which intervals that leave item effects out are warned of."""

RESIDUAL_SHARE = 0.05
"""Share of a gradient that the bias functions must leave."""

SENSITIVITY_Z = 3.0
"""Sensitivity over its standard error."""

LARGEST_INFLUENCE = 0.1
"""Share of the variance that one row may carry."""

CORRECTION = 3.0
"""Size of the correction in standard errors."""

BEYOND = 0.5
"""Distance beyond the historical scores, as a share of their range."""

OUTSIDE = 0.1
"""Share of arrival rows in which one feature leaves the range of history."""

EFFECTIVE_SHARE = 0.1
"""Effective share of the historical rows after weighting them like arrivals."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What to look at before trusting an interval.

    Attributes
    ----------
    judges : DataFrame
        By judge. ``sensitivity_error`` and ``sensitivity_z``: standard error of the
        sensitivity, and the sensitivity over it (warns below 3). ``residual_share`` of
        the sensitivity's gradient that the bias functions cannot imitate (warns below
        .05). ``pearson``, ``pearson_df``, ``pearson_p``: chi-square of the verdicts
        summed by pair of historical models. ``item_chi2``, ``item_df``, ``item_p``:
        the same summed by model, which sees item effects best. ``outside_features``:
        share of arrival rows in which the worst feature lies outside the range of the
        historical rows (warns above .1). ``effective_share``, ``largest_ratio``:
        effective sample size, as a share, and largest weight of the historical rows
        when weighted towards the arrivals (warns below .1).
    models : DataFrame
        By new model. ``residual_share`` of the score's gradient (warns below .05);
        ``largest_influence``, share of the variance from one row (warns above .1);
        ``correction_z``, correction over the standard error (warns above 3 in size);
        ``outside_scores``, distance beyond the historical scores as a share of their
        range (warns above .5); ``self_judged``, share of the verdicts on the model from
        a judge of its own name (warns above 0); ``df``, degrees of freedom of the
        interval.
    deviations : DataFrame
        By judge and model, with item effects: ``deviation``, how far the judge
        overrates the model beyond score and features, and its ``standard_error``, both
        in judge logits. Empty without item effects.
    item_p : float
        P-value of the item-effects check over all judges; small when judges like or
        dislike models in ways that score and features do not explain (warns below .01
        where the intervals leave this out).
    coverage : float or None
        Share of historical models whose score, when they were left out, differed from
        their human score by less than the errors of both allow; see
        :meth:`skanchor.AnchorPipeline.check_coverage`.
    covered : float or None
        Share whose interval held the human score; falls short of the level where human
        scores are noisy.
    """

    judges: pd.DataFrame
    models: pd.DataFrame
    deviations: pd.DataFrame
    item_p: float
    coverage: float | None = None
    covered: float | None = None

    def __repr__(self) -> str:
        said = self.messages()
        lines = [f"item effects: p = {self.item_p:.3g}"]
        if self.coverage is not None:
            lines.append(
                f"coverage of the models left out: {self.coverage:.0%} (human scores "
                f"taken as exact: {self.covered:.0%})"
            )
        return "\n".join([*lines, *(said or ["no threshold is crossed"])])

    def messages(self) -> list[str]:
        """Say in words which thresholds are crossed."""
        said = []
        judges, models = self.judges, self.models
        if self.item_p < OVERLOOKED and self.deviations.empty:
            said.append(
                "Judges deviate from models in ways that score and features do not "
                f"explain (p = {self.item_p:.2g}), which these intervals leave out: "
                "they are likely too short."
            )
        for judge, row in judges[judges["sensitivity_z"] < SENSITIVITY_Z].iterrows():
            said.append(
                f"Judge {judge!r} tells models apart weakly: its sensitivity is "
                f"{row['sensitivity_z']:.2g} standard errors above zero."
            )
        for table, what in ((judges, "Judge"), (models, "New model")):
            for name, share in table["residual_share"].items():
                if share < RESIDUAL_SHARE:
                    said.append(
                        f"{what} {name!r}: the features tell models apart so well that "
                        f"only {share:.1%} of the information is left to learn it "
                        "from; use fewer features or a simpler bias."
                    )
        for judge, share in judges["outside_features"].items():
            if share > OUTSIDE:
                said.append(
                    f"Judge {judge!r}: a feature of the new models lies outside the "
                    f"range of its historical rows in {share:.0%} of the rows; its "
                    "bias is extrapolated there."
                )
        for judge, share in judges["effective_share"].items():
            if share < EFFECTIVE_SHARE:
                said.append(
                    f"Judge {judge!r}: the features of the new models are rare among "
                    f"its historical rows (effective share {share:.1%})."
                )
        for model, row in models.iterrows():
            if row["largest_influence"] > LARGEST_INFLUENCE:
                said.append(
                    f"One row carries {row['largest_influence']:.0%} of the variance "
                    f"of new model {model!r}."
                )
            if abs(row["correction_z"]) > CORRECTION:
                said.append(
                    f"The correction moves new model {model!r} by "
                    f"{row['correction_z']:+.1f} standard errors: the fitted judges do "
                    "not describe its rows."
                )
            if row["outside_scores"] > BEYOND:
                said.append(
                    f"New model {model!r} lies far beyond the historical scores "
                    f"({row['outside_scores']:.0%} of their range), where no model "
                    "shows how judges answer."
                )
            if row["self_judged"] > 0:
                said.append(
                    f"New model {model!r} gave {row['self_judged']:.0%} of the "
                    "verdicts on itself: that it may favour its own answers is not in "
                    "its interval. Leave these rows out where other judges see it."
                )
        return said

    def warnings(self) -> list[Warning]:
        """Thresholds crossed, as one warning."""
        said = self.messages()
        if not said:
            return []
        return [DiagnosticWarning(" ".join(said))]


@dataclass(frozen=True, eq=False, slots=True)
class ItemCheck:
    """Whether verdicts deviate by model beyond score and features.

    Attributes
    ----------
    judges : DataFrame
        By judge: ``pearson``, ``pearson_df``, ``pearson_p``, ``item_chi2``,
        ``item_df``, ``item_p``. NaN where a judge has no historical row, or the fit
        explains every verdict exactly, as with one that only ties.
    p_value : float
        Of the test over all judges that can be tested, one if there is none.
    """

    judges: pd.DataFrame
    p_value: float

    @property
    def detected(self) -> bool:
        """Whether ``"auto"`` takes item effects as random."""
        return self.p_value < DETECTED


def item_effects_check(
    X: Comparisons,
    y: Array,
    weight: Array,
    btl: BTLRegressor,
    judges: JudgeCalibrator,
    groups: NDArray[np.intp] | None = None,
) -> ItemCheck:
    """Test whether verdicts deviate by model beyond score and features.

    Residuals of the historical judge rows are summed by pair (Pearson's chi-square)
    and by model; the sums by model are set against their covariance, the error of the
    human scores included. Over all judges the score test of a variance component is
    taken, for deviations that are halfway shared between judges: it has power where
    many judges of few rows each deviate together.

    Parameters
    ----------
    X : Comparisons
        Rows that carry scores, sensitivities and biases, without item effects.
    y, weight : ndarray of shape (n_rows,)
        Outcomes and row weights.
    btl : BTLRegressor
        Fitted on the human rows.
    judges : JudgeCalibrator
        Fitted; what of its learners is linear in coefficients is profiled out.
    groups : ndarray of shape (n_rows,), optional
        Groups of dependent rows.

    Returns
    -------
    ItemCheck
    """
    n_models = len(X.models)
    error = np.zeros((n_models, n_models))
    place = {model: i for i, model in enumerate(X.models.tolist())}
    at = [place[model] for model in btl.models_.tolist()]
    finite = np.where(np.isfinite(btl.covariance_), btl.covariance_, 0.0)
    error[np.ix_(at, at)] = finite
    eta = X.logits()
    noise = dispersions(X, y, weight, groups, deviating=False)
    rows: dict[Any, dict[str, float]] = {}
    found: list[_Sums] = []
    for m, judge in enumerate(X.judges.tolist()):
        cut = X.by_judge(m)
        used = (weight[cut.rows] > 0) & ~X.involves_new[cut.rows]
        used &= np.isfinite(eta[cut.rows])
        row_weight = np.where(used, weight[cut.rows], 0.0)
        p = expit(np.where(used, eta[cut.rows], 0.0))
        residual = row_weight * (y[cut.rows] - p)
        curvature = row_weight * p * (1.0 - p)
        if not curvature.any():
            rows[judge] = {}
            continue
        dispersion = float(noise[m])
        if dispersion < LEAST_DISPERSION:
            # A judge that only ties, say: its verdicts have no error to test against.
            rows[judge] = {}
            continue
        assert X.sensitivities is not None and X.scores is not None
        slope = X.sensitivities[m]
        blocks = [np.where(used, X.score_differences[cut.rows], 0.0)[:, None]]
        if X.position_effects is not None:
            blocks.append(cut.order[:, None])
        ridge = np.zeros(len(blocks))
        stage = last_stage(judges.biases_[judge], cut.pairs, row_weight)
        if stage is not None:
            blocks.append(stage.columns)
            ridge = np.append(ridge, row_weight.sum() * stage.ridge)
        gram = local_gram(cut, Columns(*blocks), curvature)
        head, tail = slice(n_models), slice(n_models, None)
        # Covariance of the sums after a fit that may be shrunk.
        solver = SymmetricSolver.factorise(gram[tail, tail] + np.diag(ridge))
        taken = solver.solve(gram[tail, head])
        cross = gram[head, tail] @ taken
        seen = gram[head, head] - cross - cross.T + taken.T @ gram[tail, tail] @ taken
        n_fitted = float(np.trace(solver.solve(gram[tail, tail])))
        # Turned round, a judge that dislikes what people like deviates alike.
        sign = -1.0 if slope < 0 else 1.0
        by_model = _Sums(sign * cut.net(residual), seen, dispersion, abs(slope))
        found.append(by_model)
        rows[judge] = _pearson(
            cut.left[used], cut.right[used], residual[used], curvature[used],
            dispersion, slope**2 * error, n_models, n_fitted,
        )  # fmt: skip
        rows[judge] |= by_model.chi_square(error)
    names = ["pearson", "pearson_df", "pearson_p", "item_chi2", "item_df", "item_p"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=names)
    table = table.rename_axis("judge").astype(float)
    return ItemCheck(table, _score_test(found, error) if found else 1.0)


@dataclass(frozen=True, slots=True)
class _Sums:
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

    def chi_square(self, error: Array) -> dict[str, float]:
        """Test the sums of this judge, with ``error`` the human scores' covariance."""
        seen = self.information
        covariance = self.dispersion * seen + self.slope**2 * seen @ error @ seen
        solver = SymmetricSolver.factorise(covariance)
        chi = float(self.sums @ solver.solve(self.sums))
        return {"item_chi2": chi, "item_df": solver.rank,
                "item_p": _tail(chi, solver.rank)}  # fmt: skip


def _pearson(
    left: NDArray[np.intp],
    right: NDArray[np.intp],
    residual: Array,
    curvature: Array,
    dispersion: float,
    score_error: Array,
    n_models: int,
    n_fitted: float,
) -> dict[str, float]:
    """Pearson's chi-square over pairs, the error of the human scores included."""
    low, high = np.minimum(left, right), np.maximum(left, right)
    codes, pair = np.unique(low * n_models + high, return_inverse=True)
    sums = np.bincount(pair, np.where(left < right, residual, -residual))
    information = np.bincount(pair, curvature)
    a, b = codes // n_models, codes % n_models
    spread = score_error[a, a] + score_error[b, b] - 2.0 * score_error[a, b]
    variance = dispersion * information + information**2 * spread
    some = variance > 0
    chi = float(np.sum(sums[some] ** 2 / variance[some]))
    df = max(len(codes) - round(n_fitted), 0)
    return {"pearson": chi, "pearson_df": df, "pearson_p": _tail(chi, df)}


def _score_test(judges: Sequence[_Sums], error: Array) -> float:
    """P-value of deviations with variance zero against ``(I + 11') (x) I``.

    The statistic is a sum of weighted chi-squares; the chi-square law with its first
    three moments gives the tail. Judges share nothing but the error of the human
    scores, so that their covariance is inverted by Woodbury's identity.
    """
    n_models = len(error)
    score = np.zeros((len(judges), n_models))
    shared = np.zeros((len(judges), n_models, n_models))
    total, pull = np.zeros((n_models, n_models)), np.zeros(n_models)
    for m, one in enumerate(judges):
        share = one.slope / one.dispersion
        seen = SymmetricSolver.factorise(one.information)
        score[m] = one.information @ seen.solve(one.sums) / one.dispersion
        shared[m] = share * one.information
        total += one.slope * shared[m]
        pull += one.slope * score[m]
    root = covariance_factor(error)
    inner = np.linalg.solve(np.eye(n_models) + root.T @ total @ root, root.T)
    score -= shared @ (root @ (inner @ pull))
    # Blocks by judge, then their sum added to each: the variance times (I + 11').
    lent = shared.reshape(-1, n_models) @ root
    variance = -lent @ (inner @ shared.reshape(-1, n_models).T)
    blocks = variance.reshape(len(judges), n_models, len(judges), n_models)
    for m, one in enumerate(judges):
        blocks[m, :, m] += one.information / one.dispersion
    weighted = (blocks + blocks.sum(axis=0)).reshape(variance.shape)
    statistic = float(np.sum(score**2) + np.sum(score.sum(axis=0) ** 2))
    second = float(np.sum(weighted * weighted.T))
    if not second > 0:
        return 1.0
    df = second**3 / float(np.sum((weighted @ weighted) * weighted.T)) ** 2
    deviation = (statistic - float(np.trace(weighted))) / np.sqrt(2.0 * second)
    return _tail(df + deviation * np.sqrt(2.0 * df), df)


def _tail(chi: float, df: float) -> float:
    return float(chi2.sf(chi, df)) if df > 0 else 1.0


_OF_JUDGES = [
    "sensitivity_error",
    "sensitivity_z",
    "residual_share",
    "outside_features",
    "effective_share",
    "largest_ratio",
]


def diagnose(
    X: Comparisons,
    weight: Array,
    debiaser: RieszDebiaser,
    result: RankingResult,
    plug_in: Array,
    largest: Array,
    check: ItemCheck,
) -> Diagnostics:
    """Collect the diagnostics of one fitted chain.

    Parameters
    ----------
    X : Comparisons
        Rows that carry everything the chain learned.
    weight : ndarray of shape (n_rows,)
        Row weights.
    debiaser : RieszDebiaser
        Fitted on all rows.
    result : RankingResult
        Final scores and their covariance.
    plug_in : ndarray of shape (n_models,)
        Scores before the correction.
    largest : ndarray of shape (n_models,)
        Largest influence of a row on each score, in size.
    check : ItemCheck
        Of the item effects, on the historical rows.

    Returns
    -------
    Diagnostics
    """
    system = debiaser._system
    eta = X.logits()
    used = X.is_usable & (weight > 0) & np.isfinite(eta)
    p = expit(np.where(used, eta, 0.0))
    curvature = np.where(used, weight * p * (1.0 - p), 0.0)
    inverse_diagonal = np.sum(system.solver.root**2, axis=1)
    n_scores, n_models = system.items.shape[1], len(X.models)
    assert X.sensitivities is not None

    shown: dict[Any, dict[str, float]] = {}
    kept, total = np.zeros(n_models), np.zeros(n_models)
    human = X.by_judge(-1)
    for side in (human.left, human.right):
        both = np.bincount(side, curvature[human.rows], minlength=n_models)
        kept += both
        total += both
    for m, (judge, block) in enumerate(
        zip(X.judges.tolist(), system.blocks, strict=True)
    ):
        # A pseudo-inverse gives zero where there is no information at all.
        error = np.sqrt(inverse_diagonal[n_scores + m]) or np.inf
        slope = X.sensitivities[m]
        shown[judge] = {
            "sensitivity_error": error,
            "sensitivity_z": slope / error if error > 0 else np.nan,
        }
        if block is None:
            continue
        cut = X.by_judge(m)
        row = curvature[cut.rows]
        delta = np.where(row > 0, X.score_differences[cut.rows], 0.0)
        raw = float(row @ delta**2)
        shown[judge]["residual_share"] = _share(block, n_models, raw)
        shown[judge] |= _overlap(X, m, row > 0)
        square = slope**2
        kept += square * np.diag(block.gram)[:n_models]
        for side in (cut.left, cut.right):
            total += square * np.bincount(side, row, minlength=n_models)
    judges = pd.DataFrame.from_dict(shown, "index", columns=_OF_JUDGES)
    judges = check.judges.join(judges.rename_axis("judge")).astype(float)
    errors = result.all_standard_errors.to_numpy()
    scores = result.all_scores.to_numpy()
    old = scores[~X.is_new]
    with np.errstate(divide="ignore", invalid="ignore"):
        models = pd.DataFrame(
            {
                "residual_share": kept / total,
                "largest_influence": (largest / errors) ** 2,
                "correction_z": (scores - plug_in) / errors,
                "outside_scores": np.maximum(
                    0.0, np.maximum(scores - old.max(), old.min() - scores)
                )
                / np.ptp(old),
                "self_judged": _self_judged(X, used),
                "df": result._all[2],
            },
            index=pd.Index(X.models, name="model"),
        )[X.is_new]
    models[largest[X.is_new] == 0] = np.nan
    return Diagnostics(judges, models, _deviations(X, system), check.p_value)


def _share(block: JudgeBlock, at: int, raw: float) -> float:
    return float(block.gram[at, at] / raw) if raw > 0 else np.nan


def _self_judged(X: Comparisons, used: NDArray[np.bool_]) -> Array:
    """Share of each model's verdicts that come from a judge of the same name."""
    at = {judge: m for m, judge in enumerate(X.judges.tolist())}
    own = [
        at.get(model, -1) if isinstance(model, str) else -1
        for model in X.models.tolist()
    ]
    total, itself = np.zeros(len(own)), np.zeros(len(own))
    for m in range(len(at)):
        cut = X.by_judge(m)
        for side in (cut.left, cut.right):
            verdicts = np.bincount(side, used[cut.rows], minlength=len(own))
            total += verdicts
            itself += np.where(np.equal(own, m), verdicts, 0.0)
    return np.divide(itself, total, out=np.zeros(len(own)), where=total > 0)


def _overlap(X: Comparisons, m: int, used: NDArray[np.bool_]) -> dict[str, float]:
    """Share of arrival rows out of range, effective share, largest density ratio."""
    cut = X.by_judge(m)
    new = np.append(X.is_new, False)
    arrival = used & (new[cut.left] != new[cut.right])
    historical = used & ~new[cut.left] & ~new[cut.right]
    if not X.features_left.shape[1] or not arrival.any() or not historical.any():
        return {}
    # From the comparisons, so that no copy of the features outlives this.
    sides = (X.features_left, X.features_right)
    old, late = np.flatnonzero(historical), np.flatnonzero(arrival)
    limits = [_limits(side.take(cut.rows[old], axis=0)) for side in sides]
    (low, high), (other_low, other_high) = limits
    low, high = np.minimum(low, other_low), np.maximum(high, other_high)
    first = new[cut.left[late]][:, None]
    fresh = np.where(first, *(side.take(cut.rows[late], axis=0) for side in sides))
    outside = ((fresh < low) | (fresh > high)).mean(axis=0).max()
    # The ratio of two normal densities with one covariance: a linear discriminant.
    # Historical pairs have no direction, so that they enter in both orders.
    known, turned = (cut.pairs[rows].contrast for rows in (old, late))
    shift = np.where(first, turned, -turned).mean(axis=0)
    solver = SymmetricSolver.factorise(known.T @ known / len(known))
    tilt = known @ solver.solve(shift)
    tilt = np.concatenate([tilt, -tilt])
    ratio = np.exp(tilt - tilt.max())
    mean = ratio.mean()
    return {
        "outside_features": float(outside),
        "effective_share": float(mean**2 / np.mean(ratio**2)),
        "largest_ratio": float(1.0 / mean),
    }


def _limits(features: Array) -> tuple[Array, Array]:
    """Smallest and largest value of each column."""
    by_column = np.asfortranarray(features)
    return by_column.min(axis=0), by_column.max(axis=0)


def _deviations(X: Comparisons, system: Any) -> pd.DataFrame:
    index = pd.MultiIndex.from_product([X.judges, X.models], names=["judge", "model"])
    names = ["deviation", "standard_error"]
    if X.deviations is None or X.item_covariance is None:
        return pd.DataFrame(columns=names, index=index[:0], dtype=float)
    factor = covariance_factor(X.item_covariance)
    n_judges, n_models = X.deviations.shape
    root = system.solver.root[-n_judges * n_models :]
    root = np.einsum("mn,nir->mir", factor, root.reshape(n_judges, n_models, -1))
    error = np.sqrt(np.sum(root**2, axis=2))
    values = np.column_stack([X.deviations.ravel(), error.ravel()])
    return pd.DataFrame(values, columns=names, index=index)
