"""``skanchor completion``: a script by which a shell completes commands and flags.

The script is generated from the parsers of the commands, so that it has all flags.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from skanchor._cli.command import Command, Flags
from skanchor._cli.streams import print_result

_SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class _Flag:
    """A flag of a command.

    ``names`` are its spellings (none for a positional argument), ``words`` the values
    that it accepts if these are listed, and ``takes_value`` whether it needs a value.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    takes_value: bool
    help: str


def _add_arguments(flags: Flags) -> None:
    flags.value("shell", None, "the shell", choices=_SHELLS)


def _print_script(options: argparse.Namespace, commands: Sequence[Command]) -> None:
    known = {command: list(_flags_of(command)) for command in commands}
    write = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print_result(write(known))


def _flags_of(command: Command) -> Iterator[_Flag]:
    """Flags and positional arguments of a command."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    # argparse has no public list of arguments; this name has never changed.
    for action in parser._actions:
        yield _Flag(
            tuple(action.option_strings),
            tuple(map(str, action.choices or ())),
            action.nargs != 0,
            # The first clause of the help, since a menu has one line for each flag.
            (action.help or "").partition(":")[0].partition("(")[0].strip(),
        )


_Known = dict[Command, list[_Flag]]
"""Flags of each command."""


def _bash(known: _Known) -> str:
    """Script for bash."""
    cases = []
    for command, flags in known.items():
        name = command.name
        # First the cases of words after a flag, then those of a new word, which is a
        # flag if it begins with a dash.
        for flag in flags:
            if flag.words and flag.names:
                after = "|".join(f"{name}:{each}" for each in flag.names)
                cases.append(f"    {after}) words='{' '.join(flag.words)}' ;;")
        written = " ".join(each for flag in flags for each in flag.names)
        first = " ".join(w for flag in flags if not flag.names for w in flag.words)
        choose = f"[[ $word == -* ]] && words='{written}' || words='{first}'"
        cases.append(f"    {name}:*) {choose} ;;")
    names = " ".join(command.name for command in known)
    lines = "\n".join(cases)
    return f"""\
# Completion of skanchor for bash: eval "$(skanchor completion bash)" in ~/.bashrc
_skanchor() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words=''
  if (( COMP_CWORD == 1 )); then
    words='{names} --help --version'
  else
    case "${{COMP_WORDS[1]}}:$before" in
{lines}
    esac
  fi
  # Without words, the shell completes names of files.
  COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
complete -o default -o bashdefault -F _skanchor skanchor
"""


def _zsh(known: _Known) -> str:
    """Script for zsh: that of bash, which zsh can run after ``bashcompinit``."""
    script = _bash(known).partition("\n")[2]
    return (
        '# Completion of skanchor for zsh: eval "$(skanchor completion zsh)" in '
        "~/.zshrc\nautoload -U +X compinit && compinit\n"
        f"autoload -U +X bashcompinit && bashcompinit\n{script}"
    )


def _fish(known: _Known) -> str:
    """Script for fish: one ``complete`` line for each command and flag."""
    lines = [
        "# Completion of skanchor for fish: skanchor completion fish > "
        "~/.config/fish/completions/skanchor.fish",
    ]
    for command, flags in known.items():
        lines.append(
            "complete -c skanchor -n __fish_use_subcommand -f "
            f"-a {command.name} -d {_quoted(command.help)}"
        )
        seen = f"complete -c skanchor -n '__fish_seen_subcommand_from {command.name}'"
        for flag in flags:
            words = f" -x -a {_quoted(' '.join(flag.words))}" if flag.words else ""
            if not flag.names:
                lines += [f"{seen} -f{words}"] if words else []
                continue
            written = "".join(
                f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
                for name in flag.names
            )
            needs = " -r" if flag.takes_value and not words else ""
            lines.append(f"{seen}{written}{needs}{words} -d {_quoted(flag.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Text in single quotes, as fish reads it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def completion_command(commands: Callable[[], Sequence[Command]]) -> Command:
    """The command ``completion``, which covers all commands and itself.

    Parameters
    ----------
    commands : function
        Function that returns all commands; they are defined only after this one.

    Returns
    -------
    Command
    """
    return Command(
        name="completion",
        help="print what your shell needs to complete commands and flags",
        description="Print a script with which a shell completes commands, flags, and "
        "the words that a flag takes.",
        examples=(
            (
                "bash, for this session; in ~/.bashrc for all",
                'eval "$(skanchor completion bash)"',
            ),
            ("zsh, likewise", 'eval "$(skanchor completion zsh)"'),
            (
                "fish, once",
                "skanchor completion fish > ~/.config/fish/completions/skanchor.fish",
            ),
        ),
        arguments=(_add_arguments,),
        run=lambda options: _print_script(options, commands()),
    )
