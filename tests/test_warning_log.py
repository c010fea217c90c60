"""Warnings are collected by the log that is open, and issued once each."""

import numpy as np
import pytest
from tables import warnings_of

from skanchor import AnchorPipeline
from skanchor.exceptions import BoundWarning, DataWarning
from skanchor.simulation import simulate_battles
from skanchor.warning_log import WarningLog, warn, warn_of_parts


def judge_warning(text, kind=DataWarning):
    return kind(text, code="odd", subject=[text.split("'")[1]])


FIRST = judge_warning("Judge 'judge-1' has 9 rows.")
OTHER = judge_warning("Judge 'judge-2' has 9 rows.")


@pytest.mark.parametrize(
    ("before", "by_fold", "expected"),
    [
        ([], {0: [FIRST], 2: [FIRST, FIRST], 3: []}, f"In folds [0, 2]: {FIRST}"),
        # Numbers differ between folds; the first fold's stand for all.
        ([], {1: [FIRST], 4: [judge_warning("Judge 'judge-1' has 6.5 rows.")]},
         f"In folds [1, 4]: {FIRST}"),
        ([FIRST], {1: [judge_warning("Judge 'judge-1' has 7 rows.")]}, ""),
        # Names and categories tell warnings apart.
        ([FIRST], {0: [OTHER]}, f"In folds [0]: {OTHER}"),
        ([FIRST], {0: [judge_warning(str(FIRST), BoundWarning)]},
         f"In folds [0]: {FIRST}"),
    ],
)  # fmt: skip
def test_warnings_of_folds_are_merged_and_name_them(before, by_fold, expected):
    with WarningLog() as log:
        for warning in before:
            warn(warning)
        warn_of_parts(by_fold, "In folds {}")
    assert [str(warning) for warning in log.warnings[len(before) :]] == [expected][
        : len(expected)
    ]
    # The fold's own warning is as it was.
    assert str(FIRST) == "Judge 'judge-1' has 9 rows."


def test_hundreds_of_judges_are_told_in_short():
    data = simulate_battles(750, 225, n_models=5, random_state=0)
    X, human = data.X.copy(), (data.X["judge"] == "human").to_numpy()
    is_new_row = X.eq("new-model").any(axis=1).to_numpy()
    judge = X["judge"].to_numpy(object)
    old, new = np.flatnonzero(~human & ~is_new_row), np.flatnonzero(~human & is_new_row)
    n_judges = len(old) // 3
    judge[old] = [f"judge {min(i // 3, n_judges - 1)}" for i in range(len(old))]
    judge[new] = [f"judge {i % n_judges}" for i in range(len(new))]
    anchor = AnchorPipeline(cv=3, random_state=0)
    result = warnings_of(lambda: anchor.fit(X.assign(judge=judge), data.y))
    texts = [str(one) for one in result]
    assert n_judges > 150 and len(texts) < 40
    assert any("more: much as in the five" in text for text in texts)
    assert max(map(len, texts)) < 3000
