"""The covariance of the item effects, estimated on the historical rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import Comparisons
from skanchor._items._blocks import BlockRows
from skanchor._items._dispersion import LEAST_DISPERSION, dispersions
from skanchor._items._expansion import DenseRows, signs
from skanchor._items._likelihood import ItemLikelihood
from skanchor._judges import JudgeCalibrator
from skanchor._numerics.item_covariance import ITEM_PRIOR, ItemPrior, inflation
from skanchor._numerics.machine import available_bytes
from skanchor._numerics.shrinkage import Shrinkage, common_shrinkage
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.sample import Sample

MIN_HISTORICAL = 2
"""Least number of historical models for item effects."""

FEW_HISTORICAL = 5
"""Number of historical models below which the prior is most of what is known of the
covariance."""

MATRICES = 12
"""Most matrices by all parameters that are in memory at once: ten in this module, and
as many in a fold beside the fit of all rows."""


MOST_LOST = 2
"""Number of modes not found after which the estimation ends. An expansion about another
point becomes less informative on the covariance with every step."""


@dataclass(frozen=True, eq=False)
class ItemCovariance:
    """Estimated covariance of the deviations.

    Attributes
    ----------
    covariance : ndarray of shape (n_judges, n_judges)
        Sigma_u, in squared judge logits.
    shrinkage : Shrinkage
        Shares of the judges' own variances and correlations in it.
    slopes : ndarray of shape (n_judges,)
        Sensitivities at the estimate.
    free : float
        Degrees of freedom of the moments before shrinkage: the number of historical
        models less two, fewer where features distinguish models, and those of the
        prior.
    inflation : float
        Factor of the item part of a variance that accounts for the estimation of
        Sigma_u.
    df : float
        Degrees of freedom of the item part.
    converged : bool
        Whether the last step changed Sigma_u by less than the tolerance.
    """

    covariance: Array
    shrinkage: Shrinkage
    slopes: Array
    free: float
    inflation: float = 1.0
    df: float = np.inf
    converged: bool = True

    def for_arrivals(self, X: Comparisons) -> ItemCovariance:
        """The same covariance, with ``inflation`` and ``df`` for these new models.

        Parameters
        ----------
        X : Comparisons
            Rows whose arrivals show which judges see a new model. If no judge does, all
            judges count.

        Returns
        -------
        ItemCovariance
        """
        return self.for_judges(judges_of_arrivals(X))

    def for_judges(self, seen: NDArray[np.bool_]) -> ItemCovariance:
        """As :meth:`for_arrivals`, for new models that these judges see.

        Parameters
        ----------
        seen : ndarray of shape (n_judges,)
            Mask of the judges, as :func:`judges_of_arrivals` returns it.

        Returns
        -------
        ItemCovariance
        """
        # The covariance was shrunk with judges of negative sensitivity reversed.
        sign = signs(self.slopes)
        factor, df = inflation(
            self.covariance * np.outer(sign, sign),
            self.shrinkage,
            np.abs(self.slopes),
            seen if seen.any() else np.ones_like(seen),
            self.free,
        )
        return replace(self, inflation=factor, df=df)


def judges_of_arrivals(X: Comparisons) -> NDArray[np.bool_]:
    """Mask of the judges that see a new model.

    Parameters
    ----------
    X : Comparisons
        Rows of which it is decided which models are new.

    Returns
    -------
    ndarray of shape (n_judges,)
    """
    arrivals = X.involves_new & X.is_usable & ~X.is_human
    return np.isin(np.arange(len(X.judges)), X.judge[arrivals])


def estimate_item_covariance(
    sample: Sample,
    calibrator: JudgeCalibrator,
    prior: ItemPrior = ITEM_PRIOR,
) -> ItemCovariance:
    """Estimate Sigma_u from the historical rows by EM with chosen shrinkage.

    Parameters
    ----------
    sample : Sample
        Rows that carry the plug-in of the earlier stages, outcomes, weights, groups.
    calibrator : JudgeCalibrator
        Fitted calibrator. The part of its learners that is linear in coefficients is
        profiled out.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        If there are fewer than two historical models, more deviations than the
        memory of this machine holds the information of, or rows too few for an
        estimate.
    """
    # Weights divided by the dispersion make the likelihood that of independent votes.
    # The code of people, -1, is the last entry of ``noise``.
    noise = dispersions(sample, has_deviations=True)
    noise = np.where(noise < LEAST_DISPERSION, 1.0, noise)
    weighed = sample.weighted(sample.weight / noise[sample.X.judge])
    model = ItemLikelihood(weighed, calibrator)
    return fit_item_covariance(model, prior)


def fit_item_covariance(
    model: ItemLikelihood, prior: ItemPrior = ITEM_PRIOR
) -> ItemCovariance:
    """Estimate Sigma_u from a likelihood of the historical rows.

    Parameters
    ----------
    model : ItemLikelihood
        Likelihood of rows whose weights are divided by the dispersion of their source.
    prior : ItemPrior
        Prior of the covariance.

    Returns
    -------
    ItemCovariance

    Raises
    ------
    BattlesError
        As :func:`estimate_item_covariance` does.
    """
    n_historical, n_models = int((~model.X.is_new).sum()), count_historical(model.X)
    _check_models(n_models)
    covariance, shrinkage = prior.start(model.n_judges), Shrinkage()
    historical_rows: BlockRows | DenseRows
    if prior.has_common_correlation:
        shrinkage = common_shrinkage(n_historical)
        historical_rows = BlockRows(model)
    else:
        _check_evidence_memory(model)
        historical_rows = DenseRows(model)
    converged, n_lost = False, 0
    # Each round expands the likelihood about the mode of all parameters under the
    # present covariance, and estimates the covariance from that expansion.
    for step in range(10):
        found = historical_rows.quadratic(covariance)
        if found.is_far:
            break
        n_lost += not found.is_mode
        before = covariance
        try:
            covariance, shrinkage, em_converged = found.estimate(
                covariance, shrinkage, prior, choose=step < 3
            )
        except np.linalg.LinAlgError:
            raise BattlesError(
                "The covariance of the item effects has no estimate: the historical "
                f"rows of {model.n_judges} judges say too little of it. Leave out "
                "judges with few rows, or set item_effects to None for the interval "
                "without them."
            ) from None
        change = np.abs(covariance - before).max()
        # A tenth of a variance is far below its sampling error with so few items.
        reliable = em_converged and found.is_mode
        if reliable and change <= 0.1 * max(np.abs(covariance).max(), 1e-3):
            converged = True
            break
        if n_lost == MOST_LOST:
            break
    # Two degrees of freedom are used by the scale of the scores.
    shown = (n_models - 2.0) * found.free_share(covariance)
    return ItemCovariance(
        covariance,
        shrinkage,
        found.slopes,
        free=shown + prior.df,
        converged=converged,
    ).for_arrivals(model.X)


def count_historical(X: Comparisons) -> int:
    """Number of historical models, each counted once in all contexts.

    The deviations for a model may be the same in all its contexts.
    """
    return len(np.unique(X.rows.items.model[~X.is_new]))


def _check_models(n_historical: int) -> None:
    """Refuse to estimate a covariance from too few models."""
    if n_historical < MIN_HISTORICAL:
        raise BattlesError(
            f"Item effects need at least {MIN_HISTORICAL} historical models to learn "
            f"their covariance, here are {n_historical}; set item_effects to None for "
            "the interval without them."
        )


def _check_evidence_memory(model: ItemLikelihood) -> None:
    """Refuse item effects that do not fit into memory, before any is allocated."""
    # A double has 8 bytes.
    needed = MATRICES * 8 * model.size**2
    available = available_bytes()
    if needed > available:
        raise BattlesError(
            f"Item effects of {model.n_judges} judges and {model.n_items} models are "
            f"{model.n_judges * model.n_items:,} deviations, whose information takes "
            f"{needed / 1e9:,.1f} GB of memory (matrices of {model.size:,} parameters "
            f"squared); {available / 1e9:,.1f} GB are available. Set item_effects to "
            "None for the interval without them, or rank fewer models at a time: "
            "models of about the same level as the new ones, and the judges that "
            "see them."
        )
