"""Networks in torch, trained with skorch; only this module imports the two.

Learners import it where they fit.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from skorch import NeuralNet
from skorch.callbacks import Callback, LRScheduler
from torch.utils.data import TensorDataset

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
    """Logits of comparisons: hidden features, features and parametric columns.

    Training starts from the coefficients of an exact linear fit.
    """

    def __init__(self, body: Any, width: int, linear: Array, n_parametric: int):
        super().__init__()
        self.body, n_targets = body, linear.shape[1]
        head = torch.randn(width, n_targets) * (0.1 / math.sqrt(width))
        self.head = torch.nn.Parameter(head)
        self.coef = torch.nn.Parameter(_tensor(linear[:n_parametric]))
        self.skip = torch.nn.Parameter(_tensor(linear[n_parametric:]))

    def forward(self, columns: Any) -> Any:
        """Logits, or predictions of the targets, (n_rows, n_targets).

        Columns are the features of both sides, then the parametric columns.
        """
        at = len(self.skip), 2 * len(self.skip)
        left, right, parametric = columns.tensor_split(at, dim=1)
        first, second = self.body(torch.cat([left, right])).split(len(left))
        eta = (first - second) @ self.head + (left - right) @ self.skip
        return eta + parametric @ self.coef


class Batches:
    """Places of the rows of whole batches, shuffled anew in each epoch.

    A loader that samples and collects rows one by one takes longer than the training.
    """

    def __init__(self, n_rows: int, batch_size: int):
        self.n_rows, self.batch_size = n_rows, batch_size

    def __iter__(self) -> Iterator[Any]:
        # An incomplete last batch would count as much as the others.
        whole = self.n_rows - self.n_rows % self.batch_size
        return iter(torch.randperm(self.n_rows)[:whole].split(self.batch_size))


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

    def __init__(self, bounds: tuple[ArrayLike, ArrayLike], l1: float):
        self.bounds, self.l1 = bounds, l1

    def on_batch_end(self, net: Any, **kwargs: Any) -> None:
        """Clip coefficients, and shrink weights."""
        coef, step = net.module_.coef.data, net.optimizer_.param_groups[0]["lr"]
        low, high = (coef.new_tensor(np.reshape(b, (-1, 1))) for b in self.bounds)
        coef.clamp_(low, high)
        for value in net.module_.body.parameters() if self.l1 else ():
            if value.dim() > 1:
                shrink = torch.nn.functional.softshrink
                value.data = shrink(value.data, step * self.l1)


def train_body(
    learner: Any, settings: dict[str, Any], rows: TrainingRows, linear: Array, seed: int
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
    options = {"lr": 0.003, "max_epochs": 5, "batch_size": 256, **settings}
    if learner.module is None:
        # The size of the default body grows with the training set.
        n_units = min(6 * rows.pairs.n_features, 32)
        sizes = {
            "module__width": math.ceil(math.log2(max(len(rows), 2))) * n_units,
            "module__depth": max(1, round(math.log10(len(rows))) - 2),
        }
        options = {**sizes, **options}
    if "optimizer" not in options:
        decay = {"optimizer__weight_decay": 0.001}
        options = {"optimizer": torch.optim.AdamW, **decay, **options}
    names = [name for name in options if name.startswith("module__")]
    of_body = {name.removeprefix("module__"): options.pop(name) for name in names}
    n_rows, n_parametric = rows.parametric.shape
    columns = [rows.pairs.left, rows.pairs.right, rows.parametric]
    y = np.column_stack([rows.y, n_rows * rows.weight])
    data = TensorDataset(_tensor(np.hstack(columns)), _tensor(y))
    devices = range(torch.cuda.device_count())
    with GLOBAL_GENERATOR, torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        body = (learner.module or ReLUBody)(rows.pairs.n_features, **of_body)
        width = _check_body(body, _tensor(rows.pairs.left[:16]))
        module = ContrastModule(body, width, linear, n_parametric)
        net = _net(learner, module, rows, options).initialize()
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
    learner: Any, module: Any, rows: TrainingRows, options: dict[str, Any]
) -> NeuralNet:
    """The untrained net of skorch, which takes whole batches of rows."""
    n_rows, functional = len(rows), torch.nn.functional
    terms = {
        "logistic": functional.binary_cross_entropy_with_logits,
        "squared": functional.mse_loss,
    }
    size = min(options["batch_size"], n_rows) if options["batch_size"] > 0 else n_rows
    schedule = LRScheduler("CosineAnnealingLR", T_max=max(options["max_epochs"], 1))
    limits = ("limits", Limits(rows.bounds, learner.l1))
    further = options.pop("callbacks", None) or ()
    return NeuralNet(
        module,
        criterion=WeightedLoss,
        criterion__terms=terms[learner.loss],
        iterator_train__batch_size=None,
        iterator_train__sampler=Batches(n_rows, size),
        train_split=None,
        callbacks=[("schedule", schedule), limits, *further],
        callbacks__print_log=None,
        **options,
    )


def _check_body(body: Any, x: Any) -> int:
    """Refuse a body that does not treat responses one by one; return its width."""
    shape: tuple[int, ...] = ()
    fault = f"it built {type(body).__name__}"
    if isinstance(body, torch.nn.Module):
        with torch.no_grad():
            whole, half = body.eval()(x), body(x[: len(x) // 2 + 1])
        body.train()
        shape = tuple(getattr(whole, "shape", ()))
        normalisation = torch.nn.modules.batchnorm._NormBase
        fault = f"shape {tuple(x.shape)} became {shape}"
        if len(shape) == 2 and shape[0] == len(x):
            is_mixed = any(isinstance(part, normalisation) for part in body.modules())
            same = torch.allclose(whole[: len(half)], half, 1e-3, 1e-5, equal_nan=True)
            fault = "the rows of a batch are mixed" if is_mixed or not same else ""
    if fault:
        raise LearnerError(
            "module must build a torch.nn.Module that turns responses, one by one, "
            f"from (n_rows, n_features) into (n_rows, width), but {fault}. Of "
            "normalisations LayerNorm serves."
        )
    return int(shape[1])


def body_features(body: Any, features: Array) -> Array:
    """Hidden features of responses, in float64."""
    with torch.no_grad():
        return np.asarray(body(_tensor(features)).numpy(), dtype=np.float64)


def _tensor(values: Array) -> Any:
    return torch.tensor(values, dtype=torch.float32)
