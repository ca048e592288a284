"""JSON of qstat, from a file or from the program."""

import gzip
import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harvest import ReadContext, SourceError
from harvest_pbs.qstat import read_qstat
from harvest_pbs.source import PbsConfig, PbsSource
from harvest_testing import Collected, collect

HEAD = '{\n    "timestamp":1618432467,\n    "pbs_version":"20.0.1",\n    "pbs_server":"calc0"'
RUNNING = r"""
        "1008.calc0":{
            "Job_Name":"ntest",
            "Job_Owner":"ann@login1",
            "resources_used":{
                "cput":"00:10:00",
                "walltime":"00:02:10"
            },
            "job_state":"R",
            "Account_Name":"phys",
            "ctime":"Wed Apr 14 23:20:07 2021",
            "exec_host":"calc0/0+calc0/1+calc0/2+calc0/3+calc0/4",
            "exec_vnode":"(calc0:ncpus=1)+(calc0:ncpus=1)+(calc0:ncpus=1)+(calc0:ncpus=1)+(calc0:ncpus=1)",
            "stime":"Sun Apr  4 23:20:07 2021",
            "Variable_List":{
                "PBS_O_HOME":"/home/ann",
                "foo":005,
                "TOKEN":"it\'s {secret}"
            },
            "comment":"Job run at Wed Apr 14",
            "run_count":2,
            "Submit_arguments":"-v a=b\,c test.pbs"
        }"""


def finished(job: str, substate: int, more: str = "") -> str:
    times = '"stime":"Wed Apr 14 23:20:07 2021", "obittime":"Wed Apr 14 23:21:07 2021"'
    return f'"{job}":{{"job_state":"F", "substate":{substate}, {times}{more}}}'


def document(*jobs: str) -> str:
    return f'{HEAD},\n    "Jobs":{{{",".join(jobs)}\n    }}\n}}\n'


def read(path: Path, text: str) -> Collected:
    path.write_text(text)
    return collect(PbsSource(str(path), PbsConfig(timezone="Europe/Zurich")))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "qstat.json"


@pytest.mark.parametrize(
    "name", ["1e5", "1.10", "0012345", "-00", ".5", "NaN", "18446744073709551616"]
)
def test_names_without_quotes_are_texts(file: Path, name: str) -> None:
    """PBS quotes no text that C takes for a number; JSON does not allow some of these."""
    job = finished("7.s", 92, f', "Job_Name":{name}, "Account_Name" : {name} ,"Exit_status":0')

    found = read(file, document(job))

    (row,) = found.rows("pbs.job")
    assert (row["name"], row["account"], row["state"]) == (name, name, "completed")
    assert not found.rejects


def test_json_that_ends_within_an_environment_is_a_reject_at_once(file: Path) -> None:
    variables = "".join(f'"V{number}":"/usr/local/bin:/usr/bin:/bin",\n' for number in range(99))

    found = read(file, f'{HEAD},\n"Jobs":{{\n"7.s":{{\n"Variable_List":{{\n{variables}')

    (reject,) = found.rejects
    assert reject.reason.startswith("job 7.s is not JSON")


def test_a_running_job_is_a_row_though_its_environment_is_no_json(file: Path) -> None:
    found = read(file, document(RUNNING))

    (row,) = found.rows("pbs.job")
    assert (row["job_id"], row["state"], row["user"], row["owner"]) == (
        "1008.calc0", "running", "ann", "ann@login1",
    )  # fmt: skip
    assert row["submit_time"] == datetime(2021, 4, 14, 21, 20, 7, tzinfo=UTC)
    assert row["start_time"] == datetime(2021, 4, 4, 21, 20, 7, tzinfo=UTC)
    assert row["end_time"] is None
    assert (row["elapsed_s"], row["total_cpu_s"], row["restarts"]) == (130.0, 600.0, 1)
    assert dict(row["alloc_tres"]) == {"cpu": 5, "node": 1}
    assert (row["account"], row["reason"]) == ("phys", "Job run at Wed Apr 14")
    extra = dict(row["extra"])
    assert extra["Submit_arguments"] == "-v a=b,c test.pbs"
    assert "secret" not in str(row)
    assert not found.rejects


@pytest.mark.parametrize(
    ("letter", "state"),
    [("Q", "pending"), ("H", "pending"), ("R", "running"), ("B", "running"), ("S", "suspended"),
     ("E", "completing"), ("M", "revoked"), ("?", None)],
)  # fmt: skip
def test_the_letter_of_a_job_is_its_state(file: Path, letter: str, state: str | None) -> None:
    (row,) = read(file, document(f'"1.calc0":{{"job_state":"{letter}"}}')).rows("pbs.job")
    assert row["state"] == state


@pytest.mark.parametrize(
    ("substate", "more", "state"),
    [
        (92, ', "Exit_status":0', "completed"),
        (93, ', "Exit_status":1', "failed"),
        (93, ', "Exit_status":-29', "timeout"),
        (92, ', "Job_Owner":"a@b", "Exit_status":-11', "requeued"),  # not Torque's -11
        (91, ', "Exit_status":271', "cancelled"),
        (91, "", "cancelled"),
        (92, "", None),
    ],
)
def test_of_a_finished_job_its_status_decides(
    file: Path, substate: int, more: str, state: str | None
) -> None:
    (row,) = read(file, document(finished("1[7].calc0", substate, more))).rows("pbs.job")

    assert (row["state"], row["array_task_id"]) == (state, 7)
    assert row["end_time"] == datetime(2021, 4, 14, 21, 21, 7, tzinfo=UTC)
    assert row["elapsed_s"] == 60.0


def test_a_time_of_another_form_stays_in_extra(file: Path) -> None:
    (row,) = read(file, document('"1.calc0":{"job_state":"Q", "ctime":"yesterday"}')).rows(
        "pbs.job"
    )
    assert row["submit_time"] is None
    assert dict(row["extra"])["ctime"] == "yesterday"


def test_compact_packed_and_joined_documents_are_read(file: Path) -> None:
    compact = (
        document(finished("1.c", 92), finished("2.c", 92)).replace("\n", "").replace("    ", "")
    )
    packed = file.with_suffix(".xz")
    packed.write_bytes(lzma.compress((compact + "\n" + document(RUNNING)).encode()))

    found = collect(PbsSource(str(packed), PbsConfig(timezone="Europe/Zurich")))

    assert [row["job_id"] for row in found.rows("pbs.job")] == ["1.c", "2.c", "1008.calc0"]
    assert not found.rejects
    assert PbsSource.detect(packed) is not None


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_packed_document_that_is_cut_is_refused_with_what_to_do(file: Path, pack: Any) -> None:
    # given the first half of a packed document, enough to recognise it
    jobs = (finished(f"{number}.c", 92) for number in range(2_000))
    packed = file.with_suffix(".packed")
    whole = pack(document(*jobs).encode())
    packed.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(SourceError, match=r"damaged or cut short.*restore it from its origin"):
        collect(PbsSource(str(packed), PbsConfig(timezone="Europe/Zurich")))


def test_a_document_without_jobs_has_none(file: Path) -> None:
    for text in (f"{HEAD}\n}}\n", document()):
        found = read(file, text)
        assert (found.rows("pbs.job"), found.rejects, found.units) == ([], [], 0)


@pytest.mark.parametrize(
    ("text", "rows", "reasons"),
    [
        (document(finished("1.c", 92))[:-4], 1, ["the JSON ends before its last bracket"]),
        (document(finished("1.c", 92), RUNNING)[:-500], 1, ["job 1008.calc0 is not JSON: "]),
        (document('"1.c":{"a":}', finished("2.c", 92)), 1, ["job 1.c is not JSON: "]),
        (document(finished("1.c", 92) + " junk ", finished("2.c", 92)), 2, ["text between jobs"]),
        (document('"1.c":{"a":' + "[" * 99999, finished("2.c", 92)), 1, ["job 1.c is not JSON: "]),
        (document(r'"1.c":{"a":"\ud83d"}', finished("2.c", 92)), 1, ["job 1.c is not JSON: "]),
        (document('"1.c":{"a":"\udcff"}', finished("2.c", 92)), 1, ["not UTF-8: "]),
        ("junk " + document(finished("1.c", 92)), 1, ["no JSON of qstat's jobs"]),
        (f"{HEAD[:40]}", 0, ["no JSON of qstat's jobs"]),
    ],
)
def test_what_is_damaged_is_rejected_and_the_other_jobs_are_read(
    tmp_path: Path, text: str, rows: int, reasons: list[str]
) -> None:
    file = tmp_path / "qstat.json"
    file.write_text(text, errors="surrogateescape")
    (partition,) = PbsSource(str(file)).plan()
    ctx = ReadContext(partition.origin, tmp_path)

    with file.open("rb") as stream:
        batches = [table for _, table in read_qstat(stream, "UTC", partition, ctx)]

    assert sum(table.num_rows for table in batches) == rows
    said = [reject.reason for reject in ctx.rejects]
    assert [each[: len(due)] for each, due in zip(said, reasons, strict=True)] == reasons


def stub(folder: Path, body: str) -> str:
    """A program in place of qstat."""
    program = folder / "qstat"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return str(program)


def live(program: str, **settings: Any) -> Collected:
    return collect(PbsSource("live", PbsConfig(qstat=program, **settings)))


def test_a_live_server_is_asked_in_utc_for_all_that_it_knows(tmp_path: Path) -> None:
    (tmp_path / "answer").write_text(document(finished("1.c", 92, ', "Exit_status":0')))
    program = stub(
        tmp_path, f'echo "$TZ $*" >{tmp_path}/asked; echo be patient >&2; cat {tmp_path}/answer'
    )

    found = live(program, timezone="Asia/Tokyo")

    assert (tmp_path / "asked").read_text() == "UTC -x -f -F json\n"
    (row,) = found.rows("pbs.job")
    assert (row["state"], row["origin"]) == ("completed", "pbs:live")
    assert row["end_time"] == datetime(2021, 4, 14, 23, 21, 7, tzinfo=UTC)
    assert found.notes == ["qstat says: be patient"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo cannot connect to server >&2; exit 111",
         "qstat ended with status 111: cannot connect to server"),
        ("sleep 60", "qstat did not end within 1 s"),
        (None, "was not found"),
    ],
)  # fmt: skip
def test_a_server_that_does_not_answer_is_an_error_with_a_remedy(
    tmp_path: Path, body: str | None, said: str
) -> None:
    program = str(tmp_path / "none") if body is None else stub(tmp_path, body)
    with pytest.raises(SourceError, match=said) as caught:
        live(program, timeout_s=1)
    assert caught.value.remedy
