"""The diagnostics of a fit, and in words which thresholds they cross."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from skanchor._battles import HUMAN
from skanchor._diagnostics.arrivals import DISAGREE, TOGETHER, ArrivalCheck
from skanchor._diagnostics.interval_check import IntervalCheck
from skanchor.exceptions import DiagnosticWarning
from skanchor.warning_log import in_short, is_heard, warn

KINDS = (
    "item-effects", "scale", "weak-judge", "few-votes", "information", "overlap",
    "influence", "correction", "beyond", "self-judged", "change", "curved-scale",
    "ties", "disagreement",
)  # fmt: skip
"""What a finding may be about."""

SENSITIVITY_Z = 3.0
"""Sensitivity over its standard error."""

CHANGED = 0.01
"""P-value, among all judges, of a change on the rows of new models."""

APART, APART_Z = 0.2, 3.0
"""Difference between a judge's level of ties and that of people, and that over its
standard error, beyond which it is reported."""


class _Rule(NamedTuple):
    """A finding about a number, or each entry of a column, that lies beyond a limit.

    The text has the label of the entry as ``name``, and ``value``, ``row``, ``unit``
    and ``times``, how many times as many rows would be enough.
    """

    kind: str
    table: str
    column: str
    low: float
    high: float
    text: str


_INFORMATION = (
    " {name!r}: features tell models apart so well that only {value:.1%} of the "
    "information on it is left. Use fewer features or a simpler bias."
)
_RULES = (
    _Rule(
        "item-effects", "", "item_p", 0.01, np.inf,
        "Judges deviate from models in ways that score and features do not explain "
        "(p = {value:.2g}), which these intervals leave out: they are likely too "
        "short.",
    ),
    # Below, even intervals on the log scale of the scores miss mostly on one side.
    _Rule(
        "scale", "", "scale_z", 3.0, np.inf,
        "The human votes hardly determine the scale of the scores: it is {value:.2g} "
        "standard errors from zero. Intervals that miss the true score then lie too "
        "near zero. {times:.2g} times as many votes would be enough.",
    ),
    # Intervals are about so much too short: at .9 they cover .92, at .86 .87 did in a
    # simulation, at .77 .73.
    _Rule(
        "scale", "", "ridge_share", 0.9, np.inf,
        "The ridge shrinks the differences of the human scores to {value:.0%} of those "
        "that the correction finds, and intervals are too short by about the same "
        "factor. Choose a smaller ridge.",
    ),
    _Rule(
        "weak-judge", "judges", "sensitivity_z", SENSITIVITY_Z, np.inf,
        "Judge {name!r} does not tell models apart as people do: its sensitivity is "
        "{value:.2g} times its standard error.",
    ),
    # The variance that the error of one human score brings into the score differences
    # by which judges are calibrated, in their own: .002 where votes are plenty, .04 for
    # one model of ten with a dozen, .06 for the worst of three such, which cost a third
    # more error.
    _Rule(
        "few-votes", "historical", "score_noise", -np.inf, 0.03,
        "Historical model {name!r} has {row[votes]:.0f} human votes: the error of its "
        "human score is {row[human_error]:.2f} logits. Judges are calibrated to it, so "
        "that it affects all new models. Fit people and judges jointly, add votes, or "
        "treat the model as new.",
    ),
    # Share of a gradient that the bias functions leave.
    *(
        _Rule("information", table, "residual_share", 0.05, np.inf, what + _INFORMATION)
        for table, what in (
            ("judges", "Judge"),
            ("models", "New model"),
            ("historical", "Historical model"),
        )
    ),
    # Share of the arrival rows, and effective share of the historical ones once they
    # are weighted like arrivals.
    _Rule(
        "overlap", "judges", "outside_features", -np.inf, 0.1,
        "Judge {name!r}: a feature of the new models lies outside the range of its "
        "historical rows in {value:.0%} of the rows; its bias is extrapolated there.",
    ),
    _Rule(
        "overlap", "judges", "effective_share", 0.1, np.inf,
        "Judge {name!r}: the features of the new models are rare among its historical "
        "rows (effective share {value:.1%}).",
    ),
    _Rule(
        "influence", "models", "largest_influence", -np.inf, 0.1,
        "One {unit} carries {value:.0%} of the variance of new model {name!r}.",
    ),
    _Rule(
        "correction", "models", "correction_z", -3.0, 3.0,
        "The correction moves new model {name!r} by {value:+.1f} standard errors: the "
        "fitted judges do not describe its rows.",
    ),
    _Rule(
        "beyond", "models", "outside_scores", -np.inf, 0.5,
        "New model {name!r} lies far beyond the historical scores ({value:.0%} of "
        "their range), where no historical model shows how judges respond.",
    ),
    _Rule(
        "self-judged", "models", "self_judged", -np.inf, 0.0,
        "New model {name!r} gave {value:.0%} of the verdicts on itself. Its interval "
        "does not allow for a favour of its own answers. Leave these rows out if other "
        "judges have compared it.",
    ),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What to look at before trusting an interval.

    Attributes
    ----------
    judges : DataFrame
        By judge. ``sensitivity_error`` and ``sensitivity_z``: standard error of the
        sensitivity, and the sensitivity over it (warns below 3). ``residual_share`` of
        the sensitivity's gradient that the bias functions cannot imitate (warns below
        .05). ``pearson``, ``pearson_df``, ``pearson_p``: chi-square of the verdicts
        summed by pair of historical models. ``item_chi2``, ``item_df``, ``item_p``:
        the same summed by model, which sees item effects best. ``outside_features``:
        share of arrival rows in which the worst feature lies outside the range of the
        historical rows (warns above .1). ``effective_share``, ``largest_ratio``:
        effective sample size, as a share, and largest weight of the historical rows
        when weighted towards the arrivals (warns below .1).
    models : DataFrame
        By new model. ``residual_share`` of the score's gradient (warns below .05);
        ``largest_influence``, share of the variance from one row, or from one group
        where there are groups (warns above .1);
        ``correction_z``, correction over the standard error (warns above 3 in size);
        ``outside_scores``, distance beyond the historical scores as a share of their
        range (warns above .5); ``self_judged``, share of the verdicts on the model from
        a judge of its own name (warns above 0); ``df``, degrees of freedom of the
        interval.
    deviations : DataFrame
        By judge and model, with item effects: ``deviation``, how far the judge
        overrates the model beyond score and features, and its ``standard_error``, both
        in judge logits. Empty without item effects.
    item_p : float
        P-value of the item-effects check over all judges; small when judges like or
        dislike models in ways that score and features do not explain (warns below .01
        where the intervals leave this out).
    scale_z : float
        One over the standard error of the logarithm of the scale of the historical
        scores (warns below 3). People alone fix that scale, and it grows with the root
        of the number of their votes: it says how many are needed.
    ridge_share : float
        How far apart a ridge on the human scores leaves them, in the distances of the
        corrected scores (warns below .9); one without a ridge.
    arrivals : ArrivalCheck
        Whether judges treat new models as they treat old ones, ``arrivals.changes``
        (warns below .01), and whether they agree about them, ``arrivals.models`` (warns
        below .01, and by default widens the interval); whether a judge's log-odds are
        in proportion to score differences, ``arrivals.curvature`` (warns below .01).
        The attributes of each are columns.
    historical : DataFrame
        By historical model. ``votes`` of people; ``human_error``, standard error of its
        human score; ``score_noise``, the variance that this error brings into the score
        differences by which judges are calibrated, in their own (warns above .03).
        Where people have a bias, ``residual_share`` of what votes say of the model
        that its style cannot imitate (warns below .05).
    ties : DataFrame
        By source, ``"human"`` and the judges: ``rows``, ``ties``, ``both_bad``, and
        ``level``, by how much the log-odds of a tie rise with the mean score of the
        two models, with its ``level_error``. Where a judge's level differs from that of
        people by more than .2 and three standard errors, it warns: half-wins then bend
        the scale. It is NaN for a judge that graded its verdicts on new models alone,
        or on historical ones alone.
    style : DataFrame
        By column of people's bias, where it is linear: ``coefficient`` in human logits
        per unit of the column, ``standard_error``, ``z``. Empty without one.
    grouped : bool
        Whether rows depend on each other by group.
    with_items : bool
        Whether the intervals take item effects into account.
    check : IntervalCheck or None
        Tests of the intervals on historical models that were left out; see
        :func:`skanchor.evaluation.check_intervals`.
    """

    judges: pd.DataFrame
    models: pd.DataFrame
    deviations: pd.DataFrame
    item_p: float
    arrivals: ArrivalCheck
    scale_z: float = np.nan
    ridge_share: float = 1.0
    historical: pd.DataFrame = field(default_factory=pd.DataFrame)
    ties: pd.DataFrame = field(default_factory=pd.DataFrame)
    style: pd.DataFrame = field(default_factory=pd.DataFrame)
    grouped: bool = False
    with_items: bool = False
    check: IntervalCheck | None = None

    def __repr__(self) -> str:
        lines = [f"item effects: p = {self.item_p:.3g}"]
        if self.check is not None:
            lines.append(
                f"coverage of the models left out: {self.check.coverage:.0%} (human "
                f"scores taken as exact: {self.check.covered:.0%})"
            )
        return "\n".join([*lines, *(self.messages() or ["no threshold is crossed"])])

    def messages(self) -> list[str]:
        """Say in words which thresholds are crossed."""
        return list(map(str, self.findings()))

    def findings(self) -> list[DiagnosticWarning]:
        """One warning for each threshold that is crossed, not issued.

        Returns
        -------
        list of DiagnosticWarning
            The ``code`` is a member of `KINDS`, the ``subject`` has models and judges.
        """
        parts = self._beyond_limits(), self._changes(), self._ties(), self._split()
        return sorted(chain(*parts), key=lambda finding: KINDS.index(finding.code))

    def _beyond_limits(self) -> Iterator[DiagnosticWarning]:
        unit = "group" if self.grouped else "row"
        for kind, name, column, low, high, text in _RULES:
            table = getattr(self, name) if name else pd.DataFrame({column: [None]})
            if column not in table or (kind == "item-effects" and self.with_items):
                continue
            values = table[column] if name else [getattr(self, column)]
            values = np.asarray(values, dtype=np.float64)
            beyond = np.isfinite(values) & ((values < low) | (values > high))
            for at in np.flatnonzero(beyond):
                value, about = values[at], table.index.tolist()[at]
                times = (low / max(value, 1e-3)) ** 2
                statement = text.format(
                    name=about, value=value, row=table.iloc[at], unit=unit, times=times
                )
                subject = (about,) if name else ()
                yield DiagnosticWarning(statement, code=kind, subject=subject)

    @property
    def _determined(self) -> pd.Index:
        """New models of finite error: what judges make of others is anything."""
        return self.models.index[self.models["largest_influence"] > 0]

    def _changes(self) -> Iterator[DiagnosticWarning]:
        """What judges do otherwise than the fit assumes."""
        if not len(self._determined):
            return
        table = self.arrivals.changes
        table = table[table["p_adjusted"] < CHANGED].sort_values("p_value")
        # What all share need not be said of each, nor the other way round.
        is_shared = table.index.get_level_values("judge") == TOGETHER
        table = table[:1] if is_shared[:1].any() else table[~is_shared]
        for key, row in table.iterrows():
            judge, change = cast("tuple[Any, str]", key)
            who, about = f"Judge {judge!r}", [judge, row["model"]]
            if judge == TOGETHER:
                who, about = "Every judge", [row["model"]]
            what = (
                f"favours the side shown first by {row['value']:+.2f} logits on the "
                "rows of new models, against the historical rows"
            )
            if change == "sensitivity":
                way = "the wrong way round, " * (row["value"] < 0)
                what = (
                    f"tells models apart {way}{abs(row['value']):.2f} times as sharply "
                    "on the rows of new models as in the historical rows"
                )
            text = (
                f"{who} {what} (p = {row['p_adjusted']:.1g}), as if version or prompt "
                f"had changed.{_moved(row)}"
            )
            yield DiagnosticWarning(text, code="change", subject=about)
        curved = self.arrivals.curvature
        # What tells models apart weakly has no scale that could be looked at.
        is_clear = self.judges["sensitivity_z"].reindex(curved.index) >= SENSITIVITY_Z
        curved = curved[(curved["p_adjusted"] < CHANGED) & is_clear]
        for judge, row in curved.iterrows():
            how = "less" if row["value"] > 0 else "more"
            text = (
                f"Judge {judge!r} distinguishes models that are far apart {how} "
                "sharply than its verdicts on close models suggest (p = "
                f"{row['p_adjusted']:.1g}), but the fit assumes log-odds in proportion "
                f"to the score difference.{_moved(row)}"
            )
            about = [judge, row["model"]] if _moved(row) else [judge]
            yield DiagnosticWarning(text, code="curved-scale", subject=about)

    def _ties(self) -> Iterator[DiagnosticWarning]:
        if self.ties.empty:
            return
        people, judges = self.ties.loc[HUMAN], self.ties.drop(index=HUMAN)
        gaps = judges["level"] - people["level"]
        error = np.hypot(judges["level_error"], people["level_error"])
        gaps = gaps[(gaps.abs() > APART) & (gaps.abs() > APART_Z * error)]
        if len(gaps):
            judge = gaps.index[int(gaps.abs().argmax())]
            others = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
            text = (
                "How often two models tie depends on how good they are. Per logit of "
                "their mean score, the log-odds of a tie change by "
                f"{people['level']:+.2f} where people vote, and by "
                f"{judges['level'][judge]:+.2f} with judge '{judge!s}'{others}. Scores "
                "of models near either end of the leaderboard may be biased, as a "
                "tie counts as half a win."
            )
            yield DiagnosticWarning(text, code="ties", subject=gaps.index)

    def _split(self) -> Iterator[DiagnosticWarning]:
        """New models about which judges disagree."""
        table = self.arrivals.models
        is_split = (table["p_value"] < DISAGREE) & table.index.isin(self._determined)
        for model, row in table[is_split].iterrows():
            error = "does not allow for that"
            if row["scale"] > 1.0:
                error = f"is scaled up by {row['scale']:.1f}"
            text = (
                f"Judges disagree about {model!r} more than chance allows: they place "
                f"it from {row['lowest']:.1f} to {row['highest']:.1f} (p = "
                f"{row['p_value']:.1g}). Its error {error}."
            )
            yield DiagnosticWarning(text, code="disagreement", subject=[model])

    def warn(self) -> None:
        """Warn of the thresholds crossed, in one warning."""
        findings = self.findings() if is_heard(DiagnosticWarning) else []
        if not findings:
            return
        kinds, text = (
            {finding.code for finding in findings},
            [*map(str, in_short(findings))],
        )
        if "curved-scale" in kinds:
            text.append(
                "Compare with item_effects set to random, and look at the plot of "
                "item effects, ItemDeviationDisplay."
            )
        if "ties" in kinds:
            text.append("Compare with ties set to drop.")
        subject = [label for finding in findings for label in finding.subject]
        warn(DiagnosticWarning(" ".join(text), code="diagnostics", subject=subject))


def _moved(row: pd.Series) -> str:
    """What a parameter that the fit leaves out would change; empty if nothing."""
    if not np.isfinite(row["shift"]):
        return ""
    return (
        f" Taking this into account changes the score of {row['model']!r} by "
        f"{row['shift']:+.2f}."
    )
