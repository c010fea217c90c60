"""The state of a fitted history: everything that placing arrivals needs, and no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._assembly import Inference, sums_of
from skanchor._battles import HUMAN
from skanchor._battles.grouping import label_codes
from skanchor._battles.labels import is_in, label_index
from skanchor._crossfit.fits import FullFit, check_placed
from skanchor._crossfit.folds import (
    FoldPlan,
    places_all_models,
    rows_held_out,
    scales_of_training,
    training_set,
)
from skanchor._crossfit.item_test import ItemTest
from skanchor._crossfit.stages import FittedStages, Stages
from skanchor._crossfit.state import HeldOut, StoredFits
from skanchor._diagnostics.collect import ItemCheck
from skanchor._diagnostics.sums import FitSums
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.newton import grams_of
from skanchor._model.sources import SourceRows
from skanchor._sample.judge_checks import graded_verdicts, warn_of_other_grades
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, DataWarning, LearnerError, located
from skanchor.warning_log import warn


def warn_of_features(names: Sequence[str]) -> None:
    """Warn of features of added rows that the history was fitted without."""
    if names:
        message = (
            f"The features {list(names[:5])} are not used: the history was fitted "
            "without them."
        )
        warn(DataWarning(message, code="unused-features", subject=names))


@dataclass(frozen=True, eq=False, slots=True)
class RowCounts:
    """Rows without features, groups and weights, and how often each occurs.

    Attributes
    ----------
    models, judges : ndarray
        Labels.
    kinds : ndarray of shape (n_kinds, 4)
        Codes of the first and the second model and of the judge (-1 is a human), and
        the display order.
    outcomes : ndarray of shape (n_kinds,)
        Preference for the first model.
    counts : ndarray of shape (n_kinds,)
        Number of rows.
    """

    models: Annotated[NDArray[Any], "all_models"]
    judges: Annotated[NDArray[Any], "all_judges"]
    kinds: Annotated[NDArray[np.intp], "kinds coded"]
    outcomes: Annotated[Array, "kinds"]
    counts: Annotated[NDArray[np.intp], "kinds"]

    @classmethod
    def of(cls, sample: Sample) -> RowCounts | None:
        """Rows that count, put together where the sample has done so.

        None where rows have features, groups or weights.
        """
        X, used, times = sample.X, sample.counts, sample.multiplicity
        is_weighted = sample.unit != 1.0 or (sample.weight != times)[used].any()
        if X.features_left.shape[1] or sample.is_grouped or is_weighted:
            return None
        kinds = np.column_stack([X.left, X.right, X.judge, X.order])[used]
        number = times[used].astype(np.intp)
        return cls(X.models, X.judges, kinds.astype(np.int32), sample.y[used], number)

    def table(self) -> pd.DataFrame:
        """Battles table with one row for each kind."""
        left, right, judge, order = self.kinds.T
        # The code -1 of people is the last label.
        names = np.append(self.judges.astype(object), HUMAN)
        # Order 0 is unknown, 1 the first model, and -1, the last entry, the second.
        # Without the column, unknown orders would be those of the columns.
        shown = np.array([None, "model_a", "model_b"], dtype=object)[order]
        sides = {"model_a": self.models[left], "model_b": self.models[right]}
        return pd.DataFrame({**sides, "judge": names[judge], "shown_first": shown})

    def with_rows(self, new_rows: Sample) -> Sample:
        """Sample of these rows and of new ones, equal ones counted."""
        warn_of_features(new_rows.X.feature_names)
        more = RowCounts.of(new_rows.without_features())
        if more is None:
            raise BattlesError(
                "The history was fitted without groups and weights, so that rows that "
                "have any cannot be added to it."
            )
        table = pd.concat([self.table(), more.table()], ignore_index=True)
        outcomes = np.append(self.outcomes, more.outcomes)
        number = np.append(self.counts, more.counts)
        return Sample.from_battles(table, outcomes, number).counted()


@dataclass(frozen=True, eq=False)
class HistoryState:
    """A fitted history without its rows.

    Attributes
    ----------
    models, judges : ndarray
        Labels.
    features : tuple of str
        Names of the response features.
    fits : StoredFits
        Fits of all rows and of each fold, repeat by repeat, and sums of their rows.
    repeats : tuple of int
        Number of folds of each repeat.
    learners : tuple of learner or None
        Fitted bias learner of each judge, whose columns those of new rows are.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    human_errors : ndarray of shape (n_models,)
        Standard errors of the scores by votes alone; NaN without votes.
    unbounded : ndarray of shape (n_models,)
        Whether votes give a score no limit.
    sums : FitSums
        Sums over all historical rows, for diagnostics.
    tests : ndarray of shape (n_judges, 6)
        Tests for item effects of each judge, by the columns of ``ItemCheck``.
    p_value : float
        Of the test for item effects over all judges.
    treatment : str
        Treatment of the item effects.
    rows, votes : int
        Numbers of rows, and of those of people.
    graded : ndarray of shape (n_judges,)
        Share of the verdicts of each judge that are graded.
    lost : ndarray
        Labels of the models whose scores have no limit: their rows were left out.
    fingerprints : tuple of (judge, str)
        Fingerprint of each judge for which one was given.
    counts : RowCounts or None
        The rows as counts; None if rows have features, groups or weights.
    unit : float
        The user's weight that is one here, for arrivals, too.
    tables : tuple of str
        Digest of each table that was added, by which one that comes again is noticed.

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

    models: Annotated[NDArray[Any], "models"]
    judges: Annotated[NDArray[Any], "judges"]
    features: tuple[str, ...]
    fits: StoredFits
    repeats: tuple[int, ...]
    learners: tuple[Any, ...]
    items: ItemCovariance | None
    human_errors: Annotated[Array, "models"]
    unbounded: Annotated[NDArray[np.bool_], "models"]
    sums: FitSums
    tests: Annotated[Array, "judges tests"]
    p_value: float
    treatment: str
    rows: int
    votes: int
    graded: Annotated[Array, "judges"]
    lost: Annotated[NDArray[Any], "lost"]
    fingerprints: tuple[tuple[Any, ...], ...] = ()
    counts: RowCounts | None = None
    unit: float = 1.0
    tables: tuple[str, ...] = ()

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

        Raises
        ------
        BattlesError
            If these settings allow no stored history.
        LearnerError
            If sums cannot stand for the rows of a learner.
        """
        full = inference.fit()
        check_linear(full)
        codes = None if group_labels is None else label_codes(group_labels, "groups")
        return cls.assembled(
            full.chain,
            full.sample,
            inference.all_rows.X.models,
            inference.check,
            fits=_stored_fits(full, inference.fold_plan, codes),
            # With the ranges, and some contrasts, of the features of each judge.
            sums=sums_of(full).stored(full.sample.with_battles(full.chain.X)),
            items=full.items,
            treatment=inference.choice.item_effects,
            repeats=tuple(map(len, inference.fold_plan)),
            fingerprints=tuple(fingerprints.items()),
            counts=RowCounts.of(inference.all_rows),
        )

    @classmethod
    def assembled(
        cls,
        chain: FittedStages,
        rows: Sample,
        all_models: NDArray[Any],
        check: ItemCheck,
        **others: Any,
    ) -> HistoryState:
        """Put together what rows, or batches of them, have given.

        Parameters
        ----------
        chain : FittedStages
            Fitted to all rows, or to some of them that stand for all.
        rows : Sample
            All rows that are fitted, which may be counted and without features.
        all_models : ndarray
            Labels of all models of the rows, those that are not fitted included.
        check : ItemCheck
            Test for item effects.
        **others
            Attributes.

        Returns
        -------
        HistoryState
        """
        X, btl = chain.X, chain.btl
        learners = chain.calibrator.biases_ if X.feature_names else {}
        shares, _ = graded_verdicts(rows)
        errors = btl.standard_errors_.reindex(X.models).to_numpy(np.float64)
        return cls(
            X.models,
            X.judges,
            X.feature_names,
            learners=tuple(map(learners.get, X.judges.tolist())),
            human_errors=errors,
            unbounded=is_in(X.models, btl.models_[btl.unbounded_].tolist()),
            tests=check.judges.to_numpy(np.float64),
            p_value=check.p_value,
            rows=rows.number(rows.counts),
            votes=rows.number(rows.counts & rows.X.is_human),
            graded=shares[0],
            lost=all_models[~is_in(all_models, X.models.tolist())],
            unit=rows.unit,
            **others,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers of rows and votes, and the shares of graded verdicts."""
        shares = zip(self.judges.tolist(), self.graded.round(4).tolist(), strict=True)
        graded = {str(judge): share for judge, share in shares if share}
        return {"rows": self.rows, "votes": self.votes, "graded_verdicts": graded}

    @property
    def check(self) -> ItemCheck:
        """Test for item effects."""
        none = ItemCheck.of(ItemTest(), self.judges.tolist()).judges
        table = pd.DataFrame(self.tests, none.index, none.columns)
        return ItemCheck(table, self.p_value)

    @property
    def n_groups(self) -> int | None:
        """Number of groups of dependent rows; None without groups."""
        groups = self.fits.groups
        if groups is None:
            return None
        return sum(len(group.codes) for group in groups[: self.repeats[0]])

    def folds_of(self, codes: NDArray[np.int64]) -> NDArray[np.intp]:
        """Fold of each group in each repeat, (n_repeats, n); -1 without a row of it.

        ``codes`` are those of the labels of the groups.
        """
        folds = np.full((len(self.repeats), len(codes)), -1)
        groups = iter(self.fits.groups or ())
        for repeat, n_folds in enumerate(self.repeats):
            for fold, codes_of_fold in zip(range(n_folds), groups, strict=False):
                at = codes_of_fold.codes.searchsorted(codes)
                folds[repeat][np.append(codes_of_fold.codes, -2)[at] == codes] = fold
        return folds

    def compare_grades(self, admitted: Sample) -> None:
        """Warn of judges who graded the verdicts on old models or on new ones alone."""
        shares, numbers = graded_verdicts(admitted)
        # It is not stored how many verdicts a judge has: many, by their purpose.
        shares[0], numbers[0] = self.graded, 1e9
        warn_of_other_grades(admitted.X.judges, shares, numbers)

    # ------------------------------------------------------- fitted stages of all rows
    @cached_property
    def calibrator(self) -> JudgeCalibrator:
        """Calibrator with what was fitted to all rows."""
        x, layout = self.fits.x[0], self.fits.layout
        calibrator = JudgeCalibrator()
        calibrator.features_ = np.array(self.features, dtype=object)
        calibrator.choices_ = pd.DataFrame()
        biases = dict(zip(self.judges.tolist(), self.learners, strict=True))
        slopes, positions = x[layout.sensitivities][1:], x[layout.position_effects][1:]
        return calibrator.with_parameters(
            biases, slopes, positions, layout.positions[1:]
        )

    def btl(self, stages: Stages) -> BTLRegressor:
        """Stage of the votes with what was fitted to all rows."""
        voted = ~np.isnan(self.human_errors)
        btl: BTLRegressor = clone(stages.btl)
        btl.models_, btl.bias_ = self.models[voted], None
        scores = self.fits.x[0][self.fits.layout.scores][voted]
        btl.scores_ = pd.Series(scores, label_index(btl.models_, "model"), name="score")
        btl.unbounded_ = self.unbounded[voted]
        btl.covariance_ = np.diag(self.human_errors[voted] ** 2)
        return btl


def check_linear(full: FullFit) -> None:
    """Refuse learners under which sums cannot stand for rows."""
    judges, biases = full.chain.X.judges.tolist(), full.chain.calibrator.biases_
    flexible = [one for one in judges if linearity(biases.get(one)) != "fixed"]
    if flexible:
        raise LearnerError(
            f"The learner of judges {flexible[:5]} has no span, so that no sums can "
            "stand for their rows. Keep a linear learner (LinearBias), with "
            "a feature map or without, or fit AnchorPipeline on all rows."
        )
    if not full.has_shared_columns:
        raise LearnerError(
            "The Riesz weights of a history must have the learner of the bias: set "
            "the debiaser's learner to 'calibrator'."
        )


def _stored_fits(
    full: FullFit, plans: list[FoldPlan], codes: NDArray[np.int64] | None
) -> StoredFits:
    """Fit every fold of all repeats, and sum up its rows."""
    # With the parameters that arrivals will be given, to the last digit.
    start = replace(full.start(), fit=full.chain.fit.fit)
    sample, sources, trained, tests = full.sample, start.sources, [], []
    is_grouped = sample.groups is not None
    for plan in plans:
        is_placed = places_all_models(sample, plan)
        for number, scales in enumerate(scales_of_training(sample, plan)):
            with located(f"Fold {number}"):
                training = training_set(sample, plan.held_out(number), scales)
                if not is_placed[number]:
                    check_placed(full, training)
                weights = [training.weight[rows.rows] for rows in sources]
                fit = start.refitted(weights).fit
            trained.append((fit, dict(grams_of(fit, sources, weights))))
            test = rows_held_out(sources, plan.held_out(number))
            test = with_codes(test, sample, codes)
            tests.append(HeldOut.of(fit, test, is_grouped=is_grouped))
    return StoredFits.of(start, trained, tests, is_grouped=is_grouped)


def with_codes(
    rows: list[SourceRows], sample: Sample, codes: NDArray[np.int64] | None
) -> list[SourceRows]:
    """Rows whose groups are codes of labels, also of those with one row here."""
    if sample.groups is None or codes is None:
        return rows
    return [replace(part, group=codes[sample.groups[part.rows]]) for part in rows]
