"""New models: few rows, odd opponents, features out of range."""

import numpy as np
import pytest
from faults.battles import (
    ARRIVAL,
    FIRST,
    FRAME,
    NEW,
    fitted,
    infinite,
    keep_rows,
    many_features,
    meets,
    wins,
)
from faults.entries import Listing

from skanchor import AnchorPipeline
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    DiagnosticWarning,
    InstabilityWarning,
    SkanchorWarning,
)
from skanchor.simulation import simulate_battles

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


def assert_less(error, anchor):
    assert error < anchor.standard_errors_[NEW]


def fewer_new_rows(n):
    rows = ~ARRIVAL
    rows[np.flatnonzero(ARRIVAL)[:n]] = True
    return FRAME[rows].reset_index(drop=True)


def one_opponent():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=500, n_historical=600, random_state=1
    )
    frame = data.X.assign(winner=np.asarray(data.y, dtype=float))
    return frame[~meets(NEW, frame) | meets(FIRST, frame)].reset_index(drop=True)


table("A new model with one opponent", one_opponent, check=infinite())
table(
    "A new model with one row",
    lambda: fewer_new_rows(1),
    raises=(ValueError, r"Fold \d: .*keeps no row of judge .* new model 'new-model'"),
)
table(
    "A new model with a handful of rows",
    lambda: fewer_new_rows(8),
    warns=[(DiagnosticWarning, "One row carries .*% of the variance of new model")],
    check=lambda anchor: assert_less(3 * fitted().standard_errors_[NEW], anchor),
)
BOUND = (BoundWarning, r"\['new-model'\] lie on the bounds .*won or lost every")
for word, won in (("wins", True), ("loses", False)):
    table(
        f"A new model that {word} everything",
        lambda won=won: wins(FRAME, NEW, ARRIVAL, won),
        warns=[BOUND],
        check=infinite(NEW),
    )
table(
    "A new model that no row names",
    lambda: FRAME,
    raises=(BattlesError, r"names \['absent'\], which no battle"),
    new_models=["absent"],
    flags=("--new", "absent"),
)
table(
    "New models given as one text",
    lambda: FRAME,
    raises=(ValueError, "'new_models' parameter .* array-like .* Got 'new-model'"),
    new_models="new-model",
)
table(
    "No new model in the table",
    lambda: keep_rows(~ARRIVAL),
    raises=(BattlesError, "There is no new model"),
)
table(
    "No new model, for want of a column of judges",
    lambda: FRAME.drop(columns="judge"),
    raises=(BattlesError, r"human rows \(all rows, without a column 'judge'\)"),
)
call(
    "Models to leave out given as one text",
    lambda: leave_one_model_out(
        AnchorPipeline(), FRAME.drop(columns="winner"), FRAME["winner"], models=FIRST
    ),
    raises=(TypeError, "models must be a list of labels, got the text 'model-01'"),
)


def strange_opponent():
    frame = FRAME.copy()
    for row in np.flatnonzero(ARRIVAL)[:5]:
        side = "model_b" if frame.loc[row, "model_a"] == NEW else "model_a"
        frame.loc[row, side] = "stranger"
    return frame


table(
    "A model without human rows that is not named as new",
    strange_opponent,
    raises=(BattlesError, r"\['stranger'\] have no human rows"),
    new_models=[NEW],
    flags=("--new", NEW),
)


def assert_unsure(row):
    assert row["standard_error"] > 1.0
    assert (row["rank_low"], row["rank_high"]) == (1, 6)


def far_features():
    frame = FRAME.copy()
    for side in "ab":
        frame.loc[frame[f"model_{side}"] == NEW, f"x1_{side}"] += 12
    return frame


table(
    "Features of a new model outside the historical range",
    far_features,
    warns=[
        (DiagnosticWarning, "'judge-1': a feature .* outside the range .* in 100%"),
    ],
    check=lambda anchor: (
        infinite()(anchor), assert_unsure(anchor.leaderboard().loc[NEW]),
    ),
)  # fmt: skip


def in_other_units():
    frame = FRAME.copy()
    for side in "ab":
        frame.loc[frame[f"model_{side}"] == NEW, f"x1_{side}"] *= 1000
    return frame


table(
    "A feature of a new model in units of a thousandth",
    in_other_units,
    warns=[
        (DiagnosticWarning, "'judge-1': a feature .* outside the range .* in 100%"),
        (InstabilityWarning, "'new-model'. are not determined"),
    ],
    check=infinite(NEW),
)


def liked(n_features=0):
    """A table whose judge likes some models, with features that tell them apart."""
    data = simulate_battles(
        n_models=7, n_judges=1, n_historical=3000, rho=0.0, item_sd=0.5, random_state=1
    )
    frame = data.X[["model_a", "model_b", "judge"]].assign(winner=data.y)
    rng = np.random.default_rng(0)
    names = sorted({*frame["model_a"], *frame["model_b"]})
    for k in range(n_features):
        liking = dict(zip(names, rng.normal(size=len(names)), strict=True))
        for side in "ab":
            frame[f"z{k}_{side}"] = frame[f"model_{side}"].map(liking)
    return frame


table(
    "Features that tell the models apart, with item effects",
    lambda: liked(4),
    item_effects="random",
    flags=("--set", "item_effects=random"),
    warns=[
        (SkanchorWarning, r"7 historical models .* information worth [01]\.\d models")
    ],
    # Two degrees of freedom are those of the prior.
    check=lambda anchor: anchor.result_.item_df < 4.0 or pytest.fail(),
)
table(
    "Judges that like some models for no reason in the table, item effects left out",
    liked,
    flags=("--set", "item_effects=none"),
    warns=[(DiagnosticWarning, r"deviate from models .*\(p = .*too short")],
)


table(
    "More features than a judge has rows, without a ridge",
    many_features,
    raises=(BattlesError, "'judge-1' are separated by a combination .* ridge penalty"),
)
