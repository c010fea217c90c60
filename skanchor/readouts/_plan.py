"""Errors of the new scores with more rows, or with fewer, than a fit has.

The variance of a target that is predicted is ``rho w'Qw + iota w'Rw``: the sampling
part and the part of the item effects, for the weights w that solve (Q + R) w = l. The
two factors make it the reported variance at the rows that are there. They hold what
formulas of independent votes leave out: groups, ties, the inflation of the item part,
and the widening where judges disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import brentq

from skanchor._battles import HUMAN
from skanchor._checks import is_number
from skanchor._model.fit import Fit
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import Solution
from skanchor._model.sources import SourceRows
from skanchor._typing import Array, Indices
from skanchor.exceptions import BattlesError
from skanchor.readouts._answer import check_labels
from skanchor.readouts._kinds import Kinds

if TYPE_CHECKING:
    from skanchor import AnchorResult

ROUNDING = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue of a row is rounding."""

EVERY_JUDGE = "judges"
"""In place of a judge among costs: all that are not named."""

MANY_ROWS = 1e6
"""Number of rows from which their limit is computed."""

MOST_ROWS = 1e12
"""Number of rows beyond which more of them are taken to change nothing."""

_FEWEST = 1e-6


@dataclass(frozen=True, eq=False)
class Targets:
    """Scores or differences, and what makes their variances the reported ones.

    Attributes
    ----------
    vectors : ndarray of shape (p, n_targets)
        L.
    precision : ndarray of shape (p, p)
        R, the precision of the prior of the item effects.
    estimate, variance, items : ndarray of shape (n_targets,)
        As reported; ``items`` is the part of the variance from item effects.
    factors : ndarray of shape (2, n_targets)
        rho and iota.
    result : AnchorResult
        Where they are reported.
    """

    vectors: Array
    precision: Array
    estimate: Array
    variance: Array
    items: Array
    factors: Array
    result: AnchorResult

    def parts(self, weights: Array) -> Array:
        """``w'Qw`` and ``w'Rw`` of weights, (2, n_targets); their sum is ``l'w``."""
        items = np.einsum("pt,pq,qt->t", weights, self.precision, weights)
        sampling = np.einsum("pt,pt->t", self.vectors, weights) - items
        # Where nothing is left of it, rounding may be below zero.
        return np.array([np.maximum(sampling, 0.0), items])

    def variances(self, weights: Array) -> tuple[Array, Array]:
        """Variance and its item part that would be reported."""
        sampling, items = self.factors * self.parts(weights)
        return sampling + items, items

    def half_widths(self, weights: Array, level: float) -> Array:
        """Half widths in logits of the intervals that would be reported."""
        return self.result.half_widths(*self.variances(weights), level)


@dataclass(frozen=True, eq=False)
class Plan:
    """Predicted errors of the new scores of a fit with other numbers of rows.

    Attributes
    ----------
    result : AnchorResult
        The reported result.
    models, sources : list of label
        Of the fit; people are the first source.
    fit : Fit
        Where the information was taken, with spans of zero: biases are part of rows.
    solution : Solution
        The system of all rows, Q + R. A ridge of the biases counts with Q.
    rows : list of SourceRows
        Rows with a new model.
    kinds : Kinds
        Kinds of rows on new models.
    """

    result: AnchorResult
    models: list[Any]
    sources: list[Any]
    fit: Fit
    solution: Solution
    rows: list[SourceRows]
    kinds: Kinds

    @classmethod
    def of(cls, result: AnchorResult) -> Self:
        """Lay out the kinds of rows of a result; refuse what has no closed form."""
        fitted = result.fitted
        debiaser = fitted.served("worth, outlook and design", in_closed_form=True)
        solution, sample = debiaser.solution_, fitted.sample
        fit = solution.fit.with_spans(solution.layout.widths)
        involved = np.where(sample.X.involves_new, sample.weight, 0.0)
        rows = debiaser.weighing_.rows(sample.weighted(involved))
        kinds = Kinds.of(fitted, fit, rows)
        sources = [HUMAN, *sample.X.judges.tolist()]
        models = sample.X.models.tolist()
        return cls(result, models, sources, fit, solution, rows, kinds)

    # ------------------------------------------------------------------------ labels
    @property
    def judges(self) -> list[int]:
        """Codes of the judges that there are rows of."""
        return [m for m in sorted(self.solution.grams) if m > 0]

    def prices(self, costs: Mapping[Any, float]) -> dict[int, float]:
        """Cost of a row by source; refuse what is no cost, or of no source."""
        known = [self.sources[m] for m in sorted(self.solution.grams)]
        if not isinstance(costs, Mapping) or not costs:
            raise BattlesError(
                "costs must map sources to the cost of a row, as in "
                f"{{{known[-1]!r}: 0.02}}, got {costs!r}."
            )
        if EVERY_JUDGE in costs and EVERY_JUDGE not in known:
            every = dict.fromkeys(known, costs[EVERY_JUDGE])
            every.pop(HUMAN, None)
            named = {one: cost for one, cost in costs.items() if one != EVERY_JUDGE}
            costs = every | named
        check_labels(costs, known, "sources of rows")
        for label, cost in costs.items():
            if not is_number(cost) or not 0.0 < cost < np.inf:
                raise BattlesError(
                    f"The cost of a row of {label!r} must be a number above zero, got "
                    f"{cost!r}."
                )
        return {self.sources.index(one): float(cost) for one, cost in costs.items()}

    # ------------------------------------------------------------------------- rows
    def offered(self, models: Sequence[Any], sources: Sequence[int]) -> Indices:
        """Kinds of rows of some sources on some models, against historical ones."""
        kinds, codes = self.kinds, [self.models.index(model) for model in models]
        chosen = np.isin(kinds.model, codes) & np.isin(kinds.source, sources)
        return np.flatnonzero(chosen & ~self.fit.layout.is_new[kinds.opponent])

    def evenly(self, model: Any, sources: Sequence[int]) -> Array:
        """Information of a row, divided evenly over sources and historical models."""
        chosen = self.offered([model], sources)
        source = self.kinds.source[chosen]
        rows = 1.0 / (len(sources) * np.bincount(source)[source])
        return self.kinds.information(rows, chosen)

    def verdicts(self, model: Any, source: int) -> tuple[Array, Array]:
        """Information of a source's rows on a model, and their number by opponent."""
        code, n = self.models.index(model), self.fit.layout.n_items
        size = n + 1 + self.fit.layout.widths[source]
        gram, number = np.zeros((size, size)), np.zeros(n)
        for part in self.rows:
            if part.source == source:
                own = part[(part.left == code) | (part.right == code)]
                gram += own.information(own.weight, self.fit.probabilities(own))
                opponent = np.where(own.left == code, own.right, own.left)
                number += np.bincount(opponent, own.count, n)
        at = self.solution.information.at
        return self.fit.information([(source, gram)])[at[:, None], at], number

    # ------------------------------------------------------------- targets and weights
    def targets(self, pairs: Sequence[tuple[Any, Any]]) -> Targets:
        """Scores of models, and differences of two: pairs with None for a score."""
        result, whole = self.result, self.result.models.tolist()
        reported = np.zeros((len(whole), len(pairs)))
        for t, pair in enumerate(pairs):
            for label, sign in zip(pair, (1.0, -1.0), strict=True):
                if label is not None:
                    reported[whole.index(label), t] = sign
        # Models that were left out are in no target.
        coefficients = reported[[whole.index(label) for label in self.models]]
        layout, at = self.solution.layout, self.solution.information.at
        prior, effects = np.zeros((layout.size, layout.size)), layout.item_effects
        prior[effects, effects] = self.fit.precision[effects, effects]
        estimate, variance, items = result.combinations(reported)
        found = Targets(
            np.asarray((layout.targets @ coefficients)[at]),
            prior[at[:, None], at],
            estimate,
            variance,
            items,
            np.ones((2, len(pairs))),
            result,
        )
        # Where item effects leave no error, any factor will do.
        expected = found.parts(self.weights(found))
        np.divide([variance - items, items], expected, out=found.factors,
                  where=expected > 0)  # fmt: skip
        return found

    def weights(self, targets: Targets, more: Array | float = 0.0) -> Array:
        """Weights of targets, with further information added to the matrix."""
        matrix = self.solution.information.matrix + more
        return SymmetricSystem.of(matrix).solve(targets.vectors)

    def along(
        self, targets: Targets, unit: Array, more: Array | float = 0.0
    ) -> Callable[[float], Array]:
        """Weights by the number of rows of one kind, factorised once.

        Parameters
        ----------
        targets : Targets
            What the weights are of.
        unit : ndarray of shape (p, p)
            Information of one row.
        more : ndarray of shape (p, p), optional
            Information that is added to the matrix. It may take rows away that leave a
            target undetermined, if rows of this kind determine it again.

        Returns
        -------
        callable
            Of a number of rows above zero, or without end; returns weights.
        """
        # With the matrix M at one row and a root F of the unit, the weights at n rows
        # are M^-1 L - (n - 1) M^-1 F (I + (n - 1) G)^-1 F' M^-1 L, with G = F' M^-1 F.
        # In the eigenvectors of G the inverse is a division.
        sizes, directions = np.linalg.eigh(unit)
        some = sizes > ROUNDING * sizes.max(initial=0.0)
        root = directions[:, some] * np.sqrt(sizes[some])
        system = SymmetricSystem.of(self.solution.information.matrix + more + unit)
        one, of_root = system.solve(targets.vectors), system.solve(root)
        values, vectors = np.linalg.eigh(root.T @ of_root)
        # Directions in which a row says nothing, but for rounding.
        some = values > ROUNDING * values.max(initial=0.0)
        values, vectors = values[some], vectors[:, some]
        change, size = of_root @ vectors, vectors.T @ (root.T @ one)

        def weights(n: float) -> Array:
            # Rows without end determine what they inform about.
            factor = (
                1.0 / values if n == np.inf else (n - 1.0) / (1.0 + (n - 1.0) * values)
            )
            return np.asarray(one - change @ (factor[:, None] * size))

        return weights

    def rows_until(
        self,
        targets: Targets,
        unit: Array,
        error: Callable[[Array], float],
        more: Array | float = 0.0,
    ) -> Callable[[float], float]:
        """Smallest number of rows of one kind by the error that is wanted.

        Parameters
        ----------
        targets, unit, more
            As in :meth:`along`.
        error : callable
            Of weights; it falls as the number of rows grows.

        Returns
        -------
        callable
            Of the error; see :func:`rows_until`.
        """
        along = self.along(targets, unit, more)
        end = error(along(np.inf))
        return lambda wanted: rows_until(lambda n: error(along(n)), wanted, end)

    def limit(
        self, targets: Targets, endless: Array, more: Array | float = 0.0
    ) -> Array:
        """Weights once there are rows of some kinds without end.

        Parameters
        ----------
        targets : Targets
            What the weights are of.
        endless : ndarray of shape (p, p)
            Sum of the information of one row of each kind.
        more : ndarray of shape (p, p), optional
            Information that is added to the matrix.

        Returns
        -------
        ndarray of shape (p, n_targets)
        """
        # From many rows on, what they inform about stands far above rounding.
        return self.along(targets, MANY_ROWS * endless, more)(np.inf)


def rows_until(
    error: Callable[[float], float], wanted: float, limit: float | None = None
) -> float:
    """Smallest number of rows with which an error is at most the ``wanted`` one.

    Parameters
    ----------
    error : callable
        Of the number of rows; it falls as the number grows.
    wanted : float
        Error to reach.
    limit : float, optional
        What the error tends to; None where it is not known.

    Returns
    -------
    float
        Zero where no row is needed, infinite where no number of rows suffices.
    """
    # What is reached in the limit only is never reached; less than a millionth is
    # rounding.
    if limit is not None and not limit < wanted * (1.0 - 1e-9):
        return np.inf
    low, high = _FEWEST, 1.0
    if error(low) <= wanted:
        return 0.0
    while error(high) > wanted:
        low, high = high, 10.0 * high
        if high > MOST_ROWS:
            return np.inf
    found = brentq(
        lambda x: np.log(error(np.exp(x)) / wanted), np.log(low), np.log(high),
        xtol=1e-10, rtol=1e-12,
    )  # fmt: skip
    return float(np.exp(found))
