"""Files of evaluation tools, recognised by their columns, become standard tables.

A row of `TOOLS` says by which columns a tool's files are known, and what is known about
them: which side a number favours, who is a person, in which order a judge saw a pair.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io import _words as words
from skanchor.io._words import BAD, TIE, A, B, is_failed, outcome_of, value_key
from skanchor.warning_log import warn

_READ = frozenset(
    "preference pref swapped extent both_equal chosen_model_name winner_tie g1_winner "
    "g2_winner g1_judgment g2_judgment judge_completion".split()
)
"""Columns of outcomes, orders and reasons, which say no more once a file is read."""

_VOTES = {A: A, B: B, "tie": TIE, "tie (bothbad)": BAD, BAD: BAD}
_ONE_HOT = {"winner_model_a": A, "winner_model_b": B, "winner_tie": TIE}
_PERSON = r"(?:expert|author)_\d+$"


Games = list[dict[str, Any]]
"""What is made of each row: columns of one comparison, or of two games."""


# ------------------------------------------------------------------------------- cells
def _labels(column: pd.Series, meanings: Dict[str, Any]) -> pd.Series:
    """Outcomes by the labels of a tool; null where there is no verdict."""
    keys = {label: value_key(label).casefold() for label in column.unique()}
    for label, key in keys.items():
        if key not in meanings and not is_failed(label):
            raise BattlesError(
                f"holds {label!r} in column {column.name!r}, which this tool does not "
                f"write; it writes {sorted(meanings)}."
            )
    return column.astype(object).map(keys).map(meanings)


def _numbers(column: pd.Series, low: float, high: float) -> pd.Series:
    """Numbers of a column within limits; NaN where there is no verdict."""
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    odd = ~numbers.between(low, high) & ~(numbers.isna() & column.map(is_failed))
    if odd.any():
        raise BattlesError(
            f"holds {value_key(column[odd].iloc[0])} in column {column.name!r}, which "
            f"goes from {low:g} to {high:g} in files of this tool."
        )
    return numbers


def _flags(column: pd.Series) -> pd.Series:
    """Which cells of a column of yes and no, or of 1 and 0, say yes."""
    return column.map(value_key).str.casefold().isin(["true", "1"])


def _first(cell: Any) -> Any:
    """Judge of a cell that is a name, or a list of a name and a prompt."""
    return cell[0] if isinstance(cell, (list, tuple, np.ndarray)) else cell


# --------------------------------------------------------------------------- functions
def _votes(raw: pd.DataFrame) -> Games:
    """Arena: votes of people."""
    winner = _labels(raw["winner"], _VOTES)
    return [{"winner": winner, "both_bad": winner == BAD}]


def _one_hot(raw: pd.DataFrame) -> Games:
    """Arena: a column for each outcome."""
    if "winner" in raw:
        return _votes(raw)
    marks = pd.DataFrame({n: _numbers(raw[n], 0, 1) for n in _ONE_HOT}).fillna(0)
    winner = marks.idxmax(axis=1).map(_ONE_HOT)
    return [{"winner": winner.where(marks.sum(axis=1) == 1)}]


def _comparia(raw: pd.DataFrame) -> Games:
    """ComparIA: the name of the chosen model, or a flag of ties."""
    names = ("chosen_model_name", "model_a_name", "model_b_name")
    chosen, one, two = (raw[name].astype("str") for name in names)
    won = [_flags(raw["both_equal"]), chosen == one, chosen == two]
    winner = pd.Series(np.select(won, [TIE, A, B], ""), raw.index)
    return [{"winner": winner.mask(winner == "")}]


def _mt_bench(raw: pd.DataFrame) -> Games:
    """MT-Bench: people and a judge whose verdict covers both orders."""
    judge, flips = raw["judge"], ("tie (inconsistent)", "inconsistent")
    is_person = judge.astype("str").str.match(_PERSON)
    winner = _labels(raw["winner"], {**_VOTES, **dict.fromkeys(flips, TIE)})
    made = {"judge": judge.mask(is_person, "human"), "winner": winner}
    raters = {"rater": judge.where(is_person)} if is_person.any() else {}
    return [{**made, **raters, "shown_first": None}]


def _mt_bench_pairs(raw: pd.DataFrame) -> Games:
    """MT-Bench: two games; winners are models, so that game 2 needs no mirroring."""
    judge, labels = raw["judge"].map(_first), {"model_1": A, "model_2": B, "tie": TIE}
    one, two = (_labels(raw[f"{game}_winner"], labels) for game in ("g1", "g2"))
    return [{"judge": judge, "winner": one, "shown_first": A},
            {"judge": judge, "winner": two, "shown_first": B}]  # fmt: skip


def _mt_bench_scores(raw: pd.DataFrame) -> Games:
    """MT-Bench: points of single answers, by a judge with the name of its prompt."""
    return [{"judge": raw["judge"].map(_first)}]


def _alpaca_eval(raw: pd.DataFrame) -> Games:
    """AlpacaEval: numbers from 1 to 2, of which larger ones favour the second."""
    # Old files write a tie as 0.
    worth = _numbers(raw["preference"], 0, 2).replace(0.0, 1.5)
    made = {"winner": 2.0 - worth, "shown_first": None}
    if "instruction" in raw:
        # A prompt is named by its text, without regard to case and blanks.
        texts = raw["instruction"].astype("str").str.casefold().str.split()
        made["prompt_id"] = texts.map(_digest, na_action="ignore")
    return [made]


def _digest(text: list[str]) -> str:
    """Short hash of the words of a text."""
    key = " ".join(text).encode()
    return hashlib.sha1(key, usedforsecurity=False).hexdigest()[:16]


def _judge_arena(raw: pd.DataFrame) -> Games:
    """JudgeArena: numbers from 0 to 1, of which larger ones favour the second."""
    column = "preference" if "preference" in raw else "pref"
    worth = 1.0 - _numbers(raw[column], 0, 1)
    if "swapped" in raw:
        # Models are named in the order shown, preferences are about the first order.
        worth = worth.mask(_flags(raw["swapped"]), 1.0 - worth)
    else:
        prompt = "question_id" if "question_id" in raw else "instruction_index"
        by = [n for n in (prompt, "judge", "turn") if n in raw]
        rows = raw[[*by, "model_A", "model_B"]].itertuples(index=False, name=None)
        shown = {*rows}
        if any((*at, second, first) in shown for *at, first, second in shown):
            raise BattlesError(
                "shows models in both orders, and no column 'swapped' tells which "
                "rows hold preferences about the other order; add it."
            )
    return [{"winner": worth, "shown_first": A}]


def _arena_hard(raw: pd.DataFrame) -> Games:
    """Arena-Hard: game 0 shows the baseline as A, game 1 the model."""
    grades = np.array([
        [_grade(game) for game in [*(() if games is None else games), None, None][:2]]
        for games in raw["games"]
    ])  # fmt: skip
    return [{"winner": 1.0 - grades[:, 0], "shown_first": B},
            {"winner": grades[:, 1], "shown_first": A}]  # fmt: skip


def _grade(game: Any) -> float:
    """Preference for A that a graded game means; NaN if it holds no verdict."""
    score = game.get("score") if isinstance(game, dict) else None
    meaning = outcome_of(score) if isinstance(score, str) else None
    if meaning is None or meaning[0] in (words.FAILED, words.UNCLEAR):
        return np.nan
    return float({A: 0.75, B: 0.25, TIE: 0.5, BAD: 0.5}.get(meaning[0], meaning[0]))


def _wildbench(raw: pd.DataFrame) -> Games:
    """WildBench: the name of the winner, and how clearly it won."""
    one, two, won = (raw[n].astype("str") for n in ("model_A", "model_B", "winner"))
    has_failed = won.map(is_failed)
    is_tie = won.map(lambda name: (outcome_of(name) or (0,))[0] == TIE)
    odd = ~((won == one) | (won == two) | is_tie | has_failed)
    if odd.any():
        row = int(np.argmax(odd))
        raise BattlesError(
            f"holds the winner {won[row]!r}, which is none of {(one[row], two[row])}."
        )
    gain = _numbers(raw["extent"], 0, 2).map({1.0: 0.25, 2.0: 0.5})
    worth = (0.5 + gain).where(won == one, 0.5 - gain).mask(is_tie, 0.5)
    shown = pd.Series(None, raw.index, dtype=object)
    if "assignment" in raw:
        sides = [cell if isinstance(cell, dict) else {} for cell in raw["assignment"]]
        first = pd.Series([side.get("A") for side in sides], raw.index)
        shown = shown.mask(first == one, A).mask(first == two, B)
    return [{"winner": worth.mask(has_failed), "shown_first": shown}]


# ------------------------------------------------------------------------------- table
@dataclass(frozen=True)
class Tool:
    """A tool: its files, columns that only they have, and what is known about them."""

    name: str
    files: str
    marks: tuple[frozenset[str], ...]
    knows: str
    names: str  # columns by their standard names; a bar is "or"
    made: Callable[[pd.DataFrame], Games]
    who: str = "judge"  # who decided where no column says so
    judges: str = ""  # a pattern that all labels of judges have

    def read(self, raw: pd.DataFrame) -> pd.DataFrame:
        """Standard columns beside the other ones, with two games one below the other.

        Other columns whose names end in a side would become features, and are left out.
        """
        columns: dict[str, Any] = {}
        pairs = {n for n in raw.columns if n.lower().endswith(("_a", "_b"))}
        used = {*_READ, *pairs} - {A, B, "response_a", "response_b"}
        for pair in self.names.split():
            new, _, olds = pair.partition("=")
            for old in [name for name in olds.split("|") if name in raw][:1]:
                columns[new] = raw[old]
                used.add(old)
        people = {"judge": "human"} if self.who == "people" else {}
        games = []
        for made in self.made(raw):
            # A column that has a standard name already is that column.
            others = raw.drop(columns={*used, *people, *made} & {*raw})
            cells = {**columns, **people, **made, **others}
            games.append(pd.DataFrame(cells, index=raw.index))
        return pd.concat(games).sort_index(kind="stable").reset_index(drop=True)

    def marks_in(self, raw: pd.DataFrame) -> frozenset[str]:
        """The marks of the tool that a table has; none if another one wrote it."""
        names = {*raw.columns}
        fitting = [marks for marks in self.marks if marks <= names]
        marks = max(fitting, key=len, default=frozenset())
        if marks and self.judges:
            fits = bool(raw["judge"].map(str).str.match(self.judges).all())
        else:
            # Where all rows are people's, no other column says who decided.
            others = words.names_in_role(names - marks, "judge")
            fits = self.who != "people" or not others
        return marks if fits else frozenset()


def _tool(name: str, files: str, marks: str, knows: str, *more: Any) -> Tool:
    """Row of the table; alternative marks are separated by a bar."""
    sets = tuple(frozenset(part.split()) for part in marks.split("|"))
    return Tool(name, files, sets, knows, *more)


TOOLS = (
    _tool("fastchat", "FastChat `clean_battle_conv_*.json` "
          "(`chatbot_arena_conversations`, 33k)",
          "question_id winner judge model_a model_b",
          "All rows are people's; `judge` is the rater.",
          "prompt_id=question_id rater=judge", _votes, "people", r"arena_user"),
    _tool("arena_55k", "`arena-human-preference-55k`, `train.csv` of Kaggle",
          "winner_model_a winner_model_b winner_tie id prompt",
          "All rows are people's; 'both bad' is among the ties.",
          "prompt_id=id", _one_hot, "people"),
    _tool("arena_100k", "`arena-human-preference-100k`",
          "judge_hash winner model_a model_b",
          "All rows are people's; `judge_hash` is the rater.",
          "prompt_id=question_id rater=judge_hash judge_hash=judge_hash", _votes,
          "people"),
    _tool("arena_140k", "`arena-human-preference-140k`, `arena-expert-5k`",
          "evaluation_session_id winner model_a model_b id|"
          "occupational_tags winner model_a model_b id",
          "All rows are people's; a session is one rater's.",
          "prompt_id=id rater=evaluation_session_id "
          "evaluation_session_id=evaluation_session_id", _votes, "people"),
    _tool("comparia", "ComparIA votes", "model_a_name chosen_model_name both_equal",
          "All rows are people's; a vote for neither model that is no tie has failed.",
          "prompt_id=conversation_pair_id rater=visitor_id model_a=model_a_name "
          "model_b=model_b_name", _comparia, "people"),
    _tool("mt_bench", "`mt_bench_human_judgments`, both splits",
          "question_id turn winner judge model_a model_b",
          "`expert_` and `author_` are people; a judge's flip is a tie; the order "
          "shown is unknown.",
          "prompt_id=question_id", _mt_bench, "judge", rf"{_PERSON}|gpt[\w.-]*_pair$"),
    _tool("mt_bench_pairs", "FastChat `<judge>_pair.jsonl`",
          "g1_winner g2_winner model_1 model_2",
          "Game 1 showed `model_1` first, game 2 `model_2`; winners are models.",
          "prompt_id=question_id model_a=model_1 model_b=model_2", _mt_bench_pairs),
    _tool("mt_bench_scores", "FastChat `<judge>_single.jsonl`",
          "question_id model score judge judgment",
          "-1 has failed; a higher score is better; equal ones are ties.",
          "", _mt_bench_scores),
    _tool("alpaca_eval", "AlpacaEval `annotations.json`",
          "generator_1 generator_2 preference",
          "1 is `output_1`, 2 is `output_2`, 0 is a tie of old files; the order shown "
          "was not saved.",
          "model_a=generator_1 model_b=generator_2 judge=annotator prompt=instruction "
          "response_a=output_1 response_b=output_2", _alpaca_eval),
    _tool("arena_hard", "Arena-Hard-Auto 0.1 and 2", "games model baseline",
          "Game 1 shows the baseline as A, game 2 the model; `>>` is a grade.",
          "prompt_id=uid|question_id model_a=model model_b=baseline", _arena_hard),
    _tool("wildbench", "WildBench pairwise v2",
          "extent model_A model_B winner session_id",
          "`winner` is a model's name, `extent` how clearly it won.",
          "prompt_id=session_id model_a=model_A model_b=model_B", _wildbench),
    _tool("judge_arena", "JudgeArena `*-annotations.csv`",
          "model_A model_B judge_completion pref|"
          "model_A model_B judge_completion preference|"
          "model_A model_B swapped preference",
          "0 is A, 1 is B; in rows marked `swapped` preferences are about the other "
          "order.",
          "prompt_id=question_id|instruction_index model_a=model_A model_b=model_B "
          "response_a=completion_A response_b=completion_B", _judge_arena),
)  # fmt: skip
"""Tools whose files are read; all others are tables whose columns are looked up."""


def tool_of(raw: pd.DataFrame, name: str = "auto") -> Tool | None:
    """The tool that wrote a table, by its name or its columns; None for a plain one."""
    tools = {tool.name: tool for tool in TOOLS}
    if name not in ("auto", "table"):
        tool = tools.get(name.strip().casefold().replace("-", "_"))
        if tool is None:
            raise BattlesError(
                f"Unknown format {name!r}; the formats are auto, table, "
                f"{', '.join(tools)}."
            )
        lacking = min((marks - {*raw.columns} for marks in tool.marks), key=len)
        if lacking:
            raise BattlesError(
                f"is no file of {tool.name!r}: it lacks {sorted(lacking)}."
            )
        return tool
    marks = {tool: tool.marks_in(raw) for tool in TOOLS if name == "auto"}
    # Marks that are some of another tool's are not this tool's.
    fitting = [tool for tool, its in marks.items()
               if its and not any(its < more for more in marks.values())]  # fmt: skip
    if len(fitting) > 1:
        listed = ", ".join(tool.name for tool in fitting)
        raise BattlesError(
            f"looks like files of {listed}; say which with format (--from)."
        )
    return fitting[0] if fitting else None


# ---------------------------------------------------------------------- pairs and rows
def paired(rated: pd.DataFrame, where: str) -> pd.DataFrame:
    """All pairs of responses to a prompt that one judge has rated.

    Each row of ``rated`` is a rating, with ``model``, ``score`` (a larger one is
    better), ``prompt_id`` and, if known, who rated.
    """
    rated = rated.dropna(subset=["score"])
    rated = rated.assign(at=np.arange(len(rated)))
    keys = [n for n in ("prompt_id", "judge", "rater", "turn") if n in rated]
    sides = ["model", "score", "at", *(n for n in ("response", "output") if n in rated)]
    pairs = rated.merge(rated[[*keys, *sides]], on=keys, suffixes=("_a", "_b"))
    once = (pairs["at_a"] < pairs["at_b"]) & (pairs["model_a"] != pairs["model_b"])
    pairs = pairs[once]
    if not len(pairs):
        raise BattlesError(
            f"{where}: no two ratings can be compared: none are of two models by the "
            f"same {' and '.join(keys)}."
        )
    n_lone = len(rated) - len({*pairs["at_a"], *pairs["at_b"]})
    if n_lone:
        text = f"{where}: {n_lone} of {len(rated)} ratings are compared with no other."
        warn(DataWarning(text, code="lone-ratings"), stacklevel=5)
    gap = pairs["score_a"] - pairs["score_b"]
    won = np.select([gap > 0, gap < 0], [A, B], TIE)
    pairs = pairs.drop(columns=["at_a", "at_b", "score_a", "score_b"])
    return pairs.assign(winner=won, shown_first=None).reset_index(drop=True)


def without_minus_one(score: pd.Series) -> pd.Series:
    """Scores without -1, which marks a failed verdict where none other is negative."""
    failed = score == -1.0
    return score.mask(failed) if (score[~failed].dropna() >= 0.0).all() else score


def without_failures(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Leave out rows without a verdict, and count them by judge and model."""
    failed = table["winner" if "winner" in table else "score"].isna()
    if not failed.any():
        return table
    if failed.all():
        raise BattlesError(f"none of its {len(table)} rows holds a verdict.")
    lost = table[failed]
    names = [name for name in ("model_a", "model_b", "model") if name in lost]
    models = [model for name in names for model in lost[name]]
    judges = [*lost.get("judge", ())]
    counts = []
    for what, labels in (("judge", judges), ("model", models)):
        most = [f"{label!r} {n}" for label, n in Counter(labels).most_common(5)]
        counts += [f"by {what} {', '.join(most)}"] if most else []
    text = (
        f"{where}: {len(lost)} of {len(table)} rows hold no verdict and are left out: "
        f"{'; '.join(counts)}."
    )
    subject = dict.fromkeys([*judges, *models])
    warn(DataWarning(text, code="failed-verdicts", subject=subject), stacklevel=5)
    return table[~failed].reset_index(drop=True)
