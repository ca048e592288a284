"""A reader of a recorder that nobody knows stands on the record types, and has all views."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from harvest import Source, collect
from harvest_dask.records.literals import canonical_key
from harvest_dask.records.types import TaskTransition
from harvest_dask_runs import TaskHandler
from harvest_dask_runs.memory import Harvested

RECORDED = """\
tcp://h:1;7;("load",0);10;12
tcp://h:2;8;('load', 1);10;13
tcp://h:1;7;total-1;13;14
"""


class OwnSource(Source):
    """A line per execution: worker, thread, key, begin and end in seconds of the epoch."""

    name, record_types = "own", (TaskTransition,)

    def read(self, partition: Any, ctx: Any) -> Iterator[TaskTransition]:
        for number, line in enumerate(partition.path.read_text().splitlines(), 1):
            worker, thread, key, *times = line.split(";")
            begins, ends = (datetime.fromtimestamp(int(time), UTC) for time in times)
            yield TaskTransition(
                time=ends,
                key=canonical_key(key),
                start_state="processing",
                finish_state="memory",
                worker=worker,
                thread=int(thread),
                begins=begins,
                ends=ends,
                duration_s=(ends - begins).total_seconds(),
                position=number,
            )


def test_its_rows_are_a_run_as_any_other(tmp_path):
    # given what such a recorder wrote
    (tmp_path / "R1").mkdir()
    (tmp_path / "R1" / "own.txt").write_text(RECORDED)

    found = Harvested.of([collect(OwnSource(str(tmp_path / "R1")))])

    assert found.reader.notes == []

    # then tasks and workers are known as far as it recorded them, kinds of tasks by their keys,
    # and the rest is said to lack
    tasks = TaskHandler.from_harvested(found)
    seen = {task.key: (task.prefix, task.executed_on, task.duration_s) for task in tasks}
    assert seen == {
        "('load', 0)": ("load", "tcp://h:1", 2.0),
        "('load', 1)": ("load", "tcp://h:2", 3.0),
        "total-1": ("total", "tcp://h:1", 1.0),
    }
    workers = found.workers().select("worker", "executed", "busy_s", "transfers").rows()
    assert workers == [("tcp://h:1", 2, 3.0, None), ("tcp://h:2", 1, 3.0, None)]
    (summary,) = found.summary().to_dicts()
    assert summary["tasks"] == 3
    assert any(note.startswith("no transfer is") for note in summary["completeness_notes"])
