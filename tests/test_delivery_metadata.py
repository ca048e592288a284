"""What every built distribution says of itself: licence, classifiers, addresses, a working page."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from zipfile import ZipFile

import pytest
from delivery import ROOT, script

from harvest.plugins.known import KNOWN

for tool in ("hatch_vcs", "tomlkit", "twine"):
    pytest.importorskip(tool)
markdown = pytest.importorskip("markdown")

PROJECT, PAGES = "https://gitlab.invalid/group/harvest", "https://pages.invalid/harvest"
CORE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PLUGINS = len(list(ROOT.glob("plugins/*/pyproject.toml")))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """All distributions as the pipeline builds them: their metadata and their files' names."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("versions come from git, and this is no checkout")
    folder = tmp_path_factory.mktemp("dist")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CI_")}
    named = {"CI_PROJECT_URL": PROJECT, "CI_PAGES_URL": PAGES, "CI_COMMIT_SHA": "abc"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(  # it ends with twine check --strict
        ["bash", ROOT / ".ci" / "build", folder],
        env=kept | named | {"PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "is shallow" in done.stderr:
        pytest.skip("versions come from git, and its history was not fetched whole")
    assert done.returncode == 0, done.stdout + done.stderr
    return {file.name: contents(file) for file in sorted(folder.iterdir())}


def contents(file: Path) -> tuple[Message, list[str]]:
    """The metadata of a distribution and the names of its files."""
    if file.suffix == ".whl":
        with ZipFile(file) as archive:
            names = archive.namelist()
            (name,) = (n for n in names if n.endswith(".dist-info/METADATA"))
            return BytesParser().parsebytes(archive.read(name)), names
    with tarfile.open(file) as archive:
        names = archive.getnames()
        (name,) = (n for n in names if n.count("/") == 1 and n.endswith("/PKG-INFO"))
        return BytesParser().parsebytes(archive.extractfile(name).read()), names


def links(text: str) -> list[str]:
    return re.findall(
        r'href="([^"]*)"', markdown.markdown(text, extensions=["tables", "fenced_code"])
    )


@pytest.mark.slow
def test_every_wheel_and_source_distribution_says_what_a_package_page_shows(built):
    assert len(built) == 2 * (PLUGINS + 1)
    for file, (metadata, names) in built.items():
        assert metadata["License-Expression"] == "MIT", file
        assert metadata.get_all("License-File") == ["LICENSE"], file
        assert [n for n in names if n.endswith("/LICENSE")], file
        assert metadata.get_all("Classifier") == CORE["classifiers"], file
        assert dict(line.split(", ") for line in metadata.get_all("Project-URL")) == {
            "Documentation": PAGES,
            "Source": PROJECT,
            "Issues": f"{PROJECT}/-/issues",
            "Changelog": f"{PROJECT}/-/blob/HEAD/CHANGELOG.md",
        }, file
        assert metadata["Summary"], file
        assert metadata["Requires-Python"] == ">=3.11", file
        library = "harvest-library" in metadata["Keywords"].split(",")
        plugin = metadata["Name"] in {known.distribution for known in KNOWN} and not library
        assert ("harvest-plugin" in metadata["Keywords"].split(",")) == plugin, file


@pytest.mark.slow
def test_every_link_of_a_package_page_leads_to_a_file_of_the_project(built):
    seen = 0
    for file, (metadata, _) in built.items():
        assert metadata["Description-Content-Type"] == "text/markdown", file
        for link in links(metadata.get_payload()):
            if not link.startswith(PROJECT):
                assert re.match(r"https?://", link), (file, link)
                continue
            at, _, path = link.partition("/abc/")
            assert at in (f"{PROJECT}/-/blob", f"{PROJECT}/-/tree"), (file, link)
            assert (ROOT / path.partition("#")[0]).exists(), (file, link)
            seen += 1
    assert seen > 2 * 60


@pytest.fixture
def tree(tmp_path):
    """A core and a plugin, as a copy of the source tree holds them."""
    plugin = tmp_path / "plugins" / "argon"
    plugin.mkdir(parents=True)
    (tmp_path / "LICENSE").write_text("All may use it.\n")
    (tmp_path / "README.md").write_text("[argon](plugins/argon/README.md)\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "hpc-harvest"\nclassifiers = ["Typing :: Typed"]\n'
    )
    (plugin / "pyproject.toml").write_text('[project]\nname = "hpc-harvest-argon"\n')
    (plugin / "README.md").write_text(
        "Of [the\ncore](../../README.md), [below](#uses), [others](../), [site](https://a.invalid)\n"
        "```md\n[not](../a/link)\n```\n"
    )
    return tmp_path


def test_without_an_address_nothing_is_invented(tree, monkeypatch):
    monkeypatch.delenv("CI_PROJECT_URL", raising=False)
    argon = tree / "plugins" / "argon"

    script("describe").describe(tree, argon)

    project = tomllib.loads((argon / "pyproject.toml").read_text())["project"]
    assert "urls" not in project
    assert project["classifiers"] == ["Typing :: Typed"]
    assert project["license-files"] == ["LICENSE"]
    assert (argon / "LICENSE").read_text() == "All may use it.\n"
    assert (argon / "README.md").read_text() == (
        "Of the\ncore, below, others, [site](https://a.invalid)\n```md\n[not](../a/link)\n```\n"
    )


def test_with_an_address_links_lead_to_the_project(tree, monkeypatch):
    monkeypatch.setenv("CI_PROJECT_URL", PROJECT)
    monkeypatch.setenv("CI_COMMIT_SHA", "abc")
    monkeypatch.delenv("CI_PAGES_URL", raising=False)
    argon = tree / "plugins" / "argon"

    for folder in (tree, argon):
        script("describe").describe(tree, folder)

    assert links((argon / "README.md").read_text()) == [
        f"{PROJECT}/-/blob/abc/README.md",
        f"{PROJECT}/-/blob/abc/plugins/argon/README.md#uses",
        f"{PROJECT}/-/tree/abc/plugins",
        "https://a.invalid",
    ]
    assert links((tree / "README.md").read_text()) == [
        f"{PROJECT}/-/blob/abc/plugins/argon/README.md"
    ]
    urls = tomllib.loads((tree / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Documentation"] == f"{PROJECT}/-/tree/HEAD/docs"
