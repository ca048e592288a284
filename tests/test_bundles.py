"""Small partitions are read and staged together, and nothing but the time it takes tells so."""

import random
import time
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

import attrs
import crash
import harvest_paced
import pytest
import small_inputs
from blank import BLANK
from crash import Place
from night import SEED

import harvest
from harvest.plugins.registry import manager
from harvest.reading import bundle as work
from harvest.reading import reading
from harvest.reading.bundle import bundles, read_partitions
from harvest.reading.task import Task
from harvest.storage.fingerprint import fingerprint
from harvest.storage.staging import (
    ATTEMPTS,
    DONE,
    SMALL_BYTES,
    STAGING,
    clear_places,
    finished,
    is_bundle,
    staged_parts,
)
from harvest.toolkit.plain import checksum

# --- which partitions are taken together ----------------------------------------------------------


SINKS: Any = ("one sink", "another")


def task(size_bytes: int, *, sinks: tuple[int, ...] = (0,), live: bool = False) -> Task:
    """A partition to be read; of all that belongs to it, only this matters."""
    partition = harvest.Partition(
        id="p", origin="/p", inputs=() if live else ("/p",), size_bytes=size_bytes
    )
    blank: Any = None
    targets = tuple((SINKS[number], blank) for number in sinks)
    return Task(source=blank, partition=partition, targets=targets)


def sizes(todo: list[Task]) -> list[list[int]]:
    return [
        [each.partition.size_bytes for each in together]
        for together in bundles(todo, attrgetter("sinks"))
    ]


def test_neighbours_that_are_small_are_taken_together_in_their_order():
    large = work.SMALL_INPUT_BYTES + 1

    assert sizes([task(n) for n in (1, 2, large, 3, large, large, 4, 5)]) == [
        [1, 2], [large], [3], [large], [large], [4, 5],
    ]  # fmt: skip


def test_not_too_many_nor_too_many_bytes_are_taken_together():
    most, half = work.BUNDLE_PARTITIONS, work.BUNDLE_BYTES // 8

    assert list(map(len, sizes([task(1)] * (2 * most + 1)))) == [most, most, 1]
    assert list(map(len, sizes([task(half)] * 17))) == [8, 8, 1]


def test_only_partitions_of_files_for_the_same_sinks_are_taken_together():
    live, other = task(0, live=True), task(2, sinks=(0, 1))

    assert sizes([task(1), live, task(1), other, other]) == [[1], [0], [1], [2, 2]]


# --- what is staged -------------------------------------------------------------------------------

LINES = {"a.txt": "one\ntwo\n", "b.txt": "three\nbad\n", "c.txt": "", "d.txt": "four\n"}


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    """Small files for a Parquet dataset: b has a reject, c no row, and e is not there any more."""
    sink = manager().sink("parquet")(str(tmp_path / "out"))
    (sink.state / STAGING).mkdir(parents=True)
    made = []
    for number, name in enumerate((*LINES, "e.txt")):
        path = tmp_path / name
        path.write_text(LINES.get(name, ""))
        source = harvest_paced.PacedSource(str(path))
        (partition,) = source.plan()
        if name not in LINES:
            path.unlink()
        key = f"{number:016x}"
        part = attrs.evolve(
            BLANK,
            key=key,
            stem=f"{path.stem}-{key}-{'0' * 12}",
            partition=name,
            origin=str(path),
            fingerprint=fingerprint(partition.inputs),
        )
        made.append(Task(source=source, partition=partition, targets=((sink, part),)))
    return made


def state_of(tasks: list[Task]) -> Path:
    return tasks[0].targets[0][0].state


def test_partitions_of_few_rows_share_a_directory(tasks):
    results = read_partitions(tasks)

    # the results come in the order of the tasks
    parts = [staged.part for (staged,) in results]
    assert [part.partition for part in parts] == [*LINES, "e.txt"]
    assert [part.written for part in parts] == [2, 1, 0, 1, 0]
    assert [part.rejected for part in parts] == [0, 1, 0, 0, 1]
    (bundle,) = finished(state_of(tasks))
    assert is_bundle(bundle)
    assert {staged.directory for (staged,) in results} == {bundle}
    check_described(tasks)


def test_partitions_of_many_rows_have_directories_of_their_own(tasks, monkeypatch):
    # given that one row is too many
    monkeypatch.setattr(reading, "SMALL_BYTES", 0)

    results = read_partitions(tasks)

    staged = staged_parts(state_of(tasks))
    assert {stem[0]: is_bundle(each.directory) for stem, each in staged.items()} == {
        "a": False, "b": False, "c": True, "d": False, "e": True,
    }  # fmt: skip
    assert results == tuple((staged[task.targets[0][1].stem],) for task in tasks)
    check_described(tasks)


def check_described(tasks: list[Task]) -> None:
    """Everything that is described is there as described, and nothing else."""
    for each in staged_parts(state_of(tasks)).values():
        rejects = [each.part.rejects] if each.part.rejects else []
        for file in (*each.part.files, *rejects):
            assert checksum(each.directory / file.path) == file.sha256
        assert len(rejects) == min(each.part.rejected, 1)
    assert not list((state_of(tasks) / STAGING / ATTEMPTS).iterdir())


def test_a_sink_that_shares_no_files_has_each_partition_by_itself(tasks, tmp_path):
    jsonl = manager().sink("jsonl")(str(tmp_path / "lines"))
    (jsonl.state / STAGING).mkdir(parents=True)
    for_both = [
        attrs.evolve(task, targets=(*task.targets, (jsonl, task.targets[0][1]))) for task in tasks
    ]

    results = read_partitions(for_both)

    assert len(list(finished(state_of(tasks)))) == 1
    assert not any(map(is_bundle, finished(jsonl.state)))
    assert [lines.directory.name for _, lines in results] == [
        task.targets[0][1].stem for task in tasks
    ]
    in_both = [[staged.part.written for staged in each] for each in results]
    assert in_both == [[2, 2], [1, 1], [0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("few_rows", [SMALL_BYTES, 0], ids=["together", "alone"])
def test_what_a_lost_worker_staged_is_not_read_again(few_rows, tasks, monkeypatch):
    # given a worker that was lost after it had staged a bundle
    monkeypatch.setattr(reading, "SMALL_BYTES", few_rows)
    first = read_partitions(tasks)
    for task in tasks[:4]:
        Path(task.partition.origin).unlink()

    # when the bundle is given out again, and reading any of it would be an error
    again = read_partitions([attrs.evolve(task, on_error="fail") for task in tasks])

    assert again == first


def test_a_bundle_is_cleared_when_one_of_it_is_to_be_read_again(tasks):
    read_partitions(tasks)
    state = state_of(tasks)
    key = tasks[0].targets[0][1].key
    (bundle,) = filter(is_bundle, finished(state))

    clear_places(state, {key}, keep={bundle})  # the work on others in it is used
    assert bundle.is_dir()

    clear_places(state, {key})
    assert not staged_parts(state)


def test_of_a_part_that_is_staged_twice_the_one_is_used_that_was_read_in_peace(tasks):
    # given an input that changed while it was read, and was read again in another bundle
    state = state_of(tasks)
    planned_otherwise = attrs.evolve(tasks[0].targets[0][1], fingerprint="of before")
    restless = attrs.evolve(tasks[0], targets=((tasks[0].targets[0][0], planned_otherwise),))
    read_partitions([restless, tasks[2]])
    assert not staged_parts(state)[planned_otherwise.stem].part.settled

    read_partitions([tasks[0], tasks[3]])

    assert len(list(finished(state))) == 2
    assert staged_parts(state)[planned_otherwise.stem].part.settled


def test_a_damaged_description_of_a_bundle_is_no_work_done(tasks):
    read_partitions(tasks)
    state = state_of(tasks)
    (bundle,) = filter(is_bundle, finished(state))
    described = (bundle / DONE).read_bytes()
    (bundle / DONE).write_bytes(described[: len(described) // 2])

    assert not staged_parts(state)
    # and it does not stand in the way of another attempt
    read_partitions(tasks)
    assert sorted(name[0] for name in staged_parts(state)) == ["a", "b", "c", "d", "e"]


# --- whole runs -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("inputs")
    small_inputs.write(folder, 2)
    return folder


@pytest.fixture(scope="module")
def expected(inputs: Path, tmp_path_factory: Any) -> dict[str, Any]:
    """A Parquet dataset for which every partition was staged by itself."""
    place = parquet(tmp_path_factory.mktemp("apart") / "D", inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "BUNDLE_PARTITIONS", 1)
        place.harvest()
    return crash.contents(place)


def parquet(folder: Path, inputs: Path) -> Place:
    folder.mkdir()
    return Place(folder, inputs, ("parquet:P",))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_dataset_has_the_same_bytes_as_without_bundles(
    workers: int, inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    place = parquet(tmp_path / "D", inputs)

    place.harvest(workers=workers)

    crash.check_equal(place, expected)


POINTS = ("partition.rows", "partition.staged", "partition.done", "partition.placed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "number"), [*product([*POINTS, "commit.begun", "commit.published"], [1, 2])]
)
def test_a_kill_leaves_bundles_whole_or_not_at_all(
    point: str, number: int, inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    place = parquet(tmp_path / "D", inputs)
    if not crash.killed_at(place.start(HARVEST_FAULT=f"{point}:{number}")):
        assert point != "partition.rows"  # the others are passed once: there is one bundle
        assert number == 2
        return

    before = crash.finished(place)
    result = place.harvest()

    crash.check_nothing_read_twice(before, result)
    crash.check_equal(place, expected)


@pytest.mark.slow
def test_kills_at_any_instant_of_a_run_with_bundles(
    inputs: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    print(f"HARVEST_NIGHT={SEED}")
    rng = random.Random(SEED)
    place = parquet(tmp_path / "D", inputs)
    for _ in range(3):
        process = place.start(workers=1)
        crash.wait_for_lock(process, place.states()[0])
        time.sleep(rng.uniform(0, 0.5))
        crash.kill_group(process)
        if not crash.killed_at(process):
            break

    place.harvest()

    crash.check_equal(place, expected)
