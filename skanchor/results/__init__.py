"""What a fit reports: scores, intervals, contrasts, rank sets and leaderboards."""

from skanchor.results._anchor import AnchorResult
from skanchor.results._point import PointResult
from skanchor.results._ranking import RankingResult

__all__ = ["AnchorResult", "PointResult", "RankingResult"]
