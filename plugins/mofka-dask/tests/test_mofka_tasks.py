"""Tasks as objects from the files of a run, and the names that the package has for them."""

import ast
import importlib
from pathlib import Path

import pytest

import harvest_dask_runs
import harvest_mofka_dask
from harvest import SourceError
from harvest_dask_runs import commands
from harvest_mofka_dask import TaskHandler
from harvest_mofka_dask.commands import app, capture
from harvest_mofka_dask.tasks import harvest_files

RUN = Path(__file__).resolve().parents[3] / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"
SOURCE = Path(harvest_mofka_dask.__file__).parent
HEADER = "key,start,finish,called_from,time\n"


def test_all_names_are_those_of_dask_runs_but_the_handler_which_reads_files_too():
    assert harvest_mofka_dask.__all__ == harvest_dask_runs.__all__
    for name in harvest_mofka_dask.__all__:
        here, there = getattr(harvest_mofka_dask, name), getattr(harvest_dask_runs, name)
        assert here is there or (name == "TaskHandler" and issubclass(here, there))


def test_what_is_called_here_too_is_that_of_dask_runs():
    called = [command.callback for command in app.registered_commands]
    assert called == [capture, commands.trace]


def test_of_the_distributions_below_public_names_alone_are_imported():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("harvest_dask"):
                public = {*importlib.import_module(node.module).__all__, "__all__", "*"}
                assert {name.name for name in node.names} <= public, f"{path.name}:{node.lineno}"


def test_a_key_of_two_runs_must_be_told_apart(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "worker_transition.csv").write_text(HEADER + "x,a,b,w,1714979301.5\n")
    tasks = TaskHandler.from_directory(tmp_path)
    assert len(tasks) == 2
    assert tasks.keys() == ["x"]
    with pytest.raises(KeyError, match="2 runs"):
        tasks["x"]
    task = tasks.get("x", run="two")
    assert task is not None
    assert task.run == str(tmp_path / "two")


def test_files_of_any_name_are_read_by_their_role(tmp_path):
    # given a run's CSVs in two directories, under names of their own
    (tmp_path / "deep").mkdir()
    s, t = tmp_path / "s.txt", tmp_path / "deep/t.dat"
    s.write_bytes((RUN / "scheduler_transition.csv").read_bytes())
    t.write_bytes((RUN / "worker_transition.csv").read_bytes())

    tasks = TaskHandler.from_files(scheduler=s, transitions=t)

    # then they are one run, in the directory that holds both
    assert tasks.runs == [str(tmp_path)]
    assert len(tasks) == 58
    assert {e.source for task in tasks for e in task.events} == {"scheduler", "worker"}


def test_files_must_be_there():
    with pytest.raises(SourceError, match="no such file"):
        TaskHandler.from_files(scheduler="/nowhere/s.csv")
    with pytest.raises(SourceError, match="no file is named"):
        TaskHandler.from_files()


def test_files_may_be_named_from_the_current_directory(monkeypatch):
    monkeypatch.chdir(RUN)
    found = harvest_files({"scheduler": Path("scheduler_transition.csv")})
    assert found.tasks().get_column("run").unique().to_list() == [str(RUN)]


def test_rows_that_cannot_be_read_are_told_of(tmp_path):
    path = tmp_path / "worker_transition.csv"
    path.write_text(HEADER + "x,a,b,w,1714979301.5\ny,a,b,w,yesterday\n")
    with pytest.warns(UserWarning, match="1 input unit.*TaskHandler.rejects"):
        tasks = TaskHandler.from_directory(tmp_path)
    assert [task.key for task in tasks] == ["x"]
    assert tasks.rejects[0].position == 2
