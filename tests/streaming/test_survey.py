"""What the first pass over a stream finds, in pieces and at once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from streams import in_pieces, tables

from skanchor import AnchorPipeline
from skanchor.streaming import Folds, StreamOptions, stream_history
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


def told_of_copies(data, **options):
    """Warnings of copies, by a stream whose sample is smaller than its rows."""
    options = StreamOptions(**{"pilot_rows": 300, **options})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anchor = AnchorPipeline(cv=2, item_effects=None, random_state=0)
        stream_history(data, anchor, options=options)
    return [str(w.message) for w in caught if "copies of others" in str(w.message)]


def test_copies_without_any_id_are_told():
    table = tables()[0].drop(columns=["times", "importance"])
    # A file that is given twice: no batch holds both copies of a row.
    (said,) = told_of_copies([table, table])
    share = int(said.partition("about ")[2].partition("%")[0])
    assert 30 < share < 60 and "column 'prompt_id'" in said
    assert told_of_copies([table]) == []
    # Features of few values are no sign of copies, nor is a row with a count.
    coarse = table.assign(x1_a=table["x1_a"].round(), x1_b=table["x1_b"].round())
    assert told_of_copies([coarse], features=["x1"], pilot_rows=20_000) == []
    counted = table.assign(n=2)
    assert told_of_copies([counted], weight="n", weights="frequency") == []
    # Groups make the errors those of the table given once.
    numbered = table.assign(prompt_id=np.arange(len(table)))
    assert told_of_copies([numbered, numbered]) == []
