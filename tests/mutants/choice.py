"""Choose the tests that are run against a fault, from what each test executes."""

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from functools import cache
from itertools import zip_longest
from pathlib import Path

import coverage
import numpy as np
from mutants.faults import ROOT, runnable_faults
from mutants.trial import copied, started

# Not kept in the repository: it takes minutes, and goes by the lines of a commit.
STORE = ROOT / ".mutants"
CHOSEN = STORE / "chosen.json"
GOLDEN = "tests/golden/test_golden.py"
# Tests of public behaviour; a file that has gone is simply not there any more.
PUBLIC = """
golden/test_golden.py test_invariance*.py test_btl*.py test_ties.py test_counts.py
test_raters.py test_prompts.py test_ranking.py test_multiplicity.py
test_weight_units.py test_arrivals.py test_anchor*.py test_human_bias.py test_people.py
test_inference.py test_families.py test_judges.py
test_evaluation.py test_interval_check.py test_many_judges.py test_undetermined.py
test_metrics.py test_one_sided.py test_votes_alone.py test_simulation.py
test_sample.py test_shared_contexts.py
baselines/*.py bias/test_auto.py bias/test_boosted.py bias/test_fitting.py
bias/test_linear.py bootstrap/*.py comparisons/test_features.py
comparisons/test_grades.py comparisons/test_oddities.py comparisons/test_outcomes.py
comparisons/test_roles.py comparisons/test_table.py comparisons/test_equal_rows.py
diagnostics/*.py faults/test_answers.py features/*.py folds/test_plan.py
folds/test_source_kfold.py history/*.py io/test_degrees.py
io/test_generic.py io/test_odd_tables.py io/test_order.py io/test_tools.py
io/test_who_decided.py
readouts/*.py results/*.py riesz/*.py reports/test_answers.py cli/test_rank.py
""".split()


def public_files():
    """Test files of public behaviour, golden cases first."""
    paths = [path for glob in PUBLIC for path in sorted((ROOT / "tests").glob(glob))]
    names = [path.relative_to(ROOT).as_posix() for path in paths]
    return [name for name in dict.fromkeys(names) if Path(name).name[:5] == "test_"]


def traced(files, folder):
    """Run test files under coverage; return a trace of each: seconds and lines."""
    package, data, record = folder / "skanchor", folder / "coverage", folder / "record"
    rules = folder / "rules"
    rules.write_text(f"[run]\nsource = {package}\ndata_file = {data}\n")
    options = [f"--cov={package}", f"--cov-config={rules}", "--cov-report="]
    started(copied(folder), [*options, "--cov-context=test", *files], record).join()
    answer = json.loads(record.read_text(encoding="utf-8"))
    executed = coverage.CoverageData(str(data))
    executed.read()
    traces = {file: {"seconds": {}, "lines": {}} for file in files}
    for name, how in answer["outcomes"].items():
        if how == "passed":
            seconds = round(answer["seconds"][name], 3)
            traces[name.split("::")[0]]["seconds"][name] = seconds
    for path in executed.measured_files():
        module = Path(path).relative_to(package).as_posix()
        for line, contexts in executed.contexts_by_lineno(path).items():
            for name in {context.split("|")[0] for context in contexts if context}:
                lines = traces[name.split("::")[0]]["lines"]
                lines.setdefault(module, {}).setdefault(name, []).append(line)
    return traces


def _git(*words):
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def all_traces(batch=6):
    """Traces of the public tests; those of unchanged test files are read again."""
    STORE.mkdir(parents=True, exist_ok=True)
    files, tree = public_files(), _git("rev-parse", "HEAD:skanchor").strip()
    marks = _git("hash-object", *files).split()
    paths = {f: STORE / f"{m}.json" for f, m in zip(files, marks, strict=True)}
    missing = [file for file in files if not paths[file].exists()]
    for first in range(0, len(missing), batch):
        with tempfile.TemporaryDirectory() as folder:
            part = missing[first : first + batch]
            for file, trace in traced(part, Path(folder).resolve()).items():
                trace["tree"] = tree
                paths[file].write_text(json.dumps(trace), encoding="utf-8")
                spent = sum(trace["seconds"].values())
                print(f"{file}: {len(trace['seconds'])} tests, {spent:.0f} s")
                sys.stdout.flush()
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths.values()]


@cache
def _lines_now(tree, module):
    """Where the lines of a module of an earlier package are in the module of today."""
    path = ROOT / "skanchor" / module
    if not path.exists():
        return {}
    texts = _git("show", f"{tree}:{module}"), path.read_text(encoding="utf-8")
    old, new = (text.splitlines() for text in texts)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {a + i: b + i for a, b, size in blocks for i in range(1, size + 1)}


def choose(limit):
    """Write for each fault the tests that execute it, as many as the limit allows."""
    seconds, sizes = {}, defaultdict(int)
    lines = defaultdict(lambda: defaultdict(set))
    for trace in all_traces():
        seconds |= trace["seconds"]
        for module, by_test in trace["lines"].items():
            for name, numbers in by_test.items():
                # Few lines in all mean that a test is about little else.
                sizes[name] += len(numbers)
                place = _lines_now(trace["tree"], module)
                for number in numbers:
                    lines[module][place.get(number)].add(name)
    chosen = {
        fault.name: choice(
            fault, _candidates(fault, lines) & set(seconds), seconds, sizes, limit
        )
        for fault in runnable_faults()
    }
    write_rows(CHOSEN, chosen)


def _candidates(fault, lines):
    """Tests that execute the lines of a fault.

    What a module or a class executes when it is imported is executed by no test: then
    they are the tests of the lines that use the name that is set there.
    """
    text = (ROOT / "skanchor" / fault.file).read_text(encoding="utf-8")
    inside = _lines_of_functions(text)
    chosen = [line for line in fault.lines() if line in inside]
    if chosen:
        return _tests_of(lines[fault.file], chosen)
    name = re.match(r"\s*(\w+)\b[^=\n]*= ", fault.before)
    users = set()
    if name:
        for path in (ROOT / "skanchor").rglob("*.py"):
            module = path.relative_to(ROOT / "skanchor").as_posix()
            rows = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
            used = [at for at, row in rows if re.search(rf"\b{name[1]}\b", row)]
            users |= _tests_of(lines[module], used)
    return users or _tests_of(lines[fault.file], lines[fault.file])


def _tests_of(by_line, chosen):
    return set().union(*(by_line.get(line, ()) for line in chosen))


def _lines_of_functions(text):
    """Numbers of the lines in bodies of functions."""
    kinds = ast.FunctionDef | ast.Lambda
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return {
        line for node in nodes for line in range(node.lineno + 1, node.end_lineno + 1)
    }


def choice(fault, names, seconds, sizes, limit):
    """Choose tests of a fault for a number of seconds, a third of it each by

    golden cases, tests whose names share words with the fault, and tests of all files
    in turn. Specific tests come first: those that execute few lines in all.
    """
    by_file = defaultdict(list)
    for name in sorted(names, key=lambda name: (sizes[name], name)):
        by_file[name.split("::")[0]].append(name)
    golden = _by_shared_words(fault, by_file.pop(GOLDEN, []))
    order = sorted(by_file, key=lambda file: sizes[by_file[file][0]])
    turns = zip_longest(*(by_file[file] for file in order))
    others = [name for turn in turns for name in turn if name is not None]
    near = _by_shared_words(fault, others)
    taken, spent = {}, 0.0
    for number, part in enumerate((golden, near, others), start=1):
        for name in part:
            if name not in taken and spent + seconds[name] <= limit * number / 3:
                taken[name] = None
                spent += seconds[name]
    return list(taken)


def _by_shared_words(fault, names):
    """Tests by how many rare words of their names the fault has, too."""
    words = {name: _words(name) for name in names}
    count = Counter(word for of_test in words.values() for word in of_test)
    texts = fault.name, fault.sentence, fault.input, fault.changes, fault.file
    wanted = _words(" ".join(texts))
    value = {
        name: sum(np.log(len(names) / count[word]) for word in own & wanted)
        for name, own in words.items()
    }
    return sorted(names, key=lambda name: -value[name])


def _words(text):
    """Words of a text, cut to what their forms have in common, about."""
    return {word[:6] for word in re.findall("[a-z]{3,}", text.lower())}


def chosen_tests():
    """The choice as it is stored: names of tests by fault."""
    if not CHOSEN.exists():
        raise SystemExit("no tests are chosen yet: python -m mutants choose")
    return json.loads(CHOSEN.read_text(encoding="utf-8"))


def write_rows(path, rows):
    """Write a mapping as JSON with one entry to a line."""
    entries = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()]
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
