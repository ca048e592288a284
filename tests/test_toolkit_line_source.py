"""Sources of text files: lines in ranges have the numbers of the file, and none is lost."""

import bz2
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

import harvest
from harvest import Collected, Partition, ReadContext, collect
from harvest_toolkit.line_source import LineConfig, LineSource
from harvest_toolkit.lines import BOM

LIMIT = 40


@harvest.record("demo.text_line", layer="workflow", level="client")
class TextLine(harvest.Record):
    """A line."""

    text: str = harvest.field(role="subject", doc="The line.")


class TextSource(LineSource):
    """Lines as they are."""

    name, record_types = "text-lines", (TextLine,)
    line_limit = LIMIT

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        for lines in self.lines(partition, ctx):
            yield TextLine, pa.table({"text": lines.column(), "position": lines.numbers})


def read(path: Path, partition_bytes: int = 1 << 30) -> Collected:
    return collect(TextSource(str(path), LineConfig(partition_bytes=partition_bytes)))


def lines_of(found: Collected) -> dict[int, str | bytes]:
    """Rows and rejects by the number of their line."""
    lines: dict[int, str | bytes] = {
        row["position"]: row["text"] for row in found.rows("demo.text_line")
    }
    return lines | {r.position: r.raw for r in found.rejects if r.position is not None}


def expected_of(data: bytes) -> dict[int, str | bytes]:
    """The lines of a whole text by their numbers, without those that are empty."""
    mark = BOM if data.startswith(BOM) else b""
    lines = data.removeprefix(BOM).split(b"\n")
    found: dict[int, str | bytes] = {}
    for number, line in enumerate(lines, 1):
        is_cut = number == len(lines)
        if len(mark + line) > LIMIT:
            found[number] = (mark + line)[:LIMIT]  # as much of it as is sure to be kept
        else:
            try:
                found[number] = line if is_cut else line.removesuffix(b"\r").decode()
            except UnicodeDecodeError:
                found[number] = line
        mark = b""
    return {number: line for number, line in found.items() if line}


PACKED = (b"\x1f\x8b", b"BZh1", b"BZh9", b"\xfd7zX", b"\x28\xb5\x2f\xfd")
"""How gzip, bzip2, xz and zstd begin."""
PACKS = [gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress]
TEXTS = (
    st.lists(
        st.one_of(
            st.sampled_from([b"\n", b"\n", b"\r\n", BOM, b"\xff", "ü".encode(), b"x" * 30]),
            st.binary(max_size=6),
        ),
        max_size=20,
    )
    .map(b"".join)
    .filter(lambda data: not data.startswith(PACKED))
)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 60))
@example(BOM + b"x" * 60, 1)
@example(b"BZhang logged in\n", 60)
@example(BOM + b"x" * 39 + b"\nb", 50)
def test_lines_have_the_numbers_of_the_file_in_any_ranges(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, partition_bytes: int
) -> None:
    """Given any bytes, when read in ranges of any size, then each line is there once."""
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(data)
    found = read(path, partition_bytes)
    lines = {n: t if isinstance(t, str) else t[:LIMIT] for n, t in lines_of(found).items()}
    assert lines == expected_of(data)
    assert found.units == found.accounted


def test_what_cannot_be_a_line_is_rejected_with_its_number_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"one\n\n" + b"x" * 50 + b"\ncaf\xe9\r\nfive\r\nsix")
    found = read(path)
    assert [(r["position"], r["text"]) for r in found.rows("demo.text_line")] == [
        (1, "one"), (5, "five"),
    ]  # fmt: skip
    assert [(r.position, r.raw, r.reason) for r in found.rejects] == [
        (3, b"x" * 50, "a line of 50 bytes, more than 40"),
        (4, b"caf\xe9\r", "not UTF-8: byte 0xe9 at byte 4"),
        (6, b"six", "no newline at its end: the record was cut off or is still being written"),
    ]
    assert found.filtered == {"empty line": 1}


def test_a_large_file_is_several_partitions_that_know_their_first_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("".join(f"line {number}\n" for number in range(1, 101)))
    # nine lines of 7 bytes and those of 8 bytes that begin before byte 300 or 600
    source = TextSource(str(path), LineConfig(partition_bytes=300))
    plan = [source.prepare(partition) for partition in source.plan()]
    assert [p.options.get("lines_before", 0) for p in plan] == [0, 39, 77]
    assert sum(p.size_bytes for p in plan) == path.stat().st_size


@pytest.mark.parametrize("pack", PACKS)
def test_a_compressed_file_is_read_as_a_plain_one(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "text.packed"
    path.write_bytes(pack(b"one\ntwo\n" * 400) + pack(b"one\ntwo\n" * 600))
    found = read(path, partition_bytes=10)
    assert [row["text"] for row in found.rows("demo.text_line")] == ["one", "two"] * 1000
    assert len(list(TextSource(str(path), LineConfig(partition_bytes=10)).plan())) == 1


@pytest.mark.parametrize("pack", PACKS)
def test_a_compressed_file_that_was_cut_short_gives_its_lines_and_a_reject(
    tmp_path: Path, pack: Any
) -> None:
    path = tmp_path / "text.packed"
    path.write_bytes(pack(b"".join(b"%d\n" % (n * n) for n in range(2_000)))[:-40])
    found = read(path)
    rows = [int(row["text"]) for row in found.rows("demo.text_line")]
    assert rows == [n * n for n in range(len(rows))]
    last = found.rejects[-1]
    assert "cut short: it is incomplete" in last.reason
    assert last.position is not None
    assert last.position > len(rows)
    assert found.units == found.accounted
