"""Add the sums of new models to those of a history, and solve all its folds at once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from skanchor._chain import Chain
from skanchor._comparisons import Comparisons
from skanchor._diagnostics import FitSums
from skanchor._engine import FoldFit
from skanchor._items import ItemCovariance
from skanchor._numerics.blocks import item_columns
from skanchor._numerics.information import JudgeBlock, profile_span
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.sums import SourceSums
from skanchor._numerics.system import RieszSolution
from skanchor._placement._fit_sums import arrival_sums
from skanchor._placement._fits import Fits, PlacedRows, fit_at_once
from skanchor._placement._stack import FittedFold, FoldStack
from skanchor._riesz import InfluenceSums, riesz_problem
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.sample import Sample


@dataclass(frozen=True, eq=False, slots=True)
class Placed:
    """Arrivals, placed.

    Attributes
    ----------
    chain : Chain
        By the fit of all rows.
    folds : list of FoldFit
        By each fold.
    sums : FitSums
        Of the arrivals, at the fit of all rows.
    """

    chain: Chain
    folds: list[FoldFit]
    sums: FitSums


def _arrival_information(rows: PlacedRows, fits: Fits) -> tuple[SourceSums, SourceSums]:
    """Information of arrivals in each fit: of people, and of every judge.

    With axes (n_fits,) and (n_fits, n_judges), as the history has them.
    """
    n_judges, blocks = len(rows.stops) - 2, rows.blocks
    items, delta = blocks["items"], blocks["delta"].start
    n = items.stop
    rest, after_delta = slice(delta, None), slice(delta + 1, None)
    of_items = _by_items(rows, fits.curvature, n, 1 + n_judges)
    n_fits = len(of_items)
    information = np.empty((n_fits, n_judges, blocks.size, blocks.size))
    curvature = np.empty((n_fits, n_judges))
    information[:, :, items, items] = of_items[:, :PEOPLE]
    for m in range(n_judges):
        own = rows.of_source(m)
        x, w, of_fit = rows.columns[own], fits.curvature[:, own], fits.delta[:, own]
        # Products of the columns after the items (delta, order, span) with all columns,
        # of shape (n_fits, n_others, n_columns). Delta differs between fits, so it is
        # zero in ``x`` and its products are filled in below.
        others = np.empty((n_fits, x.shape[1] - n, len(x)))
        others[:, 0], others[:, 1:] = of_fit, x[:, after_delta].T
        others *= w[:, None]
        n_others = others.shape[1]
        # A judge may have no rows, from which a length of -1 cannot be computed.
        edge = others.reshape(n_fits * n_others, len(x)) @ x
        edge = edge.reshape(n_fits, n_others, x.shape[1])
        edge[:, 1:, delta] = edge[:, 0, after_delta]
        edge[:, 0, delta] = (others[:, 0] * of_fit).sum(axis=1)
        information[:, m, rest] = edge
        information[:, m, items, rest] = edge[:, :, items].transpose(0, 2, 1)
        curvature[:, m] = w.sum(axis=1)
    people = SourceSums(item_columns(n), information=of_items[:, PEOPLE])
    judges = SourceSums(blocks, information=information, curvature=curvature)
    return people, judges


def _by_items(rows: PlacedRows, w: Array, n: int, n_sources: int) -> Array:
    """Information of each source by item alone, people last, in each fit.

    A row of models a and b adds w (e_a - e_b)(e_a - e_b)', so that sums of w by pair
    are enough. Of shape (n_fits, n_sources, n, n).
    """
    pair = ((rows.judge % n_sources) * n + rows.left) * n + rows.right
    size = n_sources * n * n
    at = pair + size * np.arange(len(w))[:, None]
    sums = np.bincount(at.ravel(), w.ravel(), len(w) * size)
    sums = sums.reshape(len(w), n_sources, n, n)
    sums = -(sums + sums.swapaxes(-1, -2))
    np.einsum("...ii->...i", sums)[...] -= sums.sum(axis=-1)
    return np.asarray(sums, dtype=np.float64)


def place(
    stack: FoldStack,
    whole: FittedFold,
    stages: Stages,
    sample: Sample,
    training: Sequence[Array],
    tests: Sequence[NDArray[np.intp]],
    items: ItemCovariance | None,
) -> Placed | None:
    """Place arrivals by the fit of all rows and by every fold.

    Parameters
    ----------
    stack : FoldStack
        All of these, the fit of all rows first.
    whole : FittedFold
        That fit.
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
    Placed or None
        None where a fit is to be looked at by itself.
    """
    weights = np.array([sample.weight, *training])
    rows, fits = fit_at_once(stack, stages, sample, weights, items)
    if fits is None:
        return None
    # Information of the arrivals, to which that of the history is added; the numbers of
    # the historical models among all.
    people, judges = _arrival_information(rows, fits)
    places = np.flatnonzero(~sample.X.is_new)
    people.gain(stack.people, places)
    judges.gain(stack.judges, places)
    of_votes, *blocks = _blocks(stack, whole, people, judges)
    X = _annotated(stack, sample.X, rows, fits, items)
    assert stages.debiaser is not None
    problem = riesz_problem(X, of_votes[1:])
    problem = replace(problem, slopes=stack.slopes[1:])
    system = problem.solve_folds(block[1:] for block in blocks)
    if system.undetermined.any():
        return None
    folds = _folds(stack[1:], sample, tests, rows, fits[1:], system)
    # Shallow copies are enough: neither stage is fitted, and its parameters stay.
    arrival = copy(stages.arrival).with_scores(
        X.models[X.is_new], fits.scores[0, X.is_new]
    )
    whole_blocks = [block[0] for block in blocks]
    debiaser = copy(stages.debiaser).fit_blocks(X, of_votes[0], whole_blocks)
    joint = stages.fits_jointly(X)
    chain = Chain(whole.btl, whole.calibrator, arrival, X, joint, debiaser)
    return Placed(chain, folds, arrival_sums(sample, rows, fits, stack.slopes[0]))


def _blocks(
    stack: FoldStack, whole: FittedFold, people: SourceSums, judges: SourceSums
) -> list[JudgeBlock]:
    """Information of people and of each judge, biases profiled out, in every fit."""
    assert people.information is not None
    assert judges.information is not None and judges.curvature is not None
    blocks = [JudgeBlock(people.information, people.information, None, None)]
    n_head = judges.blocks["span"].start
    penalty = stack.ridges * judges.curvature[..., None]
    # Axes of fits and judges in front, as in `stack`.
    grams, coef, _ = profile_span(judges.information, n_head, penalty)
    for m, own in enumerate(whole.learners):
        gram, of_span = grams[:, m], None if own.learner is None else coef[:, m]
        blocks.append(JudgeBlock(gram, gram, own.learner, of_span))
    return blocks


def _annotated(
    stack: FoldStack,
    X: Comparisons,
    rows: PlacedRows,
    fits: Fits,
    items: ItemCovariance | None,
) -> Comparisons:
    """The rows with what the fit of all rows has learned."""
    if not stack.shows.all():
        X = X.without_order(X.judges[~stack.shows])
    biases = np.zeros(len(X))
    biases[rows.at] = fits.biases[0]
    return X.with_columns(
        scores=fits.scores[0],
        sensitivities=stack.slopes[0],
        position_effects=None if stack.positions is None else stack.positions[0],
        biases=biases,
        deviations=None if fits.deviations is None else fits.deviations[0],
        item_covariance=None if items is None else items.covariance,
    )


def _folds(
    stack: FoldStack,
    sample: Sample,
    tests: Sequence[NDArray[np.intp]],
    rows: PlacedRows,
    fits: Fits,
    system: RieszSolution,
) -> list[FoldFit]:
    """Results of each fold."""
    of_people = system.all_columns(PEOPLE)
    # Of shape (n_folds, n_judges, n_columns, n_items).
    columns = np.stack(system.judge_columns(), axis=1)
    influence = _influence(rows, fits, tests, columns, of_people)
    sums = _sums(stack, sample, tests, influence, columns, of_people)
    parts = (
        fits.scores,
        stack.slopes,
        system.prior_score(fits.deviations),
        system.item_covariance(),
        system.expected_covariance(),
        system.undetermined,
        sums,
        influence,
    )
    return [FoldFit(*part) for part in zip(*parts, strict=True)]


def _influence(
    rows: PlacedRows,
    fits: Fits,
    tests: Sequence[NDArray[np.intp]],
    columns: Array,
    of_people: Array,
) -> list[Array]:
    """Influence of the rows that each fold holds out, of shape (n_test, n_items)."""
    n, n_sources = of_people.shape[1], columns.shape[1] + 1
    sizes = [len(test) for test in tests]
    at, fold = (
        rows.places(np.concatenate(tests)),
        np.repeat(np.arange(len(tests)), sizes),
    )
    found = np.zeros((len(at), n))
    used = np.flatnonzero(at >= 0)
    # Sort rows by fold and source, so that each product below takes one slice.
    key = fold[used] * n_sources + (rows.judge[at[used]] - PEOPLE)
    turn = np.argsort(key, kind="stable")
    used, key = used[turn], key[turn]
    at, fold = at[used], fold[used]
    x = rows.columns[at]
    x[:, rows.blocks["delta"].start] = fits.delta[fold, at]
    stops = np.searchsorted(key, np.arange(len(tests) * n_sources + 1)).tolist()
    values = np.empty((len(at), n))
    for code, (start, stop) in enumerate(pairwise(stops)):
        k, m = divmod(code, n_sources)
        if m:
            np.matmul(x[start:stop], columns[k, m - 1], out=values[start:stop])
        elif stop > start:
            np.matmul(
                x[start:stop, rows.blocks["items"]],
                of_people[k],
                out=values[start:stop],
            )
    found[used] = values * fits.residual[fold, at, None]
    return np.split(found, np.cumsum(sizes)[:-1])


def _sums(
    stack: FoldStack,
    sample: Sample,
    tests: Sequence[NDArray[np.intp]],
    influence: list[Array],
    columns: Array,
    of_people: Array,
) -> list[InfluenceSums]:
    """Sums over the influence of all rows held out, of history too, by fold."""
    is_new, is_human = sample.X.is_new, sample.X.is_human
    n_folds, n = len(columns), columns.shape[-1]
    places = np.flatnonzero(~is_new)
    # The history has no sums by new items: the other columns are enough.
    kept = np.append(places, np.arange(len(is_new), columns.shape[-2]))
    of_people, columns = of_people[:, places], columns.take(kept, axis=2)
    people, judges = stack.held_people, stack.held_judges
    assert people.score is not None and judges.score is not None
    total = (judges.score[:, :, None] @ columns)[:, :, 0].sum(axis=1)
    total += (people.score[:, None] @ of_people)[:, 0]
    if stack.groups is not None:
        return stack.groups.sums(total, of_people, columns, sample, tests, influence)
    assert people.outer is not None and judges.outer is not None
    outer = np.zeros((n_folds, 3, n, n))
    outer[:, 0] = of_people.transpose(0, 2, 1) @ people.outer @ of_people
    # C' O C, summed over the columns of all judges by one product for each fold.
    both = (judges.outer @ columns).reshape(n_folds, -1, n)
    outer[:, 1] = columns.reshape(n_folds, -1, n).transpose(0, 2, 1) @ both
    nothing = np.full(n, np.nan)
    return [
        InfluenceSums(own, square, nothing)
        + InfluenceSums.of(late, is_human[test], None)
        for own, square, late, test in zip(total, outer, influence, tests, strict=True)
    ]
