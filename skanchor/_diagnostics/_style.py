"""What people make of style: the coefficients, and what it leaves of the votes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from skanchor._diagnostics._sums import FitSums
from skanchor._model.layout import PEOPLE
from skanchor._model.solution import Solution
from skanchor._typing import Array
from skanchor.bias.protocol import linearity, span_names
from skanchor.sample import Sample

_COLUMNS = ["coefficient", "standard_error", "z"]


def style_table(sample: Sample, solution: Solution, bias: Any) -> pd.DataFrame:
    """Coefficients of people's bias with their errors.

    Parameters
    ----------
    sample : Sample
        Rows that carry everything the chain learned.
    solution : Solution
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
    at = solution.layout.span(PEOPLE)
    if at.stop == at.start or linearity(bias) != "fixed":
        return _no_style().copy()
    error = np.sqrt(solution.information.variances(at))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.column_stack([bias.coef_, error, bias.coef_ / error])
    columns = span_names(bias, sample.X.feature_names, len(values))
    return pd.DataFrame(values, pd.Index(columns, name="column"), _COLUMNS)


@cache
def _no_style() -> pd.DataFrame:
    """Table of no columns, which pandas takes long to make."""
    return pd.DataFrame(columns=_COLUMNS, dtype=float)


def style_shares(sums: FitSums, solution: Solution) -> Array:
    """Share of the votes' information on each model that style cannot imitate.

    Parameters
    ----------
    sums : FitSums
        Over all rows.
    solution : Solution
        Of the same rows.

    Returns
    -------
    ndarray of shape (n_models,)
        NaN for models without votes; one throughout where people have no bias.
    """
    n = solution.layout.n_items
    kept = solution.beside_span(PEOPLE).diagonal()[:n]
    total = sums.sources[PEOPLE - 1].gram.diagonal()[:n]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(kept / total)
