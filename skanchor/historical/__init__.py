"""The joint historical fit: votes and verdicts decide the old scores together.

The two-step fit takes scores from human votes alone and calibrates judges against
them as if they were the truth. The joint fit minimises the loss of all rows without a
new model over everything at once, so that judges help to place the old models; people
alone still fix the scale.
"""

from skanchor.historical._fit import EXACT, NEAR, fit_jointly
from skanchor.historical._identification import Placement
from skanchor.historical._separation import separated_judges

__all__ = [
    "EXACT",
    "NEAR",
    "Placement",
    "fit_jointly",
    "separated_judges",
]
