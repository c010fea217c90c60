"""Outcomes: labels, numbers and what is missing."""

import numpy as np
import pandas as pd
from faults.battles import FRAME, fit, same_fit
from faults.entries import Listing

from skanchor import BTLRegressor, split_battles
from skanchor.exceptions import (
    AssumptionWarning,
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
        r"Unknown outcome labels \['B it is'\] .* first in row \d.* If .*labels=",
    ),
)
table(
    "Outcomes that name the model that won",
    lambda: FRAME.assign(
        winner=FRAME["model_a"].where(FRAME["winner"] == 1, FRAME["model_b"])
    ),
    warns=[(AssumptionWarning, "'winner': names of the winning models")],
)
call(
    "Outcomes 1 and 0 as text",
    lambda: fit(FRAME.assign(winner=FRAME["winner"].map({1.0: "1", 0.0: "0"}))),
    raises=(BattlesError, r"holds 1, 0, which may mean 2 things.* levels="),
)
table(
    "A missing outcome",
    outcome(lambda y: y.map({1.0: "model_a", 0.0: "model_b"}).mask(y.index == 7)),
    raises=(BattlesError, "1 missing outcomes, the first in row 7"),
)
table(
    "Outcomes 1 and 2",
    outcome(lambda y: y + 1),
    warns=[(AssumptionWarning, "1 is 'model_a' won, 2 is 'model_b' won")],
)
FLAG = np.arange(len(FRAME)) % 2 == 0
table(
    "A flag of swapped sides",
    lambda: FRAME.assign(is_swapped=FLAG),
    raises=(BattlesError, r"'is_swapped' says of \d+ of \d+ rows that the two sides"),
)
see(
    "A flag of swapped sides, once it is told what outcomes are about",
    "io.test_order::test_either_reading_is_what_its_own_name_gives",
)
table(
    "A flag of swapped sides beside outcomes that are names of models",
    lambda: FRAME.assign(
        is_swapped=FLAG,
        winner=FRAME["model_a"].where(FRAME["winner"] == 1, FRAME["model_b"]),
    ),
    warns=[(AssumptionWarning, "'is_swapped' says that 'model_b' was shown first")],
)
table(
    "A flag of ties beside the winner",
    lambda: FRAME.assign(tie=FLAG & (FRAME["winner"] == 1)),
    warns=[(AssumptionWarning, "'tie' says which rows are ties")],
)
table(
    "The column of the loser beside two models",
    lambda: FRAME.assign(
        worse=FRAME["winner"].map({1.0: "model_b", 0.0: "model_a"})
    ).drop(columns="winner"),
    warns=[(AssumptionWarning, "'worse' names the loser of each row")],
    check=same_fit,
)
call(
    "The column of the loser, renamed to the winner",
    lambda: split_battles(
        FRAME.rename(columns={"winner": "loser"}), columns={"loser": "winner"}
    ),
    raises=(BattlesError, "by its name it holds the loser.* If it names the loser"),
)
table(
    "Two games in each row",
    lambda: FRAME.assign(
        verdict_ab=FRAME["winner"].map({1.0: "A", 0.0: "B"}),
        verdict_ba=FRAME["winner"].map({1.0: "B", 0.0: "A"}),
    ).drop(columns="winner"),
    raises=(BattlesError, "Each row holds two outcomes, 'verdict_ab' and 'verdict_ba'"),
)
see(
    "Several outcomes in each row named as ratings, beside a column of judges",
    "io.test_order::test_columns_of_outcomes_do_not_replace_a_column_of_judges",
)
table(
    "Both games of a judge among columns of judges",
    lambda: FRAME.drop(columns=["winner", "judge"]).assign(
        **dict.fromkeys(
            ("human", "gpt4_ab", "gpt4_ba"), FRAME["winner"].map({1.0: "A", 0.0: "B"})
        )
    ),
    raises=(BattlesError, "Each row holds 3 outcomes, 'human', 'gpt4_ab', 'gpt4_ba'"),
)
table(
    "The same models the other way round in two more columns",
    lambda: FRAME.assign(
        left_model=FRAME["model_a"].mask(FLAG, FRAME["model_b"]),
        right_model=FRAME["model_b"].mask(FLAG, FRAME["model_a"]),
        winner=FRAME["winner"].map({1.0: "left", 0.0: "right"}),
    ),
    raises=(BattlesError, "the other way round in 'left_model' and 'right_model'"),
)
see(
    "A second outcome beside the winner",
    "io.test_order::test_a_second_outcome_is_said_not_to_be_read",
)
for title, test in {
    "Words of degree about one side, such as much better":
        "io.test_degrees::test_five_degrees_about_one_side",
    "Words of degree about a side that no name tells":
        "io.test_degrees::test_words_about_no_side_by_name_are_asked_about",
    "Levels of words that are not known":
        "io.test_degrees::test_levels_say_what_unknown_words_mean",
    "Cells that rank models by name":
        "io.test_rankings::test_all_pairs_of_a_ranking_belong_together",
    "Lists of models in an order":
        "io.test_rankings::test_a_list_is_asked_which_end_is_the_best",
    "The best and the worst of several models that a list names":
        "cli.test_files_of_teams::test_it_is_read_at_once_as_its_rows",
    "A table of wins by model and model that does not say whose wins they are":
        "cli.test_files_of_teams::test_whose_wins_a_table_of_models_counts_is_asked",
    "Rankings of numbers that no column names":
        "io.test_rankings::test_numbers_that_no_column_names_are_no_models",
    "Columns of a table of ratings that battles have no use for":
        "io.test_who_decided::test_columns_of_ratings_that_are_not_read_are_said",
}.items():  # fmt: skip
    see(title, test)
for title, test in {
    "Counts of wins, losses and ties of a pair, in a file":
        "counts_become_weighted_rows",
    "Counts that do not add up to the number of games":
        "counts_that_do_not_add_up_are_refused",
    "Counts of wins and losses of a pair, in memory": "counts_in_memory_are_refused",
    "Numbers of both signs that may be outcomes": "numbers_of_both_signs_go_either_way",
    "Empty outcomes beside others, in a file":
        "empty_outcomes_are_ties_or_no_verdicts",
    "Whole numbers as names of models, beside empty cells":
        "whole_numbers_are_names_beside_empty_cells",
    "Texts that end in a marked verdict, as [[A]]":
        "the_last_mark_of_a_text_is_its_verdict",
    "Two rows for each battle, of a model that won and one that lost":
        "two_rows_of_a_battle_are_one_comparison",
    "Battles of one row, of three, or of two models that won":
        "rows_of_a_battle_that_are_not_two_are_refused",
    "A column of numbers for each model": "columns_of_models_are_ranks_or_ratings",
    "Candidate and baseline, or model and opponent, in either order":
        "models_of_other_roles_stand_as_in_the_file",
}.items():  # fmt: skip
    see(title, f"io.test_odd_tables::test_{test}")
see(
    "Outcomes of nothing but 0 and 1 in a file",
    "io.test_order::test_zero_and_one_are_said_in_every_run",
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
    "battles.test_grades::test_a_history_knows_which_judges_graded",
)
see(
    "Verdicts that a judge grades on all models",
    "battles.test_grades::test_verdicts_graded_on_new_models_alone_are_told",
)
see("Labels of bare arrays in either order",
    "test_btl::test_bare_arrays_follow_label_order")  # fmt: skip
see(
    "Every row turned round together with its outcome",
    "test_invariance::test_turning_rows_negates_the_position_effect_alone",
)
