"""Bradley-Terry-Luce scores of the historical models from human votes."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import Comparisons, align
from skanchor._battles.labels import label_index
from skanchor._checks import check_level
from skanchor._estimators.base import ComparisonEstimator
from skanchor._estimators.pipeline_fit import PipelineFit, row_biases
from skanchor._estimators.votes import HumanVotes, fit_bias, votes_on_scales
from skanchor._model.btl import BTLFit, ScoreErrors, fit_btl, wins_of
from skanchor._model.fit import PEOPLE
from skanchor._model.graph import Connectivity, in_braces
from skanchor._model.newton import grams_of, minimise
from skanchor._model.one_sided import OpenRows, OpenScores, dispersion_of
from skanchor._model.riesz import Information, influence_of
from skanchor._sample.row_rules import TIES
from skanchor._sample.sample import WEIGHTS, Battles, Sample
from skanchor._typing import Array
from skanchor.bias import BiasLearner
from skanchor.bias.protocol import linearity
from skanchor.bias.registry import ONE_LEARNER, make_learner
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    ConvergenceWarning,
    DisconnectedError,
    SeparationWarning,
)
from skanchor.warning_log import warn_of_data

ROUNDS = 3
"""Times that a learner without a span is fitted, in turn with the scores."""

_FAR, _TOLERANCE = 30.0, 1e-14
"""Logit of a vote beyond which the likelihood is flat, so that votes may be separated;
and squared decrement of Newton's last step, at which a fit to such votes is beyond."""


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

    def _fit(self, sample: Sample, start: Any = None, seed_offset: int = 0) -> None:
        if self.covariance == "clustered" and not sample.is_grouped:
            raise ValueError("covariance='clustered' needs groups in fit.")
        has_bias = self.bias is not None
        votes = HumanVotes.of(sample if has_bias else sample.without_features())
        X, wins = votes.sample.X, wins_of(votes.sums)
        self.models_ = X.models
        # With "warn", rows that all compare a model with itself are let through.
        is_lax = self.disconnected == "warn" and sample.X.is_human.any()
        if not len(self.models_) and not is_lax:
            raise BattlesError(
                "No human row compares two historical models; human rows carry the "
                "label 'human' in column 'judge'."
            )
        n_scales = len(np.unique(X.items.context))
        self.connectivity_ = Connectivity.of(wins, self.models_, n_scales)
        self._check_graph(self.connectivity_)
        fit = self._fit_scores(wins, start)
        is_open = fit.scale < 0
        self.unbounded_ = fit.is_far | is_open
        self._side = np.where(fit.is_far, np.sign(fit.scores), 0.0)
        scores = np.where(fit.is_far, self._side * self.score_bound, fit.scores)
        self.bias_, self.dispersion_, self.open_rows_ = None, 1.0, None
        if has_bias:
            styled, covariance = self._fit_bias(votes, fit, start, seed_offset)
            scores = np.where(self.unbounded_, scores, styled)
        elif start is None:
            covariance = self._estimate_errors(votes, fit)
        else:
            # In folds, errors are those of the whole inference.
            covariance = np.full((len(scores), len(scores)), np.nan)
        index = label_index(self.models_, "model")
        self.scores_ = pd.Series(scores, index=index, name="score")
        covariance[self.unbounded_] = covariance[:, self.unbounded_] = 0.0
        covariance[self.unbounded_, self.unbounded_] = np.inf
        self.covariance_ = covariance
        if start is None and len(fit.scales) and is_open.any():
            rows = votes.single(self.bias_)
            self.open_rows_ = OpenRows.of(is_open, rows, self.dispersion_)

    def _check_graph(self, graph: Connectivity) -> None:
        """Refuse, or warn of, votes that leave scores undetermined."""
        if not graph.is_connected:
            where = f" in {graph.n_scales} contexts" if graph.n_scales > 1 else ""
            text = (
                f"The human comparisons leave {len(graph.components)} separate groups "
                f"of models{where}: {in_braces(graph.components)}. Scores of different "
                "groups lie on no common scale. Add comparisons between the groups"
            )
            if self.disconnected == "raise":
                raise DisconnectedError(
                    f"{text}, drop one, or set disconnected='warn'."
                )
            models = [model for part in graph.components for model in part]
            text += "; each group is centred on its own."
            warn_of_data("separate-groups", models, text, SeparationWarning)
        if graph.is_separated and self.alpha == 0.0:
            text = (
                f"Human votes bound some scores on one side only: {graph.separation()}."
                " These scores follow the order of the wins, at most "
                f"{self.score_bound} logits from zero, and have infinite standard "
                "errors. The others are as without them. Add comparisons or set "
                "alpha > 0."
            )
            code = "separated-scores"
            warn_of_data(code, graph.one_sided, text, SeparationWarning)

    def _fit_scores(self, wins: Array, start: BTLRegressor | None) -> BTLFit:
        """Fit scores; warn of those beyond the bound."""
        first = None if start is None else np.nan_to_num(start.scores_for(self.models_))
        fit = fit_btl(
            wins, alpha=self.alpha, bound=self.score_bound, start=first, tol=self.tol,
            max_iter=self.max_iter,
        )  # fmt: skip
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        if not fit.converged:
            text = f"BTL scores did not converge in {fit.n_iter} steps."
            warn_of_data("scores-not-converged", (), text, ConvergenceWarning)
        far = self.models_[fit.is_far].tolist()
        if far:
            text = (
                f"Scores of {far[:5]} lie beyond the bound of {self.score_bound} "
                "logits and are held there; the others are as without the bound."
            )
            warn_of_data("scores-at-bound", far, text, BoundWarning)
        return fit

    def _estimate_errors(self, votes: HumanVotes, fit: BTLFit) -> Array:
        """Covariance of the scores; with it ``dispersion_``, and scores without one."""
        errors = ScoreErrors.of(votes.sums, fit, self.alpha)
        self.unbounded_ |= errors.is_uncertain
        light = self.models_[errors.is_uncertain].tolist()
        if light:
            text = (
                f"The scores of {len(light)} models have no standard errors: they are "
                "joined by human rows only that weigh next to nothing beside the "
                "others. Set these weights to zero, or add human rows between them."
            )
            warn_of_data("votes-too-light", light, text)
        if self.covariance == "fisher":
            # Information is linear in the weights, which are in units of the heaviest;
            # a sandwich does not depend on the unit.
            return errors.fisher() / votes.unit
        covariance, is_lost, sample = errors.of_votes(), False, votes.sample
        if sample.is_grouped or sample.raters is not None:
            independent = covariance
            covariance, is_lost = errors.of_groups(votes.single())
            self.dispersion_ = dispersion_of(covariance, independent)
        silent = self.models_[errors.is_silent.any(axis=1)].tolist()
        if is_lost:
            text = (
                f"Residuals of human rows cancel within their {sample.n_groups} "
                "groups, and leave scores without an error. The errors are those of "
                "independent votes."
            )
            warn_of_data("residuals-cancel", (), text)
        elif silent:
            text = (
                f"Human rows of models {silent[:5]} show no noise: outcomes are what "
                "the scores predict. Their errors are those of independent votes."
            )
            warn_of_data("no-noise", silent, text)
        return covariance

    def _fit_bias(
        self, votes: HumanVotes, btl: BTLFit, start: Any, seed_offset: int
    ) -> tuple[Array, Array]:
        """Scores, beside people's bias, and their covariance; sets bias and dispersion.

        People with a bias are a judge whose sensitivity is one: a vote has the logit
        ``theta_a - theta_b + psi_0(x_a) - psi_0(x_b)``. Their fit is one step of the
        engine, and its sandwich the influence of the rows with weights that are solved
        on these rows.
        """
        scores, scale = btl.scores, btl.scale
        learner = None if start is None else start.bias_
        sample = votes_on_scales(votes.sample, scale)
        unit = float(sample.weight[sample.weight > 0].mean())
        for _ in range(ROUNDS):
            learner = fit_bias(sample, scores, self.bias, learner, seed_offset)
            X = sample.X.with_columns(scores=scores, new_models=())
            in_units = sample.with_battles(X).in_units(unit)
            plug_in = PipelineFit.of(in_units, None, learner, alpha=self.alpha)
            (rows,) = plug_in.sources
            # Models without a scale are a context of their own, and do not move.
            context = np.where(scale < 0, scale.max() + 1, scale)
            layout = replace(plug_in.layout, context=context)
            fit = replace(plug_in.fit, layout=layout)
            fit.x[layout.scores] = layout.targets.T @ fit.x
            free = layout.of_scores(scale >= 0) | layout.of_source(PEOPLE)
            fit, _ = minimise(fit, [rows], [rows.weight], free, tolerance=_TOLERANCE)
            if not fit.converged or np.abs(fit.logits(rows)).max(initial=0.0) > _FAR:
                raise BattlesError(
                    "Scores and features together separate the human votes, or nearly "
                    "so: no finite bias of people fits them. Use fewer features, or "
                    "give people's bias a ridge: human_bias is a LinearBias with alpha "
                    "0.01."
                )
            scores, learner = fit.scores, plug_in.moved(fit).voters()
            if linearity(learner) == "fixed":
                # The joint fit of scores and coefficients is exact. Others take turns.
                break
        # What a learner without a span has learned beside its last coefficients is
        # taken as known.
        grams, n_raters = grams_of(fit, [rows], [rows.weight]), rows.rater.max() + 1
        weights = Information.of(fit, grams, fit.precision).weights
        alone = np.full(len(rows), -1)
        apart = replace(rows, group=alone, rater=alone)
        covariance = influence_of(weights, [rows], n_raters).covariance_parts()[0]
        independent = influence_of(weights, [apart], 0).parts[0]
        self.bias_, self.dispersion_ = learner, dispersion_of(covariance, independent)
        if self.covariance == "fisher":
            covariance = layout.targets.T @ weights.values / unit
        return scores, covariance

    @property
    def standard_errors_(self) -> pd.Series:
        """Standard errors of the scores, in logits."""
        errors = np.sqrt(np.diag(self.covariance_))
        return pd.Series(errors, index=self.scores_.index, name="standard_error")

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
            covariance = np.where(np.isfinite(self.covariance_), self.covariance_, 0.0)
            open_scores = OpenScores(
                self.open_rows_, self.scores_.to_numpy(), covariance
            )
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
        columns: dict[str, Any] = {"scores": self.scores_for(X.models)}
        if X.new_models is None:
            unscored = X.models[np.isnan(columns["scores"])]
            columns["new_models"] = tuple(unscored.tolist())
        if self.bias_ is not None:
            columns["biases"] = row_biases(X, {-1: self.bias_})
        return X.with_columns(**columns)

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
        check_is_fitted(self)
        if not len(self.models_):
            # Every row is a toss of a fair coin, exactly.
            return 0.0
        return 1.0 + super().score(X, y, sample_weight) / np.log(2.0)
