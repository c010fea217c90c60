"""Contexts that are not there, and mixes that are none."""

from faults.entries import Listing

FAULTS = Listing()
see = FAULTS.see

HERE = "test_shared_contexts"

see(
    "A context without rows of a new model",
    f"{HERE}::test_a_context_without_arrivals_has_no_new_score",
)
see(
    "A context without votes",
    f"{HERE}::test_a_context_without_votes_is_placed_by_judges",
)
see(
    "A context with one historical model",
    f"{HERE}::test_a_context_needs_two_historical_models",
)
see(
    "A model that never wins in one context",
    f"{HERE}::test_a_model_that_never_wins_in_a_context_has_no_score_in_a_mix",
)
see(
    "A context in which the order of the models settles all votes",
    f"{HERE}::test_a_context_whose_models_have_no_limit_is_refused",
)
see("One context for all rows", f"{HERE}::test_one_context_is_the_fit_without_contexts")
see(
    "Shares that do not sum to one, are negative, or of no context",
    f"{HERE}::test_a_mix_that_is_none_is_refused",
)
see(
    "A column of contexts that is not there, or has gaps",
    f"{HERE}::test_what_does_not_go_with_contexts_is_refused_by_name",
)
see(
    "Predictions for rows of an unknown context",
    f"{HERE}::test_predictions_know_contexts",
)
