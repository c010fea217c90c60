"""Pages of the commands, made from the parser of the command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from skanchor._cli.parser import make_parser

__all__ = ["command_pages", "commands"]

FOLDER = "generated/commands"


def commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Commands of a parser and what they do, each before the commands inside it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            for name, inner in action.choices.items():
                yield helps.get(name, ""), inner
                yield from commands(inner)


def escaped(text: str) -> str:
    """Text of a help message as reStructuredText."""
    return re.sub(r"([\\*`|]|_\b)", r"\\\1", text)


def help_of(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    """What the help says of an argument, in one line."""
    formatter = parser._get_formatter()
    text = formatter._expand_help(action) if action.help else ""
    return escaped(" ".join(text.split()))


def argument(action: argparse.Action, parser: argparse.ArgumentParser) -> Iterator[str]:
    """An argument with its help."""
    formatter = parser._get_formatter()
    given = formatter._format_args(
        action, formatter._get_default_metavar_for_optional(action)
    )
    if action.option_strings:
        shown = [f"{flag} {given}".strip() for flag in action.option_strings]
        yield f".. option:: {', '.join(shown)}"
        yield ""
        yield f"   {help_of(action, parser)}"
    else:
        name = action.metavar or action.dest
        yield f"``{name}``"
        yield f"   {help_of(action, parser)}"
    yield ""


def literal(text: str) -> list[str]:
    """A block of text as it is."""
    return [".. code-block:: text", "", *(f"   {line}" for line in text.splitlines())]


def page(title: str, purpose: str, parser: argparse.ArgumentParser) -> str:
    """The page of a command, in reStructuredText."""
    description, _, examples = (parser.description or purpose).partition("examples:")
    description = " ".join(description.split())
    usage = parser.format_usage().removeprefix("usage: ")
    lines = [f"``{title}``", "=" * (len(title) + 4), "", escaped(description), ""]
    lines += [*literal(usage), ""]
    if examples:
        lines += ["Examples", "--------", "", *literal(examples.strip("\n")), ""]
    lines += [f".. program:: {title}", ""]
    for group in parser._action_groups:
        shown = [
            one
            for one in group._group_actions
            if one.help is not argparse.SUPPRESS
            and not isinstance(one, argparse._SubParsersAction)
        ]
        if shown:
            name = (group.title or "arguments").capitalize()
            lines += [name, "-" * len(name), ""]
            for action in shown:
                lines += argument(action, parser)
    if parser.epilog:
        lines += [escaped(parser.epilog), ""]
    return "\n".join(lines)


def command_pages() -> dict[str, str]:
    """Texts of the pages by their path in the folder of the documentation."""
    parser = make_parser()
    pages, rows = {}, []
    for purpose, inner in commands(parser):
        name = inner.prog.replace(" ", "-")
        pages[f"{FOLDER}/{name}.rst"] = page(inner.prog, purpose, inner)
        rows.append((name, inner.prog, purpose))
    title = "Commands"
    purpose, _, examples = (parser.description or "").partition("examples:")
    lines = [title, "=" * len(title), "", escaped(purpose.strip()), ""]
    lines += [*literal(examples.strip("\n")), ""]
    for name, prog, purpose in rows:
        lines += [f":doc:`{prog} <{name}>`", f"   {escaped(purpose)}", ""]
    lines += [escaped(parser.epilog or ""), "", ".. toctree::", "   :hidden:", ""]
    lines += [f"   {prog} <{name}>" for name, prog, _ in rows]
    return {f"{FOLDER}/index.rst": "\n".join(lines) + "\n", **pages}
