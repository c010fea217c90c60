"""The plug-in with judges refitted on historical rows that resemble the arrivals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import HasMethods, Interval

from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.judges import JudgeCalibrator
from skanchor._model.logistic import fit_logistic
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.baselines._two_steps import TwoSteps

RIDGE = 1e-4
"""Ridge of the default classifier, added to the mean loss.

A ridge added to the total loss, as in scikit-learn, would depend on the unit in which
row weights are measured.
"""


class IPWOnly(TwoSteps):
    """Plug-in with judges refitted on historical rows weighted to resemble arrivals.

    For each judge a classifier distinguishes pairs of responses ``(x_new, x_j)`` of
    arrival rows from pairs of historical rows, which enter in both orders. Its odds are
    clipped at ``clip`` times their mean and rescaled to mean one. They are the weights
    of the historical rows (a row has the mean of its two orders) in a refit of
    sensitivities and biases. The new scores then solve the equation of
    :class:`DirectScore`. It "adds a density-weighted historical refit to examine
    whether reweighting for feature shift improves plug-in estimation" (the paper,
    Section 5). Several new models share one refit.

    Parameters
    ----------
    btl : BTLRegressor, optional
        Estimator of the historical models' scores; None stands for ``BTLRegressor()``.
    calibrator : JudgeCalibrator, optional
        Estimator of sensitivities and biases; None stands for ``JudgeCalibrator()``.
    classifier : classifier, optional
        Any scikit-learn classifier with ``predict_proba``; None stands for a logistic
        regression with a ridge of 1e-4 added to the mean loss, which is that of
        ``LogisticRegression()`` for ten thousand pairs. If rows are weighted, it must
        accept ``sample_weight``; these weights have mean one.
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
    effective_sample_sizes_ : Series
        ``(sum w)^2 / sum w^2`` of each judge's reweighted historical rows.
    btl_, calibrator_ : estimators
        The stages, fitted on all rows.
    result_ : PointResult
        Scores in logits, centred over the historical models.

    Examples
    --------
    >>> from skanchor.baselines import IPWOnly
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> ipw = IPWOnly().fit(data.X, data.y)
    >>> bool((ipw.effective_sample_sizes_ < 2500).all())
    True
    """

    _equation = "unweighted"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TwoSteps._parameter_constraints,
        "classifier": [HasMethods(["fit", "predict_proba"]), None],
        "clip": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        btl: BTLRegressor | None = None,
        calibrator: JudgeCalibrator | None = None,
        *,
        classifier: BaseEstimator | None = None,
        clip: float = 20.0,
        new_models: Sequence[Hashable] | None = None,
        unseen: Literal["warn", "raise"] = "warn",
    ):
        super().__init__(btl, calibrator, new_models=new_models, unseen=unseen)
        self.classifier = classifier
        self.clip = clip

    def _fit_judges(self, sample: Sample, start: Any) -> Sample:
        X, weight, sizes = sample.X, sample.weight.copy(), {}
        verdicts = sample.counts & ~X.is_human
        for m, judge in enumerate(X.judges.tolist()):
            rows = verdicts & (X.judge == m)
            history = np.flatnonzero(rows & ~X.involves_new)
            arrived = np.flatnonzero(rows & X.involves_new)
            if X.features_left.shape[1] and len(arrived):
                weight[history] *= self._ratios(sample, history, arrived)
            # Of sum one: squares of tiny weights would be zero.
            share = weight[history] / (weight[history].sum() or np.nan)
            sizes[judge] = 1.0 / (share @ share) if len(share) else np.nan
        found = pd.Series(sizes, name="effective_sample_size")
        self.effective_sample_sizes_ = found.rename_axis("judge")
        return super()._fit_judges(sample.weighted(weight), start)

    def _ratios(
        self, sample: Sample, history: NDArray[np.intp], arrived: NDArray[np.intp]
    ) -> Array:
        """Density ratios of the historical rows of a judge, of mean one."""
        X = sample.X
        # Features of arrival rows, of shape (n_arrivals, 2 n_features), with the new
        # model's response first. A row of two new models enters as it is recorded.
        turned = ~X.is_new[X.left[arrived]][:, None]
        sides = np.hstack([X.features_left, X.features_right])
        others = np.hstack([X.features_right, X.features_left])
        arrivals = np.where(turned, others[arrived], sides[arrived])
        # Pairs to classify: arrivals (label 1), then historical rows in both orders
        # (label 0), each with the weight of its row.
        pairs = np.vstack([arrivals, sides[history], others[history]])
        label = np.repeat([1, 0], [len(arrived), 2 * len(history)])
        weight = sample.weight[np.concatenate([arrived, history, history])]
        both = self._odds(pairs, label, weight)[len(arrived) :].reshape(2, -1)
        weight = sample.weight[history]
        total = 2.0 * weight.sum()
        both = np.minimum(both, self.clip * (both @ weight).sum() / total)
        # Clipping lowers the mean, so it is computed again. A row has the mean of its
        # two orders.
        return np.asarray(both.mean(axis=0) * total / (both @ weight).sum())

    def _odds(self, pairs: Array, label: NDArray[np.intp], weight: Array) -> Array:
        """Odds that a pair is of an arrival row, of shape (n_pairs,)."""
        if self.classifier is None:
            design = np.column_stack([np.ones(len(pairs)), pairs])
            penalty = np.append(0.0, np.full(pairs.shape[1], RIDGE))
            y = label.astype(np.float64)
            fit = fit_logistic(design, y, weight, penalty=penalty)
            # Odds are exp(logit); the clip prevents overflow.
            return np.exp(np.clip(design @ fit.coef, -30.0, 30.0))
        # With weights of mean one, a penalty of the classifier means what it means for
        # unweighted rows, whatever the unit of the weights.
        is_equal = (weight == weight[0]).all()
        options = {} if is_equal else {"sample_weight": weight / weight.mean()}
        classifier = clone(self.classifier).fit(pairs, label, **options)
        p = classifier.predict_proba(pairs)[:, 1]
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"{classifier!r} gave probabilities outside [0, 1].")
        return np.asarray(p / np.maximum(1.0 - p, 1e-12))
