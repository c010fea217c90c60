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

from skanchor._btl import BTLRegressor
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.batched import fit_judge
from skanchor._refits import Arrivals, BaseFits
from skanchor._typing import Array
from skanchor.baselines._base import PlugIn
from skanchor.sample import Sample

RIDGE = 1e-4
"""Ridge of the default classifier, added to the mean loss.

A ridge added to the total loss, as in scikit-learn, would depend on the unit in which
row weights are measured.
"""


class IPWOnly(PlugIn):
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

    _parameter_constraints: ClassVar = {
        **PlugIn._parameter_constraints,
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

    def _place(self, fits: BaseFits, arrivals: Arrivals) -> Array:
        return arrivals.root("equal")

    def _emphasis(self, fits: BaseFits) -> Array:
        """Density ratios of the rows, of shape (n_replicates, n_rows), of mean one."""
        X, layout = fits.X, fits.layout
        emphasis = np.ones_like(fits.weights)
        if not X.features_left.shape[1]:
            return emphasis
        rows = layout.arrival_rows
        # Features of arrival rows, of shape (n_arrivals, 2 n_features), with the new
        # model's response first. A row of two new models enters as it is recorded.
        turned = (layout.arrival_signs.sum(axis=1) < 0)[:, None]
        left, right = (side[rows] for side in layout.features)
        arrived = np.hstack(
            [np.where(turned, right, left), np.where(turned, left, right)]
        )
        for m in np.unique(X.judge[rows][X.judge[rows] >= 0]):
            mine = X.judge[rows] == m
            history = layout.cut(int(m)).rows
            # Pairs to classify: arrivals (label 1), then historical rows in both orders
            # (label 0), each with the weight of its row.
            both = tuple(side[history] for side in layout.features)
            pairs = np.vstack([arrived[mine], np.hstack(both), np.hstack(both[::-1])])
            label = np.repeat([1, 0], [mine.sum(), 2 * len(history)])
            whole = fits.weights[:, np.concatenate([rows[mine], history, history])]
            # Only the odds of historical pairs are needed: (n_replicates, 2 n_history).
            odds = self._odds(fits, int(m), pairs, label, whole)[:, mine.sum() :]
            emphasis[:, history] = self._clipped(odds, fits.weights[:, history])
        return emphasis

    def _odds(
        self,
        fits: BaseFits,
        judge: int,
        pairs: Array,
        label: NDArray[np.intp],
        weights: Array,
    ) -> Array:
        """Odds that a pair is of an arrival row, of shape (n_replicates, n_pairs)."""
        if self.classifier is not None:
            return np.array([self._classify(pairs, label, w) for w in weights])
        # Logistic regression of the label: a column of ones as the "score difference"
        # makes the intercept the first coefficient.
        ones = np.ones_like(weights)
        # Refits of a bootstrap start from the fit with the original weights.
        start = self._density.get(judge)
        coef, _ = fit_judge(
            ones,
            pairs,
            weights,
            weights * label,
            np.zeros(1 + pairs.shape[1]) if start is None else start,
            start_delta=None if start is None else ones[0],
            ridge=np.full((len(weights), pairs.shape[1]), RIDGE),
            tol=fits.tol,
            work=fits.layout.work,
        )
        self._density.setdefault(judge, coef[0])
        # Odds are exp(logit); the clip prevents overflow.
        return np.exp(np.clip(coef[:, :1] + coef[:, 1:] @ pairs.T, -30.0, 30.0))

    def _classify(self, pairs: Array, label: NDArray[np.intp], weight: Array) -> Array:
        """Odds from the user's classifier, of shape (n_pairs,), for one replicate."""
        used = weight > 0
        # A resample may lack arrivals or historical rows; then nothing is reweighted.
        if len(np.unique(label[used])) < 2:
            return np.ones(len(pairs))
        options = {}
        if (weight[used] != weight[used][0]).any():
            # With weights of mean one, a penalty of the classifier means what it means
            # for unweighted rows, whatever the unit of the weights.
            options["sample_weight"] = weight[used] / weight[used].mean()
        classifier = clone(self.classifier).fit(pairs[used], label[used], **options)
        p = classifier.predict_proba(pairs)[:, 1]
        if p.shape != (len(pairs),) or not ((p >= 0) & (p <= 1)).all():
            raise ValueError(
                f"{classifier!r} gave probabilities outside [0, 1] or of wrong shape."
            )
        return np.asarray(p / np.maximum(1.0 - p, 1e-12))

    def _clipped(self, odds: Array, weights: Array) -> Array:
        """Mean of the two orders of each row, clipped and rescaled to mean one.

        `odds` has shape (n_replicates, 2 n_history), the result has the shape of
        `weights`, (n_replicates, n_history).
        """
        # Axes: order, replicate, row.
        both = np.stack(np.split(odds, 2, axis=1))
        total = 2.0 * weights.sum(axis=1, keepdims=True)
        mean = (both * weights).sum(axis=(0, 2))[:, None] / total
        both = np.minimum(both, self.clip * mean)
        # Clipping lowers the mean, so it is computed again.
        mean = (both * weights).sum(axis=(0, 2))[:, None] / total
        return np.asarray(both.mean(axis=0) / mean)

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        # Coefficients of the default classifier by judge, from which refits start.
        self._density: dict[int, Array] = {}
        super()._fit(sample, start, seed_offset)

    def _remember(self, fits: BaseFits) -> None:
        assert fits.emphasis is not None
        sizes = {}
        for m, judge in enumerate(fits.X.judges.tolist()):
            rows = fits.layout.cut(m).rows
            w = fits.weights[0, rows] * fits.emphasis[0, rows]
            # Scaled so that the largest is one: squares of tiny weights would be zero.
            w = w / w.max(initial=np.finfo(float).tiny)
            sizes[judge] = w.sum() ** 2 / (w**2).sum() if w.any() else np.nan
        found = pd.Series(sizes, name="effective_sample_size")
        self.effective_sample_sizes_ = found.rename_axis("judge")
