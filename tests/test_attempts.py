"""A partition that is attempted twice at a time, as when a lost worker lives on."""

import json
import threading
from pathlib import Path

import attrs
import pytest
from blank import BLANK
from clusters import eventually
from harvest_paced import PacedSource

from harvest.plugins.registry import manager
from harvest.reading import bundle, reading
from harvest.reading.bundle import read_partitions
from harvest.reading.task import Task
from harvest.storage.part import read_parts
from harvest.storage.staging import DONE, STAGING, clear_places, remove_tree, staged_parts


@pytest.fixture
def task(tmp_path, monkeypatch):
    """A partition whose reading halts until the file ``go`` exists, for two sinks.

    No row of it counts as few, so that each attempt has a directory from the first one on.
    """
    monkeypatch.setattr(reading, "SMALL_BYTES", 0)
    (tmp_path / "a.txt").write_text(f"one\nhold {tmp_path / 'go'}\ntwo\n")
    source = PacedSource(str(tmp_path / "a.txt"))
    (partition,) = source.plan()
    sinks = [manager().sink(name)(str(tmp_path / name)) for name in ("jsonl", "parquet")]
    for sink in sinks:
        (sink.state / STAGING).mkdir(parents=True)
    return Task(source=source, partition=partition, targets=tuple((sink, BLANK) for sink in sinks))


def staged(task: Task) -> list[list[str]]:
    """The names in each sink's staging directory that are no attempt's."""
    return [
        sorted(p.name for p in (sink.state / STAGING).iterdir() if p.name != "attempts")
        for sink, _ in task.targets
    ]


def attempts(task: Task) -> list[Path]:
    return list((task.targets[0][0].state / STAGING / "attempts").glob("a-*"))


def test_the_first_to_finish_is_kept_and_the_other_takes_its_result(task, tmp_path):
    # given an attempt that halts in the middle
    slow_results = []
    slow = threading.Thread(target=lambda: slow_results.append(read_partitions([task])))
    slow.start()
    eventually(lambda: attempts(task), "the first attempt has begun")

    # when another one overtakes it: the halt is behind its first line
    quick_thread_results = []
    quick = threading.Thread(target=lambda: quick_thread_results.append(read_partitions([task])))
    quick.start()
    eventually(lambda: len(attempts(task)) == 2, "the second attempt has begun")
    (tmp_path / "go").touch()
    slow.join()
    quick.join()

    # then both tell of the same staged part, it is there once, and nothing else is left
    assert slow_results == quick_thread_results
    stem = BLANK.stem
    assert staged(task) == [[stem], [stem]]
    assert attempts(task) == []
    for (sink, _), one in zip(task.targets, slow_results[0][0], strict=True):
        assert one.directory == sink.state / STAGING / stem
        assert read_parts(one.directory / DONE) == (one.part,)
        assert one.part.rows == {"paced.line": 3}


def begin_as_if_nothing_were_staged(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is attempted from now on began before anything was staged, and ends after it."""
    monkeypatch.setattr(bundle, "staged_before", lambda state, stems: {})


def test_an_attempt_that_comes_late_changes_nothing(task, tmp_path, monkeypatch):
    (tmp_path / "go").touch()
    (first,) = read_partitions([task])
    begin_as_if_nothing_were_staged(monkeypatch)
    sink, part = task.targets[0]
    done = sink.state / STAGING / part.stem / DONE
    before = done.stat()
    # as if the input had changed since: the late one read something else
    (tmp_path / "a.txt").write_text("other\n")

    (late,) = read_partitions([task])

    assert late == first
    assert (done.stat().st_ino, done.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_attempt_that_fails_leaves_what_another_staged(task, tmp_path, monkeypatch):
    (tmp_path / "go").touch()
    (first,) = read_partitions([task])
    begin_as_if_nothing_were_staged(monkeypatch)
    broken = attrs.evolve(task, on_error="fail")
    (tmp_path / "a.txt").write_text("bad\n")

    with pytest.raises(Exception, match="the line is bad"):
        read_partitions([broken])

    sink, part = task.targets[0]
    assert read_parts(sink.state / STAGING / part.stem / DONE) == (first[0].part,)
    assert attempts(task) == []


@pytest.mark.parametrize(
    "missing", ["files", "rows", "read", "filtered", "folded", "rejected", "rejects", "notes"]
)
def test_a_staged_part_without_its_whole_account_is_read_again(task, tmp_path, missing):
    # given a description that another program, or a damaged disk, has cut
    (tmp_path / "go").touch()
    (first,) = read_partitions([task])
    for each in first:
        account = json.loads((each.directory / DONE).read_bytes())
        del account[0][missing]
        (each.directory / DONE).write_text(json.dumps(account))

    # then it is not believed
    assert [staged_parts(sink.state) for sink, _ in task.targets] == [{}, {}]
    (again,) = read_partitions([task])
    assert [each.part for each in again] == [each.part for each in first]
    assert [len(staged_parts(sink.state)) for sink, _ in task.targets] == [1, 1]


def test_what_is_to_be_read_again_is_cleared_before(task, tmp_path):
    (tmp_path / "go").touch()
    read_partitions([task])
    (tmp_path / "a.txt").write_text("other\n")
    for sink, part in task.targets:
        clear_places(sink.state, {part.key})

    (again,) = read_partitions([task])

    assert [staged.part.rows for staged in again] == [{"paced.line": 1}] * 2


def test_a_directory_in_which_a_lost_worker_still_writes_is_removed(tmp_path):
    """It fills the directory again while it is emptied, until its own part of it is gone."""
    directory = tmp_path / "attempts"
    (directory / "a" / "b").mkdir(parents=True)
    begun = threading.Event()

    def write_on() -> None:
        number = 0
        try:
            while True:
                (directory / "a" / "b" / str(number)).touch()
                number += 1
                if number == 500:
                    begun.set()
        except FileNotFoundError:
            begun.set()

    writer = threading.Thread(target=write_on)
    writer.start()
    begun.wait()

    remove_tree(directory)

    writer.join()
    assert not directory.exists()
    remove_tree(directory)  # gone already: as well
