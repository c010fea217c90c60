"""NetworkBias: its laws, skorch's gaps closed, user modules and refusals."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import by_hand
import numpy as np
import pytest
from learners import make_pairs, true_logits
from numpy.testing import assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_sklearn_checks import NETWORK

from skanchor import AnchorPipeline, BTLRegressor, JudgeCalibrator
from skanchor.bias import BiasLearner, LinearBias, NetworkBias
from skanchor.exceptions import LearnerError
from skanchor.simulation import simulate_battles

pytestmark = [
    pytest.mark.torch,
    # Small tables cross thresholds that are not at issue here.
    pytest.mark.filterwarnings(
        "ignore::skanchor.exceptions.DiagnosticWarning",
        "ignore:.*historical models are too few:skanchor.exceptions.SkanchorWarning",
    ),
]

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")


def quick(**params):
    return NetworkBias(**{"max_epochs": 2, "module__width": 8, **params})


class Tanh(torch.nn.Sequential):
    """A body of a user's own."""

    def __init__(self, n_features, width=12):
        super().__init__(torch.nn.Linear(n_features, width), torch.nn.Tanh())


class Normed(torch.nn.Sequential):
    def __init__(self, n_features):
        super().__init__(torch.nn.Linear(n_features, 6), torch.nn.BatchNorm1d(6))


class Centred(torch.nn.Linear):
    """Mixes the rows of a batch without a normalisation layer."""

    def __init__(self, n_features):
        super().__init__(n_features, 6)

    def forward(self, x):
        out = super().forward(x)
        return out - out.mean(dim=0)


class Flat(torch.nn.Linear):
    def __init__(self, n_features):
        super().__init__(n_features, 1)

    def forward(self, x):
        return super().forward(x)[:, 0]


# ------------------------------------------------------------------------- scikit-learn
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([NETWORK], xfail_strict=True)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", by_hand.OF_ROWS_OF_NUMBERS)
def test_check_called_by_hand(check):
    # Parameters of skorch have no constraints here.
    check("NetworkBias", NetworkBias(loss="squared"))


def test_parameters_of_the_parts():
    net = NetworkBias(Tanh, module__width=5, optimizer__eps=1e-6)
    assert net.get_params()["module__width"] == 5
    again = clone(net).set_params(module__width=7, alpha=0.1)
    assert (again.get_params()["module__width"], again.alpha) == (7, 0.1)
    assert net.get_params()["module__width"] == 5
    assert "Tanh" in repr(net)
    pairs, _, y, _ = make_pairs(n=100)
    assert again.fit(pairs, y).coef_.shape == (3 + 7,)
    with pytest.raises(ValueError, match="modle__width"):
        NetworkBias(modle__width=5).fit(pairs, y)
    for name, bad in (("l1", -1.0), ("alpha", -1.0), ("alpha", "best")):
        with pytest.raises(ValueError, match=name):
            NetworkBias(**{name: bad}).fit(pairs, y)


# ----------------------------------------------------------------------------- learning


def test_psi_lies_within_its_bound_about_its_mean():
    pairs, _, y, weight = make_pairs(2, n=500)
    short = quick(bound=0.1).fit(pairs, y, weight)
    assert np.abs(short.psi(pairs.left)).max() == pytest.approx(0.1)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_a_bias_without_curvature_is_fitted_as_a_linear_one(loss):
    pairs, delta, _, weight = make_pairs(14, n=1500)
    line = pairs.contrast @ [1.0, -0.5, 0.2]
    rng = np.random.default_rng(0)
    columns = {"parametric": delta} if loss == "logistic" else {}
    y = line + rng.normal(size=len(line))
    if loss == "logistic":
        y = 1.0 * (rng.random(len(line)) < expit(line + delta[:, 0]))
    net = NetworkBias(loss=loss).fit(pairs, y, weight, **columns)
    linear = LinearBias(loss=loss).fit(pairs, y, weight, **columns)
    gap = net.contrast(pairs) - linear.contrast(pairs)
    assert net.alpha_ >= 5 and np.std(gap) < 0.1 * np.std(line)
    # Curvature is not shrunk away.
    curved = true_logits(pairs) + rng.normal(size=len(line))
    if loss == "logistic":
        curved = 1.0 * (rng.random(len(line)) < expit(curved + delta[:, 0]))
    assert NetworkBias(loss=loss).fit(pairs, curved, weight, **columns).alpha_ <= 1


def test_weights_take_the_ridge_of_the_calibrator():
    battles, y = judged()
    calibrator = JudgeCalibrator(quick()).fit(battles, y)
    follower = calibrator.follow(quick())
    for judge in calibrator.judges_:
        chosen = calibrator.biases_[judge].alpha_
        assert follower[judge].alpha == chosen
    # Another class, or other settings, choose for themselves.
    for other in (quick(module__width=9), quick(alpha=0.5), LinearBias(), "boosted"):
        assert calibrator.follow(other) is other


def test_sparse_weights_are_exactly_zero():
    pairs, _, y, _ = make_pairs(5, n=400)
    dense, sparse = (quick(l1=l1, max_epochs=30).fit(pairs, y) for l1 in (0.0, 2.0))
    zeros = [int((net.module_[0].weight == 0).sum()) for net in (dense, sparse)]
    # Units start from few features, and training fills in the others.
    assert zeros[0] == 0 and zeros[1] > 4


# --------------------------------------------------------------------- seeds and states
def test_seeds_reproduce_and_leave_the_generator_alone():
    pairs, delta, y, weight = make_pairs(8, n=300)
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    nets = [quick(random_state=s).fit(pairs, y, weight) for s in (0, 0, 1)]
    assert torch.equal(before, torch.random.get_rng_state())
    values = [net.contrast(pairs) for net in nets]
    assert_array_equal(values[0], values[1])
    assert not np.allclose(values[0], values[2])
    weight[200:] = 0.0
    full, cut = (
        quick().fit(pairs[:n], y[:n], weight[:n], parametric=delta[:n])
        for n in (300, 200)
    )
    assert_array_equal(full.contrast(pairs), cut.contrast(pairs))
    for twin in (pickle.loads(pickle.dumps(full)), copy.deepcopy(full)):
        assert_array_equal(twin.contrast(pairs), full.contrast(pairs))


# ------------------------------------------------------------------------------ threads
def shared_state():
    """Flags of torch that all of a process share."""
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.cudnn.deterministic,
        torch.backends.cudnn.benchmark,
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
    )


def make_body(n_features):
    """Give a body with what draws from the global generator: weights and dropout."""
    nn = torch.nn
    return nn.Sequential(nn.Linear(n_features, 8), nn.Tanh(), nn.Dropout(0.2))


@pytest.mark.parametrize("module", [{}, {"module": make_body}], ids=["own", "user's"])
def test_threads_change_nothing(module):
    """Nor is the state of torch another one afterwards."""
    pairs, _, y, _ = make_pairs(n=200)
    torch.manual_seed(3)
    generator, flags = torch.get_rng_state(), shared_state()

    def contrast(seed):
        net = NetworkBias(max_epochs=2, alpha=1.0, random_state=seed, **module)
        return net.fit(pairs, y).contrast(pairs)

    seeds = [0, 1] * 2
    alone = [contrast(seed) for seed in seeds]
    assert not np.allclose(alone[0], alone[1])
    with ThreadPoolExecutor(4) as pool:
        assert_array_equal(list(pool.map(contrast, seeds)), alone)
    assert torch.equal(generator, torch.get_rng_state())
    assert shared_state() == flags


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_device_reaches_torch():
    pairs, _, y, _ = make_pairs(12, n=50)
    with pytest.raises((RuntimeError, AssertionError), match=r"(?i)cuda|nvidia"):
        quick(device="cuda").fit(pairs, y)
    # Any other device than the CPU: a "meta" one holds shapes only, so that what
    # fails is the first look at a value, after module and data have moved there.
    with pytest.raises((RuntimeError, NotImplementedError), match=r"(?i)meta"):
        quick(device="meta").fit(pairs, y)


# ----------------------------------------------------------------------------- refusals
def judged():
    data = simulate_battles(600, 60, n_models=4, n_judges=2, random_state=0)
    return BTLRegressor().fit(data.X, data.y).transform(data.X), data.y


@pytest.mark.parametrize(
    ("module", "fault"),
    [
        (Normed, "the rows of a batch are mixed. .* LayerNorm serves"),
        (Centred, "the rows of a batch are mixed"),
        (Flat, r"\(n_rows, width\), but shape \(16, 3\) became \(16,\)"),
        (lambda n: 3, "must build a torch.nn.Module .* but it built int"),
    ],
)
def test_modules_that_cannot_serve(module, fault):
    battles, y = judged()
    with pytest.raises(LearnerError, match=f"judge 'judge-1' failed: .*{fault}"):
        JudgeCalibrator(NetworkBias(module)).fit(battles, y)


def test_divergence_names_judge_and_loss():
    battles, y = judged()
    net = NetworkBias(lr=1e30, optimizer=torch.optim.SGD, max_epochs=5)
    with pytest.raises(
        LearnerError, match=r"judge 'judge-\d' failed: .* diverged in epoch \d.* is nan"
    ):
        JudgeCalibrator(net).fit(battles, y)


# ----------------------------------------------------------------------------- pipeline
def test_a_pipeline_of_networks():
    data = simulate_battles(1200, 120, n_models=4, n_judges=2, random_state=3)
    anchor = AnchorPipeline(
        calibrator=JudgeCalibrator(quick(alpha=1.0)), cv=2, random_state=0
    ).fit(data.X, data.y)
    assert isinstance(anchor.calibrator_.biases_["judge-1"], BiasLearner)
    assert abs(anchor.scores_.iloc[0] - 0.5) < 4 * anchor.standard_errors_.iloc[0]


def test_the_name_auto_has_the_network_in_its_list():
    battles, y = judged()
    choices = JudgeCalibrator("auto").fit(battles, y).choices_
    assert {"loss linear", "loss network", "loss boosted"} <= set(choices)
    for _, row in choices.iterrows():
        # The first within one standard error of the least loss.
        names = ["linear", "network", "boosted"]
        least = min(row[f"loss {name}"] for name in names)
        near = [n for n in names if row[f"loss {n}"] - least <= row[f"gap {n}"] + 1e-12]
        assert row["picked"] == near[0]
