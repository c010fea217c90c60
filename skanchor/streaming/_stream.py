"""``stream_history``: the way from a data set of any size to a kept history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor.chain import Stages
from skanchor.comparisons import HUMAN
from skanchor.history import KeptHistory
from skanchor.items import ItemCovariance
from skanchor.streaming._build import Builder, span_learners
from skanchor.streaming._ground import Ground
from skanchor.streaming._journal import Journal
from skanchor.streaming._parts import open_data
from skanchor.streaming._pass import PassSettings
from skanchor.streaming._reading import Folds, Reading
from skanchor.streaming._runs import Runs
from skanchor.streaming._survey import Survey, survey_parts
from skanchor.warning_log import WarningLog

__all__ = ["StreamOptions", "StreamedHistory", "stream_history"]


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is read and fitted.

    Attributes
    ----------
    columns, outcome, features, drop_features
        As in :func:`skanchor.split_battles`.
    human : label or sequence of labels
        What marks the human rows in the judge column.
    weight : str or None
        Column of row weights; None is one for each row.
    weights : {"importance", "frequency"}
        What a weight is: with ``"frequency"`` a number of equal rows.
    batch_rows : int
        Rows in memory at a time, of each worker.
    job_rows : int
        Rows of a job at least; parts of the data are never cut.
    pilot_rows : int
        Rows of each judge in the sample that the first fit is made on.
    tol : float
        Step in standard errors at which a fit is done.
    max_passes : int
        Most passes over the rows for one purpose: all rows, item effects, folds.
    """

    columns: Mapping[str, str] | None = None
    outcome: str = "winner"
    features: Sequence[str] | None = None
    drop_features: Sequence[str] | None = None
    human: Any = HUMAN
    weight: str | None = None
    weights: str = "importance"
    batch_rows: int = 1 << 16
    job_rows: int = 1 << 17
    pilot_rows: int = 2000
    tol: float = 1e-3
    max_passes: int = 12

    @property
    def reading(self) -> Reading:
        """How tables are read."""
        single = isinstance(self.human, str) or not isinstance(self.human, Sequence)
        return Reading(
            self.columns,
            (self.human,) if single else tuple(self.human),
            self.outcome,
            self.features,
            self.drop_features,
            self.weight,
            self.weights,
        )


@dataclass(frozen=True, eq=False)
class StreamedHistory:
    """A kept history, and what was read to build it.

    Attributes
    ----------
    kept : KeptHistory
        By which arrivals are placed.
    folds : Folds
        Which fold holds a row out, by the row's number.
    n_rows : int
        Rows of the stream.
    models, judges : ndarray
        Labels of those that were fitted.
    features : tuple of str
        Names of the features.
    passes : list of (str, int, float)
        What each pass over the rows was for, the rows, and the seconds.
    """

    kept: KeptHistory
    folds: Folds
    n_rows: int
    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    passes: list[tuple[str, int, float]]


def stream_history(
    data: Any,
    stages: Stages,
    *,
    cv: int = 10,
    n_repeats: int = 1,
    item_effects: Any = True,
    options: StreamOptions | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
) -> StreamedHistory:
    """Fit and keep a history whose rows do not fit into memory.

    Parameters
    ----------
    data : path, URL, pyarrow Dataset, dask DataFrame, tables or function
        As in :func:`skanchor.streaming.open_data`. It is read several times.
    stages : Stages
        Unfitted. The bias is :class:`skanchor.bias.LinearBias`.
    cv : int, default=10
        Number of folds.
    n_repeats : int, default=1
        Repeats with other folds.
    item_effects : bool or array of shape (n_judges, n_judges), default=True
        Covariance of the item effects, judges in sorted order; True learns it, False
        leaves them out.
    options : StreamOptions, optional
        How the stream is read and fitted.
    n_jobs : int, optional
        Workers, as in joblib: a backend that ``joblib.parallel_config`` names is used.
        The result does not depend on them.
    random_state : int, RandomState or None
        Seed of the folds and of the sample.
    checkpoint : path, optional
        File in which finished work is kept, and from which a run that was stopped goes
        on.
    verbose : int, default=0
        Shows a progress bar when positive.

    Returns
    -------
    StreamedHistory

    Examples
    --------
    >>> from skanchor import ArrivalScorer, BTLRegressor, JudgeCalibrator, RieszDebiaser
    >>> from skanchor.chain import Stages
    >>> from skanchor.simulation import simulate_battles
    >>> from skanchor.streaming import stream_history
    >>> data = simulate_battles(n_new_models=1, random_state=0)
    >>> new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    >>> table = data.X.assign(winner=data.y)[~new]
    >>> debiaser = RieszDebiaser("calibrator")
    >>> stages = Stages(BTLRegressor(), JudgeCalibrator(), ArrivalScorer(), debiaser)
    >>> tables = [table.iloc[start : start + 2000] for start in range(0, 8000, 2000)]
    >>> found = stream_history(tables, stages, cv=3, item_effects=False, random_state=0)
    >>> found.n_rows, len(found.kept.repeats[0])
    (8000, 3)
    """
    if cv < 2 or n_repeats < 1:
        raise ValueError(
            f"A stream needs at least two folds and one repeat, got cv={cv!r} and "
            f"n_repeats={n_repeats!r}."
        )
    options = StreamOptions() if options is None else options
    _check_served(stages)
    opened = open_data(data)
    schema = opened.schema()
    key = _key(checkpoint, stages, options, (cv, n_repeats, item_effects, schema))
    journal = Journal.open(checkpoint, random_state, key)
    folds, reading = Folds(cv, n_repeats, journal.seed), options.reading
    columns = None if schema is None else reading.needed(schema)
    runs = Runs(opened, options.job_rows, n_jobs, verbose, journal)
    with WarningLog() as log:
        survey: Survey = runs.run(
            "survey",
            survey_parts,
            (reading, folds, columns, options.batch_rows, options.pilot_rows),
            partial(Survey.add, size=options.pilot_rows),
        )
        ground = Ground.of(survey, stages, reading)
        pilot = ground.pilot(stages)
        learners = span_learners(stages, pilot)
        displayed = pilot.calibrator.has_position_effect_.reindex(ground.judges)
        alphas = [0.0 if one is None else float(one.alpha) for one in learners]
        settings = PassSettings(
            reading,
            folds,
            columns,
            options.batch_rows,
            ground.models,
            ground.judges,
            ground.features,
            displayed.to_numpy(bool),
            learners,
            any(alphas),
        )
        builder = Builder(
            stages, ground, settings, runs, alphas, options.tol, options.max_passes
        )
        kept = builder.build(pilot, _items(item_effects, ground))
    log.issue()
    return StreamedHistory(
        kept, folds, survey.n_rows, ground.models, ground.judges, ground.features,
        runs.passes,
    )  # fmt: skip


def _key(checkpoint: Any, stages: Stages, options: StreamOptions, more: Any) -> str:
    """Fingerprint of what the result depends on, but for the rows and the seed."""
    if checkpoint is None:
        return ""
    versions = [version(name) for name in ("skanchor", "numpy", "pyarrow")]
    parts = [clone(one) for one in (stages.btl, stages.calibrator, stages.debiaser)]
    *numbers, schema = more
    known = (parts, stages.historical_fit, options, numbers, str(schema), versions)
    found: str = joblib.hash(known)
    return found


def _items(item_effects: Any, ground: Ground) -> ItemCovariance | bool:
    if isinstance(item_effects, (bool, np.bool_)):
        return bool(item_effects)
    size = len(ground.judges)
    given = not isinstance(item_effects, str) and item_effects is not None
    if not given or np.shape(item_effects) != (size, size):
        raise ValueError(
            "item_effects of a stream is True, False or a covariance of the judges "
            f"{ground.judges.tolist()[:5]}, of shape {(size, size)}; got "
            f"{item_effects!r:.40}."
        )
    return ItemCovariance(np.asarray(item_effects, dtype=np.float64))


def _check_served(stages: Stages) -> None:
    """Refuse what cannot be fitted from sums."""
    if stages.debiaser is None:
        raise ValueError("A kept history needs a debiaser: its sums serve the errors.")
    if stages.debiaser.weight_bound is not None:
        raise ValueError(
            "weight_bound needs the rows, of which a stream keeps only sums."
        )
