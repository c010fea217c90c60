"""What the first pass over a stream finds, in pieces and at once."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from streams import in_pieces, tables

from skanchor.streaming import Folds, StreamOptions
from skanchor.streaming._parts import open_data
from skanchor.streaming._survey import survey_parts

SIZE = 100


def survey(data, batch_rows):
    parts = list(open_data(data).parts())
    return survey_parts(
        parts, StreamOptions().reading, Folds(3, 2), None, batch_rows, SIZE
    )


@pytest.mark.parametrize(("piece", "batch_rows"), [(500, 10_000), (7000, 300)])
def test_pieces_are_as_one(piece, batch_rows):
    table = tables()[0].drop(columns=["times", "importance"])
    found, whole = survey(in_pieces(table, piece), batch_rows), survey([table], 10_000)
    hashes = Folds(3, 2).hashes(np.arange(len(table)))
    for judge, (drawn, rows, fold) in found.sample.items():
        # Of each judge those of the lowest hashes, whenever they come.
        own = np.flatnonzero((table["judge"] == judge).to_numpy())
        assert_array_equal(drawn, np.sort(hashes[own])[:SIZE])
        number = own[np.argsort(hashes[own])][:SIZE]
        assert_array_equal(rows["x1_a"].to_numpy(), table["x1_a"].to_numpy()[number])
        assert_array_equal(fold, Folds(3, 2).of_rows(number))
        shown = table[["x1_a", "x1_b"]].to_numpy()[own]
        place = found.features.index("x1")
        low, high = (side[place] for side in found.ranges[judge])
        assert (low, high) == (shown.min(), shown.max())
    assert found.sample.keys() == whole.sample.keys() == found.ranges.keys()
    for name in ("votes", "verdicts"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(whole, name))


def test_votes_that_are_probabilities():
    table = tables()[0].drop(columns=["times", "importance"])
    table = table.assign(winner=np.where(table["winner"] == 1.0, 0.7, 0.2))
    votes = survey([table], 10_000).votes
    human = table[table["judge"] == "human"]
    # Every row counts in both repeats.
    counts = votes.groupby("y")["n"].sum() / 2
    assert counts.to_dict() == human["winner"].value_counts().to_dict()
