"""``harvest mofka-dask capture``, run as users run it."""

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from harvest.cli import main
from harvest_mofka_dask import TaskHandler

RUN = Path(__file__).resolve().parents[3] / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"
CSVS = (
    "scheduler_transition.csv",
    "worker.csv",
    "worker_transition.csv",
    "worker_transfer.csv",
)


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A current directory with the CSVs of a run."""
    for name in CSVS:
        shutil.copy(RUN / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def capture(capsys):
    """Runs the command; gives exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["mofka-dask", "capture", *arguments])
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run


def test_in_a_run_directory_it_needs_no_options(here, capture):
    code, out, err = capture()
    assert (code, err) == (0, "")
    text = (here / "compiled_tasks.txt").read_text()
    assert text.startswith("Compiled tasks\n")
    assert len(re.findall(r"^Task ", text, re.MULTILINE)) == 58
    rows = sum(len((RUN / name).read_text().splitlines()) - 1 for name in CSVS)
    assert f"{rows} rows read: 58 tasks" in out
    assert "15 of them repeat a transfer" in out
    assert "4 workers registered, 3 reported" in out
    assert "1 of 4 registered workers reported no events" in out
    assert "0 rows could not be read" in out
    assert not list(here.glob(".*"))


def test_files_may_have_any_name_and_place(here, capture, tmp_path):
    elsewhere = tmp_path / "other names"
    elsewhere.mkdir()
    for name in (*CSVS, "graph.csv"):
        shutil.copy(RUN / name, elsewhere / name.replace("worker", "W").replace(".csv", ".txt"))
    code, _, err = capture(
        *("-s", str(elsewhere / "scheduler_transition.txt")),
        *("-w", str(elsewhere / "W.txt")),
        *("-t", str(elsewhere / "W_transition.txt")),
        *("-x", str(elsewhere / "W_transfer.txt")),
        *("-g", str(elsewhere / "graph.txt")),
        *("-o", "all.jsonl"),
    )
    assert (code, err) == (0, "")
    tasks = pl.read_ndjson(here / "all.jsonl")
    assert tasks.height == 58
    assert tasks["client"].null_count() == 0
    assert tasks["run"].unique().to_list() == [str(elsewhere)]


def test_parquet_holds_the_view(here, capture):
    assert capture("-o", "tasks.parquet")[0] == 0
    written = pl.read_parquet(here / "tasks.parquet")
    names = dict(zip(("scheduler", "workers", "transitions", "transfers"), CSVS, strict=True))
    assert written.equals(TaskHandler.from_files(**names).frame)


def test_workers_csv_comes_before_worker_csv(here, capture):
    shutil.copy(here / "worker.csv", here / "workers.csv")
    (here / "worker.csv").write_text("not a table of workers\n")
    assert capture()[0] == 0
    assert str(here / "workers.csv") in (here / "compiled_tasks.txt").read_text()


def test_workers_and_transfers_may_be_missing(here, capture):
    (here / "worker.csv").unlink()
    (here / "worker_transfer.csv").unlink()
    code, out, err = capture()
    assert code == 0
    assert "no workers.csv or worker.csv here: continuing without workers" in err
    assert "no worker_transfer.csv here: continuing without transfers" in err
    assert "registered" not in out


@pytest.mark.parametrize("name", ["scheduler_transition.csv", "worker_transition.csv"])
def test_transitions_may_not_be_missing(here, capture, name):
    (here / name).unlink()
    code, _, err = capture()
    assert code == 2
    assert f"no {name} in the current directory" in err
    assert not (here / "compiled_tasks.txt").exists()


@pytest.mark.parametrize("option", ["-s", "-g"])
def test_a_named_file_must_exist(here, capture, option):
    code, _, err = capture(option, "missing.csv")
    assert code == 2
    assert "missing.csv: no such file" in err
    assert option in err
    assert "is a directory" in capture(option, ".")[2]
    assert not (here / "compiled_tasks.txt").exists()


def test_a_file_is_named_once(here, capture):
    code, _, err = capture("-s", "worker_transition.csv", "-t", "./worker_transition.csv")
    assert (code, "given with -s and -t" in err) == (2, True)


def test_rows_that_cannot_be_read_end_with_3(here, capture):
    with (here / "worker_transition.csv").open("a") as file:
        file.write("9999,k,ready,executing,tcp://10.9.0.21:40101,not a time\n")
    code, out, _ = capture()
    assert code == 3
    assert "1 row could not be read" in out
    assert "worker_transition.csv, record 368: " in out
    assert "not a time" in out
    # and all others are there
    text = (here / "compiled_tasks.txt").read_text()
    assert len(re.findall(r"^Task ", text, re.MULTILINE)) == 58
    assert "could not be read" in text


def test_a_file_of_another_kind_is_an_error(here, capture):
    (here / "compiled_tasks.txt").write_text("old")
    code, _, err = capture("-s", "worker.csv")
    assert code == 1
    assert "worker.csv: is not a scheduler_transition table: it lacks the column 'key'" in err
    assert "its columns are those of worker.csv" in err
    assert "Traceback" not in err
    assert (here / "compiled_tasks.txt").read_text() == "old"
    assert not list(here.glob(".*"))


@pytest.mark.parametrize("content", ['""\n', ""])
def test_a_table_that_got_no_rows_is_no_mistake(here, capture, content):
    # pandas writes '""' for a table without rows or columns
    (here / "worker_transfer.csv").write_text(content)
    code, out, _ = capture()
    assert code == 0
    assert "58 tasks" in out
    assert "worker_transfer.csv holds no rows" in out


def test_an_unknown_suffix_is_a_usage_error(here, capture):
    code, _, err = capture("-o", "tasks.xlsx")
    assert code == 2
    assert "tasks.xlsx" in err
    assert ".parquet" in err
    code, _, err = capture("-o", "nowhere/tasks.txt")
    assert code == 2
    assert "nowhere" in err
