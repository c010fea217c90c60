"""Files as other teams have them: each is ranked as the same rows in standard form.

Each case has the table in standard form that holds the same comparisons.
"""

import json

import numpy as np
import pandas as pd
import pytest

from skanchor._battles.outcomes import Outcomes
from skanchor._cli.program import make_parser
from skanchor._cli.table import load_battles

STRENGTH = {"fox": 1.5, "owl": 0.8, "elk": 0.0, "cat": -0.8, "new": -1.5}
JUDGES = ("gpt-4", "claude-3")
FLAGS = ["--set", "cv=2", "--set", "item_effects=none", "--groups", "none", "--json"]


def make_rows(people=("human",), ties=0.15, seed=0):
    """Votes and verdicts with standard names; nobody has voted on the last model."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(600):
        who = ("human", *JUDGES)[n % 3]
        models = [*STRENGTH][: 4 if who == "human" else 5]
        one, two = rng.choice(models, 2, replace=False)
        chance = 1.0 / (1.0 + np.exp(STRENGTH[two] - STRENGTH[one]))
        won = "model_a" if rng.random() < chance else "model_b"
        won = "tie" if rng.random() < ties else won
        who = people[n // 3 % len(people)] if who == "human" else who
        rows.append((f"q{n // 3}", one, two, who, won))
    return pd.DataFrame(
        rows, columns=["prompt_id", "model_a", "model_b", "judge", "winner"]
    )


T = make_rows()
DECIDED = make_rows(ties=0.0, seed=1)


def words(a, b, tie, of=T):
    return of["winner"].map({"model_a": a, "model_b": b, "tie": tie})


def csv(frame, above="", **options):
    """Writes a table, below some lines."""

    def write(path):
        text = frame.to_csv(index=False, **options)
        path.write_text(above + text)

    return write


def parquet(frame):
    return lambda path: frame.to_parquet(path)


def jsonl(records):
    lines = "\n".join(map(json.dumps, records))
    return lambda path: path.write_text(lines)


def whole(value):
    return lambda path: path.write_text(json.dumps(value))


def named(**columns):
    """Table with blanks in place of double underscores of names."""
    return pd.DataFrame({name.replace("__", " "): of for name, of in columns.items()})


# -------------------------------------------------------------- several judges in a row
def make_wide(seed=2):
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(500):
        one, two = rng.choice([*STRENGTH], 2, replace=False)
        chance = 1.0 / (1.0 + np.exp(STRENGTH[two] - STRENGTH[one]))
        votes = np.where(rng.random(3) < chance, "model_a", "model_b")
        votes = np.where(rng.random(3) < 0.15, "tie", votes).tolist()
        if "new" in (one, two):
            votes[0] = None
        rows.append((f"q{n}", one, two, *votes))
    return pd.DataFrame(
        rows, columns=["prompt_id", "model_a", "model_b", "human", *JUDGES]
    )


WIDE = make_wide()
LONG = WIDE.melt(
    ["prompt_id", "model_a", "model_b"], var_name="judge", value_name="winner"
).dropna()
MAJORITY = WIDE.replace({"model_a": "A", "model_b": "B", "tie": "="}).set_axis(
    [
        "task",
        "System A",
        "System B",
        "Human majority",
        "gpt-4 verdict",
        "claude-3",
    ],
    axis=1,
)
VERDICTS = [
    {
        "uid": row["prompt_id"],
        "first": row["model_a"],
        "second": row["model_b"],
        "verdicts": {
            judge: {"model_a": "first", "model_b": "second", "tie": "equal"}[row[judge]]
            for judge in ("human", *JUDGES)
            if row[judge] is not None
        },
    }
    for row in WIDE.astype(object).where(WIDE.notna(), None).to_dict("records")
]
BY_JUDGE = {
    judge: [
        {"prompt": q, "a": a, "b": b, "win": {"model_a": "a", "model_b": "b"}.get(w, w)}
        for q, a, b, _, w in part.itertuples(index=False)
    ]
    for judge, part in T.groupby("judge")
}


# ------------------------------------------------------------- more than two in a row
def make_rankings(seed=3):
    """Models of each row, the best one first."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(240):
        who = ("human", *JUDGES)[n % 3]
        models = rng.choice([*STRENGTH][: 4 if who == "human" else 5], 3, replace=False)
        liked = {model: STRENGTH[model] + rng.gumbel() for model in models}
        ranked = sorted(models.tolist(), key=liked.get)[::-1]
        rows.append((f"q{n}", who, models.tolist(), ranked))
    return rows


RANKED = make_rankings()


def pairs_of_ranked(best_alone=False):
    pairs = ((0, 1), (0, 2)) if best_alone else ((0, 1), (0, 2), (1, 2))
    rows = [
        (q, ranked[one], ranked[two], who, "model_a", "")
        for q, who, _, ranked in RANKED
        for one, two in pairs
    ]
    return pd.DataFrame(rows, columns=[*T.columns, "shown_first"])


PLACES = pd.DataFrame([(q, who, *ranked) for q, who, _, ranked in RANKED],
                      columns=["Prompt", "Annotator", "1st", "2nd", "3rd"])  # fmt: skip
BEST_WORST = [
    {"prompt_id": q, "annotator": who, "shown": shown, "best": r[0], "worst": r[-1]}
    for q, who, shown, r in RANKED
]
BEST_ALONE = pd.DataFrame(
    [(q, who, ", ".join(shown), ranked[0]) for q, who, shown, ranked in RANKED],
    columns=["prompt_id", "annotator", "shown models", "winner"],
)


# ------------------------------------------------------------------------- other kinds
def make_events():
    """Votes between events of another kind."""
    rows = []
    for n, (_, a, b, who, won) in enumerate(T.itertuples(index=False)):
        kind = "llm" if who in JUDGES else "human"
        if n % 3 == 0:
            rows.append({"event": "view", "payload": {"url": "/"},
                         "actor": {"type": "human", "id": f"visitor {n}"}})  # fmt: skip
        rows.append({
            "event": "vote",
            "payload": {"left": {"model": a}, "right": {"model": b},
                        "vote": {"model_a": "left", "model_b": "right"}.get(won, won)},
            "actor": {"type": kind, "id": who},
        })  # fmt: skip
    return rows


def make_shares():
    """Shares of wins by pair, and the rows that they stand for."""
    turned = DECIDED["model_a"] > DECIDED["model_b"]
    flipped = DECIDED.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    flipped["winner"] = words("model_b", "model_a", "tie", DECIDED)
    rows = pd.concat([DECIDED[~turned], flipped[turned]])[DECIDED.columns]
    won = rows.assign(won=rows["winner"].eq("model_a"))
    found = won.groupby(["model_a", "model_b", "judge"])["won"]
    found = found.agg(["size", "mean"]).reset_index()
    share = (100.0 * found["mean"]).round(2).astype(str) + "%"
    table = pd.DataFrame({"Model": found["model_a"], "Opponent": found["model_b"],
                          "Judge": found["judge"], "Comparisons": found["size"],
                          "Win rate": share})  # fmt: skip
    return table, rows.drop(columns="prompt_id")


SHARES, SHARED = make_shares()
SOFT = T["winner"].map({"model_a": 0.9, "model_b": 0.2, "tie": 0.5})


ONCE = {
    "majority.csv": (csv(MAJORITY), LONG),
    "verdicts.jsonl": (jsonl(VERDICTS), LONG),
    "by_judge.json": (whole(BY_JUDGE), T),
    "by_id.json": (
        whole({f"battle {n}": row for n, row in enumerate(T.to_dict("records"))}),
        T,
    ),
    "places.csv": (csv(PLACES), pairs_of_ranked()),
    "best_and_worst.jsonl": (jsonl(BEST_WORST), pairs_of_ranked()),
    "best_of_three.csv": (csv(BEST_ALONE), pairs_of_ranked(best_alone=True)),
    "events.jsonl": (jsonl(make_events()), T),
    "win_rates.csv": (csv(SHARES), SHARED),
    "probability.parquet": (
        parquet(named(first=T["model_a"], second=T["model_b"], grader=T["judge"],
                      prob_first_better=SOFT)), T.assign(winner=SOFT)),
    "chess.csv": (
        csv(named(white=T["model_a"], black=T["model_b"], arbiter=T["judge"],
                  result=words("1-0", "0-1", "1/2-1/2"))), T),
    "titles.csv": (
        csv(named(Prompt=T["prompt_id"], Left__model=T["model_a"],
                  Right__model=T["model_b"], Judge=T["judge"],
                  Which__was__better=words("Left", "Right", "About the same")),
            above="Round 3,,,,\nexported by Maria,,,,\n,,,,\n"), T),
    "titles_of_own_width.csv": (
        csv(T.drop(columns="prompt_id"), above="Round 3, by Maria\n\n"), T),
    "signs.tsv": (
        csv(named(left=T["model_a"], right=T["model_b"], judge=T["judge"],
                  pick=words("👈", "👉", "🤝")), sep="\t"), T),
}  # fmt: skip

PASTED = {
    "listed.parquet": (
        parquet(named(models=T[["model_a", "model_b"]].to_numpy().tolist(),
                      winner_idx=words(0, 1, -1), evaluator=T["judge"])),
        T, "If they are ties"),
    "remark.csv": (
        csv(named(model1=T["model_a"], model2=T["model_b"], judge=T["judge"]).assign(
            **{"winner (0=tie)": words(1, 2, 0)})),
        T, "2 is 'model2' won, 0 is a tie"),
}  # fmt: skip


def rows_of(words):
    """How many comparisons the arguments of ``rank`` give, by pair, judge and outcome.

    The models of a pair are in alphabetical order.
    """
    options = make_parser().parse_args(list(map(str, words)))
    options.typed = list(map(str, words))
    X, y, counted = load_battles(options)
    value = Outcomes.encode(y, named=True).values
    # Files may have been read as codes.
    X = X.astype(dict.fromkeys(["model_a", "model_b", "judge"], "str"))
    turned = (X["model_a"] > X["model_b"]).to_numpy()
    first, second = X["model_a"].mask(turned, X["model_b"]), X["model_b"]
    rows = pd.DataFrame({
        "first": first,
        "second": second.mask(turned, X["model_a"]),
        "judge": X["judge"],
        "won": np.where(turned, 1.0 - value, value).round(6),
        "count": X["count"] if counted else 1,
    })  # fmt: skip
    return rows.groupby(["first", "second", "judge", "won"])["count"].sum()


def check_same(words, standard, tmp_path):
    """Check that ``rank`` reads the rows of a table in standard form."""
    standard.to_csv(path := tmp_path / "standard.csv", index=False)
    pd.testing.assert_series_equal(rows_of(words), rows_of(["rank", path]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("judge", ["gpt-4", "human panel"])
def test_a_remark_that_tells_judges_apart_is_part_of_the_name(tmp_path, judge):
    """As one outcome without a judge, the other one's would be lost."""
    other = "human" if judge == "gpt-4" else "claude"
    sides = {"model_a": "A", "model_b": "B"}
    table = WIDE[["model_a", "model_b"]].assign(
        **{f"verdict ({other})": WIDE["gpt-4"].replace(sides),
           f"verdict ({judge})": WIDE["claude-3"].replace(sides)}
    )  # fmt: skip
    csv(table)(path := tmp_path / "two.csv")
    rows = rows_of(["rank", path])
    assert rows.groupby("judge").sum().tolist() == [len(WIDE)] * 2
    assert len(rows.groupby("judge").sum()) == 2


@pytest.mark.filterwarnings("ignore")
def test_a_list_of_models_beside_two_of_them_is_no_list_of_those_shown(tmp_path):
    """The winner of a row has not won against models that are not compared in it."""
    won = np.where(
        DECIDED["winner"] == "model_a", DECIDED["model_a"], DECIDED["model_b"]
    )
    table = DECIDED.assign(winner=won, tournament=", ".join(STRENGTH))
    csv(table)(path := tmp_path / "listed.csv")
    check_same(["rank", path], DECIDED, tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ONCE)
def test_it_is_read_at_once_as_its_rows(run, tmp_path, name):
    write, standard = ONCE[name]
    write(path := tmp_path / name)
    code, out, err = run("rank", path, *FLAGS)
    assert code == 0, err
    assert [row["model"] for row in json.loads(out)["models"]] == [*STRENGTH]
    check_same(["rank", path], standard, tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PASTED)
def test_it_is_read_after_one_command_as_its_rows(run, tmp_path, name):
    write, standard, case = PASTED[name]
    write(path := tmp_path / name)
    code, out, err = run("rank", path, *FLAGS)
    assert (code, out) == (2, ""), err
    (again,) = [words for said, words in run.offered if case in said]
    code, out, err = run(*again)
    assert code == 0, err
    check_same(again, standard, tmp_path)


# -------------------------------------------------------------------------- more files
def crossed(label):
    """Writes a table of wins by model for each judge, with rows that have won."""

    def write(folder):
        for judge, part in DECIDED.groupby("judge"):
            first = part["winner"].eq("model_a")
            won = part["model_a"].where(first, part["model_b"])
            lost = part["model_b"].where(first, part["model_a"])
            pd.crosstab(won, lost).rename_axis(label).to_csv(folder / f"{judge}.csv")
        return [folder / f"{judge}.csv" for judge in ("human", *JUDGES)]

    return write


@pytest.mark.filterwarnings("ignore")
def test_tables_of_models_by_models_count_wins(run, tmp_path):
    paths = crossed("winner \\ loser")(tmp_path)
    check_same(["rank", *paths], DECIDED, tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("label", ["", "model"])
def test_whose_wins_a_table_of_models_counts_is_asked(run, tmp_path, label):
    """Another reading would turn the ranking round."""
    paths = crossed(label)(tmp_path)
    code, out, err = run("rank", *paths, *FLAGS)
    assert (code, out) == (2, "") and "does not say which" in err[0]
    (by_row,) = [words for said, words in run.offered if "its row" in said]
    check_same(by_row, DECIDED, tmp_path)
    (by_column,) = [words for said, words in run.offered if "its column" in said]
    other = DECIDED.rename(columns={"model_a": "model_b", "model_b": "model_a"})
    check_same(by_column, other, tmp_path)
