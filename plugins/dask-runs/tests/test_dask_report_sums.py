"""One number, one value: the report's totals are the sums of its tables, whatever file is missing.

Each run is harvested whole, and again without each of its kinds of files.  Headlines, tables, the
data that the pictures draw, and the views are then compared with each other, and with plain
readings of the CSVs.
"""

import csv
import json
import re
import shutil
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dask_rows import made_example
from polars.testing import assert_frame_equal

import harvest
from harvest.toolkit.amounts import bytes_in_words, share_in_words
from harvest_report import Plot, Report, Table, Tile

pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")

pytestmark = pytest.mark.slow

REAL = ("D2024-04-19_19:01:00_R1_W8", "D2024-04-19_19:01:02_R6_W8", "image-processing-head")
MISSING = {
    "nothing": (),
    "scheduler and transitions": ("scheduler_transition*.csv", "worker_transition.csv"),
    "transitions": ("worker_transition.csv",),
    "nodes": ("*Node", "*Nodes"),
    "scheduler": ("scheduler_transition*.csv",),
    "workers": ("worker.csv",),
    "clients": ("client.csv",),
    "transfers": ("worker_transfer.csv",),
    "logs": ("scheduler.e", "worker.e", "consumer.o"),
    "graphs": ("graph.csv",),
    "Darshan logs": ("*.darshan",),
    "configuration": ("config.*", "*.yaml"),
    "job": ("*.sh", "*.OU"),
}
CASES = list(product(("example", *REAL), MISSING))


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-without-".join(case))
def case(request):
    """The name of a run, and the kind of files that it goes without."""
    return request.param


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The run that the example's scripts make, with its Darshan logs."""
    return made_example(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def whole(request, case):
    """A run with all its files."""
    if case[0] == "example":
        return request.getfixturevalue("example")
    return request.getfixturevalue("shared_data") / "mofka-dask" / case[0]


@pytest.fixture(scope="module")
def run(whole, case, tmp_path_factory):
    """The run without some of its files."""
    patterns = MISSING[case[1]]
    left_out = {path for pattern in patterns for path in whole.rglob(pattern)}
    if patterns and not left_out:
        pytest.skip(f"this run has no {case[1]} in the first place")
    there = tmp_path_factory.mktemp("run") / whole.name
    shutil.copytree(whole, there, ignore=lambda _, names: {p.name for p in left_out} & set(names))
    return there


class Views:
    """The views of one dataset, each computed once."""

    def __init__(self, data: harvest.DatasetReader):
        self.data = data
        self._frames: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._frames:
            self._frames[name] = self.data.view(name).collect()
        return self._frames[name]


class Pictures:
    """The axes of a report's pictures, each drawn once."""

    def __init__(self, report: Report):
        self.report = report
        self._axes: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The axes of a picture; None where the report has none of the name."""
        found = plot(self.report, name)
        if found is not None and name not in self._axes:
            pytest.importorskip("matplotlib")
            from matplotlib.figure import Figure

            figure = Figure(layout="constrained")
            found.draw(figure)
            self._axes[name] = figure.axes
        return self._axes.get(name)


@pytest.fixture(scope="module")
def data(run, tmp_path_factory):
    sources = [f"mofka-dask:{run}"]
    if any(run.rglob("*.darshan")):
        pytest.importorskip("harvest_darshan")
        sources.append(f"darshan:{run}")
    out = tmp_path_factory.mktemp("dataset") / "out"
    harvest.run(sources=sources, sinks=[f"parquet:{out}"])
    return harvest.open(out)


@pytest.fixture(scope="module")
def views(data):
    return Views(data)


@pytest.fixture(scope="module")
def report(data):
    return data.report("dask.run", top=1_000_000)


@pytest.fixture(scope="module")
def pictures(report):
    return Pictures(report)


def rows(report: Report, name: str) -> list[dict[str, Any]]:
    return next(
        (s.rows.to_dicts() for s in report.sections if isinstance(s, Table) and s.name == name), []
    )


def plot(report: Report, name: str) -> Plot | None:
    return next((s for s in report.sections if isinstance(s, Plot) and s.name == name), None)


def tile(report: Report, label: str) -> Tile:
    (found,) = (tile for tile in report.tiles if tile.label == label)
    return found


def known(values: list[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, f"{pattern} is not in {text!r}"
    return int(found[1].replace(",", ""))


def read(run: Path, pattern: str) -> list[dict[str, str]]:
    found = []
    for path in sorted(run.glob(pattern)):
        with path.open(newline="") as file:
            found += list(csv.DictReader(file))
    return found


def executions_in(run: Path) -> Counter[str]:
    """Executions of each worker, counted plainly: of both records the one that has more."""
    credited, entered = Counter(), Counter()
    for row in read(run, "scheduler_transition*.csv"):
        if (row["start"], row["finish"]) == ("processing", "memory"):
            credited[row["worker"], row["key"]] += 1
    by_task = defaultdict(list)
    for row in read(run, "worker_transition.csv"):
        by_task[row["called_from"], row["key"]].append(row)
    for one, transitions in by_task.items():
        running = False
        for row in sorted(transitions, key=lambda row: float(row["time"])):
            if row["finish"] in ("executing", "long-running"):
                entered[one] += not running
                running = True
            elif row["finish"] not in ("cancelled", "resumed"):
                running = False
    count: Counter[str] = Counter()
    for worker, key in credited | entered:
        count[worker] += (credited | entered)[worker, key]
    return count


def test_executions_are_the_same_wherever_they_are_counted(run, views, report, pictures):
    expected = executions_in(run)
    total = sum(expected.values())
    prefixes, workers = rows(report, "prefixes"), rows(report, "workers")

    assert tile(report, "executions").value == f"{total:,}"
    assert sum(row["executions"] for row in prefixes) == total
    assert {row["worker"]: row["executed"] for row in workers if row["executed"]} == expected
    assert sum(known(views["dask.workers"]["executed"].to_list())) == total
    named = [row for row in workers if row["worker"] != "(not recorded)"]
    assert number(r"([\d,]+) workers?", report.intro[0]) == len(named)
    assert len(named) == views["dask.workers"].height
    tasks = views["dask.tasks"]
    assert tasks["executions"].sum() == total
    if total:
        assert number(r"^([\d,]+) executions?", plot(report, "stream").alt) == total
        assert number(r"of ([\d,]+) kinds? of", plot(report, "stream").alt) == len(prefixes)
        assert len(pictures["stream"][0].patches) == total
    assert rows(report, "slowest") == [] or len(rows(report, "slowest")) == total


def test_tasks_are_the_same_wherever_they_are_counted(views, report):
    tasks = views["dask.tasks"]
    (summary,) = views["dask.run_summary"].to_dicts()
    executed = tasks.filter(pl.col("executions") > 0)

    note = tile(report, "executions").note
    assert number(r"([\d,]+) tasks?", note) == tasks.height == summary["tasks"]
    assert number(r"^([\d,]+) of", note) == executed.height
    assert sum(row["tasks"] for row in rows(report, "prefixes")) == executed.height
    # every task has a kind, and views and report agree on it
    by_prefix = Counter(executed["prefix"].to_list())
    assert {row["prefix"]: row["tasks"] for row in rows(report, "prefixes")} == by_prefix
    assert summary["task_prefixes"] == tasks["prefix"].n_unique()


def test_the_time_of_executions_is_the_same_wherever_it_is_summed(report):
    prefixes, workers = rows(report, "prefixes"), rows(report, "workers")
    total = sum(known([row["total_s"] for row in prefixes]))

    assert sum(known([row["busy_s"] for row in workers])) == pytest.approx(total)
    said = re.search(r"([\d,.]+) thread-seconds", tile(report, "thread use").note)
    if said:
        slowest = known([row["seconds"] for row in rows(report, "slowest")])
        assert sum(slowest) == pytest.approx(total)
        assert said[1] == f"{total:,.1f}"
        assert sum(row["share"] for row in known(prefixes) if row["share"]) == pytest.approx(1)
    else:
        assert total == 0
        assert "No execution was seen to end." in report.text()
    # what is not known is not 0
    unended = sum(known([row["unended"] for row in prefixes]))
    assert unended == sum(known([row["unended"] for row in workers]))
    for row in [*prefixes, *workers]:
        count = row.get("executions", row.get("executed"))
        if count and count == row["unended"]:
            assert (row["total_s"] if "total_s" in row else row["busy_s"]) is None


def test_the_indicators_are_the_numbers_of_the_page(views, report):
    """What rules judge by is what the tables show, and so is the view of kinds of tasks."""
    (judged,) = views["dask.indicators"].to_dicts()
    prefixes, workers = rows(report, "prefixes"), rows(report, "workers")
    (table,) = report.only("prefixes").tables
    assert_frame_equal(views["dask.prefixes"], table.rows)  # but for the last digit

    assert (judged["executions"] or 0) == sum(row["executions"] for row in prefixes)
    ended = known([row["total_s"] for row in prefixes])
    assert (judged["busy_s"] or 0) == pytest.approx(sum(ended))
    assert (judged["moved_bytes"] or 0) == sum(row["bytes"] for row in rows(report, "transfers"))
    assert (judged["movements"] or 0) == sum(row["movements"] for row in rows(report, "transfers"))
    registered = known(views["dask.workers"]["registered"].to_list())
    assert judged["registered_workers"] == (sum(registered) if registered else None)
    busiest = [
        row["busy_s"] / row["nthreads"]
        for row in workers
        if row["nthreads"] and row["busy_s"] is not None
    ]
    if busiest:
        assert judged["busiest_s"] == pytest.approx(max(busiest))
    processes = rows(report, "io-processes")
    if processes:
        assert judged["counted_bytes"] == sum(row["counted"] for row in processes)
        kinds = rows(report, "io-by-prefix")
        of_tasks = [row for row in kinds if not row["prefix"].startswith("(")]
        whole = sum(row["bytes"] + row["counted_bytes"] for row in of_tasks)
        assert (judged["task_bytes"] or 0) == whole
        assert judged["untraced_bytes"] == sum(row["counted_bytes"] for row in kinds)
        beside = [row for row in kinds if row["prefix"].startswith("(during ")]
        assert (judged["beside_bytes"] or 0) == sum(row["counted_bytes"] for row in beside)
        nobody = [row for row in kinds if row["prefix"] in ("(unknown task)", "(other processes)")]
        assert judged["unknown_bytes"] == sum(row["counted_bytes"] for row in nobody)


def test_the_occupancy_that_is_drawn_is_the_time_of_the_trace(views, report, pictures):
    axes = pictures["occupancy"]
    if axes is None:
        assert all(row["executions"] == row["unended"] for row in rows(report, "prefixes"))
        return
    values, edges, _ = axes[0].patches[0].get_data()
    slices = views["dask.trace"].filter(pl.col("cat") == "task")
    ended = [
        micros
        for micros, args in slices.select("dur", "args").iter_rows()
        if json.loads(args)["outcome"] != "not seen to end"
    ]
    assert (values * (edges[1:] - edges[:-1])).sum() == pytest.approx(sum(ended) / 1e6)


def test_a_worker_has_the_threads_that_the_logs_say(run, report, pictures):
    said = {
        int(n)
        for path in run.glob("worker.e")
        for n in re.findall(r"Threads: +(\d+)", path.read_text())
    }
    expected = said.pop() if len(said) == 1 else None
    for row in rows(report, "workers"):
        assert row["nthreads"] == expected or row["worker"] == "(not recorded)"
    axes = pictures["occupancy"]
    if axes is not None and expected:
        assert axes[1].collections[0].get_clim() == (0, expected)


def test_what_moved_is_the_same_wherever_it_is_summed(views, report, pictures):
    (summary,) = views["dask.run_summary"].to_dicts()
    routes = rows(report, "transfers")
    total = sum(row["bytes"] for row in routes)

    assert summary["bytes_moved"] == (total if routes else None)
    if routes:
        assert tile(report, "transferred").value == bytes_in_words(total)
        assert f"{bytes_in_words(total)} in all" in plot(report, "transfer-matrix").alt
        sizes = pictures["transfer-matrix"][0].collections[0].get_array()
        assert int(sizes.filled(0).sum()) == total
    else:
        assert tile(report, "transferred").value == "not recorded"
        assert {row["bytes_sent"] for row in rows(report, "workers")} <= {None}


def test_states_are_those_of_the_files(run, report):
    for by, pattern in (("scheduler", "scheduler_transition*"), ("workers", "worker_transition")):
        found = {r["state"]: r["entered"] for r in rows(report, "states") if r["told_by"] == by}
        assert found == Counter(row["finish"] for row in read(run, f"{pattern}.csv"))


def test_bytes_of_files_are_the_same_wherever_they_are_summed(data, report, pictures):
    if "darshan.job" not in data:
        assert not rows(report, "io-processes")
        assert tile(report, "read and written").value == "not recorded"
        return
    # given the sums of the records themselves; these runs do no MPI-IO
    assert "darshan.mpiio" not in data
    traced: dict[str, int] = dict(
        data["darshan.dxt_segment"].group_by("op").agg(pl.col("length").sum()).collect().iter_rows()
    )
    whole = 0
    for op, done in (("read", "READ"), ("write", "WRITTEN")):
        counted = sum(
            int(
                data[f"darshan.{module}"]
                .select(f"{module.upper()}_BYTES_{done}")
                .sum()
                .collect()[0, 0]
            )
            for module in ("posix", "stdio")
            if f"darshan.{module}" in data
        )
        # then the processes add up to them, and so do the tasks
        processes = [row for row in rows(report, "io-processes") if row["op"] == op]
        assert sum(row["counted"] for row in processes) == counted
        assert sum(row["traced"] for row in processes) == traced.get(op, 0)
        assert sum(row["untraced"] for row in processes) == counted - traced.get(op, 0)
        tasks = [row for row in rows(report, "io-by-prefix") if row["op"] == op]
        assert sum(row["bytes"] for row in tasks) == traced.get(op, 0)
        assert sum(row["counted_bytes"] for row in tasks) == counted - traced.get(op, 0)
        parts = [row for row in rows(report, "io-known") if row["op"] == op]
        assert sum(row["bytes"] for row in parts) == counted
        untraced_s = sum(row["untraced_s"] for row in processes)
        assert sum(row["counted_s"] for row in tasks) == pytest.approx(untraced_s, abs=1e-3)
        # and the picture says the same
        whole += counted
        if traced:
            assert f"{op} {bytes_in_words(traced[op])}" in plot(report, "io").alt
    assert tile(report, "read and written").value == bytes_in_words(whole)
    share = sum(traced.values()) / whole
    assert tile(report, "read and written").note == f"{share_in_words(share)} traced"
    if traced:
        for axes in pictures["io"]:
            values, edges, _ = axes.patches[0].get_data()
            area = (values * (edges[1:] - edges[:-1])).sum()
            assert area == pytest.approx(traced[axes.get_title()])


def test_without_a_task_for_any_operation_the_page_says_why(run, report):
    found = rows(report, "io-by-prefix")
    if not found:
        return
    (table,) = [s for s in report.tables if s.name == "io-by-prefix"]
    of_tasks = [row for row in found if not row["prefix"].startswith("(")]
    assert bool(of_tasks) != ("No operation belongs to a known task" in table.note)
    if not any(run.glob("scheduler_transition*.csv")):
        assert "scheduler_transition.csv" in table.note
