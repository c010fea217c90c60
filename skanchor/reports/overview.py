"""The facts of a table before anything is fitted: what it was understood to hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skanchor._battles import Comparisons, as_frame, decide_roles
from skanchor._model.graph import components
from skanchor._sample.admission import admit_to_inference
from skanchor._sample.sample import Battles, Sample
from skanchor.exceptions import BattlesError
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog


def overview(
    X: Battles,
    y: ArrayLike,
    groups: ArrayLike | str | None = "auto",
    new_models: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Describe a table of battles as a fit would understand it, without fitting.

    Parameters
    ----------
    X, y, groups
        As in :meth:`skanchor.AnchorPipeline.fit`.
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
        sample = Sample.admit(X, y, None, groups)
        stages = AnchorPipeline().stages()
        try:
            admit_to_inference(
                sample, stages.btl, stages.calibrator.bias, new_models, jointly=True
            )
        except BattlesError as error:
            refusal = str(error)
    rows = decide_roles(sample.X, sample.weight, new_models)
    used, y = rows.is_usable & (sample.weight > 0), sample.y
    human, bad = used & rows.is_human, sample.outcomes.both_bad
    frame = as_frame(X)
    n_raters = None
    if frame is not None and "rater" in frame.columns:
        n_raters = frame["rater"].drop_nulls().n_unique()
    models = pd.DataFrame(
        {
            "is_new": rows.is_new,
            "n_human": rows.appearances(human).astype(int),
            "n_judge": rows.appearances(used & ~rows.is_human).astype(int),
        },
        index=pd.Index(rows.models, name="model"),
    )
    return {
        "rows": {
            "human": int(human.sum()),
            "judge": int((used & ~rows.is_human).sum()),
            "unused": int((~used).sum()),
        },
        "models": models[(models["n_human"] + models["n_judge"]) > 0],
        "judges": _judges(rows, y, used),
        "n_raters": n_raters,
        "outcomes": {
            "first": int((y == 1.0).sum()),
            "second": int((y == 0.0).sum()),
            "tie": int((y == 0.5).sum()),
            "both_bad": 0 if bad is None else int(bad.sum()),
            "graded": int((~np.isin(y, [0.0, 0.5, 1.0])).sum()),
        },
        "features": list(rows.feature_names),
        "ignored": [] if sample.inputs is None else list(sample.inputs.ignored),
        "groups": _groups(sample),
        "order_known": float(np.mean(rows.order != 0.0)),
        "connected_by_people": _connected_parts(rows, human),
        "left_out": [str(warning) for warning in log.distinct],
        "refusal": refusal,
    }


def _groups(sample: Sample) -> dict[str, Any] | None:
    """Name of what groups the rows, number of groups, and size of the largest."""
    if sample.groups is None:
        return None
    sizes = np.bincount(sample.groups)
    name = sample.inputs.groups if sample.inputs is not None else "an array"
    return {"name": name, "n": len(sizes), "largest": int(sizes.max())}


def _judges(X: Comparisons, y: NDArray[Any], used: NDArray[np.bool_]) -> pd.DataFrame:
    """Rows, ties, order and new models by judge."""
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
            "ties": (won == 0.5).mean() if len(at) else np.nan,
            "first_side_rate": first_wins[decided].mean() if decided.any() else np.nan,
            "both_orders": (ways > 1).sum() / n_pairs if n_pairs else np.nan,
            "new_models": int(X.is_new[new].sum()),
        }
    names = ["rows", "ties", "first_side_rate", "both_orders", "new_models"]
    table = pd.DataFrame.from_dict(found, orient="index", columns=names)
    return table.astype({"rows": int, "new_models": int}).rename_axis("judge")


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
