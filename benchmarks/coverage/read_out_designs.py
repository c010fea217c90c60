"""Read-outs and procedures beside the interval of one fit.

Rank sets, repeated looks, the worth of verdicts, the check of intervals, and the
variance beside its known value.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cases import NEW, PAPER, SIDES, Case, Design
from scipy.special import expit
from sklearn.base import clone

from skanchor.evaluation import check_intervals
from skanchor.readouts import look_multiplier

ITEMS = {"n_historical": 4000, "rho": 0.0, "item_sd": 0.3, "item_corr": 0.6}


# --------------------------------------------------------------------------- rank sets
def sets_of_ranks(anchor: Any, case: Case) -> dict[str, float]:
    """Coverage of all rank sets together and their mean length; of the best models."""
    scores, new, measures = case.scores, list(case.new_scores.index), {}
    for among in ("historical", "board"):
        for method in ("holm", "romano-wolf"):
            sets = anchor.rank_sets(among=among, method=method)
            itself = among == "board"
            opponents = scores if itself else scores.drop(new)
            # Several ranks are true where scores are equal.
            best = np.array([1 + (opponents > scores[row]).sum() for row in sets.index])
            last = np.array([(opponents >= scores[row]).sum() for row in sets.index])
            covers = (sets["low"] <= best) & (sets["high"] >= last + 1 - itself)
            measures[f"{among}, {method}"] = covers.all()
            length = (sets["high"] - sets["low"] + 1).mean()
            measures[f"{among}, {method}, length"] = length
    order = scores.sort_values(ascending=False).index
    for tau in (1, 3):
        best_models = anchor.best_set(tau)
        measures[f"{tau} best"] = set(order[:tau]) <= set(best_models)
        measures[f"{tau} best, size"] = len(best_models)
    return measures


# ------------------------------------------------------------------------------- looks
LOOKS = (100, 220, 460, 1000)


def first_look(seed: int, items: bool) -> Case:
    """Draw 1,000 rows of the new model, and leave the first look's."""
    changes = ITEMS if items else {}
    case = Case.drawn(seed, not items, n_new=LOOKS[-1], **changes)
    later = np.flatnonzero(case.side != 0)[LOOKS[0] :]
    return case.only(np.delete(np.arange(len(case.X)), later))


def look_again(anchor: Any, case: Case) -> dict[str, float]:
    """Whether the interval of a look misses, by multiplier of the error."""
    X, y = case.data.X[case.X.columns], np.asarray(case.data.y)
    new = np.flatnonzero((X[SIDES] == NEW).any(axis=1))
    looks = [anchor]
    for number in LOOKS[1:]:
        rows = np.delete(np.arange(len(X)), new[number:])
        looks.append(clone(anchor).fit(X.iloc[rows], y[rows]))
    errors = np.array([float(one.standard_errors_[NEW]) for one in looks])
    limits = [one.outlook().limits.loc[NEW] for one in looks]
    off = np.array([abs(float(one.scores_[NEW]) - case.truth) for one in looks])
    planned = max((errors[0] / errors[-1]) ** 2, 1.0)
    end = (limits[0]["now"] / limits[0]["verdicts"]) ** 2
    end = max(round(min(float(end), 1e6), 1), 1.0)
    multipliers = {
        "1.96": 1.96,
        f"planned end, {len(LOOKS)} looks": look_multiplier(planned, len(LOOKS)),
        "limit of verdicts, 30 looks": look_multiplier(end, 30),
    }
    reach = np.array([one["now"] for one in limits]) / 1.96
    return {
        f"a look misses, {name}": (off > reach * multiplier).any()
        for name, multiplier in multipliers.items()
    } | {"ratio of variances": planned}


# ------------------------------------------------------------------------------- worth
def worth(anchor: Any, case: Case) -> dict[str, float]:
    """Votes that all verdicts on the new model replace, and what one more is worth."""
    row = anchor.worth().table.loc[(case.model, "all judges")]
    limits = anchor.outlook().limits.loc[case.model]
    return {
        "votes replaced": row["replaces"],
        "a verdict in votes": row["replaces"] / row["verdicts"],
        "next verdict": row["next_verdict"],
        "half width now": limits["now"],
        "half width at the limit of verdicts": limits["verdicts"],
    }


# -------------------------------------------------------------- the check of intervals
CHECKED: dict[str, dict[str, Any]] = {
    "plain": {"n_historical": 4000},
    "item effects": {"n_historical": 4000, "item_sd": 0.3, "item_corr": 0.6},
    "twenty models": {
        "n_historical": 8000, "n_models": 20, "item_sd": 0.2, "item_corr": 0.5,
    },
    "few votes": {
        "n_historical": 4000, "n_human": 400, "item_sd": 0.2, "item_corr": 0.3,
    },
    "six models": {
        "n_historical": 4000, "n_human": 400, "n_models": 6, "item_sd": 0.2,
        "item_corr": 0.3,
    },
}  # fmt: skip


def history(seed: int, **settings: Any) -> Case:
    """Draw historical rows alone."""
    case = Case.drawn(seed, n_new=10, rho=0.0, **settings)
    case.only(case.side == 0)
    case.truth, case.settings = None, {"new_models": []}
    return case


def size_of_check(anchor: Any, case: Case) -> dict[str, float]:
    """How often each test of the check rejects at .05, though intervals hold."""
    check = check_intervals(anchor, case.X, case.y)
    p_values = {
        "largest miss": check.largest.p_value,
        "best model": check.top.p_value,
        "direction": check.direction.p_value,
        "number": check.coverage_p,
        "together": check.p_value,
    }
    return {f"{name} p < .05": p < 0.05 for name, p in p_values.items()}


# ------------------------------------------------------------------ the known variance
def known_variance(anchor: Any, case: Case) -> dict[str, float]:
    """Squared error and reported variance, over the variance that is known.

    With the true parameters the error of an efficient estimate is, to first order, a
    sum of known weights times the residuals of the rows, so that its variance is known.
    Squared errors are compared draw by draw with those of the first-order error.
    """
    X, truth, scores = case.X, case.data.truth, case.scores
    n_old = len(truth.scores)
    # Old scores in a basis of sum zero, the new one as it is.
    basis = np.zeros((n_old + 1, n_old))
    basis[:-1, :-1] = np.linalg.qr(np.eye(n_old) - 1.0 / n_old)[0][:, :-1]
    basis[-1, -1] = 1.0
    left, right = (scores.index.get_indexer(X[side]) for side in SIDES)
    features = sum(
        sign * X[[f"x{k}_{side}" for k in (1, 2, 3)]].to_numpy(float)
        for side, sign in (("a", 1.0), ("b", -1.0))
    )
    columns = [case.slope[:, None] * (basis[left] - basis[right])]
    for judge in truth.judges:
        its = (X["judge"] == judge).to_numpy()[:, None]
        columns += [its * case.gaps()[:, None], its * features]
    design, p = np.hstack(columns), expit(case.logits)
    information = design.T @ (design * (p * (1.0 - p))[:, None])
    weights = np.linalg.solve(information, np.eye(design.shape[1])[n_old - 1])
    error, variance = weights @ (design.T @ (case.y - p)), weights[n_old - 1]
    squared = float(anchor.scores_[NEW] - case.truth) ** 2
    return {
        "first-order error squared": error**2 / variance,
        "squared error": (squared - error**2 + variance) / variance,
        "reported variance": anchor.standard_errors_[NEW] ** 2 / variance,
    }


def with_verdicts(seed: int, n_judge: int) -> Case:
    """Draw 1,000 votes and so many verdicts, 70 % of them historical."""
    n_old = round(0.7 * n_judge)
    return Case.drawn(
        seed, True, n_historical=1000 + n_old, n_new=n_judge - n_old, n_human=1000
    )


BOTH = {"features": {}, "item effects": ITEMS}
SPREAD = np.linspace(-1.0, 1.0, 5).tolist()
DESIGNS: dict[str, dict[str, Design]] = {
    "rank sets": {
        name: Design(
            "one table",
            partial(Case.drawn, features=True, **settings),
            {},
            sets_of_ranks,
        )
        for name, settings in {
            "one new model": {},
            "five new models": {"n_new_models": 5, "new_score": SPREAD},
            "equal scores": {"scores": [0.0] * 10, "new_score": 0.0},
            "gaps of .1": {"scores": [k / 10 for k in range(10)]},
        }.items()
    },
    "looks": {
        name: Design(
            f"{LOOKS} rows of the new model",
            partial(first_look, items=bool(settings)),
            {"cv": 5},
            look_again,
        )
        for name, settings in BOTH.items()
    },
    "worth": {
        name: Design(
            "the worth of verdicts",
            partial(Case.drawn, features=not settings, **settings),
            {},
            worth,
        )
        for name, settings in BOTH.items()
    },
    "check": {
        name: Design(
            "intervals hold", partial(history, **settings), {"cv": 4}, size_of_check
        )
        for name, settings in CHECKED.items()
    },
    "variance": {
        f"{n} verdicts, {name}": Design(
            "1,000 votes", partial(with_verdicts, n_judge=n), settings, known_variance
        )
        for n in (1000, 4000, 16000)
        for name, settings in {
            "paper": PAPER,
            "joint": {**PAPER, "historical_fit": "joint"},
        }.items()
    },
}
