"""``fit_history``: a stored history of a data set that memory does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pyarrow.dataset as ds
from sklearn.utils import check_random_state

from skanchor._battles import HUMAN, as_frame, grouping, split_battles
from skanchor._battles.checks import DISTINCT, MANY_EQUAL
from skanchor._battles.features import check_scales
from skanchor._crossfit.folds import FoldPlan
from skanchor._diagnostics import ItemCheck
from skanchor._machine import limited_threads
from skanchor._sample.row_rules import RowRules, check_weights_and_groups, treat_ties
from skanchor._sample.sample import (
    COUNT_COLUMN,
    Sample,
    check_weight,
    warn_of_unused_counts,
)
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history import AnchorHistory, HistoryState, warn_of_raters
from skanchor.large._dataset import Cells, Columns, group_by, open_dataset, parts_of
from skanchor.large._fit import fit_folds, fit_sample, fit_sums
from skanchor.large._passes import Batch, Passes, Reader
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog, warn

MOST_MARKS = 1 << 17
"""About how many rows are looked at to see whether many are equal."""


def fit_history(
    dataset: Any,
    anchor: AnchorPipeline | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    human: Any = HUMAN,
    outcome: str = "winner",
    features: Sequence[str] | None = None,
    drop_features: Sequence[str] | None = None,
    sample_weight: str | None = None,
    groups: str | None = grouping.AUTO,
    fingerprints: Mapping[Any, str] | None = None,
    batch_rows: int = 1 << 15,
    sample_rows: int = 10_000,
) -> AnchorHistory:
    """Fit a history on a data set of any size.

    Without features, groups and weights, the rows are counted by one GROUP BY, and the
    counts fitted as a table of counts is. Otherwise a sample gives the columns of the
    bias and the first fit, and a few passes over the rows the fit of all of them.

    Parameters
    ----------
    dataset : path, list of paths, pyarrow Dataset or list of tables
        A Parquet file, a folder of such files, a list of files, a data set of pyarrow,
        or pandas, polars or pyarrow tables. All parts must have the same columns, and
        stay as they are while they are read.
    anchor : AnchorPipeline, optional
        Unfitted settings; None means ``AnchorPipeline()``. The bias must be linear in
        fixed columns, and ``cv`` a number of folds. ``n_jobs`` workers use the backend
        of ``joblib.parallel_config``; the result does not depend on them.
    columns, human, outcome, features, drop_features
        As in :func:`skanchor.split_battles`; columns are found by their exact names.
    sample_weight : str, optional
        Column of row weights, of the meaning that ``anchor.weights`` gives them.
    groups : str or None, default="auto"
        Column of the groups of dependent rows. By default ``prompt_id``, where its
        values repeat; None treats rows as independent. A group is known by a hash of
        its label, which decides its fold.
    fingerprints : mapping, optional
        Fingerprint by judge, as :func:`skanchor.judge_fingerprint` makes them.
    batch_rows : int
        Rows that each worker has in memory at a time.
    sample_rows : int
        About how many rows of each judge are sampled.

    Returns
    -------
    AnchorHistory
        Its ``fold_plan_`` numbers the rows of the data set; without features, groups
        and weights those of the different rows, sorted, each as often as it occurs.

    Raises
    ------
    BattlesError
        If the data set holds no history, its parts differ, or it changes while it is
        read.
    LearnerError
        If a bias learner is not linear in fixed columns.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.large import fit_history
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(n_models=4, random_state=0)
    >>> new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    >>> tables = [data.X.assign(winner=data.y)[~new]]
    >>> history = fit_history(tables, AnchorPipeline(cv=3, random_state=0))
    >>> history.models_.tolist()
    ['model-01', 'model-02', 'model-03', 'model-04']
    >>> history.place(data.X[new], data.y[new]).scores.index.tolist()
    ['new-model']
    """
    history = AnchorHistory(anchor)
    settings = history.settings().set_params(new_models=[])
    if not isinstance(settings.cv, Integral):
        raise ValueError(
            "cv of a large history is a number of folds, to which rows are assigned as "
            f"they are read, got {settings.cv!r:.60}."
        )
    rules, opened = RowRules.of(settings), open_dataset(dataset)
    with WarningLog() as log:
        parts = parts_of(opened)
        group = _group_column(opened, dict(columns or {}), groups)
        how = {"columns": columns, "outcome": outcome, "features": features}
        how["drop_features"] = drop_features
        names = Columns.of(opened.schema, sample_weight, group, **how)
        if sample_weight is None and COUNT_COLUMN in opened.schema.names:
            some = opened.head(1000, columns=[COUNT_COLUMN], batch_readahead=1)
            warn_of_unused_counts(as_frame(some))
        cells = Cells.count(opened, names)
        sample = _in_roles(cells, names, rules, human)
        counts = rules.counts and sample_weight is not None
        is_counted = group is None and (sample_weight is None or counts)
        if is_counted and not (names.features and len(sample.X.judges)):
            history.fit_sample(sample, None, fingerprints)
        else:
            seed = check_random_state(settings.random_state).randint(1 << 31)
            folds = int(settings.cv), settings.n_repeats, int(seed)
            reader = Reader(names, cells, sample, counts, *folds, batch_rows)
            passes = Passes(parts, settings.n_jobs, settings.verbose)
            state, plans = _by_passes(settings, reader, passes, sample_rows)
            state = replace(state, fingerprints=dict(fingerprints or {}))
            history = AnchorHistory.from_state(state, anchor, fold_plan=plans)
    log.issue()
    return history


def _in_roles(cells: Cells, names: Columns, rules: RowRules, human: Any) -> Sample:
    """The different rows with their numbers, in the roles of a history."""
    X, y = split_battles(cells.table.select(list(names.keys)), human=human)
    sample = Sample.admit(X, y, None, None)
    number = weight = cells.table["number"].to_numpy().astype(np.float64)
    if names.weight is not None:
        weight = cells.table["sum"].to_numpy().astype(np.float64)
        least = cells.table["min"].to_numpy()
        check_weight(np.where(least < 0.0, least, weight), sample.X)
        number = weight if rules.counts else number
    if (number != np.round(number)).any():
        raise BattlesError(
            "Weights that count equal rows must be whole numbers, those of column "
            f"{names.weight!r} are not."
        )
    sample = replace(sample, weight=weight, multiplicity=number)
    sample = treat_ties(sample, drop=rules.drops_ties)
    X = sample.X
    votes = X.appearances(sample.counts & X.is_human) > 0
    unvoted = X.models[(X.appearances(sample.counts) > 0) & ~votes].tolist()
    if not votes.any() or not unvoted:
        return sample
    message = (
        f"Models {unvoted[:5]} have no human row: they are no history, and their "
        "rows are left out. Place these models with the history."
    )
    warn(DataWarning(message, code="models-without-votes", subject=unvoted))
    return sample.with_battles(X.relabel(X.models[votes], X.judges))


def _group_column(
    opened: ds.Dataset, columns: Mapping[str, str], groups: str | None
) -> str | None:
    """Column of the groups; warn of raters whom errors do not allow for."""
    if groups != grouping.AUTO:
        return groups
    own = {new: old for old, new in columns.items()}
    found: dict[str, tuple[str, int]] = {}
    for name in (grouping.RATER_COLUMN, grouping.PROMPT_COLUMN):
        column = own.get(name, name)
        if column in opened.schema.names:
            values = group_by(opened, {"value": column})
            values = values.filter(pc.is_valid(values["value"]))
            if len(values) and pc.max(values["number"]).as_py() > 1:
                found[name] = column, len(values)
    if grouping.RATER_COLUMN in found:
        warn_of_raters(found[grouping.RATER_COLUMN][1])
    prompts, n_prompts = found.get(grouping.PROMPT_COLUMN, (None, 0))
    if 0 < n_prompts < grouping.FEW_GROUPS:
        grouping.warn_of_few_prompts(n_prompts)
        return None
    return prompts


# -------------------------------------------------------------------------- the sample
def sample(
    reader: Reader, batch: Batch, shares: Array, looked_at: float
) -> dict[str, Any]:
    """Rows of a batch that are drawn, and marks by which equal rows are found.

    ``shares`` are those of the rows of each cell that are drawn, and ``looked_at`` is
    the share of all marks.
    """
    cells = reader.sample
    drawn = np.flatnonzero(reader.draw(batch.unit, 0) < shares[batch.cell])
    columns = pd.DataFrame(np.hstack([batch.left, batch.right]))
    columns["unit"] = batch.unit if reader.is_grouped else 0
    mark = pd.util.hash_pandas_object(columns, index=False).to_numpy()
    is_judged = cells.counts[batch.cell] & (cells.X.judge[batch.cell] >= 0)
    some = is_judged & (mark < np.uint64(looked_at * (2**64 - 2**11)))
    marks = pd.DataFrame({"mark": mark[some], "cell": batch.cell[some]})
    return {"rows": batch[drawn], "marks": [marks]}


def _drawn(reader: Reader, passes: Passes, sample_rows: int) -> tuple[Sample, Sample]:
    """Rows of judges from every cell and all kinds of votes, and rows one by one.

    Each of the first stands for as many of its cell, so that what rests on cells is
    that of all rows: roles, the graph of wins, separation. The second are the same
    unless votes have groups or weights: then all votes are there, each as it is.
    """
    cells, counts = reader.sample, reader.counts
    number, judge = cells.multiplicity, cells.X.judge
    assert number is not None
    n_rows = np.bincount(judge + 2, np.where(cells.counts, number, 0.0))[judge + 2]
    wanted = np.ceil(sample_rows / np.maximum(n_rows, 1.0) * number)
    wanted = np.minimum(np.maximum(wanted, 1.0), number)
    differ = reader.is_grouped or (reader.columns.weight is not None and not counts)
    votes = np.flatnonzero((judge == -1) & cells.counts)
    wanted[votes] = number[votes] if differ else 0.0
    wanted[~cells.counts] = 0.0
    # Hardly ever are fewer drawn than are wanted; of more, those with least draws stay.
    most = wanted + 4.0 * np.sqrt(wanted) + 4.0 * (wanted > 0)
    looked_at = min(1.0, MOST_MARKS / max(cells.number(cells.counts), 1))
    totals = passes.run(sample, reader, most / np.maximum(number, 1), looked_at)
    marks = pd.concat(totals["marks"])
    share = marks.duplicated().mean() if len(marks) else 0.0
    # With features of few values, rows are equal by chance.
    are_apart = marks["mark"].nunique() >= DISTINCT * len(marks)
    if share > MANY_EQUAL and (reader.is_grouped or are_apart):
        message = (
            f"About {share:.0%} of the judges' rows equal an earlier one in all "
            "columns that are read. Copies make errors too short. Drop them, or "
            "give rows of one prompt the same value in a column 'prompt_id'."
        )
        warn(DataWarning(message, code="equal-rows"))
    found = totals["rows"]
    draws = pd.Series(reader.draw(found.unit, 0)).groupby(found.cell)
    rank = draws.rank(method="first").to_numpy()
    found = found[np.flatnonzero(rank <= wanted[found.cell])]
    none = np.zeros((len(votes), len(reader.columns.features)))
    rows = found[np.flatnonzero(judge[found.cell] >= 0)]
    rows += Batch(votes, cells.weight[votes], votes, none, none)
    # Its rows stand for the rows and for the weight of a cell.
    at, times = rows.cell, rows.weight if counts else np.ones(len(rows.cell))
    size, weight = (np.bincount(at, w, len(number)) for w in (times, rows.weight))
    drawn = replace(
        reader.sampled(rows),
        weight=rows.weight * (cells.weight / np.maximum(weight, 1e-300))[at],
        multiplicity=times * (number / np.maximum(size, 1))[at],
    )
    if not differ:
        return drawn, drawn
    alone = reader.sampled(found)
    if reader.is_grouped:
        codes = np.unique(found.unit, return_inverse=True)[1]
        alone = replace(alone, groups=codes)
    return drawn, check_weights_and_groups(alone)


def _by_passes(
    settings: AnchorPipeline, reader: Reader, passes: Passes, sample_rows: int
) -> tuple[HistoryState, list[FoldPlan]]:
    """Sample, pass over the rows, and put the state of a history together."""
    drawn, alone = _drawn(reader, passes, sample_rows)
    is_apart, rows = alone is not drawn, drawn.X
    check_scales(rows.features_left, rows.features_right, rows.feature_names)
    everyone, admitted = settings.admitted(drawn)
    if len(everyone.X.models) == len(admitted.X.models):
        everyone = admitted
    X = admitted.X

    def in_roles(sample: Sample) -> Sample:
        battles = sample.X.relabel(X.models, X.judges).with_columns(new_models=())
        return sample.with_battles(battles).in_units(admitted.unit)

    alone = in_roles(alone) if is_apart else admitted
    del drawn
    reader = replace(reader, sample=in_roles(reader.sample))
    with limited_threads(1):
        start = fit_sample(settings, admitted, alone)
        known = fit_sums(settings, start, reader, passes)
        fits, totals = fit_folds(known, reader, passes)
    n_splits, full = reader.n_splits, known.full
    plans = [FoldPlan(one, n_splits) for one in np.concatenate(totals["plan"], axis=1)]
    chain = replace(full.chain, calibrator=known.fit.calibrated())
    state = HistoryState.assembled(
        replace(full, chain=chain),
        everyone,
        fits,
        totals["sums"],
        ItemCheck.of(known.test, X.judges.tolist()),
        repeats=(n_splits,) * reader.n_repeats,
        items=known.items,
        treatment=known.treatment,
    )
    return state, plans
