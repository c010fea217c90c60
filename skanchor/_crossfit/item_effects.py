"""Whether item effects enter the fit, and why: what ``item_effects`` decides."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles import Comparisons
from skanchor._crossfit.item_test import ItemTest, JudgeSums, item_test
from skanchor._crossfit.item_test import choose_item_effects as choose
from skanchor._estimators.btl import BTLRegressor
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._machine import limited_threads, threads_for
from skanchor._model.item_covariance import RowsOfHistory, estimate_covariance
from skanchor._model.item_effects import (
    FEW_MODELS,
    ITEM_PRIOR,
    MOST_EFFECTS,
    ItemCovariance,
    ItemPrior,
    check_number,
)
from skanchor._model.layout import PEOPLE, count_parameters
from skanchor._typing import Array
from skanchor.exceptions import ConvergenceWarning, SkanchorWarning, SlowWarning
from skanchor.warning_log import warn, warn_at_once

FEWEST_FREE = 2.0
"""Models' worth of deviations below which features have taken too many."""

SECONDS, MINUTE = 93.0 / 2_000.0**3, 60.0
"""Seconds that item effects take, by the cube of their number, on one core of 2026 and
with ten folds; and from how many seconds on a user is told beforehand."""

NAMES = ("auto", "none", "random")
"""Values of ``item_effects``, beside None."""


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

    def covariance(self, known: PipelineFit) -> ItemCovariance | None:
        """Covariance of the item effects; None where they are left out.

        Parameters
        ----------
        known : PipelineFit
            As in :func:`estimate_item_covariance`.

        Returns
        -------
        ItemCovariance or None
        """
        if self.item_effects == "none":
            return None
        found = estimate_item_covariance(known, self.prior)
        warn_of_covariance(found, self.prior, count_historical(known.sample.X))
        return found


def leaves_items_out(item_effects: str | None) -> bool:
    """Whether a user asks for the interval without item effects."""
    return item_effects is None or item_effects == "none"


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
    found = _choose(item_effects, X, test, prior)
    if found.item_effects == "random":
        check_number(len(X.judges), len(X.models))
        _warn_of_time(X)
    return found


def _warn_of_time(X: Comparisons) -> None:
    """Warn beforehand of item effects that take more than a minute."""
    n_judges, n_models = len(X.judges), len(X.models)
    seconds = SECONDS * (n_judges * n_models) ** 3
    if seconds <= MINUTE:
        return
    warn_at_once(
        SlowWarning(
            f"{n_judges:,} judges and {n_models:,} models have "
            f"{n_judges * n_models:,} item effects, whose fit takes about "
            f"{max(seconds / 60.0, 1.0):.0f} minutes. Fewer judges or models take "
            "less, with the cube of their number.",
            code="slow-item-effects",
        ),
        stacklevel=4,
    )


def _choose(
    item_effects: str | None, X: Comparisons, test: ItemTest, prior: ItemPrior
) -> ItemChoice:
    """Decide, whatever time it takes."""
    n_historical = count_historical(X)
    enter, reason = choose(test, len(X.judges), n_historical, prior.sd)
    if len(X.judges) and leaves_items_out(item_effects):
        enter, reason = False, "as asked"
    elif len(X.judges) and n_historical > 1 and item_effects == "random":
        enter, reason = True, "as asked"
    if enter and n_historical < FEW_MODELS:
        reason += (
            f", and their size rests on a prior of {prior.sd:g} logits with "
            f"{prior.df:g} degrees of freedom"
        )
    return ItemChoice("random" if enter else "none", reason, test.p_value, prior)


def count_historical(X: Comparisons) -> int:
    """Number of historical models, each counted once in all contexts.

    Item effects are those of models, the same in all contexts.
    """
    return len(np.unique(X.items.model[~X.is_new]))


def estimate_item_covariance(
    known: PipelineFit, prior: ItemPrior = ITEM_PRIOR
) -> ItemCovariance:
    """Estimate the covariance of the item effects from the historical rows.

    Parameters
    ----------
    known : PipelineFit
        The plug-in. What of its learners is linear in coefficients is profiled out.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ItemCovariance
    """
    noise = known.dispersions(without_items=True)
    found = item_covariance_of(known, noise, prior)
    return found.for_judges(judges_of_arrivals(known.sample.X))


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
    slopes = rows.fit.x[rows.layout.sensitivities][1:]
    rows = rows.with_item_effects(np.eye(len(slopes)))
    history = RowsOfHistory(rows.fit, rows.sources, rows.bounds)
    return estimate_covariance(history, slopes, prior)


def run_item_test(known: PipelineFit, btl: BTLRegressor) -> ItemTest:
    """Test whether verdicts deviate by model beyond score and features.

    Parameters
    ----------
    known : PipelineFit
        A two-step fit without item effects.
    btl : BTLRegressor
        Fitted.

    Returns
    -------
    ItemTest
    """
    noise = known.dispersions(without_items=False)
    judges = {}
    for rows in known.sources:
        if not rows.is_new and rows.source != PEOPLE:
            m, p = rows.source, known.fit.probabilities(rows)
            judges[m] = JudgeSums.of(rows, p, float(noise[m - 1]))
    return item_test(known.fit, judges, score_error_of(btl, known.sample.X.models))


def score_error_of(btl: BTLRegressor, models: NDArray[Any]) -> Array:
    """Covariance of people's scores of all models, zero where there is none."""
    error = np.zeros((len(models), len(models)))
    place = {model: i for i, model in enumerate(models.tolist())}
    at = [place[model] for model in btl.models_.tolist()]
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


def matrix_size(X: Comparisons, item_effects: str | None) -> int:
    """Rows of the largest matrix that the inference solves, about.

    Parameters
    ----------
    X : Comparisons
        The rows.
    item_effects : str or None
        The setting; item effects add an unknown for each judge and model.

    Returns
    -------
    int
    """
    n_judges, n_models = len(X.judges), len(X.models)
    deviations = not leaves_items_out(item_effects)
    # More item effects than that are left out, or refused.
    deviations = deviations and n_judges * n_models <= MOST_EFFECTS
    return count_parameters(n_models, n_judges, deviations=deviations)


def limited_to_inference(
    X: Comparisons, item_effects: str | None
) -> AbstractContextManager[None]:
    """Limit the threads of BLAS where the matrices of the inference are small."""
    return limited_threads(threads_for(matrix_size(X, item_effects)))


def warn_of_covariance(
    found: ItemCovariance, prior: ItemPrior, n_historical: int
) -> None:
    """Warn of a covariance that little was learned of."""
    shown = found.free - prior.df
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
    if not found.converged:
        warn(
            ConvergenceWarning(
                "The covariance of the item effects did not converge. If the intervals "
                "look odd, leave out judges with few rows, or set item_effects to None "
                "for intervals without item effects.",
                code="item-covariance-not-converged",
            )
        )
