"""Bradley-Terry-Luce scores of the historical models from human votes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_consistent_length

from skanchor._battles import Comparisons, align
from skanchor._battles.labels import label_index
from skanchor._checks import check_level
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.human_bias import Scale, fit_votes, vote_biases
from skanchor._estimators.votes import (
    SENTENCES,
    HumanVotes,
    check_any_votes,
    check_graph,
    warn_of_silence,
)
from skanchor._model.btl import BTLFit, fit_btl
from skanchor._model.btl_errors import ScoreErrors
from skanchor._model.graph import Connectivity
from skanchor._model.linalg import positive_part
from skanchor._model.one_sided import OpenScores, dispersion_of
from skanchor._sample.row_rules import TIES
from skanchor._sample.sample import WEIGHTS, Battles, Sample
from skanchor._typing import Array
from skanchor.bias import BiasLearner
from skanchor.bias.registry import ONE_LEARNER, make_learner
from skanchor.warning_log import warn_of


class BTLRegressor(ComparisonEstimator):
    """Bradley-Terry-Luce scores by maximum likelihood, with their covariance.

    Parameters
    ----------
    alpha : float, default=0.0
        Ridge penalty: ``alpha / 2`` times the squared norm of the scores is added to
        the mean loss.
    score_bound : float, default=15.0
        Bound on the absolute scores, in logits. Models without a finite score are
        placed between the others and the bound, in the order of the wins. A finite
        score beyond the bound stays unchanged if all models that were compared are
        within twice the bound of each other. Otherwise it is set to the bound, which
        changes no other score.
    covariance : {"sandwich", "fisher", "clustered"}, default="sandwich"
        Covariance of the scores. ``"sandwich"`` sums score vectors over the ``groups``
        of ``fit``, if there are any; ``"clustered"`` raises an error without groups.
        ``"fisher"`` is the inverse information.
    disconnected : {"raise", "warn"}, default="raise"
        What to do if the comparisons do not connect all models. With ``"warn"``, the
        scores of each component are centred separately.
    unseen : {"warn", "raise"}, default="warn"
        What to do when ``predict`` meets a model that ``fit`` has not scored.
    tol : float, default=1e-10
        Largest change of the logit of a pair of models in the last Newton step.
    max_iter : int, default=100
        Largest number of Newton steps.
    weights : {"importance", "frequency"}, default="importance"
        Meaning of ``sample_weight``. With ``"frequency"`` it is a number of equal
        votes, and the covariance is that of the table that lists them all. The scores
        do not depend on it.
    ties : {"half", "drop"}, default="half"
        Treatment of ties. With ``"half"`` a tie is half a win for either side. With
        ``"drop"`` ties are left out; the scores are then log-odds of a decided vote, on
        a wider scale. A method without this parameter uses that of its
        ``BTLRegressor``, for all rows.
    bias : str or learner, optional
        Learner of people's own bias, a name or a learner as in
        :class:`JudgeCalibrator`. Scores then compare models at equal style. It needs
        features in human rows. None means that people have no bias.

    Attributes
    ----------
    models_ : ndarray of shape (n_models,)
        Models with votes.
    scores_ : Series
        Scores in logits by model. In each connected component, they sum to zero over
        the models whose scores the votes bound on both sides.
    covariance_ : ndarray of shape (n_models, n_models)
        Covariance of the scores; infinite variance marks a score that the votes
        bound on one side only, or join to others only by weights lost in rounding.
    connectivity_ : Connectivity
        Components, strong components, models that never won or never lost.
    unbounded_ : ndarray of shape (n_models,)
        Whether a score has no error: the votes bound it on one side only, it lies on
        ``score_bound``, or weights lost in rounding alone join it to others.
    dispersion_ : float
        Variance of the scores in that of independent votes, in the median over the
        models; one without groups.
    open_rows_ : OpenRows or None
        Votes on models that the votes bound on one side only, from which ``conf_int``
        has their limits; None without such models.
    bias_ : learner or None
        Fitted bias of people. If it has no linear span, ``covariance_`` treats all but
        its last coefficients as known; intervals of :class:`AnchorPipeline` do not.
    converged_ : bool
        Whether the solver converged.
    n_iter_ : int
        Newton steps taken.

    Raises
    ------
    DisconnectedError
        If the comparisons leave the models in several components.

    Notes
    -----
    Solves eq:human-estimation-v2 from the K x K win counts, so the cost of a step does
    not depend on the number of votes. Ties enter as half a win and one row, or not at
    all.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import BTLRegressor
    >>> X = pd.DataFrame({"model_a": ["x", "x", "y"], "model_b": ["y", "y", "x"]})
    >>> btl = BTLRegressor().fit(X, ["model_a", "model_b", "model_b"])
    >>> btl.scores_.round(2).to_dict()
    {'x': 0.35, 'y': -0.35}
    """

    scores_: pd.Series
    unbounded_: NDArray[np.bool_]
    _has_errors = _allows_for_raters = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "score_bound": [Interval(Real, 0, None, closed="neither")],
        **ComparisonEstimator._parameter_constraints,
        "covariance": [StrOptions({"sandwich", "fisher", "clustered"})],
        "disconnected": [StrOptions({"raise", "warn"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions(set(WEIGHTS))],
        "ties": [StrOptions(set(TIES))],
        "bias": [*ONE_LEARNER, None],
    }
    _stands_for: ClassVar = {
        "bias": lambda value: None if value is None else make_learner(value)
    }

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        score_bound: float = 15.0,
        covariance: str = "sandwich",
        disconnected: Literal["raise", "warn"] = "raise",
        unseen: Literal["warn", "raise"] = "warn",
        tol: float = 1e-10,
        max_iter: int = 100,
        weights: Literal["importance", "frequency"] = "importance",
        ties: Literal["half", "drop"] = "half",
        bias: str | BiasLearner | None = None,
    ):
        self.alpha = alpha
        self.score_bound = score_bound
        self.covariance = covariance
        self.disconnected = disconnected
        self.unseen = unseen
        self.tol = tol
        self.max_iter = max_iter
        self.weights = weights
        self.ties = ties
        self.bias = bias

    def _fit(
        self,
        sample: Sample,
        start: BTLRegressor | None = None,
        seed_offset: int = 0,
    ) -> None:
        X = sample.X
        if self.covariance == "clustered" and not sample.is_grouped:
            raise ValueError("covariance='clustered' needs groups in fit.")
        votes = HumanVotes.of(sample)
        present = votes.present
        if not len(present):
            self._fit_nothing(sample)
            return
        wins = votes.cells.wins
        self.models_ = X.models[present]
        n_scales = len(np.unique(X.items.context[present]))
        self.connectivity_ = Connectivity.of(wins, self.models_, n_scales)
        check_graph(self.connectivity_, self.disconnected, self.alpha, self.score_bound)
        fit = self._fit_scores(wins, start)
        self.bias_ = None
        self.dispersion_, self.open_rows_ = 1.0, None
        if self.bias is not None:
            self._fit_bias(votes, fit, start, seed_offset)
        elif start is not None:
            # In folds, errors are those of the whole inference.
            self.covariance_ = np.full((len(present), len(present)), np.nan)
        else:
            self._estimate_errors(votes, fit)
        if start is None and len(fit.scales):
            is_open, styles = fit.scale < 0, None
            if self.bias_ is not None and is_open.any():
                styles = vote_biases(self.bias_, X)
            self.open_rows_ = votes.open_rows(is_open, self.dispersion_, styles)

    def _fit_scores(self, wins: Array, start: BTLRegressor | None) -> BTLFit:
        """Fit ``scores_``, and flag those without a limit."""
        # A fit on nearly the same rows is a start, unless it lacks one of the models.
        first = None
        if start is not None:
            first = start.scores_for(self.models_)
            first = None if np.isnan(first).any() else first
        fit = fit_btl(
            wins, alpha=self.alpha, bound=self.score_bound, start=first, tol=self.tol,
            max_iter=self.max_iter,
        )  # fmt: skip
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        if not self.converged_:
            warn_of(SENTENCES, "scores-not-converged", n_iter=self.n_iter_)
        far = self.models_[fit.is_far].tolist()
        if far:
            facts: dict[str, Any] = {"some": far[:5], "bound": self.score_bound}
            warn_of(SENTENCES, "scores-at-bound", far, **facts)
        self.unbounded_ = fit.is_far | (fit.scale < 0)
        self._side = np.where(fit.is_far, np.sign(fit.scores), 0.0)
        scores = np.where(fit.is_far, self._side * self.score_bound, fit.scores)
        self.scores_ = pd.Series(scores, index=self._index, name="score")
        return fit

    def _estimate_errors(self, votes: HumanVotes, fit: BTLFit) -> None:
        """Set ``covariance_`` at the fitted scores."""
        errors = ScoreErrors.of(votes.cells, fit, self.alpha)
        self.unbounded_ = self.unbounded_ | errors.is_uncertain
        if errors.is_uncertain.any():
            light = self.models_[errors.is_uncertain].tolist()
            warn_of(SENTENCES, "votes-too-light", light, number=len(light))
        if self.covariance == "fisher":
            # Information is linear in the weights, which are in units of the heaviest;
            # a sandwich does not depend on the unit.
            self.covariance_ = self._open(errors.fisher() / votes.unit)
            return
        sample, rows, is_lost = votes.sample, votes.rows, False
        groups = None if sample.groups is None else sample.groups[rows]
        if groups is None:
            covariance = errors.of_votes()
        else:
            covariance, is_lost = errors.of_groups(votes.totals(groups, errors))
        if groups is not None and is_lost:
            warn_of(SENTENCES, "residuals-cancel", n_groups=len(np.unique(groups)))
        else:
            warn_of_silence(errors, self.models_)
        if sample.raters is not None:
            rater, n_votes = sample.raters[rows], len(sample.raters)
            # Without groups each vote is one of its own.
            prompt = np.arange(n_votes)[rows] if groups is None else groups
            unit = np.where(rater < 0, -1, prompt * (rater.max(initial=0) + 1) + rater)
            by_rater, by_unit = (
                errors.of_totals(votes.totals(codes, errors)) for codes in (rater, unit)
            )
            covariance += positive_part(by_rater - by_unit)
        if sample.is_grouped or sample.raters is not None:
            self.dispersion_ = dispersion_of(covariance, errors.of_votes())
        self.covariance_ = self._open(covariance)

    def _open(self, covariance: Array) -> Array:
        """Mark scores that the votes bound on one side only, in place."""
        covariance[self.unbounded_] = covariance[:, self.unbounded_] = 0.0
        covariance[self.unbounded_, self.unbounded_] = np.inf
        return covariance

    def _fit_bias(
        self,
        votes: HumanVotes,
        fit: BTLFit,
        start: BTLRegressor | None,
        seed_offset: int,
    ) -> None:
        """Fit scores and people's bias together, from the scores without one."""
        sample, present = votes.sample, votes.present
        # Scores and scales of all models of the sample, also of those without votes.
        scores = np.zeros(len(sample.X.models))
        number = np.full(len(scores), -1)
        scores[present], number[present] = fit.scores, fit.scale
        near = None if start is None else start.bias_
        scale = Scale(scores, number, self.alpha)
        found = fit_votes(sample, scale, self.bias, near, seed_offset)
        values = np.where(self.unbounded_, self.scores_, found.scores[present])
        self.scores_ = pd.Series(values, index=self._index, name="score")
        self.bias_ = found.bias
        covariance, self.dispersion_ = found.covariance()
        if self.covariance == "fisher":
            covariance = found.inverse
        self.covariance_ = self._open(covariance[np.ix_(present, present)])

    def _fit_nothing(self, sample: Sample) -> None:
        """Score no model, if every vote compares a model with itself."""
        check_any_votes(sample, self.disconnected)
        self.models_, self.bias_ = np.empty(0, dtype=object), None
        self.connectivity_ = Connectivity((), (), (), ())
        self.scores_ = pd.Series(index=self._index, dtype=float, name="score")
        self.covariance_ = np.zeros((0, 0))
        self.unbounded_ = np.zeros(0, dtype=bool)
        self._side = np.zeros(0)
        self.dispersion_, self.open_rows_ = 1.0, None
        self.converged_, self.n_iter_ = True, 1
        warn_of(SENTENCES, "only-self-comparisons")

    @property
    def _index(self) -> pd.Index:
        return label_index(self.models_, "model")

    @property
    def standard_errors_(self) -> pd.Series:
        """Standard errors of the scores, in logits."""
        errors = np.sqrt(np.diag(self.covariance_))
        return pd.Series(errors, index=self._index, name="standard_error")

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Confidence intervals of the scores.

        They are normal where a score has a standard error. A score that the votes bound
        on one side only has one limit, by its likelihood: for a model that lost all its
        votes, the score at which it loses them all with probability
        ``(1 - level) / 2``, or less where the scores of the others are uncertain. Both
        limits of a normal interval err with this probability. Where votes depend on
        each other within groups, those of such a model count for less by the factor by
        which the groups widen the variance of the other scores.

        A score on ``score_bound`` has an interval that is open on the other side. Its
        finite end is the reported score, which is not a confidence limit.

        Parameters
        ----------
        level : float, default=0.95
            Confidence level in (0, 1).

        Returns
        -------
        DataFrame
            Columns ``low`` and ``high`` in logits, by model.
        """
        half = ndtri(0.5 + check_level(level) / 2.0) * self.standard_errors_
        low, high = self.scores_ - half, self.scores_ + half
        # A score on the bound is limited by it alone.
        low = low.mask(self._side > 0, self.scores_)
        high = high.mask(self._side < 0, self.scores_)
        limits = np.column_stack([low, high])
        if self.open_rows_ is not None:
            known = np.where(np.isfinite(self.covariance_), self.covariance_, 0.0)
            open_scores = OpenScores(self.open_rows_, self.scores_.to_numpy(), known)
            for model in np.flatnonzero(self.open_rows_.is_open).tolist():
                limits[model] = open_scores.limit(model, None, level)
        return pd.DataFrame(limits, low.index, pd.Index(["low", "high"]))

    def scores_for(self, models: NDArray[Any]) -> Array:
        """Scores of the given models, in logits.

        Parameters
        ----------
        models : ndarray of shape (n,)
            Labels.

        Returns
        -------
        ndarray of shape (n,)
            NaN for a model without a score.
        """
        return align(self.scores_.to_numpy(), self.models_, models)

    def _annotate(self, X: Comparisons) -> Comparisons:
        scores = self.scores_for(X.models)
        new = X.new_models
        if new is None:
            new = tuple(X.models[np.isnan(scores)].tolist())
        if self.bias_ is None:
            return X.with_columns(scores=scores, new_models=new)
        return X.with_columns(
            scores=scores, new_models=new, biases=vote_biases(self.bias_, X)
        )

    def _scored_rows(self, X: Comparisons) -> NDArray[np.bool_]:
        return X.is_human

    def score(
        self, X: Battles, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """D^2 on human rows: the share of log loss that the scores remove.

        Parameters
        ----------
        X : battles table or Comparisons
            One row per comparison.
        y : array-like of shape (n_rows,)
            Outcomes.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        float
            1 is perfect, 0 is as good as a fair coin.
        """
        if hasattr(self, "models_") and not len(self.models_):
            # Every row is a toss of a fair coin, exactly.
            check_consistent_length(self._encode(X), y, sample_weight)
            return 0.0
        return 1.0 + super().score(X, y, sample_weight) / np.log(2.0)
