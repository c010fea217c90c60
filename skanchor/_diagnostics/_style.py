"""What people make of style: the coefficients, and what it leaves of the votes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from skanchor._numerics.linalg import SymmetricSolver
from skanchor._numerics.logistic import sigmoid
from skanchor._numerics.system import RieszSystem
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.sample import Sample

_COLUMNS = ["coefficient", "standard_error", "z"]


def style_table(sample: Sample, system: RieszSystem, bias: Any) -> pd.DataFrame:
    """Coefficients of people's bias with their errors.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything the chain learned.
    system : RieszSystem
        Of all rows.
    bias : learner or None
        Fitted bias of people.

    Returns
    -------
    DataFrame
        By column of the bias: ``coefficient`` in human logits per unit,
        ``standard_error`` (of independent votes), ``z``. Empty where the bias has no
        linear span, or people have none.
    """
    people, layout = system.people, system.layout
    if people.coef is None or people.inner is None or linearity(bias) != "fixed":
        return _no_style().copy()
    # Their own error, and that of the scores from which they are separated.
    own = SymmetricSolver.factorise(people.inner).inverse().diagonal()
    by_item = people.coef[:, : layout.n_items]
    # B' S J^-1 S' B by a root of J^-1, for the projection B of style on the items.
    shared = system.solver.root_at(layout.at["scores"]).T @ (layout.items.T @ by_item.T)
    error = np.sqrt(own + np.sum(shared**2, axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.column_stack([bias.coef_, error, bias.coef_ / error])
    columns = span_names(bias, sample.X.feature_names, len(values))
    return pd.DataFrame(values, pd.Index(columns, name="column"), _COLUMNS)


@cache
def _no_style() -> pd.DataFrame:
    """Table of no columns, which pandas takes long to make."""
    return pd.DataFrame(columns=_COLUMNS, dtype=float)


def style_shares(sample: Sample, system: RieszSystem) -> Array:
    """Share of the votes' information on each model that style cannot imitate.

    Parameters
    ----------
    sample, system
        As in :func:`style_table`.

    Returns
    -------
    ndarray of shape (n_models,)
        NaN for models without votes; one throughout where people have no bias.
    """
    cut, n = sample.X.by_judge(-1), len(sample.X.models)
    eta = sample.X.logits()[cut.rows]
    used = np.isfinite(eta)
    p = sigmoid(np.where(used, eta, 0.0))
    curvature = np.where(used, sample.weight[cut.rows] * p * (1.0 - p), 0.0)
    total = sum(np.bincount(side, curvature, n) for side in (cut.left, cut.right))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(system.people.left[:n] / total)
