"""The facts of a run in one object: data, decisions, warnings, settings, versions."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skanchor._anchor import AnchorPipeline
from skanchor._battles import Inputs
from skanchor.exceptions import DiagnosticWarning
from skanchor.reports.answers import may_be_best
from skanchor.reports.tables import records_of
from skanchor.results import RankingResult
from skanchor.results.estimators import RankingEstimator
from skanchor.warning_log import WarningLog, in_short

PACKAGES = ("skanchor", "numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose version may change a number."""


_IDLE = ("n_jobs", "verbose")  # no number depends on them


@dataclass(frozen=True, eq=False)
class ItemEffects:
    """Whether the intervals allow for item effects, and why.

    Attributes
    ----------
    reported : {"none", "random"}
        Whether they are left out, or random.
    reason : str
        Why.
    p_value : float
        P-value of the test for item effects; NaN if there was no test.
    """

    reported: str
    reason: str
    p_value: float


@dataclass(frozen=True, eq=False)
class RunSummary:
    """The facts of a run: its data, its decisions, its warnings, and how to repeat it.

    :func:`summary_lines` turns it into text, :meth:`to_dict` into
    plain data for JSON.

    Attributes
    ----------
    method : str
        Name of the estimator, or of the result where no estimator is known.
    level : float
        Level of the set ``best``.
    models : mapping from str to list
        Labels of the ``historical``, ``new`` and ``undetermined`` models; an
        undetermined model is also one of the other two.
    rows : mapping from str to int
        Number of rows used: ``human`` votes, ``historical`` and ``arrival`` verdicts;
        and of the ``unused`` ones. From a result alone: ``human`` and ``judge`` rows.
    inputs : Inputs
        Features used, columns ignored, names of groups and weights.
    best : Series
        Models that may be the best at this level, with their probabilities; see
        :func:`may_be_best`.
    n_groups : int or None
        Number of groups of dependent rows; None without groups, or if not known.
    judges : DataFrame
        By judge: ``rows``, ``ties``, ``agreement``, ``sensitivity``,
        ``position_effect``, ``has_position_effect`` and the other columns of
        :meth:`skanchor.AnchorPipeline.summary`. Empty without an estimator.
    item_effects : ItemEffects or None
        Whether intervals allow for item effects; None for a method without them.
    warnings : tuple of Warning
        Warnings of reading the table and of the fit, with a ``DiagnosticWarning`` for
        each threshold that was crossed.
    settings, defaults : mapping
        Parameters of the estimator that may change a number, and their defaults.
    seed : object
        The ``random_state`` of the estimator.
    versions : mapping from str to str
        Versions of Python and of the packages that may change a number.
    input_hash : str or None
        SHA-256 of the rows that were read.
    folds : str
        Where the folds come from, if they are not those of this fit.
    """

    method: str
    level: float
    models: Mapping[str, list[Any]]
    rows: Mapping[str, int]
    inputs: Inputs
    best: pd.Series = field(default_factory=lambda: pd.Series(dtype=float))
    n_groups: int | None = None
    judges: pd.DataFrame = field(default_factory=pd.DataFrame)
    item_effects: ItemEffects | None = None
    warnings: tuple[Warning, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    seed: Any = None
    versions: Mapping[str, str] = field(default_factory=dict)
    input_hash: str | None = None
    folds: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the keys of ``docs/json.md``.

        Returns
        -------
        dict
            Nested dicts and lists of numbers and texts. Numbers may be of NumPy types.
        """
        return {
            "method": self.method,
            "models": {key: len(names) for key, names in self.models.items()},
            "undetermined": list(self.models["undetermined"]),
            "rows": dict(self.rows),
            "inputs": {**asdict(self.inputs), "n_groups": self.n_groups},
            "judges": records_of(self.judges, "judge"),
            "item_effects": self.item_effects and asdict(self.item_effects),
            "warnings": [
                {
                    "category": type(warning).__name__,
                    "code": getattr(warning, "code", ""),
                    "subject": list(getattr(warning, "subject", ())),
                    "message": str(warning),
                }
                for warning in self.warnings
            ],
            "settings": dict(self.settings),
            "seed": self.seed,
            "versions": dict(self.versions),
            "input_hash": self.input_hash,
            "folds": self.folds,
        }


def result_with_errors(fitted: Any) -> RankingResult:
    """The result of a fitted method, or the given one; refused without errors.

    Parameters
    ----------
    fitted : ranking estimator or result
        A fitted estimator, or its result.

    Returns
    -------
    RankingResult
    """
    if hasattr(fitted, "fit"):
        check_is_fitted(fitted)
    result = getattr(fitted, "result_", fitted)
    if not isinstance(result, RankingResult):
        raise TypeError(
            "A report needs a fitted method with standard errors, such as "
            f"AnchorPipeline; {type(fitted).__name__} has none. Its leaderboard() has "
            "its scores and ranks."
        )
    return result


def summarize(
    fitted: Any,
    level: float = 0.95,
    *,
    earlier: Sequence[Warning] = (),
) -> RunSummary:
    """Summarise a run.

    Parameters
    ----------
    fitted : AnchorPipeline, other ranking estimator, or RankingResult
        A fitted estimator, or its result, which has models and inputs but no judges,
        settings and warnings.
    level : float, default=0.95
        Confidence level.
    earlier : sequence of Warning, default=()
        Warnings from before the fit, such as those of reading; they are listed first.

    Returns
    -------
    RunSummary
    """
    result = result_with_errors(fitted)
    known: dict[str, Any] = {
        "method": type(fitted).__name__,
        "level": level,
        "models": _models_of(result),
        "rows": _rows_of(result),
        "inputs": result.inputs,
        "best": may_be_best(result, level),
        "versions": _versions(),
        "warnings": tuple(earlier),
    }
    if isinstance(fitted, RankingEstimator):
        parameters = fitted.get_params(deep=False)
        known["settings"] = {
            name: _plain_setting(value)
            for name, value in parameters.items()
            if name not in _IDLE
        }
        known["defaults"] = _defaults_of(fitted)
        known["seed"] = _plain_setting(parameters.get("random_state"))
        known["warnings"] = _warnings_of(fitted, earlier)
    if isinstance(fitted, AnchorPipeline):
        known |= _facts_of(fitted)
    elif hasattr(fitted, "item_effects_"):
        # New models ranked by a stored history, which decided on item effects.
        known["item_effects"] = ItemEffects(
            fitted.item_effects_, "as the history was fitted", np.nan
        )
        known["folds"] = (
            "those of the history. A fit of all rows at once draws other folds, so its "
            "scores are not exactly these; they differ by far less than the errors"
        )
        known["judges"] = fitted.result_.diagnostics.judges
    return RunSummary(**known)


def _facts_of(pipeline: AnchorPipeline) -> dict[str, Any]:
    """Facts that only a pipeline has: rows by kind, judges, item effects, the hash."""
    sample, choice = pipeline._distinct_sample, pipeline._inference.choice
    X, used = sample.X, sample.counts
    rows = {
        "human": sample.number(used & X.is_human),
        "historical": sample.number(used & X.is_historical_judge_row),
        "arrival": sample.number(used & ~X.is_human & X.involves_new),
    }
    rows["unused"] = sample.number(np.arange(len(sample))) - sum(rows.values())
    return {
        "rows": rows,
        "n_groups": sample.n_groups,
        "judges": pipeline.summary(),
        "item_effects": ItemEffects(choice.item_effects, choice.reason, choice.p_value),
        "input_hash": pipeline._inference.cells.digest,
    }


def _models_of(result: RankingResult) -> dict[str, list[Any]]:
    models, is_new = result.models, result.is_new
    return {
        "historical": models[~is_new].tolist(),
        "new": models[is_new].tolist(),
        "undetermined": models[~result.determined].tolist(),
    }


def _rows_of(result: RankingResult) -> dict[str, int]:
    # A row is counted for both of its models.
    human, judge = int(result.n_human.sum()) // 2, int(result.n_judge.sum()) // 2
    return {"human": human, "judge": judge}


def _warnings_of(
    fitted: RankingEstimator, earlier: Sequence[Warning]
) -> tuple[Warning, ...]:
    """Distinct warnings, and one `DiagnosticWarning` for each threshold crossed."""
    own = getattr(fitted, "warnings_", ())
    # Of many similar warnings, five were issued and one about the others (`in_short`).
    # `earlier` may hold these; `own` holds all of them.
    issued = {(type(warning), str(warning)) for warning in in_short(own)}
    before = [each for each in earlier if (type(each), str(each)) not in issued]
    log = WarningLog()
    log.found = [
        warning
        for warning in (*before, *own)
        # The fit issues one warning for all thresholds; below they come one by one.
        if not isinstance(warning, DiagnosticWarning)
    ]
    diagnostics = getattr(fitted.result_, "diagnostics", None)
    if diagnostics is not None:
        log.found += [
            DiagnosticWarning(statement, code=kind, subject=subject)
            for kind, statement, subject in diagnostics.findings()
        ]
    return tuple(log.distinct)


def _versions() -> dict[str, str]:
    known = {"python": platform.python_version()}
    return known | {name: version(name) for name in PACKAGES}


def _defaults_of(fitted: RankingEstimator) -> dict[str, Any]:
    known = inspect.signature(type(fitted)).parameters.values()
    return {
        p.name: _plain_setting(p.default) for p in known if p.default is not p.empty
    }


def _plain_setting(value: Any) -> Any:
    """Turn a parameter into a number, a text, or a short list of these."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) <= 20:
        return [_plain_setting(item) for item in np.asarray(value, object).tolist()]
    # Anything else by its repr, on one line.
    return " ".join(repr(value).split())
