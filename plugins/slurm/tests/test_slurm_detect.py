"""Which files ``harvest detect`` takes for sacct's, among real samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from harvest_slurm.source import SlurmSource

SACCT = (
    "brief default default-allocations default-window delimiter-us extra-dependency "
    "extra-out-of-memory extra-out-of-memory-json extra-preempted-overmemory fixed-long fixed-wide "
    "json json-byid parsable parsable2 parsable2-all-fields parsable2-allocs parsable2-byid "
    "parsable2-duplicates parsable2-noheader states-pending time-epoch time-relative "
    "time-standard time-strftime-zone time-strftime-zone-wide truncate tz-json-zurich "
    "tz-kolkata-epoch tz-newyork-zone tz-zurich units-K units-none unknown-job"
)


@pytest.fixture(scope="module")
def slurm_data(shared_data: Path) -> Path:
    return shared_data / "slurm"


@pytest.mark.parametrize("file", SACCT.split())
def test_detect_knows_the_samples(slurm_data: Path, file: str) -> None:
    found = SlurmSource.detect(slurm_data / "debian-22.05" / f"{file}.out")
    assert found is not None
    # columns of an order that nobody knows must be named before the dump can be read
    assert found.confidence >= 0.7 or file == "parsable2-noheader"


def test_detect_knows_dumps_of_other_sites(shared_data: Path) -> None:
    for name in (
        "slurm/sacct-parsable2-noheader-other-site.txt",
        "slurm/json-23.11.5.json",
        "slurm/json-22.05.9.json",
        "ncem/slurm_job_info.head.csv",
    ):
        found = SlurmSource.detect(shared_data / name)
        assert found is not None, name
        assert found.confidence >= 0.7


def test_detect_leaves_what_other_commands_print(slurm_data: Path) -> None:
    others = "squeue squeue-format squeue-json sinfo scontrol-job scontrol-job-oneline version "
    for name in (others + "helpformat batch-script bad-field").split():
        assert SlurmSource.detect(slurm_data / "debian-22.05" / f"{name}.out") is None, name


def test_detect_leaves_the_other_tables_of_the_study(shared_data: Path) -> None:
    for path in (shared_data / "ncem").glob("*.csv"):
        if path.name != "slurm_job_info.head.csv":
            assert SlurmSource.detect(path) is None, path.name


def test_detect_leaves_lists_of_squeue_without_header(tmp_path: Path) -> None:
    # squeue -h -O JobArrayID:|,JobID:|,Name:|,State:|,Reason:|,SubmitTime:|,EligibleTime:|,...
    path = tmp_path / "queue.txt"
    path.write_text(
        "7|7|held|PENDING|JobHeldUser|2024-05-01T08:00:00|N/A|N/A\n"
        "8|8|runs|RUNNING|None|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:05\n"
    )
    assert SlurmSource.detect(path) is None


def test_detect_knows_the_same_jobs_as_sacct_prints_them(tmp_path: Path) -> None:
    # given rows of sacct --noheader, where a time that is not known is a word of sacct's
    path = tmp_path / "sacct.txt"
    path.write_text(
        "7|7|held|PENDING|JobHeldUser|2024-05-01T08:00:00|Unknown|Unknown\n"
        "8|8|runs|RUNNING|None|2024-05-01T08:00:00|2024-05-01T08:00:00|2024-05-01T08:00:05\n"
    )
    found = SlurmSource.detect(path)
    assert found is not None
    assert found.confidence == 0.4
    assert "no known order of columns fits (fields 4 like State" in found.reason
