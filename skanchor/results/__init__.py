"""What a fit reports: scores, intervals, contrasts, rank sets and leaderboards."""

from skanchor.results._anchor import AnchorResult
from skanchor.results._board import ELO_PER_LOGIT as ELO_PER_LOGIT
from skanchor.results._board import Scale as Scale
from skanchor.results._board import new_by_score as new_by_score
from skanchor.results._board import strongest_first as strongest_first
from skanchor.results._contexts import ContextResult
from skanchor.results._contexts import context_mix as context_mix
from skanchor.results._ranking import RankingResult
from skanchor.results._scores import PointResult

__all__ = ["AnchorResult", "ContextResult", "PointResult", "RankingResult"]
