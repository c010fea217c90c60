"""What verdicts are worth and what to buy next: errors with more or fewer rows."""

from skanchor.planning._design import Design, design_of
from skanchor.planning._forecast import Forecast
from skanchor.planning._looks import look_multiplier
from skanchor.planning._outlook import Outlook, outlook_of
from skanchor.planning._pilot import pilot
from skanchor.planning._worth import Worth, worth_of

__all__ = [
    "Design",
    "Forecast",
    "Outlook",
    "Worth",
    "design_of",
    "look_multiplier",
    "outlook_of",
    "pilot",
    "worth_of",
]
