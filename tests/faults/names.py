"""Outcomes, and names of models and judges, in fit and in predict; rows given twice."""

import numpy as np
import pandas as pd
from faults.battles import FIRST, FRAME, GHOST, NEW, fit, fitted, half, same_fit
from faults.entries import Listing
from numpy.testing import assert_allclose

from skanchor import BTLRegressor
from skanchor.exceptions import BattlesError, DataWarning

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


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
        fitted().leaderboard().loc[ORDERED[:5], "score"],
        atol=1e-9,
    ),
)
table(
    "Model names that differ in blanks or case alone",
    lambda: half("model_a", FIRST, FIRST.title() + " "),
    warns=[
        (DataWarning, r"\['model-01', 'Model-01 '\] differ .*replace\(\{'Model-01 '")
    ],
)
for title, twin in {
    # A zero-width space, a full-width letter, and an underscore for the hyphen.
    "Model names that differ in letters no eye sees": "mo\u200bdel-01",
    "Model names that differ in how Unicode writes them": "\uff4dodel-01",
    "Model names that differ in separators alone": "model_01",
}.items():
    table(
        title,
        lambda twin=twin: half("model_a", FIRST, twin),
        warns=[(DataWarning, r"\['model-01', '.*'\] differ in case, blanks")],
    )
table(
    "Model names that are large integers of two types",
    lambda: renamed({name: 2**60 + k for name, k in CODES.items()}).astype(
        {"model_a": "int64", "model_b": "uint64"}
    ),
    check=lambda anchor: assert_allclose(
        anchor.scores_.to_numpy(), fitted().scores_.to_numpy(), atol=1e-9
    ),
)
table(
    "Models whose names differ in a number, a vendor or a date",
    lambda: renamed(
        dict(
            zip(ORDERED, ["a-2", "a-2-7b", "a-2-13b", "a-0613", "x/b", "y/b"],
                strict=True)
        )
    ),
)  # fmt: skip
call(
    "Categories that no row uses",
    lambda: fit(
        renamed({m: m for m in ORDERED}).astype(
            dict.fromkeys(["model_a", "model_b"], pd.CategoricalDtype([*ORDERED, "z"]))
        )
    ),
    check=same_fit,
)
call(
    "An unseen model in predict",
    lambda: fitted().win_probability(GHOST),
    warns=[(DataWarning, r"Rows of models without a score \(\['ghost'\]\) .*: 3")],
    check=lambda p: assert_allclose(p, 0.5),
)
call(
    "An unseen judge in predict",
    lambda: fitted().predict(FRAME.drop(columns="winner")[:3].assign(judge="other")),
    raises=(BattlesError, r"Judges \['other'\] were not calibrated"),
)
call(
    "A model against itself in predict",
    lambda: fitted().win_probability(
        FRAME.drop(columns="winner")[:2].assign(model_a=FIRST, model_b=FIRST)
    ),
    warns=[(DataWarning, "Rows that compare a model with itself .*: 2")],
    check=lambda p: assert_allclose(p, 0.5),
)
PROMPTS = FRAME.assign(prompt_id=[f"p{i}" for i in range(len(FRAME))])
COPIES = pd.concat([PROMPTS, PROMPTS[:7]], ignore_index=True)
table(
    "Battles that occur twice",
    lambda: COPIES,
    warns=[(DataWarning, f"Rows that are copies .*: 7, the first is row {len(FRAME)}")],
)
table(
    "Battles that occur twice, by two raters",
    lambda: COPIES.assign(rater=["one"] * len(FRAME) + ["two"] * 7),
)


# ---------------------------------------------------------------------------- outcomes

MASKED = np.ma.masked_equal(np.where(np.arange(len(FRAME)) == 7, 2, 1), 2)


def outcome(change):
    return lambda: FRAME.assign(winner=change(FRAME["winner"]))


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
call(
    "Outcomes of 400 digits",
    lambda: fit(FRAME.assign(winner=pd.Series([10**400] * len(FRAME), dtype=object))),
    raises=(BattlesError, r"in \[0, 1\].*numbers too large for a float"),
)


for title, (error, message, run) in {
    "Model names that mix text and numbers": (
        TypeError, r"mix types that cannot be ordered: \['int', 'str'\]",
        lambda: fit(FRAME.replace({FIRST: 1}))),
    "Model names that are lists": (
        TypeError, "'model_a' must be strings or numbers.*got list",
        lambda: fit(FRAME.assign(model_a=[[name] for name in FRAME["model_a"]]))),
    "An unseen model in predict, with unseen='raise'": (BattlesError, "'ghost'",
        lambda: fit(FRAME, unseen="raise").predict(GHOST)),
    "Outcomes, ids or groups that are lists": (
        BattlesError, r" holds \[.*\], a list; give text or numbers",
        [
            lambda: fit(FRAME.assign(winner=[[1]] * len(FRAME))),
            lambda: fit(FRAME.assign(prompt_id=[[1]] * len(FRAME))),
            lambda: fit(FRAME, groups=pd.Series([[1]] * len(FRAME))),
            lambda: fit(FRAME.assign(shown_first=[["model_a"]] * len(FRAME))),
        ]),
    "Masked arrays": (ValueError, "masked entries, the first in row 7",
        [
            lambda: fit(FRAME, groups=MASKED),
            lambda: fit(FRAME, sample_weight=MASKED),
            lambda: BTLRegressor().fit(FRAME.drop(columns="winner"), MASKED),
        ]),
}.items():  # fmt: skip
    call(title, run, raises=(error, message))


for title, (error, message, frame) in {
    "A missing model name": (BattlesError, "'model_a' has missing values: 1, .*row 7",
        lambda: FRAME.assign(model_a=FRAME["model_a"].mask(FRAME.index == 7))),
    "A missing judge": (BattlesError, "'judge' has missing values: 1, .*row 7",
        lambda: FRAME.assign(judge=FRAME["judge"].mask(FRAME.index == 7))),
    "An outcome label that is not known": (
        BattlesError, r"Unknown outcome labels \['B it is'\], first in row \d; use ",
        outcome(lambda y: y.map({1.0: "model_a", 0.0: "B it is"}))),
    "A missing outcome": (BattlesError, "y has missing values: 1, the first in row 7",
        outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"}).mask(y.index == 7))),
    "Outcomes 1 and 2": (BattlesError, r"in \[0, 1\]; row \d+ has 2",
        outcome(lambda y: y + 1)),
    "A NaN among numeric outcomes": (
        BattlesError, r"must be in \[0, 1\]; row 4 has nan",
        outcome(lambda y: y.mask(y.index == 4))),
    "Dates as outcomes": (
        BattlesError, "all labels or all numbers|Unknown outcome labels",
        outcome(lambda y: pd.Timestamp("2026-01-01"))),
}.items():  # fmt: skip
    table(title, frame, raises=(error, message))
