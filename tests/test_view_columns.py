"""The columns of views over every dataset are what is declared, over every source's records."""

from pathlib import Path

import polars as pl
import pytest
from datasets import plugins_with
from scripts import run_script

import harvest
from harvest import Column, View, declare
from harvest.columns import size
from harvest.plugins.registry import manager
from harvest_testing import faults_of_columns
from harvest_testing.promise import BrokenPromise

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RUN = "D2024-05-06_07:08:09_R1_W4"
VIEWS = ("events", "findings", "notes", "run.chain", "run.lineage")
OWNERS = {"core", "insight"}
NEEDED = {"darshan", "distiller", "gpfs", "mofka-dask", "ncem", "slurm"}

JOBS = """\
JobID|JobIDRaw|JobName|Cluster|State|Submit|Start|End|NodeList
411207|411207|fluid|larch|COMPLETED|{0}T07:00:00|{0}T07:05:00|{0}T07:20:00|n1
""".format("2024-05-06")
SCAN = """\
# host: demo
# scan: 2026-01-11T00:00:00Z
40000 316760000 0  %7Csize%3D1%7Cuid%3D5001%7Cpool%3Ddata%7C -- /scratch/demo/fluid/table.parquet
# end rows=1
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """A Dask run in a Slurm job, its Darshan logs, a scan of a file of theirs; an NCEM study."""
    missing = NEEDED - set(manager().sources)
    if missing:
        pytest.skip(f"not installed: {', '.join(sorted(missing))}")
    folder = tmp_path_factory.mktemp("columns")
    run_script(EXAMPLES / "make_run.py", folder)
    run_script(EXAMPLES / "darshan-logs" / "make_logs.py", folder / RUN)
    run_script(EXAMPLES / "ncem-study" / "make_study.py", folder / "study")
    (folder / "jobs.txt").write_text(JOBS)
    (folder / "20260111.list").write_text(SCAN)
    places = {
        "mofka-dask": RUN,
        "darshan": RUN,
        "ncem": "study/ncem",
        "distiller": "study/distiller",
        "slurm": "jobs.txt",
        "gpfs": "20260111.list",
    }
    harvest.run(
        [f"{source}:{folder / place}" for source, place in places.items()],
        f"parquet:{folder / 'out'}",
        workers=1,
        settings={"slurm": {"timezone": "UTC"}},
    )
    return harvest.open(folder / "out")


def test_every_view_over_every_dataset_is_looked_at():
    found = manager()
    assert set(VIEWS) == {n for n, v in found.views.items() if found.owner(v).name in OWNERS}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_columns_are_as_declared(dataset, view):
    assert faults_of_columns(dataset, view) == []


# ---- what the check itself finds ----------------------------------------------------------------


def bare(dataset):
    return pl.LazyFrame({"rest": [1]})


def odd(dataset):
    rows = {"size": ["1"], "worker": [None], "more": [1]}
    return pl.LazyFrame(rows, schema_overrides={"worker": pl.String})


COLUMNS = (
    size("size", "Bytes, as text."),
    Column("worker", format="id", doc="Its address."),
    Column("gone", doc="In no row."),
    Column("more", doc="Once."),
    Column("more", format="path", doc="Twice."),
)
harvest_views = declare(
    View(name="test.bare", doc="No meaning.", build=bare),
    View(name="test.odd", doc="Wrong meanings.", build=odd, columns=COLUMNS, first=("least",)),
)


def test_declarations_that_do_not_fit_the_rows_are_found(tmp_path):
    (tmp_path / "sacct.txt").write_text(JOBS)
    zone = {"slurm": {"timezone": "UTC"}}
    harvest.run(f"slurm:{tmp_path / 'sacct.txt'}", f"parquet:{tmp_path / 'out'}", settings=zone)
    plugins = plugins_with(
        parquet="harvest_parquet.plugin", slurm="harvest_slurm.plugin", odd=__name__
    )
    dataset = harvest.open(tmp_path / "out", plugins=plugins)

    with pytest.raises(BrokenPromise, match=r"test\.bare gives rest"):
        faults_of_columns(dataset, "test.bare")
    assert faults_of_columns(dataset, "test.odd") == [
        "gone is declared and never given",
        "least comes first and is not declared",
        "more is declared twice",
        "more is shown as path and is Int64",
        "size is declared as Int64 and is String",
        "size is shown as bytes and is String",
        "worker is null somewhere, which its doc does not mention",
    ]
