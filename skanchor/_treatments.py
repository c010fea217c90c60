"""Whether item effects enter the fit, and why: what ``item_effects`` decides."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skanchor._comparisons import Comparisons
from skanchor._diagnostics import ItemCheck
from skanchor._items import (
    FEW_HISTORICAL,
    ITEM_PRIOR,
    MIN_HISTORICAL,
    ItemCovariance,
    ItemPrior,
    count_historical,
    estimate_item_covariance,
)
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.linalg import MANY_JUDGES
from skanchor._numerics.machine import limited_threads, threads_for
from skanchor._numerics.parameters import count_parameters
from skanchor.exceptions import (
    BattlesError,
    ConvergenceWarning,
    DataWarning,
    SkanchorWarning,
    SlowWarning,
)
from skanchor.sample import Sample
from skanchor.warning_log import warn, warn_at_once

FEWEST_FREE = 2.0
"""Models' worth of deviations below which features have taken too many."""

FEW_JUDGES = 2
"""Judges up to which "auto" does not ask a test, which sees too little with so few."""

MOST_DEVIATIONS = 4_000
"""Deviations, judges times models, up to which "auto" takes them unasked where judges
are fewer than ``MANY_JUDGES``: their time grows with the cube of their number."""

MOST_PAIRED = 1_000
"""Deviations up to which "auto" learns the correlation of every pair of many judges:
some seconds of work. With more, all pairs have one."""

SECONDS, MINUTE = 93.0 / 2_000.0**3, 60.0
"""Seconds that deviations take, by the cube of their number, on one core of 2026 and
with ten folds; and from how many seconds on a user is told beforehand."""

SECONDS_BY_JUDGE = 72.0 / 10_500.0**2
"""The same by the square of their number, where they are eliminated judge by judge."""

LEAST_VERDICTS, FEW_VERDICTS, FEW_DEVIATIONS = 5, 20, 500
"""Verdicts of a judge on the historical models, in the mean over the judges, below
which "auto" takes no more than so many deviations unasked: hardly a maximum is near
then, and the search for one takes minutes."""

NAMES = ("auto", "none", "random")
"""Values of ``item_effects``, beside None."""

UNSEEN = "a test does not see them"
"""Reason to leave item effects out."""


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

    def covariance(
        self, sample: Sample, calibrator: JudgeCalibrator
    ) -> ItemCovariance | None:
        """Covariance of the item effects; None where they are left out.

        Parameters
        ----------
        sample : Sample
            Rows that carry the plug-in of all rows.
        calibrator : JudgeCalibrator
            Fitted on them.

        Returns
        -------
        ItemCovariance or None
        """
        if self.item_effects == "none":
            return None
        found = estimate_item_covariance(sample, calibrator, self.prior)
        warn_of_covariance(found, self.prior, count_historical(sample.X))
        return found


def leaves_items_out(item_effects: str | None) -> bool:
    """Whether a user asks for the interval without item effects."""
    return item_effects is None or item_effects == "none"


def choose_item_effects(
    item_effects: str | None,
    X: Comparisons,
    check: ItemCheck,
    n_verdicts: float = np.inf,
    prior: ItemPrior = ITEM_PRIOR,
) -> ItemChoice:
    """Decide whether item effects enter a fit; warn if they take long.

    Parameters
    ----------
    item_effects : {"auto", "none", "random"} or None
        As in :class:`skanchor.AnchorPipeline`.
    X : Comparisons
        Rows whose roles are decided.
    check : ItemCheck
        Whether their verdicts deviate by model.
    n_verdicts : float
        Verdicts on historical models; infinite where there are more than enough.
    prior : ItemPrior
        Prior of a covariance that is estimated.

    Returns
    -------
    ItemChoice
    """
    found = _choose(item_effects, X, check, n_verdicts, prior)
    n_judges, n_models = len(X.judges), len(X.models)
    n_effects = n_judges * n_models
    if found.item_effects == "none":
        return found
    if found.prior.has_common_correlation:
        warn(
            DataWarning(
                f"{n_judges:,} judges and {count_historical(X):,} historical models "
                "have too many item effects to estimate the correlation of each pair "
                "of judges. All pairs get one mean correlation; each judge has its own "
                "variance. item_effects='random' estimates every pair, in a time that "
                "grows with the cube of judges times models.",
                code="mean-correlation",
            )
        )
        _warn_of_time(X, SECONDS_BY_JUDGE * n_effects**2, "square")
    else:
        way_out = (
            "; item_effects='auto' takes seconds, as it gives all pairs of judges one "
            "correlation"
        )
        _warn_of_time(X, SECONDS * n_effects**3, "cube", way_out)
    return found


def _warn_of_time(X: Comparisons, seconds: float, power: str, more: str = "") -> None:
    """Warn beforehand of item effects that take more than a minute."""
    if seconds <= MINUTE:
        return
    n_judges, n_models = len(X.judges), len(X.models)
    warn_at_once(
        SlowWarning(
            f"{n_judges:,} judges and {n_models:,} models have "
            f"{n_judges * n_models:,} item effects, whose fit takes about "
            f"{max(seconds / 60.0, 1.0):.0f} minutes. Fewer judges or models take "
            f"less, with the {power} of their number{more}.",
            code="slow-item-effects",
        ),
        stacklevel=4,
    )


def _choose(
    item_effects: str | None,
    X: Comparisons,
    check: ItemCheck,
    n_verdicts: float,
    prior: ItemPrior,
) -> ItemChoice:
    """Decide, whatever time it takes."""
    p, n_judges = check.p_value, len(X.judges)
    if not n_judges:
        return ItemChoice("none", "there are no judges", p)
    if leaves_items_out(item_effects):
        return ItemChoice("none", "as asked", p)
    n_historical = count_historical(X)
    if n_historical < MIN_HISTORICAL:
        # A lone historical model is at zero on a scale that nothing tells.
        return ItemChoice("none", "there is one historical model", p)
    few, resting = n_historical < FEW_HISTORICAL, ""
    if few:
        resting = (
            f", and their size rests on a prior of {prior.sd:g} logits with "
            f"{prior.df:g} degrees of freedom"
        )
    if item_effects == "random":
        return ItemChoice("random", f"as asked{resting}", p, prior)
    common = ""
    n_deviations = n_judges * n_historical
    are_thin = n_verdicts < FEW_VERDICTS * n_judges
    if n_judges < MANY_JUDGES or n_verdicts < LEAST_VERDICTS * n_judges:
        if n_deviations > (FEW_DEVIATIONS if are_thin else MOST_DEVIATIONS):
            too_few = n_verdicts if are_thin else None
            return _of_many(check, prior, n_judges, n_historical, too_few)
    elif n_deviations > (FEW_DEVIATIONS if are_thin else MOST_PAIRED):
        prior = replace(prior, has_common_correlation=True)
        common = "; all pairs of judges have one correlation"
    if few:
        why = f"they always are with {n_historical} historical models{resting}"
    elif n_judges <= FEW_JUDGES:
        why = "they always are with one or two judges"
    elif np.isnan(p):
        why = "no test for them is possible"
    elif (seen := _evidence(check, prior, "a test sees them")) is not None:
        why = seen
    else:
        return ItemChoice("none", UNSEEN, p, prior)
    return ItemChoice("random", f"{why}{common}", p, prior)


def _evidence(check: ItemCheck, prior: ItemPrior, detected: str) -> str | None:
    """Why a test speaks for item effects, ``detected`` if it sees them; None if not."""
    if check.detected:
        return detected
    if not check.rules_out(prior.sd):
        return f"the verdicts do not rule out a size of {prior.sd:g} logits"
    return None


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
    # With more deviations than that, "auto" leaves them out, takes them by judge, or
    # ends in an error.
    most = MOST_DEVIATIONS if n_judges < MANY_JUDGES else MOST_PAIRED
    deviations = not (leaves_items_out(item_effects) or n_judges * n_models > most)
    return count_parameters(n_models, n_judges, deviations=deviations)


def limited_to_inference(
    X: Comparisons, item_effects: str | None
) -> AbstractContextManager[None]:
    """Limit the threads of BLAS where the matrices of the inference are small."""
    return limited_threads(threads_for(matrix_size(X, item_effects)))


def _of_many(
    check: ItemCheck,
    prior: ItemPrior,
    n_judges: int,
    n_historical: int,
    too_few: float | None,
) -> ItemChoice:
    """Let the test decide, which so many models make sharp; refuse to wait unasked."""
    p = check.p_value
    tested = f"a test sees that (p = {p:.2g})"
    seen = _evidence(check, prior, "no test is possible" if np.isnan(p) else tested)
    if seen is None:
        return ItemChoice("none", UNSEEN, p, prior)
    why, advice = (
        "the time that they take grows with the cube of their number",
        "Rank fewer models at a time",
    )
    if too_few is not None:
        why, advice = (
            f"there are only {too_few:,} verdicts to learn them from",
            "Give judges that are the same one name, leave out those with few verdicts",
        )
    raise BattlesError(
        "Whether judges deviate from models in ways that score and features do not "
        f"explain: {seen}. For {n_judges:,} judges and {n_historical:,} models these "
        f"are {n_judges * n_historical:,} deviations, and {why}. {advice}, set "
        "item_effects to 'random' to wait for it, or to None for intervals without "
        "them, which are likely too short."
    )


def warn_of_covariance(
    found: ItemCovariance, prior: ItemPrior, n_historical: int
) -> None:
    """Warn of a covariance that little was learned of."""
    shown = found.free - prior.df
    if n_historical >= FEW_HISTORICAL and shown < FEWEST_FREE:
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
