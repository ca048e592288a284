"""The report on a run: numbers against plain readings of the CSVs, the page in a browser."""

import itertools
import shutil
import statistics
from collections import defaultdict

import polars as pl
import pytest
from browser import dumped
from dask_rows import RUNS, read
from html_shown import Shown
from reporting import page_of

import harvest
from harvest import UsageError
from harvest_dask_runs.report.stream import stream
from harvest_report import MOST_MARKS, Notes, Table

EXAMPLE = RUNS["example"]
SECTIONS = {
    *("completeness", "stream", "occupancy", "prefixes", "workers", "states", "transfer-matrix"),
    *("transfers", "io", "slowest", "notes"),
}


@pytest.fixture(scope="module")
def dataset(run_of):
    return run_of("example")


@pytest.fixture(scope="module")
def real(run_of):
    return run_of("R1")


@pytest.fixture(scope="module")
def report(dataset):
    return dataset.report("dask.run")


def table(report, name):
    (found,) = report.only(name).sections
    assert isinstance(found, Table)
    return found.rows.to_dicts()


def notes(report, name):
    (found,) = report.only(name).sections
    assert isinstance(found, Notes)
    return found.items


def executed():
    return [
        row
        for row in read(EXAMPLE, "scheduler_transition.csv")
        if (row["start"], row["finish"]) == ("processing", "memory")
    ]


# its numbers


@pytest.mark.slow
def test_it_has_all_sections(report):
    assert {section.name for section in report.sections} >= SECTIONS


def test_kinds_of_tasks(report):
    by_prefix = defaultdict(list)
    for row in executed():
        by_prefix[row["prefix"]].append(float(row["duration"]))
    found = table(report, "prefixes")
    assert {row["prefix"] for row in found} == set(by_prefix)
    for row in found:
        seconds = by_prefix[row["prefix"]]
        assert row["executions"] == len(seconds)
        assert row["total_s"] == pytest.approx(sum(seconds))
        assert row["median_s"] == pytest.approx(statistics.median(seconds))
        assert row["max_s"] == max(seconds)
    assert sum(row["share"] for row in found) == pytest.approx(1)


@pytest.mark.slow
def test_slowest_tasks_come_first(dataset):
    found = table(dataset.report("dask.run", top="3"), "slowest")
    slowest = sorted(executed(), key=lambda row: -float(row["duration"]))[:3]
    assert [(r["key"], r["worker"]) for r in found] == [(r["key"], r["worker"]) for r in slowest]


def test_time_in_states(report):
    spent = defaultdict(float)
    by_key = defaultdict(list)
    for row in read(EXAMPLE, "scheduler_transition.csv"):
        by_key[row["key"]].append(row)
    for rows in by_key.values():
        rows.sort(key=lambda row: float(row["time"]))
        for now, after in itertools.pairwise(rows):
            spent[now["finish"]] += float(after["time"]) - float(now["time"])
    found = {r["state"]: r for r in table(report, "states") if r["told_by"] == "scheduler"}
    # of a state that no task was seen to leave, the time is not known
    assert {state for state, row in found.items() if row["total_s"] is not None} == set(spent)
    for state, seconds in spent.items():
        assert found[state]["total_s"] == pytest.approx(seconds, abs=1e-4)


def test_what_the_record_lacks_is_said_first(report):
    assert report.sections[0].name == "completeness"
    said = " ".join(notes(report, "completeness"))
    assert "1 of 4 registered workers reported no events" in said
    assert "1 event was lost" in said


def test_without_io_it_says_what_would_bring_it(report):
    (said,) = notes(report, "io")
    assert "--source darshan:" in said


def test_top_is_a_number(dataset):
    with pytest.raises(UsageError, match="top"):
        dataset.report("dask.run", top="0")


@pytest.mark.slow
def test_a_run_that_is_only_begun_has_a_page(tmp_path):
    run = tmp_path / "D1_R1_W1"
    run.mkdir()
    for name in ("scheduler_transition.csv", "worker_transfer.csv"):
        header = (EXAMPLE / name).read_text().splitlines()[0]
        (run / name).write_text(header + "\n")
    shutil.copy(EXAMPLE / "worker.csv", run)
    pytest.importorskip("matplotlib")
    pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")
    harvest.run(f"mofka-dask:{run}", f"parquet:{tmp_path / 'out'}")
    report = page_of(harvest.open(tmp_path / "out"), "dask.run")
    (said,) = notes(report, "stream")
    assert said.startswith("No execution is recorded")
    assert notes(report, "transfers") == ("No transfer is recorded.",)
    assert "<svg" not in report.html()


# its pictures


@pytest.mark.slow
def test_a_stream_of_many_executions_is_a_picture():
    pytest.importorskip("matplotlib")
    from harvest_report.draw import to_svg

    number = 20_000
    tasks = pl.DataFrame({"n": range(number)}).select(
        worker=pl.format("tcp://10.0.0.{}:4000", pl.col("n") % 50),
        thread=pl.col("n") % 4,
        lane=pl.lit(0),
        seconds=pl.lit(0.0009),
        prefix=pl.format("kind-{}", pl.col("n") % 20),
        start=pl.col("n") // 200 * 1000,
        end=pl.col("n") // 200 * 1000 + 900,
    )
    svg = to_svg(stream(tasks, sorted(tasks["prefix"].unique())))
    assert len(svg) < 500_000
    assert svg.count(b"<image") == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize("which", ["dataset", "real"])
def test_a_browser_opens_the_page_without_complaint(which, request, tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    report = request.getfixturevalue(which).report("dask.run")
    (path,) = report.write(tmp_path / "page.html")
    page = Shown(dumped(path, tmp_path))
    assert {section["id"] for section in page.all("section")} >= SECTIONS
    assert len(page.all("svg")) == len(report.plots)
    # below each finding stands a table of its evidence
    assert len(page.all("table")) == len(report.tables) + len(report.verdict.found)


def test_an_execution_that_is_pointed_at_shows_what_the_scheduler_recorded_of_it(report):
    (shown,) = report.only("stream").plots[:1]
    marks = shown.marks()
    expected = {
        (row["key"], row["prefix"], row["worker"], int(row["size"])): float(row["duration"])
        for row in executed()
    }
    found = {
        (row["key"], row["prefix"], row["worker"], row["size_bytes"]): row["seconds"]
        for row in marks.rows.iter_rows(named=True)
    }
    assert found == pytest.approx(expected)
    shown_of_each = [column.heading for column in marks.tips]
    assert shown_of_each[:4] == ["task", "kind", "worker", "thread"]
    assert shown_of_each[4:] == ["start (s)", "duration (s)", "result (bytes)"]


def test_a_stream_of_too_many_executions_names_the_trace():
    tasks = pl.DataFrame({"start": range(MOST_MARKS + 1)}).with_columns(
        end=pl.col("start") + 1, seconds=1e-6, prefix=pl.lit("a"), worker=pl.lit("w"),
        thread=pl.lit(7), lane=pl.lit(0),
    )  # fmt: skip
    assert "harvest dask-runs trace" in stream(tasks, ["a"]).alt
    assert "harvest dask-runs trace" not in stream(tasks.head(2), ["a"]).alt


def test_lines_of_a_thread_that_overlaps_itself_are_not_said_to_be_of_unknown_threads():
    times = {"start": [0, 5], "end": [10, 15], "seconds": [1e-5, 1e-5], "prefix": ["a", "a"]}
    on = {"worker": ["w", "w"], "thread": [7, 7], "lane": [0, 1]}

    said = stream(pl.DataFrame({**times, **on}), ["a"]).alt

    assert "1 thread of 1 worker, with 1 more lines for executions that overlap" in said
