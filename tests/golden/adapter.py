"""What the golden cases call: the public surface of skanchor, and nothing else.

This is the only file of the golden cases that may change with the package. Cases say
what is fitted to which rows; here it is said how that is written, and which numbers of
an answer are recorded. Each function returns a mapping of names to numbers.
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from skanchor import (
    AnchorHistory,
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
    SourceKFold,
    bias,
)
from skanchor._cli import main
from skanchor.baselines import BASELINES, ConformalRanking
from skanchor.bootstrap import Bootstrapped, bootstrap
from skanchor.evaluation import check_intervals, leave_one_model_out
from skanchor.exceptions import BattlesError, LearnerError, SkanchorWarning
from skanchor.large import fit_history
from skanchor.readouts import look_multiplier
from skanchor.simulation import simulate_battles

ERRORS = (BattlesError, LearnerError, ValueError)
"""Refusals that a case may end in."""


class LearnerOfUsers(BaseEstimator):
    """A learner with the methods of the protocol and nothing else."""

    def __init__(self, loss="logistic"):
        self.loss = loss

    def fit(
        self, X, y, sample_weight=None, *, parametric=None, bounds=None, start=None
    ):
        """Fit a linear learner."""
        self.inner_ = bias.LinearBias(loss=self.loss).fit(
            X, y, sample_weight, parametric=parametric, bounds=bounds
        )
        self.parametric_coef_ = self.inner_.parametric_coef_
        return self

    def contrast(self, X):
        """Bias of rows."""
        return self.inner_.contrast(X)


ESTIMATORS = {
    one.__name__: one
    for one in (
        *(AnchorPipeline, ArrivalScorer, BTLRegressor, JudgeCalibrator, RieszDebiaser),
        *(SourceKFold, bias.AutoBias, bias.BoostedBias, bias.LinearBias),
        *(bias.NetworkBias, *BASELINES.values(), ConformalRanking, LearnerOfUsers),
        *(Bootstrapped, KFold, PolynomialFeatures, SplineTransformer),
    )
}

LEVELS = (0.948, 0.95, 0.952)
"""Levels of rank sets. Between those of the outer two lie all that a p-value within
.002 of its limit may lead to."""


def truth(**settings):
    """A drawn table with its outcomes, and all that it was drawn from."""
    data = simulate_battles(1500, 200, **settings)
    return data.X, np.array(data.y, dtype=float), data.truth


def simulate(n_historical=1500, n_new=200, **settings):
    """A drawn table and its outcomes, as arrays of floats."""
    data = simulate_battles(n_historical, n_new, **settings)
    return data.X.copy(), np.array(data.y, dtype=float)


def make(name, **settings):
    """An estimator by its name; a setting may be a list of a name and its settings."""
    if name == "NetworkBias" and "width" in settings:
        settings["module__width"] = settings.pop("width")
    return ESTIMATORS[name](**{key: _made(value) for key, value in settings.items()})


def _made(value):
    if isinstance(value, list) and value and value[0] in ESTIMATORS:
        return make(value[0], **value[1])
    return value


def pipeline(**settings):
    """The pipeline of most cases: three folds, always the same."""
    return make("AnchorPipeline", **({"cv": 3, "random_state": 0} | settings))


def fit(method, X, y, weight=None, groups="auto"):
    """A fitted method."""
    arguments = {} if groups is None else {"groups": groups}
    return method.fit(X, y, sample_weight=weight, **arguments)


# --------------------------------------------------------------- numbers of a result
def numbers(frame):
    """Numbers of a table, or of a column."""
    if isinstance(frame, pd.DataFrame):
        frame = frame.select_dtypes(["number", "bool"])
    return np.asarray(frame, dtype=float)


def of_board(method, level=0.95):
    """The leaderboard of any fitted method, with errors apart where it has them."""
    if isinstance(method, BTLRegressor):
        return of_votes(method)
    leaderboard = method.leaderboard()
    if "standard_error" not in leaderboard:
        return {"board": numbers(leaderboard)}
    others = leaderboard.drop(
        columns=["score", "standard_error", "rank_low", "rank_high"],
                      errors="ignore")  # fmt: skip
    return {
        "scores": numbers(leaderboard["score"]),
        "errors": numbers(leaderboard["standard_error"]),
        "board": numbers(others),
    }


def of_result(result):
    """What an anchored result says: scores, errors, parts, contrasts, rank sets."""
    actual = of_board(result) | {
        "variance": numbers(result.variance),
        "contrasts": numbers(result.contrasts().drop(columns="p_adjusted")),
    }
    sets = [numbers(result.rank_sets(level)) for level in LEVELS]
    return actual | {"rank_sets": np.stack(sets)}


def of_fit(method):
    """What a fitted pipeline says beside its result."""
    influence = method.influence_
    return of_result(method.result_) | {
        "influence": np.stack([influence.sum(axis=0), (influence**2).sum(axis=0)]),
        "summary": numbers(method.summary()),
    }


def of_ranking(result):
    """Every way to ask for ranks, and the leaderboard on another scale."""
    models = list(result.models)
    actual = {}
    for among in ("historical", "all"):
        for method in ("romano-wolf", "holm"):
            sets = [numbers(result.rank_sets(x, among, method)) for x in LEVELS]
            actual[f"rank_sets {among} {method}"] = np.stack(sets)
    for tau in (1, 2):
        members = set(result.best_set(tau))
        actual[f"rank_sets best {tau}"] = np.array(
            [m in members for m in models], float
        )
        actual[f"probability {tau}"] = numbers(result.prob_best(tau))
    elo = result.leaderboard(level=0.9, scale="elo", anchor={models[0]: 1200.0})
    return actual | {
        "elo": numbers(elo[["score", "standard_error", "low", "high"]]),
        "limits": numbers(result.conf_int(0.8)),
        "contrasts": numbers(result.contrasts(0.8).drop(columns="p_adjusted")),
    }


def of_mix(method, mix):
    """Scores under another mix of contexts."""
    return {f"{k} mixed": v for k, v in of_board(method.result_.under(mix)).items()}


def of_sensitivity(method, family):
    """What unrecorded favours of the judges would change."""
    return {
        "breakdown": numbers(method.breakdown()),
        "breakdown family": numbers(method.breakdown("family", family=family)),
        "favours": numbers(method.sensitivity([0.0, 0.1, 0.4]).table),
        "family": numbers(method.sensitivity([0.1], "family", family=family).table),
        "benchmarks": numbers(method.benchmarks()),
    }


def of_fragility(method, X, y, **settings):
    """How few rows change a statement."""
    table = method.fragility(X, y, **settings).table
    # Of these cases no covariance of item effects could be estimated anew.
    return {"fragility": numbers(table.assign(anew=np.nan, anew_confirmed=False))}


def of_plans(method, costs):
    """Worth of verdicts, outlook and design."""
    outlook, design = method.outlook(), method.design(60.0, costs)
    return {
        "worth": numbers(method.worth().table),
        "outlook": numbers(outlook.table),
        "limits": numbers(outlook.limits),
        "design": numbers(design.table),
    }


def looks():
    """How much wider intervals are that are looked at repeatedly."""
    return {"multipliers": [look_multiplier(ratio, 100) for ratio in (1.5, 4.0, 50.0)]}


# ------------------------------------------------------------------------- evaluation
def left_out(method, X, y, **settings):
    """Historical models in turn as if they were new."""
    return {"left out": numbers(leave_one_model_out(method, X, y, **settings))}


def checked(method, X, y, **settings):
    """Tests of the intervals of models whose scores are known."""
    result = check_intervals(method, X, y, **settings)
    tests = [
        result.p_value,
        result.coverage_p,
        result.largest.p_value,
        result.top.p_value,
    ]
    return {"tests": tests, "table": numbers(result.table)}


def bootstrapped(method, X, y, **settings):
    """Intervals by refits on resamples."""
    result = Bootstrapped(method, 20, random_state=0, **settings).fit(X, y)
    return of_board(result) | {"limits": numbers(result.conf_int(0.9))}


def ranks_bootstrapped(method, X, y):
    """Intervals of ranks, of a method without scores."""
    result = bootstrap(method, X, y, n_resamples=20, random_state=0)
    return {"ranks": numbers(result.rank_intervals(0.9))}


# ---------------------------------------------------------------------------- history
def history(anchor, past):
    """A history fitted to rows, (X, y, weight, groups), stored and read again."""
    return stored(_given(AnchorHistory(anchor).fit, past))


def stored(fitted):
    """The same history after it was saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "history.anchor")
        fitted.save(path)
        return AnchorHistory.load(path)


def placed(fitted, rows, name=""):
    """What a history says of new models; ``name`` precedes the numbers' names."""
    result = of_result(_given(fitted.place, rows))
    return {f"{name} {key}".strip(): value for key, value in result.items()}


def updated(fitted, rows, past=None):
    """The history with further rows, refitted from its counts or from all rows."""
    more = {} if past is None else {"past": past}
    return _given(fitted.update, rows, **more)


def promoted(fitted, model, rows, past=None):
    """The history with a model that was new, which people have voted on now."""
    X, y, *_ = rows
    return fitted.promote(model, X, y, groups=None, past=past)


def _given(call, rows, **more):
    X, y, weight, groups = (*rows, None, None)[:4]
    if weight is not None:
        more["sample_weight"] = weight
    return call(X, y, groups=groups, **more)


def history_of_files(anchor, tables, **settings):
    """A history fitted to a folder of Parquet files, one for each table."""
    with tempfile.TemporaryDirectory() as folder:
        for number, table in enumerate(tables):
            table.to_parquet(Path(folder, f"part-{number}.parquet"))
        return stored(fit_history(folder, anchor, **settings))


# ----------------------------------------------------------------------- command line
SETTINGS = ("--ties", "--item-effects", "--context")
"""Flags of the cases that name parameters of the pipeline."""


def command(name, table, *flags):
    """What a command says as JSON of a table: numbers of models, and warnings."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "battles.csv")
        # In a file, outcomes of 0, one half and 1 are asked about.
        labels = {1.0: "model_a", 0.0: "model_b", 0.5: "tie"}
        won = table["winner"].map(lambda one: labels.get(one, one))
        table.assign(winner=won).to_csv(path, index=False)
        words, others = ["--set", "cv=3"], list(flags)
        for flag in SETTINGS:
            if flag in others:
                at = others.index(flag)
                words.append(f"{flag[2:].replace('-', '_')}={others[at + 1]}")
                del others[at : at + 2]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = main([name, str(path), *others, "--json", *words])
    if code:
        return {"exit": [code]}, []
    document = json.loads(out.getvalue())
    models = [
        [row.get(key) for key in ("score", "standard_error", "low", "high", "rank")]
        for row in document["models"]
    ]
    codes = sorted(one["code"] for one in document["warnings"])
    return {"exit": [code], "models": np.array(models, dtype=float)}, codes


# ------------------------------------------------------------------- stages, warnings
def stages(X, y, weight):
    """The four stages one after the other, the plug-in of a plain Pipeline."""
    result = {}
    for name in ("BTLRegressor", "JudgeCalibrator", "ArrivalScorer", "RieszDebiaser"):
        stage = make(name).fit(X, y, sample_weight=weight)
        X = stage.transform(X)
        result[f"{name} score"] = [stage.score(X, y, sample_weight=weight)]
    return result | {"plug-in": X.scores, "sensitivities": X.sensitivities}


def votes_alone(X, y, **settings):
    """Stage one by itself."""
    return of_votes(make("BTLRegressor", **settings).fit(X, y))


def of_votes(btl):
    """What stage one says."""
    return {
        "scores": numbers(btl.scores_),
        "errors": numbers(btl.standard_errors_),
        "limits": numbers(btl.conf_int(0.9)),
        "covariance": numbers(btl.covariance_),
    }


def finding(warning):
    """Category, code and subject of a warning; None where it is not of skanchor."""
    if not isinstance(warning.message, SkanchorWarning):
        return None
    one = warning.message
    return [type(one).__name__, one.code, sorted(map(str, one.subject))]
