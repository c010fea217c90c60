"""What a run of the bootstrap is: fingerprints of all that its refits depend on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from skanchor.sample import Sample

__all__ = ["run_key"]


def run_key(
    sample: Sample,
    methods: Mapping[str, Any],
    fitted: Mapping[str, Any],
    **options: Any,
) -> dict[str, str]:
    """Fingerprints of a run, by what differs where they do.

    Parameters
    ----------
    sample : Sample
        All rows.
    methods, fitted : mapping from str to estimator
        The methods as they were given, and fitted on all rows, which settles roles.
    **options
        Further settings that change the refits.

    Returns
    -------
    dict of str
        Seed and number of resamples are no part of it: the one is kept as it is, and a
        longer run begins with the blocks of a shorter one.

    Raises
    ------
    TypeError
        If a setting of a method has no fingerprint.
    """
    X = sample.X
    columns = (X.left, X.right, X.judge, X.order, X.features_left, X.features_right,
               sample.y, sample.weight, sample.groups)  # fmt: skip
    rows = [None if c is None else np.ascontiguousarray(c) for c in columns]
    labels = (X.models.tolist(), X.judges.tolist(), X.feature_names)
    roles = {name: _roles(method) for name, method in fitted.items()}
    # A method that has been fitted before counts as its settings.
    settings = {name: clone(method) for name, method in methods.items()}
    try:
        given = joblib.hash(settings)
    except Exception as error:
        raise TypeError(
            "A checkpoint must know its run again, but the settings of the methods "
            f"have no fingerprint ({error}). Give functions of a module rather than "
            "lambdas, or no checkpoint."
        ) from error
    return {
        "data": joblib.hash((rows, labels), coerce_mmap=True),
        "roles of models and judges": joblib.hash(roles),
        "methods or settings of theirs": given,
        **{name: repr(value) for name, value in options.items()},
        # Whose streams the resamples are drawn from.
        "versions of skanchor and NumPy": f"{version('skanchor')}, {np.__version__}",
    }


def _roles(fitted: Any) -> list[list[Any]]:
    """Labels of all models, the new ones and the judges of a fitted method."""
    names = ("models_", "new_models_", "judges_")
    return [np.asarray(getattr(fitted, name, [])).tolist() for name in names]
