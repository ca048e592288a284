"""I/O tied to tasks in whole runs with their Darshan logs, checked by a plain computation.

The computation reads the CSVs with the csv module, and takes the trace as harvested rows; the
attribution itself is written anew, row by row.
"""

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from dask_rows import moment, path_of, read


@pytest.fixture(scope="module", params=["R1", pytest.param("R6", marks=pytest.mark.slow)])
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def run(name) -> Path:
    return path_of(name)


@pytest.fixture(scope="module")
def dataset(name, run_of):
    return run_of(name)


@pytest.fixture(scope="module")
def segments(dataset):
    return dataset["darshan.dxt_segment"].collect().to_dicts()


@pytest.fixture(scope="module")
def threads(run) -> dict[int, str]:
    """The worker of each thread that ran a task."""
    done = [row for row in read(run, "scheduler_transition.csv") if row["thread"]]
    return {int(float(row["thread"])): row["worker"] for row in done}


@pytest.fixture(scope="module")
def expected(run, segments, threads):
    """Per key, thread and file: number and bytes of the operations, by a plain computation."""
    ran = defaultdict(set)
    for row in read(run, "scheduler_transition.csv"):
        if row["thread"]:
            ran[row["key"], row["worker"]].add(int(float(row["thread"])))
    opened, spans = {}, []
    for row in sorted(read(run, "worker_transition.csv"), key=lambda row: float(row["time"])):
        task = row["key"], row["called_from"]
        if row["finish"] == "executing":
            opened[task] = moment(row["time"])
        elif row["start"] == "executing":
            spans.append((*task, opened.pop(task), moment(row["time"])))
    sums: Counter = Counter()
    for segment in segments:
        if segment["thread"] not in threads:
            continue
        owners = [
            key
            for key, worker, start, end in spans
            if segment["thread"] in ran[key, worker] and start <= segment["start_time"] <= end
        ]
        assert len(owners) == 1, "each operation on a task's thread has exactly one task"
        where = owners[0], segment["thread"], segment["path"], segment["op"]
        sums[(*where, "count")] += 1
        sums[(*where, "bytes")] += segment["length"]
    return sums


@pytest.mark.slow
def test_every_operation_on_a_task_thread_has_one_task(dataset, expected):
    got: Counter = Counter()
    for row in dataset.view("dask.task_io").filter(how="traced").collect().to_dicts():
        where = row["key"], row["thread"], row["file"], row["op"]
        got[(*where, "count")] += row["count"]
        got[(*where, "bytes")] += row["bytes"]
        assert row["by_elimination"] == 0
    assert got == expected


@pytest.mark.slow
def test_sums_equal_those_of_the_trace(dataset, segments, threads):
    on_tasks = [segment for segment in segments if segment["thread"] in threads]
    assert on_tasks
    io = dataset.view("dask.task_io").filter(how="traced").collect()
    assert io["key"].null_count() == 0
    assert io["count"].sum() == len(on_tasks)
    assert io["bytes"].sum() == sum(segment["length"] for segment in on_tasks)
    spent = sum(segment["end_s"] - segment["start_s"] for segment in on_tasks)
    assert io["seconds"].sum() == pytest.approx(spent, abs=1e-6)
    assert io["first_time"].min() == min(segment["start_time"] for segment in on_tasks)
    assert io["last_time"].max() == max(segment["end_time"] for segment in on_tasks)


@pytest.mark.slow
def test_coverage_counts_every_segment(dataset, segments):
    coverage = dataset.view("dask.task_io_coverage").collect()
    assert coverage["segments"].sum() == len(segments)
    assert coverage["bytes"].sum() == sum(segment["length"] for segment in segments)


@pytest.mark.slow
def test_what_is_counted_beyond_the_trace_is_that_of_the_counters(dataset):
    """These runs read a trajectory through STDIO, which is never traced."""
    stdio = dataset["darshan.stdio"].collect().to_dicts()
    workers = {row["log"] for row in dataset.view("dask.workers_processes").collect().to_dicts()}
    read = sum(row["STDIO_BYTES_READ"] for row in stdio if row["origin"] in workers)

    counted = dataset.view("dask.task_io").filter(how="counted").collect()

    assert counted.filter(op="read")["bytes"].sum() == read > 3.4e9
    assert set(counted["module"]) == {"STDIO"}
    # the trajectory is opened some milliseconds before the task is executed: no task has it for
    # certain, but tasks of one kind alone ran meanwhile
    trajectory = counted.filter(counted["file"].str.ends_with(".xtc"))
    assert trajectory["key"].null_count() == trajectory.height
    assert set(trajectory["beside"]) == {"dask_helper"}
    assert trajectory["bytes"].sum() > 0.999 * read
