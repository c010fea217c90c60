"""Scores by context and under a mix: pooled, or with judges shared by contexts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from cases import NEW, SIDES, Case, Design
from scipy.special import expit

TARGETS = {"context 1": 0, "context 2": 1, "context 3": 2, "mix": None}
HUMAN, SD, ITEM_SD = (0.6, 0.3, 0.1), 0.3, 0.3


def in_contexts(
    seed: int, target: int | None, pooled: bool = False, deviations: str = "none"
) -> Case:
    """Draw scores by context, deviations of the judges, and outcomes.

    Human shares are .6, .3 and .1, judges see each context alike. The score of a model
    departs from its mean by N(0, .3^2) in each context. Judges may deviate from models
    by as much, alike in all contexts or apart in each.
    """
    models = {} if deviations == "none" else {"n_models": 12}
    case = Case.drawn(seed, True, **models)
    truth, rng = case.data.truth, np.random.default_rng([seed, 23])
    human = case.human
    kind = rng.integers(3, size=len(case.X))
    kind[human] = rng.choice(3, size=human.sum(), p=HUMAN)
    names = [*truth.historical_models, NEW]
    apart = SD * rng.normal(size=(len(names), 3))
    number = {name: i for i, name in enumerate(names)}
    left, right = (case.X[side].map(number).to_numpy() for side in SIDES)
    logits = case.logits + case.slope * (apart[left, kind] - apart[right, kind])
    if deviations != "none":
        codes = {name: m for m, name in enumerate(truth.judges)}
        judges = case.X["judge"].map(codes).fillna(-1).astype(int).to_numpy()
        root = ITEM_SD * np.linalg.cholesky(0.4 * np.eye(3) + 0.6)
        u = rng.normal(size=(len(names), 3, 3)) @ root.T
        if deviations == "alike":
            u[:] = u[:, :1]
        seen = u[left, kind, judges] - u[right, kind, judges]
        logits = logits + np.where(human, 0.0, seen)
    case.y = (rng.random(len(case.X)) < expit(logits)).astype(int)
    truths = case.truth + apart[-1] - apart[:-1].mean(axis=0)
    case.truth = float(truths.mean() if target is None else truths[target])
    if pooled:
        return case
    case.X["kind"] = kind
    case.settings["context"] = "kind"
    if target is not None:
        case.result_of = partial(_of_context, target=target)
    return case


def _of_context(anchor: Any, target: int) -> Any:
    return anchor.result_.by_context[target]


FITS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pooled": ({"pooled": True}, {"item_effects": None}),
    "shared judges": ({}, {"item_effects": None}),
    "deviations alike": ({"deviations": "alike"}, {"item_effects": "random"}),
    "deviations apart": ({"deviations": "apart"}, {"item_effects": "random"}),
}
DESIGNS: dict[str, dict[str, Design]] = {
    "contexts": {
        f"{fit}, {name}": Design(
            "three contexts", partial(in_contexts, target=target, **how),
            {"cv": 5, **settings},
        )
        for fit, (how, settings) in FITS.items()
        for name, target in TARGETS.items()
    }
}  # fmt: skip
