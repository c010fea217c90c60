"""Files of evaluation tools, recognised by their columns, become standard tables.

A row of `TOOLS` says by which columns a tool's files are known, and what is known about
them: which side a number favours, who is a person, in which order a judge saw a pair.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from skanchor.exceptions import BattlesError, DataWarning
from skanchor.io._ratings import paired
from skanchor.io._words import BAD, FAILED, TIE, A, B, outcome_of, value_key
from skanchor.warning_log import warn

_HUMAN = "human"


# ------------------------------------------------------------------------------- cells
def _standard(
    raw: pd.DataFrame, names: Mapping[str, str], used: Iterable[str] = (), **made: Any
) -> pd.DataFrame:
    """Standard columns, and the plain ones of a file that have not been used.

    Columns whose names end in a side would become features, and are left out.
    """
    known = {"model_a": "model_a", "model_b": "model_b", "judge": "judge", **names}
    found = {n: raw[old] for n, old in known.items() if old in raw and n not in made}
    done = {*known.values(), *used, *made}
    rest = {
        name: raw[name]
        for name in raw.columns
        if name not in done and not str(name).lower().endswith(("_a", "_b"))
    }
    return pd.DataFrame({**found, **made, **rest}, index=raw.index)


def _labels(column: pd.Series, meanings: Mapping[str, Any]) -> pd.Series:
    """Outcomes by the labels of a tool; null where there is no verdict."""
    codes, found = pd.factorize(column)
    meant = []
    for value in found:
        known = outcome_of(value)
        key = value_key(value).strip().casefold()
        if key not in meanings and not (known and known[0] == FAILED):
            raise BattlesError(
                f"holds {value!r} in column {column.name!r}, which this tool does not "
                f"write; it writes {sorted(meanings)}."
            )
        meant.append(meanings.get(key))
    # The last value, None, is that of empty cells, whose code is -1.
    values = np.array([*meant, None], dtype=object)
    return pd.Series(values[codes], index=column.index, name="winner")


def _numbers(column: pd.Series, low: float, high: float) -> pd.Series:
    """Numbers of a column within limits; NaN where there is no verdict."""
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    failed = column.map(lambda cell: (outcome_of(cell) or (0,))[0] == FAILED)
    odd = ~numbers.between(low, high) & ~(numbers.isna() & (failed | column.isna()))
    if odd.any():
        raise BattlesError(
            f"holds {value_key(column[odd].iloc[0])} in column {column.name!r}, which "
            f"goes from {low:g} to {high:g} in files of this tool."
        )
    return numbers


def grade(verdict: Any, mirrored: bool = False) -> float | None:
    """Preference for A that a graded verdict means; None if it is no verdict."""
    known = outcome_of(verdict) if isinstance(verdict, str) else None
    if known is None or known[0] == FAILED:
        return None
    value = {A: 0.75, B: 0.25, TIE: 0.5, BAD: 0.5}.get(known[0], known[0])
    return 1.0 - value if mirrored else value


def _first(cell: Any) -> Any:
    """Judge of a cell that is a name, or a list of a name and a prompt."""
    return cell[0] if isinstance(cell, (list, tuple, np.ndarray)) else cell


def _spoken(conversation: Any, role: str, turns: Any = None) -> str | None:
    """Text of one role in a conversation: messages, texts, JSON of them, or text."""
    if isinstance(conversation, str) and conversation.lstrip().startswith("["):
        try:
            conversation = json.loads(conversation)
        except ValueError:
            return conversation
    if not isinstance(conversation, (list, tuple, np.ndarray)):
        return conversation if isinstance(conversation, str) else None
    texts = []
    for message in conversation:
        if isinstance(message, dict):
            if message.get("role") != role:
                continue
            content = message.get("content")
            if isinstance(content, (list, np.ndarray)):
                parts = (p.get("text") for p in content if isinstance(p, dict))
                content = "\n".join(part for part in parts if part)
            texts.append(content or "")
        elif message is not None:
            texts.append(str(message))
    return "\n".join(texts if turns is None else texts[: int(turns)])


def _texts(raw: pd.DataFrame) -> dict[str, Any]:
    """Prompt and responses as plain text, as far as a file has them."""
    made: dict[str, Any] = {}
    for side in "ab":
        for name in (f"conversation_{side}", f"response_{side}"):
            if name in raw:
                turns = raw["turn"] if "turn" in raw and len(raw) else None
                cells = (
                    raw[name] if turns is None else zip(raw[name], turns, strict=True)
                )
                made[f"response_{side}"] = [
                    _spoken(c, "assistant") if turns is None else
                    _spoken(c[0], "assistant", c[1]) for c in cells]  # fmt: skip
                break
    for name in ("prompt", "conversation_a"):
        if name in raw:
            made["prompt"] = raw[name].map(lambda c: _spoken(c, "user"))
            break
    return made


def prompt_key(text: Any) -> str | None:
    """Name of a prompt: a hash of its text, without regard to case and blanks."""
    if not isinstance(text, str):
        return None
    plain = " ".join(text.split()).casefold()
    return hashlib.sha1(plain.encode(), usedforsecurity=False).hexdigest()[:16]


def _games(*tables: pd.DataFrame) -> pd.DataFrame:
    """One table with the games of each battle one below the other."""
    return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True)


# --------------------------------------------------------------------------- functions
_VOTES = {A: A, B: B, "tie": TIE, "tie (bothbad)": "tie (bothbad)", BAD: BAD}
_ONE_HOT = {"winner_model_a": A, "winner_model_b": B, "winner_tie": TIE}


def _votes(raw: pd.DataFrame, prompt: str, rater: str | None = None) -> pd.DataFrame:
    """Votes of people on the arena."""
    names = {"prompt_id": prompt}
    if "winner" in raw:
        winner = _labels(raw["winner"], _VOTES)
    elif "both_equal" in raw:
        # ComparIA: the name of the chosen model, or a flag of ties.
        names |= {"model_a": "model_a_name", "model_b": "model_b_name"}
        chosen, one, two = (raw[n] for n in ("chosen_model_name", "model_a_name",
                                             "model_b_name"))  # fmt: skip
        winner = pd.Series(None, index=raw.index, dtype=object)
        winner[chosen == one] = A
        winner[(chosen == two) & (one != two)] = B
        winner[raw["both_equal"].map(value_key).str.casefold().isin(["true", "1"])] = (
            TIE
        )
    else:
        marks = pd.DataFrame({n: _numbers(raw[n], 0, 1) for n in _ONE_HOT})
        winner = (
            marks.fillna(0).idxmax(axis=1).map(_ONE_HOT).where(marks.sum(axis=1) == 1)
        )
    made = {"rater": raw[rater]} if rater in raw else {}
    used = (*_ONE_HOT, "winner", "chosen_model_name", "both_equal", "conversation_a",
            "conversation_b", "full_conversation")  # fmt: skip
    made |= {"both_bad": winner.isin(["tie (bothbad)", BAD])} if "winner" in raw else {}
    return _standard(
        raw, names, used, judge=_HUMAN, winner=winner, **made, **_texts(raw)
    )


_PERSON = r"(?:expert|author)_\d+$"


def _mt_bench(raw: pd.DataFrame) -> pd.DataFrame:
    """MT-Bench: people and a judge whose verdict covers both orders."""
    people = raw["judge"].str.match(_PERSON)
    flips = ("tie (inconsistent)", "inconsistent")
    winner = _labels(raw["winner"], {**_VOTES, **dict.fromkeys(flips, TIE)})
    made: dict[str, Any] = {"rater": raw["judge"].where(people)} if people.any() else {}
    if not people.all():
        made["inconsistent"] = raw["winner"].isin(flips)
    return _standard(
        raw, {"prompt_id": "question_id"}, ("conversation_a", "conversation_b"),
        judge=raw["judge"].mask(people, _HUMAN), winner=winner, shown_first=None,
        **made, **_texts(raw),
    )  # fmt: skip


def _mt_bench_pairs(raw: pd.DataFrame) -> pd.DataFrame:
    """MT-Bench: two games; winners are models, so that game 2 needs no mirroring."""
    used = [name for name in raw.columns if name.startswith(("g1_", "g2_"))]
    names = {"prompt_id": "question_id", "model_a": "model_1", "model_b": "model_2"}
    labels = {"model_1": A, "model_2": B, "tie": TIE}
    return _games(*(
        _standard(
            raw, names, used, judge=raw["judge"].map(_first),
            winner=_labels(raw[f"{game}_winner"], labels), shown_first=shown,
        )
        for game, shown in (("g1", A), ("g2", B))
    ))  # fmt: skip


def _scores(raw: pd.DataFrame) -> pd.DataFrame:
    """Points of single answers; in MT-Bench -1 where the judge failed."""
    prompt = "prompt_id" if "prompt_id" in raw else "question_id"
    score = _numbers(raw["score"], -np.inf, np.inf)
    columns = {
        "prompt_id": raw[prompt],
        "model": raw["model"],
        "score": score.mask(score == -1.0) if "judgment" in raw else score,
    }
    if "judge" in raw:
        columns["judge"] = raw["judge"].map(_first)
    more = ("turn", "category", "response", "output")
    rated = pd.DataFrame(columns | {name: raw[name] for name in more if name in raw})
    return paired(without_failures(rated, "the scores"), "the scores")


def _preferences(raw: pd.DataFrame, tool: str) -> pd.DataFrame:
    """AlpacaEval (1 to 2) and JudgeArena (0 to 1): larger numbers favour the second."""
    if tool == "alpaca_eval":
        worth = _numbers(raw["preference"], 0, 2)
        # Old files write a tie as 0.
        worth = 2.0 - worth.mask(worth == 0.0, 1.5)
        names = {"model_a": "generator_1", "model_b": "generator_2",
                 "judge": "annotator", "prompt": "instruction",
                 "response_a": "output_1", "response_b": "output_2"}  # fmt: skip
        made: dict[str, Any] = {"shown_first": None}
        if "instruction" in raw:
            made["prompt_id"] = raw["instruction"].map(prompt_key)
        used = ["preference", *(n for n in raw.columns if n.endswith("_completion"))]
        return _standard(raw, names, used, winner=worth, **made)
    column = next((n for n in ("preference", "pref") if n in raw), None)
    if column is None:
        raise BattlesError(
            "holds what the judge wrote, but neither 'preference' nor 'pref'; add the "
            "verdicts that JudgeArena read from it."
        )
    worth = 1.0 - _numbers(raw[column], 0, 1)
    prompt = next(n for n in ("question_id", "instruction_index") if n in raw)
    if "swapped" in raw:
        # Models are named in the order shown, preferences are about the first order.
        swapped = raw["swapped"].map(value_key).str.casefold().isin(["true", "1"])
        worth = worth.mask(swapped, 1.0 - worth)
    else:
        by = [prompt, *(n for n in ("judge", "turn") if n in raw)]
        shown = raw[[*by, "model_A", "model_B"]]
        turned = shown.rename(columns={"model_A": "model_B", "model_B": "model_A"})
        if len(shown.merge(turned.drop_duplicates(), how="inner")):
            raise BattlesError(
                "shows models in both orders, and no column 'swapped' tells which "
                "rows hold preferences about the other order; add it."
            )
    names = {"prompt_id": prompt, "model_a": "model_A", "model_b": "model_B",
             "response_a": "completion_A", "response_b": "completion_B"}  # fmt: skip
    used = [column, "swapped", "judge_completion", "judge_input"]
    return _standard(raw, names, used, winner=worth, shown_first=A)


def _graded(raw: pd.DataFrame, tool: str) -> pd.DataFrame:
    """Arena-Hard (two games with a baseline) and WildBench (a winner and how clear)."""
    if tool == "arena_hard":
        prompt = "uid" if "uid" in raw else "question_id"
        names = {"prompt_id": prompt, "model_a": "model", "model_b": "baseline"}

        def verdicts(number: int) -> list[float | None]:
            # Game 0 showed the baseline as A, game 1 the model.
            found = [
                games[number].get("score")
                if games is not None and len(games) > number
                and isinstance(games[number], dict) else None
                for games in raw["games"]
            ]  # fmt: skip
            return [grade(verdict, mirrored=number == 0) for verdict in found]

        return _games(*(
            _standard(raw, names, ["games"], winner=pd.Series(verdicts(n), raw.index,
                      dtype=float), shown_first=shown)
            for n, shown in ((0, B), (1, A))
        ))  # fmt: skip
    extent = _numbers(raw["extent"], 0, 2)
    winner: list[float] = []
    shown: list[str | None] = []
    responses: tuple[list[Any], list[Any]] = ([], [])
    cells = zip(
        raw["model_A"], raw["model_B"], raw["winner"], extent,
        raw.get("assignment", [None] * len(raw)),
        raw.get("model_outputs", [None] * len(raw)), strict=True,
    )  # fmt: skip
    for one, two, name, much, order, texts in cells:
        known = outcome_of(name)
        if name not in (one, two) and (known is None or known[0] not in (TIE, FAILED)):
            raise BattlesError(
                f"holds the winner {name!r}, which is none of {(one, two)}."
            )
        gain = {1.0: 0.25, 2.0: 0.5}.get(much, np.nan) if name in (one, two) else 0.0
        failed = known is not None and known[0] == FAILED
        worth = 0.5 + (gain if name == one else -gain)
        winner.append(np.nan if failed else worth)
        first = order.get("A") if isinstance(order, dict) else None
        shown.append({one: A, two: B}.get(first))
        for side, model in zip(responses, (one, two), strict=True):
            side.append(texts.get(model) if isinstance(texts, dict) else None)
    made = dict(zip(("response_a", "response_b"), responses, strict=True))
    return _standard(
        raw, {"prompt_id": "session_id", "model_a": "model_A", "model_b": "model_B"},
        ("extent", "assignment", "model_outputs"), shown_first=shown,
        winner=pd.Series(winner, raw.index, dtype=float),
        **(made if "model_outputs" in raw else {}),
    )  # fmt: skip


# ------------------------------------------------------------------------------- table
@dataclass(frozen=True)
class Tool:
    """A tool: its files, columns that only they have, and what is known about them."""

    name: str
    files: str
    marks: tuple[frozenset[str], ...]
    knows: str
    read: Callable[[pd.DataFrame], pd.DataFrame]
    judges: str = ""  # a pattern that all labels of judges have
    of_judges: bool = True  # whether files without a column of judges are a judge's


def _tool(name: str, files: str, marks: str, read: Any, knows: str, *more: Any) -> Tool:
    """Row of the table; alternative marks are separated by a bar."""
    found = tuple(frozenset(part.split()) for part in marks.split("|"))
    return Tool(name, files, found, knows, read, *more)


TOOLS = (
    _tool("fastchat", "FastChat `clean_battle_conv_*.json` "
          "(`chatbot_arena_conversations`, 33k)",
          "question_id winner judge model_a model_b",
          partial(_votes, prompt="question_id", rater="judge"),
          "All rows are people's; `judge` is the rater.", r"arena_user"),
    _tool("arena_55k", "`arena-human-preference-55k`, `train.csv` of Kaggle",
          "winner_model_a winner_model_b winner_tie id", partial(_votes, prompt="id"),
          "All rows are people's; 'both bad' is among the ties."),
    _tool("arena_100k", "`arena-human-preference-100k`",
          "judge_hash winner model_a model_b",
          partial(_votes, prompt="question_id", rater="judge_hash"),
          "All rows are people's; `judge_hash` is the rater."),
    _tool("arena_140k", "`arena-human-preference-140k`, `arena-expert-5k`",
          "evaluation_session_id winner model_a model_b id|"
          "occupational_tags winner model_a model_b id",
          partial(_votes, prompt="id", rater="evaluation_session_id"),
          "All rows are people's; a session is one rater's."),
    _tool("comparia", "ComparIA votes", "model_a_name chosen_model_name both_equal",
          partial(_votes, prompt="conversation_pair_id", rater="visitor_id"),
          "All rows are people's; a vote for neither model that is no tie has failed."),
    _tool("mt_bench", "`mt_bench_human_judgments`, both splits",
          "question_id turn winner judge model_a model_b", _mt_bench,
          "`expert_` and `author_` are people; a judge's flip is a tie; the order "
          "shown is unknown.", rf"{_PERSON}|gpt[\w.-]*_pair$"),
    _tool("mt_bench_pairs", "FastChat `<judge>_pair.jsonl`",
          "g1_winner g2_winner model_1 model_2", _mt_bench_pairs,
          "Game 1 showed `model_1` first, game 2 `model_2`; winners are models."),
    _tool("mt_bench_scores", "FastChat `<judge>_single.jsonl`",
          "question_id model score judge judgment", _scores,
          "-1 has failed; a higher score is better; equal ones are ties."),
    _tool("scores", "point scores of any tool", "prompt_id model score|"
          "question_id model score", _scores,
          "A higher score is better; equal ones are ties.", "", False),
    _tool("alpaca_eval", "AlpacaEval `annotations.json`",
          "generator_1 generator_2 preference",
          partial(_preferences, tool="alpaca_eval"),
          "1 is `output_1`, 2 is `output_2`, 0 is a tie of old files; the order shown "
          "was not saved."),
    _tool("arena_hard", "Arena-Hard-Auto 0.1 and 2", "games model baseline",
          partial(_graded, tool="arena_hard"),
          "Game 1 shows the baseline as A, game 2 the model; `>>` is a grade."),
    _tool("wildbench", "WildBench pairwise v2",
          "extent model_A model_B winner session_id",
          partial(_graded, tool="wildbench"),
          "`winner` is a model's name, `extent` how clearly it won."),
    _tool("judge_arena", "JudgeArena `*-annotations.csv`",
          "model_A model_B judge_completion|model_A model_B swapped preference",
          partial(_preferences, tool="judge_arena"),
          "0 is A, 1 is B; in rows marked `swapped` preferences are about the other "
          "order."),
)  # fmt: skip
"""Tools whose files are read; all others are tables whose columns are looked up."""


def tool_of(raw: pd.DataFrame, told: str = "auto") -> Tool | None:
    """The tool that wrote a table, told by name or recognised; None for a plain one."""
    names = {str(name) for name in raw.columns}
    if told == "table":
        return None
    if told != "auto":
        key = told.strip().casefold().replace("-", "_")
        tool = next((tool for tool in TOOLS if tool.name == key), None)
        if tool is None:
            listed = ", ".join(tool.name for tool in TOOLS)
            raise BattlesError(
                f"Unknown format {told!r}; the formats are auto, table, {listed}."
            )
        lacking = min((marks - names for marks in tool.marks), key=len)
        if lacking:
            raise BattlesError(f"is no file of {key!r}: it lacks {sorted(lacking)}.")
        return tool
    found = {
        tool: max(complete, key=len)
        for tool in TOOLS
        if (complete := [marks for marks in tool.marks if marks <= names])
        and (not tool.judges or raw["judge"].astype(str).str.match(tool.judges).all())
    }
    best = [
        t for t, marks in found.items() if not any(marks < m for m in found.values())
    ]
    if len(best) > 1:
        listed = ", ".join(tool.name for tool in best)
        raise BattlesError(f"looks like files of {listed}; say which with format.")
    return best[0] if best else None


def without_failures(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Leave out rows without a verdict, and count them by judge and model."""
    column = "winner" if "winner" in table else "score"
    failed = table[column].isna()
    if not failed.any():
        return table
    if failed.all():
        raise BattlesError(f"none of its {len(table)} rows holds a verdict.")
    lost = table[failed]
    models = [m for n in ("model_a", "model_b", "model") if n in lost for m in lost[n]]
    judges = list(lost.get("judge", ()))
    said = [f"by {what} " + ", ".join(f"{label!r} {n}" for label, n in
                                      Counter(of).most_common(5))
            for what, of in (("judge", judges), ("model", models)) if of]  # fmt: skip
    warn(
        DataWarning(
            f"{where}: {len(lost)} of {len(table)} rows hold no verdict and are left "
            f"out: {'; '.join(said)}.",
            code="failed-verdicts",
            subject=dict.fromkeys([*judges, *models]),
        ),
        stacklevel=5,
    )
    return table[~failed].reset_index(drop=True)
