"""The bundled table is the one that the package says it made."""

from demo_table import make_demo
from numpy.testing import assert_allclose

from skanchor.datasets import load_demo


def test_bundled_file_is_what_make_demo_makes():
    made, frame = make_demo(), load_demo().frame
    assert list(made.columns) == list(frame.columns)
    numeric = frame.select_dtypes("number").columns
    assert list(numeric) == ["length_a", "length_b", "markdown_a", "markdown_b"]
    # Another BLAS may round a third decimal the other way.
    assert_allclose(made[numeric], frame[numeric], atol=1.01e-3)
    for name in frame.columns.difference(numeric):
        assert made[name].tolist() == frame[name].tolist()


def test_demo_contents():
    demo = load_demo()
    X = demo.data
    assert X.shape == (4000, 8) and demo.target.shape == (4000,)
    assert demo.feature_names == list(X.columns)
    assert demo.frame.drop(columns="winner").equals(X)
    assert set(demo.target) == {"model_a", "model_b", "tie"}
    assert 0.1 < (demo.target == "tie").mean() < 0.3
    assert not demo.frame.isna().any(axis=None)
    assert "SIMULATED" in demo.DESCR
    human = X[X["judge"] == "human"]
    seen = set(human["model_a"]) | set(human["model_b"])
    every = set(X["model_a"]) | set(X["model_b"])
    assert sorted(every - seen) == demo.new_models == ["ivory-lynx", "jade-finch"]
    assert every == set(demo.true_scores.index)
    assert set(X["judge"]) == {"human", *demo.true_sensitivities.index}
    assert_allclose(demo.true_scores.drop(demo.new_models).mean(), 0, atol=1e-12)
