"""``stream_history``: fits a history on a data set of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from skanchor._anchor import AnchorPipeline
from skanchor._comparisons import HUMAN
from skanchor._comparisons.grouping import AUTO
from skanchor._row_rules import RowRules
from skanchor._stages import Stages
from skanchor._treatments import limited_to_inference
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
    groups: str | None = AUTO
    batch_rows: int = 1 << 17
    job_rows: int = 1 << 19
    pilot_rows: int = 20_000
    max_passes: int = 12

    def reading(self, rules: RowRules) -> Reading:
        """How tables are read, with these rules about counts and ties."""
        # ``human`` is one label or several.
        single = isinstance(self.human, str) or not isinstance(self.human, Sequence)
        return Reading(
            self.columns,
            (self.human,) if single else tuple(self.human),
            self.outcome,
            self.features,
            self.drop_features,
            self.weight,
            "frequency" if rules.counts else "importance",
            rules.drops_ties,
            None if self.groups == AUTO else self.groups,
        )


@dataclass(frozen=True, eq=False)
class StreamedHistory:
    """A fitted history, and facts about the stream it was fitted on.

    Attributes
    ----------
    state : HistoryState
        Everything that the history stores.
    anchor : AnchorPipeline
        The settings.
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
    anchor: AnchorPipeline
    folds: Folds
    n_rows: int
    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    passes: list[tuple[str, int, float]]
    groups: str | None = None

    @property
    def history(self) -> AnchorHistory:
        """The fitted history, which places new models and can be saved to a file."""
        return AnchorHistory.from_state(self.state, self.anchor)


def stream_history(
    data: Any,
    anchor: AnchorPipeline | None = None,
    *,
    options: StreamOptions | None = None,
    fingerprints: Mapping[Any, str] | None = None,
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
    anchor : AnchorPipeline, optional
        Unfitted settings; None means ``AnchorPipeline()``. The bias must be
        :class:`skanchor.bias.LinearBias`, and ``cv`` a number of folds. ``n_jobs``
        workers use the backend of ``joblib.parallel_config``; the result does not
        depend on them.
    options : StreamOptions, optional
        How the stream is read and fitted.
    fingerprints : mapping, optional
        Fingerprint by judge, as :func:`skanchor.judge_fingerprint` makes them.

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
    >>> found.n_rows, found.state.repeats
    (8000, (3,))
    >>> result = found.history.place(data.X[new], data.y[new])
    >>> result.scores.index.tolist()
    ['new-model']
    """
    options = StreamOptions() if options is None else options
    anchor = AnchorPipeline() if anchor is None else clone(anchor)
    stages = _checked_stages(anchor)
    opened, reading = open_data(data), options.reading(RowRules.of(anchor))
    schema = opened.schema()
    rng = check_random_state(anchor.random_state)
    n_folds: Any = anchor.cv
    seed = int(rng.randint(np.iinfo(np.int32).max))
    folds = Folds(n_folds, anchor.n_repeats, seed)
    runs = Runs(opened, options.job_rows, anchor.n_jobs, anchor.verbose)
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
                     anchor.n_repeats)  # fmt: skip
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
        with limited_to_inference(few, anchor.item_effects):
            built = builder.build(anchor.item_effects, anchor.item_prior)
        surveyed = builder.layout.surveyed
        state = state_of_stream(built, surveyed, stages, fingerprints or {}, dealt)
    log.issue()
    return StreamedHistory(
        state,
        anchor,
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


def _checked_stages(anchor: AnchorPipeline) -> Stages:
    """The stages of a pipeline; refuse settings that need the rows in memory."""
    anchor._validate_params()
    if not isinstance(anchor.cv, (int, np.integer)):
        raise ValueError(
            "cv of a stream is a number of folds, which its row numbers are dealt "
            f"to, got {anchor.cv!r:.60}."
        )
    if anchor.new_models is not None:
        raise ValueError(
            "new_models of the anchor must be None: a history has no new models."
        )
    if anchor.human_bias is not None:
        raise BattlesError(
            "human_bias needs the features of the votes, but a stream stores only "
            "counts of votes by pair of models: leave it at None, or fit AnchorHistory "
            "in memory."
        )
    stages = anchor.stages()
    if stages.debiaser is None:
        raise ValueError(
            "A stored history needs a debiaser, because its sums are for the standard "
            "errors."
        )
    return stages
