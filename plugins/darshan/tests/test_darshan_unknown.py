"""Unknown is not zero: with less known of a dataset, nothing counts 0 and no verdict gets worse.

A dataset of two jobs is altered in one place at a time: a column that may be null is null in all
rows of its record type, or a record type has no rows though the logs have its module.
"""

from pathlib import Path
from typing import Any

import pytest
from darshan_logs import dataset_of, dxt_record, modules
from night import NIGHT
from reporting import page_of

from harvest.plugins.registry import manager
from harvest_darshan.plugin import VIEWS
from harvest_testing import faults_of_unknown, without_column
from harvest_testing.datasets import AlteredDataset

pytestmark = pytest.mark.slow

KEYS = {
    "io.files": ("run", "record_id"),
    "io.processes": ("log",),
    "io.timeline": ("run", "began", "host", "op", "time"),
    "io.jobs": ("run", "job"),
    "io.requests": ("run", "job", "op"),
    "io.posix_files": ("run", "job", "record_id"),
    "io.ranks": ("log", "rank"),
    "io.bandwidth": ("run", "job", "layer"),
    "io.gains": ("run", "job"),
}
TYPES = (
    *("posix", "mpiio", "stdio", "dfs", "daos", "h5d", "pnetcdf_var", "dxt_segment", "heatmap"),
    "job",
)
"""What views read."""
NULL_SAYS = {
    "darshan.job.pid": "that no scheduler's id can be told from a process id: logs are grouped "
    "by their job id",
    "darshan.job.sha256": "that a log may be a copy, which then counts",
    "darshan.job.end_time": "that the log was not finished",
}
"""Columns whose null is not just something unknown."""

X, Y, Z, D = 7, 9, 11, 13


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Any:
    """Three ranks of which many rules have something to say, and a process on DAOS."""
    small = {"READS": 3000, "SIZE_READ_0_100": 3000, "BYTES_READ": 300_000_000, "MODE": 4}
    small |= {"ACCESS1_ACCESS": 50, "ACCESS1_COUNT": 3000, "MEM_ALIGNMENT": 8, "SEQ_READS": 9}
    small |= {"FILE_ALIGNMENT": 4096, "FILE_NOT_ALIGNED": 900, "MEM_NOT_ALIGNED": 900, "OPENS": 2}
    times = {"F_READ_TIME": 8.0, "F_META_TIME": 100.0, "MAX_BYTE_READ": 99}
    late = {"F_SLOWEST_RANK_TIME": 40.0, "F_FASTEST_RANK_TIME": 30.0, "SLOWEST_RANK": 1}
    late |= {"SLOWEST_RANK_BYTES": 300, "FASTEST_RANK_BYTES": 100}
    alone = {"F_READ_TIME": 1.0, "F_META_TIME": 2.0, "READS": 1, "SIZE_READ_0_100": 1}
    mpiio = {"INDEP_READS": 3000, "F_READ_TIME": 60.0, "F_META_TIME": 1.0, "BYTES_READ": 1000}
    stdio = {"WRITES": 4000, "BYTES_WRITTEN": 10**9, "F_WRITE_TIME": 3.0, "F_META_TIME": 1.0}
    dfs = {"WRITES": 5, "BYTES_WRITTEN": 500, "F_WRITE_TIME": 1.0, "SIZE_WRITE_100_1K": 5}
    counted = modules(
        ("POSIX", X, {"rank": -1, **small, **times, **late}),
        *(("POSIX", Y, {"rank": n, "BYTES_READ": size, **alone}) for n, size in ((0, 90), (1, 10))),
        ("MPI-IO", X, {"rank": -1, **mpiio}),
        ("STDIO", Z, stdio),
    )
    trace = b"".join(
        dxt_record("<", X, reads=[(0, 50, 1.0, end), (50, 50, 2.0, 3.0)], rank=rank)
        for rank, end in enumerate((2.0, 2.0, 11.0))
    )
    mpi = {"modules": counted | {"DXT_POSIX": (1, trace)}, "nprocs": 3, "job_id": 50}
    daos = {"modules": modules(("DFS", D, dfs)), "job_id": 51}
    names = [(X, "/scratch/x"), (Y, "/scratch/y"), (Z, "/scratch/z"), (D, "/daos/d")]
    return dataset_of(
        tmp_path_factory.mktemp("unknown"),
        ("u_a_id50-1_1-1-1-1_1.darshan", {**mpi, "names": names, "end": (1_700_000_060, 0)}),
        ("u_a_id51-2_1-1-1-1_1.darshan", {**daos, "names": names}),
    )


def nullable() -> list[tuple[str, str]]:
    kinds = manager().record_types()
    return [
        (f"darshan.{name}", column.name)
        for name in TYPES
        for column in kinds[f"darshan.{name}"].columns
        if column.nullable and f"darshan.{name}.{column.name}" not in NULL_SAYS
    ]


def test_the_dataset_gives_rules_something_to_say(dataset):
    """Were there no findings, none could get worse or be lost."""
    found = {found.rule.name for found in dataset.findings().found}
    assert {
        *("io.small_requests", "io.random_access", "io.redundant", "io.independent_mpiio"),
        *("io.blocking_mpiio", "io.stdio", "io.misaligned_file", "io.misaligned_memory"),
        *("io.mostly_metadata", "io.one_sided", "io.long_metadata", "io.stragglers"),
        *("io.unequal_bytes", "io.unequal_processes", "io.slow_ranks"),
    } <= found


@pytest.mark.parametrize("view", [view.name for view in VIEWS])
def test_a_record_type_that_is_not_there_counts_nothing(dataset, view):
    faults = {
        f"without darshan.{name}: {fault}"
        for name in TYPES
        for fault in faults_of_unknown(
            dataset, AlteredDataset(dataset, absent=f"darshan.{name}"), view, KEYS[view]
        )
    }
    assert not faults, "\n".join(sorted(faults))


@pytest.mark.parametrize("view", [view.name for view in VIEWS])
def test_a_column_that_is_null_counts_nothing(dataset, view):
    # by day few of them, others for each view
    turn = list(KEYS).index(view)
    faults = {
        f"without {record_type}.{column}: {fault}"
        for record_type, column in (nullable() if NIGHT else nullable()[turn::56])
        for fault in faults_of_unknown(
            dataset, without_column(dataset, record_type, column), view, KEYS[view]
        )
    }
    assert not faults, "\n".join(sorted(faults))


@pytest.mark.parametrize("name", TYPES[:9])
def test_the_page_is_written_whatever_is_not_there(dataset, name):
    less = AlteredDataset(dataset, absent=f"darshan.{name}")

    report = page_of(less, "darshan.io", job=50)

    assert len(report.html()) > 10_000
    tables = {table.name: table.data for table in report.tables}
    labels = {"posix": "POSIX", "mpiio": "MPI-IO", "stdio": "STDIO"}
    assert labels.get(name) not in tables["layers"]["layer"].to_list()
    (moved,) = (tile for tile in report.tiles if tile.label == "bytes moved")
    assert (moved.value != "not recorded") == (name not in labels)


def test_a_place_of_unknown_is_a_place(dataset: Any, tmp_path: Path) -> None:
    """The walk reaches the columns that views read: without their sizes no request is small."""
    less = without_column(dataset, "darshan.posix", "POSIX_SIZE_READ_0_100")
    reads = less.view("io.requests", job=50).filter(op="read").collect()
    assert reads.select("small", "requests").rows() == [(None, 3002)]
    less = without_column(dataset, "darshan.posix", "POSIX_READS").view("io.requests", job=50)
    assert less.filter(op="read").select("shared", "requests").collect().rows() == [(None, None)]
