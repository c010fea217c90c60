"""Rows of a stream that are given twice are told, where nothing else shows them."""

import warnings

import numpy as np
from streams import tables

from skanchor import AnchorPipeline
from skanchor.streaming import StreamOptions, stream_history


def told_of_copies(data, weights="importance", **options):
    """Warnings of copies, by a stream whose sample is smaller than its rows."""
    options = StreamOptions(**{"pilot_rows": 300, **options})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anchor = AnchorPipeline(
            cv=2, item_effects=None, random_state=0, weights=weights
        )
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
