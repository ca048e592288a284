"""What can be used is documented, and the documentation is what can be used."""

from __future__ import annotations

import inspect
from pathlib import Path

import attrs
import pytest

from harvest.cli.reference import commands, reference
from harvest.model import record_type
from harvest.plugins.check import check_plugin
from harvest.plugins.manager import manager, resolve
from harvest.plugins.settings import describe
from harvest.plugins.spec import Hooks

DOCS = Path(__file__).resolve().parents[1] / "docs"
ALL_COMMANDS = list(commands())


@pytest.mark.parametrize("command", ALL_COMMANDS, ids=lambda c: " ".join(c.words) or "harvest")
def test_every_command_and_option_says_what_it_does(command):
    assert command.help
    for names, text in (*command.arguments, *command.options):
        assert text, f"{' '.join(command.words)}: {names} has no help"


def test_the_command_reference_is_up_to_date():
    """Mend with: python -m harvest.cli.reference > docs/reference/commands.md."""
    assert (DOCS / "reference" / "commands.md").read_text() == reference()


def test_the_record_type_reference_is_up_to_date():
    """Mend with: harvest schema --format markdown > docs/reference/record-types.md."""
    page = (DOCS / "reference" / "record-types.md").read_text()
    for kind in manager().record_types().values():
        assert kind.markdown() in page, f"{kind.name} is not documented as it is"


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
    assert set(view.settings) <= set(accepted)
    assert view.doc


@pytest.mark.parametrize("name", sorted(manager().sources))
def test_every_setting_and_record_type_of_a_source_is_in_its_readme(name):
    readme = Path(__file__).resolve().parents[1] / "plugins" / name / "README.md"
    if not readme.is_file():
        pytest.skip(f"source {name!r} is not one of this repository")
    text = readme.read_text()
    source = manager().source(name)
    assert attrs.has(source.Config)
    for setting, *_ in describe(source.Config):
        assert setting in text, f"setting {setting!r}"
    for cls in source.record_types:
        assert record_type(cls).name in text
