"""Fitted stages laid out for the one engine, and its fits as fitted stages again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skanchor._battles import Comparisons
from skanchor._model.fit import PEOPLE, Fit, Layout
from skanchor._model.item_effects import precision_of, with_item_effects
from skanchor._model.newton import FitOfAllRows, Step, steps_of
from skanchor._model.riesz import NO_DISPERSION, dispersion
from skanchor._model.sources import SourceRows
from skanchor._sample.sample import Sample
from skanchor._sample.source_rows import biases_of, source_rows, spans_of
from skanchor._typing import Array
from skanchor.bias.protocol import rejoined

POSITION_BOUND = 20.0
"""Bound on the absolute position effect, in judge logits."""


@dataclass(frozen=True, eq=False)
class PipelineFit:
    """Stages of a pipeline as one vector of parameters, and their rows by source.

    Sources are people and the judges of the rows, by code.

    Attributes
    ----------
    sample : Sample
        Rows that carry what the stages have learned, outcomes, weights and groups.
    calibrator : JudgeCalibrator or None
        Fitted; None for people alone.
    learners : list of learners
        Fitted bias of each source, people first; None without a bias.
    fit : Fit
        Values of all parameters.
    sources : list of SourceRows
        Rows that count, historical ones and those of new models apart.
    score_bounds : tuple of float
        Lower and upper bound of the new scores, in logits.
    """

    sample: Sample
    calibrator: Any
    learners: list[Any]
    fit: Fit
    sources: list[SourceRows]
    score_bounds: tuple[float, float] = (-np.inf, np.inf)

    @classmethod
    def of(
        cls,
        sample: Sample,
        calibrator: Any,
        human_bias: Any = None,
        *,
        covariance: Array | None = None,
        alpha: float = 0.0,
        score_bounds: tuple[float, float] = (-np.inf, np.inf),
    ) -> PipelineFit:
        """Lay out rows, and take over what they carry and what learners have fitted.

        Parameters
        ----------
        sample : Sample
            Rows that carry scores, sensitivities, position and item effects; scores
            that are not known are taken for zero.
        calibrator : JudgeCalibrator or None
            Fitted; None for people alone.
        human_bias : learner, optional
            Fitted bias of people.
        covariance : ndarray of shape (n_judges, n_judges), optional
            Covariance of the item effects; None leaves them out.
        alpha : float
            Ridge of the historical scores, beside the mean loss of votes.
        score_bounds : tuple of float
            Lower and upper bound of the new scores, in logits.

        Returns
        -------
        PipelineFit
        """
        X, judges = sample.X, sample.X.judges.tolist()
        biases = getattr(calibrator, "biases_", {})
        learners = [human_bias, *map(biases.get, judges)]
        flags = getattr(calibrator, "has_position_effect_", {})
        spans = spans_of(learners, sample)
        widths = tuple(len(span.coef) for span in spans)
        fit = carried(X, covariance).with_spans(widths)
        positions = False, *(bool(flags.get(judge, False)) for judge in judges)
        layout = replace(fit.layout, positions=positions)
        ridge = np.zeros(layout.size)
        for source, span in enumerate(spans):
            ridge[layout.span(source)] = span.ridge
            fit.x[layout.span(source)] = span.coef
        votes = sample.counts & X.is_human & ~X.involves_new
        ridge[layout.of_scores(~X.is_new)] = alpha * sample.weight[votes].sum()
        precision = fit.precision + np.diag(ridge)
        fit = replace(fit, layout=layout, precision=precision)
        rows = source_rows(sample, spans)
        return cls(sample, calibrator, learners, fit, rows, score_bounds)

    @property
    def layout(self) -> Layout:
        """Where each parameter lies."""
        return self.fit.layout

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of all parameters; item effects have none."""
        layout = self.layout
        bounds = np.array(layout.bounds_of_new(self.score_bounds))
        if layout.n_sources > 1:
            limits = np.array(self.calibrator.sensitivity_bounds)[:, None]
            bounds[:, layout.sensitivities] = limits
        bounds[:, layout.position_effects] = [[-POSITION_BOUND], [POSITION_BOUND]]
        return bounds[0], bounds[1]

    def moved(self, fit: Fit) -> PipelineFit:
        """The same rows and learners at another fit."""
        return replace(self, fit=fit)

    def coefficients(self) -> list[Array]:
        """Coefficients of the local columns of each source."""
        return [self.fit.coefficients(m) for m in range(self.layout.n_sources)]

    def with_new_scores(self, X: Comparisons) -> PipelineFit:
        """The same fit with the new scores that rows carry."""
        assert X.scores is not None
        x = self.fit.x.copy()
        x[self.layout.scores][X.is_new] = np.nan_to_num(X.scores[X.is_new])
        return self.moved(self.fit.moved(x, self.fit.converged))

    def with_item_effects(self, covariance: Array) -> PipelineFit:
        """The same fit beside item effects of a covariance, which are zero."""
        return self.moved(with_item_effects(self.fit, covariance))

    def dispersions(self, *, without_items: bool) -> Array:
        """Dispersion of the historical residuals of each source, its item effects zero.

        Parameters
        ----------
        without_items : bool
            As in :func:`skanchor._model.riesz.dispersion`.

        Returns
        -------
        ndarray of shape (n_judges + 1,)
            By judge, people last; one for sources without information.
        """
        x, noise = self.fit.x.copy(), np.ones(self.layout.n_sources)
        x[self.layout.item_effects] = 0.0
        fit = self.fit.moved(x)
        for rows in self.sources:
            if not rows.is_new:
                p, at = fit.probabilities(rows), rows.source - 1
                noise[at] = dispersion(rows, p, without_items=without_items)
        return noise

    def over(self, noise: Array) -> PipelineFit:
        """The same rows with weights divided by the dispersion of their source.

        Parameters
        ----------
        noise : ndarray of shape (n_judges + 1,)
            By judge, people last.
        """
        noise = np.where(noise > NO_DISPERSION, noise, 1.0)
        sources = [
            replace(rows, weight=rows.weight / noise[rows.source - 1])
            for rows in self.sources
        ]
        scale = np.ones(self.layout.size)
        for source in range(self.layout.n_sources):
            scale[self.layout.span(source)] = noise[source - 1]
        fit = replace(self.fit, precision=self.fit.precision / scale)
        return replace(self, fit=fit, sources=sources)

    def codes(self, judges: Collection[Any]) -> list[int]:
        """Codes of judges among the sources."""
        labels = self.sample.X.judges.tolist()
        return [1 + labels.index(judge) for judge in judges]

    def steps(
        self, excluded_judges: Collection[Any] = (), **settings: Any
    ) -> list[Step]:
        """List the minimisations, with judges by label; see :func:`steps_of`."""
        excluded = self.codes(excluded_judges)
        return steps_of(self.layout, excluded_judges=excluded, **settings)

    def fitted(self, steps: Sequence[Step], tolerance: float = 1e-10) -> PipelineFit:
        """Fit all rows step by step."""
        full = FitOfAllRows.of(self.fit, steps, self.sources, self.bounds, tolerance)
        return self.moved(full.fit)

    # -------------------------------------------------------------- back to the stages
    def annotate(self, X: Comparisons) -> Comparisons:
        """Rows with the parameters in their learned columns."""
        layout, effects = self.layout, None
        if layout.has_item_effects:
            by_model = self.fit.x[layout.item_effects].reshape(-1, layout.n_models)
            effects = by_model[:, layout.model]
        scores = self.fit.scores.copy()
        X = self.calibrated().transform(X.with_columns(scores=scores))
        biases = row_biases(X, {-1: self.voters()})
        return X.with_columns(biases=biases, deviations=effects)

    def _refitted(self) -> list[Any]:
        """Learner of each source with these coefficients, people first."""
        layout, x = self.layout, self.fit.x
        return [
            rejoined(one, x[layout.span(m)].copy()) if layout.widths[m] else one
            for m, one in enumerate(self.learners)
        ]

    def calibrated(self) -> Any:
        """Copy of the calibrator with these parameters of judges."""
        layout, x, judges = self.layout, self.fit.x, self.sample.X.judges.tolist()
        biases = dict(zip(judges, self._refitted()[1:], strict=True))
        slopes, positions = x[layout.sensitivities][1:], x[layout.position_effects][1:]
        parameters = biases, slopes, positions.copy(), layout.positions[1:]
        return copy(self.calibrator).with_parameters(*parameters)

    def voters(self) -> Any:
        """Copy of people's bias with these coefficients; None without a bias."""
        return self._refitted()[PEOPLE]


def carried(X: Comparisons, covariance: Array | None = None) -> Fit:
    """Parameters that rows carry, without spans; what is not carried is zero, or one.

    ``covariance``, of shape (n_judges, n_judges), is that of the item effects of one
    model; None leaves them out.
    """
    n_judges = len(X.judges)
    positions = [X.position_effects is not None] * n_judges
    layout = Layout(
        X.is_new,
        X.items.context,
        X.items.model,
        (0,) * (1 + n_judges),
        (False, *positions),
        covariance is not None,
    )
    fit = Fit.start(layout)
    x, at = fit.x, layout.item_effects
    for target, values in (
        (layout.scores, None if X.scores is None else np.nan_to_num(X.scores)),
        (layout.sensitivities, X.sensitivities),
        (layout.position_effects, X.position_effects),
    ):
        if values is not None:
            # People, the first source, have no parameters of judges.
            x[target.stop - len(values) : target.stop] = values
    if covariance is not None:
        fit.precision[at, at] = precision_of(covariance, layout.n_models)
        if X.deviations is not None:
            # The items of a model in several contexts have one effect together.
            effects = np.zeros((n_judges, layout.n_models))
            effects[:, layout.model] = np.nan_to_num(X.deviations)
            x[at] = effects.ravel()
    return fit


def row_biases(X: Comparisons, learners: Mapping[int, Any]) -> Array:
    """Bias contrasts that rows carry, or zero, and of these judges what is learned.

    ``learners`` are by the code of the judge, -1 for people; the contrasts are NaN
    where a feature is missing.
    """
    biases = np.zeros(len(X)) if X.biases is None else X.biases.copy()
    for m, learner in learners.items():
        if learner is not None and X.features_left.shape[1]:
            cut, whose = X.by_judge(m), f"judge {X.judges[m]!r}" if m >= 0 else "people"
            biases[cut.rows] = biases_of(learner, cut.pairs, whose)
    return biases
