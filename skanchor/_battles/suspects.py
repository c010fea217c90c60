"""Names that suggest the outcome: such columns are features only on request.

A score, a rating or a vote is known only after the comparison, and an id is not a
property of a response. With the outcome as a feature, the bias of a judge would explain
its verdicts whatever the models.
"""

from __future__ import annotations

import re
from functools import lru_cache

DECLARED = "feature_"
"""Prefix of the name of a pair that is a feature although its name is suspect."""

# Words, and parts of names, that suggest the outcome or an id.
_WORDS = frozenset(
    "score scores scored rating ratings rated elo trueskill glicko rank ranks ranked "
    "ranking pref prefs preference preferences preferred vote votes voted upvotes "
    "downvotes likes dislikes thumbs win wins won winrate lost losses verdict verdicts "
    "outcome outcomes judgment judgments judgement judgements grade grades graded "
    "reward rewards label labels chosen rejected quality correct incorrect correctness "
    "useful complete creative superficial followed id ids uid uuid hash".split()
)
_PHRASES = ("clear_formatting",)
# The words of a name in snake_case or camelCase.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=1024)
def smells_of_outcome(name: str) -> bool:
    """Whether the name of a pair of columns suggests the outcome or ids.

    Parameters
    ----------
    name : str
        Name of the pair, without ``_a`` and ``_b``.

    Returns
    -------
    bool

    Examples
    --------
    >>> from skanchor._battles.suspects import smells_of_outcome
    >>> [smells_of_outcome(name) for name in ("elo", "questionId", "underscores")]
    [True, True, False]
    """
    lower = name.casefold()
    return (
        lower.startswith("winner")
        or any(phrase in lower for phrase in _PHRASES)
        or any(word.casefold() in _WORDS for word in _WORD.findall(name))
    )


def declared(name: str) -> str:
    """Return the name under which a pair of columns is used as a feature.

    Parameters
    ----------
    name : str
        Name of the pair.

    Returns
    -------
    str
        With ``feature_`` in front if the name suggests the outcome.
    """
    return DECLARED + name if smells_of_outcome(name) else name


def feature_label(name: str) -> str | None:
    """Return the name of the feature in a pair; None if it may hold the outcome.

    Parameters
    ----------
    name : str
        Name of the pair.

    Returns
    -------
    str or None
        The name, without a ``feature_`` that :func:`declared` has put in front.
    """
    inner = name.removeprefix(DECLARED)
    if not smells_of_outcome(inner):
        return name
    return inner if inner != name else None
