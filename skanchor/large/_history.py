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
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skanchor._battles import HUMAN, Comparisons, as_frame, grouping, split_battles
from skanchor._machine import limited_threads
from skanchor._sample.row_rules import RowRules, check_weights_and_groups, treat_ties
from skanchor._sample.sample import COUNT_COLUMN, Sample, warn_of_unused_counts
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history import AnchorHistory, warn_of_raters
from skanchor.large._dataset import (
    COUNT,
    KEYS,
    NUMBER,
    OUTCOME,
    Batch,
    Part,
    Passes,
    Reader,
    columns_of,
    group_by,
    open_parts,
)
from skanchor.large._fit import fit_rows
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog, warn

FEWEST = 8
"""About how many rows of each kind are sampled at least, where there are so many."""


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
    rules = RowRules.of(settings)
    with WarningLog() as log:
        parts, schema = open_parts(dataset)
        old_names = {new: old for old, new in (columns or {}).items()}
        if groups == grouping.AUTO:
            groups = _group_column(parts, schema, old_names)
        read = columns_of(
            schema, sample_weight, groups, columns=columns, outcome=outcome,
            features=features, drop_features=drop_features,
        )  # fmt: skip
        keys = {name: read[name] for name in (*KEYS, OUTCOME, COUNT) if name in read}
        has_features = len(read) > len(keys) + (groups is not None)
        if sample_weight is not None and (groups or has_features or not rules.counts):
            raise BattlesError(
                "A column of weights of a large data set holds numbers of equal rows: "
                "it needs frequency as weights, and rows without features and groups. "
                "Other weights need AnchorHistory, whose rows are in memory."
            )
        if sample_weight is None and COUNT_COLUMN in schema.names:
            first_rows = parts[0].batches({COUNT_COLUMN: COUNT_COLUMN}, 1000)
            warn_of_unused_counts(as_frame(next(first_rows)))
        table = group_by(parts, keys)
        table = table.sort_by([(key, "ascending") for key in keys])
        cells, people = _in_roles(table, rules, human)
        if groups is None and not (has_features and len(cells.X.judges)):
            history.fit_sample(cells, None, fingerprints)
        else:
            seed = check_random_state(settings.random_state).randint(1 << 31)
            reader = Reader(
                read, people, cells.X.models, cells.X.judges, rules.drops_ties,
                int(settings.cv), settings.n_repeats, int(seed), batch_rows,
            )  # fmt: skip
            passes = Passes(parts, settings.n_jobs, settings.verbose)
            sampled = _drawn(reader, passes, sample_rows, table, cells, human)
            rows = settings, sampled, cells, reader, passes
            with limited_threads(1):
                history.with_state(*fit_rows(*rows, fingerprints or {}))
    log.issue()
    return history


def _in_roles(
    table: pa.Table, rules: RowRules, human: Any
) -> tuple[Sample, tuple[Any, ...]]:
    """The different rows with their numbers, in the roles of a history.

    And labels of judges with those that replace them, where people have another one.
    """
    counts = table[COUNT] if COUNT in table.column_names else 1.0
    number = pc.multiply(table[NUMBER], pc.cast(counts, pa.float64())).to_numpy()
    keys = [name for name in (*KEYS, OUTCOME) if name in table.column_names]
    X, y = split_battles(table.select(keys), human=human)
    sample = Sample.from_battles(X, y, number, None).counted()
    sample = treat_ties(sample, drop=rules.drops_ties)
    battles: Comparisons = sample.X
    people: tuple[Any, ...] = ()
    if human != HUMAN:
        labels = pa.table({"old": table["judge"], "new": X["judge"]})
        labels = labels.group_by(["old", "new"]).aggregate([])
        people = tuple(one.combine_chunks() for one in labels.columns)
    votes = battles.appearances(sample.counts & battles.is_human) > 0
    seen = battles.appearances(sample.counts) > 0
    unvoted = battles.models[seen & ~votes].tolist()
    if votes.any() and unvoted:
        message = (
            f"Models {unvoted[:5]} have no human row: they are no history, and their "
            "rows are left out. Place these models with the history."
        )
        warn(DataWarning(message, code="models-without-votes", subject=unvoted))
        battles = battles.relabel(battles.models[votes], battles.judges)
    return sample.with_battles(battles), people


def _group_column(
    parts: list[Part], schema: pa.Schema, old_names: Mapping[str, str]
) -> str | None:
    """Column of the prompts, if they repeat; warn of raters who vote repeatedly.

    ``old_names`` are those in the data set, by the names that columns are given.
    """
    n_values = {}
    for name in (grouping.RATER_COLUMN, grouping.PROMPT_COLUMN):
        column = old_names.get(name, name)
        if column in schema.names:
            values = group_by(parts, {"value": column}).filter(
                pc.is_valid(pc.field("value"))
            )
            repeats = len(values) and pc.max(values[NUMBER]).as_py() > 1
            n_values[name] = len(values) if repeats else 0
    if n_values.get(grouping.RATER_COLUMN):
        warn_of_raters(n_values[grouping.RATER_COLUMN])
    n_prompts = n_values.get(grouping.PROMPT_COLUMN, 0)
    if 0 < n_prompts < grouping.FEW_GROUPS:
        grouping.warn_of_few_prompts(n_prompts)
    prompts = old_names.get(grouping.PROMPT_COLUMN, grouping.PROMPT_COLUMN)
    return prompts if n_prompts >= grouping.FEW_GROUPS else None


# -------------------------------------------------------------------------- the sample
def sample(reader: Reader, batch: Batch, shares: pd.Series) -> dict[str, list[Any]]:
    """Rows of a batch that are drawn; ``shares`` are those of the rows of each kind."""
    of_row = shares.reindex(_kinds(batch.sample), fill_value=0.0).to_numpy()
    drawn = reader.draw(batch.unit, 0) < of_row
    return {"rows": [batch.table.filter(drawn)], "units": [batch.unit[drawn]]}


def _kinds(sample: Sample) -> NDArray[np.intp]:
    """Number of the judge and of the preferred and the other model; -1 if unused."""
    X, n = sample.X, len(sample.X.models)
    sides = np.where(sample.y < 0.5, [X.right, X.left], [X.left, X.right])
    kind = ((X.judge + 1) * n + sides[0]) * n + sides[1]
    return np.where(sample.counts, kind, -1)


def _drawn(
    reader: Reader,
    passes: Passes,
    sample_rows: int,
    table: pa.Table,
    cells: Sample,
    human: Any,
) -> Sample:
    """Verdicts of every kind, each standing for as many of its kind, and all votes.

    What rests on kinds is that of all rows: roles, the graph of wins, separation. Votes
    have numbers, or where there are groups they are there one by one.
    """
    kind, n_of_people = _kinds(cells), len(cells.X.models) ** 2
    number = pd.Series(cells.multiplicity).groupby(kind).sum().drop(-1, errors="ignore")
    of_judge = number.groupby(number.index // n_of_people).transform("sum")
    shares = np.maximum(sample_rows / of_judge, FEWEST / number)
    shares[number.index < n_of_people] = float(reader.is_grouped)
    totals = passes.run(sample, reader, shares)
    rows, units = pa.concat_tables(totals["rows"]), np.concatenate(totals["units"])
    votes = np.flatnonzero(cells.counts & cells.X.is_human & (not reader.is_grouped))
    rows = pa.concat_tables([rows, table.take(votes)], promote_options="default")
    # What is odd has been said of all rows.
    with WarningLog():
        X, y = split_battles(rows, human=human)
        drawn = Sample.from_battles(X, y, None, units if reader.is_grouped else None)
    drawn = drawn.with_battles(drawn.X.relabel(cells.X.models, cells.X.judges))
    kind = _kinds(drawn)
    per_row = number / pd.Series(kind).value_counts()
    times = np.array(per_row.reindex(kind), dtype=np.float64)
    times[len(kind) - len(votes) :] = cells.multiplicity[votes]
    drawn = replace(drawn, weight=times, multiplicity=times)
    return check_weights_and_groups(drawn) if reader.is_grouped else drawn
