"""Real tables: each model with votes in turn as if it were new, placed by methods."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from cases import PAPER

from skanchor import AnchorPipeline, read_battles, split_battles
from skanchor.baselines import (
    BASELINES,
    ConformalRanking,
    DirectScore,
    HumanOnly,
    JointBTL,
    Oracle,
    PerJudgeBTL,
    SoftElo,
)
from skanchor.bootstrap import Bootstrapped
from skanchor.datasets import fetch_arena, fetch_llmfao, fetch_mt_bench
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError
from skanchor.features import EmbeddingFeatures, ResponseFeatures
from skanchor.metrics import exact_insertion_rate, insertion_mae, rmse, spearman

TABLES = {"arena": fetch_arena, "mt_bench": fetch_mt_bench, "llmfao": fetch_llmfao}
TEXTS = ["prompt", "response_a", "response_b"]


def methods() -> dict[str, Any]:
    """Every method that needs neither the truth nor votes on the new model."""
    baselines = {
        name: method()
        for name, method in BASELINES.items()
        if method not in (HumanOnly, Oracle)
    }
    return {
        "AnchorPipeline": AnchorPipeline(random_state=0),
        "AnchorPipeline(item_effects=None)": AnchorPipeline(
            item_effects=None, random_state=0
        ),
        "AnchorPipeline, as in the paper": AnchorPipeline(**PAPER, random_state=0),
        **baselines,
        "PerJudgeBTL(plug_in_average=True)": PerJudgeBTL(plug_in_average=True),
        "JointBTL, 500 refits": Bootstrapped(JointBTL(), random_state=0),
        "ConformalRanking(SoftElo())": ConformalRanking(SoftElo()),
        "ConformalRanking(DirectScore())": ConformalRanking(DirectScore()),
    }


def with_features(frame: pd.DataFrame, features: str) -> pd.DataFrame:
    """The battles with a set of features, learned from texts without outcomes.

    ``style`` are the four counts that arenas control for, ``counts`` the surface
    features of the published table, ``embedding`` that of ``EmbeddingFeatures()``.
    """
    pairs = [name for name in frame if name.endswith(("_a", "_b"))]
    counts = [name for name in pairs if name not in (*TEXTS, "model_a", "model_b")]
    if features in ("none", "style", "embedding"):
        frame = frame.drop(columns=counts)
    if features == "style":
        frame = ResponseFeatures(style="arena").fit_transform(frame)
    elif features in ("embedding", "both"):
        frame = EmbeddingFeatures(random_state=0).fit_transform(frame)
    return frame.drop(columns=TEXTS, errors="ignore")


def describe(table: pd.DataFrame) -> dict[str, str]:
    """Measures of a table of :func:`skanchor.evaluation.leave_one_model_out`."""
    off = (table["true_rank"] - table["rank"]).abs()
    measures = {
        "insertion MAE": f"{insertion_mae(table.true_rank, table['rank']):.3f}",
        "exact": f"{exact_insertion_rate(table.true_rank, table['rank']):.3f}",
        "largest": f"{off.max()}",
    }
    if "score" in table and table["score"].notna().all():
        error = (table["score"] - table["true_score"]).to_numpy()
        value = rmse(table["true_score"], table["score"])
        spread = (error**2).std() / (2 * value * np.sqrt(len(error)))
        slope = np.polyfit(table["true_score"], table["score"], 1)[0]
        measures |= {
            "RMSE": f"{value:.3f} ({spread:.3f})",
            "bias": f"{error.mean():+.3f}",
            "slope": f"{slope:.2f}",
            "Spearman": f"{spearman(table['true_score'], table['score']):.3f}",
        }
    if "low" in table and table["low"].notna().all():
        width = table["high"] - table["low"]
        measures |= {
            "held": f"{table['covered'].sum()} of {len(table)}",
            "compatible": f"{table['compatible'].sum()}",
            "mean width": f"{width.mean():.3f}",
        }
    return measures


def run(name: str, changes: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Print a line for each method, and how many models the first places closer."""
    if name in TABLES:
        texts = {"with_texts": True} if name != "arena" else {}
        frame = TABLES[name](**texts).frame
    else:
        frame = read_battles(name)
    if not options.keep_ties:
        frame = frame[~frame["winner"].astype(str).str.startswith("tie")]
    frame = with_features(frame.reset_index(drop=True), options.features)
    X, y = split_battles(frame)
    votes = X.loc[X["judge"] == "human", ["model_a", "model_b"]]
    models = sorted(pd.unique(votes.to_numpy().ravel()))[:: options.every]
    all_methods, first, lines = methods(), None, {}
    for label in options.methods or all_methods:
        method = all_methods[label]
        parameters = method.get_params(deep=False)
        for key, value in changes.items():
            if key.split("__")[0] in parameters:
                method.set_params(**{key: value})
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                table = leave_one_model_out(
                    method, X, y, models=models, n_jobs=options.jobs
                )
            except BattlesError as error:
                print(f"{label}: {error}")
                continue
        lines[label] = describe(table)
        if "score" in table:
            distance = (table["score"] - table["true_score"]).abs()
            first = distance if first is None else first
            lines[label]["closer"] = str((first < distance).sum())
        seconds = (time.process_time() - start) / len(models)
        lines[label]["s a fit"] = f"{seconds:.1f}"
        print(label, lines[label], flush=True)
    print(pd.DataFrame.from_dict(lines, orient="index").fillna("").to_string())
