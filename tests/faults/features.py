"""Features: constant, alike, missing, or not numbers."""

import numpy as np
import pytest
from faults.battles import (
    FEATURES,
    FRAME,
    HUMAN,
    fit,
    infinite,
    many_features,
    ridge,
    same_numbers,
)
from faults.entries import Listing
from scipy.sparse import csr_matrix

from skanchor import BTLRegressor
from skanchor.exceptions import BattlesError, DataWarning

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


def with_pair(left, right):
    return lambda: FRAME.assign(z_a=left(FRAME), z_b=right(FRAME))


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
    "NaN features in human rows",
    lambda: FRAME.assign(x1_a=FRAME["x1_a"].mask(HUMAN)),
    check=same_numbers,
)
for title, number in {
    "A feature of 1e300": 1e300,
    "A feature of 400 digits": 10**400,
}.items():
    call(
        title,
        lambda number=number: fit(
            FRAME.astype({"x1_a": object}).assign(
                x1_a=lambda f: f["x1_a"].mask(f.index == 3, number)
            )
        ),
        raises=(BattlesError, r"x1_a' contains .* too large: row 3"),
    )
call(
    "A feature in units of 1e-200",
    [
        lambda unit=unit: fit(FRAME.assign(**{f: FRAME[f] * unit for f in FEATURES}))
        for unit in (1e-11, 1e-12, 1e-15, 1e-50, 1e-150, 1e-200)
    ],
    raises=(BattlesError, "too small to compute with: its largest value"),
)
table("No features", lambda: FRAME.drop(columns=FEATURES), check=infinite())
table(
    "More features than a judge has rows, with a ridge",
    many_features,
    calibrator=ridge(1.0),
    check=lambda anchor: (
        anchor.calibrator_.biases_["judge-1"].converged_ or pytest.fail("no finite fit")
    ),
)
call(
    "Numbers in an object column",
    lambda: fit(FRAME.astype({"x1_a": object})),
    check=same_numbers,
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
table(
    "A feature pair that is the outcome",
    lambda: FRAME.assign(
        winner_model_a=FRAME["winner"], winner_model_b=1 - FRAME["winner"]
    ),
    warns=[(DataWarning, "winner_model_a and winner_model_b are left out")],
    check=same_numbers,
)


for title, (error, message, run) in {
    "A word in a column of numbers": (
        BattlesError, "'x1_a' must be numeric: row .* holds 'oops', a str",
        lambda: fit(FRAME.assign(x1_a=[*FRAME["x1_a"][:-1], "oops"]))),
    "Text beside numbers in a pair": (BattlesError, "x1_a and x1_b differ in type",
        lambda: fit(FRAME.astype({"x1_a": str}))),
    "Complex features": (BattlesError, "Complex data not supported: feature 'x1_a'",
        lambda: fit(FRAME.assign(x1_a=FRAME["x1_a"] + 1j))),
    "A sparse matrix": (TypeError, "Sparse data was passed",
        lambda: BTLRegressor().fit(csr_matrix(np.eye(3)), [0, 1, 0])),
}.items():  # fmt: skip
    call(title, run, raises=(error, message))


for title, (error, message, frame) in {
    "A NaN feature in a row that is used": (
        BattlesError, f"'x1' contains NaN in judge rows: 1, .* row {JUDGED}",
        lambda: FRAME.assign(x1_a=FRAME["x1_a"].mask(FRAME.index == JUDGED))),
    "An infinite feature": (BattlesError, "'x1_a' contains infinity .* row 3",
        lambda: FRAME.assign(x1_a=FRAME["x1_a"].mask(FRAME.index == 3, np.inf))),
    "Half a feature pair": (BattlesError, r"\['x1_a'\] lack their other side",
        lambda: FRAME.drop(columns="x1_b")),
}.items():  # fmt: skip
    table(title, frame, raises=(error, message))
