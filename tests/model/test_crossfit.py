"""Identities of the weights and of the influence of rows."""

from dataclasses import replace

import numpy as np
import pytest
from golden import cases
from numpy.testing import assert_allclose

from skanchor._model.influence import influence_of, residuals, row_influence
from skanchor._model.layout import PEOPLE
from skanchor._model.newton import FitOfAllRows, grams_of, steps_of
from skanchor._model.riesz import Information

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def full():
    anchor = cases.fitted(item_effects=None)
    inference = anchor.prepare(anchor._inference.cells.rows)
    return inference.fit().start


def sums_of(full):
    return grams_of(full.fit, full.sources, [rows.weight for rows in full.sources])


def weights_of(full):
    grams = sums_of(full)
    return Information.of(full.fit, grams, full.prior).weights()


def test_without_folds_only_rows_of_new_models_correct(full):
    weights = weights_of(full)
    whole = influence_of(weights, full.sources, 0)
    new = influence_of(weights, [rows for rows in full.sources if rows.is_new], 0)
    assert_allclose(whole.total, new.total, atol=1e-6)


def test_sums_over_influence_are_those_of_rows(full):
    weights = weights_of(full)
    codes = np.arange(full.sources[0].rows.max() + 10_000) // 7
    sources = [replace(rows, group=codes[rows.rows]) for rows in full.sources]
    values, groups, human = [], [], []
    for rows in sources:
        values.append(row_influence(weights, rows, residuals(weights, rows)))
        groups.append(rows.group)
        human.append(np.full(len(rows), rows.source == PEOPLE))
    values, groups, human = map(np.concatenate, (values, groups, human))
    found = influence_of(weights, sources, 0)
    assert_allclose(found.total, values.sum(axis=0), atol=1e-12)
    by_kind = np.zeros((2, groups.max() + 1, values.shape[1]))
    np.add.at(by_kind, (np.where(human, 0, 1), groups), values)
    cross = by_kind[0].T @ by_kind[1]
    expected = [one.T @ one for one in by_kind]
    assert_allclose(found.parts, [*expected, cross + cross.T], atol=1e-12)
    assert_allclose(found.largest, np.abs(by_kind.sum(axis=0)).max(axis=0))


def test_the_expected_variance_is_that_of_independent_votes(full):
    weights = weights_of(full)
    expected = np.zeros((3, *weights.values.shape[1:] * 2))
    for rows in full.sources:
        p = full.fit.probabilities(rows)
        a = rows.products(weights.local(rows.source)) * rows.weight[:, None]
        part = 0 if rows.source == PEOPLE else 1
        expected[part] += (a * (p * (1.0 - p) / rows.weight)[:, None]).T @ a
    assert_allclose(weights.expected_parts(sums_of(full)), expected, atol=1e-12)


def test_excluded_judges_are_calibrated_but_move_no_score(full):
    layout, bounds = full.fit.layout, full.bounds
    excluded = layout.n_sources - 1
    steps = steps_of(layout, is_joint=True, excluded_judges=[excluded])
    found = FitOfAllRows.of(full.fit, steps, full.sources, bounds).fit
    others = [rows for rows in full.sources if rows.source != excluded]
    without = FitOfAllRows.of(full.fit, full.steps, others, bounds).fit
    old = ~layout.is_new
    assert_allclose(found.scores[old], without.scores[old], atol=1e-6)
    assert not np.allclose(found.scores[old], full.fit.scores[old], atol=1e-4)
    mine = [rows for rows in full.sources if rows.source == excluded]
    residuals = [
        (rows.source, rows.sums(rows.weight * (rows.y - found.probabilities(rows))))
        for rows in mine
        if not rows.is_new
    ]
    score = found.gradient(residuals)[layout.of_source(excluded)]
    assert_allclose(score, 0.0, atol=1e-3)
