"""Outcomes: labels, numbers and what is missing."""

import numpy as np
import pandas as pd
from faults.battles import FRAME, fit, same_fit
from faults.entries import Listing

from skanchor import BTLRegressor
from skanchor.exceptions import BattlesError

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table

MASKED = np.ma.masked_equal(np.where(np.arange(len(FRAME)) == 7, 2, 1), 2)


def outcome(change):
    return lambda: FRAME.assign(winner=change(FRAME["winner"]))


table(
    "An outcome label that is not known",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "B it is"})),
    raises=(
        BattlesError,
        r"Unknown outcome labels \['B it is'\], first in row \d; use ",
    ),
)
table(
    "A missing outcome",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"}).mask(y.index == 7)),
    raises=(BattlesError, "1 missing outcomes, the first in row 7"),
)
table(
    "Outcomes 1 and 2",
    outcome(lambda y: y + 1),
    raises=(BattlesError, r"in \[0, 1\]; row \d+ has 2"),
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
table(
    "Dates as outcomes",
    outcome(lambda y: pd.Timestamp("2026-01-01")),
    raises=(BattlesError, "all labels or all numbers|Unknown outcome labels"),
)
call(
    "Outcomes of 400 digits",
    lambda: fit(FRAME.assign(winner=pd.Series([10**400] * len(FRAME), dtype=object))),
    raises=(BattlesError, r"in \[0, 1\].*numbers too large for a float"),
)
call(
    "Outcomes, ids or groups that are lists",
    [
        lambda: fit(FRAME.assign(winner=[[1]] * len(FRAME))),
        lambda: fit(FRAME.assign(prompt_id=[[1]] * len(FRAME))),
        lambda: fit(FRAME, groups=pd.Series([[1]] * len(FRAME))),
        lambda: fit(FRAME.assign(shown_first=[["model_a"]] * len(FRAME))),
    ],
    raises=(BattlesError, r" holds \[.*\], a list; give text or numbers"),
)
call(
    "Masked arrays",
    [
        lambda: fit(FRAME, groups=MASKED),
        lambda: fit(FRAME, sample_weight=MASKED),
        lambda: BTLRegressor().fit(FRAME.drop(columns="winner"), MASKED),
    ],
    raises=(ValueError, "masked entries, the first in row 7"),
)
