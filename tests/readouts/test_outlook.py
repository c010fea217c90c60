"""Rows until an interval has a wanted width."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from readout_fits import NAMES, fitted, plan

from skanchor.exceptions import BattlesError


@pytest.mark.parametrize("name", NAMES)
def test_the_width_is_reached_with_so_many_rows(name):
    result, outlook = plan(name), fitted(name).outlook()
    for (model, width), row in outlook.table.iterrows():
        target = result.targets([(model, None)])
        units = {
            "votes": result.evenly(model, [0]),
            "verdicts": result.evenly(model, result.judges),
        }
        units["both"] = units["votes"] + units["verdicts"]
        for way, unit in units.items():
            limit = outlook.limits.loc[model, way]
            if np.isinf(row[way]):
                assert limit >= width
                continue
            weights = result.weights(target, row[way] * unit)
            assert_allclose(target.half_widths(weights, 0.95), width, rtol=1e-6)
            assert limit < width < outlook.limits.loc[model, "now"]


def test_today_is_half_of_the_interval():
    """Of the even interval, that of two steps."""
    anchor = fitted("paper")
    limits = anchor.outlook().limits
    interval = anchor.conf_int()
    half = (interval["high"] - interval["low"]) / 2
    assert_allclose(limits["now"], half)
    # The t law of the split as it is now.
    items = fitted("items")
    result = items.result_
    df = result.moments[2]
    new = np.flatnonzero(result.is_new)[0]
    assert df[new] < 100
    wide = items.outlook(level=0.99).limits["now"] / items.outlook().limits["now"]
    assert wide.iloc[0] > 2.576 / 1.960


def test_verdicts_never_do_where_judges_share_their_errors():
    anchor = fitted("items")
    outlook = anchor.outlook([0.1, 5.0])
    assert outlook.table["verdicts"].tolist() == [np.inf, 0.0]
    assert np.isfinite(outlook.table["votes"]).all()
    assert "No number of verdicts" in repr(outlook)
    assert (
        "No number of verdicts alone can make the interval of new-model"
        in outlook.sentences[1]
    )
    assert len(outlook.sentences) == 2
    record = outlook.to_dict()
    assert record["level"] == 0.95 and record["rows"][0]["width"] == 0.1
    assert record["limits"][0]["model"] == "new-model"


@pytest.mark.parametrize(
    "widths", [[], [0.0], [-0.1], [np.nan], [np.inf], "wide", [[]]]
)
def test_bad_widths(widths):
    with pytest.raises(BattlesError, match="widths must be half widths"):
        fitted("default").outlook(widths)


def test_bad_input():
    with pytest.raises(ValueError, match="level"):
        fitted("default").outlook(level=1.5)
    with pytest.raises(BattlesError, match=r"no new models \['owl'\]"):
        fitted("default").outlook(model="owl")
