"""Learners of the Riesz weights: few rows, inner folds, held-out score."""

import numpy as np
import pytest
from learners import Wrapped
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from tables import biased

from skanchor import (
    AnchorPipeline,
    ArrivalScorer,
    BTLRegressor,
    JudgeCalibrator,
    RieszDebiaser,
)
from skanchor.bias import BoostedBias
from skanchor.exceptions import LearnerError

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
)


def test_learners_of_weights_never_see_rows_of_weight_zero():
    data = biased(6)
    calibrator = JudgeCalibrator(BoostedBias(max_rounds=3))
    chain = make_pipeline(BTLRegressor(), calibrator, ArrivalScorer())
    plugged = chain.fit(data.X, data.y).transform(data.X)
    remaining = np.random.default_rng(0).random(len(data.X)) < 0.7
    result = [
        RieszDebiaser(BoostedBias(max_rounds=3), inner_folds=2).fit(*inputs)
        for inputs in (
            (plugged, data.y, np.where(remaining, 1.0, 0.0)),
            (plugged[np.flatnonzero(remaining)], np.asarray(data.y)[remaining]),
        )
    ]
    assert_allclose(
        result[0].information_, result[1].information_, rtol=1e-9, atol=1e-9
    )


def test_weights_that_are_nan_are_refused():
    class Nowhere(Wrapped):
        def contrast(self, pairs):
            return super().contrast(pairs) * (np.nan if self.loss == "squared" else 1.0)

    data = biased(5)
    with pytest.raises(LearnerError, match="Riesz weights returned NaN"):
        AnchorPipeline(calibrator=JudgeCalibrator(Nowhere()), cv=2).fit(data.X, data.y)


def test_a_span_needs_its_fit():
    class Spanned(Wrapped):
        def span(self, pairs):
            return self.inner_.span(pairs)

        def ridge(self, pairs, weight):
            return self.inner_.ridge(pairs, weight)

        @property
        def coef_(self):
            return self.inner_.coef_

        @coef_.setter
        def coef_(self, value):
            self.inner_.coef_ = value

    data = biased(3, n_new=60)
    anchor = AnchorPipeline(calibrator=JudgeCalibrator(Spanned()), cv=2)
    with pytest.raises(AttributeError, match=r"'Spanned' object has no .* 'fit_span'"):
        anchor.fit(data.X, data.y)
