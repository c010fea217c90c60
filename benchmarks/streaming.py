"""A history from a Parquet file that is larger than memory, beside the bare read.

``python benchmarks/streaming.py``: rows of seven judges with twelve feature pairs, and
2 % votes, read in ten folds; each step in a process of its own, for the sake of its
peak memory and its processor time, imports included. Writes
``results/streaming.csv``. ``--rows`` says how many; 10^8 take 3.5 GB of disk. With
``--groups`` rows have prompts, three a prompt on average, anywhere in the file, and
streams that take them as groups alternate with streams that do not, ``--rounds`` times;
the results are in ``results/streaming_groups.csv``. With ``--side N`` a prompt has N
rows, one after the other; with ``--arena J`` a vote and a verdict of each of J judges
on the same two models, without features. With
``--sums`` it only times sums over rows in memory, for other features and folds; with
``--step passes PATH`` the processor time of each kind of pass in one process; with
``--distance`` how far a placement is from that of a fit in memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import dataset, parquet
from report import timed, write_rows

STEP = 1 << 18
N_MODELS, N_JUDGES, N_FEATURES = 20, 7, 12
HEADER = ("rows", "workers", "step", "rows read", "seconds", "cpu seconds", "peak MiB")


def batches(
    n_rows: int, n_prompts: int = 0, side: int = 0, arena: int = 0
) -> Iterator[pa.Table]:
    """A history in pieces: judges with sensitivity, position, bias and deviations."""
    rng, prompts = np.random.default_rng(0), np.random.default_rng(1)
    n_judges, n_features = (arena, 0) if arena else (N_JUDGES, N_FEATURES)
    scores = np.sort(rng.normal(size=N_MODELS))
    slope, shift = rng.uniform(0.6, 1.4, n_judges), rng.normal(0, 0.3, n_judges)
    bias = rng.normal(0, 0.15, (n_judges, n_features))
    deviation = rng.normal(0, 0.3, (n_judges, N_MODELS))
    models = pa.array([f"vendor/model-{k:02d}" for k in range(N_MODELS)])
    judges = pa.array([*(f"judge-{k}" for k in range(n_judges)), "human"])
    sides = pa.array(["model_a", "model_b"])

    def labels(codes: np.ndarray, names: pa.Array) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(codes.astype(np.int32), names)

    for start in range(0, n_rows, STEP):
        n = min(STEP, n_rows - start)
        left = rng.integers(0, N_MODELS, n)
        right = (left + rng.integers(1, N_MODELS, n)) % N_MODELS
        judge, human = rng.integers(0, n_judges, n), rng.random(n) < 0.02
        if arena:
            # A piece begins with a prompt, as its size is a multiple of theirs.
            prompt, source = np.divmod(np.arange(n), 1 + arena)
            left, right = left[prompt], right[prompt]
            judge, human = source % arena, source == arena
        order = rng.integers(0, 2, n) * 2 - 1
        first, second = rng.normal(size=(2, n, n_features)).round(3).astype("f4")
        delta = scores[left] - scores[right]
        logit = slope[judge] * delta + shift[judge] * order
        logit += np.einsum("ij,ij->i", first - second, bias[judge])
        logit += deviation[judge, left] - deviation[judge, right]
        logit = np.where(human, delta, logit)
        wins = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
        columns = {
            "model_a": labels(left, models),
            "model_b": labels(right, models),
            "judge": labels(np.where(human, n_judges, judge), judges),
            "winner": labels(~wins, sides),
            "shown_first": labels(order < 0, sides),
        }
        for k in range(n_features):
            columns |= {f"x{k}_a": first[:, k], f"x{k}_b": second[:, k]}
        if n_prompts:
            prompt = prompts.integers(0, n_prompts, n)
            if side:
                prompt = np.arange(start, start + n) // side
            columns["prompt_id"] = [f"prompt-{k:08d}" for k in prompt.tolist()]
        yield pa.table(columns)


def write(path: Path, n_rows: int, n_prompts: int, side: int, arena: int) -> None:
    """Write the history, a row group for each piece."""
    writer = None
    for table in batches(n_rows, n_prompts, 1 + arena if arena else side, arena):
        if writer is None:
            writer = parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def opened(path: Path, n_rows: float) -> dataset.Dataset:
    """A data set, or so many of its row groups that they have some rows."""
    found = dataset.dataset(path)
    if not np.isfinite(n_rows):
        return found
    (whole,) = found.get_fragments()
    part = whole.subset(row_group_ids=range(-(-int(n_rows) // STEP)))
    return dataset.FileSystemDataset(
        [part], found.schema, found.format, found.filesystem
    )


def read(data: dataset.Dataset) -> None:
    """Read all columns, and forget them."""
    began, n = time.perf_counter(), 0
    for batch in data.to_batches(use_threads=False):
        n += len(batch)
    told("plain read", n, time.perf_counter() - began)


def stream(
    data: dataset.Dataset,
    workers: int,
    item_effects: bool,
    checkpoint: str | None,
    groups: str | None,
) -> None:
    """Fit and keep the history."""
    from skanchor import AnchorPipeline
    from skanchor.streaming import StreamOptions, stream_history

    told("imports", 0, 0.0)
    effects = "auto" if item_effects else None
    anchor = AnchorPipeline(cv=10, item_effects=effects, random_state=0)
    began = time.perf_counter()
    found = stream_history(
        data,
        anchor,
        n_jobs=workers,
        checkpoint=checkpoint,
        options=StreamOptions(groups=groups),
    )
    for what, n_rows, seconds in found.passes:
        told(f"pass: {what}", n_rows, seconds)
    n_rows = sum(n for _, n, _ in found.passes)
    if workers > 1:
        from joblib.externals.loky import get_reusable_executor

        # What workers have used is known once they have ended.
        get_reusable_executor().shutdown(wait=True)
    told("in all", n_rows, time.perf_counter() - began)


def time_sums(n_features: int, n_folds: int, n_rows: int = 9200) -> list[float]:
    """Processor time of sums over rows of one judge: about a point, and held out."""
    from skanchor.streaming._sums import PointSums, StreamedRows, held_out_sums

    rng = np.random.default_rng(0)
    left = rng.integers(0, N_MODELS, n_rows)
    rows = StreamedRows(
        left,
        (left + 1) % N_MODELS,
        np.asfortranarray(rng.normal(size=(n_rows, 1 + n_features))),
        rng.random(n_rows),
        np.ones(n_rows),
        np.sort(rng.integers(0, n_folds, (1, n_rows))),
    )
    theta = 0.1 * rng.normal(size=(n_folds, N_MODELS + 1 + n_features))
    bends = np.zeros((N_MODELS, N_MODELS))
    jobs = (
        partial(PointSums.of, rows, theta[0], n_folds, bends),
        partial(held_out_sums, rows, theta, n_folds),
    )
    return [timed(job, 9) / n_rows * 1e6 for job in jobs]


def time_passes(data: dataset.Dataset) -> Iterator[tuple[str, float]]:
    """Processor time of each kind of pass in one process, microseconds a row."""
    from skanchor.bias import LinearBias
    from skanchor.streaming import Folds, StreamOptions, open_data
    from skanchor.streaming._pass import PassSettings, sum_about_point, sum_held_out
    from skanchor.streaming._survey import survey_parts

    opened_data, options, folds = open_data(data), StreamOptions(), Folds(10, 1, 0)
    columns = options.reading.needed(opened_data.schema())
    parts, n_rows = list(opened_data.parts()), opened_data.n_rows
    how = options.reading, folds, columns, options.batch_rows
    learner = LinearBias()
    learner.feature_map_, learner.coef_ = None, np.zeros(N_FEATURES)
    settings = PassSettings(
        *how,
        np.array([f"vendor/model-{k:02d}" for k in range(N_MODELS)], dtype=object),
        np.array([f"judge-{k}" for k in range(N_JUDGES)], dtype=object),
        tuple(f"x{k}" for k in range(N_FEATURES)),
        [learner] * N_JUDGES,
        False,
    )
    theta = [np.zeros(N_MODELS + 1 + N_FEATURES)] * N_JUDGES
    many = [np.array([own] * folds.size) for own in theta]
    bends = np.zeros((N_MODELS, N_MODELS))
    jobs = {
        "plain read": lambda: sum(map(len, data.to_batches(use_threads=False))),
        "survey": lambda: survey_parts(parts, *how, options.pilot_rows),
        "about a point": lambda: sum_about_point(parts, settings, theta, bends),
        "held out": lambda: sum_held_out(parts, settings, many),
    }
    for name, job in jobs.items():
        yield name, timed(job, 5) / n_rows * 1e6


def distance(
    n_rows: int, sample: int, n_models: int, n_features: int, historical_fit: str
) -> tuple[float, float]:
    """How far a placement by a stream is from that in memory, in standard errors."""
    from skanchor import AnchorHistory, AnchorPipeline
    from skanchor.simulation import simulate_battles
    from skanchor.streaming import StreamOptions, stream_history

    data = simulate_battles(
        n_rows,
        n_rows,
        n_models=n_models,
        n_features=n_features,
        n_judges=3,
        n_new_models=1,
        item_sd=0.3,
        random_state=0,
    )
    new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    old = data.X[~new].assign(winner=data.y[~new])
    old = old.sample(frac=1.0, random_state=0).reset_index(drop=True)
    late, y = data.X[new][:500].reset_index(drop=True), data.y[new][:500]
    asked = {"item_effects": None, "historical_fit": historical_fit, "random_state": 0}
    options = StreamOptions(pilot_rows=sample)
    found = stream_history([old], AnchorPipeline(cv=10, **asked), options=options)
    plan = found.folds.plans(len(old))[0]
    memory = AnchorHistory(AnchorPipeline(cv=plan, **asked))
    memory.fit(old.drop(columns="winner"), old["winner"])
    fold = np.random.default_rng(0).integers(0, 10, len(late))
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(10)]
    one, other = (
        known.place(late, y, cv=cv).leaderboard() for known in (memory, found.history)
    )
    other, error = other.loc[one.index], one["standard_error"]
    apart = (one["score"] - other["score"]).abs() / error
    return apart.max(), (other["standard_error"] / error - 1.0).abs().max()


def told(step: str, n_rows: int, seconds: float) -> None:
    """Say what a step has taken."""
    own, others = map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    peak = (own.ru_maxrss + others.ru_maxrss) / 1024
    print(step, n_rows, f"{seconds:.2f}", f"{cpu:.1f}", f"{peak:.0f}", sep="\t")


def main() -> None:
    """Run every step in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--no-items", action="store_true")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--side", type=int, default=0, metavar="N")
    parser.add_argument("--arena", type=int, default=0, metavar="J")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sums", action="store_true")
    parser.add_argument(
        "--distance",
        nargs=4,
        type=int,
        metavar=("ROWS", "SAMPLE", "MODELS", "FEATURES"),
    )
    parser.add_argument("--first", type=float, default=np.inf, metavar="ROWS")
    parser.add_argument("--checkpoint", metavar="PATH")
    parser.add_argument("--step", nargs=2, metavar=("STEP", "PATH"))
    given = parser.parse_args()
    if given.sums:
        for n_features, n_folds in [
            *((d, 10) for d in (0, 6, 12, 24, 48)),
            *((12, k) for k in (2, 5, 20, 50)),
        ]:
            folds, none = time_sums(n_features, n_folds)
            print(n_features, n_folds, f"{folds:.2f}", f"{none:.2f}", sep="\t")
        return
    if given.distance:
        for fit in ("joint", "two-step"):
            apart, error = distance(*given.distance, fit)
            print(*given.distance, fit, f"{apart:.1e}", f"{error:.1e}", sep="\t")
        return
    if given.step:
        step, path = given.step
        if step == "read":
            read(opened(Path(path), given.first))
        elif step == "passes":
            for name, rate in time_passes(opened(Path(path), given.first)):
                print(name, f"{rate:.3f}", sep="\t", flush=True)
        else:
            stream(
                opened(Path(path), given.first),
                given.workers[0],
                not given.no_items,
                given.checkpoint,
                "prompt_id" if given.groups else None,
            )
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in map(int, given.rows):
            path = Path(folder) / f"{n_rows}.parquet"
            n_prompts = n_rows // 3 if given.groups else 0
            write(path, n_rows, n_prompts, given.side, given.arena)
            jobs = [("read", 1, False)]
            for workers in given.workers:
                jobs += [("stream", workers, False)]
                jobs += [("stream", workers, True)] * given.groups
            for step, workers, grouped in jobs * given.rounds:
                command = [sys.executable, __file__, "--step", step, str(path)]
                command += ["--workers", str(workers)]
                command += ["--no-items"] * given.no_items + ["--groups"] * grouped
                done = subprocess.run(
                    command, check=True, capture_output=True, text=True
                )
                for line in done.stdout.splitlines():
                    what, *rest = line.split("\t")
                    what += ", with groups" * grouped
                    found.append((n_rows, workers, what, *rest))
                    print(*found[-1], sep="\t", flush=True)
            path.unlink()
    name = "streaming_groups" if given.groups else "streaming"
    if not given.side and not given.arena:
        write_rows(name, HEADER, found)


if __name__ == "__main__":
    main()
