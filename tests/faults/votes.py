"""Votes of people: few, mislabelled, or that bound no score or join no models."""

import warnings

import numpy as np
import pandas as pd
from faults.battles import (
    ARRIVAL,
    FEATURES,
    FIRST,
    FRAME,
    HUMAN,
    LAST,
    NEW,
    fit,
    fitted,
    infinite,
    keep_rows,
    meets,
    warnings_of,
    wins,
)
from faults.entries import Listing
from numpy.testing import assert_allclose

from skanchor import BTLRegressor, SourceKFold, split_battles
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    DiagnosticWarning,
    DisconnectedError,
    SeparationWarning,
)
from skanchor.simulation import simulate_battles

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


def unbeaten(anchor):
    with warnings.catch_warnings():
        # Without its rows, too, the others have few votes.
        warnings.simplefilter("ignore", DiagnosticWarning)
        _unbeaten(anchor)


def _unbeaten(anchor):
    infinite(FIRST)(anchor)
    # Far out, its rows say nothing of the others: the answer is as without it. How
    # far, no row says, but that it stands first.
    leaderboard = anchor.leaderboard()
    assert leaderboard.index[0] == FIRST and leaderboard["score"].idxmax() == FIRST
    assert leaderboard.loc[FIRST, ["rank", "rank_low", "rank_high"]].tolist() == [
        1,
        1,
        1,
    ]
    others = fit(
        wins(keep_rows(~meets(FIRST)), FIRST, HUMAN[~meets(FIRST)]),
        historical_fit="two-step",
    )
    error = others.standard_errors_[NEW]
    assert abs(others.scores_[NEW] - anchor.scores_[NEW]) < 0.1 * error
    assert anchor.influence_.shape == (len(FRAME), 6)
    reference = anchor.win_probability(
        FRAME[HUMAN & meets(FIRST)].drop(columns="winner")
    )
    assert ((reference < 1e-4) | (reference > 1 - 1e-4)).all()
    # So with every way of inference.
    for params in (
        {"item_effects": "random"},
        {"n_repeats": 2},
        {"groups": np.arange(len(FRAME)) // 2},
        {"debiaser": "passthrough"},
    ):
        params["historical_fit"] = "two-step"
        other, _ = warnings_of(lambda p=params: fit(wins(FRAME, FIRST, HUMAN), **p))
        assert np.isinf(other.leaderboard().loc[FIRST, "standard_error"])
        p = other.win_probability(FRAME.drop(columns="winner"))
        assert ((p >= 0) & (p <= 1)).all()


def two_groups(n_bridges=0, winner=None):
    groups = {FIRST, "model-02"}
    inside = FRAME["model_a"].isin(groups) == FRAME["model_b"].isin(groups)
    across = np.flatnonzero(HUMAN & ~inside)
    rows = ~HUMAN | inside.to_numpy()
    rows[across[:n_bridges]] = True
    frame = FRAME.copy()
    if winner is not None:
        frame.loc[across[:n_bridges], "winner"] = winner
    return frame[rows].reset_index(drop=True)


def placed_first(anchor):
    infinite()(anchor)
    assert anchor.leaderboard().index[0] == FIRST


def judges_join(anchor):
    infinite()(anchor)
    # The order that all votes give.
    reference = fitted().leaderboard()["score"]
    leaderboard = anchor.leaderboard()
    assert (
        np.corrcoef(leaderboard["score"], reference.loc[leaderboard.index])[0, 1] > 0.9
    )
    # People say little of the distance between the groups, and the errors tell.
    assert (
        leaderboard.loc[FIRST, "standard_error"]
        > 1.5 * (fitted().leaderboard().loc[FIRST, "standard_error"])
    )


TWO_STEP = {"historical_fit": "two-step", "flags": ("--set", "historical_fit=two-step")}
SEPARATED = [(SeparationWarning, r"Human votes bound"), (DataWarning, "left out")]
table(
    "A model that never lost to people",
    lambda: wins(FRAME, FIRST, HUMAN),
    check=placed_first,
)
table(
    "A model that never lost to people, in two steps",
    lambda: wins(FRAME, FIRST, HUMAN),
    warns=[
        (SeparationWarning, r"\['model-01'\] never lost"),
        SEPARATED[1],
        (DiagnosticWarning, r"has \d+ human votes"),
    ],
    check=unbeaten,
    **TWO_STEP,
)
table(
    "A model that never won with people",
    lambda: wins(FRAME, LAST, HUMAN, won=False),
    check=infinite(),
)
table(
    "The judges' first model never won with people",
    lambda: wins(FRAME, FIRST, HUMAN, won=False),
    raises=(BattlesError, r"contradict each other .*\['model-01'\] run away"),
    # A fold finds it, under this seed; on all rows the fit does not settle.
    random_state=1,
    flags=("--set", "random_state=1"),
)
table(
    "A model that never won with people, in two steps",
    lambda: wins(FRAME, FIRST, HUMAN, won=False),
    warns=[(SeparationWarning, r"\['model-01'\] never won"), SEPARATED[1]],
    check=infinite(FIRST),
    **TWO_STEP,
)
table(
    "A model that never lost, named as new",
    lambda: wins(FRAME, FIRST, HUMAN),
    new_models=[NEW, FIRST],
    flags=("--new", NEW, FIRST),
    check=infinite(),
)


def lost_votes():
    """The votes of the last but one model are all with one that won everything."""
    best, lone = "model-05", "model-04"
    frame = wins(FRAME, best, np.ones(len(FRAME), dtype=bool))
    votes = (frame["judge"] == "human").to_numpy() & meets(lone) & ~meets(best)
    # One judge knows nothing of the history but that model.
    other = (frame["judge"] == "judge-2").to_numpy() & ~meets(lone) & ~ARRIVAL
    return frame[~votes & ~other].reset_index(drop=True)


table(
    "A model all of whose votes are with models that are left out",
    lost_votes,
    warns=[(DataWarning, r"Rows of models \['model-05'\]")],
    check=infinite("model-05"),
)
table("Two groups of models that no vote joins", two_groups, check=judges_join)
table(
    "Two groups of models that no vote joins, in two steps",
    two_groups,
    raises=(DisconnectedError, r"2 separate groups.*model-03, .*\{model-01, model-02"),
    **TWO_STEP,
)
table(
    "Two groups that no vote joins, in two steps with disconnected='warn'",
    two_groups,
    warns=[(SeparationWarning, "2 separate groups .* centred on its own")],
    btl=BTLRegressor(disconnected="warn"),
    historical_fit="two-step",
)
table(
    "Two groups joined by a single vote", lambda: two_groups(1, 1.0), check=judges_join
)
table(
    "Two groups joined by a single vote, in two steps",
    lambda: two_groups(1, 1.0),
    **TWO_STEP,
    warns=[(SeparationWarning, "no chain of wins leads from"), SEPARATED[1]],
    check=infinite(FIRST, "model-02"),
)
table(
    "A chain in which each model beats the next ones always",
    lambda: FRAME.assign(
        winner=np.where(HUMAN, FRAME["model_a"] < FRAME["model_b"], FRAME["winner"])
    ),
    raises=(BattlesError, "No human vote contradicts .* the scale of the scores"),
)
table(
    "A chain in which each model beats the next ones always, in two steps",
    lambda: FRAME.assign(
        winner=np.where(HUMAN, FRAME["model_a"] < FRAME["model_b"], FRAME["winner"])
    ),
    raises=(BattlesError, "Too few scores .* on both sides: in human votes"),
    **TWO_STEP,
)


def tiny_btl(rows, **params):
    X = pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])
    return BTLRegressor(**params).fit(X[["model_a", "model_b"]], X["winner"])


def open_intervals(btl):
    assert np.isinf(btl.standard_errors_).all()
    assert_allclose(btl.scores_, [15.0, 0.0, -15.0])
    # No score is known that a limit could be measured from.
    assert_allclose(btl.conf_int(), [[-np.inf, np.inf]] * 3)


call(
    "A chain of models in BTLRegressor alone",
    lambda: tiny_btl([("a", "b", 1), ("b", "c", 1)] * 5),
    warns=[(SeparationWarning, r"\['c'\] never won and \['a'\] never lost")],
    check=open_intervals,
)
table(
    "Rows that compare a model with itself",
    lambda: pd.concat(
        [FRAME, FRAME[:2].assign(model_a="solo", model_b="solo", judge="human")],
        ignore_index=True,
    ),
    warns=[(DataWarning, r"itself are ignored: 2, .* Models \['solo'\]")],
    check=lambda anchor: assert_allclose(
        anchor.scores_, fitted().scores_, atol=0.5 * anchor.standard_errors_.iloc[0]
    ),
)


def two_models():
    data = simulate_battles(
        n_models=2, n_judges=2, n_new=200, n_historical=600, scores=[0.6, -0.6],
        random_state=2,
    )  # fmt: skip
    frame = data.X.assign(winner=np.asarray(data.y, dtype=float))
    return frame.drop(columns=FEATURES)


table("Two historical models", two_models, check=infinite())
table(
    "One historical model",
    lambda: keep_rows(ARRIVAL & meets(FIRST)).assign(
        judge=lambda f: f["judge"].mask(f["judge"] == "judge-1", "human")
    ),
    raises=(BattlesError, "Historical models with human rows: 1; at least two"),
    new_models=[NEW],
    flags=("--new", NEW),
)


# ------------------------------------------------------------------ few rows of people


def rare(won, n_rows):
    """Leave one model a few human rows, two for each opponent, of which some won."""
    rows = np.flatnonzero(HUMAN & meets(LAST))
    others = FRAME["model_a"].where(FRAME["model_a"] != LAST, FRAME["model_b"])
    by_opponent = pd.Series(rows).groupby(others[rows].to_numpy())
    remaining = np.sort(by_opponent.nth([0, 1]).to_numpy())
    remaining = remaining[np.argsort(others[remaining], kind="stable")][:n_rows]
    frame = wins(FRAME, LAST, np.isin(np.arange(len(FRAME)), remaining), won=False)
    frame = wins(frame, LAST, np.isin(np.arange(len(FRAME)), remaining[list(won)]))
    return frame.drop(index=np.setdiff1d(rows, remaining)).reset_index(drop=True)


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
table("A model with a single win among people", lambda: rare((0,), 4), check=infinite())
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
    warns=[(DataWarning, "show no noise.* those of independent votes")],
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
    raises=(ValueError, "rows cannot be dealt into"),
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
table(
    "Votes that are all by one rater",
    lambda: FRAME.assign(rater=np.where(HUMAN, "ann", None)),
    warns=[(DataWarning, "votes are by one rater .* do not cover how people differ")],
    groups="auto",
)
