"""One random case of a kind, made by its seed alone, and what becomes of it."""

import contextlib
import io
import os
import tempfile
from pathlib import Path

import numpy as np
from fuzz import answers, files, options, tables
from fuzz.verdict import WrongAnswerError, judged
from sklearn.base import clone

from skanchor._cli import main
from skanchor.exceptions import ConvergenceWarning
from skanchor.simulation import simulate_battles

TRACEBACK = "Traceback (most recent call last)"


def table_case(seed):
    """A random table and method; then other rows and names, which must not matter."""
    rng = np.random.default_rng([1, seed])
    case = tables.draw(rng)
    method = options.draw(rng, case=case)
    about = f"{case.notes} {method!r}"
    lawful = answers.is_lawful(method, case) and _consistent(case)
    fold = answers.plan_of(case, rng) if lawful else None

    def run():
        fitted = answers.with_plan(method, fold) if lawful else clone(method)
        fitted.fit(case.X, case.y, **_also(case))
        answers.check(fitted, case)
        if lawful and _settled(fitted):
            other, new, folds, names = answers.changed(case, method, fold, rng)
            new = answers.with_plan(new, folds)
            new.fit(other.X, other.y, **_also(other))
            answers.compare(fitted, new, names)

    return about, judged(run)


def _settled(fitted):
    """What has not settled depends on the way, and says so."""
    if getattr(fitted, "historical_fit", "joint") == "two-step" and any(
        "no finite fit exists" in str(w) for w in fitted.warnings_
    ):
        # Without a say in the scores only where these are fitted jointly.
        return False
    return not any(isinstance(w, ConvergenceWarning) for w in fitted.warnings_)


def _also(case):
    arguments = {"sample_weight": case.weight, "groups": case.groups}
    return {name: value for name, value in arguments.items() if value is not None}


def _consistent(case):
    n = len(case.X)
    if len(case.y) != n or not n:
        return False
    if case.weight is not None and len(case.weight) != n:
        return False
    if isinstance(case.groups, str):
        return case.groups in case.X
    if case.groups is not None and (
        len(case.groups) != n or isinstance(case.groups, list)
    ):
        return False
    labels = list(case.X["model_a"]) + list(case.X["model_b"])
    return all(isinstance(m, str) for m in labels)


def option_case(seed):
    """A plain table, and a method with an odd parameter or two."""
    rng = np.random.default_rng([2, seed])
    data = simulate_battles(
        n_historical=300, n_new=60, n_models=4, n_judges=2, random_state=seed % 5
    )
    case = tables.Case(data.X, data.y)
    method = options.draw(rng, odd=0.03)

    def run():
        method.fit(case.X, case.y)
        answers.check(method, case)

    return repr(method)[:2000], judged(run)


def file_case(seed):
    """A file or two, damaged, and flags for ``skanchor rank``, in this process."""
    rng = np.random.default_rng([3, seed])
    with tempfile.TemporaryDirectory() as folder:
        args = files.draw(rng, Path(folder))
        about = " ".join(args)[:500]
        code: list = []

        def run():
            out, err = io.StringIO(), io.StringIO()
            home = os.getcwd()
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    code.append(main(args))
            finally:
                os.chdir(home)
            lines = err.getvalue().splitlines()
            if code[0] not in (0, 2):
                raise WrongAnswerError(f"exit code {code[0]}", lines)
            if TRACEBACK in err.getvalue():
                raise WrongAnswerError("traceback on the screen", lines)
            # Below an error there may be commands, each below its case.
            below = [x for x in lines if x.startswith("  skanchor ") or x[-1:] == ":"]
            lines = [x for x in lines if x not in below]
            if any(not x.startswith("skanchor: ") for x in lines):
                raise WrongAnswerError("stray line", lines)
            if code[0] == 2 and (not lines or not lines[-1][17:].strip()):
                raise WrongAnswerError("no message", lines)
            if code[0] == 0 and not out.getvalue() and "--output" not in args:
                raise WrongAnswerError("no result", lines)
            if any((ord(c) < 32 and c != "\n") or c == "\x7f" for c in err.getvalue()):
                raise WrongAnswerError("terminal", lines)
            if code[0] == 0 and "--json" in args and "nan" in out.getvalue().lower():
                raise WrongAnswerError("nan in json", out.getvalue()[:500])
            code.append(lines)

        verdict = judged(run)
    if verdict.kind.startswith("result") and code:
        verdict.kind = "exit 0" if code[0] == 0 else "exit 2"
        verdict.text = str(code[-1])[:300]
    return about, verdict


KINDS = {"tables": table_case, "options": option_case, "files": file_case}
