"""The chain of stages, fitted on all rows or on a training set."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._arrivals import ArrivalScorer
from skanchor._btl import BTLRegressor
from skanchor._comparisons import Comparisons
from skanchor._historical import HistoricalFit, fit_history
from skanchor._items import ItemCovariance, fit_deviations
from skanchor._judges import JudgeCalibrator
from skanchor._riesz import RieszDebiaser
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import learner_for
from skanchor.exceptions import (
    SkanchorWarning,
)
from skanchor.sample import Sample
from skanchor.warning_log import warn


@dataclass(frozen=True, slots=True)
class Chain:
    """Fitted stages, and the rows with all that they learned.

    ``is_joint``, ``two_step`` and ``excluded_judges`` are as in :class:`History`.
    """

    btl: BTLRegressor
    calibrator: JudgeCalibrator
    arrival: ArrivalScorer
    X: Comparisons
    is_joint: bool
    debiaser: RieszDebiaser | None = None
    two_step: HistoricalFit | None = None
    excluded_judges: frozenset[Any] = frozenset()

    @property
    def scores(self) -> Array:
        """Plug-in scores of all models."""
        assert self.X.scores is not None
        return self.X.scores

    @property
    def has_spans(self) -> bool:
        """Whether biases and weights are linear in columns, so that little is kept."""
        assert self.debiaser is not None
        learners = [*self.calibrator.biases_.values(), self.btl.bias_]
        system = self.debiaser.system_
        found = [*system.projections, system.people]
        learners += [one.learner for one in found if one is not None]
        return all(one is None or hasattr(one, "fit_span") for one in learners)

    def without_rows(self) -> Chain:
        """The same chain without the rows that it was fitted on."""
        return replace(self, X=self.X.without_rows(), two_step=None)

    def annotate(self, X: Comparisons) -> Comparisons:
        """Other rows, in the roles of the fit, with all that this chain has learned."""
        for stage in (self.btl, self.calibrator, self.arrival):
            X = stage.transform(X)
        return X.with_columns(
            scores=self.X.scores,
            deviations=self.X.deviations,
            item_covariance=self.X.item_covariance,
        )

    def influence(self, sample: Sample) -> Array:
        """Influence of other rows in the roles of the fit, (n_rows, n_models)."""
        assert self.debiaser is not None
        known = sample.with_battles(self.annotate(sample.X))
        return self.debiaser.influence_of_rows(known, np.arange(len(sample)))

    @property
    def unbounded(self) -> NDArray[np.bool_]:
        """Models whose score lies at a bound, or has none."""
        flags = np.zeros(len(self.X.models), dtype=bool)
        place = {model: i for i, model in enumerate(self.X.models.tolist())}
        for models, at_bound in (
            (self.btl.models_, self.btl.unbounded_),
            (self.arrival.new_models_, self.arrival.at_bound_),
        ):
            flags[[place[model] for model in models[at_bound].tolist()]] = True
        return flags


Fitted = TypeVar("Fitted", HistoricalFit, Chain)


def fit_stages(
    stages: Stages,
    sample: Sample,
    start: Chain | None = None,
    seed_offset: int = 0,
    item_fit: Chain | None = None,
) -> Chain:
    """Fit the stages of the plug-in, each on what the earlier ones have learned.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    sample : Sample
        Rows whose roles are decided; weights of zero leave rows out.
    start : Chain, optional
        Fitted on nearly the same rows. A training set that places models worse than
        it does is refused.
    seed_offset : int, default=0
        As in :meth:`skanchor._base.ComparisonEstimator.fit_sample`.
    item_fit : Chain, optional
        What :func:`complete` returned for nearly the same rows with item effects, where
        these follow: what their fit decides anew is only put in its place.

    Returns
    -------
    Chain
        Without Riesz weights.
    """
    history = fit_history(stages, sample, start, seed_offset, item_fit)
    return fit_arrivals(stages, history, sample, start, item_fit)


def fit_arrivals(
    stages: Stages,
    history: HistoricalFit,
    sample: Sample,
    start: Chain | None = None,
    item_fit: Chain | None = None,
) -> Chain:
    """Fit the scores of the new models, all else fixed.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    history : HistoricalFit
        Its rows, which carry what was learned, hold the arrivals.
    sample : Sample
        Outcomes, weights and groups of these rows.
    start, item_fit
        As in :func:`fit_stages`.

    Returns
    -------
    Chain
        Without Riesz weights.
    """
    if item_fit is not None:
        # Item effects decide the new scores with them, from wherever that starts.
        return replace(
            item_fit,
            btl=history.btl,
            calibrator=history.calibrator,
            X=_with_new_scores(history.X, item_fit.X),
            debiaser=None,
            two_step=history.two_step,
            excluded_judges=history.excluded_judges,
        )
    # Arrival rows have score differences that are linear in the new scores alone.
    arrival = clone(stages.arrival)
    near = None if start is None else start.arrival
    arrival.fit_sample(sample.with_battles(history.X), near)
    return Chain(
        history.btl,
        history.calibrator,
        arrival,
        arrival.transform(history.X),
        stages.fits_jointly(history.X),
        two_step=history.two_step,
        excluded_judges=history.excluded_judges,
    )


def _with_new_scores(X: Comparisons, near: Comparisons) -> Comparisons:
    """Rows with the new scores and deviations of other ones, of the same models."""
    assert X.scores is not None and near.scores is not None
    scores = np.where(X.is_new, near.scores, X.scores)
    if X.deviations is None or near.deviations is None:
        return X.with_columns(scores=scores)
    deviations = np.where(X.is_new, near.deviations, X.deviations)
    return X.with_columns(scores=scores, deviations=deviations)


def add_item_effects(
    stages: Stages,
    known: Fitted,
    sample: Sample,
    items: ItemCovariance | None,
    start: Chain | None = None,
) -> Fitted:
    """Fit the item effects beside judges and new scores, where there are any.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    known : HistoricalFit or Chain
        Fitted without item effects.
    sample : Sample
        Outcomes, weights and groups of its rows.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    start : Chain, optional
        What :func:`complete` returned for nearly the same rows.

    Returns
    -------
    HistoricalFit or Chain
        As ``known``.
    """
    if items is None:
        return known
    near = None if start is None else (start.X, start.calibrator)
    X, calibrator, human_bias = fit_deviations(
        sample.with_battles(known.X),
        known.calibrator,
        items.covariance,
        near,
        joint=stages.fits_jointly(known.X),
        human_bias=known.btl.bias_,
        excluded_judges=known.excluded_judges,
        bounds=stages.arrival.score_bounds,
    )
    # A shallow copy, so that the stage fitted without item effects keeps its bias.
    btl = copy(known.btl)
    btl.bias_ = human_bias
    return replace(known, btl=btl, X=X, calibrator=calibrator)


def complete(
    stages: Stages,
    plugged: Chain,
    sample: Sample,
    items: ItemCovariance | None,
    start: Chain | None = None,
    seed_offset: int = 0,
) -> Chain:
    """Add the item effects and the Riesz weights.

    Parameters
    ----------
    stages : Stages
        Unfitted.
    plugged : Chain
        What :func:`fit_stages` returned for the sample.
    sample : Sample
        Rows whose roles are decided.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.
    start : Chain, optional
        What this function returned for nearly the same rows.
    seed_offset : int, default=0
        As in :func:`fit_stages`.

    Returns
    -------
    Chain
    """
    chain = add_item_effects(stages, plugged, sample, items, start)
    X, calibrator, debiaser = chain.X, chain.calibrator, None
    if stages.debiaser is not None:
        debiaser = clone(stages.debiaser)
        # Choices that the calibrator has made, of learners and ridges, are taken over.
        debiaser.learner = calibrator.follow(debiaser.learner)
        debiaser.set_params(human_bias=chain.btl.bias_)
        if start is None:
            _warn_of_narrow_weights(calibrator, debiaser)
        debiaser.fit_sample(sample.with_battles(X), seed_offset=seed_offset)
    return replace(chain, debiaser=debiaser)


def _warn_of_narrow_weights(calibrator: JudgeCalibrator, debiaser: Any) -> None:
    """Warn where the bias may curve and the weights' functions may not."""
    narrow = [
        judge
        for judge, learner in calibrator.biases_.items()
        if linearity(learner) != "fixed"
        and linearity(learner_for(debiaser.learner, judge)) == "fixed"
    ]
    if narrow:
        warn(
            SkanchorWarning(
                f"The bias of judges {narrow[:5]} has a flexible learner, but the "
                "Riesz weights have one that is linear in fixed columns: the "
                "correction then misses the part of the bias that is not linear, and "
                "intervals may be too short. Set the debiaser's learner to "
                "'calibrator', or leave debiaser at None.",
                code="narrow-weights",
                subject=narrow,
            )
        )
