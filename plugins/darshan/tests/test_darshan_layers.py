"""Each byte counts once whatever layers a log has, and what a log lacks is said, not guessed."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from darshan_logs import modules, only
from reporting import page_of

from harvest_darshan.views.layers import summed

X, Y, D = 7, 9, 11
NAMES = [(X, "/scratch/x"), (Y, "/scratch/y"), (D, "/scratch/x:/dset")]
MIB = 1 << 20


@pytest.fixture
def dataset(opened: Any) -> Callable[..., Any]:
    """A dataset of logs, each given by its name and what the writer takes."""

    def build(**logs: dict[str, Any]) -> Any:
        places = [name.rpartition("/") for name in logs]
        paths = [f"./{folder}/u_a_id50-{name}_1-1-1-1_1.darshan" for folder, _, name in places]
        given = [{"names": NAMES, "job_id": 50, **log} for log in logs.values()]
        return opened(*zip(paths, given, strict=True))

    return build


def log(*records: tuple[str, int, dict[str, float]], **more: Any) -> dict[str, Any]:
    """What the writer takes for a log of such records, each (module, file, counters)."""
    return {"modules": modules(*records), **more}


def wrote(size: int, **more: float) -> dict[str, float]:
    return {"BYTES_WRITTEN": size, "WRITES": 1, "F_WRITE_TIME": 1.0, **more}


UPPER = {"BYTES_WRITTEN": 100, "COLL_WRITES": 1, "F_WRITE_TIME": 1.0}
DFS = {"BYTES_WRITTEN": 100, "WRITEXS": 1, "F_WRITE_TIME": 1.0}
DAOS = {"BYTES_WRITTEN": 100, "ARRAY_WRITES": 1, "F_WRITE_TIME": 1.0}

CASES: dict[str, tuple[list[tuple[str, int, dict[str, float]]], int, set[str]]] = {
    "HDF5 upon MPI-IO upon POSIX": (
        [("H5D", D, wrote(100)), ("MPI-IO", X, UPPER), ("POSIX", X, wrote(100))],
        100,
        {"POSIX"},
    ),
    "MPI-IO to one file, POSIX to another": (
        [("MPI-IO", X, UPPER), ("POSIX", Y, wrote(7))],
        107,
        {"MPI-IO", "POSIX"},
    ),
    "streams beside POSIX, of one file": (
        [("STDIO", X, wrote(5)), ("POSIX", X, wrote(7))],
        12,
        {"STDIO", "POSIX"},
    ),
    "DFS beside a stream": ([("DFS", X, DFS), ("STDIO", Y, wrote(5))], 105, {"DFS", "STDIO"}),
    "MPI-IO upon DFS": ([("MPI-IO", Y, UPPER), ("DFS", X, DFS)], 100, {"DFS"}),
    "DFS upon DAOS": ([("DFS", X, DFS), ("DAOS", Y, DAOS)], 100, {"DFS"}),
    "objects beside the files of DFS": (
        [("DFS", X, DFS), ("DAOS", Y, DAOS | {"BYTES_WRITTEN": 300})],
        300,
        {"DAOS"},
    ),
    "HDF5 alone": ([("H5D", D, wrote(100))], 100, {"H5D"}),
    "PnetCDF alone": ([("PNETCDF_VAR", D, UPPER)], 100, {"PNETCDF_VAR"}),
}


@pytest.mark.slow
def test_each_byte_counts_once_whatever_layers_a_log_has(dataset):
    # given a log of each case in a directory of its own
    logs = {f"{n}/log": log(*records) for n, (records, _, _) in enumerate(CASES.values())}
    data = dataset(**logs)

    found = {view: data.view(view).collect() for view in ("io.jobs", "io.files", "io.processes")}

    for number, (case, (_, moved, basis)) in enumerate(CASES.items()):
        mine = pl.col("run").str.ends_with(f"/{number}")
        (job,) = found["io.jobs"].filter(mine).to_dicts()
        (process,) = found["io.processes"].filter(mine).to_dicts()
        files = found["io.files"].filter(mine)
        assert (job["bytes"], job["unsummed_modules"]) == (moved, []), case
        assert files["write_bytes"].sum() == moved, case
        assert set(files["basis"].explode()) == basis, case
        assert process["counted_write_bytes"] == moved, case
        # and what is counted takes its time: a second for each record
        assert job["io_s"] == len(basis), case


@pytest.mark.slow
def test_of_a_program_on_daos_a_stream_is_not_all(dataset):
    # given 16 ranks that move 32 MiB through DFS and 2 kB through a stream
    dfs = {"BYTES_WRITTEN": 32 * MIB, "WRITES": 32, "F_WRITE_TIME": 0.36}
    stream = wrote(2210, WRITES=40)
    data = dataset(a=log(("DFS", X, dfs), ("STDIO", Y, stream), nprocs=16))

    report = page_of(data, "darshan.io")

    assert "bytes moved: 32.0 MiB (in 1 log)" in map(str, report.tiles)
    texts = {f.rule.name: f.finding.headline for f in data.findings().found}
    assert "io.stdio" not in texts
    assert texts["io.no_mpiio"] == "Job 50 (a.out): 16 ranks move 32.0 MiB without MPI-IO"
    (layers,) = report.only("layers").tables
    assert layers.data["layer"].to_list() == ["STDIO", "DFS"]


@pytest.mark.slow
def test_where_posix_was_cut_off_a_job_moved_at_least_what_mpi_io_did(dataset):
    # given that POSIX has /x alone, of which it lacks a part, and MPI-IO both files
    both = [("MPI-IO", X, UPPER), ("MPI-IO", Y, UPPER)]
    data = dataset(a=log(("POSIX", X, wrote(30)), *both, partial=["POSIX"], nprocs=4))

    job = only(data.view("io.jobs"))

    assert (job["bytes"], job["write_bytes"], job["mpiio_bytes"]) == (200, 30, 200)
    assert job["certainty"] == ["lower_bound"]
    tiles = map(str, page_of(data, "darshan.io").tiles)
    assert "bytes moved: at least 200 bytes (in 1 log)" in tiles


@pytest.mark.slow
def test_a_module_that_could_not_be_read_leaves_its_sums_unknown(dataset):
    given = log(("POSIX", X, wrote(30)), ("STDIO", Y, wrote(5)))
    given["modules"]["POSIX"] = (4, b"\1" * 12)  # no whole record
    data = dataset(a=given)

    job = only(data.view("io.jobs"))

    assert job["gaps"] == "POSIX not read"
    unknown = ("bytes", "io_s", "meta_s", "reads", "write_bytes", "posix_s", "time_share")
    assert {job[name] for name in unknown} == {None}
    assert job["stdio_bytes"] == 5
    verdict = data.findings()
    reasons = dict(verdict.unjudged)
    assert "`harvest rejects` says why" in reasons["io.stdio"]
    assert {"io.small_requests", "io.misaligned_file", "io.mostly_metadata"} <= reasons.keys()
    assert {found.rule.name for found in verdict.found} == {"io.incomplete_logs"}


# ---- of all ranks, and of one -------------------------------------------------------------------


def test_requests_of_exactly_a_mebibyte_are_not_smaller(dataset):
    # given 2,000 reads of 1 MiB, which is in the bin to 1 MiB, and 3 of less
    sizes = {"SIZE_READ_100K_1M": 2001, "SIZE_READ_0_100": 2}
    common = {"ACCESS1_ACCESS": MIB, "ACCESS1_COUNT": 2000, "ACCESS2_ACCESS": 50}
    reads = {"READS": 2003, "BYTES_READ": 2000 * MIB, **sizes, **common, "ACCESS2_COUNT": 2}
    data = dataset(a=log(("POSIX", X, reads)))

    read, write = data.view("io.requests").collect().to_dicts()

    assert (read["requests"], read["small"], read["small_in_file"]) == (2003, 3, 3)
    assert (write["requests"], write["small"]) == (0, 0)


@pytest.mark.parametrize(("nprocs", "shared"), [(1, False), (4, True)])
def test_the_record_of_all_ranks_is_that_of_the_only_one(dataset, nprocs, shared):
    # given a record of all ranks, with 40 s of metadata operations
    both = {"rank": -1, "WRITES": 8, "F_META_TIME": 40.0, "F_WRITE_TIME": 2.0}
    times = {"SLOWEST_RANK": nprocs - 1, "F_SLOWEST_RANK_TIME": 20.0, "F_FASTEST_RANK_TIME": 2.0}
    data = dataset(a=log(("POSIX", X, both | times), nprocs=nprocs))

    file = only(data.view("io.posix_files"))

    assert (file["shared"], file["processes"]) == (shared, 0 if shared else 1)
    assert file["meta_s"] == 40.0
    bounds = (file["slowest_meta_s"], file["slowest_meta_most_s"])
    # of four ranks the slowest takes 10 s at least, their mean, and no more than 20 s, all it did
    assert bounds == ((10.0, 20.0) if shared else (40.0, 40.0))
    # late by 18 s of a log of 10.5 s
    assert file["late_share"] == (pytest.approx(18 / 10.5) if shared else None)
    _, write = data.view("io.requests").collect().to_dicts()
    assert write["shared"] == (8 if shared else 0)


@pytest.mark.slow
def test_one_process_is_told_nothing_of_others(dataset):
    small = {"rank": -1, "WRITES": 5000, "SIZE_WRITE_0_100": 5000, "BYTES_WRITTEN": 5000}
    late = {"F_WRITE_TIME": 9.0, "F_SLOWEST_RANK_TIME": 9.0, "FASTEST_RANK_BYTES": 1}
    upper = {"rank": -1, "INDEP_WRITES": 5000, "F_WRITE_TIME": 9.0, "BYTES_WRITTEN": 5000}
    records = [("POSIX", X, small | late), ("MPI-IO", X, upper)]

    verdict = dataset(a=log(*records)).findings()

    among = {"independent_mpiio", "small_requests_shared", "stragglers", "unequal_bytes"}
    assert {f"io.{name}" for name in (*among, "no_mpiio", "slow_ranks")} <= set(verdict.elsewhere)
    found = {found.rule.name: found.finding.certainty for found in verdict.found}
    assert found["io.small_requests"] == ("one_process",)


# ---- clocks and copies --------------------------------------------------------------------------


def test_a_clock_of_whole_seconds_is_coarse_for_short_logs(dataset):
    # given logs of 99, 100 and 1 s: old ones count their last second in
    logs = {
        name: log(
            version=version, start=(1_700_000_000, 0), end=(1_700_000_000 + lasts, 0), nprocs=2
        )
        for name, version, lasts in (("a/a", "3.21", 98), ("b/b", "3.21", 99), ("c/c", "3.41", 1))
    }
    jobs = dataset(**logs).view("io.jobs").collect()

    assert jobs.sort("run")["certainty"].to_list() == [["coarse_clock"], [], []]


def test_a_time_below_zero_was_no_less_than_zero(dataset):
    times = {"F_WRITE_TIME": -2662.7, "F_META_TIME": 1.0}
    data = dataset(a=log(("STDIO", X, wrote(5) | times), ("POSIX", Y, wrote(7)), nprocs=2))

    job = only(data.view("io.jobs"))

    assert (job["io_s"], job["certainty"]) == (1.0 + 1.0, ["lower_bound"])


@pytest.mark.slow
def test_a_copy_of_a_log_counts_once_and_is_named(dataset):
    given = log(("POSIX", X, wrote(30)), ("STDIO", Y, wrote(5)))
    other = log(("POSIX", X, wrote(31)))
    data = dataset(a=given, b=given, c=given, d=other)

    job = only(data.view("io.jobs"))

    assert data["darshan.job"].collect().height == 4
    assert (job["logs"], job["copies"], job["processes"], job["bytes"]) == (2, 2, 2, 66)
    assert data.view("io.files").collect()["write_bytes"].sum() == 66
    assert data.view("io.processes").collect()["counted_write_bytes"].sum() == 66
    assert data.view("io.requests").collect()["requests"].sum() == 2
    assert data.view("io.posix_files").collect()["write_bytes"].sum() == 61
    assert data.findings(["io.copied_logs"]).found
    (gaps,) = page_of(data, "darshan.io").only("gaps").sections
    assert "Copied logs, which are left out: 2." in gaps.items


def test_a_sum_of_seconds_does_not_depend_on_their_order():
    # given ten times 0.1 s, whose sum as floats is 0.9999999999999999
    parts = pl.DataFrame({"seconds": [0.1] * 10})

    assert parts.select(summed(pl.col("seconds"))).item() == 1.0
