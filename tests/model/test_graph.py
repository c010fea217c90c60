"""The graph of who beat whom."""

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from skanchor._model.graph import Connectivity, components


def test_connectivity():
    wins = np.zeros((5, 5))
    wins[0, 1] = wins[1, 2] = wins[2, 0] = 1.0
    wins[3, 4] = 0.5
    graph = Connectivity.of(wins, np.array(list("abcde"), dtype=object))
    assert graph.components == (("a", "b", "c"), ("d", "e"))
    assert graph.strong_components[0] == ("a", "b", "c")
    assert len(graph.strong_components) == 3
    assert graph.never_won == ("e",)
    assert graph.never_lost == ("d",)
    assert not graph.is_connected and len(graph.strong_components) > 1


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
