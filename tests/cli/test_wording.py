"""Advice on the command line is in its own words, never in those of Python."""

import re

import numpy as np
import pytest

from skanchor import BTLRegressor, _admission
from skanchor._cli import wording
from skanchor._cli.wording import ADVICE, TERMS, worded
from skanchor._judges import JudgeWarnings
from skanchor.exceptions import Advice, BattlesError, Remedy, Term
from skanchor.simulation import simulate_battles

# What Python calls things that the command line calls otherwise.
PYTHON = re.compile(
    r"new_models|split_battles|n_splits|\bcv\b|BTLRegressor|LinearBias|alpha|mask\("
    r"|astype|read_battles|drop_invalid|position_effect|disconnected=|an array"
    r"|sample_weight|pandas|historical_fit|judge_scale|ties=|debiaser"
)
TWO_STEP = "--historical-fit two-step"
NEW, SIDES = "new-model", ("model_a", "model_b")
RIDGE = Advice(Remedy.SHRINK_BIAS, {"alpha": 0.01})


def make_frame():
    data = simulate_battles(
        n_models=5, n_judges=2, n_new=100, n_historical=600, tau=0.0, random_state=5
    )
    outcome = np.where(np.asarray(data.y) > 0.5, "model_a", "model_b")
    return data.X.assign(winner=outcome)


FRAME = make_frame()
HUMAN = FRAME["judge"] == "human"
JUDGE_1 = FRAME["judge"] == "judge-1"


def meets(*models):
    return FRAME["model_a"].isin(models) | FRAME["model_b"].isin(models)


def ordered(rows):
    """On these rows the model wins that is first by its name."""
    first = np.where(FRAME["model_a"] < FRAME["model_b"], "model_a", "model_b")
    return FRAME.assign(winner=FRAME["winner"].mask(rows, first))


def one_ahead(rows):
    """On these rows model-01 wins whenever it takes part."""
    first = np.where(FRAME["model_a"] == "model-01", "model_a", "model_b")
    return FRAME.assign(winner=FRAME["winner"].mask(rows & meets("model-01"), first))


def one_behind(rows):
    """On these rows model-01, which judges put first, loses whenever it takes part."""
    other = np.where(FRAME["model_a"] == "model-01", "model_b", "model_a")
    return FRAME.assign(winner=FRAME["winner"].mask(rows & meets("model-01"), other))


def favouring(rows):
    """On the other rows the side shown first wins half of what it would lose."""
    lucky = ~rows & (np.random.default_rng(3).random(len(FRAME)) < 0.5)
    return FRAME.assign(winner=FRAME["winner"].mask(lucky, "model_a"))


def islands():
    inside = [FRAME[side].isin(["model-01", "model-02"]) for side in SIDES]
    return FRAME[~HUMAN | (inside[0] == inside[1])]


def apart():
    """Islands that no row joins."""
    inside = [FRAME[side].isin(["model-01", "model-02"]) for side in SIDES]
    return FRAME[inside[0] == inside[1]]


def beaten_once():
    """Humans let model-01 lose a single time, in one fold."""
    frame = one_ahead(HUMAN)
    row = frame.index[HUMAN & meets("model-01")][0]
    ahead = frame.loc[row, "model_a"] == "model-01"
    frame.loc[row, "winner"] = "model_b" if ahead else "model_a"
    return frame


def tosses():
    coin = np.random.default_rng(2).choice(["model_a", "model_b"], len(FRAME))
    return FRAME.assign(winner=FRAME["winner"].mask(~HUMAN, coin))


def leak():
    """A feature of the first judge's rows that is made from the outcome."""
    leaks = {
        f"leak_{side[-1]}": np.where(JUDGE_1 & (FRAME["winner"] == side), 1.0, 0.0)
        for side in SIDES
    }
    return FRAME.assign(**leaks)


def sure():
    """The first judge always prefers the model that people like better."""
    human = FRAME[HUMAN]
    btl = BTLRegressor().fit(human.drop(columns="winner"), human["winner"])
    gap = FRAME["model_a"].map(btl.scores_) - FRAME["model_b"].map(btl.scores_)
    better = np.where(gap > 0, *SIDES)
    return FRAME.assign(winner=FRAME["winner"].mask(JUDGE_1 & ~meets(NEW), better))


def running_away():
    """Few rows of each judge, of one hardly any against it."""
    data = simulate_battles(
        3000, 500, n_models=10, n_judges=30, item_sd=0.3, item_corr=0.6, rho=0.0,
        random_state=1334,
    )  # fmt: skip
    X = data.X[["model_a", "model_b", "judge"]]
    return X.assign(winner=np.where(np.asarray(data.y) > 0.5, *SIDES))


def unlike_ties():
    """People tie where both models are bad, judges where both are good."""
    human = FRAME[HUMAN]
    btl = BTLRegressor().fit(human.drop(columns="winner"), human["winner"])
    known = ~meets(NEW)
    total = FRAME["model_a"].map(btl.scores_) + FRAME["model_b"].map(btl.scores_)
    rare = FRAME.index % 5 > 0
    ties = known & np.where(HUMAN, total < 0, total > 0) & rare
    return FRAME.assign(winner=FRAME["winner"].mask(ties, "tie"))


def dull():
    """The first judge sees small differences, and tosses a coin over large ones."""
    human = FRAME[HUMAN]
    btl = BTLRegressor().fit(human.drop(columns="winner"), human["winner"])
    known = JUDGE_1 & ~meets(NEW)
    gap = FRAME["model_a"].map(btl.scores_) - FRAME["model_b"].map(btl.scores_)
    far = gap.abs() > gap[known].abs().median()
    first = np.where(far, FRAME.index % 2 == 0, (gap > 0) ^ (FRAME.index % 7 == 0))
    return FRAME.assign(winner=FRAME["winner"].mask(known, np.where(first, *SIDES)))


CASES = {
    Remedy.RENAME_COLUMNS: (
        lambda: FRAME[["winner", "judge"]].assign(n=range(len(FRAME))),
        "--from table",
    ),
    Remedy.NAME_COLUMNS: (lambda: FRAME[["winner", "judge"]], ""),
    Remedy.TELL_FORMAT: (
        lambda: FRAME.assign(
            **dict.fromkeys(["generator_1", "generator_2", "preference"], 1),
            **dict.fromkeys(["cmp_key", "annotator1", "idx"], 1),
        ),
        "",
    ),
    Remedy.DROP_INVALID: (
        lambda: FRAME.assign(winner=FRAME["winner"].where(FRAME.index > 5)),
        "--from table",
    ),
    Remedy.DROP_BAD_LINES: (lambda: FRAME, ""),
    Remedy.READ_AS_SCORES: (lambda: FRAME, "--tie-margin 1"),
    Remedy.READ_AS_TABLE: (
        lambda: FRAME.rename(columns={"model_a": "left", "model_b": "right"}).replace(
            {"winner": {"model_a": "left", "model_b": "right"}}
        ),
        "--labels left=model_a",
    ),
    Remedy.CHOOSE_FEATURES: (lambda: FRAME.assign(votes_a=1, votes_b=2), ""),
    Remedy.LABEL_HUMANS: (lambda: FRAME.replace({"human": "some-llm"}), ""),
    Remedy.ADD_PEOPLE: (lambda: FRAME[~HUMAN], ""),
    Remedy.NAME_JUDGES: (
        lambda: FRAME[HUMAN].drop(columns="judge"),
        "--all-human --no-new",
    ),
    Remedy.RELABEL_OUTCOMES: (
        lambda: FRAME.assign(winner=[f"word {n % 15}" for n in range(len(FRAME))]),
        "",
    ),
    Remedy.KEEP_TIES: (
        lambda: FRAME.assign(winner=FRAME["winner"].mask(HUMAN, "tie")),
        "--ties drop",
    ),
    Remedy.ALLOW_CURVES: (dull, ""),
    Remedy.COMPARE_WITHOUT_TIES: (unlike_ties, ""),
    Remedy.SPLIT_BY_SOURCE: (lambda: FRAME[HUMAN], ""),
    Remedy.CHOOSE_NEW_MODELS: (lambda: FRAME[HUMAN], ""),
    Remedy.SHRINK_STYLE: (
        lambda: FRAME.assign(
            spark_a=(HUMAN & (FRAME["winner"] == "model_a")).astype(float),
            spark_b=(HUMAN & (FRAME["winner"] == "model_b")).astype(float),
        ),
        "--style controlled",
    ),
    Remedy.ADD_NEW_MODELS: (lambda: FRAME, "--new model-01"),
    Remedy.COUNT_ROWS: (
        lambda: FRAME.assign(count=1 + FRAME.index % 3),
        "--weights importance",
    ),
    Remedy.USE_COUNTS: (lambda: FRAME.assign(count=1 + FRAME.index % 3), ""),
    Remedy.GROUP_BY_PROMPT: (lambda: FRAME.assign(prompt_id=FRAME.index % 9), ""),
    Remedy.GIVE_GROUPS: (lambda: FRAME, "--groups topic"),
    Remedy.CHOOSE_MIX: (
        lambda: FRAME.assign(kind=np.where(meets(NEW), "new", "old")).assign(
            kind=lambda frame: frame["kind"].mask(frame.index % 3 == 0, "new")
        ),
        "--context kind",
    ),
    Remedy.JOIN_GROUPS: (islands, TWO_STEP),
    Remedy.FIT_JOINTLY: (islands, TWO_STEP),
    Remedy.FIT_IN_TWO_STEPS: (lambda: one_behind(HUMAN), "--seed 1"),
    Remedy.VOTE_BETWEEN_GROUPS: (apart, "--historical-fit joint"),
    Remedy.BOUND_SCORES: (lambda: one_ahead(HUMAN), TWO_STEP),
    Remedy.ADD_VOTES: (lambda: ordered(HUMAN), TWO_STEP),
    Remedy.PLACE_BY_JUDGES: (lambda: one_ahead(HUMAN), TWO_STEP),
    Remedy.KEEP_VOTES_IN_FOLDS: (beaten_once, TWO_STEP),
    Remedy.STEADY_CORRECTION: (tosses, ""),
    Remedy.SHRINK_BIAS: (leak, ""),
    Remedy.SHRINK_OR_DROP_JUDGE: (sure, ""),
    Remedy.POOL_JUDGES: (
        lambda: FRAME.assign(
            judge=FRAME["judge"].mask(~HUMAN, "seed " + (FRAME.index % 20).astype(str))
        ),
        "",
    ),
    Remedy.DROP_JUDGES: (running_away, ""),
    Remedy.DROP_FEATURES: (leak, ""),
    Remedy.SHOW_ORDER: (
        lambda: FRAME.assign(winner=FRAME["winner"].mask(JUDGE_1, "model_a")),
        "--no-position-effect",
    ),
    Remedy.MERGE_MODELS: (
        lambda: FRAME.assign(
            model_a=FRAME["model_a"].mask(~HUMAN, FRAME["model_a"].str.title())
        ),
        "",
    ),
    Remedy.SWAP_SIDES: (
        lambda: FRAME.assign(shown_first=np.where(meets(NEW), "model_a", None)),
        "--position-effect",
    ),
    Remedy.FIT_POSITION: (lambda: favouring(HUMAN), "--no-position-effect"),
    Remedy.GIVE_LEVELS: (
        lambda: FRAME.assign(winner=np.resize(list("uvwxy"), len(FRAME))),
        "",
    ),
}


OF_HISTORIES = {
    Remedy.KEEP_LINEAR,
    Remedy.PLACE_ARRIVALS,
    Remedy.FIT_HISTORY_AGAIN,
    Remedy.GIVE_PAST,
    Remedy.FIT_RATERS_TOGETHER,
    Remedy.BUILD_HISTORY,
    Remedy.UPDATE_HISTORY,
    Remedy.CALIBRATE_CHANGED,
}
"""Advice of ``skanchor history``, which has tests of its own."""

ELSEWHERE = {
    Remedy.FIT_ITEM_EFFECTS,
    Remedy.PUT_SIDES_FOR_NAMES,
    Remedy.CONVERT_OUTCOMES,
    Remedy.LEAVE_OUT_TIES,
}
"""Advice of ``skanchor plot``, and on outcomes that the command line recognises."""


def test_every_kind_of_advice_has_its_words_and_its_case():
    assert set(ADVICE) == set(CASES) | OF_HISTORIES | ELSEWHERE == set(Remedy)
    assert set(TERMS) == set(Term)
    for words in filter(None, [*ADVICE.values(), *TERMS.values()]):
        assert not PYTHON.search(words)


@pytest.fixture
def heard(monkeypatch):
    """What is put into words, as it comes."""
    messages = []

    def listen(message):
        messages.append(message)
        return worded(message)

    monkeypatch.setattr(wording, "worded", listen)
    return messages


@pytest.mark.parametrize(
    "kind",
    [kind for kind in Remedy if kind not in OF_HISTORIES | ELSEWHERE],
    ids=lambda kind: kind.name,
)
def test_advice_is_in_the_words_of_the_command_line(
    run, tmp_path, heard, kind, monkeypatch
):
    make, flags = CASES[kind]
    if kind is Remedy.SHRINK_BIAS:
        # Rows that keep a fit from settling without separating it are hard to find.
        monkeypatch.setattr(JudgeWarnings, "separation", lambda *args: None)
        monkeypatch.setattr(
            _admission, "leave_out_feature_separated", lambda known, bias: known
        )
    path = tmp_path / "battles.jsonl"
    make().to_json(path, orient="records", lines=True, double_precision=15)
    if kind is Remedy.DROP_BAD_LINES:
        path.write_text(path.read_text() + '{"model_a"\n')
    flags = ["--folds", "4", "--item-effects", "none", *flags.split()]
    _, _, err = run("rank", path, *flags)
    given = [advice.kind for message in heard for advice in message.advice]
    assert kind in given
    assert not any(PYTHON.search(line) for line in err), err
    if ADVICE[kind] is not None:
        # What is filled in comes last.
        words = ADVICE[kind].partition("{")[0]
        assert any(words in line for line in err), err


@pytest.mark.parametrize(
    ("term", "flags", "words"),
    [
        (Term.NEW_MODELS, "--new nobody", "--new names ['nobody']"),
        (Term.AMONG_NEW_MODELS, "--new model-01", "are not named by --new. Add"),
        (Term.GROUPS, "--groups topic", "--groups names the column 'topic'"),
        (Term.N_FOLDS, "--folds 5000", "Cannot have --folds=5000 greater"),
        (Term.N_FOLDS, "--folds 500 --groups judge", "Cannot have --folds=500 greater"),
    ],
)
def test_terms_are_flags(run, tmp_path, heard, term, flags, words):
    FRAME.to_csv(path := tmp_path / "battles.csv", index=False)
    code, _, err = run("rank", path, *flags.split())
    assert (code, len(err)) == (2, 1)
    assert term in heard[0].args
    assert words in err[0]
    assert not PYTHON.search(err[0])


def test_names_of_models_are_left_alone():
    error = BattlesError("Models ['new_models'] are odd.", advice=RIDGE)
    assert worded(error) == "Models ['new_models'] are odd."
    assert worded(ValueError("n_splits")) == "n_splits"


def test_labels_that_have_compared_new_models_are_not_offered_as_people(run, tmp_path):
    """A name that nobody knows need not be a person: the file tells who saw whom."""
    names = {"human": "staff", "judge-1": "gpt-9", "judge-2": "fable-x"}
    frame = FRAME.assign(judge=FRAME["judge"].map(names))
    frame.to_csv(path := tmp_path / "b.csv", index=False)
    assert run("rank", path)[0] == 2
    words = ["rank", str(path), "--human", "staff"]
    assert run.offered == [("If rows of 'staff' are people's:", words)]
    assert run(*words, "--folds", "2")[0] == 0
