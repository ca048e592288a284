"""A number that a report shows and a view also has is the same number.

Each table of each report names the view that its numbers come from.  Columns of one name are
compared for all rows of one key; a column under another name says how it follows from the view's;
any other number is listed as the table's own, so that a new one is a decision.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import polars as pl
import pytest
from scripts import run_script

import harvest
from harvest.plugins.registry import manager

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RUN = "D2024-05-06_07:08:09_R1_W4"
STUDY = EXAMPLES / "ncem-study" / "study.toml"


@attrs.frozen
class From:
    """Where the numbers of a table come from.

    key: columns that name a row in both; renamed: column of the table -> how it follows from the
    view's; own: numbers that no view has; rows: makes the table's rows of the view's.
    """

    view: str
    key: tuple[str, ...] = attrs.field(converter=lambda value: tuple(value.split()))
    by: str | None = None
    renamed: Mapping[str, pl.Expr] = attrs.field(factory=dict)
    own: tuple[str, ...] = attrs.field(converter=lambda value: tuple(value.split()), default="")
    rows: Callable[[pl.DataFrame], pl.DataFrame] | None = None


def change(by: str, own: str = "growth") -> From:
    return From("gpfs.change", by, by, own=own)


def usage(by: str) -> From:
    return From("gpfs.usage", by, by, own="share")


def path_by_prefix(steps: pl.DataFrame) -> pl.DataFrame:
    """Tasks of the critical path by prefix and by what each followed."""
    computing = pl.col("part") == "computing"
    seconds = pl.col("seconds")
    return (
        steps.filter(pl.col("key").is_not_null())
        .group_by("prefix", "link")
        .agg(
            computing_s=seconds.filter(computing).sum(),
            waiting_s=seconds.filter(~computing).sum(),
        )
    )


NUMBERS: dict[str, dict[str, From]] = {
    "darshan.io": {
        "bandwidth": From("io.bandwidth", "layer", own="job pid"),
        "files": From(
            "io.files",
            "file",
            renamed={
                "read_mb": pl.col("read_bytes") / 1e6,
                "write_mb": pl.col("write_bytes") / 1e6,
                "moving_s": pl.col("read_s") + pl.col("write_s"),
            },
        ),
        "gains": From("io.gains", "program", own="pid job"),
        "jobs": From("io.jobs", "program began"),
        "layers": From("io.bandwidth", "layer", own="files share"),
    },
    "dask.run": {
        "critical-path": From(
            "dask.critical_path", "prefix link", rows=path_by_prefix, own="longest_s share tasks"
        ),
        "prefixes": From("dask.prefixes", "prefix"),
        "slowest": From(
            "dask.tasks",
            "key",
            renamed={
                "read_bytes": pl.col("io_read_bytes"),
                "write_bytes": pl.col("io_write_bytes"),
            },
            own="seconds start_s",
        ),
        "time": From(
            "dask.critical_path",
            "part",
            rows=lambda steps: steps.group_by("part").agg(pl.col("seconds").sum()),
            own="share",
        ),
        "workers": From("dask.workers", "worker", own="share"),
    },
    "gpfs.change": {
        "appeared": change("top", ""),
        "cold": From("gpfs.cold", "user", "user", own="share"),
        "directories": change("top"),
        "groups": change("group"),
        "pools": change("pool", "growth moved_bytes"),
        "top-objects": change("top", ""),
        "user-objects": change("user", ""),
        "users": change("user"),
        "vanished": change("top", ""),
    },
    "gpfs.summary": {
        "ages": From("gpfs.ages", "time age", own="share"),
        "churn": From("gpfs.churn", "top"),
        "churn-volumes": From("gpfs.churn", "top"),
        "cold": From("gpfs.cold", "top", "top", own="share"),
        "directories": From("gpfs.directories", "directory", own="share"),
        "extensions": From("gpfs.extensions", "extension", own="share"),
        "groups": usage("group"),
        "growth": From(
            "gpfs.growth",
            "scan",
            rows=lambda scans: scans.with_columns(scan=pl.col("scan_time").dt.strftime("%F")),
        ),
        "largest": From("gpfs.largest", "path"),
        "odd-paths": From("gpfs.odd_names", "path"),
        "oldest": From("gpfs.oldest", "path"),
        "pools": usage("pool"),
        "quality": From("gpfs.scan_quality", "finding check"),
        "sizes": From("gpfs.sizes", "size", own="share"),
        "small": From("gpfs.small", "top", "top", own="share"),
        "top": usage("top"),
        "users": From("gpfs.owners", "user"),
    },
    "ncem.comparison": {"outliers": From("ncem.outliers", "size method")},
}

OWN = {
    "darshan.io": {"logs", "operations", "sizes", "use"},
    "dask.run": {"io-by-prefix", "io-known", "io-processes", "states", "transfers"},
    "gpfs.change": {"policy"},
    "gpfs.summary": {"odd-names"},
    "ncem.comparison": {"comparison", "failed-scans", "left-out"},
    "run.map": {"harvested", "places", "sources", "steps"},
}
"""Tables with numbers that no view has, row by row."""

ELSEWHERE = "slurm."
"""Reports that the tests of accounting compare."""


def generated(script: str, folder: Path) -> Path:
    run_script(EXAMPLES / script, folder)
    return folder


def inputs(kind: str, folder: Path) -> list[str]:
    if kind == "dask":
        generated("make_run.py", folder)
        generated("darshan-logs/make_logs.py", folder / RUN)
        return [f"mofka-dask:{folder / RUN}", f"darshan:{folder / RUN}"]
    if kind == "gpfs":
        return [f"gpfs:{generated('gpfs-scan/make_scan.py', folder) / 'scans'}"]
    generated("ncem-study/make_study.py", folder)
    parts = {"slurm": "sacct.csv", "distiller": "distiller", "ncem": "ncem"}
    return [f"{name}:{folder / part}" for name, part in parts.items()]


@pytest.fixture(scope="module", params=["dask", "gpfs", "ncem"])
def dataset(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    harvest.run(
        inputs(request.param, folder / "in"),
        f"parquet:{folder / 'out'}",
        settings={"slurm": {"timezone": "America/Los_Angeles"}},
        workers=1,
    )
    return harvest.open(folder / "out")


def settings(name: str, by: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"study": str(STUDY)} if name.startswith("ncem.") else {}
    return found | ({"by": by} if by else {})


def is_same(ours: float | None, theirs: float | None) -> bool:
    """Whether two numbers differ by no more than the order of a sum."""
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)


def compared(table: pl.DataFrame, source: From, view: pl.DataFrame) -> int:
    """How many numbers of a table were compared with its view's; fails where one is another."""
    rows = source.rows(view) if source.rows else view.with_columns(**source.renamed)
    key = list(source.key)
    numbers = [name for name, kind in table.schema.items() if kind.is_numeric()]
    shared = [name for name in numbers if name in rows.columns and name not in source.own]
    unexplained = set(numbers) - set(shared) - set(source.own) - set(key)
    assert not unexplained, f"say where {unexplained} come from"
    both = table.join(rows.select(key + shared), on=key, nulls_equal=True, suffix="_of_view")
    assert both.height <= table.height, f"{source.view} has several rows for one of the table"
    for name in shared:
        pairs = zip(both[name], both[f"{name}_of_view"], strict=True)
        other = [pair for pair in pairs if not is_same(*pair)]
        assert not other, f"{name}: in report and view {other[:5]}"
    return both.height * len(shared)


@pytest.mark.slow
def test_a_number_is_the_same_in_report_and_view(dataset):
    count = 0  # of numbers compared
    held = set(dataset.record_types)
    for name, spec in manager().reports.items():
        if name.startswith(ELSEWHERE) or not held.issuperset(spec.requires):
            continue
        for table in dataset.report(name, **settings(name)).tables:
            where = NUMBERS.get(name, {}).get(table.name)
            if where is None:
                numbers = [kind for kind in table.data.schema.values() if kind.is_numeric()]
                assert not numbers or table.name in OWN.get(name, ()), f"{name}, {table.name}"
                continue
            view = dataset.view(where.view, **settings(where.view, where.by)).collect()
            matched = compared(table.data, where, view)
            assert matched or not table.data.height, f"{name}, {table.name}: no row in the view"
            count += matched
    print(f"{count} numbers compared")
    assert count
