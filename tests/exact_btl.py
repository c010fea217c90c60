"""BTL scores and sandwich errors in sixty digits, by plain Gaussian elimination."""

from decimal import Decimal, localcontext

import numpy as np


def solve(matrix, right):
    """Solve with row pivoting; lists of rows of numbers."""
    rows = [[*row, *extra] for row, extra in zip(matrix, right, strict=True)]
    n = len(rows)
    for k in range(n):
        at = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[at] = rows[at], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                pairs = zip(rows[i], rows[k], strict=True)
                rows[i] = [a - factor * b for a, b in pairs]
    return [row[n:] for row in rows]


def exact_btl(left, right, y, weight, start, groups=None):
    """Scores that sum to zero, and the standard errors of the sandwich.

    Parameters
    ----------
    left, right : sequences of int
        Models, from zero.
    y, weight : sequences of float
        Outcomes and weights.
    start : sequence of float
        Where Newton's method starts.
    groups : sequence, optional
        Groups over which score vectors are summed.

    Returns
    -------
    scores, errors : ndarrays of shape (n_models,)
    """
    with localcontext() as context:
        context.prec = 60
        rows = [
            (int(a), int(b), Decimal(float(won)), Decimal(float(w)))
            for a, b, won, w in zip(left, right, y, weight, strict=True)
        ]
        scores = [Decimal(float(s)) for s in start]
        n = len(scores)
        for _ in range(100):
            slope, hessian, residuals = _derivatives(rows, scores)
            step = solve(
                [row[1:] for row in hessian[1:]], [[value] for value in slope[1:]]
            )
            for i, (change,) in enumerate(step, start=1):
                scores[i] -= change
            if max(abs(change) for (change,) in step) < Decimal("1e-45"):
                break
        else:
            raise AssertionError("no convergence")
        eye = [[Decimal(int(i == j)) for j in range(n - 1)] for i in range(n - 1)]
        inverse = solve([row[1:] for row in hessian[1:]], eye)
        names = range(len(rows)) if groups is None else groups
        sums = {}
        for name, (a, b, _, _), residual in zip(names, rows, residuals, strict=True):
            vector = sums.setdefault(name, [Decimal(0)] * n)
            vector[a] += residual
            vector[b] -= residual
        variance = [Decimal(0)] * n
        for vector in sums.values():
            moved = [Decimal(0)] + [
                sum(g * v for g, v in zip(line, vector[1:], strict=True))
                for line in inverse
            ]
            mean = sum(moved) / n
            variance = [
                v + (m - mean) ** 2 for v, m in zip(variance, moved, strict=True)
            ]
        mean = sum(scores) / n
        return (
            np.array([float(s - mean) for s in scores]),
            np.array([float(v.sqrt()) for v in variance]),
        )


def _derivatives(rows, scores):
    n = len(scores)
    slope = [Decimal(0)] * n
    hessian = [[Decimal(0)] * n for _ in range(n)]
    residuals = []
    for a, b, won, w in rows:
        p = 1 / (1 + (scores[b] - scores[a]).exp())
        residuals.append(w * (won - p))
        slope[a] -= residuals[-1]
        slope[b] += residuals[-1]
        for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            hessian[i][j] += sign * w * p * (1 - p)
    return slope, hessian, residuals
