"""The training loop of a stack of networks, which is skorch's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNet
from skorch.callbacks import Callback, LRScheduler, PassthroughScoring

from skanchor._typing import Array
from skanchor.bias._torch.stack import Stack, StackData
from skanchor.exceptions import LearnerError


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How a stack is trained, most by parameters of ``NetworkBias`` of these names.

    Attributes
    ----------
    logistic : bool
        Whether the loss is the logistic one, rather than the squared one.
    batch_size : int
        Rows of each gradient step.
    patience : int or None
        None trains for all epochs.
    optimizer : torch optimizer class
        Optimizer.
    options : dict
        Parameters ``optimizer__...`` of skorch.
    """

    logistic: bool
    max_epochs: int
    batch_size: int
    lr: float
    l1: float
    patience: int | None
    device: str
    optimizer: Any
    options: dict[str, Any]
    callbacks: Sequence[Any]


@dataclass(frozen=True, slots=True)
class TrainedStack:
    """What training has made.

    Attributes
    ----------
    bodies : list of modules
        Trained, on the CPU and in evaluation mode.
    history : list of dict
        skorch's history, by epoch.
    epochs : ndarray of shape (S,)
        Epoch whose weights were kept for each fit.
    """

    bodies: list[Any]
    history: list[Any]
    epochs: NDArray[np.intp]


def _loss_terms(logistic: bool, eta: Any, y: Any) -> Any:
    """Loss of each row, (S, n)."""
    if logistic:
        terms = torch.nn.functional.softplus(eta) - y * eta
    else:
        terms = 0.5 * (eta - y) ** 2
    return terms.sum(dim=2)


class _Criterion(torch.nn.Module):
    """Mean weighted loss of each fit, summed over the fits."""

    def __init__(self, logistic: bool):
        super().__init__()
        self.logistic = logistic

    def forward(self, eta: Any, target: Any) -> Any:
        y, weight = target
        return (weight * _loss_terms(self.logistic, eta, y)).mean(dim=1).sum()


class _Batches:
    """Shuffled batches along the rows of all fits at once."""

    def __init__(self, dataset: Any, batch_size: int, generator: Any):
        self.data, self.batch_size = dataset, batch_size
        self.generator = generator

    def __iter__(self) -> Iterator[Any]:
        X, (y, weight) = self.data
        n = y.shape[1]
        order = torch.randperm(n, generator=self.generator).to(y.device)
        X = {name: value[:, order] for name, value in X.items()}
        y, weight = y[:, order], weight[:, order]
        for at in range(0, n - n % self.batch_size or n, self.batch_size):
            rows = slice(at, at + self.batch_size)
            yield {k: v[:, rows] for k, v in X.items()}, (y[:, rows], weight[:, rows])


class _Watch(Callback):
    """Keeps bounds and sparsity, refuses divergence, remembers each best state."""

    def __init__(self, data: Any, bounds: Any, settings: TrainingSettings):
        self.data, self.bounds = data, bounds
        self.logistic, self.l1 = settings.logistic, settings.l1
        self.patience = settings.patience

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

    def restore(self, net: Any) -> NDArray[np.intp]:
        """Go back to the best state of each fit; return the epochs of these states."""
        if self.kept is not None:
            with torch.no_grad():
                for kept, value in zip(
                    self.kept, net.module_.parameters(), strict=True
                ):
                    value.copy_(kept)
        epochs = self.epochs
        if self.patience is None:
            epochs = torch.full_like(epochs, len(net.history))
        return np.asarray(epochs.numpy().astype(np.intp))


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
    settings: TrainingSettings,
    seed: int,
) -> TrainedStack:
    """Train bodies together.

    Parameters
    ----------
    bodies : sequence of modules
        Of one architecture, one for each fit.
    width : int
        Number of hidden features that each gives.
    data : StackData
        What they are trained on.
    settings : TrainingSettings
        How.
    seed : int
        Seed of the head's first weights and of the batches.

    Returns
    -------
    TrainedStack
    """

    def tensor(values: Array) -> Any:
        return torch.as_tensor(values, dtype=torch.float32, device=settings.device)

    X = {
        "left": tensor(data.left),
        "right": tensor(data.right),
        "parametric": tensor(data.parametric),
    }
    y, weight, valid = tensor(data.y), tensor(data.weight), tensor(data.valid)
    bounds = (tensor(data.lower), tensor(data.upper))
    watch = _Watch((X, (y, weight, valid)), bounds, settings)
    generator = torch.Generator().manual_seed(seed)
    stack = Stack(bodies, width, tensor(data.skip), tensor(data.coef), generator)
    net = _stack_net(stack, watch, settings, generator)
    net.notify("on_train_begin", X=X, y=y)
    try:
        # Not fit: skorch's swallows an interrupt and hands back a half-trained net.
        net.fit_loop(X, (y, weight))
    except StopIteration:
        pass
    net.notify("on_train_end", X=X, y=y)
    epochs = watch.restore(net)
    return TrainedStack(net.module_.bodies(bodies), net.history, epochs)


def _stack_net(
    stack: Stack, watch: _Watch, settings: TrainingSettings, generator: Any
) -> _StackNet:
    schedule = LRScheduler("CosineAnnealingLR", T_max=settings.max_epochs)
    return _StackNet(
        stack,
        criterion=_Criterion,
        criterion__logistic=settings.logistic,
        optimizer=settings.optimizer,
        lr=settings.lr,
        max_epochs=settings.max_epochs,
        batch_size=settings.batch_size,
        iterator_train=_Batches,
        iterator_train__generator=generator,
        train_split=None,
        device=settings.device,
        verbose=0,
        callbacks=[("watch", watch), ("schedule", schedule), *settings.callbacks],
        **settings.options,
    ).initialize()
