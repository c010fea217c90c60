"""The cross-fitted chain and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._numerics.graph import count_components
from skanchor.arrivals import ArrivalScorer
from skanchor.btl import BTLRegressor
from skanchor.chain import (
    Chain,
    Fold,
    Problem,
    Repeat,
    Sums,
    complete,
    fit_fold,
    fit_stages,
    merge_notices,
    sum_up,
)
from skanchor.comparisons import Comparisons, decide_roles, source_codes
from skanchor.diagnostics import (
    Diagnostics,
    ItemCheck,
    diagnose,
    item_effects_check,
)
from skanchor.exceptions import (
    BattlesError,
    ConvergenceWarning,
    DataWarning,
    SkanchorWarning,
)
from skanchor.folds import FoldPlan, SourceKFold, stream_plan
from skanchor.inference import RankingResult
from skanchor.items import (
    MIN_HISTORICAL,
    ItemCovariance,
    estimate_item_covariance,
)
from skanchor.judges import JudgeCalibrator
from skanchor.ranking import (
    RankingEstimator,
    check_ranking,
    count_rows,
    leave_out_few,
    leave_out_judges,
)
from skanchor.riesz import RieszDebiaser

__all__ = ["AnchorPipeline", "AnchorResult"]

Array = NDArray[np.float64]

FEW_GROUPS = 30
"""Groups below which a variance between groups is not trusted."""

FEWEST_FREE = 2.0
"""Models' worth of deviations below which features have taken too many."""

DEALS = 20
"""Most times that folds are dealt to keep the human votes of each model apart."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnchorResult(RankingResult):
    """Result of :class:`AnchorPipeline`: scores, covariance and influence values.

    Attributes
    ----------
    influence : ndarray of shape (n_rows, n_models)
        Influence of each row on each score, in logits; the mean over repeats. Without
        rows in a result that is kept beside the one reported.
    parts : ndarray of shape (n_repeats, 4, n_models)
        Human, judge, cross (= 2 C_HJ) and item parts of the variance.
    lower_bound : ndarray of shape (n_models,)
        Variance that only more human votes can lower, B_l.
    plug_in : ndarray of shape (n_repeats, n_models)
        Scores before the correction.
    fold_plan : list of lists of (train, test)
        The folds of each repeat.
    diagnostics : Diagnostics or None
        Signs that an interval should not be trusted; None for a plug-in.
    """

    influence: Array
    parts: Array
    lower_bound: Array
    plug_in: Array
    fold_plan: list[FoldPlan]
    diagnostics: Diagnostics | None = None

    def _extended(
        self,
        X: Comparisons,
        human_scores: pd.Series,
        n_human: NDArray[np.intp],
        n_judge: NDArray[np.intp],
    ) -> AnchorResult:
        """Add the models that were left out, at the scores of the human fit."""
        place = np.flatnonzero(np.isin(X.models, self.models))
        size = len(X.models)
        scores = human_scores.reindex(X.models).to_numpy(dtype=np.float64)
        scores = scores - np.nanmean(scores[place])

        def padded(values: Any, fill: Any = 0.0) -> Array:
            result = np.full((*values.shape[:-1], size), fill)
            result[..., place] = values
            return result

        def square(values: Array) -> Array:
            return padded(np.swapaxes(padded(np.swapaxes(values, 1, 2)), 1, 2))

        outside = np.ones(size, dtype=bool)
        outside[place] = False
        estimates, plug_in = padded(self.estimates), padded(self.plug_in)
        estimates[:, outside] = plug_in[:, outside] = scores[outside]
        return replace(
            self,
            models=X.models,
            is_new=X.is_new,
            estimates=estimates,
            covariances=square(self.covariances),
            unbounded=outside | (padded(self.unbounded) > 0),
            n_human=n_human,
            n_judge=n_judge,
            item_covariances=None
            if self.item_covariances is None
            else square(self.item_covariances),
            influence=padded(self.influence),
            parts=padded(self.parts, np.nan),
            lower_bound=padded(self.lower_bound, np.nan),
            plug_in=plug_in,
        )

    @property
    def variance(self) -> pd.DataFrame:
        """Parts of the new models' variance.

        The columns ``human``, ``judge``, ``cross`` and ``items`` add up to the squared
        standard error, but for the spread between repeats; ``lower_bound`` is the part
        that judges cannot lower.
        """
        human, judge, cross, items = np.median(self.parts, axis=0)
        table = pd.DataFrame(
            {
                "human": human,
                "judge": judge,
                "cross": cross,
                "items": items,
                "lower_bound": self.lower_bound,
            },
            index=self._index,
        )
        return table[self.is_new]


class AnchorPipeline(RankingEstimator):
    """Human scores of new models from their judge comparisons, with inference.

    Runs the chain ``btl -> calibrator -> arrival -> debiaser`` once per fold on the
    other folds' rows, evaluates the Riesz correction on the fold held out, and turns
    the influence values into intervals, contrasts and rank sets.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Scores of the historical models; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Sensitivities and biases; None stands for ``JudgeCalibrator()``.
    arrival : ArrivalScorer, optional
        Scores of the new models; None stands for ``ArrivalScorer()``.
    debiaser : RieszDebiaser or "passthrough", optional
        Riesz weights; None stands for a :class:`RieszDebiaser` with the calibrator's
        learner. ``"passthrough"`` gives the plug-in without standard errors.
    cv : int, splitter or list, default=10
        Number of folds by source, a scikit-learn splitter, a list of (train, test)
        splits, or a list of such lists, one per repeat.
    n_repeats : int, default=1
        Repeats of the cross-fit with other folds; estimates are combined by medians.
        A list of plans brings its own number.
    new_models : sequence of labels, optional
        Models with free scores; None means those without human rows. ``[]`` asks for
        the historical leaderboard.
    item_effects : {"auto", "none", "random", "conservative"} or array, default="auto"
        How to treat what each judge thinks of a model beyond score and features.
        ``"random"`` takes such deviations as random, with a covariance between judges
        that is estimated on the historical rows; ``"conservative"`` keeps that
        covariance away from zero; an array of shape (n_judges, n_judges), in the order
        of ``judges_``, gives it in squared judge logits. ``"none"``, or None, leaves
        them out, which is the interval of the paper. ``"auto"`` computes ``"random"``
        and ``"none"``, and reports the former when a score test on the historical
        verdicts sees deviations, the latter otherwise or with fewer than five
        historical models.
    n_jobs : int, optional
        Folds fitted in parallel, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the folds. Learners have seeds of their own, from which every fold
        derives new ones.
    verbose : int, default=0
        Shows a progress bar when positive.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

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
    item_effects_ : {"none", "random", "conservative", "given"}
        The treatment that is reported.
    results_ : dict
        Result by treatment; two of them with ``item_effects="auto"``.
    result_ : AnchorResult
        The one reported: all of the above, frozen, with ``diagnostics``.
    fold_plan_ : list of lists of (train, test)
        Folds of each repeat; can be given back as ``cv``.
    btl_, calibrator_, arrival_, debiaser_ : estimators
        The chain fitted on all rows.

    Raises
    ------
    BattlesError
        If there is no new model, or a new model has no usable row.
    DisconnectedError
        If the human rows do not join the historical models.

    Notes
    -----
    Computes eq:feasible-anchor-estimator-v2 and eq:feasible-anchor-variance-v2; rank
    sets follow eq:simulation-rank-set. A sample weight multiplies its row in every sum,
    and errors are those of a sandwich, to which the unit of weights is nothing. It is
    something where item effects are estimated: a weight stands for as many equal rows.

    Historical models whose human score has no finite value (they never won, or never
    lost) take no part: they keep an infinite error. Folds are dealt anew where a
    training set would lose what ties a model to the others. A score that one
    corrective step cannot reach is told by an ``InstabilityWarning``; it keeps the
    plug-in, with an infinite error.

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
        "debiaser": lambda value: RieszDebiaser(),
    }
    _parameter_constraints: ClassVar = {
        **RankingEstimator._parameter_constraints,
        "btl": [BTLRegressor, None],
        "calibrator": [JudgeCalibrator, None],
        "arrival": [ArrivalScorer, None],
        "debiaser": [RieszDebiaser, StrOptions({"passthrough"}), None],
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            HasMethods(["split", "get_n_splits"]),
            list,
            tuple,
        ],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        # What the names and the array must be is said where they are read.
        "item_effects": [str, "array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        arrival: ArrivalScorer | None = None,
        debiaser: RieszDebiaser | str | None = None,
        cv: Any = 10,
        n_repeats: int = 1,
        new_models: Sequence[Any] | None = None,
        item_effects: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        unseen: str = "warn",
    ):
        self.btl = btl
        self.calibrator = calibrator
        self.arrival = arrival
        self.debiaser = debiaser
        self.cv = cv
        self.n_repeats = n_repeats
        self.new_models = new_models
        self.item_effects = item_effects
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.unseen = unseen

    # ----------------------------------------------------------------------------- fit
    def _fit(
        self,
        X: Comparisons,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None = None,
        start: Any = None,
    ) -> list[Warning]:
        weight = _scaled(weight)
        everyone = decide_roles(X, weight, self.new_models)
        check_ranking(everyone, self.new_models)
        parts = self._stages()
        notices = [] if self._leaves_items_out() else _odd_counts(weight)
        notices += _few_groups(groups, weight)
        bounded, found = _without_separated(everyone, parts[0], y, weight, groups)
        notices += found
        battles, found = leave_out_judges(bounded, weight)
        notices += found
        battles, found = leave_out_few(battles, weight)
        notices += found
        source = np.where(weight > 0, source_codes(battles), -1)
        problem = Problem(
            *parts,
            battles,
            y,
            weight,
            groups,
            source,
            *_describe_sources(battles, source),
        )
        plans = self._plans(battles, y, groups, weight)
        stages, found = fit_stages(problem, weight)
        notices += found
        check = item_effects_check(
            stages.X, y, weight, stages.btl, stages.calibrator, groups
        )
        treatments, chosen, found = self._treatments(problem, stages, check)
        notices += found
        full: dict[str, Chain] = {}
        for name, items in treatments.items():
            full[name], found = complete(problem, stages, weight, items)
            notices += found
        chain = full[chosen]
        self.btl_, self.calibrator_ = chain.btl, chain.calibrator
        self.arrival_, self.debiaser_ = chain.arrival, chain.debiaser
        self.models_, self.judges_ = battles.models, battles.judges
        self.new_models_ = battles.models[battles.is_new]
        self.features_ = np.array(battles.feature_names, dtype=object)
        self.fold_plan_ = plans
        self.item_effects_ = chosen
        known = treatments[chosen]
        self.item_covariance_ = None if known is None else known.covariance
        self._deviations = chain.X.deviations
        if chain.debiaser is None:
            self.results_ = {chosen: self._plug_in_result(chain, weight)}
        else:
            self.results_, by_fold, shaky = self._cross_fit(
                problem, stages, full, treatments, check, chosen
            )
            notices += merge_notices(by_fold, notices) + shaky[chosen]
        self.result_ = self.results_[chosen]
        if self.result_.diagnostics is not None:
            notices += self.result_.diagnostics.warnings()
        self._summary = self._summarise(battles, y, weight)
        if len(everyone.models) > len(battles.models):
            self._add_separated(everyone, parts[0], y, weight, groups)
        return notices

    def _add_separated(
        self,
        X: Comparisons,
        btl: BTLRegressor,
        y: Array,
        weight: Array,
        groups: NDArray[np.intp] | None,
    ) -> None:
        """Put the models that were left out on the board again."""
        human_fit = clone(btl)
        human_fit._fit(X, y, weight, groups)
        if self._deviations is not None:
            u = pd.DataFrame(self._deviations, self.judges_, self.models_)
            u = u.reindex(columns=X.models, fill_value=0.0)
            self._deviations = u.to_numpy()
        self.models_ = X.models
        counts = count_rows(X, weight)
        chosen = self.item_effects_
        self.results_ = {
            name: result._extended(X, human_fit.scores_, *counts)
            for name, result in self.results_.items()
        }
        self.result_ = self.results_[chosen]

    def _stages(
        self,
    ) -> tuple[BTLRegressor, JudgeCalibrator, ArrivalScorer, RieszDebiaser | None]:
        calibrator = (
            self.calibrator if self.calibrator is not None else JudgeCalibrator()
        )
        debiaser = self.debiaser
        if debiaser is None:
            # Both halves of the correction then see the same class of functions.
            debiaser = RieszDebiaser(learner=calibrator.bias)
        if isinstance(debiaser, str):  # "passthrough"
            debiaser = None
        return (
            self.btl if self.btl is not None else BTLRegressor(),
            calibrator,
            self.arrival if self.arrival is not None else ArrivalScorer(),
            debiaser,
        )

    def _plans(
        self,
        X: Comparisons,
        y: Array,
        groups: NDArray[np.intp] | None,
        weight: Array,
    ) -> list[FoldPlan]:
        cv = self.cv
        if isinstance(cv, (list, tuple)):
            nested = len(cv) > 0 and not _is_split(cv[0])
            plans = [list(plan) for plan in cv] if nested else [list(cv)]
        elif isinstance(cv, Integral):
            random = check_random_state(self.random_state)
            seeds = random.randint(np.iinfo(np.int32).max, size=self.n_repeats)
            # Rows that count for nothing take no place in a fold.
            counted = np.flatnonzero(X.is_usable & (weight > 0))
            plans = []
            for seed in seeds:
                # As a stream, it deals anew each time.
                stream = np.random.RandomState(seed)
                splitter = SourceKFold(int(cv), random_state=stream)
                codes = None if groups is None else groups[counted]
                fold = np.full(len(X), -1)
                part = X.without_features()[counted]
                for _ in range(DEALS):
                    fold[counted] = splitter.deal(part, codes)
                    if _keeps_scale(X, y, fold, int(cv)):
                        break
                plans.append(
                    [
                        (np.flatnonzero((fold != k) & (fold >= 0)),
                         np.flatnonzero(fold == k))
                        for k in range(int(cv))
                    ]
                )  # fmt: skip
            return plans
        else:
            plans = [list(cv.split(X, y, groups)) for _ in range(self.n_repeats)]
            if self.n_repeats > 1 and _equal_plans(plans[0], plans[1]):
                raise ValueError(
                    "cv deals the same folds each time, so that n_repeats="
                    f"{self.n_repeats} repeats nothing: leave its random_state at "
                    "None, or give cv a number of folds."
                )
        rows = np.flatnonzero(X.is_usable & (weight > 0))
        return [_checked(plan, rows, len(X), groups) for plan in plans]

    def _treatments(
        self, problem: Problem, stages: Chain, check: ItemCheck
    ) -> tuple[dict[str, ItemCovariance | None], str, list[Warning]]:
        """Treatments of the item effects to compute, and the one to report."""
        asked, X = self.item_effects, problem.X
        known = ("auto", "none", "random", "conservative")
        if isinstance(asked, str) and asked not in known:
            raise ValueError(
                "item_effects must be 'auto', 'none', 'random', 'conservative' or an "
                f"array, got {asked!r}."
            )
        if self._leaves_items_out() or not len(X.judges):
            return {"none": None}, "none", []
        if not isinstance(asked, str):
            return {"given": ItemCovariance(self._given(X))}, "given", []
        n_historical = int((~X.is_new).sum())
        if asked == "auto" and n_historical < MIN_HISTORICAL:
            few = SkanchorWarning(
                f"{n_historical} historical models are too few to learn how judges "
                "deviate from features, so the intervals leave such item effects out "
                "and may be too short."
            )
            return {"none": None}, "none", [few]
        notices: list[Warning] = []
        found = estimate_item_covariance(
            stages.X,
            problem.y,
            problem.weight,
            stages.calibrator,
            problem.groups,
            conservative=asked == "conservative",
        )
        treatments: dict[str, ItemCovariance | None] = {asked: found}
        chosen = asked
        if asked == "auto":
            treatments = {"none": None, "random": found}
            chosen = "random" if check.detected else "none"
        if found.free < FEWEST_FREE and chosen != "none":
            notices.append(
                SkanchorWarning(
                    f"The features tell the {n_historical} historical models apart so "
                    "well that how judges deviate from them is learned from the worth "
                    f"of {found.free:.1f} models, and intervals may be too short. Use "
                    "fewer features, or give the bias learner a ridge."
                )
            )
        if not found.converged and chosen != "none":
            notices.append(
                ConvergenceWarning(
                    "The covariance of the item effects did not settle; give "
                    "item_effects an array if the intervals look odd."
                )
            )
        return treatments, chosen, notices

    def _leaves_items_out(self) -> bool:
        asked = self.item_effects
        return asked is None or (isinstance(asked, str) and asked == "none")

    def _given(self, X: Comparisons) -> Array:
        asked: Any = self.item_effects
        size = len(X.judges)
        if isinstance(asked, pd.DataFrame):
            named = asked.index.intersection(asked.columns)
            missing = [judge for judge in X.judges.tolist() if judge not in named]
            if missing:
                raise ValueError(
                    f"item_effects has no row and column for the judges {missing}."
                )
            asked = asked.reindex(index=X.judges, columns=X.judges)
        given = np.asarray(asked, dtype=np.float64)
        if (
            given.shape != (size, size)
            or not np.isfinite(given).all()
            or not np.allclose(given, given.T)
            or np.linalg.eigvalsh(given).min() < -1e-10 * max(1.0, np.abs(given).max())
        ):
            raise ValueError(
                "item_effects must be a symmetric positive semi-definite array with a "
                f"row for each of the {size} judges {X.judges.tolist()}, got "
                f"shape {given.shape}."
            )
        return given

    def _cross_fit(
        self,
        problem: Problem,
        stages: Chain,
        full: dict[str, Chain],
        treatments: dict[str, ItemCovariance | None],
        check: ItemCheck,
        chosen: str,
    ) -> tuple[
        dict[str, AnchorResult], dict[int, list[Warning]], dict[str, list[Warning]]
    ]:
        plans = self.fold_plan_
        draw = count(1)
        jobs = [
            (number, next(draw), problem, stages, full, treatments, train, test)
            for plan in plans
            for number, (train, test) in enumerate(plan)
        ]
        done = stream_plan(fit_fold, jobs, n_jobs=self.n_jobs, verbose=self.verbose)
        by_fold: dict[int, list[Warning]] = {}
        repeats: dict[str, list[Repeat]] = {name: [] for name in treatments}
        shape = (len(problem.X), len(problem.X.models))
        is_human, groups = problem.X.is_human, problem.groups
        # Values by row are kept for what is reported, and where groups may span folds.
        kept = [name for name in treatments if name == chosen or groups is not None]
        influence: dict[str, Array] = {name: np.empty((0, shape[1])) for name in full}
        for plan in plans:
            once = {name: np.zeros(shape) for name in kept}
            sums = {name: Sums.of(shape[1]) for name in treatments}
            folds: dict[str, list[Fold]] = {name: [] for name in treatments}
            for number, (_, test) in enumerate(plan):
                readings, found = next(done)
                by_fold.setdefault(number, []).extend(found)
                for name, fold in readings.items():
                    if name in kept:
                        once[name][test] = fold.influence
                    else:
                        sums[name].add(fold.influence, is_human[test], None)
                    # The rows need room once, not once more in the folds.
                    folds[name].append(replace(fold, influence=np.empty((0, 0))))
            for name, items in treatments.items():
                inflation = 1.0 if items is None else items.inflation
                if name in kept:
                    sums[name].add(once[name], is_human, groups)
                repeats[name].append(
                    sum_up(problem.X, full[name], sums[name], folds[name], inflation)
                )
            share = once[chosen] if len(plans) == 1 else once[chosen] / len(plans)
            known = influence[chosen]
            influence[chosen] = known + share if len(known) else share
        results = {
            name: self._assemble(
                problem, full[name], items, repeats[name], influence[name], check
            )
            for name, items in treatments.items()
        }
        shaky = {
            name: [notice for repeat in done for notice in repeat.notices]
            for name, done in repeats.items()
        }
        return results, by_fold, shaky

    def _assemble(
        self,
        problem: Problem,
        full: Chain,
        items: ItemCovariance | None,
        repeats: list[Repeat],
        influence: Array,
        check: ItemCheck,
    ) -> AnchorResult:
        """Turn the repeats of one treatment into a result."""
        X = problem.X
        assert full.debiaser is not None
        undetermined = np.any([repeat.undetermined for repeat in repeats], axis=0)
        plug_in = np.array([repeat.plug_in for repeat in repeats])
        result = AnchorResult(
            X.models,
            X.is_new,
            np.array([repeat.estimate for repeat in repeats]),
            np.array([repeat.covariance for repeat in repeats]),
            undetermined | self._unbounded(X),
            *count_rows(X, problem.weight),
            None if items is None else np.array([r.item_part for r in repeats]),
            np.inf if items is None else items.df,
            influence=influence,
            parts=np.array([repeat.parts for repeat in repeats]),
            lower_bound=full.debiaser._lower_bound(full.X),
            plug_in=plug_in,
            fold_plan=self.fold_plan_,
        )
        diagnostics = diagnose(
            full.X,
            problem.weight,
            full.debiaser,
            result,
            np.median(plug_in, axis=0),
            np.max([repeat.largest for repeat in repeats], axis=0),
            check,
        )
        return replace(result, diagnostics=diagnostics)

    def _plug_in_result(self, full: Chain, weight: Array) -> AnchorResult:
        X, n_models = full.X, len(full.X.models)
        scores = full.scores[None]
        return AnchorResult(
            X.models,
            X.is_new,
            scores,
            np.full((1, n_models, n_models), np.nan),
            np.zeros(n_models, dtype=bool),
            *count_rows(X, weight),
            influence=np.zeros((len(X), n_models)),
            parts=np.full((1, 4, n_models), np.nan),
            lower_bound=np.full(n_models, np.nan),
            plug_in=scores,
            fold_plan=self.fold_plan_,
        )

    def _unbounded(self, X: Comparisons) -> NDArray[np.bool_]:
        """Models whose score a fit on all rows puts at a bound."""
        flags = np.zeros(len(X.models), dtype=bool)
        place = {model: i for i, model in enumerate(X.models.tolist())}
        for models, at_bound in (
            (self.btl_.models_, self.btl_._unbounded),
            (self.arrival_.new_models_, self.arrival_.at_bound_),
        ):
            flags[[place[model] for model in models[at_bound].tolist()]] = True
        return flags

    # ------------------------------------------------------------------------- results
    @property
    def variance_(self) -> pd.DataFrame:
        """Human, judge, cross and item parts of the variance, and its lower bound."""
        return self._result().variance

    @property
    def influence_(self) -> Array:
        """Influence of each row on each score, in logits."""
        return self._result().influence

    def _result(self) -> AnchorResult:
        result = super()._result()
        assert isinstance(result, AnchorResult)
        return result

    def summary(self) -> pd.DataFrame:
        """What the data say of each judge.

        Returns
        -------
        DataFrame
            By judge: ``rows``, ``ties`` (outcomes of exactly one half),
            ``first_side_rate`` (how often the side shown first is preferred),
            ``agreement`` (how often the judge's verdict on historical rows points to
            the model with the higher final score), ``sensitivity``,
            ``position_effect``; with an automatic choice of the bias
            learner also the ``bias`` picked and the ``loss`` of each candidate; and the
            columns of :attr:`skanchor.diagnostics.Diagnostics.judges`.
        """
        check_is_fitted(self)
        diagnostics = self._result().diagnostics
        if diagnostics is None:
            return self._summary.copy()
        return self._summary.join(diagnostics.judges)

    def check_coverage(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> float:
        """Share of historical models whose score agrees with their human score.

        Fits the pipeline once for each historical model, as if it were new, and asks
        whether the score differs from that of the human votes by less than the two
        errors allow together. The share should come near 0.95. It is also recorded in
        ``result_.diagnostics.coverage``, beside the share whose interval holds the
        human score itself (``covered``), which falls short of 0.95 where that score is
        noisy. Each fit has folds of its own: ``cv`` must be a number or a splitter, not
        row numbers.

        Parameters
        ----------
        X, y, sample_weight, groups
            As in :meth:`fit`.

        Returns
        -------
        float
            See :func:`skanchor.evaluation.leave_one_model_out` for the whole table.
        """
        from skanchor.evaluation import leave_one_model_out

        check_is_fitted(self)
        result = self._result()
        known = result.models[~result.is_new].tolist()
        table = leave_one_model_out(
            self, X, y, sample_weight=sample_weight, groups=groups, models=known,
            n_jobs=self.n_jobs, verbose=self.verbose,
        )  # fmt: skip
        coverage, covered = table[["compatible", "covered"]].mean().tolist()
        if result.diagnostics is not None:
            told = replace(result.diagnostics, coverage=coverage, covered=covered)
            self.result_ = replace(result, diagnostics=told)
            self.results_[self.item_effects_] = self.result_
        return float(coverage)

    def _summarise(self, X: Comparisons, y: Array, weight: Array) -> pd.DataFrame:
        scores = self.result_.all_scores.to_numpy(dtype=np.float64)
        delta = X.with_columns(scores=scores).score_differences
        table = {}
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            rows = cut.rows[weight[cut.rows] > 0]
            shown = np.where(X.order[rows] >= 0, y[rows], 1.0 - y[rows])
            ordered = X.order[rows] != 0
            decided = rows[(y[rows] != 0.5) & ~X.involves_new[rows]]
            decided = decided[delta[decided] != 0]
            table[judge] = {
                "rows": len(rows),
                "ties": int(np.sum(y[rows] == 0.5)),
                "first_side_rate": shown[ordered].mean() if ordered.any() else np.nan,
                "agreement": np.mean((delta[decided] > 0) == (y[decided] > 0.5))
                if len(decided)
                else np.nan,
                "sensitivity": self.calibrator_.sensitivities_[judge],
                "position_effect": self.calibrator_.position_effects_[judge],
            }
        found = pd.DataFrame.from_dict(table, orient="index").rename_axis("judge")
        chosen = self.calibrator_.choices_
        if len(chosen):
            losses = chosen.filter(regex="^loss ")
            found = found.join(chosen["picked"].rename("bias")).join(losses)
        return found

    # ---------------------------------------------------------------- scikit-learn side
    def _annotate(self, X: Comparisons) -> Comparisons:
        known = self.arrival_._annotate(
            self.calibrator_._annotate(self.btl_._annotate(X))
        )
        scores = self.result_.all_scores.reindex(X.models).to_numpy(dtype=np.float64)
        known = known.with_columns(
            scores=scores, new_models=tuple(self.new_models_.tolist())
        )
        if self._deviations is None:
            return known
        u = pd.DataFrame(self._deviations, self.judges_, self.models_)
        u = u.reindex(index=X.judges, columns=X.models, fill_value=0.0)
        return known.with_columns(deviations=u.to_numpy())


# ------------------------------------------------------------------ plans and sources


def _describe_sources(
    X: Comparisons, source: NDArray[np.intp]
) -> tuple[list[str], NDArray[np.bool_]]:
    """Name of each source, and the new models that its rows involve."""
    new = np.flatnonzero(X.is_new)
    size = int(source.max(initial=-1)) + 1
    names, involved = [""] * size, np.zeros((size, len(new)), dtype=bool)
    values, rows = np.unique(source, return_index=True)
    for code, row in zip(values.tolist(), rows.tolist(), strict=True):
        if code < 0:
            continue
        judge = "human" if X.judge[row] == -1 else f"judge {X.judges[X.judge[row]]!r}"
        involved[code] = (new == X.left[row]) | (new == X.right[row])
        sides = sorted(X.models[new[involved[code]]].tolist(), key=str)
        names[code] = (
            f"{judge} rows with new model {', '.join(map(repr, sides))}"
            if sides
            else f"{judge} rows between historical models"
        )
    return names, involved


def _scaled(weight: Array) -> Array:
    """Refuse weights whose ratios drown in rounding; bring extreme ones near one."""
    unit = weight.max()
    scaled = weight / unit
    lost = (weight > 0) & (scaled < np.finfo(float).eps)
    if lost.any():
        raise ValueError(
            f"sample_weight spans too much: {lost.sum()} rows weigh less than 1e-15 "
            "of the heaviest. Rescale it, or set them to zero."
        )
    # Beside the prior of the item effects a weight is a number of rows: only where
    # squares would leave the range of floats is the unit free.
    return weight if 1e-100 < unit < 1e100 else scaled


def _few_groups(groups: NDArray[np.intp] | None, weight: Array) -> list[Warning]:
    """Tell of groups too few for their spread to be known."""
    if groups is None:
        return []
    n_groups = len(np.unique(groups[weight > 0]))
    if n_groups >= FEW_GROUPS:
        return []
    return [
        DataWarning(
            f"There are {n_groups} groups: with fewer than {FEW_GROUPS} the variance "
            "between groups is poorly known, training sets differ much, and intervals "
            "may be off. Use finer groups if there are any."
        )
    ]


def _equal_plans(one: FoldPlan, other: FoldPlan) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(a[1], b[1]) for a, b in zip(one, other, strict=True)
    )


def _odd_counts(weight: Array) -> list[Warning]:
    """Tell of weights that cannot be numbers of rows."""
    known = weight[weight > 0]
    mean = float(known.mean())
    if 0.5 <= mean <= 2.0 or (known == np.round(known)).all():
        return []
    return [
        DataWarning(
            f"The mean of sample_weight is {mean:.3g}. Where judges may deviate by "
            "model, their deviations are fitted as if a weight were so many votes; "
            "divide relative weights by their mean, or set item_effects=None, to which "
            "their unit is nothing."
        )
    ]


def _checked(
    plan: Any,
    rows: NDArray[np.intp],
    n_rows: int,
    groups: NDArray[np.intp] | None,
) -> FoldPlan:
    """Refuse a plan that does not hold out every counted row exactly once."""
    splits: FoldPlan = []
    times = np.zeros(n_rows, dtype=int)
    fold = np.full(n_rows, -1)
    for number, split in enumerate(plan):
        if not _is_split(split):
            raise ValueError(
                f"Split {number} of cv must be a pair (train, test) of row numbers."
            )
        train, test = (_row_mask(part, n_rows, number) for part in split)
        both = train & test
        if both[rows].any():
            raise ValueError(
                f"Split {number} of cv has {both[rows].sum()} rows both in training "
                f"and held out, the first is row {int(rows[np.argmax(both[rows])])}."
            )
        times += test
        fold[test] = number
        splits.append((np.flatnonzero(train), np.flatnonzero(test)))
    if (times[rows] != 1).any():
        row = int(rows[np.argmax(times[rows] != 1)])
        raise ValueError(
            "The folds of cv must hold out every row exactly once; row "
            f"{row} is held out {times[row]} times."
        )
    if groups is not None:
        table = pd.Series(fold[rows]).groupby(groups[rows])
        torn = int((table.nunique() > 1).sum())
        if torn:
            raise ValueError(
                f"The folds of cv tear {torn} groups apart; a group must be held out "
                "as a whole (use a splitter that takes groups, or an int)."
            )
    return splits


def _is_split(split: Any) -> bool:
    """Whether this is a pair of row-number arrays, not a list of such pairs."""
    return (
        isinstance(split, (tuple, list))
        and len(split) == 2
        and all(np.ndim(part[0]) == 0 for part in split if len(part))
    )


def _row_mask(rows: Any, n_rows: int, number: int) -> NDArray[np.bool_]:
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == n_rows:
        return rows
    mask = np.zeros(n_rows, dtype=bool)
    try:
        mask[rows] = True
    except IndexError:
        raise ValueError(
            f"Split {number} of cv must hold row numbers from 0 to {n_rows - 1}."
        ) from None
    return mask


def _keeps_scale(
    X: Comparisons, y: Array, fold: NDArray[np.intp], n_folds: int
) -> bool:
    """Whether every training set's human votes join the models as all votes do."""
    rows = (fold >= 0) & X.is_human & ~X.involves_new
    left, right, at, y = X.left[rows], X.right[rows], fold[rows], y[rows]
    size = len(X.models)
    wins = np.zeros((n_folds, size, size), dtype=np.intp)
    np.add.at(wins, (at, left, right), y > 0)
    np.add.at(wins, (at, right, left), y < 1)
    whole = wins.sum(axis=0)
    return all(count_components(whole - w) == count_components(whole) for w in wins)


def _without_separated(
    X: Comparisons,
    btl: BTLRegressor,
    y: Array,
    weight: Array,
    groups: NDArray[np.intp] | None,
) -> tuple[Comparisons, list[Warning]]:
    """Leave out historical models whose scores the votes bound on one side only.

    At the maximum of the likelihood, infinitely far out, their votes say nothing of
    the other models, and no judge can be calibrated on their rows.
    """
    trial = clone(btl)
    notices = trial._fit(X, y, weight, groups)
    graph = trial.connectivity_
    separated = len(graph.strong_components) > len(graph.components)
    if not separated or trial.alpha > 0.0:
        # The chain will find, and tell, the same.
        return X, []
    lost = trial.models_[trial._unbounded].tolist()
    bounded = X.models[[model not in lost for model in X.models.tolist()]]
    cure = (
        "Name them in new_models to place them with the judges' help, add votes, or "
        "set BTLRegressor(alpha=0.01)."
    )
    if len(bounded) - int(X.is_new.sum()) < 2:
        raise BattlesError(
            "Human votes bound the scores of all historical models on one side only: "
            f"{str(notices[-1]).partition(': ')[2].partition('. ')[0]}. No two of them "
            "lie on a common scale. Add votes, or set BTLRegressor(alpha=0.01)."
        )
    kept = X.relabel(bounded, X.judges)
    rows = int((X.is_usable & ~kept.is_usable & (weight > 0)).sum())
    notices.append(
        DataWarning(
            f"The {rows} rows of models {lost[:5]}, whose scores have no limit, are "
            f"left out. {cure}"
        )
    )
    return kept, notices
