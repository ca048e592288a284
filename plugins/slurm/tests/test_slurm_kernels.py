"""Compiled loops and whole-column arithmetic read the same rows, and refuse the same lines.

Both are held against one plain reading, line by line and value by value, and against each other
where odd lines are put together.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harvest.testing import Collected, collect
from harvest.toolkit import compiled
from harvest_slurm import scalars, text
from harvest_slurm.config import SlurmConfig
from harvest_slurm.grid import Column, Shape
from harvest_slurm.ids import PATTERN
from harvest_slurm.source import SlurmSource
from harvest_slurm.tres import parse

pytest.importorskip("numba", reason="numba is not installed (extra fast)")

from harvest_slurm import walked
from harvest_slurm.digits import PAD

UTC = ZoneInfo("UTC")


def read(data: bytes, kernel: str, block_bytes: int | None = None, **config: Any) -> Collected:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if block_bytes is not None:
            options = {**text.read_text.__kwdefaults__, "block_bytes": block_bytes}
            patch.setattr(text.read_text, "__kwdefaults__", options)
        path = Path(folder) / "dump.txt"
        path.write_bytes(data)
        return collect(SlurmSource(str(path), SlurmConfig(kernel=kernel, **config)))


def told(found: Collected) -> dict[str, Any]:
    """All that a reading tells, save where the file lay."""
    rows = {
        name: [{**row, "origin": None} for row in found.rows(name)]
        for name in ("slurm.job", "slurm.step")
    }
    rejects = sorted((r.position, r.raw, r.reason, r.record_type) for r in found.rejects)
    assert found.units in (None, found.accounted)
    return {**rows, "rejects": rejects, "folded": found.folded, "units": found.units}


# --- any damage, against a plain reading -----------------------------------------------------

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
    try:
        values = dict(zip(COLUMNS, (field.decode() for field in fields), strict=True))
    except UnicodeDecodeError:
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
        "usage": lambda value: [(k, v if v is None else float(v)) for k, v in parse(value)],
        "tres": lambda value: [(k, v if v is None else int(v)) for k, v in parse(value)],
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
    """A row of ``slurm.step`` as ``plain`` tells it."""
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


@settings(deadline=None, max_examples=80)
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
    readings = [read(data, kernel) for kernel in ("numba", "arrow")]
    for found in readings:
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
    assert told(readings[0]) == told(readings[1])


# --- odd lines, delimiters, line ends, blocks ------------------------------------------------

HEADER = ["JobID", "JobName", "State", "ExitCode", "Elapsed", "Comment"]
PIECES = st.text(st.sampled_from("ab|;\n\r:é中 0"), max_size=6)


def dump(rows: list[list[str]], mark: str, end: str, line_end: str) -> bytes:
    return "".join(mark.join(row) + end + line_end for row in [HEADER, *rows]).encode()


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.tuples(PIECES, PIECES), max_size=10),
    st.sampled_from(["|", ";|;", "::", "\x1f", "¦", "~~a delimiter of many bytes~~"]),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.one_of(st.none(), st.integers(1, 400)),
    st.integers(0, 3),
)
def test_names_with_anything_in_them(
    made: list[tuple[str, str]],
    mark: str,
    trailing: bool,
    line_end: str,
    block_bytes: int | None,
    lost: int,
) -> None:
    rows = [
        [f"{n}.batch" if n % 3 else str(n), name, "COMPLETED", "0:0", "00:00:05", comment]
        for n, (name, comment) in enumerate(made, start=1)
    ]
    data = dump(rows, mark, mark if trailing else "", line_end)
    data = data[: len(data) - lost] if made else data
    assert told(read(data, "numba", block_bytes)) == told(read(data, "arrow", block_bytes))


def test_bytes_that_are_no_text_in_every_line() -> None:
    # given as many lines to put together as there are lines
    rows = b"".join(b"%d|caf\xe9|COMPLETED|0:0|00:00:05|\n" % n for n in range(1, 40))
    data = "|".join(HEADER).encode() + b"\n" + rows
    found = read(data, "numba")
    assert [row["name"] for row in found.rows("slurm.job")] == ["caf\\xe9"] * 39
    assert told(found) == told(read(data, "arrow"))


def test_records_put_together_that_outgrow_the_room_behind_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "SPARE", 2 * PAD)
    rows = [[str(n), f"two\n{'lines' * 40}", "FAILED", "0:0", "00:00:05", ""] for n in range(1, 9)]
    data = dump(rows, "|", "", "\n")
    for kernel in ("numba", "arrow"):
        names = [row["name"] for row in read(data, kernel).rows("slurm.job")]
        assert names == [row[1] for row in rows]


def test_a_header_alone_and_one_column() -> None:
    for data in (b"JobID|State\n", b"JobID\n1\n2.batch\nx\n", b"JobID|State\n1|FAILED"):
        assert told(read(data, "numba")) == told(read(data, "arrow"))


# --- numbers of every shape ------------------------------------------------------------------

SHAPES: list[Shape] = ["whole", "clock", "decimal", "moment", "pair"]
SPELLINGS = [
    *("0", "1234567", "12345678", "123456789", "1234567890123456", "12345678901234567"),
    *("00:00:00", "99:99:99", "7-23:59:59", "1234567-00:00:00", "12345678-00:00:00", "00:07.125"),
    *("12K", "1.50G", "999999999999.99P", "1.5", "1.005", "K", ".50M", "9007199254740993", "8191P"),
    *("2024-02-29T23:59:59", "2023-02-29T00:00:00", "1899-12-31T00:00:00", "2100-01-01T00:00:00"),
    *("2024-01-01 00:00:00", "2024-13-01T00:00:00", "2024-01-01T24:00:00", "0:15", "10:1", "0:"),
]
SPELLED = st.one_of(
    st.sampled_from(["", *SPELLINGS]),
    st.tuples(st.sampled_from(SPELLINGS), st.integers(0, 30), st.sampled_from("0129:.-TKP= ")).map(
        lambda made: made[0][: made[1]] + made[2] + made[0][made[1] + 1 :]
    ),
    st.text(st.sampled_from("0123456789:.-TKMG"), max_size=20),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(SPELLED, min_size=1, max_size=20))
def test_numbers_of_every_shape(texts: list[str]) -> None:
    lines = "".join(f"{number}|{value}\n" for number, value in enumerate(texts)).encode()
    data = np.zeros(len(lines) + 2 * PAD, np.uint8)
    data[PAD:-PAD] = np.frombuffer(lines, np.uint8)
    end = PAD + len(lines)
    _, _, rows, places, certain = walked.walk(
        data, end, ["JobID", "Value"], b"|", "JobID", trailing=False, crlf=False
    )
    assert len(places) == len(texts)
    assert certain.all()
    column, reference = rows.column("Value"), Column(pa.array(texts, pa.string()))
    assert column.text.to_pylist() == texts
    for shape in SHAPES:
        found, wanted = column.read(shape), reference.read(shape)
        assert found.good.tolist() == wanted.good.tolist(), shape
        for mine, theirs in zip(found.values, wanted.values, strict=True):
            assert mine[found.good].tolist() == theirs[wanted.good].tolist(), shape
        left = np.zeros(len(texts), bool) if found.left is None else found.left
        assert left.tolist() == (
            [False] * len(texts) if wanted.left is None else wanted.left.tolist()
        )


@settings(deadline=None, max_examples=80)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(["cpu", "mem", "gres/gpu:a100", "", "a=b"]),
                st.sampled_from(["4", "8G", "00:02:18", "01:02.500", "", "x", "9007199254740993"]),
            ),
            max_size=4,
        ),
        min_size=1,
        max_size=8,
    )
)
def test_lists_of_resources(made: list[list[tuple[str, str]]]) -> None:
    texts = [",".join(f"{key}={amount}" for key, amount in entries) for entries in made]
    rows = "".join(f"{n}|FAILED|{value}|{value}\n" for n, value in enumerate(texts, start=1))
    steps = "".join(f"{n}.0|FAILED|{value}|{value}\n" for n, value in enumerate(texts, start=1))
    data = f"JobID|State|AllocTRES|TRESUsageInTot\n{rows}{steps}".encode()
    assert told(read(data, "numba")) == told(read(data, "arrow"))


# --- the choice ------------------------------------------------------------------------------


def test_the_setting_names_a_road() -> None:
    with pytest.raises(ValueError, match="one of auto, numba, arrow"):
        SlurmConfig(kernel="fast")


def test_asking_for_numba_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "available", lambda: False)
    with pytest.raises(ValueError, match="not installed"):
        SlurmConfig(kernel="numba")
    SlurmConfig(kernel="auto")


def test_only_large_files_are_worth_loading_the_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = text.read_text

    def spy(*args: Any, **options: Any) -> Any:
        asked.append(options["compiled"])
        return real(*args, **options)

    monkeypatch.setattr(text, "read_text", spy)
    path = tmp_path / "dump.txt"
    path.write_text("JobID|State\n1|FAILED\n")
    for worth in (1, 1 << 30):
        monkeypatch.setattr(compiled, "WORTH_BYTES", worth)
        collect(SlurmSource(str(path)))
    assert asked == [True, False]
