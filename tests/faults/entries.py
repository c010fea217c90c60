"""A list of faults and the answer to each."""

from dataclasses import dataclass, field


@dataclass
class Fault:
    """What is given, and what it must lead to."""

    title: str
    raises: tuple | None = None
    warns: list = field(default_factory=list)
    run: object = None
    check: object = None
    frame: object = None
    params: dict = field(default_factory=dict)
    flags: tuple = ()
    where: str = ""


class Listing(list):
    """Faults of one kind, in the order of the page that documents them."""

    def table(self, title, frame, *, raises=None, warns=(), check=None, flags=(),
              **params):  # fmt: skip
        """List a table, made when its test runs, and what fitting it gives.

        With flags, the command line reads it from a file, too.
        """
        self.append(
            Fault(title, raises, list(warns), None, check, frame, params, flags)
        )

    def call(self, title, run, *, raises=None, warns=(), check=None):
        """List a call that has no file."""
        self.append(Fault(title, raises, list(warns), run, check))

    def see(self, title, where):
        """List what a test elsewhere covers, ``folder.module::test``."""
        self.append(Fault(title, where=where))
