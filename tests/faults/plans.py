"""Groups, folds and parameters."""

import numpy as np
from faults.battles import FRAME, fit, ridge
from faults.entries import Listing
from sklearn.model_selection import KFold

from skanchor import (
    AnchorPipeline,
    BTLRegressor,
    JudgeCalibrator,
)
from skanchor.exceptions import (
    BattlesError,
)

FAULTS = Listing()
table, call, see = FAULTS.table, FAULTS.call, FAULTS.see


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
see(
    "Rows that do not count in another fold than their group",
    "test_cells::test_tables_whose_rows_repeat",
)
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
call(
    "A parameter of 400 digits",
    [
        lambda: fit(FRAME, btl=BTLRegressor(score_bound=10**400)),
        lambda: fit(FRAME, calibrator=ridge(10**400)),
    ],
    raises=(ValueError, r"(score_bound|alpha)' parameter of .* must be below 1.8"),
)
