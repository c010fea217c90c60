"""Calibration of each judge against the human scores."""

from skanchor._judges._calibrator import POSITION_BOUND, JudgeCalibrator, NoJudges
from skanchor._judges._display import favour_of_a_side
from skanchor._judges._feature_separation import (
    FeatureSeparation,
    feature_separated_judges,
)
from skanchor._judges._warnings import WEAK_SENSITIVITY, JudgeWarnings

__all__ = [
    "POSITION_BOUND",
    "WEAK_SENSITIVITY",
    "FeatureSeparation",
    "JudgeCalibrator",
    "JudgeWarnings",
    "NoJudges",
    "favour_of_a_side",
    "feature_separated_judges",
]
