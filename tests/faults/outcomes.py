"""Outcomes: labels, numbers and what is missing."""

import numpy as np
import pandas as pd
from faults.battles import FRAME, fit, same_fit
from faults.entries import Listing

from skanchor import BTLRegressor
from skanchor.exceptions import (
    BattlesError,
)

FAULTS = Listing()
MASKED = np.ma.masked_equal(np.where(np.arange(len(FRAME)) == 7, 2, 1), 2)
table, call, see = FAULTS.table, FAULTS.call, FAULTS.see


def outcome(change):
    return lambda: FRAME.assign(winner=change(FRAME["winner"]))


table(
    "An outcome label that is not known",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "B it is"})),
    raises=(
        BattlesError,
        r"Unknown outcome labels \['B it is'\], first in row \d; use ",
    ),
)
see(
    "Outcomes that name the model that won",
    "io.test_mapping::test_it_is_read_at_once_as_its_rows",
)
see(
    "Outcomes 1 and 0 as text",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
table(
    "A missing outcome",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"}).mask(y.index == 7)),
    raises=(BattlesError, "1 missing outcomes, the first in row 7"),
)
table(
    "Outcomes 1 and 2",
    outcome(lambda y: y + 1),
    raises=(BattlesError, r"in \[0, 1\]; row \d+ has 2"),
)
see(
    "A flag of swapped sides",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
see(
    "A flag of swapped sides, once it is told what outcomes are about",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
see(
    "A flag of ties beside the winner",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
see(
    "The column of the loser beside two models",
    "io.test_mapping::test_it_is_read_at_once_as_its_rows",
)
see(
    "Two games in each row",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
see(
    "A second outcome beside the winner",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
for title, test in {
    "Words of degree about one side, such as much better":
        "io.test_mapping::test_it_is_read_at_once_as_its_rows",
    "Levels of words that are not known":
        "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
    "Cells that rank models by name":
        "io.test_mapping::test_what_holds_no_comparisons_is_refused",
}.items():  # fmt: skip
    see(title, test)
for title, test in {
    "Counts of wins, losses and ties of a pair, in a file":
        "io.test_mapping::test_counts_and_frames_of_other_libraries",
    "Numbers of both signs that may be outcomes":
        "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
    "Empty outcomes beside others, in a file":
        "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
    "Texts that end in a marked verdict, as [[A]]":
        "io.test_mapping::test_what_holds_no_comparisons_is_refused",
    "Two rows for each battle, of a model that won and one that lost":
        "io.test_mapping::test_it_is_read_at_once_as_its_rows",
    "Battles of one row, of three, or of two models that won":
        "io.test_mapping::test_what_holds_no_comparisons_is_refused",
    "Candidate and baseline, or model and opponent, in either order":
        "io.test_mapping::test_it_is_read_at_once_as_its_rows",
}.items():  # fmt: skip
    see(title, test)
see(
    "Outcomes of nothing but 0 and 1 in a file",
    "io.test_mapping::test_it_is_asked_and_read_after_one_edited_mapping",
)
table(
    "A NaN among numeric outcomes",
    outcome(lambda y: y.mask(y.index == 4)),
    raises=(BattlesError, r"must be in \[0, 1\]; row 4 has nan"),
)
table(
    "Outcomes as text, bool, int or float",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"})),
    check=lambda anchor: [
        same_fit(other)
        for other in (
            anchor,
            fit(FRAME.astype({"winner": bool})),
            fit(FRAME.astype({"winner": int})),
        )
    ],
)
table(
    "Dates as outcomes",
    outcome(lambda y: pd.Timestamp("2026-01-01")),
    raises=(BattlesError, "all labels or all numbers|Unknown outcome labels"),
)
call(
    "Outcomes of 400 digits",
    lambda: fit(FRAME.assign(winner=pd.Series([10**400] * len(FRAME), dtype=object))),
    raises=(BattlesError, r"in \[0, 1\]; there are numbers too large for a float"),
)
call(
    "Outcomes, ids or groups that are lists",
    [
        lambda: fit(FRAME.assign(winner=[[1]] * len(FRAME))),
        lambda: fit(FRAME.assign(prompt_id=[[1]] * len(FRAME))),
        lambda: fit(FRAME, groups=pd.Series([[1]] * len(FRAME))),
        lambda: fit(FRAME.assign(shown_first=[["model_a"]] * len(FRAME))),
    ],
    raises=(BattlesError, r" holds \[.*\], a list; give text or numbers"),
)
call(
    "Masked arrays",
    [
        lambda: fit(FRAME, groups=MASKED),
        lambda: fit(FRAME, sample_weight=MASKED),
        lambda: BTLRegressor().fit(FRAME.drop(columns="winner"), MASKED),
    ],
    raises=(ValueError, "masked entries, the first in row 7"),
)
see("Ties", "test_btl::test_two_models_closed_form")
see("Ties that are left out", "test_ties::test_left_out_is_the_table_without_them")
see(
    "Ties that are left out, in rows that count as several",
    "test_ties::test_ties_among_counted_rows_are_left_out",
)
see(
    "Human votes that are all ties, which are left out",
    "test_ties::test_votes_that_all_tie_cannot_be_left_out",
)
see(
    "Ties that are all that a judge says, or people of a model, left out",
    "test_ties::test_judges_and_models_with_nothing_else_are_named",
)
see(
    "Ties that rise with the level of both models, otherwise for people than judges",
    "test_ties::test_level_is_the_coefficient_of_the_ties",
)
see(
    "Verdicts that a judge grades on new models alone, or on historical ones alone, in "
    "one table or a history",
    "comparisons.test_grades::test_a_history_knows_which_judges_graded",
)
see(
    "Verdicts that a judge grades on all models",
    "comparisons.test_grades::test_verdicts_graded_on_new_models_alone_are_told",
)
see("Labels of bare arrays in either order",
    "test_btl::test_bare_arrays_follow_label_order")  # fmt: skip
see(
    "Every row turned round together with its outcome",
    "test_invariance::test_turning_rows_negates_the_position_effect_alone",
)
