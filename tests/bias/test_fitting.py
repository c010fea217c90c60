"""What every fit of a learner is held to: its seeds, its settings, its width."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from tables import biased, scored

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.exceptions import LearnerError

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
)


def test_width_of_a_feature_map_may_change_between_fits_only():
    data = biased(6)
    # A language that one row has is a column of the fits that see it.
    rng = np.random.default_rng(0)
    X = data.X.assign(**{f"lang_{s}": rng.integers(0, 3, len(data.X)) for s in "ab"})
    past = ~((X["model_a"] == "new-model") | (X["model_b"] == "new-model"))
    X.loc[np.flatnonzero(past & (X["judge"] == "judge-1"))[0], "lang_a"] = 9
    widths = set()

    class Watched(OneHotEncoder):
        def fit_transform(self, X, y=None):
            result = super().fit_transform(X)
            widths.add(result.shape[1])
            return result

        def transform(self, X):
            result = super().transform(X)
            widths.add(result.shape[1])
            return result

    languages = Watched(handle_unknown="ignore", sparse_output=False)
    encoded = ColumnTransformer([("lang", languages, [3])], remainder="passthrough")
    calibrator = JudgeCalibrator(LinearBias(encoded, alpha=0.001))
    for items in (None, "random"):
        anchor = AnchorPipeline(
            calibrator=calibrator, cv=3, item_effects=items, random_state=0
        ).fit(X, data.y)
        assert np.isfinite(anchor.standard_errors_).all()
    assert widths == {3, 4}
    by_rows = FunctionTransformer(lambda x: np.ones((len(x), 1 + len(x) % 7)))
    with pytest.raises(
        LearnerError, match=r"judge 'judge-1' failed: .* width must not"
    ):
        JudgeCalibrator(LinearBias(by_rows)).fit(scored(data.X, data.y), data.y)
    empty = FunctionTransformer(lambda x: np.where(x > 0, x, np.nan))
    with pytest.raises(LearnerError, match="returned NaN or infinite"):
        JudgeCalibrator(LinearBias(empty)).fit(scored(data.X, data.y), data.y)
