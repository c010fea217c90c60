"""Draws of a study: their rows, order, fingerprints, and what was finished before."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skanchor import AnchorPipeline
from skanchor.baselines import DirectScore
from skanchor.exceptions import BattlesError
from skanchor.studies import (
    Cell,
    StudyMethod,
    draw_battles,
    finished_rows,
    run_study,
    study_key,
    study_table,
    units_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::skanchor.exceptions.SkanchorWarning")


def table_of(experiment, **options):
    rows = [row for _, part in run_study([experiment], **options) for row in part]
    return study_table(rows, [experiment])


def test_a_row_for_each_draw_cell_and_method(tiny):
    table = table_of(tiny)
    assert len(table) == 3 * 2 * 3
    assert not table.duplicated(["cell", "seed", "method"]).any()
    assert (table["failed"] == "").all()
    row = table[(table["method"] == "ANCHOR") & (table["cell"] == "rho=0.5")].iloc[1]
    # The same by hand.
    drawn = draw_battles(tiny.cells[1].settings, 1)
    anchor = AnchorPipeline(cv=2, item_effects=None, random_state=1)
    anchor.fit(drawn.data.X, drawn.data.y)
    low, high = anchor.conf_int().iloc[0]
    error = anchor.scores_.iloc[0] - 0.5
    assert row["seed"] == 1 and row["error"] == error
    assert row["squared_error"] == error**2 and row["width"] == high - low
    assert row["covered"] == (low <= 0.5 <= high)
    sets = anchor.rank_sets(method="holm").iloc[0]
    assert row["rank_size"] == sets["high"] - sets["low"] + 1
    above = int((drawn.data.truth.scores > 0.5).sum())
    assert row["rank_covered"] == (sets["low"] <= 1 + above <= sets["high"])
    known = (drawn.human_scores > anchor.scores_.iloc[0]).sum()
    assert row["displaced"] == abs(known - above)


def test_rows_do_not_depend_on_the_jobs(tiny):
    one, two = table_of(tiny, n_jobs=1), table_of(tiny, n_jobs=2)
    pd.testing.assert_frame_equal(
        one.drop(columns="seconds"), two.drop(columns="seconds"), check_exact=True
    )


def test_draws_that_are_done_are_left_out(tiny):
    units = units_of([tiny])
    # Cells take turns, so that all have nearly as many draws whenever a run ends.
    assert [(unit.cell, unit.seed) for unit in units[:3]] == [
        ("rho=0.0", 0), ("rho=0.5", 0), ("rho=0.0", 1)
    ]  # fmt: skip
    ran = [unit for unit, _ in run_study([tiny], done=units[1:])]
    assert ran == units[:1]
    assert len(units_of([tiny], 7)) == 14


def test_a_table_is_read_back(tiny):
    table = table_of(tiny, replications=1)
    found = finished_rows(table, [tiny])
    assert set(found) == set(units_of([tiny], 1))
    again = study_table([r for rows in reversed(found.values()) for r in rows], [tiny])
    pd.testing.assert_frame_equal(again, table, check_exact=True)
    with pytest.raises(ValueError, match="no table of a simulation study"):
        finished_rows(table[["seed"]], [tiny])
    with pytest.raises(ValueError, match="rows of the experiment 'tiny'"):
        finished_rows(table, [replace(tiny, name="other")])
    with pytest.raises(ValueError, match="with other settings, methods or versions"):
        finished_rows(table, [tiny.only(("ANCHOR",))])


def test_the_key_changes_with_what_rows_depend_on(tiny, monkeypatch):
    key = study_key(tiny)
    assert study_key(replace(tiny, replications=9, title="x", reading="y")) == key
    first = replace(tiny.methods[0], estimator=AnchorPipeline(cv=3, item_effects=None))
    changed = [
        replace(tiny, n_resamples=6),
        replace(tiny, cells=(Cell("rho=0.0", {"rho": 0.1}), *tiny.cells[1:])),
        replace(tiny, methods=(first, *tiny.methods[1:])),
        replace(tiny, methods=tiny.methods[::-1]),
    ]
    assert len({key, *map(study_key, changed)}) == 5
    monkeypatch.setattr("skanchor.studies._experiment.version", lambda name: "0.0")
    assert study_key(tiny) != key


class Refuses(DirectScore):
    def fit(self, X, y):
        raise BattlesError("no")


def test_a_method_that_refuses_has_a_row(tiny):
    tiny = replace(tiny, methods=(tiny.methods[1], StudyMethod("no", Refuses())))
    table = table_of(tiny, replications=1)
    failed = table[table["method"] == "no"]
    assert (failed["failed"] == "BattlesError").all() and len(failed) == 2
    assert failed["error"].isna().all() and failed["displaced"].isna().all()
    assert np.isfinite(table.loc[table["method"] == "Oracle", "error"]).all()


def test_limits_that_are_infinite_count_as_undetermined(tiny):
    """A new model that wins every comparison: nothing bounds its score above."""
    settings = {**tiny.cells[0].settings, "n_judges": 1, "new_score": 30.0}
    tiny = replace(tiny, cells=(Cell("one row", settings),), methods=tiny.methods[:1])
    table = table_of(tiny, replications=1)
    assert table["failed"].tolist() == ["undetermined"]
    assert table[["error", "covered", "width"]].isna().all(axis=None)
