"""Results of the survey: models and judges, votes by fold, and a fit of the sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._admission import (
    ROWS_PER_PARAMETER,
    check_ranking,
    leave_out_feature_separated,
    leave_out_judges,
    leave_out_one_sided,
    leave_out_separated,
)
from skanchor._btl import BTLRegressor
from skanchor._chain import Chain
from skanchor._comparisons import (
    Comparisons,
    EncodedRows,
    Outcomes,
    decide_roles,
)
from skanchor._comparisons.features import check_scales
from skanchor._comparisons.labels import positions
from skanchor._comparisons.oddities import warn_of_odd_rows
from skanchor._historical import HistoricalFit, fit_history
from skanchor._model.graph import pair_sums
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.sample import Sample
from skanchor.streaming._copies import warn_of_copies
from skanchor.streaming._groups import GroupLabels
from skanchor.streaming._likelihood import VoteCells
from skanchor.streaming._people import with_covariance
from skanchor.streaming._reading import Folds, Reading
from skanchor.streaming._survey import Drawn, Ranges, Survey
from skanchor.streaming._votes_by_group import VotesByGroup
from skanchor.warning_log import warn

SAMPLED = 1 << 14
"""Rows of a judge in a sample of its groups, or number of these groups: the dispersion
of its residuals has a relative error of about one percent."""


@dataclass(frozen=True, eq=False)
class SurveyResult:
    """Admitted models and judges, the votes, and a sample of the verdicts.

    Attributes
    ----------
    models, judges : ndarray
        Labels of the models and judges that are fitted.
    features : tuple of str
        Names of the features.
    votes : DataFrame
        Cells of votes as in :class:`Survey`, with models as codes.
    verdicts : DataFrame
        Cells of verdicts as in :class:`Survey`, with models as codes.
    ranges : dict
        For each judge, the range of each feature.
    sample : Sample
        Votes by pair and outcome, and sampled rows of each judge, weighted so that they
        have the weight of all rows of the judge.
    sample_folds : list of ndarray of shape (n_repeats, n_rows)
        For each judge, folds of the sampled rows.
    everyone : Sample
        All cells of models with votes, including models that are not fitted.
    rows : ndarray of shape (n_cells,)
        Number of rows of each cell of ``everyone``.
    unit : float
        Mean weight of the rows that are fitted, in which all weights are counted.
    group_votes : VotesByGroup or None
        Votes by group, too; None without groups.
    groups : ndarray of shape (n_groups,) or None
        Labels of the groups, by number; None without groups.
    """

    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    votes: pd.DataFrame
    verdicts: pd.DataFrame
    ranges: Ranges
    sample: Sample
    sample_folds: list[NDArray[np.intp]]
    everyone: Sample
    rows: Array
    unit: float
    group_votes: VotesByGroup | None = None
    groups: NDArray[Any] | None = None

    @classmethod
    def of(cls, survey: Survey, stages: Stages, reading: Reading) -> SurveyResult:
        """Admit the rows that were surveyed, as a fit in memory admits its table."""
        reading.check_people(survey.judge_labels)
        if survey.ranges:
            low, high = (
                np.array(each) for each in zip(*survey.ranges.values(), strict=True)
            )
            check_scales(low, high, survey.features)
        everyone, counts = _historical_roles(survey)
        is_joint = stages.historical_fit == "joint"
        leave_out = leave_out_one_sided if is_joint else leave_out_separated
        X = leave_out_judges(leave_out(everyone, stages.btl)).X
        models, judges = X.models, X.judges
        votes = _coded_cells(survey.votes, models)
        verdicts = _coded_cells(survey.verdicts, models)
        judges = _with_enough_rows(verdicts, judges, len(survey.features))
        if not len(judges):
            raise BattlesError("No judge has enough rows to be calibrated.")
        by_judge = verdicts.groupby("judge")[["n", "weight"]].sum()
        # Every repeat has cells of all votes: one of them is summed over its folds.
        first = votes[votes["repeat"] == 0]
        cells = first.groupby(["left", "right", "y"])["weight"].sum().reset_index()

        def drawn(judges: NDArray[Any]) -> tuple[Sample, list[NDArray[np.intp]]]:
            """Sample of the votes and of these judges, and folds by judge."""
            parts, folds = [], []
            for judge in judges.tolist():
                part, fold = _sampled(
                    survey.sample[judge], models, judges, reading, survey.features
                )
                # Give the sampled rows the weight of all rows of the judge.
                scale = by_judge["weight"][judge] / part.weight.sum()
                parts.append(replace(part, weight=part.weight * scale))
                folds.append(fold)
            return _one_sample(cells, parts, models, judges, survey.features), folds

        sample, sample_folds = drawn(judges)
        # Features that separate all rows of a judge separate its sampled rows, too. The
        # sample is taken again without the judges that are left out.
        n_rows = by_judge["n"].to_dict()
        left = leave_out_feature_separated(
            sample, stages.calibrator.bias, n_rows
        ).X.judges
        if len(left) < len(judges):
            judges = left
            sample, sample_folds = drawn(judges)
        counted = reading.weight is not None and reading.weights == "frequency"
        if survey.features and survey.groups is None and not counted:
            warn_of_copies(sample, n_rows)
        verdicts = verdicts[verdicts["judge"].isin(judges)]
        known = [votes[votes["repeat"] == 0], verdicts]
        total, n = (sum(each[name].sum() for each in known) for name in ("weight", "n"))
        unit = float(total / n)
        grouped = labels = None
        if survey.group_votes is not None:
            assert survey.groups is not None
            hashes, labels = survey.groups.hashes, survey.groups.labels
            grouped = VotesByGroup.of(survey.group_votes, first, models, unit, hashes)
        votes, verdicts = (_in_units(each, unit) for each in (votes, verdicts))
        return cls(
            models, judges, survey.features, votes, verdicts, survey.ranges,
            sample.in_units(unit), sample_folds, everyone.in_units(unit), counts, unit,
            grouped, labels,
        )  # fmt: skip

    def without_sample(self) -> SurveyResult:
        """The same without the sampled rows, where the fits need these no more."""
        return replace(self, sample=self.sample[np.empty(0, np.intp)])

    def verdict_counts(self, m: int, what: str) -> Array:
        """Sum over a judge's rows by ordered pair of models.

        Parameters
        ----------
        m : int
            The judge.
        what : {"n", "weight", "square"}
            Sum of ones, of weights, or of squared weights.

        Returns
        -------
        ndarray of shape (n_models, n_models)
        """
        own = self.verdicts[self.verdicts["judge"] == self.judges[m]]
        left, right = (own[side].to_numpy(np.intp) for side in ("left", "right"))
        values = own[what].to_numpy(np.float64)
        return pair_sums(left, right, values, len(self.models))

    def group_limits(self, groups: GroupLabels | None) -> list[int]:
        """For each judge the largest number of a group in its sample of groups.

        Of the sampled groups a judge has about ``SAMPLED`` rows or more, or all of its
        rows.
        """
        if groups is None:
            return []
        n_rows = self.verdicts.groupby("judge")["n"].sum()
        most = np.minimum(n_rows.reindex(self.judges).to_numpy(), len(groups.hashes))
        # Hashes are spread evenly over the integers of 64 bits.
        part = np.minimum(SAMPLED / most, 1.0).tolist()
        limits = [min(int(p * 2.0**64), (1 << 64) - 1) - (1 << 63) for p in part]
        known = np.searchsorted(groups.hashes, limits, side="right")
        return [stop - 1 for stop in known.tolist()]

    def vote_cells(self, folds: Folds, view: int) -> VoteCells:
        """Votes of a view's training set, scaled to the weight of all votes.

        The factor is the omega of eq:direct-riesz-objective-v2.
        """
        return _training_cells(self.votes, folds, view)

    def held_votes(self, folds: Folds, view: int) -> VoteCells:
        """Votes that a view holds out; view zero holds none out."""
        votes = self.votes
        if view == 0:
            votes = votes.iloc[:0]
        else:
            repeat, fold = divmod(view - 1, folds.n_splits)
            votes = votes[(votes["repeat"] == repeat) & (votes["fold"] == fold)]
        return _vote_cells(votes)

    def held_by_group(self, folds: Folds) -> Iterator[VotesByGroup | None]:
        """The votes that each view holds out, by group; None without groups."""
        if self.group_votes is None:
            return repeat(None, 1 + folds.size)
        return chain([self.group_votes.nothing()], self.group_votes.by_fold(folds))

    def vote_fit(
        self,
        stages: Stages,
        cells: VoteCells,
        start: Chain | None,
        grouped: VotesByGroup | None = None,
    ) -> BTLRegressor:
        """Fit scores to votes alone, with the covariance of a fit to single votes.

        These are ``grouped`` where groups of them depend on each other.
        """
        btl = fit_history(stages, self._vote_sample(cells), start).btl
        return with_covariance(btl, self.models, cells, grouped)

    def _vote_sample(self, cells: VoteCells) -> Sample:
        """Sample of votes without verdicts: one row for each cell."""
        n = len(cells.y)
        # Judge -1 means people; votes have no features.
        blank = np.zeros((n, len(self.features)))
        rows = EncodedRows(
            self.models,
            self.judges[:0],
            cells.left,
            cells.right,
            np.full(n, -1),
            np.ones(n),
            blank,
            blank,
            feature_names=self.features,
            new_models=(),
        )
        return Sample(Comparisons(rows), _preferences(cells.y), cells.weight)

    def pilot(self, stages: Stages) -> HistoricalFit:
        """Fit the sample, which gives the starting values of all other fits."""
        known = fit_history(stages, self.sample)
        votes = self.vote_cells(Folds(1), 0)
        # The fit took each cell of votes for one row with a weight: the covariance must
        # be computed again, as of single votes.
        first = None if known.two_step is None else known.two_step.btl
        if first is None:
            n = len(known.btl.models_)
            known.btl.covariance_ = np.full((n, n), np.nan)
        else:
            counted = with_covariance(first, self.models, votes, self.group_votes)
            known.btl.covariance_ = counted.covariance_
        if known.excluded_judges:
            judges = sorted(known.excluded_judges)[:5]
            raise BattlesError(
                f"The scores separate the verdicts of judges {judges} in the sample of "
                "the stream: no finite sensitivity fits them. Leave them out of the "
                "stream."
            )
        return known


def _historical_roles(survey: Survey) -> tuple[Sample, Array]:
    """Sample of all cells of historical models, and the number of rows of each cell."""
    keys = ["left", "right", "y"]
    votes = survey.votes[survey.votes["repeat"] == 0] if len(survey.votes) else None
    if votes is None and not len(survey.verdicts) and survey.n_rows:
        raise BattlesError(
            "No battle between two different models has positive weight."
        )
    if "judge" not in survey.shape:
        raise BattlesError(
            "There is no column 'judge', so that all rows of the stream count as "
            "human, and none as a judge's. Rename columns with columns={'given': "
            "'standard'}.",
        )
    if votes is None or not len(survey.verdicts):
        kind = "human" if votes is None else "judge"
        known = sorted({*survey.verdicts["judge"]}) if votes is None else []
        held = f": column 'judge' holds {known[:10]}" if known else ""
        raise BattlesError(
            f"The stream has no {kind} rows between two models{held}."
            + (" Name the label of people in human." if known else "")
        )
    people = votes.groupby(keys)[["n", "weight"]].sum().reset_index()
    cells = pd.concat(
        [people.assign(judge="human", order=1.0), survey.verdicts], ignore_index=True
    )
    table = pd.DataFrame(
        {"model_a": cells["left"], "model_b": cells["right"], "judge": cells["judge"]}
    )
    weight = cells["weight"].to_numpy(np.float64)
    X = Comparisons.from_battles(table)
    warn_of_odd_rows(None, X, cells["y"].to_numpy(), weight)
    roles = decide_roles(X, weight, None)
    if roles.is_new.any():
        unknown = roles.models[roles.is_new].tolist()
        n = int(cells["n"].where(roles.involves_new, 0).sum())
        warn(
            DataWarning(
                f"Models {unknown[:5]} have no human row, and are not historical: "
                f"their {n} rows are left out. Place them as arrivals.",
                code="models-without-votes",
                subject=unknown,
            )
        )
        roles = roles.relabel(roles.models[~roles.is_new], roles.judges)
    roles = roles.with_columns(new_models=())
    check_ranking(roles, ())
    counts = cells["n"].to_numpy(np.float64)
    outcomes = _preferences(cells["y"].to_numpy())
    return Sample(roles, outcomes, weight, multiplicity=counts), counts


def _coded_cells(cells: pd.DataFrame, models: NDArray[Any]) -> pd.DataFrame:
    """Cells between the given models, with models as codes instead of labels."""
    codes = cells.copy()
    for side in ("left", "right"):
        codes[side] = positions(cells[side].to_numpy(), models)
    return codes[(codes["left"] >= 0) & (codes["right"] >= 0)]


def _in_units(cells: pd.DataFrame, unit: float) -> pd.DataFrame:
    """Cells with their weights in multiples of ``unit``."""
    if unit == 1.0:
        return cells
    weight, square = cells["weight"] / unit, cells["square"] / unit**2
    return cells.assign(weight=weight, square=square)


def _with_enough_rows(
    verdicts: pd.DataFrame, judges: NDArray[Any], n_features: int
) -> NDArray[Any]:
    """Judges with enough rows for their parameters; warn of the others."""
    needed = ROWS_PER_PARAMETER * (1 + n_features)
    n_rows = verdicts.groupby("judge")["n"].sum()
    few = [judge for judge in judges.tolist() if n_rows.get(judge, 0) < needed]
    if few:
        warn(
            DataWarning(
                f"Judges {few[:5]} have fewer rows than the {needed} that their "
                f"features need; their rows are left out.",
                code="uncalibrated-judge",
                subject=few,
            )
        )
    return np.array([j for j in judges.tolist() if j not in few], dtype=object)


def _sampled(
    drawn: Drawn,
    models: NDArray[Any],
    judges: NDArray[Any],
    reading: Reading,
    features: tuple[str, ...],
) -> tuple[Sample, NDArray[np.intp]]:
    """Sampled rows of one judge between known models, and their folds."""
    _, table, fold = drawn
    # A row with a count was drawn as one of its copies, and is read once.
    once = replace(reading, weights="importance", groups=None)
    rows = once.rows(table, 0, Folds(2))
    weight = np.ones(len(rows)) if reading.weights == "frequency" else rows.weight
    X = rows.X.relabel(models, judges).with_features(features)
    found = Sample(X, _preferences(rows.y), weight)
    usable = np.flatnonzero(X.is_usable)
    found, fold = found[usable], fold[:, usable]
    if not len(found):
        raise BattlesError(
            "The sample of a judge has no row between historical models; ask for more "
            "pilot_rows."
        )
    return found, fold


def _one_sample(
    votes: pd.DataFrame,
    parts: list[Sample],
    models: NDArray[Any],
    judges: NDArray[Any],
    features: tuple[str, ...],
) -> Sample:
    """One sample of cells of votes, followed by the sampled rows of each judge."""
    n = len(votes)
    # Judge -1 means people; votes have no features.
    blank = np.zeros((n, len(features)))

    def column(first: Array, name: str) -> NDArray[Any]:
        """Values of the votes, then those of each judge's rows."""
        return np.concatenate([first, *(getattr(part.X, name) for part in parts)])

    rows = EncodedRows(
        models,
        judges,
        column(votes["left"].to_numpy(np.intp), "left"),
        column(votes["right"].to_numpy(np.intp), "right"),
        column(np.full(n, -1), "judge"),
        column(np.ones(n), "order"),
        column(blank, "features_left"),
        column(blank, "features_right"),
        feature_names=features,
        new_models=(),
    )
    y = np.concatenate([votes["y"].to_numpy(), *(part.y for part in parts)])
    weight = np.concatenate(
        [votes["weight"].to_numpy(), *(part.weight for part in parts)]
    )
    return Sample(Comparisons(rows), _preferences(y), weight)


def _training_cells(votes: pd.DataFrame, folds: Folds, view: int) -> VoteCells:
    """Cells of votes of a view's training set, scaled to the weight of all votes."""
    omega = 1.0
    if view == 0:
        votes = votes[votes["repeat"] == 0]
    else:
        repeat, fold = divmod(view - 1, folds.n_splits)
        votes = votes[votes["repeat"] == repeat]
        whole = votes["weight"].sum()
        votes = votes[votes["fold"] != fold]
        if not len(votes):
            raise ValueError(
                "A training set keeps no human rows between historical models; "
                "use fewer folds or add rows."
            )
        omega = whole / votes["weight"].sum()
    return _vote_cells(votes, omega)


def _vote_cells(votes: pd.DataFrame, omega: float = 1.0) -> VoteCells:
    """Arrays of cells of votes, whose weights are multiplied by omega."""
    return VoteCells(
        votes["left"].to_numpy(np.intp),
        votes["right"].to_numpy(np.intp),
        votes["y"].to_numpy(np.float64),
        votes["weight"].to_numpy(np.float64) * omega,
        votes["square"].to_numpy(np.float64) * omega**2,
        votes["n"].to_numpy(np.float64),
    )


def _preferences(y: Array) -> Outcomes:
    """Outcomes from preferences for the first model, in [0, 1]."""
    return Outcomes(np.asarray(y, dtype=np.float64), np.array([0, 1]), 1)
