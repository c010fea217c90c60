"""The cross-fit of the one engine, beside the pipeline that it will replace."""

import ast
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from golden import adapter, cases
from numpy.testing import assert_allclose

import skanchor
from skanchor._crossfit.cross_fit import sum_folds
from skanchor._crossfit.folds import rows_held_out, training_set
from skanchor._crossfit.one_fold import FoldResult
from skanchor._model.fit import Fit
from skanchor._model.influence import influence_of, residuals, row_influence
from skanchor._model.layout import PEOPLE, Layout
from skanchor._model.newton import FitOfAllRows, grams_of, steps_of
from skanchor._model.riesz import RieszWeights
from skanchor._model.sources import SourceRows

pytestmark = pytest.mark.filterwarnings("ignore")

IMPORTS = ("skanchor._model", "skanchor._typing", "skanchor.exceptions")


# ------------------------------------------------------------- from a fitted pipeline
def sources_of(sample, spans):
    """Rows of a sample by source, historical ones and those of new models apart."""
    X, found = sample.X, []
    count = sample.multiplicity
    count = np.ones(len(sample)) if count is None else count
    group = np.full(len(sample), -1)
    if sample.groups is not None:
        _, code, size = np.unique(
            sample.groups, return_inverse=True, return_counts=True
        )
        group = np.where(size[code] > 1, code, -1)
    rater = sample.raters
    rater = np.full(len(sample), -1) if rater is None else rater
    for source in range(len(X.judges) + 1):
        is_own = X.is_human if source == PEOPLE else X.judge == source - 1
        for is_new in (False, True):
            used = is_own & X.is_usable & (sample.weight > 0)
            rows = np.flatnonzero(used & (X.involves_new == is_new))
            rows = rows[np.lexsort([X.right[rows], X.left[rows]])]
            of_rows = (
                np.zeros(len(sample)),
                sample.y,
                sample.weight,
                count,
                group,
                rater,
            )
            sides = (X.left[rows], X.right[rows], X.order[rows].astype(float))
            if len(rows):
                span = np.ascontiguousarray(spans[source][rows])
                by_row = (one[rows] for one in of_rows)
                n_items = len(X.models)
                found.append(
                    SourceRows(source, is_new, rows, *sides, span, *by_row, n_items)
                )
    return found


def full_fit_of(anchor):
    """The fit of all rows by the one engine, with the settings of a fitted pipeline."""
    sample = anchor._inference.admitted
    X, n_judges = sample.X, len(sample.X.judges)
    features = X.features_left - X.features_right
    nothing = np.zeros((len(sample), 0))
    spans = [features if anchor.human_bias else nothing, *[features] * n_judges]
    effects = getattr(anchor.calibrator_, "position_effects_", None)
    positions = [False] * n_judges if effects is None else (effects != 0.0).tolist()
    covariance = anchor.item_covariance_
    layout = Layout(
        X.is_new,
        X.items.context,
        X.items.model,
        tuple(span.shape[1] for span in spans),
        (False, *positions),
        covariance is not None,
    )
    precision = np.zeros((layout.size, layout.size))
    if covariance is not None:
        at = layout.item_effects
        precision[at, at] = np.kron(np.linalg.inv(covariance), np.eye(layout.n_models))
    low, high = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    low[layout.sensitivities], high[layout.sensitivities] = -20.0, 20.0
    steps = steps_of(layout, is_joint=anchor.historical_fit == "joint")
    start = Fit.start(layout, precision)
    return FitOfAllRows.of(start, steps, sources_of(sample, spans), (low, high))


def folds_of(anchor, full):
    """Result of each fold of each repeat."""
    sample = anchor._inference.admitted
    n_raters = 0 if sample.raters is None else int(sample.raters.max()) + 1
    scores = full.fit.layout.targets.T @ full.fit.x
    whole = SimpleNamespace(
        sample=sample, items=anchor._items, chain=SimpleNamespace(scores=scores)
    )
    for plan in anchor._inference.folds:
        folds = []
        for number in range(len(plan)):
            training = training_set(sample, plan.trained(number))
            weights = [training.weight[rows.rows] for rows in full.sources]
            fit = full.refitted(weights)
            sums = grams_of(fit, full.sources, weights)
            riesz = RieszWeights.solve(fit, sums, full.prior)
            held_out = rows_held_out(full.sources, plan.held_out(number))
            plug_in, influence = (
                fit.layout.targets.T @ fit.x,
                influence_of(riesz, held_out, n_raters),
            )
            expected = riesz.expected_parts(sums)
            folds.append(FoldResult(plug_in, riesz, influence, expected))
        yield sum_folds(whole, folds)


def gaps(anchor):
    """Largest change of a score in standard errors, and of the historical parts."""
    result = anchor.result_
    result = getattr(result, "cells", result)
    scores, variances = [], []
    for number, found in enumerate(folds_of(anchor, full_fit_of(anchor))):
        old = result.part_covariances[number]
        known = np.diagonal(old, axis1=1, axis2=2)
        total = known.sum(axis=0)
        scores.append(np.abs(found.estimate - result.estimates[number]) / total**0.5)
        # The pipeline widens the errors of new models about which judges disagree.
        new = np.diagonal(found.part_covariances, axis1=1, axis2=2)
        variances.append((np.abs(new - known) / total.max())[:, ~result.is_new])
    return np.max(scores), np.max(variances)


TWO_STEP = {"historical_fit": "two-step"}
SETTINGS = {
    "two-step": ({**TWO_STEP, "item_effects": None}, {}),
    "two-step, item effects": ({**TWO_STEP, "item_effects": "random"}, {}),
    "joint": ({"item_effects": None}, {}),
    "joint, no features": ({"item_effects": None}, {"without": True}),
    "joint, groups": ({"item_effects": None}, {"grouped": True}),
    "joint, weights": ({"item_effects": None}, {"weighted": True}),
    "joint, repeats": ({"item_effects": None, "n_repeats": 2}, {}),
    "joint, three new models": ({"item_effects": None}, {"n_new_models": 3}),
    "joint, contexts": ({"item_effects": None, "context": "kind"}, {}),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_scores_and_errors_are_those_of_the_pipeline(name):
    settings, rows = SETTINGS[name]
    score, variance = gaps(cases.fitted(**rows, **settings))
    assert score < 1e-3
    assert variance < 2e-4


@pytest.mark.parametrize("settings", [{}, {"human_bias": "linear"}])
def test_with_item_effects_both_are_near(settings):
    # The folds of the pipeline stop a hundredth of a squared error from the minimum.
    score, variance = gaps(cases.fitted(item_effects="random", **settings))
    assert score < 1e-2
    assert variance < 5e-3


def test_raters_add_what_groups_do_not_hold():
    X, y, *_ = cases.drawn()
    anchor = adapter.pipeline(item_effects=None)
    anchor = adapter.fit(anchor, cases.rated(X), y, None, "auto")
    assert anchor._inference.admitted.raters is not None
    score, variance = gaps(anchor)
    assert score < 1e-3
    assert variance < 2e-4


# ------------------------------------------------------------------------- identities
@pytest.fixture(scope="module")
def full():
    return full_fit_of(cases.fitted(item_effects=None))


def sums_of(full):
    return grams_of(full.fit, full.sources, [rows.weight for rows in full.sources])


def weights_of(full):
    grams = sums_of(full)
    return RieszWeights.solve(full.fit, grams, full.prior)


def test_weights_reproduce_the_targets(full):
    """Sum over rows of a V xi = l, and of a V times the columns of a span = 0."""
    weights, layout = weights_of(full), full.fit.layout
    total = np.zeros_like(layout.targets)
    for rows in full.sources:
        p = full.fit.probabilities(rows)
        a = rows.products(weights.local(rows.source))
        for target in range(layout.n_items):
            local = rows.sums(rows.weight * p * (1.0 - p) * a[:, target])
            at = layout.parameters_of[rows.source]
            total[at, target] += full.fit.chain(rows.source, local)
    free = layout.estimated
    assert_allclose(total[free], layout.targets[free], atol=1e-8)


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


def test_the_model_imports_nothing_else():
    home = Path(skanchor.__file__).parent
    for path in home.glob("_model/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("skanchor"):
                assert node.module.startswith(IMPORTS), (path.name, node.module)
