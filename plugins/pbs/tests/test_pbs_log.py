"""Records of every kind, as the documents of OpenPBS and Torque have them, and odd ones."""

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pbs_logs import ABOUT, HERE, ended, job, line, read, started

from harvest_pbs.source import PbsSource
from harvest_pbs.states import EVENTS
from harvest_testing import collect


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "20260302"


def test_each_record_is_an_event_and_the_last_of_a_run_is_its_job(log: Path) -> None:
    queued = line("Q", "1.pbs01", f"{ABOUT} Resource_List.ncpus=4", "09:59:59")
    found = read(log, queued, started("1.pbs01"), ended("1.pbs01"))

    (row,) = found.rows("pbs.job")
    assert (row["state"], row["elapsed_s"], row["position"]) == ("completed", 58.0, 3)
    events = found.rows("pbs.event")
    assert [event["event"] for event in events] == ["queued", "started", "ended"]
    assert events[0]["time"] == datetime(2026, 3, 2, 8, 59, 59, tzinfo=UTC)
    # what the end does not repeat is with the start
    assert [event["extra"] for event in events] == [None, [("resource_assigned.ncpus", "8")], None]
    assert found.folded == {"a later record of the job in this log says more": 2}
    assert found.units == found.accounted == 3 + 3


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (line("D", "1.pbs01", "requestor=bob@login1"), {"requestor": "bob@login1"}),
        (line("A", "1.pbs01", "Job deleted as result of dependency on 2.pbs01"),
         {"message": "Job deleted as result of dependency on 2.pbs01"}),
        (line("L", "license", "floating license hour:3 day:5 month:9 max:12"),
         {"job_id": None, "message": "floating license hour:3 day:5 month:9 max:12"}),
        (line("C", "1.pbs01"), {"job_id": "1.pbs01", "message": None}),
        (line("T", "1.pbs01", ABOUT), {"user": "ann", "partition": "workq"}),
        (line("a", "1.pbs01", 'Resource_List.walltime=01:00:00 comment="a b"'),
         {"extra": [("Resource_List.walltime", "01:00:00"), ("comment", "a b")]}),
        (line("z", "1.pbs01", "resources_used.walltime=00:00:09 resources_released=(n1)"),
         {"extra": [("resources_used.walltime", "00:00:09"), ("resources_released", "(n1)")]}),
        (line("Y", "S7.pbs01", "requestor=Scheduler@pbs01 start=1 end=2 nodes=(n1) count=3"),
         {"requestor": "Scheduler@pbs01", "job_id": None}),
        (line("B", "R7.pbs01", "owner=ann@login1 name=lesson queue=R7 ctime=1 duration=1"),
         {"partition": "R7", "job_id": None}),
        (line("K", "R7.pbs01"), {"id": "R7.pbs01", "job_id": None}),
        (line("X", "1.pbs01", "new=yes"), {"event": None, "extra": [("new", "yes")]}),
    ],
    ids=lambda value: value[20] if isinstance(value, str) else "",
)  # fmt: skip
def test_a_record_that_is_no_run_is_an_event_alone(
    log: Path, record: str, expected: dict[str, Any]
) -> None:
    found = read(log, record)

    assert not found.rejects
    assert found.rows("pbs.job") == []
    (event,) = found.rows("pbs.event")
    assert {name: event[name] for name in expected} == expected
    assert event["event"] == EVENTS.get(record[20])


@pytest.mark.parametrize(
    ("status", "more", "state", "code", "signal"),
    [
        (0, "", "completed", 0, 0),
        (143, "", "failed", 143, 0),  # the script's own: 128 + 15 by the shell
        (271, "", "failed", 0, 15),
        (271, "Resource_List.walltime=00:00:58 ", "timeout", 0, 15),
        (271, "Resource_List.walltime=00:00:59 ", "failed", 0, 15),
        (267, "Resource_List.walltime=00:00:01 ", "failed", 0, 11),
        (-29, "", "timeout", -29, 0),
        (-11, "", "requeued", -11, 0),
        (-11, "owner=ann@login1 ", "timeout", -11, 0),  # Torque's
        (-10, "owner=ann@login1 ", "out_of_memory", -10, 0),
        (-4, "", "node_fail", -4, 0),
        (-99, "", "failed", -99, 0),
        (600, "", "failed", 600, 0),
        ("?", "", None, None, None),
    ],
)
def test_the_exit_status_is_a_code_a_signal_or_pbs_s_own(
    log: Path, status: object, more: str, state: str, code: int, signal: int
) -> None:
    row = job(log, ended("1.pbs01", status, more=more))

    assert (row["state"], row["exit_code"], row["exit_signal"]) == (state, code, signal)
    assert row["exit_status"] == (None if status == "?" else status)


def test_each_run_of_a_requeued_job_is_a_row(log: Path) -> None:
    again = 1772445000
    found = read(
        log,
        started("1.pbs01"),
        ended("1.pbs01", -11, kind="R"),
        started("1.pbs01", again),
        ended("1.pbs01", start=again, more="run_count_of=none ").replace(
            "run_count=1", "run_count=2"
        ),
    )

    rows = found.rows("pbs.job")
    assert [(row["state"], row["restarts"]) for row in rows] == [("requeued", 0), ("completed", 1)]
    assert [row["start_time"].timestamp() for row in rows] == [1772442002, again]


def test_what_has_no_end_in_the_log_waits_or_runs(log: Path) -> None:
    found = read(log, line("Q", "1.pbs01", ABOUT), line("Q", "2.pbs01", ABOUT), started("2.pbs01"))

    rows = found.rows("pbs.job")
    assert [(row["job_id"], row["state"], row["end_time"]) for row in rows] == [
        ("1.pbs01", "pending", None),
        ("2.pbs01", "running", None),
    ]
    assert (rows[0]["elapsed_s"], rows[0]["exit_code"], rows[0]["restarts"]) == (None, None, None)


def test_a_deleted_job_is_cancelled_by_whom(log: Path) -> None:
    found = read(
        log,
        line("Q", "1.pbs01", ABOUT),
        line("D", "1.pbs01", "requestor=bob@login1", "10:30:00"),
        started("2.pbs01"),
        line("D", "2.pbs01", "requestor=ann@login1"),
        ended("2.pbs01", 271),
        line("Q", "3.pbs01", ABOUT),
        line("A", "3.pbs01", "Job held too long"),
        line("D", "4[].pbs01", "requestor=eve@login1"),
        ended("4[7].pbs01", 271),
        started("5.pbs01"),  # its end is in the log of the next day
        line("D", "5.pbs01", "requestor=ann@login1", "23:59:59"),
    )

    rows = {row["job_id"]: row for row in found.rows("pbs.job")}
    assert {name: (row["state"], row["state_by"]) for name, row in rows.items()} == {
        "1.pbs01": ("cancelled", "bob@login1"),
        "2.pbs01": ("cancelled", "ann@login1"),
        "3.pbs01": ("cancelled", None),
        "4[7].pbs01": ("cancelled", "eve@login1"),
        "5.pbs01": ("running", "ann@login1"),
    }
    assert rows["1.pbs01"]["end_time"] == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    assert rows["1.pbs01"]["start_time"] is None
    assert rows["3.pbs01"]["reason"] == "Job held too long"


def test_a_requeued_run_whose_record_says_nothing_has_the_values_of_its_start(log: Path) -> None:
    lines = [started("7.pbs01"), line("R", "8.pbs01"), line("R", "7.pbs01"), started("7.pbs01", 9)]
    found = read(log, *lines, ended("7.pbs01", start=9))

    rows = [(row["position"], row["state"], row["user"], row["start_time"], row["end_time"])
            for row in found.rows("pbs.job")]  # fmt: skip
    at = [datetime.fromtimestamp(seconds, UTC) for seconds in (1772442002, 9, 69)]
    assert rows == [
        (2, "requeued", None, None, None),
        (3, "requeued", "ann", at[0], None),
        (5, "completed", "ann", at[1], at[2]),
    ]


def test_a_task_that_ended_before_its_array_was_deleted_is_not_cancelled(log: Path) -> None:
    deleted = line("D", "4[].pbs01", "requestor=eve@login1")
    found = read(log, ended("4[1].pbs01"), deleted, ended("4[2].pbs01", 271))

    assert [(row["state"], row["state_by"]) for row in found.rows("pbs.job")] == [
        ("completed", None), ("cancelled", "eve@login1"),
    ]  # fmt: skip


def test_tasks_of_an_array_are_jobs_and_the_array_is_one_while_it_waits(log: Path) -> None:
    whole = line("Q", "7[].pbs01", f"{ABOUT} array_indices=0-1")
    waiting = read(log, whole).rows("pbs.job")
    found = read(log, whole, started("7[].pbs01"), ended("7[0].pbs01"), ended("7[1].pbs01"),
                 ended("7[].pbs01"), ended("8-3.pbs01"))  # fmt: skip

    assert [(row["job_id"], row["array_tasks"]) for row in waiting] == [("7[].pbs01", "0-1")]
    ids = [(row["job_id_raw"], row["array_job_id"], row["array_task_id"], row["cluster"])
           for row in found.rows("pbs.job")]  # fmt: skip
    assert ids == [(7, 7, 0, "pbs01"), (7, 7, 1, "pbs01"), (8, 8, 3, "pbs01")]
    assert found.folded["an array as a whole, whose tasks are jobs of their own"] == 2


def test_resources_that_pbs_did_not_add_up_come_from_the_statement(log: Path) -> None:
    select = "Resource_List.select=2:ncpus=64:ngpus=4:mem=8gb:mpiprocs=16+1:ncpus=8+host=n9"
    row = job(log, ended("1.pbs01", more=f"{select} ").replace(" Resource_List.ncpus=4", ""))
    assert dict(row["req_tres"]) == {"cpu": 136, "mem": 16 << 30, "node": 4, "gres/gpu": 8}
    assert row["req_procs"] == 32

    nodes = "Resource_List.nodes=2:ppn=3:gpus=2+n7:ppn=1 Resource_List.ncpus=1"
    text = f"{ABOUT} owner=a@b exec_host=n1/0-3,7+n2/1 {nodes} end=1772442060 Exit_status=0"
    row = job(log, line("E", "1.b0", text))
    assert dict(row["req_tres"]) == {"cpu": 7, "node": 3, "gres/gpu": 4}
    assert dict(row["alloc_tres"]) == {"cpu": 6, "node": 2}


@pytest.mark.parametrize(
    ("member", "column", "value"),
    [
        ("resources_used.mem=1kb", "mem_used_bytes", 1024),
        ("Resource_List.mem=5kw", "req_mem_bytes", 5 * 8 * 1024),
        ("resources_used.cput=200:00:01", "total_cpu_s", 720001),
        ("resources_used.cput=12722", "total_cpu_s", 12722),
        ("resources_used.cput=1:2:3", "total_cpu_s", 3723),
        ("resources_used.cput=02:03", "total_cpu_s", 123),
        ("resources_used.cput=0:0:1.5", "total_cpu_s", 1.5),
    ],
)
def test_amounts_have_any_unit_of_pbs(log: Path, member: str, column: str, value: float) -> None:
    row = job(log, ended("1.pbs01", more=f"{member} "))
    assert row[column] == value


@pytest.mark.parametrize("text", ["-342359:-42:-21", "soon", "1:99:00", ""])
def test_a_value_of_another_kind_stays_under_its_key(log: Path, text: str) -> None:
    row = job(log, ended("1.pbs01", more=f"resources_used.cput={text} "))

    assert row["total_cpu_s"] is None
    assert dict(row["extra"])["resources_used.cput"] == text


def test_quotes_blanks_and_letters_of_any_script_are_kept(log: Path) -> None:
    site = """Resource_List.site='{"a": "b c"}' comment=\\303\\266"""
    row = job(log, ended("1.pbs01", more=f'account="bio chem" project=höhe_3 {site} '))

    assert (row["account"], row["project"]) == ("bio chem", "höhe_3")
    extra = dict(row["extra"])
    assert extra["Resource_List.site"] == '{"a": "b c"}'
    assert extra["comment"] == r"\303\266"


def test_what_is_no_record_is_rejected_with_its_line_and_why(log: Path) -> None:
    log.write_bytes(
        "\n".join(
            [
                ended("1.pbs01"),
                "",
                line("E", "2.pbs01", "lost"),
                line("Q", "3.pbs01", 'user=ann account="never closed'),
                line("Q", "3.pbs01", "user=ann user=bob"),
                "03/42/2026 10:00:00;Q;3.pbs01;user=ann",
                "03/02/2026 10:00:00;Q;3.pbs01",
                "03/02/2026 10:00:00;0008;Server@pbs01;Job;3.pbs01;a line of the server's log",
                "03/29/2026 02:30:00;Q;3.pbs01;user=ann",
                ended("4.pbs01")[:90],
            ]
        ).encode()
    )
    found = collect(PbsSource(str(log), PbsSource.Config(timezone="Europe/Zurich")))

    assert [(reject.position, reject.reason) for reject in found.rejects] == [
        (3, "'lost' is not key=value"),
        (4, "a quote is never closed"),
        (5, "user is there twice"),
        (6, "no time, or another form of it"),
        (7, "not time;type;id;text"),
        (8, "its kind is not one letter"),
        (9, "a time that the clocks in Europe/Zurich skipped"),
        (10, "no newline at its end: the record was cut off or is still being written"),
    ]
    assert found.filtered == {"empty line": 1}
    assert found.units == found.accounted


def test_a_packed_log_is_read_and_times_without_a_zone_are_noted(log: Path) -> None:
    packed = log.with_suffix(".gz")
    packed.write_bytes(gzip.compress(f"{started('1.pbs01')}\n{ended('1.pbs01')}\n".encode()))

    found = collect(PbsSource(str(packed)))

    assert found.rows("pbs.job")[0]["end_time"].timestamp() == 1772442062
    assert found.rows("pbs.event")[0]["time"] == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert found.notes == [
        "times carry no zone and were read as UTC; set pbs.timezone to the zone of the clock that "
        "they are from"
    ]
    detection = PbsSource.detect(packed)
    assert detection is not None
    assert detection.confidence > 0.9


def test_hosts_without_vnodes_give_their_slots(log: Path) -> None:
    row = job(log, ended("1.pbs01").replace(HERE, "exec_host=n1/0*4+n2:15002/2+n3"))
    assert (row["alloc_cpus"], row["node_list"]) == (6, "n1,n2,n3")


@pytest.mark.parametrize(
    "head",
    [
        b"2026-03-02 00:00:04;Q;1002.pbs01;user=ada\n",
        b"03/02/2026 10:00:00;0008;PBS_Server;Job;9590.pbs;Job Queued\n",
        b"03/02/2026 10:00:00;Q;\n",
        b"JobID|User|State\n1|ann|COMPLETED\n",
        b'{"timestamp": 1, "nodes": {"n1": {}}}',
        b"",
    ],
)
def test_files_of_others_are_not_recognised(log: Path, head: bytes) -> None:
    log.write_bytes(head)
    assert PbsSource.detect(log) is None
    assert PbsSource.detect(log.parent) is None
