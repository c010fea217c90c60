"""Every fault that skanchor answers, in one list, and the answer it gives.

``table(...)`` entries are battles tables: each goes through ``AnchorPipeline`` and,
written to a file, through the command line, which ends with code 2 and one line where
the library raises. ``call(...)`` entries are calls that have no file, and ``see(...)``
names a test elsewhere. ``docs/faults.md`` lists the same titles; a test holds the two
together.
"""

import inspect
import io
import math
import re
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import KFold

from skanchor import (
    AnchorPipeline,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    SourceKFold,
    split_battles,
)
from skanchor.baselines import JointBTL
from skanchor.bias import LinearBias
from skanchor.cli import main
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import (
    BattlesError,
    BoundWarning,
    DataWarning,
    DiagnosticWarning,
    DisconnectedError,
    InstabilityWarning,
    SeparationWarning,
    SkanchorWarning,
    WeakJudgeWarning,
)
from skanchor.simulation import simulate_battles

# The strongest and a weak one of the historical models.
NEW, FIRST, LAST = "new-model", "model-01", "model-02"
FEATURES = [f"x{i}_{side}" for i in (1, 2, 3) for side in "ab"]


def make_frame():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, tau=0.0, random_state=5
    )
    return data.X.assign(winner=np.asarray(data.y, dtype=float))


FRAME = make_frame()
HUMAN = (FRAME["judge"] == "human").to_numpy()


def meets(model, frame=FRAME):
    return ((frame["model_a"] == model) | (frame["model_b"] == model)).to_numpy()


ARRIVAL = meets(NEW)


def wins(frame, model, rows, won=True):
    """Let a model win (or lose) all of its chosen rows."""
    first = (frame["model_a"] == model).to_numpy()
    winner = frame["winner"].to_numpy().copy()
    rows = rows & meets(model, frame)
    winner[rows] = np.where(first[rows], float(won), float(not won))
    return frame.assign(winner=winner)


def keep_rows(rows):
    return FRAME[rows].reset_index(drop=True)


# ---------------------------------------------------------------------------- entries
@dataclass
class Fault:
    title: str
    raises: tuple | None = None
    warns: list = field(default_factory=list)
    run: object = None
    check: object = None
    frame: object = None
    params: dict = field(default_factory=dict)
    flags: tuple = ()
    cli: bool = True
    where: str = ""


FAULTS = {}


def add(entry):
    assert entry.title not in FAULTS, entry.title
    FAULTS[entry.title] = entry


def table(title, frame, *, raises=None, warns=(), check=None, flags=(), cli=True,
          **params):  # fmt: skip
    """List a table, made when its test runs, and what fitting it gives."""
    add(Fault(title, raises, list(warns), None, check, frame, params, flags, cli))


def call(title, run, *, raises=None, warns=(), check=None):
    """List a call that has no file."""
    add(Fault(title, raises, list(warns), run, check))


def see(title, where):
    """List what a test elsewhere covers, ``folder.module::test``."""
    add(Fault(title, where=where))


def fit(frame, groups=None, sample_weight=None, **params):
    X, y = split_battles(frame)
    # Item effects need more models than small tables have, and say so.
    settings = {"cv": 4, "random_state": 0, "item_effects": None, **params}
    return AnchorPipeline(**settings).fit(X, y, sample_weight, groups)


def ridge(alpha=0.01):
    return JudgeCalibrator(LinearBias(alpha=alpha))


# ======================================================================= human votes
def infinite(*models):
    """Check that these models have no finite error, and the others have one."""

    def check(anchor):
        board = anchor.leaderboard()
        at = board.index.isin(models)
        assert np.isinf(board.loc[at, "standard_error"]).all(), board
        assert np.isfinite(board.loc[~at, "standard_error"]).all(), board
        assert (board.loc[~at, "standard_error"] > 0).all()
        assert (board.loc[at, "rank_low"] == 1).all()
        assert (board.loc[at, "rank_high"] == len(board)).all()
        assert (board["score"].abs() < 25).all(), board
        assert not board.isna().any(axis=None)

    return check


def unbeaten(anchor):
    infinite(FIRST)(anchor)
    # Far out, its rows say nothing of the others: the answer is as without it.
    assert anchor.leaderboard().index[0] == FIRST
    rest = fit(wins(keep_rows(~meets(FIRST)), FIRST, HUMAN[~meets(FIRST)]))
    error = rest.standard_errors_[NEW]
    assert abs(rest.scores_[NEW] - anchor.scores_[NEW]) < 0.1 * error
    assert anchor.influence_.shape == (len(FRAME), 6)
    known = anchor.win_probability(FRAME[HUMAN & meets(FIRST)].drop(columns="winner"))
    assert ((known < 1e-4) | (known > 1 - 1e-4)).all()
    # So with every way of inference.
    for params in (
        {"item_effects": 0.01 * np.eye(2)},
        {"n_repeats": 2},
        {"groups": np.arange(len(FRAME)) // 2},
        {"debiaser": "passthrough"},
    ):
        other, _ = heard(lambda p=params: fit(wins(FRAME, FIRST, HUMAN), **p))
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


SEPARATED = [(SeparationWarning, r"Human votes bound"), (DataWarning, "left out")]
table(
    "A model that never lost to people",
    lambda: wins(FRAME, FIRST, HUMAN),
    warns=[(SeparationWarning, r"\['model-01'\] never lost"), SEPARATED[1]],
    check=unbeaten,
)
table(
    "A model that never won with people",
    lambda: wins(FRAME, FIRST, HUMAN, won=False),
    warns=[(SeparationWarning, r"\['model-01'\] never won"), SEPARATED[1]],
    check=infinite(FIRST),
)
see(
    "A model that never lost, with a ridge on the scores",
    "test_btl::test_ridge_heals_separation",
)
table(
    "A model that never lost, named as new",
    lambda: wins(FRAME, FIRST, HUMAN),
    new_models=[NEW, FIRST],
    flags=("--new", NEW, FIRST),
    check=infinite(),
)
table(
    "Two groups of models that no vote joins",
    two_groups,
    raises=(DisconnectedError, r"2 separate groups.*model-03, .*\{model-01, model-02"),
)
table(
    "Two groups that no vote joins, with disconnected='warn'",
    two_groups,
    warns=[(SeparationWarning, "2 separate groups .* centred on its own")],
    btl=BTLRegressor(disconnected="warn"),
    cli=False,
)
table(
    "Two groups joined by a single vote",
    lambda: two_groups(1, 1.0),
    warns=[(SeparationWarning, "is both beaten by and beating"), SEPARATED[1]],
    check=infinite(FIRST, "model-02"),
)
table(
    "A chain in which each model beats the next ones always",
    lambda: FRAME.assign(
        winner=np.where(HUMAN, FRAME["model_a"] < FRAME["model_b"], FRAME["winner"])
    ),
    raises=(BattlesError, "all historical models on one side only"),
)


def tiny_btl(rows, **params):
    X = pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])
    return BTLRegressor(**params).fit(X[["model_a", "model_b"]], X["winner"])


def half_open(btl):
    assert np.isinf(btl.standard_errors_).all()
    low, high = btl.conf_int().to_numpy().T
    assert ((low == -np.inf) ^ (high == np.inf)).all()


call(
    "A chain of models in BTLRegressor alone",
    lambda: tiny_btl([("a", "b", 1), ("b", "c", 1)] * 5),
    warns=[(SeparationWarning, r"\['c'\] never won and \['a'\] never lost")],
    check=half_open,
)
table(
    "Rows that compare a model with itself",
    lambda: pd.concat(
        [FRAME, FRAME[:2].assign(model_a="solo", model_b="solo", judge="human")],
        ignore_index=True,
    ),
    warns=[(DataWarning, r"2 rows .* itself and count for nothing; models \['solo'\]")],
    check=lambda anchor: assert_allclose(
        anchor.scores_, fit(FRAME).scores_, atol=0.5 * anchor.standard_errors_.iloc[0]
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


DEALT = 0
table(
    "Folds that would take all wins of a model from training",
    lambda: rare((0, 4), 8),
    check=dealt_anew,
    random_state=DEALT,
    flags=("--seed", str(DEALT)),
)
table(
    "A model with a single win among people",
    lambda: rare((0,), 4),
    raises=(BattlesError, r"Fold \d: Without the votes held out.*\['model-02'\]"),
)
table(
    "A model with a single human row",
    lambda: rare((0,), 1).assign(
        winner=lambda f: np.where(
            ((f["model_a"] == LAST) | (f["model_b"] == LAST))
            & (f["judge"] == "human"), 0.5, f["winner"])
    ),
    raises=(BattlesError, r"Fold \d: The training set keeps no human row of.*model-02"),
)  # fmt: skip
table(
    "More folds than rows",
    lambda: keep_rows(slice(None)),
    raises=(ValueError, "greater than the number of rows"),
    cv=900,
    flags=("--folds", "900"),
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
    cli=False,
    check=lambda anchor: (
        infinite()(anchor),
        assert_allclose(
            anchor.scores_,
            heard(lambda: fit(one_row_folds(), cv=20))[0].scores_,
            atol=0.1,
        ),
    ),
)
table(
    "No human row at all",
    lambda: keep_rows(~HUMAN),
    raises=(BattlesError, "No row is by a human: column 'judge' holds .*'judge-1'"),
)
table(
    "Human rows under another label",
    lambda: FRAME.assign(judge=FRAME["judge"].replace("human", "Human")),
    raises=(BattlesError, "No row is by a human: column 'judge' holds .*'Human'"),
)
see(
    "Human rows under several labels, all named",
    "test_comparisons::test_split_battles_takes_several_human_labels",
)
call(
    "A human label that no row holds",
    lambda: split_battles(FRAME, human=["human", "crowd"]),
    raises=(BattlesError, r"the human labels \['crowd'\]; it holds .*'judge-1'"),
)


def half(column, label, other):
    rows = (FRAME[column] == label) & (np.arange(len(FRAME)) % 2 == 0)
    return FRAME.assign(**{column: FRAME[column].mask(rows, other)})


table(
    "A human label that occurs in two spellings",
    lambda: half("judge", "human", "Human "),
    warns=[(DataWarning, r"judges \['human', 'Human '\] differ in blanks or case")],
)
table(
    "Judges in a column of another name",
    lambda: FRAME.rename(columns={"judge": "judges"}),
    warns=[(DataWarning, r"no column 'judge', so all rows .* \['judges'\] may be")],
    new_models=[NEW],
    flags=("--new", NEW),
)


# ============================================================= judges and new models
def split_by(column, ties=0, judge="judge-1"):
    rows = (FRAME["judge"] == judge).to_numpy()
    other = column[:-2] + "_b"
    winner = np.where(rows, FRAME[column] > FRAME[other], FRAME["winner"])
    frame = FRAME.assign(winner=winner.astype(float))
    chosen = np.flatnonzero(rows)[:ties]
    frame.loc[chosen, column] = frame.loc[chosen, other]
    frame.loc[chosen, "winner"] = np.arange(ties) % 2
    return frame


SPLIT = (SeparationWarning, "'judge-1' are separated by feature 'x1'")
table("Verdicts that one feature separates", lambda: split_by("x1_a"), warns=[SPLIT])
table(
    "Verdicts that a feature separates but for ties on the boundary",
    lambda: split_by("x1_a", ties=20),
    warns=[SPLIT],
)
table(
    "Verdicts that a feature separates, with a ridge",
    lambda: split_by("x1_a"),
    warns=[(WeakJudgeWarning, "Sensitivity of judge 'judge-1'")],
    calibrator=ridge(),
    check=infinite(),
    cli=False,
)
table(
    "A judge without historical rows",
    lambda: FRAME.assign(
        judge=FRAME["judge"].mask(ARRIVAL & (FRAME["judge"] == "judge-1"), "stranger")
    ),
    warns=[(DataWarning, "Judge 'stranger' has no historical row.* are left out")],
    check=infinite(),
)


def assert_same_judges(anchor):
    assert anchor.judges_.tolist() == FITTED.judges_.tolist()


def for_the_better(size):
    rows = np.flatnonzero(~HUMAN & ~ARRIVAL)[:size]
    few = FRAME.iloc[rows].assign(judge="rare")
    best = BTLRegressor().fit(*split_battles(FRAME)).scores_
    better = few["model_a"].map(best).to_numpy() > few["model_b"].map(best).to_numpy()
    return pd.concat([FRAME, few.assign(winner=better * 1.0)], ignore_index=True)


table(
    "A judge with a handful of historical rows",
    lambda: for_the_better(4),
    warns=[(DataWarning, "'rare' has 4 historical rows .* fewer than the 20 .* left")],
    check=lambda anchor: assert_same_judges(anchor),
)
table(
    "A judge that is always for the better model",
    lambda: for_the_better(40),
    warns=[(SeparationWarning, "'rare' are separated by the score difference")],
    check=infinite(),
)
table(
    "No judge with both historical and new rows",
    lambda: FRAME.assign(judge=FRAME["judge"].mask(ARRIVAL, "stranger")),
    raises=(BattlesError, r"no comparison by a calibrated judge \(\['stranger'\]"),
)


def noise(judges):
    coin = np.random.default_rng(2).integers(0, 2, len(FRAME))
    rows = FRAME["judge"].isin(judges)
    return FRAME.assign(winner=FRAME["winner"].mask(rows, coin))


WEAK = (WeakJudgeWarning, "Sensitivity of judge")
table(
    "Judges that toss coins",
    lambda: noise(["judge-1", "judge-2"]),
    warns=[WEAK, (InstabilityWarning, "Sensitivities are weak: judge")],
    check=infinite(NEW),
)
table(
    "A judge that only ties",
    lambda: FRAME.assign(winner=FRAME["winner"].mask(FRAME["judge"] == "judge-1", 0.5)),
    warns=[
        (WeakJudgeWarning, "'judge-1' is close to zero"),
        (DiagnosticWarning, "'judge-1' tells models apart weakly"),
    ],
)


def same_as_before(anchor):
    assert anchor.calibrator_.sensitivities_["judge-1"] < 0
    assert_allclose(anchor.scores_, fit(FRAME).scores_, atol=1e-8)


table(
    "A judge that prefers what people like less",
    lambda: FRAME.assign(
        winner=FRAME["winner"].mask(FRAME["judge"] == "judge-1", 1 - FRAME["winner"])
    ),
    warns=[
        (WeakJudgeWarning, "negative .* run against the human ranking"),
        (DataWarning, "'judge-1' sides with people in .* coded the other way round"),
    ],
    check=same_as_before,
)


def own_judge():
    frame = FRAME.copy()
    return frame.assign(judge=frame["judge"].replace("judge-1", NEW))


def judged_itself(anchor):
    judge = FRAME["judge"][ARRIVAL]
    share = anchor.result_.diagnostics.models.loc[NEW, "self_judged"]
    assert share == np.mean(judge == "judge-1")
    assert_allclose(anchor.scores_, fit(FRAME).scores_, atol=0.2)


table(
    "A judge that decides on itself as a new model",
    own_judge,
    warns=[(DiagnosticWarning, r"'new-model' gave \d+% of the verdicts on itself")],
    check=judged_itself,
)


def first_side():
    return FRAME.assign(winner=FRAME["winner"].mask(FRAME["judge"] == "judge-1", 1.0))


table(
    "A judge that always prefers the first side",
    first_side,
    warns=[(WeakJudgeWarning, "'judge-1' prefers the side shown first in all")],
    check=infinite(),
)
table(
    "A judge that always prefers the first side, with position effects",
    first_side,
    warns=[(WeakJudgeWarning, "position effect of judge 'judge-1' lies on its bound"),
           WEAK],
    calibrator=JudgeCalibrator(position_effect=True),
    flags=("--position-effect",),
    check=infinite(),
)  # fmt: skip
table(
    "A position effect that the rows cannot show",
    lambda: FRAME.assign(shown_first=np.minimum(FRAME["model_a"], FRAME["model_b"]))
    .assign(shown_first=lambda f: np.where(
        f["shown_first"] == f["model_a"], "model_a", "model_b")),
    raises=(BattlesError, "position effect of judge 'judge-1' cannot be learned"),
    calibrator=JudgeCalibrator(position_effect=True),
    flags=("--position-effect",),
)  # fmt: skip
call(
    "A sensitivity on its bound",
    lambda: fit(FRAME, calibrator=JudgeCalibrator(sensitivity_bounds=(0.0, 0.3))),
    warns=[(WeakJudgeWarning, "lies on its bound")],
)


def twins():
    alone = keep_rows(FRAME["judge"] != "judge-2").assign(
        prompt_id=lambda f: [f"p{i}" for i in range(len(f))]
    )
    twin = alone[alone["judge"] == "judge-1"].assign(judge="judge-2")
    return alone, pd.concat([alone, twin], ignore_index=True)


def not_halved(anchor):
    alone = fit(twins()[0], groups="prompt_id")
    assert_allclose(anchor.standard_errors_, alone.standard_errors_, rtol=0.1)
    plain = fit(twins()[1])
    assert (anchor.standard_errors_ > 1.2 * plain.standard_errors_).all()


table(
    "The same verdicts under two judges' names, grouped by prompt",
    lambda: twins()[1],
    groups="prompt_id",
    flags=("--groups", "prompt_id"),
    check=not_halved,
)


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
    check=lambda anchor: assert_less(3 * FITTED.standard_errors_[NEW], anchor),
)
BOUND = (BoundWarning, r"\['new-model'\] lie on the bounds .*won or lost every")
for word, won in (("wins", True), ("loses", False)):
    table(
        f"A new model that {word} everything",
        lambda won=won: wins(FRAME, NEW, ARRIVAL, won),
        warns=[BOUND],
        check=infinite(NEW),
    )
see(
    "A new model that has human rows",
    "test_anchor::test_warm_arrival_uses_its_human_rows",
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
    cli=False,
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
see(
    "Several new models that never meet",
    "test_anchor::test_new_models_that_never_meet_score_as_each_alone",
)


def far_features():
    frame = FRAME.copy()
    for side in "ab":
        frame.loc[frame[f"model_{side}"] == NEW, f"x1_{side}"] += 20
    return frame


table(
    "Features of a new model outside the historical range",
    far_features,
    warns=[
        (DiagnosticWarning, "'judge-1': a feature .* outside the range .* in 100%"),
        (InstabilityWarning, r"\['new-model'\] are not determined"),
    ],
    check=infinite(NEW),
)  # fmt: skip


def liked(n_features=0):
    """A table whose judge likes some models, with features that tell them apart."""
    data = simulate_battles(
        n_models=7, n_judges=1, n_historical=3000, rho=0.0, item_sd=0.5, random_state=1
    )
    frame = data.X[["model_a", "model_b", "judge"]].assign(winner=data.y)
    rng = np.random.default_rng(0)
    names = sorted({*frame["model_a"], *frame["model_b"]})
    for k in range(n_features):
        own = dict(zip(names, rng.normal(size=len(names)), strict=True))
        for side in "ab":
            frame[f"z{k}_{side}"] = frame[f"model_{side}"].map(own)
    return frame


table(
    "Features that tell the models apart, with item effects",
    lambda: liked(4),
    item_effects="random",
    flags=("--item-effects", "random"),
    warns=[(SkanchorWarning, r"7 historical models .* the worth of [01]\.\d models")],
    check=lambda anchor: anchor.result_.item_df < 2.0 or pytest.fail(),
)
table(
    "Judges that like some models for no reason in the table, item effects left out",
    liked,
    flags=("--item-effects", "none"),
    warns=[(DiagnosticWarning, r"deviate from models .*\(p = .*too short")],
)
call(
    "A covariance of item effects that lacks a judge",
    lambda: fit(FRAME, item_effects=pd.DataFrame([[0.1]], ["judge-1"], ["judge-1"])),
    raises=(ValueError, r"no row and column for the judges \['judge-2'\]"),
)


def many_features(n=250):
    names = [f"w{i}_{side}" for i in range(n) for side in "ab"]
    values = np.random.default_rng(0).normal(size=(len(FRAME), 2 * n))
    return pd.concat([FRAME, pd.DataFrame(values, columns=names)], axis=1)


table(
    "More features than a judge has rows, without a ridge",
    many_features,
    warns=[(SeparationWarning, "'judge-1' are separated by a combination"),
           (SeparationWarning, "'judge-2' are separated by a combination"),
           (SkanchorWarning, "not determine")],
    check=lambda anchor: np.isinf(anchor.standard_errors_[NEW]) or pytest.fail(),
    cli=False,
)  # fmt: skip


# ===================================================================== labels and ids
def outcome(change):
    return lambda: FRAME.assign(winner=change(FRAME["winner"]))


def same_fit(anchor):
    pd.testing.assert_frame_equal(
        anchor.conf_int(), fit(FRAME).conf_int(), check_index_type=False, atol=1e-9
    )


table(
    "An outcome label that is not known",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "B wins"})),
    raises=(BattlesError, r"Unknown outcome labels \['B wins'\], first in row \d"),
)
table(
    "Outcomes that name the model that won",
    lambda: FRAME.assign(
        winner=FRAME["model_a"].where(FRAME["winner"] == 1, FRAME["model_b"])
    ),
    raises=(BattlesError, r"are names of models\. .* or 'model_b': y\.mask"),
)
call(
    "Outcomes 1 and 0 as text",
    lambda: fit(FRAME.assign(winner=FRAME["winner"].map({1.0: "1", 0.0: "0"}))),
    raises=(BattlesError, r"numbers as text\. Convert them: y\.astype\(float\)"),
)
table(
    "A missing outcome",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"}).mask(y.index == 7)),
    raises=(BattlesError, "1 missing outcomes, the first in row 7"),
)
table(
    "Outcomes 1 and 2",
    outcome(lambda y: y + 1),
    raises=(BattlesError, r"must be in \[0, 1\]; row \d+ has 2.0"),
)
table(
    "A NaN among numeric outcomes",
    outcome(lambda y: y.mask(y.index == 4)),
    raises=(BattlesError, r"must be in \[0, 1\]; row 4 has nan"),
)
table(
    "Outcomes as text, bool, int or float",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"})),
    check=lambda anchor: [
        same_fit(other)
        for other in (
            anchor,
            fit(FRAME.astype({"winner": bool})),
            fit(FRAME.astype({"winner": int})),
        )
    ],
)
see("Ties", "test_btl::test_two_models_closed_form")
see("Labels of bare arrays in either order",
    "test_btl::test_bare_arrays_follow_label_order")  # fmt: skip
see(
    "Every row turned round together with its outcome",
    "test_invariance::test_turning_rows_negates_the_position_effect_alone",
)
table(
    "A missing model name",
    lambda: FRAME.assign(model_a=FRAME["model_a"].mask(FRAME.index == 7)),
    raises=(BattlesError, "'model_a' .*1 missing ids, the first in row 7"),
)
table(
    "A missing judge",
    lambda: FRAME.assign(judge=FRAME["judge"].mask(FRAME.index == 7)),
    raises=(BattlesError, "'judge' .*1 missing ids, the first in row 7"),
)
call(
    "Model names that mix text and numbers",
    lambda: fit(FRAME.replace({FIRST: 1})),
    raises=(TypeError, r"mix types that cannot be ordered: \['int', 'str'\]"),
)
call(
    "Model names that are lists",
    lambda: fit(FRAME.assign(model_a=[[name] for name in FRAME["model_a"]])),
    raises=(TypeError, "'model_a' must be strings or numbers.*got list"),
)


def renamed(names, dtype=None):
    frame = FRAME.assign(
        model_a=FRAME["model_a"].map(names), model_b=FRAME["model_b"].map(names)
    )
    return frame.astype({"model_a": dtype, "model_b": dtype}) if dtype else frame


ORDERED = sorted({*FRAME["model_a"], *FRAME["model_b"]})
CODES = {name: i for i, name in enumerate(ORDERED)}
ODD = dict(zip(ORDERED, [" a", "b,c", "ü", 'q"q', "x" * 10_000, "模型"], strict=True))


def all_dtypes(anchor):
    for dtype in ("string[pyarrow]", "category", object, "U20"):
        other = fit(renamed({name: name for name in ORDERED}, dtype))
        assert_allclose(other.scores_, anchor.scores_, atol=1e-9)
    numbers = fit(renamed(CODES))
    assert_allclose(numbers.scores_, anchor.scores_, atol=1e-9)
    assert numbers.scores_.index.tolist() == [CODES[NEW]]


table("Model names of any dtype", lambda: FRAME, check=all_dtypes)
table(
    "Model names with blanks, commas, quotes, other scripts, 10,000 letters",
    lambda: renamed(ODD),
    check=lambda anchor: assert_allclose(
        anchor.leaderboard().loc[[ODD[m] for m in ORDERED[:5]], "score"],
        fit(FRAME).leaderboard().loc[ORDERED[:5], "score"],
        # Other names are dealt to other folds.
        atol=0.1,
    ),
)
table(
    "Model names that differ in blanks or case alone",
    lambda: half("model_a", FIRST, FIRST.title() + " "),
    warns=[(DataWarning, r"models \['Model-01 ', 'model-01'\] differ in blanks")],
)
see("Other names for the models", "test_invariance::test_names_and_row_order")
call(
    "Categories that no row uses",
    lambda: fit(
        renamed({m: m for m in ORDERED}).astype(
            dict.fromkeys(["model_a", "model_b"], pd.CategoricalDtype([*ORDERED, "z"]))
        )
    ),
    check=same_fit,
)
FITTED = fit(FRAME)
GHOST = FRAME[:3].drop(columns="winner").assign(model_a="ghost")
call(
    "An unseen model in predict",
    lambda: FITTED.win_probability(GHOST),
    warns=[(DataWarning, r"3 rows involve models without a score \(\['ghost'\]\)")],
    check=lambda p: assert_allclose(p, 0.5),
)
call(
    "An unseen model in predict, with unseen='raise'",
    lambda: fit(FRAME, unseen="raise").predict(GHOST),
    raises=(BattlesError, "'ghost'"),
)
call(
    "An unseen judge in predict",
    lambda: FITTED.predict(FRAME.drop(columns="winner")[:3].assign(judge="other")),
    raises=(BattlesError, r"Judges \['other'\] were not calibrated"),
)
call(
    "A model against itself in predict",
    lambda: FITTED.win_probability(
        FRAME.drop(columns="winner")[:2].assign(model_a=FIRST, model_b=FIRST)
    ),
    warns=[(DataWarning, "2 rows compare a model with itself")],
    check=lambda p: assert_allclose(p, 0.5),
)
PROMPTS = FRAME.assign(prompt_id=[f"p{i}" for i in range(len(FRAME))])
COPIES = pd.concat([PROMPTS, PROMPTS[:7]], ignore_index=True)
table(
    "Battles that occur twice",
    lambda: COPIES,
    warns=[(DataWarning, f"7 rows are copies .* first in row {len(FRAME)}")],
)
table(
    "Battles that occur twice, by two raters",
    lambda: COPIES.assign(rater=["one"] * len(FRAME) + ["two"] * 7),
)


# =========================================================================== features
def with_pair(left, right):
    return lambda: FRAME.assign(z_a=left(FRAME), z_b=right(FRAME))


def same_numbers(anchor):
    plain = fit(FRAME)
    assert_allclose(anchor.result_.estimates, plain.result_.estimates, atol=1e-7)
    assert_allclose(anchor.standard_errors_, plain.standard_errors_, rtol=1e-6)


table("A constant feature", with_pair(lambda f: 1.0, lambda f: 1.0), check=same_numbers)
table(
    "A feature that occurs twice",
    with_pair(lambda f: f["x1_a"], lambda f: f["x1_b"]),
    check=same_numbers,
)
table(
    "Features that add up to another",
    with_pair(lambda f: f["x1_a"] + f["x2_a"], lambda f: f["x1_b"] + f["x2_b"]),
    check=same_numbers,
)
table(
    "Features in units of 1e8 and 1e-8",
    lambda: FRAME.assign(
        x1_a=FRAME["x1_a"] * 1e8, x1_b=FRAME["x1_b"] * 1e8,
        x2_a=FRAME["x2_a"] * 1e-8, x2_b=FRAME["x2_b"] * 1e-8,
    ),
    check=same_numbers,
)  # fmt: skip
JUDGED = int(np.flatnonzero(~HUMAN)[3])
table(
    "A NaN feature in a row that is used",
    lambda: FRAME.assign(x1_a=FRAME["x1_a"].mask(FRAME.index == JUDGED)),
    raises=(BattlesError, f"'x1' contains NaN in 1 judge rows, .* row {JUDGED}"),
)
table(
    "NaN features in human rows",
    lambda: FRAME.assign(x1_a=FRAME["x1_a"].mask(HUMAN)),
    check=same_numbers,
)
table(
    "An infinite feature",
    lambda: FRAME.assign(x1_a=FRAME["x1_a"].mask(FRAME.index == 3, np.inf)),
    raises=(BattlesError, "'x1_a' contains infinity, first in row 3"),
)
table("No features", lambda: FRAME.drop(columns=FEATURES), check=infinite())
table(
    "More features than a judge has rows, with a ridge",
    many_features,
    calibrator=ridge(1.0),
    check=lambda anchor: (
        anchor.calibrator_.biases_["judge-1"].converged_ or pytest.fail("no finite fit")
    ),
    cli=False,
)
table(
    "Half a feature pair",
    lambda: FRAME.drop(columns="x1_b"),
    raises=(BattlesError, r"\['x1_a'\] lack their other side"),
)
call(
    "Numbers in an object column",
    lambda: fit(FRAME.astype({"x1_a": object})),
    check=same_numbers,
)
call(
    "A word in a column of numbers",
    lambda: fit(FRAME.assign(x1_a=[*FRAME["x1_a"][:-1], "oops"])),
    raises=(BattlesError, "'x1_a' must be numeric: row .* holds 'oops', a str"),
)
call(
    "Numbers as text in both columns of a pair",
    lambda: fit(FRAME.astype({"x1_a": str, "x1_b": str})),
    warns=[(DataWarning, "x1_a and x1_b hold numbers as text")],
)
call(
    "Lists or dicts in both columns of a pair",
    lambda: fit(
        FRAME.assign(talk_a=[[{"role": "user"}]] * len(FRAME), talk_b=[{}] * len(FRAME))
    ),
    check=same_numbers,
)
call(
    "Text beside numbers in a pair",
    lambda: fit(FRAME.astype({"x1_a": str})),
    raises=(BattlesError, "x1_a and x1_b differ in type"),
)
table(
    "A feature pair that is the outcome",
    lambda: FRAME.assign(
        winner_model_a=FRAME["winner"], winner_model_b=1 - FRAME["winner"]
    ),
    warns=[(DataWarning, "winner_model_a and winner_model_b are left out")],
    check=same_numbers,
)
call(
    "Complex features",
    lambda: fit(FRAME.assign(x1_a=FRAME["x1_a"] + 1j)),
    raises=(BattlesError, "Complex data not supported: feature 'x1_a'"),
)
call(
    "A sparse matrix",
    lambda: BTLRegressor().fit(csr_matrix(np.eye(3)), [0, 1, 0]),
    raises=(TypeError, "Sparse data was passed"),
)


def polars_and_arrow():
    X, y = split_battles(FRAME)
    table = pl.from_pandas(X)
    settings = {"cv": 4, "random_state": 0, "item_effects": None}
    result = AnchorPipeline(**settings).fit(table.to_arrow(), y.tolist())
    reordered = X[X.columns[::-1]].astype(dict.fromkeys(FEATURES, "float32"))
    for other in (table, X, reordered):
        again = AnchorPipeline(**settings).fit(other, y)
        assert_allclose(again.scores_, result.scores_, atol=1e-5)
    return result


call("Tables of pandas, polars and pyarrow; float32; columns in any order",
     polars_and_arrow, check=same_fit)  # fmt: skip
call(
    "A lazy table",
    lambda: AnchorPipeline().fit(
        pl.from_pandas(FRAME.drop(columns="winner")).lazy(), FRAME["winner"]
    ),
    raises=(TypeError, "lazy table .* collect it first"),
)
call(
    "A list of dicts, or a dict of lists",
    [
        lambda kind=kind: AnchorPipeline().fit(
            FRAME.drop(columns="winner").to_dict(kind), FRAME["winner"]
        )
        for kind in ("records", "list")
    ],
    raises=(
        TypeError,
        "^Battles were given as a (list of dicts|dict); make them a table with "
        r"pandas.DataFrame\(X\)\.$",
    ),
)
call(
    "Columns of the same name",
    lambda: fit(pd.concat([FRAME, FRAME[["x1_a"]]], axis=1)),
    raises=(BattlesError, r"\['x1_a'\] occur more than once"),
)
table(
    "A missing column",
    lambda: FRAME.drop(columns="model_b"),
    raises=(BattlesError, r"lacks the columns \['model_b'\]"),
)
table(
    "A table without outcomes",
    lambda: FRAME.drop(columns="winner"),
    raises=(BattlesError, r"lacks the columns \['winner'\]"),
)
table("An empty table", lambda: FRAME[:0], raises=(BattlesError, "empty"))
call(
    "Comparisons where an array is due",
    lambda: np.asarray(Comparisons.from_battles(FRAME.drop(columns="winner"))),
    raises=(TypeError, "cannot become one array"),
)


# ================================================================= weights and folds
def weighted(weight, **params):
    return lambda: fit(FRAME, sample_weight=weight, **params)


ONES = np.ones(len(FRAME))
for name, weight, message in (
    ("A negative weight", np.r_[-1.0, ONES[1:]], "Negative values in data passed to"),
    ("Weights that are all zero", 0 * ONES, "weight.*non-zero|non-zero.*weight"),
    ("A NaN weight", np.r_[np.nan, ONES[1:]], "sample_weight contains NaN"),
    ("An infinite weight", np.r_[np.inf, ONES[1:]], "sample_weight contains infinity"),
    ("Too few weights", ONES[1:], r"sample_weight.shape == \(699,\)"),
    (
        "Weights of 1e-300 beside weights of 1e300",
        np.where(HUMAN, 1e300, 1e-300),
        "sample_weight spans too much",
    ),
):
    call(name, weighted(weight), raises=(ValueError, message))
call("Weights of 1e-300 throughout", weighted(1e-300 * ONES), check=same_fit)
call("Weights of 1e300 throughout", weighted(1e300 * ONES), check=same_fit)
see(
    "Fractional weights with a mean far from one",
    "test_items::test_weights_that_are_no_counts_are_told",
)
see("Rows of weight zero", "test_invariance::test_rows_of_weight_zero_are_not_there")
see(
    "Integer weights against copies of rows",
    "test_anchor::test_copies_in_one_group_equal_integer_weights",
)
see("Fewer than thirty groups", "test_folds::test_few_groups_are_told")
see("Rows in another order", "test_invariance::test_names_and_row_order")
call(
    "Fewer outcomes than rows",
    lambda: AnchorPipeline().fit(FRAME.drop(columns="winner"), FRAME["winner"][1:]),
    raises=(ValueError, r"inconsistent numbers of samples: \[700, 699\]"),
)
call(
    "Outcomes in two columns",
    lambda: AnchorPipeline().fit(
        FRAME.drop(columns="winner"), np.zeros((len(FRAME), 2))
    ),
    raises=(BattlesError, "one outcome per battle"),
)
table(
    "A group column that is not there",
    lambda: FRAME,
    raises=(BattlesError, "groups names the column 'topic'"),
    groups="topic",
    flags=("--groups", "topic"),
)
table(
    "Fewer groups than folds",
    lambda: FRAME.assign(topic=np.arange(len(FRAME)) % 3),
    raises=(ValueError, "greater than the number of groups, 3"),
    groups="topic",
    flags=("--groups", "topic"),
)
call(
    "Groups torn apart by the folds",
    lambda: fit(
        FRAME,
        groups=np.arange(len(FRAME)) // 2,
        cv=[(np.arange(len(FRAME)) % 2 != k, np.arange(len(FRAME)) % 2 == k)
            for k in (0, 1)],
    ),
    raises=(ValueError, "tear 350 groups apart"),
)  # fmt: skip
call(
    "Folds that train on what they hold out",
    lambda: fit(
        FRAME,
        cv=[(np.arange(len(FRAME)), np.arange(k, len(FRAME), 2)) for k in (0, 1)],
    ),
    raises=(ValueError, "350 rows both in training and held out"),
)
call(
    "Folds that leave rows out",
    lambda: fit(FRAME, cv=[(np.arange(10, 700), np.arange(10))]),
    raises=(ValueError, "hold out every row exactly once; row 10 is held out 0"),
)
call(
    "Folds with row numbers beyond the table",
    lambda: fit(FRAME, cv=[(list(range(9)), [99_999])]),
    raises=(ValueError, "row numbers from 0 to 699"),
)
call(
    "A splitter that takes all rows of a source from training",
    lambda: fit(FRAME, cv=KFold(4)),
    raises=(ValueError, r"Fold \d: A training set keeps no row of judge .*new-model"),
)
call(
    "`cv` that is 1, 2.5, None or a text",
    [lambda value=value: fit(FRAME, cv=value) for value in (1, 2.5, None, "10")],
    raises=(ValueError, "'cv' parameter of AnchorPipeline must be an int"),
)
call(
    "An unknown bias learner",
    lambda: fit(FRAME, calibrator=JudgeCalibrator("cubic")),
    raises=(ValueError, "Unknown bias learner 'cubic'"),
)
call(
    "A judge that the dict of learners lacks",
    lambda: fit(FRAME, calibrator=JudgeCalibrator({"judge-1": "linear"})),
    raises=(ValueError, "no entry for judge 'judge-2'"),
)
call(
    "Bounds that are not a pair in order",
    lambda: fit(FRAME, calibrator=JudgeCalibrator(sensitivity_bounds=(1, 2, 3))),
    raises=(ValueError, r"sensitivity_bounds must be \(low, high\)"),
)
call(
    "A negative ridge",
    lambda: fit(FRAME, calibrator=ridge(-1)),
    raises=(ValueError, r"'alpha' parameter of LinearBias.*range \[0.0, inf\)"),
)


# ========================================================================= life cycle
for title, name in {
    "clone, pickle, joblib and deepcopy": "copies_give_the_same_intervals",
    "A second fit after set_params": "a_second_fit_leaves_nothing_of_the_first",
    "The user's own learner": "parts_given_are_never_fitted",
    "n_jobs 1, 2 and -1, processes and threads": "workers_change_nothing",
    "A dask cluster": "dask_cluster_of_two_workers",
    "Another seed": "seeds",
    "An interrupt in a fold": "interrupt_leaves_nothing_fitted",
    "A learner that raises in a fold": "exception_names_the_fold",
    "A learner that warns in a worker": "warnings_of_workers_are_issued_once",
    "Arrays that may not be written": "read_only_memory_maps",
    "Metadata routing": "metadata_routing",
    "A parallel search over parallel fits": "nested_parallel_search",
    "A fresh process that imports nothing of the parent's": "spawned_process",
}.items():
    see(title, f"test_life_cycle::test_{name}")
call(
    "predict before fit",
    lambda: AnchorPipeline().predict(GHOST),
    raises=(NotFittedError, "not fitted yet"),
)


class Learner(Wrapped):
    """A learner with a fault."""

    def fit(self, X, y, sample_weight=None, **options):
        if self.act == "writes":
            X.left[:] = 0
        super().fit(X, y, sample_weight, **options)
        if self.act == "coef":
            self.parametric_coef_ = self.parametric_coef_ * np.nan
        return self

    def contrast(self, X):
        values = super().contrast(X)
        if self.act == "nan":
            values = np.where(np.arange(len(values)) == 2, np.nan, values)
        return {"short": values[1:], "column": values[..., None]}.get(self.act, values)


class Unweighted(Learner):
    def fit(self, X, y):
        return self


def with_learner(learner):
    return lambda: fit(FRAME, calibrator=JudgeCalibrator(learner))


OWN = "of judge 'judge-1'"
for title, learner, error, message in (
    ("A learner that returns NaN", Learner("nan"), ValueError,
     f"{OWN}, Learner, returned 1 values that are not finite"),
    ("A learner whose coefficients are NaN", Learner("coef"), ValueError,
     f"{OWN}, Learner, must store 1 finite parametric coefficients"),
    ("A learner that returns too few values", Learner("short"), ValueError,
     rf"{OWN}, Learner, returned shape \(258,\) for 259 rows"),
    ("A learner that returns a column", Learner("column"), ValueError,
     rf"{OWN}, Learner, returned shape \(259, 1\) for 259 rows"),
    ("A learner that writes into its input", Learner("writes"), ValueError,
     f"Bias {OWN}: assignment destination is read-only"),
    ("A learner that takes no weights", Unweighted(), TypeError,
     f"Bias {OWN}: .*unexpected keyword argument"),
    ("A learner without the methods of one", csr_matrix, ValueError,
     "'bias' parameter of JudgeCalibrator .* 'contrast'"),
):  # fmt: skip
    call(title, with_learner(learner), raises=(error, message))


# ======================================================================= command line
for title, where in {
    "A file that is absent, damaged, empty or of another format":
        "cli.test_rank::test_bad_file",
    "A table that was written to JSON by columns": "cli.test_rank::test_bad_file",
    "Flags that contradict each other or name what is not there":
        "cli.test_rank::test_bad_flags",
    "A file of no tool that is known, without the standard columns":
        "io.test_tools::test_unknown_file_says_what_it_comes_near",
    "A file that could be of two tools":
        "io.test_tools::test_file_that_looks_like_those_of_two_tools",
    "Values that a tool does not write":
        "io.test_tools::test_values_that_a_tool_does_not_write",
    "Preferences whose orientation nothing tells":
        "io.test_tools::test_unnamed_numbers_are_never_taken_for_a_tools",
    "Verdicts that failed": "io.test_tools::test_failed_verdicts_are_counted",
    "One bad line among many":
        "io.test_generic::test_bad_line_among_many_is_found_and_counted",
    "Text in another encoding": "io.test_generic::test_encodings",
    "An output file of a format that is not known": "cli.test_rank::test_bad_flags",
    "An output file that is read": "cli.test_rank::test_output_is_never_an_input",
    "A terminal too narrow for the leaderboard":
        "reports.test_leaderboard::test_layout_keeps_names_whole",
    "A disk that is full when the result is written":
        "cli.test_rank::test_unwritable_output_leaves_nothing",
    "Ctrl-C": "cli.test_program::test_interrupt",
    "A pipe that is closed":
        "cli.test_program::test_console_script_into_a_closed_pipe",
}.items():  # fmt: skip
    see(title, where)


# ========================================================================== inference
call(
    "A confidence level of 0, 1, -1, 95, NaN or a text",
    [
        lambda level=level: FITTED.conf_int(level)
        for level in (0, 1, -1, 95, "95", math.nan)
    ],
    raises=(ValueError, "level must"),
)
call(
    "The Elo view of an unknown anchor",
    lambda: FITTED.btl_.elo(anchor="nobody"),
    raises=(BattlesError, "Unknown anchor 'nobody'"),
)
for title, where in {
    "Coverage on the default design": "anchor::test_coverage_on_the_default_simulation",
    "Four times the rows": "invariance::test_errors_halve_when_rows_quadruple",
    "Repeats of the cross-fit": "anchor::test_repeats_combine_by_medians",
    "Dependent rows of a prompt":
        "anchor::test_groups_stay_whole_and_square_their_total",
    "Linear bias against the joint likelihood":
        "anchor::test_close_to_joint_maximum_likelihood",
    "A new model tied with all others":
        "inference::test_rank_set_of_a_model_tied_with_all",
    "Errors of zero and of infinity":
        "inference::test_zero_and_infinite_errors_never_reject",
    "Verdicts without information":
        "riesz::test_separated_verdicts_take_no_part",
}.items():  # fmt: skip
    see(title, f"test_{where}")


def bad_truth():
    frame = wins(FRAME, FIRST, HUMAN)
    X, y = split_battles(frame)
    return leave_one_model_out(JointBTL(), X, y)


call(
    "Leaving out models one by one when one never lost",
    bad_truth,
    warns=[(SeparationWarning, "never lost"), (DataWarning, "have no true score")],
    check=lambda found: FIRST not in found.index or pytest.fail(),
)


# ============================================================================= runner
def listed(kind):
    chosen = [entry for entry in FAULTS.values() if kind(entry)]
    return pytest.mark.parametrize("entry", chosen, ids=lambda entry: entry.title)


def heard(function, diagnostics=False):
    """Give a call's result and the warnings that it issued."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        result = function()
    # Diagnostics doubt small tables now and then; they are no answer to a fault.
    return result, [
        (record.category, str(record.message))
        for record in records
        if diagnostics or record.category is not DiagnosticWarning
    ]


@listed(lambda entry: not entry.where)
def test_answer(entry):
    run = entry.run or (lambda: fit(entry.frame(), **entry.params))
    if entry.raises:
        error, message = entry.raises
        for each in run if isinstance(run, list) else [run]:
            with pytest.raises(error, match=message):
                heard(each)
        return
    wanted = any(category is DiagnosticWarning for category, _ in entry.warns)
    result, told = heard(run, wanted)
    for category, pattern in entry.warns:
        assert any(
            issubclass(c, category) and re.search(pattern, m) for c, m in told
        ), f"{category.__name__} {pattern!r} not in {told}"
    if not entry.warns:
        assert told == []
    # Nothing but what this package has to say.
    assert all(issubclass(c, (SkanchorWarning, ConvergenceWarning)) for c, _ in told)
    if entry.check:
        entry.check(result)


@listed(lambda entry: entry.frame and entry.cli)
def test_command_line(entry, tmp_path):
    path = tmp_path / "battles.csv"
    entry.frame().to_csv(path, index=False)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["rank", str(path), "--folds", "4", *entry.flags])
    lines = err.getvalue().splitlines()
    if entry.raises:
        assert (code, out.getvalue(), len(lines)) == (2, "", 1), lines
        assert lines[0].startswith("skanchor: error: ")
    else:
        assert (code, bool(out.getvalue())) == (0, True), lines
        assert all(line.startswith("skanchor: warning: ") for line in lines)
        assert lines or not entry.warns
    # No name of Python that the command line does not have.
    assert not re.search(r"new_models|split_battles|n_splits|BTLRegr|\bcv\b|LinearBias",
                         err.getvalue()), lines  # fmt: skip


def test_tests_named_elsewhere_exist():
    for entry in FAULTS.values():
        if entry.where:
            module, _, name = entry.where.partition("::")
            assert inspect.isfunction(
                getattr(import_module(f"tests.{module}"), name)
            ), entry.where


def test_docs_list_the_same_faults():
    page = Path(__file__).parents[1] / "docs" / "faults.md"
    tables = page.read_text("utf-8").partition("## scikit-learn's own checks")[0]
    rows = re.findall(r"^\| (.+?) +\| (.+?) +\|$", tables, re.M)
    rows = [row for row in rows if row[0] != "input" and set(row[0]) != {"-"}]
    assert [title for title, _ in rows] == list(FAULTS)
    for title, answer in rows:
        entry = FAULTS[title]
        if not entry.where:
            kind = "Error" if entry.raises else "Warning" if entry.warns else "Works"
            assert answer.startswith(kind), title
