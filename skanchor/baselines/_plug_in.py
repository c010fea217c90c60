"""The plug-in: votes, then judges, then an equation for the new scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval

from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._model.logistic import fit_logistic
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.baselines._base import OfJudges, mean_residual, placed, with_outcomes
from skanchor.results.estimators import ScoreEstimator

RIDGE = 1e-4
"""Ridge of the classifier of :class:`IPWOnly`, added to the mean loss.

A ridge added to the total loss, as in scikit-learn, would depend on the unit in which
row weights are measured.
"""


class TwoSteps(OfJudges, ScoreEstimator):
    """Methods in steps; a subclass says how new scores follow from judged rows."""

    # That of ArrivalScorer: unweighted, residuals do not count by sensitivity.
    _equation: ClassVar[str] = "likelihood"

    def _scores(self, sample: Sample) -> Array:
        """Scores of all models, from rows that carry what the stages have learned."""
        return placed(sample, self._equation).X.learned_scores()

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        self._conclude(sample, self._scores(self._fit_judges(sample, start)))


class DirectScore(TwoSteps):  # numpydoc ignore=PR02
    """Plug-in score from the unweighted arrival equation, without correction.

    With sensitivities c and biases h from the historical rows, the score t of a new
    model solves ``sum [Y - sigma(c (t - theta_J) + h)] = 0`` over its arrival rows.
    Each row is oriented so that the new model comes first. In the paper's words
    (Section 5), a "plug-in arrival equation, without joint orthogonal correction".

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import DirectScore
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> DirectScore().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _equation = "unweighted"


class HistoricalPPI(TwoSteps):  # numpydoc ignore=PR02
    """Plug-in whose arrival equation is shifted by the mean historical human residual.

    The score t of a new model solves ``mean [Y - sigma(c (t - theta_J) + h)] + mean [Y
    - sigma(theta_i - theta_j)] = 0``. The first mean is over its arrival rows, oriented
    so that the new model comes first. The second is over the historical human rows as
    recorded. The method
    "adapts prediction-powered inference by adding an average residual correction from
    historical human labels, without transporting it to the arrival feature
    distribution" (the paper, Section 5, after Angelopoulos et al., 2023).

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import HistoricalPPI
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> HistoricalPPI().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _equation = "unweighted"

    def _scores(self, sample: Sample) -> Array:
        X = sample.X
        # 1 where the new model is first, -1 where it is second.
        side = X.is_new[X.left].astype(float) - X.is_new[X.right]
        shift = mean_residual(sample, X.is_human & ~X.involves_new)
        return super()._scores(with_outcomes(sample, sample.y + side * shift))


class MeanShift(TwoSteps):  # numpydoc ignore=PR02
    """Plug-in with the mean bias of each judge in place of the bias of each row.

    Sensitivities c and biases h come from the historical rows. On arrival rows h is
    replaced by its mean over the judge's arrival rows, oriented so that the new model
    comes first. The likelihood weights a row by its sensitivity. Compared in the
    paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import MeanShift
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> MeanShift().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    def _scores(self, sample: Sample) -> Array:
        X = sample.X
        assert X.biases is not None
        side = X.is_new[X.left].astype(float) - X.is_new[X.right]
        # Rows between two new models keep their bias.
        rows = np.flatnonzero(sample.counts & ~X.is_human & (side != 0))
        new = np.where(side > 0, X.left, X.right)[rows]
        _, cell = np.unique([new, X.judge[rows]], axis=1, return_inverse=True)
        cell, weight = cell.ravel(), sample.weight[rows]
        # Mean bias by new model and judge, seen from the side of the new model.
        total = np.bincount(cell, weight * side[rows] * X.biases[rows])
        biases = X.biases.copy()
        biases[rows] = side[rows] * (total / np.bincount(cell, weight))[cell]
        return super()._scores(sample.with_battles(X.with_columns(biases=biases)))


class ScalarJudge(TwoSteps):  # numpydoc ignore=PR02
    """Plug-in with a sensitivity for each judge and no feature-dependent bias.

    Fits ``eta = c_m (theta_a - theta_b)`` to each judge's historical rows, then the new
    scores by the likelihood of the arrival rows. Features are not used. Compared in
    the paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities (and position effects; its bias is not used); None
        stands for ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import ScalarJudge
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> ScalarJudge().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _features = False


class PooledLLM(TwoSteps):  # numpydoc ignore=PR02
    """Plug-in that treats all judges as one judge.

    Fits one sensitivity c and one bias h to the historical rows of all judges, then the
    new scores by the likelihood of the arrival rows. Compared in the paper's
    Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import PooledLLM
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> PooledLLM().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _pooled = True


class IPWOnly(TwoSteps):
    """Plug-in with judges refitted on historical rows weighted to resemble arrivals.

    For each judge a logistic regression, with a ridge of 1e-4 beside the mean loss,
    distinguishes pairs of responses ``(x_new, x_j)`` of arrival rows from pairs of
    historical rows, which enter in both orders. Its odds are clipped at ``clip`` times
    their mean and rescaled to mean one. They are the weights of the historical rows (a
    row has the mean of its two orders) in a refit of sensitivities and biases. The new
    scores then solve the equation of :class:`DirectScore`. It "adds a density-weighted
    historical refit to examine whether reweighting for feature shift improves plug-in
    estimation" (the paper, Section 5). Several new models share one refit.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    clip : float, default=20.0
        Largest odds, in multiples of their mean.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import IPWOnly
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> IPWOnly(clip=5.0).fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _equation = "unweighted"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TwoSteps._parameter_constraints,
        "clip": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        *,
        clip: float = 20.0,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        super().__init__(btl, calibrator, new_models=new_models, unseen=unseen)
        self.clip = clip

    def _fit_judges(self, sample: Sample, start: Any) -> Sample:
        X, weight = sample.X, sample.weight.copy()
        # Features of both responses, of shape (n_rows, 2 n_features).
        sides = np.hstack([X.features_left, X.features_right])
        others = np.hstack([X.features_right, X.features_left])
        for m in range(len(X.judges)):
            rows = sample.counts & (X.judge == m)
            old = np.flatnonzero(rows & ~X.involves_new)
            arrived = np.flatnonzero(rows & X.involves_new)
            if not sides.shape[1] or not len(arrived):
                continue
            # The new model's response is first. A row of two new models enters as it is
            # recorded.
            turned = ~X.is_new[X.left[arrived]][:, None]
            arrivals = np.where(turned, others[arrived], sides[arrived])
            # Pairs to classify: arrivals (label 1), then historical rows in both orders
            # (label 0), each with the weight of its row.
            pairs = np.vstack([arrivals, sides[old], others[old]])
            label = np.repeat([1.0, 0.0], [len(arrived), 2 * len(old)])
            counts = sample.weight[np.concatenate([arrived, old, old])]
            design = np.column_stack([np.ones(len(pairs)), pairs])
            penalty = np.append(0.0, np.full(pairs.shape[1], RIDGE))
            fit = fit_logistic(design, label, counts, penalty=penalty)
            # Odds are exp(logit); limits of the logits prevent overflow.
            odds = np.exp(np.clip(design @ fit.coef, -30.0, 30.0))
            both, counts = odds[len(arrived) :].reshape(2, -1), sample.weight[old]
            total = 2.0 * counts.sum()
            both = np.minimum(both, self.clip * (both @ counts).sum() / total)
            # Clipping lowers the mean, so it is computed again. A row has the mean of
            # its two orders.
            weight[old] *= both.mean(axis=0) * total / (both @ counts).sum()
        return super()._fit_judges(sample.weighted(weight), start)
