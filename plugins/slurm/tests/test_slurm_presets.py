"""Dumps without a header that other programs ask sacct for are read by the name of the program."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harvest import Collected, collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.read.presets import PRESETS
from harvest_slurm.source import SlurmSource
from harvest_slurm.values.fields import BY_NAME, canonical

# what sacct prints for one job, field by field
PRINTED = {
    "JobID": "12_3", "JobIDRaw": "15", "JobName": "a|b", "Cluster": "c", "User": "ann",
    "UID": "1001", "Group": "staff", "GID": "50", "Account": "physics", "Partition": "cpu",
    "QOS": "normal", "State": "COMPLETED", "ExitCode": "0:0", "Submit": "2024-03-01T10:00:00",
    "Eligible": "2024-03-01T10:00:00", "Start": "2024-03-01T10:01:00",
    "End": "2024-03-01T11:01:00", "Elapsed": "01:00:00", "ElapsedRaw": "3600",
    "Timelimit": "02:00:00", "TimelimitRaw": "120", "NNodes": "1", "NCPUS": "4", "ReqCPUS": "4",
    "ReqNodes": "1", "ReqMem": "4G", "ReqTRES": "cpu=4,mem=4G,node=1",
    "AllocTRES": "cpu=4,mem=4G,node=1", "CPUTimeRAW": "14400", "TotalCPU": "03:30:00",
    "UserCPU": "03:00:00", "SystemCPU": "00:30:00", "Suspended": "00:00:00", "Priority": "100",
    "NodeList": "n1",
}  # fmt: skip
NAMED_LAST = ("xdmod", "xdmod-9.5", "xdmod-9", "xdmod-8", "jobstats", "sonar", "apel")


def read(path: Path, **config: Any) -> Collected:
    return collect(SlurmSource(str(path), SlurmConfig(**config)))


def written(tmp_path: Path, preset: str, header: bool = False) -> Path:
    """A dump in the order of a program, as sacct -P prints it."""
    fields = PRESETS[preset]
    odd = [PRINTED.get(field, "") for field in fields]
    plain = [
        "plain" if field == "JobName" else text for field, text in zip(fields, odd, strict=True)
    ]
    lines = [fields] * header + [plain, odd]
    path = tmp_path / "dump.txt"
    path.write_text("".join("|".join(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("preset", PRESETS)
def test_every_column_is_a_field_of_sacct_and_named_once(preset):
    names = [canonical(field) for field in PRESETS[preset]]
    assert set(names) <= BY_NAME.keys()
    assert len(set(names)) == len(names) - (preset == "slurm2sql")  # it asks for one twice


@pytest.mark.parametrize("preset", NAMED_LAST)
def test_a_dump_is_read_by_the_name_of_its_program(tmp_path, preset):
    """A job's name that holds the delimiter is whole: most programs ask for it last."""
    found = read(written(tmp_path, preset), layout=preset, timezone="UTC")

    assert not found.rejects
    _, job = found.tables["slurm.job"].to_pylist()
    assert (job["name"], job["user"], job["partition"]) == ("a|b", "ann", "cpu")
    assert job["start_time"] == datetime(2024, 3, 1, 10, 1, tzinfo=UTC)
    assert (job["state"], job["elapsed_s"] or 3600.0) == ("completed", 3600.0)
    if preset == "jobstats":  # it asks for no id but the scheduler's
        assert job["job_id"] == "15"
    else:
        assert (job["array_job_id"], job["array_task_id"]) == (12, 3)
    if preset == "sonar":
        assert (job["timelimit_s"], job["total_cpu_s"]) == (7200.0, 12600.0)


def test_a_header_counts_more_than_the_name_of_a_program(tmp_path):
    """The columns of a dump with a header are known, whatever was set."""
    path = written(tmp_path, "apel", header=True)
    _, job = read(path, layout="xdmod", timezone="UTC").tables["slurm.job"].to_pylist()
    assert (job["name"], job["group"]) == ("a|b", "staff")


def test_the_wrong_form_of_the_same_program_gives_rejects(tmp_path):
    """XDMoD 9 has as many columns as 11, in another order: a group's name is not its number."""
    found = read(written(tmp_path, "xdmod"), layout="xdmod-9", timezone="UTC")
    assert not found.tables.get("slurm.job")
    assert len(found.rejects) == 2


def test_columns_are_named_in_one_way():
    with pytest.raises(ValueError, match="columns and layout both name the columns"):
        SlurmConfig(layout="xdmod", columns=("JobID", "State"))
    with pytest.raises(ValueError, match="layout must be one of xdmod, "):
        SlurmConfig(layout="exdmod")


def test_a_real_dump_of_another_site_has_the_order_of_sonar(shared_data):
    """Its columns are found by the name of the program alone."""
    path = shared_data / "slurm" / "sacct-parsable2-noheader-other-site.txt"
    if not path.exists():
        pytest.skip("the sample of another site is absent")
    lines = path.read_text().splitlines()
    found = read(path, layout="sonar", timezone="UTC")

    assert not found.rejects
    jobs, steps = (found.tables[kind] for kind in ("slurm.job", "slurm.step"))
    assert len(jobs) + len(steps) == len(lines)
    place = PRESETS["sonar"].index("ElapsedRaw")
    expected = [float(line.split("|")[place]) for line in lines if "." not in line.split("|")[0]]
    assert jobs.column("elapsed_s").to_pylist() == expected
