"""Tables of all shapes: read as their rows at once, asked about, or refused.

The same twelve comparisons stand in every table. A table that is asked about is read as
them after one edited mapping.
"""

import tomllib
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from skanchor import read_battles
from skanchor._battles.outcomes import Outcomes
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io import Mapping
from skanchor.io.reading import read_tables

A, B, TIE = "model_a", "model_b", "tie"
ROWS = [
    ("q1", "owl", "elk", "human", A), ("q1", "owl", "elk", "gpt-4", A),
    ("q2", "elk", "fox", "human", B), ("q2", "elk", "fox", "gpt-4", TIE),
    ("q3", "fox", "owl", "human", TIE), ("q3", "fox", "owl", "gpt-4", B),
    ("q4", "owl", "elk", "human", B), ("q4", "elk", "owl", "gpt-4", B),
    ("q5", "elk", "fox", "human", A), ("q5", "fox", "elk", "gpt-4", A),
    ("q6", "fox", "owl", "human", A), ("q6", "owl", "fox", "gpt-4", TIE),
]  # fmt: skip
T = pd.DataFrame(ROWS, columns=["prompt_id", "model_a", "model_b", "judge", "winner"])
WON = T["winner"]
DECIDED = T[WON != TIE]
NAME = T["model_a"].mask(WON == B, T["model_b"]).mask(WON == TIE, TIE)
LOST = T["model_b"].mask(WON == B, T["model_a"])
WIDE = T.assign(q=T["prompt_id"]).drop_duplicates("q")[["q", "model_a", "model_b"]]
BOTH = WIDE.assign(human=WON[::2].to_numpy(), gpt=["A", "=", "B", "A", "B", "="])


def words(a, b, tie=None):
    return WON.map({A: a, B: b, TIE: tie})


def named(
    a="model_a", b="model_b", judge="judge", winner="winner", outcome=WON, **more
):
    names = {"model_a": a, "model_b": b, "judge": judge, "winner": winner}
    return T.assign(winner=outcome).rename(columns=names).assign(**more)


def meant(table, counts=None):
    """Comparisons of a table by pair, people or not, and value."""
    value = Outcomes.encode(table["winner"], named=True).values
    rows: Counter = Counter()
    n = np.ones(len(table), int) if counts is None else counts
    cells = zip(
        table["model_a"], table["model_b"], table["judge"], value, n, strict=True
    )
    for a, b, judge, won, times in cells:
        a, b, won = (a, b, won) if a < b else (b, a, 1.0 - won)
        rows[a, b, judge == "human", round(float(won), 6)] += int(times)
    return rows


def written(table, path):
    if isinstance(table, str):
        path.write_text(table)
    elif path.suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep=";" if "semicolon" in path.name else ",")
    return path


LONG = pd.DataFrame(
    [
        (n, q, judge, model, won)
        for n, (q, a, b, judge, out) in enumerate(ROWS)
        for model, won in ((a, out == A), (b, out == B))
    ],
    columns=["battle_id", "prompt_id", "judge", "model", "won"],
)  # fmt: skip
COUNTS = pd.crosstab([T["model_a"], T["model_b"], T["judge"]], WON)
COUNTS = COUNTS.rename(columns={A: "wins_a", B: "wins_b", TIE: "ties"}).reset_index()
RATED = pd.DataFrame(
    [(q, m, j, s) for q, j in (("p1", "human"), ("p1", "gpt-4"), ("p2", "human"))
     for m, s in (("owl", 5), ("elk", 3), ("fox", 3))],
    columns=["Question", "System", "Rater", "Score"],
)  # fmt: skip
OF_RATED = pd.DataFrame(
    [(a, b, j, w) for j in ("human", "gpt-4", "human")
     for a, b, w in (("owl", "elk", 1.0), ("owl", "fox", 1.0), ("elk", "fox", 0.5))],
    columns=["model_a", "model_b", "judge", "winner"],
)  # fmt: skip

AT_ONCE = {
    "standard.csv": named(),
    "semicolon.csv": named("Model A", "Model B", "Evaluator", "Winner",
                           words("A", "B", "Tie")),
    "numbered.csv": named("model_1", "model_2", "annotator", "preference",
                          words(1, 2, "tie")),
    "numbers.csv": named("System-1", "System-2", "rater", "choice",
                         words("1", "2", "Tie")),
    "sides.csv": named("left", "right", "judge", "vote",
                       words("left", "right", "draw")),
    "left_model.csv": named("left model", "right model", "Judge Name", "Verdict",
                            words("Left", "Right", "Equal")),
    "by_name.csv": named(outcome=NAME),
    "in_capitals.csv": named("Player 1", "Player 2", "judge", "Winning model",
                             NAME.str.upper()),
    "brackets.jsonl": named("assistant_a", "assistant_b", "judge", "verdict",
                            words("[[A]]", "[[B]]", "[[C]]")),
    "levels.jsonl": named(winner="label", outcome=words("A>B", "B>A", "A=B")),
    "in_words.csv": named("System A", "System B", "Grader", "Result",
                          words("A is better", "B is better", "About the same")),
    "responses.jsonl": named("LLM_1", "LLM_2", "evaluator", "outcome",
                             words("Response 1", "Response 2", "tie")),
    "human.csv": named(judge="JUDGE").replace({"JUDGE": {"human": "Human"}}),
    "crowd.csv": named().replace({"judge": {"human": "crowd"}}),
    "loser.csv": (named(winner="loser", outcome=words("B", "A")).loc[DECIDED.index],
                  DECIDED),
    "better_worse.csv": (T.assign(better=NAME, worse=LOST)[["better", "worse", "judge"]]
                         .loc[DECIDED.index], DECIDED),
    "opponent.csv": named("model", "opponent", winner="result",
                          outcome=words("win", "loss", "draw")),
    "one_hot.csv": T.drop(columns="winner").assign(
        winner_model_a=WON.eq(A) * 1, winner_model_b=WON.eq(B) * 1,
        winner_tie=WON.eq(TIE) * 1),
    "counts.csv": COUNTS,
    "battles.csv": LONG,
    "wide.csv": BOTH.rename(columns={"gpt": "GPT-4 verdict", "human": "Human vote"}),
    "scores.csv": T.drop(columns="winner").assign(
        score_a=words("7,5", "6,0", "7,0"), score_b=words("6,5", "7,25", "7,0")),
    "ranks.csv": T.drop(columns="winner").assign(
        rank_a=words(1, 2, 1), rank_b=words(2, 1, 1)),
    "is_human.csv": T.drop(columns="judge").assign(is_human=T["judge"] == "human"),
    "ratings.csv": (RATED, OF_RATED),
    "lists.jsonl": named(tags=[["x"]] * 11 + [[]]),
    "people.csv": (RATED.replace("human", "Human"), OF_RATED),
    "total.csv": COUNTS.assign(total=COUNTS[["wins_a", "wins_b", "ties"]].sum(axis=1)),
}  # fmt: skip
"""Files that are read at once: as all rows, or as those beside the file."""

SWAPPED = pd.Series([True, False] * 6)
SHOWN_A, SHOWN_B = T["model_a"].mask(SWAPPED, T["model_b"]), T["model_b"].mask(
    SWAPPED, T["model_a"])  # fmt: skip

ASKED = {
    # Numbers, and verdicts that failed.
    "zero_one.csv": (named(winner="pref", outcome=words(1, 0, 0.5)), "outcome '0'",
                     {"outcomes": {1: A, 0: B, 0.5: TIE}}),
    "index.csv": (named(outcome=words(0, 1, 0.5)).loc[DECIDED.index], "outcome '1'",
                  {"outcomes": {0: A, 1: B}}, DECIDED),
    "halves.csv": (named(outcome=words(0, 1, 0.5)), "outcome '0.5'",
                   {"outcomes": {0: A, 1: B, 0.5: TIE}}),
    "codes.csv": (named(outcome=words(1, 2, 0)), "outcome '2'",
                  {"outcomes": {1: A, 2: B, 0: TIE}}),
    "minus_one.csv": (named(outcome=words(0, 1, -1)), "outcome '-1' in 3 rows",
                      {"outcomes": {0: A, 1: B, -1: "failed"}}, DECIDED),
    "soft.csv": (named(outcome=words(0.9, 0.2, -1.0)), "outcome '-1' in 3 rows",
                 {"outcomes": {"-1": "failed"}},
                 DECIDED.assign(winner=DECIDED["winner"].map({A: 0.9, B: 0.2}))),
    "error.csv": (named(outcome=words("A", "B", "error")), "outcome 'error' in 3 rows",
                  {"outcomes": {"error": "failed"}}, DECIDED),
    "empty.csv": (named(outcome=words("A", "B", "")), "outcome '' in 3 rows",
                  {"outcomes": {"": TIE}}),
    "shares.csv": (named(winner="pref", outcome=words(0.9, 0.2, 0.5)
                         + np.arange(12) / 1000), "outcomes are 12 numbers",
                   {"outcomes": {"*": "share"}}, T.assign(winner=words(0.9, 0.2, 0.5)
                                                          + np.arange(12) / 1000)),
    "shares_of_b.csv": (named(winner="pref", outcome=words(0.1, 0.8, 0.5)
                              - np.arange(12) / 1000), "of model_b",
                        {"outcomes": {"*": "share of model_b"}},
                        T.assign(winner=words(0.9, 0.2, 0.5) + np.arange(12) / 1000)),
    "true.csv": (named(outcome=words(True, False)).loc[DECIDED.index], "outcome 'True'",
                 {"outcomes": {True: A, False: B}}, DECIDED),
    "b_won.csv": (named(winner="b_won", outcome=words(False, True)).loc[DECIDED.index],
                  "what column 'b_won' holds", {"columns": {"b_won": "winner"},
                  "outcomes": {False: A, True: B}}, DECIDED),
    "n_tie.csv": (COUNTS.rename(columns={"ties": "n_tie"}), "what column 'n_tie' holds",
                  {"columns": {"n_tie": "ties"}}),
    # Words that nobody could know.
    "not.csv": (named(outcome=words("!A", "B", "tie")), "outcome '!A' in 5 rows",
                {"outcomes": {"!A": A}}),
    "degrees.csv": (named(outcome=words("A is much better", "B is better", "tie")),
                    "outcome 'A is much better' in 5 rows",
                    {"outcomes": {"A is much better": A}}),
    "hm.csv": (named(outcome=words("A", "B", "hm")), "outcome 'hm' in 3 rows",
               {"outcomes": {"hm": TIE}}),
    "own.csv": (named(winner="opinion", outcome=words("up", "down", "=")),
                "outcome 'up'",
                {"columns": {"opinion": "winner"}, "outcomes": {"up": A, "down": B}}),
    "cases.csv": (named().replace({"model_a": {"owl": "Owl"}}), "another name",
                  {"models": {"Owl": "owl", "owl": "owl"}}),
    # What could turn outcomes round.
    "about_order.csv": (T.assign(model_a=SHOWN_A, model_b=SHOWN_B, swapped=SWAPPED,
                                 winner=words("A", "B", "tie")), "'swapped'",
                        {"columns": {"swapped": "swapped"}},
                        T.assign(model_a=SHOWN_A, model_b=SHOWN_B, winner=WON.mask(
                            SWAPPED, WON.map({A: B, B: A, TIE: TIE})))),
    "about_columns.csv": (T.assign(flipped=SWAPPED.map({True: "BA", False: "AB"})),
                          "'flipped'", {"columns": {"flipped": "swapped_order"}}),
    "wide_swapped.csv": (BOTH.assign(swapped=[False, True] * 3), "'swapped'",
                         {"columns": {"swapped": "swapped"}}, T.assign(winner=WON.mask(
                             [False, False, True, True] * 3,
                             WON.map({A: B, B: A, TIE: TIE})))),
    "total_of_some.csv": (COUNTS.assign(games=COUNTS["wins_a"] + 9), "'games'",
                          {"columns": {"games": "ignored"}}),
    "two_orders.csv": (T.drop(columns="winner").assign(
        verdict_ab=WON, verdict_ba=words(B, A, TIE)), "'verdict_ab'",
        {"columns": {"verdict_ab": "winner", "verdict_ba": "winner_swapped"}},
        pd.concat([T, T])),
    "as_stands.jsonl": (T.drop(columns="winner").assign(win_1=WON, win_2=WON),
                        "'win_1'", {"columns": {"win_1": "winner", "win_2": "winner"}},
                        pd.concat([T, T])),
    "tie_flag.csv": (named(outcome=words("A", "B", "A")).assign(is_tie=WON == TIE),
                     "'is_tie'", {"columns": {"is_tie": "tie"}}),
    "second.csv": (T.assign(winner_ba=words("B", "A", "tie")), "'winner_ba'",
                   {"columns": {"winner_ba": "ignored"}}),
    "votes.csv": (T.drop(columns="winner").assign(votes_a=words(3, 1, 2),
                                                  votes_b=words(1, 3, 2)), "'votes_a'",
                  {"columns": {"votes_a": "score_a", "votes_b": "score_b"}}),
    # Who decided.
    "who.csv": (named(judge="who").replace({"who": {"human": "ann"}}),
                "is 'ann' in 'who' a person or a judge?",
                {"judges": {"ann": "people"}}),
    "kinds.csv": (T.drop(columns="judge").assign(
        judge_type=T["judge"].map({"human": "human", "gpt-4": "llm"}),
        judge_name=T["judge"].mask(T["judge"] == "human", "ann")), "'judge_type'",
        {"columns": {"judge_type": "ignored"}, "judges": {"ann": "people"}}),
    "ids.csv": (named(judge="judge_id").replace({"judge_id": {"human": 0, "gpt-4": 1}}),
                "is '1' in 'judge_id'", {"judges": {0: "people", 1: "judge"}}),
    "unnamed.csv": (T.drop(columns="judge"), "no column says who decided in 'unnamed'",
                    {"judges": {"unnamed": "people"}}, T.assign(judge="human")),
    "pairwise.jsonl": (T.drop(columns="judge"), "who decided in 'pairwise'",
                       {"judges": {"pairwise": "judge: gpt-4"}},
                       T.assign(judge="gpt-4")),
    "many.csv": (named(judge="worker").assign(worker=[f"x{n}z" for n in range(12)] )
                 .loc[np.repeat(range(12), 2)].assign(
                     worker=[f"x{n}z" for n in range(24)]), "is '*' in 'worker'",
                 {"judges": {"*": "people"}},
                 pd.concat([T, T]).assign(judge="human")),
}  # fmt: skip
"""Files that are asked about, what the question names, and the edit that decides it."""

REFUSED = {
    "own_names.csv": ("erstes,zweites,judge,winner\nowl,elk,human,model_a\n",
                      "--columns"),
    "wide_ratings.csv": ("prompt,model,human,gpt-4\np,owl,1,2\np,elk,2,1\n",
                         "no columns are known"),
    "leaderboard.csv": ("model,score\nowl,61\nelk,50\n", "no columns are known"),
    "outputs.jsonl": ('{"output_1": "x", "output_2": "y", "label": 1}\n' * 3,
                      "no columns are known"),
    "one_model.csv": ("prompt,model,judge,score\np,owl,human,1\nq,owl,human,2\n",
                      "no two ratings can be compared"),
    "slider.csv": ("model_a,model_b,judge,vote\n" + "".join(
        f"owl,elk,human,{n}\n" for n in range(-5, 5)), "numbers from -5 to 4"),
    "slide.csv": ("model_a,model_b,judge,slide\n" + "".join(
        f"owl,elk,human,{n}\n" for n in range(-5, 5)), "Reshape your file"),
    "nested.jsonl": ('{"pair": {"a": "owl", "b": "elk"}, "judge": "human"}\n',
                     "no columns are known"),
    "rankings.csv": ("prompt,judge,ranking\np,human,owl>elk\nq,gpt-4,elk>owl\n",
                     "no columns are known"),
    "by_judge.json": ('{"human": [{"a": 1}], "gpt-4": [{"a": 1}]}',
                      "Reshape your file"),
    "texts.jsonl": ('{"question": "Ask", "generation": "text", "uid": "u0", '
                    '"judgement-ab": "First.\\n[[A>>B]]", '
                    '"judgement-ba": "First.\\n[[A=B]]"}\n' * 3,
                    "no columns are known"),
    "costs.csv": ("question,owl_cost,elk_cost,comparison_winner\nAsk,.01,.01,owl\n",
                  "no columns are known"),
    "three_rows.csv": (
        "battle_id,model,judge,won\n1,owl,human,1\n1,elk,human,0\n2,owl,human,1\n",
        "Rows that are not one of two rows of a battle: 1"),
    "both_won.csv": ("battle_id,model,judge,won\n1,owl,human,win\n1,elk,human,win\n",
                     "both models have won in 1 battles"),
    "prose.csv": ("model_a,model_b,judge,verdict\n" + "".join(
        f"owl,elk,human,I like number {n} of these\n" for n in range(30)),
        "30 outcomes that are in no table"),
    "stranger.csv": ("model_a,model_b,judge,winner\nowl,elk,human,owl\n"
                     "owl,elk,human,fox\nfox,elk,human,fox\n", "row 1 is not compared"),
    "twice.csv": ("model_a,model_a,judge,winner\nx,y,human,model_a\n",
                  "more than once"),
    "rows.csv": ("model_a,model_b,judge,winner\n", "but no comparisons"),
}  # fmt: skip


GIVEN = {
    "models": (named("erstes", "zweites"), {"erstes": A, "zweites": B}, T),
    "judges": (named(judge="adjudicator"), {"adjudicator": "judge"}, T),
    "counts": (COUNTS.rename(columns={"wins_a": "x", "wins_b": "y"}),
               {"x": "wins_a", "y": "wins_b"}, T),
    "rows": (T.assign(n=3), {"n": "count"}, pd.concat([T, T, T])),
}  # fmt: skip
"""Tables with roles of some columns, and the rows that they are."""

PEOPLE = "human", "expert 3", "human annotator", "crowd-workers"
NOBODY = ("human reward model", "simulated human", "human-like LLM", "expert gpt",
          "non-human", "!human", "~gpt-4")  # fmt: skip
UNKNOWN = "is_worse", "language", "longer", "lost", "opinion"
SIGNS = "!A", "[[!A]]", "-Response 1", "~model_a", "A!>B"
MEANINGS = [
    (named(judge="adjudicator").replace("human", "claude"), "columns",
     {"adjudicator": "?"}),
    (T.assign(judge="human", engine=["gpt-4", "claude"] * 6), "columns",
     {"engine": "keep"}),
    (LONG.assign(won=[1, 0] * 12), "outcomes", {"1": "win", "0": "loss"}),
    (LONG.assign(won=0.5), "outcomes", {"0.5": TIE}),
    (LONG.assign(won=[3, 0] * 12), "outcomes", {"3": "?", "0": "?"}),
    (LONG.assign(won=[3, 0] * 9 + [1, 1] * 3), "outcomes", dict.fromkeys("301", "?")),
    *((T.assign(judge=label), "judges", {label: "people"}) for label in PEOPLE),
    *((T.assign(judge=label), "judges", {label: "?"}) for label in NOBODY),
    *((named(winner=name, outcome=words("A", "B", "tie")), "columns", {name: "?"})
      for name in UNKNOWN),
    *((named(outcome=words(sign, "B!", "Tie.")), "outcomes",
       {sign: "?", "B!": B, "Tie.": TIE}) for sign in SIGNS),
]  # fmt: skip
"""Tables, and what some columns, outcomes or judges of them are taken for."""


@pytest.mark.parametrize("name", AT_ONCE)
def test_it_is_read_at_once_as_its_rows(tmp_path, name):
    entry = AT_ONCE[name]
    table, expected = entry if isinstance(entry, tuple) else (entry, T)
    result = read_battles(written(table, tmp_path / name))
    assert meant(result, result.get("count")) == meant(expected)
    mapping = result.attrs["mapping"]
    assert {*mapping.columns} >= {*map(str, table.columns)}
    assert all(decision.reason for decision in mapping.columns.values())


@pytest.mark.parametrize("name", ASKED)
def test_it_is_asked_and_read_after_one_edited_mapping(tmp_path, name):
    table, asks, edit, *expected = ASKED[name]
    path, toml = written(table, tmp_path / name), tmp_path / "mapping.toml"
    with pytest.raises(BattlesError) as caught:
        read_battles(path)
    for part in (str(path), "unclear", asks, "skanchor inspect", "--mapping"):
        assert part in str(caught.value)
    mapping = Mapping.propose(read_tables([path])).edited(**edit)
    text = mapping.to_toml(toml)
    assert tomllib.loads(Mapping.from_toml(toml).to_toml()) == tomllib.loads(text)
    has_failed = expected and mapping.outcomes.keys() & {"-1", "error"}
    warned = pytest.warns(DataWarning, match="3 of 12 rows hold no verdict")
    with warned if has_failed else nullcontext():
        result = read_battles(path, toml)
    assert meant(result, result.get("count")) == meant(expected[0] if expected else T)


@pytest.mark.parametrize("name", REFUSED)
def test_what_holds_no_comparisons_is_refused(tmp_path, name):
    content, says = REFUSED[name]
    path = written(content, tmp_path / name)
    with pytest.raises(BattlesError) as caught:
        read_battles(path)
    assert says in str(caught.value) and str(path) in str(caught.value)


def applied(table, mapping):
    X, y, counts = mapping.apply(table)
    return meant(X.assign(winner=y), counts)


@pytest.mark.parametrize("name", GIVEN)
def test_roles_that_are_given_are_not_looked_for(name):
    table, roles, expected = GIVEN[name]
    assert applied(table, Mapping.propose(table, columns=roles)) == meant(expected)


def test_what_is_given_must_be_there():
    with pytest.raises(BattlesError, match="no column 'drittes'"):
        Mapping.propose(T, columns={"drittes": A})
    halves = T.assign(n=0.5)
    mapping = Mapping.propose(halves, columns={"n": "count"})
    with pytest.raises(BattlesError, match="is no number of comparisons"):
        mapping.apply(halves)


@pytest.mark.parametrize(("table", "part", "meanings"), MEANINGS)
def test_what_may_mean_either_is_asked_about(table, part, meanings):
    result = getattr(Mapping.propose(table), part)
    assert {name: result[name].meaning for name in meanings} == meanings


def test_a_name_with_braces_can_be_asked_about():
    table = named(judge="{who}").replace("human", "ann")
    mapping = Mapping.propose(table, columns={"{who}": "judge"})
    assert mapping.unclear == ("is 'ann' in '{who}' a person or a judge?",)


def test_codings_of_numbers_are_listed():
    notes = Mapping.propose(LONG.assign(won=[3, 0] * 9 + [1, 1] * 3)).notes
    assert "  0 = loss, 1 = tie, 3 = win" in notes and len(notes) == 7


@pytest.mark.parametrize(
    ("table", "says", "expected"),
    [
        (pd.DataFrame({"prompt_id": "p1", "model": ["elk", "owl", "yak"],
                       "score": [4, -1, 2], "judge": "human"}), "1 of 3",
         pd.DataFrame([("elk", "yak", "human", A)], columns=[*T.columns[1:]])),
        (T.drop(columns="winner").assign(score_a=5, score_b=[7, -1] * 6), "6 of 12",
         T[::2].assign(winner=B)),
    ],
)  # fmt: skip
def test_a_score_of_minus_one_is_no_score(table, says, expected):
    mapping = Mapping.propose(table)
    with pytest.warns(DataWarning, match=f"{says} rows hold no verdict"):
        assert applied(table, mapping) == meant(expected)


def test_counts_and_frames_of_other_libraries():
    assert applied(COUNTS, Mapping.propose(COUNTS)) == meant(T)
    polars = pytest.importorskip("polars")
    for frame in (polars.from_pandas(T), polars.from_pandas(T).to_arrow()):
        assert applied(frame, Mapping.propose(frame)) == meant(T)


# --------------------------------------------------------------------- the mapping file
def test_a_mapping_lists_every_column_outcome_and_judge():
    table = named("Model A", "Model B", outcome=words("A", "B", "hm"), tags=1)
    table = table.assign(notes="x" * 300)
    mapping = Mapping.propose(table)
    assert {*mapping.columns} == {*table.columns}
    assert {value: (d.meaning, d.rows) for value, d in mapping.outcomes.items()} == {
        "A": (A, 5), "B": (B, 4), "hm": ("?", 3),
    }  # fmt: skip
    assert {j: d.meaning for j, d in mapping.judges.items()} == {
        "human": "people", "gpt-4": "judge",
    }  # fmt: skip
    parts = mapping.table
    assert len(parts) == 7 + 3 + 2 and parts["reason"].str.len().gt(0).all()
    assert mapping.to_toml().count('"?"') == 2  # one of them in the comment above


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"model_a" = "model_a"', '"model_a" = "modle"', "unknown meaning 'modle'"),
        ('"A" = "model_a"', '"A" = "first"', "unknown meaning 'first'"),
        ('"gpt-4" = "judge"', '"gpt-4" = "robot"', "unknown meaning 'robot'"),
        ('layout = "pairs"', 'layout = "rows"', "'rows' is no layout"),
        ("version = 1", "version = 2", "no mapping of version 1"),
        ("[judges]", "[jugdes]", "unknown sections ['jugdes']"),
        ("version = 1", "version = ", "is no TOML"),
    ],
)
def test_what_a_mapping_may_not_say_is_named(tmp_path, old, new, says):
    mapping = Mapping.propose(named(outcome=words("A", "B", "tie")))
    path = tmp_path / "m.toml"
    path.write_text(mapping.to_toml().replace(old, new))
    with pytest.raises(BattlesError) as caught:
        Mapping.from_toml(path)
    assert says in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (named(extra=1), r"also has \['extra'\]"),
        (named().drop(columns="prompt_id"), r"lacks \['prompt_id'\]"),
        (named(outcome="C"), "outcome 'C' in column 'winner'"),
        (named(outcome="A").replace("gpt-4", "claude"), "the judge 'claude'"),
    ],
)
def test_what_does_not_fit_is_named(other, says):
    mapping = Mapping.propose(named(outcome=words("A", "B", "tie")))
    with pytest.raises(BattlesError, match=says):
        mapping.apply(other)


UNUSED = [
    (T.assign(x=1), {"columns": {"x": "score"}}, "'x' is score"),
    (COUNTS.assign(x=1), {"columns": {"x": "tie"}}, "'x' is tie"),
    (LONG.assign(x=1), {"columns": {"x": "swapped"}}, "'x' is swapped"),
    (RATED.assign(x=1), {"columns": {"x": "rank"}}, "it has scores and ranks"),
    (LONG, {"outcomes": {"True": "its model"}}, "name models; write win or loss"),
]


@pytest.mark.parametrize(("table", "edit", "says"), UNUSED)
def test_a_role_that_its_layout_does_not_use_is_refused(table, edit, says):
    with pytest.raises(BattlesError, match=says):
        Mapping.propose(table).edited(**edit).apply(table)


def test_names_of_winners_are_about_no_order():
    table = T.drop(columns="winner").assign(name_ab=NAME, name_ba=NAME)
    mapping = Mapping.propose(table)
    roles = {"name_ab": "winner", "name_ba": "winner_swapped"}
    assert applied(table, mapping.edited(columns=roles)) == meant(pd.concat([T, T]))
    table = T.assign(winner=NAME, swapped=SWAPPED)
    mapping = Mapping.propose(table).edited(columns={"swapped": "swapped"})
    assert applied(table, mapping) == meant(T)


def test_names_survive_the_file(tmp_path):
    odd = 'a "b" \\ = # [x]\x7f\u2028é\U0001f44d'
    table = named().rename(columns={"prompt_id": odd}).replace("owl", odd)
    table["judge"] = table["judge"].replace("gpt-4", odd + "llm")
    mapping = Mapping.propose(table.assign(winner=NAME.replace("owl", odd)))
    mapping.to_toml(path := tmp_path / "odd.toml")
    columns = ["part", "name", "meaning"]
    again = Mapping.from_toml(path).table[columns]
    pd.testing.assert_frame_equal(again, mapping.table[columns])


def test_an_unclear_mapping_names_its_entries(tmp_path):
    table = named(outcome=words("A", "B", "hm"))
    Mapping.propose(table).to_toml(path := tmp_path / "m.toml")
    mapping = Mapping.from_toml(path)
    with pytest.raises(BattlesError) as caught:
        mapping.apply(table)
    assert f'Change "hm" in [outcomes] of {path}.' in str(caught.value)
    with pytest.raises(BattlesError) as caught:
        mapping.edited(outcomes={"hm": TIE}).apply(table.replace("hm", "um"))
    assert f"add it to [outcomes] of {path}." in str(caught.value)


def test_a_file_of_no_layout_has_a_mapping_to_edit():
    table = named("erstes", "zweites", winner="urteil")
    mapping = Mapping.propose(table)
    assert mapping.layout == "?" and mapping.columns["erstes"].is_open
    roles = {"erstes": A, "zweites": B, "urteil": "winner"}
    mapping = mapping.edited(columns=roles, outcomes={A: A, B: B, TIE: TIE})
    assert applied(table, mapping) == meant(T)


# ------------------------------------------------------------------------ several files
def test_files_name_their_judges_and_are_asked_where_they_do_not(tmp_path):
    votes = T[T["judge"] == "human"].drop(columns="judge")
    verdicts = T[T["judge"] == "gpt-4"].drop(columns="judge")
    human = written(votes, tmp_path / "human.csv")
    gpt = written(verdicts, tmp_path / "gpt-4.jsonl")
    result = read_battles([human, gpt])
    assert meant(result) == meant(T) and {*result["judge"]} == {"human", "gpt-4"}
    (tmp_path / "new").mkdir()
    twin = written(verdicts[1:], tmp_path / "new" / "gpt-4.csv")
    with pytest.raises(BattlesError, match=r"1 thing is unclear \(no column says who"):
        read_battles([human, gpt, twin])
    whole = written(T, tmp_path / "all.csv")
    assert {*read_battles([human, whole])["judge"]} == {"human", "gpt-4"}
    with pytest.raises(BattlesError, match="is given twice"):
        read_battles([human, human])
