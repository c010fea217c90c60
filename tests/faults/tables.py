"""Tables of every kind, and what is no table."""

import numpy as np
import pandas as pd
import polars as pl
from faults.battles import FEATURES, FRAME, fit, same_fit
from faults.entries import Listing
from numpy.testing import assert_allclose

from skanchor import (
    AnchorPipeline,
    Comparisons,
    split_battles,
)
from skanchor.exceptions import (
    BattlesError,
)

FAULTS = Listing()
table, call, see = FAULTS.table, FAULTS.call, FAULTS.see


def polars_and_arrow():
    X, y = split_battles(FRAME)
    table = pl.from_pandas(X)
    settings = {"cv": 4, "random_state": 0, "item_effects": None}
    result = AnchorPipeline(**settings).fit(table.to_arrow(), y.tolist())
    reordered = X[X.columns[::-1]].astype(dict.fromkeys(FEATURES, "float32"))
    for other in (table, X, reordered):
        again = AnchorPipeline(**settings).fit(other, y)
        assert_allclose(again.scores_, result.scores_, atol=1e-5)
    return result


call("Tables of pandas, polars and pyarrow; float32; columns in any order",
     polars_and_arrow, check=same_fit)  # fmt: skip
see(
    "Empty cells in a column that pyarrow holds as a dictionary",
    "battles.test_labels::test_empty_cells_of_a_dictionary_are_no_labels",
)
call(
    "A lazy table",
    lambda: AnchorPipeline().fit(
        pl.from_pandas(FRAME.drop(columns="winner")).lazy(), FRAME["winner"]
    ),
    raises=(TypeError, "lazy table .* collect it first"),
)
call(
    "A list of dicts, or a dict of lists",
    [
        lambda kind=kind: AnchorPipeline().fit(
            FRAME.drop(columns="winner").to_dict(kind), FRAME["winner"]
        )
        for kind in ("records", "list")
    ],
    raises=(
        TypeError,
        "^Battles were given as a (list of dicts|dict); make them a table with "
        r"pandas.DataFrame\(X\)\.$",
    ),
)
call(
    "Columns of the same name",
    lambda: fit(pd.concat([FRAME, FRAME[["x1_a"]]], axis=1)),
    raises=(BattlesError, r"\['x1_a'\] occur more than once"),
)
table(
    "A missing column",
    lambda: FRAME.drop(columns="model_b"),
    raises=(BattlesError, r"lacks the columns \['model_b'\]"),
)
table(
    "A table without outcomes",
    lambda: FRAME.drop(columns="winner"),
    raises=(BattlesError, r"lacks the columns \['winner'\]"),
)
table("An empty table", lambda: FRAME[:0], raises=(BattlesError, "empty"))
call(
    "Comparisons where an array is due",
    lambda: np.asarray(Comparisons.from_battles(FRAME.drop(columns="winner"))),
    raises=(TypeError, "cannot become one array"),
)
