"""The columns of the views are what their declarations say, over made, captured and real runs."""

import functools
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import captures
import pytest
from dask_rows import made_example
from shares import check_share

import harvest
from harvest.plugins.registry import manager
from harvest_dask_runs.plugin import harvest_views
from harvest_testing import faults_of_columns

REAL = ("D2024-04-19_19:01:00_R1_W8", "image-processing-head")
MISSING = {
    "made": (),
    "no scheduler": ("scheduler_transition.csv", "*.darshan"),
    "no transitions": ("*_transition.csv", "worker_transfer.csv", "*.e", "*.o"),
}
VIEWS = (
    *("dask.tasks", "dask.workers", "dask.prefixes", "dask.indicators", "dask.run_summary"),
    *("dask.task_io", "dask.task_io_coverage", "dask.workers_processes", "dask.trace"),
    "dask.critical_path",
)


@pytest.fixture(
    scope="module",
    params=[
        *("made", "captured"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in (*[*MISSING][1:], *REAL)),
    ],
)
def dataset(request, tmp_path_factory):
    """A run and Darshan's logs of it; the run without files that matter; a capture; real runs."""
    folder = tmp_path_factory.mktemp("columns")
    if request.param != "captured":
        pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")
    if request.param in MISSING:
        run = made_example(folder)
        for pattern in MISSING[request.param]:
            for path in run.rglob(pattern):
                path.unlink()
    elif request.param == "captured":
        run = captures.write(folder / "R1", captures.example())
    else:
        run = request.getfixturevalue("shared_data") / "mofka-dask" / request.param
    sources = [f"{'dask' if request.param == 'captured' else 'mofka-dask'}:{run}"]
    if "darshan" in manager().sources and any(run.rglob("*.darshan")):
        sources.append(f"darshan:{run}")
    harvest.run(sources, f"parquet:{folder / 'out'}", workers=1)
    return harvest.open(folder / "out")


@functools.cache
def rows(dataset: Any, view: str) -> list[dict[str, Any]]:
    """All rows of a view; none where the dataset lacks what it is made of."""
    if view not in dataset.views():
        return []
    found: list[dict[str, Any]] = dataset.view(view).collect().to_dicts()
    return found


def added(values: Iterable[float | None]) -> float | None:
    """Their sum as far as they are known; None where none is known, or what is known is none."""
    known = [value for value in values if value is not None]
    return sum(known) or None


def test_every_view_of_the_plugin_is_looked_at():
    assert set(VIEWS) == {view.name for view in harvest_views()}


@pytest.mark.slow
def test_columns_are_as_declared(dataset):
    (summary,) = rows(dataset, "dask.run_summary")
    made = [view for view in VIEWS if view in dataset.views()]  # of what this run has

    faults = {view: faults_of_columns(dataset, view, [{"run": summary["run"]}]) for view in made}

    assert not any(faults.values()), faults


# ---- what the meanings of columns claim ----------------------------------------------------------


@pytest.mark.slow
def test_times_and_shares_of_kinds_add_up_to_those_of_the_run(dataset):
    kinds, (run,) = rows(dataset, "dask.prefixes"), rows(dataset, "dask.indicators")
    whole = sum(kind["total_s"] or 0 for kind in kinds)
    for kind in kinds:
        check_share(kind["share"], kind["total_s"], whole)
        check_share(kind["io_share"], kind["io_s"], kind["io_busy_s"])
        ended = (kind["executions"] or 0) - (kind["unended"] or 0)
        check_share(kind["mean_s"], kind["total_s"], ended)
        assert ended <= kind["attempts"]
        assert (kind["failed"] or 0) <= kind["attempts"]
        assert (kind["io_busy_s"] or 0) <= (kind["total_s"] or 0) + 1e-6
        if kind["total_s"] is not None:
            assert kind["median_s"] <= kind["max_s"] <= kind["total_s"] + 1e-6
            assert (kind["repeated_s"] or 0) <= kind["total_s"] + 1e-6
    assert (run["busy_s"] or 0) == pytest.approx(whole)
    assert (run["io_s"] or 0) == pytest.approx(
        sum((kind["io_s"] or 0) + (kind["io_beside_s"] or 0) for kind in kinds)
    )
    for name in ("attempts", "failed", "repeated"):
        assert (run[name] or None) == added(kind[name] for kind in kinds)


@pytest.mark.slow
def test_shares_of_kinds_have_the_same_digits_each_time(run_of):
    dataset = run_of("example")

    found = {tuple(dataset.view("dask.prefixes").collect()["share"]) for _ in range(30)}

    assert len(found) == 1


@pytest.mark.slow
def test_indicators_are_made_of_each_other_as_their_meanings_say(dataset):
    (run,) = rows(dataset, "dask.indicators")
    check_share(run["used_share"], run["observed_busy_s"], run["thread_s"])
    reported = all(worker["reported"] for worker in rows(dataset, "dask.workers"))
    if run["observed_workers"] == run["workers"] and reported:
        check_share(run["transfer_share"], run["moving_s"], run["busy_s"])
    check_share(run["io_prefix_share"], run["io_prefix_s"], run["io_prefix_busy_s"])
    if run["imbalance_s"] is not None:
        assert run["imbalance_s"] == pytest.approx(run["busiest_s"] - run["mean_worker_s"])
    if run["gaps_s"] is not None:
        assert run["longest_gap_s"] <= run["gaps_s"]
        assert run["gaps_s"] + (run["serial_s"] or 0) <= run["span_s"] + 1e-6
        assert (run["longest_gap_start"] is None) == (run["gaps_s"] == 0)
    if run["tail_s"] is not None:
        assert run["tail_s"] <= run["span_s"]
    if run["counted_bytes"] is not None:
        assert run["untraced_bytes"] == run["counted_bytes"] - run["traced_bytes"]
        known = (run["untraced_task_bytes"] or 0) + (run["beside_bytes"] or 0)
        assert run["unknown_bytes"] == run["untraced_bytes"] - known
    if run["memory_peak_share"] is None:
        assert run["memory_peak_worker"] is None


@pytest.mark.slow
def test_the_critical_path_is_one_line_whose_parts_add_up_to_the_span(dataset):
    (run,) = rows(dataset, "dask.indicators")
    path = rows(dataset, "dask.critical_path")
    assert [after["start"] for after in path[1:]] == [before["end"] for before in path[:-1]]
    assert [row["part"] for row in path].count("computing") == (run["path_tasks"] or 0)
    assert all(row["seconds"] == (row["end"] - row["start"]).total_seconds() for row in path)
    parts = ("computing", "moving", "spilling", "worker", "dependencies", "unrecorded")
    known = [run[f"path_{part}_s"] or 0 for part in parts]
    micros = sum(round(row["seconds"] * 1e6) for row in path)
    assert sum(round(seconds * 1e6) for seconds in known) == micros
    assert micros == round((run["span_s"] or 0) * 1e6)
    assert known[0] * 1e6 == pytest.approx(
        sum(round(row["seconds"] * 1e6) for row in path if row["part"] == "computing")
    )
    if run["few_shares"] is not None:
        assert 0 < sum(run["few_shares"]) <= 1 + 1e-3
        assert 0 < run["few_key_s"] <= run["serial_s"] + 1e-6


def test_a_worker_is_occupied_for_no_longer_than_its_executions_last(dataset):
    (run,) = rows(dataset, "dask.run_summary")
    workers = rows(dataset, "dask.workers")
    for worker in workers:
        assert (worker["busy_s"] is None) == (worker["occupied_s"] is None)
        if worker["busy_s"] is not None:
            assert 0 <= worker["occupied_s"] <= worker["busy_s"] + 1e-6
        assert (worker["first_report"] is None) == (not worker["reported"])
    assert run["workers"] == added(worker["registered"] for worker in workers)
    assert run["workers_reported"] == added(worker["reported"] for worker in workers)
    assert run["worker_transitions"] == added(worker["transitions"] for worker in workers)
    assert run["transfers"] == added(worker["transfers"] for worker in workers)


def test_a_summary_s_movements_lie_between_what_one_side_and_both_sides_report(dataset):
    (run,) = rows(dataset, "dask.run_summary")
    received, sent = run["bytes_received"], run["bytes_sent"]
    if run["transfers"] is not None:
        assert max(received, sent) <= run["bytes_moved"] <= received + sent
        assert run["bytes_to_clients"] <= sent
        assert run["transfers"] <= run["transfer_copies"]
    assert run["complete"] == (not run["completeness_notes"])
    assert run["wall_s"] == (run["last_time"] - run["first_time"]).total_seconds()


def test_what_is_traced_of_tasks_is_what_the_coverage_has_of_task_threads(dataset):
    traced: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows(dataset, "dask.task_io"):
        assert (row["thread"] is None) == (row["how"] == "counted")
        assert row["beside"] is None or row["key"] is None
        if row["how"] == "traced":
            known = row["key"] is not None
            found = (row["count"], row["bytes"], row["count"] * known, row["bytes"] * known)
            traced[row["log"]] = [a + b for a, b in zip(traced[row["log"]], found, strict=True)]
    names = ("task_segments", "task_bytes", "window_segments", "window_bytes")
    for log in rows(dataset, "dask.task_io_coverage"):
        assert [log[name] for name in names] == traced.pop(log["log"], [0, 0, 0, 0])
        assert log["window_segments"] <= log["task_segments"] <= log["segments"]
        check_share(log["share"], log["window_segments"], log["task_segments"])
        check_share(log["bytes_share"], log["window_bytes"], log["task_bytes"])
    assert not traced


def test_workers_are_tied_to_processes_or_to_none(dataset):
    tied = ("host", "log", "threads", "candidates", "tied_by")
    for row in rows(dataset, "dask.workers_processes"):
        assert len({row[name] is None for name in tied}) == 1
        if row["tied_by"] in ("thread", "best of several"):
            assert (row["candidates"] > 1) == (row["tied_by"] == "best of several")
