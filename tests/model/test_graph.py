"""The graph of who beat whom."""

import pytest
from scipy.sparse.csgraph import connected_components

from skanchor._model.graph import components


@pytest.mark.parametrize("connection", ["weak", "strong"])
def test_components_with_nodes_without_links(connection, rng):
    for density in (0.0, 0.05, 0.1, 0.3, 1.0):
        links = rng.random((12, 12)) < density
        links[[3, 7]] = links[:, [3, 7]] = False
        _, expected = connected_components(links, connection=connection)
        found = components(links, connection)
        same = found[:, None] == found
        assert (same == (expected[:, None] == expected)).all()
        assert set(found) == set(range(found.max() + 1))
