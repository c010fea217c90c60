"""Warnings and errors: what is wrong, where, and what to do about it.

A message is a statement and one sentence of advice, which names a parameter by its
name in Python. The flag of the command line is that name with dashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning as _ConvergenceWarning

from skanchor._text import brief, printable

__all__ = [
    "BattlesError",
    "BoundWarning",
    "ConvergenceWarning",
    "CountWarning",
    "DataWarning",
    "DiagnosticWarning",
    "DisconnectedError",
    "InstabilityWarning",
    "LearnerError",
    "SeparationWarning",
    "SkanchorWarning",
    "SlowWarning",
    "WeakJudgeWarning",
]


# --------------------------------------------------------------------------- messages
class _Message(Exception):  # noqa: N818 (the base of warnings, too)
    """An error or a warning whose text may quote names from users' files."""

    def __init__(self, message: str = ""):
        super().__init__(message)

    def __str__(self) -> str:
        return printable(brief(super().__str__()))


# --------------------------------------------------------------------------- warnings
class SkanchorWarning(_Message, UserWarning):
    """Base class of every warning that skanchor issues itself.

    Parameters
    ----------
    message : str
        What is wrong, where, and what to do about it.
    code : str, default=""
        Name of the finding, such as ``"graded-verdicts"``. It does not change when the
        words of the message do.
    subject : iterable of labels, default=()
        Models, judges, columns or contexts that the warning is about: all of them, also
        where the message names only the first.

    Attributes
    ----------
    code : str
        Name of the finding.
    subject : tuple of str
        Each label once, in order.

    Examples
    --------
    >>> import warnings
    >>> from skanchor.exceptions import DataWarning, SkanchorWarning
    >>> warnings.simplefilter("ignore", DataWarning)
    >>> warnings.warn(DataWarning("3 rows are left out."))
    >>> issubclass(DataWarning, SkanchorWarning)
    True
    >>> warning = DataWarning("Judge 'j' is left out.", code="weak", subject=["j"])
    >>> warning.code, warning.subject
    ('weak', ('j',))
    """

    def __init__(
        self, message: str = "", *, code: str = "", subject: Iterable[Any] = ()
    ):
        super().__init__(message)
        self.code = code
        self.subject = tuple(dict.fromkeys(map(str, subject)))


class ConvergenceWarning(SkanchorWarning, _ConvergenceWarning):
    """An iteration did not converge; a subclass of scikit-learn's warning."""


class DataWarning(SkanchorWarning):
    """Rows or columns of the battles table are not used as one may expect."""


class CountWarning(DataWarning):
    """Weights that look like counts of rows are read as importance."""


class DiagnosticWarning(SkanchorWarning):
    """A diagnostic crosses its threshold, so an interval may be too short."""


class SlowWarning(SkanchorWarning):
    """What was asked for will take minutes; it is issued before the work begins."""


class SeparationWarning(SkanchorWarning):
    """The likelihood has no finite maximum: scores or verdicts are separated."""


class WeakJudgeWarning(SkanchorWarning):
    """A judge's sensitivity is negative, close to zero or at its bound."""


class InstabilityWarning(SkanchorWarning):
    """A correction is too large to be reliable: the score is not determined."""


class BoundWarning(SkanchorWarning):
    """A parameter lies on its bound, so its interval is not valid."""


# ----------------------------------------------------------------------------- errors
class BattlesError(_Message, ValueError):
    """The battles table, its outcomes or its roles cannot be used.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import split_battles
    >>> from skanchor.exceptions import BattlesError
    >>> try:
    ...     split_battles(pd.DataFrame({"winner": ["model_a"]}))
    ... except BattlesError as error:
    ...     print(str(error).split(";")[0])
    ...
    The battles table lacks the columns ['model_a', 'model_b']
    """


class DisconnectedError(BattlesError):
    """The human comparisons do not connect all models, so no common scale exists.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor import BTLRegressor
    >>> from skanchor.exceptions import DisconnectedError
    >>> votes = pd.DataFrame({"model_a": list("abcd"), "model_b": list("badc")})
    >>> try:
    ...     BTLRegressor().fit(votes.assign(judge="human"), [1, 1, 1, 1])
    ... except DisconnectedError as error:
    ...     print(str(error).split(". ")[0])
    ...
    The human comparisons leave 2 separate groups of models: {a, b}; {c, d}
    """


class LearnerError(_Message, ValueError):
    """A bias learner cannot be used, or returned numbers that cannot be used.

    Parameters
    ----------
    message : str
        What is wrong, and what to do about it.

    Examples
    --------
    >>> from skanchor.exceptions import LearnerError
    >>> print(LearnerError("the learner returned NaN."))
    the learner returned NaN.
    """


# --------------------------------------------------------------------------- location
def locate(error: Exception, where: str) -> None:
    """Say in the message of an exception where it came from.

    Parameters
    ----------
    error : Exception
        Changed in place.
    where : str
        Such as ``"Fold 3"``.
    """
    text = error.args[0] if error.args else ""
    if isinstance(error, _Message) or (error.args and str(error) == text):
        error.args = (f"{where}: {text}", *error.args[1:])
    else:
        error.add_note(where)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Say where exceptions came from that leave the block.

    Parameters
    ----------
    where : str
        Such as ``"Fold 3"``.
    """
    try:
        yield
    except Exception as error:
        locate(error, where)
        raise
