"""Maximum likelihood: of all parameters, of scores and sensitivities, or of scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons, decide_roles
from skanchor._estimators.pipeline_fit import PipelineFit, carried
from skanchor._model.btl import LEAST_NOISE
from skanchor._model.fit import PEOPLE, Fit
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.newton import minimise
from skanchor._model.riesz import Information, influence_of
from skanchor._model.sources import SourceRows
from skanchor._sample.admission import check_ranking
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows
from skanchor._typing import Array
from skanchor.baselines._base import Baseline, OfJudges, in_mean_units, placed
from skanchor.bias.protocol import linearity
from skanchor.exceptions import BattlesError, ConvergenceWarning
from skanchor.results.estimators import RankingEstimator
from skanchor.warning_log import warn_of_data

SCORE_BOUND = 15.0
"""Bound on the absolute score of a new model, in logits, as that of ArrivalScorer."""

FARTHEST = 100.0
"""Bound on parameters that are fitted together: it keeps separated ones finite."""

# Squared Newton decrement of the last step, in squared standard errors: of a fit, and
# of one of many on nearly the same rows, which differ by about one.
EXACT, NEAR = 1e-16, 1e-12


class JointMLE(OfJudges, RankingEstimator):  # numpydoc ignore=PR02
    """Scores, sensitivities and linear biases from one likelihood of all rows.

    Human rows have probability ``sigma(theta_a - theta_b)``, judge rows ``sigma(c_m
    (theta_a - theta_b) + b_m' (phi(x_a) - phi(x_b)) + o p_m)``, arrivals included
    (eq:human-model-new, eq:hist-surrogate-model-new, eq:arrival-surrogate-model-new).
    If the biases are linear, the estimate is efficient, and ``AnchorPipeline`` agrees
    with it to first order.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores from which the joint fit starts; None
        stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Defines linear biases and position effects; None stands for
        ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_ : BTLRegressor
        The fit of human rows alone, from which the joint fit started.
    calibrator_ : JudgeCalibrator
        Sensitivities and biases of the joint fit.
    result_ : RankingResult
        Scores in logits, centred over the historical models, with the sandwich
        covariance.

    Examples
    --------
    >>> from skanchor.baselines import JointMLE
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=1)
    >>> joint = JointMLE().fit(data.X, data.y)
    >>> bool(joint.standard_errors_["new-model"] < 0.15)
    True
    """

    # Whether human rows are in the likelihood. If not, mean sensitivity one fixes the
    # scale.
    _has_votes: ClassVar[bool] = True

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = in_mean_units(self._admit(sample))
        X = sample.X
        if start is None:
            # The two-step plug-in, from which the joint likelihood is maximised.
            plug_in = placed(self._fit_judges(sample, None))
        else:
            self._fit_votes(sample, start)
            self.calibrator_ = start.calibrator_
            plug_in = sample.with_battles(start._annotate(X))
        learners = list(self.calibrator_.biases_.values())
        if any(linearity(learner) != "fixed" for learner in learners):
            raise BattlesError(
                f"{type(self).__name__} needs biases that are linear in their "
                f"coefficients, such as LinearBias, got {learners}."
            )
        stages = PipelineFit.of(plug_in, self.calibrator_)
        sources, first, layout = stages.sources, stages.fit, stages.layout
        if not self._has_votes:
            sources = [rows for rows in sources if rows.source != PEOPLE]
            if start is None:
                # What votes say of the scores is no start: judges may contradict them,
                # and the likelihood has further maxima.
                first = replace(Fit.start(layout), precision=first.precision)
            # The likelihood is flat along the scale, so that any penalty fixes it: here
            # half the square of mean sensitivity - 1. The one is that of people, which
            # is not fitted.
            gap, n_judges = np.zeros(layout.size), len(X.judges)
            gap[layout.sensitivities] = [-1.0, *np.full(n_judges, 1.0 / n_judges)]
            penalty = sum(map(len, sources)) * np.outer(gap, gap)
            first = replace(first, precision=first.precision + penalty)
        tolerance = EXACT if start is None else NEAR
        fit = minimum(first, sources, layout.estimated, FARTHEST, tolerance=tolerance)
        if not fit.converged:
            warn_of_data(
                "joint-not-converged",
                (),
                "The joint likelihood did not converge; a model or a feature may be "
                "separated.",
                ConvergenceWarning,
            )
        self.calibrator_ = stages.moved(fit).calibrated()
        if start is None:
            covariance, unbounded = sandwich(fit, sources, layout.estimated)
        else:
            # Of refits only the scores are read.
            covariance = np.full((layout.n_items, layout.n_items), np.nan)
            unbounded = np.zeros(layout.n_items, dtype=bool)
        scores = np.clip(fit.scores, -SCORE_BOUND, SCORE_BOUND)
        unbounded |= (np.abs(scores) >= SCORE_BOUND) | (not fit.converged)
        self._conclude(sample, scores, covariance, unbounded)


class JudgeAwareBTL(JointMLE):  # numpydoc ignore=PR02
    """One ranking of all models by the judges, each with its own sensitivity.

    Fits ``sigma(c_m (theta_a - theta_b))`` to all judge rows by maximum likelihood.
    Human rows only decide which models are historical. The scale is fixed by a mean
    sensitivity of one. The method follows the judge-aware rankings cited in the paper's
    introduction (Xu et al., 2026). Features are not used.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the scores from which the joint fit starts; None stands for
        ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Defines position effects (its bias is not used); None stands for
        ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_ : BTLRegressor
        The fit of human rows alone, from which the joint fit started.
    calibrator_ : JudgeCalibrator
        Sensitivities of the joint fit, of mean one.
    result_ : RankingResult
        Scores in logits of the mean judge, centred over the historical models, with
        the sandwich covariance.

    Examples
    --------
    >>> from skanchor.baselines import JudgeAwareBTL
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> aware = JudgeAwareBTL().fit(data.X, data.y)
    >>> float(aware.calibrator_.sensitivities_.mean().round(6))
    1.0
    """

    _features = False
    _has_votes = False


class Oracle(Baseline, RankingEstimator):
    """Likelihood of the arrival rows with the true scores, sensitivities and biases.

    An information reference, which "uses the true nuisance functions" and "its arrival
    sandwich variance" (the paper, Section 5).

    Parameters
    ----------
    truth : mapping, optional
        ``scores`` (Series by historical model), ``sensitivities`` (Series by judge),
        ``bias`` (mapping from judge to a function of features, of shape (n, n_features)
        to (n,)) and optionally ``item_effects`` (DataFrame models x judges).
        ``simulate_battles`` returns them as ``truth``. Required.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    result_ : RankingResult
        True scores of the historical models, without error, and scores of the new ones
        with the sandwich covariance.

    Examples
    --------
    >>> from skanchor.baselines import Oracle
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> oracle = Oracle(truth=data.truth).fit(data.X, data.y)
    >>> bool(abs(oracle.scores_["new-model"] - 0.5) < 0.4)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankingEstimator._parameter_constraints,
        # `_fit` names the entries that are missing.
        "truth": "no_validation",
    }

    def __init__(
        self,
        truth: Any = None,
        *,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        self.truth = truth
        self.new_models = new_models
        self.unseen = unseen

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        X = decide_roles(sample.X, sample.weight, self.new_models)
        check_ranking(X, self.new_models)
        old, judges, truth = X.models[~X.is_new].tolist(), X.judges.tolist(), self.truth
        needed = {"scores": old, "sensitivities": judges, "bias": judges}
        for name, labels in needed.items():
            true_labels = () if truth is None else truth.get(name, ())
            lacking = [label for label in labels if label not in true_labels]
            if lacking:
                raise BattlesError(
                    f"Oracle needs truth= with {list(needed)}, as in "
                    f"simulate_battles(...).truth; {name!r} lacks {lacking[:5]}."
                )
        # Centred over the historical models, like the scores of every method.
        scores = truth["scores"] - truth["scores"].reindex(old).mean()
        X = X.with_columns(scores=scores.reindex(X.models).to_numpy(np.float64))
        sample = placed(sample.with_battles(self._with_truth(X)))
        # Only rows of new models decide.
        weight = np.where(X.involves_new, sample.weight, 0.0)
        rows = in_mean_units(sample.weighted(weight))
        fit, sources = carried(rows.X), source_rows(rows)
        covariance, unbounded = sandwich(fit, sources, fit.layout.of_scores(X.is_new))
        unbounded |= X.is_new & (np.abs(fit.scores) >= SCORE_BOUND)
        self._conclude(sample, fit.scores, covariance, unbounded)

    def _with_truth(self, X: Comparisons) -> Comparisons:
        """Rows with the true sensitivities, biases and item effects."""
        truth, biases = self.truth, np.zeros(len(X))
        effects = truth.get("item_effects")
        for m, judge in enumerate(X.judges.tolist()):
            cut = X.by_judge(m)
            if judge in truth["bias"] and len(cut):
                psi = truth["bias"][judge]
                biases[cut.rows] = psi(cut.pairs.left) - psi(cut.pairs.right)
                if effects is not None:
                    u = effects[judge].reindex(X.models).to_numpy(dtype=np.float64)
                    biases[cut.rows] += u[cut.left] - u[cut.right]
        slopes = truth["sensitivities"].reindex(X.judges).to_numpy(np.float64)
        return X.with_columns(sensitivities=slopes, biases=biases)

    def _annotate(self, X: Comparisons) -> Comparisons:
        return self._with_truth(super()._annotate(X))


def sandwich(
    fit: Fit, sources: Sequence[SourceRows], free: NDArray[np.bool_]
) -> tuple[Array, NDArray[np.bool_]]:
    """Sandwich covariance of all scores, from the influence of rows or groups.

    Parameters
    ----------
    fit : Fit
        The maximum of the likelihood.
    sources : sequence of SourceRows
        The rows.
    free : ndarray of shape (size,)
        Mask of the parameters that were fitted.

    Returns
    -------
    covariance : ndarray of shape (n_models, n_models)
    undetermined : ndarray of shape (n_models,)
        Scores that the rows do not determine, or of whose error they show nothing:
        every outcome is what the fit predicts, or residuals cancel within groups.
    """
    layout, grams, squares = fit.layout, [], []
    mixed = np.zeros((layout.size, layout.size))
    for rows in sources:
        p = fit.probabilities(rows)
        grams.append((rows.source, rows.information(rows.weight, p)))
        squares.append((rows.source, rows.gram(rows.weight**2 * p * (1.0 - p))))
        # The coefficients c s of the items have a second derivative by c and s, which
        # the residuals multiply. People's c is one.
        if rows.source != PEOPLE:
            slope = layout.sensitivities.start + rows.source
            residual = rows.weight * (rows.y - p)
            mixed[layout.scores, slope] += rows.sums(residual)[: layout.n_items]
    # J, minus the second derivative of the log likelihood, by the free parameters.
    second = fit.centred(fit.information(grams)) + fit.precision
    at = np.flatnonzero(free)
    second = (second - mixed - mixed.T)[at[:, None], at]
    system = SymmetricSystem.of(second)
    weights = Information(fit, at, second, system, {}, {}, fit.precision).weights
    # Rows of a group depend on each other: their influences are summed, then squared.
    covariance = influence_of(weights, sources, 0).parts.sum(axis=0)
    independent = weights.expected_parts(squares).sum(axis=0).diagonal()
    noiseless = covariance.diagonal() <= LEAST_NOISE * independent
    return covariance, weights.undetermined | (noiseless & (independent > 0))


def minimum(
    start: Fit,
    sources: Sequence[SourceRows],
    free: NDArray[np.bool_],
    bound: float,
    tolerance: float = EXACT,
) -> Fit:
    """Fit parameters of a mask within a bound of their size; see :func:`minimise`."""
    weights, most = [rows.weight for rows in sources], np.full(len(start.x), bound)
    fit, _ = minimise(
        start, sources, weights, free, bounds=(-most, most), tolerance=tolerance
    )
    return fit
