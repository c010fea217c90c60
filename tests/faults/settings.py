"""What is no table, weights, folds, learners, parameters and levels."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from faults.battles import (
    FEATURES,
    FIRST,
    FRAME,
    GHOST,
    HUMAN,
    fit,
    fitted,
    ridge,
    same_fit,
    wins,
)
from faults.entries import Listing
from learners import Wrapped
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from skanchor import (
    AnchorPipeline,
    BTLRegressor,
    Comparisons,
    JudgeCalibrator,
    split_battles,
)
from skanchor.baselines import JointBTL
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import BattlesError, DataWarning, SeparationWarning

FAULTS = Listing()
call, table = FAULTS.call, FAULTS.table


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
table("An empty table", lambda: FRAME[:0], raises=(BattlesError, "empty"))


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


call(
    "Fewer outcomes than rows",
    lambda: AnchorPipeline().fit(FRAME.drop(columns="winner"), FRAME["winner"][1:]),
    raises=(ValueError, r"inconsistent numbers of samples: \[700, 699\]"),
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
    raises=(ValueError, "3 groups cannot be dealt into"),
    groups="topic",
    flags=("--groups", "topic"),
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
     f"{OWN}, Learner, must return a finite number for each"),
    ("A learner whose coefficients are NaN", Learner("coef"), ValueError,
     f"{OWN}, Learner, must store 2 finite parametric coefficients"),
    ("A learner that returns too few values", Learner("short"), ValueError,
     rf"{OWN}, Learner, must return .* of 259 rows .* shape \(258,\)"),
    ("A learner that returns a column", Learner("column"), ValueError,
     rf"{OWN}, Learner, must return .* of 259 rows .* shape \(259, 1\)"),
    ("A learner that writes into its input", Learner("writes"), ValueError,
     f"Bias {OWN}: assignment destination is read-only"),
    ("A learner that takes no weights", Unweighted(), TypeError,
     f"Bias {OWN}: .*unexpected keyword argument"),
    ("A learner without the methods of one", csr_matrix, ValueError,
     "'bias' parameter of JudgeCalibrator .* 'contrast'"),
):  # fmt: skip
    call(title, with_learner(learner), raises=(error, message))


call(
    "Too few draws for the level of a rank set",
    [
        lambda level=level, n_draws=n_draws: fitted().rank_sets(level, n_draws=n_draws)
        for level, n_draws in ((0.95, 1979), (0.999, 9999))
    ],
    raises=(ValueError, "n_draws must be at least"),
)


def bad_truth():
    frame = wins(FRAME, FIRST, HUMAN)
    X, y = split_battles(frame)
    return leave_one_model_out(JointBTL(), X, y)


call(
    "Leaving out models one by one when one never lost",
    bad_truth,
    warns=[(SeparationWarning, "never lost"), (DataWarning, "have no true score")],
    check=lambda answer: FIRST not in answer.index or pytest.fail(),
)


for title, (error, message, run) in {
    "A lazy table": (TypeError, "lazy table .* collect it first",
        lambda: AnchorPipeline().fit(
            pl.from_pandas(FRAME.drop(columns="winner")).lazy(), FRAME["winner"]
        )),
    "A list of dicts, or a dict of lists": (
        TypeError, "^Battles are a table: make one with " r"pandas.DataFrame\(X\)\.$",
        [
            lambda kind=kind: AnchorPipeline().fit(
                FRAME.drop(columns="winner").to_dict(kind), FRAME["winner"]
            )
            for kind in ("records", "list")
        ]),
    "Columns of the same name": (BattlesError, "'x1_a' 2 times",
        lambda: fit(pd.concat([FRAME, FRAME[["x1_a"]]], axis=1))),
    "Comparisons where an array is due": (TypeError, "cannot become one array",
        lambda: np.asarray(Comparisons.from_battles(FRAME.drop(columns="winner")))),
    "Weights of 400 digits": (ValueError, "must be numbers: .* too large",
        weighted([10**400] * len(FRAME))),
    "Weights that are text": (ValueError, "sample_weight must be numbers: .*'heavy'",
        weighted(["heavy"] * len(FRAME))),
    "Outcomes in two columns": (ValueError, "should be a 1d array",
        lambda: AnchorPipeline().fit(
            FRAME.drop(columns="winner"), np.zeros((len(FRAME), 2))
        )),
    "Groups torn apart by the folds": (ValueError, "tear 350 groups apart",
        lambda: fit(
            FRAME,
            groups=np.arange(len(FRAME)) // 2,
            cv=[(np.arange(len(FRAME)) % 2 != k, np.arange(len(FRAME)) % 2 == k)
                for k in (0, 1)],
        )),
    "Folds that train on what they hold out": (
        ValueError, "350 rows both in training and held out",
        lambda: fit(
            FRAME,
            cv=[(np.arange(len(FRAME)), np.arange(k, len(FRAME), 2)) for k in (0, 1)],
        )),
    "Folds that neither train on rows nor hold them out": (
        ValueError, "10 rows neither in training nor held out",
        lambda: fit(FRAME, cv=[(np.arange(20, 700), np.arange(10))])),
    "Folds that leave rows out": (
        ValueError, "hold out every row exactly once; row 10 is held out 0",
        lambda: fit(FRAME, cv=[(np.arange(10, 700), np.arange(10))])),
    "Folds with row numbers beyond the table": (ValueError, "row numbers from 0 to 699",
        lambda: fit(FRAME, cv=[(list(range(9)), [99_999])])),
    "A splitter that takes all rows of a source from training": (
        ValueError, r"Fold \d: A training set keeps no row of judge .*new-model",
        lambda: fit(FRAME, cv=KFold(4))),
    "`cv` that is 1, 2.5, None or a text": (
        ValueError, "'cv' parameter of AnchorPipeline must be an int",
        [lambda value=value: fit(FRAME, cv=value) for value in (1, 2.5, None, "10")]),
    "An unknown bias learner": (ValueError, "Unknown bias learner 'cubic'",
        lambda: fit(FRAME, calibrator=JudgeCalibrator("cubic"))),
    "A judge that the dict of learners lacks": (
        ValueError, "no entry for judge 'judge-2'",
        lambda: fit(FRAME, calibrator=JudgeCalibrator({"judge-1": "linear"}))),
    "Bounds that are not a pair in order": (
        ValueError, r"sensitivity_bounds must be \(low, high\)",
        lambda: fit(FRAME, calibrator=JudgeCalibrator(sensitivity_bounds=(1, 2, 3)))),
    "A negative ridge": (
        ValueError, r"'alpha' parameter of LinearBias.*range \[0.0, inf\)",
        lambda: fit(FRAME, calibrator=ridge(-1))),
    "A parameter of 400 digits": (
        ValueError, r"(score_bound|alpha)' parameter of .* must be below 1.8",
        [
            lambda: fit(FRAME, btl=BTLRegressor(score_bound=10**400)),
            lambda: fit(FRAME, calibrator=ridge(10**400)),
        ]),
    "A confidence level of 0, 1, -1, 95, NaN or a text": (ValueError, "level must",
        [
            lambda level=level: fitted().conf_int(level)
            for level in (0, 1, -1, 95, "95", math.nan)
        ]),
    "The best 0, 1.5 or all models asked for": (ValueError, "tau must be",
        [
            *(lambda tau=tau: fitted().best_set(tau) for tau in (0, 1.5, 99)),
            *(lambda tau=tau: fitted().prob_best(tau) for tau in (0, 1.5, 99)),
        ]),
    "The Elo view of an unknown anchor": (
        BattlesError, "anchor 'nobody' is none of the models",
        lambda: fitted().leaderboard(scale="elo", anchor={"nobody": 1000})),
    "predict before fit": (NotFittedError, "not fitted yet",
        lambda: AnchorPipeline().predict(GHOST)),
}.items():  # fmt: skip
    call(title, run, raises=(error, message))


for title, (error, message, frame) in {
    "A missing column": (BattlesError, r"lacks the columns \['model_b'\]",
        lambda: FRAME.drop(columns="model_b")),
    "A table without outcomes": (BattlesError, r"lacks the columns \['winner'\]",
        lambda: FRAME.drop(columns="winner")),
}.items():  # fmt: skip
    table(title, frame, raises=(error, message))
