"""What Darshan counted and did not trace: whose it is, over rows written by hand and by chance."""

import math
from typing import Any

import polars as pl
import pytest
from dask_rows import RUN, T0, A, at, operation, ran, tables_of, window
from hypothesis import given
from hypothesis import strategies as st

from harvest import Record
from harvest_dask.records.types import Process
from harvest_dask_runs.io.counted import owners, untraced
from harvest_dask_runs.io.ties import TRACE
from harvest_dask_runs.memory import MemoryReader
from harvest_dask_runs.views.kinds import prefixes
from harvest_dask_runs.views.task_io import task_io
from harvest_dask_runs.views.tasks import tasks

LOG = f"{RUN}/p1.darshan"


class Reader(MemoryReader):
    """Rows of Dask, and a process's log: its trace and its counters, in seconds of the log."""

    def __init__(self, rows: list[Record], trace: list[Any], **counters: list[dict[str, Any]]):
        super().__init__(tables_of(rows))
        job = {"origin": LOG, "start_time": T0, "hostname": "node1", "pid": 101}
        self.darshan = {
            "darshan.job": pl.LazyFrame([job]),
            "darshan.dxt_segment": pl.LazyFrame(trace, schema=TRACE),
            **{f"darshan.{name}": self.typed(rows) for name, rows in counters.items()},
        }

    @staticmethod
    def typed(rows: list[dict[str, Any]]) -> pl.LazyFrame:
        """Counters with the types that Darshan's records have."""
        types = {name: pl.Float64 for name in rows[0] if "_F_" in name}
        return pl.LazyFrame(rows, schema_overrides={**types, "record_id": pl.UInt64})

    def __contains__(self, name: object) -> bool:
        return name in self.darshan or super().__contains__(name)

    def __getitem__(self, name: str) -> pl.LazyFrame:
        return self.darshan[name] if name in self.darshan else super().__getitem__(name)


def executed(key: str, start: float, end: float, thread: int = 7) -> list[Record]:
    """What worker and scheduler record of an execution."""
    return [*window(key, start, end), credited(key, start, end, thread)]


def credited(key: str, start: float, end: float, thread: int = 7) -> Record:
    """What the scheduler records of an execution."""
    return ran(key, end, A, start, end, thread=thread)


def did(start: float, size: int, **more: Any) -> dict[str, Any]:
    """A traced read of the worker's thread."""
    return operation(start, 7, size, **more)


def counted(
    module: str, first: float, last: float, size: int, *, reads: int = 1, **more: Any
) -> dict[str, Any]:
    """The counters of a file that was read between two moments, for a tenth of the time."""
    return {
        "origin": LOG, "record_id": 2, "rank": 0, "path": "/data/y",
        f"{module}_READS": reads, f"{module}_WRITES": 0,
        f"{module}_BYTES_READ": size, f"{module}_BYTES_WRITTEN": 0,
        f"{module}_F_READ_TIME": round((last - first) / 10, 3), f"{module}_F_WRITE_TIME": 0.0,
        f"{module}_F_READ_START_TIMESTAMP": first, f"{module}_F_READ_END_TIMESTAMP": last,
        f"{module}_F_WRITE_START_TIMESTAMP": 0.0, f"{module}_F_WRITE_END_TIMESTAMP": 0.0,
    } | more  # fmt: skip


def whose(rows: list[Record], first: float, last: float) -> tuple[str | None, str | None]:
    """Key and ``beside`` of a file that was read through STDIO; thread 7 is known to be A's."""
    data = Reader(rows, [did(100, 0)], stdio=[counted("STDIO", first, last, 500)])
    (found,) = task_io(data).filter(how="counted").collect().to_dicts()
    assert (found["bytes"], found["count"], found["module"]) == (500, 1, "STDIO")
    assert (found["worker"], found["thread"], found["pid"]) == (A, None, 101)
    assert (found["first_time"], found["last_time"]) == (at(first), at(last))
    return found["key"], found["beside"]


X, Y, Z = "load-1", "load-2", "sum-3"


@pytest.mark.parametrize(
    ("rows", "first", "last", "key", "beside"),
    [
        (executed(X, 1, 5), 2, 4, X, None),
        # it began before the task did, as when its arguments opened the file
        (executed(X, 1, 5), 0.9, 4, None, "load"),
        # another task ran meanwhile: of the same kind, or of another
        (executed(X, 1, 5) + executed(Y, 3, 6, 8), 2, 4, None, "load"),
        (executed(X, 1, 5) + executed(Z, 3, 6, 8), 2, 4, None, None),
        # between two executions of one task
        (executed(X, 1, 2) + executed(X, 4, 5), 1.5, 4.5, None, "load"),
        # no task ran
        (executed(X, 1, 2), 3, 4, None, None),
        # the worker recorded nothing: the scheduler's times may be off
        ([credited(X, 1, 9)], 4, 5, None, "load"),
        ([*executed(X, 1, 9), credited(Z, 2, 3, 8)], 4.9, 8, None, None),
        ([*executed(X, 1, 9), credited(Z, 2, 3, 8)], 5.1, 8, X, None),
    ],
)
def test_counted_io_is_the_task_s_that_alone_ran_throughout(rows, first, last, key, beside):
    # given an execution that ties the process to the worker by the thread of a traced operation
    rows = [*rows, *executed("other-0", 99, 101)]

    assert whose(rows, first, last) == (key, beside)


def test_tasks_have_what_was_counted_while_they_ran_alone():
    """X ran alone from before its file was used, Y only after; two others ran together."""
    rows = [
        *(*executed(X, 1, 5), *executed(Y, 11, 15), *executed("other-0", 99, 101)),
        *(*executed("load-3", 21, 25), *executed("load-4", 22, 24, 8)),
    ]
    stdio = [
        counted("STDIO", first, last, size, record_id=number)
        for number, (first, last, size) in enumerate([(2, 4, 500), (10, 14, 70), (22, 23, 9)])
    ]
    data = Reader(rows, [did(100, 6)], stdio=stdio)

    found = tasks(data).select("key", "io_read_bytes", "io_alone_read_bytes").collect()

    assert {key: rest for key, *rest in found.rows()} == {
        X: [0, 500], Y: [0, 70], "other-0": [6, None], "load-3": [0, None], "load-4": [0, None],
    }  # fmt: skip
    no_logs = tasks(Reader(rows, [])).collect()
    assert no_logs["io_alone_read_bytes"].to_list() == [None] * 5


def test_of_what_is_traced_only_the_rest_is_counted_and_sums_are_those_of_the_counters():
    # given a trace that ended after two of five reads, and a read that got less than it asked for
    posix = [
        counted("POSIX", 1, 3, 900, reads=5, record_id=1),
        counted("POSIX", 1, 2, 60, record_id=3),
    ]
    trace = [did(1, 100), did(2, 300), did(1.5, 100, record_id=3)]
    data = Reader(executed(X, 0, 4), trace, posix=posix)

    found = task_io(data).collect()

    rest = found.filter(how="counted").sort("record_id").to_dicts()
    assert [(row["count"], row["bytes"], row["key"]) for row in rest] == [(3, 500, X), (0, -40, X)]
    # 0.2 s are counted for the first file, 2 ms of them are traced; nothing is left of the other
    assert [row["seconds"] for row in rest] == [0.198, 0.0]
    assert found["bytes"].sum() == 900 + 60
    (kind,) = prefixes(data).collect().to_dicts()
    assert (kind["io_read_bytes"], kind["io_s"]) == (960, 0.201)
    assert (kind["io_beside_bytes"], kind["io_share"]) == (0, pytest.approx(0.201 / 4))


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, -math.inf])
def test_what_cannot_be_is_in_no_sum(value):
    # given bytes below 0 of one file and no finite time of another, and a trace with such reads
    posix = [
        counted("POSIX", 1, 3, -5, record_id=1),
        counted("POSIX", 1, 3, 60, record_id=3, POSIX_F_READ_TIME=value),
        counted("POSIX", 1, value, 7, record_id=4),
    ]
    trace = [did(1, -100), did(2, 300), did(2.5, 9, start_s=2.5, end_s=value), did(2, 1, end_s=1.0)]
    data = Reader(executed(X, 0, 4), trace, posix=posix)

    found = task_io(data).sort("how", "record_id").collect().to_dicts()

    # then the bytes that were counted of the first are not known, and what is traced has the rest
    assert [(row["how"], row["bytes"]) for row in found] == [
        ("counted", None), ("counted", 60), ("counted", 7), ("traced", 310)
    ]  # fmt: skip
    assert [row["seconds"] for row in found] == [0.0, 0.0, 0.0, pytest.approx(0.002)]
    (kind,) = prefixes(data).collect().to_dicts()
    assert kind["io_read_bytes"] == 60 + 310


def test_sums_beyond_64_bits_are_not_given():
    most = 2**63 - 1
    posix = [counted("POSIX", 1, 3, most, record_id=n) for n in (3, 4)]
    data = Reader(executed(X, 0, 4), [did(1, most), did(2, most)], posix=posix)

    assert untraced(data)["bytes"].to_list() == [None, most, most]
    assert task_io(data).filter(how="traced").collect()["bytes"].to_list() == [None]
    (kind,) = prefixes(data).collect().to_dicts()
    assert kind["io_read_bytes"] is None


def test_mpi_io_counts_only_where_posix_does_not():
    zero = {
        f"MPIIO_{kind}_{op}": 0 for kind in ("COLL", "SPLIT", "NB") for op in ("READS", "WRITES")
    }
    mpiio = [
        counted("MPIIO", 1, 2, 70, MPIIO_INDEP_READS=2, MPIIO_INDEP_WRITES=0, record_id=n, **zero)
        for n in (1, 2)
    ]
    posix = [counted("POSIX", 1, 2, 64, record_id=1)]
    data = Reader(executed(X, 0, 4), [], posix=posix, mpiio=mpiio)

    rows = untraced(data).select("record_id", "module", "count", "bytes").rows()

    assert rows == [(1, "POSIX", 1, 64), (2, "MPI-IO", 2, 70)]


def test_without_a_time_or_with_several_ranks_nobody_is_named():
    rows = executed(X, 0, 4) + executed("other-0", 99, 101)
    never = counted("STDIO", 1, 2, 5, STDIO_F_READ_START_TIMESTAMP=0.0)
    shared = counted("STDIO", 1, 2, 7, rank=-1, record_id=9)

    data = Reader(rows, [did(100, 0)], stdio=[never, shared])
    found = task_io(data).filter(how="counted").collect()

    # what several processes share is of no process, and so in no row
    assert found.select("key", "beside", "bytes", "first_time").rows() == [(None, None, 5, None)]
    assert untraced(data)["bytes"].sum() == 5 + 7


def test_a_captured_worker_is_known_by_its_process_id_without_any_trace():
    """As with stock Darshan, or a process that used STDIO alone."""
    process = Process(
        role="worker", process="p", address=A, name="w", host="node1.cluster", pid=101,
        python="3.11", nthreads=1, memory_limit_bytes=1, start_time=T0, end_time=at(9),
        last_time=at(9), reason="closed", clock_offset_s=0.0, clock_round_trip_s=0.0,
        scheduler="s", local_directory="/tmp", resources=None, capture="c", frames=1, cut_bytes=0,
        script=None, script_sha256=None, script_size_bytes=None, script_arguments=None,
        notebook=None,
    )  # fmt: skip
    stdio = [counted("STDIO", 1, 2, 70), counted("STDIO", 5, 6, 9, record_id=4)]
    data = Reader([process, *executed(X, 0, 4)], [], stdio=stdio)

    found = task_io(data).collect()

    assert sorted(found.select("key", "worker", "bytes").rows(), key=str) == [
        (X, A, 70),
        (None, A, 9),
    ]


SPANS = st.tuples(st.integers(0, 12), st.integers(0, 6)).map(lambda s: (s[0], s[0] + s[1]))


@given(
    ran=st.lists(st.tuples(st.integers(0, 1), st.sampled_from("xyz"), SPANS), max_size=8),
    used=st.lists(st.tuples(st.integers(0, 1), SPANS), min_size=1, max_size=4),
)
def test_owners_are_those_that_looking_at_each_execution_finds(ran, used):
    """Any executions in two processes, any intervals, with borders that coincide."""
    executions = pl.DataFrame(
        [
            {"process": p, "key": f"{kind}-{n}", "prefix": kind, "owner": "w", "start": a,
             "end": b, "sure": n % 3 != 2}
            for n, (p, kind, (a, b)) in enumerate(ran)
        ],
        schema={"process": pl.Int64, "key": pl.String, "prefix": pl.String, "owner": pl.String,
                "start": pl.Int64, "end": pl.Int64, "sure": pl.Boolean},
    )  # fmt: skip
    intervals = pl.DataFrame(
        [{"place": n, "process": p, "first": a, "last": b} for n, (p, (a, b)) in enumerate(used)],
        schema=dict.fromkeys(("place", "process", "first", "last"), pl.Int64),
    )
    expected = {}
    for n, (process, (first, last)) in enumerate(used):
        there = [
            row for row in executions.to_dicts()
            if row["process"] == process and row["start"] <= last and row["end"] >= first
        ]  # fmt: skip
        if (
            len(there) == 1
            and there[0]["sure"]
            and (there[0]["start"] <= first and last <= there[0]["end"])
        ):
            expected[n] = (there[0]["key"], None, None)
        elif there and len({row["prefix"] for row in there}) == 1:
            only = there[0]["key"] if len(there) == 1 else None
            expected[n] = (None, there[0]["prefix"], only)

    found = owners(intervals, executions)

    found = found.select("place", "key", "beside", "beside_key").rows_by_key("place", unique=True)
    assert found == expected
