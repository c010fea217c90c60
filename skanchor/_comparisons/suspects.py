"""Names that smell of the outcome: such columns are features only if asked for.

A score, a rating or a vote is known after the comparison, and an id is no property of a
response: with one of them as a feature a judge would be calibrated on the answer.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["DECLARED", "declared", "feature_label", "smells_of_outcome"]

DECLARED = "feature_"
"""What is put in front of the name of a pair that is a feature all the same."""

_WORDS = frozenset(
    "score scores scored rating ratings rated elo trueskill glicko rank ranks ranked "
    "ranking pref prefs preference preferences preferred vote votes voted upvotes "
    "downvotes likes dislikes thumbs win wins won winrate lost losses verdict verdicts "
    "outcome outcomes judgment judgments judgement judgements grade grades graded "
    "reward rewards label labels chosen rejected quality correct incorrect correctness "
    "useful complete creative superficial followed id ids uid uuid hash".split()
)
_PHRASES = ("clear_formatting",)
# Words of snake_case and of camelCase.
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@lru_cache(maxsize=1024)
def smells_of_outcome(name: str) -> bool:
    """Tell whether a pair of columns holds, by its name, the outcome or ids.

    Parameters
    ----------
    name : str
        Name of the pair, without ``_a`` and ``_b``.

    Returns
    -------
    bool

    Examples
    --------
    >>> from skanchor._comparisons.suspects import smells_of_outcome
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
    """Name under which a pair is a feature, whatever it smells of.

    Parameters
    ----------
    name : str
        Name of the pair.

    Returns
    -------
    str
        With ``feature_`` in front where the name smells of the outcome.
    """
    return DECLARED + name if smells_of_outcome(name) else name


def feature_label(name: str) -> str | None:
    """Name of the feature that a pair holds; None if it may hold the outcome.

    Parameters
    ----------
    name : str
        Name of the pair.

    Returns
    -------
    str or None
        Without the ``feature_`` that :func:`declared` puts in front.
    """
    inner = name.removeprefix(DECLARED)
    if not smells_of_outcome(inner):
        return name
    return inner if inner != name else None
