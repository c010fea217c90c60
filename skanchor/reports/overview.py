"""The facts of a table before anything is fitted: what it was understood to hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from skanchor._battles import Comparisons, decide_roles
from skanchor._model.graph import sorted_components
from skanchor._sample.admission import admit_to_inference
from skanchor._sample.sample import Sample
from skanchor.exceptions import BattlesError
from skanchor.pipeline import AnchorPipeline
from skanchor.warning_log import WarningLog


def overview(
    X: pd.DataFrame,
    y: ArrayLike,
    groups: ArrayLike | str | None = "auto",
    new_models: Sequence[Any] | None = None,
    counts: ArrayLike | None = None,
) -> dict[str, Any]:
    """Describe a table of battles as a fit would understand it, without fitting.

    Parameters
    ----------
    X, y, groups
        As in :meth:`skanchor.AnchorPipeline.fit`.
    new_models : sequence of labels, optional
        As in :class:`skanchor.AnchorPipeline`.
    counts : array-like of shape (n_rows,), optional
        Number of comparisons of each row; None is one.

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
        sample = Sample.admit(X, y, counts, groups)
        stages = AnchorPipeline().stages()
        try:
            admit_to_inference(
                sample, stages.btl, stages.calibrator.bias, new_models, jointly=True
            )
        except BattlesError as error:
            refusal = str(error)
    n, rows = sample.weight, decide_roles(sample.X, sample.weight, new_models)
    used, y, inputs = rows.is_usable & (n > 0), sample.y, sample.inputs
    human, judged = used & rows.is_human, used & ~rows.is_human
    models = pd.DataFrame(
        {
            "is_new": rows.is_new,
            "n_human": rows.appearances(human, n).astype(int),
            "n_judge": rows.appearances(judged, n).astype(int),
        },
        index=pd.Index(rows.models, name="model"),
    )
    bad = sample.outcomes.both_bad
    votes = np.zeros((len(rows.models), len(rows.models)))
    votes[rows.left[human], rows.right[human]] = 1.0
    connected = [part for part in sorted_components(votes, "weak")
                 if models["n_human"].iloc[part].any()]  # fmt: skip
    grouped = None
    if sample.groups is not None:
        sizes = np.bincount(sample.groups, n)
        name = "an array" if inputs is None else inputs.groups
        grouped = {"name": name, "n": len(sizes), "largest": int(sizes.max())}
    return {
        "rows": {
            "human": int(n[human].sum()),
            "judge": int(n[judged].sum()),
            "unused": int(n[~used].sum()),
        },
        "models": models[(models["n_human"] + models["n_judge"]) > 0],
        "judges": _judges(rows, y, used, n),
        "n_raters": X["rater"].nunique() if "rater" in X else None,
        "outcomes": {
            "first": int(n[y == 1.0].sum()),
            "second": int(n[y == 0.0].sum()),
            "tie": int(n[y == 0.5].sum()),
            "both_bad": 0 if bad is None else int(n[bad].sum()),
            "graded": int(n[~np.isin(y, [0.0, 0.5, 1.0])].sum()),
        },
        "features": list(rows.feature_names),
        "ignored": [] if inputs is None else list(inputs.ignored),
        "groups": grouped,
        "order_known": float(np.average(rows.order != 0.0, weights=n)),
        "connected_by_people": [rows.models[part].tolist() for part in connected],
        "left_out": [str(warning) for warning in log.distinct],
        "refusal": refusal,
    }


def _judges(
    X: Comparisons, y: NDArray[Any], used: NDArray[np.bool_], n: NDArray[Any]
) -> pd.DataFrame:
    """Rows, ties, order and new models by judge."""
    found = {}
    for code, judge in enumerate(X.judges.tolist()):
        at = np.flatnonzero(used & (X.judge == code))
        left, right, order, won = X.left[at], X.right[at], X.order[at], y[at]
        times = n[at]
        # The side shown first wins if the order is +1 and the first model wins.
        decided = (won != 0.5) & (order != 0.0)
        first_wins = decided & ((won > 0.5) == (order > 0.0))
        pairs = np.stack([np.minimum(left, right), np.maximum(left, right)])
        # Which model of the pair was shown first; each pair and way once.
        ways = np.vstack([pairs, np.where(left < right, order, -order)])
        ways = np.unique(ways[:, order != 0.0], axis=1)
        _, n_ways = np.unique(ways[:2], axis=1, return_counts=True)
        n_pairs = np.unique(pairs, axis=1).shape[1]
        found[judge] = {
            "rows": int(times.sum()),
            "ties": times[won == 0.5].sum() / times.sum() if len(at) else np.nan,
            "first_side_rate": times[first_wins].sum() / times[decided].sum()
            if decided.any()
            else np.nan,
            "both_orders": (n_ways > 1).sum() / n_pairs if n_pairs else np.nan,
            "new_models": int(X.is_new[np.unique(pairs)].sum()),
        }
    names = ["rows", "ties", "first_side_rate", "both_orders", "new_models"]
    table = pd.DataFrame.from_dict(found, orient="index", columns=names)
    return table.astype({"rows": int, "new_models": int}).rename_axis("judge")
