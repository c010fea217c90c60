"""Copies, second fits, workers and searches."""

from faults.battles import GHOST
from faults.entries import Listing
from sklearn.exceptions import NotFittedError

from skanchor import (
    AnchorPipeline,
)

FAULTS = Listing()
call, see = FAULTS.call, FAULTS.see


LIFE = "test_life_cycle::test_"
THREADS = "bias.test_network_threads::test_"
HISTORY = "history.test_anchor_history::test_"
for title, where in {
    "clone, pickle, joblib and deepcopy": LIFE + "copies_give_the_same_intervals",
    "A second fit after set_params": LIFE + "a_second_fit_leaves_nothing_of_the_first",
    "The user's own learner": LIFE + "parts_given_are_never_fitted",
    "n_jobs 1, 2 and -1, processes and threads": LIFE + "workers_change_nothing",
    "Networks fitted in threads": THREADS + "threads_change_nothing",
    "A dask cluster": "large.test_large::test_"
    "a_worker_of_four_is_killed_and_nothing_changes",
    "Another seed": LIFE + "seeds",
    "An interrupt in a fold": LIFE + "interrupt_leaves_nothing_fitted",
    "A learner that raises in a fold": LIFE + "exception_names_the_fold",
    "A learner that warns in a worker": LIFE + "warnings_of_workers_are_issued_once",
    "Arrays that may not be written": LIFE + "read_only_memory_maps",
    "Metadata routing": LIFE + "metadata_routing",
    "A parallel search over parallel fits": LIFE + "nested_parallel_search",
    "A fresh process that imports nothing of the parent's": LIFE
    + "workers_change_nothing",
    "A damaged, foreign or newer history": HISTORY
    + "damaged_foreign_and_newer_files_are_refused",
    "A crafted history with arrays larger than its file": "io.test_archive::test_"
    "no_memory_is_asked_for_that_the_file_cannot_fill",
    "A crafted history whose sums by group are of models that are not there": HISTORY
    + "sums_of_models_that_are_not_there_are_refused",
    "A history that skanchor 0.1.0 has written": "releases.test_releases::test_"
    "a_history_places_the_new_model_where_it_did_or_is_refused",
    "A history cut off while it is written": "io.test_archive::test_"
    "a_killed_writer_leaves_a_whole_file",
    "A history that another run has updated meanwhile": "cli.test_history::test_"
    "an_update_beside_another_one_loses_neither",
    "A judge that has changed since the history": HISTORY
    + "changed_judges_are_refused",
    "A history with fingerprints, and none given where new models are placed": HISTORY
    + "changed_judges_are_refused",
}.items():
    see(title, where)
call(
    "predict before fit",
    lambda: AnchorPipeline().predict(GHOST),
    raises=(NotFittedError, "not fitted yet"),
)
