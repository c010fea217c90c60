"""Run tests against a copy of the package, in a process of its own."""

import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from mutants.faults import ROOT

# A module that is patched wrongly raises these in whatever test runs first.
BROKEN = ("NameError", "SyntaxError", "ImportError", "IndentationError")


class Watch:
    """Pytest plugin: run the tests that are named, in that order, within a time."""

    def __init__(self, package, tests=None, limit=None):
        self.package = package
        self.tests = tests
        self.limit = limit
        self.outcomes, self.seconds, self.failures = {}, {}, {}

    def pytest_collection_modifyitems(self, items):
        """Leave only the tests that are named."""
        if self.tests is not None:
            rank = {name: i for i, name in enumerate(self.tests)}
            items[:] = [item for item in items if item.nodeid in rank]
            items.sort(key=lambda item: rank[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session):
        """Start the clock when the tests are there."""
        self.start = time.process_time()

    def pytest_runtest_logreport(self, report):
        """Note the outcome of a test and its duration."""
        name = report.nodeid
        self.seconds[name] = self.seconds.get(name, 0.0) + report.duration
        if report.failed:
            self.outcomes[name] = "failed"
            crash = getattr(report.longrepr, "reprcrash", None)
            self.failures[name] = str(crash.message if crash else report.longrepr)[:200]
        elif report.when == "call" or report.skipped:
            self.outcomes.setdefault(name, report.outcome)

    def pytest_runtest_teardown(self, item):
        """End the session once its time is spent."""
        if self.limit is not None and time.process_time() - self.start > self.limit:
            item.session.shouldstop = "time is spent"

    def record(self, code):
        """Outcome of the session as JSON can hold it."""
        module = sys.modules.get("skanchor")
        path = Path(module.__file__).resolve() if module else None
        return {
            "code": int(code),
            "outcomes": self.outcomes,
            "seconds": self.seconds,
            "failures": self.failures,
            "strayed": path is not None and self.package not in path.parents,
        }


def copied(folder):
    """Copy the package into a folder, compiled files included."""
    target = Path(folder).resolve() / "skanchor"
    shutil.copytree(ROOT / "skanchor", target)
    return target.parent


def started(package, arguments, record, tests=None, limit=None):
    """Start pytest on the copy of the package in a folder, in a forked process."""
    process = multiprocessing.get_context("fork").Process(
        target=_session, args=(package, arguments, record, tests, limit)
    )
    process.start()
    return process


def _session(package, arguments, record, tests, limit):
    os.setsid()
    output = os.open(f"{record}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(ROOT)
    os.environ["PYTHONPATH"] = f"{package}{os.pathsep}{ROOT / 'tests'}"
    sys.path.insert(0, str(package))
    watch = Watch(package, tests, limit)
    options = ["-q", "-p", "no:cacheprovider"]
    # The folder of the repository, which setup.cfg puts first, would hide the copy.
    paths = ["-o", f"pythonpath={package} tests", "-o", "addopts="]
    always = ["--import-mode=importlib", "--strict-markers", "-m", "not slow"]
    code = pytest.main([*options, *paths, *always, *arguments], plugins=[watch])
    Path(record).write_text(json.dumps(watch.record(code)), encoding="utf-8")
    os._exit(0)


def end(process):
    """End a session, and the processes that its tests have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()


def verdict(record):
    """Say what a session shows: killed, alive, or a patch that does not run."""
    if record is None:
        return "broken", []
    if record["strayed"]:
        raise RuntimeError("the tests did not import the copy of the package")
    failed = [name for name, how in record["outcomes"].items() if how == "failed"]
    broken = [name for name in failed if record["failures"][name].startswith(BROKEN)]
    if record["code"] not in (0, 1, 2, 5) or (failed and len(broken) == len(failed)):
        return "broken", failed
    if record["code"] == 2 and not record["outcomes"]:
        return "broken", failed
    return ("killed" if failed else "alive"), failed
