"""``fit_history``: a stored history of a data set that memory does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.utils import check_random_state

from skanchor._battles import HUMAN, as_frame, grouping, split_battles
from skanchor._battles.features import check_scales
from skanchor._machine import limited_threads
from skanchor._sample.row_rules import RowRules, check_weights_and_groups, treat_ties
from skanchor._sample.sample import COUNT_COLUMN, Sample, warn_of_unused_counts
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history import AnchorHistory, warn_of_raters
from skanchor.large._dataset import (
    COUNT,
    Columns,
    Part,
    group_by,
    open_dataset,
    parts_of,
)
from skanchor.large._fit import fit_rows
from skanchor.large._passes import Batch, Passes, Reader
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog, warn


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

    Without features and groups, the rows are counted by one GROUP BY, and the counts
    fitted as a table of counts is. Otherwise a sample gives the columns of the bias and
    the first fit, and a few passes over the rows the fit of all of them.

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
        Column of numbers of equal rows, which needs ``weights="frequency"`` of the
        anchor, and rows without features and groups.
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
        Its ``fold_plan_`` numbers the rows of the data set; without features and groups
        those of the different rows, sorted, each as often as it occurs.

    Raises
    ------
    BattlesError
        If the data set holds no history, its parts differ, or it changes while it is
        read; and for weights of rows with features or groups.
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
    how = {"columns": columns, "outcome": outcome, "features": features}
    how["drop_features"] = drop_features
    with WarningLog() as log:
        parts = parts_of(opened)
        group = _group_column(parts, opened.schema, dict(columns or {}), groups)
        names = Columns.of(opened.schema, sample_weight, group, **how)
        if sample_weight is not None and (group or names.features or not rules.counts):
            raise BattlesError(
                "A column of weights of a large data set holds numbers of equal rows: "
                "it needs frequency as weights, and rows without features and groups. "
                "Other weights need AnchorHistory, whose "
                "rows are in memory."
            )
        if sample_weight is None and COUNT_COLUMN in opened.schema.names:
            first_rows = opened.head(1000, columns=[COUNT_COLUMN], batch_readahead=1)
            warn_of_unused_counts(as_frame(first_rows))
        table = group_by(parts, names.keys)
        table = table.sort_by([(key, "ascending") for key in names.keys])
        cells = _in_roles(table, names, rules, human)
        if group is None and not (names.features and len(cells.X.judges)):
            history.fit_sample(cells, None, fingerprints)
        else:
            seed = check_random_state(settings.random_state).randint(1 << 31)
            folds = int(settings.cv), settings.n_repeats, int(seed)
            keys = table.select(list(names.keys))
            reader = Reader(names, keys, cells, *folds, batch_rows)
            passes = Passes(parts, settings.n_jobs, settings.verbose)
            samples = _drawn(reader, passes, sample_rows)
            with limited_threads(1):
                state, plans = fit_rows(settings, *samples, reader, passes)
            fingerprint_items = tuple((fingerprints or {}).items())
            state = replace(state, fingerprints=fingerprint_items)
            history.with_state(state, plans)
    log.issue()
    return history


def _in_roles(table: pa.Table, names: Columns, rules: RowRules, human: Any) -> Sample:
    """The different rows with their numbers, in the roles of a history."""
    number = table["number"].to_numpy().astype(np.float64)
    keys = [name for name in names.keys if name != COUNT]
    X, y = split_battles(table.select(keys), human=human)
    if COUNT in names.keys:
        counts = pc.cast(table[COUNT], pa.float64()).to_numpy()
        sample = Sample.from_battles(X, y, number * counts, None).counted()
    else:
        sample = Sample.from_battles(X, y, None, None)
        sample = replace(sample, weight=number, multiplicity=number)
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
    parts: list[Part],
    schema: pa.Schema,
    columns: Mapping[str, str],
    groups: str | None,
) -> str | None:
    """Column of the groups; warn of raters whom errors do not allow for."""
    if groups != grouping.AUTO:
        return groups
    old_names = {new: old for old, new in columns.items()}
    types: dict[str, tuple[str, int]] = {}
    for name in (grouping.RATER_COLUMN, grouping.PROMPT_COLUMN):
        column = old_names.get(name, name)
        if column in schema.names:
            values = group_by(parts, {"value": column})
            values = values.filter(pc.is_valid(values["value"]))
            if len(values) and pc.max(values["number"]).as_py() > 1:
                types[name] = column, len(values)
    if grouping.RATER_COLUMN in types:
        warn_of_raters(types[grouping.RATER_COLUMN][1])
    prompts, n_prompts = types.get(grouping.PROMPT_COLUMN, (None, 0))
    if 0 < n_prompts < grouping.FEW_GROUPS:
        grouping.warn_of_few_prompts(n_prompts)
        return None
    return prompts


# -------------------------------------------------------------------------- the sample
def sample(reader: Reader, batch: Batch, shares: Array) -> dict[str, list[Batch]]:
    """Rows of a batch that are drawn; ``shares`` are those of the rows of each cell."""
    drawn = reader.draw(batch.unit, 0) < shares[batch.cell]
    return {"rows": [batch.rows(drawn)]}


def _drawn(reader: Reader, passes: Passes, sample_rows: int) -> tuple[Sample, Sample]:
    """Rows of judges from every cell and all kinds of votes, and rows one by one.

    Each of the first stands for as many of its cell, so that what rests on cells is
    that of all rows: roles, the graph of wins, separation. The second are the same
    unless votes have groups: then all votes are there, each as it is.
    """
    cells, judge = reader.sample, reader.sample.X.judge
    number = cells.multiplicity
    n_rows = np.bincount(judge + 2, np.where(cells.counts, number, 0.0))[judge + 2]
    wanted = np.ceil(sample_rows / np.maximum(n_rows, 1.0) * number)
    wanted = np.minimum(np.maximum(wanted, 1.0), number)
    votes = np.flatnonzero((judge == -1) & cells.counts)
    wanted[votes] = number[votes] if reader.is_grouped else 0.0
    wanted[~cells.counts] = 0.0
    # Hardly ever are fewer drawn than are wanted; of more, those with least draws stay.
    most = wanted + 4.0 * np.sqrt(wanted) + 4.0 * (wanted > 0)
    shares = most / np.maximum(number, 1)
    batch = Batch.joined(passes.run(sample, reader, shares)["rows"])
    draws = pd.Series(reader.draw(batch.unit, 0)).groupby(batch.cell)
    rank = draws.rank(method="first").to_numpy()
    batch = batch.rows(rank <= wanted[batch.cell])
    none = np.zeros((len(votes), len(reader.columns.features)))
    of_votes = Batch(votes, votes, none, none)
    rows = Batch.joined([batch.rows(judge[batch.cell] >= 0), of_votes])
    # The rows of a cell stand for all of it.
    size = np.bincount(rows.cell, minlength=len(number))
    number = (number / np.maximum(size, 1))[rows.cell]
    drawn = replace(reader.sampled(rows), weight=number, multiplicity=number)
    check_scales(drawn.X.features_left, drawn.X.features_right, drawn.X.feature_names)
    if not reader.is_grouped:
        return drawn, drawn
    codes = np.unique(batch.unit, return_inverse=True)[1]
    alone = replace(reader.sampled(batch), groups=codes)
    return drawn, check_weights_and_groups(alone)
