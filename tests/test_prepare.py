"""What one process must find out before a partition is read: ``Source.prepare``."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest
from blank import BLANK
from harvest_paced import PacedSource

import harvest
from harvest import Partition, PluginError, SourceError, collect, collect_partition
from harvest.plugins.registry import manager
from harvest.reading.bundle import prepare, read_partitions
from harvest.reading.task import Task
from harvest.storage.staging import STAGING

GPFS_LINE = "{inode} 2 0  -- /a/file of some length {inode}\n"


class FailingSource(PacedSource):
    """Its preparation fails as its setting says."""

    error: Exception

    def prepare(self, partition: Partition) -> Partition:
        raise self.error


def task_of(source: harvest.Source, partition: Partition, folder: Path) -> Task:
    sink = manager().sink("jsonl")(str(folder / "out"))
    (sink.state / STAGING).mkdir(parents=True, exist_ok=True)
    part = attrs.evolve(BLANK, source=source.name, partition=partition.id, origin=partition.origin)
    return Task(source=source, partition=partition, targets=((sink, part),))


@pytest.fixture
def failing(tmp_path: Path) -> Task:
    (tmp_path / "a.txt").write_text("one\n")
    source = FailingSource(str(tmp_path / "a.txt"))
    (partition,) = source.plan()
    return task_of(source, partition, tmp_path)


@pytest.mark.parametrize(
    "error", [SourceError("is cut off"), OSError(5, "is cut off")], ids=["source", "system"]
)
def test_a_partition_that_cannot_be_prepared_is_one_reject(failing: Task, error: Any) -> None:
    failing.source.error = error  # type: ignore[attr-defined]

    ((staged,),) = read_partitions((prepare(failing),))
    part = staged.part

    assert (part.failed, part.rejected, part.rows) == (True, 1, {})


def test_a_defect_in_the_preparation_stops_the_run(failing: Task) -> None:
    failing.source.error = ValueError("no")  # type: ignore[attr-defined]

    with pytest.raises(PluginError, match="'paced' failed: ValueError: no"):
        prepare(failing)


# --- ranges of a list -----------------------------------------------------------------------------


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    """A list of some ranges, whose lines say their numbers."""
    path = tmp_path / "scan.list"
    path.write_text("".join(GPFS_LINE.format(inode=number) for number in range(1, 40_001)))
    return path


@pytest.fixture
def source(scan: Path) -> harvest.Source:
    gpfs = pytest.importorskip("harvest_gpfs.config")
    made = manager().source("gpfs")(str(scan), gpfs.GpfsConfig(partition_bytes=200_000))
    assert isinstance(made, harvest.Source)
    return made


def wrong(source: harvest.Source, partitions: Iterable[Partition]) -> int:
    """Lines that did not get their number."""
    count = 0
    for partition in partitions:
        rows = collect_partition(source, partition).rows("gpfs.file")
        count += sum(row["position"] != row["inode"] for row in rows)
    return count


@pytest.mark.slow
def test_ranges_get_the_numbers_of_their_lines_whoever_prepares_them(
    source: harvest.Source,
) -> None:
    plan = list(source.plan())
    assert len(plan) > 5

    in_order = [source.prepare(partition) for partition in plan]
    backwards = [source.prepare(partition) for partition in reversed(plan)]

    assert in_order == backwards[::-1]
    assert wrong(source, in_order) == 0
    assert wrong(source, reversed(plan)) == 0  # not prepared at all
    assert collect(source).written == 40_000


def test_preparation_changes_options_alone_with_plain_values(source: harvest.Source) -> None:
    for partition in source.plan():
        ready = source.prepare(partition)
        assert attrs.evolve(ready, options=partition.options) == partition
        assert all(isinstance(value, bool | list | None) for value in ready.options.values())


def test_ranges_can_be_written_down_for_batch_jobs(source: harvest.Source, tmp_path: Path) -> None:
    bundle = harvest.Bundle(tuple(task_of(source, each, tmp_path) for each in source.plan()))
    ready = bundle.prepare()

    back = harvest.Bundle.from_json(json.loads(json.dumps(ready.to_json())))

    assert [task.partition for task in back._tasks] == [task.partition for task in ready._tasks]
    assert ready != bundle


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_numbers_lines_across_ranges(workers: int, scan: Path, tmp_path: Path) -> None:
    pytest.importorskip("harvest_gpfs")

    harvest.run(
        f"gpfs:{scan}",
        f"parquet:{tmp_path / 'out'}",
        settings={"gpfs": {"partition_bytes": 200_000}},
        workers=workers,
    )

    rows = harvest.open(tmp_path / "out")["gpfs.file"].select("inode", "position").collect()
    assert rows.height == 40_000
    assert (rows["inode"] == rows["position"]).all()
