"""Features of responses, from a tanh network of the prompt for each model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N_PROMPT = 2
N_HIDDEN = 5
FEATURE_NOISE = 0.3

OFFSET_SD = 0.5
"""Standard deviation of the offsets of hidden units.

It decides how much models differ in mean features, and so how large the errors of
methods without features are. Its value reproduces their published errors.
"""


@dataclass(frozen=True)
class Responders:
    """One tanh network per item, from a prompt to the features of its response."""

    hidden: np.ndarray  # (n_items, N_HIDDEN, N_PROMPT)
    offset: np.ndarray  # (n_items, N_HIDDEN)
    output: np.ndarray  # (n_items, n_features, N_HIDDEN)
    shift: np.ndarray  # (n_items, n_features), zero for historical models

    @classmethod
    def draw(
        cls,
        rng: np.random.Generator,
        n_historical: int,
        n_new: int,
        tau: float,
        n_features: int,
    ) -> Responders:
        """Draw the networks, and one shift of length tau sqrt(5) per new model."""
        n = n_historical + n_new
        # A uniform direction for each new model; historical models are not shifted.
        shift = np.zeros((n, n_features))
        direction = rng.normal(size=(n_new, n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        shift[n_historical:] = tau * np.sqrt(5) * direction
        return cls(
            hidden=rng.normal(size=(n, N_HIDDEN, N_PROMPT)),
            offset=rng.normal(0, OFFSET_SD, size=(n, N_HIDDEN)),
            output=rng.normal(size=(n, n_features, N_HIDDEN)) / np.sqrt(N_HIDDEN),
            shift=shift,
        )

    def respond(
        self, rng: np.random.Generator, items: np.ndarray, prompts: np.ndarray
    ) -> np.ndarray:
        """Features of the items' responses to prompts, of shape (n, n_features)."""
        # Each row: output @ tanh(hidden @ prompt + offset) + shift, plus noise.
        inner = np.einsum("nhp,np->nh", self.hidden[items], prompts)
        active = np.tanh(inner + self.offset[items])
        mean = np.einsum("nfh,nh->nf", self.output[items], active) + self.shift[items]
        return mean + rng.normal(0, FEATURE_NOISE, mean.shape)
