"""What names of columns and words of outcomes mean: the tables of the reader.

The pages show them as they are. A name or a word that is in none of them is unclear,
and is never guessed.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from skanchor._battles.labels import PEOPLE_LABELS

SIDES = {
    **dict.fromkeys(("a", "1", "left", "first", "one"), "a"),
    **dict.fromkeys(("b", "2", "right", "second", "two"), "b"),
}
"""Words of names that tell the two sides of a comparison apart."""

ROLES = {
    # One column for each side, which stands at the underscore.
    "model _": "model _ | _ model | _ | model _ name | model _ id | system _ |"
    " _ system | system _ name | assistant _ | bot _ | llm _ | player _ | agent _ |"
    " option _ | candidate _ | generator _ | answer _ model | response _ model",
    "wins _": "wins _ | _ wins | winner model _",
    "votes _": "votes _ | votes for _",
    "score _": "score _ | _ score | model _ score | score model _ | score system _ |"
    " system _ score | rating _ | points _ | mark _",
    "rank _": "rank _ | _ rank | model _ rank | place _",
    # One column.
    "winner": "winner | verdict | outcome | result | vote | choice | preference |"
    " preferred | pref | label | decision | judgment | judgement | winning model |"
    " winner name | winner model | preferred model | better model | which is better |"
    " which was better | which model is better | who won | pick | winner id |"
    " winner idx | chosen index | margin",
    "loser": "loser | worse | worse model | weaker model | losing model | loser name |"
    " which is worse | rejected | rejected model | less preferred | worst",
    "better": "winner | better | chosen | chosen model | preferred | winning model |"
    " better model",
    "model": "model | system | model name | system name | llm | bot | assistant |"
    " generator | player | candidate",
    "opponent": "opponent | baseline | reference | other model | baseline model |"
    " reference model | against",
    "judge": "judge | judge name | judge model | judge id | evaluator | grader |"
    " annotator | annotator id | rater | rater id | rater model | reviewer | assessor |"
    " source | arbiter | referee | evaluated by | judged by | who judged | done by |"
    " by | who | voter | worker | worker id | user | user id",
    "kind": "judge type | judge kind | rater type | annotator type | kind | type |"
    " by type | is human | from human | human",
    "prompt_id": "prompt id | question id | prompt | question | task id | task |"
    " instruction id | instruction index | item id | item | uid | query id | query |"
    " instruction",
    "battle": "battle id | battle | comparison id | comparison | match id | game id |"
    " pair id | duel id",
    "swapped": "swapped | is swapped | order swapped | swap | flipped | is flipped |"
    " reversed | order | presentation order | shown order | display order | position",
    "tie": "tie | is tie | ties | tied | draw | draws | is draw | both equal |"
    " no winner | winner tie | n ties",
    "losses": "losses | lost | n losses",
    "wins": "wins | n wins",
    "result": "won | win | is winner | result | outcome | winner | result of model",
    "score": "score | rating | points | grade | stars | mark",
}
"""Names of columns by the role that they have, without case and signs."""

A, B, TIE, BAD, FAILED = "model_a", "model_b", "tie", "both_bad", "failed"

UNCLEAR = "?"
"""In place of a meaning that is not known."""

SHARES = "*"
"""In place of many different numbers among the outcomes."""

WORDS = {
    A: "a | left | first | 1st | model a | 1-0 | win 1 | leftvote | a vote | 👈",
    B: "b | right | second | 2nd | model b | 0-1 | win 2 | rightvote | b vote | 👉",
    TIE: "tie | tied | draw | equal | same | about the same | about equal | neither |"
    " none is better | even | c | no preference | no difference | = | a=b | b=a |"
    " 1/2-1/2 | ½-½ | tievote | both | both good | inconsistent | 🤝 |"
    " tie (inconsistent)",
    BAD: "tie (bothbad) | both bad | bothbad | bothbad vote | neither is good",
    FAILED: " | error | failed | failure | invalid | n/a | na | nan | none | null |"
    " -1 | unknown | unparsed | skip | skipped",
}
"""Words of outcomes by what they mean; those that mean no verdict are always asked."""

ROLES_OF_COLUMNS = {
    "model_a": "a model of each comparison; the side shown first, if no column says",
    "model_b": "the other model",
    "winner": "the outcome; several columns are several verdicts on the same pair",
    "winner_swapped": "the outcome of a second game that showed the models swapped",
    "loser": "the outcome, but about the side that lost",
    "better": "name of the model that won",
    "worse": "name of the model that lost",
    "judge": "who decided",
    "rater": "which person decided",
    "verdict": "the outcome by the judge that the column is named after",
    "prompt_id": "rows that depend on each other",
    "battle": "the same for both rows of a comparison",
    "model": "the only model of a row",
    "result": "whether that model won",
    "score": "its score; a higher one is better",
    "rank": "its rank; a lower one is better",
    **dict.fromkeys(("score_a", "score_b"), "score of that model"),
    **dict.fromkeys(("rank_a", "rank_b"), "rank of that model"),
    **dict.fromkeys(("wins_a", "wins_b"), "comparisons that this model won"),
    "ties": "comparisons that were ties",
    "count": "comparisons that the row stands for",
    "tie": "whether the row is a tie, whatever its outcome says",
    "swapped": "whether the outcome is about the swapped order, and is turned round",
    "swapped_order": "whether model_b was shown first; outcomes are about the columns",
    "shown_first": "the side shown first, as model_a or model_b",
    "keep": "a further column: a feature, a context, a text",
    "ignored": "nothing",
    "?": "not known",
}
"""What a column of a mapping may be."""

MEANINGS = {
    "columns": (*ROLES_OF_COLUMNS, "keep as NAME"),
    "outcomes": (A, B, TIE, "both_bad", "failed", "its model", "win", "loss",
                 "share", "share of model_b", "a number from 0 to 1"),
    "judges": ("people", "judge", "drop", "judge: NAME"),
}  # fmt: skip
"""What the decisions of a mapping may be, by its parts."""

FILLERS = frozenset(
    "model response assistant answer system option output candidate side slot player "
    "bot is was the better wins won vote preferred preference".split()
)
"""Words that say no more beside one of the sides, as in "Response 1 is better"."""

GRADES = {"a>>b": 1.0, "a>b": 0.75, "b>a": 0.25, "b>>a": 0.0} | {
    "a++": 1.0, "a+": 0.75, "b+": 0.25, "b++": 0.0} | {
    "b<<a": 1.0, "b<a": 0.75, "a<b": 0.25, "a<<b": 0.0}  # fmt: skip
"""Graded verdicts and what they are worth; without a strong one, a weak one is 1."""

RESULTS = {
    A: "win | won | wins | winner | true | yes | w",
    B: "loss | lost | lose | loses | loser | false | no | l",
    TIE: "tie | draw | tied | equal | d",
}
"""Words of the result of one model in a battle, with that model as the first one."""

FLAGS = {
    True: "true | yes | y | 1 | t | ba | b first | model b | b | swapped",
    False: "false | no | n | 0 | f | ab | a first | model a | a | original | ",
}
"""Cells of a column that says of each row whether something holds."""

PEOPLE = re.compile(
    rf"({PEOPLE_LABELS}|experts?|authors?|"
    r"annotators?|raters?|voters?|workers?|users?|turkers?|students?|staff|"
    r"labell?ers?|reviewers?|arena user)( \w+)?|human( \w+)+|\w+ human"
)
"""Labels of judges that mean people."""

LLMS = re.compile(
    r"(.* )?(gpt|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|"
    r"command r|grok|nova|palm|bard|vicuna|phi|o ?[134]|sonnet|opus|haiku|glm|kimi|"
    r"yi|falcon|nemotron|prometheus|pair ?rm|auto ?j|llm|ai|machine|auto|judge)\d*"
    r"( .*)?"
)
"""Labels of judges that mean language models."""

NO_PEOPLE = frozenset(
    "reward model simulated simulator simulation synthetic proxy like bot agent "
    "emulated virtual artificial fake llms no non not without".split()
)
"""Words with which a label that seems to mean people may mean a model."""

NO_NAMES = frozenset(("ai", "auto", "judge", "llm", "machine"))
"""Labels of judges that do not say which one, if they are names of files."""

KINDS = {
    "people": "human | person | people | crowdworker | crowd worker | volunteer |"
    " true | yes | 1",
    "judge": "llm | ai | model | machine | auto | judge | false | no | 0",
}
"""Cells of a column that says whether people or a judge gave a verdict."""


def words_of(table: dict[Any, str]) -> dict[str, Any]:
    """Each word of a table, with what it means."""
    return {word.strip(): meaning for meaning, row in table.items()
            for word in row.split("|")}  # fmt: skip


# A sign in front of a word, or a dash at either end, may say the opposite.
_NEGATION = re.compile(r"[!¬~≠✗✘❌👎]|(?:^|[(])\s*[-–−]|[-–−]\W*$")

_ROLES = {role: [*words_of({0: row})] for role, row in ROLES.items()}
_ROLES["worse"] = _ROLES["loser"]
_WORDS = words_of(WORDS)


def name_key(name: Any) -> str:
    """Name without case and signs: ``Model-A`` and ``modelA`` are alike."""
    text = unicodedata.normalize("NFKC", str(name))
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    text = re.sub(r"(?<=[a-zA-Z])(?=\d)|(?<=\d)(?=[a-zA-Z])", " ", text)
    return " ".join(re.sub(r"[\W_]+", " ", text).casefold().split())


def is_negated(value: Any) -> bool:
    """Whether signs of a cell may say the opposite of its words, as in ``!A``."""
    text = re.sub(r"[\[\]*\"']", "", value_key(value)).strip(" .").rstrip("!")
    return bool(_NEGATION.search(text)) and number_of(text) is None


def label_key(value: Any) -> str:
    """Cell without case and signs; what may be a negation is no word of a table."""
    return "!" if is_negated(value) else name_key(value_key(value))


def side_of(name: Any) -> tuple[str, str]:
    """Pattern of a name with its word of a side as ``_``, and that side; or nothing."""
    words = name_key(name).split()
    sides = [SIDES[word] for word in words if word in SIDES]
    if len(sides) != 1:
        return "", ""
    return " ".join("_" if word in SIDES else word for word in words), sides[0]


def is_in_role(key: str, role: str) -> bool:
    """Whether a role has a name, as `name_key` or `side_of` writes it."""
    return key in _ROLES.get(role, ())


def names_in_role(names: Iterable[Any], role: str) -> list[Any]:
    """Names that may have a role, the usual ones first."""
    usual = _ROLES.get(role, [])
    matching = [name for name in names if name_key(name) in usual]
    return sorted(matching, key=lambda name: usual.index(name_key(name)))


BLANKS = " \u00a0"
"""What is dropped around names; other white space is part of a name."""


def number_of(text: str) -> float | None:
    """Number of a text, if it is one."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def value_key(value: Any) -> str:
    """Text of a label by which equal ones are found: 1, 1.0 and "1" are one."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip(BLANKS)


def outcome_key(value: Any) -> str:
    """Text of an outcome: numbers that are whole are written so, also in text files."""
    text = value_key(value)
    return text[:-2] if re.fullmatch(r"-?\d+\.0", text) else text


def outcome_of(value: Any) -> tuple[Any, str] | None:
    """Meaning of an outcome and how it is known; None if no table has it.

    A meaning is a side, a tie or a number in [0, 1]; it is unclear beside a sign that
    could turn it round.
    """
    text = re.sub(r"[\[\]*\"'!]", "", outcome_key(value)).strip(" .").casefold()
    text = " ".join(text.replace("_", " ").split())
    words = name_key(text).split()
    telling = [word for word in words if word not in FILLERS]
    # Where there is nothing to leave out, the text itself would be in a table.
    phrase = " ".join(telling) if len(telling) < len(words) else ""
    grade = text.replace(" ", "")
    meaning: tuple[Any, str]
    if text in _WORDS:
        meaning = _WORDS[text], "a word of outcomes"
    elif grade in GRADES:
        meaning = GRADES[grade], "a graded verdict"
    elif phrase in SIDES:
        meaning = (A if SIDES[phrase] == "a" else B), "names a side"
    elif _WORDS.get(phrase, FAILED) != FAILED:
        meaning = _WORDS[phrase], "a word of outcomes"
    else:
        return None
    return (UNCLEAR, "may be a negation") if is_negated(value) else meaning


def is_failed(value: Any) -> bool:
    """Whether an outcome means that there is no verdict."""
    return (outcome_of(value) or ("",))[0] == FAILED


def who_is(key: str) -> str | None:
    """Whether a label means people or a judge; None if its words do not say.

    The label is in the form of `name_key`.
    """
    if not PEOPLE.fullmatch(key):
        return "judge" if LLMS.fullmatch(key) else None
    # What may mean either, such as "human reward model", is asked.
    is_open = LLMS.fullmatch(key) or NO_PEOPLE.intersection(key.split())
    return None if is_open else "people"
