"""Bootstrap intervals from full refits on resamples that all methods share.

A resample is a row of weights: within each source, rows (or whole groups) are drawn
with replacement as often as there are. Methods that state their definition on arrays
with an axis of replicates (all of :mod:`skanchor.baselines`) are refitted in blocks by
batched solvers, which start from the fit of all rows and whose shared parts, such as
the judge fits, are computed once for all methods; any other estimator is refitted one
resample at a time.
"""

from skanchor.bootstrap._bootstrapped import Bootstrapped
from skanchor.bootstrap._refit import bootstrap
from skanchor.bootstrap._resampler import Resampler as Resampler
from skanchor.bootstrap._result import BootstrapResult

__all__ = ["BootstrapResult", "Bootstrapped", "bootstrap"]
