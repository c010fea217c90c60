"""Bootstrap intervals from full refits on resamples that all methods share.

A resample is a vector of row weights: within each source, as many rows (or whole
groups) are drawn with replacement as there are. Methods that are defined on arrays with
an axis of replicates (all of :mod:`skanchor.baselines`) are refitted in blocks by
batched solvers. These start from the fit of all rows, and compute shared parts, such as
the judge fits, once for all methods. Any other estimator is refitted one resample at a
time.
"""

from skanchor.bootstrap._bootstrapped import Bootstrapped
from skanchor.bootstrap._refit import bootstrap
from skanchor.bootstrap._resampler import Resampler as Resampler
from skanchor.bootstrap._result import BootstrapResult

__all__ = ["BootstrapResult", "Bootstrapped", "bootstrap"]
