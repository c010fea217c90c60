"""``AnchorPipeline``: the cross-fitted chain of stages as one estimator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._assembly import Inference
from skanchor._battles import Comparisons
from skanchor._cells import Cells
from skanchor._crossfit.folds import FoldPlan, check_training_sets, make_plans
from skanchor._crossfit.item_effects import (
    choose_item_effects,
    read_prior,
    run_item_test,
)
from skanchor._crossfit.item_test import ItemTest
from skanchor._crossfit.stages import Stages, fit_stages
from skanchor._diagnostics.collect import ItemCheck
from skanchor._diagnostics.judges import judge_table
from skanchor._estimators.arrivals import ArrivalScorer
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.riesz import RieszDebiaser
from skanchor._sample.admission import admit_to_inference, warn_of_no_judges
from skanchor._sample.row_rules import TIES, check_weights_and_groups, mean_weight
from skanchor._sample.sample import WEIGHTS, Sample
from skanchor._typing import Array, Split, Splitter
from skanchor.bias import BiasLearner
from skanchor.bias.registry import ONE_LEARNER, make_learner
from skanchor.readouts import fragility
from skanchor.results import AnchorResult, ContextResult, context_mix
from skanchor.results.estimators import RankingEstimator, of_result
from skanchor.results.intervals import relative_spread

__all__ = ["AnchorPipeline"]

MOST_REPEATS = 10_000
"""Most repeats of the cross-fit."""


class AnchorPipeline(RankingEstimator):
    """Human scores of new models from their judge comparisons, with inference.

    For each fold, fits the chain ``btl -> calibrator -> arrival -> debiaser`` to the
    rows of the other folds and evaluates the Riesz correction on the rows of the fold.
    The influence values give intervals, contrasts and rank sets.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    arrival : ArrivalScorer, optional
        Estimator of the new models' scores; None stands for ``ArrivalScorer()``.
    debiaser : RieszDebiaser or "passthrough", optional
        Estimator of the Riesz weights; None stands for
        ``RieszDebiaser(learner="calibrator")``, which uses the same learner as the
        calibrator. ``"passthrough"`` gives the plug-in without standard errors.
    cv : int, splitter or list, default=10
        Number of folds by source, a scikit-learn splitter, a list of (train, test)
        splits, or a list of such lists, one per repeat. Votes alone need no folds. With
        few votes, two or three folds give less accurate scores than ten.
    n_repeats : int, default=1
        Repeats of the cross-fit with other folds; estimates are combined by medians.
        Ignored if ``cv`` is a list of plans, one for each repeat.
    new_models : sequence of labels, optional
        Models to rank as new; None means all models without human rows. With ``[]``
        the historical models alone are ranked.
    item_effects : {"auto", "none", "random"} or None, default="auto"
        How to treat item effects: what each judge thinks of a model beyond its score
        and features. ``"random"`` models them as random, with a covariance between
        judges that is estimated on the historical rows. ``"none"``, or None, leaves
        item effects out, as in the paper. ``"auto"`` is ``"random"`` with one or two
        judges or fewer than five historical models. With more it is ``"none"`` if a
        score test on the historical verdicts does not see item effects (p of .2 or
        more) and rules out the size of ``item_prior`` (at .1), also of item effects
        that all judges share; and else ``"random"``. More than 2,000 item effects
        (judges times models) are refused.
    item_prior : tuple of (float, float), default=(0.3, 2.0)
        Prior of the item effects: their standard deviation in judge logits, and its
        degrees of freedom. With fewer than five historical models intervals depend on
        it; with many it matters little. The default is near the values of three real
        tables.
    historical_fit : {"joint", "two-step"}, default="joint"
        How the historical scores are fitted. ``"two-step"``, as in the paper, takes
        them from human votes alone and calibrates the judges against them.
        ``"joint"`` fits scores and judges to votes and verdicts together. With few
        votes it is far more accurate, and models that votes alone leave without a
        finite score or a common scale get scores from judges. The paper's method is
        ``"two-step"`` with ``item_effects=None``, ``disagreement="ignore"`` and
        ``JudgeCalibrator(position_effect=False)``.
    disagreement : {"widen", "ignore"}, default="widen"
        What to do if a test at level .01 finds that judges disagree about a new model
        more than their errors and the item effects allow. ``"widen"`` multiplies the
        standard error by the square root of the test's chi-square over its degrees of
        freedom. ``"ignore"`` leaves the error unchanged, as in the paper. Both warn.
    human_bias : {"linear", "network", "boosted", "auto"} or learner, optional
        Learner of people's own bias, psi_0: a vote then has the logit
        ``theta_a - theta_b + psi_0(x_a) - psi_0(x_b)``, and scores compare models at
        equal style. It needs features in human rows, and is fitted with the scores.
        None means the bias of ``btl``, which by default has none.
    n_jobs : int, optional
        Folds fitted in parallel, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the folds. Learners have separate seeds, from which each fold derives
        its own.
    verbose : int, default=0
        Shows a progress bar when positive.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.
    weights : {"importance", "frequency"}, default="importance"
        Meaning of ``sample_weight``. With ``"frequency"`` it is a number of equal rows:
        the fit is that of the table in which row i occurs ``sample_weight[i]`` times,
        and ``fold_plan_``, ``influence_``, ``comparisons_`` and a plan given as ``cv``
        refer to its rows, ``np.repeat(np.arange(len(X)), sample_weight)``. The copies
        of a row may then be in different folds, but not if rows have groups: they are
        of the group of their row, which without a prompt is one of its own. With
        ``"importance"`` a row of weight two is one outcome that counts twice.
    ties : {"half", "drop"}, default="half"
        Treatment of ties. With ``"half"`` a tie is half a win for either side, and
        scores are on the scale of a BTL fit to votes in which ties count so. With
        ``"drop"`` ties are left out, and scores, on a wider scale, are log-odds of a
        decided vote.
    context : str, optional
        Column with the context of each row, such as the kind of its prompt. Every model
        then has a score in every context, while judges are calibrated once for all of
        them. None means that a model has one score, valid for the mix of prompts in its
        rows.
    context_mix : dict of label to float, optional
        Share of each context in the reported scores; shares add up to one. None gives
        all contexts the same share. ``result_.under(mix)`` has the scores under any
        other mix.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels; roles are decided once, in ``fit``.
    features_ : ndarray of shape (n_features,)
        Names of the response features in use, without ``_a`` and ``_b``.
    scores_, standard_errors_ : Series
        Score and standard error by new model, in logits. Scores are centred over the
        historical models.
    variance_ : DataFrame
        Human, judge, cross and item parts by new model, and the lower bound.
    influence_ : ndarray of shape (n_rows, n_models)
        Influence of each row on each score of ``models_``.
    item_covariance_ : ndarray of shape (n_judges, n_judges) or None
        Covariance of the item effects, in squared judge logits.
    item_effects_ : {"none", "random"}
        Whether item effects were left out, or taken as random.
    result_ : AnchorResult
        The result: all of the above, frozen, with ``diagnostics``. With
        contexts a :class:`skanchor.results.ContextResult`, which has ``by_context``,
        ``under(mix)`` and ``cells``, the result of all models in each context.
    contexts_ : ndarray of shape (n_contexts,)
        Labels of the contexts; empty without ``context``.
    fold_plan_ : list of lists of (train, test)
        Folds of each repeat; a valid value of ``cv``. Empty for votes alone.
    human_bias_ : learner or None
        Bias of people, fitted on all rows.
    btl_, calibrator_, arrival_, debiaser_ : estimators
        The chain fitted on all rows. With a joint historical fit ``btl_`` has the
        joint scores, but the errors of votes alone.
    comparisons_ : Comparisons
        The admitted rows, with the estimated plug-in scores, sensitivities, biases and,
        if there are any, item effects. With contexts, the labels of its models have
        the attributes ``context`` and ``model``, as in the estimators and the tables of
        ``diagnostics``.
    warnings_ : tuple of Warning
        Warnings of the fit.

    Raises
    ------
    BattlesError
        If there is no new model, if a new model has no usable row, or if there are too
        many item effects for ``"auto"``.
    DisconnectedError
        If the human rows, or with a joint historical fit all historical rows together,
        do not connect the historical models.

    Notes
    -----
    Computes eq:feasible-anchor-estimator-v2 and eq:feasible-anchor-variance-v2; rank
    sets follow eq:simulation-rank-set. An importance weight multiplies its row in every
    sum. Standard errors come from a sandwich estimator, which does not depend on the
    unit of the weights. The estimate of item effects does: there the mean weight of the
    historical rows counts as one row.

    Without judges, the scores are the maximum likelihood fit of all votes, those on new
    models included, with its sandwich: the result is that of
    :class:`skanchor.BTLRegressor`, without folds. Only a ``human_bias`` that is not
    linear in fixed columns is cross-fitted with votes alone, too.

    Historical models without a finite score (they never won or never lost; with a joint
    historical fit, neither with people nor with judges) are left out and get an
    infinite error. Folds are assigned again if a training set would lose the rows that
    connect a model to the others. An ``InstabilityWarning`` names scores that one
    corrective step cannot reach; these are the plug-in, with an infinite error.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=1)
    >>> anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    >>> anchor.rank_sets().columns.tolist()
    ['rank', 'low', 'high']
    >>> bool(anchor.standard_errors_["new-model"] < 0.15)
    True
    """

    _stands_for: ClassVar = {
        "btl": lambda value: BTLRegressor(),
        "calibrator": lambda value: JudgeCalibrator(),
        "arrival": lambda value: ArrivalScorer(),
        # Biases and Riesz weights are then from the same class of functions.
        "debiaser": lambda value: RieszDebiaser(learner="calibrator"),
        "human_bias": lambda value: None if value is None else make_learner(value),
    }
    result_: AnchorResult
    _fits_cells = _allows_for_raters = True
    _parameter_constraints: ClassVar = {
        **RankingEstimator._parameter_constraints,
        "btl": [BTLRegressor, None],
        "calibrator": [JudgeCalibrator, None],
        "arrival": [ArrivalScorer, None],
        "debiaser": [RieszDebiaser, StrOptions({"passthrough"}), None],
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split", "get_n_splits"]),
            FoldPlan,
            list,
            tuple,
        ],
        "n_repeats": [Interval(Integral, 1, MOST_REPEATS, closed="both")],
        "item_effects": [StrOptions({"auto", "none", "random"}), None],
        "item_prior": ["array-like"],
        "historical_fit": [StrOptions({"joint", "two-step"})],
        "human_bias": [*ONE_LEARNER, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "weights": [StrOptions(set(WEIGHTS))],
        "ties": [StrOptions(set(TIES))],
        "context": [str, None],
        "context_mix": [dict, None],
        "disagreement": [StrOptions({"widen", "ignore"})],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        arrival: ArrivalScorer | None = None,
        debiaser: RieszDebiaser | str | None = None,
        cv: int | Splitter | Sequence[Split] | Sequence[Sequence[Split]] = 10,
        n_repeats: int = 1,
        new_models: Sequence[Hashable] | None = None,
        item_effects: Literal["auto", "none", "random"] | None = "auto",
        item_prior: tuple[float, float] = (0.3, 2.0),
        historical_fit: Literal["joint", "two-step"] = "joint",
        human_bias: str | BiasLearner | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        unseen: Literal["warn", "raise"] = "warn",
        weights: Literal["importance", "frequency"] = "importance",
        ties: Literal["half", "drop"] = "half",
        context: str | None = None,
        context_mix: Mapping[Any, float] | None = None,
        disagreement: Literal["widen", "ignore"] = "widen",
    ):
        self.btl = btl
        self.calibrator = calibrator
        self.arrival = arrival
        self.debiaser = debiaser
        self.cv = cv
        self.n_repeats = n_repeats
        self.new_models = new_models
        self.item_effects = item_effects
        self.item_prior = item_prior
        self.historical_fit = historical_fit
        self.human_bias = human_bias
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.unseen = unseen
        self.weights = weights
        self.ties = ties
        self.context = context
        self.context_mix = context_mix
        self.disagreement = disagreement

    @property
    def comparisons_(self) -> Comparisons:
        """Rows that were admitted, with all estimated columns."""
        return self._inference.cells.to_rows(self._learned)

    @property
    def _sample(self) -> Sample:
        """Rows that were admitted, with estimated columns, outcomes and weights."""
        self._result()
        return self._inference.cells.rows.with_battles(self.comparisons_)

    @property
    def _distinct_sample(self) -> Sample:
        """The rows of `_sample` as fitted: equal ones may be merged, with a number."""
        self._result()
        return self._inference.admitted.with_battles(self._learned)

    @property
    def variance_(self) -> pd.DataFrame:
        """Human, judge, cross and item parts of the variance, and its lower bound."""
        return self._result().variance

    @property
    def influence_(self) -> Array:
        """Influence of each row on each score, in logits."""
        return self._result().influence

    @property
    def _cells(self) -> AnchorResult:
        """Result by the models of the rows: with contexts, of models in contexts."""
        result = self._result()
        return result.cells if isinstance(result, ContextResult) else result

    sensitivity = of_result(AnchorResult.sensitivity)
    breakdown = of_result(AnchorResult.breakdown)
    benchmarks = of_result(AnchorResult.benchmarks)
    worth = of_result(AnchorResult.worth)
    outlook = of_result(AnchorResult.outlook)
    design = of_result(AnchorResult.design)
    fragility = fragility

    def summary(self) -> pd.DataFrame:
        """Describe each judge: its rows, agreement, sensitivity and diagnostics.

        Returns
        -------
        DataFrame
            By judge:

            - ``rows``: number of rows.
            - ``ties``: number of outcomes of exactly one half. If ties are left out,
              they are not among the ``rows``.
            - ``both_bad``: number of ties that call both responses bad.
            - ``first_side_rate``: how often the side shown first is preferred.
            - ``agreement``: how often the judge prefers the model with the higher final
              score, in historical rows.
            - ``sensitivity``, ``position_effect``, and ``has_position_effect``, whether
              it was fitted.
            - With an automatic choice of the bias learner, the chosen ``bias`` and the
              ``loss`` of each candidate.
            - The columns of ``result_.diagnostics.judges``.
        """
        check_is_fitted(self)
        diagnostics = self._result().diagnostics
        admitted = self._inference.admitted
        scores = self._cells.all_scores.reindex(admitted.X.models)
        table = judge_table(admitted, scores.to_numpy(np.float64), self.calibrator_)
        return table if diagnostics is None else table.join(diagnostics.judges)

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        inference = self.prepare(sample)
        full = inference.fit()
        chain = full.chain
        self.result_ = inference.result(full)
        # The plug-in lays all rows out, which is large, and only the fit needs them.
        self._inference = replace(inference, plugged=None)
        self.fold_plan_, self._learned = inference.fold_plan, chain.X
        self.item_effects_ = inference.choice.item_effects
        self.item_covariance_ = None if full.items is None else full.items.covariance
        self.btl_, self.calibrator_ = chain.btl, chain.calibrator
        self.arrival_, self.debiaser_ = chain.arrival, chain.debiaser
        self.human_bias_ = chain.btl.bias_
        self.models_, self.judges_ = self.result_.models, chain.X.judges
        self.new_models_ = self.models_[self.result_.is_new]
        self.contexts_ = chain.X.items.contexts
        self.features_ = np.array(chain.X.feature_names, dtype=object)
        if self.result_.diagnostics is not None:
            self.result_.diagnostics.warn()

    def prepare(self, sample: Sample, *, is_stored: bool = False) -> Inference:
        """Admit rows, draw folds, fit the plug-in and decide on item effects.

        With ``is_stored``, sums of the rows are stored as a history: equal rows with
        features are then not merged, and there are folds without judges, too.
        """
        warn_of_no_judges(sample)
        stages = self.stages()
        cells = Cells.of(
            check_weights_and_groups(sample),
            by_features=stages.reads_sums and not is_stored,
        )
        all_rows, admitted = self.admitted(cells.sample)
        mix = context_mix(all_rows, self.context, self.context_mix, stages)
        plans: list[FoldPlan] = []
        if is_stored or not stages.is_likelihood(admitted.X):
            plans = make_plans(
                self.cv, self.n_repeats, admitted, self.random_state, cells
            )
        for plan in plans:
            is_joint = stages.fits_jointly(admitted.X)
            check_training_sets(admitted, plan, is_joint=is_joint)
        plugged, test = fit_stages(stages, admitted), ItemTest()
        # A joint fit would absorb a part of the item effects.
        two_step = plugged.two_step if plugged.is_joint else plugged
        if two_step is not None:
            test = run_item_test(two_step.fit, two_step.btl)
        # Only the test needs the two-step fit, which is large.
        plugged = replace(plugged, two_step=None)
        choice = choose_item_effects(
            self.item_effects, admitted.X, test, read_prior(self.item_prior)
        )
        check = ItemCheck.of(test, plugged.X.judges.tolist())
        return Inference(
            stages, cells, all_rows, admitted, plugged, check, choice, plans,
            self.n_jobs, self.verbose, mix,
        )  # fmt: skip

    def admitted(self, sample: Sample) -> tuple[Sample, Sample]:
        """All models in their roles, and those rows that can be fitted.

        Both are in units of the mean weight of a historical row.
        """
        stages = self.stages()
        all_rows, admitted = admit_to_inference(
            sample, stages.btl, stages.calibrator.bias, self.new_models,
            jointly=self.historical_fit == "joint",
        )  # fmt: skip
        unit = mean_weight(admitted) if len(admitted.X.judges) else 1.0
        return all_rows.in_units(unit), admitted.in_units(unit)

    def stages(self) -> Stages:
        """The unfitted stages; without a debiaser for the plug-in."""
        btl = self._part("btl")
        if self.human_bias is not None:
            btl = clone(btl).set_params(bias=self.human_bias)
        return Stages(
            btl,
            self._part("calibrator"),
            self._part("arrival"),
            None if isinstance(self.debiaser, str) else self._part("debiaser"),
            self.historical_fit,
            self.disagreement == "widen",
        )

    def _annotate(self, X: Comparisons) -> Comparisons:
        for stage in (self.btl_, self.calibrator_, self.arrival_):
            X = stage.transform(X)
        # The plug-in scores of the stages are replaced by the corrected ones.
        result, slopes, learned = self._cells, X.sensitivities, self._learned
        scores = result.all_scores.reindex(X.models).to_numpy(dtype=np.float64)
        if self.btl_.alpha and slopes is not None:
            # A ridge shrinks the scores that judges were calibrated to, and the
            # correction undoes this. Products of sensitivity and score, which verdicts
            # depend on, stay the same.
            corrected = result.all_scores[~result.is_new]
            shrunken = self.btl_.scores_.reindex(corrected.index).to_numpy()
            slopes = slopes * relative_spread(shrunken, corrected.to_numpy())
        X = X.with_columns(
            scores=scores, sensitivities=slopes, new_models=learned.new_models
        )
        if learned.deviations is None:
            return X
        # Item effects by judge and model; zero for judges or models without them.
        u = pd.DataFrame(learned.deviations, self.judges_, learned.models)
        u = u.reindex(index=X.judges, columns=X.models, fill_value=0.0)
        return X.with_columns(deviations=u.to_numpy())
