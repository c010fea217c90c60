"""The battles table: tables, labels, features, renames, slicing and roles."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from skanchor import BTLRegressor, Comparisons, split_battles
from skanchor.comparisons import Outcomes, decide_roles, is_constant
from skanchor.exceptions import BattlesError, DataWarning

KINDS = {
    "pandas": lambda data: pd.DataFrame(data),
    "polars": lambda data: pl.DataFrame(data, strict=False),
    "pyarrow": lambda data: pa.table(data),
}
kinds = pytest.mark.parametrize("kind", KINDS)


def columns_of(**changes):
    data = {
        "model_a": ["zeta", "alpha", "mid", "alpha", "zeta", "Émile, 3"],
        "model_b": ["alpha", "mid", "zeta", "zeta", "mid", "alpha"],
        "judge": ["human", "gpt", "human", "claude", "gpt", "human"],
        "x_a": [0.5, 1.0, -1.0, 2.0, 0.0, 3.0],
        "x_b": [1.5, 0.0, 1.0, 2.5, 0.25, 0.0],
        "n_a": [1, 2, 3, 4, 5, 6],
        "n_b": [6, 5, 4, 3, 2, 1],
        "flag_a": [True, False] * 3,
        "flag_b": [False, False, True] * 2,
        "prompt_a": list("abcdef"),
        "prompt_b": list("ghijkl"),
        "language": ["en"] * 6,
    }
    data.update(changes)
    return {name: values for name, values in data.items() if values is not None}


def assert_same(a, b):
    for name in ("models", "judges", "left", "right", "judge", "order"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert_array_equal(a.features_left, b.features_left)
    assert_array_equal(a.features_right, b.features_right)
    assert a.feature_names == b.feature_names
    assert a.new_models == b.new_models
    for name in ("scores", "sensitivities", "position_effects", "biases"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one is None) == (other is None)
        if one is not None:
            assert_array_equal(one, other)


# ----------------------------------------------------------------------------- tables
@kinds
def test_encoding(kind):
    X = Comparisons.from_battles(KINDS[kind](columns_of()))
    assert X.models.tolist() == ["alpha", "mid", "zeta", "Émile, 3"]
    assert X.judges.tolist() == ["claude", "gpt"]
    assert X.left.tolist() == [2, 0, 1, 0, 2, 3]
    assert X.right.tolist() == [0, 1, 2, 2, 1, 0]
    assert X.judge.tolist() == [-1, 1, -1, 0, 1, -1]
    assert X.order.tolist() == [1.0] * 6
    # Text pairs travel unread.
    assert X.feature_names == ("x", "n", "flag")
    assert X.features_left[:, 1].tolist() == [1, 2, 3, 4, 5, 6]
    assert X.features_right[:, 2].tolist() == [0, 0, 1, 0, 0, 1]
    assert X.features_left.dtype == np.float64
    assert (len(X), X.shape) == (6, (6, 5))
    assert Comparisons.from_battles(X) is X


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"judge": None},
        {"model_a": [3, 1, 2, 1, 3, 10], "model_b": [1, 2, 3, 3, 2, 1]},
        {"shown_first": ["model_a", "model_b", None, "model_b", "model_a", None]},
        {"x_a": [None, 1.0, 2.0, None, 1.0, 2.0]},
        {"n_b": [None, 1, 2, 3, 4, 5]},
        {"prompt_a": [None, *"bcdef"]},
        {"turns_a": [["hi"]] * 6, "turns_b": [["ho", "hum"]] * 6},
    ],
    ids=lambda changes: "-".join(changes) or "plain",
)
def test_tables_of_all_kinds_are_the_same(kind, changes):
    data = columns_of(**changes)
    assert_same(
        Comparisons.from_battles(KINDS[kind](data)),
        Comparisons.from_battles(pd.DataFrame(data)),
    )


def test_categories():
    plain = Comparisons.from_battles(pd.DataFrame(columns_of()))
    frame = pd.DataFrame(columns_of())
    for name in ("model_a", "model_b", "judge"):
        levels = ["unused", *sorted(set(frame[name]))[::-1], "zz"]
        frame[name] = pd.Categorical(frame[name], categories=levels)
    assert_same(Comparisons.from_battles(frame), plain)
    kept = frame[frame["model_a"] != "Émile, 3"]
    assert "Émile, 3" not in Comparisons.from_battles(kept).models
    cast = [pl.col(c).cast(pl.Categorical) for c in ("model_a", "model_b", "judge")]
    polar = pl.DataFrame(columns_of()).with_columns(cast)
    assert_same(Comparisons.from_battles(polar), plain)
    kept = polar.filter(pl.col("model_a") != "Émile, 3")
    assert "Émile, 3" not in Comparisons.from_battles(kept).models
    # Chunks of an arrow column may each bring their own dictionary.
    halves = [pa.table(columns_of()).slice(0, 3), pa.table(columns_of()).slice(3)]
    coded = [
        half.set_column(
            0, "model_a", half["model_a"].combine_chunks().dictionary_encode()
        )
        for half in halves
    ]
    assert_same(Comparisons.from_battles(pa.concat_tables(coded)), plain)


def test_other_dtypes_of_pandas():
    plain = Comparisons.from_battles(pd.DataFrame(columns_of()))
    data = pd.DataFrame(columns_of())
    text = ["model_a", "model_b", "judge"]
    for dtype in ("object", "string"):
        assert_same(
            Comparisons.from_battles(data.astype(dict.fromkeys(text, dtype))), plain
        )
    assert_same(
        Comparisons.from_battles(
            data.astype({"x_a": "float32", "n_a": object, "n_b": "Int64"})
        ),
        plain,
    )
    # The index is no part of the table.
    assert_same(Comparisons.from_battles(data.set_axis(list("fedcba"))), plain)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=8), min_size=2, max_size=6, unique=True), st.data())
def test_any_text_may_name_a_model(names, data):
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from(names)] * 2), min_size=1))
    a, b = map(list, zip(*rows, strict=True))
    X = Comparisons.from_battles(pd.DataFrame({"model_a": a, "model_b": b}))
    assert X.models.tolist() == sorted({*a, *b})
    assert X.models[X.left].tolist() == a
    assert X.models[X.right].tolist() == b
    assert_same(Comparisons.from_battles(pl.DataFrame({"model_a": a, "model_b": b})), X)


@kinds
def test_shown_first(kind):
    shown = ["model_a", "model_b", None, "model_b", None, "model_a"]
    X = Comparisons.from_battles(KINDS[kind](columns_of(shown_first=shown)))
    assert X.order.tolist() == [1, -1, 0, -1, 0, 1]
    nothing = Comparisons.from_battles(KINDS[kind](columns_of(shown_first=[None] * 6)))
    assert nothing.order.tolist() == [0] * 6
    with pytest.raises(BattlesError, match=r"'shown_first' holds \['left'\]"):
        Comparisons.from_battles(KINDS[kind](columns_of(shown_first=["left"] * 6)))


# --------------------------------------------------------------------------- refusals
@kinds
def test_half_pair(kind):
    with pytest.raises(BattlesError, match=r"\['x_a'\] lack their other side"):
        Comparisons.from_battles(KINDS[kind](columns_of(x_b=None)))
    with pytest.raises(BattlesError, match=r"\['prompt_b'\] lack their other side"):
        Comparisons.from_battles(KINDS[kind](columns_of(prompt_a=None)))
    with pytest.raises(BattlesError, match="x_a and x_b differ in type"):
        Comparisons.from_battles(KINDS[kind](columns_of(x_b=list("abcdef"))))


@kinds
def test_missing_columns(kind):
    with pytest.raises(BattlesError, match=r"lacks the columns \['model_b'\]"):
        Comparisons.from_battles(KINDS[kind](columns_of(model_b=None)))


def test_duplicate_columns():
    frame = pd.DataFrame(columns_of())
    for name in ("model_a", "x_a"):
        with pytest.raises(ValueError, match=name):
            Comparisons.from_battles(pd.concat([frame, frame[[name]]], axis=1))


@kinds
@pytest.mark.parametrize("name", ["model_a", "model_b", "judge"])
def test_null_ids_are_named_by_row(kind, name):
    values = columns_of()[name]
    values[3] = None
    values[5] = None
    with pytest.raises(BattlesError, match=f"'{name}' has 2 missing ids.*row 3"):
        Comparisons.from_battles(KINDS[kind](columns_of(**{name: values})))


@kinds
def test_null_numeric_ids_are_named_by_row(kind):
    data = {"model_a": [1, 2, None, 3], "model_b": [2, 3, 1, 1]}
    with pytest.raises(BattlesError, match=r"'model_a'.*first in row 2"):
        Comparisons.from_battles(KINDS[kind](data))


def test_odd_columns_are_refused():
    frame = pd.DataFrame(columns_of())
    with pytest.raises(BattlesError, match="'x_a' contains infinity, first in row 2"):
        Comparisons.from_battles(frame.assign(x_a=[0, 1, np.inf, 0, 0, 0]))
    with pytest.raises(TypeError, match="mix types"):
        Comparisons.from_battles(frame.assign(model_a=["a", 1, "b", 2, "c", 3]))
    with pytest.raises(TypeError, match="must be strings or numbers"):
        Comparisons.from_battles(frame.assign(model_a=[{"name": "a"}] * 6))


# --------------------------------------------------------------------------- outcomes
LABELS = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad"]


@pytest.mark.parametrize(
    "wrap", [list, np.array, pd.Series, pd.Categorical, pl.Series, pa.array,
             lambda y: pa.chunked_array([y[:2], y[2:]])]
)  # fmt: skip
def test_outcome_labels(wrap):
    outcomes = Outcomes.encode(wrap(LABELS), named=True)
    assert outcomes.values.tolist() == [1, 0, 0.5, 0.5, 0.5]
    assert outcomes.classes.tolist() == ["model_a", "model_b"]
    assert outcomes.first_wins == 0


@pytest.mark.parametrize(
    "y", [[0, 1, 1], [False, True, True], [0.0, 1.0, 1.0],
          pl.Series([0, 1, 1]), np.array([0, 1, 1], dtype=object)]
)  # fmt: skip
def test_outcome_numbers(y):
    outcomes = Outcomes.encode(y, named=True)
    assert outcomes.values.tolist() == [0, 1, 1]
    assert outcomes.classes.tolist() == [0, 1]
    assert outcomes.first_wins == 1


def test_fractions_are_preferences():
    y = [0.0, 0.25, 0.5, 1.0]
    assert Outcomes.encode(y, named=True).values.tolist() == y
    assert Outcomes.encode([0.5], named=True).values.tolist() == [0.5]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["model_a", "A", "tie", "B"], r"\['A', 'B'\].*first in row 1"),
        (["model_a", None, "tie"], "1 missing outcomes, the first in row 1"),
        ([0.0, np.nan, 1.0], "row 1"),
        ([0, 1, 2], "row 2 has"),
        ([-0.1, 1], "row 0 has"),
        (["model_a", 1], "all labels or all numbers"),
        ([[0, 1], [1, 0]], "one outcome per battle"),
    ],
)
def test_bad_outcomes(y, message):
    y = np.array(y, dtype=object) if "all labels" in message else y
    with pytest.raises(BattlesError, match=message):
        Outcomes.encode(y, named=True)


@pytest.mark.parametrize(
    ("y", "first"),
    [
        (["no", "yes", "no"], "yes"),
        ([1, 2, 1], 2),
        ([-1, 1, -1], 1),
        (list("BAB"), "B"),
    ],
)
def test_bare_arrays_take_two_labels(y, first):
    outcomes = Outcomes.encode(y, named=False)
    assert outcomes.classes[outcomes.first_wins] == first
    assert outcomes.values.tolist() == [float(label == first) for label in y]


def test_bare_arrays():
    X = Comparisons.from_battles(np.array([[1, 2, 0.5], [2, 3, -1.0]]))
    assert X.models.tolist() == [1, 2, 3] and not X.named
    assert (X.features_left - X.features_right).ravel().tolist() == [0.5, -1.0]
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        Comparisons.from_battles(np.ones((3, 1)))
    with pytest.raises(BattlesError, match="only one class"):
        Outcomes.encode([1, 1], named=False)
    with pytest.raises(BattlesError, match="multiclass"):
        Outcomes.encode([1, 2, 3], named=False)


# ------------------------------------------------------------------------------ split
@kinds
def test_split_battles_renames(kind):
    data = columns_of(winner=["model_a", "tie", "model_b"] * 2)
    names = {"model_a": "left", "model_b": "right", "judge": "voter",
             "winner": "verdict", "x_a": "len_left", "x_b": "len_right"}  # fmt: skip
    given_data = {names.get(k, k): v for k, v in data.items()}
    given_data["voter"] = ["crowd" if v == "human" else v for v in given_data["voter"]]
    table = KINDS[kind](given_data)
    back = {new: old for old, new in names.items()}
    X, y = split_battles(table, columns=back, human="crowd")
    assert type(X) is type(table)
    expected, labels = split_battles(KINDS[kind](data))
    assert "winner" not in [str(c) for c in getattr(X, "column_names", X.columns)]
    a, b = Comparisons.from_battles(X), Comparisons.from_battles(expected)
    assert_array_equal(a.judge, b.judge)
    assert_array_equal(a.judges, b.judges)
    assert_array_equal(a.left, b.left)
    assert sorted(a.feature_names) == sorted(b.feature_names)
    for outcome in (y, labels):
        assert Outcomes.encode(outcome, named=True).values.tolist() == [1, 0.5, 0] * 2
    with pytest.raises(BattlesError, match=r"the human labels \['people'\]"):
        split_battles(table, columns=back, human="people")
    with pytest.raises(BattlesError, match=r"lacks the columns \['winner'"):
        split_battles(table)
    with pytest.raises(BattlesError, match=r"lacks the columns \['nowhere'\]"):
        split_battles(table, columns={"nowhere": "winner"})


@kinds
def test_split_battles_renames_onto_a_taken_name(kind):
    data = columns_of(winner=["model_a"] * 6, vote=["model_b"] * 6)
    _, y = split_battles(KINDS[kind](data), columns={"vote": "winner"})
    assert set(np.asarray(y)) == {"model_b"}
    swap = {"model_a": "model_b", "model_b": "model_a"}
    X, _ = split_battles(KINDS[kind](data), columns=swap)
    assert_array_equal(
        Comparisons.from_battles(X).left,
        Comparisons.from_battles(KINDS[kind](data)).right,
    )


@kinds
def test_split_battles_human_label_of_another_type(kind):
    data = columns_of(winner=["model_a"] * 6, judge=[0, 1, 0, 2, 1, 0])
    X, _ = split_battles(KINDS[kind](data), human=0)
    encoded = Comparisons.from_battles(X)
    assert encoded.judges.tolist() == ["1", "2"]
    assert encoded.judge.tolist() == [-1, 0, -1, 1, 0, -1]


@kinds
def test_split_battles_takes_several_human_labels(kind):
    judge = ["u1", "human", "gpt", "u2", "u1", "gpt"]
    table = KINDS[kind](columns_of(winner=["model_a"] * 6, judge=judge))
    X, _ = split_battles(table, human=["u1", "u2", "human"])
    encoded = Comparisons.from_battles(X)
    assert encoded.judges.tolist() == ["gpt"]
    assert encoded.judge.tolist() == [-1, -1, 0, -1, -1, 0]
    with pytest.raises(BattlesError, match="'human' beside the human labels"):
        split_battles(table, human=["u1", "u2"])
    with pytest.raises(BattlesError, match=r"the human labels \['u3'\]; it holds"):
        split_battles(table, human=["u1", "human", "u3"])
    with pytest.raises(BattlesError, match=r"the human labels \[\]"):
        split_battles(table, human=[])


def test_a_human_label_needs_a_column_of_judges():
    table = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"]})
    with pytest.raises(BattlesError, match=r"lacks the columns \['judge'\]"):
        split_battles(table, human="crowd")


@pytest.mark.parametrize("of", [pd.DataFrame, pl.DataFrame])
def test_look_alike_labels_are_told_where_they_count(of):
    names = ["Elk", "elk ", "owl", "fox"]
    table = of(
        {"model_a": names * 6, "model_b": [*names[1:], *names[:1]] * 6,
         "judge": ["human"] * 20 + ["Human"] * 4}
    )  # fmt: skip
    y = [0, 1] * 6 + [1, 0] * 6
    with pytest.warns(DataWarning) as told:
        BTLRegressor(alpha=1.0).fit(table, y)
    told = [str(warning.message) for warning in told]
    assert len(told) == 2
    assert "models ['Elk', 'elk '] differ" in told[0]
    assert "judges ['human', 'Human'] differ" in told[1]
    assert "only 'human' marks human rows" in told[1]
    # Rows of weight zero are not there.
    weight = np.array([1, 0, 1, 1] * 5 + [0] * 4)
    weight[[0, 4, 8, 12, 16]] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BTLRegressor(alpha=1.0).fit(table, y, weight)


def test_numbers_never_look_alike():
    table = pd.DataFrame({"model_a": [1, 2, 3, 1], "model_b": [2, 3, 1, 3]})
    BTLRegressor(alpha=1.0).fit(table, [0, 1, 1, 0])


@pytest.mark.parametrize("name", ["Judge", "judge_name", "LLM judge"])
def test_a_column_like_judge_is_told(name):
    table = pd.DataFrame({"model_a": [*"xyzx"], "model_b": [*"yzxz"], name: "gpt"})
    with pytest.warns(DataWarning, match=rf"\['{name}'\] may be meant"):
        BTLRegressor(alpha=1.0).fit(table, [0, 1, 1, 0])
    BTLRegressor(alpha=1.0).fit(table.drop(columns=name), [0, 1, 1, 0])


def test_split_battles_needs_a_table():
    with pytest.raises(TypeError, match="pandas, polars or pyarrow"):
        split_battles([[1, 2]])


# ---------------------------------------------------------------------------- slicing
def learned():
    X = Comparisons.from_battles(pd.DataFrame(columns_of()), new_models=["Émile, 3"])
    return X.with_columns(
        scores=np.arange(4.0), sensitivities=np.array([0.5, 2.0]), biases=np.arange(6.0)
    )


@pytest.mark.parametrize(
    "rows",
    [
        np.array([4, 0, 1]),
        [4, 0, 1],
        np.array([True, False, False, True, True, False]),
        [True, False, False, True, True, False],
        slice(1, 4),
        slice(None, None, -2),
        np.array([], dtype=int),
        [],
        2,
    ],
    ids=str,
)
def test_slicing_keeps_vocabulary_and_roles(rows):
    X = learned()
    X.logits(), X.by_judge(1), X.involves_new, X.is_usable
    cut = X[rows]
    at = np.arange(6)[
        rows
        if not isinstance(rows, list)
        else np.array(rows, dtype=(bool if rows and isinstance(rows[0], bool) else int))
    ]
    at = np.atleast_1d(at)
    assert len(cut) == len(at)
    assert_array_equal(cut.models, X.models)
    assert_array_equal(cut.judges, X.judges)
    assert cut.new_models == X.new_models
    assert_array_equal(cut.scores, X.scores)
    for name in ("left", "right", "judge", "order", "biases", "features_left"):
        assert_array_equal(getattr(cut, name), getattr(X, name)[at])
    assert_array_equal(cut.logits(), X.logits()[at])
    assert_array_equal(cut.involves_new, X.involves_new[at])
    assert_array_equal(cut.by_judge(1).left, cut.left[cut.judge == 1])


def test_scikit_learn_slices():
    X = learned()
    rows = np.array([5, 2])
    assert_same(_safe_indexing(X, rows), X[rows])
    assert_same(_safe_indexing(X, rows.tolist()), X[rows])
    mask = np.array([True, True, False, False, True, False])
    assert_same(_safe_indexing(X, mask), X[mask])
    train, test, y_train, y_test = train_test_split(X, np.arange(6), random_state=0)
    assert_same(train, X[y_train])
    assert_same(test, X[y_test])


@pytest.mark.parametrize(
    "copier", [copy.deepcopy, copy.copy, lambda X: pickle.loads(pickle.dumps(X))]
)
def test_copies(copier):
    X = learned()
    X.by_judge(0), X.logits(), X.is_new
    again = copier(X)
    assert_same(again, X)
    assert_array_equal(again.logits(), X.logits())
    assert_array_equal(again.by_judge(0).rows, X.by_judge(0).rows)
    # Caches stay at home.
    assert len(pickle.dumps(X)) == len(pickle.dumps(copier(X)))


def test_immutable():
    with pytest.raises(AttributeError):
        learned().scores = None


def test_relabel():
    X = learned()
    models = np.array(["zeta", "other", "alpha"], dtype=object)
    moved = X.relabel(models, np.array(["gpt"], dtype=object))
    assert moved.left.tolist() == [0, 2, -1, 2, 0, -1]
    assert moved.judge.tolist() == [-1, 0, -1, -2, 0, -1]
    assert_array_equal(moved.scores, [2, np.nan, 0])
    assert_array_equal(moved.sensitivities, [2.0])
    assert moved.is_usable.tolist() == [True, False, False, False, False, False]
    assert X.relabel(X.models, X.judges) is X


def test_logits_by_hand():
    X = learned().with_columns(position_effects=np.array([0.25, -0.5]))
    # scores alpha 0, mid 1, zeta 2, Émile 3; claude 0.5, gpt 2; biases 0 to 5.
    expected = [
        2,
        2 * -1 + 1 - 0.5,
        -1 + 2,
        0.5 * -2 + 3 + 0.25,
        2 * 1 + 4 - 0.5,
        3 + 5,
    ]
    assert_allclose(X.logits(), expected)


# ------------------------------------------------------------------------------ roles
def battles(*rows, new_models=None):
    frame = pd.DataFrame(rows, columns=["model_a", "model_b", "judge"])
    return Comparisons.from_battles(frame, new_models=new_models)


ROWS = [("a", "b", "human"), ("b", "c", "human"), ("a", "c", "j"), ("n", "a", "j"),
        ("b", "m", "k")]  # fmt: skip
ONE = np.ones(len(ROWS))


def test_roles_default_to_models_without_votes():
    X = decide_roles(battles(*ROWS), ONE, None)
    assert X.new_models == ("m", "n")
    assert X.models.tolist() == ["a", "b", "c", "m", "n"]
    assert X.involves_new.tolist() == [False, False, False, True, True]
    # Slicing does not change them.
    assert X[:2].new_models == ("m", "n")


def test_given_new_models_travel():
    X = decide_roles(battles(*ROWS, new_models=["n", "m"]), ONE, None)
    assert X.new_models == ("n", "m")
    assert decide_roles(battles(*ROWS), ONE, ["n", "m"]).new_models == ("n", "m")


def test_model_without_votes_must_be_named():
    with pytest.raises(BattlesError, match=r"\['m'\] have no human rows"):
        decide_roles(battles(*ROWS), ONE, ["n"])
    with pytest.raises(BattlesError, match=r"\['m', 'n'\] have no human rows"):
        decide_roles(battles(*ROWS), ONE, [])
    with pytest.raises(BattlesError, match=r"new_models names \['x'\]"):
        decide_roles(battles(*ROWS), ONE, ["n", "m", "x"])


def test_warm_arrival():
    X = decide_roles(battles(*ROWS), ONE, ["c", "m", "n"])
    assert X.is_new.tolist() == [False, False, True, True, True]
    assert X.involves_new.tolist() == [False, True, True, True, True]


def test_rows_without_weight_decide_nothing():
    weight = np.array([1.0, 0, 1, 1, 0])
    X = decide_roles(battles(*ROWS), weight, None)
    assert X.models.tolist() == ["a", "b", "c", "n"]
    assert X.judges.tolist() == ["j"]
    assert X.new_models == ("c", "n")
    assert X.right.tolist() == [1, 2, 2, 0, -1]
    assert X.judge.tolist() == [-1, -1, 0, 0, -2]
    with pytest.raises(BattlesError, match="positive weight"):
        decide_roles(battles(*ROWS), 0 * ONE, None)


def test_self_comparisons_decide_nothing():
    X = battles(*ROWS, ("s", "s", "human"), ("n", "n", "human"))
    roles = decide_roles(X, np.ones(7), None)
    assert "s" not in roles.models
    assert roles.new_models == ("m", "n")
    assert roles.is_usable.tolist() == [True] * 5 + [False] * 2


def test_a_judge_called_human_is_not_merged_into_the_humans():
    table = pd.DataFrame(
        {
            "model_a": ["x", "y"],
            "model_b": ["y", "x"],
            "judge": ["crowd", "human"],
            "winner": ["model_a", "model_b"],
        }
    )
    with pytest.raises(BattlesError, match="rename that judge"):
        split_battles(table, human="crowd")
    with pytest.raises(BattlesError, match="lacks the columns"):
        Comparisons.from_battles(
            table.drop(columns="winner").rename(
                columns={"model_a": "left", "model_b": "right"}
            )
        )


# ------------------------------------------------------------- columns of many kinds
def test_long_columns_are_coded_alike_however_they_are_stored():
    rng = np.random.default_rng(0)
    n = 30_000
    names = np.array(["fox", "elk", "owl", "yak"], dtype=object)
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    verdicts = np.array(["model_b", "model_a", "tie"], dtype=object)[
        rng.integers(0, 3, n)
    ]
    one_object = pd.DataFrame({"model_a": names[a], "model_b": names[b]}, dtype=object)
    copies = one_object.map(lambda name: "".join(list(name)))
    tables = [
        one_object,
        copies.astype(object),
        one_object.astype("string[pyarrow]"),
        one_object.astype("category"),
        pl.from_pandas(one_object),
        pa.Table.from_pandas(one_object),
    ]
    first = Comparisons.from_battles(one_object)
    assert_array_equal(first.models[first.left], names[a])
    for table in tables:
        X = Comparisons.from_battles(table)
        assert X.models.tolist() == ["elk", "fox", "owl", "yak"]
        assert_array_equal(X.left, first.left)
        assert_array_equal(X.right, first.right)
    wanted = np.select([verdicts == "model_a", verdicts == "tie"], [1.0, 0.5], 0.0)
    series = pd.Series(verdicts, dtype=object)
    for y in (
        verdicts,
        verdicts.astype(str),
        verdicts.tolist(),
        series,
        series.astype("string[pyarrow]"),
        series.astype("category"),
        pl.Series(verdicts.tolist()),
    ):
        assert_array_equal(Outcomes.encode(y, named=True).values, wanted)


def test_long_columns_of_objects_may_bring_new_ones_late():
    rng = np.random.default_rng(0)
    n = 150_000
    names = np.array(["fox", "elk", "".join(["f", "ox"]), "yak", "owl"], dtype=object)
    a = rng.integers(0, 3, n)
    a[-10:] = [3, 4] * 5
    b = np.where(names[a] == "elk", 0, 1)
    # Neither column lies in one piece.
    battles = np.column_stack([names[a], names[b]])
    X = Comparisons.from_battles(
        pd.DataFrame({"model_a": battles[:, 0], "model_b": battles[:, 1]}, dtype=object)
    )
    assert X.models.tolist() == ["elk", "fox", "owl", "yak"]
    assert_array_equal(X.models[X.left], names[a])
    assert_array_equal(X.models[X.right], names[b])


def test_a_late_row_against_itself_is_told():
    n = 150_000
    a, b = np.zeros(n, dtype=int), np.ones(n, dtype=int)
    b[-1] = 0
    y = np.arange(n) % 2
    with pytest.warns(DataWarning, match="1 rows compare a model with itself"):
        BTLRegressor().fit(pd.DataFrame({"model_a": a, "model_b": b}), y)


def test_sums_by_model_follow_the_incidence():
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 50)
    table = pd.DataFrame({"model_a": left, "model_b": (left + 1) % 4, "judge": "gpt"})
    cut = Comparisons.from_battles(table).by_judge(0)
    signs = np.eye(4)[cut.left] - np.eye(4)[cut.right]
    values, factor = rng.normal(size=(50, 3)), rng.random(50)
    assert_array_equal(cut.incidence.toarray(), signs)
    assert_allclose(cut.net(factor), signs.T @ factor, atol=1e-12)
    for order in "CF":
        given = np.asarray(values, order=order)
        wanted = signs.T @ (factor[:, None] * values)
        assert_allclose(cut.item_sums(given, factor), wanted, atol=1e-12)


def test_missing_values_in_long_columns_are_named_by_row():
    names = np.array(["fox", "elk"] * 20_000, dtype=object)
    other = names[::-1].copy()
    for missing in (None, np.nan, pd.NA):
        broken = names.copy()
        broken[[70, 90]] = missing
        table = pd.DataFrame({"model_a": broken, "model_b": other}, dtype=object)
        for kind in (object, "string[pyarrow]"):
            with pytest.raises(BattlesError, match=r"2 .*first in row 70"):
                Comparisons.from_battles(table.astype(kind))
        verdicts = np.array(["model_a"] * 40_000, dtype=object)
        verdicts[[5, 6]] = missing
        for y in (verdicts, pd.Series(verdicts, dtype="string[pyarrow]")):
            with pytest.raises(BattlesError, match="2 missing outcomes, the first in"):
                Outcomes.encode(y, named=True)


@pytest.mark.parametrize("shift", [0, -3, 1000, 10**12])
def test_integer_ids_keep_their_numbers(shift):
    a = np.array([4, 0, 9, 4, 0]) + shift
    b = np.array([0, 9, 4, 9, 4]) + shift
    X = Comparisons.from_battles(pd.DataFrame({"model_a": a, "model_b": b}))
    assert_array_equal(X.models, np.array([0, 4, 9]) + shift)
    assert_array_equal(X.models[X.left], a)
    assert_array_equal(X.models[X.right], b)


def test_constant_columns_take_no_room_and_slice_like_others():
    table = pd.DataFrame({"model_a": ["x", "y", "x"], "model_b": ["y", "z", "z"]})
    X = Comparisons.from_battles(table)
    assert is_constant(X.judge) and is_constant(X.order)
    assert X[[0, 2]].judge.tolist() == [-1, -1]
    assert X[1:].is_human.tolist() == [True, True]
    again = pickle.loads(pickle.dumps(X))
    assert again.order.tolist() == [1.0, 1.0, 1.0]
