"""What a record does not say is unknown, and never 0: each column is taken away in turn.

The study is the same but for one column that records may lack.  Whatever a view counted may then
be less, or unknown; it may not become 0.  No verdict may get worse, and what is no finding any
more could not be judged.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from faulty_study import STUDY, write_study

import harvest
from harvest_ncem.plugin import VIEWS
from harvest_testing import faults_of_unknown, without_column

# a file from a table has no path and module, a whole one no suffix: null says so
MAY_LACK: Final = {
    "ncem.receiver_status": ("uuid", "progress", "last_scan_number", "recorded_time"),
    "ncem.data_file": ("distiller_id", "size_bytes", "recorded_time"),
    "slurm.job": ("elapsed_s", "start_time", "exit_code"),
    "distiller.job": ("slurm_id", "elapsed_s", "scan_size"),
}
KEYS: Final = {
    "ncem.offload": ("scan_number", "take"),
    "ncem.file_transfer": ("job_id", "scan_id"),
    "ncem.streaming": ("scan_number", "take"),
    "ncem.clock_check": ("scan_number", "take"),
    "ncem.failed_scans": ("scan_number", "take"),
    "ncem.outliers": ("size", "method"),
}
"""What a row of each view is about."""

SETTINGS: Final = {"ncem.failed_scans": {"show": "all"}}

LACKS: Final = [(kind, column) for kind, columns in MAY_LACK.items() for column in columns]
JOBS: Final = 6


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[harvest.Dataset, str]:
    """The study with known faults, and jobs that transferred files."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("in", "jobs"):
        (folder / name).mkdir()
    write_study(folder / "in")
    began = datetime(2023, 10, 12, 9, 0, tzinfo=UTC)
    rows = [f"{scan},{1000 + scan},00:01:{scan:02d}" for scan in range(JOBS)]
    (folder / "jobs" / "128_128.csv").write_text("\n".join(["id,slurm_id,elapsed", *rows]) + "\n")
    jobs = [
        f"distiller-count-{scan},{1000 + scan},00:30:00,00:01:{scan:02d},"
        + ",".join(f"{began + timedelta(seconds=s):%Y-%m-%dT%H:%M:%S}" for s in (0, 1, 61 + scan))
        + ",4,realtime,dstlr,0:0"
        for scan in range(JOBS)
    ]
    header = "Job Name,Job ID,Timelimit,Elapsed,Submit,Start,End,ReqNodes,QOS,User,ExitCode"
    (folder / "jobs" / "sacct.csv").write_text("\n".join([header, *jobs]) + "\n")
    limits = '[file_transfer]\nexit_code = 0\nmax_elapsed = "29m"\n'
    limits += '[sizes.128x128]\nsubtract_save_time = { real = "255ms", blank = "27ms" }\n'
    (folder / "study.toml").write_text(limits + STUDY)
    harvest.run(
        [
            f"ncem:{folder / 'in'}",
            f"distiller:{folder / 'jobs' / '128_128.csv'}",
            f"slurm:{folder / 'jobs' / 'sacct.csv'}",
        ],
        f"parquet:{folder / 'out'}",
        settings={"slurm": {"timezone": "UTC"}},
        workers=1,
    )
    return harvest.open(folder / "out"), str(folder / "study.toml")


def test_every_view_is_looked_at():
    assert set(KEYS) == {view.name for view in VIEWS}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "column"), LACKS)
def test_no_count_becomes_zero_and_no_verdict_worse(whole, kind, column):
    dataset, study = whole
    altered = without_column(dataset, kind, column)
    faults = [
        fault
        for view, key in KEYS.items()
        for fault in faults_of_unknown(
            dataset, altered, view, key, study=study, **SETTINGS.get(view, {})
        )
    ]
    assert faults == []


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "column"), LACKS)
def test_means_are_of_the_same_durations_or_not_known(whole, kind, column):
    """A duration that lacks a part is left out, with its reason: it does not get shorter."""
    dataset, study = whole
    altered = without_column(dataset, kind, column)
    for view in ("ncem.streaming", "ncem.file_transfer"):
        keys = KEYS[view]
        before, after = (
            {
                tuple(r[k] for k in keys): r
                for r in data.view(view, study=study).collect().to_dicts()
            }
            for data in (dataset, altered)
        )
        for key in before.keys() & after.keys():
            assert after[key]["duration_s"] in (before[key]["duration_s"], None)
