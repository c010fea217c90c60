"""Displays: what is drawn, in which order, under which names; nothing is compared
with an image."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tables import ranking

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor.baselines import MeanShift
from skanchor.datasets import load_demo
from skanchor.plotting import (
    BiasDisplay,
    ContrastDisplay,
    CostDisplay,
    ItemDeviationDisplay,
    JudgeCalibrationDisplay,
    JudgeDisplay,
    LeaderboardDisplay,
    LeftOutDisplay,
    judge_calibration,
)
from skanchor.results import ELO_PER_LOGIT
from skanchor.simulation import simulate_battles

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

NEW = ["ivory-lynx", "jade-finch"]
RANKED = [LeaderboardDisplay, ContrastDisplay, ItemDeviationDisplay]
OF_PIPELINES = [JudgeDisplay, BiasDisplay, JudgeCalibrationDisplay]


@pytest.fixture(scope="module")
def anchor():
    X, y = load_demo(return_X_y=True)
    return AnchorPipeline(cv=2, random_state=0, item_effects="random").fit(X, y)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def names_of(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def dots(ax, *markers):
    """Where points are along the x-axis, by the lines that are drawn as marks."""
    lines = [line for line in ax.lines if line.get_marker() in markers]
    return [np.asarray(line.get_xdata(), dtype=float) for line in lines], lines


def result_of(n, unbounded=(), names=None, n_new=2):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(n, n)) * 0.2 / np.sqrt(n)
    lost = np.isin(np.arange(n), unbounded)
    scores = rng.normal(size=n)
    return ranking(scores, root @ root.T, n_new, names, unbounded=lost)


# ------------------------------------------------------------------------- all alike
@pytest.mark.parametrize("display", [*RANKED, *OF_PIPELINES])
def test_they_draw_on_a_figure_or_on_given_axes(display, anchor):
    made = display.from_estimator(anchor)
    many = isinstance(made.ax_, np.ndarray)
    first = made.ax_[0] if many else made.ax_
    assert made.figure_ is first.figure and len(made.figure_.axes) >= 1
    made.figure_.draw_without_rendering()
    if many:
        _, axes = plt.subplots(1, len(made.ax_), squeeze=False)
        again = display.from_estimator(anchor, ax=axes)
        assert again.ax_.tolist() == axes.ravel().tolist()
        again.figure_.draw_without_rendering()
        with pytest.raises(ValueError, match="axes, got"):
            made.plot([])
    else:
        _, ax = plt.subplots()
        assert made.plot(ax).ax_ is ax and made.figure_ is ax.figure


@pytest.mark.parametrize("display", RANKED)
def test_from_a_result_as_from_its_estimator(display, anchor):
    one, other = display.from_estimator(anchor), display.from_result(anchor.result_)
    first, second = (np.ravel(d.ax_)[0] for d in (one, other))
    assert names_of(first) == names_of(second)
    with pytest.raises(TypeError, match="needs a RankingResult"):
        display.from_result(anchor)


@pytest.mark.parametrize("display", [*RANKED, *OF_PIPELINES])
def test_what_has_no_intervals_or_is_not_fitted_is_refused(display):
    with pytest.raises(TypeError, match=r"needs a (RankingEstimator|AnchorPipeline)"):
        display.from_estimator(MeanShift())
    with pytest.raises(ValueError, match="not fitted"):
        display.from_estimator(AnchorPipeline())


def test_a_table_without_judges_is_refused():
    X, y = load_demo(return_X_y=True)
    votes = (X["judge"] == "human").to_numpy()
    people = AnchorPipeline(new_models=[], cv=2).fit(X[votes], y[votes])
    for display in OF_PIPELINES:
        with pytest.raises(ValueError, match="no judges"):
            display.from_estimator(people)
    with pytest.raises(ValueError, match="no new model"):
        ContrastDisplay.from_estimator(people)


# ---------------------------------------------------------------------- leaderboards
def test_the_board_is_drawn_best_first(anchor):
    display = LeaderboardDisplay.from_estimator(anchor, 0.9)
    leaderboard = anchor.leaderboard(0.9)
    assert names_of(display.ax_) == leaderboard.index.tolist()
    low, high = display.ax_.get_ylim()
    assert low > high
    bold = [
        label.get_text()
        for label in display.ax_.get_yticklabels()
        if label.get_fontweight() == "bold"
    ]
    assert sorted(bold) == NEW
    drawn = np.concatenate(dots(display.ax_, "o", "D")[0])
    assert_allclose(np.sort(drawn), np.sort(leaderboard["score"]))
    assert "90 % intervals" in display.ax_.get_xlabel()


def test_names_are_short_distinct_and_harmless():
    long = "organisation/" + "very-" * 10
    names = [f"{long}instruct-a", f"{long}instruct-b", f"a{long}same", f"b{long}same",
             "$x^2$", "esc\x1b[2J"]  # fmt: skip
    display = LeaderboardDisplay.from_result(result_of(6, names=names))
    shown = names_of(display.ax_)
    assert len(set(shown)) == 6
    assert sum(len(name) <= 36 for name in shown) >= 4
    assert r"\$x^2\$" in shown and not any("\x1b" in name for name in shown)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display.figure_.draw_without_rendering()


# -------------------------------------------------------------------------- contrasts
def test_contrasts_mark_what_is_proven_together(anchor):
    display = ContrastDisplay.from_estimator(anchor, "jade-finch")
    table = anchor.contrasts().loc["jade-finch"].sort_values("difference")
    assert names_of(display.ax_) == table.index.tolist()
    assert "jade-finch" not in names_of(display.ax_)
    assert display.decided.tolist() == (table["p_adjusted"] <= 0.05).tolist()
    assert 0 < display.decided.sum() < len(table)
    for x, line in zip(*dots(display.ax_, "D"), strict=True):
        proven = line.get_markerfacecolor() != "white"
        assert_allclose(x, table["difference"][display.decided == proven])


def test_contrasts_tell_the_chance_to_win(anchor):
    display = ContrastDisplay.from_estimator(anchor, scale="elo")
    assert display.model == "ivory-lynx"
    top = display.ax_.child_axes[0]
    display.figure_.draw_without_rendering()
    assert top.get_xlabel() == "chance that people prefer it"
    forth, back = top._functions
    assert_allclose(forth(ELO_PER_LOGIT * np.log(3.0)), 0.75)
    assert_allclose(back(np.array([0.75])), ELO_PER_LOGIT * np.log(3.0))
    with pytest.raises(ValueError, match=r"no new model .*amber-otter"):
        ContrastDisplay.from_estimator(anchor, "amber-otter")
    with pytest.raises(ValueError, match="scale must be"):
        ContrastDisplay.from_estimator(anchor, scale="percent")


# ----------------------------------------------------------------------------- judges
def test_judges_are_drawn_with_their_errors(anchor):
    display = JudgeDisplay.from_estimator(anchor)
    table = anchor.summary().sort_values("sensitivity", ascending=False)
    assert names_of(display.ax_[0]) == table.index.tolist()
    for name, ax in zip(("sensitivity", "position_effect"), display.ax_, strict=True):
        [x], _ = dots(ax, "o")
        assert_allclose(x, table[name])
    assert (display.judges["position_error"] > 0).all()


def test_biases_are_curves_with_bands(anchor):
    display = BiasDisplay.from_estimator(anchor, ["markdown"], ["judge-beta"])
    [ax] = display.ax_
    assert ax.get_xlabel() == "markdown" and len(ax.collections) == 1
    curve = display.effects
    slope = np.ptp(curve["effect"]) / np.ptp(curve["value"])
    reference = anchor.calibrator_.coefficients_.loc["judge-beta", "markdown"]
    assert slope == pytest.approx(abs(reference))
    everything = BiasDisplay.from_estimator(anchor)
    assert len(everything.ax_) == 2
    assert len(everything.figure_.legends[0].texts) == 3
    for requested in ({"features": ["tone"]}, {"judges": ["nobody"]}, {"features": []}):
        with pytest.raises(ValueError, match=r"There is no (feature|judge)"):
            BiasDisplay.from_estimator(anchor, **requested)


def test_deviations_have_intervals_on_one_scale(anchor):
    display = ItemDeviationDisplay.from_estimator(anchor)
    result = anchor.result_.diagnostics.deviations
    models = anchor.leaderboard().index
    titles = [ax.get_title() for ax in display.ax_]
    assert titles == result.index.get_level_values("judge").unique().tolist()
    assert names_of(display.ax_[0]) == models.tolist()
    assert len({ax.get_xlim() for ax in display.ax_}) == 1
    for ax, judge in zip(display.ax_, titles, strict=True):
        effects = result.xs(judge, level="judge").loc[models].astype(float)
        drawn = np.concatenate([c.lines[0].get_xydata()[:, 0] for c in ax.containers])
        np.testing.assert_allclose(np.sort(drawn), np.sort(effects["deviation"]))
        lines = [part.get_segments() for c in ax.containers for part in c.lines[2]]
        ends = np.concatenate([item for item in lines if len(item)])
        half = np.sort(ends[:, 1, 0] - ends[:, 0, 0]) / 2
        expected = np.sort(1.959963984540054 * effects["standard_error"])
        np.testing.assert_allclose(half, expected)


def test_item_effects_that_may_be_chance_are_grey():
    names = [f"m{k}" for k in range(10)]
    index = pd.MultiIndex.from_product(
        [["one", "two"], names], names=["judge", "model"]
    )
    # Two standard errors are nothing among twenty, five are.
    table = pd.DataFrame({"deviation": 0.0, "standard_error": 0.1}, index)
    table.loc[("one", "m0"), "deviation"] = 0.21
    table.loc[("two", "m3"), "deviation"] = -0.5
    display = ItemDeviationDisplay(table, names).plot()
    first, second = (
        [len(c.lines[0].get_xydata()) for c in ax.containers] for ax in display.ax_
    )
    assert first[0] == 10 and second == [9, 1]
    many = pd.concat(
        {f"judge-{k}": table.loc["one"] for k in range(8)}, names=["judge"]
    )
    display = ItemDeviationDisplay(many, names).plot()
    assert len(display.ax_) == 6
    assert "2 more judges are not shown" in display.figure_.get_supxlabel()


def test_item_effects_need_item_effects():
    without = AnchorPipeline(cv=2, random_state=0, item_effects="none")
    with pytest.raises(ValueError, match="leaves item effects out"):
        ItemDeviationDisplay.from_estimator(without.fit(*load_demo(return_X_y=True)))


def test_calibration_follows_the_diagonal(anchor):
    display = JudgeCalibrationDisplay.from_estimator(anchor, n_bins=5)
    assert [ax.get_title() for ax in display.ax_] == anchor.summary()[
        "rows"
    ].sort_values(ascending=False).index.tolist()
    result = judge_calibration(anchor._sample, "judge-alpha", 5)
    assert result["rows"].sum() == 937 and (result["predicted"] >= 0.5).all()
    z = (result["observed"] - result["predicted"]) / result["standard_error"]
    assert (z.abs() < 4).all()
    with pytest.raises(ValueError, match="There is no judge"):
        JudgeCalibrationDisplay.from_estimator(anchor, ["nobody"])


# ------------------------------------------------------------------- other methods


@pytest.mark.parametrize("n", [5, 60])
def test_models_left_out(n):
    rng = np.random.default_rng(1)
    truth = rng.normal(size=n)
    score = truth + rng.normal(size=n) * 0.1
    table = pd.DataFrame(
        {
            "true_score": truth, "true_error": 0.1, "score": score, "low": score - 0.2,
            "high": score + 0.2, "compatible": np.arange(n) > 1,
        },
        index=[f"m{i}" for i in range(n)],
    )  # fmt: skip
    display = LeftOutDisplay.from_result(table)
    named = {text.get_text() for text in display.ax_.texts}
    assert named == ({"m0", "m1"} if n > 8 else set(table.index))
    assert display.ax_.get_title().startswith(f"{n - 2} of {n} compatible")
    with pytest.raises(ValueError, match="lacks \\['compatible'\\]"):
        LeftOutDisplay.from_result(table.drop(columns="compatible"))
    with pytest.raises(TypeError, match="needs a RankingEstimator"):
        LeftOutDisplay.from_estimator(BTLRegressor(), None, None)


def test_without_matplotlib_it_says_what_to_install(anchor, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'skanchor\[plot\]'"):
        LeaderboardDisplay.from_estimator(anchor)


# ------------------------------------------------------------------------ room for all
LONG = [
    "claude-3-5-sonnet-20241022", "Llama-3.1-Nemotron-70B-Instruct-HF-AWQ-INT4",
    "gpt-4-turbo-2024-04-09", "mistral-large-instruct-2407-awq-int4-quantised",
]  # fmt: skip


def long_names(n):
    return [f"{LONG[i % len(LONG)]}-{i}" for i in range(n)]


def over_the_edge(figure):
    """How many inches of what is drawn are left, below, right and above of a figure."""
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_size_inches()
    over = [-drawn.x0, -drawn.y0, drawn.x1 - width, drawn.y1 - height]
    return np.maximum(over, 0.0).round(2).tolist()


@pytest.mark.parametrize(("n", "width"), [(5, 4.6), (60, 6.4)])
@pytest.mark.parametrize("display", [LeaderboardDisplay, ContrastDisplay])
def test_nothing_is_cut_off(display, n, width):
    result = result_of(n, unbounded=[0], names=long_names(n))
    with matplotlib.rc_context({"figure.figsize": (width, 5.0)}):
        figure = display.from_result(result).figure_
    assert figure.get_size_inches()[0] == width
    assert not any(over_the_edge(figure))


@pytest.fixture(scope="module")
def long_named():
    data = simulate_battles(n_models=5, item_sd=0.3, random_state=0)
    names = dict(zip(sorted({*data.X["model_a"]}), long_names(6), strict=True))
    judges = {f"judge-{k}": LONG[k] for k in (1, 2, 3)}
    X = data.X.replace({"model_a": names, "model_b": names, "judge": judges})
    return AnchorPipeline(cv=2, item_effects="random", random_state=0).fit(X, data.y)


@pytest.mark.parametrize("display", [ItemDeviationDisplay, *OF_PIPELINES])
def test_nothing_of_a_pipeline_is_cut_off(display, long_named):
    with matplotlib.rc_context({"figure.figsize": (4.6, 5.0)}):
        figure = display.from_estimator(long_named).figure_
    assert not any(over_the_edge(figure))


def test_cost_is_the_half_width_of_designs(anchor):
    prices = {"human": 1.0, "judges": 0.1}
    display = CostDisplay.from_estimator(anchor, 20, prices, NEW[1], 0.9)
    design = anchor.design(20, prices, targets=[NEW[1]], level=0.9)
    assert display.table.index[[0, -1]].tolist() == [0.0, 20.0]
    names = ["design", "verdicts", "votes"]
    last = design.half_widths.loc[NEW[1], names]
    assert display.table.iloc[-1].tolist() == last.tolist()
    assert set(display.table.iloc[0]) == {design.half_widths.loc[NEW[1], "now"]}
    assert (np.diff(display.table["votes"]) < 0).all()
    limits = anchor.outlook(level=0.9).limits
    assert display.limit == limits.loc[NEW[1], "verdicts"]
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[:3] == [
        "best allocation",
        "verdicts divided evenly",
        "votes divided evenly",
    ]
    assert f"half width for {NEW[1]}" in display.ax_.get_ylabel()
    few = CostDisplay.from_estimator(anchor, 0.3, {"judge-alpha": 0.1})
    assert few.table["votes"].isna().all() and few.model == NEW[0]
    assert few.table.index[1] >= 0.1
    with pytest.raises(ValueError, match="buys no row"):
        CostDisplay.from_estimator(anchor, 0.05, prices)
    with pytest.raises(ValueError, match="no new models"):
        CostDisplay.from_estimator(anchor, 5, prices, "owl")


def test_without_position_effects_it_says_so():
    X, y = load_demo(return_X_y=True)
    calibrator = JudgeCalibrator(position_effect=False)
    plain = AnchorPipeline(calibrator=calibrator, cv=2, random_state=0).fit(X, y)
    display = JudgeDisplay.from_estimator(plain)
    assert "no position effect was fitted" in display.ax_[1].texts[0].get_text()
