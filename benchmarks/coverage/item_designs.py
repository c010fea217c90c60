"""Judges that deviate from models: few or many models and judges, thin judges."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from cases import Case, Design

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
FEW: list[Cell] = [(k, 1, sd, 0.0) for k in (6, 10) for sd in (0.1, 0.15, 0.2, 0.3)]
SMALL: list[Cell] = [
    (k, 3, sd, 0.0) for k in (2, 3, 4, 6, 10) for sd in (0.0, 0.2, 0.4)
]
THIN: list[tuple[int, int, int, int | None, int]] = [
    # models, judges, historical rows, of them votes, rows of the new model
    (12, 10, 2200, 1200, 500),
    (10, 3, 1500, 900, 3000),
    (5, 5, 1500, 800, 500),
    (10, 10, 4000, None, 500),
    (10, 6, 4000, None, 500),
    (10, 3, 4000, None, 500),
    (6, 3, 4000, None, 500),
    (20, 3, 8000, None, 500),
]
"""Judges of few rows or many: where a test of item effects sees little or much."""


def deviating(seed: int, sd: float, correlation: float, **settings: Any) -> Case:
    """Draw judges that deviate from models."""
    return Case.drawn(seed, rho=0.0, item_sd=sd, item_corr=correlation, **settings)


def found_deviations(anchor: Any, case: Case) -> dict[str, float]:
    """Standard deviation of the item effects, and how often their test rejects."""
    measures = {"item p < .05": anchor.result_.diagnostics.item_p < 0.05}
    covariance = anchor.item_covariance_
    if covariance is not None and np.size(covariance):
        covariance = np.asarray(covariance)
        n, variance = len(covariance), np.diag(covariance).mean()
        measures["item sd"] = np.sqrt(variance)
        if n > 1:
            common = (covariance.sum() / n - variance) / (n - 1)
            measures["common variance"] = common
    return measures


def thin_judges(seed: int, n_judges: int, n_rows: int, is_pooled: bool) -> Case:
    """Draw judges of few rows, four in five on the twenty historical models."""
    n_new = n_judges * n_rows // 5
    case = deviating(
        seed, 0.2, 0.3, n_models=20, n_judges=n_judges,
        n_historical=2000 + 4 * n_new, n_human=2000, n_new=n_new,
    )  # fmt: skip
    if is_pooled:
        judge = case.X["judge"]
        case.X["judge"] = judge.where(judge == "human", "judges")
    return case


def runs(seed: int, n_runs: int, redrawn: float, is_flip: bool = False) -> Case:
    """Draw runs of one judge: the same verdicts but for a share of them."""
    case = deviating(
        seed, 0.4, 0.0, n_models=6, n_judges=1, n_historical=693, n_human=300, n_new=157
    )
    chance = 1.0 / (1.0 + np.exp(-case.logits))
    judged = np.flatnonzero(~case.human)
    prompts = np.arange(len(case.X))
    parts, outcomes = [case.X[case.human]], [case.y[case.human]]
    row_prompts = [prompts[case.human]]
    for run in range(n_runs):
        changed = case.rng.random(len(judged)) < redrawn
        fresh = 1 - case.y[judged]
        if not is_flip:
            fresh = (case.rng.random(len(judged)) < chance[judged]).astype(int)
        parts.append(case.X.iloc[judged].assign(judge=f"run-{run}"))
        outcomes.append(np.where(changed, fresh, case.y[judged]))
        row_prompts.append(prompts[judged])
    case.X = pd.concat(parts, ignore_index=True)
    case.X["prompt_id"] = np.concatenate(row_prompts)
    case.y = np.concatenate(outcomes)
    return case


def cells(chosen: list[Cell]) -> dict[str, Design]:
    """Designs of these cells."""
    return {
        f"{k} models, {m} judges, sd {sd}, r {r}": Design(
            "judges deviate",
            partial(
                deviating, sd=sd, correlation=r, n_models=k, n_judges=m,
                n_historical=max(4000, 400 * k),
            ),
            {"cv": 5},
            found_deviations,
        )
        for k, m, sd, r in chosen
    }  # fmt: skip


RUNS: list[tuple[str, int, float, bool]] = [
    ("one run", 1, 0.07, False),
    ("three runs", 3, 0.07, False),
    ("six runs", 6, 0.07, False),
    ("five runs, a tenth flipped", 5, 0.1, True),
]

DESIGNS: dict[str, dict[str, Design]] = {
    "items": cells(CELLS),
    "runs": {
        name: Design(
            "runs of one judge pass for judges",
            partial(runs, n_runs=n_runs, redrawn=share, is_flip=is_flip),
            {},
            found_deviations,
        )
        for name, n_runs, share, is_flip in RUNS
    }
    | {
        "six judges": Design(
            "as many rows of different judges",
            partial(
                deviating, sd=0.4, correlation=0.0, n_models=6, n_judges=6,
                n_historical=2658, n_human=300, n_new=942,
            ),
            {},
            found_deviations,
        )
    },
    "few": cells(FEW),
    "small": cells(SMALL),
    "thin": {
        f"{k} models, {m} judges, {old} and {new} rows, sd {sd}": Design(
            "judges deviate",
            partial(
                deviating, sd=sd, correlation=0.3 * (sd > 0), n_models=k, n_judges=m,
                n_historical=old, n_human=human, n_new=new,
            ),
            {"cv": 5},
            found_deviations,
        )
        for (k, m, old, human, new), sd in product(THIN, (0.0, 0.1, 0.15, 0.2, 0.3))
    },
}  # fmt: skip
