"""Errors of the new scores with more rows, or with fewer, than a fit has.

The variance of a target that is predicted is ``rho w'Qw + iota w'Rw``: the sampling
part and the part of the item effects. The two factors make it the reported variance at
the rows that are there. They hold what formulas of independent votes leave out: groups,
ties, the inflation of the item part, and the widening where judges disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skanchor._checks import is_number
from skanchor._comparisons import HUMAN
from skanchor._comparisons.people import human_like
from skanchor._inference import combine_targets, satterthwaite, t_quantile
from skanchor._numerics.parameters import PEOPLE
from skanchor._served import check_served
from skanchor._typing import Array
from skanchor.exceptions import BattlesError
from skanchor.planning._information import WholeInformation
from skanchor.planning._kinds import SourceKinds, kinds_of_source
from skanchor.results import AnchorResult

if TYPE_CHECKING:
    from skanchor._btl import BTLRegressor
    from skanchor._judges import JudgeCalibrator
    from skanchor._riesz import RieszDebiaser
    from skanchor.sample import Sample

EVERY_JUDGE = "judges"
"""In place of a judge among costs: all that have none of their own."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Linear targets of a result, and what makes their variances the reported ones.

    Attributes
    ----------
    vectors : ndarray of shape (p, n_targets)
        L.
    estimate, variance, items : ndarray of shape (n_targets,)
        As reported; ``items`` is the part of the variance from item effects.
    sampling_factor, item_factor : ndarray of shape (n_targets,)
        rho and iota.
    item_df : float
        Degrees of freedom of the item part.
    """

    vectors: Array
    estimate: Array
    variance: Array
    items: Array
    sampling_factor: Array
    item_factor: Array
    item_df: float

    def parts(self, split: tuple[Array, Array]) -> tuple[Array, Array]:
        """Variance and item part that would be reported, of ``w'Qw`` and ``w'Rw``."""
        items = self.item_factor * split[1]
        return self.sampling_factor * split[0] + items, items

    def half_widths(self, split: tuple[Array, Array], level: float) -> Array:
        """Half widths of the intervals, in logits."""
        variance, items = self.parts(split)
        df = satterthwaite(variance, items, self.item_df)
        return np.asarray(t_quantile(level, df) * np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class Forecast:
    """Predicted standard errors of a fitted pipeline with other numbers of rows.

    Attributes
    ----------
    result : AnchorResult
        The reported result.
    models, judges : ndarray of shape (n_models,), (n_judges,)
        Labels.
    is_new : ndarray of shape (n_models,)
        Whether a model is new.
    information : WholeInformation
        Information of the rows of the fit.
    kinds : dict of int to SourceKinds
        Rows on a new model, by source.

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.planning import Forecast, worth_of
    >>> X, y = load_demo(return_X_y=True)
    >>> anchor = AnchorPipeline(cv=3, item_effects="none", random_state=0).fit(X, y)
    >>> parts = anchor.btl_, anchor.calibrator_, anchor.debiaser_
    >>> forecast = Forecast.of(anchor.result_, anchor._distinct_sample, *parts)
    >>> worth_of(forecast, "ivory-lynx").table.index.names
    FrozenList(['model', 'judge'])
    """

    result: AnchorResult
    models: NDArray[Any]
    judges: NDArray[Any]
    is_new: NDArray[np.bool_]
    information: WholeInformation
    kinds: dict[int, SourceKinds]

    @classmethod
    def of(
        cls,
        result: AnchorResult,
        sample: Sample,
        btl: BTLRegressor,
        calibrator: JudgeCalibrator,
        debiaser: RieszDebiaser | None,
    ) -> Self:
        """Compute the information of a fitted pipeline.

        Parameters
        ----------
        result : AnchorResult
            The reported result.
        sample : Sample
            Rows that were fitted, with the columns estimated by the chain.
        btl, calibrator, debiaser : estimators
            The chain, fitted on all rows.

        Returns
        -------
        Forecast

        Raises
        ------
        ValueError
            If the method has no closed form for further rows.
        """
        served = check_served(
            "worth, outlook and design", debiaser, sample, in_closed_form=True
        )
        X, curvature = sample.X, served.curvature(sample)
        kinds = {}
        for source in served.solution_.grams:
            m, learner = source - 1, served.learners_[source].learner
            bias = btl.bias_ if m == PEOPLE else calibrator.biases_[X.judges[m]]
            n_span = served.solution_.layout.widths[source]
            bias = bias if n_span else None
            kinds[m] = kinds_of_source(sample, m, curvature, learner, bias, n_span)
        information = WholeInformation(served.solution_)
        return cls(result, X.models, X.judges, X.is_new, information, kinds)

    # ----------------------------------------------------------------------- targets
    def targets(self, pairs: Sequence[tuple[Hashable, Hashable | None]]) -> Targets:
        """Scores of models, and differences of two.

        Parameters
        ----------
        pairs : sequence of (model, opponent)
            Labels; None for the opponent asks for the score.

        Returns
        -------
        Targets
        """
        own, whole = self.models.tolist(), self.result.models.tolist()
        coefficients = np.zeros((len(own), len(pairs)))
        reported = np.zeros((len(whole), len(pairs)))
        for t, (model, opponent) in enumerate(pairs):
            for label, sign in ((model, 1.0), (opponent, -1.0)):
                if label is not None:
                    coefficients[own.index(label), t] = sign
                    reported[whole.index(label), t] = sign
        vectors = self.information.targets(coefficients)

        def quadratic(c: Array) -> Array:
            return np.einsum("it,rij,jt->rt", reported, c, reported)

        result = self.result
        estimate, variance, items = combine_targets(
            result.estimates @ reported,
            quadratic,
            result.covariances,
            result.item_covariances,
        )
        sampling, from_items = self.information.split(
            vectors, self.information.weights(vectors)
        )
        return Targets(
            vectors,
            estimate,
            variance,
            items,
            (variance - items) / sampling,
            np.divide(items, from_items, out=np.ones_like(items), where=from_items > 0),
            self.result.item_df,
        )

    def split(
        self,
        targets: Targets,
        more: Array | float = 0.0,
        endless: Array | None = None,
    ) -> tuple[Array, Array]:
        """Sampling and item parts ``w'Qw`` and ``w'Rw`` with other rows.

        Parameters
        ----------
        targets : Targets
            As :meth:`targets` returns them.
        more : ndarray of shape (p, p), default=0.0
            Information to add.
        endless : ndarray of shape (p, p), optional
            Information of the kinds of rows whose number is taken as infinite.

        Returns
        -------
        sampling, items : ndarray of shape (n_targets,)
        """
        information, vectors = self.information, targets.vectors
        if endless is None:
            return information.split(vectors, information.weights(vectors, more))
        return information.split(vectors, information.limit(vectors, endless, more))

    def along(
        self, targets: Targets, unit: Array, more: Array | float = 0.0
    ) -> Callable[[float], tuple[Array, Array]]:
        """The same parts as functions of the number of rows of one kind.

        Parameters
        ----------
        targets : Targets
            As :meth:`targets` returns them.
        unit : ndarray of shape (p, p)
            Information of one row.
        more : ndarray of shape (p, p), default=0.0
            Information that is added.

        Returns
        -------
        callable
            Takes a positive number of rows.
        """
        weights = self.information.along(targets.vectors, unit, more)
        return lambda n: self.information.split(targets.vectors, weights(n))

    @property
    def determined(self) -> list[Any]:
        """New models whose score is determined."""
        lost = set(self.result.models[self.result.unbounded].tolist())
        return [each for each in self.models[self.is_new].tolist() if each not in lost]

    def check_model(self, model: Hashable | None) -> list[Any]:
        """New models that are asked for; raise an error for other models.

        Parameters
        ----------
        model : label or None
            None means all models whose score is determined.

        Returns
        -------
        list
        """
        new = self.result.models[self.result.is_new].tolist()
        if not new:
            raise BattlesError(
                "There is no new model: the worth of verdicts and the rows to buy are "
                "about the score of a new model."
            )
        if model is not None and model not in new:
            raise BattlesError(
                f"{model!r} is none of the new models; these are {new[:10]}."
            )
        asked = new if model is None else [model]
        found = [each for each in asked if each in self.determined]
        if not found:
            raise BattlesError(
                f"The scores of {asked[:5]} are not determined: their errors are "
                "infinite, so the worth of a row is unknown. "
                "Get verdicts of a judge with historical verdicts on them first."
            )
        return found

    # ----------------------------------------------------------------------- sources
    def label(self, m: int) -> Any:
        """Label of a source: a judge's, or ``"human"``."""
        return HUMAN if m == PEOPLE else self.judges[m]

    def source(self, label: Hashable) -> int:
        """Code of a source by its label; refuse unknown ones."""
        for m in self.kinds:
            if self.label(m) == label:
                return m
        known = [self.label(m) for m in self.kinds]
        raise BattlesError(f"{label!r} is none of the sources; known are {known[:12]}.")

    def check_costs(self, costs: Mapping[Any, float]) -> dict[int, float]:
        """Cost of a row by source; refuse what is no cost, or of no source."""
        known = [self.label(m) for m in self.kinds]
        found = check_costs(costs, known)
        return {self.source(label): cost for label, cost in found.items()}

    def offered(self, m: int, model: Hashable) -> SourceKinds:
        """Kinds of rows of a source on a model, against historical models."""
        kinds = self.kinds[m]
        code = self.models.tolist().index(model)
        return kinds[(kinds.model == code) & ~self.is_new[kinds.opponent]]


def check_costs(costs: Mapping[Any, float], known: Sequence[Any]) -> dict[Any, float]:
    """Costs of a row as floats; refuse what is no cost, or of no source.

    Parameters
    ----------
    costs : mapping of label to float
        Cost of a row by source; that of ``"judges"`` is of every judge without one of
        its own.
    known : sequence of label
        Sources: ``"human"`` and judges.

    Returns
    -------
    dict
    """
    if not isinstance(costs, Mapping) or not costs:
        raise BattlesError(
            f"costs must map sources to the cost of a row, as in {{{known[-1]!r}: "
            f"0.02}}, got {costs!r}."
        )
    found = {}
    if EVERY_JUDGE in costs and EVERY_JUDGE not in known:
        every = dict.fromkeys([label for label in known if label != HUMAN])
        costs = dict.fromkeys(every, costs[EVERY_JUDGE]) | {
            label: cost for label, cost in costs.items() if label != EVERY_JUDGE
        }
    for label, cost in costs.items():
        if label not in known:
            raise BattlesError(
                f"costs names {label!r}, which is no source of rows; sources are "
                f"{list(known)[:12]}."
                + (f" People are {HUMAN!r}." if human_like([label]) else "")
            )
        if not is_number(cost) or not 0.0 < cost < np.inf:
            raise BattlesError(
                f"The cost of a row of {label!r} must be a number above zero, got "
                f"{cost!r}."
            )
        found[label] = float(cost)
    return found
