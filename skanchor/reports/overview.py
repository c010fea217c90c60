"""What a table of battles was understood to hold, before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skanchor._admission import admit_to_inference
from skanchor._anchor import AnchorPipeline
from skanchor._battles import Comparisons, as_frame, decide_roles
from skanchor._model.graph import components
from skanchor._text import printable
from skanchor.exceptions import BattlesError
from skanchor.reports.answers import number_of
from skanchor.reports.tables import records_of
from skanchor.sample import Battles, Sample
from skanchor.warning_log import WarningLog

_LISTED = 10
"""Largest number of models, judges or features that a line lists."""

_KEYS = {"parts": "connected_by_people"}
"""Keys of the plain data that are not the names of the attributes."""


@dataclass(frozen=True, eq=False)
class Overview:
    """What a table of battles was understood to hold.

    Attributes
    ----------
    rows : dict
        Number of ``human`` rows, of ``judge`` rows, and of rows without a use.
    models : DataFrame
        By model: ``is_new`` (it has no human row), rows ``n_human`` and ``n_judge``.
    judges : DataFrame
        By judge: ``rows``, share of ``ties``, ``first_side_rate`` (share of decided
        rows won by the side shown first; NaN if no order is known), ``both_orders``
        (share of its pairs that it saw in both orders), ``new_models`` it compared.
    n_raters : int or None
        Number of people, where a column tells them apart.
    outcomes : dict
        Number of rows ``first``, ``second``, ``tie``, ``both_bad`` (also counted as
        ties) and ``graded`` (numbers between those).
    features, ignored : list of str
        Names of the features, and columns that are not used.
    groups : dict or None
        ``name`` of what groups the rows, their number ``n`` and the ``largest`` one.
    order_known : float
        Share of rows whose display order is known.
    parts : list of list
        Models that human rows connect, the largest part first.
    left_out : list of Warning
        What a fit would warn of before it begins: copies, rows, models and judges that
        are not used.
    refusal : BattlesError or None
        Why a fit would refuse the table.
    """

    rows: dict[str, int]
    models: pd.DataFrame
    judges: pd.DataFrame
    n_raters: int | None
    outcomes: dict[str, int]
    features: list[str]
    ignored: list[str]
    groups: dict[str, Any] | None
    order_known: float
    parts: list[list[Any]]
    left_out: list[Warning]
    refusal: BattlesError | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        names = [each.name for each in fields(self)]
        found = {_KEYS.get(name, name): getattr(self, name) for name in names}
        return {
            **found,
            "models": records_of(self.models, "model"),
            "judges": records_of(self.judges, "judge"),
            "left_out": [str(each) for each in self.left_out],
            "refusal": self.refusal and str(self.refusal),
        }

    def lines(self) -> list[str]:
        """Return lines of text."""
        new = self.models.index[self.models["is_new"]].tolist()
        old = self.models.index[~self.models["is_new"]].tolist()
        out, parts = self.outcomes, self.parts
        lines = [
            f"Rows: {self.rows['human']} by people, {self.rows['judge']} by judges.",
            f"Models with human rows: {_some(old)}.",
            f"New models, without any: {_some(new)}.",
        ]
        if self.n_raters is not None:
            lines.append(f"People: {self.n_raters}, told apart by 'rater'.")
        lines.append(f"Judges: {len(self.judges)}.")
        for judge, row in self.judges.head(_LISTED).iterrows():
            first = row["first_side_rate"]
            side = "" if np.isnan(first) else f", first side wins {first:.0%}"
            lines.append(
                f"  {judge}: {row['rows']:.0f} rows, {row['ties']:.0%} ties{side}, "
                f"{row['both_orders']:.0%} of its pairs of models in both orders, "
                f"{number_of(int(row['new_models']), 'new model')}."
            )
        if len(self.judges) > _LISTED:
            lines.append(f"  and {len(self.judges) - _LISTED} more.")
        bad = f" ({out['both_bad']} both bad)" if out["both_bad"] else ""
        graded = f", {out['graded']} graded between" if out["graded"] else ""
        lines += [
            f"Outcomes: {out['first']} for the first model, {out['second']} for the "
            f"second, {out['tie']} ties{bad}{graded}.",
            f"Features: {_some(self.features)}.",
            f"Columns ignored: {_some(self.ignored)}.",
            "Groups: none; rows count as independent."
            if self.groups is None
            else f"Groups: {self.groups['n']} by {self.groups['name']}, the largest of "
            f"{self.groups['largest']} rows.",
            f"Display order: known in {self.order_known:.0%} of rows.",
            "Connectivity: human rows join all models that have them."
            if len(parts) <= 1
            else f"Connectivity: human rows leave {len(parts)} separate groups of "
            f"models: {'; '.join(_some(part) for part in parts[:3])}.",
        ]
        n = len(self.left_out)
        lines.append(
            f"Before a fit: {number_of(n, 'warning') if n else 'no warnings'}."
        )
        lines += [f"  - {each}" for each in self.left_out]
        if self.refusal is not None:
            lines.append(f"A fit is refused: {self.refusal}")
        return [printable(" ".join(line.split()) if line[0] != " " else line)
                for line in lines]  # fmt: skip


def overview(
    X: Battles,
    y: ArrayLike,
    groups: ArrayLike | str | None = "auto",
    new_models: Sequence[Any] | None = None,
) -> Overview:
    """Describe a table of battles as a fit would understand it, without fitting.

    Parameters
    ----------
    X : battles table
        One row per comparison.
    y : array-like of shape (n_rows,)
        Outcomes.
    groups : array-like of shape (n_rows,), str or None, default="auto"
        As in :meth:`skanchor.AnchorPipeline.fit`.
    new_models : sequence of labels, optional
        As in :class:`skanchor.AnchorPipeline`.

    Returns
    -------
    Overview

    Raises
    ------
    BattlesError
        If the table cannot be encoded.
    """
    refusal = None
    with WarningLog() as log:
        sample = Sample.admit(X, y, None, groups)
        stages = AnchorPipeline().stages()
        try:
            admit_to_inference(
                sample, stages.btl, stages.calibrator.bias, new_models, jointly=True
            )
        except BattlesError as error:
            refusal = error
    rows = decide_roles(sample.X, sample.weight, new_models)
    used, y = rows.is_usable & (sample.weight > 0), sample.y
    human = used & rows.is_human
    bad = sample.outcomes.both_bad
    frame = as_frame(X)
    n_raters = None
    if frame is not None and "rater" in frame.columns:
        n_raters = frame["rater"].drop_nulls().n_unique()
    groups_found = None
    if sample.groups is not None:
        sizes = np.bincount(sample.groups)
        name = sample.inputs.groups if sample.inputs is not None else "an array"
        groups_found = {"name": name, "n": len(sizes), "largest": int(sizes.max())}
    n_human = rows.appearances(human)
    models = pd.DataFrame(
        {
            "is_new": rows.is_new,
            "n_human": n_human.astype(int),
            "n_judge": rows.appearances(used & ~rows.is_human).astype(int),
        },
        index=pd.Index(rows.models, name="model"),
    )
    return Overview(
        rows={
            "human": int(human.sum()),
            "judge": int((used & ~rows.is_human).sum()),
            "unused": int((~used).sum()),
        },
        models=models[(models["n_human"] + models["n_judge"]) > 0],
        judges=_judges_part(rows, y, used),
        n_raters=n_raters,
        outcomes={
            "first": int((y == 1.0).sum()),
            "second": int((y == 0.0).sum()),
            "tie": int((y == 0.5).sum()),
            "both_bad": 0 if bad is None else int(bad.sum()),
            "graded": int((~np.isin(y, [0.0, 0.5, 1.0])).sum()),
        },
        features=list(rows.feature_names),
        ignored=[] if sample.inputs is None else list(sample.inputs.ignored),
        groups=groups_found,
        order_known=float(np.mean(rows.order != 0.0)),
        parts=_connected_parts(rows, human),
        left_out=list(log.distinct),
        refusal=refusal,
    )


def _judges_part(
    X: Comparisons, y: NDArray[Any], used: NDArray[np.bool_]
) -> pd.DataFrame:
    """Facts of each judge, by judge."""
    found = {}
    for code, judge in enumerate(X.judges.tolist()):
        at = np.flatnonzero(used & (X.judge == code))
        left, right, order, won = X.left[at], X.right[at], X.order[at], y[at]
        decided = (won != 0.5) & (order != 0.0)
        # The side shown first wins if the order is +1 and the first model wins.
        first_wins = (won > 0.5) == (order > 0.0)
        pairs = pd.DataFrame(
            {
                "low": np.minimum(left, right),
                "high": np.maximum(left, right),
                # Which model was shown first, in terms of the pair.
                "way": np.where(left < right, order, -order),
            }
        )
        ways = pairs[pairs["way"] != 0.0].groupby(["low", "high"])["way"].nunique()
        n_pairs = len(pairs[["low", "high"]].drop_duplicates())
        new = np.unique(np.concatenate([left, right]))
        found[judge] = {
            "rows": len(at),
            "ties": float((won == 0.5).mean()) if len(at) else np.nan,
            "first_side_rate": float(first_wins[decided].mean())
            if decided.any()
            else np.nan,
            "both_orders": float((ways > 1).sum() / n_pairs) if n_pairs else np.nan,
            "new_models": int(X.is_new[new].sum()),
        }
    names = ["rows", "ties", "first_side_rate", "both_orders", "new_models"]
    table = pd.DataFrame.from_dict(found, orient="index", columns=names)
    return table.astype({"rows": int, "new_models": int})


def _connected_parts(X: Comparisons, human: NDArray[np.bool_]) -> list[list[Any]]:
    """Models that human rows join, the largest group first."""
    n = len(X.models)
    links = np.zeros((n, n), dtype=bool)
    links[X.left[human], X.right[human]] = True
    voted = np.flatnonzero(links.any(axis=0) | links.any(axis=1))
    if not len(voted):
        return []
    part = components(links[np.ix_(voted, voted)], "weak")
    groups = [X.models[voted[part == k]].tolist() for k in np.unique(part)]
    return sorted(groups, key=len, reverse=True)


def _some(names: Sequence[Any]) -> str:
    """Number and first names of a list."""
    if not len(names):
        return "none"
    more = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"{len(names)} ({', '.join(map(str, names[:_LISTED]))}{more})"
