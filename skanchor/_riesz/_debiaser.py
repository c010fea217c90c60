"""Riesz weights: how much the residual of each row corrects each score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import HasMethods, Interval

from skanchor._base import ComparisonEstimator
from skanchor._comparisons import Comparisons, usable_features
from skanchor._numerics.arrow import ArrowMatrix
from skanchor._numerics.information import JudgeBlock
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.system import RieszSystem
from skanchor._riesz._blocks import (
    judge_blocks,
    people_block,
    riesz_problem,
)
from skanchor._riesz._evidence import (
    Evidence,
    RowEvidence,
)
from skanchor._riesz._influence import InfluenceSums
from skanchor._riesz._learners import (
    NO_BIAS,
    WeightLearner,
    human_learner,
    weight_learners,
)
from skanchor._riesz._projection import (
    fit_projections,
    judges_to_fit,
)
from skanchor._riesz._rows import row_influence, row_weights, summed_squares
from skanchor._typing import Array
from skanchor.bias import BiasLearner
from skanchor.bias.registry import LEARNER_CONSTRAINT, make_learner
from skanchor.exceptions import BattlesError, SkanchorWarning
from skanchor.sample import Battles, Sample, check_weight
from skanchor.warning_log import warn


def _own_learner(learner: Any) -> Any:
    """The learner that a string names, if it is not another stage's."""
    if learner == "calibrator":
        raise ValueError(
            "learner='calibrator' is the learner of AnchorPipeline's calibrator, and "
            "has no parameters of its own here: set those of calibrator__bias, or "
            "first set debiaser__learner to a learner."
        )
    return make_learner(learner)


class RieszDebiaser(ComparisonEstimator):
    """Riesz weights of every score, from rows with a complete plug-in.

    Parameters
    ----------
    learner : str, learner or dict, default="linear"
        Learner of the functions gamma of the Riesz weights, as in
        :class:`JudgeCalibrator`. Inside :class:`AnchorPipeline` it may be
        ``"calibrator"``, which means the learner of the calibrator. If the learner has
        a linear span, the weights are exact. If it has none, the gradient columns are
        regressed on its contrasts by weighted least squares, one fit for every target.
    inner_folds : int, default=2
        Inner folds of these regressions. The information uses out-of-fold residuals,
        and other rows are corrected by the mean over the folds' learners. With one fold
        it uses in-sample residuals, which is valid for learners that cannot overfit.
    human_bias : learner, optional
        Fitted bias of people, which :class:`AnchorPipeline` sets to ``bias_`` of its
        :class:`BTLRegressor`; None if people have none.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_ : ndarray of shape (n_models,)
        Targets: the score of each model, historical ones centred.
    information_ : ndarray of shape (p, p)
        Information of the free parameters after the bias functions.
    system_ : RieszSystem
        The solved system: weights, targets and information of all parameters.
    undetermined_ : ndarray of shape (n_models,)
        Whether the rows leave a score undetermined.
    identity_error_ : float
        Largest entry of ``|sum omega a V xi - l|``; zero up to rounding for linear
        spans.

    Raises
    ------
    BattlesError
        If the rows lack scores, sensitivities or biases.

    Notes
    -----
    Minimises eq:direct-riesz-objective-v2 for all targets in one factorisation.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from skanchor import ArrivalScorer, BTLRegressor, JudgeCalibrator, RieszDebiaser
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> chain = make_pipeline(BTLRegressor(), JudgeCalibrator(), ArrivalScorer())
    >>> plugged = chain.fit(data.X, data.y).transform(data.X)
    >>> debiaser = RieszDebiaser().fit(plugged, data.y)
    >>> debiaser.influence(plugged, data.y).shape
    (8500, 11)
    """

    system_: RieszSystem
    _stands_for: ClassVar = {"learner": _own_learner}
    _parameter_constraints: ClassVar = {
        **ComparisonEstimator._parameter_constraints,
        "learner": LEARNER_CONSTRAINT,
        "inner_folds": [Interval(Integral, 1, None, closed="left")],
        "human_bias": [HasMethods(["contrast", "set_params"]), None],
    }

    def __init__(
        self,
        learner: str | BiasLearner = "linear",
        *,
        inner_folds: int = 2,
        human_bias: str | BiasLearner | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.learner = learner
        self.inner_folds = inner_folds
        self.human_bias = human_bias
        self.unseen = unseen

    def _fit(
        self,
        sample: Sample,
        start: RieszDebiaser | None = None,
        seed_offset: int = 0,
    ) -> None:
        eta = sample.X.logits()
        used = sample.counts & np.isfinite(eta)
        if self.human_bias is None:
            used &= ~sample.X.is_human
        sample = sample.with_battles(usable_features(sample.X, used))
        rows = RowEvidence.of(sample, sample.weight)
        X, curvature = sample.X, rows.curvature
        learners = weight_learners(X, curvature, self._part("learner"))
        human = human_learner(X, curvature, self.human_bias)
        people = people_block([rows], human if human.has_span else NO_BIAS)
        blocks = dict(enumerate(judge_blocks([rows], learners)))
        fits = judges_to_fit(sample, curvature, learners, human)
        fitted = fit_projections(fits, self.inner_folds, seed_offset)
        for fit, block in zip(fits, fitted, strict=True):
            blocks[fit.judge] = block
        # People have a block here only if a learner without a span projected theirs.
        people = blocks.pop(PEOPLE, None) or people
        self.fit_blocks(X, people, blocks.values())
        keys, codes = X.rows.source_keys, X.rows.sources
        weight = np.where(np.isfinite(eta), sample.weight, 0.0)
        totals = np.bincount(codes + 1, weight)[1:]
        self._source_totals = list(zip(keys, totals.tolist(), strict=True))

    def fit_evidence(
        self,
        X: Comparisons,
        evidence: Sequence[Evidence],
        learners: Sequence[WeightLearner],
    ) -> Self:
        """Solve for the weights from rows or sums of rows.

        Parameters
        ----------
        X : Comparisons
            Rows, or none, that carry the plug-in.
        evidence : sequence of Evidence
            Training rows, or stored sums of them.
        learners : sequence of WeightLearner
            By judge; all with a span.

        Returns
        -------
        self
        """
        blocks = judge_blocks(evidence, learners)
        return self.fit_blocks(X, people_block(evidence), blocks)

    def fit_blocks(
        self, X: Comparisons, people: JudgeBlock, blocks: Iterable[JudgeBlock | None]
    ) -> Self:
        """Solve for the weights from information whose biases are profiled out.

        Parameters
        ----------
        X : Comparisons
            Rows, or none, that carry the plug-in.
        people : JudgeBlock
            Of the human rows.
        blocks : iterable of JudgeBlock or None
            By judge; None where a judge has no rows.

        Returns
        -------
        self
        """
        self.system_ = riesz_problem(X, people).solve(blocks)
        self.models_, self.judges_ = X.models, X.judges
        self.identity_error_ = float(np.abs(self.system_.gap).max())
        self._check_determined()
        return self

    @property
    def information_(self) -> Array:
        """Information J of the joint system, of shape (p, p)."""
        information = self.system_.information
        if isinstance(information, ArrowMatrix):
            return information.dense()
        return information

    def influence_sums(self, evidence: Sequence[Evidence]) -> InfluenceSums:
        """Correction and sampling covariance from the rows held out.

        Parameters
        ----------
        evidence : sequence of Evidence
            Held-out rows, or stored sums of them.

        Returns
        -------
        InfluenceSums
        """
        found = (one.influence(self.system_) for one in evidence)
        return reduce(add, found).with_closed_groups()

    def _check_determined(self) -> None:
        """Flag scores that the information does not determine, and warn of them."""
        lost = self.system_.undetermined
        self.undetermined_ = lost
        if lost.any():
            warn(
                SkanchorWarning(
                    "The rows do not determine the scores of "
                    f"{self.models_[lost].tolist()[:5]}; their intervals are not "
                    "valid.",
                    code="unidentified-scores",
                    subject=self.models_[lost],
                )
            )

    def _aligned(self, X: Battles) -> Comparisons:
        encoded = self._encode(X)
        aligned = encoded.relabel(self.models_, self.judges_)
        lacks_judges = len(self.judges_) > 0 and aligned.sensitivities is None
        if aligned.scores is None or lacks_judges:
            raise BattlesError(
                "RieszDebiaser needs comparisons that carry scores, sensitivities and "
                "biases; transform them with the fitted earlier stages first."
            )
        return aligned

    def weights(self, X: Battles) -> Array:
        """Riesz weights of rows.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            Weight a of each row's residual in the score of each of ``models_``, in
            logits; zero for rows that cannot be used.
        """
        aligned = self._aligned(X)
        rows = np.flatnonzero(self._valid(aligned))
        weights = np.zeros((len(aligned), len(self.models_)))
        weights[rows] = row_weights(self.system_, aligned, rows)
        return weights

    def influence(self, X: Battles, y: ArrayLike) -> Array:
        """Weight times residual of each row, the terms of the correction.

        Their sum is that of eq:arrival-residual-correction-v2.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.
        y : array-like of shape (n_rows,)
            Outcomes.

        Returns
        -------
        ndarray of shape (n_rows, n_models)
            In logits of each score.
        """
        aligned = self._aligned(X)
        rows = np.arange(len(aligned))
        values = self._outcome_values(aligned, y)
        return row_influence(self.system_, aligned, values, rows)

    def influence_of_rows(self, sample: Sample, rows: NDArray[np.intp]) -> Array:
        """Weighted influence of some rows, with the roles and labels of ``fit``.

        Parameters
        ----------
        sample : Sample
            Rows with the columns that ``fit`` used, such as the rows of the fit.
        rows : ndarray of shape (n_chosen,)
            Row numbers.

        Returns
        -------
        ndarray of shape (n_chosen, n_models)
            In logits of each score; zero for rows that cannot be used.
        """
        evidence = RowEvidence.held(sample, rows)
        return evidence.influence_values(self.system_, rows)

    @staticmethod
    def _valid(X: Comparisons) -> NDArray[np.bool_]:
        return X.is_usable & np.isfinite(X.logits())

    def _annotate(self, X: Comparisons) -> Comparisons:
        return X

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return self._valid(X)

    def score(
        self, X: Battles, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the Riesz criterion on the given rows, summed over the targets.

        The mean over the given rows of a source is multiplied by the number of its rows
        in ``fit``, so that values on held-out rows and on training rows are comparable.
        The prior of item effects has no rows and is left out.

        Parameters
        ----------
        X : Comparisons
            Rows that carry scores, sensitivities and biases.
        y : ignored
            The criterion does not read outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            Higher is better.
        """
        aligned = self._aligned(X)
        weight = check_weight(sample_weight, aligned)
        rows = self._valid(aligned) & (weight > 0)
        if not rows.any():
            raise BattlesError("RieszDebiaser.score found no row that it can weigh.")
        total = summed_squares(
            self.system_,
            aligned,
            np.flatnonzero(rows),
            weight[rows],
            dict(self._source_totals),
        )
        linear = 2.0 * np.sum(self.system_.targets * self.system_.weights)
        return float(linear - total)
