"""Contexts: a ranking for each kind of prompt, and scores under any mix of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from skanchor._comparisons import decide_roles, has_contexts, read_contexts
from skanchor._comparisons.labels import positions
from skanchor._stages import Stages
from skanchor._typing import Array
from skanchor.exceptions import BattlesError, located
from skanchor.results import Mixture, RankingResult, check_mix
from skanchor.sample import Battles, Sample
from skanchor.warning_log import WarningLog

__all__ = [
    "ContextResults",
    "context_mix",
    "rank_contexts",
]


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

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.contexts import context_mix
    >>> from skanchor.sample import Sample
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(random_state=0)
    >>> stages = AnchorPipeline().stages
    >>> context_mix(Sample.admit(data.X, data.y), None, None, stages) is None
    True
    """
    X = sample.X
    if context is None:
        if mix is not None:
            raise ValueError(
                "context_mix has shares of contexts: name their column by context."
            )
        return None
    if not has_contexts(X):
        raise BattlesError(
            f"These rows were encoded without their contexts (column {context!r}): "
            "give the table itself."
        )
    if stages.btl.bias is not None:
        raise ValueError(
            "human_bias cannot be combined with context: fit the contexts one by one "
            "with rank_contexts, or leave one of the two out."
        )
    names = X.rows.items.contexts.tolist()
    if mix is None:
        mix = dict.fromkeys(names, 1.0 / len(names))
    shares = check_mix(mix, names)
    # Raises if a context of the mix lacks a model, with the advice added here.
    try:
        Mixture.of(X.models, shares)
    except BattlesError as error:
        raise BattlesError(
            f"{error} The reported scores are means over all contexts, unless "
            "context_mix gives the share of each."
        ) from None
    if not stages.fits_jointly(X):
        # Without a joint fit, verdicts do not contribute to historical scores.
        _check_votes_by_context(sample)
    return shares


def refuse_contexts(estimator: Any, what: str) -> None:
    """Raise for a method with contexts where contexts are not supported.

    Parameters
    ----------
    estimator : estimator
        The method, or a scikit-learn pipeline that ends in it.
    what : str
        Name of the function that does not support contexts.
    """
    method = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if getattr(method, "context", None) is not None:
        raise ValueError(
            f"{what} does not support contexts, and context={method.context!r} asks "
            "for them: leave it at None, and give the rows of one context at a time."
        )


def _check_votes_by_context(sample: Sample) -> None:
    """Raise for historical models without votes in a context (two-step fit)."""
    X = sample.X
    votes = X.rows.appearances(sample.counts & X.is_human)
    lost = X.models[~X.is_new & (votes == 0)].tolist()
    if lost:
        raise BattlesError(
            f"No human votes place {lost[:5]}. historical_fit='joint' can place them "
            "by judge rows."
        )


class ContextResults(Mapping[Any, RankingResult]):
    """Results by context, each fitted to the rows of its context alone.

    Parameters
    ----------
    results : dict of label to RankingResult
        Results by context, each with scores centred over the same historical models.
    share_groups : bool, default=False
        Whether a group of dependent rows has rows in several contexts.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.contexts import rank_contexts
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(n_models=4, random_state=0)
    >>> kind = ["chat" if row % 3 else "coding" for row in range(len(data.X))]
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0)
    >>> found = rank_contexts(anchor, data.X, data.y, kind)
    >>> list(found)
    ['coding', 'chat']
    >>> found["chat"].scores.index.tolist()
    ['new-model']
    """

    def __init__(
        self, results: dict[Any, RankingResult], *, share_groups: bool = False
    ):
        self._results = dict(results)
        self._share_groups = share_groups

    def __getitem__(self, context: Any) -> RankingResult:
        return self._results[context]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of contexts {list(self)}"

    def under(self, mix: Mapping[Any, float]) -> RankingResult:
        """Scores under a mix of contexts.

        Parameters, errors and the meaning of a mix are those of
        :meth:`skanchor.results.ContextResult.under`.

        Notes
        -----
        If no group spans contexts, their sampling errors are independent, and the
        covariance of the mix is ``sum pi_c^2 S_c``. If groups span contexts, it is
        bounded by ``sum pi_c S_c``: whatever the dependence of errors, the covariance
        of their weighted mean is at most the weighted mean of their covariances. The
        item part always has this bound, because a judge may like a model equally in
        every context.
        """
        shares = check_mix(mix, list(self))
        names = list(shares)
        parts = [self._results[name] for name in names]
        models = parts[0].models
        _check_same_models(dict(zip(names, parts, strict=True)))
        pi = np.array([shares[name] for name in names])
        # All contexts in the order of models of the first.
        aligned = [_Aligned(part, models) for part in parts]
        # Axes: context, repeat, model, model.
        items = np.array([part.items for part in aligned])
        sampling = np.array([part.covariances for part in aligned]) - items
        item_part = np.tensordot(pi, items, axes=1)
        weight = pi if self._share_groups else pi**2
        has_items = any(part.item_covariances is not None for part in parts)
        first = aligned[0]
        # 1 / scale_z is the error of the log of a context's scale. Contexts have
        # separate scales, and the errors combine as if scores were equal in all.
        square = float(weight @ [part.scale_z**-2 for part in parts])
        return RankingResult(
            models,
            parts[0].is_new,
            np.tensordot(pi, [part.estimates for part in aligned], axes=1),
            np.tensordot(weight, sampling, axes=1) + item_part,
            np.any([part.unbounded for part in aligned], axis=0),
            np.sum([part.n_human for part in aligned], axis=0, dtype=np.intp),
            np.sum([part.n_judge for part in aligned], axis=0, dtype=np.intp),
            item_part if has_items else None,
            min(part.item_df for part in parts),
            first.result.inputs,
            scale_z=square**-0.5 if square > 0 else np.inf,
        )


class _Aligned:
    """The arrays of a result, with models in a given order."""

    def __init__(self, result: RankingResult, models: NDArray[Any]):
        # Positions in the result of the models asked for; axis 0 is of repeats.
        at = positions(models, result.models)
        self.result = result
        self.estimates: Array = result.estimates[:, at]
        self.covariances: Array = result.covariances[:, at][:, :, at]
        self.items: Array = np.zeros_like(self.covariances)
        if result.item_covariances is not None:
            self.items = result.item_covariances[:, at][:, :, at]
        self.unbounded = result.unbounded[at]
        self.n_human, self.n_judge = result.n_human[at], result.n_judge[at]


def _check_same_models(results: dict[Any, RankingResult]) -> None:
    """Raise unless all contexts have the same models."""
    known = {name: set(part.models.tolist()) for name, part in results.items()}
    every = set().union(*known.values())
    for name, models in known.items():
        lost = sorted(every - models, key=str)
        if lost:
            raise BattlesError(
                f"Context {name!r} has no row that places models {lost[:5]}: their "
                f"scores there are not determined. Leave the context out of the mix, "
                "add rows, or leave these models out."
            )


def rank_contexts(
    estimator: BaseEstimator,
    X: Battles,
    y: ArrayLike,
    contexts: Any,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
) -> ContextResults:
    """Fit a method separately to the rows of each context.

    Parameters
    ----------
    estimator : estimator
        A method with standard errors, such as :class:`skanchor.AnchorPipeline`.
    X : battles table
        One row per comparison.
    y : array-like of shape (n_rows,)
        Outcomes.
    contexts : str or array-like of shape (n_rows,)
        Context of each row, such as the kind of its prompt, or the column of X that
        holds it.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        Groups of dependent rows, or the column that holds them.
        By default the values of ``prompt_id``, if they repeat; None treats
        rows as independent.

    Returns
    -------
    ContextResults
        Result by context; ``under(mix)`` returns the scores under a mix of contexts.

    Raises
    ------
    BattlesError
        If a row has no context, or the rows of a context cannot be ranked.

    Notes
    -----
    Scores of a context are on the scale of its own votes, with mean zero over the
    historical models. Roles are decided on the whole table: a model with votes in any
    context is historical in all.

    Examples
    --------
    >>> import numpy as np
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.contexts import rank_contexts
    >>> from skanchor.simulation import simulate_battles
    >>> data = simulate_battles(n_models=4, random_state=0)
    >>> kind = np.where(np.arange(len(data.X)) % 3 > 0, "chat", "coding")
    >>> anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0)
    >>> found = rank_contexts(anchor, data.X, data.y, kind)
    >>> found.under({"chat": 0.5, "coding": 0.5}).standard_errors.round(1).to_dict()
    {'new-model': 0.1}
    """
    with WarningLog() as log:
        sample = Sample.admit(X, y, sample_weight, groups)
        roles = decide_roles(sample.X, sample.weight, estimator.new_models)
    log.issue()
    labels = read_contexts(contexts, X, len(sample))
    new = roles.models[roles.is_new]
    results = {}
    for context in pd.unique(labels).tolist():
        part = sample[np.flatnonzero(labels == context)]
        # Only new models with usable rows in this context can be ranked in it.
        shown = part.X.models[part.X.rows.appearances(part.counts) > 0].tolist()
        fitted = clone(estimator)
        fitted.set_params(new_models=[m for m in new.tolist() if m in shown])
        extra: dict[str, Any] = {"groups": part.row_groups}
        if sample_weight is not None:
            extra["sample_weight"] = part.weight
        with located(f"Context {context!r}"):
            fitted.fit(part.X.as_preferences(), part.y, **extra)
        result = getattr(fitted, "result_", None)
        if not isinstance(result, RankingResult):
            raise TypeError(
                f"{type(estimator).__name__} gives no standard errors, which the "
                "scores under a mix of contexts need."
            )
        # Names of inputs are those of the user's table; the fit got encoded rows.
        controlled = result.inputs.style_controlled
        inputs = replace(sample.inputs, style_controlled=controlled)
        results[context] = replace(result, inputs=inputs)
    return ContextResults(results, share_groups=_spans(sample.groups, labels))


def _spans(groups: NDArray[np.intp] | None, labels: NDArray[Any]) -> bool:
    """Whether a group has rows in several contexts."""
    if groups is None:
        return False
    # More distinct (group, context) pairs than groups.
    codes = pd.factorize(labels)[0]
    cells = np.unique(np.column_stack([groups, codes]), axis=0)
    return len(np.unique(groups)) < len(cells)
