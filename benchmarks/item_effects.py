"""Coverage of the interval with item effects, simulated and on real tables.

``python benchmarks/item_effects.py cells [--replications 1000]`` runs simulated cells,
``few`` those of one judge and few models, ``small`` those of three judges and two to
ten models; with ``--file`` their draws are kept there, and a later call goes on where
it ends. ``check`` is the test behind ``"auto"``, ``switch`` compares rules by which it
decides, and ``bound`` says how narrow intervals can be under any rule; ``votes`` what
few votes make of the covariance; ``many`` what few rows of many judges make of it, with
one correlation of all pairs and with one for each; ``pool`` whether judges of few rows
should be one; ``flexible`` the learners of the bias where features tell the models
apart;
``python benchmarks/item_effects.py table BATTLES`` leaves each model of a battles table
out in turn (ties dropped with ``--drop-ties``), or each of six random subsets of
``--subset`` models. All print one line per setting, and fit `AnchorPipeline` with its
defaults but for what the line names. "Slope" is that of the scores on the human ones.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.optimize import minimize
from scipy.stats import binom, chi2, norm
from sklearn.utils import Bunch

from skanchor import AnchorPipeline, JudgeCalibrator, _treatments, split_battles
from skanchor._diagnostics import DETECTED, RULED_OUT, item_effects_check
from skanchor.bias import BoostedBias, LinearBias, NetworkBias
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.io import read_battles
from skanchor.metrics import insertion_mae, interval_width, rmse
from skanchor.sample import Sample
from skanchor.simulation import simulate_battles

Array = np.ndarray
Cell = tuple[int, int, float, float]
CELLS: list[Cell] = [
    # models, judges, item sd, correlation between judges
    (6, 1, 0.3, 0.0),
    (6, 3, 0.0, 0.0),
    (6, 3, 0.3, 0.6),
    (6, 10, 0.6, 0.0),
    (10, 1, 0.0, 0.0),
    (10, 1, 0.3, 0.0),
    (10, 3, 0.1, 0.0),
    (10, 3, 0.3, 0.6),
    (10, 10, 0.0, 0.0),
    (10, 10, 0.3, 0.6),
    (10, 20, 0.3, 0.6),
    (10, 20, 0.6, 0.0),
    (20, 1, 0.6, 0.0),
    (20, 3, 0.0, 0.0),
    (20, 3, 0.1, 0.6),
    (20, 3, 0.6, 0.0),
    (20, 10, 0.3, 0.6),
    (60, 3, 0.0, 0.0),
    (60, 10, 0.3, 0.6),
    (60, 20, 0.1, 0.0),
]
PARTS = (
    "cells",
    "few",
    "small",
    "switch",
    "bound",
    "check",
    "votes",
    "many",
    "pool",
    "flexible",
)

LARGE = 600
"""Models times judges from which a cell gets a fifth of the replications."""


def draw(
    seed: int, n_models: int, n_judges: int, sd: float, correlation: float
) -> Bunch:
    """One draw of a cell."""
    return simulate_battles(
        n_historical=max(4000, 400 * n_models),
        n_models=n_models,
        n_judges=n_judges,
        item_sd=sd,
        item_corr=correlation,
        rho=0.0,
        random_state=seed,
    )


def replicate(
    seed: int, n_models: int, n_judges: int, sd: float, correlation: float
) -> dict[str, tuple[bool, float, float]]:
    """Whether the interval holds the score, its width, and the error, by treatment.

    Nothing where the draw is refused, as when a model never lost.
    """
    data = draw(seed, n_models, n_judges, sd, correlation)
    X = data.X[["model_a", "model_b", "judge"]]
    true = data.truth.new_scores.iloc[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            anchor = AnchorPipeline(cv=5, random_state=0).fit(X, data.y)
        except BattlesError:
            return {}
    found = {}
    for name, result in {**anchor.results_, "auto": anchor.result_}.items():
        low, high = result.conf_int().iloc[0]
        error = result.scores.iloc[0] - true
        found[name] = (bool(low <= true <= high), high - low, error)
    return found


def replicate_row(seed: int, cell: Cell) -> dict[str, Any]:
    """One draw of a cell as a row: covered, width and error of each treatment."""
    row: dict[str, Any] = {"cell": str(cell), "seed": seed}
    for name, values in replicate(seed, *cell).items():
        keys = (f"{name} covered", f"{name} width", f"{name} error")
        row |= dict(zip(keys, map(float, values), strict=True))
    return row


def run_cells(
    cells: list[Cell], replications: int, jobs: int, file: Path | None = None
) -> None:
    """Coverage, widths and RMSE of each cell, by treatment of the item effects."""
    print(
        "models judges   sd  corr  item_effects  reps  coverage  width median   rmse"
        "  band",
        flush=True,
    )
    known = pd.DataFrame(columns=["cell", "seed"])
    if file is not None and file.exists():
        known = pd.read_csv(file)
    for index, cell in enumerate(cells):
        n = replications // 5 if cell[0] * cell[1] >= LARGE else replications
        # Draws of their own, so that cells do not share their luck.
        start = 10_000 * (CELLS.index(cell) if cell in CELLS else index)
        found = known[known["cell"] == str(cell)]
        seeds = sorted(set(range(start, start + n)) - set(found["seed"]))
        fresh = pd.DataFrame(
            Parallel(jobs)(delayed(replicate_row)(seed, cell) for seed in seeds)
        )
        if len(fresh):
            known = pd.concat([known, fresh]) if len(known) else fresh
            found = known[known["cell"] == str(cell)]
            if file is not None:
                known.to_csv(file, index=False)
        for name in ("none", "random", "auto"):
            columns = [f"{name} {what}" for what in ("covered", "width", "error")]
            rows = found[columns].dropna().to_numpy(float)
            n, hits = len(rows), int(rows[:, 0].sum())
            # A cell fails only when its 99.9 % binomial interval misses the band.
            low, high = binom.ppf([0.0005, 0.9995], n, [0.93, 0.975])
            print(
                f"{cell[0]:6d} {cell[1]:6d} {cell[2]:4.2f} {cell[3]:5.1f}  {name:12}"
                f" {n:5d}  {hits / n:8.3f} {rows[:, 1].mean():6.3f}"
                f" {np.median(rows[:, 1]):6.3f}"
                f" {np.sqrt(np.mean(rows[:, 2] ** 2)):6.3f}"
                f"  {'in' if low <= hits <= high else 'OUT'}",
                flush=True,
            )


def rejects(
    seed: int, n_models: int, n_judges: int, sd: float, correlation: float
) -> bool:
    """Whether the item-effects check rejects at 5 %."""
    data = draw(seed, n_models, n_judges, sd, correlation)
    X = data.X[["model_a", "model_b", "judge"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Without a test the plug-in alone is fitted, which is all the check sees.
        anchor = AnchorPipeline(
            cv=2, debiaser="passthrough", item_effects=None, historical_fit="two-step"
        )
        anchor.fit(X, data.y)
        rows = anchor.calibrator_.transform(anchor.btl_.transform(X))
        sample = Sample.admit(rows, data.y)
        check = item_effects_check(sample, anchor.btl_, anchor.calibrator_)
        return check.p_value < 0.05


def run_check(cells: list[Cell], replications: int, jobs: int) -> None:
    """Size and power of the check behind ``"auto"``, at 5 %."""
    print("models judges   sd  corr   reps  rejected", flush=True)
    for index, cell in enumerate(cells):
        if cell[0] * cell[1] >= LARGE:
            continue
        seeds = range(10_000 * index, 10_000 * index + replications)
        found = Parallel(jobs)(delayed(rejects)(seed, *cell) for seed in seeds)
        print(
            f"{cell[0]:6d} {cell[1]:6d} {cell[2]:4.1f} {cell[3]:5.1f}"
            f"  {replications:5d}  {np.mean(found):8.3f}",
            flush=True,
        )


def learned(seed: int, votes: int) -> dict[str, float]:
    """The covariance found of one draw, and the interval with it and with the true one.

    Twenty models, three judges of 4,000 verdicts each, item sd .13 of which a third of
    the variance is common: a table like arena's.
    """
    true = 0.13**2 * (2.0 * np.eye(3) + 1.0) / 3.0
    data = simulate_battles(
        n_models=20, n_historical=12_000 + votes, n_human=votes, n_new=600, rho=0.0,
        item_sd=0.13, item_corr=1.0 / 3.0, random_state=seed,
    )  # fmt: skip
    X, row = data.X[["model_a", "model_b", "judge"]], {}
    for name, how in (("learned", "random"), ("given", true)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor = AnchorPipeline(item_effects=how, cv=3, random_state=0)
            anchor.fit(X, data.y)
        low, high = anchor.conf_int().iloc[0]
        row[f"{name} width"] = high - low
        row[f"{name} covers"] = low <= data.truth.new_scores.iloc[0] <= high
        if name == "learned":
            found = np.asarray(anchor.item_covariance_)
            row["variance"] = np.diag(found).mean()
            row["common"] = found[~np.eye(3, dtype=bool)].mean()
    return row


def run_votes(replications: int, jobs: int) -> None:
    print("votes  sd  own part  common part   learned: coverage, mean and median width")
    print("(true: .13, .106, .075)                                 given: the same")
    for votes in (250, 500, 1000, 2400, 10_000):
        rows = Parallel(jobs)(delayed(learned)(s, votes) for s in range(replications))
        table = pd.DataFrame(rows).astype(float)
        mean = table.mean()
        own, common = mean["variance"] - mean["common"], mean["common"]
        print(
            f"{votes:6d} {mean['variance'] ** 0.5:.3f} {own**0.5:.3f}"
            f" {max(common, 0.0) ** 0.5:.3f} ",
            *(
                f"  {name} {mean[f'{name} covers']:.3f}, {mean[f'{name} width']:.2f},"
                f" {table[f'{name} width'].median():.2f}"
                for name in ("learned", "given")
            ),
            flush=True,
        )


def run_many(replications: int, jobs: int) -> None:
    """Ten judges of 100 rows: coverage and variance, by kind of correlation."""
    for name in ("one correlation", "every pair"):
        rows = Parallel(jobs)(
            delayed(of_many)(seed, name == "one correlation")
            for seed in range(replications)
        )
        covered, width, variance = np.array(rows).T
        print(
            f"{name}: coverage {covered.mean():.3f}, mean width "
            f"{width[np.isfinite(width)].mean():.2f}, variance "
            f"{np.nanmean(variance):.3f} (.09)",
            flush=True,
        )


def of_many(seed: int, is_common: bool) -> tuple[bool, float, float]:
    """Whether the interval holds the score, its width, and the mean item variance."""
    data = simulate_battles(
        n_models=12, n_judges=10, n_historical=2200, n_human=1200, n_new=500, rho=0.0,
        item_sd=0.3, item_corr=0.3, random_state=seed,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    # The reading of "auto" at sizes where it learns every pair no more.
    most = 0 if is_common else _treatments.MOST_PAIRED
    with warnings.catch_warnings(), mock.patch.object(_treatments, "MOST_PAIRED", most):
        warnings.simplefilter("ignore")
        anchor = AnchorPipeline(cv=5, random_state=0).fit(X, data.y)
        result = anchor.results_["random"]
    low, high = result.conf_int().iloc[0]
    true = data.truth.new_scores.iloc[0]
    variance = np.nan
    if anchor.item_covariance_ is not None:
        variance = float(np.diag(anchor.item_covariance_).mean())
    return bool(low <= true <= high), high - low, variance


def run_pool(replications: int, jobs: int) -> None:
    """Judges of few rows: each with a sensitivity of its own, and all with one."""
    print("judges rows   (each) covered, median width, RMSE    (pooled) the same")
    for n_judges, n_rows in product((5, 20), (30, 50, 75, 100, 150, 250)):
        told = []
        for is_pooled in (False, True):
            rows = Parallel(jobs)(
                delayed(of_thin_judges)(seed, n_judges, n_rows, is_pooled)
                for seed in range(replications)
            )
            covered, width, error = np.array([row for row in rows if row]).T
            told.append(
                f"{covered.mean():.3f} {np.median(width):6.2f} "
                f"{np.sqrt(np.mean(error**2)):.3f} {len(covered):4d}"
            )
        print(f"{n_judges:6d} {n_rows:4d} ", "   ".join(told), flush=True)


def of_thin_judges(
    seed: int, n_judges: int, n_rows: int, is_pooled: bool
) -> tuple[bool, float, float] | None:
    """Whether the interval holds the score, its width, and the error.

    Four in five rows of a judge are on the twenty historical models.
    """
    n_new = n_judges * n_rows // 5
    data = simulate_battles(
        n_models=20, n_judges=n_judges, n_historical=2000 + 4 * n_new, n_human=2000,
        n_new=n_new, rho=0.0, item_sd=0.2, item_corr=0.3, random_state=seed,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    if is_pooled:
        X = X.assign(judge=X["judge"].where(X["judge"] == "human", "judges"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            anchor = AnchorPipeline(cv=5, random_state=0).fit(X, data.y)
        except BattlesError:
            return None
    low, high = anchor.conf_int().iloc[0]
    true = data.truth.new_scores.iloc[0]
    return bool(low <= true <= high), high - low, anchor.scores_.iloc[0] - true


def run_few(replications: int, jobs: int, file: Path | None) -> None:
    """One judge and few models: where a test sees least of what matters."""
    cells = [(k, 1, sd, 0.0) for k in (6, 10) for sd in (0.1, 0.15, 0.2, 0.3)]
    run_cells(cells, replications, jobs, file)


def run_small(replications: int, jobs: int, file: Path | None) -> None:
    """Three judges and few models: where the prior is much of what is known."""
    cells = [(k, 3, sd, 0.0) for k in (2, 3, 4, 6, 10) for sd in (0.0, 0.2, 0.4)]
    run_cells(cells, replications, jobs, file)


SWITCHED: dict[str, tuple[int, int, int, int | None, int | None, float, float]] = {
    # models, judges, historical rows, of them votes, rows of the new model, item sd,
    # correlation
    "ten thin judges, sd .3": (12, 10, 2200, 1200, 500, 0.3, 0.3),
    "ten thin judges, sd .15": (12, 10, 2200, 1200, 500, 0.15, 0.3),
    "ten thin judges, sd 0": (12, 10, 2200, 1200, 500, 0.0, 0.0),
    "many new rows, sd .3": (10, 3, 1500, 900, 3000, 0.3, 0.3),
    "many new rows, sd .15": (10, 3, 1500, 900, 3000, 0.15, 0.3),
    "many new rows, sd 0": (10, 3, 1500, 900, 3000, 0.0, 0.0),
    "ten models, sd 0": (10, 3, 4000, None, None, 0.0, 0.0),
    "ten models, sd .15": (10, 3, 4000, None, None, 0.15, 0.0),
    "ten models, sd .2": (10, 3, 4000, None, None, 0.2, 0.0),
    "six models, sd 0": (6, 3, 4000, None, None, 0.0, 0.0),
    "six models, sd .15": (6, 3, 4000, None, None, 0.15, 0.0),
    "six models, sd .2": (6, 3, 4000, None, None, 0.2, 0.0),
    "ten judges, sd 0": (10, 10, 4000, None, None, 0.0, 0.0),
    "ten judges, sd .15": (10, 10, 4000, None, None, 0.15, 0.3),
    "ten judges, sd .3": (10, 10, 4000, None, None, 0.3, 0.3),
    "ten thin judges, sd .3, no correlation": (12, 10, 2200, 1200, 500, 0.3, 0.0),
    "twenty models, sd 0": (20, 3, 8000, None, None, 0.0, 0.0),
    "five models, sd .2": (5, 3, 4000, None, None, 0.2, 0.0),
    "five thin judges, sd .2": (5, 5, 1500, 800, None, 0.2, 0.3),
    "five thin judges, sd 0": (5, 5, 1500, 800, None, 0.0, 0.0),
    "ten models, sd .1": (10, 3, 4000, None, None, 0.1, 0.0),
    "ten judges, sd .1": (10, 10, 4000, None, None, 0.1, 0.3),
    "ten judges, sd .2": (10, 10, 4000, None, None, 0.2, 0.3),
    "twenty models, sd .1": (20, 3, 8000, None, None, 0.1, 0.0),
    "twenty models, sd .15": (20, 3, 8000, None, None, 0.15, 0.0),
    "ten models, sd .15, correlated": (10, 3, 4000, None, None, 0.15, 0.5),
    "ten models, sd .1, correlated": (10, 3, 4000, None, None, 0.1, 0.5),
    "six judges, sd .15": (10, 6, 4000, None, None, 0.15, 0.3),
    "six judges, sd 0": (10, 6, 4000, None, None, 0.0, 0.0),
}
"""Tables on which the rule of "auto" is tried, where judges have many rows or few."""


def fitted(seed: int, design: str) -> tuple[AnchorPipeline, float] | None:
    """Fit of one draw, and the true score; None where the draw is refused."""
    n_models, n_judges, n_historical, n_human, n_new, sd, correlation = SWITCHED[design]
    given = {"n_human": n_human, "n_new": n_new}
    data = simulate_battles(
        n_models=n_models, n_judges=n_judges, n_historical=n_historical, rho=0.0,
        item_sd=sd, item_corr=correlation, random_state=seed,
        **{name: value for name, value in given.items() if value is not None},
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            anchor = AnchorPipeline(cv=5, random_state=0).fit(X, data.y)
        except BattlesError:
            return None
    return anchor, data.truth.new_scores.iloc[0]


def limits(seed: int, design: str) -> list[float]:
    """What the test says, and limits less the score by "none" and by "random"."""
    found = fitted(seed, design)
    if found is None:
        return []
    anchor, true = found
    none, random = (
        anchor.results_[name].conf_int().iloc[0] - true for name in ("none", "random")
    )
    check = anchor._inference.check
    size = 0.0 if check.test is None else check.test.p_of_size(0.3)
    return [check.p_value, size, *none, *random]


def run_switch(replications: int, jobs: int, file: Path | None) -> None:
    """Coverage and mean width by the rule that takes item effects as random."""
    rules = {
        "never": (0.0, 2.0),
        "p < .05": (0.05, 2.0),
        "p < .2": (0.2, 2.0),
        "p < .05, or not ruled out": (0.05, RULED_OUT),
        "auto": (DETECTED, RULED_OUT),
        "always": (2.0, 2.0),
    }
    print(
        "coverage, mean width and share of random, by rule:",
        ", ".join([*rules, "mixed"]),
    )
    found: dict[str, list[list[float]]] = {}
    for index, design in enumerate(SWITCHED):
        start = 5_000_000 + 100_000 * index
        found[design] = Parallel(jobs)(
            delayed(limits)(seed, design) for seed in range(start, start + replications)
        )
        p, size, *ends = np.transpose([row for row in found[design] if row])
        none, random = np.array(ends[:2]), np.array(ends[2:])
        shares = [
            np.where((p < level) | (size >= ruled_out), 1.0, 0.0)
            for level, ruled_out in rules.values()
        ]
        # Limits between both: the more of "random", the smaller the p-value.
        mixed = np.clip(1.0 - np.sqrt(p / 0.4), 0.0, 1.0)
        shares.append(np.where(size >= RULED_OUT, 1.0, mixed))
        told = []
        for share in shares:
            # Zero times an infinite limit is not a number.
            part = np.where(share > 0, share * random, 0.0)
            low, high = (1.0 - share) * none + part
            width = (high - low)[np.isfinite(high - low)].mean()
            covered = np.mean((low <= 0) & (high >= 0))
            told.append(f"{covered:.3f} {width:.3f} {share.mean():.2f}")
        print(f"{design:40} {len(p):4d} ", "   ".join(told), flush=True)
    if file is not None:
        table = pd.concat({name: pd.DataFrame(rows) for name, rows in found.items()})
        table.to_csv(file)


def evidence(seed: int, design: str) -> list[float]:
    """Law of the test, error without item effects, and variance by item variance.

    Half of the variance of the deviations is shared by the judges, as in the test.
    """
    found = fitted(seed, design)
    if found is None:
        return []
    anchor, _ = found
    test = anchor._inference.check.test
    error = float(anchor.results_["none"].standard_errors.iloc[0])
    # Judges of equally many rows count by the squares of their sensitivities.
    slopes = np.asarray(anchor.calibrator_.sensitivities_)
    weights = slopes / np.sum(slopes**2)
    return [test.df, test.scale, error, (np.sum(weights**2) + weights.sum() ** 2) / 2]


def narrowest(law: Sequence[float], least: float, coverage: float = 0.93) -> float:
    """Least mean width, if nothing deviates, of a rule that reads the test.

    A rule gives each value of the statistic a width. Its intervals hold 95 % where
    nothing deviates, and ``coverage`` whatever the size of the deviations.

    Parameters
    ----------
    law : sequence of float
        As :func:`evidence` returns it.
    least : float
        Least width that a rule may take, in widths without item effects.
    coverage : float
        Coverage at each size.

    Returns
    -------
    float
        In widths without item effects.
    """
    df, scale, error, by_item = law
    sizes = np.array([0, 0.03, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5])
    # Bins of the statistic, finer where it is large.
    tail = np.concatenate([np.linspace(1, 0.2, 9), 0.2 * np.geomspace(1, 1e-5, 16)[1:]])
    edges = np.append(chi2.isf(tail, df), np.inf)
    share = np.diff(chi2.cdf(edges / (1 + scale * sizes[:, None] ** 2 / 2), df))
    # Standard errors and half widths in half widths without item effects.
    errors = np.sqrt(1.0 + sizes[:, None] ** 2 * by_item / error**2) / norm.isf(0.025)

    def spare(widths: Array) -> Array:
        held = 2.0 * norm.cdf(widths / errors) - 1.0
        return np.sum(share * held, axis=1) - np.where(sizes > 0, coverage, 0.95)

    def slope(widths: Array) -> Array:
        return 2.0 * share * norm.pdf(widths / errors) / errors

    # Coverage is concave in the widths, so that the minimum is the only one.
    found = minimize(
        lambda widths: share[0] @ widths, np.full(len(tail), 1.5), method="SLSQP",
        jac=lambda widths: share[0], bounds=[(least, 20.0)] * len(tail),
        constraints={"type": "ineq", "fun": spare, "jac": slope},
        options={"maxiter": 1000},
    )  # fmt: skip
    assert found.success, found.message
    return float(found.fun)


def run_bound(replications: int, jobs: int) -> None:
    """How narrow any rule can be without deviations that must hold with them."""
    print("mean width, in widths without item effects: at least 1, and at least 1/2")
    for design in (name for name in SWITCHED if name.endswith("sd 0")):
        start = 5_000_000 + 100_000 * list(SWITCHED).index(design)
        rows = Parallel(jobs)(
            delayed(evidence)(seed, design)
            for seed in range(start, start + replications)
        )
        law = np.median([row for row in rows if row], axis=0)
        told = "  ".join(f"{narrowest(law, least):.3f}" for least in (1.0, 0.5))
        print(f"{design:40} {told}", flush=True)


def find_deviations(seed: int, learner: Any) -> tuple[float, float, float]:
    """Item sd found, p-value of the check, and error, beside features of the models."""
    data = simulate_battles(
        n_models=10,
        n_judges=3,
        n_historical=4000,
        rho=0.0,
        item_sd=0.4,
        random_state=seed,
    )
    X, rng = data.X[["model_a", "model_b", "judge"]].copy(), np.random.default_rng(seed)
    names = np.unique(X[["model_a", "model_b"]].to_numpy())
    for number in range(8):
        means = pd.Series(rng.normal(size=len(names)), index=names)
        for side in "ab":
            own = X[f"model_{side}"].map(means).to_numpy()
            X[f"z{number}_{side}"] = own + rng.normal(0.0, 0.7, len(X))
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(learner),
        cv=3,
        item_effects="random",
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anchor.fit(X, data.y)
    found = float(np.sqrt(np.diag(anchor.item_covariance_).mean()))
    error = anchor.scores_.iloc[0] - data.truth.new_scores.iloc[0]
    return found, anchor.result_.diagnostics.item_p, error


def run_flexible(replications: int, jobs: int) -> None:
    print("learner     item sd  rejected   rmse   (sd 0.4, eight features)", flush=True)
    for learner in (LinearBias(), BoostedBias(), NetworkBias()):
        found = np.array(
            Parallel(jobs)(
                delayed(find_deviations)(seed, learner) for seed in range(replications)
            )
        )
        print(
            f"{type(learner).__name__:12} {found[:, 0].mean():6.3f}"
            f"  {np.mean(found[:, 1] < 0.05):8.2f}"
            f" {np.sqrt(np.mean(found[:, 2] ** 2)):6.3f}",
            flush=True,
        )


def run_table(options: argparse.Namespace) -> None:
    table = read_battles(options.path)
    if options.drop_ties:
        table = table[~table["winner"].astype(str).str.startswith("tie")]
    if options.judges:
        table = table[table["judge"].isin(["human", *options.judges])]
    columns = ["model_a", "model_b", "judge", "winner"]
    for how in options.methods:
        estimator = AnchorPipeline(
            calibrator=JudgeCalibrator(
                position_effect=options.position_effect or "auto"
            ),
            historical_fit=options.historical_fit,
            item_effects=how,
            random_state=0,
        )
        found = []
        for part in subsets(table, options.subset):
            groups = None
            if options.groups is not None:
                groups = pd.factorize(part[options.groups])[0]
            X, y = split_battles(part if options.features else part[columns])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append(
                    leave_one_model_out(
                        estimator, X, y, groups=groups, n_jobs=options.jobs
                    )
                )
        left_out = pd.concat(found)
        print(
            f"{how:12} rmse {rmse(left_out.true_score, left_out.score):.3f}"
            f"  insertion MAE {insertion_mae(left_out.true_rank, left_out['rank']):.2f}"
            f" ({insertion_mae(left_out.true_rank, left_out['fitted_rank']):.2f})"
            f"  covered {left_out.covered.sum()} of {len(left_out)}"
            f"  (with the reference's own error {left_out.compatible.sum()})"
            f"  width {interval_width(left_out.low, left_out.high):.3f}"
            f"  slope {np.polyfit(left_out.true_score, left_out.score, 1)[0]:.2f}",
            flush=True,
        )


def subsets(table: pd.DataFrame, size: int | None) -> list[pd.DataFrame]:
    """The table, or the battles among models drawn at random, six times."""
    if size is None:
        return [table]
    votes = table[table["judge"] == "human"]
    names = np.unique(votes[["model_a", "model_b"]].to_numpy().astype(str))
    drawn = [
        np.random.default_rng(seed).choice(names, size, replace=False)
        for seed in range(6)
    ]
    return [
        table[table["model_a"].isin(some) & table["model_b"].isin(some)]
        for some in drawn
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=[*PARTS, "table"])
    parser.add_argument("path", nargs="?")
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument(
        "--cell", nargs=4, help="models, judges, item sd and correlation of one cell"
    )
    parser.add_argument("--file", type=Path, help="CSV of the draws of cells")
    parser.add_argument("--methods", nargs="+", default=["none", "random", "auto"])
    parser.add_argument("--drop-ties", action="store_true")
    parser.add_argument("--features", action="store_true")
    parser.add_argument("--groups", metavar="COLUMN")
    parser.add_argument("--historical-fit", default="joint")
    parser.add_argument("--position-effect", action="store_true", help="force it on")
    parser.add_argument("--judges", nargs="+")
    parser.add_argument("--subset", type=int, metavar="MODELS")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    cells = CELLS
    if options.cell:
        models, judges, sd, correlation = options.cell
        cells = [(int(models), int(judges), float(sd), float(correlation))]
    if options.what == "cells":
        run_cells(cells, options.replications, options.jobs, options.file)
    elif options.what == "few":
        run_few(options.replications, options.jobs, options.file)
    elif options.what == "small":
        run_small(options.replications, options.jobs, options.file)
    elif options.what == "switch":
        run_switch(options.replications, options.jobs, options.file)
    elif options.what == "bound":
        run_bound(options.replications, options.jobs)
    elif options.what == "check":
        run_check(cells, options.replications, options.jobs)
    elif options.what == "votes":
        run_votes(options.replications, options.jobs)
    elif options.what == "many":
        run_many(options.replications, options.jobs)
    elif options.what == "pool":
        run_pool(options.replications, options.jobs)
    elif options.what == "flexible":
        run_flexible(options.replications, options.jobs)
    elif options.path is None:
        parser.error("table needs the path of a battles table")
    else:
        run_table(options)


if __name__ == "__main__":
    main()
