"""A fitted history, in memory or in a file, by which new models are placed."""

from skanchor.history._estimator import AnchorHistory
from skanchor.history._fingerprints import judge_fingerprint
from skanchor.history._rows import warn_of_raters as warn_of_raters
from skanchor.history._state import HistoryState
from skanchor.history._state import check_linear as check_linear

__all__ = ["AnchorHistory", "HistoryState", "judge_fingerprint"]
