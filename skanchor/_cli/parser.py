"""The parser of the command line, made from ``commands.toml``, and values of flags."""

from __future__ import annotations

import argparse
import math
import re
import textwrap
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any, NoReturn

# Values of flags that some commands do not take.
_ABSENT: dict[str, Any] = {
    **dict.fromkeys(["new", "hide_votes_of", "tools", "n_jobs", "demo", "past"]),
    **dict.fromkeys(["output", "history"]),
    **dict.fromkeys(["no_new", "force", "json"], False),
    **{"battles": [], "set": {}, "suffixes": "", "level": 0.95},
}
_MORE_FLAGS = "More flags of files: skanchor inspect --help. "
_EXIT_CODE = "Exit code: 0 on success, 2 on bad input. The cause is then one line."


class BadInputError(Exception):
    """Bad input, with a message that is printed as it is."""


# ----------------------------------------------------------------------------- values
def _number(takes: str, fits: Callable[[float], bool]) -> Callable[[str], float]:
    """Type of a flag whose numbers must fit; ``takes`` says which do."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not fits(value):
            raise argparse.ArgumentTypeError(f"takes {takes}, got {text!r}")
        return int(value) if value.is_integer() else value

    return parse


def _pair(
    takes: str, of_value: Callable[[str], Any] = str, at_last: bool = True
) -> Callable[[str], tuple[str, Any]]:
    """Type of a flag that takes NAME=VALUE, as ``takes`` writes it."""

    def parse(text: str) -> tuple[str, Any]:
        # The last sign counts where a name such as A=B contains one.
        parts = text.rpartition("=") if at_last else text.partition("=")
        name, equals, value = (part.strip() for part in parts)
        if not equals or not value:
            raise argparse.ArgumentTypeError(f"takes {takes}, got {text!r}")
        return name, of_value(value)

    return parse


def _pairs(text: str) -> list[tuple[str, str]]:
    """Pairs of a list OLD=NEW,...; a comma of a name follows a backslash."""
    parse = _pair("OLD=NEW,...")
    return [parse(part.replace("\\,", ",")) for part in re.split(r"(?<!\\),", text)]


def _commas(text: str) -> list[str]:
    """Names of a list that is separated by commas."""
    return [name for part in text.split(",") if (name := part.strip())]


_positive = _number("a finite number above zero", lambda x: 0 < x < math.inf)
_TYPES: dict[str, Callable[[str], Any]] = {
    "commas": _commas,
    "jobs": _number("a number, or -1 for all cores", lambda x: x % 1 == 0 and x != 0),
    "level": _number("a level strictly between 0 and 1", lambda x: 0 < x < 1),
    "not negative": _number("a finite number from zero on", lambda x: 0 <= x < 1e9),
    "pairs": _pairs,
    "positive": _positive,
    "price": _pair("SOURCE=PRICE", _positive),
    "score": _pair("MODEL=SCORE", _number("a finite score", math.isfinite)),
    "setting": _pair("NAME=VALUE (and goes after a FILE)", at_last=False),
}
# Types whose values are pairs, which a command gets as a dict.
_BY_NAME = ("pairs", "price", "setting")


class _Pairs(argparse.Action):
    """Collect pairs of a name and a value in a dict; each name may occur once."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        pairs = dict(getattr(namespace, self.dest) or {})
        for name, value in values:
            if name in pairs:
                parser.error(f"{option_string} has {name} twice")
            pairs[name] = value
        setattr(namespace, self.dest, pairs)


# ----------------------------------------------------------------------------- parser
class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` where argparse would exit.

    A flag must be typed in full: the beginning of one could be that of another command.

    Attributes
    ----------
    rules : list of (str, str, bool)
        Pairs of flags that go together (True), or do not.
    """

    def __init__(self, **settings: Any):
        super().__init__(
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=25, width=88
            ),
            **settings,
        )
        self.rules: list[tuple[str, str, bool]] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; refuse what is left over here, where the command is known."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        typed = {
            name
            for action in self._actions
            if getattr(options, action.dest, None) not in (None, action.default)
            for name in action.option_strings or [str(action.metavar)]
        }
        for flag, other, goes_with in self.rules:
            if flag in typed and (other in typed) != goes_with:
                without = "goes" if goes_with else "does not go"
                self.error(f"{flag} {without} with {other}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the message in one line; argparse would also print the usage."""
        raise BadInputError(f"{message} (see {self.prog} --help)")


def described() -> dict[str, Any]:
    """Groups of flags, and commands, as ``commands.toml`` has them."""
    text = (files("skanchor._cli") / "commands.toml").read_text("utf-8")
    return tomllib.loads(text)


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    descriptions = described()
    parser = Parser(
        prog="skanchor",
        usage="skanchor COMMAND [flags]",
        description="Rank new language models on the human scale from LLM judges.\n\n"
        + _examples("skanchor", descriptions["examples"]),
        epilog=_EXIT_CODE,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.set_defaults(**_ABSENT)
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    for name, command in descriptions["commands"].items():
        _add_command(commands, f"skanchor {name}", command, descriptions["groups"])
    return parser


def _add_command(
    commands: Any, prog: str, command: dict[str, Any], groups: dict[str, Any]
) -> None:
    """Add the parser of a command, or of an action of one."""
    name, text = prog.split()[-1], command["help"]
    says = f"{text[0].upper()}{text[1:]}. {command.get('more', '')}".strip()
    examples = _examples(prog, command.get("examples", {}))
    more = _MORE_FLAGS if "files" in command.get("groups", ()) else ""
    made = commands.add_parser(
        name,
        prog=prog,
        usage=f"{prog} {command.get('usage', 'FILE ... [flags]')}",
        help=text,
        description=f"{textwrap.fill(says, 86)}\n\n{examples}",
        epilog=more * (name != "inspect") + _EXIT_CODE,
    )
    for title in command.get("groups", ()):
        group = made.add_argument_group(title)
        flags = {**groups.get(title, {}), **command.get(title, {})}
        for flag, settings in flags.items():
            if flag not in command.get("without", ()):
                _add_flag(made, group, flag, settings)
    if "actions" in command:
        actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
        for action, inner in command["actions"].items():
            _add_command(actions, f"{prog} {action}", inner, groups)


def _add_flag(parser: Any, group: Any, flag: str, settings: dict[str, Any]) -> None:
    """Add a flag to a group of a parser; see ``commands.toml``."""
    names, settings = flag.split(), dict(settings)
    name = names[-1] if names[-1].startswith("-") else settings["metavar"]
    rules = settings.pop("needs", ""), settings.pop("excludes", "")
    parser.rules += [(name, other, True) for other in rules[0].split()]
    parser.rules += [(name, other, False) for other in rules[1].split()]
    if settings.pop("rare", False) and not parser.prog.endswith(" inspect"):
        settings["help"] = argparse.SUPPRESS
    if settings.pop("list", False):
        settings |= {"nargs": "+", "action": "extend"}
    if settings.get("type") in _BY_NAME:
        settings |= {"action": _Pairs, "default": {}}
    if "metavar" not in settings:
        settings["action"] = "store_true"
    if "type" in settings:
        settings["type"] = _TYPES[settings["type"]]
    if "--output" in names:
        parser.set_defaults(suffixes=settings["help"])
    group.add_argument(*names, **settings)


def _examples(prog: str, examples: dict[str, str]) -> str:
    """Text of the examples in the help: what is typed, and what for."""
    width = max(map(len, examples), default=0)
    lines = [f"  {prog} {words:{width}}  # {what}" for words, what in examples.items()]
    return "\n".join(["examples:", *lines]) if examples else ""
