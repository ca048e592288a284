"""One cluster's jobs, dumped by sacct in many layouts, give the same records.

The samples lie beside a checkout on some machines only.  The layout with all fields is the
reference; every other one must agree in each column that it carries.  Where it cannot, the table
``LOSSES`` says why, and the test holds the code to exactly that loss.
"""

from pathlib import Path
from typing import Any

import pytest

from harvest import collect
from harvest_slurm.config import SlurmConfig
from harvest_slurm.source import SlurmSource

FORMAT = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,State,ExitCode,DerivedExitCode,Submit,Eligible,"
    "Start,End,Elapsed,ElapsedRaw,Timelimit,TimelimitRaw,Suspended,Reserved,NNodes,NCPUS,AllocCPUS,"
    "ReqCPUS,NTasks,ReqMem,MaxRSS,AveRSS,MaxVMSize,CPUTime,CPUTimeRAW,TotalCPU,UserCPU,SystemCPU,"
    "ReqTRES,AllocTRES,TRESUsageInAve,TRESUsageInMax,TRESUsageInTot,MaxDiskRead,MaxDiskWrite,"
    "ConsumedEnergy,NodeList,Priority,QOS,Reason,Flags,Constraints,Comment,WorkDir,SubmitLine,"
    "Cluster"
)

# what each field of sacct becomes
JOB_COLUMNS = {
    "JobID": "job_id array_job_id array_task_id het_job_id het_offset",
    "JobIDRaw": "job_id_raw", "JobName": "name", "User": "user", "Account": "account",
    "Partition": "partition", "State": "state state_by", "ExitCode": "exit_code exit_signal",
    "DerivedExitCode": "derived_exit_code derived_exit_signal", "Submit": "submit_time",
    "Eligible": "eligible_time", "Start": "start_time", "End": "end_time", "Elapsed": "elapsed_s",
    "Timelimit": "timelimit_s", "Suspended": "suspended_s", "Reserved": "planned_s",
    "NNodes": "nodes", "AllocCPUS": "alloc_cpus", "ReqCPUS": "req_cpus",
    "ReqMem": "req_mem_bytes req_mem_per", "CPUTime": "cpu_time_s", "TotalCPU": "total_cpu_s",
    "UserCPU": "user_cpu_s", "SystemCPU": "system_cpu_s", "ReqTRES": "req_tres",
    "AllocTRES": "alloc_tres", "NodeList": "node_list", "Priority": "priority", "QOS": "qos",
    "Reason": "reason", "Flags": "flags", "Constraints": "constraints", "Comment": "comment",
    "WorkDir": "work_dir", "SubmitLine": "submit_line", "Cluster": "cluster",
}  # fmt: skip
STEP_COLUMNS = {
    "JobIDRaw": "job_id_raw", "JobName": "name", "State": "state",
    "ExitCode": "exit_code exit_signal", "Start": "start_time", "End": "end_time",
    "Elapsed": "elapsed_s", "NTasks": "ntasks", "AllocCPUS": "alloc_cpus",
    "MaxRSS": "max_rss_bytes", "AveRSS": "ave_rss_bytes", "MaxVMSize": "max_vm_size_bytes",
    "TotalCPU": "total_cpu_s", "UserCPU": "user_cpu_s", "SystemCPU": "system_cpu_s",
    "MaxDiskRead": "max_disk_read_bytes", "AllocTRES": "alloc_tres",
    "TRESUsageInTot": "usage_in_tot",
}  # fmt: skip
DEFAULT = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
BRIEF = "JobID,State,ExitCode"
TIMES = "JobID,State,Submit,Eligible,Start,End,Elapsed"
WIDE = "JobID,JobName,State,ExitCode,Start,End,Elapsed,MaxRSS,NodeList"
LONG = (
    "JobID,JobIDRaw,JobName,Partition,MaxVMSize,MaxRSS,AveRSS,NTasks,AllocCPUS,Elapsed,State,"
    "ExitCode,ReqMem,ReqTRES,AllocTRES"
)
UNITS = "JobID,ReqMem,MaxRSS,AveRSS,MaxVMSize,ReqTRES,AllocTRES"

# file, fields that it carries, settings that it needs, kind of its losses
LAYOUTS = [
    ("parsable2.out", FORMAT, {}, None),
    ("parsable.out", FORMAT, {}, None),
    ("parsable2-byid.out", FORMAT, {}, None),
    ("parsable2-duplicates.out", FORMAT, {}, None),
    ("parsable2-allocs.out", FORMAT, {}, "allocations"),
    ("parsable2-noheader.out", FORMAT, {"columns": tuple(FORMAT.split(","))}, None),
    ("delimiter-us.out", FORMAT, {}, None),
    ("units-K.out", UNITS, {}, None),
    ("units-none.out", UNITS, {}, None),
    ("time-standard.out", TIMES, {}, None),
    ("time-epoch.out", TIMES, {}, None),
    ("tz-kolkata-epoch.out", TIMES, {}, None),
    ("tz-zurich.out", TIMES, {"timezone": "Europe/Zurich"}, None),
    # %z is cut off at 19 characters, and what remains is local time without a zone
    ("time-strftime-zone.out", TIMES, {}, None),
    ("tz-newyork-zone.out", TIMES, {"timezone": "America/New_York"}, None),
    ("time-strftime-zone-wide.out", "JobID,State,Submit,Start,End", {}, None),
    ("default.out", DEFAULT, {}, "fixed"),
    ("default-window.out", DEFAULT, {}, "fixed"),
    ("default-allocations.out", DEFAULT, {}, "fixed"),
    ("brief.out", BRIEF, {}, "fixed"),
    ("fixed-wide.out", WIDE, {}, "fixed"),
    ("fixed-long.out", LONG, {}, "fixed"),
    (
        "json.out",
        "JobID,JobIDRaw,JobName,User,Account,Partition,State,ExitCode,DerivedExitCode,Submit,"
        "Eligible,Start,End,Elapsed,Timelimit,Suspended,AllocCPUS,ReqCPUS,ReqMem,TotalCPU,UserCPU,"
        "SystemCPU,ReqTRES,AllocTRES,NodeList,Priority,QOS,Reason,Constraints,Comment,WorkDir,"
        "Cluster,MaxRSS,AveRSS,MaxVMSize,NTasks,MaxDiskRead,TRESUsageInTot",
        {},
        "json",
    ),
]

WITHOUT_STEPS = {  # sacct -X
    *("parsable2-allocs.out", "time-standard.out", "time-epoch.out", "time-strftime-zone.out"),
    *("time-strftime-zone-wide.out", "tz-kolkata-epoch.out", "tz-zurich.out"),
    *("tz-newyork-zone.out", "default-allocations.out"),
}


def _fixed_loss(column: str, there: Any, here: Any, row: dict[str, Any]) -> bool:
    """Fixed widths cut values: text keeps its beginning, the rest is empty with its text kept."""
    kept = dict(row["extra"] or ())
    if column == "state_by":
        return here is None  # CANCELLED+
    if column in ("req_tres", "alloc_tres", "usage_in_tot"):
        return here is None and any(text.endswith("+") for text in kept.values())
    return isinstance(here, str) and here.endswith("+") and str(there).startswith(here[:-1])


def _json_loss(column: str, there: Any, here: Any, row: dict[str, Any]) -> bool:
    """What --json of 22.05 prints otherwise than the tables of the same sacct."""
    if column in ("exit_code", "exit_signal"):
        # a failed job reads SUCCESS
        return here is None and row["state"] not in ("completed", "running")
    if column.startswith("derived_exit"):
        return here is None or here == 0  # the highest exit code of the steps is not there
    if column == "state_by":
        return (there, here) in (("0", "root"), (None, None))  # a login for a uid
    if column.endswith("_cpu_s"):
        return abs(there - here) < 0.001 * 6  # tables cut each value to milliseconds
    if column == "max_disk_read_bytes":
        return abs(there - here) <= 0.005 * 1024**2 + 1  # tables print hundredths of a MiB
    if column == "usage_in_tot":
        # CPU time in whole seconds, and an energy of 0 where nothing was measured
        calm = {key: value for key, value in (there or ()) if key != "cpu"}
        return calm == {key: value for key, value in (here or ()) if key != "cpu"}
    if column == "end_time":
        return there is None and here is None
    if column in ("alloc_cpus",):
        return here is None and row["alloc_tres"] is None  # tables print what was asked for
    return False


def _allocations_loss(column: str, there: Any, here: Any, row: dict[str, Any]) -> bool:
    """sacct -X adds up no steps: CPU times read 0."""
    return column.endswith("_cpu_s") and here == 0


LOSSES = {"allocations": _allocations_loss, "fixed": _fixed_loss, "json": _json_loss}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, list) else value


def _read(folder: Path, file: str, settings: dict[str, Any]) -> Any:
    return collect(SlurmSource(str(folder / "debian-22.05" / file), SlurmConfig(**settings)))


def _by_key(rows: list[dict[str, Any]], *names: str) -> dict[Any, dict[str, Any]]:
    """Rows by their key; of the runs of a requeued job the one that the reference shows."""
    return {tuple(row[name] for name in names): row for row in rows if row["state"] != "requeued"}


@pytest.fixture(scope="module")
def slurm_data(shared_data: Path) -> Path:
    return shared_data / "slurm"


@pytest.fixture(scope="module")
def reference(slurm_data: Path) -> Any:
    return _read(slurm_data, "parsable2-all-fields.out", {})


def test_the_reference_is_read_in_full(reference: Any) -> None:
    # 50 physical lines of data, of which three make one record (a name with a line break) ...
    assert reference.units == reference.accounted == 48
    assert not reference.rejects
    by_id = {row["job_id"]: row for row in reference.rows("slurm.job")}
    assert by_id["9"]["name"] == "my job | ä ö 日本 ✓  `q`"
    assert by_id["9"]["comment"] == "c|d é"
    assert by_id["9"]["work_dir"] == "/scratch/user/jobs/dir with | bar"
    assert by_id["10"]["name"] == "two\nlines"
    assert by_id["10"]["extra"] is not None
    assert dict(by_id["10"]["extra"])["Timelimit"] == "UNLIMITED"
    assert by_id["7_4"]["job_id_raw"] == 7
    assert by_id["7_4"]["array_job_id"] == 7
    assert by_id["7_4"]["array_task_id"] == 4
    assert by_id["21+1"]["het_job_id"] == 21
    assert by_id["21+1"]["het_offset"] == 1
    assert by_id["21+1"]["job_id_raw"] == 22
    assert (by_id["5"]["state"], by_id["5"]["state_by"]) == ("cancelled", "0")
    assert by_id["26"]["start_time"] is None
    assert by_id["18"]["end_time"] is None
    listed = {"billing": 2, "cpu": 2, "gres/gpu": 1, "mem": 128 * 1024**2, "node": 1}
    assert by_id["20"]["alloc_tres"] == list(listed.items())


@pytest.mark.parametrize(("file", "fields", "settings", "loss"), LAYOUTS, ids=lambda v: str(v)[:24])
def test_every_layout_gives_the_same_jobs_and_steps(
    slurm_data: Path, reference: Any, file: str, fields: str, settings: Any, loss: str | None
) -> None:
    # given the same jobs in another layout
    found = _read(slurm_data, file, settings)
    # then every unit is accounted for and none is rejected
    assert found.units == found.accounted
    assert not found.rejects
    # and what the layout carries is what the reference says
    expected = _by_key(reference.rows("slurm.job"), "job_id")
    got = _by_key(found.rows("slurm.job"), "job_id")
    assert set(expected) <= set(got)
    _compare(expected, got, fields, JOB_COLUMNS, loss)
    rows = found.rows("slurm.step")
    if file in WITHOUT_STEPS:
        assert not rows
        return
    expected = _by_key(reference.rows("slurm.step"), "job_id", "step_id")
    got = _by_key(rows, "job_id", "step_id")
    assert set(expected) <= set(got)
    _compare(expected, got, fields, STEP_COLUMNS, loss)


def _compare(
    expected: dict[Any, Any], got: dict[Any, Any], fields: str, table: dict[str, str], loss: Any
) -> None:
    deviations = []
    for key, there in expected.items():
        here = got[key]
        for name in fields.split(","):
            for column in table.get(name, "").split():
                # a running job was asked for at different moments
                if there["state"] == "running" and column in ("elapsed_s", "cpu_time_s"):
                    continue
                mine, theirs = _plain(here[column]), _plain(there[column])
                if mine == theirs:
                    continue
                if loss and LOSSES[loss](column, there[column], here[column], here):
                    continue
                deviations.append(f"{key} {column}: {theirs!r} became {mine!r}")
    assert deviations == []


def test_times_without_date_are_rejects(slurm_data: Path) -> None:
    found = _read(slurm_data, "time-relative.out", {})
    assert found.written == 0
    assert len(found.rejects) == found.units == 22
    assert all("a time without its date" in item.reason for item in found.rejects)


def test_held_and_pending_jobs(slurm_data: Path) -> None:
    by_id = {r["job_id"]: r for r in _read(slurm_data, "parsable2-byid.out", {}).rows("slurm.job")}
    held = by_id["13_[1-10%2]"]
    assert (held["array_job_id"], held["array_tasks"]) == (13, "1-10%2")
    assert held["array_task_id"] is None
    assert held["state"] == "pending"
    assert held["eligible_time"] is held["start_time"] is held["end_time"] is None
    assert dict(held["extra"])["Timelimit"] == "Partition_Limit"
    # JSON spells the same array as a set of bits
    from_json = {r["job_id"]: r for r in _read(slurm_data, "json-byid.out", {}).rows("slurm.job")}
    assert set(from_json) == set(by_id)
    assert from_json["13_[1-10%2]"]["array_tasks"] == "1-10%2"


def test_out_of_memory_keeps_its_signal_in_json(slurm_data: Path) -> None:
    table = _read(slurm_data, "extra-out-of-memory.out", {}).rows("slurm.job")
    json = _read(slurm_data, "extra-out-of-memory-json.out", {}).rows("slurm.job")
    for row in (*table, *json):
        assert (row["state"], row["exit_code"], row["exit_signal"]) == ("out_of_memory", 0, 125)


def test_json_of_other_versions(slurm_data: Path) -> None:
    (old,) = collect(SlurmSource(str(slurm_data / "json-22.05.9.json"))).rows("slurm.job")
    assert old["job_id"] == "20247445_100"
    assert old["state"] == "failed"
    assert old["exit_code"] is None  # it reads SUCCESS
    assert dict(old["alloc_tres"])["gres/gpu"] == 16
    assert old["req_mem_bytes"] == 262144 * 1024**2
    assert old["timelimit_s"] == 2880 * 60
    (new,) = collect(SlurmSource(str(slurm_data / "json-23.11.5.json"))).rows("slurm.job")
    assert new["job_id"] == "4"
    assert new["state"] == "running"
    assert new["end_time"] is None
    assert (new["exit_code"], new["exit_signal"]) == (0, 0)
    assert new["timelimit_s"] == 7200 * 60
    assert new["priority"] == 499522
    assert "energy" not in dict(new["alloc_tres"])  # -2: not set


def test_ncem_csv(shared_data: Path) -> None:
    path = shared_data / "ncem" / "slurm_job_info.head.csv"
    config = SlurmConfig(
        timezone="US/Pacific", req_nodes=4, exit_code="0:0", qos_contains="realtime"
    )
    found = collect(SlurmSource(str(path), config))
    assert found.units == found.accounted == found.written == 25
    job = found.rows("slurm.job")[0]
    assert (job["job_id"], job["job_id_raw"]) == ("3055478", 3055478)
    assert job["name"] == "distiller-count-2318"
    assert job["submit_time"].isoformat() == "2022-08-26T23:00:07+00:00"
    assert job["elapsed_s"] == 640.0
