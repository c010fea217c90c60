"""Messages about tables that may be read in several ways: which argument says which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from skanchor.exceptions import BattlesError


class Case(NamedTuple):
    """Arguments of `read_battles` or `split_battles` that decide, and when.

    Attributes
    ----------
    arguments : mapping
        Arguments by name. ``"all_human"`` is a flag of the command line alone, which
        otherwise asks who made rows without a column of judges.
    when : str
        The case in which they help, such as ``"If 'rater' names judges"``.

    Examples
    --------
    >>> from skanchor.io._plain_tables.cases import Case
    >>> str(Case({"human": ["expert"]}, "If 'expert' is a person"))
    "If 'expert' is a person: human=['expert']."
    """

    arguments: Mapping[str, Any]
    when: str

    def __str__(self) -> str:
        shown = [
            "--all-human" if name == "all_human" else f"{name}={value!r}"
            for name, value in self.arguments.items()
        ]
        return f"{self.when}: {', '.join(shown)}."


def undecided(statement: str, cases: Sequence[Case | str]) -> BattlesError:
    """Error for a table that is read only once the user says what it means.

    Parameters
    ----------
    statement : str
        What is open.
    cases : sequence of Case or str
        What the user may say, or further advice.

    Returns
    -------
    BattlesError
    """
    return BattlesError(" ".join([statement, *map(str, cases)]))
