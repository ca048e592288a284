"""Dumps without a header: the known order that lines fit is taken, and said; others are not."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harvest import Collected, SourceError, collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.read.layout import find_layout
from harvest_slurm.read.presets import PRESETS
from harvest_slurm.source import SlurmSource
from harvest_slurm.values.fields import BY_NAME, canonical

# what sacct prints for one job, field by field
PRINTED = {
    "JobID": "12_3", "JobIDRaw": "15", "JobName": "plain", "Cluster": "c", "User": "ann",
    "UID": "1001", "Group": "staff", "GID": "50", "Account": "physics", "Partition": "cpu",
    "QOS": "normal", "State": "COMPLETED", "ExitCode": "0:0", "Submit": "2024-03-01T10:00:00",
    "Eligible": "2024-03-01T10:00:00", "Start": "2024-03-01T10:01:00",
    "End": "2024-03-01T11:01:00", "Elapsed": "01:00:00", "ElapsedRaw": "3600",
    "Timelimit": "02:00:00", "TimelimitRaw": "120", "NNodes": "1", "NCPUS": "4", "ReqCPUS": "4",
    "ReqNodes": "1", "ReqMem": "4G", "ReqTRES": "cpu=4,mem=4G,node=1",
    "AllocTRES": "cpu=4,mem=4G,node=1", "CPUTimeRAW": "14400", "TotalCPU": "03:30:00",
    "UserCPU": "03:00:00", "SystemCPU": "00:30:00", "Suspended": "00:00:00", "Priority": "100",
    "NodeList": "n1", "ReqGRES": "gpu:1",
}  # fmt: skip

NAMED_LAST = ("xdmod", "xdmod-9.5", "xdmod-9", "xdmod-8", "jobstats", "sonar", "apel")


def written(
    tmp_path: Path, preset: str, *names: str, trailing: bool = False, header: bool = False
) -> Path:
    """Jobs of these names in the order of a program, as sacct -P prints them, or with -p."""
    fields = PRESETS[preset]
    rows = [PRINTED | {"JobName": name} for name in names]
    lines = [fields] * header + [[row.get(field, "") for field in fields] for row in rows]
    path = tmp_path / "dump.txt"
    path.write_text("".join("|".join(line) + "|" * trailing + "\n" for line in lines))
    return path


def read(path: Path, **config: Any) -> Collected:
    return collect(SlurmSource(str(path), SlurmConfig(timezone="UTC", **config)))


def tables(found: Collected) -> dict[str, list[dict[str, Any]]]:
    """Rows without where they stood, which a header moves."""
    return {
        name: [
            {k: v for k, v in row.items() if k not in ("origin", "position", "job_position")}
            for row in rows
        ]
        for name, rows in ((n, t.to_pylist()) for n, t in found.tables.items())
    }


@pytest.mark.parametrize("trailing", [False, True], ids=["-P", "-p"])
@pytest.mark.parametrize("preset", PRESETS)
def test_an_order_that_fits_is_taken_and_said(tmp_path: Path, preset: str, trailing: bool) -> None:
    path = written(tmp_path, preset, "a", "b", "c", trailing=trailing)

    found = read(path)

    assert tables(found) == tables(read(path, layout=preset))
    assert not found.rejects
    assert f"its columns were taken as those of {preset}, " in found.notes[0]
    sure = SlurmSource.detect(path)
    assert sure is not None
    assert sure.confidence == 0.9
    assert f"in the order of {preset}: 3 lines looked at fit" in sure.reason


@pytest.mark.parametrize(
    ("sample", "lines"),
    [("parsable2-all-fields", 1), ("default", 2), ("brief", 2), ("default-allocations", 2)],
)
def test_a_real_dump_gives_the_same_rows_without_its_header(
    shared_data: Path, tmp_path: Path, sample: str, lines: int
) -> None:
    whole = shared_data / "slurm" / "debian-22.05" / f"{sample}.out"
    path = tmp_path / "dump.txt"
    path.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[lines:]))

    assert tables(read(path)) == tables(read(whole))


@pytest.mark.parametrize("preset", NAMED_LAST)
def test_names_with_delimiters_and_line_breaks_hide_no_order(tmp_path: Path, preset: str) -> None:
    names = ("a", "x|y|z", "two\nlines", *"bcdefgh")
    with_header = tables(read(written(tmp_path, preset, *names, header=True)))
    assert tables(read(written(tmp_path, preset, *names))) == with_header
    assert len(with_header["slurm.job"]) == len(names)


def test_what_no_order_fits_is_an_error_that_says_what_the_fields_are_like() -> None:
    row = "7.batch|x|ann|COMPLETED|0:0|2024-05-01T08:00:00|2024-05-01T09:00:00|01:00:00|cpu=1"

    with pytest.raises(SourceError) as refused:
        find_layout(f"{row}\n{row}\n".encode(), where="dump.txt")

    assert (
        "no known order of columns fits (fields 1 like JobID, 4 like State, 5 like ExitCode, "
        "6-7 like a time, 8 like a duration, 9 like TRES)"
    ) in str(refused.value)


def test_an_order_is_not_taken_for_its_number_of_columns(tmp_path: Path) -> None:
    fields = [*PRESETS["xdmod"]]
    fields[0], fields[-5] = fields[-5], fields[0]  # the id where resources belong
    line = "|".join(PRINTED.get(field, "") for field in fields)

    with pytest.raises(SourceError, match="no known order of columns fits"):
        find_layout(f"{line}\n".encode(), where="")


def test_lines_that_fit_two_orders_are_left_to_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PRESETS, "other", ("JobIDRaw", "State", "DerivedExitCode"))

    with pytest.raises(SourceError) as refused:
        find_layout(b"1|COMPLETED|0:0\n", where="dump.txt")

    assert "its lines fit sacct-brief as well as other" in str(refused.value)
    assert "--set slurm.layout=sacct-brief" in str(refused.value)


# by the name of a program


@pytest.mark.parametrize("preset", PRESETS)
def test_every_column_is_a_field_of_sacct_and_named_once(preset):
    names = [canonical(field) for field in PRESETS[preset]]
    assert set(names) <= BY_NAME.keys()
    assert len(set(names)) == len(names) - (preset == "slurm2sql")  # it asks for one twice


@pytest.mark.parametrize("preset", NAMED_LAST)
def test_a_dump_is_read_by_the_name_of_its_program(tmp_path, preset):
    """A job's name that holds the delimiter is whole: most programs ask for it last."""
    found = read(written(tmp_path, preset, "plain", "a|b"), layout=preset)

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
    path = written(tmp_path, "apel", "plain", "a|b", header=True)
    _, job = read(path, layout="xdmod").tables["slurm.job"].to_pylist()
    assert (job["name"], job["group"]) == ("a|b", "staff")


def test_the_wrong_form_of_the_same_program_gives_rejects(tmp_path):
    """XDMoD 9 has as many columns as 11, in another order: a group's name is not its number."""
    found = read(written(tmp_path, "xdmod", "plain", "a|b"), layout="xdmod-9")
    assert not found.tables.get("slurm.job")
    assert len(found.rejects) == 2


def test_columns_are_named_in_one_way():
    with pytest.raises(ValueError, match="columns and layout both name the columns"):
        SlurmConfig(layout="xdmod", columns=("JobID", "State"))
    with pytest.raises(ValueError, match="layout must be one of xdmod, "):
        SlurmConfig(layout="exdmod")
