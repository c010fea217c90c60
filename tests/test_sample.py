"""A sample: admitted once, sliced and weighted without a second look."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from skanchor import Comparisons
from skanchor._battles.grouping import find_groups
from skanchor._sample.sample import Sample, check_weight
from skanchor.exceptions import BattlesError, DataWarning

TABLE = pd.DataFrame(
    {
        "model_a": ["x", "y", "z", "x", "s"],
        "model_b": ["y", "z", "x", "z", "s"],
        "judge": ["human", "gpt", "human", "gpt", "human"],
        "prompt": ["p", "q", "p", "r", "r"],
    }
)
LABELS = ["model_a", "model_b", "tie", "model_a", "tie"]


def sample(**kwargs):
    # Encoded beforehand, so that the row against itself is not told again.
    return Sample.admit(Comparisons.from_battles(TABLE), LABELS, **kwargs)


def test_admission_encodes_what_is_given():
    found = sample(sample_weight=[1, 0, 2, 3, 4], groups=TABLE["prompt"])
    assert len(found) == 5
    assert found.y.tolist() == [1.0, 0.0, 0.5, 1.0, 0.5]
    assert found.weight.tolist() == [1.0, 0.0, 2.0, 3.0, 4.0]
    assert found.groups.tolist() == [0, 1, 0, 2, 2]
    # A row without weight and a row of a model against itself do not count.
    assert found.counts.tolist() == [True, False, True, True, False]


def test_no_weights_are_ones_and_no_groups_none():
    found = sample()
    assert found.weight.tolist() == [1.0] * 5
    assert found.groups is None and found[:2].groups is None


def test_groups_by_name_are_those_of_the_column():
    with pytest.warns(DataWarning, match="1 rows compare a model with itself"):
        named = Sample.admit(TABLE, LABELS, groups="prompt")
    assert_array_equal(named.groups, sample(groups=TABLE["prompt"]).groups)


@pytest.mark.parametrize(
    "rows",
    [[3, 0], np.array([True, False, True, False, True]), slice(1, 4)],
    ids=["numbers", "mask", "slice"],
)
def test_a_slice_has_the_rows_of_every_part(rows):
    whole = sample(sample_weight=[1, 0, 2, 3, 4], groups=TABLE["prompt"])
    cut = whole[rows]
    for name in ("y", "weight", "groups"):
        assert_array_equal(getattr(cut, name), getattr(whole, name)[rows])
    assert_array_equal(cut.X.left, whole.X.left[rows])
    assert_array_equal(cut.counts, whole.counts[rows])
    # Vocabulary and labels stay those of the whole.
    assert_array_equal(cut.X.models, whole.X.models)
    assert_array_equal(cut.outcomes.classes, whole.outcomes.classes)


def test_other_weights_and_battles_leave_the_first_sample_alone():
    first = sample()
    second = first.weighted(np.arange(5.0))
    third = second.with_battles(first.X.with_columns(scores=np.zeros(4)))
    assert first.weight.tolist() == [1.0] * 5
    assert second.weight.tolist() == third.weight.tolist() == [0, 1, 2, 3, 4]
    assert second.X is first.X and first.X.scores is None
    assert third.X.scores.tolist() == [0.0] * 4


def test_odd_rows_are_told_of_at_the_first_door_only():
    with pytest.warns(DataWarning, match="1 rows compare a model with itself") as told:
        encoded = Sample.admit(TABLE, LABELS).X
    assert len(told) == 1
    # A warning would be an error here.
    Sample.admit(encoded, LABELS)


@pytest.mark.parametrize(
    ("y", "kwargs", "error", "message"),
    [
        (None, {}, ValueError, "requires y to be passed"),
        (LABELS[:4], {}, ValueError, r"inconsistent numbers of samples: \[5, 4\]"),
        (
            LABELS,
            {"sample_weight": [0] * 5},
            ValueError,
            "at least one non-zero number",
        ),
        (LABELS, {"sample_weight": [-1, *[1] * 4]}, ValueError, "Negative values"),
        (LABELS, {"groups": [1, 2]}, BattlesError, r"one entry per row, 5, got .*2"),
        (LABELS, {"groups": ["a", None] + ["b"] * 3}, BattlesError, "first in row 1"),
        (LABELS, {"groups": "prompt"}, BattlesError, "names the column 'prompt'"),
    ],
)
def test_refusals(y, kwargs, error, message):
    with pytest.raises(error, match=message):
        Sample.admit(Comparisons.from_battles(TABLE), y, **kwargs)


def test_an_empty_table_is_refused():
    with pytest.raises(BattlesError, match="the battles table is empty"):
        Sample.admit(TABLE[:0], [])


def test_bare_arrays_need_both_classes_among_rows_that_weigh():
    rows = np.array([[0.0, 1.0, 0.5], [1.0, 2.0, 1.5], [2.0, 0.0, 0.1]])
    assert Sample.admit(rows, [0, 1, 1]).y.tolist() == [0.0, 1.0, 1.0]
    with pytest.raises(BattlesError, match="positive weight have only one class"):
        Sample.admit(rows, [0, 1, 1], sample_weight=[0, 1, 1])


def test_of_many_columns_the_first_twenty_are_named():
    wide = TABLE.assign(**{f"c{i:02d}": 0.0 for i in range(30)})
    with pytest.raises(BattlesError, match=r"lacks \(columns: .*'c15'\]\)"):
        find_groups("nobody", wide, 5)


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ([0, 2, 1, 1, 3], True),
        ([-1, 2, 1, 1, 3], False),
        ([np.nan, 2, 1, 1, 3], True),
        ([0.5, 2, 1, 1, 3], False),
        ([np.nan] * 5, False),
    ],
)
def test_a_column_of_counts_that_weighs_nothing_is_told(counts, told):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Sample.admit(TABLE.assign(count=counts), LABELS)
    text = "up to 3, and each row is taken for one"
    assert any(text in str(w.message) for w in found) == told


@pytest.mark.parametrize("weight", [None, np.array([1, 2, 1, 1, 3])])
def test_rows_that_weights_count_are_known_as_counted(weight):
    found = sample(sample_weight=weight).expanded()
    assert found.inputs.counted == (weight is not None)
    assert len(found) == (5 if weight is None else 8)
    assert len(sample(sample_weight=np.full(5, 2)).expanded()) == 10


def test_the_digest_is_that_of_all_that_a_row_says():
    weight, groups = np.ones(5), np.array([0, 1, 0, 2, 2])
    features = TABLE.assign(n_a=np.arange(5.0), n_b=np.zeros(5))
    turned = features.rename(columns={"model_a": "model_b", "model_b": "model_a"})

    def digest(table=features, y=LABELS, weight=weight, groups=groups):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            return Sample.admit(table, y, weight, groups).digest

    known = digest()
    assert known == digest(features.copy(), np.array(LABELS))
    assert known == digest(weight=None)
    assert known == digest(features.assign(shown_first="model_a"))
    assert known == digest(pa.Table.from_pandas(features))
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
    assert len({known, *others}) == 1 + len(others)


def test_weights_and_groups_alone():
    X = Comparisons.from_battles(TABLE)
    assert check_weight(None, X).tolist() == [1.0] * 5
    given = np.arange(1.0, 6.0)
    assert_array_equal(check_weight(given.tolist(), X), given)
    assert find_groups(None, TABLE, 5).prompts is None
    # Codes follow first appearance, whatever the labels are.
    found = find_groups([9, 3, 9, 3, 1], TABLE, 5)
    assert found.prompts.tolist() == [0, 1, 0, 1, 2]
    assert found.labels.tolist() == [9, 3, 1]
