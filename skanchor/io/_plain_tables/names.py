"""Names of columns: which of them may be what, whatever their spelling.

Names are compared without case, blanks, hyphens, underscores and other signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from skanchor._comparisons.spellings import name_key as name_key

_MARKS = (
    ("a", "b"),
    ("1", "2"),
    ("left", "right"),
    ("first", "second"),
    ("one", "two"),
    ("x", "y"),
    ("links", "rechts"),
    ("gauche", "droite"),
    ("izq", "der"),
    ("izquierda", "derecha"),
    ("upper", "lower"),
    ("top", "bottom"),
    ("甲", "乙"),
)
"""What tells the first side from the second in names of columns."""

_NOUNS = (
    "model modelname modelid system systemname llm llmname player candidate assistant "
    "bot agent generator engine contestant competitor method team chatbot option "
    "modell modele modelo modello systeme sistema 模型"
).split()

_ROLES = {
    "model": "opponent",
    "player": "opponent",
    "challenger": "baseline",
    "candidate": "baseline",
    "treatment": "control",
}

STANDARD_SIDES = ("modela", "modelb")

SIDES: dict[str, str] = {
    "left": "right",
    "first": "second",
    "white": "black",
    "a": "b",
    "sidea": "sideb",
    "lhs": "rhs",
    "links": "rechts",
    "gauche": "droite",
    **_ROLES,
    **{
        order(noun, first): order(noun, second)
        for noun, (first, second) in product(_NOUNS, _MARKS)
        for order in (
            lambda noun, mark: noun + mark,
            lambda noun, mark: mark + noun,
            lambda noun, mark: f"{noun}{mark}name",
            lambda noun, mark: f"{noun}{mark}id",
        )
    },
}
"""Keys of the columns of the first model, and of the second one that goes with each."""

_COMPARED = (
    ("model", "baseline"),
    ("model", "reference"),
    ("candidate", "reference"),
    ("system", "baseline"),
)
"""Further keys of the columns of two models."""

ROLES = {*_ROLES.items(), *_COMPARED}
"""Keys of columns of two models whose names do not say which stands first."""

OUTCOMES = frozenset(
    "winner winningmodel winnermodel outcome result preference pref preferred "
    "preferredmodel humanpreference vote uservote humanvote label verdict choice "
    "chosen chosenmodel decision judgment judgement selection selected selectedmodel "
    "better bettermodel best annotation rating3 winnerlabel answer choices winnerid "
    "gewinner sieger ergebnis urteil vainqueur gagnant resultat verdikt ganador "
    "resultado vincitore risultato 结果 胜者 whichwasbetter whichisbetter whowon "
    "whichwon win pick picked".split()
)
"""Keys of columns that may hold outcomes."""

OUTCOMES |= {
    f"{key}{place}"
    for key in ("winner", "chosen", "preferred", "selected", "choice", "best")
    for place in ("index", "idx")
}

WINNER_NAME = "winnername"
"""Key of a column that holds the name of the winner, and nothing else."""

_REJECTED = "rejected dispreferred lesspreferred notpreferred nonpreferred".split()
_LOST_WORDS = (
    *("loser", "losing", "worse", "worst", "lost", "verlierer", "perdant"),
    *_REJECTED,
)
_OF_A_SIDE = (*_NOUNS, "response", "answer", "output", "side", "name")


def _with_nouns(word: str) -> list[str]:
    """Keys of a word alone, and before or after each noun for a side."""
    return [word, *(k for n in _OF_A_SIDE for k in (word + n, n + word))]


LOSERS = frozenset(key for word in _LOST_WORDS for key in _with_nouns(word))
"""Keys of columns that name the loser: as an outcome they turn every row round."""

WON_AND_LOST = tuple(
    pair
    for won, lost in (
        ("winner", "loser"),
        ("winning", "losing"),
        ("better", "worse"),
        ("best", "worst"),
        *product(("chosen", "preferred", "selected", "accepted"), _REJECTED),
        ("gewinner", "verlierer"),
        ("vainqueur", "perdant"),
        ("gagnant", "perdant"),
    )
    for pair in zip(_with_nouns(won), _with_nouns(lost), strict=True)
)
"""Keys of two columns of which one names the winner, the other the loser."""

PEOPLE = frozenset(
    "worker workerid user userid username voter voterid participant "
    "participantid".split()
)
"""Keys of columns that name people."""

JUDGES = frozenset(
    "judge judges judgename judgemodel judgeid judgedby judgellm evaluator evaluators "
    "evaluatorname evaluatorid evaluatormodel evaluatedby annotator annotators "
    "annotatorid annotatorname annotatedby grader gradername gradedby ratername "
    "raterid ratedby rater labeler labeller labelerid assessor assessorid reviewer "
    "reviewerid source evaluationsource judgetype evaluatortype annotatortype "
    "bewerter gutachter richter juge evaluateur annotateur juez evaluador giudice "
    "whojudged whorated whodecided whovoted judgeorhuman humanorllm ratermodel "
    "arbiter referee "
    "评审 裁判 评委 标注者".split()
)
"""Keys of columns that may say who decided."""

WHO = JUDGES | PEOPLE
"""Keys of columns that name judges or people."""

PROMPTS = (
    frozenset(
        "promptid questionid instructionid itemid taskid queryid exampleid sampleid "
        "instructionindex promptindex questionindex promptnumber promptno qid "
        "promptname taskname".split()
    ),
    frozenset("prompt question instruction item task query input example".split()),
)
"""Keys of columns that may name prompts: those of ids, then those of texts."""

ALL_PROMPTS = PROMPTS[0] | PROMPTS[1]

MODELS = frozenset(
    {"model", "models", "modelname", "modelid", "system", "systemname", "llm"}
    | {"candidate", "generator", "bot", "engine", "chatbot", "policy", "assistant"}
)
"""Keys of columns that may name the one model of a row."""

SCORES = frozenset(
    "score scores rating ratings grade grades points stars mark marks likert overall "
    "overallscore overallrating judgescore humanscore quality qualityscore punkte "
    "punktzahl bewertung puntos puntuacion punteggio".split()
)
"""Keys of columns of ratings, of which more is better."""

BATTLES = frozenset(
    "battleid matchid gameid comparisonid pairid duelid battle match".split()
)
"""Keys of columns that name battles, which have a row for each of two models."""

MEASURES = frozenset(
    "length len words tokens chars characters ntokens nwords nchars numtokens numwords "
    "wordcount tokencount charcount lengthchars time seconds duration latency cost "
    "price turn turns seed epoch temperature index row id year date timestamp "
    "responselength outputlength sentences headings lists bold rank".split()
)
"""Keys of columns of numbers that are no ratings."""


def words_of(name: object) -> list[str]:
    """Words of a name, in lower case: they end at signs, and where a capital follows.

    Parameters
    ----------
    name : object
        Name of a column.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from skanchor.io._plain_tables.names import words_of
    >>> words_of("gpt-4 verdictAB")
    ['gpt', '4', 'verdict', 'ab']
    """
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    return re.findall(r"[^\W_]+", parts.casefold())


def candidates(names: Iterable[str], keys: Iterable[str]) -> list[str]:
    """Columns whose key is one of some keys, in the order of the table."""
    wanted = set(keys)
    return [name for name in names if name_key(name) in wanted]


def columns_of_marks(names: Iterable[str], marks: Iterable[str]) -> dict[str, str]:
    """Columns of models by their marks, such as ``model_a`` by "A"; all or none.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.
    marks : iterable of str
        Marks, such as letters or numbers.

    Returns
    -------
    dict
        Column by mark; empty unless every mark has one.
    """
    by_key = {name_key(name): name for name in names}
    found = {}
    for mark in marks:
        key = name_key(mark)
        keys = [k for n in _NOUNS for k in (n + key, key + n, f"{n}{key}name")]
        own = [by_key[k] for k in (*keys, key) if k in by_key]
        if not own:
            return {}
        found[mark] = own[0]
    return found


def side_pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of columns that may name the two models; the standard one alone, if there.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.

    Returns
    -------
    list of (str, str)
    """
    by_key = {name_key(name): name for name in names}
    found = [
        (by_key[first], by_key[second])
        for first, second in (*SIDES.items(), *_COMPARED)
        if first in by_key and second in by_key
    ]
    standard = tuple(by_key.get(key) for key in STANDARD_SIDES)
    return [standard] if standard in found else found  # type: ignore[list-item]


def pairs_of_sides(
    names: Iterable[str], sides: tuple[str, str]
) -> dict[str, tuple[str, str]]:
    """Pairs of other columns that are marked as the columns of the models are.

    Parameters
    ----------
    names : iterable of str
        Names of the columns.
    sides : tuple of str
        The columns of the models, such as ``("model_1", "model_2")``.

    Returns
    -------
    dict
        By name without mark, the column of either side, such as ``{"length":
        ("length_1", "length_2")}``.
    """
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        found = side_of(name, sides)
        if found is not None and name not in sides:
            stems.setdefault(found[0], {})[found[1]] = name
    return {stem: (s[0], s[1]) for stem, s in stems.items() if len(s) == 2}


def side_of(name: str, sides: tuple[str, str]) -> tuple[str, int] | None:
    """Name without the mark of a side, and the side, 0 or 1; None without a mark.

    Parameters
    ----------
    name : str
        Name of a column.
    sides : tuple of str
        The columns of the models.

    Returns
    -------
    (str, int) or None
    """
    for side, column in enumerate(sides):
        stem = _without(str(name), column.strip().casefold())
        # "System 1 is" is about the column system_1.
        stem = stem or _without(_spaced(name), _spaced(column))
        if stem:
            return stem, side
    for side, sign in enumerate(_marks_of(sides)):
        stem = _without(str(name), sign)
        if stem:
            return stem, side
    return None


def side_within(name: str, sides: tuple[str, str]) -> tuple[str, int] | None:
    """As :func:`side_of`, with the mark anywhere: ``prob_a_wins`` is of the first side.

    Nouns for a side, as in ``prob_model_a_wins``, are no part of the stem.
    """
    found = side_of(name, sides)
    if found is not None:
        return found
    words = words_of(name)
    marked = [
        (at, side)
        for side, sign in enumerate(_marks_of(sides))
        for at, word in enumerate(words)
        if word == sign
    ]
    if len(marked) != 1:
        return None
    ((at, side),) = marked
    rest = [w for w in (*words[:at], *words[at + 1 :]) if w not in _OF_A_SIDE]
    return " ".join(rest), side


def _marks_of(sides: tuple[str, str]) -> tuple[str, ...]:
    """The signs that tell the columns of the models apart; empty without such."""
    first, second = map(name_key, sides)
    return next(
        (each for each in reversed(_MARKS) if _differ_by(first, second, each)), ()
    )


def _spaced(name: str) -> str:
    """Words of a name, in lower case and with one blank between them."""
    return re.sub(r"[\s_\-.]+", " ", str(name)).strip().casefold()


def _differ_by(first: str, second: str, mark: tuple[str, str]) -> bool:
    """Whether two keys are the same but for the marks of the sides."""
    one, two = mark
    return any(
        first[at : at + len(one)] == one
        and first[:at] + two + first[at + len(one) :] == second
        for at in range(len(first))
    )


def _without(name: str, mark: str) -> str | None:
    """Name without the mark of a side, which signs set apart; None without a mark."""
    plain, signs = name.strip(), " _-.:()"
    lower = plain.casefold()
    if lower.endswith(mark) and lower[: -len(mark)][-1:] in tuple(signs):
        return plain[: -len(mark)].rstrip(signs)
    if lower.endswith(f"{mark})"):
        return plain[: -len(mark) - 1].rstrip(signs) or None
    if lower.startswith(mark) and lower[len(mark) :][:1] in tuple(signs):
        return plain[len(mark) :].lstrip(signs)
    return None


def quoted(values: Sequence[Any]) -> str:
    """The first five values in quotes, and how many more there are."""
    shown = ", ".join(repr(str(value)) for value in values[:5])
    return shown + (f" and {len(values) - 5} more" if len(values) > 5 else "")
