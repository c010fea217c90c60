"""Arrivals' sums added to those of a history, and all its folds solved at once."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skanchor._numerics.linalg import covariance_factor
from skanchor._numerics.parameters import PEOPLE
from skanchor._numerics.stacked import StackedSystems, project_spans
from skanchor._numerics.sums import Information
from skanchor._typing import Array
from skanchor.chain import Chain, Stages
from skanchor.engine import FoldFit
from skanchor.items import ItemCovariance
from skanchor.placement._fits import Fits, Rows, fit_at_once
from skanchor.placement._stack import Fold, FoldStack
from skanchor.riesz import InfluenceSums, KeptSums
from skanchor.sample import Sample

__all__ = ["place_folds", "place_whole"]


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
    def of(cls, stack: FoldStack, rows: Rows, fits: Fits, place: _Places) -> Self:
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
    rows, fits = fit_at_once(stack, stages, sample, sample.weight[None], items)
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
    # Neither has been fitted, and what they hold is not changed.
    arrival = copy(stages.arrival).with_scores(new, scores)
    place = _Places(X.is_new, 2 + rows.contrast.shape[1])
    sums = _Sums.of(stack, rows, fits, place)
    known = {PEOPLE: Information(sums.people[0], 0.0, 0)} | {
        m: Information(gram, total, 0)
        for m, (gram, total) in enumerate(
            zip(sums.grams[0], sums.curvature[0].tolist(), strict=True)
        )
    }
    assert stages.debiaser is not None
    debiaser = copy(stages.debiaser)
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
    rows, fits = fit_at_once(stack, stages, sample, np.array(training), items)
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
        X.rows.selectors,
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


def _influence(
    sample: Sample, rows: Rows, fits: Fits, columns: Array, of_people: Array
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
