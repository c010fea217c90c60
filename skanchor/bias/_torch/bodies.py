"""Bodies of networks, one by one: the default one, checks, and hidden features."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from skanchor._typing import Array
from skanchor.exceptions import LearnerError

FANS = (1, 2)
"""Features that a unit of the first layer starts from, beside those that see all."""


class ReLUBody(torch.nn.Sequential):
    """Hidden layers of the default network, from features to ``width`` ReLU units.

    The units of the first layer start from one, two or all features in turn, with
    their kinks spread over standardised data. All weights are drawn from ``generator``.
    """

    def __init__(self, n_features: int, width: int, depth: int, generator: Any):
        sizes = [n_features, *[width] * depth]
        layers: list[torch.nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [_linear(before, after, generator), torch.nn.ReLU()]
        super().__init__(*layers)
        with torch.no_grad():
            fans = torch.tensor([*FANS, n_features])
            seen = fans[torch.arange(width) % len(fans)]
            place = torch.rand(width, n_features, generator=generator)
            rank = place.argsort(dim=1).argsort(dim=1)
            weight = torch.randn(width, n_features, generator=generator)
            weight *= rank < seen[:, None]
            first: Any = self[0]
            first.weight.copy_(weight / weight.norm(dim=1, keepdim=True))
            first.bias.uniform_(-1.0, 1.0, generator=generator)


def _linear(n_in: int, n_out: int, generator: Any) -> torch.nn.Module:
    """Linear layer with torch's own first weights, drawn from this generator."""
    layer = torch.nn.utils.skip_init(torch.nn.Linear, n_in, n_out)
    bound = 1.0 / math.sqrt(n_in)
    with torch.no_grad():
        for values in (layer.weight, layer.bias):
            values.uniform_(-bound, bound, generator=generator)
    return layer


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


def body_features(body: Any, features: Array, chunk: int = 65536) -> Array:
    """Hidden features of responses, in float64."""
    parts = []
    with torch.no_grad():
        for at in range(0, max(len(features), 1), chunk):
            rows = torch.as_tensor(features[at : at + chunk], dtype=torch.float32)
            parts.append(body(rows).numpy())
    return np.concatenate(parts).astype(np.float64)
