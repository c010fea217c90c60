"""Experiments of the paper's simulation study, and of its supplement as read here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from skanchor._anchor import AnchorPipeline
from skanchor._judges import JudgeCalibrator
from skanchor._riesz import RieszDebiaser
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
from skanchor.studies._draws import draw_insertion, draw_omitted, draw_variance
from skanchor.studies._experiment import Cell, Experiment, StudyMethod


def _paper_calibrator(bias: str = "linear") -> JudgeCalibrator:
    """Judges without position effects, as in the paper."""
    return JudgeCalibrator(bias=bias, position_effect=False)


def _paper_anchor(bias: str = "linear", **settings: Any) -> AnchorPipeline:
    """The paper's method: two steps, no item or position effects, plain errors."""
    paper = {
        "calibrator": _paper_calibrator(bias),
        "historical_fit": "two-step",
        "item_effects": None,
        "disagreement": "ignore",
    }
    return AnchorPipeline(**(paper | settings))


def _own(name: str, estimator: Any, rank_sets: Any = None) -> StudyMethod:
    """A method with intervals of its own."""
    return StudyMethod(name, estimator, "own", rank_sets)


def _cells(settings: list[dict[str, Any]], seconds: list[float]) -> tuple[Cell, ...]:
    """Cells named by their settings, with the time of each."""
    return tuple(
        Cell(", ".join(f"{name}={value}" for name, value in own.items()), own, time)
        for own, time in zip(settings, seconds, strict=True)
    )


def _graphs(seconds: float) -> tuple[Cell, ...]:
    """Votes on all pairs, or within two groups and on a bridge; opponents of either."""
    groups = [0, 1, 2, 3, 4], [5, 6, 7, 8, 9]
    bridged = [(i, j) for group in groups for i in group for j in group if i < j]
    bridged.append((4, 5))
    graphs = {"votes on all pairs": None, "votes within groups": bridged}
    opponents = {"opponents of both groups": None, "opponents of one group": groups[0]}
    return tuple(
        Cell(f"{graph}, {met}", {"human_pairs": pairs, "opponents": meets}, seconds)
        for graph, pairs in graphs.items()
        for met, meets in opponents.items()
    )


ANCHOR = _own("ANCHOR", _paper_anchor())
DEFAULTS = _own("defaults", AnchorPipeline())
"""``AnchorPipeline()`` as it comes: a further method of every experiment."""

_WITH_SETS = (
    _own("ANCHOR", _paper_anchor(), "holm"),
    _own("defaults", AnchorPipeline(), "romano-wolf"),
)
_REFERENCES = (_own("HumanOnly", HumanOnly()), _own("Oracle", Oracle()))
_SCORES: dict[str, Any] = {
    "JointBTL": JointBTL(),
    "DirectScore": DirectScore(calibrator=_paper_calibrator()),
    "IPWOnly": IPWOnly(calibrator=_paper_calibrator()),
    "HistoricalPPI": HistoricalPPI(calibrator=_paper_calibrator()),
}
_MORE_SCORES: dict[str, Any] = {
    "PooledLLM": PooledLLM(calibrator=_paper_calibrator()),
    "ScalarJudge": ScalarJudge(calibrator=_paper_calibrator()),
    "MeanShift": MeanShift(calibrator=_paper_calibrator()),
    "PerJudgeBTL": PerJudgeBTL(calibrator=_paper_calibrator()),
    "PerJudgeBTL, plug-in": PerJudgeBTL(
        calibrator=_paper_calibrator(), plug_in_average=True
    ),
}
_RANKS: dict[str, Any] = {
    "HistoricalPPR": HistoricalPPR(),
    "LogisticJudge": LogisticJudge(),
}
_OTHERS: dict[str, Any] = {
    "JudgeArenaElo": JudgeArenaElo(),
    "JudgeAwareBTL": JudgeAwareBTL(),
    "SoftElo": SoftElo(),
}
_KINDS: tuple[Literal["basic", "percentile"], ...] = ("basic", "percentile")
_GAPS = (0.05, 0.1, 0.2, 0.4)

_ALL = (
    Experiment(
        "default",
        "every method on the default design",
        "The cell of 8,000 historical rows of the first figure, with all methods that "
        "are here, and without refits. JointMLE, JudgeArenaElo, JudgeAwareBTL and "
        "SoftElo are not the paper's.",
        (Cell("default", {}, 0.8),),
        (
            ANCHOR,
            DEFAULTS,
            _own("defaults, no item effects", AnchorPipeline(item_effects=None)),
            *_REFERENCES,
            _own("JointMLE", JointMLE(calibrator=_paper_calibrator())),
            *(
                StudyMethod(name, method)
                for name, method in (_SCORES | _MORE_SCORES | _RANKS | _OTHERS).items()
            ),
        ),
        ("rmse", "absolute_bias", "coverage", "width", "insertion_mae", "exact"),
    ),
    Experiment(
        "history",
        "more history, with 500 arrival rows (Figure 1; Figure A.1)",
        "The supplement's eleven methods are those of the main text that have scores, "
        "with PooledLLM, ScalarJudge, MeanShift and PerJudgeBTL. PerJudgeBTL can be "
        "read in two ways, of which both are here: a BTL fit for each judge, divided "
        "by its sensitivity, and the mean of plug-ins of single judges. Competitors "
        "have basic intervals from refits on shared resamples of rows within each "
        "source.",
        _cells(
            [{"n_historical": n} for n in (4000, 8000, 12000, 16000)],
            [1.1, 1.4, 1.8, 2.2],
        ),
        (
            ANCHOR,
            DEFAULTS,
            *_REFERENCES,
            *(StudyMethod(n, m, "basic") for n, m in (_SCORES | _MORE_SCORES).items()),
        ),
        ("coverage", "width", "rmse", "absolute_bias"),
    ),
    Experiment(
        "variance",
        "more verdicts for 1,000 votes (Figure 2)",
        "Seventy percent of the verdicts are historical. B_l is computed from the "
        "true scores and the votes of each draw, and ratios are averages of ratios.",
        _cells(
            [{"n_human": 1000, "n_judge": n} for n in (1000, 2000, 4000, 8000, 16000)],
            [0.3, 0.3, 0.33, 0.41, 0.41],
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
        draw=draw_variance,
    ),
    Experiment(
        "shift",
        "judge bias by feature shift (Figure 3)",
        "Bias coefficients are scaled so that the standard deviation of a judge's "
        "bias is rho times that of its score term over its historical rows. The shift "
        "of length tau sqrt(5) has a random direction in each draw.",
        _cells(
            [
                {"rho": rho, "tau": tau}
                for rho in (0.0, 0.5, 1.0, 2.0)
                for tau in (0.0, 0.3, 0.6, 1.0)
            ],
            [0.37] * 16,
        ),
        (ANCHOR, DEFAULTS),
        ("coverage", "rmse", "width"),
    ),
    Experiment(
        "insertion",
        "ranks of new models between neighbours (Figure 4)",
        "Sensitivities and bias coefficients of a draw are those that scores from "
        "N(0, 1) give, for all gaps. Each of the nine new models is analysed by "
        "itself against the same history, and measures are means over them. ANCHOR "
        "places them by a stored history, with the same folds.",
        _cells([{"gap": gap, "n_models": 10} for gap in _GAPS], [1.15] * 4),
        (
            ANCHOR,
            DEFAULTS,
            *_REFERENCES,
            *(StudyMethod(n, m) for n, m in (_SCORES | _RANKS).items()),
        ),
        ("insertion_mae", "exact", "rmse"),
        draw=draw_insertion,
    ),
    Experiment(
        "rank-sets",
        "coverage and size of rank sets in the design of insertion (A.7)",
        "Holm's procedure for ANCHOR, as in the paper; that of Romano and Wolf for "
        "the defaults. Coverage and size are means over the nine positions.",
        _cells([{"gap": gap, "n_models": 10} for gap in _GAPS], [0.7] * 4),
        _WITH_SETS,
        ("rank_coverage", "rank_size", "insertion_mae"),
        draw=draw_insertion,
    ),
    Experiment(
        "omitted-length",
        "judges that prefer long responses, where length is not recorded (Table A.5)",
        "Judges add a multiple of the difference of lengths to their logits, people "
        "do not, and no method sees lengths. These vary by one unit within a model; "
        "responses of new models are one unit longer on average. The gap is 0.2.",
        tuple(
            Cell(
                f"preference={preference}",
                {
                    "gap": 0.2,
                    "n_models": 10,
                    "preference": preference,
                    "longer": 1.0,
                },
                1.0,
            )
            for preference in (0.0, 0.25, 0.5)
        ),
        (
            *_WITH_SETS,
            *(StudyMethod(n, m) for n, m in (_SCORES | _RANKS).items()),
        ),
        ("insertion_mae", "exact", "order", "rank_coverage", "rmse"),
        draw=draw_omitted,
    ),
    Experiment(
        "opponents",
        "sparse graphs of votes and of opponents (A.6)",
        "Models 1 to 5 and 6 to 10 are two groups. Votes are on all pairs, or on "
        "pairs within the groups and one bridge between them; the new model meets all "
        "models, or those of one group alone. Verdicts of the history are on all "
        "pairs.",
        _graphs(0.3),
        (ANCHOR, DEFAULTS),
        ("rmse", "width", "coverage", "failed"),
    ),
    Experiment(
        "small-history",
        "historical scores from votes alone or jointly with verdicts (A.4)",
        "The default design with less history. The joint fit is that of historical_fit="
        '"joint", all else as in the paper.',
        _cells([{"n_historical": n} for n in (500, 1000, 2000, 4000)], [0.4] * 4),
        (
            ANCHOR,
            _own("ANCHOR, joint history", _paper_anchor(historical_fit="joint")),
            DEFAULTS,
        ),
        ("rmse", "width", "coverage", "failed"),
    ),
    Experiment(
        "weights",
        "classes of the bias and of the Riesz weights (A.5)",
        "The default design, and one with curved biases. Biases and Riesz weights are "
        "linear or networks; weights of networks come from the projection that "
        "RieszDebiaser computes.",
        _cells([{"bias": "linear"}, {"bias": "curved"}], [11.0, 10.0]),
        (
            ANCHOR,
            _own(
                "ANCHOR, network weights",
                _paper_anchor(debiaser=RieszDebiaser(learner="network")),
            ),
            _own(
                "ANCHOR, network bias",
                _paper_anchor("network", debiaser=RieszDebiaser(learner="linear")),
            ),
            _own("ANCHOR, network bias and weights", _paper_anchor("network")),
            DEFAULTS,
        ),
        ("rmse", "width", "coverage"),
        replications=100,
    ),
    Experiment(
        "parts",
        "weighting by sensitivity against the correction of residuals (A.3)",
        "Four estimators on the same historical fits: DirectScore weights all "
        "verdicts alike and has no correction; the plug-in of ANCHOR weights them by "
        "sensitivity; HistoricalPPI corrects DirectScore by the mean human residual; "
        "ANCHOR weights, and corrects by Riesz weights.",
        _cells([{"n_historical": n} for n in (4000, 8000)], [0.46, 0.55]),
        (
            StudyMethod("DirectScore", _SCORES["DirectScore"], "basic"),
            StudyMethod("ANCHOR, plug-in", _paper_anchor(debiaser="passthrough")),
            StudyMethod("HistoricalPPI", _SCORES["HistoricalPPI"], "basic"),
            ANCHOR,
            DEFAULTS,
        ),
        ("rmse", "width", "coverage"),
    ),
    Experiment(
        "refits",
        "basic and percentile intervals from refits, on the default design",
        "The paper uses basic intervals for its competitors; both kinds are from the "
        "same refits.",
        (Cell("default", {}, 0.7),),
        (
            ANCHOR,
            DEFAULTS,
            *(
                StudyMethod(f"{name}, {kind}", _SCORES[name], kind)
                for name in ("DirectScore", "HistoricalPPI", "JointBTL")
                for kind in _KINDS
            ),
        ),
        ("coverage", "width"),
        replications=200,
    ),
    Experiment(
        "groups",
        "several new models with votes and verdicts among themselves (D)",
        "New models of scores spread evenly over (-1, 1) are analysed together. "
        "Beside 500 verdicts of each against historical models there are votes, or "
        "votes and verdicts, on pairs of new models; no vote compares a new model "
        "with an old one. Coverage is that of single scores, averaged over the new "
        "models.",
        tuple(
            Cell(
                f"{n} new models, {votes} votes and {verdicts} verdicts among them",
                {
                    "n_new_models": n,
                    "new_score": [round(-1 + (2 * k + 1) / n, 3) for k in range(n)],
                    "n_new_votes": votes,
                    "n_new_verdicts": verdicts,
                },
                0.33,
            )
            for n, votes, verdicts in (
                (2, 0, 0),
                (2, 200, 0),
                (4, 0, 0),
                (4, 400, 0),
                (4, 400, 400),
            )
        ),
        (ANCHOR, DEFAULTS),
        ("coverage", "width", "rmse"),
    ),
)

EXPERIMENTS: Mapping[str, Experiment] = {each.name: each for each in _ALL}
"""The experiments by name."""
