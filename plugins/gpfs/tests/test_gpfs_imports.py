"""What is imported before anything is read: declarations alone."""

import subprocess
import sys

import pytest

from harvest.plugins import manager

HEAVY = ("polars", "numpy", "pyarrow")
READING = tuple(f"harvest_gpfs.{part}" for part in ("parse", "aggregation", "rules", "views"))


def test_the_plugin_declares_its_views_and_columns_without_what_computes_them():
    code = (
        "import sys, harvest_gpfs.plugin as p; print(len([c for v in p.VIEWS for c in v.columns]));"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert int(done.stdout.splitlines()[0]) > 100
    assert done.stdout.splitlines()[1] == "[]"


def test_the_plugin_has_the_commands_that_help_finds_alone():
    found = manager()

    assert found.owner(found.commands["gpfs"]).module == "harvest_gpfs.plugin"


@pytest.mark.parametrize("words", ["--help", "gpfs convert --help"])
def test_help_imports_neither_parsing_nor_aggregation_nor_rules(words):
    code = (
        f"import sys; sys.argv = ['harvest', *{words.split()}]\n"
        "from harvest.cli.main import main\ntry:\n    main()\nfinally:\n"
        "    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = done.stderr.split()

    assert "harvest_gpfs.commands.plugin" in imported
    assert not [name for name in imported if name.startswith((*READING, *HEAVY))]
