"""Errors of the new scores with more rows, or with fewer, than a fit has.

The variance of a target that is predicted is ``rho w'Qw + iota w'Rw``: the sampling
part and the part of the item effects, for the weights w that solve (Q + R) w = l. The
two factors make it the reported variance at the rows that are there. They hold what
formulas of independent votes leave out: groups, ties, the inflation of the item part,
and the widening where judges disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import brentq

from skanchor._battles import HUMAN
from skanchor._model.fit import Fit
from skanchor._model.linalg import SymmetricSystem
from skanchor._model.riesz import Information
from skanchor._model.sources import SourceRows
from skanchor._typing import Array, Indices
from skanchor.readouts._kinds import Kinds

if TYPE_CHECKING:
    from skanchor import AnchorResult

ROUNDING = 1e-12
"""Share of the largest eigenvalue below which an eigenvalue of a row is rounding."""

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
    factors : ndarray of shape (2, n_targets)
        rho and iota.
    result : AnchorResult
        Where they are reported.
    """

    vectors: Array
    precision: Array
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
    solution : Information
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
    solution: Information
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

    @property
    def judges(self) -> list[int]:
        """Codes of the judges that there are rows of."""
        return [m for m in sorted(self.solution.grams) if m > 0]

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
                rows = part[(part.left == code) | (part.right == code)]
                gram += rows.information(rows.weight, self.fit.probabilities(rows))
                opponent = np.where(rows.left == code, rows.right, rows.left)
                number += np.bincount(opponent, rows.count, n)
        at = self.solution.at
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
        layout, at = self.solution.layout, self.solution.at
        prior, effects = np.zeros((layout.size, layout.size)), layout.item_effects
        prior[effects, effects] = self.fit.precision[effects, effects]
        vectors = np.asarray((layout.targets @ coefficients)[at])
        factors = np.ones((2, len(pairs)))
        targets = Targets(vectors, prior[at[:, None], at], factors, result)
        # Where item effects leave no error, any factor will do.
        _, variance, items = result.combinations(reported)
        parts, expected = (
            (variance - items, items),
            targets.parts(self.weights(targets)),
        )
        np.divide(parts, expected, out=factors, where=expected > 0)
        return targets

    def weights(self, targets: Targets, more: Array | float = 0.0) -> Array:
        """Weights of targets, with further information added to the matrix."""
        matrix = self.solution.matrix + more
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
        is_large = sizes > ROUNDING * sizes.max(initial=0.0)
        root = directions[:, is_large] * np.sqrt(sizes[is_large])
        system = SymmetricSystem.of(self.solution.matrix + more + unit)
        one, of_root = system.solve(targets.vectors), system.solve(root)
        values, vectors = np.linalg.eigh(root.T @ of_root)
        # Directions in which a row says nothing, but for rounding.
        is_large = values > ROUNDING * values.max(initial=0.0)
        values, vectors = values[is_large], vectors[:, is_large]
        change, size = of_root @ vectors, vectors.T @ (root.T @ one)

        def weights(n: float) -> Array:
            # Rows without end determine what they inform about.
            factor = (
                1.0 / values if n == np.inf else (n - 1.0) / (1.0 + (n - 1.0) * values)
            )
            return np.asarray(one - change @ (factor[:, None] * size))

        return weights

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
    along: Callable[[float], Any], error: Callable[[Any], float], wanted: float
) -> float:
    """Smallest number of rows with which an error is at most the ``wanted`` one.

    Parameters
    ----------
    along : callable
        Of a number of rows; as :meth:`Plan.along` returns it.
    error : callable
        Of what that returns; it falls as the number grows.
    wanted : float
        Error to reach.

    Returns
    -------
    float
        Zero where no row is needed, infinite where no number of rows suffices.
    """
    # What is reached in the limit only is never reached; less than a millionth is
    # rounding.
    if not error(along(np.inf)) < wanted * (1.0 - 1e-9):
        return np.inf
    low, high = _FEWEST, 1.0
    if error(along(low)) <= wanted:
        return 0.0
    while error(along(high)) > wanted:
        low, high = high, 10.0 * high
        if high > MOST_ROWS:
            return np.inf

    def excess(x: float) -> float:
        return float(np.log(error(along(np.exp(x))) / wanted))

    ends = np.log(low), np.log(high)
    return float(np.exp(brentq(excess, *ends, xtol=1e-10, rtol=1e-12)))
