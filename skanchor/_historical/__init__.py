"""The historical rows fitted: scores of the old models, and the judges beside them.

The two-step fit takes scores from human votes alone and calibrates judges against
them as if they were the truth. The joint fit minimises the loss of all rows without a
new model over everything at once, so that judges help to place the old models; people
alone still fix the scale.
"""

from skanchor._historical._fit import (
    HistoricalFit,
    fit_history,
    laid_out,
    votes_identify,
)
from skanchor._historical._identification import Placement, invisible_directions

__all__ = [
    "HistoricalFit",
    "Placement",
    "fit_history",
    "invisible_directions",
    "laid_out",
    "votes_identify",
]
