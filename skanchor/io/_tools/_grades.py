"""Graded verdicts of judges, such as ``A>>B``, and the preferences that they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

GRADES = {"A>>B": 1.0, "A>B": 0.75, "A=B": 0.5, "B>A": 0.25, "B>>A": 0.0}
"""Verdicts and the preference for A that they mean, evenly spaced."""

_MIRROR = dict(zip(GRADES, reversed(GRADES), strict=True))
_SHORT = {"A++": "A>>B", "A+": "A>B", "A=B": "A=B", "B=A": "A=B", "B+": "B>A"} | {
    "B++": "B>>A",
    "A": "A>B",
    "B": "B>A",
    "C": "A=B",
}
_TURNED = {"B<A": "A>B", "B<<A": "A>>B", "A<B": "B>A", "A<<B": "B>>A"}


def grade(verdict: Any) -> str | None:
    """Write a verdict as one of `GRADES`; None if it is no verdict.

    Parameters
    ----------
    verdict : str or None
        Verdict such as ``"A>>B"``, ``"[[B<<A]]"`` or ``"A++"``.

    Returns
    -------
    str or None
    """
    if not isinstance(verdict, str):
        return None
    plain = re.sub(r"[\[\]\s]", "", verdict).upper()
    plain = _TURNED.get(plain, _SHORT.get(plain, plain))
    return plain if plain in GRADES else None


def mirrored(verdict: str | None) -> str | None:
    """The same verdict after A and B have been exchanged."""
    return _MIRROR.get(verdict) if verdict else None


def graded(verdicts: pd.Series, levels: Mapping[str, float]) -> dict[str, pd.Series]:
    """Columns ``winner`` and ``verdict`` of grades in which A is ``model_a``.

    Parameters
    ----------
    verdicts : Series
        Verdicts of `GRADES`, null where a judge gave none.
    levels : mapping from str to float
        Preference for A that each grade means.

    Returns
    -------
    dict
    """
    values = [levels.get(verdict, float("nan")) for verdict in verdicts]
    winner = pd.Series(values, index=verdicts.index, dtype=float)
    return {"winner": winner, "verdict": verdicts}
