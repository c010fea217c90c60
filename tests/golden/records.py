"""What a case gives, as JSON can hold it, and how far two such records are apart."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
from golden import adapter
from golden.cases import CASES, NEEDS_TORCH

FOLDER = Path(__file__).parent / "records"

TOLERANCE = 1e-9
"""Largest change in units of the largest number of an array. The engine that replaces
today's is held to `gates` instead, as rounding and stopping rules are then others."""

SCORES, OTHERS = 1e-3, 1e-4
"""The gates of another engine: change of a score in its standard errors, and of any
other number in the largest of its array."""

LABEL = re.compile(
    r"\b(?:new-model(?:-\d+)?|model-\d+|judge-\d+|x\d+|nobody|poems|who knows"
    r"|no such column)(?:_[ab])?\b"
)


def file_of(name):
    """The file that holds the record of a case."""
    return FOLDER / f"{name.replace(',', '').replace(' ', '-')}.json"


def taken(name):
    """Run a case: its numbers, what it warned of, and the refusal that it ended in."""
    error, numbers = None, {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.random.seed(0)  # noqa: NPY002 (what draws without a seed draws from here)
        try:
            numbers = (CASES | NEEDS_TORCH)[name]() or {}
        except adapter.ERRORS as refusal:
            labels = sorted(set(LABEL.findall(str(refusal))))
            error = [type(refusal).__name__, labels]
    findings = [adapter.finding(warning) for warning in caught]
    return {
        "error": error,
        "warnings": sorted(one for one in findings if one is not None),
        "numbers": {key: np.asarray(v, float).tolist() for key, v in numbers.items()},
    }


def recorded(name):
    """The record of a case that the repository holds."""
    return json.loads(file_of(name).read_text(encoding="utf-8"))


def write(name, tolerance=TOLERANCE):
    """Keep what a case gives now, with the tolerance that it is held to."""
    record = {"tolerance": tolerance} | taken(name)
    text = json.dumps(record, ensure_ascii=False, indent=0)
    file_of(name).write_text(text + "\n", encoding="utf-8")


def distances(new, old):
    """How far the arrays of a record are from those of another, by name."""
    return {
        key: distance(new["numbers"].get(key, []), value)
        for key, value in old["numbers"].items()
    }


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


def gates(new, old):
    """How far a record is from another in units of the gates; up to one it passes."""
    result = {}
    for key, value in old["numbers"].items():
        now = new["numbers"].get(key, [])
        if key.startswith("rank_sets") and np.ndim(value) == 3:
            result[key] = 0.0 if _lies_between(now, value) else np.inf
        elif key.endswith("scores") and f"{key[:-6]}errors" in old["numbers"]:
            result[key] = _in_errors(now, value, old["numbers"][f"{key[:-6]}errors"])
        elif key.endswith("or infinite") and np.shape(now) == np.shape(value):
            # Hardly connected: an error of any size, and never a smaller one.
            result[key] = (
                distance(np.where(np.isposinf(now), value, now), value) / OTHERS
            )
        else:
            result[key] = distance(now, value) / OTHERS
    return result


def _in_errors(new, old, errors):
    new, old, errors = (np.asarray(one, float) for one in (new, old, errors))
    if new.shape != old.shape:
        return np.inf
    errors = np.where(np.isfinite(errors) & (errors > 0), errors, 1.0)
    gap = np.abs(new - old) / errors
    return float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0)) / SCORES


def _lies_between(new, old):
    """Whether the middle rank sets lie between those of slightly other levels."""
    new, old = np.asarray(new), np.asarray(old)
    if new.shape != old.shape:
        return False
    low, high = new[1, :, -2], new[1, :, -1]
    inside = (old[2, :, -2] <= low) & (low <= old[0, :, -2])
    inside &= (old[0, :, -1] <= high) & (high <= old[2, :, -1])
    return bool(inside.all())
