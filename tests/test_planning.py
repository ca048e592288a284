"""What a plan finds out about inputs, and when: it opens those that must be compared, no others."""

import contextlib
import json
import os
import threading
import time
from pathlib import Path

import pytest
from commands import python_alone

import harvest
from harvest.pipeline.plan import Plan
from harvest.pipeline.prepare import Observer
from harvest.pipeline.result import RunResult
from harvest.pipeline.session import execute
from harvest.plugins.registry import manager
from harvest.recipes.recipe import Endpoint, Recipe
from harvest.storage.fingerprint import FIRST, THREADS, map_waiting
from harvest.storage.manifest import Manifest
from harvest.storage.part import Part

HEADER = "JobID|JobName|User|State|ExitCode|Elapsed|Start\n"
LINE = "{n}|job {n}|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\n"

COUNT_OPENED = """
import json, pathlib, sys
import harvest
from harvest.storage import fingerprint

fingerprint.SETTLED_NS = 0  # or the inputs would be too young for their times to be relied on
place = pathlib.Path(sys.argv[1])
inputs, opened = place / "in", set()

def note(event, args):
    if event == "open" and str(args[0]).startswith(str(inputs)):
        opened.add(pathlib.Path(args[0]).name)

def run(**how):
    opened.clear()
    settings = {"slurm": {"timezone": "UTC"}}
    harvest.run(f"slurm:{inputs}", f"parquet:{place / 'out'}", settings=settings, workers=1, **how)
    return sorted(opened)

sys.addaudithook(note)
found = {"planned": run(dry_run=True), "read": run(), "unchanged": run()}
with (inputs / "1.csv").open("a") as file:
    file.write("2|more|ann|COMPLETED|0:0|00:00:05|2024-04-19T10:00:00\\n")
found["changed"] = run(dry_run=True)
print(json.dumps(found))
"""


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A directory of ten small files, each with one job."""
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(10):
        (folder / f"{n}.csv").write_text(HEADER + LINE.format(n=n))
    return folder


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of files are relied on at once, as if they were older than they are."""
    monkeypatch.setattr("harvest.storage.fingerprint.SETTLED_NS", 0)


def run(inputs: Path, out: Path, observer: Observer | None = None) -> RunResult:
    recipe = Recipe(
        sources=(Endpoint("slurm", str(inputs)),),
        sinks=(Endpoint("parquet", str(out)),),
        settings={"slurm": {"timezone": "UTC"}},
        workers=1,
    )
    return execute(recipe, manager(), observer=observer)


def parts(out: Path) -> list[Part]:
    manifest = Manifest.load(out / "_harvest")
    assert manifest is not None
    return list(manifest)


def jobs(out: Path) -> list[int]:
    """Numbers of the jobs whose rows a dataset holds."""
    names = harvest.open(out)["slurm.job"].collect().get_column("name")
    return sorted(int(name.removeprefix("job ")) for name in names)


@pytest.mark.slow
def test_a_plan_opens_only_inputs_that_are_to_be_compared(inputs: Path, tmp_path: Path) -> None:
    done = python_alone(COUNT_OPENED, tmp_path)

    every = [path.name for path in sorted(inputs.iterdir())]
    assert json.loads(done.stdout) == {
        "planned": [],
        "read": every,
        "unchanged": [],
        "changed": ["1.csv"],
    }


class _Change(Observer):
    """Changes an input when the plan is made and nothing is read yet."""

    def __init__(self, path: Path):
        self.path = path

    def planned(self, plan: Plan, size_bytes: int) -> None:
        with self.path.open("a") as file:
            file.write(LINE.format(n=77))


@pytest.mark.usefixtures("settled")
def test_an_input_that_changes_between_plan_and_reading_is_read_again(
    inputs: Path, tmp_path: Path
) -> None:
    """The partition was cut by the plan; what is beyond its end would never be read."""
    first = run(inputs, tmp_path / "out", _Change(inputs / "3.csv"))
    assert [Path(part.origin).name for part in first.parts if part.changed] == ["3.csv"]

    second = run(inputs, tmp_path / "out")

    assert [Path(part.origin).name for part in second.parts] == ["3.csv"]
    assert not second.parts[0].changed
    assert jobs(tmp_path / "out") == sorted([*range(10), 77])


class _Stop(Observer):
    """Ends the run when the first bundle of partitions is staged."""

    def finished(self, part: Part) -> None:
        raise KeyboardInterrupt


@pytest.mark.usefixtures("settled")
def test_what_was_staged_before_a_run_was_cut_short_is_not_read_again(
    inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harvest.reading.bundle.BUNDLE_PARTITIONS", 8)  # of ten
    with pytest.raises(KeyboardInterrupt):
        run(inputs, tmp_path / "out", _Stop())

    result = run(inputs, tmp_path / "out")

    assert len(result.parts) == 10
    assert len(result.plan.to_read) == 2
    assert jobs(tmp_path / "out") == list(range(10))
    # and all of it is of the run that commits it
    assert {part.run for part in parts(tmp_path / "out")} == {result.run}


@pytest.mark.usefixtures("settled")
def test_of_what_was_staged_only_that_counts_whose_input_is_as_it_was(
    inputs: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(inputs, tmp_path / "out", _Stop())
    (inputs / "0.csv").write_text(HEADER + LINE.format(n=50))

    result = run(inputs, tmp_path / "out")

    read = {Path(planned.partition.origin).name for planned in result.plan.to_read}
    assert "0.csv" in read
    assert jobs(tmp_path / "out") == sorted([*range(1, 10), 50])


@pytest.mark.slow
@pytest.mark.usefixtures("settled")
def test_a_second_dataset_gets_what_the_first_one_has(inputs: Path, tmp_path: Path) -> None:
    """Of some partitions the first is unchanged by their times, of one by its content alone."""
    settings = {"slurm": {"timezone": "UTC"}}
    first, second = tmp_path / "out", tmp_path / "jsonl"
    run(inputs, first)
    text = (inputs / "6.csv").read_bytes()
    stat = (inputs / "6.csv").stat()
    (inputs / "6.csv").write_bytes(text)
    os.utime(inputs / "6.csv", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    result = harvest.run(
        f"slurm:{inputs}", [f"parquet:{first}", f"jsonl:{second}"], settings=settings, workers=1
    )

    assert [(p.read_for, p.held_by) for p in result.plan.partitions] == [((1,), (0,))] * 10
    assert list(result.skipped) == []  # what one dataset needs is read, though the other has it
    assert jobs(second) == jobs(first) == list(range(10))
    again = harvest.run(
        f"slurm:{inputs}", [f"parquet:{first}", f"jsonl:{second}"], settings=settings, workers=1
    )
    assert again.plan.partitions == ()
    assert len(again.skipped) == 10


@pytest.mark.parametrize("stale", [None, FIRST + 100])
def test_calls_that_wait_are_made_by_threads(stale):
    items, callers = range(FIRST + 300), set()

    def ask(number: int) -> int:
        callers.add(threading.get_ident())
        time.sleep(0.001)
        if number == stale:
            raise OSError("stale file handle")
        return -number

    with pytest.raises(OSError, match="stale") if stale else contextlib.nullcontext():
        assert map_waiting(ask, items) == [-number for number in items]
    assert 1 < len(callers) <= 1 + THREADS
