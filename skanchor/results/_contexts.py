"""Scores under a mix of contexts, from those of every model in every context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.labels import Items
from skanchor._crossfit.stages import Stages
from skanchor._sample.sample import Sample
from skanchor._typing import Array, Indices
from skanchor.exceptions import BattlesError
from skanchor.readouts import Exposures
from skanchor.results._anchor import AnchorResult

ROUNDING = 1e-6
"""How far the shares of a mix may be from one in sum."""


def context_mix(
    sample: Sample, context: str | None, mix: Any, stages: Stages
) -> dict[Any, float] | None:
    """Check and complete the shares of contexts in the reported scores.

    Parameters
    ----------
    sample : Sample
        All rows, with decided roles.
    context : str or None
        Column of the contexts.
    mix : mapping of label to float or None
        The user's shares; None gives each context the same share.
    stages : Stages
        The unfitted stages.

    Returns
    -------
    dict of label to float, or None
        Share of each context; None if there are no contexts.

    Raises
    ------
    BattlesError
        If a context of the mix lacks a model, or the settings do not go with contexts.
    """
    X = sample.X
    if context is None:
        if mix is not None:
            raise ValueError(
                "context_mix has shares of contexts: name their column by context."
            )
        return None
    if not X.has_contexts:
        raise BattlesError(
            f"These rows were encoded without their contexts (column {context!r}): "
            "give the table itself."
        )
    if stages.btl.bias is not None:
        raise ValueError(
            "human_bias cannot be combined with context: fit the rows of each context "
            "alone, or leave one of the two out."
        )
    shares, _, _ = places_of(X.models, mix)
    unvoted = ~X.is_new & (X.appearances(sample.counts & X.is_human) == 0)
    # Without a joint fit, verdicts do not contribute to historical scores.
    if unvoted.any() and not stages.fits_jointly(X):
        raise BattlesError(
            f"No human votes place {X.models[unvoted].tolist()[:5]}. "
            "A joint historical_fit can place them by judge rows."
        )
    return shares


def places_of(
    labels: NDArray[Any], mix: Any
) -> tuple[dict[Any, float], NDArray[Any], Indices]:
    """Find the models of a mix among the models in contexts; refuse what is no mix.

    Parameters
    ----------
    labels : ndarray of shape (n_items,)
        Models in contexts.
    mix : mapping of label to float or None
        Share of each context; None gives each the same.

    Returns
    -------
    shares : dict of label to float
        The shares that are above zero.
    models : ndarray of shape (n_models,)
        Labels of the models.
    places : ndarray of shape (n_contexts, n_models)
        Place of each model in each context of the mix.

    Raises
    ------
    BattlesError
        If a model has no score in a context of the mix.
    """
    items = Items.of(labels)
    contexts = items.contexts.tolist()
    if mix is None:
        mix = dict.fromkeys(contexts, 1.0 / len(contexts))
    if not isinstance(mix, Mapping):
        raise TypeError(
            f"A mix is a dict of context to share, not {type(mix).__name__}."
        )
    strangers = [name for name in mix if name not in contexts]
    if strangers:
        raise BattlesError(
            f"The mix names contexts {strangers[:5]}, which the table has not; it "
            f"has {contexts[:10]}."
        )
    values = np.array([float(value) for value in mix.values()])
    if not ((values >= 0).all() and abs(values.sum() - 1.0) <= ROUNDING):
        raise ValueError(
            "The shares of a mix must be not negative and sum to one, here they sum to "
            f"{values.sum():.6g}: {dict(mix)}."
        )
    shares = {name: float(share) for name, share in mix.items() if share > 0}
    # places[c, j]: where model j in context c is; -1 where it has no score.
    places = np.full((len(contexts), len(items.models)), -1)
    places[items.context, items.model] = np.arange(len(labels))
    places = places[[contexts.index(name) for name in shares]]
    has_score = places >= 0
    shown = np.flatnonzero(has_score.any(axis=0))
    for name, there in zip(shares, has_score[:, shown], strict=True):
        lost = sorted(items.models[shown[~there]].tolist(), key=str)
        if lost:
            raise BattlesError(
                f"Context {name!r} has no row that places models {lost[:5]}: their "
                "scores there are not determined. Leave the context out of "
                "context_mix, which by default has all of them with equal shares, add "
                "rows, or leave these models out."
            )
    shown = shown[np.argsort(items.models[shown], kind="stable")]
    return shares, items.models[shown], places[:, shown]


@dataclass(frozen=True, eq=False, slots=True)
class Mixture:
    """Means over contexts of what the models have there.

    Attributes
    ----------
    shares : ndarray of shape (n_contexts,)
        Share of each context of the mix.
    places : ndarray of shape (n_contexts, n_models)
        Where each model is among the models in contexts.
    common : ndarray of shape (n_models,)
        Models over which scores are centred.
    """

    shares: Array
    places: Indices
    common: NDArray[np.bool_]

    def weighted(self, values: Array) -> Array:
        """Means by the shares of what the last axis has by model in context."""
        return np.asarray(self.shares @ values[..., self.places])

    def mean(self, values: Array) -> Array:
        """These means, less that of the common models."""
        total = self.weighted(values)
        return np.asarray(total - total[..., self.common].mean(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ContextResult(AnchorResult):
    """Scores under a mix of contexts, and the scores by context behind them.

    Attributes
    ----------
    cells : AnchorResult
        Scores of every model in every context. The labels in its ``models`` have the
        attributes ``context`` and ``model``. It has its own diagnostics.
    mix : dict of label to float
        Share of each context in this result.
    mixture : Mixture
        How its scores are means of those.

    Notes
    -----
    All other attributes and methods are those of :class:`skanchor.AnchorResult`, for
    the scores of the mix: sums over contexts of share times score.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(n_models=4, random_state=0)
    >>> kind = np.where(np.arange(len(data.X)) % 3 > 0, "chat", "coding")
    >>> X = data.X.assign(kind=kind)
    >>> anchor = AnchorPipeline(context="kind", cv=3, random_state=0)
    >>> result = anchor.fit(X, data.y).result_
    >>> sorted(result.by_context)
    ['chat', 'coding']
    >>> result.under({"chat": 1.0}).scores.index.tolist()
    ['new-model']
    """

    cells: AnchorResult
    mix: Mapping[Any, float]
    mixture: Mixture

    @classmethod
    def of(cls, cells: AnchorResult, mix: Mapping[Any, float]) -> ContextResult:
        """Mix the scores of contexts.

        Parameters
        ----------
        cells : AnchorResult
            Scores of every model in every context.
        mix : mapping of label to float
            Share of each context.

        Returns
        -------
        ContextResult
        """
        shares, models, places = places_of(cells.models, mix)
        is_new, unbounded = cells.is_new[places[0]], cells.unbounded[places].any(axis=0)
        # A context is centred without models that it leaves undetermined, so that the
        # mean over the others in all contexts is not zero.
        common = ~(is_new | unbounded)
        common = common if common.any() else ~is_new
        mixture = Mixture(np.array(list(shares.values())), places, common)
        # The lower bound of the variance is a square of what the error of the common
        # scale does to each score: it has a sign, and is a mean like the scores.
        root = np.sign(np.mean(cells.plug_in, axis=0)) * np.sqrt(cells.lower_bound)
        result = cells.mapped(
            mixture.mean,
            models=models,
            is_new=is_new,
            unbounded=unbounded,
            n_human=cells.n_human[places].sum(axis=0),
            n_judge=cells.n_judge[places].sum(axis=0),
            lower_bound=mixture.mean(root) ** 2,
            inputs=replace(cells.inputs, mix=tuple(shares.items())),
        )
        columns = {field.name: getattr(result, field.name) for field in fields(result)}
        return cls(**columns, cells=cells, mix=shares, mixture=mixture)

    @cached_property
    def influence(self) -> Array:
        """Influence of each row on each score, in logits; computed when asked for."""
        return self.mixture.mean(self.cells.influence)

    @cached_property
    def exposures(self) -> Exposures | None:
        """Exposures to favours for a model in every context; None for a plug-in."""
        cells, labels = self.cells.exposures, Items.of(self.cells.models)
        if cells is None:
            return None
        # same_model[i, j]: item i is model j of the mix in some context, of the mix or
        # not.
        same_model = np.equal.outer(labels.models[labels.model], self.models)
        same_model = same_model.astype(np.float64)
        mixture = self.mixture
        return cells.mapped(mixture.mean, lambda x: x @ same_model, mixture.weighted)

    @property
    def contexts(self) -> list[Any]:
        """Labels of all contexts."""
        return list(Items.of(self.cells.models).contexts.tolist())

    @cached_property
    def by_context(self) -> dict[Any, ContextResult]:
        """Result of each context."""
        return {name: self.under({name: 1.0}) for name in self.contexts}

    def under(self, mix: Mapping[Any, float]) -> ContextResult:
        """Scores under another mix of contexts.

        Parameters
        ----------
        mix : mapping of label to float
            Share of each context. Shares are not negative and add up to one. Contexts
            that are not named have the share zero.

        Returns
        -------
        ContextResult
            The mean of the contexts' scores with these shares, centred over the
            historical models.

        Raises
        ------
        BattlesError
            If a model has no score in a context of the mix.
        """
        return ContextResult.of(self.cells, mix)
