"""Files as strangers write them: ranked right, or refused, and never wrongly.

The true order of the models is known and wide: a reading that turns outcomes round, or
loses half of them, shows. Each case says whether its file is ranked at once, after one
argument that a message offers, or only refused. Then every argument that is offered is
followed, three deep, unless it is for a case that the file is not in: none ends in a
wrong order.
"""

import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest

from skanchor._battles.outcomes import Outcomes
from skanchor._cli.fit import load_task
from skanchor.exceptions import BattlesError
from skanchor.reports.overview import overview

FLAGS = ["--set", "cv=2", "--set", "item_effects=none", "--groups", "none", "--json"]
ORDER = ["fox", "owl", "elk", "cat", "new"]
STRENGTH = {"fox": 3.0, "owl": 1.5, "elk": 0.0, "cat": -1.5, "new": -3.0}


def make_truth():
    """Votes and verdicts, in the order shown: ``one`` came first."""
    rng = np.random.default_rng(1)
    rows = []
    for n in range(540):
        who = ("human", "gpt-4", "claude-3")[n % 3]
        models = ORDER[:4] if who == "human" else ORDER
        one, two = rng.choice(models, 2, replace=False)
        chance = 1.0 / (1.0 + np.exp(STRENGTH[two] - STRENGTH[one]))
        won = "tie" if rng.random() < 0.1 else one if rng.random() < chance else two
        rows.append((f"q{n // 3}", one, two, who, won))
    return pd.DataFrame(rows, columns=["q", "one", "two", "who", "won"])


T = make_truth()
HUMAN = T["who"] == "human"
LOST = T["two"].where(T["won"] == T["one"], T["one"]).mask(T["won"] == "tie", "tie")
SWAPPED = pd.Series(np.random.default_rng(2).random(len(T)) < 0.5)
# The columns of models as a file has them whose rows were shown swapped.
A, B = T["one"].mask(SWAPPED, T["two"]), T["two"].mask(SWAPPED, T["one"])
NO_TIES = T["won"] != "tie"


def said(a="A", b="B", tie="tie", first=None, second=None, won=None):
    """Outcomes in words for the first and the second of two columns of models."""
    first = T["one"] if first is None else first
    second = T["two"] if second is None else second
    won = T["won"] if won is None else won
    words = pd.Series(tie, index=T.index, dtype=object)
    return words.mask(won == first, a).mask(won == second, b)


def table(**columns):
    """Table with blanks in place of double underscores of names."""
    return pd.DataFrame({name.replace("__", " "): of for name, of in columns.items()})


def standard(**more):
    columns = {"model_a": T["one"], "model_b": T["two"], "judge": T["who"]}
    return table(**columns, **more)


def csv(frame, start="", sep=",", encoding="utf-8", header=None):
    def write(path):
        text = frame.to_csv(index=False, sep=sep, header=header or True)
        path.write_bytes((start + text).encode(encoding))

    return write


def jsonl(records):
    lines = "\n".join(map(json.dumps, records))
    return lambda path: path.write_text(lines)


def numbers(better):
    """Numbers of either side of which the better model has more, or less."""
    rng = np.random.default_rng(3)
    base = rng.integers(3, 8, len(T))
    gap = said(1, -1, 0).astype(int) * (1 if better == "more" else -1)
    return base + gap, base


def wide(*names):
    """The three outcomes of a row, one of each judge."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(240):
        one, two = rng.choice(ORDER, 2, replace=False)
        chance = 1.0 / (1.0 + np.exp(STRENGTH[two] - STRENGTH[one]))
        votes = np.where(rng.random(3) < chance, "A", "B")
        if "new" in (one, two):
            votes[0] = ""
        rows.append((one, two, *votes))
    return pd.DataFrame(rows, columns=["model_a", "model_b", *names])


def rated():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        [
            (f"p{p}", model, f"w{p}{n}", int(np.clip(np.rint(5 + s + rng.normal()), 1,
                                                     10)))
            for p in range(40)
            for n, (model, s) in enumerate(STRENGTH.items())
        ],
        columns=["prompt", "model", "annotator", "score"],
    )  # fmt: skip


def rankings():
    """Rankings of three models each."""
    rng = np.random.default_rng(6)
    rows = []
    for n in range(300):
        who = ("human", "gpt-4", "claude-3")[n % 3]
        models = rng.choice(ORDER[:4] if who == "human" else ORDER, 3, replace=False)
        liked = {model: STRENGTH[model] + rng.gumbel() for model in models}
        rows.append((f"t{n // 3}", who, ">".join(sorted(models, key=liked.get)[::-1])))
    return pd.DataFrame(rows, columns=["task", "annotator", "ranking"])


def counts(first, second, judge, total, lost, won, tied):
    """Rows of a pair and a judge, with the numbers of outcomes."""
    outcomes = said("won", "lost", "tied")
    found = pd.crosstab([T["one"], T["two"], T["who"]], outcomes).reset_index()
    names = {"one": first, "two": second, "who": judge, "tied": tied}
    found[total] = found[["won", "lost", "tied"]].sum(axis=1)
    return found.rename(columns={**names, "won": won, "lost": lost})


def in_columns(prefix):
    """Ranks of the two models of a row, with a column for each model."""
    rows = [
        {"task": f"t{n}", "assessor": who, prefix + a: one, prefix + b: two}
        for n, (a, b, who, one, two) in enumerate(
            zip(T["one"], T["two"], T["who"], said(1, 2, 1), said(2, 1, 1), strict=True)
        )
    ]
    return pd.DataFrame(rows)


@dataclass
class Case:
    """A file, further arguments, and how it ends."""

    write: object
    paste: str | None = None  # a part of the case whose command is the right one
    refused: str = ""
    says: str = ""  # what a line above the result tells
    more: list = field(default_factory=list)


def once(write, says="", more=()):
    return Case(write, says=says, more=list(more))


def pasted(write, case, more=()):
    return Case(write, paste=case, more=list(more))


def refused(write, words):
    return Case(write, refused=words)


IDS = {"fox": 17, "owl": 4, "elk": 31, "cat": 8, "new": 22}
NAMES = {str(number): model for model, number in IDS.items()}
MORE, LESS = numbers("more"), numbers("less")
SPELLINGS = ["human", "Human", "HUMAN", " human "]
DEGREES = {
    word: pd.Series(np.where(T.index % 3 == 0, f"much {word}", word))
    for word in ("better", "worse")
}
BEST = T["won"].mask(~NO_TIES, T["one"])
RELATION = (
    BEST
    + NO_TIES.map({True: " > ", False: " = "})
    + T["two"].where(BEST == T["one"], T["one"])
)
RANKINGS = rankings()

CASES = {
    # What the order shown does to outcomes.
    "swapped_about_order.csv": pasted(
        csv(table(model_a=A, model_b=B, judge=T["who"], winner=said(),
                  swapped=SWAPPED)), "about the order shown"),
    "swapped_about_columns.csv": pasted(
        csv(table(model_a=A, model_b=B, judge=T["who"],
                  winner=said("model_a", "model_b", first=A, second=B),
                  order_swapped=SWAPPED.map({True: "yes", False: "no"}))),
        "about the columns as they are"),
    "swapped_left_right.csv": pasted(
        csv(table(left=A, right=B, judge=T["who"], winner=said("left", "right"),
                  is_swapped=SWAPPED)), "about the order shown"),
    "flipped_names.csv": once(
        csv(table(model_a=A, model_b=B, judge=T["who"], winner=T["won"],
                  flipped=SWAPPED)), "'flipped' says that 'model_b' was shown first"),
    "orders.csv": pasted(
        csv(table(System__1=A, System__2=B, judge=T["who"],
                  verdict=said("first", "second"),
                  presentation_order=SWAPPED.map({True: "BA", False: "AB"}))),
        "about the order shown"),
    "position.csv": pasted(
        csv(table(model_a=A, model_b=B, judge=T["who"], winner=said(),
                  position=SWAPPED.map({True: "B first", False: "A first"}))),
        "about the order shown"),
    "left_and_right.csv": pasted(
        csv(table(model_a=A, model_b=B, judge=T["who"], winner=said("left", "right"),
                  left_model=T["one"], right_model=T["two"])),
        "about 'left_model' and 'right_model'"),
    "shown_first.csv": once(
        csv(standard(winner=said("model_a", "model_b"), shown_first="model_a"))),
    # Columns of the loser.
    "better_worse.csv": once(
        csv(table(better=T["won"], worse=LOST, judge=T["who"])[NO_TIES]),
        "the winner, 'better', and the loser, 'worse'"),
    "winner_loser.csv": once(
        csv(table(winner=T["one"].where(T["won"] != T["two"], T["two"]),
                  loser=T["two"].where(T["won"] != T["two"], T["one"]),
                  judge=T["who"], tie=~NO_TIES))),
    "chosen_rejected.csv": once(
        csv(table(chosen_model=T["won"], rejected_model=LOST,
                  evaluator=T["who"])[NO_TIES])),
    "preferred_less.csv": once(
        csv(table(preferred=T["won"], less_preferred=LOST, by=T["who"])[NO_TIES])),
    "worse_alone.csv": once(
        csv(standard(worse=said("B", "A"))), "'worse' names the loser of each row"),
    "loser_by_name.csv": once(csv(standard(loser=LOST)), "names of the losing models"),
    "loser_as_winner.csv": pasted(
        csv(standard(loser=said("B", "A"))), "If it names the loser",
        ["--columns", "loser=winner"]),
    "winner_and_loser_beside.csv": once(
        csv(standard(winner=T["won"], loser=LOST)[NO_TIES])),
    "which_is_worse.csv": once(
        csv(standard(which_is_worse=said("B", "A"))), "names the loser of each row"),
    "weaker_model.csv": once(csv(standard(weaker_model=LOST)), "losing models"),
    "runner_up.csv": pasted(
        csv(table(winner=T["won"], runner_up=LOST, judge=T["who"])[NO_TIES]),
        "'winner' won against 'runner_up'"),
    "better_than.csv": pasted(
        csv(table(model=T["won"], better_than=LOST, judge=T["who"])[NO_TIES]),
        "'model' won against 'better_than'"),
    # Ties in a column of their own.
    "is_tie.csv": once(
        csv(standard(winner=said("A", "B", ""), is_tie=~NO_TIES)),
        "'is_tie' says which rows are ties"),
    "draw.csv": once(
        csv(standard(winner=said(1, 0, 1).astype(int),
                     draw=(~NO_TIES).map({True: "yes", False: "no"}))),
        "'draw' says which rows are ties"),
    "one_hot.csv": once(
        csv(standard(winner_model_a=said(1, 0, 0), winner_model_b=said(0, 1, 0),
                     winner_tie=said(0, 0, 1)))),
    # Several outcomes in a row.
    "both_orders.csv": pasted(
        csv(standard(verdict_ab=said(), verdict_ba=said("B", "A"))),
        "are about the order shown"),
    "both_orders_of_columns.csv": pasted(
        csv(standard(verdict_ba=said(), verdict_ab=said())), "as the columns stand"),
    "winners_by_name.csv": once(
        csv(standard(winner_1=T["won"], winner_2=T["won"])), "holds two outcomes"),
    "a_second_one.csv": once(
        csv(standard(winner=said(), winner_ba=said("B", "A"))),
        "'winner_ba' is not read"),
    "wide.csv": once(csv(wide("human", "gpt4", "claude")), "a judge each"),
    "wide_of_both_orders.csv": pasted(
        csv(wide("human", "gpt4_ab", "gpt4_ba")), "If only human, gpt4_ab do"),
    "wide_verdicts.csv": once(
        csv(wide("Human vote", "GPT-4o verdict", "verdict_claude"))),
    "people_and_an_llm.csv": pasted(
        csv(wide("annotator_1", "annotator_2", "gpt4").query(
            "model_a != 'new' and model_b != 'new'")),
        "are people, and the others LLM", ["--no-new"]),
    "zero_and_one_of_judges.csv": pasted(
        csv(wide("human", "gpt4", "claude").replace({"A": 1, "B": 0})),
        "favour 'model_a'"),
    "wide_of_people.csv": pasted(
        csv(wide("vote_ann", "vote_bob", "vote_cem").query(
            "model_a != 'new' and model_b != 'new'")), "votes of a person"),
    # Numbers.
    "shares.csv": once(
        csv(standard(winner=said(1, 0, 1).astype(int))[NO_TIES]),
        "give the levels 0=1,1=0"),
    "index_of_the_winner.csv": once(
        csv(standard(winner=said(0, 1, 1).astype(int))[NO_TIES]), "",
        ["--levels", "0=1,1=0"]),
    "true_and_false.csv": once(
        csv(standard(winner=said(True, False, True).astype(bool))[NO_TIES]),
        "True is 'model_a' won, False is 'model_b' won"),
    "numbered.csv": once(csv(standard(preference=said(1, 2, "tie")))),
    "either_way.csv": pasted(
        csv(standard(label=said(-1, 1, 0))), "favour 'model_b'"),
    "scores.csv": once(
        csv(standard(score_a=MORE[0], score_b=MORE[1])), "the higher one wins"),
    "ranks.csv": once(
        csv(standard(rank_a=LESS[0], rank_b=LESS[1])), "the lower one wins"),
    "percent.csv": once(
        csv(table(Model__A=T["one"], Model__B=T["two"], Judge=T["who"],
                  **{"Win rate A": said("73%", "27%", "50%")})),
        "'Win rate A' is the share of wins of 'Model A'"),
    "grades.csv": once(csv(standard(verdict=said("A>>B", "B>>A", "A=B")))),
    "margin.csv": pasted(
        csv(standard(margin=said(2.3, -1.7, 0))), "favour 'model_a'"),
    "one_zero_tie.csv": pasted(
        csv(standard(winner=said("0", "1", "tie"))), "0 is 'model_a' won"),
    "worse_by_number.csv": pasted(
        csv(standard(worse=said(2, 1, 0))), "1 is 'model_a' lost, 2 is 'model_b' lost"),
    "scores_of_models.csv": once(
        csv(standard(model_a_score=MORE[0], model_b_score=MORE[1])), "the higher one"),
    "votes.csv": pasted(
        csv(standard(votes_a=said(3, 1, 2), votes_b=said(1, 3, 2))),
        "the larger number wins"),
    "b_won.csv": once(
        csv(standard(b_won=said(False, True, False).astype(bool))[NO_TIES]),
        "'b_won' says whether 'model_b' won"),
    "model_b_lost.csv": once(
        csv(standard(model_b_lost=said("yes", "no", "no"))[NO_TIES])),
    "score_of_a_row.csv": pasted(
        csv(standard(score=said(2.5, -1.5, 0))), "favour 'model_a'"),
    # Who decided.
    "kinds_and_names.csv": once(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(),
                  judge_type=HUMAN.map({True: "human", False: "llm"}),
                  judge_name=T["who"].mask(HUMAN, "ann"))),
        "'judge_name' names the judges of the others"),
    "names_of_people_and_llms.csv": pasted(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(),
                  annotator=T["who"].mask(HUMAN, "ann"))), "names judges and people"),
    "is_human.csv": once(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(), is_human=HUMAN)),
        "'is_human' says which rows are people's"),
    "flag_and_names.csv": once(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(),
                  from_human=HUMAN.map({True: "yes", False: "no"}),
                  annotator=T["who"].mask(HUMAN, "ann"))),
        "'annotator' names the judges of the others"),
    "by.csv": once(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(), by=T["who"])),
        "judges are in 'by'"),
    "who_judged.csv": once(
        csv(table(System__A=T["one"], System__B=T["two"], Who__Judged=T["who"],
                  Result=said()))),
    "people.csv": pasted(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said())[HUMAN]),
        "If people gave these"),
    "once_each.csv": pasted(csv(rated()), "may be compared with each other"),
    # Names of the columns of models.
    "opponent.csv": once(
        csv(table(model=T["one"], opponent=T["two"], judge=T["who"],
                  result=said("win", "loss", "draw")))),
    "baseline.csv": once(
        csv(table(model=T["one"], baseline=T["two"], judge=T["who"],
                  outcome=said("win", "lose")))),
    "listed.jsonl": once(jsonl(
        [{"models": [a, b], "judge": who, "winner": won} for a, b, who, won in
         zip(T["one"], T["two"], T["who"], T["won"], strict=True)])),
    "listed_by_place.jsonl": pasted(jsonl(
        [{"models": [a, b], "judge": who, "winner": won} for a, b, who, won in
         zip(T["one"], T["two"], T["who"], map(int, said(0, 1, 0)),
             strict=True)]), "favour 'model_b'"),
    "versus.csv": once(
        csv(table(pair=T["one"] + " vs. " + T["two"], judge=T["who"],
                  winner=T["won"]))),
    # Words that nobody could know.
    "own_words.csv": pasted(
        csv(standard(who_is_it=said("links so", "rechts so"))), "'links so' means"),
    # Names of models.
    "blanks.csv": once(
        csv(standard(winner=said()).assign(
            model_a=T["one"].where(HUMAN, T["one"] + " "))),
        "names that differ in blanks alone are one"),
    "capitals.csv": once(
        csv(standard(winner=said()).assign(
            model_a=T["one"].where(HUMAN, T["one"].str.title()))), "",
        ["--rename-models", "Fox=fox,Owl=owl,Elk=elk,Cat=cat,New=new"]),
    # The file itself.
    "comments.csv": once(
        csv(standard(winner=said()), "# votes, spring\n# by all of us\n")),
    "utf16.txt": once(csv(standard(winner=said()), sep="\t", encoding="utf-16")),
    "excel.csv": once(
        csv(standard(winner=said()).assign(x="", y=""),
            header=["model_a", "model_b", "judge", "winner", "", ""])),
    "nested.jsonl": once(jsonl(
        [{"pair": {"a": a, "b": b}, "judge": {"name": who}, "verdict": won}
         for a, b, who, won in zip(T["one"], T["two"], T["who"], said(),
                                   strict=True)])),
    "counts.tsv": once(
        csv(counts("Model", "Opponent", "Source", "Games", "Losses", "Wins", "Draws")
            .replace({"human": "Human panel"}), sep="\t"),
        "'Wins' and 'Losses' count the comparisons that 'Model' and 'Opponent' won"),
    "counts_by_side.csv": once(
        csv(counts("Model A", "Model B", "judge", "n", "Wins B", "Wins A", "Ties"))),
    "games_not_counted.csv": pasted(
        csv(counts("left", "right", "judge", "games", "losses", "wins", "odd games")),
        "If the other ones are not to count"),
    "slider.csv": pasted(
        csv(table(answer_left_model=T["one"], answer_right_model=T["two"],
                  rater_type=HUMAN.map({True: "crowdworker", False: "llm"}),
                  rater_model=T["who"].mask(HUMAN, ""), slider=said(-2, 3, 0))),
        "larger ones favour 'answer_right_model'"),
    "slider_to_100.csv": pasted(
        csv(table(left=T["one"], right=T["two"], judge=T["who"],
                  slide=said(1, -1, 0).astype(int) * (T.index % 90 + 5))),
        "larger ones favour 'left'"),
    "gb18030.csv": pasted(
        csv(standard(winner=said()).assign(模型甲的评审结果="好"), encoding="gb18030"),
        "模型甲的评审结果"),
    "cp1252.csv": pasted(
        csv(standard(winner=said()).assign(modèle="x"), encoding="cp1252"), "modèle"),
    "utf16_without_mark.csv": once(csv(standard(winner=said()), encoding="utf-16-le")),
    "ids.csv": pasted(
        csv(table(model1_id=T["one"].map(IDS), model2_id=T["two"].map(IDS),
                  judge=T["who"], winner_id=T["won"].map(IDS))),
        "If empty cells are ties"),
    "ids_of_judges.csv": pasted(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(),
                  judge_id=T["who"].map({"human": 0, "gpt-4": 1, "claude-3": 2}))),
        "If '0' in 'judge_id' means people"),
    "worse_of_options.csv": once(
        csv(table(option_1=T["one"], option_2=T["two"], reviewer=T["who"].replace(
            {"human": "volunteer"}), worse_model=LOST.replace({"tie": "neither"})))),
    "baseline_first.csv": pasted(
        csv(table(baseline=T["one"], candidate=T["two"], rater=T["who"],
                  slot_preferred=said("slot 1", "slot 2", "draw"))),
        "'slot_preferred' holds the outcome"),
    "chess.txt": once(
        csv(table(Match=T["one"] + " vs. " + T["two"],
                  Result=said("1-0", "0-1", "½-½"), Arbiter=T["who"]), sep="|")),
    "chosen_index.csv": pasted(
        csv(standard(chosen_index=said("0", "1", ""))), "empty cells are ties"),
    "judges_by_value.csv": pasted(
        csv(table(model_a=T["one"], model_b=T["two"], winner=said(),
                  done__by=T["who"].mask(HUMAN, "u" + (T.index % 9).astype(str)))),
        "'done by' names judges and people"),
    # What cells and rows hold.
    "candidates.jsonl": once(jsonl(
        [{"battle": {"candidates": [{"name": a, "slot": 0}, {"name": b, "slot": 1}]},
          "annotator": {"kind": "person" if who == "human" else "llm", "id": who},
          "outcome": {"verdict": won}}
         for a, b, who, won in zip(T["one"], T["two"], T["who"], said(),
                                   strict=True)])),
    "label_studio.json": pasted(
        lambda path: path.write_text(json.dumps([
            {"data": {"model_left": a, "model_right": b},
             "annotations": [{"completed_by": {"email": who}, "result": [
                 {"type": "choices", "value": {"choices": [won]}}]}]}
            for a, b, who, won in zip(
                T["one"], T["two"], T["who"].mask(HUMAN, "ann@firm.com"),
                said("Left is better", "Right is better", "Same"), strict=True)])),
        "'annotations_completed_by_email' names judges and people"),
    "verdicts_in_texts.jsonl": once(jsonl(
        [{"assistant_a": a, "assistant_b": b, "judge": who,
          "response": f"Both are [fine]. Final verdict: {won}"}
         for a, b, who, won in zip(T["one"], T["two"], T["who"],
                                   said("[[A]]", "[[B]]", "[[C]]"), strict=True)])),
    "two_rows.csv": once(csv(pd.concat([
        table(battle_id=T.index, model=T["one"], shown="first", evaluator=T["who"],
              outcome=said("win", "loss", "draw")),
        table(battle_id=T.index, model=T["two"], shown="second", evaluator=T["who"],
              outcome=said("loss", "win", "draw"))]).sample(frac=1, random_state=0)),
        "each row holds the result of one of two models"),
    "ranks_of_models.csv": pasted(
        csv(in_columns("rank_")), "ranks of a model each, of which 1 is the best"),
    "numbers_of_models.csv": pasted(
        csv(in_columns("")), "ranks of a model each, of which 1 is the best"),
    "decimal_commas.csv": once(
        csv(table(System__1=T["one"], System__2=T["two"],
                  Judge=T["who"],
                  Score__System__1=said("7,5", "6,0", "7,0"),
                  Score__System__2=said("6,5", "7,25", "7,0")), sep=";"),
        "the higher one wins"),
    # Labels of people, kinds of judges, degrees, rankings, wrappers.
    "spellings.csv": once(
        csv(standard(winner=said()).assign(
            judge=T["who"].mask(HUMAN, pd.Series(SPELLINGS * 135)))),
        "'HUMAN', 'Human', 'human' are one label of people"),
    "kinds_in_objects.jsonl": once(jsonl(
        [{"pair": {"model_a": a, "model_b": b}, "judgement": {"winner": won, "by": {
            "type": "human" if who == "human" else "llm",
            "name": "ann" if who == "human" else who}}}
         for a, b, who, won in zip(T["one"], T["two"], T["who"], said(),
                                   strict=True)]),
        "'judgement_by_name' names the judges of the others"),
    "degrees.csv": once(
        csv(table(system_1=T["one"], system_2=T["two"], evaluator=T["who"],
                  system_1_is=said(DEGREES["better"], DEGREES["worse"], "same"))),
        "much better is 1, better is 0.75, same is 0.5"),
    "degrees_of_the_other.csv": once(
        csv(standard(**{"model B is": said("worse", "better", "about equal")}).rename(
            columns={"model B is": "model_b is"})[NO_TIES])),
    "degrees_of_no_side.csv": pasted(
        csv(standard(comparison=said(DEGREES["better"], DEGREES["worse"], "same"))),
        "If 'model_a' is it"),
    "own_degrees.csv": once(
        csv(standard(opinion=said("sure 1st", "sure 2nd", "tie"))), "",
        ["--levels", "sure 1st=1,sure 2nd=0"]),
    "relations.csv": once(
        csv(table(prompt=T["q"], rater=T["who"], result=RELATION)),
        "'result' names the better model first"),
    "relations_beside.csv": once(
        csv(standard(verdict=RELATION)), "A and B being 'model_a' and 'model_b'"),
    "rankings.csv": once(
        csv(RANKINGS), "'ranking' ranks models, of which all pairs are compared"),
    "rankings_in_lists.jsonl": pasted(
        jsonl(RANKINGS.assign(ranking=RANKINGS["ranking"].str.split(">")).to_dict(
            "records")), "If the best model comes first"),
    "wrapped.json": once(lambda path: path.write_text(json.dumps(
        {"exported": "2026-01-02", "comparisons": standard(
            winner=said()).to_dict("records")}))),
    "by_columns.json": once(
        lambda path: standard(winner=said()).to_json(path)),
    "two_lists.json": refused(lambda path: path.write_text(json.dumps(
        {"votes": [{"a": 1}], "verdicts": [{"a": 1}]})), "'votes' (1) and 'verdicts'"),
    # Two faults at once.
    "two_faults.csv": pasted(
        csv(table(model_a=T["one"], model_b=T["two"],
                  annotator=T["who"].mask(HUMAN, "ann"),
                  winner=said("A", "B", "hm"))),
        "If they are ties | If 'annotator' names judges and people"),
    # No battles.
    "leaderboard.csv": refused(
        csv(pd.DataFrame({"model": ORDER, "score": [5, 4, 3, 2, 1]})), "A leaderboard"),
    "responses.jsonl": refused(
        jsonl([{"output_1": "x", "output_2": "y", "label": 1}] * 3),
        "not the models that gave them"),
}  # fmt: skip


def order_of(out):
    """Names of the models in ``--json``, best first."""
    rows = sorted(json.loads(out)["models"], key=lambda row: -row["score"])
    return [NAMES.get(row["model"], row["model"]) for row in rows]


def is_right(out):
    found = order_of(out)
    return found == [model for model in ORDER if model in found] and len(found) > 3


@pytest.mark.parametrize("name", CASES)
def test_it_is_ranked_right_or_refused(run, tmp_path, name):
    case = CASES[name]
    case.write(path := tmp_path / name)
    code, out, err = run("rank", path, *case.more, *FLAGS)
    if case.refused or case.paste is not None:
        # Nothing is ranked before the user has decided.
        assert (code, out) == (2, ""), err
        assert case.refused in err[0]
    if case.paste is not None:
        for part in case.paste.split(" | "):
            offered = [words for said, words in run.offered if part in said]
            assert len(offered) == 1, (err, run.offered)
            code, out, err = run(*offered[0])
    if not case.refused:
        assert code == 0, err
        assert is_right(out), order_of(out)
        assert any(case.says in line for line in err) or not case.says, err


# ------------------------------------------------------------ every command, three deep
class Ranked(Exception):  # noqa: N818 (no error)
    """What a command would rank: the models, best first."""


def rank_roughly(options):
    """Stand in for the fit of ``rank``: admit the rows, and order models by wins."""
    task = load_task(options)
    found = overview(task.X, task.y, None, [] if options.no_new else options.new)
    if found["refusal"] is not None:
        raise BattlesError(found["refusal"])
    a, b = task.X["model_a"].astype(str), task.X["model_b"].astype(str)
    won = Outcomes.encode(task.y, named=True).values
    weight = np.ones(len(won)) if task.weight is None else np.asarray(task.weight)
    models = sorted({*a, *b})
    games = pd.get_dummies(a).reindex(columns=models, fill_value=False).to_numpy(
        float
    ) - pd.get_dummies(b).reindex(columns=models, fill_value=False).to_numpy(float)
    scores = np.linalg.lstsq(games * weight[:, None], (won - 0.5) * weight)[0]
    raise Ranked([NAMES.get(models[at], models[at]) for at in np.argsort(-scores)])


UNTRUE = {
    "swapped_about_order.csv": ("about the columns", "in the order shown already"),
    "swapped_about_columns.csv": ("about the order shown, so",),
    "swapped_left_right.csv": ("about the columns", "in the order shown already"),
    "orders.csv": ("about the columns", "in the order shown already"),
    "position.csv": ("about the columns", "in the order shown already"),
    "left_and_right.csv": ("outcomes are about 'model_a' and 'model_b'",),
    "loser_as_winner.csv": ("If it names the winner",),
    "better_than.csv": ("'better_than' won against 'model'",),
    "both_orders.csv": ("as the columns stand",),
    "both_orders_of_columns.csv": ("are about the order shown",),
    "zero_and_one_of_judges.csv": ("favour 'model_b'",),
    "either_way.csv": ("favour 'model_a'",),
    "margin.csv": ("favour 'model_b'",),
    "score_of_a_row.csv": ("favour 'model_b'",),
    "one_zero_tie.csv": ("1 is 'model_a' won",),
    "worse_by_number.csv": ("2 is a tie",),
    "listed_by_place.jsonl": ("favour 'model_a'",),
    "own_words.csv": ("'rechts so' means",),
    "slider.csv": ("favour 'answer_left_model'",),
    "slider_to_100.csv": ("favour 'right'",),
    "numbers_of_models.csv": ("more is better",),
    "degrees_of_no_side.csv": ("If 'model_b' is it",),
    "rankings_in_lists.jsonl": ("If the worst model comes first",),
}
"""By file, parts of the cases that it is not in."""


def orders_of(run, words, untrue, seen, depth=0):
    """All orders that a command, and those that it prints, end in.

    ``seen`` gains the commands that were run, and the cases of ``untrue`` that occur.
    """
    try:
        run(*words)
    except Ranked as ranked:
        return [(tuple(words), ranked.args[0])]
    found = []
    for said, again in run.offered if depth < 3 else []:
        met = {part for part in untrue if part in said}
        if not met and tuple(again) not in seen:
            found += orders_of(run, again, untrue, seen, depth + 1)
        seen |= {tuple(again), *met}
    return found


OFFERED = [name for name, case in CASES.items() if case.refused or case.paste]
"""Files that are not ranked at once, so that arguments may be offered for them."""


@pytest.mark.parametrize("name", OFFERED)
def test_no_argument_that_is_offered_ends_in_a_wrong_order(
    run, tmp_path, monkeypatch, name
):
    case = CASES[name]
    monkeypatch.setattr("skanchor._cli.rank.fit_rows", rank_roughly)
    case.write(path := tmp_path / name)
    untrue, seen = UNTRUE.get(name, ()), set()
    found = orders_of(run, ["rank", path, *case.more], untrue, seen)
    assert {*untrue} <= seen
    assert bool(found) is not bool(case.refused)
    wrong = [
        (words, order)
        for words, order in found
        if order != [model for model in ORDER if model in order]
    ]
    assert not wrong
