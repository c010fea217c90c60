"""Learners with a fault."""

import numpy as np
from faults.battles import FRAME, fit
from faults.entries import Listing
from learners import Wrapped
from scipy.sparse import csr_matrix

from skanchor import (
    JudgeCalibrator,
)

FAULTS = Listing()
call = FAULTS.call


class Learner(Wrapped):
    """A learner with a fault."""

    def fit(self, X, y, sample_weight=None, **options):
        if self.act == "writes":
            X.left[:] = 0
        super().fit(X, y, sample_weight, **options)
        if self.act == "coef":
            self.parametric_coef_ = self.parametric_coef_ * np.nan
        return self

    def contrast(self, X):
        values = super().contrast(X)
        if self.act == "nan":
            values = np.where(np.arange(len(values)) == 2, np.nan, values)
        return {"short": values[1:], "column": values[..., None]}.get(self.act, values)


class Unweighted(Learner):
    def fit(self, X, y):
        return self


def with_learner(learner):
    return lambda: fit(FRAME, calibrator=JudgeCalibrator(learner))


OWN = "of judge 'judge-1'"
for title, learner, error, message in (
    ("A learner that returns NaN", Learner("nan"), ValueError,
     f"{OWN}, Learner, returned 1 values that are not finite"),
    ("A learner whose coefficients are NaN", Learner("coef"), ValueError,
     f"{OWN}, Learner, must store 2 finite parametric coefficients"),
    ("A learner that returns too few values", Learner("short"), ValueError,
     rf"{OWN}, Learner, returned shape \(258,\) for 259 rows"),
    ("A learner that returns a column", Learner("column"), ValueError,
     rf"{OWN}, Learner, returned shape \(259, 1\) for 259 rows"),
    ("A learner that writes into its input", Learner("writes"), ValueError,
     f"Bias {OWN}: assignment destination is read-only"),
    ("A learner that takes no weights", Unweighted(), TypeError,
     f"Bias {OWN}: .*unexpected keyword argument"),
    ("A learner without the methods of one", csr_matrix, ValueError,
     "'bias' parameter of JudgeCalibrator .* 'contrast'"),
):  # fmt: skip
    call(title, with_learner(learner), raises=(error, message))
