"""A fitted history, in memory or in a file, by which new models are placed."""

from skanchor.history._estimator import AnchorHistory
from skanchor.history._identity import judge_fingerprint
from skanchor.history._state import Board as Board
from skanchor.history._state import GroupFolds as GroupFolds
from skanchor.history._state import HistoryState

__all__ = [
    "AnchorHistory",
    "HistoryState",
    "judge_fingerprint",
]
