"""Bootstrap intervals from full refits on resamples that all methods share.

A resample is a vector of row weights: within each source, as many rows (or whole
groups) are drawn with replacement as there are. Each method is fitted again with these
weights, from where its fit of all rows has ended.
"""

from skanchor.bootstrap._refit import Bootstrapped, bootstrap
from skanchor.bootstrap._result import BootstrapResult

__all__ = ["BootstrapResult", "Bootstrapped", "bootstrap"]
