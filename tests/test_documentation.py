"""What can be used is documented, and the documentation is what can be used."""

import importlib
import inspect
import re
import subprocess
from pathlib import Path

import attrs
import pytest
from pages import broken_links

from docs_reference import IN_TREE, PAGES
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


@pytest.fixture(scope="module", params=[pytest.param("made", marks=pytest.mark.slow)])
def reference(tmp_path_factory):
    """A folder with every page of the reference, beside the other pages, as on the site."""
    docs = tmp_path_factory.mktemp("site") / "docs"
    docs.mkdir()
    for path in DOCS.iterdir():
        if path.name != "reference":
            (docs / path.name).symlink_to(path)
    folder = docs / "reference"
    folder.mkdir()
    for name, written in PAGES.items():
        (folder / f"{name}.md").write_text(written())
    return folder


def test_all_markdown_of_the_tree_can_be_read_in_a_day():
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no checkout of git")
    pages = [ROOT / name for name in listed.stdout.splitlines()]
    words = sum(len(page.read_text("utf-8").split()) for page in pages if page.is_file())
    assert words <= 85_000, f"{words:,} words: make pages that say the same one, and shorten"


@pytest.mark.parametrize("page", IN_TREE)
def test_the_reference_in_the_tree_is_up_to_date(page):
    """Mend with: python -m docs_reference PAGE > docs/reference/PAGE.md."""
    assert (DOCS / "reference" / f"{page}.md").read_text() == PAGES[page]()


def test_the_tree_holds_two_pages_of_the_reference_and_its_index():
    names = {path.stem for path in (DOCS / "reference").glob("*.md")}
    assert names == {"index", *IN_TREE}


def test_every_link_of_the_reference_leads_somewhere(reference):
    assert [link for page in PAGES for link in broken_links(reference / f"{page}.md")] == []


def test_the_index_of_the_reference_names_every_page(reference):
    index = (DOCS / "reference" / "index.md").read_text()
    for page in PAGES:
        title = (reference / f"{page}.md").read_text().partition("\n")[0].removeprefix("# ")
        assert f"\n| {title} |" in index


def test_every_rule_and_every_hook_has_a_section(reference):
    rules, hooks = (reference / "rules.md").read_text(), (reference / "hooks.md").read_text()
    for name, rule in manager().rules.items():
        section = rules.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for told in (rule.doc, rule.advice, rule.reference):
            assert " ".join(told.split()) in section
        for threshold in rule.thresholds:
            assert f"| `{threshold}` |" in section
    for name in (n for n in dir(Hooks) if n.startswith("harvest_")):
        assert f"\n## {name}\n" in hooks


def test_the_record_type_reference_shows_units_and_roles(reference):
    page = (reference / "record-types.md").read_text()
    for kind in manager().record_types().values():
        assert markdown(kind) in page
    assert "| `duration_s` | double |" in page
    (line,) = re.findall(r"## slurm\.job\n.*?(\| `elapsed_s` [^\n]*)", page, re.DOTALL)
    assert line.split("|")[3].strip() == "s"
    (line,) = re.findall(r"## dask\.transfer\n.*?(\| `start_time` [^\n]*)", page, re.DOTALL)
    assert line.split("|")[4].strip() == "time"


def test_every_setting_is_in_the_reference_with_its_meaning(reference):
    page = (reference / "settings.md").read_text()
    found = manager()
    for kind in ("source", "sink", "engine"):
        for name in getattr(found, f"{kind}s"):
            for setting in describe(getattr(found, kind)(name).Config):
                key = f"{name}.{setting.name}"
                assert setting.doc, f"{key} has no meaning"
                assert f"| `{key}` | {setting.value} |" in page


def test_every_view_and_report_is_in_the_reference_with_its_settings(reference):
    page = (reference / "views-reports.md").read_text()
    views, _, reports = page.partition("\n## Reports\n")
    for part, specs in ((views, manager().views), (reports, manager().reports)):
        for name, declared in specs.items():
            section = part.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
            assert " ".join(declared.doc.split()) in section
            for setting in declared.settings:
                assert f"`{setting}`" in section


def test_every_public_name_of_python_is_documented(reference):
    page = (reference / "python.md").read_text()
    for module in MODULES:
        section = page.partition(f"\n## {module}\n")[2].partition("\n## ")[0]
        for name in importlib.import_module(module).__all__:
            assert f"### {name}\n" in section or f"`{name}`" in section, f"{module}.{name}"


def test_every_exit_code_has_a_meaning():
    told = (DOCS / "reference" / "exit-codes.md").read_text()
    assert set(MEANING) == set(ExitCode)
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", told, re.MULTILINE)} == set(ExitCode)


def test_every_environment_variable_that_code_reads_is_told():
    """In the program, not in the tools that plugins' authors test with."""
    read = {DISABLE_VARIABLE, VARIABLE}
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]:
        if not path.is_relative_to(ROOT / "plugins/testing"):
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
