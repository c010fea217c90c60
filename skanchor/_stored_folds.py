"""A history fitted once and stored as sums, and new models placed with these sums.

Once the nuisances of a fold are fixed, the historical rows enter the inference only
through sums. So a fold is fitted on its historical rows, and only sums are stored.
When rows of new models arrive, their scores are fitted, their sums are added, and one
small system is solved. Estimate and covariance equal those of a cross-fit of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._btl import BTLRegressor
from skanchor._chain import Chain, add_item_effects, fit_arrivals
from skanchor._comparisons import Comparisons
from skanchor._comparisons.labels import argsort_labels, positions, same_labels
from skanchor._diagnostics import FitSums
from skanchor._engine import CrossFit, FoldFit, FullFit, collect_folds
from skanchor._folds import Fold, FoldPlan, as_folds, plan_weights
from skanchor._historical import HistoricalFit, fit_history
from skanchor._items import ItemCovariance, judges_of_arrivals
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.field_state import FieldState
from skanchor._placement import FoldStack, place
from skanchor._riesz import RowEvidence, SplitSums, WeightLearner, weight_learners
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.exceptions import LearnerError, located
from skanchor.sample import Sample
from skanchor.warning_log import WarningLog


@dataclass(frozen=True, eq=False)
class StoredFold:
    """A fit of historical rows, and the sums that replace these rows.

    Attributes
    ----------
    btl, calibrator : BTLRegressor, JudgeCalibrator
        Fitted.
    X : Comparisons
        No rows; scores, judges' parameters and deviations of the historical models.
    learners : list of WeightLearner
        Of the Riesz weights, by judge.
    sums : SplitSums
        Over training rows and rows held out.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    X: Comparisons
    learners: list[WeightLearner]
    sums: SplitSums

    @classmethod
    def of(
        cls,
        stages: Stages,
        known: HistoricalFit,
        training: Sample,
        held: Sample,
        held_out: NDArray[np.intp],
    ) -> StoredFold:
        """Store a fit and the sums of its rows.

        Parameters
        ----------
        stages : Stages
            Unfitted.
        known : HistoricalFit
            Fitted on the training rows, item effects included where there are any.
        training : Sample
            The historical rows, with training weights.
        held : Sample
            The historical rows, with the weights of those held out.
        held_out : ndarray of shape (n_held_out,)
            Row numbers of these.

        Returns
        -------
        StoredFold

        Raises
        ------
        LearnerError
            If a learner has no span: it needs the rows.
        """
        # Training rows give the information, the rows held out their residuals.
        rows = RowEvidence.of(training.with_battles(known.X), training.weight)
        rest = RowEvidence.held(held.with_battles(known.X), held_out)
        assert stages.debiaser is not None
        learner = known.calibrator.follow(stages.debiaser.learner)
        learners = weight_learners(known.X, rows.curvature, learner)
        flexible = [
            judge
            for judge, own in zip(known.X.judges.tolist(), learners, strict=True)
            if not own.has_span
        ]
        if flexible:
            raise LearnerError(
                f"The learner of judges {flexible[:5]} has no span, so that no sums "
                "can stand for their rows. Keep a linear learner, bias='linear' or "
                "LinearBias(feature_map=...), or fit AnchorPipeline on all rows.",
            )
        sums = SplitSums(rows.training_sums(learners), rest.held_out_sums(learners))
        return cls(known.btl, known.calibrator, known.X.without_rows(), learners, sums)

    def place(
        self,
        stages: Stages,
        arrivals: Sample,
        training: Array,
        held_out: NDArray[np.intp],
        items: ItemCovariance | None,
        near: Chain | None = None,
    ) -> tuple[Chain, FoldFit]:
        """Fit the scores of the new models, and add their rows to the stored sums.

        Parameters
        ----------
        stages : Stages
            Unfitted.
        arrivals : Sample
            Rows in the vocabulary of all models, with their weights.
        training : ndarray of shape (n_rows,)
            Training weights.
        held_out : ndarray of shape (n_held_out,)
            Row numbers.
        items : ItemCovariance or None
            Covariance of the item effects; None leaves them out.
        near : Chain, optional
            All rows placed, near which the new scores are looked for.

        Returns
        -------
        chain : Chain
        fold : FoldFit
        """
        sample = arrivals.weighted(training)
        # Scores, judges and deviations of the history stay fixed; the new scores and
        # their deviations are fitted to the arrivals.
        X = self._annotate(sample.X)
        known = HistoricalFit(self.btl, self.calibrator, X)
        item_fit = None if items is None else near
        plugged = fit_arrivals(stages, known, sample, near, item_fit=item_fit)
        chain = add_item_effects(stages, plugged, sample, items)
        X = chain.X
        rows = RowEvidence.of(arrivals.with_battles(X), training, held_out)
        # The history's items among those of history and arrivals.
        places = positions(self.X.models, X.models)
        evidence = [self.sums.embed(places, len(X.models)), rows]
        assert stages.debiaser is not None
        debiaser = clone(stages.debiaser).fit_evidence(X, evidence, self.learners)
        chain = replace(chain, debiaser=debiaser)
        sums = debiaser.influence_sums(evidence)
        return chain, FoldFit.of(chain, sums, chain.without_rows())

    def _annotate(self, X: Comparisons) -> Comparisons:
        """Add the history's scores, judges and deviations to rows of new models."""
        known = self.X.relabel(X.models, X.judges)
        u = known.deviations
        return self.calibrator.transform(X).with_columns(
            scores=known.scores,
            sensitivities=known.sensitivities,
            position_effects=known.position_effects,
            deviations=None if u is None else np.nan_to_num(u),
        )


@dataclass(frozen=True, eq=False, slots=True)
class PlacedArrivals:
    """New models, placed by a history.

    Attributes
    ----------
    full : FullFit
        Fit of all rows, those of the history by their sums. Its rows are the arrivals,
        in the vocabulary of all models.
    found : CrossFit
        What the folds add up to; its influence is that of the arrivals.
    sums : FitSums or None
        Of the arrivals, for diagnostics; None where their rows are to be looked at.
    """

    full: FullFit
    found: CrossFit
    sums: FitSums | None


@dataclass(frozen=True, eq=False)
class StoredHistory(FieldState):
    """History of a cross-fit, by which arrivals are placed.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    whole : StoredFold
        Of all rows.
    repeats : list of list of StoredFold
        By repeat and fold.
    """

    stages: Stages
    items: ItemCovariance | None
    whole: StoredFold
    repeats: list[list[StoredFold]]

    @classmethod
    def of(
        cls, full: FullFit, plans: Sequence[Sequence[Fold] | FoldPlan]
    ) -> StoredHistory:
        """Fit every fold of every repeat, and store its sums.

        Parameters
        ----------
        full : FullFit
            The fit of all historical rows.
        plans : sequence of sequence of Fold, or of (train, test)
            Folds of each repeat.

        Returns
        -------
        StoredHistory
        """
        stages, sample, chain = full.stages, full.sample, full.chain
        if stages.btl.bias is not None:
            raise LearnerError(
                "A history cannot be stored where people have a bias of their own "
                "(human_bias): fit all rows together, or keep it with human_bias=None."
            )
        fitted = HistoricalFit(chain.btl, chain.calibrator, chain.X)
        none = np.arange(0)
        whole = StoredFold.of(stages, fitted, sample, sample, none)
        seed_offset = count(1)
        repeats = [
            [
                _store_fold(full, number, next(seed_offset), fold)
                for number, fold in enumerate(as_folds(plan))
            ]
            for plan in plans
        ]
        return cls(stages, full.items, whole, repeats)

    def place(self, arrivals: Sample, plans: Sequence[FoldPlan]) -> PlacedArrivals:
        """Estimate and covariance of all scores, once new models have arrived.

        Parameters
        ----------
        arrivals : Sample
            Rows that involve a new model, in their roles.
        plans : sequence of FoldPlan
            Folds of these rows in each repeat, as many as the history has.

        Returns
        -------
        PlacedArrivals
        """
        arrivals = self._admit(arrivals)
        # How much the estimated covariance is inflated depends on which judges compare
        # the new models.
        items = self._items_for(judges_of_arrivals(arrivals.X))
        splits = [split for plan in plans for split in enumerate(plan)]
        training = [own for plan in plans for own in plan_weights(arrivals, plan)]
        tests = [test for _, (_, test) in splits]
        placed = None
        if self._stack is not None:
            placed = place(
                self._stack, self.whole, self.stages, arrivals, training, tests, items
            )
        done: list[tuple[FoldFit, list[Warning]]] = []
        if placed is None:
            none, weight = np.arange(0), arrivals.weight
            chain, _ = self.whole.place(self.stages, arrivals, weight, none, items)
            sums = None
            for fold, (number, _), own, test in zip(
                self._folds, splits, training, tests, strict=True
            ):
                with located(f"Fold {number}"), WarningLog() as log:
                    _, found = fold.place(
                        self.stages, arrivals, own, test, items, chain
                    )
                done.append((found, log.found))
        else:
            chain, sums = placed.chain, placed.sums
            done = [(fold, []) for fold in placed.folds]
        plugged = replace(chain, debiaser=None)
        full = FullFit(self.stages, arrivals, plugged, items, chain)
        return PlacedArrivals(full, collect_folds(full, plans, done), sums)

    @cached_property
    def _stack(self) -> FoldStack | None:
        """The fit of all rows and all folds, as arrays; None where these differ."""
        return FoldStack.of([self.whole, *self._folds])

    @property
    def _folds(self) -> list[StoredFold]:
        return [fold for folds in self.repeats for fold in folds]

    @cached_property
    def _inflated(self) -> dict[bytes, ItemCovariance]:
        """Cache of :meth:`_items_for`; keys are the judges as bytes."""
        return {}

    def _items_for(self, seen: NDArray[np.bool_]) -> ItemCovariance | None:
        """Covariance of the item effects for new models compared by these judges."""
        if self.items is None:
            return None
        key = seen.tobytes()
        if key not in self._inflated:
            self._inflated[key] = self.items.for_judges(seen)
        return self._inflated[key]

    def _admit(self, arrivals: Sample) -> Sample:
        """Encode rows by all models and judges, models sorted by label."""
        known, X = self.whole.X, arrivals.X
        models = np.concatenate([known.models, X.models[X.is_new]])
        models = models[argsort_labels(models, "model_a and model_b")]
        if same_labels(models, X.models) and same_labels(known.judges, X.judges):
            # The same object, so that what it has cached is used again.
            return arrivals
        return arrivals.with_battles(X.relabel(models, known.judges))


def _store_fold(
    full: FullFit,
    number: int,
    seed_offset: int,
    fold: Fold,
) -> StoredFold:
    """Fit the training rows of a fold; store sums of these and of the held-out rows."""
    with located(f"Fold {number}"):
        training, held = fold.training(full.sample), fold.held_out(full.sample)
        known = fit_history(
            full.stages, training, full.plugged, seed_offset, full.item_fit
        )
        known = add_item_effects(full.stages, known, training, full.items, full.chain)
        return StoredFold.of(full.stages, known, training, held, fold.test)
