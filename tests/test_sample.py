"""A sample: admitted once, sliced and weighted without a second look."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tables import quiet, warnings_of

from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError

TABLE = pd.DataFrame(
    {
        "model_a": ["x", "y", "z", "x", "s"],
        "model_b": ["y", "z", "x", "z", "s"],
        "judge": ["human", "gpt", "human", "gpt", "human"],
        "prompt": ["p", "q", "p", "r", "r"],
    }
)
LABELS = ["model_a", "model_b", "tie", "model_a", "tie"]


def test_bare_arrays_need_both_classes_among_rows_that_weigh():
    rows = np.array([[0.0, 1.0, 0.5], [1.0, 2.0, 1.5], [2.0, 0.0, 0.1]])
    assert Sample.from_battles(rows, [0, 1, 1]).y.tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(BattlesError, match="positive weight have only one class"):
        Sample.from_battles(rows, [0, 1, 1], sample_weight=[0, 1, 1])


@pytest.mark.parametrize(
    ("counts", "is_warned"),
    [
        ([0, 2, 1, 1, 3], True),
        ([-1, 2, 1, 1, 3], False),
        ([np.nan, 2, 1, 1, 3], True),
        ([0.5, 2, 1, 1, 3], False),
        ([np.nan] * 5, False),
    ],
)
def test_a_column_of_counts_that_weighs_nothing_is_told(counts, is_warned):
    result = warnings_of(
        lambda: Sample.from_battles(TABLE.assign(count=counts), LABELS)
    )
    text = "up to 3, and is not used"
    assert any(text in str(one) for one in result) == is_warned


def test_the_digest_is_that_of_all_that_a_row_says():
    weight, groups = np.ones(5), np.array([0, 1, 0, 2, 2])
    features = TABLE.assign(n_a=np.arange(5.0), n_b=np.zeros(5))
    turned = features.rename(columns={"model_a": "model_b", "model_b": "model_a"})

    def digest(table=features, y=LABELS, weight=weight, groups=groups):
        return quiet(Sample.from_battles, table, y, weight, groups).digest

    reference = digest()
    assert reference == digest(features.copy(), np.array(LABELS))
    assert reference == digest(weight=None)
    assert reference == digest(features.assign(shown_first="model_a"))
    assert reference == digest(pa.Table.from_pandas(features))
    others = [
        digest(features.replace("z", "y")),
        digest(features.replace("gpt", "llm")),
        digest(features.rename(columns={"n_a": "m_a", "n_b": "m_b"})),
        digest(turned),
        digest(features.assign(shown_first="model_b")),
        digest(features.assign(n_a=1.0)),
        digest(features.assign(n_a=2.0)),
        digest(features.assign(n_b=1.0)),
        digest(y=[*LABELS[:4], "model_b"]),
        digest(weight=2.0 * weight),
        digest(groups=np.arange(5)),
        digest(groups=None),
    ]
    assert len({reference, *others}) == 1 + len(others)
