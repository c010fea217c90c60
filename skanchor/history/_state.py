"""What is kept of a fitted history: all that placing arrivals needs, and no row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._assembly import Inference, assemble
from skanchor._comparisons import count_rows
from skanchor._diagnostics import FitSums, ItemCheck
from skanchor._folds import FoldPlan
from skanchor._stored_folds import PlacedArrivals, StoredHistory
from skanchor.exceptions import BattlesError
from skanchor.history._arrivals import with_models
from skanchor.history._counts import RowCounts, fold_numbers
from skanchor.results import AnchorResult
from skanchor.sample import Sample

__all__ = ["Board", "GroupFolds", "HistoryState"]


@dataclass(frozen=True, eq=False, slots=True)
class Board:
    """Historical models that take no part beside those that do.

    Attributes
    ----------
    scores : Series
        Score of every historical model in the fit of the votes.
    n_human, n_judge : Series
        Rows of every historical model.
    """

    scores: pd.Series
    n_human: pd.Series
    n_judge: pd.Series


@dataclass(frozen=True, eq=False, slots=True)
class GroupFolds:
    """Groups of dependent rows of the history, which arrivals may share.

    Attributes
    ----------
    labels : ndarray of shape (n_groups,)
        Labels, by code.
    folds : ndarray of shape (n_repeats, n_groups)
        Fold that holds each of them out; -1 for those without a row that counts.
    """

    labels: NDArray[Any]
    folds: NDArray[np.intp]

    @classmethod
    def of(
        cls, labels: NDArray[Any], codes: NDArray[np.intp], plans: list[FoldPlan]
    ) -> GroupFolds:
        """Look up the fold of each group in the plans of its rows."""
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
        Folds, as sums.
    sums : FitSums
        Of all historical rows, for diagnostics.
    check : ItemCheck
        Of the item effects.
    treatment : str
        Treatment of the item effects.
    board : Board or None
        None where every historical model takes part.
    groups : GroupFolds or None
        None without groups.
    fingerprints : dict
        Of judges, where they were given.
    facts : dict
        What JSON can say of the rows: their numbers.
    counts : RowCounts or None
        The rows as counts; None where features, groups or weights tell them apart.
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

    @classmethod
    def of(
        cls,
        inference: Inference,
        group_labels: NDArray[Any] | None,
        fingerprints: Mapping[Any, str],
    ) -> HistoryState:
        """Fit the folds of a history, and let its rows go.

        Parameters
        ----------
        inference : Inference
            Of the historical rows.
        group_labels : ndarray or None
            Labels of their groups, by code.
        fingerprints : mapping
            Of judges, where they were given.

        Returns
        -------
        HistoryState
        """
        if inference.stages.debiaser is None:
            raise BattlesError(
                "debiaser='passthrough' has no standard errors, and no history to keep."
            )
        if inference.stages.debiaser.weight_bound is not None:
            raise BattlesError(
                "weight_bound needs the rows, of which only sums are kept: leave it at "
                "None."
            )
        reported = inference.treatments.reported
        full = inference.fit(reported)
        chain, sample = full.chain, full.sample
        history = StoredHistory.of(full, inference.fold_plan)
        fitted = sample.with_battles(chain.X)
        sums = FitSums.of(fitted, sample.X.order, chain.calibrator).stored(fitted)
        groups = None
        if group_labels is not None and sample.groups is not None:
            groups = GroupFolds.of(group_labels, sample.groups, inference.fold_plan)
        facts = {
            "rows": int(sample.counts.sum()),
            "votes": int((sample.counts & sample.X.is_human).sum()),
        }
        return cls(
            history,
            sums,
            inference.check,
            reported,
            _board_of_rows(inference),
            groups,
            dict(fingerprints),
            facts,
            RowCounts.of(inference.everyone, inference.fold_plan),
        )

    @property
    def lost(self) -> NDArray[Any]:
        """Historical models that take no part."""
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
            Arrivals in their roles, all of them and those that can be used.
        plans : list of FoldPlan
            Their folds in each repeat.

        Returns
        -------
        AnchorResult
        """
        placed = self.history.place(admitted, plans)
        sums = self._sums(placed)
        result = assemble(placed.full, placed.found, sums, self.check, plans)
        if self.board is None:
            return result
        X = everyone.X[:0]
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

    def _sums(self, placed: PlacedArrivals) -> FitSums:
        """Sums of history and arrivals together."""
        full, late = placed.full, placed.sums
        X, known = full.chain.X, self.history.whole.X
        places = np.flatnonzero(~X.is_new)
        assert len(places) == len(known.models)
        if late is None:
            fitted = full.sample.with_battles(X)
            order, calibrator = full.sample.X.order, full.chain.calibrator
            late = FitSums.of(fitted, order, calibrator, self.sums.noise)
        return self.sums.embed(places, len(X.models)) + late


def _board_of_rows(inference: Inference) -> Board | None:
    found = inference.board()
    if found is None:
        return None
    index = pd.Index(inference.everyone.X.models)
    scores, n_human, n_judge = found
    return Board(
        scores.reindex(index), pd.Series(n_human, index), pd.Series(n_judge, index)
    )
