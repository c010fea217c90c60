"""Whether item effects enter the fit, and why: what ``item_effects`` decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._crossfit.item_test import ItemTest, JudgeSums, item_test
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._model.fit import PEOPLE
from skanchor._model.item_covariance import estimate_covariance
from skanchor._model.item_effects import (
    FEW_MODELS,
    ITEM_PRIOR,
    ItemCovariance,
    ItemPrior,
    check_number,
)
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning, SkanchorWarning, SlowWarning
from skanchor.warning_log import warn, warn_at_once

FEWEST_FREE = 2.0
"""Models' worth of deviations below which features have taken too many."""

SECONDS, MINUTE = 93.0 / 2_000.0**3, 60.0
"""Seconds that item effects take, by the cube of their number, on one core of 2026 and
with ten folds; and from how many seconds on a user is told beforehand."""

DETECTED = 0.2
"""P-value below which item effects enter."""

FEW_JUDGES = 2
"""Judges up to which the test is not asked, which sees too little with so few."""


@dataclass(frozen=True, slots=True)
class ItemChoice:
    """Decision on the item effects of a fit.

    Attributes
    ----------
    item_effects : {"none", "random"}
        Whether they are left out, or random.
    reason : str
        Why, such as ``"a test sees them"``.
    p_value : float
        Of the test for item effects; NaN where there is none.
    prior : ItemPrior
        Prior of their covariance.
    """

    item_effects: str
    reason: str
    p_value: float = np.nan
    prior: ItemPrior = ITEM_PRIOR

    def covariance(self, plug_in: PipelineFit) -> ItemCovariance | None:
        """Covariance of the item effects; None where they are left out.

        Parameters
        ----------
        plug_in : PipelineFit
            Fit without item effects.

        Returns
        -------
        ItemCovariance or None
        """
        if self.item_effects == "none":
            return None
        X, noise = plug_in.sample.X, plug_in.dispersions(without_items=True)
        covariance = item_covariance_of(plug_in, noise, self.prior)
        warn_of_covariance(covariance, self.prior, count_historical(X))
        return covariance.for_judges(judges_of_arrivals(X))


def choose_item_effects(
    item_effects: str | None,
    X: Comparisons,
    test: ItemTest,
    prior: ItemPrior = ITEM_PRIOR,
) -> ItemChoice:
    """Decide whether item effects enter a fit; warn if they take long.

    Parameters
    ----------
    item_effects : {"auto", "none", "random"} or None
        As in :class:`skanchor.AnchorPipeline`.
    X : Comparisons
        Rows whose roles are decided.
    test : ItemTest
        Whether their verdicts deviate by model.
    prior : ItemPrior
        Prior of a covariance that is estimated.

    Returns
    -------
    ItemChoice
    """
    n_judges, n_models = len(X.judges), count_historical(X)
    size, are_few = f"{prior.sd:g} logits", n_models < FEW_MODELS
    # The first case that holds decides: whether they enter, and why.
    cases: list[tuple[bool, bool, str]] = [
        (n_judges == 0, False, "there are no judges"),
        (item_effects in (None, "none"), False, "as asked"),
        # A lone historical model is at zero on a scale that nothing tells.
        (n_models < 2, False, "there is one historical model"),
        (item_effects == "random", True, "as asked"),
        (are_few, True, f"they always are with {n_models} historical models"),
        (n_judges <= FEW_JUDGES, True, "they always are with one or two judges"),
        (np.isnan(test.p_value), True, "no test for them is possible"),
        (test.p_value < DETECTED, True, "a test sees them"),
        (test.rules_out(prior.sd), False, "a test does not see them"),
        (True, True, f"the verdicts do not rule out a size of {size}"),
    ]
    enter, reason = next((enter, why) for holds, enter, why in cases if holds)
    if enter:
        check_number(n_judges, len(X.models))
        _warn_of_time(n_judges, len(X.models))
    if enter and are_few:
        reason += (
            f", and their size rests on a prior of {size} with {prior.df:g} degrees of "
            "freedom"
        )
    return ItemChoice("random" if enter else "none", reason, test.p_value, prior)


def _warn_of_time(n_judges: int, n_models: int) -> None:
    """Warn beforehand of item effects that take more than a minute."""
    n_effects = n_judges * n_models
    seconds = SECONDS * n_effects**3
    if seconds > MINUTE:
        warn_at_once(
            SlowWarning(
                f"{n_judges:,} judges and {n_models:,} models have {n_effects:,} item "
                f"effects, whose fit takes about {max(seconds / 60.0, 1.0):.0f} "
                "minutes. Fewer judges or models take less, with the cube of their "
                "number.",
                code="slow-item-effects",
            ),
            stacklevel=4,
        )


def count_historical(X: Comparisons) -> int:
    """Number of historical models, each counted once in all contexts.

    Item effects are those of models, the same in all contexts.
    """
    return len(np.unique(X.items.model[~X.is_new]))


def item_covariance_of(
    rows: PipelineFit, noise: Array, prior: ItemPrior = ITEM_PRIOR
) -> ItemCovariance:
    """Estimate the covariance of the item effects from rows, or sums in their place.

    Parameters
    ----------
    rows : PipelineFit
        Fit without item effects.
    noise : ndarray of shape (n_judges + 1,)
        Dispersion of each source, people last.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ItemCovariance
        Without what its estimation adds.
    """
    # Weights divided by the dispersion make the likelihood that of independent votes.
    rows = rows.over(noise)
    rows = rows.with_item_effects(np.eye(rows.layout.n_sources - 1))
    return estimate_covariance(rows.fit, rows.sources, rows.bounds, prior)


def run_item_test(two_step: PipelineFit, btl: BTLRegressor) -> ItemTest:
    """Test whether verdicts deviate by model beyond score and features.

    Parameters
    ----------
    two_step : PipelineFit
        A two-step fit without item effects.
    btl : BTLRegressor
        Fitted.

    Returns
    -------
    ItemTest
    """
    noise = two_step.dispersions(without_items=False)
    judges = {}
    for rows in two_step.sources:
        if not rows.is_new and rows.source != PEOPLE:
            m, p = rows.source, two_step.fit.probabilities(rows)
            judges[m] = JudgeSums.of(rows, p, float(noise[m - 1]))
    return item_test(
        two_step.fit, judges, score_error_of(btl, two_step.sample.X.models)
    )


def score_error_of(btl: BTLRegressor, models: NDArray[Any]) -> Array:
    """Covariance of people's scores of all models, zero where there is none."""
    error = np.zeros((len(models), len(models)))
    index_of = {model: i for i, model in enumerate(models.tolist())}
    at = [index_of[model] for model in btl.models_.tolist()]
    finite = np.where(np.isfinite(btl.covariance_), btl.covariance_, 0.0)
    error[np.ix_(at, at)] = finite
    return error


def judges_of_arrivals(X: Comparisons) -> NDArray[np.bool_]:
    """Mask of the judges that compare a new model."""
    arrivals = X.involves_new & X.is_usable & ~X.is_human
    return np.isin(np.arange(len(X.judges)), X.judge[arrivals])


def read_prior(item_prior: Any) -> ItemPrior:
    """Prior of the covariance of item effects, as a user gives it.

    Parameters
    ----------
    item_prior : tuple of (float, float)
        Standard deviation in judge logits, and degrees of freedom.

    Returns
    -------
    ItemPrior

    Raises
    ------
    ValueError
        If it is not a pair of positive finite numbers.
    """
    try:
        sd, df = map(float, item_prior)
    except (TypeError, ValueError):
        sd = df = np.nan
    if not (0.0 < sd < np.inf and 0.0 < df < np.inf):
        raise ValueError(
            "item_prior must be a standard deviation in judge logits and a number of "
            "degrees of freedom, both above zero, such as (0.3, 2), got "
            f"{item_prior!r}."
        )
    return ItemPrior(sd, df)


def warn_of_covariance(
    covariance: ItemCovariance, prior: ItemPrior, n_historical: int
) -> None:
    """Warn of a covariance that little was learned of."""
    shown = covariance.free - prior.df
    if n_historical >= FEW_MODELS and shown < FEWEST_FREE:
        warn(
            SkanchorWarning(
                f"The features tell the {n_historical} historical models apart so "
                "well that the item effects are estimated from information worth "
                f"{shown:.1f} models, and intervals may be too short. Use fewer "
                "features, or give the bias learner a ridge.",
                code="uncertain-item-covariance",
            )
        )
    if not covariance.converged:
        warn(
            ConvergenceWarning(
                "The covariance of the item effects did not converge. If the intervals "
                "look odd, leave out judges with few rows, or set item_effects to None "
                "for intervals without item effects.",
                code="item-covariance-not-converged",
            )
        )
