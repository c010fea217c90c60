"""Judges who separate, toss coins, or judge themselves."""

import numpy as np
import pandas as pd
from faults.battles import (
    ARRIVAL,
    FRAME,
    HUMAN,
    NEW,
    fit,
    fitted,
    infinite,
    keep_rows,
    ridge,
    warnings_of,
)
from faults.entries import Listing
from numpy.testing import assert_allclose

from skanchor import BTLRegressor, JudgeCalibrator, split_battles
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    DiagnosticWarning,
    InstabilityWarning,
    SeparationWarning,
    WeakJudgeWarning,
)

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


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


def by_the_other(anchor):
    """The judge has no part in the result, which is as good as that of the other."""
    assert anchor.judges_.tolist() == ["judge-2"]
    others, _ = warnings_of(
        lambda: fit(keep_rows((FRAME["judge"] != "judge-1").to_numpy()))
    )
    error = others.standard_errors_
    assert_allclose(anchor.standard_errors_, error, rtol=0.2)
    assert (abs(anchor.scores_ - others.scores_) < 0.7 * error).all()


table(
    "Verdicts that one feature separates",
    lambda: split_by("x1_a"),
    warns=[SPLIT],
    check=by_the_other,
)
table(
    "Verdicts that a feature separates but for ties on the boundary",
    lambda: split_by("x1_a", ties=20),
    warns=[SPLIT],
    check=by_the_other,
)
table(
    "Verdicts of the only judge that one feature separates",
    lambda: split_by("x1_a")[lambda f: f["judge"] != "judge-2"],
    raises=(BattlesError, "'judge-1' are separated by .*'x1'.* no other judge places"),
)


def rare(n_rows=5):
    """A feature that differs in a few rows of one judge, and tells these."""
    rows = np.flatnonzero((FRAME["judge"] == "judge-1") & ~ARRIVAL)[:n_rows]
    won = (FRAME["winner"] == 1.0) & FRAME.index.isin(rows)
    lost = (FRAME["winner"] == 0.0) & FRAME.index.isin(rows)
    return FRAME.assign(n_headers_a=won * 3.0, n_headers_b=lost * 3.0)


def as_without(anchor):
    others = fitted()
    error = others.standard_errors_.iloc[0]
    assert_allclose(anchor.scores_, others.scores_, atol=0.1 * error)
    assert_allclose(anchor.standard_errors_, others.standard_errors_, rtol=0.05)


table(
    "Verdicts that a feature separates in the few rows that differ in it",
    rare,
    warns=[
        (SeparationWarning, "by feature 'n_headers' in the 5 of its .* is unaffected")
    ],
    check=as_without,
)
table(
    "Verdicts that a feature separates, with a ridge",
    lambda: split_by("x1_a"),
    warns=[(WeakJudgeWarning, "Sensitivity of judge 'judge-1'")],
    calibrator=ridge(),
    check=infinite(),
)
table(
    "A judge without historical rows",
    lambda: FRAME.assign(
        judge=FRAME["judge"].mask(ARRIVAL & (FRAME["judge"] == "judge-1"), "stranger")
    ),
    warns=[(DataWarning, "Judge 'stranger' has 0 historical rows.* are left out")],
    check=infinite(),
)


def assert_same_judges(anchor):
    assert anchor.judges_.tolist() == fitted().judges_.tolist()


def for_the_better(size):
    rows = np.flatnonzero(~HUMAN & ~ARRIVAL)[:size]
    few = FRAME.iloc[rows].assign(judge="rare")
    best = BTLRegressor().fit(*split_battles(FRAME)).scores_
    better = few["model_a"].map(best).to_numpy() > few["model_b"].map(best).to_numpy()
    return pd.concat([FRAME, few.assign(winner=better * 1.0)], ignore_index=True)


table(
    "A judge with a handful of historical rows",
    lambda: for_the_better(4),
    warns=[(DataWarning, "'rare' has 4 historical rows, fewer than the 20 .* left")],
    check=lambda anchor: assert_same_judges(anchor),
)
table(
    "Hundreds of judges of three rows each",
    lambda: pd.concat(
        [FRAME, *(FRAME[~HUMAN & ~ARRIVAL][k : k + 3].assign(judge=f"small-{k}")
                  for k in range(300))],
        ignore_index=True,
    ),
    warns=[(DataWarning, "'small-0' has 3 historical rows, .* the 20 .* left out: 3")],
    check=lambda anchor: assert_same_judges(anchor),
)  # fmt: skip
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
        (DiagnosticWarning, "'judge-1' does not tell models apart"),
    ],
)


def same_as_before(anchor):
    assert anchor.calibrator_.sensitivities_["judge-1"] < 0
    assert_allclose(anchor.scores_, fitted().scores_, atol=1e-8)


table(
    "A judge that prefers what people like less",
    lambda: FRAME.assign(
        winner=FRAME["winner"].mask(FRAME["judge"] == "judge-1", 1 - FRAME["winner"])
    ),
    warns=[
        (WeakJudgeWarning, "negative .* run against it"),
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
    assert_allclose(anchor.scores_, fitted().scores_, atol=0.2)


table(
    "A judge that decides on itself as a new model",
    own_judge,
    warns=[(DiagnosticWarning, r"'new-model' gave \d+% of the verdicts on itself")],
    check=judged_itself,
)


def first_side():
    return FRAME.assign(winner=FRAME["winner"].mask(FRAME["judge"] == "judge-1", 1.0))


table(
    "A judge that always prefers the first side, position effects switched off",
    first_side,
    warns=[(DiagnosticWarning, "'judge-1' favours the side shown first by about")],
    calibrator=JudgeCalibrator(position_effect=False),
    flags=("--set", "calibrator__position_effect=false"),
    check=infinite(),
)


def no_features_to_blame(anchor):
    infinite()(anchor)
    findings = anchor.result_.diagnostics.findings()
    assert "weak-judge" in {one.code for one in findings}
    assert "information" not in {one.code for one in findings}


table(
    "A judge that always prefers the first side",
    first_side,
    warns=[(WeakJudgeWarning, "position effect of judge 'judge-1' lies on its bound"),
           WEAK],
    check=no_features_to_blame,
)  # fmt: skip
table(
    "A judge copied under another name, without prompts",
    lambda: pd.concat(
        [FRAME, FRAME[FRAME["judge"] == "judge-1"].assign(judge="again")],
        ignore_index=True,
    ),
    warns=[(DataWarning, r"\['again', 'judge-1'\] .* perhaps one judge")],
)


def half_first_side():
    chosen = ~HUMAN & (np.random.default_rng(3).random(len(FRAME)) < 0.5)
    return FRAME.assign(winner=FRAME["winner"].mask(chosen, 1.0))


def by_name():
    first = FRAME["model_a"] < FRAME["model_b"]
    return FRAME.assign(shown_first=np.where(first, "model_a", "model_b"))


def without_position(anchor):
    assert not anchor.calibrator_.has_position_effect_.any()


table(
    "Judges that favour a side, position effects switched off",
    half_first_side,
    warns=[(DiagnosticWarning, "'judge-1' favours the side shown first by about")],
    calibrator=JudgeCalibrator(position_effect=False),
    flags=("--set", "calibrator__position_effect=false"),
)
table(
    "A display order that follows the names of the models",
    by_name,
    warns=[(DataWarning, "effect of judge 'judge-1' .* is left out")],
    check=without_position,
)
table(
    "A position effect that the rows cannot show, asked for",
    by_name,
    raises=(BattlesError, "position effect of judge 'judge-1' cannot be learned"),
    calibrator=JudgeCalibrator(position_effect=True),
    flags=("--set", "calibrator__position_effect=true"),
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


def sideless():
    # Without position effects no row carries a tenth of the variance.
    return JudgeCalibrator(position_effect=False)


def not_halved(anchor):
    alone, _ = warnings_of(
        lambda: fit(twins()[0], groups="prompt_id", calibrator=sideless())
    )
    assert_allclose(anchor.standard_errors_, alone.standard_errors_, rtol=0.1)
    plain, _ = warnings_of(lambda: fit(twins()[1], calibrator=sideless()))
    assert (anchor.standard_errors_ > 1.2 * plain.standard_errors_).all()


table(
    "The same verdicts under two judges' names, grouped by prompt",
    lambda: twins()[1],
    groups="prompt_id",
    calibrator=sideless(),
    flags=("--groups", "prompt_id", "--set", "calibrator__position_effect=false"),
    warns=[(DataWarning, r"'judge-2'\] agree on the same prompts .* kappa 1.00")],
    check=not_halved,
)
