"""Do judges treat the new models as they treated the old ones, and alike?

Parameters that the fit leaves out are tested on its residuals: a change of a judge's
sensitivity or position effect on arrival rows, a curved scale of a judge, and what each
judge thinks of a model beyond what all share. Their scores are made orthogonal to all
that was fitted, the new scores and the bias functions among it, and item effects are
taken as the fit takes them, so that the test is against the noise of the whole fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from skanchor._battles import Comparisons
from skanchor._battles.labels import label_index
from skanchor._diagnostics._sums import CHANGES, FitSums, FittedSource, tested_columns
from skanchor._model.fit import Fit
from skanchor._model.riesz import Information
from skanchor._multiplicity import holm_adjust
from skanchor._numerics.linalg import solve_with_rank
from skanchor._numerics.parameters import PEOPLE
from skanchor._typing import Array

TOGETHER = "all judges"
"""In place of a judge, for a change that all share."""

DISAGREE = 0.01
"""P-value below which judges disagree about a model."""

_OF_MODELS = pd.Index(["chi2", "df", "p_value", "lowest", "highest", "scale"])

OWN_SHARE = 1e-3
"""Share of a change's information that what was fitted must leave."""

_ENTRIES = 1 << 23
"""Entries of a matrix of columns that are reduced or solved at once: as fast as all, in
less memory."""


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
    curvature : DataFrame
        By judge, whether its log-odds are proportional to the score difference, on all
        its rows: ``value`` k, such that they are ``c sinh(b asinh(delta)) / b`` with
        ``b = exp(-k)`` (positive where a judge saturates or lapses); ``p_value``,
        ``p_adjusted`` among the judges, ``model`` and ``shift`` as above.
    models : DataFrame
        By model: ``chi2`` of the scores that the judges give it one by one, ``df``,
        ``p_value``; ``lowest`` and ``highest`` of those scores; and for new models the
        ``scale`` of its error, the root of chi2 over df where judges disagree and
        errors are to allow for that, else one. NaN where fewer than two judges see it.
    scale : ndarray of shape (n_models,)
        That of ``models``.
    least : tuple of (changed, curved, disagreed)
        Smallest adjusted p-value of ``changes`` and of ``curvature``, and p-value of a
        new model in ``models``; one where there is none.
    """

    changes: pd.DataFrame
    models: pd.DataFrame
    curvature: pd.DataFrame
    scale: Array
    least: tuple[float, float, float]


def check_arrivals(
    X: Comparisons, fitted: Fit, sums: FitSums, *, widens: bool = True
) -> ArrivalCheck:
    """Test what judges make of the new models.

    Parameters
    ----------
    X : Comparisons
        Rows, or none, that carry everything the chain learned.
    fitted : Fit
        The same as parameters.
    sums : FitSums
        Over all rows.
    widens : bool, default=True
        Whether errors are scaled up where judges disagree.

    Returns
    -------
    ArrivalCheck
    """
    fit = _FittedRows.of(fitted, sums)
    changes, curves = _Changes.of(fit, X)
    found = _disagreements(fit, X)
    scale = np.where(X.is_new & widens, _scales(found), 1.0)
    disagreed = float(np.nanmin(found[X.is_new, 2], initial=1.0))
    table, index = np.column_stack([found, scale]), label_index(X.models, "model")
    return ArrivalCheck(
        _changes_by_judge(changes, X),
        pd.DataFrame(table, index, _OF_MODELS.copy()),
        _curve_table(curves, X),
        scale,
        (changes.least, curves.least, disagreed),
    )


def _disagreements(fit: _FittedRows, X: Comparisons) -> Array:
    """Chi-square of the scores that judges give a model, each by itself.

    Returns
    -------
    ndarray of shape (n_models, 5)
        Of each model the chi-square, its degrees of freedom and p-value, and the lowest
        and highest of those scores.
    """
    n_models = len(X.models)
    found = np.full((n_models, 5), np.nan)
    at_once = max(1, _ENTRIES // (len(fit.score) * len(fit.sources)))
    for first in range(0, n_models, at_once):
        part = slice(first, min(first + at_once, n_models))
        found[part] = _disagreements_about(fit, X, part)
    return found


def _scales(found: Array) -> Array:
    """Factors of the errors of models that judges disagree about."""
    chi2, df, p = found[:, 0], found[:, 1], found[:, 2]
    ratio = np.divide(chi2, df, out=np.ones(len(found)), where=p < DISAGREE)
    return np.sqrt(np.maximum(ratio, 1.0))


@dataclass(frozen=True, slots=True)
class _FittedRows:
    """Information and scores of all that was fitted, and of what was not.

    Attributes
    ----------
    information : Information
        Of the fitted parameters; rows weigh so that their noise is that of votes.
    score : ndarray of shape (size,)
        Their scores, zero but for what was fitted in steps.
    sources : dict of int to FittedSource
        By judge, of rows that weigh so; people at ``PEOPLE``.
    """

    information: Information
    score: Array
    sources: dict[int, FittedSource]

    @classmethod
    def of(cls, known: Fit, sums: FitSums) -> _FittedRows:
        """Solve for what was fitted."""
        # Weighted so, a residual has the variance of a vote, ties or no ties.
        sources = {m: s.scaled(1.0 / sums.noise[m]) for m, s in sums.sources.items()}
        by_source = [sources[m] for m in range(PEOPLE, len(sources) - 1)]
        fit = known.with_spans(tuple(len(own.ridge) for own in by_source))
        layout = fit.layout
        at, prior = layout.item_effects, np.zeros_like(fit.precision)
        prior[at, at] = fit.precision[at, at]
        score = -prior @ fit.x
        for source, own in enumerate(by_source):
            span = np.arange(layout.size)[layout.span(source)]
            prior[span, span], score[span] = own.ridge, -own.pull
        score += fit.gradient(
            (source, own.fitted(own.score)) for source, own in enumerate(by_source)
        )
        grams = (
            (source, own.fitted(own.fitted(own.gram).T))
            for source, own in enumerate(by_source)
        )
        return cls(Information.of(fit, grams, prior), score, sources)

    def crosses(self, m: int, at: int | NDArray[np.intp]) -> Array:
        """What columns of a judge share with what was fitted, (size, n_columns)."""
        own, fit = self.sources[m], self.information.fit
        columns = own.fitted(own.gram[:, np.atleast_1d(at)])
        found = np.zeros((fit.layout.size, columns.shape[1]))
        found[fit.layout.parameters_of[m + 1]] = fit.chain(m + 1, columns)
        return found

    def changes(
        self, X: Comparisons, asked: list[tuple[list[int], int]]
    ) -> list[tuple[float, float, Array] | None]:
        """One more parameter, after all that was fitted; for each of several.

        Parameters
        ----------
        X : Comparisons
            The rows.
        asked : list of (judges, at)
            Judges whose column it is that of, and its number in their sums.

        Returns
        -------
        list of (value, p, shift) or None
            Its value after one step from zero, the two-sided p-value of zero, and what
            it does to the new scores, of shape (n_new,). None where the rows do not
            tell it from what was fitted.
        """
        if not asked:
            return []
        crosses = np.column_stack(
            [sum(self.crosses(m, at)[:, 0] for m in judges) for judges, at in asked]
        )
        # One parameter more, with the column x and the cross-information c with what
        # was fitted: its information is x'Wx - c'J^-1 c, its score that of the column
        # less c'J^-1 times the fitted one. ``answers`` is -J^-1 c, of shape (size,
        # n_asked).
        answers = -self.information.solve(crosses)
        taken = np.einsum("ij,ij->j", answers, crosses).tolist()
        fitted = (answers.T @ self.score).tolist()
        shifts = answers.T @ self.information.fit.layout.targets[:, X.is_new]
        found: list[tuple[float, float, Array] | None] = []
        for (judges, at), less, own, shift in zip(
            asked, taken, fitted, shifts, strict=True
        ):
            raw = sum(float(self.sources[m].gram[at, at]) for m in judges)
            information = raw + less
            if not information > OWN_SHARE * raw:
                found.append(None)
                continue
            score = sum(float(self.sources[m].score[at]) for m in judges) + own
            value, z = score / information, abs(score) / information**0.5
            found.append((value, float(2.0 * ndtr(-z)), value * shift))
        return found


@dataclass(frozen=True, slots=True)
class _Changes:
    """Parameters that were left out of the fit, as far as the rows tell them.

    Attributes
    ----------
    judges : list of int
        Number of the judge; for all together, the number of judges.
    kinds : list of int
        Number of what changes in ``CHANGES``, and for curves one more than the last.
    rows : list of (value, p, model, shift)
        What was found, and the new model that it moves most.
    adjusted : ndarray of shape (n,)
        P-values, adjusted among all.
    """

    judges: list[int]
    kinds: list[int]
    rows: list[tuple[float, float, Any, float]]
    adjusted: Array

    @property
    def least(self) -> float:
        """Smallest adjusted p-value; one where there is none."""
        return float(self.adjusted.min(initial=1.0))

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the table."""
        value, p, model, shift = ([row[k] for row in self.rows] for k in range(4))
        return {
            "value": np.array(value, dtype=float),
            "p_value": np.array(p, dtype=float),
            "p_adjusted": self.adjusted,
            "model": model,
            "shift": np.array(shift, dtype=float),
        }

    @classmethod
    def of(cls, fit: _FittedRows, X: Comparisons) -> tuple[_Changes, _Changes]:
        """Changes on arrival rows, by judge and together; and curves of the scales."""
        columns, n_judges = tested_columns(len(X.models), 0), len(X.judges)
        at = [columns[name].start for name in (*CHANGES, "curve")]
        asked = [(m, kind) for kind in range(len(CHANGES)) for m in range(n_judges)]
        if n_judges > 1:
            asked.append((n_judges, 0))
        curves = [(m, len(CHANGES)) for m in range(n_judges)]
        sets = [*([m] for m in range(n_judges)), list(range(n_judges))]
        found = fit.changes(X, [(sets[m], at[kind]) for m, kind in [*asked, *curves]])
        stop = len(asked)
        return cls._tested(X, asked, found[:stop]), cls._tested(X, curves, found[stop:])

    @classmethod
    def _tested(
        cls,
        X: Comparisons,
        asked: list[tuple[int, int]],
        answers: list[tuple[float, float, Array] | None],
    ) -> _Changes:
        judges, kinds, rows = [], [], []
        new = X.models[X.is_new].tolist()
        for (judge, kind), found in zip(asked, answers, strict=True):
            if found is not None:
                value, p, shift = found
                # A sensitivity changes by a factor.
                value += kind == 0
                judges.append(judge)
                kinds.append(kind)
                rows.append((value, p, *_most_moved(new, shift)))
        alone = np.array([row[1] for row in rows], dtype=float)
        return cls(judges, kinds, rows, holm_adjust(alone))


def _changes_by_judge(found: _Changes, X: Comparisons) -> pd.DataFrame:
    """Changes by judge and kind."""
    judges, kinds = X.judges.astype(object), np.array(CHANGES)
    if TOGETHER not in judges.tolist():
        judges = np.append(judges, TOGETHER)
    together = judges.tolist().index(TOGETHER)
    codes = [together if m == len(X.judges) else m for m in found.judges]
    # `from_tuples` would infer the type of the labels again, and sort them.
    levels: Any = [label_index(judges, "judge"), label_index(kinds, "change")]
    index = pd.MultiIndex(levels, [codes, found.kinds], names=["judge", "change"])
    return pd.DataFrame(found.columns, index)


def _curve_table(found: _Changes, X: Comparisons) -> pd.DataFrame:
    """Curvature by judge."""
    return pd.DataFrame(found.columns, label_index(X.judges[found.judges], "judge"))


def _most_moved(new: list[Any], shift: Array) -> tuple[Any, float]:
    """The new model that is moved most, and by how much."""
    if not len(shift):
        return None, np.nan
    most = int(np.argmax(np.abs(shift)))
    return new[most], float(shift[most])


def _disagreements_about(fit: _FittedRows, X: Comparisons, part: slice) -> Array:
    """Rows of :func:`_disagreements` for some models, side by side."""
    found = np.full((part.stop - part.start, 5), np.nan)
    # One row for each item, also where there are no judges.
    judges = [fit.sources[m] for m in range(len(X.judges))]
    shape = len(judges), len(found)
    gram = np.reshape([sums.gram.diagonal()[part] for sums in judges], shape).T
    score = np.reshape([sums.score[part] for sums in judges], shape).T
    seen = gram > 0
    at = np.flatnonzero(seen.sum(axis=1) >= 2)
    if not len(at):
        return found
    gram, score, seen = gram[at], score[at], seen[at]
    items = at + part.start
    # Of shapes (n_items, size, n_judges) and (n_items, size).
    cross = np.array([fit.crosses(m, items) for m in range(len(judges))])
    cross = cross.transpose(2, 1, 0)
    targets = fit.information.fit.layout.targets[:, items].T
    asked = np.concatenate([cross, targets[..., None]], axis=2).transpose(1, 0, 2)
    answers = fit.information.solve(asked.reshape(len(asked), -1))
    answers = answers.reshape(asked.shape).transpose(1, 0, 2)
    answer, own = answers[..., :-1], answers[..., -1]
    # With the model's own score held fixed, each judge has one of its own: information
    # and score of one for each judge, after what was fitted.
    information = -cross.transpose(0, 2, 1) @ answer
    score = score - fit.score @ answer
    variance = np.einsum("ij,ij->i", targets, own)
    shared = np.einsum("ijk,ij->ik", cross, own)
    share = np.divide(1.0, variance, out=np.zeros(len(at)), where=variance > 0)
    information += share[:, None, None] * shared[:, :, None] * shared[:, None, :]
    score += (share * (own @ fit.score))[:, None] * shared
    each = np.arange(gram.shape[1])
    information[:, each, each] += gram
    # A judge that does not see the model stands apart, with a score of zero.
    information *= seen[:, :, None] & seen[:, None, :]
    information[:, each, each] += ~seen
    score = np.where(seen, score, 0.0)
    information = 0.5 * (information + information.transpose(0, 2, 1))
    apart, rank = solve_with_rank(information, score[..., None])
    apart = apart[..., 0]
    assert X.sensitivities is not None and X.scores is not None
    slope = np.where(seen, X.sensitivities, 0.0)
    # All judges move by their sensitivity times one change of the score: that direction
    # is no disagreement, and its share of the chi-square is taken off.
    common = np.einsum("ij,ijk,ik->i", slope, information, slope)
    along = np.einsum("ij,ij->i", slope, score) ** 2
    along = np.divide(along, common, out=np.zeros(len(at)), where=common > 0)
    chi = np.maximum(np.einsum("ij,ij->i", score, apart) - along, 0.0)
    df = rank - (~seen).sum(axis=1) - 1
    # A judge that says nothing of scores gives none.
    alone = np.full(slope.shape, np.nan)
    np.divide(apart, slope, out=alone, where=slope != 0)
    alone += X.scores[items, None]
    low, high = np.fmin.reduce(alone, axis=1), np.fmax.reduce(alone, axis=1)
    values = np.column_stack([chi, df, chdtrc(df, chi), low, high])
    found[at[df >= 1]] = values[df >= 1]
    return found
