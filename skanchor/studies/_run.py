"""Draws of a study: each is a unit of work whose rows depend on nothing else."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skanchor._folds import stream_plan
from skanchor._numerics.machine import limited_threads
from skanchor.metrics import spearman
from skanchor.studies._draws import Drawn
from skanchor.studies._experiment import Experiment, library_versions, study_key
from skanchor.studies._place import place

Row = dict[str, Any]

COLUMNS = (
    "experiment", "cell", "seed", "method", "failed",
    "error", "squared_error", "covered", "width", "displaced", "exact", "order",
    "rank_covered", "rank_size", "variance", "human", "judge", "cross", "lower_bound",
    "seconds", "settings", "key", "versions",
)  # fmt: skip
"""Columns of the table of a study.

Measures are means over the new models of a draw: ``error`` of the score and its square
in logits, whether the interval covers, its width; places from the true insertion rank,
whether there are none, Spearman's correlation of the new scores with the true ones;
whether the rank set covers, its size; the variance and its parts.
"""


class Unit(NamedTuple):
    """One draw of one cell of an experiment, by their names and the seed.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import units_of
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> unit = units_of([experiment], 2)[1]
    >>> unit.cell, unit.seed
    ('200 votes', 1)
    """

    experiment: str
    cell: str
    seed: int


def units_of(
    experiments: Sequence[Experiment], replications: int | None = None
) -> list[Unit]:
    """All draws of some experiments, sorted by seed.

    Parameters
    ----------
    experiments : sequence of Experiment
        The experiments.
    replications : int, optional
        Draws of each cell; None means that of each experiment.

    Returns
    -------
    list of Unit
        An interrupted run in this order has nearly equal numbers of draws in all cells.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import units_of
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> len(units_of([experiment], 2))
    2
    """
    sizes = [replications or each.replications for each in experiments]
    return [
        Unit(each.name, cell.name, seed)
        for seed in range(max(sizes, default=0))
        for each, size in zip(experiments, sizes, strict=True)
        if seed < size
        for cell in each.cells
    ]


def run_study(
    experiments: Sequence[Experiment],
    replications: int | None = None,
    *,
    done: Collection[Unit] = (),
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Iterator[tuple[Unit, list[Row]]]:
    """Run all draws that are not done yet; yield each as soon as it is finished.

    Parameters
    ----------
    experiments : sequence of Experiment
        The experiments.
    replications : int, optional
        Draws of each cell; None means that of each experiment.
    done : collection of Unit
        Draws that are left out.
    n_jobs : int, optional
        Draws that run in parallel, as in joblib. It changes only the order of the rows.
    verbose : int, default=0
        Shows a progress bar when positive.

    Yields
    ------
    unit : Unit
        The draw.
    rows : list of dict
        Its row for every method, with the columns of the table.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import run_study
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> [(unit.seed, len(rows)) for unit, rows in run_study([experiment], 2)]
    [(0, 1), (1, 1)]
    """
    by_name = {each.name: each for each in experiments}
    finished = set(done)
    todo = [
        unit for unit in units_of(experiments, replications) if unit not in finished
    ]
    yield from stream_plan(
        _run_unit,
        [(by_name[unit.experiment], unit) for unit in todo],
        n_jobs=n_jobs,
        verbose=verbose,
        description="draws",
        ordered=False,
    )


def _run_unit(experiment: Experiment, unit: Unit) -> tuple[Unit, list[Row]]:
    """Rows of one draw."""
    cell = next(cell for cell in experiment.cells if cell.name == unit.cell)
    # One thread in every worker and without workers: sums by several threads differ in
    # their last digits.
    with limited_threads(1):
        drawn = experiment.draw(cell.settings, unit.seed)
        rows = [
            dict.fromkeys(COLUMNS)
            | unit._asdict()
            | {"method": method.name, "seconds": seconds}
            | _measured(placed, drawn)
            for method, placed, seconds in place(
                experiment.methods, drawn, experiment.n_resamples
            )
        ]
    known = {
        "settings": json.dumps(cell.settings),
        "key": study_key(experiment),
        "versions": library_versions(),
    }
    return unit, [row | known for row in rows]


def _measured(placed: pd.DataFrame | str, drawn: Drawn) -> Row:
    """Measures of what a method says of a draw; none where no limits are finite."""
    if isinstance(placed, str):
        return {"failed": placed}
    placed = placed.reindex(drawn.new_models)
    if "low" in placed:
        limits = placed[["low", "high"]].to_numpy(float)
        if not np.isfinite(limits).all():
            return {"failed": "undetermined"}
    means = _means(placed, drawn)
    return {"failed": ""} | {
        name: float(np.mean(np.asarray(values, dtype=float)))
        for name, values in means.items()
    }


def _means(placed: pd.DataFrame, drawn: Drawn) -> Mapping[str, Any]:
    """What measures are means of: arrays with an entry for each new model."""
    true, true_rank = drawn.data.truth.new_scores, drawn.true_ranks
    off = (placed["rank"] - true_rank).abs()
    found: Row = {"displaced": off, "exact": off == 0}
    if "score" in placed:
        error = placed["score"] - true
        found |= {"error": error, "squared_error": error**2}
        if len(placed) > 2:
            found["order"] = spearman(true, placed["score"])
    if "low" in placed:
        found["covered"] = (placed["low"] <= true) & (true <= placed["high"])
        found["width"] = placed["high"] - placed["low"]
    if "rank_low" in placed:
        low, high = placed["rank_low"], placed["rank_high"]
        found["rank_covered"] = (low <= true_rank) & (true_rank <= high)
        found["rank_size"] = high - low + 1
    if "variance" in placed:
        found |= {
            name: placed[name] for name in ("variance", "human", "judge", "cross")
        }
        found["lower_bound"] = drawn.lower_bounds
    return found


def study_table(rows: Iterable[Row], experiments: Sequence[Experiment]) -> pd.DataFrame:
    """Tidy table of all rows, in a fixed order.

    Parameters
    ----------
    rows : iterable of dict
        Rows of finished draws.
    experiments : sequence of Experiment
        The experiments. Rows are sorted by experiment, cell, seed and method.

    Returns
    -------
    DataFrame
        A row for each draw, cell and method.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import run_study, study_table
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> rows = [row for _, found in run_study([experiment], 2) for row in found]
    >>> table = study_table(rows, [experiment])
    >>> table[["cell", "seed", "method"]]
            cell  seed   method
    0  200 votes     0  plug-in
    1  200 votes     1  plug-in
    """
    table = pd.DataFrame(list(rows), columns=list(COLUMNS))
    texts = ["experiment", "cell", "method", "failed", "settings", "key", "versions"]
    numbers = table.columns.difference([*texts, "seed"], sort=False)
    table = table.astype(dict.fromkeys(numbers, "float64") | {"seed": "int64"})
    cells = [(each.name, cell.name) for each in experiments for cell in each.cells]
    names = [(each.name, m.name) for each in experiments for m in each.methods]
    order = pd.DataFrame(
        {
            "cell": pd.MultiIndex.from_frame(table[["experiment", "cell"]]).map(
                {name: i for i, name in enumerate(cells)}
            ),
            "seed": table["seed"].to_numpy(),
            "method": pd.MultiIndex.from_frame(table[["experiment", "method"]]).map(
                {name: i for i, name in enumerate(names)}
            ),
        }
    )
    place_of = order.sort_values(["cell", "seed", "method"], kind="stable").index
    return table.iloc[place_of].reset_index(drop=True)


def finished_rows(
    table: pd.DataFrame, experiments: Sequence[Experiment]
) -> dict[Unit, list[Row]]:
    """Rows of an earlier table by draw; refuse those of another run.

    Parameters
    ----------
    table : DataFrame
        Result of :func:`study_table`, perhaps with fewer draws.
    experiments : sequence of Experiment
        The experiments of this run.

    Returns
    -------
    dict of Unit to list of dict

    Raises
    ------
    ValueError
        If the table has rows of other experiments, settings, methods or versions, or is
        no table of a study.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.studies import Cell, Experiment, StudyMethod, draw_battles
    >>> from skanchor.studies import finished_rows, run_study, study_table
    >>> experiment = Experiment(
    ...     name="small",
    ...     title="The plug-in with few votes",
    ...     reading="",
    ...     cells=(Cell("200 votes", {"n_historical": 1000, "n_new": 200}),),
    ...     methods=(StudyMethod("plug-in", DirectScore()),),
    ...     measures=("rmse",),
    ...     draw=draw_battles,
    ... )
    >>> rows = [row for _, found in run_study([experiment], 2) for row in found]
    >>> table = study_table(rows, [experiment])
    >>> sorted(unit.seed for unit in finished_rows(table, [experiment]))
    [0, 1]
    """
    if not {"experiment", "cell", "seed", "key"} <= set(table.columns):
        raise ValueError("it is no table of a simulation study")
    keys = {each.name: study_key(each) for each in experiments}
    for name, key in table[["experiment", "key"]].drop_duplicates().to_numpy().tolist():
        if name not in keys:
            raise ValueError(f"it holds rows of the experiment {name!r}")
        if key != keys[name]:
            raise ValueError(
                f"it holds rows of {name!r} with other settings, methods or versions"
            )
    found: dict[Unit, list[Row]] = {}
    for row in table.to_dict("records"):
        unit = Unit(str(row["experiment"]), str(row["cell"]), int(row["seed"]))
        found.setdefault(unit, []).append({str(name): v for name, v in row.items()})
    return found
