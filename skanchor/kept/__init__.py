"""A history kept in memory or a file, by which new models are placed as they come."""

from skanchor.kept._estimator import FILE, AnchorHistory
from skanchor.kept._identity import judge_fingerprint
from skanchor.kept._state import Board, GroupFolds, KeptState

__all__ = [
    "FILE",
    "AnchorHistory",
    "Board",
    "GroupFolds",
    "KeptState",
    "judge_fingerprint",
]
