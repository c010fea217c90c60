"""Baselines written out row by row, on dense designs."""

import numpy as np
import pandas as pd
from reference import Dense
from scipy.optimize import brentq
from scipy.special import expit


def with_votes(data):
    X = pd.concat([data.X, data.extra_X], ignore_index=True)
    return X, np.append(data.y, data.extra_y)


class ByHand:
    """The two steps on dense designs, and the arrival rows seen from the new model."""

    def __init__(self, X, y, features=None, weight=None):
        models = sorted(set(X.model_a) | set(X.model_b))
        judges = sorted(set(X.judge) - {"human"})
        self.dense = dense = Dense(X, y, models, judges, ["new-model"],
                                   features=features)  # fmt: skip
        v = dense.two_step(np.ones(len(y)) if weight is None else weight)
        s, c, _, b = dense.split(v)
        self.theta = dense.S @ np.concatenate([[0.0], s[1:]])
        self.c, self.b = c, b
        self.new = models.index("new-model")
        rows = self.rows = np.flatnonzero(dense.arrival)
        self.side = np.where(dense.a[rows] == self.new, 1.0, -1.0)
        self.opponent = np.where(dense.a[rows] == self.new, dense.b[rows],
                                 dense.a[rows])  # fmt: skip
        self.won = np.where(self.side > 0, dense.y[rows], 1 - dense.y[rows])
        self.judge = dense.m[rows]
        self.h = self.side * np.sum(dense.D[rows] * b[self.judge], axis=1)
        self.old = np.array([m != "new-model" for m in models])

    def residual(self, t, h=None):
        c = self.c[self.judge]
        h = self.h if h is None else h
        return self.won - expit(c * (t - self.theta[self.opponent]) + h)

    def human_residual(self):
        d = self.dense
        rows = (d.m < 0) & ~d.arrival
        return np.mean(d.y[rows] - expit(self.theta[d.a[rows]] - self.theta[d.b[rows]]))


def solve(equation):
    return brentq(equation, -14, 14, xtol=1e-12)
