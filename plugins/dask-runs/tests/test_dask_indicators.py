"""Numbers that a run is judged by: against plain counting, and in whole runs with known faults."""

from typing import Any

import captures
import compared_runs
import polars as pl
import pytest
from dask_rows import at, dataset, made_example, one
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest_dask.records.types import WorkerSample
from harvest_dask_runs.plugin import harvest_rules
from harvest_dask_runs.views.indicators import indicators
from harvest_dask_runs.views.parts import at_once
from harvest_report.draw import drawn

T = captures.T
A, B = "tcp://10.0.0.2:4001", "tcp://10.0.0.3:4002"
TIME = pl.Datetime("us", "UTC")


# ---- how many at once ----------------------------------------------------------------------------


@given(
    spans=st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda s: (s[0], s[0] + s[1])),
        min_size=1,
        max_size=12,
    ),
    threads=st.sampled_from([None, 1, 8, 20, 39]),
)
def test_how_many_ran_at_once_is_what_looking_at_each_moment_finds(spans, threads):
    """Whole microseconds, each looked at by itself."""
    found = pl.LazyFrame(
        {"run": "r", "start": [a for a, _ in spans], "end": [b for _, b in spans]}
    ).with_columns(pl.col("start", "end").cast(TIME))
    known = pl.LazyFrame({"run": ["r"], "few_of": [threads]}, schema_overrides={"few_of": pl.Int64})
    first, last = min(a for a, _ in spans), max(b for _, b in spans)
    running = [sum(a <= moment < b for a, b in spans) for moment in range(first, last)]
    idle = "".join("." if count == 0 else "x" for count in running).split("x")

    (row,) = at_once(found, known).collect().to_dicts()

    assert round(row["span_s"] * 1e6) == last - first
    assert row["peak_threads"] == max(running)
    assert round(row["gaps_s"] * 1e6) == running.count(0)
    assert round(row["longest_gap_s"] * 1e6) == max(map(len, idle))
    if threads is None:  # nor is it known how many are few
        assert row["few_threads"] is row["serial_s"] is row["tail_s"] is None
        return
    few = max(threads // 10, 1)
    many = [moment for moment, count in enumerate(running, first) if count > few]
    assert row["few_threads"] == few
    assert round(row["serial_s"] * 1e6) == sum(1 <= count <= few for count in running)
    assert round(row["tail_s"] * 1e6) == last - (many[-1] + 1 if many else first)


# ---- a run with known faults ---------------------------------------------------------------------


def executed(
    key: str, begins: float, seconds: float, thread: int, end: str = "memory"
) -> list[Any]:
    """Of an execution on A: what the scheduler and what the worker record."""
    ends = begins + seconds
    done = {"time": ends, "key": key, "start_state": "processing", "finish_state": end}
    if end == "memory":
        done |= {"worker": A, "thread": thread, "begins": begins, "ends": ends}
    else:
        done |= {"finish_state": "erred", "exception": "ValueError('no data')"}
    left = "memory" if end == "memory" else "error"
    states = [(begins, "ready", "executing"), (ends, "executing", left)]
    return [
        done,
        *({"time": t, "key": key, "start_state": a, "finish_state": b} for t, a, b in states),
    ]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """Two workers with four threads each, of which the first does all the work.

    40 loads of 1 s, four at a time; then a sum of 10 s alone, beside which three scores fail after
    0.5 s each, one after the other.  The second worker is nearly full and moves results to disk.
    """
    tasks = [executed(f"load-{n}", T + n // 4, 1.0, n % 4) for n in range(40)]
    tasks += [executed("sum-1", T + 10, 10.0, 0)]
    tasks += [executed(f"score-{n}", T + 12 + n, 0.5, 1, "erred") for n in range(3)]
    # what needs a failed task errs, too, but was never executed
    spared = {"time": T + 15, "key": "report-1", "start_state": "waiting", "finish_state": "erred"}
    came = [
        {"time": T - 1, "worker": w, "action": "add", "nthreads": 4, "memory_limit": 1_000_000}
        for w in (A, B)
    ]
    said = [
        "Event loop was unresponsive in Worker for 3.50s.  This is often caused by ...",
        "full garbage collections took 14% CPU time recently (threshold: 10%)",
        "full garbage collections took 11% CPU time recently (threshold: 10%)",
        "Worker is at 81% memory usage. Pausing worker.  Process memory: 810 kB",
    ]
    samples = [
        {"time": T + n, "memory_bytes": 300_000 * n, "spill_bytes": 1_000 * n} for n in range(4)
    ]
    folder = tmp_path_factory.mktemp("faulty")
    captures.write(
        folder / "R1",
        {
            "s": [
                captures.start("scheduler"),
                captures.rows("worker_event", came),
                captures.rows("scheduler_transition", [*(task[0] for task in tasks), spared]),
                captures.END,
            ],
            "a": [
                captures.start("worker", address=A, nthreads=4),
                captures.rows("worker_transition", [row for task in tasks for row in task[1:]]),
                captures.END,
            ],
            "b": [
                captures.start("worker", address=B, nthreads=4),
                captures.rows("sample", samples),
                captures.rows("log", [{"time": T, "level": "info", "message": m} for m in said]),
                captures.END,
            ],
        },
    )
    return compared_runs.harvested(folder)


def test_the_indicators_of_a_run_with_known_faults(faulty):
    (row,) = faulty.view("dask.indicators").collect().to_dicts()

    # 40 x 1 s, 10 s and 3 x 0.5 s, of 2 x 4 threads for 20 s
    assert (row["executions"], row["workers"], row["threads"]) == (44, 2, 8)
    assert row["busy_s"] == pytest.approx(51.5)
    assert (row["span_s"], row["thread_s"]) == (20.0, 160.0)
    assert row["used_share"] == pytest.approx(51.5 / 160)
    # behind the loads one task, but for 1.5 s two
    assert (row["peak_threads"], row["few_threads"]) == (4, 1)
    assert row["serial_s"] == pytest.approx(8.5)
    assert row["tail_s"] == pytest.approx(20 - 14.5)
    assert (row["gaps_s"], row["last_prefix"]) == (0.0, "sum")
    assert (row["busiest_worker"], row["idle_workers"]) == (A, 1)
    assert row["imbalance_s"] == pytest.approx(51.5 / 4 / 2)
    assert (row["failed"], row["failed_prefix"]) == (3, "score")
    assert row["failed_error"] == "ValueError('no data')"
    assert (row["spilled_bytes"], row["spilling_workers"]) == (3_000, 1)
    assert (row["memory_peak_share"], row["memory_peak_worker"]) == (0.9, B)
    assert (row["pauses"], row["gc_warnings"], row["gc_worst_percent"]) == (1, 2, 14.0)
    assert (row["loop_warnings"], row["loop_worst_s"]) == (1, 3.5)
    assert (row["silent_workers"], row["lost_workers"]) == (0, 0)


def test_where_no_limit_is_known_no_worker_comes_closest_to_it():
    # given a worker that was sampled, and of which nobody recorded how much memory it may use
    sampled = WorkerSample(time=at(0), role="worker", address=A, memory_bytes=300_000)

    row = one(indicators(dataset(sampled)))

    assert (row["memory_peak_share"], row["memory_peak_worker"]) == (None, None)
    # nor did it say whether it moved results to disk
    assert (row["spilled_bytes"], row["spilling_workers"]) == (None, None)


def test_its_kinds_of_tasks_have_their_failures(faulty):
    kinds = faulty.view("dask.prefixes").collect().to_dicts()

    assert [(k["prefix"], k["executions"], k["failed"], k["error"]) for k in kinds] == [
        ("load", 40, 0, None),
        ("sum", 1, 0, None),
        ("score", 3, 3, "ValueError('no data')"),
    ]
    assert [round(k["share"] * 51.5, 6) for k in kinds] == [40.0, 10.0, 1.5]


@pytest.fixture(scope="module")
def page(faulty):
    return faulty.report("dask.run")


def test_its_page_has_a_table_of_failures(page):
    (table,) = page.only("failures").tables

    assert table.data.rows() == [
        ("score", 3, 3, "ValueError", 3, "ValueError('no data')", 0, 0.0, 0)
    ]


def test_its_page_begins_with_what_is_wrong(faulty, page):
    found = page.verdict.found

    assert {f.rule.name.removeprefix("dask."): f.finding.severity for f in found} == {
        "unused_threads": "medium",
        "work_for_few": "medium",
        "imbalance": "medium",
        "failures": "medium",
        "spilling": "medium",
        "full_memory": "medium",
        "memory_warnings": "medium",
        "event_loop": "low",
        "garbage_collection": "low",
    }
    texts = [f.finding.text for f in found]
    assert (
        "3 of 44 task attempts failed (6.8 %). All are of kind score with ValueError('no data')."
    ) in texts
    assert (
        "Only 1 of 8 threads busy 42 % of the time. 8.5 of 20 s. The last 5.5 s never had "
        "more, idle time included. The longest task, sum-1, ran 8.5 s."
    ) in texts
    for each in found:  # the evidence gives the row again
        rows = faulty.view(each.evidence.view).filter(pl.sql_expr(each.evidence.where)).collect()
        assert rows.height == 1


# ---- several runs next to each other -------------------------------------------------------------


@pytest.mark.slow
def test_several_runs_are_columns_of_one_table(tmp_path):
    # given two runs of which the second takes minutes and fails at its end
    for name, seconds, failed in (("R1", 1.0, ()), ("R2", 30.0, ("score-0",))):
        durations = {"load": [seconds] * 3, "score": [0.5]}
        compared_runs.write(tmp_path / name, durations, failed=failed, moved=None)
    data = compared_runs.harvested(tmp_path)

    # when they are asked for in an order
    report = data.report("dask.indicators", runs=("R2", "R1"))

    # then each has a column under its name, with what is known as people read it
    (table,) = report.tables
    assert [column.label for column in table.columns] == ["indicator", "R2", "R1"]
    said = {row[0]: row[1:] for row in table.rows.rows()}
    assert said["busy_s"] == ("90.5 s", "3.5 s")  # in one unit
    assert said["executions"] == ("4", "4")
    assert said["used_share"] == ("75 %", "70 %")  # 90.5 of 2 x 60.5 s, 3.5 of 2 x 2.5 s
    assert said["failed_error"] == ("ValueError('no data')", "–")
    # and the picture shows how long they took
    with drawn(*report.plots) as figure:
        assert [bar.get_width() for bar in figure.axes[0].patches] == [60.5, 2.5]
    # and what is known of none of them is named, once
    (unknown,) = (s for s in report.sections if s.name == "unknown")
    assert "counted_bytes" in unknown.items[0]
    assert not said.keys() & set(unknown.items[0].rstrip(".").split(", "))
    # and all runs are there where none is named; a wrong name is refused with those there are
    assert len(data.report("dask.indicators").tables[0].columns) == 3
    with pytest.raises(harvest.UsageError, match="no run 'R9'"):
        data.report("dask.indicators", runs=("R9",))


# ---- the example of the documentation ------------------------------------------------------------


@pytest.mark.slow
def test_the_example_names_the_tasks_that_wait_for_files(tmp_path):
    """Its loads spend half of their time reading, as the script that makes the logs has it."""
    pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")
    pytest.importorskip("harvest_darshan")
    run = made_example(tmp_path)
    harvest.run([f"mofka-dask:{run}", f"darshan:{run}"], f"parquet:{tmp_path / 'out'}", workers=1)
    example = harvest.open(tmp_path / "out")
    rules = [rule.name for rule in harvest_rules()]
    texts = {f.rule.name: f.finding.text for f in example.findings(rules).found}
    loads = example.view("dask.tasks").filter(prefix="load").collect()
    share = loads["io_seconds"].sum() / loads["duration_s"].sum()

    assert share > 0.3
    said = texts["dask.tasks_in_io"]
    assert said.startswith("load tasks spent ")
    assert f"{share:.0%}".replace("%", " %") in said
    assert texts["dask.silent_workers"].startswith("1 of 4 workers registered but recorded nothing")
    assert texts["dask.failures"] == (
        "1 of 58 task attempts failed (1.7 %). "
        "It is of kind score with ValueError('singular matrix')."
    )
