"""Warnings are collected by the log that is open, and issued once each."""

import threading
import warnings

import numpy as np
import pytest

from skanchor import AnchorPipeline
from skanchor.exceptions import (
    BoundWarning,
    DataWarning,
    DiagnosticWarning,
    SkanchorWarning,
    WeakJudgeWarning,
)
from skanchor.simulation import simulate_battles
from skanchor.warning_log import (
    WarningLog,
    is_heard,
    unheard,
    warn,
    warn_of_folds,
)


def heard(function):
    """Categories and texts of the warnings that a call issues."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        function()
    return [(record.category, str(record.message)) for record in records]


def test_without_a_log_a_warning_is_issued_at_once():
    assert heard(lambda: warn(DataWarning("Odd."))) == [(DataWarning, "Odd.")]


def test_an_open_log_collects_in_order_and_issues_nothing():
    def collect():
        with WarningLog() as log:
            warn(DataWarning("First."))
            warn(BoundWarning("Second."))
        found.extend(log.found)

    found = []
    assert heard(collect) == []
    assert [str(warning) for warning in found] == ["First.", "Second."]


def test_the_innermost_log_collects_and_the_outer_one_goes_on():
    with WarningLog() as outer:
        warn(DataWarning("Before."))
        with WarningLog() as inner:
            warn(DataWarning("Inside."))
        warn(DataWarning("After."))
    assert [str(warning) for warning in inner.found] == ["Inside."]
    assert [str(warning) for warning in outer.found] == ["Before.", "After."]


def test_an_error_closes_the_log():
    with pytest.raises(ZeroDivisionError), WarningLog():
        raise ZeroDivisionError
    assert heard(lambda: warn(DataWarning("Odd."))) == [(DataWarning, "Odd.")]


def test_threads_have_logs_of_their_own():
    ready = threading.Barrier(3)
    found = {}

    def work(name):
        with WarningLog() as log:
            # All logs are open when the warnings come.
            ready.wait(timeout=60)
            warn(DataWarning(name))
            ready.wait(timeout=60)
        found[name] = [str(warning) for warning in log.found]

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    with WarningLog() as own:
        for thread in threads:
            thread.start()
        ready.wait(timeout=60)
        warn(DataWarning("main"))
        ready.wait(timeout=60)
        for thread in threads:
            thread.join()
    assert found == {"a": ["a"], "b": ["b"]}
    assert [str(warning) for warning in own.found] == ["main"]


def test_one_issue_per_distinct_warning():
    log = WarningLog()
    log.found += [DataWarning("Odd."), DataWarning("Odd."), BoundWarning("Odd.")]
    log.found += [DataWarning("Other."), DataWarning("Odd.")]
    assert heard(log.issue) == [
        (DataWarning, "Odd."),
        (BoundWarning, "Odd."),
        (DataWarning, "Other."),
    ]


def folds_after(known, by_fold):
    with WarningLog() as log:
        for warning in known:
            warn(warning)
        warn_of_folds(by_fold)
    return [str(warning) for warning in log.found[len(known) :]]


def test_equal_warnings_of_folds_become_one_that_names_them():
    odd = DataWarning("Odd.")
    assert folds_after([], {0: [odd], 2: [odd, odd], 3: []}) == [
        "In folds [0, 2], not on all rows: Odd."
    ]
    # The fold's own warning is as it was.
    assert str(odd) == "Odd."


def test_what_all_rows_were_warned_of_is_not_repeated():
    def message(number):
        return SkanchorWarning(f"Judge 'judge-1' has {number} rows.")

    # Numbers differ between folds; the first fold's stand for all.
    assert folds_after([message(9)], {1: [message(7)]}) == []
    assert folds_after([], {1: [message(7)], 4: [message(6.5)]}) == [
        "In folds [1, 4], not on all rows: Judge 'judge-1' has 7 rows."
    ]


def test_names_and_categories_tell_warnings_apart():
    first = DataWarning("Judge 'judge-1' is odd.")
    assert folds_after([first], {0: [DataWarning("Judge 'judge-2' is odd.")]}) == [
        "In folds [0], not on all rows: Judge 'judge-2' is odd."
    ]
    assert len(folds_after([first], {0: [BoundWarning(str(first))]})) == 1


def issued(messages):
    log = WarningLog()
    with log:
        for category, text in messages:
            warn(category(text))
    return heard(log.issue)


def test_many_warnings_alike_are_told_in_short():
    def said(n, verb="is weak"):
        return [
            (WeakJudgeWarning, f"Judge 'j-{i}' {verb}: {i} errors.") for i in range(n)
        ]

    other = [(DataWarning, f"Judge 'j-{i}' is weak: odd.") for i in range(3)]
    # Up to ten each is told.
    assert issued(said(10)) == said(10)
    found = issued([*said(17), *other, *said(2, "is strong")])
    assert found[:5] == said(5)
    category, text = found[5]
    assert category is WeakJudgeWarning
    assert text.startswith(
        "Judge 'j-5', 'j-6', 'j-7', 'j-8', 'j-9' and 7 more: much as"
    )
    # Those of another category, or of other words, are not among them.
    assert found[6:] == [*other, *said(2, "is strong")]
    # Nor are those that begin alike and go on to something else.
    features = [
        (WeakJudgeWarning, f"Judge 'j-{i}': the features {verb}.")
        for verb in ("tell models apart", "of new models are rare")
        for i in range(6)
    ]
    assert issued(features) == features
    # Texts without a name are told as they are, however many.
    plain = [(DataWarning, f"{i} rows are odd.") for i in range(12)]
    assert issued(plain) == plain


def test_hundreds_of_judges_are_told_in_short():
    data = simulate_battles(750, 225, n_models=5, random_state=0)
    X, human = data.X.copy(), (data.X["judge"] == "human").to_numpy()
    late = X.eq("new-model").any(axis=1).to_numpy()
    judge = X["judge"].to_numpy(object)
    old, new = np.flatnonzero(~human & ~late), np.flatnonzero(~human & late)
    n_judges = len(old) // 3
    judge[old] = [f"judge {min(i // 3, n_judges - 1)}" for i in range(len(old))]
    judge[new] = [f"judge {i % n_judges}" for i in range(len(new))]
    anchor = AnchorPipeline(cv=3, random_state=0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        anchor.fit(X.assign(judge=judge), data.y)
    texts = [str(record.message) for record in found]
    assert n_judges > 150 and len(texts) < 40
    assert any("more: much as in the five" in text for text in texts)
    assert max(map(len, texts)) < 3000


def test_what_nobody_hears_of_is_left_out():
    with WarningLog() as log:
        with unheard(DiagnosticWarning):
            assert not is_heard(DiagnosticWarning) and is_heard(DataWarning)
            warn(DiagnosticWarning("unheard"))
            warn(DataWarning("heard"))
        warn(DiagnosticWarning("heard again"))
    assert [str(each) for each in log.found] == ["heard", "heard again"]


def test_merged_warnings_are_about_all_their_subjects():
    def message(number, *judges):
        text = f"{number} judges are odd."
        return DataWarning(text, code="odd-judges", subject=judges)

    with WarningLog() as log:
        warn_of_folds({0: [message(2, "a", "b")], 3: [message(2, "b", "c")]})
    (merged,) = log.found
    assert str(merged) == "In folds [0, 3], not on all rows: 2 judges are odd."
    assert (merged.code, merged.subject) == ("odd-judges", ("a", "b", "c"))


def test_the_warning_about_the_others_has_their_subjects():
    names = [f"j-{i}" for i in range(12)]
    log = WarningLog()
    log.found += [
        WeakJudgeWarning(f"Judge {name!r} is weak.", code="weak", subject=[name])
        for name in names
    ]
    with pytest.warns(WeakJudgeWarning) as records:
        log.issue()
    shown = [record.message for record in records]
    assert {warning.code for warning in shown} == {"weak"}
    assert [warning.subject for warning in shown] == [
        *((name,) for name in names[:5]),
        tuple(names[5:]),
    ]
