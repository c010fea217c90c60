"""
Choose everything in one search
===============================

The method, its bias learner and the settings of its stages are parameters of one
scikit-learn estimator. So one grid search compares them all. This page runs such a
search on MT-bench: six models, votes of people, verdicts of one judge (gpt-4), and 15
surface features of each response. One model, claude-v1, is treated as if it were new:
its human votes are hidden.

The table is made from the published files, in the folder ``SKANCHOR_DATA_MIRROR``.
Without this variable the page uses the bundled (simulated) table.
"""

# %%
# The battles
# -----------
# ``X`` is the table, ``y`` the outcome. ``hidden`` are the votes on the model that is
# treated as new.
import os

from skanchor import split_battles
from skanchor.datasets import fetch_mt_bench, load_demo

if os.environ.get("SKANCHOR_DATA_MIRROR"):
    battles, new = fetch_mt_bench().frame, "claude-v1"
    counts = ["n_chars", "n_bullets", "n_numbered", "n_digits", "n_question"]
else:
    battles, new = load_demo().frame, "blue-heron"
    unvoted = battles[["model_a", "model_b"]].isin(["ivory-lynx", "jade-finch"])
    battles = battles[~unvoted.any(axis=1)]
    counts = []
voted = battles["judge"] == "human"
involved = (battles[["model_a", "model_b"]] == new).any(axis=1)
hidden = battles[voted & involved]
X, y = split_battles(battles[~(voted & involved)])
print(X.groupby("judge").size().rename("rows").to_frame())

# %%
# A transformer of the features
# -----------------------------
# A pipeline may begin with any transformer from table to table. Here it takes
# logarithms of the counts and drops the other features, because some are so rare that
# they separate the judge's verdicts.
import numpy as np
from sklearn.preprocessing import FunctionTransformer


def log_counts(table, names=()):
    """Keep the logarithms of the named feature pairs; all features without names."""
    if not names:
        return table
    plain = ["prompt_id", "model_a", "model_b", "judge", "rater"]
    pairs = [f"{name}_{side}" for name in names for side in "ab"]
    return table[plain].join(np.log1p(table[pairs]))


features = FunctionTransformer(log_counts, kw_args={"names": tuple(counts)})
print(features.fit_transform(X).head(3).T)

# %%
# A learner of your own
# ---------------------
# A bias learner fits a function psi of one response under two losses: ``"logistic"``,
# together with the parametric columns of the judge (its sensitivity to the score
# difference, its position effect), and ``"squared"``, for the correction weights. In
# this one the liking of a judge saturates: psi is linear in ``tanh(x / scale)``.
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator

from skanchor.bias import ContrastMixin


class SaturatingBias(ContrastMixin, BaseEstimator):
    def __init__(self, scale=1.0, alpha=0.001, loss="logistic"):
        self.scale, self.alpha, self.loss = scale, alpha, loss

    def fit(
        self, X, y, sample_weight=None, *, parametric=None, bounds=None, start=None
    ):
        w = np.ones(len(X)) if sample_weight is None else sample_weight
        w = w / w.sum()
        phi = np.tanh(X.left / self.scale) - np.tanh(X.right / self.scale)
        if self.loss == "squared":
            gram = (phi.T * w) @ phi + self.alpha * np.eye(phi.shape[1])
            self.coef_ = np.linalg.solve(gram, (phi.T * w) @ y)
            return self
        k, columns = parametric.shape[1], np.hstack([parametric, phi])
        ridge = np.repeat([0.0, self.alpha], [k, phi.shape[1]])

        def objective(b):
            eta = columns @ b
            loss = w @ (np.logaddexp(0, eta) - y * eta) + ridge @ b**2 / 2
            return loss, columns.T @ (w * (expit(eta) - y)) + ridge * b

        limits = [*zip(*bounds, strict=True), *[(None, None)] * phi.shape[1]]
        found = minimize(objective, np.zeros(len(ridge)), jac=True, bounds=limits)
        self.parametric_coef_, self.coef_ = found.x[:k], found.x[k:]
        return self

    def psi(self, features):
        return np.tanh(features / self.scale) @ self.coef_


# %%
# One grid
# --------
# One search goes over a list of grids: learners; settings of one learner and of the
# other stages; and whole methods, each with two bias functions and two ridges of the
# human scores. ``JointBTL`` has neither of them. Verdicts on one prompt depend on each
# other, so a prompt stays in one fold. With ``error_score="raise"`` a candidate that
# cannot be fitted ends the search.
import warnings
from importlib.util import find_spec

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from skanchor import AnchorPipeline, SourceKFold
from skanchor.baselines import DirectScore, HistoricalPPI, JointBTL
from skanchor.bias import BoostedBias, LinearBias, NetworkBias
from skanchor.exceptions import DiagnosticWarning

learners = [LinearBias(), SaturatingBias(), BoostedBias(max_rounds=20)]
if find_spec("torch") and find_spec("skorch"):
    learners.append(NetworkBias())
anchor = AnchorPipeline(cv=3, random_state=0)
grids = [
    {"method": [anchor], "method__calibrator__bias": learners},
    {
        "method": [anchor],
        "method__calibrator__bias": [SaturatingBias()],
        "method__calibrator__bias__scale": [0.5, 2.0],
        "method__calibrator__position_effect": [False, True],
        "method__item_effects": ["none", "random"],
    },
    {
        "method": [anchor, DirectScore(), HistoricalPPI()],
        "method__calibrator__bias": [LinearBias(alpha=0.001), LinearBias(alpha=0.1)],
        "method__btl__alpha": [0.0, 0.01],
    },
    {"method": [JointBTL()]},
]
search = GridSearchCV(
    Pipeline([("features", features), ("method", anchor)]),
    grids,
    cv=SourceKFold(3, groups="prompt_id", random_state=0),
    error_score="raise",
)
with warnings.catch_warnings():
    # The last table of this page shows what the diagnostics warn of.
    warnings.simplefilter("ignore", DiagnosticWarning)
    search.fit(X, y, method__groups="prompt_id")

# %%
# The table has the mean log-likelihood of held-out verdicts, in nats per row, best
# first. The best candidates differ by less than their spread over the folds. So the
# search rules out bad candidates, but cannot order the good ones.
import pandas as pd


def in_words(params):
    """Name a candidate by its method and what is set in it."""
    parts = [type(params["method"]).__name__]
    for name, value in params.items():
        if name != "method":
            short = name.removeprefix("method__").removeprefix("calibrator__")
            parts.append(f"{short}={value}")
    return ", ".join(parts).replace("calibrator__", "")


found = pd.DataFrame(search.cv_results_)
found["candidate"] = [in_words(params) for params in found["params"]]
columns = ["rank_test_score", "mean_test_score", "std_test_score", "candidate"]
table = found.sort_values("rank_test_score")[columns]
print(table.to_string(index=False, float_format="{:.4f}".format))

# %%
# The new model by the best candidate
# -----------------------------------
# The line below the leaderboard is the score of the new model by its hidden votes.
from skanchor import BTLRegressor

best = search.best_estimator_
print(best["method"].leaderboard().to_string(float_format="{:.3f}".format))
human = BTLRegressor().fit(*split_battles(battles[voted])).scores_
print(f"{new}, by people: {human[new] - human.drop(new).mean():.3f}")

# %%
# What the search does not measure
# --------------------------------
# Held-out log loss says how well a candidate describes the judge's verdicts. It does
# not measure the error of the new score. ``leave_one_model_out`` does: each model with
# votes is treated in turn as if it were new, here for the best candidate of each
# method, including the transformer. ``compatible`` is the share of models whose score
# and human score agree within their errors. With four models to learn from, a warning
# says that the intervals do not allow for item effects, and they are too short.
from sklearn.base import clone

from skanchor.evaluation import leave_one_model_out
from skanchor.metrics import rmse

method_of = found["param_method"].map(lambda method: type(method).__name__)
rows = {}
for name, candidates in found.groupby(method_of):
    chosen = candidates.loc[candidates["mean_test_score"].idxmax()]
    candidate = clone(best).set_params(**chosen["params"])
    report = leave_one_model_out(candidate, X, y, groups="prompt_id")
    rows[name] = {
        "held-out score": chosen["mean_test_score"],
        "RMSE of scores": rmse(report["true_score"], report["score"]),
        "compatible": report.get("compatible", pd.Series(dtype=float)).mean(),
    }
print(pd.DataFrame(rows).T.to_string(float_format="{:.3f}".format, na_rep=""))
