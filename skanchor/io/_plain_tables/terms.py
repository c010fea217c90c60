"""Words in names of columns: which of them may be what.

They are keys of names: without case, blanks, hyphens, underscores and other signs.
"""

from __future__ import annotations

from itertools import product


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of words, which are written as ``one/other``."""
    found = (each.partition("/") for each in text.split())
    return tuple((one, other) for one, _, other in found)


MARKS = pairs("a/b 1/2 left/right first/second one/two x/y upper/lower top/bottom")
"""What tells the first side from the second in names of columns."""

NOUNS = (
    "model modelname modelid system systemname llm llmname player candidate assistant "
    "bot agent generator engine contestant competitor method team chatbot option"
).split()

_ROLES = pairs(
    "model/opponent player/opponent challenger/baseline candidate/baseline "
    "treatment/control"
)

STANDARD = ("modela", "modelb")
"""Keys of the documented columns of the two models."""

SIDES = dict(
    pairs("left/right first/second white/black a/b sidea/sideb lhs/rhs") + _ROLES
)
SIDES |= {
    order(noun, first): order(noun, second)
    for noun, (first, second) in product(NOUNS, MARKS)
    for order in (
        lambda noun, mark: noun + mark,
        lambda noun, mark: mark + noun,
        lambda noun, mark: f"{noun}{mark}name",
        lambda noun, mark: f"{noun}{mark}id",
    )
}
"""Keys of the columns of the first model, and of the second one that goes with each."""

COMPARED = pairs("model/baseline model/reference candidate/reference system/baseline")
"""Further keys of the columns of two models."""

ROLES = {*_ROLES, *COMPARED}
"""Keys of columns of two models whose names do not say which stands first."""

OUTCOMES = frozenset(
    "winner winningmodel winnermodel outcome result preference pref preferred "
    "preferredmodel humanpreference vote uservote humanvote label verdict choice "
    "chosen chosenmodel decision judgment judgement selection selected selectedmodel "
    "better bettermodel best annotation rating3 winnerlabel answer choices winnerid "
    "whichwasbetter whichisbetter whowon whichwon win pick picked".split()
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
_LOST_WORDS = [*"loser losing worse worst lost".split(), *_REJECTED]
OF_A_SIDE = (*NOUNS, "response", "answer", "output", "side", "name")


def _with_nouns(word: str) -> list[str]:
    """Keys of a word alone, and before or after each noun for a side."""
    return [word, *(k for n in OF_A_SIDE for k in (word + n, n + word))]


LOSERS = frozenset(key for word in _LOST_WORDS for key in _with_nouns(word))
"""Keys of columns that name the loser: as an outcome they turn every row round."""

WON_AND_LOST = tuple(
    pair
    for won, lost in (
        *pairs("winner/loser winning/losing better/worse best/worst"),
        *product(("chosen", "preferred", "selected", "accepted"), _REJECTED),
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
    "whojudged whorated whodecided whovoted judgeorhuman humanorllm ratermodel "
    "arbiter referee".split()
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
    "model models modelname modelid system systemname llm candidate generator bot "
    "engine chatbot policy assistant".split()
)
"""Keys of columns that may name the one model of a row."""

SCORES = frozenset(
    "score scores rating ratings grade grades points stars mark marks likert overall "
    "overallscore overallrating judgescore humanscore quality qualityscore".split()
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
