"""What Slurm's programs say among the rows of a dump is noted and counted, and part of no row."""

import csv
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_reader import read_dump

from harvest import Collected
from harvest_slurm.source import SlurmSource

ERRORS = (
    "sacct: error: slurmdbd: Unspecified error",
    "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection to "
    "host:head1:6819: Connection refused",
    "[2024-05-01T08:00:00.123] slurmdbd: error: It looks like the storage has gone away",
    "slurm_load_jobs error: Invalid job id specified",
    "bash: sacct: command not found",
    "Slurm accounting storage is disabled",
)
OTHERS = {
    "slurmdb: warning: something odd": "warning",
    "sacct: debug2: Attempting connection to head1:6819": "message",
    "sacct: Jobs eligible from Wed May 01 00:00:00 2024 - Now": "message",
}
SAID = {**dict.fromkeys(ERRORS, "error"), **OTHERS}

harvest = partial(read_dump, timezone="UTC")


def rows(found: Collected) -> list[dict[str, Any]]:
    """All rows without where they stood."""
    return [
        {k: v for k, v in row.items() if k not in ("origin", "position", "job_position")}
        for kind in ("slurm.job", "slurm.step")
        for row in found.rows(kind)
    ]


def test_errors_around_the_rows(tmp_path: Path) -> None:
    found = harvest(
        tmp_path / "dump.txt",
        "slurmdb: warning: something odd\n"
        "sacct: error: slurmdbd: Unspecified error\n"
        "JobID|State|Elapsed|AllocCPUS\n"
        "1|COMPLETED|00:10:00|2\n"
        "sacct: error: slurmdbd: Getting response to message type: DBD_GET_JOBS_COND\n",
    )
    (job,) = found.rows("slurm.job")
    assert (job["job_id"], job["elapsed_s"], job["alloc_cpus"], job["position"]) == ("1", 600, 2, 4)
    assert not found.rejects
    assert found.folded == {"error of Slurm": 2, "warning of Slurm": 1}
    assert found.notes == [
        "sacct says: warning: line 1, slurmdb: warning: something odd",
        "sacct says: error: line 2, sacct: error: slurmdbd: Unspecified error "
        "(2 errors among its lines)",
    ]


@pytest.mark.parametrize("line", SAID)
def test_a_file_of_messages_alone_is_rejects(tmp_path: Path, line: str) -> None:
    path = tmp_path / "dump.txt"
    found = harvest(path, f"{line}\n\n{line}\n")
    assert not found.written
    reason = f"{SAID[line]} of Slurm in a file without rows: ask sacct again"
    assert [(r.position, r.raw.decode(), r.reason) for r in found.rejects] == [
        (1, line, reason),
        (3, line, reason),
    ]
    detected = SlurmSource.detect(path)
    assert detected is not None
    assert (detected.confidence, detected.reason) == (0.4, "messages of Slurm, and no rows")


def test_a_prompt_before_the_header_is_a_reject_and_the_rows_are_read(tmp_path: Path) -> None:
    command = "[ann@login ~]$ sacct -j 55 --format=JobID,State -P"
    found = harvest(tmp_path / "dump.txt", f"\n{command}\nJobID|State\n55|TIMEOUT\n")
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["55"]
    assert [(r.position, r.raw.decode()) for r in found.rejects] == [(2, command)]


def test_a_name_that_begins_like_a_message_stays_a_name(tmp_path: Path) -> None:
    text = "JobName|JobID|State\nsacct: error: x|y|1|FAILED\nplain|2|FAILED\n"
    found = harvest(tmp_path / "dump.txt", text)
    assert [row["name"] for row in found.rows("slurm.job")] == ["sacct: error: x|y", "plain"]


HEADER = ["JobID", "JobName", "State", "ExitCode", "Elapsed"]
NAMES = ["plain", "a|b", "two\nlines", "x,y", "", "end|\nand"]
WIDTHS = (12, 12, 10, 8, 10)


def text_of(made: list[list[str]]) -> str:
    return "".join("|".join(row) + "\n" for row in [HEADER, *made])


def names_last(made: list[list[str]]) -> str:
    return "".join("|".join([*row[:1], *row[2:], row[1]]) + "\n" for row in [HEADER, *made])


def csv_of(made: list[list[str]]) -> str:
    with tempfile.TemporaryFile("w+", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *made])
        file.seek(0)
        return file.read()


def fixed_of(made: list[list[str]]) -> str:
    padded = [
        " ".join(f"{text:<{width}}" for text, width in zip(row, WIDTHS, strict=True)) + " \n"
        for row in [HEADER, ["-" * width for width in WIDTHS], *made]
    ]
    return "".join(padded)


@pytest.mark.slow
@pytest.mark.parametrize("write", [text_of, names_last, fixed_of, csv_of])
@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from(sorted(SAID))), max_size=5),
)
def test_messages_anywhere_leave_the_rows(
    write: Any, made: list[str], said: list[tuple[int, str]]
) -> None:
    """Between any two lines of text: also within a name with a line break."""
    plain = write([[str(n), name, "FAILED", "1:0", "00:00:05"] for n, name in enumerate(made, 1)])
    lines = plain.splitlines(keepends=True)
    if write is csv_of:  # within quotes a message is part of the text
        said = [(0, text) for _, text in said]
    if write is fixed_of:  # not between the header and its dashes
        said = [(place if place != 1 else 2, text) for place, text in said]
    for place, text in sorted(said, reverse=True):
        lines.insert(min(place, len(lines)), f"{text}\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.txt"
        expected, found = harvest(path, plain), harvest(path, "".join(lines))
    assert rows(found) == rows(expected)
    assert not found.rejects
    kinds = [SAID[text] for _, text in said]
    counts = {f"{kind} of Slurm": kinds.count(kind) for kind in kinds}
    assert {name: n for name, n in found.folded.items() if "Slurm" in name} == counts
    # a row stands where its id stands, unless a name holds lines that begin so
    starts = {line.split("|")[0].split(" ")[0]: n for n, line in enumerate(lines, 1)}
    if write in (text_of, names_last, fixed_of):
        for row in found.rows("slurm.job"):
            assert row["position"] == starts[row["job_id"]]
