"""Many networks of one architecture as one batched module, and their data."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.func import functional_call, stack_module_state


@dataclass(frozen=True, slots=True)
class StackData:
    """Padded data of S fits, as tensors; a padding row has weight zero.

    Attributes
    ----------
    X : dict of str to tensor
        ``left`` and ``right``, standardised features of shape (S, n, n_features), and
        ``parametric``, columns of shape (S, n, n_parametric).
    y : tensor of shape (S, n, n_targets)
        Outcomes, or standardised targets.
    weight : tensor of shape (S, n)
        Row weights, of sum n where a row is trained on.
    valid : tensor of shape (S, n)
        Row weights of the rows kept for early stopping, of sum one; or zero.
    bounds : tuple of tensors of shape (S, n_parametric)
        Lower and upper bounds of the parametric coefficients.
    skip : tensor of shape (S, n_features, n_targets)
        First coefficients of the features themselves.
    coef : tensor of shape (S, n_parametric)
        First parametric coefficients.
    """

    X: dict[str, Any]
    y: Any
    weight: Any
    valid: Any
    bounds: tuple[Any, Any]
    skip: Any
    coef: Any


class Stack(torch.nn.Module):
    """S bodies with a linear head and parametric coefficients each."""

    def __init__(
        self,
        bodies: Sequence[Any],
        width: int,
        skip: Any,
        coef: Any,
        generator: Any,
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
        # Alike for all: a fit does not depend on what it is stacked with.
        head = torch.randn(1, width, n_targets, generator=generator)
        head *= 0.1 / math.sqrt(width)
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
