"""Scores under a mix of contexts, from those of every model in every context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._battles.labels import Items
from skanchor._crossfit.stages import Stages
from skanchor._sample.sample import Sample
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.readouts import Exposures
from skanchor.results._anchor import AnchorResult, MappedInfluence
from skanchor.results._ranking import RankingResult

ROUNDING = 1e-6
"""How far the shares of a mix may be from one in sum."""


def check_mix(mix: Mapping[Any, float], contexts: list[Any]) -> dict[Any, float]:
    """Positive shares of a mix; refuse what is none.

    Parameters
    ----------
    mix : mapping of label to float
        Share of each context.
    contexts : list of labels
        Contexts that there are.

    Returns
    -------
    dict of label to float
    """
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
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(f"Shares must be finite and not negative: {dict(mix)}.")
    if not abs(values.sum() - 1.0) <= ROUNDING:
        raise ValueError(
            f"The shares of a mix must sum to one, here they sum to "
            f"{values.sum():.6g}; divide each by that."
        )
    return {name: float(share) for name, share in mix.items() if share > 0}


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
    names = X.items.contexts.tolist()
    if mix is None:
        mix = dict.fromkeys(names, 1.0 / len(names))
    shares = check_mix(mix, names)
    Mixture.of(X.models, shares)
    unvoted = ~X.is_new & (X.appearances(sample.counts & X.is_human) == 0)
    # Without a joint fit, verdicts do not contribute to historical scores.
    if unvoted.any() and not stages.fits_jointly(X):
        raise BattlesError(
            f"No human votes place {X.models[unvoted].tolist()[:5]}. "
            "A joint historical_fit can place them by judge rows."
        )
    return shares


@dataclass(frozen=True, eq=False, slots=True)
class Mixture:
    """Where the models of a mix stand among the models in contexts.

    Attributes
    ----------
    models : ndarray of shape (n_models,)
        Labels of the models.
    shares : ndarray of shape (n_contexts,)
        Share of each context of the mix.
    places : list of ndarrays of shape (n_models,)
        By context of the mix, the place of each model there.
    common : ndarray of shape (n_models,) or None
        Models over which scores are centred anew, where a context leaves that of a
        historical model undetermined: contexts are centred without it.
    """

    models: NDArray[Any]
    shares: Array
    places: list[NDArray[np.intp]]
    common: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, labels: NDArray[Any], shares: Mapping[Any, float]) -> Self:
        """Find the models of a mix.

        Parameters
        ----------
        labels : ndarray of shape (n_items,)
            Models in contexts.
        shares : mapping of label to float
            Share of each context of the mix.

        Returns
        -------
        Mixture

        Raises
        ------
        BattlesError
            If a model has no score in a context of the mix.
        """
        items = Items.of(labels)
        size = len(items.models)
        # at[c, j]: place of model j in context c among the labels; -1 where it has
        # none.
        at = np.full((len(items.contexts), size), -1)
        at[items.context, items.model] = np.arange(len(labels))
        codes = [items.contexts.tolist().index(name) for name in shares]
        shown = (at[codes] >= 0).any(axis=0)
        for name, code in zip(shares, codes, strict=True):
            lost = sorted(items.models[shown & (at[code] < 0)].tolist(), key=str)
            if lost:
                raise BattlesError(
                    f"Context {name!r} has no row that places models {lost[:5]}: "
                    "their scores there are not determined. Leave the context out of "
                    "context_mix, which by default has all of them with equal shares, "
                    "add rows, or leave these models out."
                )
        chosen = np.flatnonzero(shown)
        chosen = chosen[np.argsort(items.models[chosen], kind="stable")]
        return cls(
            items.models[chosen],
            np.array(list(shares.values())),
            [at[code, chosen] for code in codes],
        )

    def any(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which models have a flag in some context of the mix."""
        return np.asarray(np.any([flags[at] for at in self.places], axis=0))

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Plain sums over the contexts of the mix, by model in the last axis."""
        return np.asarray(np.sum([values[..., at] for at in self.places], axis=0))

    def mean(self, values: Array) -> Array:
        """Means by the shares of what the last axis has by model in context."""
        total = self.weighted(values)
        if self.common is not None:
            total = total - total[..., self.common].mean(axis=-1, keepdims=True)
        return total

    def weighted(self, values: Array) -> Array:
        """Means before those of the common models are subtracted."""
        parts = zip(self.shares, self.places, strict=True)
        return np.asarray(sum(share * values[..., at] for share, at in parts))

    def covariance(self, values: Array) -> Array:
        """Covariances of these means, by the last two axes."""
        # M C M' for the matrix M of the means: once for the columns, once for the rows.
        turned = np.swapaxes(self.mean(values), -1, -2)
        return np.swapaxes(self.mean(turned), -1, -2)


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
        shares = check_mix(mix, Items.of(cells.models).contexts.tolist())
        mixture, shared_fields = _mixed_fields(cells, shares)
        # The lower bound of the variance is a square of what the error of the common
        # scale does to each score: it has a sign, and is a mean like the scores.
        root = np.sign(np.mean(cells.plug_in, axis=0)) * np.sqrt(cells.lower_bound)
        return cls(
            **shared_fields,
            rows=MappedInfluence(cells.rows, mixture.mean),
            part_covariances=mixture.covariance(cells.part_covariances),
            # The square of what moves with the scale of the scores.
            lower_bound=mixture.mean(root) ** 2,
            plug_in=mixture.mean(cells.plug_in),
            fold_plan=cells.fold_plan,
            fitted=cells.fitted,
            diagnostics=cells.diagnostics,
            cells=cells,
            mix=shares,
        )

    @cached_property
    def exposures(self) -> Exposures | None:
        """Exposures to favours for a model in every context; None for a plug-in."""
        cells = self.cells.exposures
        if cells is None:
            return None
        mixture, items = _mixed_fields(self.cells, self.mix)[0], self.cells.models
        labels = Items.of(items)
        # owned[i, j]: item i is model j of the mix in some context, of the mix or not.
        owned = np.equal.outer(labels.models[labels.model], mixture.models)
        owned = owned.astype(np.float64)
        return cells.mapped(mixture.mean, lambda x: x @ owned, mixture.weighted)

    @property
    def contexts(self) -> list[Any]:
        """Labels of all contexts."""
        return list(Items.of(self.cells.models).contexts.tolist())

    @cached_property
    def by_context(self) -> dict[Any, RankingResult]:
        """Result of each context."""
        return {name: self.under({name: 1.0}) for name in self.contexts}

    def under(self, mix: Mapping[Any, float]) -> RankingResult:
        """Scores under another mix of contexts.

        Parameters
        ----------
        mix : mapping of label to float
            Share of each context. Shares are not negative and add up to one. Contexts
            that are not named have the share zero.

        Returns
        -------
        RankingResult
            The mean of the contexts' scores with these shares, centred over the
            historical models.

        Raises
        ------
        BattlesError
            If a model has no score in a context of the mix.
        """
        return RankingResult(
            **_mixed_fields(self.cells, check_mix(mix, self.contexts))[1]
        )


def _mixed_fields(
    cells: RankingResult, shares: Mapping[Any, float]
) -> tuple[Mixture, dict[str, Any]]:
    """Where the models of a mix are, and the fields of its result."""
    mixture = Mixture.of(cells.models, shares)
    is_new = cells.is_new[mixture.places[0]]
    unbounded = mixture.any(cells.unbounded)
    if (unbounded & ~is_new).any() and not (unbounded | is_new).all():
        mixture = replace(mixture, common=~(unbounded | is_new))
    items = cells.item_covariances
    mixed = {
        "models": mixture.models,
        "is_new": is_new,
        "estimates": mixture.mean(cells.estimates),
        "covariances": mixture.covariance(cells.covariances),
        "unbounded": unbounded,
        "n_human": mixture.sum(cells.n_human),
        "n_judge": mixture.sum(cells.n_judge),
        "item_covariances": None if items is None else mixture.covariance(items),
        "item_df": cells.item_df,
        "inputs": replace(cells.inputs, mix=tuple(shares.items())),
        # Judges are shared, so that contexts have one scale.
        "scale_z": cells.scale_z,
        # A mean of scores has no limit where one of them has none.
        "open_rows": None,
    }
    assert set(mixed) == {field.name for field in fields(RankingResult)}
    return mixture, mixed
