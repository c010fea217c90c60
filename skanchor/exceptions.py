"""Warnings and errors of skanchor, one line each."""

from sklearn.exceptions import ConvergenceWarning

__all__ = [
    "BattlesError",
    "BoundWarning",
    "ConvergenceWarning",
    "DataWarning",
    "DiagnosticWarning",
    "DisconnectedError",
    "InstabilityWarning",
    "LearnerError",
    "SeparationWarning",
    "SkanchorWarning",
    "WeakJudgeWarning",
]


class SkanchorWarning(UserWarning):
    """Base class of every warning that skanchor issues itself."""


class DataWarning(SkanchorWarning):
    """Rows or columns of the battles table are not used as a reader may expect."""


class DiagnosticWarning(SkanchorWarning):
    """A diagnostic crosses its threshold, so an interval may be too short."""


class SeparationWarning(SkanchorWarning):
    """The likelihood has no finite maximum: scores or verdicts are separated."""


class WeakJudgeWarning(SkanchorWarning):
    """A judge's sensitivity is negative, close to zero or at its bound."""


class InstabilityWarning(SkanchorWarning):
    """A correction is too large to be believed: the score is not determined."""


class BoundWarning(SkanchorWarning):
    """A parameter lies on its bound, so its interval is not valid."""


class BattlesError(ValueError):
    """The battles table, its outcomes or its roles cannot be used."""


class DisconnectedError(BattlesError):
    """The human comparisons do not join all models, so no common scale exists."""


class LearnerError(ValueError):
    """A bias learner cannot be used, or returned numbers that cannot be used."""

    def __init__(self, message: str, problem: int = 0):
        super().__init__(message, problem)
        self.problem = problem

    def __str__(self) -> str:
        """Return the message; the number of the problem is for callers."""
        return str(self.args[0])
