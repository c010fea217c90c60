"""How far favours that no column records would move each score, to first order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skanchor._model.fit import PEOPLE
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.readouts._answer import FittedRows

FAVOUR_OF = "favour_"
"""Beginning of the name of a column with the mean favour that a feature gives."""

MOST_FEATURES = 32
"""Most columns of a judge's bias whose favours are recorded one by one."""


@dataclass(frozen=True, eq=False)
class Exposures:
    """What favours of each judge do to each score, and favours that are recorded.

    The exposure of a score to a shift of the logits of some rows is the sum of ``a V``
    over them, with a the Riesz weight and V the variance of the outcome: the score
    moves by minus the shift times it once the shift is taken into account.

    Attributes
    ----------
    judges : DataFrame
        By judge: its ``sensitivity``, its ``position_effect`` in size, the standard
        deviation of its item effects ``item_sd``, and its largest item effect of a
        historical model in size, ``largest_deviation``. NaN where there is none.
    favour : ndarray of shape (n_judges + 1, n_items, n_scores)
        Exposure of each score to a favour for each item on all rows of the source,
        which is positive where the item is shown as ``model_a``; people last.
    recorded : ndarray of shape (n_judges, n_items, 1 + n_features)
        Mean favour that the features together, and each of them, give a new model, in
        judge logits: of its rows, which weigh by V. NaN where there are none.
    features : tuple of str
        What favours are recorded of.
    """

    judges: pd.DataFrame
    favour: Array
    recorded: Array
    features: tuple[str, ...]

    @classmethod
    def of(cls, fitted: FittedRows) -> Exposures:
        """Read exposures off the Riesz system of a fit, whose weights there are."""
        assert fitted.debiaser is not None
        X, solution = fitted.sample.X, fitted.debiaser.solution_
        table = pd.DataFrame(
            np.nan,
            pd.Index(X.judges.tolist(), name="judge", dtype=object),
            ["sensitivity", "position_effect", "item_sd", "largest_deviation"],
        )
        table["sensitivity"] = solution.fit.x[solution.layout.sensitivities][1:]
        if X.position_effects is not None:
            table["position_effect"] = np.abs(X.position_effects)
        if X.item_covariance is not None:
            table["item_sd"] = np.sqrt(np.diagonal(X.item_covariance))
        if X.deviations is not None:
            old = np.abs(X.deviations[:, ~X.is_new])
            table["largest_deviation"] = old.max(axis=1)
        # In a result the judges come first, and people last.
        favour = np.roll(solution.exposures(), -1, axis=0)
        return cls(table, favour, *_recorded_favours(fitted))

    def mapped(
        self,
        scores: Callable[[Array], Array],
        items: Callable[[Array], Array],
        recorded: Callable[[Array], Array],
    ) -> Exposures:
        """The same for other scores, which are linear in these.

        Parameters
        ----------
        scores, items, recorded : callable
            Take arrays whose last axis is of scores, of items that are liked, and of
            items with recorded favours, to that axis of the other scores.

        Returns
        -------
        Exposures
        """
        favour = np.swapaxes(items(np.swapaxes(scores(self.favour), 1, 2)), 1, 2)
        means = np.swapaxes(recorded(np.swapaxes(self.recorded, 1, 2)), 1, 2)
        return replace(self, favour=favour, recorded=means)

    def benchmarks(
        self, models: NDArray[Any], is_new: NDArray[np.bool_]
    ) -> pd.DataFrame:
        """Recorded sizes beside which a favour may be held, by new model and judge."""
        new, parts = np.flatnonzero(is_new), {}
        for i, model in zip(new.tolist(), models[new].tolist(), strict=True):
            favours = pd.DataFrame(
                self.recorded[:, i],
                self.judges.index,
                ["favour", *(f"{FAVOUR_OF}{name}" for name in self.features)],
            )
            favours.insert(0, "exposure", self.favour[:-1, i, i])
            sensitivity, others = self.judges[["sensitivity"]], self.judges.iloc[:, 1:]
            parts[model] = pd.concat([sensitivity, favours, others], axis=1)
        return pd.concat(parts, names=["model"])


def _recorded_favours(fitted: FittedRows) -> tuple[Array, tuple[str, ...]]:
    """Mean favours that features give new models by judge, and the features' names."""
    X, fit, sums = fitted.sample.X, fitted.fit, fitted.sums
    assert fit is not None and sums is not None
    means: dict[int, tuple[list[str], Array]] = {}
    for source, learner in enumerate(fitted.learners):
        if source == PEOPLE or learner is None or not X.feature_names:
            continue
        total, bias, span = sums.of_new_models(source)
        coef, names = fit.x[fit.layout.span(source)], []
        if linearity(learner) == "fixed" and len(coef) <= MOST_FEATURES:
            names = span_names(learner, tuple(X.feature_names), len(coef))
        favours = np.column_stack([bias, span[:, : len(names)] * coef[: len(names)]])
        mean = np.full(favours.shape, np.nan)
        np.divide(favours, total[:, None], out=mean, where=total[:, None] > 0)
        means[source - 1] = names, mean
    features = tuple(
        dict.fromkeys(name for names, _ in means.values() for name in names)
    )
    recorded = np.full((len(X.judges), fit.layout.n_items, 1 + len(features)), np.nan)
    for m, (names, mean) in means.items():
        recorded[m][:, [0, *(1 + features.index(name) for name in names)]] = mean
    return recorded, features
