"""Which fits answer which questions about other rows and favours, and which refuse."""

import numpy as np
import pytest

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import BoostedBias
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

# What diagnostics find in small tables is no matter here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore::skanchor.exceptions.SkanchorWarning",
)

FIRST, SECOND = "new-model-1", "new-model-2"
NO_PLANS = dict.fromkeys(("worth", "outlook", "design", "design of a difference"))


def table():
    """Two new models, verdicts between them, and some votes on them."""
    data = simulate_battles(
        n_models=5, n_judges=2, n_human=400, n_historical=700, n_new=120,
        n_new_models=2, n_new_verdicts=60, n_new_votes=20, item_sd=0.3, random_state=0,
    )  # fmt: skip
    X = data.X.reset_index(drop=True)
    return X, np.asarray(data.y, dtype=float)


def answers(anchor, X, y, more):
    """By name, what is asked of a fit; each gives a table."""
    pair = dict(opponent=SECOND, model=FIRST, rows="arrival")
    prices = {"judges": 0.1, "human": 1.0}
    return {
        "favour": lambda: anchor.breakdown(),
        "family": lambda: anchor.breakdown("family", family=[FIRST, "model-01"]),
        "intervals": lambda: anchor.sensitivity([0.0, 0.2]),
        "worth": lambda: anchor.worth().table,
        "outlook": lambda: anchor.outlook([0.3]).table,
        "design": lambda: anchor.design(10, prices).table,
        "design of a difference": lambda: (
            anchor.design(10, prices, targets=[(FIRST, SECOND)]).table
        ),
        "fragility": lambda: anchor.fragility(X, y, **pair, **more).table,
        "influence": lambda: anchor.fragility_by_influence(**pair).table,
    }


@pytest.mark.parametrize(
    ("settings", "more", "refused"),
    [
        ({}, {}, {}),
        (dict(n_repeats=2), {}, {}),
        ({}, dict(groups="pairs"), {}),
        (dict(weights="frequency"), dict(sample_weight="counts"), {}),
        (dict(human_bias="linear"), {}, {}),
        (
            dict(
                calibrator=JudgeCalibrator(bias=BoostedBias(max_rounds=2)),
                item_effects=None,
            ),
            {},
            NO_PLANS | dict.fromkeys(NO_PLANS, "has no linear span"),
        ),
        (
            dict(context="kind", item_effects=None),
            {},
            dict.fromkeys(
                (*NO_PLANS, "fragility", "influence"), "with contexts a row counts"
            ),
        ),
    ],
    ids=[
        "warm", "repeats", "groups", "counts", "people's bias", "no span", "contexts",
    ],
)  # fmt: skip
def test_every_question_is_answered_or_refused_by_name(settings, more, refused):
    X, y = table()
    at = np.arange(len(X))
    columns = {"pairs": at // 2, "counts": 1 + at % 2}
    more = {name: columns[column] for name, column in more.items()}
    if "context" in settings:
        X = X.assign(kind=np.where(at % 2, "code", "chat"))
    given = {"cv": 2, "item_effects": "random", "new_models": [FIRST, SECOND]}
    anchor = AnchorPipeline(random_state=0, **given | settings).fit(X, y, **more)
    for name, ask in answers(anchor, X, y, more).items():
        if name in refused:
            with pytest.raises(BattlesError, match=refused[name]):
                ask()
            continue
        found = ask()
        assert len(found) > 0, name
        models = found.index.get_level_values(0) if name != "design" else found.index
        assert set(models) <= {FIRST, SECOND, f"{FIRST} minus {SECOND}"}, name
        if name in ("favour", "family"):
            assert (found["gamma_interval"] <= found["gamma_sign"]).all(), name
            assert found.loc[(FIRST, SECOND), "gamma_sign"] > 0, name
