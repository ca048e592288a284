"""Commands of plugins: one, a group, or one below a group; only their plugin is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import harvest_here

from harvest.plugins import registered

MODULE = '''
import harvest, typer

group = typer.Typer(help="A group.")

@group.command("first")
def first() -> int:
    """Do the first thing."""
    print("first done")
    return 0

@group.command("second")
def second() -> int:
    """Do the second thing."""
    return 0

def greet(name: str, loud: bool = False) -> int:
    """Greet somebody."""
    print(f"hello {name}")
    return 3 if loud else 0

harvest_commands = harvest.declare(COMMANDS)
'''
GREET = 'harvest.Command(name="greet", doc="Greet somebody.", app=greet, after="view")'
GROUP = 'harvest.Command(name="things", doc="Do things.", app=group)'
BELOW = 'harvest.Command(name="plugins greet", doc="Greet plugins.", app=greet)'


class Strangers:
    """Distributions in a directory, each a module of commands."""

    def __init__(self, folder: Path):
        self.folder = folder

    def install(self, name: str, *commands: str, named: str = "", before: str = "") -> Strangers:
        """named: words that the entry points give for commands."""
        code = MODULE.replace("COMMANDS", ", ".join(commands))
        (self.folder / f"{name}.py").write_text(before + code)
        information = self.folder / f"{name}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        points = [f"[harvest]\n{name} = {name}", "[harvest.commands]"]
        points += [f"{word} = {name}" for word in named.split()]
        (information / "entry_points.txt").write_text("\n".join(points) + "\n")
        return self

    def harvest(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """As a process of its own does, which knows no plugins yet."""
        for path in self.folder.glob("*.py"):
            sys.modules.pop(path.stem, None)
        forget()
        return harvest_here(*words, COLUMNS="80", **variables)

    def process(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *words], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
        )  # fmt: skip


def forget() -> None:
    """No plugin is known by this process."""
    registered.loaded.clear()
    registered._entry_points.cache_clear()
    registered._naming.cache_clear()


@pytest.fixture
def strangers(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield Strangers(tmp_path)
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)
    forget()


def test_a_recipe_has_a_table_for_a_command_of_a_stranger(strangers, tmp_path):
    keys = GREET.replace("after=", 'recipe_keys=("loud",), after=')
    strangers.install("hello", keys)
    recipe = tmp_path / "r.toml"
    recipe.write_text("[greet]\nloud = true\n")
    assert strangers.harvest("run", str(recipe), "--print-config").stdout == recipe.read_text()

    recipe.write_text("[greet]\nlod = true\n")
    refused = strangers.harvest("run", str(recipe))
    assert refused.returncode == 2
    assert "r.toml: unknown key of [greet] 'lod'; did you mean 'loud'?" in refused.stderr


def test_one_command_is_called_by_its_name_and_ends_with_its_code(strangers):
    strangers.install("hello", GREET, named="greet")

    done = strangers.harvest("greet", "you", "--loud")

    assert (done.stdout, done.returncode) == ("hello you\n", 3)
    assert " greet [OPTIONS] " in strangers.harvest("greet", "-h").stdout


def test_help_lists_a_command_behind_the_one_it_follows(strangers):
    strangers.install("hello", GREET, GROUP, named="greet things")

    lines = strangers.harvest("--help").stdout.partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]

    assert names.index("view") < names.index("greet") < names.index("verify")
    assert names.index("things") > names.index("rejects")


def test_a_command_below_a_group_of_harvest_is_one_of_its(strangers):
    strangers.install("hello", BELOW, named="plugins")

    assert strangers.harvest("plugins", "greet", "all").stdout == "hello all\n"
    assert "\n  greet " in strangers.harvest("plugins", "--help").stdout


def test_a_command_below_a_group_of_a_plugin_is_one_of_its(strangers):
    below = BELOW.replace("plugins", "things")
    strangers.install("one", GROUP, named="things").install("two", below, named="things")

    assert strangers.harvest("things", "greet", "you").stdout == "hello you\n"
    assert strangers.harvest("things", "first").stdout == "first done\n"


def test_a_command_below_what_is_no_group_is_reported(strangers):
    strangers.install("hello", BELOW.replace("plugins", "run"), named="run")

    done = strangers.harvest("run")

    assert done.returncode == 1
    words = "hello declares a command 'run greet', and 'run' is not a group of commands"
    assert words in done.stderr


def test_a_word_of_a_group_stays_its_own(strangers):
    strangers.install("hello", BELOW.replace("plugins greet", "plugins list"), named="plugins")

    done = strangers.harvest("plugins", "list")

    assert "hello you" not in done.stdout
    assert "command 'plugins list' is that of 'plugins' itself" in done.stderr


def test_only_the_plugin_that_names_a_command_is_loaded(strangers):
    strangers.install("hello", GREET, named="greet")
    strangers.install("other", GROUP, named="things", before="raise SystemExit('loaded')\n")
    code = "import sys; sys.argv = ['harvest', 'greet', '-h']\n"
    code += "from harvest.cli.main import main\ntry:\n    main()\nfinally:\n"
    code += "    print([m for m in sys.modules if m == 'other' or m.startswith('harvest_')])"

    done = strangers.process("-c", code)

    assert done.stdout.endswith("[]\n"), done.stdout + done.stderr


@pytest.mark.slow
def test_commands_may_be_declared_in_a_module_that_is_imported_without_the_plugin(strangers):
    # given a plugin that takes its commands from a module of their own, which the entry point names
    strangers.install("hello", GREET, named="greet")
    (strangers.folder / "plugin.py").write_text(
        "from hello import harvest_commands\nprint('the whole plugin')\n"
    )
    points = strangers.folder / "hello-1.0.dist-info" / "entry_points.txt"
    points.write_text("[harvest]\nhello = plugin\n[harvest.commands]\ngreet = hello\n")

    # when the command is called, and when everything is listed
    called = strangers.harvest("greet", "you")
    listed = strangers.process("-m", "harvest", "plugins")

    assert (called.stdout, called.stderr) == ("hello you\n", "")
    assert "\n  greet " in strangers.harvest("--help").stdout
    assert "greet" not in strangers.harvest("--help", HARVEST_DISABLE_PLUGINS="hello").stdout
    assert "the whole plugin" in listed.stderr


def test_a_command_that_no_entry_point_names_works_and_is_not_listed(strangers):
    strangers.install("hello", GREET)

    assert strangers.harvest("greet", "you").stdout == "hello you\n"
    assert "\n  greet " not in strangers.harvest("--help").stdout


def test_a_plugin_that_cannot_be_imported_says_so_where_its_command_is_called(strangers):
    strangers.install("greet", GREET, named="greet", before="import no_such_module\n")

    done = strangers.harvest("greet", "you")

    assert done.returncode == 1
    assert "importing greet failed: ModuleNotFoundError" in done.stderr


def test_a_command_below_a_group_says_what_brings_it_where_its_plugin_is_away(strangers):
    away = {"HARVEST_DISABLE_PLUGINS": "testing"}

    done = strangers.harvest("plugins", "check", "slurm", "--sample", "x", **away)

    assert done.returncode == 2
    assert done.stderr.startswith(
        "harvest: unknown command 'plugins check'; install hpc-harvest-testing"
    )
    assert "\n  check " not in strangers.harvest("plugins", "--help", **away).stdout
    assert "\n  check " in strangers.harvest("plugins", "--help").stdout
