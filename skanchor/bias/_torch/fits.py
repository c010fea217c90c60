"""Bodies of several fits of a network, made and trained together."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from skanchor._typing import Array
from skanchor.bias._network_head import columns_of_targets, fit_linear_start
from skanchor.bias._rows import TrainingRows
from skanchor.bias._torch.bodies import ReLUBody, check_body
from skanchor.bias._torch.stack import StackData
from skanchor.bias._torch.training import TrainedStack, train_stack

GLOBAL_GENERATOR = threading.RLock()
"""Held by the one fit at a time that borrows torch's global generator."""


def train_bodies(net: Any, fits: Sequence[TrainingRows], seed: int) -> TrainedStack:
    """Train one body for each fit; torch's global generator is left as it was.

    The package's own parts draw from generators of their own. A module, optimizer or
    callback of the user's may draw from the global one, as a layer does for its first
    weights and dropout for its masks: it is then seeded for the fit and put back
    afterwards, and such fits take turns in a process.

    Parameters
    ----------
    net : NetworkBias
        Its parameters are those of all fits.
    fits : sequence of TrainingRows
        With standardised features.
    seed : int
        Seed of the first weights, of the validation rows and of the batches.

    Returns
    -------
    TrainedStack
    """
    own = net.module is None and net.optimizer == "adamw" and not net.callbacks
    if own:
        return _train(net, fits, seed)
    devices = range(torch.cuda.device_count())
    with GLOBAL_GENERATOR, torch.random.fork_rng(devices=devices):
        return _train(net, fits, seed)


def _train(net: Any, fits: Sequence[TrainingRows], seed: int) -> TrainedStack:
    n_rows = max(len(rows.weight) for rows in fits)
    n_features = fits[0].pairs.n_features
    # Equal first weights, as for the head.
    bodies = [_make_body(net, n_features, n_rows, seed) for _ in fits]
    width = check_body(bodies[0], fits[0].pairs.left[:16])
    if net.max_epochs == 0:
        return TrainedStack(bodies, [], np.zeros(len(fits), dtype=np.intp))
    data = _stack_data(net, fits, n_rows, seed)
    return train_stack(net, bodies, width, data, seed)


def _make_body(net: Any, n_features: int, n_rows: int, seed: int) -> Any:
    given = {
        name.removeprefix("module__"): value
        for name, value in net.get_params().items()
        if name.startswith("module__")
    }
    if net.module is not None:
        torch.manual_seed(seed)
        return net.module(n_features, **given)
    grown = math.ceil(math.log2(max(n_rows, 2))) * min(6 * n_features, 32)
    width = net.width or grown
    depth = net.depth or max(1, round(math.log10(n_rows)) - 2)
    sizes = {"width": width, "depth": depth, **given}
    generator = torch.Generator().manual_seed(seed)
    return ReLUBody(n_features, **sizes, generator=generator)


def _stack_data(
    net: Any, fits: Sequence[TrainingRows], n_rows: int, seed: int
) -> StackData:
    """Pad the rows of each fit to ``n_rows``, and set some apart for validation."""

    def tensor(values: Array) -> Any:
        return torch.as_tensor(values, dtype=torch.float32, device=net.device)

    def padded(values: Sequence[Array]) -> Any:
        out = np.zeros((len(values), n_rows, *values[0].shape[1:]))
        for s, one in enumerate(values):
            out[s, : len(one)] = one
        return tensor(out)

    weights, valid = [], []
    for rows in fits:
        n = len(rows.weight)
        held = np.zeros(n, dtype=bool)
        size = round(net.validation_fraction * n)
        held[np.random.default_rng(seed).permutation(n)[:size]] = True
        inside = np.where(held, 0.0, rows.weight)
        outside = np.where(held, rows.weight, 0.0)
        weights.append(inside * (n_rows / inside.sum()))
        valid.append(outside / max(outside.sum(), 1e-300))
    starts = [fit_linear_start(rows, net.loss) for rows in fits]
    return StackData(
        X={
            "left": padded([rows.pairs.left for rows in fits]),
            "right": padded([rows.pairs.right for rows in fits]),
            "parametric": padded([rows.parametric for rows in fits]),
        },
        y=padded([columns_of_targets(rows, net.loss) for rows in fits]),
        weight=padded(weights),
        valid=padded(valid),
        bounds=(
            tensor(np.stack([rows.lower for rows in fits])),
            tensor(np.stack([rows.upper for rows in fits])),
        ),
        skip=tensor(np.stack([coef for coef, _ in starts])),
        coef=tensor(np.stack([parametric for _, parametric in starts])),
    )
