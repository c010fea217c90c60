"""The state of a fitted history: everything that placing arrivals needs, and no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._assembly import (
    Inference,
    assemble,
    set_undetermined_apart,
)
from skanchor._comparisons import count_rows
from skanchor._comparisons.grades import graded_shares, shares_by_label
from skanchor._diagnostics import FitSums, ItemCheck
from skanchor._engine import FullFit
from skanchor._folds import FoldPlan
from skanchor._stored_folds import PlacedArrivals, StoredHistory
from skanchor.exceptions import BattlesError
from skanchor.history._arrivals import with_models
from skanchor.history._counts import RowCounts, fold_numbers
from skanchor.results import AnchorResult
from skanchor.sample import Sample


@dataclass(frozen=True, eq=False, slots=True)
class Board:
    """Scores of all historical models, including those that were left out of the fit.

    Attributes
    ----------
    scores : Series
        Score of every historical model in the fit of the votes.
    n_human, n_judge : Series
        Number of human and of judge rows of every historical model.
    """

    scores: pd.Series
    n_human: pd.Series
    n_judge: pd.Series


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """Groups of dependent rows of the history, which arrivals may share.

    Attributes
    ----------
    labels : ndarray of shape (n_groups,)
        Labels, by code.
    folds : ndarray of shape (n_repeats, n_groups)
        Fold that holds each group out; -1 for groups without a row that is used.
    """

    labels: NDArray[Any]
    folds: NDArray[np.intp]

    @cached_property
    def index(self) -> pd.Index:
        """The labels, to look up codes by; whole numbers as such, others as objects."""
        if self.are_whole_numbers:
            return pd.Index(self.labels)
        return pd.Index(self.labels, dtype=object)

    @property
    def are_whole_numbers(self) -> bool:
        """Whether no label can be a text."""
        return self.labels.dtype.kind in "iu"

    @classmethod
    def of(
        cls, labels: NDArray[Any], codes: NDArray[np.intp], plans: list[FoldPlan]
    ) -> GroupFolds:
        """Look up the fold of each group in the plans of its rows."""
        # All rows of a group have the same fold: any of them may be taken.
        of_rows = fold_numbers(plans, len(codes))
        folds = np.full((len(plans), len(labels)), -1)
        for own, rows in zip(folds, of_rows, strict=True):
            held = rows >= 0
            own[codes[held]] = rows[held]
        return cls(labels, folds)


@dataclass(frozen=True, eq=False)
class HistoryState:
    """A fitted history without its rows.

    Attributes
    ----------
    history : StoredHistory
        Fits and sums of all folds.
    sums : FitSums
        Sums over all historical rows, for diagnostics.
    check : ItemCheck
        Test for item effects.
    treatment : str
        Treatment of the item effects.
    board : Board or None
        None if every historical model was fitted.
    groups : GroupFolds or None
        None without groups.
    fingerprints : dict
        Fingerprint of each judge for which one was given.
    facts : dict
        Numbers of rows and votes, whether the rows were streamed, and the share of
        graded verdicts of each judge that has any.
    counts : RowCounts or None
        The rows as counts; None if rows have features, groups or weights.
    unit : float
        The user's weight that is one here, for arrivals, too.

    Examples
    --------
    >>> from skanchor import AnchorHistory, AnchorPipeline
    >>> from skanchor.history import HistoryState
    >>> from skanchor.datasets import load_demo
    >>> X, y = load_demo(return_X_y=True)
    >>> new = ["ivory-lynx", "jade-finch"]
    >>> known = ~X[["model_a", "model_b"]].isin(new).any(axis=1)
    >>> history = AnchorHistory(AnchorPipeline(cv=3, random_state=0))
    >>> state = history.fit(X[known], y[known]).state_
    >>> isinstance(state, HistoryState)
    True
    """

    history: StoredHistory
    sums: FitSums
    check: ItemCheck
    treatment: str
    board: Board | None = None
    groups: GroupFolds | None = None
    fingerprints: Mapping[Any, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    counts: RowCounts | None = None
    unit: float = 1.0

    @classmethod
    def of(
        cls,
        inference: Inference,
        group_labels: NDArray[Any] | None,
        fingerprints: Mapping[Any, str],
    ) -> HistoryState:
        """Fit all folds of a history, and compute the sums over its rows.

        Parameters
        ----------
        inference : Inference
            Inference of the historical rows.
        group_labels : ndarray or None
            Labels of their groups, by code.
        fingerprints : mapping
            Fingerprint of each judge for which one was given.

        Returns
        -------
        HistoryState
        """
        if inference.stages.debiaser is None:
            raise BattlesError(
                "debiaser='passthrough' has no standard errors, so there is no history "
                "to store."
            )
        full = inference.fit()
        chain, sample = full.chain, full.sample
        history = StoredHistory.of(full, inference.folds)
        # ``stored`` adds the ranges, and some contrasts, of the features of each judge.
        fitted = sample.with_battles(chain.X)
        sums = FitSums.of(fitted, sample.X.order, chain.calibrator).stored(fitted)
        groups = None
        codes = inference.cells.groups
        if group_labels is not None and codes is not None:
            groups = GroupFolds.of(group_labels, codes, inference.fold_plan)
        X, y, times = sample.X, sample.y, sample.multiplicity
        graded, _ = graded_shares(X, y, times, sample.counts)
        facts = {
            "rows": sample.number(sample.counts),
            "votes": sample.number(sample.counts & sample.X.is_human),
            "graded_verdicts": shares_by_label(X.judges, graded),
        }
        return cls(
            history,
            sums,
            inference.check,
            inference.choice.item_effects,
            _board_of_rows(inference),
            groups,
            dict(fingerprints),
            facts,
            RowCounts.of(
                inference.cells.rows_of(inference.everyone), inference.fold_plan
            ),
            sample.unit,
        )

    @property
    def lost(self) -> NDArray[Any]:
        """Labels of historical models that were left out of the fit."""
        models = self.history.whole.X.models
        if self.board is None:
            return models[:0]
        every = self.board.scores.index.to_numpy(dtype=models.dtype)
        return every[~np.isin(every, models)]

    def result(
        self, everyone: Sample, admitted: Sample, plans: list[FoldPlan]
    ) -> AnchorResult:
        """Place arrivals.

        Parameters
        ----------
        everyone, admitted : Sample
            Arrivals with decided roles: all of them, and those that can be used.
        plans : list of FoldPlan
            Folds of the admitted arrivals in each repeat.

        Returns
        -------
        AnchorResult
        """
        result = self._placed(admitted, plans)
        if self.board is None:
            return result
        # Add the models that were left out: their scores are those of the votes, and
        # the numbers of rows are those of the history plus those of the arrivals.
        X = everyone.X.without_rows()
        models = with_models(self.board.scores.index.to_numpy(X.models.dtype),
                             X.models[X.is_new])  # fmt: skip
        X = X.relabel(models, X.judges)
        late = count_rows(everyone.X.relabel(models, X.judges), everyone.weight)
        early = (
            known.reindex(models, fill_value=0).to_numpy()
            for known in (self.board.n_human, self.board.n_judge)
        )
        counts = (a + b for a, b in zip(early, late, strict=True))
        return result.extended(X, self.board.scores, *counts)

    def _placed(self, admitted: Sample, plans: list[FoldPlan]) -> AnchorResult:
        """Place arrivals that can be used, beside the models that were fitted.

        New models that their rows do not determine are left out of the scores of the
        others, as in the pipeline.
        """

        def first() -> tuple[AnchorResult, FullFit]:
            placed = self.history.place(admitted, plans)
            full, sums = placed.full, self._sums(placed)
            return assemble(full, placed.found, sums, self.check, plans), full

        return set_undetermined_apart(first, lambda rest: self._placed(rest, plans))

    def _sums(self, placed: PlacedArrivals) -> FitSums:
        """Sums for diagnostics over the rows of the history and of the arrivals."""
        full, late = placed.full, placed.sums
        X, known = full.chain.X, self.history.whole.X
        # Codes of the historical models among all models.
        places = np.flatnonzero(~X.is_new)
        assert len(places) == len(known.models)
        if late is None:
            # The arrivals were placed from their rows, over which sums are taken here.
            fitted = full.sample.with_battles(X)
            order, calibrator = full.sample.X.order, full.chain.calibrator
            late = FitSums.of(fitted, order, calibrator, self.sums.noise)
        return self.sums.plus(late, places)


def _board_of_rows(inference: Inference) -> Board | None:
    """Board of the models of an inference; None where all of them were fitted."""
    found = inference.board()
    if found is None:
        return None
    index = pd.Index(inference.everyone.X.models)
    scores, n_human, n_judge = found
    return Board(
        scores.reindex(index), pd.Series(n_human, index), pd.Series(n_judge, index)
    )
