"""Groups of dependent rows that several columns define together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skanchor._comparisons.labels import exact_values, factorize
from skanchor._comparisons.table import as_frame
from skanchor.exceptions import Advice, BattlesError, Remedy, Term

__all__ = ["join_groups"]


def join_groups(table: Any, columns: Sequence[str]) -> NDArray[np.intp]:
    """Group the rows that are linked by equal values in any of the columns.

    Two rows are in one group if a chain of rows connects them in which neighbours share
    a value in one of the columns, such as the prompt or the voter. Nulls link no rows.

    Parameters
    ----------
    table : battles table
        One row per comparison.
    columns : sequence of str
        Names of columns.

    Returns
    -------
    ndarray of shape (n_rows,)
        Number of the group of each row, for ``fit(groups=...)``.

    Raises
    ------
    BattlesError
        If a column is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from skanchor._comparisons import join_groups
    >>> table = pd.DataFrame({"prompt_id": [1, 1, 2, 3], "rater": [7, 8, 8, 9]})
    >>> join_groups(table, ["prompt_id", "rater"]).tolist()
    [0, 0, 0, 1]
    """
    frame = as_frame(table)
    for name in columns:
        if frame is None or name not in frame.columns:
            known = frame.columns[:20] if frame is not None else "none"
            raise BattlesError(
                Term.GROUPS,
                f" names the column {name!r}, which X lacks (columns: {known}).",
                advice=Advice(Remedy.GIVE_GROUPS),
            )
    assert frame is not None
    # A bipartite graph: nodes 0 to n_rows - 1 are the rows, then come the distinct
    # values of the first column, of the second and so on. A row is linked to its value
    # in each column, and groups are the connected components.
    n_rows, n_nodes = len(frame), len(frame)
    rows, nodes = [], []
    for name in columns:
        codes, values = factorize(exact_values(frame[name]), f"Column {name!r}")
        # Code -1 is a null.
        linked = np.flatnonzero(codes >= 0)
        rows.append(linked)
        nodes.append(n_nodes + codes[linked])
        n_nodes += len(values)
    at, to = np.concatenate(rows), np.concatenate(nodes)
    links = coo_array((np.ones(len(at), dtype=np.int8), (at, to)), (n_nodes, n_nodes))
    _, part = connected_components(links, directed=False)
    # Components of the row nodes, renumbered in order of appearance.
    groups, _ = pd.factorize(part[:n_rows])
    return groups.astype(np.intp)
