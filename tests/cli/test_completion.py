"""The scripts of ``skanchor completion`` do in a shell what they should."""

import shutil
import subprocess

import pytest

from skanchor._cli.program import COMMANDS


def shell(name, script):
    if shutil.which(name) is None:
        pytest.skip(f"needs {name}")
    done = subprocess.run([name, "-c", script], capture_output=True, text=True, check=0)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["skanchor", "ra"], ["rank"]),
        (["skanchor", "c"], ["check", "compare", "completion"]),
        (["skanchor", "rank", "--item"], ["--item-effects", "--item-prior"]),
        (["skanchor", "rank", "--item-effects", "r"], ["random"]),
        (["skanchor", "completion", ""], ["bash", "zsh", "fish"]),
        (["skanchor", "fetch", "a"], ["arena"]),
        # The shell then completes names of files.
        (["skanchor", "rank", "bat"], []),
    ],
)
def test_bash(run, words, found):
    script = run("completion", "bash")[1]
    line = " ".join(f"'{word}'" for word in words)
    script += f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _skanchor\n"
    assert shell("bash", script + 'echo "${COMPREPLY[@]}"') == found


def test_zsh_takes_it(run):
    script = run("completion", "zsh")[1].replace("compinit && compinit", "compinit")
    assert shell("zsh", f"compdef() {{ : }}\n{script}\nwhence -w _skanchor")[-1] == (
        "function"
    )


def test_fish(run, tmp_path):
    path = tmp_path / "skanchor.fish"
    path.write_text(run("completion", "fish")[1], "utf-8")
    found = shell("fish", f"source {path}; complete -C 'skanchor rank --histor'")
    assert found[0] == "--historical-fit"
    assert shell("fish", f"source {path}; complete -C 'skanchor eval'")[0] == "evaluate"


def test_every_command_teaches_by_examples(run):
    code, out, _ = run()
    assert code == 0
    for command in COMMANDS:
        assert f"\n    {command.name}" in out
        code, said, _ = run(command.name, "--help")
        assert code == 0 and "examples:\n  # " in said
        for purpose, example in command.typed_examples:
            assert f"  # {purpose}\n  {example}\n" in said
            assert "skanchor" in example and len(example) < 90
