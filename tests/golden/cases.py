"""Answers that are recorded: one of every option, on tables drawn from fixed seeds.

A case is a function without arguments. It returns a mapping of names to numbers; what
it warns of, or the refusal that it ends in, is recorded beside them. How the package is
called is said in ``adapter.py`` alone.
"""

import json
from functools import cache, partial
from pathlib import Path

import numpy as np
from fuzz import tables as fuzz_tables
from golden import adapter

SETTINGS_OF_FUZZ = json.loads(
    Path(__file__).with_name("fuzz_settings.json").read_text(encoding="utf-8")
)
"""Methods that were drawn once with all options, by the seed of their table."""


# ------------------------------------------------------------------------------ rows
@cache
def drawn(n_new_models=1, seed=11):
    """Battles with ties, weights, counts, groups, contexts and display orders."""
    X, y = adapter.simulate(
        n_models=6, n_new_models=n_new_models, item_sd=0.3, random_state=seed
    )
    rng = np.random.default_rng(7)
    X["shown_first"] = rng.choice(["model_a", "model_b"], len(X))
    X["kind"] = rng.choice(["chat", "code"], len(X))
    X["prompt"] = rng.integers(0, len(X) // 2, len(X))
    y[rng.random(len(X)) < 0.15] = 0.5
    weight = rng.exponential(size=len(X))
    return X, y, weight, rng.integers(0, 3, len(X))


def is_new(X):
    """Rows with a new model."""
    names = X["model_a"] + " " + X["model_b"]
    return names.str.contains("new").to_numpy()


def bare(X):
    """The table without features, which any two rows may share."""
    return X[["model_a", "model_b", "judge", "shown_first", "kind", "prompt"]]


def rated(X):
    """The table with raters of the votes, and prompts that group its rows."""
    rng = np.random.default_rng(5)
    rater = rng.integers(0, 60, len(X)).astype(str).astype(object)
    rater[(X["judge"] != "human").to_numpy()] = None
    return X.rename(columns={"prompt": "prompt_id"}).assign(rater=rater)


def small(n_new_models=1):
    """Fewer rows, for what fits many times."""
    X, y, *_ = drawn(n_new_models)
    keep = np.random.default_rng(2).random(len(X)) < np.where(is_new(X), 0.8, 0.5)
    return X[keep].reset_index(drop=True), y[keep]


# -------------------------------------------------------------------------- pipelines
def fitted(n_new_models=1, weighted=False, grouped=False, without=False, **settings):
    """A fitted pipeline; ``without`` leaves features out."""
    X, y, weight, _ = drawn(n_new_models)
    return adapter.fit(
        adapter.pipeline(**settings),
        bare(X) if without else X,
        y,
        weight if weighted else None,
        "prompt" if grouped else None,
    )


def fit(**settings):
    """Numbers of a fitted pipeline."""
    return adapter.of_fit(fitted(**settings))


def change(edit, groups=None, **settings):
    """A pipeline fitted to a table after an edit of its rows and outcomes."""
    X, y, *_ = drawn()
    X, y = edit(X.copy(), y.copy())
    return adapter.of_fit(adapter.fit(adapter.pipeline(**settings), X, y, None, groups))


def with_raters(X, y):
    """An edit: votes have raters."""
    return rated(X), y


def lost_all(X, y):
    """An edit: people never prefer one of the old models."""
    human = (X["judge"] == "human").to_numpy()
    y[human & (X["model_a"] == "model-06").to_numpy()] = 0.0
    y[human & (X["model_b"] == "model-06").to_numpy()] = 1.0
    return X, y


def of_old(X, y):
    """An edit: no row has a new model."""
    old = ~is_new(X)
    return X[old], y[old]


def apart(X, y):
    """An edit: people compare two groups of the old models, but never across."""
    first = {"model-01", "model-02", "model-03"}
    crosses = X["model_a"].isin(first) != X["model_b"].isin(first)
    keep = ~(crosses & (X["judge"] == "human")).to_numpy()
    return X[keep].reset_index(drop=True), y[keep]


def cell(column, value, rows=slice(0, 3)):
    """An edit: a value in some rows of a column."""

    def edit(X, y):
        X.loc[X.index[rows], column] = value
        return X, y

    return edit


def outcome(value):
    """An edit: one outcome is another one."""

    def edit(X, y):
        y[5] = value
        return X, y

    return edit


def lacking(column):
    """An edit: the table lacks a column."""
    return lambda X, y: (X.drop(columns=column), y)


def with_words(X, y):
    """An edit: outcomes are words, one of which means nothing."""
    return X, np.where(y > 0.5, "model_a", "who knows")


def first_side(X, y):
    """An edit: a judge always prefers the response that it sees first."""
    first = (X["shown_first"] == "model_a").to_numpy(float)
    return X, np.where(X["judge"] == "judge-2", first, y)


def turned(X, y):
    """An edit: a judge says the opposite."""
    return X, np.where(X["judge"] == "judge-1", 1.0 - y, y)


def by_a_feature(X, y):
    """An edit: a feature decides all that a judge says."""
    decided = (X["x1_a"] > X["x1_b"]).to_numpy(float)
    return X, np.where(X["judge"] == "judge-1", decided, y)


def copied(X, y):
    """An edit: the first rows occur twice."""
    rows = np.r_[np.arange(len(X)), np.arange(400)]
    return X.iloc[rows].reset_index(drop=True), y[rows]


def against_itself(X, y):
    """An edit: some rows compare a model with itself."""
    X.loc[X.index[:40], "model_b"] = X["model_a"]
    return X, y


def weighed(weight, **settings):
    """A pipeline fitted with weights as they may come."""
    X, y, *_ = drawn()
    return adapter.of_board(
        adapter.fit(adapter.pipeline(**settings), X, y, weight(len(X)))
    )


def bridged():
    """Two groups of models that one pair of votes of hardly any weight connects."""
    X, y, *_ = drawn()
    human = X[(X["judge"] == "human") & ~is_new(X)]
    first = {"model-01", "model-02", "model-03"}
    crosses = (human["model_a"].isin(first) != human["model_b"].isin(first)).to_numpy()
    rows = human.index.to_numpy()
    bridge = [rows[crosses & (y[rows] == won)][0] for won in (0.0, 1.0)]
    keep = np.concatenate([rows[~crosses], bridge])
    weight = np.where(np.isin(keep, bridge), 1e-8, 1.0)
    btl = adapter.make("BTLRegressor").fit(X.loc[keep], y[keep], sample_weight=weight)
    return {"scores": btl.scores_, "errors or infinite": btl.standard_errors_}


def bridged_pipeline(**settings):
    """The same of all rows, where judges compare across the groups, too."""
    X, y, *_ = drawn()
    first = {"model-01", "model-02", "model-03"}
    crosses = X["model_a"].isin(first) != X["model_b"].isin(first)
    across = (crosses & (X["judge"] == "human") & ~is_new(X)).to_numpy()
    weight = np.where(across, 1e-8, 1.0)
    method = adapter.fit(adapter.pipeline(**settings), X, y, weight)
    result = adapter.of_board(method)
    return {"scores": result["scores"], "errors or infinite": result["errors"]}


def plug_in():
    """Scores without a correction."""
    return adapter.of_board(fitted(debiaser="passthrough"))


def counted(method="AnchorPipeline", **settings):
    """A table of counts."""
    X, y, _, times = drawn()
    method = adapter.make(method, **settings)
    return adapter.of_board(adapter.fit(method, bare(X), y, times, None))


def in_contexts(**settings):
    """Scores by the kind of prompt, and under another mix."""
    method = fitted(context="kind", **settings)
    return adapter.of_board(method) | adapter.of_mix(method, {"chat": 0.8, "code": 0.2})


def no_new_models():
    """The historical leaderboard."""
    X, y, *_ = drawn()
    old = ~is_new(X)
    method = adapter.pipeline(new_models=[])
    return adapter.of_board(adapter.fit(method, X[old], y[old], None, None))


def of_people(edit=None):
    """The votes on old models."""
    X, y, *_ = drawn()
    if edit is not None:
        X, y = edit(X.copy(), y.copy())
    rows = ((X["judge"] == "human") & ~is_new(X)).to_numpy()
    return X[rows], y[rows]


def votes_alone(edit=None, **settings):
    """Stage one by itself."""
    return adapter.votes_alone(*of_people(edit), **settings)


def without_judges(edit=None, groups="auto", **settings):
    """A pipeline fitted to votes alone."""
    method = adapter.pipeline(new_models=[], **settings)
    return adapter.of_fit(adapter.fit(method, *of_people(edit), None, groups))


def ranked(n_new_models=1, **settings):
    """Every way to ask for ranks."""
    return adapter.of_ranking(fitted(n_new_models, **settings).result_)


# ----------------------------------------------------------------- other capabilities
def baseline(name, weighted=False, without=False, grouped=False, **settings):
    """A baseline."""
    X, y, weight, _ = drawn()
    if name == "HumanOnly":
        settings = {"new_models": ["model-01"]} | settings
    method = adapter.make(name, **settings)
    rows = bare(X) if without else X
    weight, groups = weight if weighted else None, "prompt" if grouped else "auto"
    return adapter.of_board(adapter.fit(method, rows, y, weight, groups))


def oracle():
    """The baseline that knows the scores, sensitivities and biases of the draw."""
    X, y, truth = adapter.truth(n_models=6, random_state=3)
    return adapter.of_board(adapter.fit(adapter.make("Oracle", truth=truth), X, y))


def ranks_bootstrapped(name):
    """Ranks by refits."""
    return adapter.ranks_bootstrapped(adapter.make(name), *small())


def bootstrapped(name, **settings):
    """Intervals by refits."""
    X, y = small()
    return adapter.bootstrapped(adapter.make(name), X, y, **settings)


def favours(n_new_models=2, **settings):
    """What unrecorded favours would change."""
    return adapter.of_sensitivity(
        fitted(n_new_models, **settings), ["new-model-1", "model-01"]
    )


def fragile(**settings):
    """How few rows change a statement."""
    X, y = small()
    method = adapter.fit(adapter.pipeline(item_effects=None), X, y, None, None)
    return adapter.of_fragility(method, X, y, **settings)


def plans(**settings):
    """What rows are worth, how many a width takes, and which to buy."""
    costs = {"human": 1.0, "judge-1": 0.1, "judge-2": 0.2, "judge-3": 0.1}
    return adapter.of_plans(fitted(**settings), costs)


def left_out(name="AnchorPipeline", **settings):
    """Historical models in turn as if they were new."""
    X, y, *_ = drawn()
    method = adapter.make(name)
    if name == "AnchorPipeline":
        method = adapter.pipeline()
    return adapter.left_out(method, X, y, **settings)


def checked(**settings):
    """Tests of the intervals of the historical models."""
    X, y, *_ = drawn()
    return adapter.checked(adapter.pipeline(**settings), X, y)


def command(*flags, edit=None):
    """What the command that ranks says in numbers and codes of warnings."""
    X, y = small()
    if edit is not None:
        X, y = edit(X, y)
    result, codes = adapter.command("rank", X.assign(winner=y), *flags)
    return result | {f"code {code}": [codes.count(code)] for code in sorted({*codes})}


# ------------------------------------------------------------------------ histories
def parts(weighted=False, grouped=False, without=False, n_new_models=1):
    """Rows of the history, and rows of new models."""
    X, y, weight, _ = drawn(n_new_models)
    X, new = bare(X) if without else X, is_new(X)
    groups = "prompt" if grouped else None
    return [
        (X[rows], y[rows], weight[rows] if weighted else None, groups)
        for rows in (~new, new)
    ]


def stored(weighted=False, grouped=False, without=False, n_new_models=1, **settings):
    """A history that is stored and read, and places new models."""
    past, new = parts(weighted, grouped, without, n_new_models)
    return adapter.placed(adapter.history(adapter.pipeline(**settings), past), new)


def updated(grouped=False, without=True, again=False, **settings):
    """A history with further rows, from its counts or from all rows."""
    past, new = parts(False, grouped, without)
    first = np.arange(len(past[1])) % 5 > 0
    old, more = ((past[0][k], past[1][k], None, past[3]) for k in (first, ~first))
    result = adapter.history(adapter.pipeline(**settings), old)
    result = adapter.updated(result, more, past=old if again else None)
    return adapter.placed(adapter.stored(result), new, "updated")


def promoted(again=False, **settings):
    """A history in which a new model has got votes and become an old one."""
    past, new = parts(False, False, True, 2)
    names = new[0]["model_a"] + " " + new[0]["model_b"]
    first = names.str.contains("new-model-1").to_numpy()
    first = first & ~names.str.contains("new-model-2").to_numpy()
    voted = new[0][first].copy()
    voted.loc[voted.index[:40], "judge"] = "human"
    result = adapter.history(adapter.pipeline(**settings), past)
    rows = (voted, new[1][first])
    result = adapter.promoted(result, "new-model-1", rows, past if again else None)
    second = (new[0][~first], new[1][~first], None, new[3])
    return adapter.placed(adapter.stored(result), second, "promoted")


def of_files(without=False, grouped=False, **settings):
    """A history of a folder of Parquet files, and new models beside it."""
    (X, y, *_), (new_X, new_y, *_) = parts(without=without)
    if grouped:
        X, new_X = (one.rename(columns={"prompt": "prompt_id"}) for one in (X, new_X))
    table, cut = X.assign(winner=y), len(X) // 3
    pieces = [table[:cut], table[cut : 2 * cut], table[2 * cut :]]
    result = adapter.history_of_files(adapter.pipeline(**settings), pieces)
    new = (new_X, new_y, None, "prompt_id" if grouped else None)
    return adapter.placed(result, new)


def fuzzed(seed):
    """A random table and method."""
    table = fuzz_tables.draw(np.random.default_rng([1, int(seed)]))
    name, settings = SETTINGS_OF_FUZZ[seed]
    method = adapter.make(name, **settings)
    seeds = [p for p in method.get_params(deep=True) if p.endswith("random_state")]
    method.set_params(**dict.fromkeys(seeds, 0))
    arguments = {"sample_weight": table.weight, "groups": table.groups}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    return adapter.of_board(method.fit(table.X, table.y, **arguments))


two_step = {"historical_fit": "two-step", "item_effects": None}
splines = ["LinearBias", {"feature_map": ["SplineTransformer", {"n_knots": 4}],
                          "alpha": 0.01}]  # fmt: skip


def calibrator(bias="linear", **settings):
    """Setting of a calibrator."""
    return ["JudgeCalibrator", {"bias": bias} | settings]


boosted = {
    "calibrator": calibrator(["BoostedBias", {"max_rounds": 5, "random_state": 0}]),
    "debiaser": ["RieszDebiaser", {"learner": "linear"}],
}

fisher = ["BTLRegressor", {"covariance": "fisher"}]
rows_of_folds = ["KFold", {"n_splits": 4, "shuffle": True, "random_state": 0}]

PIPELINES = {
    "plain": {},
    "bare": {"without": True},
    "no item effects": {"item_effects": None},
    "random": {"item_effects": "random"},
    "item prior": {"item_effects": "random", "item_prior": (0.1, 5.0)},
    "two-step": two_step,
    "two-step, random": {"historical_fit": "two-step", "item_effects": "random"},
    "two-step, groups": {**two_step, "grouped": True},
    "weights": {"weighted": True},
    "groups": {"grouped": True},
    "weights and groups": {"weighted": True, "grouped": True},
    "bare groups": {"without": True, "grouped": True, "item_effects": "random"},
    "ties dropped": {"ties": "drop"},
    "ties dropped, groups": {"ties": "drop", "grouped": True},
    "repeats": {"n_repeats": 2},
    "repeats, groups": {"n_repeats": 2, "grouped": True, "item_effects": None},
    "three new models": {"n_new_models": 3},
    "three new models, no item effects": {"n_new_models": 3, "item_effects": None},
    "a warm arrival": {"new_models": ["new-model", "model-01"]},
    "folds of rows": {"cv": rows_of_folds},
    "no position effect": {"calibrator": calibrator(position_effect=False)},
    "ridge": {"calibrator": calibrator(["LinearBias", {"alpha": 0.1}])},
    "splines": {"calibrator": calibrator(splines)},
    "boosted": boosted,
    "a learner of users": {
        **two_step,
        "calibrator": calibrator(["LearnerOfUsers", {}]),
    },
    "weights of the calibrator": {
        "debiaser": ["RieszDebiaser", {"learner": "calibrator"}]
    },
    "folds of sources": {"cv": ["SourceKFold", {"n_splits": 4}]},
    "automatic": {"calibrator": calibrator(["AutoBias", {"candidates": ["linear"]}])},
    "bias of people": {"human_bias": "linear"},
    "bias of people, bare weights": {"human_bias": "linear", "weighted": True},
    "disagreement ignored": {"disagreement": "ignore"},
    "ridge on scores": {"btl": ["BTLRegressor", {"alpha": 0.01}]},
    "Fisher information": {
        **two_step,
        "btl": ["BTLRegressor", {"covariance": "fisher"}],
    },
    "unweighted equation": {"arrival": ["ArrivalScorer", {"equation": "unweighted"}]},
    "narrow bounds": {"calibrator": calibrator(sensitivity_bounds=(0.5, 0.9))},
    "an unknown new model": {"new_models": ["nobody"]},
}

CASES = {name: partial(fit, **settings) for name, settings in PIPELINES.items()}
CASES |= {
    "raters": partial(change, with_raters, "auto"),
    "raters, two-step": partial(change, with_raters, "auto", **two_step),
    "a model that lost all votes": partial(change, lost_all),
    "a model that lost all votes, two-step": partial(change, lost_all, **two_step),
    "votes in two groups": partial(change, apart),
    "votes in two groups, two-step": partial(change, apart, **two_step),
    "bridged": bridged,
    "bridged, pipeline": bridged_pipeline,
    "bridged, pipeline, two-step": partial(bridged_pipeline, **two_step),
    "without a debiaser": plug_in,
    "counts": partial(counted, cv=3, random_state=0, weights="frequency"),
    "counts, ties dropped": partial(
        counted, cv=3, random_state=0, weights="frequency", ties="drop"
    ),
    "contexts": in_contexts,
    "contexts, no item effects": partial(in_contexts, item_effects=None),
    "contexts, mixed": partial(in_contexts, context_mix={"chat": 0.3, "code": 0.7}),
    "no new models": no_new_models,
    "votes alone": votes_alone,
    "votes alone, ridge": partial(votes_alone, alpha=0.01),
    "votes alone, by raters": partial(votes_alone, with_raters),
    "votes alone, lost all": partial(votes_alone, lost_all),
    "votes alone, in two groups": partial(votes_alone, apart),
    "without judges": without_judges,
    "without judges, by raters": partial(without_judges, with_raters),
    "without judges, bias of people": partial(without_judges, human_bias="linear"),
    "without judges, lost all": partial(without_judges, lost_all),
    "without judges, in contexts": partial(without_judges, context="kind"),
    "votes alone, in two groups, warned": partial(
        votes_alone, apart, disconnected="warn"
    ),
    "ranks": ranked,
    "ranks, three new models": partial(ranked, 3, item_effects=None),
    "ranks, repeats": partial(ranked, n_repeats=2),
    "stages": lambda: adapter.stages(*drawn()[:3]),
    "favours": partial(favours, item_effects="random"),
    "favours, two-step": partial(favours, **two_step),
    "fragility": fragile,
    "fragility of votes": partial(fragile, opponent="model-03", rows="human"),
    "fragility of an interval": partial(
        fragile, opponent="model-02", goal="interval", rows="arrival"
    ),
    "looks": adapter.looks,
    "plans": plans,
    "plans, random, bare": partial(plans, item_effects="random", without=True),
    "left out": left_out,
    "left out, DirectScore": partial(left_out, "DirectScore"),
    "left out, groups": partial(left_out, groups="prompt"),
    "checked intervals": checked,
    "checked intervals, no item effects": partial(checked, item_effects=None),
    "command": command,
    "command, votes of a model hidden": partial(
        command, "--hide-votes-of", "model-03", "--level", "0.9"
    ),
    "command, on the scale of Elo": partial(
        command, "--scale", "elo", "--anchor", "model-01=1000"
    ),
    "command, groups": partial(command, "--groups", "prompt", "--ties", "drop"),
    "command, contexts": partial(
        command, "--context", "kind", "--item-effects", "none"
    ),
    "command, no new models": partial(command, "--no-new", edit=of_old),
    "command, a model that lost all votes": partial(command, edit=lost_all),
    "Oracle": oracle,
}
CASES |= {
    f"refused, {name}": partial(change, edit)
    for name, edit in {
        "no new model": of_old,
        "no people": cell("judge", "judge-3", slice(None)),
        "a word without meaning": with_words,
        "an outcome of two": outcome(2.0),
        "a missing outcome": outcome(np.nan),
        "half a feature": lacking("x2_b"),
        "no second model": lacking("model_b"),
        "a missing feature": cell("x2_a", np.nan),
        "an infinite feature": cell("x2_a", np.inf),
        "a missing model": cell("model_a", None),
    }.items()
}
CASES |= {
    "refused, a negative weight": partial(weighed, lambda n: np.arange(n) - 1.0),
    "refused, a count of a half": partial(
        weighed, lambda n: np.full(n, 0.5), weights="frequency"
    ),
    "refused, a new model without a name": partial(fit, new_models=["model-01"]),
    "refused, no such context": partial(fit, context="no such column"),
    "refused, a mix of no context": partial(
        fit, context="kind", context_mix={"chat": 0.5, "poems": 0.5}
    ),
    "refused, too many folds": partial(fit, cv=5000),
    "warned, weights like counts": partial(weighed, lambda n: np.arange(n) % 4 + 1.0),
    "warned, a judge of the first side": partial(change, first_side),
    "warned, a judge turned round": partial(change, turned, **two_step),
    "warned, a judge of new models alone": partial(
        change, cell("judge", "judge-9", slice(-40, None))
    ),
    "warned, a feature decides": partial(change, by_a_feature),
    "warned, a feature far away": partial(change, cell("x1_a", 50.0, slice(-60, None))),
    "warned, a constant feature": partial(
        change, cell(["x1_a", "x1_b"], 1.0, slice(None))
    ),
    "warned, copies": partial(change, copied),
    "warned, against itself": partial(change, against_itself),
}
CASES |= {
    f"kept{name}": partial(stored, **settings)
    for name, settings in {
        "": {},
        ", bare": {"without": True},
        ", groups": {"grouped": True},
        ", weights and groups": {"weighted": True, "grouped": True},
        ", random": {"item_effects": "random"},
        ", two-step": two_step,
        ", repeats": {"n_repeats": 2, "item_effects": None},
        ", splines": {"calibrator": calibrator(splines)},
        ", boosted": {"calibrator": calibrator(["BoostedBias", {}])},
        ", three new models": {"n_new_models": 3, "without": True},
        ", ties dropped": {"ties": "drop", "without": True},
        ", bare groups": {"without": True, "grouped": True},
        ", style": {"human_bias": "linear"},
        ", contexts": {"context": "kind"},
    }.items()
}
CASES |= {
    "updated": updated,
    "updated, random": partial(updated, item_effects="random"),
    "updated from all rows": partial(updated, without=False, again=True),
    "updated from all rows, groups": partial(updated, grouped=True, again=True),
    "updated without counts": partial(updated, without=False),
    "promoted": promoted,
    "promoted from all rows": partial(promoted, again=True, item_effects=None),
    "files": of_files,
    "files, bare": partial(of_files, without=True),
    "files, no item effects": partial(of_files, item_effects=None),
    "files, two-step": partial(of_files, **two_step),
    "files, groups": partial(of_files, without=True, grouped=True),
    "files, features and groups": partial(of_files, grouped=True),
    "files, ties dropped": partial(of_files, without=True, ties="drop"),
    "files, repeats": partial(of_files, n_repeats=2, item_effects=None),
    "files, boosted": partial(of_files, calibrator=calibrator("boosted")),
    "files, random": partial(of_files, without=True, item_effects="random"),
}
BASELINES = (
    "DirectScore", "HistoricalPPI", "HistoricalPPR", "HumanOnly", "IPWOnly", "JointBTL",
    "JointMLE", "JudgeArenaElo", "JudgeAwareBTL", "LogisticJudge", "MeanShift",
    "PerJudgeBTL", "PooledLLM", "ScalarJudge", "SoftElo", "ConformalRanking",
)  # fmt: skip
CASES |= {name: partial(baseline, name) for name in BASELINES}
CASES |= {
    f"{name}, weights": partial(baseline, name, weighted=True)
    for name in ("DirectScore", "HistoricalPPI", "IPWOnly", "JointMLE", "MeanShift")
}
CASES |= {
    f"{name}, groups": partial(baseline, name, grouped=True)
    for name in ("HistoricalPPI", "IPWOnly", "JointMLE", "JudgeAwareBTL")
}
CASES |= {
    f"{name}, counts": partial(counted, name)
    for name in ("JointBTL", "ScalarJudge", "PerJudgeBTL")
}
CASES |= {
    "PerJudgeBTL, average": partial(baseline, "PerJudgeBTL", plug_in_average=True),
    "IPWOnly, clipped": partial(baseline, "IPWOnly", clip=1.5),
    "bootstrap": partial(bootstrapped, "JointBTL"),
    "bootstrap, percentile": partial(bootstrapped, "DirectScore", kind="percentile"),
    "bootstrap, ranks alone": partial(ranks_bootstrapped, "HistoricalPPR"),
}
CASES |= {f"fuzz {seed}": partial(fuzzed, seed) for seed in SETTINGS_OF_FUZZ}

NEEDS_TORCH = {
    "network": partial(
        fit,
        calibrator=calibrator(
            ["NetworkBias", {"width": 4, "max_epochs": 3, "random_state": 0}]
        ),
        item_effects=None,
    )
}
"""Cases that are left out where torch is not installed."""
