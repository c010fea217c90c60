"""The facts of a run in one place, which the terminal, JSON and the page read."""

from __future__ import annotations

import inspect
import math
import platform
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from skanchor.exceptions import BattlesError, DiagnosticWarning
from skanchor.pipeline import AnchorPipeline
from skanchor.readouts import Answer
from skanchor.results import (
    AnchorResult,
    ContextResult,
    RankingResult,
    Scale,
    new_by_score,
    strongest_first,
)
from skanchor.results.adjustment import is_significant
from skanchor.results.estimators import RankingEstimator
from skanchor.warning_log import WarningLog, in_short

IN_FULL = 3
"""Largest number of new models described one by one; tables have the others."""

PACKAGES = ("skanchor", "numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose version may change a number."""

MANY = 100
"""With more models, those that may be the best come from the rank sets of the
leaderboard: a test of their own compares all models, which then takes too long."""

_IDLE = ("n_jobs", "verbose")  # no number depends on them
_PARTS = ["human", "judge", "cross", "items"]


class Facts:
    """The facts of a run: each part is computed when it is first read.

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
        ``scale``, ``anchor``, ``sort`` and ``ranks`` of the leaderboard.
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

    # ------------------------------------------------------------------- the ranking
    @cached_property
    def board(self) -> pd.DataFrame:
        """The leaderboard, best model first."""
        return self.result.leaderboard(self.level, **self.layout).rename_axis("model")

    @cached_property
    def new_models(self) -> list[Any]:
        """New models, best first; those whose score is not determined come last."""
        return new_by_score(self.result)

    @cached_property
    def best(self) -> pd.Series:
        """Models that may be the best, with the probability of each."""
        if len(self.result.models) > MANY:
            models = self.board.index[self.board["rank_low"] == 1]
        else:
            models = self.result.best_set(level=self.level)
        return self.result.prob_best()[models]

    def standing(self, model: Any) -> dict[str, Any]:
        """Rank and rank set of a model, and its chances against one of mean score."""
        row, ends = self.board.loc[model], self.result.conf_int(self.level).loc[model]
        score = float(self.result.scores[model])
        has_low, has_high = (math.isfinite(end) for end in ends)
        return {
            "model": model,
            "rank": int(row["rank"]),
            "low": int(row["rank_low"]),
            "high": int(row["rank_high"]),
            "n": len(self.board),
            "determined": math.isfinite(score) and (has_low or has_high),
            # A model that won, or lost, all its rows has one limit.
            "has_low": has_low,
            "has_high": has_high,
            # Historical scores have mean zero, so a score is the logit of a chance.
            "chances": [
                float(expit(one)) for one in (score, ends["low"], ends["high"])
            ],
        }

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
        is_new = dict(zip(self.result.models, self.result.is_new, strict=True))
        table = strongest_first(self.contrasts.loc[model]).rename_axis("opponent")
        return table.assign(is_new=[is_new[other] for other in table.index])

    @cached_property
    def contexts(self) -> dict[Any, pd.DataFrame]:
        """Leaderboard of each context, where there are contexts."""
        if not isinstance(self.result, ContextResult):
            return {}
        return {
            name: result.leaderboard(self.level, **self.layout)
            for name, result in self.result.by_context.items()
        }

    # ------------------------------------------------------- what a model rests on
    @cached_property
    def errors(self) -> pd.DataFrame:
        """Parts of the errors of the new models, and how far more data narrow them.

        By new model whose error is finite: the ``half_width`` of its interval in
        logits; the shares of its variance; the smallest half width for ever more
        ``verdicts`` of these judges and of new ``judges`` with independent item
        effects; and the number of ``votes`` that would halve it. NaN where a limit is
        not known.
        """
        result = self.result
        if not isinstance(result, AnchorResult):
            return pd.DataFrame()
        models = self.new_models
        variance, error = result.variance.loc[models], result.standard_errors[models]
        limits = result.conf_int(self.level).loc[models]
        half = 0.5 * (limits["high"] - limits["low"])
        bound, total = variance["lower_bound"], variance[_PARTS].sum(axis=1)
        # New judges leave the error of the scale of the human scores, and so do more
        # verdicts where there are no item effects.
        floor = half * (np.sqrt(bound.clip(lower=0.0)) / error).clip(upper=1.0)
        has_items = result.item_covariances is not None
        table = variance[_PARTS].div(total, axis=0)
        table["half_width"] = half
        table["verdicts"] = np.nan if has_items else floor
        table["votes"] = np.nan
        outlook = self._closed_form("outlook", level=self.level)
        if outlook is not None:
            narrowed = outlook.limits["verdicts"] / outlook.limits["now"]
            table["verdicts"] = half * narrowed.clip(upper=1.0).reindex(models)
            # The second of the default widths is half of today's.
            halved = outlook.table["votes"].groupby(level="model").nth(1)
            table["votes"] = halved.droplevel("width").reindex(models)
        table["judges"] = floor if has_items else table["verdicts"]
        stable = (error > 0) & np.isfinite(error) & (total > 0) & np.isfinite(bound)
        return table[stable].rename_axis("model")

    @cached_property
    def worth(self) -> Answer | None:
        """What verdicts are worth in votes; None where no closed form says."""
        return self._closed_form("worth")

    @cached_property
    def favours(self) -> pd.DataFrame | None:
        """How large a favour undoes each statement; None where it is not known."""
        return self._closed_form("breakdown", level=self.level)

    @cached_property
    def benchmarks(self) -> pd.DataFrame | None:
        """Recorded effects of each judge on each new model; None if not known."""
        return self._closed_form("benchmarks")

    @cached_property
    def described(self) -> list[Any]:
        """New models that are described in full: the best whose score is determined."""
        if self.favours is None:
            return []
        is_known = self.favours["gamma_sign"].notna().groupby(level="model").any()
        return [model for model in self.new_models if is_known[model]][:IN_FULL]

    def _closed_form(self, name: str, **settings: Any) -> Any:
        """What a method of the fit returns; None where it has none, or refuses."""
        source = self.fitted if hasattr(self.fitted, name) else self.result
        try:
            return getattr(source, name)(**settings) if hasattr(source, name) else None
        except BattlesError:
            return None

    @cached_property
    def fragile(self) -> list[Any]:
        """By new model, how few rows leave its weakest clear difference in doubt."""
        if not hasattr(self.fitted, "fragility"):
            return []
        table = self.contrasts
        clear = table[(table["low"] > 0) | (table["high"] < 0)]
        ratio = (clear["difference"] / clear["standard_error"]).abs()
        weakest = ratio.groupby(level="model").idxmin()
        answers = [
            self._closed_form(
                "fragility",
                model=model,
                opponent=weakest[model][1],
                goal="interval",
                level=self.level,
            )
            for model in self.new_models[:IN_FULL]
            if model in weakest
        ]
        return [one for one in answers if one is not None]

    @cached_property
    def diagnostics(self) -> Any:
        """Diagnostics of the fit; None for methods without."""
        return getattr(self.result, "diagnostics", None)

    @property
    def check(self) -> Any:
        """The tests of the intervals, where they were made."""
        return None if self.diagnostics is None else self.diagnostics.check

    # --------------------------------------------------------------- what was done
    @cached_property
    def rows(self) -> dict[str, int]:
        """Rows used: ``human`` votes and verdicts, and the ``unused`` ones."""
        if not isinstance(self.fitted, AnchorPipeline):
            # A row is counted for both of its models.
            human, judge = self.result.n_human.sum(), self.result.n_judge.sum()
            return {"human": int(human) // 2, "judge": int(judge) // 2}
        sample = self.fitted._distinct_sample
        X, used = sample.X, sample.counts
        rows = {
            "human": sample.number(used & X.is_human),
            "historical": sample.number(used & ~X.is_human & ~X.involves_new),
            "arrival": sample.number(used & ~X.is_human & X.involves_new),
        }
        rows["unused"] = sample.number(np.arange(len(sample))) - sum(rows.values())
        return rows

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """Features, groups, weights, ties and contexts of the table."""
        n_groups = None
        if isinstance(self.fitted, AnchorPipeline):
            n_groups = self.fitted._distinct_sample.n_groups
        return {**asdict(self.result.inputs), "n_groups": n_groups}

    @cached_property
    def judges(self) -> pd.DataFrame:
        """What the rows say of each judge; empty where it is not known."""
        if isinstance(self.fitted, AnchorPipeline):
            return self.fitted.summary().rename_axis("judge")
        is_placed = hasattr(self.fitted, "item_effects_")
        table = self.diagnostics.judges if is_placed else pd.DataFrame()
        return table.rename_axis("judge")

    @cached_property
    def item_effects(self) -> dict[str, Any] | None:
        """Whether intervals allow for item effects, why, and the test's p-value."""
        if isinstance(self.fitted, AnchorPipeline):
            choice = self.fitted._inference.choice
            decided = choice.item_effects, choice.reason, choice.p_value
        elif hasattr(self.fitted, "item_effects_"):
            decided = self.fitted.item_effects_, "as the history was fitted", math.nan
        else:
            return None
        return dict(zip(("reported", "reason", "p_value"), decided, strict=True))

    @cached_property
    def warnings(self) -> tuple[Warning, ...]:
        """Distinct warnings, and one for each threshold of the diagnostics crossed."""
        if not isinstance(self.fitted, RankingEstimator):
            return self.earlier
        after = getattr(self.fitted, "warnings_", ())
        # Of many similar warnings, five were issued and one about the others. Those
        # before the fit may hold these; the estimator holds all.
        issued = {(type(warning), str(warning)) for warning in in_short(after)}
        before = [one for one in self.earlier if (type(one), str(one)) not in issued]
        log = WarningLog()
        # The fit issues one warning for all thresholds; here they come one by one.
        log.found = [
            one for one in (*before, *after) if not isinstance(one, DiagnosticWarning)
        ]
        if self.diagnostics is not None:
            log.found += [
                DiagnosticWarning(statement, code=kind, subject=subject)
                for kind, statement, subject in self.diagnostics.findings()
            ]
        return tuple(log.distinct)

    @cached_property
    def short_warnings(self) -> list[str]:
        """Warnings; of many alike, five."""
        return [_line(one) for one in in_short(list(self.warnings))]

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
        known = inspect.signature(type(self.fitted)).parameters.values()
        defaults = {one.name: _plain(one.default) for one in known}
        items = self.settings.items()
        return {name: value for name, value in items if value != defaults.get(name)}

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of Python and of the packages that may change a number."""
        python = {"python": platform.python_version()}
        return python | {name: version(name) for name in PACKAGES}

    @property
    def input_hash(self) -> str | None:
        """SHA-256 of the rows that were read."""
        is_pipeline = isinstance(self.fitted, AnchorPipeline)
        return self.fitted._inference.cells.rows.digest if is_pipeline else None

    @property
    def is_placed(self) -> bool:
        """Whether a stored history has placed the new models."""
        return not hasattr(self.fitted, "fit") and hasattr(self.fitted, "item_effects_")


def _line(warning: Warning) -> str:
    return " ".join(str(warning).split())


def _plain(value: Any) -> Any:
    """Turn a parameter into a number, a text, or a short list of these."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) <= 20:
        return [_plain(item) for item in np.asarray(value, object).tolist()]
    # Anything else by its repr, on one line.
    return " ".join(repr(value).split())
