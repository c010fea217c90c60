"""What to buy next."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from readout_fits import NAMES, fitted, plan
from scipy.stats import norm

from skanchor.readouts._design import round_to_budget

PRICES = {"human": 1.0, "judge-1": 0.1, "judge-2": 0.1, "judge-3": 0.1}


def shares(design):
    """Share of each source in the spend."""
    spend = design.table.groupby("source")["spend"].sum()
    return spend / spend.sum()


@pytest.mark.parametrize(
    ("budget", "width"), [(10, 0.0841), (50, 0.0619), (200, 0.0422)]
)
def test_the_reference_design(budget, width):
    """Errors that another implementation found, by the sum of information alone."""
    design = fitted("paper").design(budget, PRICES)
    factor = plan("paper").targets([("new-model", None)]).factors[0, 0]
    half = design.half_widths.loc["new-model"]
    assert_allclose(
        half["design"] / norm.ppf(0.975) / np.sqrt(factor), width, atol=1e-4
    )
    assert set(design.table["source"]) == {"judge-2"}
    assert design.spent == pytest.approx(budget)
    assert 0 <= design.certificate <= 1e-3
    if budget == 10:
        rows = design.table.set_index("opponent")["rows"]
        assert rows["model-01"] == pytest.approx(60, abs=2)
        assert rows["model-04"] == pytest.approx(38, abs=2)
        assert rows.sum() == 100
        even = {"verdicts": 0.0915, "votes": 0.0982}
        for way, error in even.items():
            assert_allclose(
                half[way] / norm.ppf(0.975) / np.sqrt(factor), error, atol=1e-4
            )
        assert_allclose(design.table["gain"].max(), 43.4e-6, atol=0.1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_no_other_allocation_is_better(name):
    """Against random ones that respect the floor; the certificate bounds the rest."""
    design = fitted(name).design(30.0, PRICES)
    assert design.floor == (0.1 if "items" in name else 0.0)
    result, rng = plan(name), np.random.default_rng(0)
    models, kinds = fitted(name).new_models_.tolist(), result.kinds
    target = result.targets([(model, None) for model in models])
    price = np.array([PRICES[label] for label in result.sources])[kinds.source]

    def total(spend):
        more = kinds.information(spend / price)
        return target.parts(result.weights(target, more)).sum()

    spend = np.zeros(len(kinds))
    for model, row in design.table.iterrows():
        spend += row["spend"] * (
            (kinds.source == result.sources.index(row["source"]))
            & (kinds.model == result.models.index(model))
            & (kinds.opponent == result.models.index(row["opponent"]))
        )
    best = total(spend)
    assert design.certificate <= 1e-3
    for _ in range(20):
        weights = rng.exponential(size=len(kinds))
        weights[result.fit.layout.is_new[kinds.opponent]] = 0.0
        weights /= np.bincount(kinds.source, weights)[kinds.source]
        shares = rng.dirichlet(np.full(4, 0.5))
        judges = (1 - design.floor * 3) * shares[1:] + design.floor * shares[1:].sum()
        by_source = np.append(shares[0], judges)
        # Rounding to whole rows costs a little.
        assert total(30.0 * by_source[kinds.source] * weights) > best * (1 - 2e-3)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (dict(budget=-5), "A budget of -5 buys no row"),
        (dict(budget=0.05), "A budget of 0.05 buys no row: .* cheapest row costs 0.1"),
        (dict(budget=np.nan), "budget of nan buys no row"),
        (dict(budget="ten"), "budget of 'ten' buys no row"),
        (dict(costs={"owl": 1.0}), r"no sources of rows \['owl'\]"),
        (dict(costs={"human": -1.0}), "'human' must be a number above zero, got -1"),
        (dict(costs={"judge-1": "dear"}), "must be a number above zero, got 'dear'"),
        (dict(costs={}), "costs must map sources"),
        (dict(costs=None), "costs must map sources"),
        (dict(targets="best"), "targets must be 'scores' or a list"),
        (dict(targets=[]), "targets must be"),
        (dict(targets=["model-01"]), r"no new models \['model-01'\]"),
        (dict(targets=[("new-model", "owl")]), "no opponents of 'new-model' .'owl'."),
        (dict(targets=[("new-model", "new-model")]), "no opponents of"),
        (dict(level=0), "level must"),
    ],
)
def test_bad_input(changes, match):
    settings = dict(budget=10, costs=PRICES) | changes
    with pytest.raises(ValueError, match=match):
        fitted("default").design(**settings)


@pytest.mark.parametrize("seed", range(6))
def test_whole_rows_within_the_budget(seed):
    rng = np.random.default_rng(seed)
    costs = rng.choice([0.02, 0.1, 1.0], 9)
    spend = rng.exponential(size=9) * rng.integers(0, 2, 9)
    budget = spend.sum()
    rows = round_to_budget(spend, costs, budget)
    assert rows @ costs <= budget * (1 + 1e-9)
    assert (np.abs(rows - spend / costs) < 1.0 + 1e-9).all()
    # Nothing that has a remainder could still be afforded.
    short = (spend / costs - rows) > 1e-6
    assert (costs[short] > budget - rows @ costs - 1e-9).all()


def test_the_floor():
    design = fitted("items").design(30, PRICES)
    remaining = shares(design).drop("human", errors="ignore")
    assert (remaining / remaining.sum() > 0.09).all() and len(remaining) == 3
