"""Few human rows, and rows whose human label is not the one expected."""

import numpy as np
import pandas as pd
from faults.battles import (
    FEATURES,
    FRAME,
    HUMAN,
    LAST,
    NEW,
    fit,
    infinite,
    keep_rows,
    meets,
    warnings_of,
    wins,
)
from faults.entries import Listing
from numpy.testing import assert_allclose

from skanchor import SourceKFold, split_battles
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.simulation import simulate_battles

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


def rare(won, n_rows):
    """Leave one model a few human rows, two for each opponent, of which some won."""
    rows = np.flatnonzero(HUMAN & meets(LAST))
    others = FRAME["model_a"].where(FRAME["model_a"] != LAST, FRAME["model_b"])
    by_opponent = pd.Series(rows).groupby(others[rows].to_numpy())
    kept = np.sort(by_opponent.nth([0, 1]).to_numpy())
    kept = kept[np.argsort(others[kept], kind="stable")][:n_rows]
    frame = wins(FRAME, LAST, np.isin(np.arange(len(FRAME)), kept), won=False)
    frame = wins(frame, LAST, np.isin(np.arange(len(FRAME)), kept[list(won)]))
    return frame.drop(index=np.setdiff1d(rows, kept)).reset_index(drop=True)


def dealt_anew(anchor):
    """Check that the folds dealt first take all wins away from a training set."""
    X, y = split_battles(rare((0, 4), 8))
    seed = np.random.RandomState(DEALT).randint(np.iinfo(np.int32).max)
    human = (X["judge"] == "human").to_numpy()
    won = (X["model_a"].eq(LAST) & (y == 1)) | (X["model_b"].eq(LAST) & (y == 0))
    left = [
        (won.to_numpy() & human)[train].any()
        for train, _ in SourceKFold(4, random_state=int(seed)).split(X)
    ]
    assert left.count(False) == 1
    infinite()(anchor)


DEALT = 3
table(
    "Folds that would take all wins of a model from training",
    lambda: rare((0, 4), 8),
    check=dealt_anew,
    random_state=DEALT,
    flags=("--set", f"random_state={DEALT}"),
)
table(
    "A model with a single win among people",
    lambda: rare((0,), 4),
    check=infinite(),
)
table(
    "A model with a single win among people, in two steps",
    lambda: rare((0,), 4),
    historical_fit="two-step",
    flags=("--set", "historical_fit=two-step"),
    raises=(BattlesError, r"Fold \d: Without the votes held out.*\['model-02'\]"),
)


def one_tie():
    frame = rare((0,), 1)
    rows = meets(LAST, frame) & (frame["judge"] == "human")
    return frame.assign(winner=frame["winner"].mask(rows, 0.5))


table(
    "A model with a single human row",
    one_tie,
    warns=[(DataWarning, "show no noise .* those that independent votes would have")],
    check=infinite(),
)
table(
    "A model with a single human row, in two steps",
    one_tie,
    raises=(BattlesError, r"Fold \d: Without the votes held out, the scores.*model-02"),
    historical_fit="two-step",
    flags=("--set", "historical_fit=two-step"),
)


def votes_meet(model):
    """Leave people's rows with one model, which loses all of its rows."""
    frame = FRAME[~HUMAN | meets(model)].reset_index(drop=True)
    return wins(frame, model, np.ones(len(frame), bool), won=False)


NO_VOTE = r"No human row is left between two of the 4 historical models"
for title, frame, flags in (
    ("Votes with a model without limits alone", lambda: votes_meet(LAST), {}),
    (
        "Votes with a new model alone",
        lambda: FRAME[~HUMAN | meets(LAST)].reset_index(drop=True),
        {"new_models": [NEW, LAST], "flags": ("--new", NEW, "--new", LAST)},
    ),
):
    table(title, frame, raises=(BattlesError, NO_VOTE), **flags)
table(
    "More folds than rows",
    lambda: keep_rows(slice(None)),
    raises=(ValueError, "greater than the number of rows"),
    cv=900,
    flags=("--set", "cv=900"),
)


def one_row_folds():
    data = simulate_battles(
        n_models=3,
        n_judges=1,
        n_new=40,
        n_historical=120,
        human_fraction=0.5,
        scores=[0.5, 0.0, -0.5],
        sensitivities=[2.0],
        random_state=0,
    )
    frame = data.X.assign(winner=np.asarray(data.y, dtype=float))
    return frame.drop(columns=FEATURES)


table(
    "Folds of one row each",
    one_row_folds,
    cv=160,
    check=lambda anchor: (
        infinite()(anchor),
        assert_allclose(
            anchor.scores_,
            warnings_of(lambda: fit(one_row_folds(), cv=20))[0].scores_,
            atol=0.1,
        ),
    ),
)
table(
    "No human row at all",
    lambda: keep_rows(~HUMAN),
    raises=(BattlesError, "No row is by a human: column 'judge' holds .*'judge-1'"),
)
call(
    "A human label that no row holds",
    lambda: split_battles(FRAME, human=["human", "crowd"]),
    raises=(BattlesError, r"the human labels \['crowd'\]; it holds .*'judge-1'"),
)
