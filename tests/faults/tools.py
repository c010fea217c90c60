"""Tools of scikit-learn around the chain: splitters, scorers, ensembles, pipelines."""

from functools import cache

import numpy as np
from faults.battles import ARRIVAL, FRAME
from faults.entries import Listing
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_predict, cross_val_score, learning_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skanchor import (
    AnchorPipeline,
    Comparisons,
    JudgeCalibrator,
    SourceKFold,
    split_battles,
)
from skanchor.bias import BoostedBias, LinearBias
from skanchor.exceptions import BattlesError
from skanchor.metrics import brier_scorer, log_loss_scorer

FAULTS = Listing()
call = FAULTS.call

# The new model's rows come last, as in many tables.
SORTED = FRAME.iloc[np.argsort(ARRIVAL, kind="stable")].reset_index(drop=True)
X, HALVES = split_battles(SORTED)
WON = HALVES.to_numpy().copy()
HALVES = np.where(np.arange(len(WON)) % 9 == 0, 0.5, WON)
LABELS = np.where(WON == 1, "model_a", "model_b").astype(object)
TIES = np.where(HALVES == 0.5, "tie", LABELS)
ANCHOR = AnchorPipeline(cv=2, item_effects=None, random_state=0)
NAMED = Comparisons.from_battles(X, new_models=["new-model"])
SPLITS = SourceKFold(3, random_state=0)


def scores(y, scoring=None, estimator=ANCHOR, battles=X, cv=SPLITS):
    return cross_val_score(
        estimator, battles, y, cv=cv, scoring=scoring, error_score="raise"
    )


def curve(cv, **options):
    return learning_curve(
        ANCHOR, X, WON, cv=cv, train_sizes=[0.6, 1.0], error_score="raise", **options
    )


def calibrated(y):
    return CalibratedClassifierCV(ANCHOR, cv=SPLITS).fit(X, y).predict_proba(X)


def voted(y, voting="soft"):
    other = clone(ANCHOR).set_params(random_state=1)
    vote = VotingClassifier([("a", ANCHOR), ("b", other)], voting=voting)
    return vote.fit(X, y).predict(X)


def held_out(y, method="predict_proba"):
    return cross_val_predict(ANCHOR, X, y, cv=SPLITS, method=method)


@cache
def plain():
    return clone(ANCHOR).fit(X, LABELS)


def proportions(y):
    return calibration_curve(y, plain().predict_proba(X)[:, 1], pos_label="model_b")


def finite(result):
    for item in result:
        values = np.asarray(item)
        assert values.dtype == object or np.isfinite(values).all()


NAMES_SPLITTER = "In a cross-validation, split with SourceKFold"
NAMES_TIES = "treats ties as a third class"
call(
    "A learning curve over SourceKFold, shuffled",
    lambda: curve(SPLITS, shuffle=True, random_state=0)[1:],
    check=finite,
)
call(
    "Tools that count classes, without ties",
    lambda: [
        calibrated(LABELS),
        voted(WON, "hard"),
        held_out(WON, "decision_function"),
        scores(LABELS, "neg_log_loss"),
        *proportions(LABELS),
    ],
    check=finite,
)
call(
    "Ties in log_loss_scorer, brier_scorer and no scorer",
    lambda: [
        scores(y, scoring)
        for y in (HALVES, TIES)
        for scoring in (log_loss_scorer, brier_scorer, None)
    ],
    check=lambda scores: [
        np.testing.assert_allclose(scores[:3], scores[3:]),
        finite(scores),
    ],
)
call(
    "A scaler in front of the chain",
    [
        lambda: make_pipeline(StandardScaler(), ANCHOR).fit(X, WON),
        lambda: make_pipeline(StandardScaler(), ANCHOR).fit(
            Comparisons.from_battles(X), WON
        ),
    ],
    raises=(
        (TypeError, ValueError),
        r"could not convert string to float|LinearBias\(feature_map=transformer\)",
    ),
)
call(
    "A scaler in the feature map of the bias",
    lambda: [
        clone(ANCHOR).set_params(calibrator=JudgeCalibrator(bias)).fit(X, WON).scores_
        for bias in (
            LinearBias(make_pipeline(StandardScaler(), PolynomialFeatures(2))),
            BoostedBias(Ridge(), max_rounds=5),
        )
    ],
    check=finite,
)


for title, (error, message, run) in {
    "A plain `cv=3` on rows sorted by source": (BattlesError, NAMES_SPLITTER,
        [lambda: scores(WON, cv=3), lambda: scores(WON, cv=3, battles=NAMED)]),
    "A learning curve that takes the first rows": (
        BattlesError, f"{NAMES_SPLITTER}.*; learning_curve needs shuffle=True",
        lambda: curve(SPLITS)),
    "Ties as a label in CalibratedClassifierCV": (
        BattlesError, f"no decision function after .* with ties.*{NAMES_TIES}",
        lambda: calibrated(TIES)),
    "Ties that a tool has made a third class": (
        BattlesError, rf"row \d+ has 2\.0\. scikit-learn {NAMES_TIES}",
        [
            lambda: held_out(TIES),
            lambda: held_out(HALVES),
            lambda: held_out(HALVES, "decision_function"),
            lambda: voted(TIES),
            lambda: voted(TIES, "hard"),
        ]),
    "Ties of one half in tools that count classes": (ValueError, "continuous",
        [
            lambda: calibrated(HALVES),
            lambda: voted(HALVES),
            lambda: scores(HALVES, "roc_auc"),
            lambda: scores(HALVES, "neg_brier_score"),
        ]),
    "Ties as a label in scorers of classes": (
        ValueError, "different number of classes: 3 vs 2",
        lambda: scores(TIES, "neg_log_loss")),
    "Ties in a calibration curve": (
        ValueError, "Only binary classification is supported",
        lambda: proportions(TIES)),
    "A bare regressor as a bias learner": (
        (TypeError, ValueError), r"BoostedBias\(regressor\) makes a learner of a",
        [
            lambda: JudgeCalibrator(Ridge()).fit(X, WON),
            lambda: AnchorPipeline(calibrator=JudgeCalibrator(Ridge())).fit(X, WON),
            lambda: AnchorPipeline(
                calibrator=JudgeCalibrator({"judge-1": Ridge(), "judge-2": "linear"})
            ).fit(X, WON),
        ]),
}.items():  # fmt: skip
    call(title, run, raises=(error, message))
