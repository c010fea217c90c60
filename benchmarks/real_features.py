"""What features, embeddings and learners of the bias add on published tables.

``python benchmarks/real_features.py mt_bench`` (or ``llmfao``) leaves each model with
votes out in turn, as ``benchmarks/baselines.py table`` does, and places it by its
verdicts with several sets of features and several learners of the judges' bias.
*Closer* counts the models that the first row places closer than the row in hand.
``--every 4`` takes every fourth model alone, ``--rows`` names some rows. The embedding
is that of ``EmbeddingFeatures()``, which needs no download. It is learned once from
all texts: it never sees an outcome. Run with ``OMP_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import pandas as pd
from baselines import describe, show

from skanchor import AnchorPipeline, JudgeCalibrator, split_battles
from skanchor.bias import LinearBias
from skanchor.datasets import fetch_llmfao, fetch_mt_bench
from skanchor.evaluation import leave_one_model_out
from skanchor.features import EmbeddingFeatures, ResponseFeatures

TEXTS = ["prompt", "response_a", "response_b"]
# Name of a row: which features, and which learner of the judges' bias.
ROWS: dict[str, tuple[str, Any]] = {
    "no features": ("none", "linear"),
    "style": ("style", "linear"),
    "counts": ("counts", "linear"),
    "counts, ridge": ("counts", LinearBias(alpha=0.01)),
    "embedding": ("embedding", "linear"),
    "embedding, ridge": ("embedding", LinearBias(alpha=0.01)),
    "counts and embedding": ("both", "linear"),
    "counts and embedding, ridge": ("both", LinearBias(alpha=0.01)),
    "style, network": ("style", "network"),
    "style, boosted": ("style", "boosted"),
    "counts, network": ("counts", "network"),
    "counts, boosted": ("counts", "boosted"),
    "embedding, network": ("embedding", "network"),
}


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The battles with each set of features.

    ``style`` are the four counts that arenas control for, ``counts`` the fifteen
    surface features of the published tables.
    """
    plain = frame.drop(columns=TEXTS)
    pairs = [name for name in plain if name.endswith(("_a", "_b"))]
    counts = [name for name in pairs if not name.startswith("model_")]
    bare = frame.drop(columns=counts)
    return {
        "none": bare.drop(columns=TEXTS),
        "style": ResponseFeatures(style="arena").fit_transform(bare),
        "counts": plain,
        "embedding": EmbeddingFeatures(random_state=0).fit_transform(bare),
        "both": EmbeddingFeatures(random_state=0).fit_transform(frame),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["mt_bench", "llmfao"])
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--no-item-effects", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    fetch = fetch_mt_bench if options.table == "mt_bench" else fetch_llmfao
    known = tables(fetch(with_texts=True).frame)
    people = known["none"]["judge"] == "human"
    voted = pd.unique(known["none"][people][["model_a", "model_b"]].to_numpy().ravel())
    models = sorted(voted)[:: options.every]
    effects = {"item_effects": None} if options.no_item_effects else {}
    found, first = {}, None
    for name in options.rows:
        features, learner = ROWS[name]
        X, y = split_battles(known[features].drop(columns=TEXTS, errors="ignore"))
        calibrator = JudgeCalibrator(
            bias=learner,
            # Each pair of mt_bench stands in one order.
            position_effect="auto" if options.table == "llmfao" else False,
        )
        method = AnchorPipeline(calibrator=calibrator, random_state=0, **effects)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            left_out = leave_one_model_out(
                method, X, y, models=models, n_jobs=options.jobs
            )
        found[name] = describe(left_out)
        distance = (left_out.score - left_out.true_score).abs()
        first = distance if first is None else first
        found[name]["closer"] = str((first < distance).sum())
        found[name]["s a fit"] = f"{(time.process_time() - start) / len(models):.1f}"
        show({name: found[name]}, [])
    print()
    show(found, [])


if __name__ == "__main__":
    main()
