"""Dispersion of the residuals of each source, from the rows of a sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from skanchor._model.dispersion import dispersion
from skanchor._source_rows import source_rows, spans_of
from skanchor._typing import Array
from skanchor.sample import Sample


def dispersions(sample: Sample, *, without_items: bool) -> Array:
    """Dispersion of the historical residuals of each source.

    Parameters
    ----------
    sample : Sample
        Rows that carry what was fitted without item effects; outcomes, weights, groups.
    without_items : bool
        As in :func:`skanchor._model.dispersion.dispersion`.

    Returns
    -------
    ndarray of shape (n_judges + 1,)
        By judge, people last; one for sources without information.
    """
    sample = by_group(sample)
    found, logits = np.ones(len(sample.X.judges) + 1), sample.X.logits()
    for rows in source_rows(sample, spans_of([None] * len(found), sample)):
        eta = logits[rows.rows]
        if not rows.is_new:
            rows, eta = rows[np.isfinite(eta)], eta[np.isfinite(eta)]
            p = np.asarray(expit(eta))
            found[rows.source - 1] = dispersion(rows, p, without_items=without_items)
    return found


def by_group(sample: Sample) -> Sample:
    """Sample in which no row stands for rows of several groups."""
    members = sample.members
    if members is None:
        return sample
    assert sample.multiplicity is not None
    rows = np.repeat(np.arange(len(sample)), np.diff(members.starts))
    # Equal rows of a group are one row of their weight.
    share = members.number / sample.multiplicity[rows]
    return replace(
        replace(sample, members=None, rated=None)[rows],
        weight=sample.weight[rows] * share,
        multiplicity=None,
        groups=members.groups[members.place],
    )
