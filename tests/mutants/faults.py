"""Faults of public behaviour: the tables of this folder, and their patches."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


@dataclass(frozen=True)
class Fault:
    """One fault that a test of public behaviour must notice.

    Attributes
    ----------
    name : str
        Short and unique.
    sentence, input, changes : str
        What is wrong, which table shows it, and the number that changes.
    file : str
        Module, relative to the package.
    before, after : str
        Text that occurs once in the module, and what stands there instead.
    equivalent : str or None
        Why no table can show it; such a fault is not run.
    """

    name: str
    sentence: str
    input: str
    changes: str
    file: str
    before: str
    after: str
    equivalent: str | None = None

    def lines(self, package=ROOT / "skanchor"):
        """Numbers of the lines that the patch changes."""
        text = (package / self.file).read_text(encoding="utf-8")
        # Lines that the two texts share at either end are only there to be unique.
        old, new = self.before.splitlines(), self.after.splitlines()
        first = text[: text.index(self.before)].count("\n") + 1
        while len(old) > 1 and new and old[0] == new[0]:
            old, new, first = old[1:], new[1:], first + 1
        while len(old) > 1 and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        return range(first, first + len(old))

    def patched(self, package=ROOT / "skanchor"):
        """Text of the module with the fault; refused unless the patch fits once."""
        text = (package / self.file).read_text(encoding="utf-8")
        count = text.count(self.before)
        if count != 1:
            raise ValueError(
                f"{self.name}: its text occurs {count} times in {self.file}"
            )
        changed = text.replace(self.before, self.after)
        compile(changed, self.file, "exec")
        return changed


def all_faults():
    """Faults of all tables, in order."""
    return [
        Fault(**entry)
        for table in sorted(FOLDER.glob("*.toml"))
        for entry in tomllib.loads(table.read_text(encoding="utf-8"))["fault"]
    ]


def runnable_faults(names=()):
    """Faults that a table can show; all, or those that are named."""
    faults = {fault.name: fault for fault in all_faults() if not fault.equivalent}
    unknown = set(names) - set(faults)
    if unknown:
        raise SystemExit(f"no such fault: {', '.join(sorted(unknown))}")
    return [faults[name] for name in names] if names else list(faults.values())
