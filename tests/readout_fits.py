"""Fits that the tests of read-outs ask."""

import warnings
from functools import cache

from sklearn.preprocessing import SplineTransformer

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.bias import LinearBias
from skanchor.exceptions import DiagnosticWarning
from skanchor.simulation import simulate_battles

PAPER = dict(
    historical_fit="two-step",
    item_effects="none",
    calibrator=JudgeCalibrator(position_effect=False),
)


def plain_table(**changes):
    """Verdicts with item effects and without features."""
    data = simulate_battles(
        n_historical=2000, rho=0, item_sd=0.3, item_corr=0.6, random_state=0, **changes
    )
    return data.X[["model_a", "model_b", "judge"]], data.y


@cache
def fitted(name):
    """A fitted pipeline: of features or not, with item effects or without."""
    with warnings.catch_warnings():
        # Features of the second new model lie a little outside those of history.
        warnings.simplefilter("ignore", DiagnosticWarning)
        return _fitted(name)


def _fitted(name):
    data = simulate_battles(random_state=0)
    two = simulate_battles(
        n_historical=2000, n_new_models=2, new_score=[0.2, -0.4], random_state=3
    )
    X, y = plain_table()
    if name == "paper":
        return AnchorPipeline(random_state=0, **PAPER).fit(data.X, data.y)
    if name == "default":
        return AnchorPipeline(random_state=0).fit(data.X, data.y)
    if name == "items":
        return AnchorPipeline(item_effects="random", random_state=0).fit(X, y)
    if name == "items and features":
        return AnchorPipeline(item_effects="random", cv=3, random_state=0).fit(
            two.X, two.y
        )
    if name == "two new models":
        return AnchorPipeline(item_effects="none", cv=3, random_state=0).fit(
            two.X, two.y
        )
    assert name == "splines and ridge"
    splines = JudgeCalibrator(LinearBias(SplineTransformer(n_knots=3), alpha=0.1))
    return AnchorPipeline(calibrator=splines, cv=3, random_state=0).fit(data.X, data.y)


NAMES = ("paper", "default", "items", "items and features", "two new models")


def plan(name):
    """Predicted errors of a fit with other rows."""
    return fitted(name).result_.plan
