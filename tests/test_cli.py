"""The command line as a person meets it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import harvest_here as harvest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "dask-run"
HEAVY = {"polars", "pyarrow", "duckdb", "numpy", "pandas", "rich", "matplotlib", "cattrs"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "out"
    done = harvest("run", "-s", f"mofka-dask:{EXAMPLE}", "-k", f"parquet:{out}", "--json")
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize("command", ["", "run", "view", "report", "verify", "plugins check"])
def test_help_imports_nothing_heavy(command):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "harvest", *command.split(), "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }
    assert "harvest" in imported
    assert not HEAVY & imported


@pytest.mark.parametrize("command", ["view", "report"])
def test_a_list_of_what_can_be_asked_imports_no_library_of_tables(command):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "harvest", command],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "harvest" in imported
    assert not {"polars", "pyarrow", "numpy"} & imported


def test_the_version_is_told():
    assert harvest("--version").stdout.startswith("harvest ")


@pytest.mark.slow
def test_print_config_is_a_recipe_that_does_the_same(tmp_path):
    zone = "mofka-dask.timezone=America/Chicago"
    arguments = ["-s", f"mofka-dask:{EXAMPLE}", "-k", "parquet:out", "-o", zone]
    arguments += ["--workers", "2", "--on-error", "fail"]
    recipe = harvest("run", *arguments, "--print-config").stdout
    assert tomllib.loads(recipe) == {
        "run": {"workers": 2, "on-error": "fail"},
        "source": [{"name": "mofka-dask", "location": str(EXAMPLE)}],
        "sink": [{"name": "parquet", "location": "out"}],
        "set": {"mofka-dask": {"timezone": "America/Chicago"}},
    }
    (tmp_path / "r.toml").write_text(recipe)
    assert harvest("run", tmp_path / "r.toml", "--print-config").stdout == recipe

    done = harvest("run", "r.toml", "--json", cwd=tmp_path)

    assert json.loads(done.stdout)["record_types"]["dask.transfer"] == 24
    assert (tmp_path / "out" / "_harvest" / "manifest.json").exists()


def test_a_dry_run_lists_what_would_be_read(tmp_path):
    done = harvest("run", "-s", EXAMPLE, "-k", "parquet:out", "--dry-run", cwd=tmp_path)
    assert "19 of 19 partitions would be read; nothing was written" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_sql_sees_record_types_and_views(dataset):
    done = harvest("query", dataset, "select count(*) as n from dask.tasks", "--json")
    assert json.loads(done.stdout)["n"] == 58
    done = harvest("query", dataset, 'select count(*) as n from "dask.transfer"', "--json")
    assert json.loads(done.stdout)["n"] == 24


@pytest.mark.parametrize(
    "command",
    ["view dask.tasks {} --json", "runs {}"],
)
def test_a_reader_that_goes_away_ends_the_program_quietly(dataset, command):
    # given a reader that is gone before anything is written
    line = f"{sys.executable} -m harvest {command.format(dataset)} | true; exit ${{PIPESTATUS[0]}}"

    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
def test_tracebacks_are_shown_on_demand_only(tmp_path):
    arguments = ["run", "-s", "mofka-dask:nowhere", "-k", "parquet:out"]
    assert "Traceback" not in harvest(*arguments, cwd=tmp_path).stderr
    assert "Traceback" in harvest("--debug", *arguments, cwd=tmp_path).stderr
