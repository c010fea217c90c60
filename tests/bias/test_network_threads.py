"""NetworkBias in threads: equal answers, torch's global state left alone."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skanchor._battles import FeaturePairs
from skanchor.bias import NetworkBias

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning"),
]


@pytest.fixture
def torch():
    pytest.importorskip("skorch")
    return pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def untouched(torch):
    """Refuse a test that changes what all of a process share."""

    def state():
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.backends.cudnn.deterministic,
            torch.backends.cudnn.benchmark,
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
        )

    torch.manual_seed(3)
    generator, flags = torch.get_rng_state(), state()
    yield
    assert torch.equal(generator, torch.get_rng_state())
    assert state() == flags


def make_body(n_features):
    """Give a body with what draws from the global generator: weights and dropout."""
    from torch import nn

    return nn.Sequential(nn.Linear(n_features, 8), nn.Tanh(), nn.Dropout(0.2))


@pytest.mark.parametrize(
    "params", [{}, {"module": make_body}], ids=["default", "user's"]
)
def test_threads_change_nothing(params):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 200, 3))
    pairs, y = FeaturePairs(left, right), rng.integers(2, size=200) * 1.0

    def contrast(seed):
        net = NetworkBias(**{"max_epochs": 2, "alpha": 1.0} | params, random_state=seed)
        return net.fit(pairs, y).contrast(pairs)

    seeds = [0, 1] * 2
    alone = [contrast(seed) for seed in seeds]
    assert not np.allclose(alone[0], alone[1])
    with ThreadPoolExecutor(4) as pool:
        pooled = list(pool.map(contrast, seeds))
    assert_array_equal(pooled, alone)
