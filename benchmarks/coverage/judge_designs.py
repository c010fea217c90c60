"""Judges that change, disagree, see a curved scale, or have a flexible bias."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cases import Array, Case, Design
from scipy.special import expit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skanchor import JudgeCalibrator, RieszDebiaser
from skanchor.bias import LinearBias


# --------------------------------------------------------------- changes, disagreement
def changed(
    seed: int,
    factor: float = 1.0,
    favour: float = 0.0,
    shown: float = 0.0,
    judges: int = 1,
    features: bool = True,
    **settings: Any,
) -> Case:
    """Change the first judges on the rows of the new model.

    Their sensitivity is ``factor`` times that of history; they favour the new model by
    ``favour`` logits, and the side shown first by ``shown``.
    """
    case = Case.drawn(seed, features, **({"new_score": 1.0} | settings))
    rows = (case.side != 0) & case.X["judge"].isin(case.data.truth.judges[:judges])
    push = (factor - 1.0) * case.slope * case.gaps() + shown + favour * case.side
    fresh = np.random.default_rng(seed).random(len(case.X)) < expit(case.logits + push)
    case.y = np.where(rows, fresh, case.y).astype(int)
    return case


def tests_of_change(anchor: Any, case: Case, judges: int = 1) -> dict[str, float]:
    """How often the tests of a change reject: of the changed judges, and of others."""
    changes = anchor.result_.diagnostics.arrivals.changes
    p, names, shares = changes["p_value"].unstack(), case.data.truth.judges, {}
    for change in ("sensitivity", "position"):
        adjusted = changes["p_adjusted"].xs(change, level="change").min()
        shares |= {
            f"{change} p < .05": (p.loc[names[:judges], change] < 0.05).mean(),
            f"{change}, adjusted": adjusted < 0.05,
            f"{change} warned of": adjusted < 0.01,
        }
        if judges < len(names):
            of_others = (p.loc[names[judges:], change] < 0.05).mean()
            shares[f"{change} of others p < .05"] = of_others
    return shares


def test_of_agreement(anchor: Any, case: Case) -> dict[str, float]:
    """Chi-square of the judges' scores of the new model, and how often it rejects."""
    row = anchor.result_.diagnostics.arrivals.models.loc[case.model]
    return {
        "chi2 / df": row["chi2"] / row["df"],
        "p < .05": row["p_value"] < 0.05,
        "p < .01": row["p_value"] < 0.01,
        "widened by": row["scale"],
    }


CHANGES: dict[str, dict[str, float]] = {
    "nothing changes": {},
    "one judge x 0.6": {"factor": 0.6},
    "all judges x 0.6": {"factor": 0.6, "judges": 3},
    "one judge + 0.5 first": {"shown": 0.5},
}
AGREEMENT: list[tuple[int, int, float, float]] = [
    # models, judges, item sd, correlation between judges
    (10, 3, 0.0, 0.0),
    (10, 3, 0.3, 0.0),
    (10, 3, 0.3, 0.6),
    (20, 3, 0.3, 0.6),
    (10, 10, 0.3, 0.6),
]


def disagreement(
    n_models: int, n_judges: int, sd: float, correlation: float, favour: float
) -> tuple[str, Design]:
    """Make a design whose first judge may favour the new model."""
    push = favour * (sd or 0.3)
    draw = partial(
        changed,
        favour=push,
        features=False,
        n_models=n_models,
        n_judges=n_judges,
        n_historical=4000,
        item_sd=sd,
        item_corr=correlation,
        rho=0.0,
        new_score=0.5,
    )
    name = f"{n_models} models, {n_judges} judges, sd {sd}, r {correlation}"
    sentence = f"one judge favours the new model by {push}"
    return f"{name}, favour {push}", Design(
        sentence, draw, {"item_effects": "random", "cv": 3}, test_of_agreement
    )


# --------------------------------------------------------------------------- curvature
# Logits or chance by the logit of a straight judge, sensitivity and score difference.
LAWS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "straight": lambda eta, c, delta: expit(eta),
    "lapses .1": lambda eta, c, delta: 0.05 + 0.9 * expit(eta),
    "lapses .2": lambda eta, c, delta: 0.1 + 0.8 * expit(eta),
    "2 tanh(delta / 2)": lambda eta, c, delta: expit(
        eta + c * (2.0 * np.tanh(delta / 2.0) - delta)
    ),
    "2 sinh(delta / 2)": lambda eta, c, delta: expit(
        eta + c * (2.0 * np.sinh(delta / 2.0) - delta)
    ),
}


def curved(seed: int, law: str, score: float, item_sd: float) -> Case:
    """Give judges another law of their logits."""
    case = Case.drawn(
        seed, new_score=score, n_extra_human=0, item_sd=item_sd, item_corr=0.6,
        rho=0.0, tau=0.0,
    )  # fmt: skip
    by_judges = LAWS[law](case.logits, case.slope, case.gaps())
    p = np.where(case.human, expit(case.logits), by_judges)
    case.y = (np.random.default_rng(seed).random(len(p)) < p).astype(int)
    return case


def test_of_curvature(anchor: Any, case: Case) -> dict[str, float]:
    """How often the test of curvature rejects by judge, and warns."""
    table = anchor.result_.diagnostics.arrivals.curvature
    return {
        "p < .05": (table["p_value"] < 0.05).mean(),
        "warned of": (table["p_adjusted"] < 0.01).any(),
    }


def curvature(law: str, score: float, item_sd: float) -> tuple[str, Design]:
    """Make a design of judges with this law."""
    settings = {
        "calibrator": JudgeCalibrator(position_effect=False),
        "item_effects": "random" if item_sd else "none",
        "cv": 2,
    }
    draw = partial(curved, law=law, score=score, item_sd=item_sd)
    name = f"{law}, score {score}" + f", item sd {item_sd}" * (item_sd > 0)
    design = Design("judges of another law", draw, settings, test_of_curvature)
    return name, design


# ----------------------------------------------------------------------- bias learners
class Jagged:
    """Kinks and steps: |x1|, a step in x2 and the larger of x1 and x3, in threes."""

    def __init__(self, rng: np.random.Generator, n_features: int):
        self.slopes = rng.normal(size=n_features)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=float)
        terms = [
            term
            for x1, x2, x3 in x.T.reshape(x.shape[1] // 3, 3, len(x))
            for term in (np.abs(x1), 1.0 * (x2 > 0), np.maximum(x1, x3))
        ]
        return np.column_stack(terms) @ self.slopes


BIASES: dict[str, dict[str, Any]] = {
    "smooth-3": {"bias": "curved", "n_features": 3},
    "jagged-3": {"bias": Jagged, "n_features": 3},
    "smooth-12": {"bias": "curved", "n_features": 12},
    "jagged-12": {"bias": Jagged, "n_features": 12},
    "linear-3": {"bias": "linear", "n_features": 3},
}


def cubic() -> LinearBias:
    """Make a linear learner of cubic features."""
    powers = PolynomialFeatures(3, include_bias=False)
    return LinearBias(make_pipeline(StandardScaler(), powers), alpha=0.01)


LEARNERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "linear": ("linear", {}),
    "cubic": (cubic(), {}),
    "network": ("network", {}),
    "network, linear weights": ("network", {"debiaser": RieszDebiaser("linear")}),
    "linear, network weights": ("linear", {"debiaser": RieszDebiaser("network")}),
    "boosted": ("boosted", {}),
    "auto": ("auto", {}),
}


def biased(seed: int, **settings: Any) -> Case:
    """Draw the default simulation with its features."""
    return Case.drawn(seed, True, **settings)


def learners(bias: Any, **settings: Any) -> dict[str, Any]:
    """Settings of a fit with a learner of the bias, without item effects."""
    calibrator = JudgeCalibrator(bias=bias)
    return {"calibrator": calibrator, "item_effects": None, "cv": 5, **settings}


DESIGNS: dict[str, dict[str, Design]] = {
    "changes": {
        name: Design(
            "judges change on new rows", partial(changed, **change),
            {"item_effects": "none"},
            partial(tests_of_change, judges=int(change.get("judges", 1))),
        )
        for name, change in CHANGES.items()
    },
    "disagreement": dict(
        disagreement(*cell, favour) for cell in AGREEMENT for favour in (0.0, 2.0)
    ),
    "curved": dict(
        curvature(law, score, item_sd)
        for law in LAWS
        for score in (0.5, 1.5, 2.5, 3.2)
        for item_sd in (0.0, 0.3)
    ),
    "bias": {
        f"{name}, {learner}": Design(
            "bias as large as the signal, and shifted features",
            partial(biased, rho=1.0, tau=0.6, **settings), learners(bias, **more),
        )
        for name, settings in BIASES.items()
        for learner, (bias, more) in LEARNERS.items()
    },
}  # fmt: skip
