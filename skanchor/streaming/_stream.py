"""``stream_history``: fits a history on a data set of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from skanchor._anchor import AnchorPipeline
from skanchor._comparisons import HUMAN
from skanchor._comparisons.grouping import AUTO
from skanchor._row_rules import RowRules
from skanchor._stages import Stages
from skanchor._stored_folds import StoredHistory
from skanchor._treatments import NAMES, limited_to_inference
from skanchor.exceptions import BattlesError
from skanchor.history import AnchorHistory, HistoryState
from skanchor.streaming._build import Builder, span_learners
from skanchor.streaming._folds_of_groups import FoldsOfGroups
from skanchor.streaming._grouping import check_memory, find_groups
from skanchor.streaming._groups import places_of
from skanchor.streaming._parts import DatasetData, open_data
from skanchor.streaming._pass import PassSettings
from skanchor.streaming._point import LocalLayout
from skanchor.streaming._reading import Folds, Reading
from skanchor.streaming._runs import Runs, release_memory
from skanchor.streaming._state import state_of_stream
from skanchor.streaming._survey import Survey, survey_parts
from skanchor.streaming._survey_result import SurveyResult
from skanchor.warning_log import WarningLog


@dataclass(frozen=True)
class StreamOptions:
    """How a stream is read and fitted.

    Attributes
    ----------
    columns, outcome, features, drop_features
        As in :func:`skanchor.split_battles`.
    human : label or sequence of labels
        Label or labels that mark human rows in the judge column.
    weight : str or None
        Column of row weights; None gives each row weight one.
    weights : {"importance", "frequency"}
        Meaning of a weight: with ``"frequency"`` it is a number of equal rows.
    drop_ties : bool
        Whether ties are left out, by weight zero.
    groups : str or None, default="auto"
        Column of the groups of dependent rows. By default ``prompt_id``, where its
        values repeat; None treats rows as independent.
    batch_rows : int
        Rows that each worker has in memory at a time.
    job_rows : int
        Smallest number of rows of a job; parts of the data are never cut.
    pilot_rows : int
        Largest number of rows of each judge in the sample of the first fit.
    max_passes : int
        Largest number of passes over the rows for one purpose: all rows, item effects,
        folds.

    Examples
    --------
    >>> from skanchor.streaming import StreamOptions
    >>> options = StreamOptions(columns={"left": "model_a"}, batch_rows=1000)
    >>> options.batch_rows
    1000
    """

    columns: Mapping[str, str] | None = None
    outcome: str = "winner"
    features: Sequence[str] | None = None
    drop_features: Sequence[str] | None = None
    human: Any = HUMAN
    weight: str | None = None
    weights: str = "importance"
    drop_ties: bool = False
    groups: str | None = AUTO
    batch_rows: int = 1 << 17
    job_rows: int = 1 << 19
    pilot_rows: int = 20_000
    max_passes: int = 12

    @property
    def reading(self) -> Reading:
        """How tables are read."""
        # ``human`` is one label or several.
        single = isinstance(self.human, str) or not isinstance(self.human, Sequence)
        return Reading(
            self.columns,
            (self.human,) if single else tuple(self.human),
            self.outcome,
            self.features,
            self.drop_features,
            self.weight,
            self.weights,
            self.drop_ties,
            None if self.groups == AUTO else self.groups,
        )


@dataclass(frozen=True, eq=False)
class StreamedHistory:
    """A fitted history, and facts about the stream it was fitted on.

    Attributes
    ----------
    state : HistoryState
        Everything that the history stores.
    anchor : AnchorPipeline or None
        The settings; None if only stages were given.
    folds : Folds
        Which fold holds a row out, by the row's number or its group.
    n_rows : int
        Number of rows of the stream.
    models, judges : ndarray
        Labels of the models and judges that were fitted.
    features : tuple of str
        Names of the features.
    passes : list of (str, int, float)
        For each pass over the rows: its purpose, number of rows and seconds.
    groups : str or None
        Column of the groups of dependent rows; None if rows are independent.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> from skanchor.streaming import stream_history
    >>> data = simulate_battles(n_models=4, random_state=0)
    >>> new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    >>> tables = [data.X.assign(winner=data.y)[~new]]
    >>> found = stream_history(tables, AnchorPipeline(cv=3, random_state=0))
    >>> found.n_rows, found.models.tolist()
    (8000, ['model-01', 'model-02', 'model-03', 'model-04'])
    """

    state: HistoryState
    anchor: AnchorPipeline | None
    folds: Folds
    n_rows: int
    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    passes: list[tuple[str, int, float]]
    groups: str | None = None

    @property
    def stored(self) -> StoredHistory:
        """Stored sums of all folds, by which arrivals are placed."""
        return self.state.history

    @property
    def history(self) -> AnchorHistory:
        """The fitted history, which places new models and can be saved to a file."""
        if self.anchor is None:
            raise ValueError(
                "stream_history was given stages, which do not say all settings of a "
                "history: give it an AnchorPipeline."
            )
        return AnchorHistory.from_state(self.state, self.anchor)


def stream_history(
    data: Any,
    anchor: AnchorPipeline | Stages | None = None,
    *,
    cv: int | None = None,
    n_repeats: int | None = None,
    item_effects: Any = "as the anchor",
    options: StreamOptions | None = None,
    fingerprints: Mapping[Any, str] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int | None = None,
) -> StreamedHistory:
    """Fit a history whose rows do not fit into memory.

    Rows of one prompt, or of one value of another column, are groups of dependent rows:
    a group's label decides its fold, and sums by group are held in memory.

    Parameters
    ----------
    data : path, URL, pyarrow Dataset, dask DataFrame, tables or function
        A Parquet file, a folder of such files, a list of files, or a URL that pyarrow
        reads; a data set of pyarrow; a dask DataFrame; a container of tables, or a
        function that returns an iterator of tables. It is read several times.
    anchor : AnchorPipeline or Stages, optional
        Unfitted settings; None means ``AnchorPipeline()``. The bias must be
        :class:`skanchor.bias.LinearBias`.
    cv : int, optional
        Number of folds; None means that of the pipeline, or ten.
    n_repeats : int, optional
        Number of repeats with other folds; None means that of the pipeline, or one.
    item_effects : str, bool or None, optional
        As in :class:`skanchor.AnchorPipeline`, whose setting is the default; True is
        ``"random"``, False is None.
    options : StreamOptions, optional
        How the stream is read and fitted.
    fingerprints : mapping, optional
        Fingerprint by judge, as :func:`skanchor.judge_fingerprint` makes them.
    n_jobs : int, optional
        Number of workers, as in joblib. The backend of ``joblib.parallel_config`` is
        used. The result does not depend on the workers.
    random_state : int, RandomState or None
        Seed of the folds and of the sample; None means that of the pipeline.
    verbose : int, optional
        Shows a progress bar when positive.

    Returns
    -------
    StreamedHistory

    Raises
    ------
    BattlesError
        If the stream holds no history, has changed between two passes, or a setting
        needs the rows in memory.
    LearnerError
        If a bias learner is not linear.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> from skanchor.streaming import stream_history
    >>> data = simulate_battles(n_new_models=1, random_state=0)
    >>> new = (data.X[["model_a", "model_b"]] == "new-model").any(axis=1)
    >>> table = data.X.assign(winner=data.y)[~new]
    >>> tables = [table.iloc[start : start + 2000] for start in range(0, 8000, 2000)]
    >>> found = stream_history(tables, AnchorPipeline(cv=3, random_state=0))
    >>> found.n_rows, len(found.stored.repeats[0])
    (8000, 3)
    >>> result = found.history.place(data.X[new], data.y[new])
    >>> result.scores.index.tolist()
    ['new-model']
    """
    options = StreamOptions() if options is None else options
    given = AnchorPipeline() if anchor is None else anchor
    settings = _Settings.of(given, options).with_values(
        cv, n_repeats, item_effects, n_jobs, random_state, verbose
    )
    options, stages = settings.options, settings.stages
    cv, n_repeats = settings.cv, settings.n_repeats
    item_effects = settings.item_effects
    if cv < 2 or n_repeats < 1:
        raise ValueError(
            f"A stream needs at least two folds and one repeat, got cv={cv!r} and "
            f"n_repeats={n_repeats!r}."
        )
    opened, reading = open_data(data), options.reading
    schema = opened.schema()
    rng = check_random_state(settings.random_state)
    folds = Folds(cv, n_repeats, int(rng.randint(np.iinfo(np.int32).max)))
    runs = Runs(opened, options.job_rows, settings.n_jobs, settings.verbose)
    with WarningLog() as log:
        if isinstance(opened, DatasetData):
            opened.check(reading.needed)
        reading = find_groups(opened, reading, options.groups, options.batch_rows)
        columns = None if schema is None else reading.needed(schema)
        # The first pass: counts of the rows, and a sample of each judge's rows.
        survey: Survey = runs.run(
            "survey",
            survey_parts,
            (reading, folds, columns, options.batch_rows, options.pilot_rows),
            partial(Survey.add, size=options.pilot_rows),
        )
        later, dealt = reading, folds
        if survey.groups is not None:
            later, dealt = _numbered_groups(survey, reading, folds, runs)
            survey = replace(survey, hashes={})
            release_memory()
        # Starting values from the sample, and the columns of the sums.
        surveyed = SurveyResult.of(survey, stages, reading)
        survey = replace(survey, group_votes=None, sample={})
        release_memory()
        pilot = surveyed.pilot(stages)
        learners = span_learners(stages, pilot)
        displayed = pilot.calibrator.has_position_effect_.reindex(surveyed.judges)
        layout = LocalLayout.of(surveyed, dealt, learners, displayed.to_numpy(bool))
        check_memory(surveyed, [own.columns.shape[1] for own in layout.samples],
                     n_repeats)  # fmt: skip
        same = PassSettings(
            replace(later, unit=surveyed.unit),
            dealt,
            None if schema is None else later.needed(schema),
            options.batch_rows,
            surveyed.models,
            surveyed.judges,
            surveyed.features,
            learners,
            any(alpha.any() for alpha in layout.alphas),
            survey.digests,
            surveyed.group_limits(survey.groups),
        )
        # All further passes.
        n_rows, few = survey.n_rows, pilot.X.without_rows()
        builder = Builder(stages, layout, same, runs, options.max_passes, pilot)
        # The builder lets go of sampled rows once they have been of use.
        del survey, surveyed, layout, pilot
        with limited_to_inference(few, item_effects):
            built = builder.build(item_effects, settings.item_prior)
        surveyed = builder.layout.surveyed
        state = state_of_stream(built, surveyed, stages, fingerprints or {}, dealt)
    log.issue()
    return StreamedHistory(
        state,
        settings.anchor,
        folds,
        n_rows,
        surveyed.models,
        surveyed.judges,
        surveyed.features,
        runs.passes,
        reading.groups,
    )


def _numbered_groups(
    survey: Survey, reading: Reading, folds: Folds, runs: Runs
) -> tuple[Reading, FoldsOfGroups]:
    """Number the groups of all parts by their hashes, which are twice as wide.

    Gives how later passes, which need no column of groups, read the rows, and the folds
    by number.
    """
    assert survey.groups is not None
    known = survey.groups.hashes
    runs.groups = {start: places_of(own, known) for start, own in survey.hashes.items()}
    return replace(reading, groups=None), FoldsOfGroups.of(folds, known)


@dataclass(frozen=True)
class _Settings:
    """Settings of a stream, from a pipeline or from stages, and from arguments."""

    anchor: AnchorPipeline | None
    stages: Stages
    options: StreamOptions
    cv: Any = 10
    n_repeats: int = 1
    item_effects: Any = "random"
    item_prior: Any = (0.3, 2.0)
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    @classmethod
    def of(cls, given: AnchorPipeline | Stages, options: StreamOptions) -> Self:
        """Settings of a pipeline, or stages with the defaults of the other settings."""
        if isinstance(given, Stages):
            _check_streamed(given)
            return cls(None, given, options)
        anchor = clone(given)
        _check_streamable(anchor)
        stages = anchor.stages()
        _check_streamed(stages)
        rules = RowRules.of(anchor)
        if rules.counts:
            options = replace(options, weights="frequency")
        if rules.drops_ties:
            options = replace(options, drop_ties=True)
        names = (
            "cv", "n_repeats", "item_effects", "item_prior", "n_jobs", "random_state",
            "verbose",
        )  # fmt: skip
        return cls(anchor, stages, options, *(getattr(anchor, name) for name in names))

    def with_values(self, *values: Any) -> Self:
        """The settings with the arguments of :func:`stream_history` that were given."""
        names = ("cv", "n_repeats", "item_effects", "n_jobs", "random_state", "verbose")
        given = {
            name: value
            for name, value in zip(names, values, strict=True)
            if value is not None or name == "item_effects"
        }
        # None is a value of item_effects, so its default is a text of its own.
        asked = given["item_effects"]
        if isinstance(asked, (bool, np.bool_)):
            given["item_effects"] = "random" if asked else None
        elif isinstance(asked, str) and asked == "as the anchor":
            del given["item_effects"]
        found = replace(self, **given)
        if not isinstance(found.cv, (int, np.integer)):
            raise ValueError(
                "cv of a stream is a number of folds, which its row numbers are dealt "
                f"to, got {found.cv!r:.60}."
            )
        if found.item_effects is not None and not (
            isinstance(found.item_effects, str) and found.item_effects in NAMES
        ):
            raise ValueError(
                "item_effects must be 'auto', 'none', 'random' or None, got "
                f"{found.item_effects!r:.60}."
            )
        if found.anchor is None:
            return found
        used = {name: getattr(found, name) for name in ("cv", "n_repeats")}
        return replace(found, anchor=found.anchor.set_params(**used))


def _check_streamable(anchor: AnchorPipeline) -> None:
    """Refuse settings of a pipeline that need the rows in memory."""
    if anchor.new_models is not None:
        raise ValueError(
            "new_models of the anchor must be None: a history has no new models."
        )
    if anchor.human_bias is not None:
        raise BattlesError(
            "human_bias needs the features of the votes, but a stream stores only "
            "counts of votes by pair of models: leave it at None, or fit AnchorHistory "
            "in "
            "memory."
        )


def _check_streamed(stages: Stages) -> None:
    """Refuse stages that cannot be fitted from sums."""
    if stages.debiaser is None:
        raise ValueError(
            "A stored history needs a debiaser, because its sums are for the standard "
            "errors."
        )
