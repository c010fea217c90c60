"""Displays of results and fitted estimators, in scikit-learn's manner.

Each has ``from_estimator``, and ``from_result`` where a result is enough; ``plot``
draws on the given axes or on a new figure. matplotlib is imported when something is
drawn: ``pip install 'skanchor[plot]'``.
"""

from skanchor.plotting._bias import BiasDisplay, ItemDeviationDisplay
from skanchor.plotting._intervals import CostDisplay, LeftOutDisplay
from skanchor.plotting._judges import JudgeCalibrationDisplay, JudgeDisplay
from skanchor.plotting._judges import judge_calibration as judge_calibration
from skanchor.plotting._scores import ContrastDisplay, LeaderboardDisplay

__all__ = [
    "BiasDisplay",
    "ContrastDisplay",
    "CostDisplay",
    "ItemDeviationDisplay",
    "JudgeCalibrationDisplay",
    "JudgeDisplay",
    "LeaderboardDisplay",
    "LeftOutDisplay",
]
