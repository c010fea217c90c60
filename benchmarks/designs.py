"""Coverage of the default intervals where tables are thin, skewed or oddly judged.

``python benchmarks/designs.py NAME ... [--draws 300]`` simulates the designs named (all
without a name, ``--list`` lists them), fits each table by `AnchorPipeline` as it comes,
and prints a line for each: the share of usable fits (finite errors), and of these
coverage, RMSE and median width; how often item effects were taken as random; and how
often the diagnostics gave the warning that the design calls for, and any warning. A
star marks a coverage outside the 99.9 % binomial bounds around .95. With ``--file`` the
draws are kept there, and a later call goes on where it ends.

Unless its name says otherwise a design has ten historical models, three judges with
2,800 historical rows, 1,000 human votes, 500 rows of a new model of score 1, no
features and no item effects.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom, norm

from skanchor import AnchorPipeline, BTLRegressor
from skanchor.exceptions import BattlesError
from skanchor.simulation import simulate_battles

KEYS = ["model_a", "model_b", "judge"]
JUDGE_ROWS = 2800
PROBIT = np.sqrt(np.pi / 8.0)
"""A logit, in standard deviations of the normal law that is nearest."""


@dataclass
class Case:
    """One draw: rows that designs may change before outcomes are drawn anew."""

    X: pd.DataFrame
    y: NDArray[Any]
    new_scores: pd.Series
    logits: NDArray[np.float64]
    gaps: NDArray[np.float64]
    rng: np.random.Generator
    sensitivities: pd.Series
    scores: pd.Series
    fit: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def drawn(
        cls, seed: int, votes: int = 1000, verdicts: int = JUDGE_ROWS, **settings: Any
    ) -> Case:
        settings = {"rho": 0.0, "new_score": 1.0} | settings
        data = simulate_battles(
            n_historical=verdicts + votes,
            n_human=votes,
            random_state=seed,
            **settings,
        )
        truth, X = data.truth, data.X[KEYS].copy()
        scores = pd.concat([truth.scores, truth.new_scores])
        case = cls(X, np.asarray(data.y), truth.new_scores, truth.logits, truth.logits,
                   np.random.default_rng([seed, 11]), truth.sensitivities,
                   scores)  # fmt: skip
        case.gaps = case.differences()
        return case

    def differences(self) -> NDArray[np.float64]:
        """True score differences of the rows."""
        first, second = (self.X[f"model_{side}"].map(self.scores) for side in "ab")
        return (first - second).to_numpy(float)

    @property
    def human(self) -> NDArray[np.bool_]:
        return (self.X["judge"] == "human").to_numpy()

    @property
    def side(self) -> NDArray[np.float64]:
        """1 where a new model is first, -1 where it is second, 0 without one."""
        first, second = (self.X[f"model_{s}"].isin(self.new_scores.index) for s in "ab")
        return first.to_numpy(float) - second.to_numpy(float)

    @property
    def slope(self) -> NDArray[np.float64]:
        """Sensitivity of the judge of each row, 1 of people."""
        return self.X["judge"].map(self.sensitivities).fillna(1.0).to_numpy(float)

    def redraw(self, chance: NDArray[np.float64], rows: Any = True) -> Case:
        """Draw outcomes of these rows anew, of this chance for the first model."""
        fresh = self.rng.random(len(chance)) < chance
        self.y = np.where(rows, fresh, self.y).astype(self.y.dtype)
        return self

    def keep(self, rows: NDArray[Any]) -> Case:
        """Leave only these rows."""
        self.X, self.y = self.X[rows].reset_index(drop=True), self.y[rows]
        return self


def chain(seed: int) -> Case:
    """People compare only neighbours of a random order."""
    case = Case.drawn(seed, 600)
    order = case.rng.permutation(case.scores.index.drop(case.new_scores.index))
    at = case.rng.integers(len(order) - 1, size=600)
    swap = case.rng.integers(2, size=600)
    case.X.loc[case.human, "model_a"] = order[at + swap]
    case.X.loc[case.human, "model_b"] = order[at + 1 - swap]
    return case.redraw(expit(case.differences()), case.human)


def thin_models(seed: int) -> Case:
    """Three of the models have twelve votes each."""
    case = Case.drawn(seed, 2400)
    models = case.scores.index.drop(case.new_scores.index)
    thin = case.rng.choice(models.to_numpy(object), 3, replace=False)
    kept = ~case.human
    count = case.X[["model_a", "model_b"]].isin(thin).sum(axis=1).to_numpy()
    kept |= count == 0
    for model in thin:
        its = (case.X[["model_a", "model_b"]] == model).any(axis=1).to_numpy()
        its = np.flatnonzero(its & case.human & (count == 1))
        kept[case.rng.choice(its, 12, replace=False)] = True
    return case.keep(kept)


def shown_first(seed: int) -> Case:
    """Judges favour the side shown first, which in 90 % of its rows is the new one."""
    case = Case.drawn(seed)
    wanted = np.where(case.rng.random(len(case.X)) < 0.9, 1.0, -1.0)
    swap = case.side * wanted < 0
    sides = ["model_a", "model_b"]
    case.X.loc[swap, sides] = case.X.loc[swap, sides[::-1]].to_numpy()
    eta = case.slope * case.differences()
    return case.redraw(expit(eta + 0.7), ~case.human)


def judges_change(seed: int) -> Case:
    """All judges are less sensitive on the new model's rows."""
    case = Case.drawn(seed)
    return case.redraw(expit(0.6 * case.logits), case.side != 0)


def judges_disagree(seed: int) -> Case:
    """Of the new model the judges think what they think of no old one."""
    case = Case.drawn(seed, n_judges=5, item_sd=0.3, item_corr=0.6, new_score=1.5)
    offset = pd.Series(case.rng.normal(size=5), case.sensitivities.index)
    off = case.X["judge"].map(offset).fillna(0.0).to_numpy() * case.side
    return case.redraw(expit(case.logits + case.slope * off), case.side != 0)


def counts(seed: int, **settings: Any) -> Case:
    """A table of wins."""
    case = Case.drawn(seed, **settings)
    table = case.X.assign(y=case.y).groupby([*KEYS, "y"], as_index=False).size()
    case.X, case.y = table[KEYS], table["y"].to_numpy()
    case.fit["sample_weight"] = table["size"].to_numpy()
    case.settings["weights"] = "frequency"
    return case


def warm(seed: int) -> Case:
    """A hundred votes on the new model."""
    case = Case.drawn(seed)
    rows = np.flatnonzero(case.side != 0)[:100]
    case.X.loc[rows, "judge"] = "human"
    case.settings["new_models"] = ["new-model"]
    return case.redraw(expit(case.gaps), case.human & (case.side != 0))


def one_opponent(seed: int, weakest: bool = False) -> Case:
    """The new model meets only one of the old ones."""
    case = Case.drawn(seed)
    known = case.scores.drop("new-model")
    opponent = case.rng.choice(known.index.to_numpy(object))
    if weakest:
        opponent = known.idxmin()
    case.X.loc[case.side > 0, "model_b"] = opponent
    case.X.loc[case.side < 0, "model_a"] = opponent
    return case.redraw(expit(case.slope * case.differences()), case.side != 0)


def deviating_opponent(seed: int, item_sd: float) -> Case:
    """The new model meets one old model, whose deviation enters all its verdicts."""
    return Case.drawn(seed, item_sd=item_sd, opponents=[seed % 10])


def one_pair(seed: int) -> Case:
    """All votes are on the second best and the second worst; judges see all."""
    case = Case.drawn(seed, 300)
    pair = case.scores.drop("new-model").sort_values().index[[1, -2]]
    swap = case.rng.integers(2, size=300)
    case.X.loc[case.human, "model_a"] = pair[swap]
    case.X.loc[case.human, "model_b"] = pair[1 - swap]
    case.redraw(expit(case.differences()), case.human)
    # Zero is the mean of the models with votes.
    case.new_scores = case.new_scores - case.scores[pair].mean()
    return case


def half_seen(seed: int) -> Case:
    """A judge has verdicts on five of the old models only."""
    case = Case.drawn(seed)
    unseen = case.scores.index.drop("new-model")[5:]
    its = (case.X["judge"] == case.sensitivities.index[0]).to_numpy()
    meets = case.X[["model_a", "model_b"]].isin(unseen).any(axis=1).to_numpy()
    return case.keep(~(its & meets & (case.side == 0)))


def each_other(seed: int) -> Case:
    """Nine in ten rows of two new models are comparisons with each other."""
    case = Case.drawn(seed, n_new_models=2, new_score=[0.5, 1.0], n_new=250)
    rows = np.flatnonzero(case.side != 0)
    rows = case.rng.choice(rows, int(0.9 * len(rows)), replace=False)
    names = case.new_scores.index.to_numpy(object)
    swap = case.rng.integers(2, size=len(rows))
    case.X.loc[rows, "model_a"], case.X.loc[rows, "model_b"] = (
        names[swap],
        names[1 - swap],
    )
    chosen = np.isin(np.arange(len(case.X)), rows)
    return case.redraw(expit(case.slope * case.differences()), chosen)


def ties(seed: int) -> Case:
    """Of close pairs nine in ten are ties; expected outcomes are as without them."""
    spread = np.random.default_rng(seed).normal(size=10) * 0.6
    case = Case.drawn(seed, scores=spread, new_score=0.5)
    chance = expit(case.logits)
    tie = 1.8 * np.minimum(chance, 1.0 - chance)
    drawn = case.rng.random(len(tie))
    case.y = np.where(drawn < tie, 0.5, np.where(drawn < chance + 0.5 * tie, 1.0, 0.0))
    return case


def copies(seed: int) -> Case:
    """Every row stands there five times; groups tell which are copies."""
    case = Case.drawn(seed, 400, n_new=200)
    history = np.flatnonzero((case.side == 0) & ~case.human)
    gone = case.rng.choice(history, len(history) - 700, replace=False)
    case.keep(~np.isin(np.arange(len(case.X)), gone))
    group = np.repeat(np.arange(len(case.X)), 5)
    case.X = case.X.iloc[group].reset_index(drop=True)
    case.y, case.fit["groups"] = case.y[group], group
    return case


def probit(seed: int) -> Case:
    """Judges have normal errors."""
    case = Case.drawn(seed)
    return case.redraw(norm.cdf(case.logits * PROBIT), ~case.human)


def ridge(seed: int, alpha: float) -> Case:
    """A ridge on the human scores."""
    case = Case.drawn(seed)
    case.settings["btl"] = BTLRegressor(alpha=alpha)
    return case


def lapses(seed: int, new_score: float = 1.5) -> Case:
    """One verdict of ten is a toss of a coin."""
    case = Case.drawn(seed, new_score=new_score)
    return case.redraw(0.05 + 0.9 * expit(case.logits), ~case.human)


def curved_scale(seed: int, new_score: float = 1.5) -> Case:
    """Judges see an S-shaped function of the scores."""
    case = Case.drawn(seed, new_score=new_score)
    seen = 2.0 * np.tanh(case.scores / 2.0)
    first, second = (case.X[f"model_{side}"].map(seen) for side in "ab")
    gap = (first - second).to_numpy(float)
    return case.redraw(expit(case.slope * gap), ~case.human)


def heavy_tails(seed: int, sd: float = 0.3) -> Case:
    """Item effects of three degrees of freedom, of this standard deviation."""
    case = Case.drawn(seed)
    names = case.scores.index
    effects = {
        judge: pd.Series(sd * case.rng.standard_t(3, len(names)) / np.sqrt(3.0), names)
        for judge in case.sensitivities.index
    }
    u = np.zeros(len(case.X))
    for judge, effect in effects.items():
        its = (case.X["judge"] == judge).to_numpy()
        for side, sign in (("model_a", 1.0), ("model_b", -1.0)):
            u[its] += sign * case.X.loc[its, side].map(effect).to_numpy(float)
    return case.redraw(expit(case.logits + u), ~case.human)


def plain(**settings: Any) -> Callable[[int], Case]:
    """A design that the simulation knows."""
    return lambda seed: Case.drawn(seed, **settings)


CURVED = "tells models that are far apart"

DESIGNS: dict[str, tuple[Callable[[int], Case], str]] = {
    # What draws it, and words of the warning that it calls for.
    "200 votes": (plain(votes=200, new_score=1.5), ""),
    "2400 votes": (plain(votes=2400, new_score=1.5), ""),
    "chain of votes": (chain, ""),
    "three thin models": (thin_models, ""),
    "shown first": (shown_first, ""),
    "judges change": (judges_change, "as if version or prompt had changed"),
    "judges disagree": (judges_disagree, "disagree about"),
    "win table": (counts, ""),
    "six models, one judge": (plain(n_models=6, n_judges=1, item_sd=0.15), ""),
    "ten models, one judge": (plain(n_judges=1, item_sd=0.2), ""),
    "three new models": (plain(n_new_models=3, new_score=[0.0, 0.5, 1.0]), ""),
    "warm arrival": (warm, ""),
    "one opponent": (one_opponent, ""),
    "ties": (ties, ""),
    "twenty arrival rows": (plain(n_new=20), ""),
    "copies in groups": (copies, ""),
    "score 3": (plain(new_score=3.0), "far beyond the historical scores"),
    "score 5": (plain(new_score=5.0), "far beyond the historical scores"),
    "probit judges": (probit, ""),
    "lapsing judges": (lapses, CURVED),
    "curved scale": (curved_scale, CURVED),
    "heavy-tailed item effects": (heavy_tails, ""),
    "lapsing judges, score 2.5": (partial(lapses, new_score=2.5), CURVED),
    "curved scale, score 2.5": (partial(curved_scale, new_score=2.5), CURVED),
    "heavy tails, sd 0.6": (partial(heavy_tails, sd=0.6), ""),
    "thirty votes a model, one judge": (plain(votes=180, n_models=12, n_judges=1), ""),
    "votes on one pair": (one_pair, ""),
    "judge of half the models": (half_seen, ""),
    "new models with each other": (each_other, ""),
    "weakest opponent": (partial(one_opponent, weakest=True), ""),
    "one opponent, item sd 0.2": (partial(deviating_opponent, item_sd=0.2), ""),
    "one opponent, item sd 0.4": (partial(deviating_opponent, item_sd=0.4), ""),
    "ridge of 0.001": (partial(ridge, alpha=0.001), "The ridge"),
    "ridge of 0.01": (partial(ridge, alpha=0.01), "The ridge"),
    "counts to 50": (partial(counts, votes=4000, verdicts=16_000, n_new=3000), ""),
}


def replicate(name: str, seed: int) -> dict[str, Any]:
    """One draw: error, distance to the limits, and what the diagnostics say."""
    make, words = DESIGNS[name]
    case = make(seed)
    row: dict[str, Any] = {"design": name, "seed": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            anchor = AnchorPipeline(random_state=seed, **case.settings)
            anchor.fit(case.X, case.y, **case.fit)
        except BattlesError as error:
            return row | {"problem": type(error).__name__}
        limits = anchor.conf_int()
        ranks = anchor.rank_sets() if len(case.new_scores) > 1 else None
    model = case.new_scores.index[-1]
    truth = case.new_scores[model]
    diagnostics = anchor.result_.diagnostics
    assert diagnostics is not None
    said = diagnostics.messages()
    row |= {
        "error": anchor.scores_[model] - truth,
        "low": limits.loc[model, "low"] - truth,
        "high": limits.loc[model, "high"] - truth,
        "random": anchor.item_effects_ == "random",
        "told": bool(words) and any(words in message for message in said),
        "warned": bool(said),
    }
    if ranks is not None:
        contrasts = anchor.contrasts()
        known = case.scores.drop(case.new_scores.index).to_numpy()
        rank = 1 + (known > case.new_scores.to_numpy()[:, None]).sum(axis=1)
        row["ranks"] = bool(((ranks["low"] <= rank) & (rank <= ranks["high"])).all())
        first, last = case.new_scores.index[[0, -1]]
        interval = contrasts.loc[(first, last)]
        true = case.new_scores[first] - case.new_scores[last]
        row["contrast"] = bool(interval["low"] <= true <= interval["high"])
    return row


def summary(found: pd.DataFrame) -> dict[str, Any]:
    """One line of the table."""
    limits = found[["low", "high"]].astype(float)
    usable = found[np.isfinite(limits).all(axis=1)].infer_objects()
    covered = (usable["low"] <= 0) & (usable["high"] >= 0)
    low, high = binom.interval(0.999, len(usable), 0.95)
    line: dict[str, Any] = {
        "draws": len(found),
        "usable": len(usable) / len(found),
        "coverage": covered.mean(),
        "": "" if low <= covered.sum() <= high else "*",
        "bias": usable["error"].mean(),
        "rmse": (usable["error"] ** 2).mean() ** 0.5,
        "width": (usable["high"] - usable["low"]).median(),
        "random": usable["random"].astype(float).mean(),
        "told": usable["told"].astype(float).mean(),
        "warned": usable["warned"].astype(float).mean(),
    }
    return line


def main() -> None:
    """Draw what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--file", type=Path, help="CSV of draws, gone on with")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(DESIGNS))
    if options.list or unknown:
        print(*(f"no design {name!r}" for name in unknown), *DESIGNS, sep="\n")
        return
    known = pd.DataFrame(columns=["design", "seed", "low", "high"])
    if options.file and options.file.exists():
        known = pd.read_csv(options.file)
    lines = {}
    for name in options.names or DESIGNS:
        found = known[known["design"] == name]
        fresh = Parallel(options.jobs)(
            delayed(replicate)(name, seed)
            for seed in sorted(set(range(options.draws)) - set(found["seed"]))
        )
        if fresh:
            found, known = (
                pd.concat([each, pd.DataFrame(fresh)] if len(each) else
                          [pd.DataFrame(fresh)], ignore_index=True)
                for each in (found, known)
            )  # fmt: skip
        if fresh and options.file:
            known.to_csv(options.file, index=False)
        lines[name] = summary(found)
        print(pd.DataFrame(lines).T.tail(1).to_string(), flush=True)
        for extra in {"ranks", "contrast"} & set(found.dropna(axis=1, how="all")):
            print(f"{name}: {extra} right in {found[extra].astype(float).mean():.3f}")


if __name__ == "__main__":
    main()
