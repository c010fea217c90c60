"""What a case gives, as JSON can hold it, and how far two such records are apart."""

import json
import warnings
from pathlib import Path

import numpy as np
from golden.cases import CASES

from skanchor.exceptions import BattlesError, LearnerError

FOLDER = Path(__file__).parent / "records"
TOLERANCE = 1e-9


def file_of(name):
    """The file that holds the record of a case."""
    return FOLDER / f"{name.replace(',', '').replace(' ', '-')}.json"


def taken(name):
    """Run a case: its numbers, what it warned of, and the error that it ended in."""
    error, numbers = None, {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        np.random.seed(0)  # noqa: NPY002 (what draws without a seed draws from here)
        try:
            numbers = CASES[name]() or {}
        except (BattlesError, LearnerError, ValueError) as found:
            error = f"{type(found).__name__}: {found}"
    return {
        "error": error,
        "warnings": [f"{w.category.__name__}: {w.message}" for w in told],
        "numbers": {key: np.asarray(v, float).tolist() for key, v in numbers.items()},
    }


def known(name):
    """The record of a case that the repository holds."""
    return json.loads(file_of(name).read_text(encoding="utf-8"))


def write(name, tolerance=TOLERANCE):
    """Keep what a case gives now, with the tolerance that it is held to."""
    record = {"tolerance": tolerance} | taken(name)
    text = json.dumps(record, ensure_ascii=False, indent=0)
    file_of(name).write_text(text + "\n", encoding="utf-8")


def distance(new, old):
    """Largest difference of two arrays, in units of the largest known number.

    Infinite where shapes differ, or the places of what is infinite or missing.
    """
    new, old = np.asarray(new, float), np.asarray(old, float)
    if new.shape != old.shape:
        return np.inf
    finite = np.isfinite(old)
    if not np.array_equal(new[~finite], old[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    largest = np.abs(old[finite]).max()
    gap = np.abs(new[finite] - old[finite]).max()
    # A number that is missing now is as far away as can be.
    return np.inf if np.isnan(gap) else gap / max(largest, 1e-300) if gap else 0.0
