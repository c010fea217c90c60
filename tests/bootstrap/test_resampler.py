"""Rows and groups are drawn within their sources."""

import numpy as np
import pandas as pd
import pytest

from skanchor._battles import decide_roles
from skanchor._sample.sample import Sample
from skanchor.baselines import JointBTL
from skanchor.bootstrap import bootstrap
from skanchor.bootstrap._refit import Resampler


def in_roles(data, weight=None, groups=None):
    sample = Sample.from_battles(data.X, data.y, weight, groups)
    return sample.with_battles(decide_roles(sample.X, sample.weight, None))


def test_rows_are_drawn_within_their_source_with_replacement(data):
    sample = in_roles(data)
    sampler = Resampler(sample, seed=3)
    counts = np.vstack([sampler.draw(b).copy() for b in range(6)])
    source = sample.X.sources
    for code in np.unique(source):
        mine = counts[:, source == code]
        assert (mine.sum(axis=1) == mine.shape[1]).all()
    # Multinomial: mean 1, variance 1 - 1/n, from some hundred thousand counts.
    assert counts.mean() == 1.0
    assert counts.var() == pytest.approx(1.0, abs=0.02)
    assert np.isin(counts, np.arange(20)).all()


def test_groups_are_drawn_whole_from_those_that_span_the_same_sources(data):
    n = len(data.y)
    groups = np.random.default_rng(0).permutation(n) // 3
    sample = in_roles(data, groups=groups)
    counts = Resampler(sample, seed=3).draw(0)
    by_group = pd.DataFrame(counts.T).groupby(groups)
    assert (by_group.nunique() == 1).all(axis=None)
    spans = (
        pd.Series(sample.X.sources).groupby(groups).agg(lambda s: str(sorted(set(s))))
    )
    # Those that too few groups span are drawn together.
    sizes = spans.value_counts()
    spans[spans.map(sizes) < 20] = "rare"
    sizes = spans.value_counts()
    assert len(sizes) > 2 and sizes["rare"] >= 20
    drawn = by_group.first().groupby(spans).sum()
    assert (drawn.eq(sizes, axis=0)).all(axis=None)


@pytest.mark.filterwarnings("ignore:.* copies of earlier ones")
def test_groups_widen_the_errors_of_repeated_rows(data):
    # Each row four times: rows are drawn as if they were independent, groups are not.
    X = pd.concat([data.X] * 4, ignore_index=True)
    y = np.tile(data.y, 4)
    prompt = np.tile(np.arange(len(data.y)), 4)
    options = dict(n_resamples=100, random_state=0)
    once = bootstrap(JointBTL(), data.X, data.y, **options)
    rows = bootstrap(JointBTL(), X, y, **options)
    prompts = X.assign(prompt=prompt)
    whole = bootstrap(JointBTL(), prompts, y, groups="prompt", **options)
    # The error of an error from 100 resamples is 7 %.
    ratio = rows.standard_errors / once.standard_errors
    assert ((ratio > 0.35) & (ratio < 0.65)).all()
    ratio = whole.standard_errors / once.standard_errors
    assert ((ratio > 0.8) & (ratio < 1.25)).all()
