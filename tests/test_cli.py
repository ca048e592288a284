"""The command line as a person meets it."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import harvest_alone, python_alone
from commands import harvest_here as harvest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "dask-run"
HEAVY = {"polars", "pyarrow", "duckdb", "numpy", "pandas", "rich", "matplotlib", "cattrs"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("cli") / "out"
    done = harvest("run", "-s", f"mofka-dask:{EXAMPLE}", "-k", f"parquet:{out}", "--json")
    assert done.returncode == 0, done.stderr
    return out


CALLED = """
import sys
from contextlib import redirect_stdout, suppress
from harvest.cli.main import main
for words in sys.argv[1:]:
    with redirect_stdout(sys.stderr), suppress(SystemExit):
        main(words.split())
    print(*{name.partition(".")[0] for name in sys.modules})
"""


@pytest.mark.slow
def test_help_and_lists_import_nothing_heavy_and_a_run_no_polars(tmp_path):
    scan = tmp_path / "scan.list"
    scan.write_text("1 2 0 -- /data/a\n")
    run = f"run -s gpfs:{scan} -k parquet:{tmp_path / 'out'}"
    helps = ["--help", "run --help", "report --help", "verify --help", "plugins check --help"]
    lists = ["view", "report"]  # of what can be asked

    *imported, by_run = python_alone(CALLED, *helps, *lists, run).stdout.splitlines()

    assert "harvest" in imported[0].split()
    assert not HEAVY & set(imported[len(helps) - 1].split())
    assert not {"polars", "pyarrow", "numpy"} & set(imported[-1].split())
    assert {"polars", "pyarrow"} & set(by_run.split()) == {"pyarrow"}


@pytest.mark.pandas
def test_a_view_does_not_import_pandas(dataset):
    # pyarrow imports pandas, where it is installed, for an array of Python values: 0.5 s
    pytest.importorskip("pandas")

    imported = set(python_alone(CALLED, f"view dask.tasks {dataset}").stdout.split())

    assert "polars" in imported
    assert "pandas" not in imported


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "-s", "mofka-dsk:x", "-k", "parquet:out"], "did you mean 'mofka-dask'?"),
        (["run", "-s", "mofka-dask:x", "-k", "parqet:out"], "did you mean 'parquet'?"),
        (["run", "-s", "mofka-dask:x"], "no sink given"),
        (["run", "-k", "parquet:out"], "no source given"),
        (["run", "-s", "slurm:x", "-k", "parquet:o", "-o", "tz=UTC"], "write NAME.KEY=VALUE"),
        (["run", "-s", "slurm:x", "-k", "parquet:o", "--on-error", "no"], "use reject or fail"),
        (["view", "gpfs.file", "out"], "'gpfs.file' is a record type, not a view; its rows: h"),
        (["view", "gpfs.owner", "out"], "did you mean 'gpfs.owners'?"),
        (["schema", "dask.transfr"], "did you mean 'dask.transfer'"),
        (
            ["schema", "dask.tsks"],
            "unknown record type or view 'dask.tsks'; did you mean 'dask.tasks'",
        ),
        (["plugins", "show", "parket"], "'parket'; did you mean 'parquet'"),
        (["plugins", "list", "--kind", "rules"], "unknown kind 'rules'; did you mean 'rule'?"),
        (["view", "gpfs.owners", "out", "--by=top"], "; if it is a setting: --set by=VALUE"),
        (["fidings"], "did you mean 'findings'"),
        (["query", "select 1", "."], "write: harvest query . SQL"),
        (["run", "--sorce", "x"], "--source"),
    ],
)
def test_wrong_usage_ends_with_2_and_a_suggestion(arguments, message, tmp_path):
    done = harvest(*arguments, cwd=tmp_path)

    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "location"), [("verify", "."), ("runs", "."), ("rejects", "."), ("show", "/")]
)
def test_what_is_no_dataset_is_said_to_be_none(command, location, tmp_path):
    done = harvest(command, location, cwd=tmp_path)

    assert done.returncode == 1
    assert "this is not a dataset" in done.stderr


def test_the_version_is_told():
    assert harvest("--version").stdout.startswith("harvest ")


@pytest.mark.slow
def test_an_encoding_that_cannot_show_a_table_is_named(dataset):
    env = os.environ | {"PYTHONIOENCODING": "iso8859-15"}
    done = harvest_alone("report", "run.map", dataset, env=env)
    assert done.returncode == 1
    assert "the encoding iso8859-15 lacks; set PYTHONIOENCODING=utf-8" in done.stderr


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
def test_a_reader_that_goes_away_ends_the_program_quietly(dataset):
    # given a reader that is gone before anything is written
    done = in_bash(f"{tasks_of(dataset)} --json | true; exit ${{PIPESTATUS[0]}}")

    assert (done.returncode, done.stderr) == (1, "")


def tasks_of(dataset):
    return f"{sys.executable} -m harvest view dask.tasks {dataset}"


def in_bash(line, **environment):
    env = os.environ | environment
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_named(dataset, unbuffered):
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")

    done = in_bash(f"{tasks_of(dataset)} > /dev/full", PYTHONUNBUFFERED=unbuffered)

    assert done.returncode == 1
    assert done.stderr == "harvest: standard output: No space left on device\n"


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_gets_nothing(dataset, closed):
    done = in_bash(f"{tasks_of(dataset)} {closed}")

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "txt"])
def test_an_output_that_cannot_be_written_is_named(dataset, tmp_path, ending):
    # given a limit of 1 KiB for each file
    path = tmp_path / f"x.{ending}"

    done = in_bash(f"ulimit -f 1; {tasks_of(dataset)} -o {path}")

    assert done.returncode == 1
    assert done.stderr.startswith(f"harvest: {path}: ")
    assert "File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_tracebacks_are_shown_on_demand_only(tmp_path):
    arguments = ["run", "-s", "mofka-dask:nowhere", "-k", "parquet:out"]
    assert "Traceback" not in harvest(*arguments, cwd=tmp_path).stderr
    assert "Traceback" in harvest("--debug", *arguments, cwd=tmp_path).stderr
