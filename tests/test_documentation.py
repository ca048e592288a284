"""What can be used is documented, and the documentation is what can be used."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import attrs
import pytest

from docs_reference import PAGES
from docs_reference.commands import commands
from docs_reference.exits import ENVIRONMENT, MEANING
from docs_reference.python import MODULES
from harvest.api.settings import describe
from harvest.api.spec import Hooks
from harvest.errors import ExitCode
from harvest.fault import VARIABLE
from harvest.model import record_type
from harvest.plugins.claims import DISABLE_VARIABLE
from harvest.plugins.registered import resolve
from harvest.plugins.registry import manager
from harvest_look.markdown import markdown
from harvest_testing.declarations import check_plugin

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
ALL_COMMANDS = list(commands())


@pytest.mark.parametrize("command", ALL_COMMANDS, ids=lambda c: " ".join(c.words) or "harvest")
def test_every_command_and_option_says_what_it_does(command):
    assert command.help
    for names, text in (*command.arguments, *command.options):
        assert text, f"{' '.join(command.words)}: {names} has no help"


@pytest.mark.parametrize("page", PAGES)
def test_the_reference_is_up_to_date(page):
    """Mend with: python -m docs_reference PAGE > docs/reference/PAGE.md."""
    assert (DOCS / "reference" / f"{page}.md").read_text() == PAGES[page]()


def test_every_page_of_the_reference_is_generated():
    assert {path.stem for path in (DOCS / "reference").glob("*.md")} == set(PAGES)


def test_the_record_type_reference_shows_units_and_roles():
    page = (DOCS / "reference" / "record-types.md").read_text()
    for kind in manager().record_types().values():
        assert markdown(kind) in page
    assert "| `duration_s` | double |" in page
    (line,) = re.findall(r"## slurm\.job\n.*?(\| `elapsed_s` [^\n]*)", page, re.DOTALL)
    assert line.split("|")[3].strip() == "s"
    (line,) = re.findall(r"## dask\.transfer\n.*?(\| `start_time` [^\n]*)", page, re.DOTALL)
    assert line.split("|")[4].strip() == "time"


def test_every_setting_is_in_the_reference_with_its_meaning():
    page = (DOCS / "reference" / "settings.md").read_text()
    found = manager()
    for kind in ("source", "sink", "engine"):
        for name in getattr(found, f"{kind}s"):
            for setting in describe(getattr(found, kind)(name).Config):
                key = f"{name}.{setting.name}"
                assert setting.doc, f"{key} has no meaning"
                assert f"| `{key}` | {setting.value} |" in page


def test_every_view_and_report_is_in_the_reference_with_its_settings():
    page = (DOCS / "reference" / "views-reports.md").read_text()
    views, _, reports = page.partition("\n## Reports\n")
    for part, specs in ((views, manager().views), (reports, manager().reports)):
        for name, declared in specs.items():
            section = part.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
            assert " ".join(declared.doc.split()) in section
            for setting in declared.settings:
                assert f"`{setting}`" in section


def test_every_public_name_of_python_is_documented():
    page = (DOCS / "reference" / "python.md").read_text()
    for module in MODULES:
        section = page.partition(f"\n## {module}\n")[2].partition("\n## ")[0]
        for name in importlib.import_module(module).__all__:
            assert f"### {name}\n" in section or f"`{name}`" in section, f"{module}.{name}"


def test_every_exit_code_is_told_in_both_places():
    told = (DOCS / "run-protocol.md").read_text().partition("## Exit codes")[2]
    assert set(MEANING) == set(ExitCode)
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", told, re.MULTILINE)} == set(ExitCode)


def test_every_environment_variable_that_code_reads_is_told():
    """In the program, not in the tools that plugins' authors test with."""
    read = {DISABLE_VARIABLE, VARIABLE}
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]:
        if not any(part.startswith("lib-testing") for part in path.parts):
            read |= set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", path.read_text("utf-8")))
    assert len(read) > 8
    assert read <= set(ENVIRONMENT)


def test_every_hook_has_a_docstring_and_is_in_the_plugin_guide():
    guide = (DOCS / "plugins.md").read_text()
    for name in (n for n in dir(Hooks) if n.startswith("harvest_")):
        assert getattr(Hooks, name).__doc__
        assert f"`{name}`" in guide


@pytest.mark.parametrize("plugin", sorted(manager().plugins))
def test_every_installed_plugin_is_sound(plugin):
    assert check_plugin(manager(), plugin) == []


@pytest.mark.parametrize("name", sorted(manager().views))
def test_every_view_takes_the_settings_that_it_declares(name):
    view = manager().view(name)
    accepted = inspect.signature(resolve(view.build)).parameters
    # `from` cannot be the name of a parameter, and what several views share they hand on: such
    # words come as further ones, of which the call with all settings refuses one it does not know
    words = set(view.settings) - set(accepted)
    assert not words or inspect.Parameter.VAR_KEYWORD in {p.kind for p in accepted.values()}
    assert view.doc


@pytest.mark.parametrize("name", sorted(manager().sources))
def test_every_setting_and_record_type_of_a_source_is_in_its_readme(name):
    package = manager().source(name).__module__.partition(".")[0]
    folder = package.removeprefix("harvest_").replace("_", "-")
    readme = Path(__file__).resolve().parents[1] / "plugins" / folder / "README.md"
    if not readme.is_file():
        pytest.skip(f"source {name!r} is not one of this repository")
    text = readme.read_text()
    source = manager().source(name)
    assert attrs.has(source.Config)
    for setting, *_ in describe(source.Config):
        assert setting in text, f"setting {setting!r}"
    for cls in source.record_types:
        assert record_type(cls).name in text
