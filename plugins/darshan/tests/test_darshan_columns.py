"""The columns of the views are what their declarations say, over written and real logs."""

import functools
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scripts import run_script
from shares import check_share

import harvest
from harvest.plugins.registry import manager
from harvest_testing import faults_of_columns

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RUN = "D2024-05-06_07:08:09_R1_W4"
REAL = ("mofka-dask/D2024-04-19_19:01:00_R1_W8", "darshan")

PER = ({}, {"per": "log"})
WAYS = {
    "io.files": ({},),
    "io.processes": ({},),
    "io.timeline": ({}, {"bin": 0.5}),
    "io.jobs": PER,
    "io.requests": PER,
    "io.posix_files": ({},),
    "io.ranks": ({},),
    "io.bandwidth": PER,
    "io.gains": ({}, {"per": "finding"}),
}


@pytest.fixture(
    scope="module",
    params=["made", *(pytest.param(place, marks=pytest.mark.slow) for place in REAL)],
)
def dataset(request, tmp_path_factory):
    """A Dask run with a log per worker; real logs with MPI-IO, records of all ranks, and no end."""
    folder = tmp_path_factory.mktemp("columns")
    if request.param == "made":
        for script, where in (("make_run.py", folder), ("darshan-logs/make_logs.py", folder / RUN)):
            run_script(EXAMPLES / script, where)
        place = folder / RUN
    else:
        place = request.getfixturevalue("shared_data") / request.param
    sources = [f"darshan:{place}"]
    if "mofka-dask" in manager().sources and "D2024" in place.name:
        sources.append(f"mofka-dask:{place}")
    harvest.run(sources, f"parquet:{folder / 'out'}", workers=1)
    return harvest.open(folder / "out")


@functools.cache
def rows(dataset: Any, view: str, **settings: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dataset.view(view, **settings).collect().to_dicts()
    return found


def test_every_view_of_the_plugin_is_looked_at():
    assert WAYS.keys() == {name for name in manager().views if name.startswith("io.")}


@pytest.mark.slow
def test_columns_are_as_declared(dataset):
    faults = {view: faults_of_columns(dataset, view, ways) for view, ways in WAYS.items()}

    assert not any(faults.values()), faults


# ---- what the meanings of columns claim ----------------------------------------------------------


@pytest.mark.parametrize("per", ["job", "log"])
def test_shares_of_jobs_and_requests_are_of_the_time_of_all_processes(dataset, per):
    jobs = {
        (r["run"], r["job"], r["began"], r["log"]): r for r in rows(dataset, "io.jobs", per=per)
    }
    for row in jobs.values():
        assert (row["meta_s"] is None) == (row["io_s"] is None)
        assert (row["meta_s"] or 0) <= (row["io_s"] or 0) + 1e-9
        for part, share in (("io", "time"), ("meta", "meta"), ("stdio", "stdio")):
            check_share(row[f"{share}_share"], row[f"{part}_s"], row["process_s"])
    for row in rows(dataset, "io.requests", per=per):
        job = jobs[row["run"], row["job"], row["began"], row["log"]]
        assert row["requests"] == job[f"{row['op']}s"]
        assert row["bytes"] == job[f"{row['op']}_bytes"]
        if row["requests"] is not None:
            assert max(row["small"], row["random"], row["shared"]) <= row["requests"]
            assert row["shared_small"] <= min(row["shared"], row["small"])
        check_share(row["time_share"], row["seconds"], job["process_s"])
        check_share(row["mpiio_share"], row["mpiio_s"], job["process_s"])


def test_ranks_have_the_median_of_their_log_and_the_bytes_of_its_trace(dataset):
    by_log: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows(dataset, "io.ranks"):
        by_log[row["log"]].append(row)
    for row in rows(dataset, "io.processes"):
        traced = row["traced_read_bytes"] + row["traced_write_bytes"]
        ranks = by_log.pop(row["log"], [])
        assert sum(rank["bytes"] for rank in ranks) == traced
        if ranks:
            (median,) = {rank["median_s"] for rank in ranks}
            assert median == pytest.approx(statistics.median(rank["seconds"] for rank in ranks))
    assert not by_log


def test_without_a_log_s_end_its_shares_are_not_known(dataset):
    jobs = dataset.view("io.jobs", per="log").collect()
    endless = dataset["darshan.job"].filter(pl.col("end_time").is_null()).collect()
    found = jobs.filter(pl.col("wall_s").is_null())
    assert found["log"].sort().to_list() == endless["origin"].cast(pl.String).sort().to_list()
    assert found["time_share"].null_count() == found.height


# ---- what comes first ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "group", "most"),
    [
        ("io.files", ("run",), ("read_bytes", "write_bytes")),
        ("io.posix_files", ("run", "began", "job"), ("read_s", "write_s", "meta_s")),
    ],
)
def test_files_with_most_bytes_or_time_come_first_in_their_group(dataset, view, group, most):
    grouped: defaultdict[tuple[Any, ...], list[float]] = defaultdict(list)
    for row in rows(dataset, view):
        grouped[tuple(row[name] for name in group)].append(sum(row[name] for name in most))
    assert list(grouped) == sorted(grouped)
    assert all(values == sorted(values, reverse=True) for values in grouped.values())
