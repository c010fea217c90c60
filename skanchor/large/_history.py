"""``fit_history``: a stored history of a data set that memory does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds
from sklearn.utils import check_random_state

from skanchor._anchor import AnchorPipeline
from skanchor._battles import HUMAN, as_frame, grouping, split_table
from skanchor._battles.features import check_scales
from skanchor._crossfit.folds import FoldPlan
from skanchor._crossfit.item_effects import limited_to_inference
from skanchor._diagnostics import ItemCheck
from skanchor._row_rules import RowRules, treat_ties
from skanchor._typing import Array
from skanchor._weight_checks import check_weights_and_groups
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.history import AnchorHistory, GroupFolds, HistoryState
from skanchor.large._dataset import Cells, Columns, group_by, open_dataset, parts_of
from skanchor.large._fit import Start, fit_folds, fit_sums
from skanchor.large._rows import Batch, Passes, Reader
from skanchor.sample import (
    COUNT_COLUMN,
    Sample,
    check_weight,
    warn_of_unused_counts,
)
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
    batch_rows: int = 1 << 16,
    sample_rows: int = 20_000,
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
    settings._validate_params()
    if not isinstance(settings.cv, Integral):
        raise ValueError(
            "cv of a large history is a number of folds, to which rows are assigned as "
            f"they are read, got {settings.cv!r:.60}."
        )
    rules, opened = RowRules.of(settings), open_dataset(dataset)
    with WarningLog() as log:
        parts, sizes = parts_of(opened)
        group = _group_column(opened, dict(columns or {}), groups)
        names = Columns.of(
            opened.schema,
            sample_weight,
            group,
            columns=columns,
            outcome=outcome,
            features=features,
            drop_features=drop_features,
        )
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
            if counts and sample_weight is not None:
                read = (one.batches([sample_weight], batch_rows) for one in parts)
                sizes = [sum(pc.sum(t[0]).as_py() for t in one) for one in read]
            seed = check_random_state(settings.random_state).randint(1 << 31)
            folds = int(settings.cv), settings.n_repeats, int(seed)
            reader = Reader(names, cells, sample, counts, *folds, batch_rows)
            starts = [0, *np.cumsum(sizes[:-1], dtype=int).tolist()]
            passes = Passes(parts, starts, settings.n_jobs, settings.verbose)
            state, plans = _by_passes(settings, reader, passes, sample_rows)
            state = replace(state, fingerprints=dict(fingerprints or {}))
            history = AnchorHistory.from_state(state, anchor, fold_plan=plans)
    log.issue()
    return history


# ------------------------------------------------------------------------------- cells
def _in_roles(cells: Cells, names: Columns, rules: RowRules, human: Any) -> Sample:
    """The different rows with their numbers, in the roles of a history."""
    X, y = split_table(cells.table.select(list(names.keys)), human=human)
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
    warn(
        DataWarning(
            f"Models {unvoted[:5]} have no human row: they are no history, and their "
            "rows are left out. Place these models with the history.",
            code="models-without-votes",
            subject=unvoted,
        )
    )
    return sample.with_battles(X.relabel(X.models[votes], X.judges))


def _group_column(
    opened: ds.Dataset, columns: Mapping[str, str], groups: str | None
) -> str | None:
    """Column of the groups; warn of raters whom errors do not allow for."""
    if groups != grouping.AUTO:
        return groups
    own = {new: old for old, new in columns.items()}
    number = {}
    for name in (grouping.RATER_COLUMN, grouping.PROMPT_COLUMN):
        column = own.get(name, name)
        if column in opened.schema.names:
            found = group_by(opened, {"value": column})
            found = found.filter(pc.is_valid(found["value"]))
            repeats = len(found) and pc.max(found["number"]).as_py() > 1
            number[name] = len(found) if repeats else 0
    if number.get(grouping.RATER_COLUMN):
        warn(
            DataWarning(
                "A large history stores no sums by rater, so that its errors do not "
                f"allow for raters who may differ, whom {grouping.RATER_COLUMN!r} "
                "names. AnchorPipeline on all rows has errors by rater; "
                "groups='prompt_id' leaves raters out.",
                code="raters-ignored",
                subject=[grouping.RATER_COLUMN],
            )
        )
    n_prompts = number.get(grouping.PROMPT_COLUMN, 0)
    if 0 < n_prompts < grouping.FEW_GROUPS:
        grouping.warn_of_few_prompts(n_prompts)
        return None
    column = own.get(grouping.PROMPT_COLUMN, grouping.PROMPT_COLUMN)
    return column if n_prompts else None


# ------------------------------------------------------------------------------ passes
def sample(reader: Reader, batch: Batch, wanted: Array) -> dict[str, Batch]:
    """Rows among which are those of each cell with the smallest draws.

    ``wanted`` is the number of rows that each cell shall have.
    """
    number = reader.sample.multiplicity
    assert number is not None
    # More than are wanted are never among them, and fewer hardly ever.
    limit = (wanted + 4.0 * np.sqrt(wanted) + 4.0) / np.maximum(number, 1.0)
    limit[(wanted == 0) | ~reader.sample.counts] = 0.0
    return {"rows": batch[reader.draw(batch.unit, 0) < limit[batch.cell]]}


def _drawn(reader: Reader, passes: Passes, sample_rows: int) -> tuple[Sample, Sample]:
    """Rows of every cell, and more of judges; each stands for as many of its cell.

    All votes are there, so that what votes alone decide is that of all rows. So is what
    rests on cells: roles, the graph of wins, separation. The second sample are the same
    rows with weights of their own, where groups would be torn apart by others.
    """
    cells, is_grouped = reader.sample, reader.columns.groups is not None
    number, judge = cells.multiplicity, cells.X.judge
    assert number is not None
    n_rows = np.bincount(judge + 2, np.where(cells.counts, number, 0.0))[judge + 2]
    wanted = np.ceil(sample_rows / np.maximum(n_rows, 1.0) * number)
    wanted = np.minimum(np.maximum(wanted, 2.0), number)
    # Votes have no features in use: a cell stands for those without group or weight.
    differ = is_grouped or (reader.columns.weight is not None and not reader.counts)
    votes = np.flatnonzero((judge == -1) & cells.counts)
    wanted[votes] = number[votes] if differ else 0.0
    found = passes.run(sample, reader, wanted)["rows"]
    if not differ:
        none = np.zeros((2, len(votes), len(reader.names)))
        found = found + Batch(votes, cells.weight[votes], votes, none)
        wanted[votes] = 1.0
    order = np.lexsort((reader.draw(found.unit, 0), found.cell))
    sizes = np.bincount(found.cell, minlength=len(number))
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    found = found[order[place < wanted[found.cell[order]]]]
    # Its rows stand for the rows and for the weight of a cell.
    at = found.cell
    rows, weight = (np.bincount(at, w, len(number)) for w in (None, found.weight))
    codes = np.unique(found.unit, return_inverse=True)[1] if is_grouped else None
    alone = replace(reader.sampled(found), groups=codes)
    drawn = replace(
        alone,
        weight=found.weight * (cells.weight / np.maximum(weight, 1e-300))[at],
        multiplicity=(number / np.maximum(rows, 1))[at],
    )
    return drawn, alone if is_grouped else drawn


def _by_passes(
    settings: AnchorPipeline, reader: Reader, passes: Passes, sample_rows: int
) -> tuple[HistoryState, list[FoldPlan]]:
    """Sample, pass over the rows, and put the state of a history together."""
    drawn, alone = _drawn(reader, passes, sample_rows)
    X = drawn.X
    check_scales(X.features_left, X.features_right, X.feature_names)
    everyone, admitted = settings.admitted(check_weights_and_groups(drawn))
    del drawn
    if len(everyone.X.models) == len(admitted.X.models):
        everyone = admitted
    X, cells = admitted.X, reader.sample
    battles = cells.X.relabel(X.models, X.judges).with_columns(new_models=())
    cells = cells.with_battles(battles).in_units(admitted.unit)
    reader = replace(reader, sample=cells)
    with limited_to_inference(X, settings.item_effects):
        start = Start.of(settings, admitted, alone.in_units(admitted.unit))
        known = fit_sums(settings, start, reader, passes)
        fits, totals = fit_folds(start, known, reader, passes)
    n_splits, groups = reader.n_splits, None
    plans: list[FoldPlan] = [
        FoldPlan(one, n_splits) for one in np.concatenate(totals["plan"], axis=1)
    ]
    if fits.groups is not None:
        codes, at = np.unique(fits.groups.codes, return_inverse=True)
        fits = replace(fits, groups=replace(fits.groups, codes=at))
        groups = GroupFolds(codes, reader.folds(codes))
    chain = replace(start.full.chain, calibrator=known.fit.calibrated())
    full = replace(start.full, chain=chain)
    state = HistoryState.assembled(
        full,
        everyone,
        fits,
        totals["sums"],
        repeats=(n_splits,) * reader.n_repeats,
        items=known.items,
        check=ItemCheck.of(known.test, X.judges.tolist()),
        treatment=known.treatment,
        groups=groups,
    )
    return state, plans
