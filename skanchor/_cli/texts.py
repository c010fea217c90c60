"""Features from columns of texts: ``--text-columns``."""

from __future__ import annotations

from typing import Any

from skanchor._cli.command import BadInputError
from skanchor._cli.streams import is_watched


def with_text_features(table: Any, given: str | None) -> Any:
    """Replace pairs of text columns by features of their texts.

    Parameters
    ----------
    table : DataFrame
        The battles, columns named as in the file.
    given : str or None
        Names of the columns, two by two: ``a,b`` or ``a1,b1,a2,b2``.

    Returns
    -------
    DataFrame
    """
    if given is None:
        return table
    names = [name.strip() for name in given.split(",")]
    if len(names) % 2 or not all(names):
        raise BadInputError(
            f"--text-columns takes pairs of columns, as in response_a,response_b; got "
            f"{given!r}"
        )

    from skanchor._cli.pairs import column_called
    from skanchor.features import ResponseFeatures

    names = [column_called(table.columns, name) or name for name in names]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    features = ResponseFeatures(columns=pairs, verbose=int(is_watched()))
    return features.fit_transform(table)
