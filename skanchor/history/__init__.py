"""A history kept in memory or a file, by which new models are placed as they come."""

from skanchor.history._estimator import FILE, AnchorHistory
from skanchor.history._identity import judge_fingerprint
from skanchor.history._state import Board as Board
from skanchor.history._state import GroupFolds as GroupFolds
from skanchor.history._state import HistoryState

__all__ = [
    "FILE",
    "AnchorHistory",
    "HistoryState",
    "judge_fingerprint",
]
