"""Nuisances and sums of all folds of a history, as arrays with an axis of folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.blocks import fitted_columns, item_columns
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums
from skanchor._placement._groups import HistoryGroups
from skanchor._riesz import SplitSums, WeightLearner
from skanchor._typing import Array
from skanchor.bias import LinearBias


class FittedFold(Protocol):
    """A fit of historical rows, and the sums that replace these rows."""

    @property
    def btl(self) -> BTLRegressor:
        """The fitted stage of the human scores."""

    @property
    def calibrator(self) -> JudgeCalibrator:
        """The fitted stage of the judges: sensitivities, biases, position effects."""

    @property
    def X(self) -> Comparisons:  # noqa: N802
        """Scores, judges and deviations; without rows."""

    @property
    def learners(self) -> list[WeightLearner]:
        """Learners of the Riesz weights, by judge."""

    @property
    def sums(self) -> SplitSums:
        """Sums over training rows and over held-out rows."""


@dataclass(frozen=True, eq=False)
class FoldStack:
    """Nuisances and sums of all folds, as arrays with an axis of folds in front.

    The first axis of all arrays is the folds, of which the first is the fit of all
    rows. Local columns are the items, delta, display order and features.

    Attributes
    ----------
    scores : ndarray of shape (n_folds, n_models)
        Plug-in.
    slopes : ndarray of shape (n_folds, n_judges)
        Sensitivities.
    positions : ndarray of shape (n_folds, n_judges) or None
        Position effects.
    deviations : ndarray of shape (n_folds, n_judges, n_models) or None
        Item effects.
    coef : ndarray of shape (n_folds, n_judges, n_features)
        Of the biases.
    shows : ndarray of shape (n_judges,)
        Judges to whose rows the display order counts.
    ridges : ndarray of shape (n_folds, n_judges, n_features)
        Ridge of the Riesz weights, beside the curvature of the training rows.
    people, judges : SourceSums
        Information of the training rows, with axes (n_folds,) and (n_folds, n_judges).
    held_people, held_judges : SourceSums
        Residuals of the rows held out, with the same axes; without ``outer`` where
        there are groups.
    groups : HistoryGroups or None
        The same by group, of all folds but the first; None without groups.
    """

    scores: Array
    slopes: Array
    positions: Array | None
    deviations: Array | None
    coef: Array
    shows: NDArray[np.bool_]
    ridges: Array
    people: SourceSums
    judges: SourceSums
    held_people: SourceSums
    held_judges: SourceSums
    groups: HistoryGroups | None

    @classmethod
    def of(cls, folds: Sequence[FittedFold]) -> Self | None:
        """Stack folds; None where their learners or judges differ."""
        first = folds[0].X
        n_judges, n_features = len(first.judges), first.features_left.shape[1]
        if not n_judges or not all(_is_plain(fold, n_features) for fold in folds):
            return None
        judges = range(n_judges)
        known = [fold.calibrator.has_position_effect_ for fold in folds]
        shows = known[0].to_numpy(bool)
        if any((one.to_numpy(bool) != shows).any() for one in known):
            return None

        def stacked(name: str) -> Array | None:
            values = [getattr(fold.X, name) for fold in folds]
            return None if values[0] is None else np.array(values, dtype=float)

        def of_judges(name: str, part: str) -> Array:
            values = [
                [getattr(getattr(fold.sums, name)[m], part) for m in judges]
                for fold in folds
            ]
            return np.array(values, dtype=float)

        def of_people(name: str, part: str) -> Array:
            values = [getattr(getattr(fold.sums, name)[PEOPLE], part) for fold in folds]
            return np.array(values, dtype=float)

        learned = [
            stacked(name)
            for name in ("scores", "sensitivities", "position_effects", "deviations")
        ]
        if any(not np.isfinite(one).all() for one in learned if one is not None):
            return None
        scores, slopes, positions, deviations = learned
        assert scores is not None and slopes is not None
        coef, ridges = np.zeros((2, len(folds), n_judges, n_features))
        for k, fold in enumerate(folds if n_features else ()):
            for m, judge in enumerate(first.judges.tolist()):
                bias: Any = fold.calibrator.biases_[judge]
                coef[k, m] = bias.coef_
                if fold.learners[m].ridge is not None:
                    ridges[k, m] = fold.learners[m].ridge
        n_models = len(first.models)
        blocks = fitted_columns(n_models, n_features)
        grouped = folds[0].sums.held_out[0].outer is None
        return cls(
            scores,
            slopes,
            positions,
            deviations,
            coef,
            shows if shows.any() else np.ones_like(shows),
            ridges,
            SourceSums(
                item_columns(n_models), information=of_people("training", "information")
            ),
            SourceSums(
                blocks,
                information=of_judges("training", "information"),
                curvature=of_judges("training", "curvature"),
            ),
            SourceSums(
                item_columns(n_models),
                score=of_people("held_out", "score"),
                outer=None if grouped else of_people("held_out", "outer"),
            ),
            SourceSums(
                blocks,
                score=of_judges("held_out", "score"),
                outer=None if grouped else of_judges("held_out", "outer"),
            ),
            HistoryGroups.of([fold.sums for fold in folds[1:]]) if grouped else None,
        )

    def __getitem__(self, part: slice) -> Self:
        """Some of the folds."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self)(**{
            name: one if one is None or name in ("shows", "groups") else one[part]
            for name, one in values.items()
        })  # fmt: skip


def _is_plain(fold: FittedFold, n_features: int) -> bool:
    """Whether every judge has rows and a learner that is linear in the features."""
    names = fold.X.judges.tolist()
    if fold.btl.bias_ is not None or fold.calibrator.judges_.tolist() != names:
        return False
    if not set(fold.sums.training) == {PEOPLE, *range(len(names))}:
        return False
    learners = [own.learner for own in fold.learners]
    if not n_features:
        return all(learner is None for learner in learners)
    learners += [fold.calibrator.biases_.get(judge) for judge in names]
    return all(
        type(one) is LinearBias and getattr(one, "feature_map_", one) is None
        for one in learners
    )
