"""The views of I/O, over logs written by hand."""

import math
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from darshan_logs import Reader, only, zeros
from hypothesis import given
from hypothesis import strategies as st

from harvest import UsageError
from harvest_darshan.views.files import files
from harvest_darshan.views.processes import processes
from harvest_darshan.views.timeline import timeline

T0 = datetime(2024, 5, 6, 7, 0, tzinfo=UTC)
BINS = dict(
    zip(
        (
            *("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M"),
            *("1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"),
        ),
        (100, 1024, 10_240, 102_400, 2**20, 2**22, 10 * 2**20, 100 * 2**20, 2**30, math.inf),
        strict=True,
    )
)


Row = tuple[str, dict[str, Any]]
"""A record: the last word of its type, and its values."""


def dataset(*rows: Row, tables: dict[str, pl.LazyFrame] | None = None) -> Reader:
    """Records of any types, and the tables of other plugins."""
    given: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for word, values in rows:
        given[word].append(values)
    return Reader(tables, **given)


def seg(number: int, offset: int | None, length: int, **more: Any) -> Row:
    """The number-th read of a process on /x, a millisecond long."""
    values = {"module": "DXT_POSIX", "record_id": 7, "path": "/x", "rank": 0, "op": "read"}
    values |= {"start_s": float(number), "end_s": number + 0.001, "hostname": "node1"}
    values |= {"origin": "/runs/R1/p1.darshan", "segment": number} | more
    values.setdefault("start_time", T0 + timedelta(seconds=values["start_s"]))
    values.setdefault("end_time", T0 + timedelta(seconds=values["end_s"]))
    return "dxt_segment", values | {"offset": offset, "length": length}


def counters(word: str, **more: Any) -> Row:
    """A record whose counters are 0 unless given."""
    place = {"origin": "/runs/R1/p1.darshan", "record_id": 7, "path": "/x", "rank": 0}
    return word, zeros(word) | place | more


# ---- io.files -----------------------------------------------------------------------------------


def test_a_file_tells_who_used_it_and_how():
    data = dataset(
        seg(0, 0, 100),
        seg(1, 100, 101),
        seg(2, 50, 0),
        seg(0, 0, 2**30 + 1, op="write", rank=1),
        seg(0, 10, 5, origin="/runs/R1/p2.darshan"),
    )
    row = only(files(data))
    assert (row["run"], row["file"], row["record_id"]) == ("/runs/R1", "/x", 7)
    assert (row["basis"], row["readers"], row["writers"]) == (["DXT_POSIX"], 2, 1)
    assert (row["read_bytes"], row["write_bytes"]) == (206, 2**30 + 1)
    assert (row["reads"], row["writes"], row["operations"]) == (4, 1, 5)
    assert (row["read_s"], row["write_s"]) == (0.004, 0.001)
    # of five operations, one begins where the one before it ended
    assert row["sequential_share"] == 1 / 5
    assert {b["size"]: (b["reads"], b["writes"]) for b in row["sizes"]} == {
        name: {"0_100": (3, 0), "100_1K": (1, 0), "1G_PLUS": (0, 1)}.get(name, (0, 0))
        for name in BINS
    }
    assert (row["tasks"], row["untraced_operations"]) == (None, None)


def test_each_length_is_in_the_size_up_to_its_limit():
    # given a read of each limit, and one of a byte more
    lengths = [length for most in [*BINS.values()][:-1] for length in (most, most + 1)]

    row = only(files(dataset(*(seg(n, 0, length) for n, length in enumerate(lengths)))))

    assert [size["reads"] for size in row["sizes"]] == [1, *[2] * 8, 1]


def test_counters_stand_in_for_a_missing_trace():
    counts = {"POSIX_READS": 4, "POSIX_BYTES_READ": 400, "POSIX_SEQ_READS": 3}
    counts |= {"POSIX_SIZE_READ_0_100": 4, "POSIX_F_READ_TIME": 0.25}
    row = only(files(dataset(counters("posix", **counts))))
    assert (row["basis"], row["readers"], row["writers"]) == (["POSIX"], 1, 0)
    assert (row["read_bytes"], row["reads"], row["read_s"]) == (400, 4, 0.25)
    assert row["sequential_share"] == 0.75
    assert row["sizes"][0] == {"size": "0_100", "reads": 4, "writes": 0}


def test_each_log_gives_what_it_has_and_nothing_counts_twice():
    # given one log with a trace and counters, one with counters alone, and buffered I/O in it
    data = dataset(
        seg(0, 0, 10),
        counters("posix", POSIX_READS=3, POSIX_BYTES_READ=30, POSIX_WRITES=0),
        counters("mpiio", MPIIO_INDEP_READS=1, MPIIO_BYTES_READ=10),
        seg(0, 0, 10, module="DXT_MPIIO"),
        counters("posix", POSIX_READS=2, POSIX_BYTES_READ=200, origin="/runs/R1/p2.darshan"),
        counters("mpiio", MPIIO_COLL_READS=1, MPIIO_BYTES_READ=200, origin="/runs/R1/p2.darshan"),
        counters("stdio", STDIO_READS=1, STDIO_BYTES_READ=4000, origin="/runs/R1/p2.darshan"),
        counters(
            "mpiio", MPIIO_INDEP_READS=1, MPIIO_NB_READS=2, MPIIO_BYTES_READ=9,
            record_id=8, path="/y",
        ),
    )  # fmt: skip
    x, y = files(data).collect().to_dicts()
    assert (x["file"], x["basis"]) == ("/x", ["DXT_POSIX", "POSIX", "STDIO"])
    assert (x["read_bytes"], x["reads"], x["readers"]) == (10 + 200 + 4000, 4, 2)
    assert x["untraced_operations"] == 2
    assert (y["file"], y["basis"], y["reads"], y["read_bytes"]) == ("/y", ["MPI-IO"], 3, 9)
    assert y["sequential_share"] is None


def test_a_record_shared_by_all_ranks_does_not_tell_its_readers():
    row = only(files(dataset(counters("posix", rank=-1, POSIX_READS=3, POSIX_WRITES=0))))
    assert (row["readers"], row["writers"], row["reads"]) == (None, 0, 3)


def test_buffered_io_alone_has_no_sizes():
    row = only(files(dataset(counters("stdio", STDIO_WRITES=2, STDIO_BYTES_WRITTEN=9))))
    assert (row["basis"], row["writers"], row["write_bytes"]) == (["STDIO"], 1, 9)
    assert (row["sizes"], row["sequential_share"]) == (None, None)


def test_tasks_of_a_file_are_counted_where_a_dask_run_is_there():
    log = "/runs/R1/p1.darshan"
    tasks = pl.LazyFrame(
        {"run": ["/runs/R1"] * 4, "key": ["a", "a", "b", None], "log": [log] * 4},
    ).with_columns(record_id=pl.lit(7, dtype=pl.UInt64))
    run = {"dask.task_transition": pl.LazyFrame({"origin": ["/runs/R1/scheduler_transition.csv"]})}
    rows = [
        seg(0, 0, 10),
        seg(0, 0, 10, record_id=8, path="/y"),
        seg(0, 0, 10, origin="/elsewhere/p.darshan"),
    ]
    found = files(dataset(*rows, tables={**run, "dask.task_io": tasks})).collect()
    assert list(found.select("run", "file", "tasks").iter_rows()) == [
        ("/elsewhere", "/x", None),
        ("/runs/R1", "/x", 2),
        ("/runs/R1", "/y", 0),
    ]
    # without the plugin that reads Dask runs
    assert files(dataset(*rows, tables=run)).collect()["tasks"].to_list() == [None] * 3


def test_one_run_can_be_chosen():
    other = "/runs/R2/p.darshan"
    data = dataset(seg(0, 0, 10), seg(0, 0, 3, origin=other), job(), job(origin=other))
    for chosen in ("R2", "/runs/R2"):
        assert files(data, run=chosen).collect()["read_bytes"].to_list() == [3]
        assert timeline(data, run=chosen).collect()["bytes"].to_list() == [3]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p1", "p2"]),
            st.integers(0, 1),
            st.sampled_from(["read", "write"]),
            st.integers(0, 300),
            st.one_of(st.integers(0, 200), st.sampled_from([1024, 1025, 2**20, 2**20 + 1, 2**31])),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_sums_sizes_and_order_equal_a_plain_count(operations):
    # given operations grouped by log, process and kind, as a log holds them
    operations.sort(key=lambda item: item[:3])
    numbers: Counter = Counter()
    ends: dict[Any, int] = {}
    rows, sizes, sequential = [], Counter(), 0
    for log, rank, op, offset, length in operations:
        who = log, rank, op
        origin = f"/runs/R1/{log}.darshan"
        rows.append(seg(numbers[who], offset, length, rank=rank, op=op, origin=origin))
        numbers[who] += 1
        sequential += who in ends and offset >= ends[who]
        ends[who] = offset + length
        sizes[next(name for name, most in BINS.items() if length <= most), op] += 1
    row = only(files(dataset(*rows)))
    assert row["operations"] == len(operations)
    assert row["read_bytes"] == sum(item[4] for item in operations if item[2] == "read")
    assert row["write_bytes"] == sum(item[4] for item in operations if item[2] == "write")
    assert row["sequential_share"] == sequential / len(operations)
    assert {(b["size"], op): b[f"{op}s"] for b in row["sizes"] for op in ("read", "write")} == {
        (name, op): sizes[name, op] for name in BINS for op in ("read", "write")
    }


# ---- io.processes -------------------------------------------------------------------------------


def job(**more: Any) -> Row:
    lists = {"modules": [], "partial_modules": [], "unread_modules": []}
    values = {"origin": "/runs/R1/p1.darshan", "uid": 1, "job_id": 1, "pid": 5, "nprocs": 1}
    values |= {"exe": "/usr/bin/python run.py", "start_time": T0, "log_version": "3.41"}
    return "job", values | lists | more


def test_a_process_has_what_was_traced_and_what_was_counted():
    # given a process that reads /x through MPI-IO, which calls POSIX, /y through MPI-IO alone,
    # and /z through buffered streams, which nothing traces; a log of another one counts nothing
    data = dataset(
        job(),
        job(origin="/runs/R1/idle.darshan", pid=6),
        seg(0, 0, 10),
        seg(0, 0, 10, module="DXT_MPIIO"),
        counters("posix", POSIX_BYTES_READ=30, POSIX_BYTES_WRITTEN=0),
        counters("mpiio", MPIIO_BYTES_READ=30, MPIIO_BYTES_WRITTEN=0),
        counters("mpiio", MPIIO_BYTES_READ=9, MPIIO_BYTES_WRITTEN=2, record_id=8, path="/y"),
        counters("stdio", STDIO_BYTES_READ=4000, STDIO_BYTES_WRITTEN=5, record_id=9, path="/z"),
    )

    idle, busy = processes(data).collect().to_dicts()

    # then each byte counts once, and what is not traced is the difference
    assert (busy["run"], busy["pid"], busy["exe"]) == ("/runs/R1", 5, "/usr/bin/python run.py")
    assert (busy["counted_read_bytes"], busy["counted_write_bytes"]) == (30 + 9 + 4000, 2 + 5)
    assert (busy["traced_read_bytes"], busy["traced_write_bytes"]) == (10, 0)
    assert (busy["untraced_read_bytes"], busy["untraced_write_bytes"]) == (4029, 7)
    assert (busy["stdio_read_bytes"], busy["stdio_write_bytes"]) == (4000, 5)
    assert (idle["traced_read_bytes"], idle["counted_read_bytes"]) == (0, None)


# ---- io.timeline --------------------------------------------------------------------------------


def test_bytes_are_spread_over_the_time_of_an_operation():
    data = dataset(
        seg(0, 0, 10, start_s=0.5, end_s=2.5),
        seg(1, 0, 7, start_s=1.0, end_s=1.0),
        seg(0, 0, 4, start_s=1.0, end_s=2.0, op="write"),
    )
    rows = timeline(data, bin=1).collect()
    assert list(rows.select("host", "op", "time", "bytes", "operations").iter_rows()) == [
        ("node1", "read", T0, 2, 1),
        ("node1", "read", T0 + timedelta(seconds=1), 5 + 7, 1),
        ("node1", "read", T0 + timedelta(seconds=2), 3, 0),
        ("node1", "write", T0 + timedelta(seconds=1), 4, 1),
    ]
    assert set(rows["bin_s"]) == {1.0}
    assert rows["bytes_per_s"].to_list() == [2.0, 12.0, 3.0, 4.0]


def test_mpi_io_counts_only_where_posix_was_not_traced():
    data = dataset(
        seg(0, 0, 10),
        seg(0, 0, 10, module="DXT_MPIIO"),
        seg(0, 0, 3, module="DXT_MPIIO", record_id=8),
    )
    assert only(timeline(data, bin=60))["bytes"] == 13


def test_operations_without_a_time_stay_visible():
    data = dataset(seg(0, 0, 10, start_time=None, end_time=None), seg(1, 0, 3))
    rows = timeline(data, bin=1).collect()
    assert list(rows.select("time", "bytes").iter_rows()) == [
        (T0 + timedelta(seconds=1), 3),
        (None, 10),
    ]


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf, 1e-9, 1e308])
def test_a_wrong_interval_is_refused(width):
    with pytest.raises(UsageError, match="bin must be a number of seconds"):
        timeline(dataset(seg(0, 0, 1)), bin=width)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 5_000_000), st.integers(0, 3_000_000), st.integers(0, 2**45)),
        min_size=1,
        max_size=8,
    ),
    st.integers(50_000, 2_000_000),
)
def test_spread_bytes_add_up_and_lie_where_the_operations_are(operations, width):
    rows = [
        seg(
            number,
            0,
            length,
            start_time=T0 + timedelta(microseconds=start),
            end_time=T0 + timedelta(microseconds=start + spent),
        )
        for number, (start, spent, length) in enumerate(operations)
    ]
    found = timeline(dataset(*rows), bin=width / 1e6).collect()
    assert found["bytes"].sum() == sum(length for *_, length in operations)
    assert found["operations"].sum() == len(operations)

    begin = round(T0.timestamp() * 1_000_000)
    exact: dict[int, float] = defaultdict(float)
    for start, spent, length in operations:
        first, last = (begin + start) // width, (begin + start + max(spent - 1, 0)) // width
        for number in range(first, last + 1):
            left = max(begin + start, number * width)
            right = min(begin + start + spent, (number + 1) * width)
            exact[number] += length * (right - left) / spent if spent else length
    for time, size in found.select("time", "bytes").iter_rows():
        number = round(time.timestamp() * 1_000_000) // width
        assert size == pytest.approx(exact.pop(number), abs=len(operations) + 1, rel=1e-9)
    assert not exact


# ---- whole logs ---------------------------------------------------------------------------------


def test_too_many_intervals_are_refused():
    data = dataset(seg(0, 0, 1), seg(1, 0, 1, start_s=4e6, end_s=4e6))
    with pytest.raises(UsageError, match="cuts 4e\\+06 s into too many intervals"):
        timeline(data, bin=0.001)


def test_an_operation_of_hours_loses_no_byte():
    hours = 7 * 3600.123457
    data = dataset(seg(0, 0, 2**52 + 1, start_s=0.3, end_s=hours))
    rows = timeline(data, bin=600).collect()
    assert rows["bytes"].sum() == 2**52 + 1
    middle = rows["bytes"][5]
    assert middle == pytest.approx(2**52 * 600 / (hours - 0.3), rel=1e-6)
