"""What designs bring, by simulation: savings, calibration, repeated looks.

Rows are bought from a pool of further rows on the new model, and the table is fitted
again with them, by default settings with five folds. ``--items`` draws item effects of
standard deviation .3 (correlation .6, no features, 4,000 historical rows) in place of
the default design.

``python benchmarks/design.py buy`` starts from 500 verdicts and spends 50 on the
design, on verdicts dealt evenly, and on votes (a vote costs 1, a verdict .1; with item
effects 20 and .05): reported variance over the predicted one, mean squared error,
coverage. ``separate`` starts from 150 verdicts, spends 35 on the design, and compares
the probability that a difference is separated with the share that is. ``looks`` looks
at 100 to 1,000 verdicts (``--at`` says where), and counts the draws in which some
interval misses the score. All errors behind ``±`` are Monte-Carlo standard errors.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd

from skanchor import AnchorPipeline
from skanchor.planning import look_multiplier
from skanchor.simulation import simulate_battles

NEW = "new-model"
JUDGES = ["judge-1", "judge-2", "judge-3"]
COLUMNS = ["model_a", "model_b", "judge"]
LOOKS = [100, 220, 460, 1000]
POOL = 9_000


class Draw:
    """One table with a pool of further rows on the new model."""

    def __init__(self, seed: int, items: bool, base: int):
        changes = {"n_historical": 4000, "rho": 0.0, "item_sd": 0.3, "item_corr": 0.6}
        data = simulate_battles(
            n_new=POOL,
            n_extra_human=1500,
            random_state=seed,
            **(changes if items else {}),
        )
        rows = pd.concat([data.X, data.extra_X], ignore_index=True)
        self.y = np.concatenate([data.y, data.extra_y]).astype(float)
        self.X = rows[COLUMNS] if items else rows
        self.score = float(data.truth.new_scores[NEW])
        self.scores = data.truth.scores
        on_new = ((rows["model_a"] == NEW) | (rows["model_b"] == NEW)).to_numpy()
        self.other = rows["model_a"].where(rows["model_b"] == NEW, rows["model_b"])
        new = np.flatnonzero(on_new)
        self.start = np.concatenate([np.flatnonzero(~on_new), new[:base]])
        self.pool = new[base:]

    def fit(self, rows: np.ndarray) -> AnchorPipeline:
        """Fit some rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            anchor = AnchorPipeline(cv=5, new_models=[NEW], random_state=0)
            return anchor.fit(self.X.iloc[rows], self.y[rows])

    def bought(self, wanted: pd.DataFrame) -> np.ndarray:
        """Rows of the pool by ``source``, ``opponent`` and number of ``rows``."""
        source = self.X["judge"].to_numpy()[self.pool]
        other = self.other.to_numpy()[self.pool]
        found = [
            self.pool[(source == row.source) & (other == row.opponent)][: int(row.rows)]
            for row in wanted.itertuples()
        ]
        return np.concatenate([self.start, *found])

    def evenly(self, sources: list[str], number: int) -> np.ndarray:
        """Rows dealt evenly over sources and opponents."""
        cells = [(s, m) for m in self.scores.index for s in sources]
        rows = number // len(cells) + (np.arange(len(cells)) < number % len(cells))
        return self.bought(
            pd.DataFrame(cells, columns=["source", "opponent"]).assign(rows=rows)
        )


def buy(seed: int, items: bool) -> list[dict[str, float | str]]:
    """Spend a budget in three ways; what is predicted, and what is then reported."""
    draw = Draw(seed, items, 500)
    budget, price = (20.0, 0.05) if items else (50.0, 0.1)
    anchor = draw.fit(draw.start)
    design = anchor.design(budget, {"human": 1.0, "judges": price})
    predicted = design.half_widths.iloc[0]
    ways = {
        "now": draw.start,
        "design": draw.bought(design.table),
        "verdicts": draw.evenly(JUDGES, round(budget / price)),
        "votes": draw.evenly(["human"], round(budget)),
    }
    found = []
    for way, rows in ways.items():
        again = anchor if way == "now" else draw.fit(rows)
        low, high = again.conf_int().loc[NEW]
        half = again.outlook(level=0.95).limits.loc[NEW, "now"]
        found.append(
            {
                "way": way,
                "ratio": (half / predicted[way]) ** 2,
                "variance": float(again.standard_errors_[NEW]) ** 2,
                "square": (float(again.scores_[NEW]) - draw.score) ** 2,
                "covered": float(low <= draw.score <= high),
                "saving": design.same_precision / budget,
            }
        )
    return found


def separate(seed: int, items: bool) -> list[dict[str, float]]:
    """Probability of separation, and whether the differences are separated then."""
    draw = Draw(seed, items, 150)
    anchor = draw.fit(draw.start)
    design = anchor.design(35.0, {"judges": 0.1})
    later = draw.fit(draw.bought(design.table)).contrasts()
    truth = draw.score - draw.scores
    found = []
    for key, row in design.separation.iterrows():
        low, high, difference = later.loc[key, ["low", "high", "difference"]]
        separated = low > 0 or high < 0
        wrong = separated and np.sign(difference) != np.sign(truth[key[1]])
        found.append(
            {
                "probability": row["probability"],
                "separated": float(separated),
                "wrong": float(wrong),
                "draw": seed,
            }
        )
    return found


def looks(seed: int, items: bool) -> list[dict[str, float]]:
    """Distances from the truth in errors, at all looks of one draw."""
    draw = Draw(seed, items, LOOKS[0])
    found = []
    for number in LOOKS:
        rows = np.concatenate([draw.start, draw.pool[: number - LOOKS[0]]])
        anchor = draw.fit(rows)
        limits = anchor.outlook().limits.loc[NEW]
        error = float(anchor.standard_errors_[NEW])
        found.append(
            {
                "draw": seed,
                "look": number,
                "z": abs(float(anchor.scores_[NEW]) - draw.score) / error,
                "error": error,
                "quantile": limits["now"] / error,
                "ratio": (limits["now"] / limits["verdicts"]) ** 2,
            }
        )
    return found


def mean(values: pd.Series) -> str:
    """Mean and its Monte-Carlo error."""
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def show_buy(rows: pd.DataFrame) -> None:
    """One line for each way to spend."""
    for way, own in rows.groupby("way", sort=False):
        print(
            f"{way:9s} reported over predicted {mean(own['ratio'])}; variance "
            f"{mean(own['variance'])}; squared error {mean(own['square'])}; coverage "
            f"{mean(own['covered'])}"
        )
    saving = rows[rows["way"] == "now"]["saving"]
    print(
        f"cost of even verdicts as precise, over the budget: median "
        f"{saving.median():.3f}, infinite in {np.isinf(saving).mean():.3f}"
    )


def show_separate(rows: pd.DataFrame) -> None:
    """By band of the probability, the share that is separated."""
    edges = [-0.01, 0.2, 0.5, 0.8, 0.98, 1.0]
    rows["band"] = pd.cut(rows["probability"], edges)
    for band, own in rows.groupby("band", observed=True):
        print(
            f"{band}: {len(own)} differences, probability "
            f"{own['probability'].mean():.3f}, separated {mean(own['separated'])}"
        )
    by_draw = rows.groupby("draw")[["probability", "separated", "wrong"]].mean()
    print(f"all: probability {mean(by_draw['probability'])}, separated "
          f"{mean(by_draw['separated'])}, on the wrong side "
          f"{mean(by_draw['wrong'])}")  # fmt: skip


def show_looks(rows: pd.DataFrame) -> None:
    """Share of draws in which some interval misses."""
    wide = {name: rows.pivot(index="draw", columns="look", values=name)
            for name in ("z", "error", "quantile", "ratio")}  # fmt: skip
    first, last = wide["error"].iloc[:, 0], wide["error"].iloc[:, -1]
    planned = [look_multiplier(max(one, 1.0), len(LOOKS))
               for one in ((first / last) ** 2).tolist()]  # fmt: skip
    limit = [look_multiplier(max(round(one, 1), 1.0), 30)
             for one in wide["ratio"].iloc[:, 0].clip(upper=1e6).tolist()]  # fmt: skip
    multipliers = {
        "1.96": np.full(len(first), 1.96),
        f"planned end, {len(LOOKS)} looks": np.array(planned),
        "limit of verdicts, 30 looks": np.array(limit),
    }
    print(f"ratio of variances {((first / last) ** 2).median():.2f} to the last look")
    for name, c in multipliers.items():
        reach = wide["quantile"].mul(c / 1.96, axis=0)
        missed = (wide["z"] > reach).any(axis=1).astype(float)
        print(f"{name} (median {np.median(c):.2f}): some look misses {mean(missed)}")


def main() -> None:
    """Run one part, and print what it found."""
    parts = {"buy": (buy, show_buy), "separate": (separate, show_separate),
             "looks": (looks, show_looks)}  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=list(parts))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first", type=int, default=11_000, help="first seed")
    parser.add_argument("--items", action="store_true", help="with item effects")
    parser.add_argument("--at", type=int, nargs="+", help="verdicts at each look")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end by then")
    options = parser.parse_args()
    run, show = parts[options.part]
    LOOKS[:] = options.at or LOOKS
    start, found, done = time.monotonic(), [], 0
    while done < options.draws and time.monotonic() - start < 60.0 * options.minutes:
        found += run(options.first + done, options.items)
        done += 1
    print(f"{done} draws")
    show(pd.DataFrame(found))


if __name__ == "__main__":
    main()
