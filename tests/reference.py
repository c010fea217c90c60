"""Slow, independent implementations that the fast paths are held against.

Everything here works on dense designs with one row per comparison and general-purpose
optimisers, and shares no numerics with the package.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize
from scipy.special import expit


class Dense:
    """A battles table as dense arrays in the order of ``models`` and ``judges``.

    With a context of each model, the historical scores sum to zero in each.
    """

    def __init__(
        self, X, y, models, judges, new, position=False, features=None, context=None
    ):
        self.models, self.judges, self.new = list(models), list(judges), list(new)
        self.y = np.asarray(y, dtype=float)
        self.a = np.array([self.models.index(m) for m in X["model_a"]])
        self.b = np.array([self.models.index(m) for m in X["model_b"]])
        labels = X["judge"] if "judge" in X else ["human"] * len(X)
        self.m = np.array(
            [-1 if j == "human" else self.judges.index(j) for j in labels]
        )
        names = (
            features
            if features is not None
            else [c[:-2] for c in X if c.endswith("_a") and c != "model_a"]
        )
        d = len(names)
        self.D = (
            np.column_stack(
                [
                    X[f"{c}_a"].to_numpy(float) - X[f"{c}_b"].to_numpy(float)
                    for c in names
                ]
            )
            if d
            else np.zeros((len(X), 0))
        )
        self.D[self.m < 0] = 0.0
        self.position = position
        self.o = np.ones(len(X))
        is_new = np.array([m in self.new for m in self.models])
        self.context = np.array(context or [""] * len(self.models))
        self.S = np.eye(len(self.models))[:, is_new]
        for one in np.unique(self.context):
            at = np.flatnonzero(~is_new & (self.context == one))
            # Any orthonormal basis of the zero-sum vectors will do.
            B = null_space(np.ones((1, len(at))))
            self.S = np.hstack([self.S, np.eye(len(self.models))[:, at] @ B])
        self.is_new = is_new
        self.Z = self.S[self.a] - self.S[self.b]
        self.arrival = is_new[self.a] | is_new[self.b]
        M = len(self.judges)
        self.sizes = (self.S.shape[1], M, M if position else 0, M * d)

    def split(self, v):
        s, c, p, psi = np.split(v, np.cumsum(self.sizes)[:-1])
        return s, c, p, psi.reshape(len(self.judges), -1)

    def eta(self, v):
        s, c, p, psi = self.split(v)
        judge = self.m >= 0
        delta = self.Z @ s
        out = delta.copy()
        m = self.m[judge]
        out[judge] = c[m] * delta[judge] + np.sum(self.D[judge] * psi[m], axis=1)
        if self.position:
            out[judge] += p[m] * self.o[judge]
        return out

    def gradient(self, v):
        """d eta / d v, one dense row per comparison."""
        s, c, _, _ = self.split(v)
        n, M, d = len(self.y), len(self.judges), self.D.shape[1]
        judge = self.m >= 0
        slope = np.where(judge, np.append(c, 1.0)[self.m], 1.0)
        delta = self.Z @ s
        C = np.zeros((n, M))
        P = np.zeros((n, self.sizes[2]))
        F = np.zeros((n, M, d))
        rows = np.flatnonzero(judge)
        C[rows, self.m[rows]] = delta[rows]
        if self.position:
            P[rows, self.m[rows]] = self.o[rows]
        F[rows, self.m[rows]] = self.D[rows]
        return np.hstack([self.Z * slope[:, None], C, P, F.reshape(n, M * d)])

    def fit(self, weight, free, start, tol=1e-10):
        """Minimise the log loss over the coordinates in ``free``."""
        v = start.copy()

        def loss(x):
            v[free] = x
            e = self.eta(v)
            r = weight * (expit(e) - self.y)
            value = np.sum(weight * (np.logaddexp(0, e) - self.y * e))
            return value / weight.sum(), self.gradient(v)[:, free].T @ r / weight.sum()

        result = minimize(loss, start[free], jac=True, method="BFGS",
                          options={"gtol": tol, "maxiter": 2000})  # fmt: skip
        v[free] = result.x
        return v

    def two_step(self, weight):
        """The plug-in: human scores, then judges, then new scores."""
        sizes = np.cumsum(self.sizes)
        v = np.zeros(sizes[-1])
        v[sizes[0] : sizes[1]] = 1.0
        index = np.arange(sizes[-1])
        G = int(self.is_new.sum())
        human = (self.m < 0) & ~self.arrival
        v = self.fit(weight * human, (index >= G) & (index < sizes[0]), v)
        judges = (self.m >= 0) & ~self.arrival
        v = self.fit(weight * judges, index >= sizes[0], v)
        return self.fit(weight * self.arrival, index < G, v) if G else v

    def joint(self, weight):
        """Joint maximum likelihood of everything."""
        v = self.two_step(weight)
        return self.fit(weight, np.ones(len(v), bool), v, tol=1e-8)

    def information(self, v, weight):
        p = expit(self.eta(v))
        g = self.gradient(v)
        return g.T @ (g * (weight * p * (1 - p))[:, None])

    def targets(self):
        L = np.zeros((sum(self.sizes), len(self.models)))
        L[: self.sizes[0]] = self.S.T
        return L

    def riesz(self, v, weight):
        """Weights of every row from the dense normal equations."""
        w = np.linalg.pinv(self.information(v, weight), hermitian=True) @ self.targets()
        return self.gradient(v) @ w

    def sources(self):
        keys = [
            (
                m,
                self.context[a],
                tuple(sorted({int(i) for i in (a, b) if self.is_new[i]})),
            )
            for m, a, b in zip(self.m, self.a, self.b, strict=True)
        ]
        names = sorted(set(keys))
        return np.array([names.index(k) for k in keys])

    def anchor(self, plan):
        """Cross-fitted estimate, covariance and influence, as the equations say."""
        source = self.sources()
        n = len(self.y)
        influence = np.zeros((n, len(self.models)))
        plug = np.zeros(len(self.models))
        for train, test in plan:
            weight = np.zeros(n)
            for q in np.unique(source):
                remaining = train[source[train] == q]
                weight[remaining] = np.sum(source == q) / len(remaining)
            v = self.two_step(weight)
            plug += self.S @ v[: self.sizes[0]] / len(plan)
            a = self.riesz(v, weight)
            residual = self.y - expit(self.eta(v))
            influence[test] = a[test] * residual[test, None]
        return plug + influence.sum(axis=0), influence.T @ influence, influence


class DenseItems(Dense):
    """The dense reference with standardised item effects as further parameters."""

    def __init__(self, *args, covariance, **kwargs):
        super().__init__(*args, **kwargs)
        self.root = np.linalg.cholesky(covariance)
        n = len(self.models)
        judge = np.flatnonzero(self.m >= 0)
        self.U = np.zeros((len(self.y), len(self.judges) * n))
        for q in range(len(self.judges)):
            factor = self.root[self.m[judge], q]
            self.U[judge, q * n + self.a[judge]] += factor
            self.U[judge, q * n + self.b[judge]] -= factor

    def solve(self, weight):
        """Two-step fit with the prior; parameters (v of Dense, item effects)."""
        v = self.two_step(weight)
        n_v = len(v)
        full = np.concatenate([v, np.zeros(self.U.shape[1])])
        index = np.arange(len(full))
        G, n_s = int(self.is_new.sum()), self.sizes[0]
        new = np.zeros(len(full), bool)
        new[n_v:] = np.tile(self.is_new, len(self.judges))
        historical = (index >= n_s) & ~new
        arrival = new | (index < G)
        for rows, free in (
            ((self.m >= 0) & ~self.arrival, historical),
            (self.arrival, arrival),
        ):
            full = self._penalised(full, weight * rows, free, n_v)
        return full

    def _penalised(self, full, weight, free, n_v):
        full = full.copy()

        def loss(x):
            full[free] = x
            e = self.eta(full[:n_v]) + self.U @ full[n_v:]
            r = weight * (expit(e) - self.y)
            g = np.concatenate([self.gradient(full[:n_v]).T @ r, self.U.T @ r])
            g[n_v:] += full[n_v:]
            value = np.sum(weight * (np.logaddexp(0, e) - self.y * e))
            return value + 0.5 * full[n_v:] @ full[n_v:], g[free]

        full[free] = minimize(
            loss, full[free], jac=True, method="BFGS",
            options={"gtol": 1e-7, "maxiter": 5000},
        ).x  # fmt: skip
        return full

    def anchor(self, plan):
        source, n = self.sources(), len(self.y)
        influence = np.zeros((n, len(self.models)))
        total, items = 0.0, 0.0
        for train, test in plan:
            weight = np.zeros(n)
            for q in np.unique(source):
                remaining = train[source[train] == q]
                weight[remaining] = np.sum(source == q) / len(remaining)
            full = self.solve(weight)
            n_v = sum(self.sizes)
            eta = self.eta(full[:n_v]) + self.U @ full[n_v:]
            g = np.hstack([self.gradient(full[:n_v]), self.U])
            p = expit(eta)
            Q = g.T @ (g * (weight * p * (1 - p))[:, None])
            R = np.diag(np.r_[np.zeros(n_v), np.ones(self.U.shape[1])])
            L = np.vstack(
                [self.targets(), np.zeros((self.U.shape[1], len(self.models)))]
            )
            W = np.linalg.pinv(Q + R, hermitian=True) @ L
            influence[test] = (g @ W)[test] * (self.y - p)[test, None]
            K = len(plan)
            total = total + self.S @ full[: self.sizes[0]] / K
            total = total - (R @ np.r_[np.zeros(n_v), full[n_v:]]) @ W / K
            items = items + W[n_v:].T @ W[n_v:] / K
        return total + influence.sum(0), influence.T @ influence, items
