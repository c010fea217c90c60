"""What a fit reports: scores, intervals, contrasts, rank sets and leaderboards."""

from skanchor.results._anchor import AnchorResult
from skanchor.results._point import PointResult
from skanchor.results._ranking import RankingResult
from skanchor.results._scale import ELO_PER_LOGIT, Scale

__all__ = ["ELO_PER_LOGIT", "AnchorResult", "PointResult", "RankingResult", "Scale"]
