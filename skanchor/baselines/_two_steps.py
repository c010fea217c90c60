"""Methods in steps: votes, then judges, then an equation for the new scores."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.baselines._base import (
    SCORE_BOUND,
    OfJudges,
    common_scores,
    mean_residual,
    placed,
    with_outcomes,
)
from skanchor.exceptions import BoundWarning
from skanchor.results.estimators import ScoreEstimator
from skanchor.warning_log import unheard


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


class JudgeArenaElo(TwoSteps):  # numpydoc ignore=PR02
    """One BTL model of the human battles and the new models' judge battles.

    A judge battle is treated as a human one, except for a temperature T common to all
    judges: ``P(a preferred) = sigma((theta_a - theta_b) / T)``. T is estimated from the
    judges' battles between historical models, with scores fixed at those of the human
    battles; these battles are used for nothing else. Scores of historical and new
    models are then fitted together. Ratings on the Elo scale are 400 / log(10) points
    per logit.

    Follows JudgeArena (Lushtaku et al., 2026), which "approximates LMArena Elo by
    fitting a common BTL model to historical human and target-model judge comparisons"
    (the paper, Section 1).

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of the temperature; None stands for ``JudgeCalibrator()``. Its bias is
        not used, and a position effect only improves the temperature.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_, judges_ : ndarray
        Labels of all models, of the new ones, and of the judges.
    temperature_ : float
        Human logits per judge logit.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import JudgeArenaElo
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> JudgeArenaElo().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _features = False
    _pooled = True

    @property
    def temperature_(self) -> float:
        """Human logits per judge logit."""
        return float(1.0 / self.calibrator_.sensitivities_.iloc[0])

    def _scores(self, sample: Sample) -> Array:
        X = sample.X
        assert X.sensitivities is not None
        weight = np.where(X.is_human | X.involves_new, sample.weight, 0.0)
        return common_scores(sample.weighted(weight), X.sensitivities, self.btl_)


class PerJudgeBTL(TwoSteps):
    """Average over judges of the score that each judge alone would give.

    A judge's score of a new model comes from a BTL model of all its rows, the new model
    included. It is divided by the judge's sensitivity, which is calibrated without
    features. With ``plug_in_average`` it is the judge's plug-in score instead, which
    maximises the likelihood of its arrival rows given its sensitivity and bias. A judge
    whose rows do not connect the new model to the historical ones is left out of the
    average. Compared in the paper's Supplementary Section A.2.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
        Its ridge and bound also apply to the BTL models of judges.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    plug_in_average : bool, default=False
        Whether a judge's score is its plug-in score.
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
    >>> from skanchor.baselines import PerJudgeBTL
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> PerJudgeBTL(plug_in_average=True).fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TwoSteps._parameter_constraints,
        "plug_in_average": ["boolean"],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        *,
        plug_in_average: bool = False,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        super().__init__(btl, calibrator, new_models=new_models, unseen=unseen)
        self.plug_in_average = plug_in_average

    @property
    def uses_features(self) -> bool:
        """Whether the method uses the features of the responses."""
        return self.plug_in_average

    def _scores(self, sample: Sample) -> Array:
        X = sample.X
        assert X.scores is not None and X.sensitivities is not None
        by_judge = []
        for m, slope in enumerate(X.sensitivities.tolist()):
            rows = sample.weighted(np.where(X.judge == m, sample.weight, 0.0))
            if not rows.counts.any():
                continue
            if self.plug_in_average:
                # Models that the judge has not met get no score from it.
                met = X.is_new & (X.appearances(rows.counts) > 0)
                known = X.with_columns(new_models=tuple(X.models[met].tolist()))
                with unheard(BoundWarning):
                    scores = super()._scores(rows.with_battles(known))
                scores = np.where(X.is_new & ~met, np.nan, scores)
            else:
                # A BTL score is in judge logits; division by c_m gives human logits. A
                # judge of sensitivity zero, which was warned of, gives the score zero.
                scores = common_scores(rows, np.ones(len(X.judges)), self.btl_)
                scores = scores / slope if slope else 0.0 * scores
            by_judge.append(np.clip(scores, -SCORE_BOUND, SCORE_BOUND))
        # Mean over the judges that give a finite score, NaN where none does.
        found = np.array(by_judge)
        known = np.isfinite(found)
        with np.errstate(invalid="ignore"):
            mean = np.where(known, found, 0.0).sum(axis=0) / known.sum(axis=0)
        return np.where(X.is_new, mean, X.scores)
