"""What a fit reports: scores, intervals, contrasts, rank sets and leaderboards."""

from skanchor.results._anchor import AnchorResult
from skanchor.results._board import new_by_score, strongest_first
from skanchor.results._contexts import ContextResult, Mixture, check_mix
from skanchor.results._point import PointResult
from skanchor.results._ranking import RankingResult
from skanchor.results._scale import ELO_PER_LOGIT, Scale

__all__ = [
    "ELO_PER_LOGIT",
    "AnchorResult",
    "ContextResult",
    "Mixture",
    "PointResult",
    "RankingResult",
    "Scale",
    "check_mix",
    "new_by_score",
    "strongest_first",
]
