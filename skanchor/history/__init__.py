"""A fitted history, in memory or in a file, by which new models are placed."""

from skanchor.history._estimator import AnchorHistory
from skanchor.history._identity import judge_fingerprint
from skanchor.history._state import AllModels as AllModels
from skanchor.history._state import GroupFolds as GroupFolds
from skanchor.history._state import HistoryState
from skanchor.history._state import check_linear as check_linear
from skanchor.history._state import errors_of_votes as errors_of_votes
from skanchor.history._state import learners_of as learners_of
from skanchor.history._state import parameters_of as parameters_of

__all__ = [
    "AnchorHistory",
    "HistoryState",
    "judge_fingerprint",
]
