"""Run tests against a copy of the package that has a fault."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from mutants.faults import ROOT

# A module that is patched wrongly raises these in whatever test runs first.
BROKEN = ("NameError", "SyntaxError", "ImportError", "IndentationError")


def trial(fault, files, limit, whole=False):
    """Outcome of tests with a fault, as the record of kills holds it.

    Parameters
    ----------
    fault : Fault or None
        Without one the package is as it is.
    files : list of str
        Test files in their order.
    limit : float
        Seconds until the tests are ended.
    whole : bool, default=False
        Whether to run all of them, and not only up to the first that fails.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        package, result = folder / "skanchor", folder / "found.xml"
        compiled = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "skanchor", package, ignore=compiled)
        if fault is not None:
            (package / fault.file).write_text(fault.patched(), encoding="utf-8")
        # The folder of the repository, which setup.cfg puts first, would hide the copy.
        options = ["-o", f"pythonpath={folder} tests", "-o", "addopts="]
        options += ["--import-mode=importlib", "--strict-markers", "-m", "not slow"]
        options += ["-q", "-p", "no:cacheprovider", f"--junitxml={result}"]
        options += [] if whole else ["-x"]
        command = [sys.executable, "-P", "-m", "pytest", *options, *files]
        environment = os.environ | {"PYTHONPATH": str(folder)}
        try:
            subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return {"outcome": "out of time", "tests": 0, "killed_by": {}}
        cases = (
            list(ElementTree.parse(result).iter("testcase")) if result.exists() else []
        )
    return {"tests": len(cases)} | verdict(cases, whole)


def verdict(cases, whole):
    """What test cases show: killed, alive, or a patch that does not run."""
    failures = {
        case: problem.get("message", "")
        for case in cases
        for problem in case
        if problem.tag in ("failure", "error")
    }
    is_broken = all(text.startswith(BROKEN) for text in failures.values())
    if not cases or (failures and is_broken):
        return {"outcome": "broken", "killed_by": {}}
    by_file = Counter(
        f"{case.get('classname').replace('.', '/')}.py" for case in failures
    )
    entry = {"outcome": "killed" if failures else "alive", "killed_by": dict(by_file)}
    return entry | ({} if whole else {"first": True})
