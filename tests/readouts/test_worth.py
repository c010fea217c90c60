"""What verdicts are worth in votes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from readout_fits import NAMES, fitted, plain_table, plan

from skanchor import AnchorPipeline
from skanchor.readouts._plan import rows_until


def variance(result, target, more):
    return float(target.variances(result.weights(target, more))[0][0])


@pytest.mark.parametrize(
    ("name", "replaces"),
    [("paper", [93, 318, 124, 539]), ("default", [95, 341, 124, 564])],
)
def test_the_reference_design(name, replaces):
    """As another implementation, with dense matrices, has found them."""
    table = fitted(name).worth().table
    assert table.index.get_level_values("judge").tolist() == [
        "judge-1",
        "judge-2",
        "judge-3",
        "all judges",
    ]
    assert table["replaces"].round().tolist() == replaces
    if name == "paper":
        assert table["verdicts"].tolist() == [151, 183, 166, 500]
        assert table["alone"].round().tolist() == [96, 324, 128, 539]
        assert table["next_verdict"].round(3).tolist() == [0.580, 1.643, 0.707, 1.011]
        assert table["never_more"].round().tolist() == [21090] * 4


def votes_like_verdicts(result, model):
    """Information of a vote on a model against the opponents of its verdicts."""
    met = sum(result.verdicts(model, m)[1] for m in result.judges)
    mine = result.kinds.model == result.models.index(model)
    share = np.where(mine & (result.kinds.source == 0), met[result.kinds.opponent], 0)
    return result.kinds.information(share / share.sum())


@pytest.mark.parametrize("name", NAMES)
def test_votes_do_what_the_verdicts_did(name):
    """Put back in their place, they bring the variance back."""
    result = plan(name)
    for (model, judge), row in fitted(name).worth().table.iterrows():
        if judge == "all judges":
            continue
        target, vote = (
            result.targets([(model, None)]),
            votes_like_verdicts(result, model),
        )
        verdicts, number = result.verdicts(model, result.sources.index(judge))
        restored = variance(result, target, row["replaces"] * vote - verdicts)
        # A judge whose loss changes nothing replaces no vote.
        if row["replaces"] > 0:
            assert_allclose(restored, variance(result, target, 0.0), rtol=1e-8)
        else:
            assert restored <= variance(result, target, 0.0) * (1 + 1e-6)
        # One more verdict is worth the ratio of two gains.
        w = result.weights(target)[:, 0]
        ratio = (w @ verdicts @ w / number.sum()) / (w @ vote @ w)
        assert_allclose(row["next_verdict"], ratio, rtol=1e-8)


def test_a_judge_without_verdicts_on_the_model():
    X, y = plain_table()
    keep = ~((X == "new-model").any(axis=1) & X["judge"].eq("judge-2")).to_numpy()
    anchor = AnchorPipeline(cv=3, random_state=0).fit(X[keep], np.asarray(y)[keep])
    worth = anchor.worth()
    row = worth.table.loc[("new-model", "judge-2")]
    assert row["verdicts"] == 0
    assert np.isnan(row["replaces"]) and np.isnan(row["alone"])
    assert row["next_verdict"] > 0.1 and row["never_more"] > 10
    assert "judge-2 has no verdict on new-model yet." in worth.sentences[1]


def test_rows_until():
    def until(wanted, end=0.0):
        return rows_until(lambda n: n, lambda n: end + 1.0 / (1.0 + n), wanted)

    assert until(0.1) == pytest.approx(9.0)
    assert until(2.0) == 0.0
    assert until(0.4, end=0.5) == until(0.5, end=0.5) == np.inf
