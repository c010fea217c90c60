"""The same small fit for many sets of row weights at once.

Arrays have a leading axis of replicates, one for each set of weights. Every fit is
Newton's method from a common start; the replicates that have converged drop out, and
those that do not converge are reported, not repaired: a caller refits them one by one.
"""

from skanchor._numerics.batched.cells import fit_scores_on_cells
from skanchor._numerics.batched.joint import JointModel
from skanchor._numerics.batched.judge import fit_judge
from skanchor._numerics.batched.linear_rows import LinearRows
from skanchor._numerics.batched.solver import newton
from skanchor._numerics.batched.workspace import Workspace

__all__ = [
    "JointModel",
    "LinearRows",
    "Workspace",
    "fit_judge",
    "fit_scores_on_cells",
    "newton",
]
