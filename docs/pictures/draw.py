"""Draw the pictures of the user guide: ``python docs/pictures/draw.py`` (a minute).

``arena.png`` is drawn by the commands that the README names.
"""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from skanchor import AnchorPipeline
from skanchor.baselines import JointBTL
from skanchor.exceptions import SkanchorWarning
from skanchor.plotting import LeaderboardDisplay
from skanchor.simulation import simulate_battles

HERE = Path(__file__).parent
BLUE, RED, GREY = "#0b3d91", "#b3261e", "#666666"


def judges() -> Figure:
    """Log-odds of three judges against the difference of human scores."""
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    difference = np.array([-2.0, 2.0])
    for slope, shift, style, label in (
        (1.0, 0.0, "-", "people"),
        (0.5, 0.0, "--", "sensitivity 0.5, no bias"),
        (0.5, 0.6, ":", "sensitivity 0.5, and first response is longer: bias +0.6"),
    ):
        color = GREY if label == "people" else BLUE
        ax.plot(difference, slope * difference + shift, style, color=color, label=label)
    ax.axhline(0, color="0.85", zorder=0)
    ax.axvline(0, color="0.85", zorder=0)
    ax.set(
        xlabel="difference of human scores, in logits",
        ylabel="log-odds of the verdict",
        ylim=(-2.2, 3.2),
    )
    ax.legend(frameon=False, loc="upper left", fontsize=8.5)
    return figure


def coverage(n_draws: int = 40) -> tuple[Figure, dict[str, int]]:
    """Intervals of a new model by two methods, and how many hold its score."""
    figure, axes = plt.subplots(
        1, 2, figsize=(7, 4.2), sharex=True, sharey=True, layout="constrained"
    )
    methods = {
        "one Bradley-Terry model for all": JointBTL(),
        "skanchor": AnchorPipeline(cv=5, random_state=0),
    }
    hits = dict.fromkeys(methods, 0)
    for draw in range(n_draws):
        data = simulate_battles(2_000, 300, random_state=draw)
        truth = data.truth["new_scores"].iloc[0]
        for ax, (name, method) in zip(axes, methods.items(), strict=True):
            with warnings.catch_warnings():
                # What a single draw warns of is not what the picture shows.
                warnings.simplefilter("ignore", SkanchorWarning)
                low, high = method.fit(data.X, data.y).conf_int().iloc[0]
            hit = low <= truth <= high
            hits[name] += hit
            ax.plot([low, high], [draw, draw], color=BLUE if hit else RED, lw=1.6)
            ax.axvline(truth, color="0.6", lw=0.8, zorder=0)
    for ax, (name, count) in zip(axes, hits.items(), strict=True):
        ax.set(title=f"{name}:\n{count} of {n_draws} hold", yticks=[])
        ax.set_xlabel("score of the new model")
    axes[0].set_ylabel("simulated tables")
    return figure, hits


def overlap() -> tuple[Figure, AnchorPipeline]:
    """Intervals that overlap, of models whose rank sets do not."""
    data = simulate_battles(n_human=100, n_historical=6_000, random_state=0)
    anchor = AnchorPipeline(random_state=0).fit(data.X, data.y)
    return LeaderboardDisplay.from_estimator(anchor).figure_, anchor


def main() -> None:
    """Write all pictures into this folder."""
    for name, figure in {
        "judges": judges(),
        "coverage": coverage()[0],
        "overlap": overlap()[0],
    }.items():
        figure.savefig(HERE / f"{name}.png", dpi=100)
        plt.close(figure)


if __name__ == "__main__":
    main()
