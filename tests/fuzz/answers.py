"""What every result must be: figures that can be, whatever rows and names are."""

import copy
import json

import numpy as np
import pandas as pd
from fuzz.verdict import WrongAnswerError
from sklearn.base import clone

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.bias import LinearBias
from skanchor.bootstrap import Bootstrapped
from skanchor.exceptions import SeparationWarning
from skanchor.reports import to_dict
from skanchor.reports.facts import Facts
from skanchor.reports.readout import ranking

CLOSE = 2e-5


def check(method, case):
    """Look at all that a fitted method tells."""
    if isinstance(method, BTLRegressor):
        leaderboard = pd.DataFrame(
            {"score": method.scores_, "standard_error": method.standard_errors_}
        ).join(method.conf_int())
    else:
        leaderboard = method.leaderboard()
    if getattr(method, "debiaser", None) == "passthrough":
        leaderboard = leaderboard[["score"]]
    check_board(leaderboard, isinstance(method, Bootstrapped))
    if "rank_low" in leaderboard:
        check_intervals(method)
    X, y = known_rows(method, case)
    probability = method.predict_proba(X)
    if not (np.isfinite(probability).all() and (probability >= 0).all()
            and np.allclose(probability.sum(axis=1), 1)):  # fmt: skip
        raise WrongAnswerError("probabilities", probability[:3])
    value = method.score(X, y)
    if not np.isfinite(value):
        raise WrongAnswerError("score of rows", value)
    if isinstance(method, AnchorPipeline):
        method.summary()
        str(method.result_.diagnostics)
        json.dumps(to_dict(method), allow_nan=False)
        ranking(Facts(method)).to_text()


def known_rows(method, case):
    """All rows but those of judges that were left out, which predict refuses."""
    judges = getattr(method, "judges_", None)
    if judges is None or not isinstance(case.X, pd.DataFrame) or "judge" not in case.X:
        return case.X, case.y
    rows = case.X["judge"].isin(["human", *judges]).to_numpy()
    return (case.X[rows], np.asarray(case.y)[rows]) if rows.any() else (case.X, case.y)


def check_board(leaderboard, bootstrapped=False):
    if "win_rate" in leaderboard:
        rate = leaderboard["win_rate"]
        # That of HistoricalPPR is a difference.
        if not ((rate >= -1) & (rate <= 2)).all():
            raise WrongAnswerError("win rates", leaderboard.to_string())
        return
    score = leaderboard["score"]
    if not np.isfinite(score).all() or (score.abs() > 1e4).any():
        raise WrongAnswerError("scores", leaderboard.to_string())
    if "standard_error" not in leaderboard:
        return
    error = leaderboard["standard_error"]
    if error.isna().any() or (error < 0).any():
        raise WrongAnswerError("errors", leaderboard.to_string())
    if (error < 1e-15).any():
        raise WrongAnswerError("error of zero", leaderboard.to_string())
    low, high = leaderboard["low"], leaderboard["high"]
    if bootstrapped:  # a handful of resamples
        low, high = np.minimum(low, score), np.maximum(high, score)
    if (low > score).any() or (high < score).any() or low.isna().any():
        raise WrongAnswerError("interval", leaderboard.to_string())
    if "rank_low" in leaderboard:
        rank = leaderboard["rank"]
        inside = (leaderboard["rank_low"] <= rank) & (rank <= leaderboard["rank_high"])
        if not (inside & (leaderboard["rank_low"] >= 1)).all():
            raise WrongAnswerError("rank set", leaderboard.to_string())


def check_intervals(method):
    sets = method.rank_sets()
    if not ((sets["low"] <= sets["rank"]) & (sets["rank"] <= sets["high"])).all():
        raise WrongAnswerError("rank set", sets.to_string())
    contrasts = method.contrasts()
    numbers = contrasts.select_dtypes("number")
    if numbers.isna().any(axis=None):
        raise WrongAnswerError("contrasts", contrasts.to_string())
    models = len(method.leaderboard())
    if models > 1:
        best = method.best_set()
        if not len(best):
            raise WrongAnswerError("best set", best)
        chance = method.prob_best().dropna()
        if len(chance) and not np.isclose(chance.sum(), 1):
            raise WrongAnswerError("probability of being best", chance.to_string())


# ------------------------------------------------------------------------------ laws
def is_lawful(method, case):
    """Whether rows and names can be changed without changing any number."""
    if not case.lawful or not isinstance(case.X, pd.DataFrame):
        return False
    if not (isinstance(case.y, np.ndarray) and case.y.ndim == 1):
        return False
    if isinstance(method, Bootstrapped):
        return False  # resamples are drawn by the place of a row
    parts = method.get_params(deep=True)
    for name, value in parts.items():
        if name.endswith(("bias", "learner")) and not (
            value in (None, "linear", "calibrator") or isinstance(value, LinearBias)
        ):
            return False
        if name.endswith("random_state") and value is None:
            return False
        # What has not converged depends on the way.
        if name.endswith(("max_iter", "tol")) and value in (1, 3, 0.0, 1e-4):
            return False
    return True


def plan_of(case, rng):
    """Folds of rows that stay together by group or, without groups, are random."""
    n = len(case.X)
    groups = case.groups
    if isinstance(groups, str):
        groups = case.X[groups].to_numpy()
    if groups is None:
        return rng.permutation(n) % 3
    _, code = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    return (rng.permutation(code.max(initial=0) + 1) % 3)[code]


def with_plan(method, fold):
    if isinstance(method, AnchorPipeline):
        plan = [
            (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)
        ]
        return clone(method).set_params(
            cv=plan, n_repeats=1, item_effects=_no_auto(method)
        )
    return clone(method)


def _no_auto(method):
    """No choice by a test, which rounding could tip."""
    return None if method.item_effects == "auto" else method.item_effects


def changed(case, method, fold, rng):
    """Permute rows and give models other names."""
    other = copy.copy(case)
    order = rng.permutation(len(case.X))
    X = case.X.iloc[order]
    models = sorted(set(case.X["model_a"]) | set(case.X["model_b"]))
    names = dict(
        zip(models, (f"m{k:02d}" for k in rng.permutation(len(models))), strict=True)
    )
    X = X.assign(model_a=X["model_a"].map(names), model_b=X["model_b"].map(names))
    other.X = X.reset_index(drop=True)
    other.y = case.y[order]
    if case.weight is not None:
        other.weight = np.asarray(case.weight)[order]
    if case.groups is not None and not isinstance(case.groups, str):
        other.groups = np.asarray(case.groups)[order]
    new = clone(method)
    params = new.get_params(deep=False)
    if params.get("new_models"):
        new.set_params(new_models=[names.get(m, m) for m in params["new_models"]])
    return other, new, fold[order], names


def board_of(method):
    return method.scores_.to_frame("score").assign(
        standard_error=method.standard_errors_
    ) if isinstance(method, BTLRegressor) else method.leaderboard()  # fmt: skip


def compare(one, other, names):
    """Compare what is said to be known: where errors are infinite, little is."""
    a, b = board_of(one), board_of(other)
    b = b.rename(index={new: old for old, new in names.items()})
    if set(a.index) != set(b.index):
        raise WrongAnswerError("law: models", list(a.index), list(b.index))
    b = b.loc[a.index]
    # Without errors nothing says which scores are known: all are, unless votes are
    # separated, where the place of the parts to each other is no estimate.
    apart = any(isinstance(w, SeparationWarning) for w in one.warnings_)
    reference = np.full(len(a), "win_rate" in a and not apart)
    if "standard_error" in a:
        reference = np.isfinite(a["standard_error"]).to_numpy()
        if (reference != np.isfinite(b["standard_error"]).to_numpy()).any():
            raise WrongAnswerError("law: what is known", a.to_string(), b.to_string())
    # A score is known to its error.
    room = (
        a["standard_error"].to_numpy(float)[reference] if "standard_error" in a else 1.0
    )
    for column in ("score", "standard_error", "win_rate"):
        if column in a:
            x, y = (t[column].to_numpy(float)[reference] for t in (a, b))
            if not np.allclose(x, y, rtol=CLOSE, atol=CLOSE * np.maximum(room, 1.0)):
                raise WrongAnswerError(f"law: {column}", a.to_string(), b.to_string())
