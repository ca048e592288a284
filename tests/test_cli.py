"""The command line as a person meets it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pexpect
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


def test_help_fits_80_columns_and_lists_every_command():
    shown = harvest("--help", COLUMNS="80").stdout
    assert all(len(line) <= 80 for line in shown.splitlines())
    for command in ("run", "detect", "preview", "plugins", "schema", "view", "query", "runs"):
        assert f"\n  {command} " in shown


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


@pytest.mark.slow
def test_a_location_without_a_name_is_detected(tmp_path):
    done = harvest("run", "-s", EXAMPLE, "-k", tmp_path / "events.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "events.jsonl").read_text().splitlines()
    assert len(lines) == sum(json.loads(done.stdout)["record_types"].values())


@pytest.mark.slow
def test_detect_tells_source_confidence_and_reason():
    (row, *_) = json.loads(harvest("detect", EXAMPLE, "--json").stdout)
    assert row["source"] == "mofka-dask"
    assert row["confidence"] >= 0.9
    assert row["reason"]


@pytest.mark.slow
def test_detect_ends_with_1_when_nothing_recognises_a_path(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\0")
    done = harvest("detect", tmp_path / "x.bin")
    assert done.returncode == 1
    assert "no source recognises it" in done.stdout


@pytest.mark.slow
def test_preview_writes_nothing(tmp_path):
    done = harvest("preview", "-s", f"mofka-dask:{EXAMPLE}", "-n", "1", cwd=tmp_path)
    assert done.returncode == 0
    assert "dask.transfer: 1 of at least 24 rows" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_lists_what_would_be_read(tmp_path):
    done = harvest("run", "-s", EXAMPLE, "-k", "parquet:out", "--dry-run", cwd=tmp_path)
    assert "19 of 19 partitions would be read; nothing was written" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_views_are_listed_and_shown(dataset):
    assert "dask.tasks" in harvest("view").stdout
    shown = harvest("view", "dask.workers", dataset, "--json").stdout
    assert len(shown.splitlines()) == 4


@pytest.mark.slow
def test_sql_sees_record_types_and_views(dataset):
    done = harvest("query", dataset, "select count(*) as n from dask.tasks", "--json")
    assert json.loads(done.stdout)["n"] == 58
    done = harvest("query", dataset, 'select count(*) as n from "dask.transfer"', "--json")
    assert json.loads(done.stdout)["n"] == 24


@pytest.mark.slow
def test_sql_can_neither_read_nor_write_other_files(dataset, tmp_path):
    refusals = {
        "select * from read_csv('/etc/passwd')": "file system operations are disabled",
        f"copy (select 1) to '{tmp_path}/x.csv'": "a dataset is only read",
    }
    for text, refusal in refusals.items():
        done = harvest("query", dataset, text)
        assert done.returncode == 2
        assert refusal in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_wrong_sql_is_a_usage_error(dataset):
    done = harvest("query", dataset, "selec 1")
    assert done.returncode == 2
    assert "the query failed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_runs_and_verify(dataset):
    (run,) = json.loads(harvest("runs", dataset, "--json").stdout)
    assert run["account"][0]["written"] == 886
    assert run["sources"] == [{"name": "mofka-dask", "location": str(EXAMPLE)}]
    assert "all well" in harvest("verify", dataset).stdout


@pytest.mark.slow
def test_verify_names_a_damaged_file(tmp_path):
    out = tmp_path / "out"
    harvest("run", "-s", EXAMPLE, "-k", f"parquet:{out}")
    victim = next((out / "dask.transfer").glob("*.parquet"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)

    done = harvest("verify", out)

    assert done.returncode == 1
    assert f"{victim}: its content has changed" in done.stdout


@pytest.mark.slow
def test_a_schema_in_every_format():
    assert "compressed_bytes" in harvest("schema", "dask.transfer").stdout
    schema = json.loads(harvest("schema", "dask.transfer", "--format", "json-schema").stdout)
    assert schema["properties"]["total_bytes"]["x-unit"] == "bytes"
    assert "total_bytes: int64" in harvest("schema", "dask.transfer", "--format", "arrow").stdout
    assert "| `total_bytes` |" in harvest("schema", "dask.transfer", "--format", "markdown").stdout


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
def test_progress_is_shown_on_a_terminal(tmp_path):
    header = ",key,start,finish,called_from,time\n"
    rows = (f"{n},key-{n},released,waiting,tcp://h:1,{n}.5\n" for n in range(400_000))
    (tmp_path / "worker_transition.csv").write_text(header + "".join(rows))
    child = pexpect.spawn(
        sys.executable,
        ["-m", "harvest", "run", "-s", f"mofka-dask:{tmp_path}", "-k", f"parquet:{tmp_path}/out"],
        dimensions=(24, 80), encoding="utf-8", timeout=60,
    )  # fmt: skip
    child.expect(r"/1 parts.*MB.*rows.*left")
    child.expect("committed to")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 0


@pytest.mark.slow
def test_tracebacks_are_shown_on_demand_only(tmp_path):
    arguments = ["run", "-s", "mofka-dask:nowhere", "-k", "parquet:out"]
    assert "Traceback" not in harvest(*arguments, cwd=tmp_path).stderr
    assert "Traceback" in harvest("--debug", *arguments, cwd=tmp_path).stderr


@pytest.mark.slow
def test_escape_codes_in_names_never_reach_the_terminal(tmp_path):
    folder = tmp_path / "run\x1b[31m"
    folder.mkdir()
    (folder / "worker_transition.csv").write_text(
        ",key,start,finish,called_from,time\n0,\x1b[2Jkey,released,waiting,h,1.5\n"
    )
    for arguments in (
        ["preview", "-s", f"mofka-dask:{folder}"],
        ["run", "-s", f"mofka-dask:{folder}", "-k", f"parquet:{tmp_path / 'out'}"],
        ["view", "dask.tasks", tmp_path / "out"],
        ["runs", tmp_path / "out"],
        ["run", "-s", f"mofka-dask:{folder}x", "-k", f"parquet:{tmp_path / 'out'}"],
    ):
        done = harvest(*arguments)
        assert "\x1b" not in done.stdout + done.stderr, arguments
