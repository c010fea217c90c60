"""Files of evaluation tools: tables whose columns and outcomes are known.

A row of `TOOLS` says by which columns a tool's files are recognised, and what a
mapping would have to find out: roles of columns, which side a number favours, who is a
person. A function writes in columns what a tool says in other ways, such as the order
in which a judge saw a pair.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError
from skanchor.io._words import (
    ROLES_OF_COLUMNS,
    A,
    B,
    is_failed,
    names_in_role,
    value_key,
)

_ONE_HOT = {"winner_model_a": A, "winner_model_b": B, "winner_tie": "tie"}
_OTHER = {"model_1": "model_2", "model_2": "model_1"}
_PERSON = r"(?:expert|author)_\d+"


# --------------------------------------------------------------------------- functions
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


def _as_it_is(raw: pd.DataFrame) -> pd.DataFrame:
    return raw


def _without_order(raw: pd.DataFrame) -> pd.DataFrame:
    return raw.assign(shown_first=None)


def _one_hot(raw: pd.DataFrame) -> pd.DataFrame:
    """Arena: a column for each outcome."""
    if "winner" in raw:
        return raw
    marks = pd.DataFrame({n: _numbers(raw[n], 0, 1) for n in _ONE_HOT}).fillna(0)
    winner = marks.idxmax(axis=1).map(_ONE_HOT)
    return raw.assign(winner=winner.where(marks.sum(axis=1) == 1))


def _one_judge(raw: pd.DataFrame) -> pd.DataFrame:
    """FastChat: the judge stands in a list, with its prompt."""
    lists = (list, tuple, np.ndarray)
    judges = [cell[0] if isinstance(cell, lists) else cell for cell in raw["judge"]]
    return raw.assign(judge=judges)


def _mt_bench_pairs(raw: pd.DataFrame) -> pd.DataFrame:
    """MT-Bench: winners are models; the second outcome becomes one of the order."""
    one, two = raw["g1_winner"], raw["g2_winner"].replace(_OTHER)
    raw = raw.assign(g1_winner=one.fillna("failed"), g2_winner=two.fillna("failed"))
    return _one_judge(raw)


def _alpaca_eval(raw: pd.DataFrame) -> pd.DataFrame:
    """AlpacaEval: numbers from 1 to 2 become shares; a prompt is named by its text."""
    # Old files write a tie as 0.
    worth = _numbers(raw["preference"], 0, 2).replace(0.0, 1.5) - 1.0
    raw = _without_order(raw).assign(preference=worth)
    if "instruction" not in raw:
        return raw
    # Texts are equal without regard to case and blanks.
    texts = raw["instruction"].astype("str").str.casefold().str.split()
    return raw.assign(prompt_id=texts.map(_digest, na_action="ignore"))


def _digest(text: list[str]) -> str:
    """Short hash of the words of a text."""
    key = " ".join(text).encode()
    return hashlib.sha1(key, usedforsecurity=False).hexdigest()[:16]


def _arena_hard(raw: pd.DataFrame) -> pd.DataFrame:
    """Arena-Hard: the scores of both games."""
    games = [[*(() if cell is None else cell), None, None][:2] for cell in raw["games"]]
    scores = [
        [game.get("score") if isinstance(game, dict) else None for game in both]
        for both in games
    ]
    frame = pd.DataFrame(scores, raw.index, ["game_1", "game_2"], dtype=object)
    return raw.assign(**frame.fillna("failed"))


def _wildbench(raw: pd.DataFrame) -> pd.DataFrame:
    """WildBench: the name of the winner and how clearly it won become a grade."""
    one, two, won = (raw[n].astype("str") for n in ("model_A", "model_B", "winner"))
    side = pd.Series(np.select([won == one, won == two], ["A", "B"], ""), raw.index)
    grade = side + _numbers(raw["extent"], 0, 2).map({1.0: "+", 2.0: "++"})
    raw = raw.assign(winner=won.mask(side != "", grade), shown_first=None)
    if "assignment" in raw:
        cells = [cell if isinstance(cell, dict) else {} for cell in raw["assignment"]]
        first = pd.Series([cell.get("A") for cell in cells], raw.index)
        shown = raw["shown_first"].mask(first == one, A).mask(first == two, B)
        raw = raw.assign(shown_first=shown)
    return raw


def _judge_arena(raw: pd.DataFrame) -> pd.DataFrame:
    """JudgeArena: models are named in the order shown."""
    prompt = "question_id" if "question_id" in raw else "instruction_index"
    by = [name for name in (prompt, "judge", "turn") if name in raw]
    rows = raw[[*by, "model_A", "model_B"]].itertuples(index=False, name=None)
    shown = set() if "swapped" in raw else {*rows}
    if any((*at, second, first) in shown for *at, first, second in shown):
        raise BattlesError(
            "shows models in both orders, and no column 'swapped' tells which "
            "rows hold preferences about the other order; add it."
        )
    return raw.assign(shown_first=A)


# ------------------------------------------------------------------------------- table
@dataclass(frozen=True)
class Tool:
    """A tool: its files, columns that only they have, and what is known about them.

    Attributes
    ----------
    marks : tuple of set of str
        Columns by which its files are recognised, all of one set.
    roles : str
        ``role=column``, where names are not the standard ones; a bar is "or".
    ignored : str
        Columns that say no more beside those that have roles.
    people : str
        Pattern of the labels of people; all others are judges.
    judges : str
        Pattern of all labels of judges, where marks are not enough.
    share : str
        What numbers among the outcomes are.
    prepared : callable
        Makes columns of what the tool says in other ways.
    """

    name: str
    files: str
    marks: tuple[frozenset[str], ...]
    knows: str
    roles: str = ""
    ignored: str = ""
    people: str = "human"
    judges: str = ""
    share: str = "share"
    prepared: Callable[[pd.DataFrame], pd.DataFrame] = _as_it_is

    @property
    def is_of_people(self) -> bool:
        """Whether all rows are people's."""
        return not self.people

    def roles_in(self, frame: pd.DataFrame) -> dict[str, str]:
        """Role of each column of a prepared table.

        Columns whose names end in a side would become features, and are left out.
        """
        roles: dict[str, str] = {}
        for pair in self.roles.split():
            role, _, names = pair.partition("=")
            # A column that has a standard name already is that column.
            present = [name for name in names.split("|") if name in frame]
            if role not in frame or names == role:
                roles |= {name: role for name in present[:1]}
        for name in frame.columns.difference([*roles], sort=False):
            is_side = (
                name.lower().endswith(("_a", "_b")) or name in self.ignored.split()
            )
            is_text = name in ("response_a", "response_b")
            roles[name] = "ignored" if is_side and not is_text else "keep"
            if name in _STANDARD:
                roles[name] = name
        return {name: role if role in ROLES_OF_COLUMNS else f"keep as {role}"
                for name, role in roles.items()}  # fmt: skip

    def marks_in(self, raw: pd.DataFrame) -> frozenset[str]:
        """The marks of the tool that a table has; none if another one wrote it."""
        names = {*raw.columns}
        fitting = [marks for marks in self.marks if marks <= names]
        marks = max(fitting, key=len, default=frozenset())
        if marks and self.judges:
            fits = bool(raw["judge"].map(str).str.match(self.judges).all())
        else:
            # Where all rows are people's, no other column says who decided.
            fits = not (self.is_of_people and names_in_role(names - marks, "judge"))
        return marks if fits else frozenset()

    def is_person(self, label: str) -> bool:
        """Whether a label of a judge means people."""
        return self.is_of_people or bool(re.fullmatch(self.people, label))


_STANDARD = ("model_a", "model_b", "winner", "judge", "rater", "prompt_id",
             "shown_first")  # fmt: skip
STANDARD = Tool("table", "", (), "")
"""A table that has standard names and outcomes already."""


def _tool(name: str, files: str, marks: str, knows: str, **more: Any) -> Tool:
    """Row of the table; alternative marks are separated by a bar."""
    sets = tuple(frozenset(part.split()) for part in marks.split("|"))
    return Tool(name, files, sets, knows, **more)


TOOLS = (
    _tool("fastchat", "FastChat `clean_battle_conv_*.json` "
          "(`chatbot_arena_conversations`, 33k)",
          "question_id winner judge model_a model_b",
          "All rows are people's; `judge` is the rater.",
          roles="prompt_id=question_id rater=judge", people="", judges="arena_user"),
    _tool("arena_55k", "`arena-human-preference-55k`, `train.csv` of Kaggle",
          "winner_model_a winner_model_b winner_tie id prompt",
          "All rows are people's; 'both bad' is among the ties.",
          roles="prompt_id=id", ignored="winner_tie", people="", prepared=_one_hot),
    _tool("arena_100k", "`arena-human-preference-100k`",
          "judge_hash winner model_a model_b",
          "All rows are people's; `judge_hash` is the rater.",
          roles="prompt_id=question_id rater=judge_hash", people=""),
    _tool("arena_140k", "`arena-human-preference-140k`, `arena-expert-5k`",
          "evaluation_session_id winner model_a model_b id|"
          "occupational_tags winner model_a model_b id",
          "All rows are people's; a session is one rater's.",
          roles="prompt_id=id rater=evaluation_session_id", people=""),
    _tool("comparia", "ComparIA votes", "model_a_name chosen_model_name both_equal",
          "All rows are people's; a vote for neither model that is no tie has failed.",
          roles="prompt_id=conversation_pair_id rater=visitor_id model_a=model_a_name "
          "model_b=model_b_name winner=chosen_model_name tie=both_equal", people=""),
    _tool("mt_bench", "`mt_bench_human_judgments`, both splits",
          "question_id turn winner judge model_a model_b",
          "`expert_` and `author_` are people; a judge's flip is a tie; the order "
          "shown is unknown.",
          roles="prompt_id=question_id", people=_PERSON,
          judges=rf"{_PERSON}$|gpt[\w.-]*_pair$", prepared=_without_order),
    _tool("mt_bench_pairs", "FastChat `<judge>_pair.jsonl`",
          "g1_winner g2_winner model_1 model_2",
          "Game 1 showed `model_1` first, game 2 `model_2`; winners are models.",
          roles="prompt_id=question_id model_a=model_1 model_b=model_2 "
          "winner=g1_winner winner_swapped=g2_winner",
          ignored="g1_judgment g2_judgment", prepared=_mt_bench_pairs),
    _tool("mt_bench_scores", "FastChat `<judge>_single.jsonl`",
          "question_id model score judge judgment",
          "-1 has failed; a higher score is better; equal ones are ties.",
          roles="prompt_id=question_id model=model score=score", prepared=_one_judge),
    _tool("alpaca_eval", "AlpacaEval `annotations.json`",
          "generator_1 generator_2 preference",
          "1 is `output_1`, 2 is `output_2`, 0 is a tie of old files; the order shown "
          "was not saved.",
          roles="model_a=generator_1 model_b=generator_2 judge=annotator "
          "winner=preference prompt=instruction response_a=output_1 "
          "response_b=output_2", share="share of model_b", prepared=_alpaca_eval),
    _tool("arena_hard", "Arena-Hard-Auto 0.1 and 2", "games model baseline",
          "Game 1 shows the baseline as A, game 2 the model; `>>` is a grade.",
          roles="prompt_id=uid|question_id model_a=model model_b=baseline "
          "winner_swapped=game_1 winner=game_2", ignored="games", prepared=_arena_hard),
    _tool("wildbench", "WildBench pairwise v2",
          "extent model_A model_B winner session_id",
          "`winner` is a model's name, `extent` how clearly it won.",
          roles="prompt_id=session_id model_a=model_A model_b=model_B",
          ignored="extent", prepared=_wildbench),
    _tool("judge_arena", "JudgeArena `*-annotations.csv`",
          "model_A model_B judge_completion pref|"
          "model_A model_B judge_completion preference|"
          "model_A model_B swapped preference",
          "0 is A, 1 is B; in rows marked `swapped` preferences are about the other "
          "order.",
          roles="prompt_id=question_id|instruction_index model_a=model_A "
          "model_b=model_B winner=preference|pref swapped=swapped "
          "response_a=completion_A response_b=completion_B", ignored="judge_completion",
          share="share of model_b", prepared=_judge_arena),
)  # fmt: skip
"""Tools whose files are read; all others are tables whose columns are looked up."""


def tool_of(raw: pd.DataFrame, name: str = "auto") -> Tool | None:
    """The tool that wrote a table, by its name or its columns; None for a plain one."""
    tools = {tool.name: tool for tool in TOOLS}
    if name == "auto":
        signs = {tool.name: tool.marks_in(raw) for tool in TOOLS}
        # Marks that are some of another tool's are not this tool's.
        fitting = [
            tool
            for tool, marks in signs.items()
            if marks and not any(marks < more for more in signs.values())
        ]
        if len(fitting) > 1:
            raise BattlesError(
                f"looks like files of {', '.join(fitting)}; say which with format "
                "(--from)."
            )
        name = fitting[0] if fitting else "table"
    tool = tools.get(name.strip().casefold().replace("-", "_"))
    if name == "table":
        return None
    if tool is None:
        raise BattlesError(
            f"Unknown format {name!r}; the formats are auto, table, {', '.join(tools)}."
        )
    lacking = min((marks - {*raw.columns} for marks in tool.marks), key=len)
    if lacking:
        raise BattlesError(f"is no file of {tool.name!r}: it lacks {sorted(lacking)}.")
    return tool
