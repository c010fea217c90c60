"""Arrivals placed in all folds of a history at once, by arrays with an axis of folds.

Each fold is a small fit, and there are many. Where folds are alike (linear learners in
the same columns, every judge known to each), their arrays are stacked once, and all are
computed together, about four times as fast as one by one. Where they are not alike, or
a score lies on a bound, or rows leave a score undetermined, the functions here return
None, and `StoredFold.place` computes each fold by itself.
"""

from skanchor._placement._place import Placed, place
from skanchor._placement._stack import FoldStack

__all__ = ["FoldStack", "Placed", "place"]
