"""The state of a fitted history: everything that placing arrivals needs, and no row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._assembly import Inference, board_of, sums_of
from skanchor._battles import Comparisons
from skanchor._battles.checks import graded_shares, shares_by_label
from skanchor._battles.grouping import label_codes
from skanchor._battles.labels import label_index
from skanchor._btl import BTLRegressor
from skanchor._crossfit.cross_fit import FullFit
from skanchor._crossfit.fold_fits import FoldFits
from skanchor._crossfit.folds import FoldPlan, HeldOutShares, rows_held_out
from skanchor._crossfit.stages import Stages
from skanchor._crossfit.state import StoredFits
from skanchor._diagnostics import FitSums, ItemCheck
from skanchor._judges import JudgeCalibrator
from skanchor._model.item_effects import ItemCovariance
from skanchor._model.layout import Layout
from skanchor._model.sources import SourceRows
from skanchor._pipeline_fit import carried
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, LearnerError, located
from skanchor.history._counts import RowCounts
from skanchor.sample import Sample


@dataclass(frozen=True, eq=False)
class AllModels:
    """All historical models, where some were left out of the fit.

    Attributes
    ----------
    models : ndarray of shape (n,)
        Labels.
    scores : ndarray of shape (n,)
        Scores by the votes alone.
    n_human, n_judge : ndarray of shape (n,)
        Number of human and of judge rows.
    """

    models: NDArray[Any]
    scores: Array
    n_human: NDArray[np.intp]
    n_judge: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class GroupFolds:
    """Groups of dependent rows of the history, which arrivals may share.

    Attributes
    ----------
    codes : ndarray of shape (n_groups,)
        Code of the label of each group, from :func:`label_codes`.
    folds : ndarray of shape (n_repeats, n_groups)
        Fold that holds each group out; -1 for groups without a row that is used.
    """

    codes: NDArray[np.int64]
    folds: NDArray[np.intp]

    def places(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Number of the group of each label, the first one; -1 without any."""
        codes, order = label_codes(labels, "groups"), self._order
        at = np.searchsorted(self.codes, codes, sorter=order)
        at = order[np.minimum(at, len(order) - 1)]
        return np.where(self.codes[at] == codes, at, -1)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.codes, kind="stable")

    @classmethod
    def of(
        cls, labels: NDArray[Any], codes: NDArray[np.intp], plans: list[FoldPlan]
    ) -> GroupFolds:
        """Look up the fold of each group in the plans of its rows.

        ``codes`` are those of the rows among the ``labels``.
        """
        # All rows of a group have the same fold: any of them may be taken.
        folds = np.full((len(plans), len(labels)), -1)
        for of_groups, plan in zip(folds, plans, strict=True):
            used = plan.fold >= 0
            of_groups[codes[used]] = plan.fold[used]
        return cls(label_codes(labels, "groups"), folds)


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
    check : ItemCheck
        Test for item effects.
    treatment : str
        Treatment of the item effects.
    all_models : AllModels or None
        None if every historical model was fitted.
    groups : GroupFolds or None
        None without groups.
    fingerprints : dict
        Fingerprint of each judge for which one was given.
    facts : dict
        Numbers of rows and votes, and the share of graded verdicts of each judge that
        has any.
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

    models: NDArray[Any]
    judges: NDArray[Any]
    features: tuple[str, ...]
    fits: StoredFits
    repeats: tuple[int, ...]
    learners: tuple[Any, ...]
    items: ItemCovariance | None
    human_errors: Array
    unbounded: NDArray[np.bool_]
    sums: FitSums
    check: ItemCheck
    treatment: str
    all_models: AllModels | None = None
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

        Raises
        ------
        BattlesError
            If these settings allow no stored history.
        LearnerError
            If sums cannot stand for the rows of a learner.
        """
        full = inference.fit()
        chain, sample = full.chain, full.sample
        X = chain.X
        check_linear(full)
        fits, *folds = inference.fold_fits(full)
        if not fits.is_shared:
            raise LearnerError(
                "The Riesz weights of a history must have the learner of the bias: set "
                "the debiaser's learner to 'calibrator'."
            )
        stored = StoredFits.of(
            fits.full,
            parameters_of(fits.full.fit.layout, X, chain.calibrator),
            _parts(full, fits, *folds),
            is_grouped=fits.tested.groups is not None,
        )
        # ``stored`` adds the ranges, and some contrasts, of the features of each judge.
        fitted = sample.with_battles(X)
        sums = sums_of(full).stored(fitted)
        groups = None
        codes = inference.cells.groups
        if group_labels is not None and codes is not None:
            groups = GroupFolds.of(group_labels, codes, inference.fold_plan)
        return cls.assembled(
            full,
            inference.everyone,
            stored,
            sums,
            items=full.items,
            check=inference.check,
            treatment=inference.choice.item_effects,
            repeats=tuple(map(len, folds[0])),
            groups=groups,
            fingerprints=dict(fingerprints),
            counts=RowCounts.of(
                inference.everyone, inference.cells.cell, inference.fold_plan
            ),
        )

    @classmethod
    def assembled(
        cls,
        full: FullFit,
        everyone: Sample,
        fits: StoredFits,
        sums: FitSums,
        **others: Any,
    ) -> HistoryState:
        """Put together what rows, or batches of them, have given.

        Parameters
        ----------
        full : FullFit
            Fit of all rows, or of some of them that stand for all.
        everyone : Sample
            These rows with all models in their roles.
        fits, sums
            As the attributes.
        **others
            Further attributes.

        Returns
        -------
        HistoryState
        """
        sample, chain = full.sample, full.chain
        X = chain.X
        graded, _ = graded_shares(X, sample.y, sample.multiplicity, sample.counts)
        facts = {
            "rows": sample.number(sample.counts),
            "votes": sample.number(sample.counts & X.is_human),
            "graded_verdicts": shares_by_label(X.judges, graded),
        }
        human_errors, unbounded = errors_of_votes(X.models, chain.btl)
        return cls(
            X.models,
            X.judges,
            X.feature_names,
            fits,
            learners=learners_of(X, chain.calibrator),
            human_errors=human_errors,
            unbounded=unbounded,
            sums=sums,
            all_models=_all_models(full.stages, everyone, sample),
            facts=facts,
            unit=sample.unit,
            **others,
        )

    @property
    def lost(self) -> NDArray[Any]:
        """Labels of historical models that were left out of the fit."""
        if self.all_models is None:
            return self.models[:0]
        models = self.all_models.models
        return models[~np.isin(models, self.models)]

    # ------------------------------------------------------- fitted stages of all rows
    @cached_property
    def X(self) -> Comparisons:  # noqa: N802
        """No rows, with the labels of the history."""
        none, blank = np.arange(0), np.empty((0, len(self.features)))
        return Comparisons(
            self.models, self.judges, none, none, none, np.empty(0), blank, blank,
            self.features, new_models=(),
        )  # fmt: skip

    @cached_property
    def calibrator(self) -> JudgeCalibrator:
        """Calibrator with what was fitted to all rows."""
        x, layout = self.fits.x[0], self.fits.layout
        calibrator = JudgeCalibrator()
        calibrator.judges_ = self.judges
        calibrator.features_ = np.array(self.features, dtype=object)
        calibrator.choices_ = pd.DataFrame()
        calibrator.biases_ = {
            judge: learner
            for judge, learner in zip(self.judges.tolist(), self.learners, strict=True)
        }
        index = label_index(self.judges, "judge")
        values = {
            "sensitivities_": x[layout.sensitivities][1:],
            "position_effects_": x[layout.position_effects][1:],
            "has_position_effect_": np.array(layout.positions[1:], dtype=bool),
        }
        for name, by_judge in values.items():
            setattr(calibrator, name, pd.Series(by_judge, index))
        return calibrator

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

    @cached_property
    def _inflated(self) -> dict[bytes, ItemCovariance]:
        """Cache of :meth:`items_for`; keys are the judges as bytes."""
        return {}

    def items_for(self, seen: NDArray[np.bool_]) -> ItemCovariance | None:
        """Covariance of the item effects for new models compared by these judges.

        How much the estimated covariance is inflated depends on these judges.

        Parameters
        ----------
        seen : ndarray of shape (n_judges,)
            Mask of the judges.
        """
        if self.items is None:
            return None
        key = seen.tobytes()
        if key not in self._inflated:
            self._inflated[key] = self.items.for_judges(seen)
        return self._inflated[key]


def learners_of(X: Comparisons, calibrator: JudgeCalibrator) -> tuple[Any, ...]:
    """Fitted bias learner of each judge, None where there are no features."""
    judges = X.judges.tolist()
    if not X.feature_names:
        return (None,) * len(judges)
    return tuple(map(calibrator.biases_.get, judges))


def parameters_of(layout: Layout, X: Comparisons, calibrator: JudgeCalibrator) -> Array:
    """All parameters, as rows and learners carry them.

    Parameters
    ----------
    layout : Layout
        Of historical items.
    X : Comparisons
        Rows, or none, that carry scores, judges and item effects.
    calibrator : JudgeCalibrator
        Fitted.

    Returns
    -------
    ndarray of shape (size,)
    """
    x = carried(X, layout, None).x
    for source, learner in enumerate(learners_of(X, calibrator), start=1):
        if layout.widths[source]:
            x[layout.span(source)] = learner.coef_
    return x


def errors_of_votes(
    models: NDArray[Any], btl: BTLRegressor
) -> tuple[Array, NDArray[np.bool_]]:
    """Standard error of each score by votes alone, and which votes give no limit."""
    errors = btl.standard_errors_.reindex(models).to_numpy(np.float64)
    unbounded = pd.Series(btl.unbounded_, btl.models_).reindex(models, fill_value=False)
    return errors, unbounded.to_numpy(np.bool_)


def check_linear(full: FullFit) -> None:
    """Refuse settings under which sums cannot stand for rows."""
    stages, chain = full.stages, full.chain
    if chain.debiaser is None:
        raise BattlesError(
            "debiaser='passthrough' has no standard errors, so there is no history "
            "to store."
        )
    if stages.btl.bias is not None:
        raise LearnerError(
            "A history cannot be stored where people have a bias of their own "
            "(human_bias): fit all rows together, or keep it with human_bias=None."
        )
    judges = chain.X.judges.tolist()
    flexible = [
        judge
        for judge in judges
        if linearity(chain.calibrator.biases_.get(judge)) != "fixed"
    ]
    if flexible or not chain.debiaser.weighing_.has_spans:
        raise LearnerError(
            f"The learner of judges {(flexible or judges)[:5]} has no span, so that no "
            "sums can stand for their rows. Keep a linear learner, bias='linear' or "
            "LinearBias(feature_map=...), or fit AnchorPipeline on all rows.",
        )
    if stages.arrival.equation != "likelihood":
        raise BattlesError(
            "A history places new models by the likelihood: set the equation of the "
            "arrival to 'likelihood', or fit AnchorPipeline on all rows."
        )


def _parts(
    full: FullFit,
    fits: FoldFits,
    shares: list[HeldOutShares],
    test_shares: list[HeldOutShares],
) -> Iterator[tuple[list[Array], list[SourceRows]]]:
    """Training weights and held-out rows of each fold of all repeats."""
    tested = fits.tested
    for fitted, held_out in zip(shares, test_shares, strict=True):
        for number in range(len(fitted)):
            with located(f"Fold {number}"):
                training = fits.training(fitted[number])
                test = rows_held_out(fits.test_sources, held_out[number])
                yield (
                    [training.weight[part.rows] for part in fits.full.sources],
                    with_all_groups(test, tested),
                )


def with_all_groups(rows: list[SourceRows], sample: Sample) -> list[SourceRows]:
    """Rows with their groups, also where these have no other row here."""
    if sample.groups is None:
        return rows
    return [replace(part, group=sample.groups[part.rows]) for part in rows]


def _all_models(stages: Stages, everyone: Sample, admitted: Sample) -> AllModels | None:
    """All models of a history; None where all of them were fitted."""
    board = board_of(stages, everyone, admitted)
    if board is None:
        return None
    models, (scores, n_human, n_judge) = everyone.X.models, board
    return AllModels(models, scores.reindex(models).to_numpy(), n_human, n_judge)
