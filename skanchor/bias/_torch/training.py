"""The training loop of a stack of networks, which is skorch's."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from skorch import NeuralNet
from skorch.callbacks import Callback, LRScheduler, PassthroughScoring

from skanchor.bias._torch.stack import Stack, StackData
from skanchor.exceptions import LearnerError


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

    def __init__(self, learner: Any, data: StackData):
        self.data, self.l1 = data, learner.l1
        self.logistic = learner.loss == "logistic"
        # None trains for all epochs.
        self.patience = learner.patience if learner.validation_fraction else None

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
                stack.coef.clamp_(*self.data.bounds)
            if self.l1:
                # Proximal step of the l1 norm: weights become exactly zero.
                lr = net.optimizer_.param_groups[0]["lr"]
                for value in stack.states:
                    if value.dim() > 2:
                        value.copy_(
                            value.sign() * (value.abs() - lr * self.l1).clamp(min=0)
                        )

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        data = self.data
        if not math.isfinite(net.history[-1]["train_loss"]):
            losses = self._losses(net, data.weight / data.y.shape[1])
            bad = int(torch.argmax((~torch.isfinite(losses)).int()))
            raise LearnerError(
                f"the network diverged in epoch {len(net.history)}: its loss is "
                f"{float(losses[bad])}. Lower lr, or check the features for extreme "
                "values.",
                problem=bad,
            )
        if self.patience is None:
            return
        losses = self._losses(net, data.valid).cpu()
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

    def _losses(self, net: Any, weight: Any) -> Any:
        stack = net.module_
        stack.eval()
        with torch.no_grad():
            eta = stack(**self.data.X)
            return (weight * _loss_terms(self.logistic, eta, self.data.y)).sum(dim=1)

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
    learner: Any, bodies: Sequence[Any], width: int, data: StackData, seed: int
) -> TrainedStack:
    """Train bodies together.

    Parameters
    ----------
    learner : NetworkBias
        Its parameters say how.
    bodies : sequence of modules
        Of one architecture, one for each fit.
    width : int
        Number of hidden features that each gives.
    data : StackData
        What they are trained on.
    seed : int
        Seed of the head's first weights and of the batches.

    Returns
    -------
    TrainedStack
    """
    watch = _Watch(learner, data)
    generator = torch.Generator().manual_seed(seed)
    stack = Stack(bodies, width, data.skip, data.coef, generator)
    net = _stack_net(learner, stack, watch, generator)
    net.notify("on_train_begin", X=data.X, y=data.y)
    try:
        # Not fit: skorch's swallows an interrupt and hands back a half-trained net.
        net.fit_loop(data.X, (data.y, data.weight))
    except StopIteration:
        pass
    net.notify("on_train_end", X=data.X, y=data.y)
    epochs = watch.restore(net)
    return TrainedStack(net.module_.bodies(bodies), net.history, epochs)


def _stack_net(learner: Any, stack: Stack, watch: _Watch, generator: Any) -> _StackNet:
    optimizer = torch.optim.AdamW if learner.optimizer == "adamw" else learner.optimizer
    options = {}
    if "weight_decay" in inspect.signature(optimizer).parameters:
        options["optimizer__weight_decay"] = learner.weight_decay
    options |= {
        name: value
        for name, value in learner.get_params().items()
        if name.startswith("optimizer__")
    }
    n_rows = watch.data.y.shape[1]
    whole = learner.batch_size == -1
    schedule = LRScheduler("CosineAnnealingLR", T_max=learner.max_epochs)
    return _StackNet(
        stack,
        criterion=_Criterion,
        criterion__logistic=watch.logistic,
        optimizer=optimizer,
        lr=learner.lr,
        max_epochs=learner.max_epochs,
        batch_size=n_rows if whole else min(learner.batch_size, n_rows),
        iterator_train=_Batches,
        iterator_train__generator=generator,
        train_split=None,
        device=learner.device,
        verbose=0,
        callbacks=[
            ("watch", watch),
            ("schedule", schedule),
            *(learner.callbacks or ()),
        ],
        **options,
    ).initialize()
