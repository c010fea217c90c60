"""History that is fitted once and kept as sums, and arrivals that are placed by it.

Once the nuisances of a fold are fixed, the historical rows enter the inference only
through sums. A fold is therefore fitted on its historical rows, which are then let go;
arrivals that come later are scored, their sums added, one small system solved, and
estimate and covariance are those that the cross-fit of all rows together would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._typing import Array
from skanchor.btl import BTLRegressor
from skanchor.chain import Chain, Stages, add_item_effects, fit_arrivals
from skanchor.comparisons import Comparisons
from skanchor.comparisons.labels import argsort_labels, positions
from skanchor.engine import CrossFit, FoldFit, FullFit, RowInfluence, sum_up
from skanchor.exceptions import Advice, LearnerError, Remedy, located
from skanchor.folds import FoldPlan, training_weights
from skanchor.historical import History, fit_history
from skanchor.items import ItemCovariance, judges_of_arrivals
from skanchor.judges import JudgeCalibrator
from skanchor.placement import FoldStack, place_folds, place_whole
from skanchor.riesz import KeptSums, RowEvidence, WeightLearner
from skanchor.sample import Sample
from skanchor.warning_log import WarningLog, warn, warn_of_folds

__all__ = ["KeptFold", "KeptHistory"]


@dataclass(frozen=True, eq=False)
class KeptFold:
    """A fit of historical rows, and the sums that stand for them.

    Attributes
    ----------
    btl, calibrator : BTLRegressor, JudgeCalibrator
        Fitted.
    X : Comparisons
        No rows; scores, judges' parameters and deviations of the historical models.
    learners : list of WeightLearner
        Of the Riesz weights, by judge.
    sums : KeptSums
        Over training rows and rows held out.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    X: Comparisons
    learners: list[WeightLearner]
    sums: KeptSums

    @classmethod
    def of(
        cls,
        stages: Stages,
        known: History,
        sample: Sample,
        training: Array,
        held_out: NDArray[np.intp],
    ) -> KeptFold:
        """Sum fitted historical rows.

        Parameters
        ----------
        stages : Stages
            Unfitted.
        known : History
            Fitted on the training rows, item effects included where there are any.
        sample : Sample
            The historical rows.
        training : ndarray of shape (n_rows,)
            Training weights.
        held_out : ndarray of shape (n_held_out,)
            Row numbers.

        Returns
        -------
        KeptFold

        Raises
        ------
        LearnerError
            If a learner has no span: it needs the rows.
        """
        rows = RowEvidence.of(sample.with_battles(known.X), training, held_out)
        assert stages.debiaser is not None
        learner = known.calibrator.follow(stages.debiaser.learner)
        learners = stages.debiaser.learners(known.X, rows.curvature, learner)
        flexible = [
            judge
            for judge, own in zip(known.X.judges.tolist(), learners, strict=True)
            if not own.has_span
        ]
        if flexible:
            raise LearnerError(
                f"The learner of judges {flexible[:5]} has no span, so that no sums "
                "can stand for their rows.",
                advice=Advice(Remedy.KEEP_LINEAR),
            )
        sums = rows.kept(learners)
        return cls(known.btl, known.calibrator, known.X[:0], learners, sums)

    def place(
        self,
        stages: Stages,
        arrivals: Sample,
        training: Array,
        held_out: NDArray[np.intp],
        items: ItemCovariance | None,
        near: Chain | None = None,
    ) -> tuple[Chain, FoldFit]:
        """Score arrivals, and add their sums to those of the history.

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
        X = self._annotate(sample.X)
        known = History(self.btl, self.calibrator, X)
        deviating = None if items is None else near
        plugged = fit_arrivals(stages, known, sample, near, deviating=deviating)
        chain = add_item_effects(stages, plugged, sample, items)
        X = chain.X
        rows = RowEvidence.of(arrivals.with_battles(X), training, held_out)
        places = positions(self.X.models, X.models)
        evidence = [self.sums.spread(places, len(X.models)), rows]
        assert stages.debiaser is not None
        debiaser = clone(stages.debiaser).fit_evidence(X, evidence, self.learners)
        chain = replace(chain, debiaser=debiaser)
        sums = debiaser.influence_sums(evidence)
        return chain, FoldFit.of(chain, sums, chain.without_rows())

    def _annotate(self, X: Comparisons) -> Comparisons:
        """Arrival rows with what the history has learned."""
        known = self.X.relabel(X.models, X.judges)
        u = known.deviations
        return self.calibrator.transform(X).with_columns(
            scores=known.scores,
            sensitivities=known.sensitivities,
            position_effects=known.position_effects,
            deviations=None if u is None else np.nan_to_num(u),
        )


@dataclass(frozen=True, eq=False)
class KeptHistory:
    """History of a cross-fit, by which arrivals are placed.

    Attributes
    ----------
    stages : Stages
        Unfitted.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    whole : KeptFold
        Of all rows.
    repeats : list of list of KeptFold
        By repeat and fold.
    """

    stages: Stages
    items: ItemCovariance | None
    whole: KeptFold
    repeats: list[list[KeptFold]]

    @classmethod
    def of(cls, full: FullFit, plans: Sequence[FoldPlan]) -> KeptHistory:
        """Fit and keep every fold of every repeat.

        Parameters
        ----------
        full : FullFit
            The fit of all historical rows.
        plans : sequence of FoldPlan
            Folds of each repeat.

        Returns
        -------
        KeptHistory
        """
        stages, sample, chain = full.stages, full.sample, full.chain
        if stages.btl.bias is not None:
            raise LearnerError(
                "A history cannot be kept where people have a bias of their own "
                "(human_bias): fit all rows together, or keep it with human_bias=None."
            )
        fitted = History(chain.btl, chain.calibrator, chain.X)
        none = np.arange(0)
        whole = KeptFold.of(stages, fitted, sample, sample.weight, none)
        seed_offset = count(1)
        repeats = [
            [
                _keep_fold(full, number, next(seed_offset), train, test)
                for number, (train, test) in enumerate(plan)
            ]
            for plan in plans
        ]
        return cls(stages, full.items, whole, repeats)

    def place(self, arrivals: Sample, plans: Sequence[FoldPlan]) -> CrossFit:
        """Estimate and covariance of all scores, once new models have arrived.

        Parameters
        ----------
        arrivals : Sample
            Rows that involve a new model, in their roles.
        plans : sequence of FoldPlan
            Folds of these rows in each repeat, as many as the history has.

        Returns
        -------
        CrossFit
            Its influence is that of the arrivals.
        """
        return self.cross_fit(self.fit_arrivals(arrivals), plans)

    def fit_arrivals(self, arrivals: Sample) -> FullFit:
        """Fit of all rows, those of the history by their sums.

        Parameters
        ----------
        arrivals : Sample
            Rows that involve a new model, in their roles.

        Returns
        -------
        FullFit
            Its rows are the arrivals, in the vocabulary of all models.
        """
        arrivals = self._admit(arrivals)
        items = self._items_for(judges_of_arrivals(arrivals.X))
        stack = self._stack
        chain = None
        if stack is not None:
            chain = place_whole(stack[:1], self.whole, self.stages, arrivals, items)
        if chain is None:
            none, weight = np.arange(0), arrivals.weight
            chain, _ = self.whole.place(self.stages, arrivals, weight, none, items)
        plugged = replace(chain, debiaser=None)
        return FullFit(self.stages, arrivals, plugged, items, chain)

    def cross_fit(self, full: FullFit, plans: Sequence[FoldPlan]) -> CrossFit:
        """Place the arrivals by every fold; warn of what the folds warn of.

        Parameters
        ----------
        full : FullFit
            What :meth:`fit_arrivals` returned.
        plans : sequence of FoldPlan
            Folds of the arrivals in each repeat, as many as the history has.

        Returns
        -------
        CrossFit
            Its influence is that of the arrivals.
        """
        by_fold: dict[int, list[Warning]] = {}
        repeats, influence = [], []
        at_once = self._place_at_once(full, plans)
        for folds, plan in zip(self.repeats, plans, strict=True):
            placed: list[FoldFit] = []
            if at_once is not None:
                placed, at_once = at_once[: len(plan)], at_once[len(plan) :]
            else:
                for number, split in enumerate(plan):
                    with located(f"Fold {number}"), WarningLog() as log:
                        placed.append(self._place(full, folds[number], *split))
                    by_fold.setdefault(number, []).extend(log.found)
            repeats.append(sum_up(full, placed))
            kept = [fold.influence for fold in placed]
            influence.append(list(zip([test for _, test in plan], kept, strict=True)))
        warn_of_folds(by_fold)
        for repeat in repeats:
            if repeat.instability is not None:
                warn(repeat.instability)
        return CrossFit(repeats, RowInfluence(full.sample, influence))

    @cached_property
    def _stack(self) -> FoldStack | None:
        """The fit of all rows and the folds of all repeats, side by side."""
        folds = [fold for folds in self.repeats for fold in folds]
        return FoldStack.of([self.whole, *folds])

    @cached_property
    def _inflated(self) -> dict[bytes, ItemCovariance]:
        """Covariances of the item effects by the judges that see the arrivals."""
        return {}

    def _items_for(self, seen: NDArray[np.bool_]) -> ItemCovariance | None:
        """Covariance of the item effects for arrivals that these judges see."""
        if self.items is None:
            return None
        key = seen.tobytes()
        if key not in self._inflated:
            self._inflated[key] = self.items.for_judges(seen)
        return self._inflated[key]

    def _place_at_once(
        self, full: FullFit, plans: Sequence[FoldPlan]
    ) -> list[FoldFit] | None:
        """Place the arrivals by all folds; None where each is to be looked at."""
        stack = self._stack
        if stack is None:
            return None
        training, tests = [], []
        for plan in plans:
            for number, (train, test) in enumerate(plan):
                with located(f"Fold {number}"):
                    training.append(training_weights(full.sample, train))
                tests.append(test)
        return place_folds(
            stack[1:], self.stages, full.sample, training, tests, full.items
        )

    def _place(
        self,
        full: FullFit,
        fold: KeptFold,
        train: NDArray[np.intp],
        test: NDArray[np.intp],
    ) -> FoldFit:
        """Place the arrivals by one fold."""
        training = training_weights(full.sample, train)
        return fold.place(
            self.stages, full.sample, training, test, full.items, full.chain
        )[1]

    def _admit(self, arrivals: Sample) -> Sample:
        """Arrivals in the vocabulary of all models, in the order of their labels."""
        known, X = self.whole.X, arrivals.X
        models = np.concatenate([known.models, X.models[X.is_new]])
        models = models[argsort_labels(models, "model_a and model_b")]
        return arrivals.with_battles(X.relabel(models, known.judges))


def _keep_fold(
    full: FullFit,
    number: int,
    seed_offset: int,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> KeptFold:
    """Fit the training rows of a fold, and sum these and the rows held out."""
    with located(f"Fold {number}"):
        training = full.sample.weighted(training_weights(full.sample, train))
        known = fit_history(
            full.stages, training, full.plugged, seed_offset, full.deviating
        )
        known = add_item_effects(full.stages, known, training, full.items, full.chain)
        return KeptFold.of(full.stages, known, full.sample, training.weight, test)
