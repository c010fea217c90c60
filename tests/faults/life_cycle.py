"""Copies, second fits, workers and searches."""

from faults.battles import GHOST
from faults.entries import Listing
from sklearn.exceptions import NotFittedError

from skanchor import (
    AnchorPipeline,
)

FAULTS = Listing()
call, see = FAULTS.call, FAULTS.see


for title, name in {
    "clone, pickle, joblib and deepcopy": "copies_give_the_same_intervals",
    "A second fit after set_params": "a_second_fit_leaves_nothing_of_the_first",
    "The user's own learner": "parts_given_are_never_fitted",
    "n_jobs 1, 2 and -1, processes and threads": "workers_change_nothing",
    "A dask cluster": "dask_cluster_of_two_workers",
    "Another seed": "seeds",
    "An interrupt in a fold": "interrupt_leaves_nothing_fitted",
    "A learner that raises in a fold": "exception_names_the_fold",
    "A learner that warns in a worker": "warnings_of_workers_are_issued_once",
    "Arrays that may not be written": "read_only_memory_maps",
    "Metadata routing": "metadata_routing",
    "A parallel search over parallel fits": "nested_parallel_search",
    "A fresh process that imports nothing of the parent's": "spawned_process",
}.items():
    see(title, f"test_life_cycle::test_{name}")
for title, name in {
    "A checkpoint of a run with other new models": "of_other_new_models_is_refused",
    "A checkpoint of another run": "of_another_run_is_refused",
    "A checkpoint of another version": "of_another_version_is_refused",
}.items():
    see(title, f"bootstrap.test_checkpoint::test_a_checkpoint_{name}")
for title, name in {
    "A damaged checkpoint": "damaged_bytes_are_refused",
    "A checkpoint that is a pickle": "pickles_are_never_opened",
    "Two runs that write one checkpoint": "two_runs_do_not_share_a_file",
    "A checkpoint that cannot be kept": "what_cannot_be_kept_is_told_before_the_work",
}.items():
    see(title, f"bootstrap.test_checkpoint::test_{name}")
call(
    "predict before fit",
    lambda: AnchorPipeline().predict(GHOST),
    raises=(NotFittedError, "not fitted yet"),
)
