"""Networks in torch, trained with skorch; only this module imports the two.

Learners import it where they fit.
"""

from __future__ import annotations

import math
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from skorch import NeuralNet
from skorch.callbacks import Callback, LRScheduler
from torch.utils.data import BatchSampler, RandomSampler, TensorDataset

from skanchor._typing import Array
from skanchor.bias.fitting import TrainingRows
from skanchor.exceptions import LearnerError

FANS = (1, 2)
"""Features that a unit of the first layer starts from, beside those that see all."""

GLOBAL_GENERATOR = threading.RLock()
"""Lock of torch's global generator, which fits borrow."""


class ReLUBody(torch.nn.Sequential):
    """Hidden layers of the default network, from features to ``width`` ReLU units.

    The units of the first layer start from one, two or all features in turn, with
    their kinks spread over standardised data.
    """

    def __init__(self, n_features: int, width: int, depth: int):
        layers: list[torch.nn.Module] = []
        for sizes in pairwise([n_features, *[width] * depth]):
            layers += [torch.nn.Linear(*sizes), torch.nn.ReLU()]
        super().__init__(*layers)
        first: Any = self[0]
        fans = torch.tensor([*FANS, n_features])
        n_inputs = fans[torch.arange(width) % len(fans)]
        rank = torch.rand(width, n_features).argsort(dim=1).argsort(dim=1)
        weight = torch.randn(width, n_features) * (rank < n_inputs[:, None])
        torch.nn.init.uniform_(first.bias, -1.0, 1.0)
        first.weight.data = weight / weight.norm(dim=1, keepdim=True)


class ContrastModule(torch.nn.Module):
    """Logits of comparisons: hidden features, features and parametric columns."""

    def __init__(self, body: Any, head: Any, skip: Any, coef: Any):
        super().__init__()
        self.body = body
        self.head, self.skip, self.coef = map(torch.nn.Parameter, (head, skip, coef))

    def forward(self, columns: Any) -> Any:
        """Logits, or predictions of the targets, (n_rows, n_targets).

        Columns are the features of both sides, then the parametric columns.
        """
        n_features = len(self.skip)
        left, right, parametric = columns.tensor_split(
            (n_features, 2 * n_features), dim=1
        )
        first, second = self.body(torch.cat([left, right])).split(len(left))
        eta = (first - second) @ self.head + (left - right) @ self.skip
        return eta + parametric @ self.coef[:, None]


class WeightedLoss(torch.nn.Module):
    """Mean weighted loss of a batch; the last column of ``y`` holds the weights."""

    def __init__(self, terms: Any):
        super().__init__()
        self.terms = terms

    def forward(self, eta: Any, y: Any) -> Any:
        """Loss of predictions (n_rows, n_targets)."""
        terms = self.terms(eta, y[:, :-1], reduction="none")
        return (y[:, -1] * terms.sum(dim=1)).mean()


class Limits(Callback):
    """Put parameters back into their set after each step.

    Parametric coefficients stay within their bounds. With an l1 norm, a proximal step
    makes weights of the body exactly zero.
    """

    def __init__(self, lower: Any, upper: Any, l1: float):
        self.lower, self.upper, self.l1 = lower, upper, l1

    def on_batch_end(self, net: Any, **kwargs: Any) -> None:
        """Clip coefficients, and shrink weights."""
        coef, step = net.module_.coef, net.optimizer_.param_groups[0]["lr"] * self.l1
        coef.data.clamp_(self.lower.to(coef.device), self.upper.to(coef.device))
        for value in net.module_.body.parameters() if self.l1 else ():
            if value.dim() > 1:
                value.data = torch.nn.functional.softshrink(value.data, step)


def train_body(
    learner: Any,
    settings: dict[str, Any],
    rows: TrainingRows,
    linear: Array,
    seed: int,
) -> tuple[Any, Any]:
    """Make a body and train it; torch's global generator is left as it was.

    First weights, dropout, batches and a user's own parts draw from that generator. It
    is seeded for the fit and put back afterwards, and fits take turns in a process.

    Parameters
    ----------
    learner : NetworkBias
        Its parameters say how.
    settings : dict
        Those of skorch, and of the body.
    rows : TrainingRows
        With standardised features, and targets of mean square one.
    linear : ndarray of shape (n_parametric + n_features, n_targets)
        Coefficients of the linear fit of these rows, which training starts from.
    seed : int
        Seed of the first weights and of the batches.

    Returns
    -------
    body : torch.nn.Module
        Trained, on the CPU.
    history : list of dict
        skorch's.
    """
    n_parametric = rows.parametric.shape[1]
    options = {"lr": 0.003, "max_epochs": 5, "batch_size": 256, **settings}
    if "optimizer" not in options:
        decay = {"optimizer__weight_decay": 0.001}
        options = {"optimizer": torch.optim.AdamW, **decay, **options}
    devices = range(torch.cuda.device_count())
    with GLOBAL_GENERATOR, torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        body = _make_body(learner.module, options, rows.pairs.n_features, len(rows))
        width = _check_body(body, _tensor(rows.pairs.left[:16]))
        module = ContrastModule(
            body,
            torch.randn(width, rows.y.shape[1]) * (0.1 / math.sqrt(width)),
            _tensor(linear[n_parametric:]),
            _tensor(linear[:n_parametric].ravel()),
        )
        lower, upper = (
            _tensor(np.array(np.broadcast_to(one, n_parametric))) for one in rows.bounds
        )
        limits = Limits(lower, upper, learner.l1)
        net = _net(learner.loss, module, limits, len(rows), options).initialize()
        columns = [rows.pairs.left, rows.pairs.right, rows.parametric]
        y = np.column_stack([rows.y, len(rows) * rows.weight])
        data = TensorDataset(_tensor(np.hstack(columns)), _tensor(y))
        net.notify("on_train_begin", X=data, y=None)
        # Not fit: skorch's swallows an interrupt and hands back a half-trained net.
        net.fit_loop(data)
        net.notify("on_train_end", X=data, y=None)
    for epoch in net.history:
        if not math.isfinite(epoch["train_loss"]):
            raise LearnerError(
                f"the network diverged in epoch {epoch['epoch']}: its loss is "
                f"{epoch['train_loss']}. Lower lr, or check the features for extreme "
                "values."
            )
    return body.cpu().eval(), net.history


def _net(
    loss: str, module: Any, limits: Limits, n_rows: int, options: dict[str, Any]
) -> NeuralNet:
    """The untrained net of skorch, which takes whole batches of rows."""
    functional = torch.nn.functional
    losses = {
        "logistic": functional.binary_cross_entropy_with_logits,
        "squared": functional.mse_loss,
    }
    size = min(options["batch_size"], n_rows) if options["batch_size"] > 0 else n_rows
    schedule = LRScheduler("CosineAnnealingLR", T_max=max(options["max_epochs"], 1))
    callbacks = [("schedule", schedule), ("limits", limits)]
    settings: dict[str, Any] = {
        "criterion": WeightedLoss,
        "criterion__terms": losses[loss],
        # The loader gets whole batches: it collects rows one by one otherwise, which
        # takes longer than the training. An incomplete last batch, which would count as
        # much as the others, is left out.
        "iterator_train__batch_size": None,
        "iterator_train__sampler": BatchSampler(
            RandomSampler(range(n_rows)), size, drop_last=True
        ),
        "train_split": None,
        "callbacks__print_log": None,
        **options,
        "callbacks": [*callbacks, *(options.get("callbacks") or ())],
    }
    return NeuralNet(module, **settings)


def _make_body(
    module: Any, options: dict[str, Any], n_features: int, n_rows: int
) -> Any:
    """Body with its first weights, whose parameters are taken out of the options.

    The size of the default one grows with the training set.
    """
    names = [name for name in options if name.startswith("module__")]
    given = {name.removeprefix("module__"): options.pop(name) for name in names}
    if module is not None:
        return module(n_features, **given)
    width = math.ceil(math.log2(max(n_rows, 2))) * min(6 * n_features, 32)
    depth = max(1, round(math.log10(n_rows)) - 2)
    return ReLUBody(n_features, **{"width": width, "depth": depth, **given})


def _check_body(body: Any, x: Any) -> int:
    """Refuse a body that does not treat responses one by one; return its width."""
    if not isinstance(body, torch.nn.Module):
        raise LearnerError(
            f"module must build a torch.nn.Module, got {type(body).__name__}."
        )
    with torch.no_grad():
        whole, half = body.eval()(x), body(x[: len(x) // 2 + 1])
    body.train()
    shape = tuple(getattr(whole, "shape", ())) or type(whole).__name__
    if len(shape) != 2 or shape[0] != len(x):
        raise LearnerError(
            "the module must map (n_rows, n_features) to (n_rows, width), but "
            f"{tuple(x.shape)} became {shape}."
        )
    normalisation = torch.nn.modules.batchnorm._NormBase
    if any(isinstance(part, normalisation) for part in body.modules()) or (
        not torch.allclose(whole[: len(half)], half, 1e-3, 1e-5, equal_nan=True)
    ):
        raise LearnerError(
            "the module's output for a row depends on the other rows of its batch, but "
            "psi must be a function of one response. In the place of batch "
            "normalisation use LayerNorm, or none."
        )
    return int(shape[1])


def body_features(body: Any, features: Array) -> Array:
    """Hidden features of responses, in float64."""
    with torch.no_grad():
        return np.asarray(body(_tensor(features)).numpy(), dtype=np.float64)


def _tensor(values: Array) -> Any:
    return torch.as_tensor(values, dtype=torch.float32)
