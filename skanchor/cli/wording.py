"""What messages written for Python call things, and what they are called here."""

from __future__ import annotations

__all__ = ["worded"]

_SPELLINGS = (
    ("split_battles(table, columns={given: standard})", "--columns given=standard"),
    ("pass new_models=[]", "give --no-new"),
    ("Name the models to treat as new in new_models", "Name new models with --new"),
    (
        "are not in new_models. Add them to new_models",
        "are not named by --new. Add them",
    ),
    ("new_models names", "--new names"),
    ("; give an array with one group per row instead", ""),
    ("groups names the column", "--groups names the column"),
    ("ame them in new_models", "ame them with --new"),
    ("set position_effect=True", "give --position-effect"),
    ("split_battles(table, human=...)", "--human"),
    # Advice for which the command line has no flag.
    (": y.mask(y == X['model_a'], 'model_a').mask(y == X['model_b'], 'model_b')", ""),
    ("Convert them: y.astype(float)", "Write them as numbers"),
    (", or set BTLRegressor(alpha=0.01)", ""),
    (", drop one, or set disconnected='warn'", " or drop one"),
    (" or set alpha > 0", ""),
    (
        ", use fewer folds, or set a ridge penalty such as LinearBias(alpha=0.01)",
        " or use fewer folds",
    ),
    (
        "Set a ridge penalty, such as LinearBias(alpha=0.01), or drop the judge",
        "Drop the judge or the feature",
    ),
    (" Set a ridge penalty, such as LinearBias(alpha=0.01).", ""),
    ("n_splits", "--folds"),
)


def worded(message: BaseException | str) -> str:
    """Put a message in the words of the command line."""
    text = str(message)
    for python, here in _SPELLINGS:
        text = text.replace(python, here)
    return text
