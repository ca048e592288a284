"""Damaged lines are read, or refused, as by a plain reading of each line and each value."""

import re
import tempfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from slurm_reader import read_dump

from harvest import Collected, SourceError
from harvest.toolkit.texts import not_utf8
from harvest_slurm.read.rejoin import Joiner
from harvest_slurm.values import scalars
from harvest_slurm.values.ids import PATTERN

UTC = ZoneInfo("UTC")


def read(data: bytes) -> Collected:
    with tempfile.TemporaryDirectory() as folder:
        return read_dump(Path(folder), data)


COLUMNS = {
    "JobID": "id",
    "User": "text",
    "State": "state",
    "ExitCode": "exit",
    "Elapsed": "duration",
    "Start": "time",
    "MaxRSS": "memory",
    "NNodes": "int",
    "TRESUsageInTot": "usage",
    "AllocTRES": "tres",
}
ROWS = [
    "12.batch||COMPLETED|0:0|00:01:02|2024-05-01T08:00:00|3244K|1|cpu=00:00:07,mem=12K|cpu=4,mem=8G",
    "12_7.0||CANCELLED by 1000|0:15|1-02:03:04|2024-02-29T23:59:59|10.05M|2|fs/disk=12|node=2",
    "123456789012.extern||FAILED|1:0|02:03.125|1717200000|16?|12|energy=0,cpu=01:02.500|cpu=1",
    "12+0.interactive||TIMEOUT|0:1|365-00:00:00|Unknown|18446744073709551615|1.5K||mem=64M",
]
DAMAGE = st.tuples(
    st.integers(0, 10_000),
    st.sampled_from([*b"0123456789:.-,=|TKMGPE?+_ nb\x00/;\xc3\xa9\xff"]),
)


def plain(line: bytes) -> dict[str, Any] | None:
    """What one line says, one value at a time; None where it is a reject."""
    fields = line.split(b"|")
    if len(fields) != len(COLUMNS):
        return None
    # users give names in any bytes, which are shown; elsewhere they are wrong as other letters are
    texts = [field.decode("utf-8", "backslashreplace") for field in fields]
    values = dict(zip(COLUMNS, texts, strict=True))
    odd = {kind for kind, field in zip(COLUMNS.values(), fields, strict=True) if not_utf8(field)}
    if odd & {"usage", "tres"}:  # a resource is a word of Slurm's
        return None
    if not re.match(PATTERN, values["JobID"]):
        return None
    readers = {
        "text": str,
        "state": lambda value: scalars.state(value)[0],
        "exit": scalars.exit_code,
        "duration": scalars.duration,
        "time": lambda value: scalars.time(value, UTC),
        "memory": scalars.memory,
        "int": scalars.integer,
        "usage": lambda value: [
            (k, v if v is None else float(v)) for k, v in scalars.resources(value)
        ],
        "tres": lambda value: [
            (k, v if v is None else int(v)) for k, v in scalars.resources(value)
        ],
    }
    said: dict[str, Any] = {"JobID": values.pop("JobID")}
    for name, value in values.items():
        try:
            found = readers[COLUMNS[name]](value) if value else None
        except (ValueError, OverflowError):
            return None
        said[name] = None if isinstance(found, scalars.Word) else found
    return said


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """A row of ``slurm.step`` as ``plain`` gives it."""
    code = row["exit_code"]
    return {
        "JobID": f"{row['job_id']}.{row['step_id']}",
        "User": dict(row["extra"] or []).get("User"),
        "State": row["state"],
        "ExitCode": None if code is None else (code, row["exit_signal"]),
        "Elapsed": row["elapsed_s"],
        "Start": row["start_time"],
        "MaxRSS": row["max_rss_bytes"],
        "NNodes": row["nodes"],
        "TRESUsageInTot": row["usage_in_tot"],
        "AllocTRES": row["alloc_tres"],
    }


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(ROWS), st.lists(DAMAGE, max_size=2)), min_size=1, max_size=12
    ),
    st.booleans(),
)
@example([(ROWS[0].replace("3244K", "9999999999999999"), [])], False)
@example([(ROWS[0].replace("3244K", "1234567890123456789"), [])], False)
@example([(ROWS[0].replace("|1|", "|12345678901234567890123|"), [])], False)
@example([(ROWS[1], [(6, ord("|"))]), (ROWS[1], [])], False)
@example([(ROWS[1], [(ROWS[1].index("1000"), 0xC3)])], False)
@example([(ROWS[2], [(ROWS[2].index("cpu"), 0xC3)])], False)
def test_damaged_lines_are_read_as_one_by_one(
    made: list[tuple[str, list[tuple[int, int]]]], ends_in_newline: bool
) -> None:
    lines = []
    for line, damages in made:
        damaged = bytearray(line.encode())
        for place, byte in damages:
            damaged[place % len(damaged)] = byte
        lines.append(bytes(damaged))
    expected = {n: plain(line) for n, line in enumerate(lines, start=2)}
    data = b"\n".join(["|".join(COLUMNS).encode(), *lines]) + b"\n" * ends_in_newline
    found = read(data)
    steps = {row["position"]: shown(row) for row in found.rows("slurm.step")}
    # a step that lost its dot is a job, which has fewer columns
    jobs = {row["position"] for row in found.rows("slurm.job")}
    rejected = {reject.position for reject in found.rejects}
    for number, said in expected.items():
        if said is None:
            assert number in rejected | jobs, lines[number - 2]
        elif number not in jobs:
            assert steps[number] == said
    assert len(steps) + len(jobs) + len(rejected) == len(lines)


def test_bytes_that_are_no_text_in_every_line() -> None:
    # given as many lines to put together as there are lines
    rows = b"".join(b"%d|caf\xe9|COMPLETED|0:0|00:00:05|\n" % n for n in range(1, 40))
    found = read(b"JobID|JobName|State|ExitCode|Elapsed|Comment\n" + rows)
    assert [row["name"] for row in found.rows("slurm.job")] == ["caf\\xe9"] * 39
    assert not found.rejects


@pytest.mark.parametrize(
    ("header", "row", "step"),
    [
        # the times that a record holds in one line are missing
        ("JobID|JobName|User|State|Submit|Start|End", "1|job|ann|COMPLETED", "_divide"),
        ("JobName|JobID|User|State|Submit|Comment", "job|1|ann|COMPLETED", "_divide"),
        # no number of lines has enough delimiters
        ("JobName|JobID|User|State|Submit", "job,1,ann,COMPLETED", "_continues"),
    ],
)
def test_lines_of_another_shape_are_refused_without_trying_to_join_each(
    header: str, row: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried, whole = [], getattr(Joiner, step)
    monkeypatch.setattr(Joiner, step, lambda *words: tried.append(words) or whole(*words))

    found = read("\n".join([header, *[row] * 50]).encode())

    assert len(found.rejects) == 50
    assert len(tried) < 50


def test_a_dump_of_ids_alone() -> None:
    found = read(b"JobID\n1\n2.batch\nx\n3")
    assert [row["job_id"] for row in found.rows("slurm.job")] == ["1", "3"]
    assert [row["job_id"] for row in found.rows("slurm.step")] == ["2"]
    assert [reject.raw for reject in found.rejects] == [b"x"]


NAMES = "JobID|JobName|State|Elapsed\n"
LARGE = "a job id whose number is larger than any that Slurm gives"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{2**64}|x|COMPLETED|00:00:01", f"JobID: '{2**64}': {LARGE}"),
        (f"12_{2**64}|x|COMPLETED|00:00:01", f"JobID: '12_{2**64}': {LARGE}"),
        ("x1|x|COMPLETED|00:00:01", "JobID: 'x1': no job id of a form that Slurm prints"),
    ],
)
def test_a_line_with_all_fields_is_refused_for_the_field_that_is_wrong(line, reason):
    found = read(f"{NAMES}7|ok|COMPLETED|00:00:01\n{line}\n".encode())
    assert [job["job_id"] for job in found.rows("slurm.job")] == ["7"]
    assert [(r.position, r.reason) for r in found.rejects] == [(3, reason)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (f"{NAMES}7|x|COMPLETED|00:00:01\n".encode("utf-16"), "not UTF-8 but UTF-16"),
        (f"{NAMES}7|x|COMPLETED|00:00:01\n".encode("utf-16-be"), "iconv -f UTF-16 -t UTF-8"),
        (f"{NAMES}7|x|COMPLETED|00:00:01\n".encode("utf-32"), "not UTF-8 but UTF-32"),
        (f"{NAMES}7|x|COMPLETED|00:00:01\n".replace("\n", "\r").encode(), "carriage return alone"),
        (f"JobID{'|column' * 100_000}\n7{'|' * 100_000}\n".encode(), "more than 65,536 bytes"),
        (b"PK\x03\x04 and so on", "this is a zip file; unpack it first"),
        (b"\x28\xb5\x2f\xfd and so on", "this is a zstd file; unpack it first"),
    ],
    ids=["UTF-16", "UTF-16 without a mark", "UTF-32", "CR", "wide", "zip", "zstd"],
)
def test_a_file_that_is_no_dump_is_called_what_it_is(data, message):
    with pytest.raises(SourceError, match=message):
        read(data)
