"""What a run was: one object with one place for each fact."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from skanchor._anchor import AnchorPipeline
from skanchor._comparisons import Inputs
from skanchor._ranking import RankingEstimator
from skanchor.exceptions import DiagnosticWarning
from skanchor.reports.best import may_be_best
from skanchor.results import RankingResult
from skanchor.warning_log import WarningLog, in_short

PACKAGES = ("skanchor", "numpy", "scipy", "scikit-learn", "pandas")
"""Packages whose version may move a number."""


_IDLE = ("n_jobs", "verbose")  # no number depends on them


@dataclass(frozen=True, eq=False)
class ItemEffects:
    """What was decided about deviations of judges from single models.

    Attributes
    ----------
    reported : {"none", "random", "conservative", "given"}
        The treatment that intervals are of.
    reason : str
        Why it is this one.
    p_value : float
        Of the test for such deviations; NaN where there is none.
    others : mapping from str to DataFrame
        Intervals of the new models under the other treatments, ``low`` and ``high`` in
        logits.
    """

    reported: str
    reason: str
    p_value: float
    others: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RunSummary:
    """What a run was: what went in, what was decided, and what to know of it.

    :func:`skanchor.reports.summary_lines` says it in words, :meth:`to_dict` gives
    plain data for JSON.

    Attributes
    ----------
    method : str
        Name of the estimator, or of the result where no estimator is known.
    level : float
        Confidence level of the intervals in ``item_effects``.
    models : mapping from str to list
        Labels of the ``historical``, ``new`` and ``undetermined`` models; the latter
        are among the former.
    rows : mapping from str to int
        Rows that were used: ``human`` votes, ``historical`` and ``arrival`` verdicts;
        and the rows that were read and ``unused``.
    inputs : Inputs
        Features used, columns ignored, names of groups and weights.
    best : Series
        Models that may be the best, with their probabilities, at the level; see
        :func:`skanchor.reports.may_be_best`.
    n_groups : int or None
        Number of groups of dependent rows; None without groups, or if not known.
    judges : DataFrame
        By judge: ``rows``, ``ties``, ``agreement``, ``sensitivity``,
        ``position_effect``, ``has_position_effect`` and what else
        :meth:`skanchor.AnchorPipeline.summary` gives. Empty without an estimator.
    item_effects : ItemEffects or None
        The decision; None for a method that knows none.
    warnings : tuple of Warning
        What reading and fit have warned of, a ``DiagnosticWarning`` for each threshold
        crossed.
    settings, defaults : mapping
        Parameters of the estimator that numbers may depend on, and what they are if
        not given.
    seed : object
        Its ``random_state``.
    versions : mapping from str to str
        Of Python and of the packages that numbers depend on.
    input_hash : str or None
        SHA-256 of the rows that were read.
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

    def to_dict(self, words: Callable[[Warning], str] = str) -> dict[str, Any]:
        """Plain data, as the page on JSON says.

        Parameters
        ----------
        words : callable, default=str
            What puts a warning in words; a face other than Python has its own.

        Returns
        -------
        dict
            Of numbers, texts, lists and dicts, numbers perhaps those of NumPy.
        """
        items = self.item_effects
        return {
            "method": self.method,
            "models": {key: len(names) for key, names in self.models.items()},
            "undetermined": list(self.models["undetermined"]),
            "rows": dict(self.rows),
            "inputs": {**asdict(self.inputs), "n_groups": self.n_groups},
            "judges": self.judges.rename_axis("judge").reset_index().to_dict("records")
            if len(self.judges)
            else [],
            "item_effects": None
            if items is None
            else {
                "reported": items.reported,
                "reason": items.reason,
                "p_value": items.p_value,
                "other_intervals": {
                    name: [
                        {"model": model, **row}
                        for model, row in table.to_dict("index").items()
                    ]
                    for name, table in items.others.items()
                },
            },
            "warnings": [
                {"category": type(warning).__name__, "message": words(warning)}
                for warning in self.warnings
            ],
            "settings": dict(self.settings),
            "seed": self.seed,
            "versions": dict(self.versions),
            "input_hash": self.input_hash,
        }


def summarize(
    fitted: Any,
    level: float = 0.95,
    *,
    other_intervals: bool = True,
    earlier: Sequence[Warning] = (),
) -> RunSummary:
    """Summarise a run.

    Parameters
    ----------
    fitted : AnchorPipeline, other ranking estimator, or RankingResult
        Fitted. A result knows the models and the inputs, but not judges, settings and
        warnings.
    level : float, default=0.95
        Confidence level.
    other_intervals : bool, default=True
        Whether to compute the intervals under the treatments of the item effects that
        are not reported, which may take as long as the fit.
    earlier : sequence of Warning, default=()
        What was warned of before the fit, such as in reading, to be listed first.

    Returns
    -------
    RunSummary

    Examples
    --------
    >>> from skanchor import AnchorPipeline
    >>> from skanchor.datasets import load_demo
    >>> from skanchor.reports import summarize
    >>> X, y = load_demo(return_X_y=True)
    >>> summary = summarize(AnchorPipeline(random_state=0).fit(X, y))
    >>> summary.rows
    {'human': 1100, 'historical': 2200, 'arrival': 700, 'unused': 0}
    >>> summary.item_effects.reported
    'none'
    """
    result = fitted if isinstance(fitted, RankingResult) else fitted.result_
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
        known |= _facts_of(fitted, level, other_intervals)
    elif hasattr(fitted, "item_effects_"):
        known["item_effects"] = ItemEffects(
            fitted.item_effects_, "as the history was fitted", np.nan
        )
        known["judges"] = fitted.result_.diagnostics.judges
    return RunSummary(**known)


def _facts_of(
    pipeline: AnchorPipeline, level: float, other_intervals: bool
) -> dict[str, Any]:
    """What only a pipeline knows: rows by kind, judges, item effects, the input."""
    sample, chosen = pipeline.sample_, pipeline.treatments_
    X, used = sample.X, sample.counts
    rows = {
        "human": int((used & X.is_human).sum()),
        "historical": int((used & X.is_historical_judge_row).sum()),
        "arrival": int((used & ~X.is_human & X.involves_new).sum()),
    }
    rows["unused"] = len(sample) - sum(rows.values())
    names = [n for n in chosen.names if n != chosen.reported and other_intervals]
    with WarningLog():
        # A treatment that is not reported need not be warned of.
        others = {name: pipeline.results_[name].conf_int(level) for name in names}
    return {
        "rows": rows,
        "n_groups": sample.n_groups,
        "judges": pipeline.summary(),
        "item_effects": ItemEffects(
            chosen.reported, chosen.reason, chosen.p_value, others
        ),
        "input_hash": pipeline.input_hash_,
    }


def _models_of(result: RankingResult) -> dict[str, list[Any]]:
    models, is_new = result.models, result.is_new
    return {
        "historical": models[~is_new].tolist(),
        "new": models[is_new].tolist(),
        "undetermined": models[result.unbounded].tolist(),
    }


def _rows_of(result: RankingResult) -> dict[str, int]:
    # Both sides of a row count it.
    human, judge = int(result.n_human.sum()) // 2, int(result.n_judge.sum()) // 2
    return {"human": human, "judge": judge}


def _warnings_of(
    fitted: RankingEstimator, earlier: Sequence[Warning]
) -> tuple[Warning, ...]:
    """Each warning once, and each threshold crossed on its own."""
    own = getattr(fitted, "warnings_", ())
    # Of many alike, what was issued is the first five and a word about the others.
    issued = {(type(warning), str(warning)) for warning in in_short(own)}
    before = [each for each in earlier if (type(each), str(each)) not in issued]
    log = WarningLog()
    log.found = [
        warning
        for warning in (*before, *own)
        if not isinstance(warning, DiagnosticWarning)
    ]
    diagnostics = getattr(fitted.result_, "diagnostics", None)
    if diagnostics is not None:
        log.found += map(DiagnosticWarning, diagnostics.messages())
    return tuple(log.distinct)


def _versions() -> dict[str, str]:
    known = {"python": platform.python_version()}
    return known | {name: version(name) for name in PACKAGES}


def _defaults_of(fitted: RankingEstimator) -> dict[str, Any]:
    known = inspect.signature(type(fitted)).parameters.values()
    return {p.name: p.default for p in known if p.default is not p.empty}


def _plain_setting(value: Any) -> Any:
    """Turn a parameter into a number or a text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) <= 20:
        return [_plain_setting(item) for item in np.asarray(value, object).tolist()]
    return " ".join(repr(value).split())
