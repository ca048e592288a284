"""The engine ``slurm``: what its jobs are told, and whole harvests on a real Slurm."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from clusters import eventually, in_work, rows_files
from harvest_paced import MUCH
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest import Bundle, Partition, Work
from harvest.errors import (
    ConfigError,
    DatasetError,
    HarvestError,
    PluginError,
    SourceError,
    SourceRejected,
    TooManyRejects,
    UsageError,
)
from harvest.pipeline.prepare import PreparedRun, prepare_sources
from harvest.plugins.registry import manager
from harvest.reading.task import Task
from harvest.recipes.recipe import Endpoint, Recipe
from harvest_cluster.slurm.engine import BYTES_WORTH_A_JOB, SlurmConfig, SlurmEngine
from harvest_cluster.slurm.tasks import read_error, write_error, write_task

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "dask-run"
QUICK = ("-o", "slurm.memory=300M", "-o", "slurm.time=5")

# --- what jobs are told


class Written:
    """Stands for a bundle."""

    def to_json(self):
        return {"password": "x"}


def test_what_jobs_are_told_is_for_the_user_alone(tmp_path):
    """Settings and locations may hold a password."""
    write_task(tmp_path / "tasks", 0, Written())
    assert (tmp_path / "tasks").stat().st_mode & 0o077 == 0
    assert json.loads((tmp_path / "tasks" / "0.json").read_text()) == {"password": "x"}


ERRORS = [
    HarvestError("found", where="here", remedy="do"), UsageError("u"), ConfigError("c", where="x"),
    SourceError("s"), DatasetError("d"), PluginError("p", remedy="r"), TooManyRejects("t"),
    SourceRejected("the line is bad", where="f, record 2"), OSError(28, "No space left", "/x y"),
]  # fmt: skip


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_stopped_a_job_is_raised_as_it_was(tmp_path, error):
    write_error(tmp_path, 3, error)
    back = read_error(tmp_path, 3)
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)
    assert read_error(tmp_path, 4) is None


def test_errors_of_other_kinds_keep_their_exit_code_or_are_defects(tmp_path):
    class MineAlone(TooManyRejects):
        """An error that a plugin derived."""

    write_error(tmp_path, 0, MineAlone("too many"))
    assert type(read_error(tmp_path, 0)) is TooManyRejects
    write_error(tmp_path, 1, ZeroDivisionError("division by zero"))
    assert "unexpected ZeroDivisionError" in str(read_error(tmp_path, 1))


# --- how partitions are shared out


def sized(size: int) -> Bundle:
    partition = Partition(id="p", origin="/p", size_bytes=size)
    return Bundle((Task(source=None, partition=partition, targets=()),))


def shared_out(alone: list[Bundle], per_job: int | None) -> list[int]:
    """How many partitions the engine gives to each array task."""
    work = Work(
        bundles=alone,
        partitions=len(alone),
        cost_bytes=sum(bundle.cost_bytes for bundle in alone),
    )
    chunks = list(SlurmEngine(tasks_per_job=per_job)._chunks(work))
    assert [each for chunk in chunks for each in chunk.split(1)] == alone
    return list(map(len, chunks))


@given(
    st.lists(st.integers(0, 3 * BYTES_WORTH_A_JOB), min_size=1, max_size=40),
    st.integers(1, 60),
    st.one_of(st.none(), st.integers(1, 50)),
)
def test_every_partition_is_in_one_array_task_and_their_number_is_bounded(sizes, times, per_job):
    alone = [sized(size) for size in sizes] * times

    chunks = shared_out(alone, per_job)

    assert all(chunks)
    assert len(chunks) <= 1000
    if per_job is not None and len(alone) <= 1000 * per_job:
        assert all(count == per_job for count in chunks[:-1])


@pytest.mark.slow
def test_small_partitions_share_an_array_task_and_large_ones_do_not():
    assert len(shared_out([sized(1000)] * 100, None)) == 1
    assert len(shared_out([sized(BYTES_WORTH_A_JOB)] * 100, None)) == 100
    assert len(shared_out([sized(0)] * 100, None)) == 100, "of unknown size"
    assert len(shared_out([sized(0)] * 10_000, None)) <= 1000
    assert len(shared_out([sized(1000)] * 10_001, 1)) <= 1000


@pytest.mark.slow
def test_very_many_tiny_partitions_are_shared_out_though_they_have_few_bytes():
    # given so few bytes in all that by size they would be two array tasks
    chunks = shared_out([sized(100)] * 100_000, None)

    # then each has about a thousand, which take seconds to open
    assert 90 <= len(chunks) <= 110
    assert max(chunks) <= 1100


# --- what is refused


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"partition": "a b"}, "batch option 'partition': 'a b' does not fit"),
        ({"extra": "--wrap=rm"}, "--wrap is set by harvest itself"),
        ({"tasks_per_job": "0"}, "'0' does not fit: tasks_per_job must be at least 1"),
        ({"retries": -1}, "slurm.retries: -1 does not fit: retries must be at least 0"),
        ({"partitions": "x"}, "has no setting 'partitions'; did you mean 'partition'"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(setting, message):
    with pytest.raises(ConfigError) as caught:
        SlurmEngine(**setting)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.slow
def test_without_slurm_nothing_happens_but_a_clear_error(tmp_path, anywhere):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("one\n")
    anywhere.env["PATH"] = str(tmp_path)

    told = anywhere.run("run", "-s", "paced:in", "-k", "jsonl:out", "--engine", "slurm", code=2)

    assert "sbatch is not on the PATH" in told
    assert rows_files(tmp_path / "out") == {}
    assert batches(tmp_path / "out") == []
    # and the next run, with another engine, is not disturbed
    anywhere.run("run", "-s", "paced:in", "-k", "jsonl:out")


def test_every_setting_is_in_the_page_on_engines():
    from harvest_cluster.dask.cluster import DaskConfig

    page = (ROOT / "docs" / "engines.md").read_text()
    for name, config in (("slurm", SlurmConfig), ("dask", DaskConfig)):
        for field in attrs.fields(config):
            assert field.metadata["doc"]
            assert f"`{name}.{field.name}`" in page, f"{name}.{field.name}"


def test_a_last_job_has_the_settings_of_a_source_of_the_engines_name(tmp_path):
    pytest.importorskip("harvest_slurm", reason="the source slurm is not installed")
    recipe = Recipe(
        sources=(Endpoint("slurm", str(tmp_path)),),
        settings={"slurm": {"timezone": "UTC", "memory": "4G", "wait": False}},
        engine="slurm",
    )
    uses = prepare_sources(recipe, manager())
    run = PreparedRun(recipe=recipe, plugins=manager(), uses=uses, listed=[], sinks=[])

    run.work(None, ()).write_recipe(tmp_path / "recipe.toml")

    found = Recipe.load(tmp_path / "recipe.toml")
    assert (found.engine, found.settings) == ("local", {"slurm": {"timezone": "UTC"}})


# --- on a real Slurm


def lines(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def batches(dataset: Path) -> list[Path]:
    return sorted((dataset / "_harvest" / "batch").glob("*"))


def queue(on_slurm) -> dict[str, str]:
    """State of each job or array task in the queue."""
    told = on_slurm.slurm("squeue", "-h", "-r", "-o", "%F_%K %T").splitlines()
    return dict(line.split() for line in told if "COMPLETING" not in line)


def test_a_killed_and_a_requeued_task_leave_the_dataset_of_a_local_run(on_slurm, tmp_path):
    # given four files, two of which are read slowly, and names that a shell would act on
    folder = tmp_path / "in; touch PWNED '$(touch PWNED)' \"`touch PWNED`\"\n#SBATCH -t 0"
    go = tmp_path / "go"
    lines(
        folder,
        a="one\ntwo\nbad\n",
        b=f"{MUCH}\nhold {go}\nfour\n",
        c=f"{MUCH}\nhold {go}\nsix\n",
        **{"-d %j \\ $(touch PWNED)": "seven\n"},
    )
    out = tmp_path / "%A out; touch PWNED \\ $(touch PWNED) 'x' -rf\n\"y"
    sinks = ("-k", f"parquet:{out}/p", "-k", f"jsonl:{out}/j", "-k", f"jsonl:{out}/all.jsonl.gz")
    running = on_slurm.start(
        "run", "-s", f"paced:{folder}", *sinks, "--engine", "slurm", *QUICK,
        "-o", "slurm.tasks_per_job=1", "-o", "slurm.env_setup=export GREETING='hello'",
    )  # fmt: skip

    # when one is killed in the middle and the other is requeued
    eventually(lambda: in_work(out / "p", "b") and in_work(out / "p", "c"), "both are in work")
    (job,) = {task.partition("_")[0] for task in queue(on_slurm)}
    victim, moved = f"{job}_2", f"{job}_3"  # of b and c: partitions are in the order of names
    on_slurm.slurm("scancel", "--signal=KILL", "--full", victim)
    on_slurm.slurm("scontrol", "requeue", moved)
    eventually(lambda: queue(on_slurm).get(moved) != "RUNNING", "the requeued task has stopped")
    go.touch()
    told = on_slurm.end(running, code=3)

    # then the data sets are, to the byte, those of a run in one process
    assert "1 input unit could not be read" in told
    on_slurm.run(
        "run", "-s", f"paced:{folder}", "-k", "parquet:l/p", "-k", "jsonl:l/j",
        "-k", "jsonl:l/all.jsonl.gz", code=3,
    )  # fmt: skip
    assert rows_files(out) == rows_files(tmp_path / "l")
    assert len(rows_files(out)) > 5
    assert not list(tmp_path.rglob("PWNED"))
    # and nothing of the batch is left
    assert batches(out / "p") == []
    assert queue(on_slurm) == {}


def test_jobs_read_what_came_through_a_pipe(on_slurm, tmp_path):
    pipe, out = tmp_path / "pipe", tmp_path / "out"
    os.mkfifo(pipe)
    arguments = ("run", "-s", f"paced:{pipe}", "-k", f"jsonl:{out}", "--engine", "slurm", *QUICK)
    running = on_slurm.start(*arguments)
    pipe.write_text("one\nbad\n")
    on_slurm.end(running, code=3)
    (row,) = map(json.loads, rows_files(out).values())
    assert (row["text"], row["origin"]) == ("one", str(pipe))
    assert [reject["origin"] for reject in harvest.open(out).rejects()] == [str(pipe)]

    # a job that commits when the pipe is no more is refused
    running = on_slurm.start(*arguments, "-o", "slurm.wait=false")
    pipe.write_text("two\n")
    assert "a job that commits later cannot read a pipe" in on_slurm.end(running, code=2)


def test_a_detached_run_is_committed_by_its_last_job(on_slurm, tmp_path):
    held = f"{MUCH}\nhold {tmp_path / 'go'}\n"
    folder = lines(tmp_path / "in", a="one\n", b=held, c="bad\nthree\n")
    (folder / "caf\udce9").write_text("four\n")
    out = tmp_path / "out $(touch PWNED)"
    arguments = ("run", "-s", f"paced:{folder}", "-o", "paced.prefix=> ", "--keep-runs", "3")

    told = on_slurm.run(
        *arguments, "-k", f"jsonl:{out}", "--engine", "slurm", *QUICK,
        "-o", "slurm.tasks_per_job=1", "-o", "slurm.wait=false",
    )  # fmt: skip

    # its last line says how to follow it, from any shell
    assert "the last one commits" in told
    (batch,) = batches(out)
    assert str(batch) in told
    status = [
        str(word) for word in ("-P", "-m", "harvest_cluster.batch", "status", batch, "--json")
    ]

    def state():
        done = subprocess.run(
            [sys.executable, *status], env=on_slurm.env, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        return {job["name"]: job for job in json.loads(done.stdout)}

    # when the task that is held up dies, nobody submits it again
    eventually(lambda: in_work(out, "b"), "it is in work")
    eventually(lambda: state()["harvest-stage"]["done"] == 3, "the others are done")
    stage = state()["harvest-stage"]
    (number,) = [c["number"] for c in stage["commands"] if c["state"] == "running"]
    (job,) = stage["job_ids"]
    assert not (out / "_harvest" / "manifest.json").exists()
    on_slurm.slurm("scancel", "--signal=KILL", "--full", f"{job}_{number}")
    (tmp_path / "go").touch()

    # then the last job reads what is missing, and commits
    eventually(lambda: not queue(on_slurm), "all jobs have ended")
    found = state()
    assert (found["harvest-stage"]["done"], found["harvest-stage"]["failed"]) == (3, 1)
    (last,) = found["harvest-commit"]["commands"]
    assert last["exit_code"] == 3, Path(found["harvest-commit"]["log"])
    on_slurm.run(*arguments, "-k", f"jsonl:{tmp_path / 'local'}", code=3)
    assert rows_files(out) == rows_files(tmp_path / "local")
    (run,) = json.loads(on_slurm.run("runs", out, "--json"))
    assert run["account"][0]["read"] == 6
    assert not list(tmp_path.rglob("PWNED"))


def test_what_stops_a_partition_stops_the_run_and_its_jobs(on_slurm, tmp_path):
    folder = lines(tmp_path / "in", a="bad\nbad\n", b=f"hold {tmp_path / 'never'}\n")

    told = on_slurm.run(
        "run", "-s", f"paced:{folder}", "-k", "jsonl:out", "--engine", "slurm", *QUICK,
        "-o", "slurm.tasks_per_job=1", "--max-rejects", "1", code=4,
    )  # fmt: skip

    assert "more than 1 rejects, the last one: the line is bad" in told
    assert str(folder / "a") in told
    assert not (tmp_path / "out" / "_harvest" / "manifest.json").exists()
    eventually(lambda: not queue(on_slurm), "the other task is cancelled")


def test_a_task_that_is_lost_every_time_ends_the_run_with_its_log(on_slurm, tmp_path):
    folder = lines(tmp_path / "in", a="one\n", b="two\n")

    told = on_slurm.run(
        "run", "-s", f"paced:{folder}", "-k", "jsonl:out", "--engine", "slurm", *QUICK,
        "-o", "slurm.retries=1",
        "-o", "slurm.env_setup=echo the disk is on fire; kill -KILL $$", code=1,
    )  # fmt: skip

    assert "was lost 2 times" in told
    (log, *_) = (tmp_path / "out").rglob("*.out")
    assert str(log.parent) in told
    assert "the disk is on fire" in log.read_text()


def test_an_interrupted_run_cancels_its_jobs_and_the_next_one_goes_on(on_slurm, tmp_path):
    folder = lines(tmp_path / "in", a="one\n", b=f"{MUCH}\nhold {tmp_path / 'go'}\n")
    arguments = ("run", "-s", f"paced:{folder}", "-k", "jsonl:out")
    running = on_slurm.start(*arguments, "--engine", "slurm", *QUICK, "-o", "slurm.tasks_per_job=1")
    staging = tmp_path / "out" / "_harvest" / "staging"
    eventually(lambda: list(staging.glob("a-*/_part.json")), "the first is staged")
    eventually(lambda: in_work(tmp_path / "out", "b"), "the second is in work")

    os.killpg(running.pid, signal.SIGINT)

    on_slurm.end(running, code=130)
    eventually(lambda: not queue(on_slurm), "its jobs are cancelled")
    (tmp_path / "go").touch()
    told = json.loads(on_slurm.run("run", "-s", f"paced:{folder}", "-k", "jsonl:out", "--json"))
    assert told["record_types"] == {"paced.line": 3}


def test_force_is_not_left_to_a_last_job(on_slurm, tmp_path):
    lines(tmp_path / "in", a="one\n")
    arguments = ("run", "-s", "paced:in", "-k", "jsonl:out")
    on_slurm.run(*arguments)

    told = on_slurm.run(
        *arguments, "--force", "--engine", "slurm", "-o", "slurm.wait=false", code=2
    )

    assert "--force does not work with a last job" in told
    assert batches(tmp_path / "out") == []


def test_a_real_run_of_dask_is_the_same_on_slurm(on_slurm, tmp_path):
    arguments = ("run", "-s", f"mofka-dask:{EXAMPLE}")
    on_slurm.run(*arguments, "-k", "parquet:local")

    on_slurm.run(
        *arguments, "-k", "parquet:there", "--engine", "slurm", "--workers", "2", *QUICK,
        "-o", "slurm.tasks_per_job=7", "-o", f"slurm.directory={tmp_path / 'jobs'}",
    )  # fmt: skip

    assert rows_files(tmp_path / "there") == rows_files(tmp_path / "local")
    assert len(rows_files(tmp_path / "there")) == 11, "one file for each record type"
