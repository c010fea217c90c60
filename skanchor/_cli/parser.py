"""The parser of the command line, made from ``commands.toml``."""

from __future__ import annotations

import argparse
import textwrap
import tomllib
from importlib import import_module
from importlib.resources import files
from typing import Any, NoReturn

from skanchor._cli.values import TYPES, BadInputError

# Values of flags that some commands do not take.
_ABSENT = {
    **{"new": None, "no_new": False, "hide_votes_of": None},
    **{"set": None, "n_jobs": None, "tools": None, "level": 0.95},
}
_MORE_FLAGS = "More flags of files: skanchor inspect --help. "
_EXIT_CODE = "Exit code: 0 on success, 2 on bad input. The cause is then one line."


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInputError` where argparse would exit.

    A flag must be typed in full: the beginning of one could be that of another command.
    """

    def __init__(self, **settings: Any):
        super().__init__(
            allow_abbrev=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=25, width=88
            ),
            **settings,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; refuse what is left over here, where the command is known."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
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


def run(options: argparse.Namespace) -> None:
    """Run the command that was typed, a function of the module that has its name."""
    if getattr(options, "force", False) and options.output is None:
        raise BadInputError("--force goes with --output")
    module = import_module(f"skanchor._cli.{options.command}")
    getattr(module, getattr(options, "action", options.command))(options)


def _add_command(
    commands: Any, prog: str, command: dict[str, Any], groups: dict[str, Any]
) -> None:
    """Add the parser of a command, or of an action of one."""
    name, text = prog.split()[-1], command["help"]
    says = f"{text[0].upper()}{text[1:]}. {command.get('more', '')}".strip()
    examples = _examples(prog, command.get("examples", {}))
    takes_files = "files" in command.get("groups", ())
    made = commands.add_parser(
        name,
        prog=prog,
        usage=f"{prog} {command.get('usage', 'FILE ... [flags]')}",
        help=text,
        description=f"{textwrap.fill(says, 86)}\n\n{examples}",
        epilog=_MORE_FLAGS * (takes_files and name != "inspect") + _EXIT_CODE,
    )
    for title in command.get("groups", ()):
        group = made.add_argument_group(title)
        prose = command.get(title)
        flags = prose if isinstance(prose, dict) else groups[title]
        for flag, settings in flags.items():
            if flag not in command.get("without", ()):
                settings = _settings(name, **settings)
                if isinstance(prose, str) and flag.startswith("-o"):
                    settings["help"] = prose
                group.add_argument(*flag.split(), **settings)
    if "actions" in command:
        actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
        for action, inner in command["actions"].items():
            _add_command(actions, f"{prog} {action}", inner, groups)


def _settings(
    command: str, list: bool = False, rare: bool = False, **settings: Any
) -> dict[str, Any]:
    """Settings of a flag for argparse."""
    if list:
        settings |= {"nargs": "+", "action": "extend"}
    if rare and command != "inspect":
        settings["help"] = argparse.SUPPRESS
    if "metavar" not in settings:
        settings["action"] = "store_true"
    if "type" in settings:
        settings["type"] = TYPES[settings["type"]]
    return settings


def _examples(prog: str, examples: dict[str, str]) -> str:
    """Text of the examples in the help: what is typed, and what for."""
    typed = {f"{prog} {words}": purpose for words, purpose in examples.items()}
    width = max(map(len, typed), default=0)
    if width > 50:
        lines = [f"  # {purpose}\n  {words}" for words, purpose in typed.items()]
    else:
        lines = [f"  {words:{width}}  # {what}" for words, what in typed.items()]
    return "\n".join(["examples:", *lines]) if examples else ""
