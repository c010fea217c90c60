"""What judges make of new models: dense algebra, laws, size and what is said."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import Dense
from scipy.linalg import null_space
from scipy.special import expit
from scipy.stats import chi2
from sklearn.base import clone
from tables import liked

from skanchor import AnchorHistory, AnchorPipeline, JudgeCalibrator, _assembly
from skanchor._diagnostics.arrivals import check_arrivals
from skanchor._diagnostics.sums import FitSums
from skanchor._estimators.pipeline_fit import PipelineFit
from skanchor._sample.sample import Sample
from skanchor.exceptions import DiagnosticWarning
from skanchor.reports.facts import Facts
from skanchor.reports.readout import ranking
from skanchor.simulation import simulate_battles

NEW = "new-model"


def noise_of(X, y, anchor):
    """Dispersion of each source, people last."""
    fit = PipelineFit.of(Sample.from_battles(X, y), anchor.calibrator_)
    return fit.dispersions(without_items=True)


def checked(X, y, anchor):
    reference = PipelineFit.of(
        Sample.from_battles(X, y), anchor.calibrator_, covariance=X.item_covariance
    )
    noise = noise_of(X, y, anchor)
    sums = FitSums.of(reference.fit, reference.sources, X.order, noise)
    return check_arrivals(X.models, X.judges, reference.fit, sums)


def look(data, y=None, item_effects=None, X=None, historical_fit="joint"):
    """The check after the plug-in, and the pipeline."""
    y = data.y if y is None else y
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=True),
        debiaser="passthrough", historical_fit=historical_fit,
        item_effects=item_effects,
    )  # fmt: skip
    anchor.fit(data.X if X is None else X, y)
    return checked(anchor.comparisons_, y, anchor)


def redraw(data, rows, push):
    """Outcomes of some rows at logits that are higher by ``push``."""
    fresh = np.random.default_rng(1).random(len(data.y)) < expit(
        data.truth.logits + push
    )
    return np.where(rows, fresh, data.y).astype(int)


def meets(X, model):
    first, second = ((X[f"model_{side}"] == model).to_numpy() for side in "ab")
    return first | second, first.astype(float) - second


def two_steps_by_dense_algebra(data):
    """Comparisons, their dense twin, its parameters, and what rows say of them."""
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(position_effect=True),
        debiaser="passthrough", historical_fit="two-step", item_effects=None,
    )  # fmt: skip
    anchor.fit(data.X, data.y)
    X = anchor.comparisons_
    noise = noise_of(X, data.y, anchor)[X.judge]
    dense = Dense(data.X, data.y, X.models, X.judges, X.new_models, True)
    v = dense.two_step(np.ones(len(data.y)))
    p = expit(dense.eta(v))
    return X, dense, v, (data.y - p) / noise, p * (1 - p) / noise


def test_changes_equal_dense_algebra():
    data = liked(item_sd=0.0, n_models=5)
    check = look(data, historical_fit="two-step")
    result = check.changes
    X, dense, v, residual, curvature = two_steps_by_dense_algebra(data)
    G = dense.gradient(v)
    J = G.T @ (G * curvature[:, None])
    c = dense.split(v)[1]
    slope = np.append(c, 1.0)[dense.m]
    delta = dense.Z @ v[: dense.Z.shape[1]]
    step = 1e-5
    bend = [np.sinh(np.exp(-k) * np.arcsinh(delta)) * np.exp(k) for k in (-step, step)]
    columns = {
        "sensitivity": dense.arrival * slope * delta,
        "position": dense.arrival * dense.o,
        "curvature": slope * (bend[1] - bend[0]) / (2.0 * step),
    }
    curved = {(judge, "curvature"): row for judge, row in check.curvature.iterrows()}
    for (judge, change), row in [*result.iterrows(), *curved.items()]:
        rows = dense.m >= 0
        if judge != "all judges":
            rows &= dense.m == X.judges.tolist().index(judge)
        t = rows * columns[change]
        answer = -np.linalg.pinv(J, hermitian=True) @ (G.T @ (curvature * t))
        score = t @ residual + answer @ (G.T @ residual)
        information = t @ (curvature * t) + answer @ (G.T @ (curvature * t))
        value = score / information + (change == "sensitivity")
        assert_allclose(row["value"], value, rtol=1e-4)
        assert_allclose(row["shift"], (value - (change == "sensitivity")) * answer[0],
                        rtol=1e-4)  # fmt: skip
    assert len(result) == 5 and len(curved) == 2


def test_disagreement_equals_dense_algebra():
    """Each judge has a score of its own for a model, whose common one is held fixed."""
    data = liked(item_sd=0.0, n_models=5, n_judges=3)
    result = look(data, historical_fit="two-step").models
    X, dense, v, residual, curvature = two_steps_by_dense_algebra(data)
    slope = dense.split(v)[1]
    for i, (_, row) in enumerate(result.iterrows()):
        fixed = null_space(dense.targets()[:, [i]].T)
        G = dense.gradient(v) @ fixed
        sign = (dense.a == i).astype(float) - (dense.b == i)
        T = sign[:, None] * (dense.m[:, None] == np.arange(len(slope)))
        cross = G.T @ (T * curvature[:, None])
        taken = np.linalg.pinv(G.T @ (G * curvature[:, None]), hermitian=True) @ cross
        information = T.T @ (T * curvature[:, None]) - cross.T @ taken
        score = T.T @ residual - taken.T @ (G.T @ residual)
        alone = np.linalg.solve(information, score)
        # That all judges agree with, whatever it is.
        common = (slope @ score) ** 2 / (slope @ information @ slope)
        assert_allclose(row["chi2"], score @ alone - common, rtol=1e-4)
        assert_allclose(row["p_value"], chi2(2).sf(row["chi2"]))
        extent = X.scores[i] + np.array([min(alone / slope), max(alone / slope)])
        assert_allclose(row[["lowest", "highest"]], extent, rtol=1e-4)
        assert row["df"] == 2
        # Of an old model the judges have a score in common that people do not share.
        assert X.is_new[i] or common > 1e-3


@pytest.mark.parametrize("item_effects", ["none", "random"])
def test_laws(item_effects):
    data = liked(n_judges=3)
    one = look(data, item_effects=item_effects)
    # Rows in another order.
    at = np.random.default_rng(0).permutation(len(data.y))
    again = look(data, data.y[at], item_effects, data.X.iloc[at].reset_index(drop=True))
    # Every row turned round, with its display.
    turned = data.X.rename(
        columns=lambda name: (
            {"a": name[:-1] + "b", "b": name[:-1] + "a"}[name[-1]]
            if name[-2:] in ("_a", "_b")
            else name
        )
    ).assign(shown_first="model_b")
    other = look(data, 1 - data.y, item_effects, turned[[*data.X, "shown_first"]])
    for same in (again, other):
        for table in ("changes", "models", "curvature"):
            want = getattr(one, table).select_dtypes("number")
            have = getattr(same, table).select_dtypes("number")
            assert_allclose(have, want, rtol=1e-3, atol=1e-3)


def test_silent_where_nothing_is_wrong():
    n_told = 0
    for seed in range(15):
        data = simulate_battles(n_historical=4000, new_score=1.0, random_state=seed)
        result = look(data)
        n_told += (result.changes["p_adjusted"] < 0.01).any()
        n_told += (result.models["scale"] > 1.0).any()
        n_told += (result.curvature["p_adjusted"] < 0.01).any()
    # Each has odds of one in a hundred.
    assert n_told <= 2


def test_judges_that_change_are_named():
    data = simulate_battles(n_historical=4000, new_score=1.0, random_state=0)
    X, truth = data.X, data.truth
    rows, _ = meets(X, NEW)
    rows &= (X["judge"] == "judge-1").to_numpy()
    delta = truth.logits * rows
    y = redraw(data, rows, -0.9 * delta)
    with pytest.warns(DiagnosticWarning, match="'judge-1' tells models apart") as w:
        anchor = AnchorPipeline(cv=3, random_state=0).fit(X, y)
    assert "changes the score of 'new-model' by" in str(w[0].message)
    assert "The judges together" not in str(w[0].message)
    y = redraw(data, rows, 1.5)
    words = r"'judge-1' favours the side shown first by \+1"
    with pytest.warns(DiagnosticWarning, match=words):
        anchor = AnchorPipeline(cv=3, random_state=0).fit(X, y)
    table = anchor.result_.diagnostics.arrivals.changes
    assert table["p_value"].idxmin() == ("judge-1", "position")


def test_a_curved_judge_is_named():
    data = simulate_battles(n_historical=16000, new_score=1.0, random_state=0)
    X, truth = data.X, data.truth
    scores = pd.concat([truth.scores, truth.new_scores])
    delta = (X["model_a"].map(scores) - X["model_b"].map(scores)).to_numpy()
    rows = (X["judge"] == "judge-1").to_numpy()
    slope = truth.sensitivities["judge-1"]
    words = (
        "'judge-1' distinguishes models that are far apart {} sharply.* the score of"
    )
    for how, bent in (("less", 1.5 * np.tanh(delta / 1.5)), ("more", np.sinh(delta))):
        y = redraw(data, rows, rows * slope * (bent - delta))
        with pytest.warns(DiagnosticWarning, match=words.format(how)):
            anchor = AnchorPipeline(cv=2, random_state=0).fit(X, y)
        table = anchor.result_.diagnostics.arrivals.curvature
        assert table["p_value"].idxmin() == "judge-1"
        assert (table.loc["judge-1", "value"] > 0) == (how == "less")


def test_disagreement_is_told_and_widens_the_interval():
    data = simulate_battles(n_historical=4000, rho=0.0, random_state=0)
    X = data.X[["model_a", "model_b", "judge"]]
    rows, sign = meets(X, NEW)
    rows &= (X["judge"] == "judge-1").to_numpy()
    y = redraw(data, rows, 2.0 * sign)
    with pytest.warns(DiagnosticWarning, match="disagree about 'new-model'"):
        anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None).fit(X, y)
    diagnostics = anchor.result_.diagnostics
    row = diagnostics.arrivals.models.loc[NEW]
    assert_allclose(row["scale"] ** 2, row["chi2"] / row["df"])
    assert row["p_value"] < 1e-6 and row["df"] == 2
    assert row["lowest"] < anchor.scores_[NEW] < row["highest"]
    # Parts of the variance and the contrasts are those of the wider interval.
    parts = anchor.variance_.loc[NEW, ["human", "judge", "cross", "items"]]
    assert_allclose(parts.sum(), anchor.standard_errors_[NEW] ** 2)
    bare = np.sqrt(np.sum(anchor.influence_[:, anchor.models_ == NEW] ** 2))
    assert_allclose(anchor.standard_errors_[NEW], row["scale"] * bare)
    assert (diagnostics.arrivals.models["scale"].drop(NEW) == 1.0).all()
    messages = [str(f) for f in diagnostics.findings() if f.code == "disagreement"]
    assert len(messages) == 1 and "more than chance allows" in messages[0]
    text = " ".join(ranking(Facts(anchor)).to_text().split())
    assert "Judges disagree about 'new-model'" in text


def test_disagreement_may_be_left_out_of_the_error():
    """Same score and warning; the error is that of the influence values alone."""
    data = simulate_battles(n_historical=2000, rho=0.0, random_state=0)
    X = data.X[["model_a", "model_b", "judge"]]
    rows, sign = meets(X, NEW)
    y = redraw(data, rows & (X["judge"] == "judge-1").to_numpy(), 2.0 * sign)
    anchor = AnchorPipeline(cv=3, random_state=0, item_effects=None)
    with pytest.warns(DiagnosticWarning, match="Its error is scaled up by"):
        wide = clone(anchor).fit(X, y)
    anchor.set_params(disagreement="ignore")
    with pytest.warns(DiagnosticWarning, match=r"disagree.*error does not allow for"):
        bare = clone(anchor).fit(X, y)
    result = bare.result_.diagnostics.arrivals
    assert (result.models["scale"] == 1.0).all() and (result.scale == 1.0).all()
    assert_array_equal(bare.scores_, wide.scores_)
    scale = wide.result_.diagnostics.arrivals.models.loc[NEW, "scale"]
    assert scale > 1.5
    assert_allclose(bare.standard_errors_ * scale, wide.standard_errors_)
    # A history keeps the setting, in its file, too.
    history = AnchorHistory(anchor).fit(X[~rows], y[~rows])
    with pytest.warns(DiagnosticWarning, match="error does not allow for"):
        placed = history.place(X[rows], y[rows])
    assert (placed.diagnostics.arrivals.scale == 1.0).all()


def test_disagreement_beyond_all_scores_determines_nothing(monkeypatch):
    """Judges without noise may contradict each other by any number of errors."""
    data = liked(n_judges=3, item_sd=0.0)

    factor = [1e4]

    def apart(*args, **options):
        result = check_arrivals(*args, **options)
        scale = np.where(args[0] == NEW, factor[0], 1.0)
        return replace(result, models=result.models.assign(scale=scale))

    anchor = AnchorPipeline(cv=2, random_state=0, item_effects=None)
    error = anchor.fit(data.X, data.y).standard_errors_[NEW]
    monkeypatch.setattr(_assembly, "check_arrivals", apart)
    factor[0] = 99.0 / error
    assert_allclose(anchor.fit(data.X, data.y).standard_errors_, 99.0)
    factor[0] = 101.0 / error
    anchor.fit(data.X, data.y)
    assert np.isinf(anchor.standard_errors_[NEW])
    assert np.isinf(anchor.conf_int().loc[NEW]).all()
    assert not anchor.leaderboard().loc[NEW, "determined"]
    assert np.isfinite(anchor.result_.all_standard_errors.drop(NEW)).all()


def test_one_judge_cannot_disagree():
    result = look(liked(n_judges=1, item_sd=0.0))
    assert result.models["chi2"].isna().all() and (result.models["scale"] == 1.0).all()
    assert result.changes.index.get_level_values("judge").unique().tolist() == [
        "judge-1"
    ]


def test_an_order_that_is_always_the_same_is_no_change():
    data = liked(item_sd=0.0)
    _, sign = meets(data.X, NEW)
    shown = np.where(sign >= 0, "model_a", "model_b")
    result = look(data, X=data.X.assign(shown_first=shown))
    assert set(result.changes.index.get_level_values("change")) == {"sensitivity"}
