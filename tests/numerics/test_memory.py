"""How much memory the machine has left."""

import pytest

from skanchor._numerics import memory


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Files of a Linux that says so."""

    def tell(meminfo=None, limit=None):
        for name, text in (("_MEMINFO", meminfo), ("_LIMIT", limit)):
            path = tmp_path / name
            if text is not None:
                path.write_text(text)
            monkeypatch.setattr(memory, name, path)

    return tell


def test_what_is_available_and_the_limit_of_a_container(told):
    told("MemTotal: 9 kB\nMemAvailable:      7 kB\n", "max\n")
    assert memory.available_bytes() == 7 * 1024
    told("MemAvailable: 7 kB\n", "1000\n")
    assert memory.available_bytes() == 1000


def test_elsewhere_all_of_the_machine_or_a_constant(told, monkeypatch):
    told()
    pages = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", pages.__getitem__, raising=False)
    assert memory.available_bytes() == 40960
    monkeypatch.delattr(memory.os, "sysconf")
    assert memory.available_bytes() == memory.ASSUMED
