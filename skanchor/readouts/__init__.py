"""What a fit says beyond its scores: sensitivity, worth, outlook, design, fragility."""

from skanchor.readouts._answer import Answer
from skanchor.readouts._answer import FittedRows as FittedRows
from skanchor.readouts._design import Design
from skanchor.readouts._design import design as design
from skanchor.readouts._exposures import FAVOUR_OF as FAVOUR_OF
from skanchor.readouts._exposures import Exposures as Exposures
from skanchor.readouts._fragility import Fragility
from skanchor.readouts._fragility import fragility as fragility
from skanchor.readouts._looks import look_multiplier
from skanchor.readouts._plan import Plan as Plan
from skanchor.readouts._sensitivity import Sensitivity
from skanchor.readouts._sensitivity import benchmarks as benchmarks
from skanchor.readouts._sensitivity import breakdown as breakdown
from skanchor.readouts._sensitivity import breakdown_sentences as breakdown_sentences
from skanchor.readouts._sensitivity import sensitivity as sensitivity
from skanchor.readouts._worth import Outlook
from skanchor.readouts._worth import outlook as outlook
from skanchor.readouts._worth import worth as worth

__all__ = ["Answer", "Design", "Fragility", "Outlook", "Sensitivity", "look_multiplier"]
