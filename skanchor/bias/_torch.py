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
from skorch import NeuralNet
from skorch.callbacks import LRScheduler

from skanchor._typing import Array
from skanchor.bias._exact import LINEAR_RIDGE, fit_exactly
from skanchor.bias._rows import TrainingRows
from skanchor.exceptions import LearnerError

FANS = (1, 2)
"""Features that a unit of the first layer starts from, beside those that see all."""

GLOBAL_GENERATOR = threading.RLock()
"""Lock of torch's global generator, for fits that borrow it."""


# ------------------------------------------------------------------------------- bodies
class ReLUBody(torch.nn.Sequential):
    """Hidden layers of the default network, from features to ``width`` ReLU units.

    The units of the first layer start from one, two or all features in turn, with
    their kinks spread over standardised data. All weights are drawn from ``generator``.
    """

    def __init__(self, n_features: int, width: int, depth: int, generator: Any):
        sizes = [n_features, *[width] * depth]
        layers: list[torch.nn.Module] = []
        for before, after in pairwise(sizes):
            # torch's default weights, without its global generator.
            layer = torch.nn.utils.skip_init(torch.nn.Linear, before, after)
            for values in layer.parameters():
                bound = 1.0 / math.sqrt(before)
                values.data.uniform_(-bound, bound, generator=generator)
            layers += [layer, torch.nn.ReLU()]
        super().__init__(*layers)
        with torch.no_grad():
            fans = torch.tensor([*FANS, n_features])
            n_inputs = fans[torch.arange(width) % len(fans)]
            order = torch.rand(width, n_features, generator=generator)
            rank = order.argsort(dim=1).argsort(dim=1)
            weight = torch.randn(width, n_features, generator=generator)
            weight *= rank < n_inputs[:, None]
            first: Any = self[0]
            first.weight.copy_(weight / weight.norm(dim=1, keepdim=True))
            first.bias.uniform_(-1.0, 1.0, generator=generator)


def make_body(learner: Any, n_features: int, n_rows: int, seed: int) -> Any:
    """Body with its first weights.

    Parameters
    ----------
    learner : NetworkBias
        Its parameters say which.
    n_features, n_rows : int
        Size of the training set, which determines the size of the default body.
    seed : int
        Seed of the weights.

    Returns
    -------
    torch.nn.Module
    """
    options = {
        name.removeprefix("module__"): value
        for name, value in learner.get_params().items()
        if name.startswith("module__")
    }
    if learner.module is not None:
        torch.manual_seed(seed)
        return learner.module(n_features, **options)
    grown = math.ceil(math.log2(max(n_rows, 2))) * min(6 * n_features, 32)
    depth = max(1, round(math.log10(n_rows)) - 2)
    sizes = {"width": learner.width or grown, "depth": learner.depth or depth}
    generator = torch.Generator().manual_seed(seed)
    return ReLUBody(n_features, **{**sizes, **options}, generator=generator)


def check_body(body: Any, features: Array) -> int:
    """Refuse a body that does not treat responses one by one; return its width."""
    if not isinstance(body, torch.nn.Module):
        raise LearnerError(
            f"module must build a torch.nn.Module, got {type(body).__name__}."
        )
    for part in body.modules():
        if isinstance(part, torch.nn.modules.batchnorm._NormBase):
            raise LearnerError(
                f"the module contains {type(part).__name__}, which mixes the rows of a "
                "batch: psi of a response would depend on the other side and on other "
                "comparisons. Use LayerNorm, or none."
            )
    x = torch.as_tensor(features, dtype=torch.float32)
    body.eval()
    with torch.no_grad():
        whole = body(x)
        shape = tuple(getattr(whole, "shape", ())) or type(whole).__name__
        if len(shape) != 2 or shape[0] != len(x):
            raise LearnerError(
                f"the module must map (n_rows, n_features) to (n_rows, width), but "
                f"{tuple(x.shape)} became {shape}."
            )
        half = body(x[: len(x) // 2 + 1])
    body.train()
    if not torch.isfinite(whole).all():
        raise LearnerError("the module returned NaN or infinite features.")
    if not torch.allclose(whole[: len(half)], half, rtol=1e-3, atol=1e-5):
        raise LearnerError(
            "the module's output for a row depends on the other rows of its batch; "
            "psi must be a function of one response."
        )
    return int(whole.shape[1])


def body_features(body: Any, features: Array, chunk: int = 65536) -> Array:
    """Hidden features of responses, in float64."""
    parts = []
    with torch.no_grad():
        for at in range(0, max(len(features), 1), chunk):
            rows = torch.as_tensor(features[at : at + chunk], dtype=torch.float32)
            parts.append(body(rows).numpy())
    return np.concatenate(parts).astype(np.float64)


# ----------------------------------------------------------------------------- training
class ContrastModule(torch.nn.Module):
    """Logits of comparisons: hidden features, features and parametric columns."""

    def __init__(self, body: Any, head: Any, skip: Any, coef: Any):
        super().__init__()
        self.body = body
        self.head, self.skip, self.coef = map(torch.nn.Parameter, (head, skip, coef))

    def forward(self, left: Any, right: Any, parametric: Any) -> Any:
        """Logits, or predictions of the targets, (n_rows, n_targets)."""
        first, second = self.body(torch.cat([left, right])).split(len(left))
        eta = (first - second) @ self.head + (left - right) @ self.skip
        return eta + parametric @ self.coef[:, None]


class Batches:
    """Whole batches of a dataset, shuffled if there is a generator.

    torch's loader takes rows one by one, which takes longer than the training.
    """

    def __init__(self, dataset: Any, batch_size: int, generator: Any = None):
        self.X, self.y = dataset.X, dataset.y
        self.batch_size, self.generator = batch_size, generator

    def __iter__(self) -> Iterator[Any]:
        n, X, y = len(self.y), self.X, self.y
        if self.generator is not None:
            order = torch.randperm(n, generator=self.generator).to(y.device)
            X, y = {name: value[order] for name, value in X.items()}, y[order]
        # An incomplete last batch would count as much as the others.
        for at in range(0, n - n % self.batch_size or n, self.batch_size):
            rows = slice(at, at + self.batch_size)
            yield {name: value[rows] for name, value in X.items()}, y[rows]


class ContrastNet(NeuralNet):
    """skorch's net with row weights, bounds and sparsity, which refuses divergence."""

    def get_loss(self, y_pred: Any, y_true: Any, *args: Any, **kwargs: Any) -> Any:
        """Mean weighted loss of a batch; the last column of y holds the weights."""
        terms = super().get_loss(y_pred, y_true[:, :-1], *args, **kwargs)
        return (y_true[:, -1] * terms.sum(dim=1)).mean()

    def on_batch_end(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Put the parameters back into their set."""
        super().on_batch_end(net, *args, **kwargs)
        module = self.module_
        with torch.no_grad():
            module.coef.clamp_(module.lower, module.upper)
            for value in module.body.parameters() if module.l1 else ():
                if value.dim() > 1:
                    # Proximal step of the l1 norm: weights become exactly zero.
                    step = self.optimizer_.param_groups[0]["lr"] * module.l1
                    value.copy_(value.sign() * (value.abs() - step).clamp(min=0))

    def on_epoch_end(self, net: Any, *args: Any, **kwargs: Any) -> None:
        """Refuse a loss that is not finite."""
        super().on_epoch_end(net, *args, **kwargs)
        loss = np.mean(self.history[-1, "batches", :, "train_loss"])
        if not math.isfinite(loss):
            raise LearnerError(
                f"the network diverged in epoch {len(self.history)}: its loss is "
                f"{loss}. Lower lr, or check the features for extreme values."
            )


def train_body(learner: Any, rows: TrainingRows, seed: int) -> tuple[Any, list[Any]]:
    """Make a body and train it; torch's global generator is left as it was.

    The package's parts draw from generators of their own. A module, optimizer or
    callback of the user's may draw from the global one, as a layer does for its first
    weights and dropout for its masks: it is then seeded for the fit and put back
    afterwards, and such fits take turns in a process.

    Parameters
    ----------
    learner : NetworkBias
        Its parameters say how.
    rows : TrainingRows
        With standardised features.
    seed : int
        Seed of the first weights and of the batches.

    Returns
    -------
    body : torch.nn.Module
        Trained, on the CPU.
    history : list of dict
        skorch's.
    """
    if (
        learner.module is None
        and learner.optimizer == "adamw"
        and not learner.callbacks
    ):
        return _train(learner, rows, seed)
    devices = range(torch.cuda.device_count())
    with GLOBAL_GENERATOR, torch.random.fork_rng(devices=devices):
        return _train(learner, rows, seed)


def _train(learner: Any, rows: TrainingRows, seed: int) -> tuple[Any, list[Any]]:
    body = make_body(learner, rows.pairs.n_features, len(rows), seed)
    width = check_body(body, rows.pairs.left[:16])
    rows, _ = rows.in_units_of_targets(learner.loss)
    # Training starts from the exact linear fit.
    ridge = np.full(rows.pairs.n_features, LINEAR_RIDGE)
    first = fit_exactly(rows, rows.pairs.contrast, ridge, learner.loss)
    generator = torch.Generator().manual_seed(seed)
    head = torch.randn(width, rows.y.shape[1], generator=generator)
    module = ContrastModule(
        body,
        head * (0.1 / math.sqrt(width)),
        _tensor(first.coef),
        _tensor(first.parametric_coef),
    )
    module.lower, module.upper = _tensor(rows.lower), _tensor(rows.upper)
    module.l1 = learner.l1
    options = {
        name: value
        for name, value in learner.get_params().items()
        if name.startswith("optimizer__")
    }
    if learner.optimizer == "adamw":
        options = {"optimizer__weight_decay": learner.weight_decay, **options}
    is_logistic = learner.loss == "logistic"
    schedule = LRScheduler("CosineAnnealingLR", T_max=max(learner.max_epochs, 1))
    net = ContrastNet(
        module,
        criterion=torch.nn.BCEWithLogitsLoss if is_logistic else torch.nn.MSELoss,
        criterion__reduction="none",
        optimizer=torch.optim.AdamW
        if learner.optimizer == "adamw"
        else learner.optimizer,
        lr=learner.lr,
        max_epochs=learner.max_epochs,
        batch_size=learner.batch_size,
        iterator_train=Batches,
        iterator_train__generator=generator,
        train_split=None,
        device=learner.device,
        callbacks=[("schedule", schedule), *(learner.callbacks or ())],
        callbacks__print_log=None,
        **options,
    ).initialize()
    X = {
        "left": _tensor(rows.pairs.left),
        "right": _tensor(rows.pairs.right),
        "parametric": _tensor(rows.parametric),
    }
    y = _tensor(np.column_stack([rows.y, len(rows) * rows.weight]))
    net.notify("on_train_begin", X=X, y=y)
    # Not fit: skorch's swallows an interrupt and hands back a half-trained net.
    net.fit_loop(X, y)
    net.notify("on_train_end", X=X, y=y)
    return body.cpu().eval(), net.history


def _tensor(values: Array) -> Any:
    return torch.as_tensor(values, dtype=torch.float32)
