"""From nothing to a plugin that others use: by the tutorial's own commands, and by its pipeline."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from clean_environment import build_wheels
from delivery import script
from pages import ROOT, check_page

from harvest_testing.scaffold import KINDS, scaffold

pytest.importorskip("hatch_vcs")
pytest.importorskip("passlib")
pytest.importorskip("pypiserver")

pytestmark = pytest.mark.slow(night=True)

PAGE = ROOT / "docs" / "tutorials" / "first-plugin.md"


LOOPBACK, PROOF = script("index"), script("prove_delivery")
"""An index on loopback, and a pipeline runner, as the project's own delivery is proved with."""


@pytest.fixture
def index(tmp_path, monkeypatch) -> Iterator[str]:
    """An index on loopback with this harvest, which forwards to the public one; its address."""
    monkeypatch.setenv("SETUPTOOLS_SCM_PRETEND_VERSION", version("hpc-harvest"))
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    packages = tmp_path / "packages"
    packages.mkdir()
    passwords, others = tmp_path / "passwords", LOOPBACK.public()
    with LOOPBACK.index(packages, passwords=passwords, forward=others) as url:
        names = ("parquet", "testing")
        ours = [ROOT / "plugins" / name for name in names]
        build_wheels([ROOT, *ours], packages)
        asked = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "hatchling",
                 "--dest", tmp_path, "--index-url", with_password(url)]  # fmt: skip
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"the public package index does not answer: {done.stderr[-300:]}")
        monkeypatch.delenv("SETUPTOOLS_SCM_PRETEND_VERSION")
        yield url


def with_password(url: str) -> str:
    """The address from which packages are installed, for those who know the password."""
    return f"{url.replace('://', f'://{LOOPBACK.USER}:{LOOPBACK.PASSWORD}@')}/simple"


def said(*command: str | Path, cwd: Path) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def plugins_in(environment: Path) -> dict[str, str]:
    """The plugins that harvest lists in an environment, with their versions."""
    command = environment / "bin" / "harvest"
    listed = json.loads(said(command, "plugins", "--json", cwd=environment))
    return {plugin["name"]: plugin["version"] for plugin in listed["plugins"]}


def test_a_reader_of_the_tutorial_publishes_a_plugin_that_others_install(index, tmp_path):
    # given a machine with Python, uv and an index, and nothing else
    reader, tools = tmp_path / "reader", tmp_path / "tools"
    tools.mkdir()
    for name, program in {"python3": sys.executable, "uv": shutil.which("uv")}.items():
        if program:
            (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(program)} "$@"\n')
            (tools / name).chmod(0o755)
    variables = {
        "PATH": os.pathsep.join((str(reader / "harvest-env" / "bin"), str(tools), os.defpath)),
        "HARVEST_INDEX_URL": with_password(index),
        "HARVEST_PUBLISH_URL": index,
        "TWINE_USERNAME": LOOPBACK.USER,
        "TWINE_PASSWORD": LOOPBACK.PASSWORD,
        "PYTEST_DEBUG_TEMPROOT": str(tmp_path),
    }

    # when the reader types what the page says, which shows what is printed
    began = time.monotonic()
    outcome = check_page(PAGE, reader, variables)
    minutes = (time.monotonic() - began) / 60
    print(f"\nfrom nothing to a published plugin: {outcome.commands} commands, {minutes:.1f} min")

    # then the plugin is in the index, and elsewhere it reads the log
    assert {path.name for path in (tmp_path / "packages").glob("harvest_freezer*")} == {
        "harvest_freezer-0.1.0-py3-none-any.whl",
        "harvest_freezer-0.1.0.tar.gz",
    }
    for name in ("elsewhere", *(["with-uv"] if not outcome.skipped else [])):
        environment = reader / name
        assert plugins_in(environment)["freezer"] == "0.1.0"
        shown = said(
            environment / "bin" / "harvest", "preview", "-s", reader / "freezer.log", "--json",
            cwd=environment,
        )  # fmt: skip
        rows = [json.loads(line) for line in shown.splitlines()]
        assert [(row["probe"], row["celsius"]) for row in rows] == [
            ("probe-a", -79.8),
            ("probe-b", -80.1),
            ("probe-a", -71.3),
        ]


def test_the_pipeline_of_a_new_project_checks_it_and_publishes_a_tag(index, tmp_path):
    # given a project with all kinds, as it was begun, in a repository
    try:
        runner = PROOF.install_runner(tmp_path)
    except PROOF.Skipped as reason:
        pytest.skip(str(reason))
    scaffold("made-up", KINDS, tmp_path, columnar=True)
    project = tmp_path / "harvest-made-up"
    git = ("git", "-c", "user.name=author", "-c", "user.email=author@localhost")
    said("git", "init", "-q", "-b", "main", cwd=project)
    said("git", "add", "-A", cwd=project)
    said(*git, "commit", "-q", "-m", "Begin", cwd=project)
    said("git", "remote", "add", "origin", project, cwd=project)
    pipeline = PROOF.Pipeline(runner, project)
    pipeline.variables |= {
        "HARVEST_INDEX_URL": with_password(index),
        "TWINE_REPOSITORY_URL": index,
        "CI_JOB_TOKEN": LOOPBACK.PASSWORD,
    }
    packages = tmp_path / "packages"
    before = PROOF.state(packages)

    # when it is pushed without a tag, or with the tag of another version
    pipeline.run()
    with pytest.raises(SystemExit, match=r"dist/\*-0\.2\.0\.tar\.gz"):
        pipeline.run("publish", CI_COMMIT_TAG="v0.2.0")

    # then nothing is published
    assert PROOF.state(packages) == before

    # when its version is tagged, then that is published, and can be installed and used elsewhere
    pipeline.run("publish", CI_COMMIT_TAG="v0.1.0")
    assert {*PROOF.state(packages)} - {*before} == {
        "harvest_made_up-0.1.0-py3-none-any.whl",
        "harvest_made_up-0.1.0.tar.gz",
    }
    elsewhere = tmp_path / "elsewhere"
    said(sys.executable, "-m", "venv", elsewhere, cwd=tmp_path)
    wanted = ("install", "-q", "--index-url", with_password(index))
    wanted += ("harvest-made-up",)
    said(elsewhere / "bin" / "pip", *wanted, cwd=tmp_path)
    assert plugins_in(elsewhere)["made-up"] == "0.1.0"
    sample = project / "tests" / "data" / "first.made_up"
    shown = said(
        elsewhere / "bin" / "harvest", "preview", "-s", f"made-up:{sample}", "--json", cwd=tmp_path
    )
    assert [json.loads(line)["value"] for line in shown.splitlines()] == [21.5, 1013.0]
