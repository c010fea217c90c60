"""Levels, anchors, and what errors promise."""

import math

import pytest
from faults.battles import FIRST, FRAME, HUMAN, fitted, wins
from faults.entries import Listing

from skanchor import (
    split_battles,
)
from skanchor.baselines import JointBTL
from skanchor.evaluation import leave_one_model_out
from skanchor.exceptions import (
    BattlesError,
    DataWarning,
    SeparationWarning,
)

FAULTS = Listing()
call, see = FAULTS.call, FAULTS.see


call(
    "A confidence level of 0, 1, -1, 95, NaN or a text",
    [
        lambda level=level: fitted().conf_int(level)
        for level in (0, 1, -1, 95, "95", math.nan)
    ],
    raises=(ValueError, "level must"),
)
call(
    "The best 0, 1.5 or all models asked for",
    [
        *(lambda tau=tau: fitted().best_set(tau) for tau in (0, 1.5, 99)),
        *(lambda tau=tau: fitted().prob_best(tau) for tau in (0, 1.5, 99)),
    ],
    raises=(ValueError, "tau must be"),
)
call(
    "Too few draws for the level of a rank set",
    [
        lambda level=level, n_draws=n_draws: fitted().rank_sets(level, n_draws=n_draws)
        for level, n_draws in ((0.95, 1979), (0.999, 9999))
    ],
    raises=(ValueError, "draws are needed"),
)
call(
    "The Elo view of an unknown anchor",
    lambda: fitted().btl_.elo(anchor="nobody"),
    raises=(BattlesError, "Unknown anchor 'nobody'"),
)
for title, where in {
    "Coverage on the default design":
        "test_anchor::test_coverage_on_the_default_simulation",
    "Four times the rows": "test_invariance::test_errors_halve_when_rows_quadruple",
    "Repeats of the cross-fit": "test_anchor::test_repeats_combine_by_medians",
    "Dependent rows of a prompt":
        "test_anchor::test_groups_stay_whole_and_square_their_total",
    "Rows of one prompt, in a table with `prompt_id`":
        "test_prompts::test_prompts_are_the_groups_by_default",
    "A table given two or three times, with `prompt_id`":
        "test_prompts::test_a_table_given_several_times_is_no_surer",
    "A table some of whose rows are given twice, without an id that says so":
        "comparisons.test_checks::test_copies_are_reported",
    "Fewer than 30 prompts":
        "test_prompts::test_few_prompts_are_told_and_rows_are_independent",
    "Rows without a prompt among others":
        "test_prompts::test_rows_without_a_prompt_are_groups_of_their_own",
    "Rows without a prompt that count as several, beside others with one":
        "test_counts::test_copies_of_a_row_without_a_prompt_are_a_group",
    "Three annotators of each pair":
        "test_prompts::test_three_annotators_are_not_three_votes",
    "Every pair built from one rating":
        "test_prompts::test_pairs_of_one_rating_are_not_votes_of_their_own",
    "Votes of people who differ, in a table with `rater`":
        "test_raters::test_sums_of_two_ways",
    "Few raters, or one who gave most of the votes":
        "test_raters::test_few_raters_are_not_enough",
    "Raters on rows of judges":
        "test_raters::test_runs_of_a_judge_are_no_raters",
    "Raters in a history, a bootstrap or a baseline":
        "test_raters::test_what_has_no_errors_by_rater_says_so",
    "Prompts that repeat, added to a history without groups":
        "test_prompts::test_a_history_has_the_groups_of_prompts",
    "Rows added to a history that say what was shown first, where its own do not, or "
    "the other way round":
        "history.test_anchor_history::"
        "test_updates_keep_what_each_row_says_of_the_display",
    "Counts of rows that are added to a history, by the command":
        "cli.test_history::test_counts_of_added_rows_mean_what_the_flag_says",
    "A column of counts that is not used, in a large data set":
        "large.test_large::test_what_is_told_of_a_table_in_memory_is_told_here",
    "Prompts that are numbers in a history and texts in new rows, or the other way "
    "round":
        "history.test_anchor_history::"
        "test_prompts_that_are_numbers_match_those_that_are_texts",
    "Rows with features, added to a history without":
        "history.test_anchor_history::"
        "test_updates_from_counts_name_features_that_are_not_used",
    "Files of a large data set of which one lacks a column, or has another type of it":
        "large.test_large::test_parts_that_differ_are_refused_by_name",
    "A judge called human in a large data set, beside people of another label":
        "test_entry::test_a_bad_table_is_refused_alike",
    "A large data set with a flag of swapped sides":
        "large.test_large::test_what_it_cannot_do_is_refused",
    "A file of a large data set that is damaged":
        "large.test_large::test_parts_that_differ_are_refused_by_name",
    "A large data set that changes while it is read":
        "large.test_large::test_a_data_set_that_changes_between_passes_is_refused",
    "Parts without rows of a large data set, and a data set without any":
        "large.test_large::test_a_data_set_without_rows_is_refused",
    "Raters who vote repeatedly, in a large data set":
        "large.test_large::test_prompts_decide_by_default",
    "A bad table, given to the pipeline, a history or as a large data set":
        "test_entry::test_a_bad_table_is_refused_alike",
    "An odd table, given to the pipeline, a history or as a large data set":
        "test_entry::test_an_odd_table_is_warned_of_alike",
    "A good table, given to the pipeline, a history or as a large data set":
        "test_entry::test_a_good_table_gives_the_same_fit",
    "A judge that a fold's training rows separate, placed by a history in two steps":
        "test_entry::test_a_judge_separated_in_a_fold_is_placed_as_in_the_pipeline",
    "Folds as lists where weights count rows":
        "test_entry::test_folds_as_lists_say_which_rows_they_number",
    "Ties left out, in a history":
        "test_entry::test_a_history_numbers_rows_as_the_pipeline_does",
    "A table without a column `judge`, in the pipeline":
        "test_entry::test_rows_that_are_people_s_by_default_are_told",
    "A table of judges alone":
        "test_entry::test_a_table_of_judges_alone_names_the_next_step",
    "Prompts that repeat in a large data set":
        "large.test_large::test_placed_is_fitted_is_larger_than_memory",
    "Prompts that are numbers, with gaps, in a history":
        "history.test_anchor_history::test_prompts_that_are_numbers_with_gaps",
    "Groups that are times, dates, decimals or bytes, in a history or a large data set":
        "history.test_anchor_history::test_groups_that_are_times_or_the_like_meet_again",
    "Groups that are lists or structs, in a large data set":
        "large.test_large::test_prompts_decide_by_default",
    "New rows of fewer than 30 prompts, or of prompts that do not repeat, beside a "
    "history with groups":
        "history.test_anchor_history::"
        "test_few_prompts_of_new_rows_are_prompts_of_the_history",
    "Rows of a large data set with groups in another order":
        "large.test_large::test_groups_lie_in_their_folds_in_any_order",
    "A judge with so many rows in a large data set that the dispersion of its "
    "residuals is taken from a sample":
        "large.test_large::test_a_sample_decides_shapes_alone",
    "Linear bias against the joint likelihood":
        "test_anchor::test_close_to_joint_maximum_likelihood",
    "A new model tied with all others":
        "results.test_ranking::test_rank_set_of_a_model_tied_with_all",
    "Errors of zero and of infinity":
        "results.test_ranking::test_zero_and_infinite_errors_never_reject",
    "Verdicts without information":
        "riesz.test_debiaser::test_separated_verdicts_take_no_part",
    "Judges without noise who contradict each other by a million logits":
        "diagnostics.test_arrivals::"
        "test_disagreement_beyond_all_scores_determines_nothing",
    "A bootstrapped score that lies on its bound in every resample":
        "bootstrap.test_bootstrapped::test_a_score_on_its_bound_has_no_error_of_zero",
    "Rows without noise in a joint baseline":
        "baselines.test_likelihoods::"
        "test_no_error_is_zero_where_rows_show_no_noise",
    "A joint baseline whose likelihood has no maximum":
        "baselines.test_likelihoods::test_a_likelihood_without_a_maximum_has_no_errors",
}.items():  # fmt: skip
    see(title, where)


def bad_truth():
    frame = wins(FRAME, FIRST, HUMAN)
    X, y = split_battles(frame)
    return leave_one_model_out(JointBTL(), X, y)


call(
    "Leaving out models one by one when one never lost",
    bad_truth,
    warns=[(SeparationWarning, "never lost"), (DataWarning, "have no true score")],
    check=lambda found: FIRST not in found.index or pytest.fail(),
)

for title, where in {
    "The best model of the board is misplaced, all others are not":
        "test_interval_check::test_a_miss_of_the_best_model_is_tested_by_itself",
    "Fits of models left out that warn of the same":
        "test_interval_check::test_fits_of_models_left_out_warn_once",
    "Worth, outlook or design of a plug-in, of contexts, or of a learner without a "
    "span":
        "readouts.test_answers::"
        "test_every_question_is_answered_or_refused_by_name",
    "Worth, outlook or design of a score that is not determined, or without a new "
    "model":
        "readouts.test_answers::test_a_model_that_is_not_determined",
    "Costs, budgets, half widths, floors, sources or targets that are none":
        "readouts.test_design::test_bad_input",
    "A half width that no number of verdicts reaches":
        "readouts.test_outlook::"
        "test_verdicts_never_do_where_judges_share_their_errors",
    "A ratio of variances below one, or no looks at all":
        "readouts.test_looks::test_bad_input",
    "Fragility of a plug-in, of contexts, or without a new model":
        "readouts.test_fragility::test_methods_that_are_refused",
    "Fragility where a new model is not determined":
        "readouts.test_fragility::test_a_model_that_is_not_determined",
    "Fragility of other rows than those of the fit, of models, goals, rows or units "
    "that there are none of":
        "readouts.test_fragility::test_what_is_refused",
    "Rows whose loss breaks the fit":
        "readouts.test_fragility::test_breaking_is_not_flipping",
    "A search for few rows that runs out of time, or is interrupted":
        "readouts.test_fragility::test_an_interrupt_returns_what_was_found",
    "A favour that is negative or no number, a kind, judge or family that there is "
    "none of":
        "readouts.test_sensitivity::test_bad_input_is_refused",
    "A favour larger than any that refits were compared with":
        "readouts.test_sensitivity::test_large_favours_are_warned_of",
    "Favours in a plug-in, or without a new model":
        "readouts.test_sensitivity::test_a_plug_in_has_nothing_to_break",
    "Favours for a new model that its rows do not determine":
        "readouts.test_sensitivity::test_models_that_are_not_determined",
    "Favours where weights have no fixed columns":
        "readouts.test_sensitivity::test_weights_without_a_span_have_the_same_exposures",
    "Favours in contexts, where weights have no fixed columns":
        "readouts.test_sensitivity::test_exposures_are_mixed_as_scores_are",
    "Conformal intervals with too few historical models":
        "baselines.test_soft_elo::test_conformal_intervals_by_hand",
    "Soft wins without a margin in any vote":
        "baselines.test_soft_elo::test_margins_that_are_missing_are_refused",
}.items():  # fmt: skip
    see(title, where)
