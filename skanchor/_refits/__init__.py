"""Fits that several methods share, for one set of row weights or for many.

A baseline states its definition once, on arrays with a leading axis of replicates. An
ordinary fit is the one replicate whose shared parts come from the stages themselves
(:class:`StageFits`), with any learner of the bias; a bootstrap has many replicates,
whose parts come from batched solvers (:class:`BatchedFits`) and are computed once for
all methods that ask for them.
"""

from skanchor._numerics.arrivals import SCORE_BOUND
from skanchor._refits._arrivals import Arrivals, JudgeFits
from skanchor._refits._batched import BatchedFits
from skanchor._refits._cells import CellSums
from skanchor._refits._fits import BaseFits
from skanchor._refits._layout import Layout, columns_of
from skanchor._refits._stages import StageFits, check_plain

__all__ = [
    "SCORE_BOUND",
    "Arrivals",
    "BaseFits",
    "BatchedFits",
    "CellSums",
    "JudgeFits",
    "Layout",
    "StageFits",
    "check_plain",
    "columns_of",
]
