"""Stacked networks in torch: many small fits of one architecture, trained as one.

The only module that imports torch and skorch; the learners import it where they fit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNet
from skorch.callbacks import Callback, LRScheduler, PassthroughScoring
from torch.func import functional_call, stack_module_state

from skanchor.exceptions import LearnerError

__all__ = [
    "ReLUBody",
    "StackData",
    "body_features",
    "check_body",
    "forked",
    "train_stack",
]

Array = NDArray[np.float64]

FANS = (1, 2)
"""Features that a unit of the first layer starts from, beside those that see all."""


class ReLUBody(torch.nn.Sequential):
    """Hidden layers of the default network, from features to ``width`` ReLU units.

    The units of the first layer start from one, two or all features in turn, with
    their kinks spread over standardised data.
    """

    def __init__(self, n_features: int, width: int, depth: int):
        sizes = [n_features, *[width] * depth]
        layers: list[torch.nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [torch.nn.Linear(before, after), torch.nn.ReLU()]
        super().__init__(*layers)
        with torch.no_grad():
            fans = torch.tensor([*FANS, n_features])
            seen = fans[torch.arange(width) % len(fans)]
            rank = torch.rand(width, n_features).argsort(dim=1).argsort(dim=1)
            weight = torch.randn(width, n_features) * (rank < seen[:, None])
            first: Any = self[0]
            first.weight.copy_(weight / weight.norm(dim=1, keepdim=True))
            first.bias.uniform_(-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class StackData:
    """Padded data of S problems; a padding row has weight zero.

    Attributes
    ----------
    left, right : ndarray of shape (S, n, n_features)
        Standardised features.
    parametric : ndarray of shape (S, n, n_parametric)
        Parametric columns.
    y : ndarray of shape (S, n, n_targets)
        Outcomes, or standardised targets.
    weight : ndarray of shape (S, n)
        Row weights, of sum n where a row is trained on.
    valid : ndarray of shape (S, n)
        Row weights of the rows kept for early stopping, of sum one; or zero.
    lower, upper : ndarray of shape (S, n_parametric)
        Bounds of the parametric coefficients.
    skip : ndarray of shape (S, n_features, n_targets)
        First coefficients of the features themselves.
    coef : ndarray of shape (S, n_parametric)
        First parametric coefficients.
    """

    left: Array
    right: Array
    parametric: Array
    y: Array
    weight: Array
    valid: Array
    lower: Array
    upper: Array
    skip: Array
    coef: Array


class _Stack(torch.nn.Module):
    """S bodies with a linear head and parametric coefficients each."""

    def __init__(
        self,
        bodies: Sequence[Any],
        width: int,
        skip: Any,
        coef: Any,
    ):
        super().__init__()
        size, n_targets = len(bodies), skip.shape[2]
        states, buffers = stack_module_state(list(bodies))
        # A list hides the template from the registry: only its code is used.
        self.template = [copy.deepcopy(bodies[0]).to("meta")]
        self.names = list(states)
        self.states = torch.nn.ParameterList([states[name] for name in self.names])
        self.held = list(buffers)
        for i, name in enumerate(self.held):
            self.register_buffer(f"held_{i}", buffers[name])
        # Alike in all problems: a fit does not depend on what it is stacked with.
        head = torch.randn(1, width, n_targets) * (0.1 / math.sqrt(width))
        self.head = torch.nn.Parameter(head.repeat(size, 1, 1))
        self.skip = torch.nn.Parameter(skip)
        self.coef = torch.nn.Parameter(coef)

    def features(self, x: Any) -> Any:
        """Hidden features (S, n, width) of responses (S, n, n_features)."""
        template = self.template[0]
        template.train(self.training)
        states = dict(zip(self.names, self.states, strict=True))
        states |= {name: getattr(self, f"held_{i}") for i, name in enumerate(self.held)}

        def call(state: Any, rows: Any) -> Any:
            return functional_call(template, state, (rows,))

        return torch.vmap(call, randomness="different")(states, x)

    def forward(self, left: Any, right: Any, parametric: Any) -> Any:
        n = left.shape[1]
        hidden = self.features(torch.cat([left, right], dim=1))
        eta = torch.bmm(hidden[:, :n] - hidden[:, n:], self.head)
        eta = eta + torch.bmm(left - right, self.skip)
        if parametric.shape[2]:
            eta = eta + torch.bmm(parametric, self.coef[:, :, None])
        return eta

    def bodies(self, makers: Sequence[Any]) -> list[Any]:
        """The bodies one by one, on the CPU."""
        found = []
        for s, body in enumerate(makers):
            state = {
                name: value[s].detach().cpu()
                for name, value in zip(self.names, self.states, strict=True)
            }
            body.load_state_dict(state, strict=False)
            found.append(body.cpu().eval())
        return found


def _loss_terms(logistic: bool, eta: Any, y: Any) -> Any:
    """Loss of each row, (S, n)."""
    if logistic:
        terms = torch.nn.functional.softplus(eta) - y * eta
    else:
        terms = 0.5 * (eta - y) ** 2
    return terms.sum(dim=2)


class _Criterion(torch.nn.Module):
    def __init__(self, logistic: bool):
        super().__init__()
        self.logistic = logistic

    def forward(self, eta: Any, target: Any) -> Any:
        y, weight = target
        return (weight * _loss_terms(self.logistic, eta, y)).mean(dim=1).sum()


class _Batches:
    """Shuffled batches along the rows of all problems at once."""

    def __init__(self, dataset: Any, batch_size: int):
        self.data, self.batch_size = dataset, batch_size

    def __iter__(self) -> Iterator[Any]:
        X, (y, weight) = self.data
        n = y.shape[1]
        order = torch.randperm(n).to(y.device)
        X = {name: value[:, order] for name, value in X.items()}
        y, weight = y[:, order], weight[:, order]
        for at in range(0, n - n % self.batch_size or n, self.batch_size):
            rows = slice(at, at + self.batch_size)
            yield {k: v[:, rows] for k, v in X.items()}, (y[:, rows], weight[:, rows])


class _Watch(Callback):
    """Keeps bounds and sparsity, refuses divergence, remembers each best state."""

    def __init__(
        self, data: Any, logistic: bool, bounds: Any, l1: float, patience: int | None
    ):
        self.data, self.logistic, self.bounds = data, logistic, bounds
        self.l1, self.patience = l1, patience

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        size = net.module_.head.shape[0]
        self.best = torch.full((size,), math.inf)
        self.since = torch.zeros(size, dtype=torch.int)
        self.kept: list[Any] | None = None
        self.epochs = torch.zeros(size, dtype=torch.int)

    def on_batch_end(self, net: Any, training: bool = False, **kwargs: Any) -> None:
        stack = net.module_
        with torch.no_grad():
            if stack.coef.shape[1]:
                stack.coef.clamp_(*self.bounds)
            if self.l1:
                # Proximal step of the l1 norm: weights become exactly zero.
                lr = net.optimizer_.param_groups[0]["lr"]
                for value in stack.states:
                    if value.dim() > 2:
                        value.copy_(
                            value.sign() * (value.abs() - lr * self.l1).clamp(min=0)
                        )

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        X, (y, weight, valid) = self.data
        if not math.isfinite(net.history[-1]["train_loss"]):
            losses = self._losses(net, X, y, weight / y.shape[1])
            bad = int(torch.argmax((~torch.isfinite(losses)).int()))
            raise LearnerError(
                f"the network diverged in epoch {len(net.history)}: its loss is "
                f"{float(losses[bad])}. Lower lr, or check the features for extreme "
                "values.",
                problem=bad,
            )
        if self.patience is None:
            return
        losses = self._losses(net, X, y, valid).cpu()
        better = losses < self.best
        self.best = torch.where(better, losses, self.best)
        self.since = torch.where(better, 0, self.since + 1)
        self.epochs[better] = len(net.history)
        state = list(net.module_.parameters())
        if self.kept is None:
            self.kept = [value.detach().clone() for value in state]
        else:
            at = better.to(state[0].device)
            for kept, value in zip(self.kept, state, strict=True):
                kept[at] = value.detach()[at]
        if int(self.since.min()) >= self.patience:
            raise StopIteration

    def _losses(self, net: Any, X: Any, y: Any, weight: Any) -> Any:
        stack = net.module_
        stack.eval()
        with torch.no_grad():
            return (weight * _loss_terms(self.logistic, stack(**X), y)).sum(dim=1)

    def restore(self, net: Any) -> None:
        if self.kept is None:
            return
        with torch.no_grad():
            for kept, value in zip(self.kept, net.module_.parameters(), strict=True):
                value.copy_(kept)


class _StackNet(NeuralNet):
    """skorch's training loop on a stack."""

    @property
    def _default_callbacks(self) -> list[Any]:
        return [
            ("train_loss", PassthroughScoring(name="train_loss", on_train=True)),
        ]

    def check_data(self, X: Any, y: Any = None) -> None:
        """The learner has checked them."""

    def get_split_datasets(self, X: Any, y: Any = None, **params: Any) -> Any:
        return (X, y), None


def train_stack(
    bodies: Sequence[Any],
    width: int,
    data: StackData,
    *,
    logistic: bool,
    max_epochs: int,
    batch_size: int,
    lr: float,
    l1: float,
    patience: int | None,
    device: str,
    optimizer: Any,
    options: dict[str, Any],
    callbacks: Sequence[Any],
) -> tuple[list[Any], list[Any], NDArray[np.intp]]:
    """Train the bodies together.

    Returns
    -------
    bodies : list of modules
        Trained, on the CPU and in evaluation mode.
    history : list of dict
        skorch's history, by epoch.
    epochs : ndarray of shape (S,)
        Epoch whose weights were kept for each problem.
    """

    def tensor(values: Array) -> Any:
        return torch.as_tensor(values, dtype=torch.float32, device=device)

    X = {
        "left": tensor(data.left),
        "right": tensor(data.right),
        "parametric": tensor(data.parametric),
    }
    y, weight, valid = tensor(data.y), tensor(data.weight), tensor(data.valid)
    bounds = (tensor(data.lower), tensor(data.upper))
    watch = _Watch((X, (y, weight, valid)), logistic, bounds, l1, patience)
    stack = _Stack(bodies, width, tensor(data.skip), tensor(data.coef))
    net = _StackNet(
        stack,
        criterion=_Criterion,
        criterion__logistic=logistic,
        optimizer=optimizer,
        lr=lr,
        max_epochs=max_epochs,
        batch_size=batch_size,
        iterator_train=_Batches,
        train_split=None,
        device=device,
        verbose=0,
        callbacks=[
            ("watch", watch),
            ("schedule", LRScheduler("CosineAnnealingLR", T_max=max_epochs)),
            *callbacks,
        ],
        **options,
    ).initialize()
    net.notify("on_train_begin", X=X, y=y)
    try:
        # Not fit: skorch's swallows an interrupt and hands back a half-trained net.
        net.fit_loop(X, (y, weight))
    except StopIteration:
        pass
    net.notify("on_train_end", X=X, y=y)
    watch.restore(net)
    kept = (
        watch.epochs
        if patience is not None
        else torch.full_like(watch.epochs, len(net.history))
    )
    return net.module_.bodies(bodies), net.history, kept.numpy().astype(np.intp)


def body_features(body: Any, features: Array, chunk: int = 65536) -> Array:
    """Hidden features of responses, in float64."""
    parts = []
    with torch.no_grad():
        for at in range(0, max(len(features), 1), chunk):
            rows = torch.as_tensor(features[at : at + chunk], dtype=torch.float32)
            parts.append(body(rows).numpy())
    return np.concatenate(parts).astype(np.float64)


def seed(value: int) -> None:
    """Seed torch's generators."""
    torch.manual_seed(value)


def check_body(body: Any, rows: Array) -> int:
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
    n = len(rows)
    x = torch.as_tensor(rows, dtype=torch.float32)
    body.eval()
    with torch.no_grad():
        whole = body(x)
        ok = isinstance(whole, torch.Tensor) and whole.dim() == 2 and len(whole) == n
        if not ok:
            shape = tuple(getattr(whole, "shape", ())) or type(whole).__name__
            raise LearnerError(
                f"the module must map (n_rows, n_features) to (n_rows, width), but "
                f"{tuple(x.shape)} became {shape}."
            )
        half = body(x[: n // 2 + 1])
    body.train()
    if not torch.isfinite(whole).all():
        raise LearnerError("the module returned NaN or infinite features.")
    if not torch.allclose(whole[: n // 2 + 1], half, rtol=1e-3, atol=1e-5):
        raise LearnerError(
            "the module's output for a row depends on the other rows of its batch; "
            "psi must be a function of one response."
        )
    return int(whole.shape[1])


def forked(seed: int, task: Callable[[], Any]) -> Any:
    """Run with torch's generator seeded, and leave it as it was."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        return task()
