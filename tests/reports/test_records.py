"""Results as records that any reader of JSON takes."""

import datetime
import json

import pytest

from skanchor import AnchorPipeline
from skanchor.reports import to_dict
from skanchor.simulation import simulate_battles

DAY = datetime.date(2026, 1, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (str.encode, "b'new-model'"),
        (lambda s: DAY + datetime.timedelta(len(s)), "2026-01-10"),
    ],
)
def test_labels_of_types_that_json_lacks_are_their_texts(name, text):
    data = simulate_battles(n_models=3, n_judges=1, n_new=60, random_state=0)
    lengths = {"model-01": "a", "model-02": "bb", "model-03": "ccc"}
    X = data.X.assign(
        **{
            side: data.X[side].map(lambda s: name(lengths.get(s, s)))
            for side in ("model_a", "model_b")
        }
    )
    anchor = AnchorPipeline(cv=3, item_effects=None, random_state=0).fit(X, data.y)
    record = json.loads(json.dumps(to_dict(anchor), allow_nan=False))
    assert [row["model"] for row in record["new_models"]] == [text]
    assert text in [row["model"] for row in record["models"]]
