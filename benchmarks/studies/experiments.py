"""The paper's simulation experiments, as ``docs/evidence/paper.md`` reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drawn import Drawn, draw_battles, draw_insertion, draw_variance
from placing import Method

from skanchor import AnchorPipeline, JudgeCalibrator
from skanchor.baselines import (
    DirectScore,
    HistoricalPPI,
    HistoricalPPR,
    HumanOnly,
    IPWOnly,
    JointBTL,
    JointMLE,
    JudgeArenaElo,
    JudgeAwareBTL,
    LogisticJudge,
    MeanShift,
    Oracle,
    PerJudgeBTL,
    PooledLLM,
    ScalarJudge,
    SoftElo,
)
from skanchor.bootstrap import Bootstrapped


@dataclass(frozen=True)
class Experiment:
    """A simulation study.

    Attributes
    ----------
    title : str
        What it shows, and its place in the paper.
    cells : mapping of str to mapping
        Arguments of ``draw`` by name of the cell.
    methods : sequence of Method
        Methods that place the new models of every draw.
    measures : sequence of str
        Columns of the summary, of ``summary.MEASURES``.
    draw : callable
        From settings and a seed to a :class:`Drawn`.
    replications : int
        Draws of each cell; their seeds are 0, 1, and so on.
    """

    title: str
    cells: Mapping[str, Mapping[str, Any]]
    methods: Sequence[Method]
    measures: Sequence[str]
    draw: Callable[[Mapping[str, Any], int], Drawn] = draw_battles
    replications: int = 500


def paper_calibrator(bias: str = "linear") -> JudgeCalibrator:
    """Judges without position effects, as in the paper."""
    return JudgeCalibrator(bias=bias, position_effect=False)


def paper_anchor(bias: str = "linear", **settings: Any) -> AnchorPipeline:
    """The paper's method: two steps, no item or position effects, plain errors."""
    paper = {
        "calibrator": paper_calibrator(bias),
        "historical_fit": "two-step",
        "item_effects": None,
        "disagreement": "ignore",
    }
    return AnchorPipeline(**(paper | settings))


def cells_of(*settings: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Cells named by their settings."""
    return {
        ", ".join(f"{name}={value}" for name, value in cell.items()): cell
        for cell in settings
    }


def plain(*names: str) -> list[Method]:
    """Competitors without intervals."""
    return [Method(name, COMPETITORS[name]) for name in names]


def refitted(*names: str) -> list[Method]:
    """Competitors with basic intervals, from refits on the same resamples."""
    return [Method(name, Bootstrapped(COMPETITORS[name]), True) for name in names]


COMPETITORS: dict[str, Any] = {
    "JointBTL": JointBTL(),
    "DirectScore": DirectScore(calibrator=paper_calibrator()),
    "IPWOnly": IPWOnly(calibrator=paper_calibrator()),
    "HistoricalPPI": HistoricalPPI(calibrator=paper_calibrator()),
    "PooledLLM": PooledLLM(calibrator=paper_calibrator()),
    "ScalarJudge": ScalarJudge(calibrator=paper_calibrator()),
    "MeanShift": MeanShift(calibrator=paper_calibrator()),
    "PerJudgeBTL": PerJudgeBTL(calibrator=paper_calibrator()),
    "PerJudgeBTL, plug-in": PerJudgeBTL(
        calibrator=paper_calibrator(), plug_in_average=True
    ),
    "HistoricalPPR": HistoricalPPR(),
    "LogisticJudge": LogisticJudge(),
    "JudgeArenaElo": JudgeArenaElo(),
    "JudgeAwareBTL": JudgeAwareBTL(),
    "SoftElo": SoftElo(),
}
NAMES = tuple(COMPETITORS)
SCORES, MORE_SCORES, RANKS = NAMES[:4], NAMES[4:9], NAMES[9:11]

ANCHOR = Method("ANCHOR", paper_anchor(), True)
DEFAULTS = Method("defaults", AnchorPipeline(), True)
"""``AnchorPipeline()`` as it comes: a further method of every experiment."""
REFERENCES = (Method("HumanOnly", HumanOnly(), True), Method("Oracle", Oracle(), True))
GAPS = cells_of(*({"gap": gap, "n_models": 10} for gap in (0.05, 0.1, 0.2, 0.4)))

EXPERIMENTS: dict[str, Experiment] = {
    "default": Experiment(
        "every method on the default design",
        {"default": {}},
        (
            ANCHOR,
            DEFAULTS,
            Method(
                "defaults, no item effects", AnchorPipeline(item_effects=None), True
            ),
            *REFERENCES,
            Method("JointMLE", JointMLE(calibrator=paper_calibrator()), True),
            *plain(*NAMES),
        ),
        ("rmse", "absolute_bias", "coverage", "width", "insertion_mae", "exact"),
    ),
    "history": Experiment(
        "more history, with 500 arrival rows (Figure 1; Figure A.1)",
        cells_of(*({"n_historical": n} for n in (4000, 8000, 12000, 16000))),
        (ANCHOR, DEFAULTS, *REFERENCES, *refitted(*SCORES, *MORE_SCORES)),
        ("coverage", "width", "rmse", "absolute_bias"),
    ),
    "variance": Experiment(
        "more verdicts for 1,000 votes (Figure 2)",
        cells_of(
            *({"n_human": 1000, "n_judge": n} for n in (1000, 2000, 4000, 8000, 16000))
        ),
        (ANCHOR, DEFAULTS),
        (
            "mean_variance",
            "empirical_variance",
            "human_part",
            "judge_part",
            "lower_bound",
            "variance_by_human_part",
            "variance_by_lower_bound",
        ),
        draw_variance,
    ),
    "shift": Experiment(
        "judge bias by feature shift (Figure 3)",
        cells_of(
            *(
                {"rho": rho, "tau": tau}
                for rho in (0.0, 0.5, 1.0, 2.0)
                for tau in (0.0, 0.3, 0.6, 1.0)
            )
        ),
        (ANCHOR, DEFAULTS),
        ("coverage", "rmse", "width"),
    ),
    "insertion": Experiment(
        "ranks of new models between neighbours (Figure 4)",
        GAPS,
        (ANCHOR, DEFAULTS, *REFERENCES, *plain(*SCORES, *RANKS)),
        ("insertion_mae", "exact", "rmse"),
        draw_insertion,
    ),
}
