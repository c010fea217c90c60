"""Arrivals placed in all folds of a history at once, by arrays with an axis of folds.

A fold alone is a small fit, of which there are many. Where all of them are of a kind
(linear learners in the same columns, every judge and model known to each), their
arrays are stacked once, and what arrivals add is computed for all folds together. What
is not of that kind, or comes out at a bound or short of rank, is left to the fits one
by one: the functions here then return None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from skanchor._numerics.linalg import covariance_factor, zero_sum_basis
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.parameters import PEOPLE, selectors
from skanchor._numerics.stacked import StackedSystems, fit_stacked, project_spans
from skanchor._numerics.sums import Information
from skanchor._typing import Array
from skanchor.bias import LinearBias
from skanchor.btl import BTLRegressor
from skanchor.chain import Chain, Stages
from skanchor.comparisons import Comparisons
from skanchor.engine import FoldFit
from skanchor.items import ItemCovariance
from skanchor.judges import JudgeCalibrator
from skanchor.riesz import SEPARATED, InfluenceSums, KeptSums, WeightLearner
from skanchor.sample import Sample

__all__ = ["FoldStack", "place_folds", "place_whole"]


_CELLS = 1 << 23
"""Entries of the columns of all rows and folds up to which these are made at once."""


class Fold(Protocol):
    """A fit of historical rows, and the sums that stand for them."""

    @property
    def btl(self) -> BTLRegressor:
        """Fitted."""

    @property
    def calibrator(self) -> JudgeCalibrator:
        """Fitted."""

    @property
    def X(self) -> Comparisons:  # noqa: N802
        """No rows, and what was learned."""

    @property
    def learners(self) -> list[WeightLearner]:
        """Of the Riesz weights, by judge."""

    @property
    def sums(self) -> KeptSums:
        """Over training rows and rows held out."""


@dataclass(frozen=True, eq=False)
class FoldStack:
    """What the folds of a history have learned and summed, side by side.

    The first axis of all arrays is the folds, of which the first is the fit of all
    rows. Local columns are the items, delta, display order and features; a last row
    and column of zeros stands for items that the history does not know.

    Attributes
    ----------
    scores : ndarray of shape (n_folds, n_models)
        Plug-in.
    slopes : ndarray of shape (n_folds, n_judges)
        Sensitivities.
    positions : ndarray of shape (n_folds, n_judges) or None
        Position effects.
    deviations : ndarray of shape (n_folds, n_judges, n_models) or None
        Item effects.
    coef : ndarray of shape (n_folds, n_judges, n_features)
        Of the biases.
    shows : ndarray of shape (n_judges,)
        Judges to whose rows the display order counts.
    people : ndarray of shape (n_folds, n_models + 1, n_models + 1)
        Information of the votes.
    grams : ndarray of shape (n_folds, n_judges, n_columns + 1, n_columns + 1)
        Information of the judges' rows.
    curvature : ndarray of shape (n_folds, n_judges)
        Summed curvature of these.
    ridges : ndarray of shape (n_folds, n_judges, n_features)
        Ridge of the Riesz weights beside it.
    score : ndarray of shape (n_folds, n_judges, n_columns + 1)
        Residuals of the rows held out.
    outer : ndarray of shape (n_folds, n_judges, n_columns + 1, n_columns + 1) or None
        Their squares; None where there are groups.
    people_score : ndarray of shape (n_folds, n_models + 1)
        As ``score``, of the votes.
    people_outer : ndarray of shape (n_folds, n_models + 1, n_models + 1) or None
        As ``outer``, of the votes.
    sums : list of KeptSums
        Where groups have theirs.
    """

    scores: Array
    slopes: Array
    positions: Array | None
    deviations: Array | None
    coef: Array
    shows: NDArray[np.bool_]
    people: Array
    grams: Array
    curvature: Array
    ridges: Array
    score: Array
    outer: Array | None
    people_score: Array
    people_outer: Array | None
    sums: list[KeptSums]

    @classmethod
    def of(cls, folds: Sequence[Fold]) -> Self | None:
        """Stack folds; None where they are not of a kind."""
        first = folds[0].X
        n_judges, n_features = len(first.judges), first.features_left.shape[1]
        if not n_judges or not all(_is_plain(fold, n_features) for fold in folds):
            return None
        judges = range(n_judges)
        known = [fold.calibrator.has_position_effect_ for fold in folds]
        shows = known[0].to_numpy(bool)
        if any((one.to_numpy(bool) != shows).any() for one in known):
            return None

        def stacked(name: str) -> Array | None:
            values = [getattr(fold.X, name) for fold in folds]
            return None if values[0] is None else np.array(values, dtype=float)

        def of_judges(name: str, part: str) -> Array:
            values = [
                [getattr(getattr(fold.sums, name)[m], part) for m in judges]
                for fold in folds
            ]
            return _padded(values, np.ndim(values[0][0]))

        def of_people(name: str, part: str) -> Array:
            values = [getattr(getattr(fold.sums, name)[PEOPLE], part) for fold in folds]
            return _padded(values, np.ndim(values[0]))

        learned = [
            stacked(name)
            for name in ("scores", "sensitivities", "position_effects", "deviations")
        ]
        if any(not np.isfinite(one).all() for one in learned if one is not None):
            return None
        scores, slopes, positions, deviations = learned
        assert scores is not None and slopes is not None
        coef, ridges = np.zeros((2, len(folds), n_judges, n_features))
        for k, fold in enumerate(folds if n_features else ()):
            for m, judge in enumerate(first.judges.tolist()):
                bias: Any = fold.calibrator.biases_[judge]
                coef[k, m] = bias.coef_
                if fold.learners[m].ridge is not None:
                    ridges[k, m] = fold.learners[m].ridge
        grouped = folds[0].sums.residuals[0].outer is None
        return cls(
            scores,
            slopes,
            positions,
            deviations,
            coef,
            shows if shows.any() else np.ones_like(shows),
            of_people("information_of", "gram"),
            of_judges("information_of", "gram"),
            np.array(
                [[f.sums.information_of[m].curvature for m in judges] for f in folds]
            ),
            ridges,
            of_judges("residuals", "score"),
            None if grouped else of_judges("residuals", "outer"),
            of_people("residuals", "score"),
            None if grouped else of_people("residuals", "outer"),
            [fold.sums for fold in folds],
        )

    def __getitem__(self, part: slice) -> Self:
        """Some of the folds."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return type(self)(**{
            name: one if one is None or name == "shows" else one[part]
            for name, one in values.items()
        })  # fmt: skip


def _is_plain(fold: Fold, n_features: int) -> bool:
    """Whether a fold has a linear learner of the features, and rows, of every judge."""
    names = fold.X.judges.tolist()
    if fold.btl.bias_ is not None or fold.calibrator.judges_.tolist() != names:
        return False
    if not set(fold.sums.information_of) == {PEOPLE, *range(len(names))}:
        return False
    learners = [own.learner for own in fold.learners]
    if not n_features:
        return all(learner is None for learner in learners)
    learners += [fold.calibrator.biases_.get(judge) for judge in names]
    return all(
        type(one) is LinearBias and getattr(one, "feature_map_", one) is None
        for one in learners
    )


def _padded(values: Sequence[Any], n_own: int) -> Array:
    """Stacked arrays, the last ``n_own`` axes of each with one more entry of zeros."""
    found = np.array(values, dtype=float)
    return np.pad(found, [(0, 0)] * (found.ndim - n_own) + [(0, 1)] * n_own)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Usable rows of arrivals, of people and then of each judge.

    Attributes
    ----------
    at : ndarray of shape (n,)
        Row numbers in the sample.
    judge, left, right : ndarray of shape (n,)
        Codes.
    order : ndarray of shape (n,)
        Display order, zero where it does not count.
    contrast : ndarray of shape (n, n_features)
        Features of the first response minus those of the second.
    cuts : dict of int to slice
        By source, its rows among these.
    """

    at: NDArray[np.intp]
    judge: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    order: Array
    contrast: Array
    cuts: dict[int, slice]

    @classmethod
    def of(cls, X: Comparisons, shows: NDArray[np.bool_]) -> Self:
        """Cut the usable rows out of all."""
        sources = [PEOPLE, *range(len(X.judges))]
        rows = np.flatnonzero(X.is_usable)
        judge = X.judge[rows]
        turn = np.argsort(judge, kind="stable")
        at, judge = rows[turn], judge[turn]
        stops = np.searchsorted(judge, [*sources, len(X.judges)]).tolist()
        cuts = {
            m: slice(*ends) for m, ends in zip(sources, pairwise(stops), strict=True)
        }
        # People, at the end, see no display.
        order = X.order[at] * np.append(shows, False)[judge]
        contrast = X.features_left[at] - X.features_right[at]
        contrast[cuts[PEOPLE]] = 0.0
        return cls(at, judge, X.left[at], X.right[at], order, contrast, cuts)


@dataclass(frozen=True, eq=False)
class _Fits:
    """New scores and deviations in some folds, and what the rows then say.

    The first axis of all arrays is the folds.

    Attributes
    ----------
    scores : ndarray of shape (n_folds, n_items)
        Of all models.
    deviations : ndarray of shape (n_folds, n_judges, n_items) or None
        Of all models.
    biases : ndarray of shape (n_folds, n)
        Of the rows.
    curvature : ndarray of shape (n_folds, n)
        Training weight times the variance of the outcome.
    residual : ndarray of shape (n_folds, n)
        Weight times outcome minus probability.
    known : dict of int to ndarray
        By source, its :meth:`columns`.
    """

    scores: Array
    deviations: Array | None
    biases: Array
    curvature: Array
    residual: Array
    known: dict[int, Array] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        stack: FoldStack,
        rows: _Rows,
        sample: Sample,
        training: Array,
        factor: Array | None,
    ) -> Self | None:
        """Fit the arrivals in every fold; None where one fit is not an easy one."""
        X, (n_folds, n_judges) = sample.X, stack.slopes.shape
        new, old = np.flatnonzero(X.is_new), np.flatnonzero(~X.is_new)
        scores = np.zeros((n_folds, len(X.models)))
        scores[:, old] = stack.scores
        # What each model adds to the logits of each judge, and at the end of people.
        by_item = np.empty((n_folds, n_judges + 1, len(X.models)))
        by_item[:, -1] = scores
        by_item[:, :-1] = stack.slopes[:, :, None] * scores[:, None]
        deviations = None
        if stack.deviations is not None:
            deviations = np.zeros((n_folds, n_judges, len(X.models)))
            deviations[:, :, old] = stack.deviations
            by_item[:, :-1] += deviations
        coef = np.pad(stack.coef, [(0, 0), (0, 1), (0, 0)])
        biases = np.empty((n_folds, len(rows.at)))
        for m, cut in rows.cuts.items():
            biases[:, cut] = coef[:, m] @ rows.contrast[cut].T
        offset = by_item[:, rows.judge, rows.left] - by_item[:, rows.judge, rows.right]
        offset += biases
        if stack.positions is not None:
            shown = np.pad(stack.positions, [(0, 0), (0, 1)])
            offset += shown[:, rows.judge] * rows.order
        signs = (rows.left[:, None] == new).astype(np.float64)
        signs -= rows.right[:, None] == new
        n_kinds = 1 + (0 if factor is None else n_judges)
        share = np.zeros((n_folds, n_judges + 1, n_kinds))
        share[:, :-1, 0], share[:, -1, 0] = stack.slopes, 1.0
        if factor is not None:
            share[:, :-1, 1:] = factor
        columns = share[:, rows.judge][..., None] * signs[:, None]
        columns = columns.reshape(n_folds, len(rows.at), -1)
        weight, y = training[:, rows.at], sample.y[rows.at]
        penalty = np.repeat(np.arange(n_kinds) > 0, len(new)).astype(np.float64)
        found = fit_stacked(columns, offset, y, weight, penalty)
        if found is None:
            return None
        scores[:, new] = found[:, : len(new)]
        if deviations is not None:
            assert factor is not None
            v = found[:, len(new) :].reshape(n_folds, n_judges, len(new))
            deviations[:, :, new] = factor @ v
        p = sigmoid(offset + (columns @ found[..., None])[..., 0])
        variance = p * (1.0 - p)
        curvature = np.where(variance > SEPARATED, weight * variance, 0.0)
        residual = sample.weight[rows.at] * (y - p)
        return cls(scores, deviations, biases, curvature, residual)

    def columns(self, rows: _Rows, m: int) -> Array:
        """Local columns of judge m's rows, of shape (n_folds, n_own, n_columns)."""
        if m in self.known:
            return self.known[m]
        cut = rows.cuts[m]
        left, right, n = rows.left[cut], rows.right[cut], self.scores.shape[1]
        width = n + 2 + rows.contrast.shape[1]
        found = np.zeros((len(self.scores), len(left), width))
        each = np.arange(len(left))
        found[:, each, left] = 1.0
        found[:, each, right] = -1.0
        found[:, :, n] = self.scores[:, left] - self.scores[:, right]
        found[:, :, n + 1] = rows.order[cut]
        found[:, :, n + 2 :] = rows.contrast[cut]
        self.known[m] = found
        return found


@dataclass(frozen=True, eq=False)
class _Sums:
    """Information of history and arrivals in some folds, by local column of all items.

    Attributes
    ----------
    people : ndarray of shape (n_folds, n_items, n_items)
    grams : ndarray of shape (n_folds, n_judges, n_columns, n_columns)
    curvature : ndarray of shape (n_folds, n_judges)
    """

    people: Array
    grams: Array
    curvature: Array

    @classmethod
    def of(cls, stack: FoldStack, rows: _Rows, fits: _Fits, place: _Places) -> Self:
        """Add the sums of the rows to those of the history."""
        people, grams = place.spread(stack.people, 0), place.spread(stack.grams)
        curvature = stack.curvature.copy()
        for m in range(grams.shape[1]):
            cut = rows.cuts[m]
            own, w = fits.columns(rows, m), fits.curvature[:, cut]
            grams[:, m] += (own * w[..., None]).transpose(0, 2, 1) @ own
            curvature[:, m] += w.sum(axis=1)
        cut = rows.cuts[PEOPLE]
        if cut.stop > cut.start:
            own = fits.columns(rows, PEOPLE)[..., : people.shape[1]]
            w = fits.curvature[:, cut]
            people += (own * w[..., None]).transpose(0, 2, 1) @ own
        return cls(people, grams, curvature)


@dataclass(frozen=True, eq=False)
class _Places:
    """Where the columns of a history lie among those of all items."""

    is_new: NDArray[np.bool_]
    n_others: int

    def spread(
        self, values: Array, n_others: int | None = None, axes: int = 2
    ) -> Array:
        """Padded values of the history among all items, zero where these are new."""
        others = self.n_others if n_others is None else n_others
        n_old = int((~self.is_new).sum())
        at = np.where(self.is_new, -1, np.cumsum(~self.is_new) - 1)
        at = np.concatenate([at, n_old + np.arange(others)])
        return values[..., at] if axes == 1 else values[..., at[:, None], at]


def place_whole(
    stack: FoldStack,
    whole: Fold,
    stages: Stages,
    sample: Sample,
    items: ItemCovariance | None,
) -> Chain | None:
    """Place arrivals by the fit of all rows.

    Parameters
    ----------
    stack : FoldStack
        Of this fit alone.
    whole : Fold
        The fit.
    stages : Stages
        Unfitted.
    sample : Sample
        Arrivals in the vocabulary of all models.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    Chain or None
        None where the arrivals are to be looked at by the fit itself.
    """
    rows, fits = _fitted(stack, stages, sample, sample.weight[None], items)
    if fits is None:
        return None
    X = sample.X
    if not stack.shows.all():
        X = X.without_order(X.judges[~stack.shows])
    biases = np.zeros(len(X))
    biases[rows.at] = fits.biases[0]
    X = X.with_columns(
        scores=fits.scores[0],
        sensitivities=stack.slopes[0],
        position_effects=None if stack.positions is None else stack.positions[0],
        biases=biases,
        deviations=None if fits.deviations is None else fits.deviations[0],
        item_covariance=None if items is None else items.covariance,
    )
    new, scores = X.models[X.is_new], fits.scores[0, X.is_new]
    arrival = clone(stages.arrival).with_scores(new, scores)
    place = _Places(X.is_new, 2 + rows.contrast.shape[1])
    sums = _Sums.of(stack, rows, fits, place)
    known = {PEOPLE: Information(sums.people[0], 0.0, 0)} | {
        m: Information(gram, total, 0)
        for m, (gram, total) in enumerate(
            zip(sums.grams[0], sums.curvature[0].tolist(), strict=True)
        )
    }
    assert stages.debiaser is not None
    debiaser = clone(stages.debiaser)
    debiaser.fit_evidence(X, [KeptSums(known, {})], whole.learners)
    return Chain(
        whole.btl,
        whole.calibrator,
        arrival,
        X,
        debiaser,
        is_joint=stages.fits_jointly(X),
    )


def place_folds(
    stack: FoldStack,
    stages: Stages,
    sample: Sample,
    training: Sequence[Array],
    tests: Sequence[NDArray[np.intp]],
    items: ItemCovariance | None,
) -> list[FoldFit] | None:
    """Place arrivals by many folds.

    Parameters
    ----------
    stack : FoldStack
        Of these folds.
    stages : Stages
        Unfitted.
    sample : Sample
        Arrivals in the vocabulary of all models.
    training : sequence of ndarray of shape (n_rows,)
        Training weights of each fold.
    tests : sequence of ndarray
        Numbers of the rows that it holds out.
    items : ItemCovariance or None
        Covariance of the item effects; None leaves them out.

    Returns
    -------
    list of FoldFit or None
        None where a fold is to be looked at by itself.
    """
    rows, fits = _fitted(stack, stages, sample, np.array(training), items)
    if fits is None:
        return None
    X = sample.X
    place = _Places(X.is_new, 2 + rows.contrast.shape[1])
    sums = _Sums.of(stack, rows, fits, place)
    ridges = stack.ridges * sums.curvature[..., None]
    found = project_spans(sums.grams, len(X.models) + 2, ridges)
    if found is None:
        return None
    grams, coef = found
    assert stages.debiaser is not None
    systems = StackedSystems.solve(
        _items(X),
        stack.slopes,
        None if items is None else covariance_factor(items.covariance),
        sums.people,
        grams,
        positions=stack.positions is not None,
        ridge=stages.debiaser.ridge,
    )
    if systems is None:
        return None
    columns, of_people = systems.columns(coef), systems.of_items()
    values = _influence(sample, rows, fits, columns, of_people)
    known = _of_history(stack, place, columns, of_people)
    parts = zip(
        fits.scores,
        stack.slopes,
        systems.prior_score(fits.deviations),
        systems.item_covariance(),
        systems.expected_covariance(),
        strict=True,
    )
    determined = np.zeros(len(X.models), dtype=bool)
    groups, is_human = sample.groups, X.is_human
    folds = []
    for k, (part, test) in enumerate(zip(parts, tests, strict=True)):
        own = values[k][test]
        late = InfluenceSums.of(
            own, is_human[test], None if groups is None else groups[test]
        )
        total = (known[k] + late).settled()
        folds.append(FoldFit(*part, determined, total, own))
    return folds


def _fitted(
    stack: FoldStack,
    stages: Stages,
    sample: Sample,
    training: Array,
    items: ItemCovariance | None,
) -> tuple[_Rows, _Fits | None]:
    """Rows of arrivals, and their fits where these are easy ones."""
    X, (n_folds, n_judges) = sample.X, stack.slopes.shape
    rows = _Rows.of(X, stack.shows)
    n_new = int(X.is_new.sum())
    n_columns = len(X.models) + 2 + rows.contrast.shape[1]
    cells = n_folds * len(X) * max(n_columns, n_new * (1 + n_judges))
    is_likely = items is not None or stages.arrival.equation == "likelihood"
    low, high = stages.arrival.score_bounds
    placed = np.abs(rows.contrast).sum()  # infinite or NaN where a feature is missing
    if cells > _CELLS or not is_likely or not np.isfinite(placed):
        return rows, None
    factor = None if items is None else covariance_factor(items.covariance)
    fits = _Fits.of(stack, rows, sample, training, factor)
    if fits is None:
        return rows, None
    new = fits.scores[:, X.is_new]
    inside = (new > low).all() and (new < high).all()
    return rows, fits if inside else None


def _items(X: Comparisons) -> Array:
    """Selector of each item's score among the free ones."""
    return selectors(X.is_new, zero_sum_basis(int((~X.is_new).sum())))


def _influence(
    sample: Sample, rows: _Rows, fits: _Fits, columns: Array, of_people: Array
) -> Array:
    """Influence of every row in every fold, of shape (n_folds, n_rows, n_models)."""
    found = np.zeros((len(columns), len(sample), columns.shape[-1]))
    for m, cut in rows.cuts.items():
        if cut.stop == cut.start:
            continue
        own = fits.columns(rows, m)
        if m == PEOPLE:
            values = own[..., : of_people.shape[1]] @ of_people
        else:
            values = own @ columns[:, m]
        found[:, rows.at[cut]] = values * fits.residual[:, cut, None]
    return found


def _of_history(
    stack: FoldStack, place: _Places, columns: Array, of_people: Array
) -> list[InfluenceSums]:
    """Sums over the influence of the historical rows held out, by fold."""
    n_folds, n = len(columns), columns.shape[-1]
    nothing = np.full(n, np.nan)
    if stack.outer is None or stack.people_outer is None:
        places = np.flatnonzero(~place.is_new)
        found = []
        for k, kept in enumerate(stack.sums):
            own = {m: one.spread(places, n) for m, one in kept.residuals.items()}
            parts = [
                InfluenceSums.of_source(
                    one, of_people[k] if m == PEOPLE else columns[k, m],
                    human=m == PEOPLE,
                )
                for m, one in own.items()
            ]  # fmt: skip
            found.append(reduce(add, parts))
        return found
    score, people = (
        place.spread(stack.score, axes=1),
        place.spread(stack.people_score, 0, 1),
    )
    total = (score[:, :, None] @ columns)[:, :, 0].sum(axis=1)
    total += (people[:, None] @ of_people)[:, 0]
    outer = np.zeros((n_folds, 3, n, n))
    squares = place.spread(stack.people_outer, 0)
    outer[:, 0] = of_people.transpose(0, 2, 1) @ squares @ of_people
    each = columns.transpose(0, 1, 3, 2) @ place.spread(stack.outer) @ columns
    outer[:, 1] = each.sum(axis=1)
    return [
        InfluenceSums(own, square, nothing)
        for own, square in zip(total, outer, strict=True)
    ]
