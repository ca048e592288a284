"""All commands, ours and those of plugins, are of one style: their options and their help."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from harvest.cli.app import COMMANDS, app, load_command
from harvest.plugins.registry import manager

VERBS = {
    "Answer", "Begin", "Capture", "Check", "Collect", "Compile", "Convert", "Keep", "List",
    "Print", "Read", "Restore", "Run", "Serve", "Show", "Split", "Sum", "Write",
}  # fmt: skip
"""First words of what commands do."""

SHOWING = {"Check", "List", "Show"}
"""Those of commands that print what they found."""

SHORT = {
    "-C": {"--directory"},
    "-k": {"--sink"},
    "-n": {"--rows", "--parts"},
    "-o": {"--output"},
    "-q": {"--quiet"},
    "-s": {"--source"},
    "-t": {"--output"},  # as it was called before, of gpfs
}
"""The one meaning of each short option."""

CLASSIC = ("mofka-dask", "capture")
"""Its options are those of the script that it replaces."""

METAVAR = re.compile(r"[A-Z][A-Za-z0-9.,:|=\[\] -]*|[a-z0-9-]+(?:\|[a-z0-9-]+)+")


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    yield (), typer.main.get_command(app)
    for name in (*COMMANDS, *manager().commands):
        yield from _below((name,), load_command(name))


def _below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _below((*words, name), inner)


ALL = list(commands())
EACH = pytest.mark.parametrize(
    ("words", "command"), ALL, ids=[" ".join(("harvest", *w)) for w, _ in ALL]
)


def options(command: Any) -> list[Any]:
    return [
        p for p in command.params
        if p.param_type_name == "option" and not p.hidden and "completion" not in p.name
    ]  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_first_sentence_of_each(name):
    _, line = COMMANDS[name]
    assert line == load_command(name).short_help


def test_a_short_option_means_the_same_everywhere():
    for words, command in ALL:
        for option in options(command):
            for short in (name for name in option.opts if len(name) == 2):
                if words != CLASSIC or short in ("-o", "-n", "-k"):
                    assert SHORT[short] & set(option.opts), f"{short} of {words}"


def test_what_is_written_is_named_by_output():
    for _words, command in ALL:
        for option in options(command):
            if "--output" in option.opts:
                assert option.metavar in ("FILE", "DIR", "FILE|DIR")
                assert option.help.startswith("Write "), option.help


def test_settings_are_given_by_set_and_as_before_by_o():
    for _words, command in ALL:
        hidden = [p for p in command.params if getattr(p, "hidden", False) and p.opts == ["-o"]]
        if hidden:
            assert any("--set" in option.opts for option in options(command))
            assert not any("-o" in option.opts for option in options(command))


def test_every_option_says_what_it_takes_and_does():
    for _words, command in ALL:
        for option in options(command):
            text = option.help or ""
            assert re.match(r"[A-Z0-9a-z].*[.\])]$", text, re.DOTALL), f"{option.opts}: {text!r}"
            if not option.is_flag:
                assert METAVAR.fullmatch(option.metavar or ""), f"{option.opts}: {option.metavar}"
        for argument in (p for p in command.params if p.param_type_name == "argument"):
            assert re.fullmatch(r"[A-Z][A-Za-z.]*", argument.metavar or ""), argument.name


def test_what_a_command_finds_is_printed_as_json_too():
    for _words, command in ALL:
        flags = {name for option in options(command) for name in option.opts}
        group = hasattr(command, "commands")
        first = (command.help or "").split()[0]
        assert group or first in VERBS
        assert first not in SHOWING or group or "--json" in flags
        for option in options(command):
            if "--json" in option.opts:
                assert option.is_flag
                assert option.help.startswith(("Print ", "The same as --format")), option.help


@EACH
def test_help_is_plain_fits_80_columns_and_is_whole(words, command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    app(args=[*words, "--help"], prog_name="harvest", standalone_mode=False)
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: {' '.join(('harvest', *words))}")
    assert max(map(len, shown.splitlines())) <= 80
    assert "..." not in shown.replace("[ARGS]...", "").replace("]...", "").replace("}...", "")
    together = "".join(shown.split())
    for parameter in command.params:
        completion = "completion" in parameter.name  # of the program alone
        if not getattr(parameter, "hidden", False) and not completion:
            # brackets too, which a renderer may take for markup
            assert "".join((parameter.help or "").split()) in together
    for inner in getattr(command, "commands", {}).values():
        first = inner.help.partition("\n\n")[0].partition(". ")[0].rstrip(".")
        assert "".join(first.split()) in together
