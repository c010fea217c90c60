"""Weights of rows."""

import numpy as np
from faults.battles import FRAME, HUMAN, fit, same_fit
from faults.entries import Listing

FAULTS = Listing()
call, see = FAULTS.call, FAULTS.see


def weighted(weight, **params):
    return lambda: fit(FRAME, sample_weight=weight, **params)


ONES = np.ones(len(FRAME))
for name, weight, message in (
    ("A negative weight", np.r_[-1.0, ONES[1:]], "Negative values in data passed to"),
    ("Weights that are all zero", 0 * ONES, "weight.*non-zero|non-zero.*weight"),
    ("A NaN weight", np.r_[np.nan, ONES[1:]], "sample_weight contains NaN"),
    ("An infinite weight", np.r_[np.inf, ONES[1:]], "sample_weight contains infinity"),
    ("Too few weights", ONES[1:], r"sample_weight.shape == \(699,\)"),
    (
        "Weights of 1e-300 beside weights of 1e300",
        np.where(HUMAN, 1e300, 1e-300),
        "sample_weight spans too much",
    ),
):
    call(name, weighted(weight), raises=(ValueError, message))
call(
    "Weights of 400 digits",
    weighted([10**400] * len(FRAME)),
    raises=(ValueError, "numbers too large for a float"),
)
call(
    "Weights that are text",
    weighted(["heavy"] * len(FRAME)),
    raises=(ValueError, "sample_weight must be numbers: .*'heavy'"),
)
call("Weights of 1e-300 throughout", weighted(1e-300 * ONES), check=same_fit)
call("Weights of 1e300 throughout", weighted(1e300 * ONES), check=same_fit)
see(
    "Votes of weight 1e-12 beside votes of weight 1 in BTLRegressor",
    "test_btl_exact::test_what_hangs_on_light_votes",
)
see(
    "Two groups of models that votes of weight 1e-12 alone join, beside votes of "
    "weight 1 in BTLRegressor",
    "test_btl_exact::test_scores_that_votes_lighter_than_rounding_join_have_no_errors",
)
see(
    "Votes of weight 1e-200 beside votes of weight 1 in BTLRegressor",
    "test_btl_exact::test_weights_that_have_no_squares_are_refused",
)
for title, where in (
    ("All weights in another unit", "test_the_unit_of_all_weights_is_nothing"),
    ("Weights in another unit in a baseline", "test_nor_is_it_to_baselines"),
    (
        "A history and arrivals with weights in another unit",
        "test_a_history_has_the_unit_of_its_rows",
    ),
):
    see(title, f"test_weight_units::{where}")
see("Rows of weight zero", "test_invariance::test_rows_of_weight_zero_are_not_there")
see(
    "Integer weights against copies of rows",
    "test_invariance_together::test_another_table_that_says_the_same",
)
for title, where in (
    (
        "Whole numbers above one that are read as importance",
        "test_counts::test_whole_numbers_read_as_importance_are_told_once",
    ),
    (
        "Weights that are to count rows, and are not whole",
        "test_counts::test_what_is_no_count_is_refused",
    ),
    (
        "A column of counts that is not used",
        "test_counts::test_a_table_of_wins_is_the_rows_that_it_counts",
    ),
):
    see(title, where)
see(
    "Groups of which some are missing, in a list",
    "battles.test_labels::test_labels_in_a_list_keep_their_types",
)
see(
    "Groups that are numbers in some rows and their texts in others",
    "battles.test_labels::test_labels_in_a_list_keep_their_types",
)
see("Fewer than thirty groups", "folds.test_source_kfold::test_few_groups_are_told")
see(
    "Few groups of people's rows, or of a judge's",
    "diagnostics.test_thin::test_few_groups_of_a_source_are_told",
)
see(
    "A group that carries much of the variance",
    "diagnostics.test_thin::test_the_largest_influence_is_that_of_a_group",
)
see("Rows in another order", "test_invariance::test_names_and_row_order")
see(
    "Weights in another unit in `IPWOnly`, such as 1e-200 throughout",
    "baselines.test_equations::test_ipw_only",
)
