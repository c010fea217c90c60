"""Do judges treat the new models as they treated the old ones, and alike?

Parameters that the fit leaves out are tested on its residuals: a change of a judge's
sensitivity or position effect on arrival rows, a curved scale of a judge, and what each
judge thinks of a model beyond what all share. Their scores are made orthogonal to all
that was fitted, the new scores and the bias functions among it, and item effects are
taken as the fit takes them, so that the test is against the noise of the whole fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from skanchor._diagnostics.sums import N_TESTED, FitSums
from skanchor._model.fit import Fit, without_rounding
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import Information
from skanchor._model.sources import SourceSums
from skanchor._typing import Array
from skanchor.results.adjustment import holm_adjust

CHANGES = ("sensitivity", "position")
"""What may change on the rows of new models."""

TOGETHER = "all judges"
"""In place of a judge, for a change that all share."""

DISAGREE = 0.01
"""P-value below which judges disagree about a model."""

OWN_SHARE = 1e-3
"""Share of a change's information that what was fitted must leave."""

_OF_MODELS = pd.Index(["chi2", "df", "p_value", "lowest", "highest", "scale"])


@dataclass(frozen=True, eq=False)
class ArrivalCheck:
    """Whether judges treat the new models as they treated the old ones, and alike.

    Attributes
    ----------
    changes : DataFrame
        By judge (and for all of them together) and change: its ``value`` on arrival
        rows, a factor of the sensitivity or a difference of position effects in judge
        logits; ``p_value``, and ``p_adjusted`` among all; the new ``model`` that it
        moves most, and the ``shift`` of its score once it is taken into account.
        Without a row for what the rows cannot tell.
    models : DataFrame
        By model: ``chi2`` of the scores that the judges give it one by one, ``df``,
        ``p_value``; ``lowest`` and ``highest`` of those scores; and for new models the
        ``scale`` of its error, the root of chi2 over df where judges disagree and
        errors are to allow for that, else one. NaN where fewer than two judges see it.
    curvature : DataFrame
        By judge, whether its log-odds are proportional to the score difference, on all
        its rows: ``value`` k, such that they are ``c sinh(b asinh(delta)) / b`` with
        ``b = exp(-k)`` (positive where a judge saturates or lapses); ``p_value``,
        ``p_adjusted`` among the judges, ``model`` and ``shift`` as above.
    """

    changes: pd.DataFrame
    models: pd.DataFrame
    curvature: pd.DataFrame

    @property
    def scale(self) -> Array:
        """Factor of the error of each model, of shape (n_models,)."""
        return self.models["scale"].to_numpy(np.float64)


def check_arrivals(
    models: NDArray[Any],
    judges: NDArray[Any],
    fit: Fit,
    sums: FitSums,
    *,
    widens: bool = True,
) -> ArrivalCheck:
    """Test what judges make of the new models.

    Parameters
    ----------
    models, judges : ndarray
        Labels of the items and of the judges.
    fit : Fit
        Fitted to all rows.
    sums : FitSums
        Over the same rows.
    widens : bool, default=True
        Whether errors are scaled up where judges disagree.

    Returns
    -------
    ArrivalCheck
    """
    fitted, layout = _FittedSums.of(fit, sums), fit.layout
    labels, sources = judges.tolist(), range(1, layout.n_sources)
    changes = [fitted.change(m, kind) for kind in CHANGES for m in sources]
    keys = [(judge, kind) for kind in CHANGES for judge in labels]
    if len(labels) > 1:
        keys.append((TOGETHER, CHANGES[0]))
        changes.append(np.sum(changes[: len(labels)], axis=0))
    index = pd.MultiIndex.from_tuples(keys, names=["judge", "change"])
    table = fitted.table(changes, models, index)
    # A sensitivity changes by a factor.
    table["value"] += table.index.get_level_values("change") == CHANGES[0]
    # The curvature is the last local column of all rows of a judge.
    curves = [fitted.left_out(m, one, -1) for m, one in enumerate(fitted.all)][1:]
    disagreement = np.ones((len(models), len(_OF_MODELS)))
    disagreement[:, :-1] = [_disagreement(fitted, item) for item in range(len(models))]
    chi2, df, p = disagreement[:, :3].T
    widened = layout.is_new & widens & (p < DISAGREE) & (chi2 > df)
    disagreement[widened, -1] = np.sqrt(chi2[widened] / df[widened])
    return ArrivalCheck(
        table,
        pd.DataFrame(disagreement, pd.Index(models, name="model"), _OF_MODELS.copy()),
        fitted.table(curves, models, pd.Index(judges, name="judge")),
    )


@dataclass(frozen=True, eq=False)
class _FittedSums:
    """Information and scores of all that was fitted, and sums of what was not.

    Attributes
    ----------
    fit : Fit
        What was fitted.
    information : Information
        Of the fitted parameters; rows weigh so that their noise is that of votes.
    score : ndarray of shape (size,)
        Their scores, zero but for what was fitted in steps.
    new, all : sequence of SourceSums
        Of each source, over its rows with a new model and over all, that weigh so.
    """

    fit: Fit
    information: Information
    score: Array
    new: Sequence[SourceSums]
    all: Sequence[SourceSums]

    @classmethod
    def of(cls, fit: Fit, sums: FitSums) -> _FittedSums:
        """Solve for what was fitted."""
        # Weighted so, a residual has the variance of a vote, ties or no ties.
        noise = np.roll(sums.noise, 1)
        new, every = (
            [
                replace(one, gram=one.gram / size, score=one.score / size)
                for one, size in zip(part, noise, strict=True)
            ]
            for part in (sums.new, sums.all)
        )
        prior, layout = fit.precision.copy(), fit.layout
        # A ridge of the scores is no part of what is tested against.
        prior[layout.scores, layout.scores] = 0.0
        for source, (ridge, size) in enumerate(zip(sums.ridges, noise, strict=True)):
            at = layout.span(source)
            prior[at, at] = np.diag(ridge / size)
        fitted = slice(-N_TESTED)
        grams = ((m, one.gram[fitted, fitted]) for m, one in enumerate(every))
        scores = ((m, one.score[fitted]) for m, one in enumerate(every))
        score = fit.gradient(scores) - prior @ fit.x
        return cls(fit, Information.of(fit, grams, prior), score, new, every)

    def left_out(self, source: int, sums: SourceSums, column: Any) -> Array:
        """Sums of one more column: with itself, residuals, and what was fitted.

        ``column`` is one of the local columns, or a combination of them of shape
        (n_columns,). The result has shape (2 + size,).
        """
        if isinstance(column, int):
            column = np.eye(len(sums.score))[column]
        along, moved = sums.gram @ column, np.zeros(2 + self.fit.layout.size)
        moved[:2] = column @ along, column @ sums.score
        at = 2 + self.fit.layout.parameters_of[source]
        moved[at] = self.fit.chain(source, along[:-N_TESTED])
        return moved

    def change(self, source: int, kind: str) -> Array:
        """Sums of a change on the rows of new models."""
        sums, n = self.new[source], self.fit.layout.n_items
        column = np.zeros(len(sums.score))
        if kind == "sensitivity":
            column[:n] = self.fit.sensitivity(source) * self.fit.scores
        else:
            # A side shown first throughout is the score of who is shown there.
            turned = abs(sums.gram[n, :n] @ self.fit.layout.is_new)
            column[n] = turned < (1.0 - 1e-9) * sums.gram[n, n]
        return self.left_out(source, sums, column)

    def table(
        self, tests: Sequence[Array], models: NDArray[Any], index: pd.Index
    ) -> pd.DataFrame:
        """One step from zero of each parameter, by columns of :class:`ArrivalCheck`."""
        layout = self.fit.layout
        sums = np.reshape(tests, (len(tests), 2 + layout.size)).T
        raw, score, crosses = sums[0], sums[1], sums[2:]
        # One parameter more, with the column x and the cross-information c with what
        # was fitted: its information is x'Wx - c'J^-1 c, its score that of the column
        # less c'J^-1 times the fitted one. ``answers`` is -J^-1 c.
        answers = -self.information.solve(crosses)
        left = raw + np.einsum("ij,ij->j", answers, crosses)
        shown = np.flatnonzero(left > OWN_SHARE * raw)
        left, answers = left[shown], answers[:, shown]
        score = score[shown] + self.score @ answers
        value = score / left
        p = 2.0 * ndtr(-np.abs(score) / np.sqrt(left))
        columns = {"value": value, "p_value": p, "p_adjusted": holm_adjust(p)}
        columns |= {"model": np.full(len(p), None), "shift": np.full(len(p), np.nan)}
        new = np.flatnonzero(layout.is_new)
        if len(new):
            shifts = value[:, None] * (answers.T @ layout.targets[:, new])
            most = np.argmax(np.abs(shifts), axis=1)
            columns["model"] = models[new[most]].astype(object)
            columns["shift"] = shifts[np.arange(len(p)), most]
        return pd.DataFrame(columns, index[shown])


def _disagreement(fitted: _FittedSums, item: int) -> tuple[float, ...]:
    """Chi-square of a model, degrees of freedom, p-value, lowest and highest score."""
    fit, nothing = fitted.fit, (np.nan,) * 5
    seen = [m for m in range(1, len(fitted.all)) if fitted.all[m].gram[item, item] > 0]
    if len(seen) < 2:
        return nothing
    sums = np.array([fitted.left_out(m, fitted.all[m], item) for m in seen]).T
    cross = sums[2:]
    target = fit.layout.targets[:, item]
    answers = fitted.information.solve(np.column_stack([cross, target]))
    answer, residual = answers[:, :-1], answers[:, -1]
    # With the model's own score held fixed, each judge has one of its own: information
    # and score of one for each judge, after what was fitted.
    information = np.diag(sums[0]) - cross.T @ answer
    score = sums[1] - fitted.score @ answer
    variance, shared = target @ residual, cross.T @ residual
    if variance > 0:
        information += np.outer(shared, shared) / variance
        score += (residual @ fitted.score) / variance * shared
    system = SymmetricSystem.of(0.5 * (information + information.T))
    apart, df = system.solve(score), system.rank - 1
    if df < 1:
        return nothing
    # All judges move by their sensitivity times one change of the score: that direction
    # is no disagreement, and its share of the chi-square is taken off.
    slope = without_rounding(fit.x[fit.layout.sensitivities][seen])
    common = slope @ information @ slope
    along = (slope @ score) ** 2 / common if common > 0 else 0.0
    chi2 = max(float(score @ apart - along), 0.0)
    # A judge that says nothing of scores gives none.
    moved = np.divide(apart, slope, out=np.full(len(seen), np.nan), where=slope != 0)
    scores = fit.scores[item] + moved
    low, high = np.fmin.reduce(scores), np.fmax.reduce(scores)
    return chi2, df, float(chdtrc(df, chi2)), float(low), float(high)
