"""Transformers of texts: tables of every kind, pairs and columns, pipelines."""

import by_hand
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from skanchor import AnchorPipeline
from skanchor.exceptions import BattlesError, DataWarning
from skanchor.features import EmbeddingFeatures, ResponseFeatures
from skanchor.simulation import simulate_battles

KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
TABLE = pd.DataFrame(
    {
        "model_a": ["x", "y", "z"],
        "model_b": ["y", "z", "x"],
        "response_a": ["# A\n\n**one**", "two words", "I'm sorry."],
        "response_b": ["two words", "three such words?", "- 1\n- 2"],
        "topic": [1, 2, 3],
    },
    index=[7, 3, 5],
)
WORDS = {"words_a": [3, 2, 2], "words_b": [2, 3, 4]}
COUNTS = ResponseFeatures(scale="none", features=["words", "bold"])
TRANSFORMERS = [
    ResponseFeatures(),
    ResponseFeatures("arena", scale="ratio"),
    ResponseFeatures("arena", scale="density", features=["bold", "length"]),
    EmbeddingFeatures(n_components=2),
]


class Encoder:
    """Stands for a model of embeddings: letters counted by their codes."""

    def __repr__(self):
        return "Encoder()"

    def encode(self, texts):
        assert isinstance(texts, list)
        return [[text.count(c) for c in "aeios"] for text in texts]


# ---------------------------------------------------------------------------- tables
@pytest.mark.parametrize("kind", KINDS)
def test_text_columns_become_feature_columns(kind):
    table = KINDS[kind](TABLE)
    result = clone(COUNTS).fit_transform(table)
    assert type(result) is type(table)
    names = ["model_a", "model_b", "topic", "words_a", "bold_a", "words_b", "bold_b"]
    assert list(getattr(result, "column_names", result.columns)) == names
    for name, values in WORDS.items():
        assert_array_equal(np.asarray(result[name]), values)
    if kind == "pandas":
        assert_array_equal(result.index, TABLE.index)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("kind", KINDS)
def test_set_output(transformer, kind, output):
    table = KINDS[kind](TABLE)
    fitted = clone(transformer).set_output(transform=output)
    result = fitted.fit_transform(table)
    assert isinstance(result, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[output])
    assert list(result.columns) == fitted.get_feature_names_out().tolist()
    assert result["model_a"].to_list() == ["x", "y", "z"]


def test_several_pairs():
    table = TABLE.rename(columns={"response_a": "left", "response_b": "right"})
    table = table.assign(plan_a="a **plan**", plan_b="none")
    transformer = clone(COUNTS).set_params(columns=[("left", "right"), "plan"])
    for keep_text in (False, True):
        transformer.set_params(keep_text=keep_text)
        features = transformer.fit_transform(table)
        assert features["left_words_a"].tolist() == WORDS["words_a"]
        assert features["left_words_b"].tolist() == WORDS["words_b"]
        assert features["plan_bold_a"].tolist() == [1, 1, 1]
        assert list(features) == transformer.get_feature_names_out().tolist()
    assert list(features)[: len(table.columns)] == list(table)


@pytest.mark.parametrize("transformer", [TRANSFORMERS[0], TRANSFORMERS[3]], ids=str)
def test_one_column_of_texts(transformer):
    texts = TABLE["response_a"].tolist()
    fitted = clone(transformer)
    expected = fitted.fit_transform(texts)
    assert expected.shape == (3, len(fitted.get_feature_names_out()))
    for column in (
        np.array(texts), TABLE["response_a"], pl.Series(texts),
        pa.chunked_array([texts]), tuple(texts), iter(texts),
    ):  # fmt: skip
        assert_allclose(fitted.transform(column), expected)
    mixed = ColumnTransformer([("text", clone(transformer), "response_a")])
    assert_allclose(mixed.fit_transform(TABLE), expected)
    frame = fitted.set_output(transform="pandas").transform(TABLE["response_a"])
    assert_array_equal(frame.index, TABLE.index)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
def test_swapped_sides_swap_columns(transformer):
    swapped = TABLE.rename(
        columns={"response_a": "response_b", "response_b": "response_a"}
    )
    fitted = clone(transformer).fit(TABLE)
    one, two = fitted.transform(TABLE), fitted.transform(swapped)
    for name in one.columns.difference(["model_a", "model_b", "topic"]):
        other = name[:-1] + {"a": "b", "b": "a"}[name[-1]]
        assert_allclose(two[other], one[name], atol=1e-12)


# ---------------------------------------------------------------------------- values
def test_scales():
    raw = ResponseFeatures(scale="none").fit_transform(TABLE["response_a"])
    assert_allclose(
        ResponseFeatures().fit_transform(TABLE["response_a"]), np.log1p(raw)
    )


@pytest.mark.parametrize("encoder", ["tfidf", Encoder(), CountVectorizer()], ids=str)
def test_embeddings_lie_in_the_unit_box(encoder):
    texts = [
        f"{a} {b}" for a in ("cats", "stocks", "tea") for b in ("rise", "fell", "so")
    ]
    fitted = EmbeddingFeatures(encoder, n_components=3).fit(texts)
    result = fitted.transform(texts)
    assert result.shape == (9, 3)
    assert_allclose(result.min(axis=0), -1)
    assert_allclose(result.max(axis=0), 1)
    assert np.abs(fitted.transform(["something else", ""])).max() <= 1
    plain = clone(fitted).set_params(scale=False).fit_transform(texts)
    # Principal components: centred, uncorrelated, in falling order.
    covariance = plain.T @ plain
    assert_allclose(plain.mean(axis=0), 0, atol=1e-12)
    assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-10)
    assert (np.diff(np.diag(covariance)) <= 1e-12).all()


def test_texts_not_rows_weigh_in_an_embedding():
    texts = ["a cat sat", "stocks fell", "the tea is hot", "a dog sat"]
    once = EmbeddingFeatures(n_components=2).fit(texts)
    often = EmbeddingFeatures(n_components=2).fit(texts + texts[:1] * 5)
    assert_allclose(once.transform(texts), often.transform(texts))


# ------------------------------------------------------------------------- bad input
@pytest.mark.parametrize("kind", KINDS)
def test_missing_texts_are_told_and_empty(kind):
    table = KINDS[kind](TABLE.assign(response_b=["two words", None, None]))
    with pytest.warns(DataWarning, match="empty ones: 2 in response_b") as records:
        result = clone(COUNTS).fit_transform(table)
    assert len(records) == 1
    assert [float(value) for value in np.asarray(result["words_b"])] == [2, 0, 0]


ARENA = {"scale": "ratio", "style": "arena"}
REFUSED = [
    ({}, TABLE.drop(columns="response_b"), BattlesError, "no columns of texts resp"),
    ({"columns": [("left", "response_b")]}, TABLE, BattlesError, "of texts left"),
    ({"columns": []}, TABLE, BattlesError, "no columns of texts"),
    ({"columns": ["topic"]}, TABLE, BattlesError, "of texts topic_a and"),
    ({}, TABLE.assign(response_a=[1, 2, 3]), BattlesError, "row 0 holds '1', a int"),
    ({}, TABLE.assign(response_a=[["a"], "b", "c"]), BattlesError, "Join the turns"),
    ({}, TABLE.assign(words_a=1), BattlesError, "columns .'words_a'. already"),
    ({}, "one text", ValueError, "give a list of texts"),
    ({}, np.array([["a", "b"]]), ValueError, "got an array of shape"),
    ({"features": ["tone"]}, TABLE, ValueError, "no features .'tone'."),
    ({"scale": "ratio"}, TABLE, ValueError, "goes with style='arena'"),
    (ARENA, ["a"], BattlesError, "contrasts two"),
    ({"scale": "log"}, TABLE, ValueError, "The 'scale' parameter"),
]


@pytest.mark.parametrize(("params", "table", "error", "message"), REFUSED)
def test_what_cannot_be_read_is_named(params, table, error, message):
    with pytest.raises(error, match=message):
        ResponseFeatures(**params).fit_transform(table)


@pytest.mark.parametrize(
    ("texts", "message"),
    [(["a"], "at least two"), ([], "at least two"), (["", " "], "cannot be embedded")],
)
def test_what_cannot_be_embedded_is_named(texts, message):
    with pytest.raises(BattlesError, match=message):
        EmbeddingFeatures().fit(texts)


def test_odd_encoders_are_refused():
    class Odd(Encoder):
        def encode(self, texts):
            return np.full((len(texts), 2), np.nan)

    class Short(Encoder):
        def encode(self, texts):
            return np.zeros(3)

    with pytest.raises(BattlesError, match="not finite for the text 'a'"):
        EmbeddingFeatures(Odd()).fit(["a", "b"])
    with pytest.raises(BattlesError, match="one row of numbers for each text"):
        EmbeddingFeatures(Short()).fit(["a", "b"])


def test_unfitted_and_other_tables():
    with pytest.raises(NotFittedError):
        ResponseFeatures().transform(TABLE)
    fitted = ResponseFeatures().fit(TABLE)
    with pytest.raises(BattlesError, match="Fitted on texts in response_a, response_b"):
        fitted.transform(TABLE["response_a"])
    # Columns without texts may come and go.
    assert "topic" not in fitted.transform(TABLE.drop(columns="topic"))


# --------------------------------------------------------------------- scikit-learn
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "transformer", [ResponseFeatures(), EmbeddingFeatures()], ids=str
)
def test_sklearn_checks(transformer):
    for chosen, check in estimator_checks_generator(transformer):
        check(chosen)
    for check in by_hand.OF_ANY:
        check(type(transformer).__name__, transformer)


# ----------------------------------------------------------------- in front of a rank
@pytest.fixture(scope="module")
def battles():
    data = simulate_battles(n_models=4, n_historical=1500, n_new=150, random_state=3)
    rng = np.random.default_rng(0)
    words = rng.choice(["tea", "cats", "**so**", "it", "falls"], (2, len(data.X), 8))
    texts = [
        [" ".join(row[: 1 + i % 8]) for i, row in enumerate(side)] for side in words
    ]
    X = data.X[["model_a", "model_b", "judge"]]
    X = X.assign(prompt_id=np.arange(len(X)), response_a=texts[0], response_b=texts[1])
    return X, np.asarray(data.y)


@pytest.mark.filterwarnings("ignore::skanchor.exceptions.DiagnosticWarning")
@pytest.mark.parametrize(
    "transformer",
    [ResponseFeatures(features=["words", "bold"]), EmbeddingFeatures(n_components=2)],
    ids=str,
)
def test_in_front_of_a_pipeline(battles, transformer):
    X, y = battles
    anchor = AnchorPipeline(cv=2, item_effects="none", random_state=0)
    chain = Pipeline([("texts", transformer), ("anchor", anchor)]).fit(X, y)
    direct = clone(anchor).fit(clone(transformer).fit_transform(X), y)
    assert_allclose(chain["anchor"].scores_, direct.scores_)
    assert chain["anchor"].features_.tolist() == transformer._names()
    assert chain.predict_proba(X.head(5)).shape == (5, 2)
