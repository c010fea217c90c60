"""Sums over rows of new models at the fit of all rows, for the diagnostics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skanchor._comparisons import count_rows
from skanchor._diagnostics import FitSums, FittedSource, tested_columns
from skanchor._numerics.blocks import bend
from skanchor._numerics.parameters import PEOPLE
from skanchor._placement._fits import Fits, PlacedRows
from skanchor._typing import Array
from skanchor.sample import Sample


def arrival_sums(
    sample: Sample, rows: PlacedRows, fits: Fits, slopes: Array
) -> FitSums:
    """Sums as of :meth:`skanchor._diagnostics.FitSums.of`, over rows of new models.

    Parameters
    ----------
    sample : Sample
        Arrivals in the vocabulary of all models.
    rows : Rows
        Those that can be used.
    fits : Fits
        The fit of all rows, and others after it.
    slopes : ndarray of shape (n_judges,)
        Sensitivities.

    Returns
    -------
    FitSums
        Without noise, which is that of the history.
    """
    n = len(sample.X.models)
    weight, p = sample.weight[rows.at], fits.p[0]
    curvature, residual = weight * p * (1.0 - p), fits.residual[0]
    delta, slope = fits.delta[0], np.append(slopes, 1.0)[rows.judge]
    used = weight > 0
    fitted, n_span = rows.blocks, sample.X.features_left.shape[1]
    blocks = tested_columns(n, n_span)
    # Local columns of each row: those of the fit, and those that are only tested.
    x = np.empty((len(rows.columns), blocks.size))
    for name in fitted.names:
        x[:, blocks[name]] = rows.columns[:, fitted[name]]
    x[:, blocks["delta"]] = delta[:, None]
    x[:, blocks["sensitivity"]] = (slope * delta)[:, None]
    x[:, blocks["position"]] = _tested_order(sample, rows, used)[:, None]
    x[:, blocks["curve"]] = (slope * bend(delta))[:, None]
    sources = {}
    for m in range(PEOPLE, len(slopes)):
        own = rows.of_source(m)
        columns = x[own, blocks["items"]] if m == PEOPLE else x[own]
        stage = np.zeros(0 if m == PEOPLE else n_span)
        sources[m] = FittedSource.of_arrays(
            (columns * curvature[own, None]).T @ columns,
            residual[own] @ columns,
            # The penalty belongs to the stored sums of the history.
            stage,
            stage,
            np.abs(x[own, blocks["items"]][used[own]]).sum(axis=0),
        )
    counts = count_rows(sample.X, sample.weight)
    return FitSums(sources, *counts, np.zeros(n), 0.0, np.ones(len(slopes) + 1))


def _tested_order(sample: Sample, rows: PlacedRows, used: NDArray[np.bool_]) -> Array:
    """Display order of the rows where it can be tested, used by the fit or not.

    A side shown first throughout is the score of who is shown there.
    """
    shown = np.where(used, sample.X.order[rows.at], 0.0)
    turned = np.where(sample.X.is_new[rows.left], shown, -shown)
    for m in range(len(rows.stops) - 2):
        own = rows.of_source(m)
        if not (turned[own] > 0).any() or not (turned[own] < 0).any():
            shown[own] = 0.0
    return shown
