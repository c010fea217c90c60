"""Arrivals placed in all folds of a history at once, by arrays with an axis of folds.

A fold alone is a small fit, of which there are many. Where all of them are of a kind
(linear learners in the same columns, every judge and model known to each), their
arrays are stacked once, and what arrivals add is computed for all folds together. What
is not of that kind, or comes out at a bound or short of rank, is left to the fits one
by one: the functions here then return None.
"""

from skanchor._placement._place import Placed, place
from skanchor._placement._stack import FoldStack

__all__ = ["FoldStack", "Placed", "place"]
