"""The facts of a table, and of a run, which the terminal, JSON and the page read."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skanchor._battles import decide_roles
from skanchor._battles.roles import count_rows
from skanchor._diagnostics.judges import verdict_table
from skanchor._sample.admission import admit_to_inference
from skanchor._sample.row_rules import RowRules
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError, DiagnosticWarning
from skanchor.pipeline import AnchorPipeline
from skanchor.results import (
    ContextResult,
    RankingResult,
    Scale,
    new_by_score,
    strongest_first,
)
from skanchor.results.adjustment import is_significant
from skanchor.results.estimators import RankingEstimator
from skanchor.warning_log import WarningLog, in_short

PACKAGES = ("skanchor", "numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose version may change a number."""

_IDLE = ("n_jobs", "verbose")  # no number depends on them


class Facts:
    """The facts of a run: each is computed when it is first read.

    Parameters
    ----------
    fitted : RankingEstimator or RankingResult
        A fitted method with standard errors, or its result, which has no settings and
        hardly any facts about judges.
    level : float, default=0.95
        Level of intervals and rank sets.
    earlier : sequence of Warning, default=()
        Warnings from before the fit, such as those of reading; they are listed first.
    command : str, default=""
        The command that makes the same again.
    **layout : dict
        ``scale`` and ``anchor`` of the leaderboard.
    """

    def __init__(
        self,
        fitted: Any,
        level: float = 0.95,
        *,
        earlier: Sequence[Warning] = (),
        command: str = "",
        **layout: Any,
    ) -> None:
        if hasattr(fitted, "fit"):
            check_is_fitted(fitted)
        result = getattr(fitted, "result_", fitted)
        if not isinstance(result, RankingResult):
            raise TypeError(
                "A report needs a fitted method with standard errors, such as "
                f"AnchorPipeline; {type(fitted).__name__} has none. Its leaderboard() "
                "has its scores and ranks."
            )
        self.fitted, self.result, self.level = fitted, result, level
        self.earlier, self.command, self.layout = tuple(earlier), command, layout
        self.scale = Scale.of(layout.get("scale", "logit"), layout.get("anchor"))
        self.method = type(fitted).__name__
        self.diagnostics: Any = getattr(result, "diagnostics", None)
        self.check: Any = getattr(self.diagnostics, "check", None)
        self.pipeline = fitted if isinstance(fitted, AnchorPipeline) else None
        # Models that a stored history has placed come with its item effects.
        self.is_placed = not hasattr(fitted, "fit") and hasattr(fitted, "item_effects_")
        self._describe_run()

    def _describe_run(self) -> None:
        """Store what was done: rows, inputs, judges, and the item effects.

        ``rows`` are ``human`` votes, verdicts, and ``unused`` ones; ``judges`` are what
        the rows say of each judge, empty where it is not known; ``item_effects`` says
        whether intervals allow for them, why, and the p-value of the test.
        """
        judges, n_groups = pd.DataFrame(), None
        # A row is counted for both of its models.
        numbers = {"human": self.result.n_human, "judge": self.result.n_judge}
        self.rows = {name: int(n.sum()) // 2 for name, n in numbers.items()}
        decided: tuple[Any, ...] | None = None
        self.input_hash: str | None = None  # SHA-256 of the rows that were read
        if self.pipeline is not None:
            sample, inference = self.pipeline._distinct_sample, self.pipeline._inference
            self.rows, n_groups = _rows_of(sample), sample.n_groups
            judges, choice = self.pipeline.summary(), inference.choice
            decided = choice.item_effects, choice.reason, choice.p_value
            self.input_hash = inference.cells.rows.digest
        elif self.is_placed:
            judges = self.diagnostics.judges
            decided = self.fitted.item_effects_, "as the history was fitted", math.nan
        self.inputs = {**asdict(self.result.inputs), "n_groups": n_groups}
        self.judges = judges.rename_axis("judge")
        names = ("reported", "reason", "p_value")
        self.item_effects = decided and dict(zip(names, decided, strict=True))

    # ------------------------------------------------------------------- the ranking
    @cached_property
    def models(self) -> pd.DataFrame:
        """The leaderboard, best model first."""
        return self.result.leaderboard(self.level, **self.layout).rename_axis("model")

    @cached_property
    def new_models(self) -> list[Any]:
        """New models, best first; those whose score is not determined come last."""
        return new_by_score(self.result)

    @cached_property
    def best(self) -> pd.DataFrame:
        """Models whose rank set begins at 1, with the ``probability`` of each."""
        # A set of its own, from fewer tests, could leave out what the rank sets keep.
        models = self.models.index[self.models["rank_low"] == 1]
        chances = self.result.prob_best().reindex(models)
        return chances.rename_axis("model").to_frame("probability")

    @cached_property
    def contrasts(self) -> pd.DataFrame:
        """By new model and opponent, differences on the scale and chances to win."""
        table = self.result.contrasts(self.level)
        # Differences do not depend on the zero of the scale, only on its unit.
        names = ["difference", "standard_error", "low", "high"]
        table[names] *= self.scale.per_logit
        decided = is_significant(table["p_adjusted"].to_numpy(), self.level)
        side = np.where(table["difference"] > 0, "better", "worse")
        return table.assign(decision=np.where(decided, side, "not decided"))

    def contrasts_of(self, model: Any) -> pd.DataFrame:
        """Contrasts of a new model, the strongest opponent first."""
        table = strongest_first(self.contrasts.loc[model]).rename_axis("opponent")
        return table.assign(is_new=self.models["is_new"][table.index])

    @cached_property
    def contexts(self) -> dict[Any, pd.DataFrame]:
        """Leaderboard of each context, where there are contexts."""
        if not isinstance(self.result, ContextResult):
            return {}
        return {
            name: result.leaderboard(self.level, **self.layout).rename_axis("model")
            for name, result in self.result.by_context.items()
        }

    # ------------------------------------------------------- what a model rests on
    @cached_property
    def favours(self) -> pd.DataFrame | None:
        """How large a favour undoes each statement; None where it is not known."""
        return self._closed_form("breakdown", level=self.level)

    @cached_property
    def benchmarks(self) -> pd.DataFrame | None:
        """Recorded effects of each judge on each new model; None if not known."""
        return self._closed_form("benchmarks")

    def _closed_form(self, name: str, **settings: Any) -> pd.DataFrame | None:
        """What a method of the result returns; None where it has none, or refuses."""
        try:
            answer: Any = getattr(self.result, name, lambda **_: None)(**settings)
        except BattlesError:
            return None
        return answer

    # --------------------------------------------------------------- what was done
    @cached_property
    def warnings(self) -> list[Warning]:
        """Distinct warnings, and one for each threshold of the diagnostics crossed."""
        if not isinstance(self.fitted, RankingEstimator):
            return list(self.earlier)
        log = WarningLog()
        # The fit issues one warning for all thresholds; here they come one by one.
        log.warnings = [
            one
            for one in (*self.earlier, *getattr(self.fitted, "warnings_", ()))
            if not isinstance(one, DiagnosticWarning)
        ]
        if self.diagnostics is not None:
            log.warnings += self.diagnostics.findings()
        return log.distinct

    @cached_property
    def short_warnings(self) -> list[Warning]:
        """Warnings; of many alike, five."""
        return list(in_short(self.warnings))

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Parameters of the estimator that may change a number."""
        if not isinstance(self.fitted, RankingEstimator):
            return {}
        parameters = self.fitted.get_params(deep=False).items()
        return {name: _plain(value) for name, value in parameters if name not in _IDLE}

    @cached_property
    def changed_settings(self) -> dict[str, Any]:
        """Settings that are not the defaults."""
        defaults = type(self.fitted)().get_params(deep=False)
        settings = self.settings.items()
        return {name: x for name, x in settings if x != _plain(defaults[name])}

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of Python and of the packages that may change a number."""
        python = {"python": platform.python_version()}
        return python | {name: version(name) for name in PACKAGES}


def overview(
    X: pd.DataFrame,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | str | None = "auto",
    *,
    counted: bool = False,
    new_models: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """The facts of a table before anything is fitted: what a fit would make of it.

    Parameters
    ----------
    X, y, sample_weight, groups
        As in :meth:`skanchor.AnchorPipeline.fit`.
    counted : bool, default=False
        Whether the weights are numbers of equal rows.
    new_models : sequence of labels, optional
        As in :class:`skanchor.AnchorPipeline`.

    Returns
    -------
    dict
        Its keys are those of ``skanchor inspect --json`` in ``docs/json.md``; models
        and judges are DataFrames.

    Raises
    ------
    BattlesError
        If the table cannot be encoded.
    """
    refusal = None
    with WarningLog() as log:
        sample = Sample.from_battles(X, y, sample_weight, groups)
        rules = RowRules(drops_ties=False, counts=counted)
        sample = rules.apply(sample, lists_rows=False)
        stages = AnchorPipeline().stages()
        try:
            admit_to_inference(
                sample, stages.btl, stages.calibrator.bias, new_models, jointly=True
            )
        except BattlesError as error:
            refusal = str(error)
    rows = decide_roles(sample.X, sample.weight, new_models)
    sample = sample.with_battles(rows)
    n_human, n_judge = count_rows(rows, sample.weight, sample.multiplicity)
    models = {"is_new": rows.is_new, "n_human": n_human, "n_judge": n_judge}
    outcomes = {"first": 1.0, "second": 0.0, "tie": 0.5}
    return {
        "rows": _rows_of(sample),
        "models": pd.DataFrame(models, pd.Index(rows.models, name="model")),
        "judges": verdict_table(sample).assign(both_orders=_both_orders(sample)),
        "outcomes": {
            **{name: sample.number(sample.y == y) for name, y in outcomes.items()},
            "graded": sample.number(~np.isin(sample.y, [*outcomes.values()])),
        },
        "inputs": sample.inputs,
        "n_groups": sample.n_groups,
        "order_known": float(
            np.average(rows.order != 0.0, weights=sample.multiplicity)
        ),
        "warnings": log.distinct,
        "refusal": refusal,
    }


def _rows_of(sample: Sample) -> dict[str, int]:
    """Rows of people, of judges on historical and on new models, and unused ones."""
    X, used = sample.X, sample.counts
    rows = {
        "human": sample.number(used & X.is_human),
        "historical": sample.number(used & ~X.is_human & ~X.involves_new),
        "arrival": sample.number(used & ~X.is_human & X.involves_new),
    }
    rows["unused"] = sample.number(np.arange(len(sample))) - sum(rows.values())
    return rows


def _both_orders(sample: Sample) -> pd.Series:
    """Share of the pairs of each judge that it has seen in both orders."""
    X = sample.X
    low, high = np.minimum(X.left, X.right), np.maximum(X.left, X.right)
    # Where the model with the lower code was shown; NaN where no order is known.
    side = np.where(X.left == low, X.order, -X.order)
    side = np.where(side == 0, np.nan, side)
    pairs = pd.DataFrame({"judge": X.judge, "low": low, "high": high, "side": side})
    pairs = pairs[sample.counts & ~X.is_human]
    is_seen = pairs.groupby(["judge", "low", "high"])["side"].nunique() > 1
    shares = is_seen.groupby(level="judge").mean().reindex(range(len(X.judges)))
    return shares.set_axis(pd.Index(X.judges, name="judge"))


def _plain(value: Any) -> Any:
    """Turn a parameter into a number, a text, or a short list of these."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)) and len(value) <= 20:
        return [_plain(one) for one in value]
    # Anything else by its repr, on one line.
    return " ".join(repr(value).split())
