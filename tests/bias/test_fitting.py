"""What every fit of a learner is held to: its seeds, its settings, its width."""

import numpy as np
import pytest
from learners import Wrapped
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from tables import biased, scored

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.exceptions import LearnerError
from skanchor.simulation import simulate_battles

# Small tables cross thresholds that are not at issue here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::skanchor.exceptions.DiagnosticWarning",
    "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
def test_every_fold_draws_anew():
    data = simulate_battles(600, 100, random_state=0)
    options = {"cv": 2, "n_repeats": 2, "item_effects": None, "random_state": 0}
    options["historical_fit"] = "two-step"
    heard = []

    class Seeded(Wrapped):
        def __init__(self, act="", random_state=0, loss="logistic"):
            super().__init__(act, loss)
            self.random_state = random_state

        def fit(self, *args, **kwargs):
            heard.append((self.loss, self.random_state))
            return super().fit(*args, **kwargs)

    def run():
        heard.clear()
        calibrator = JudgeCalibrator(bias=Seeded())
        AnchorPipeline(calibrator=calibrator, **options).fit(data.X, data.y)
        return {
            loss: [seed for kind, seed in heard if kind == loss]
            for loss in ("logistic", "squared")
        }

    first = run()
    # The fit on all rows keeps the seed; all judges (and both inner folds) share one.
    for loss, n_fits in (("logistic", 3), ("squared", 6)):
        seeds = first[loss]
        assert seeds[:n_fits] == [0] * n_fits
        assert len(seeds) == 5 * n_fits and len(set(seeds)) == 5
    assert run() == first


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
            found = super().fit_transform(X)
            widths.add(found.shape[1])
            return found

        def transform(self, X):
            found = super().transform(X)
            widths.add(found.shape[1])
            return found

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
