"""One BTL model of votes and verdicts together, or one of each judge."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from skanchor._battles import decide_roles
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._estimators.pipeline_fit import carried
from skanchor._model.graph import components
from skanchor._sample.admission import check_ranking
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import source_rows
from skanchor._typing import Array
from skanchor.baselines._base import OfVotes, in_mean_units, wins_of
from skanchor.baselines._likelihood import SCORE_BOUND, minimum
from skanchor.baselines._plug_in import TwoSteps
from skanchor.exceptions import BattlesError, BoundWarning
from skanchor.results.estimators import RankingEstimator
from skanchor.warning_log import unheard


class JointBTL(OfVotes, RankingEstimator):  # numpydoc ignore=PR02
    """One BTL model of all human and judge rows, including those of the new models.

    Treats every judge as one more human: it "pools human and judge comparisons under
    a common BTL model, ignoring judge-specific sensitivities and feature-dependent
    bias" (the paper, Section 5). The errors assume that this model holds.

    Parameters
    ----------
    btl : BTLRegressor, optional
        The model; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank; None means all models without human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_ : ndarray
        Labels of all models, and of the new ones.
    btl_ : BTLRegressor
        The fitted model.
    result_ : RankingResult
        Scores re-centred over the historical models, with the sandwich covariance.

    Examples
    --------
    >>> from skanchor.baselines import JointBTL
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> JointBTL().fit(data.X, data.y).scores_.index.tolist()
    ['new-model']
    """

    def _admit(self, sample: Sample) -> Sample:
        X = decide_roles(sample.X, sample.weight, self.new_models)
        check_ranking(X, self.new_models)
        return sample.with_battles(X)

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        sample = self._admit(sample)
        X = sample.X
        # Usable rows become human votes on historical models.
        judge = np.where(X.is_usable, -1, X.judge)
        votes = X.with_columns(judge=judge, new_models=())
        self._fit_votes(sample.with_battles(votes), start)
        covariance = self.btl_.covariance_.copy()
        # Infinite variances would turn R C R' into NaN; the mask reports them instead.
        unbounded = ~np.isfinite(np.diag(covariance))
        covariance[unbounded, unbounded] = 0.0
        # BTLRegressor centres over all models. R = I - 1 h', with h one over the number
        # of historical models with a finite error there and zero at the others, centres
        # over those.
        centre = ~X.is_new if unbounded[~X.is_new].all() else ~(X.is_new | unbounded)
        recentre = np.eye(len(X.models)) - centre / centre.sum()
        self._conclude(
            sample.without_features(),
            recentre @ self.btl_.scores_.to_numpy(),
            recentre @ covariance @ recentre.T,
            unbounded,
            open_rows=self.btl_.open_rows_,
        )


class HumanOnly(JointBTL):  # numpydoc ignore=PR02
    """BTL fitted to human rows alone, including those of the new models.

    A reference for the information in votes: it needs human rows of the models in
    ``new_models``, such as the extra rows of ``simulate_battles``, and uses no judge
    row. The errors come from the joint information of all human rows, so that they
    account "for both human samples" (the paper, Section 5).

    Parameters
    ----------
    btl : BTLRegressor, optional
        The model; None stands for ``BTLRegressor()``.
    new_models : sequence of labels, optional
        New models to rank. They must be named, because they have human rows.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model without a score.

    Attributes
    ----------
    models_, new_models_ : ndarray
        Labels of all models, and of the new ones.
    btl_ : BTLRegressor
        The fitted model.
    result_ : RankingResult
        Scores re-centred over the historical models, with the sandwich covariance.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skanchor.baselines import HumanOnly
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> X = pd.concat([data.X, data.extra_X], ignore_index=True)
    >>> y = np.append(data.y, data.extra_y)
    >>> human = HumanOnly(new_models=["new-model"]).fit(X, y)
    >>> bool(0.1 < human.standard_errors_["new-model"] < 0.3)
    True
    """

    def _admit(self, sample: Sample) -> Sample:
        X = sample.X
        # Judge rows stay in the sample with weight zero.
        sample = sample.weighted(np.where(X.is_human, sample.weight, 0.0))
        voted = X.models[X.appearances(sample.counts) > 0].tolist()
        lost = [model for model in self.new_models or () if model not in voted]
        if lost:
            raise BattlesError(
                f"HumanOnly needs human rows of the new models, and {lost} have none. "
                "Add them to X and y."
            )
        return super()._admit(sample)


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

    def _admit(self, sample: Sample) -> Sample:
        self._features = self.plug_in_average
        return super()._admit(sample)

    def _scores(self, sample: Sample) -> Array:
        X = sample.X
        assert X.scores is not None and X.sensitivities is not None
        by_judge = []
        for m, slope in enumerate(X.sensitivities.tolist()):
            rows = sample.weighted(np.where(X.judge == m, sample.weight, 0.0))
            if self.plug_in_average:
                # Models that the judge has not met get no score from it.
                met = X.is_new & (X.appearances(rows.counts) > 0)
                with_roles = X.with_columns(new_models=tuple(X.models[met].tolist()))
                with unheard(BoundWarning):
                    scores = super()._scores(rows.with_battles(with_roles))
                scores = np.where(X.is_new & ~met, np.nan, scores)
            else:
                # A BTL score is in judge logits; division by c_m gives human logits. A
                # judge of sensitivity zero, which was warned of, gives the score zero.
                scores = common_scores(rows, np.ones(len(X.judges)), self.btl_)
                scores = scores / slope if slope else 0.0 * scores
            by_judge.append(np.clip(scores, -SCORE_BOUND, SCORE_BOUND))
        # Mean over the judges that give a finite score, NaN where none does.
        mean = pd.DataFrame(by_judge).mean()
        return np.where(X.is_new, mean, X.scores)


def common_scores(sample: Sample, slopes: Array, btl: BTLRegressor) -> Array:
    """BTL scores of all rows together, centred over the historical models.

    Parameters
    ----------
    sample : Sample
        The rows.
    slopes : ndarray of shape (n_judges,)
        Factors of the score differences in the logits of judges.
    btl : BTLRegressor
        Its ridge and bound are used.

    Returns
    -------
    ndarray of shape (n_models,)
        NaN for models that nothing connects with the historical ones. A score that
        the rows do not limit lies on the bound.
    """
    X = sample.X.with_columns(sensitivities=slopes, position_effects=None, biases=None)
    fit, sources = carried(X), source_rows(in_mean_units(sample.with_battles(X)))
    free = fit.layout.of_scores(np.ones(len(X.models), dtype=bool))
    ridge = btl.alpha * sum(float(rows.weight.sum()) for rows in sources)
    fit = replace(fit, precision=np.diag(ridge * free))
    fit = minimum(fit, sources, free, btl.score_bound)
    part = components(wins_of(sample, sample.counts) > 0, "weak")
    scores = np.where(part == part[~X.is_new][0], fit.scores, np.nan)
    return np.asarray(scores - scores[~X.is_new].mean())
