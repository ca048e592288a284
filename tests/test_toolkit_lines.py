"""Lines in blocks, whatever the block: compared with the whole text split at once."""

import io
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from harvest_toolkit.lines import (
    BOM,
    RAW_BYTES,
    LongLine,
    blocks,
    decode,
    line_starts,
    numbered,
    skip_line,
)

TEXTS = st.lists(
    st.one_of(st.sampled_from([b"\n", b"\r\n", BOM, b"\xff", "ü".encode(), b"x" * 9]), st.binary())
).map(b"".join)


def lines_of(data: bytes) -> list[bytes]:
    """All lines without their newlines, read at once."""
    found = data.split(b"\n")
    return found[:-1] if found[-1] == b"" else found


@settings(deadline=None)
@given(TEXTS, st.integers(1, 20), st.one_of(st.none(), st.integers(1, 12)))
def test_lines_are_the_same_in_blocks_of_any_size(data, block_bytes, limit):
    """Given any bytes, when read in small blocks, then each line is there once, long ones apart."""
    more = {} if limit is None else {"line_limit": limit}
    found: list[bytes | tuple[bytes, int]] = []
    for block in blocks(io.BytesIO(data), block_bytes=block_bytes, **more):
        if isinstance(block, LongLine):
            found.append((block.raw, block.size_bytes))
            ended = block.ended
        else:
            assert block
            found += lines_of(block)
            ended = block.endswith(b"\n")
        assert ended or len(found) == len(lines_of(data))
    if data:
        assert ended == data.endswith(b"\n")
    for line, each in zip(lines_of(data), found, strict=True):
        if limit is None or len(line) <= limit:
            assert each == line
        else:
            raw, size_bytes = each
            assert line.startswith(raw)
            assert size_bytes == len(line)


def test_a_long_line_is_given_by_its_beginning_and_its_neighbours_are_whole():
    data = b"a\n" + b"x" * 300_000 + b"\nb"
    first, long, last = blocks(io.BytesIO(data), line_limit=100_000)
    assert (first, last) == (b"a\n", b"b")
    assert isinstance(long, LongLine)
    assert (long.raw, long.size_bytes) == (b"x" * RAW_BYTES, 300_000)
    assert long.reason == "a line of 300000 bytes, more than 100000"


def test_the_rest_of_a_line_is_skipped():
    stream = io.BytesIO(b"some text\nnext")
    assert skip_line(stream, 4) == (9, True, b"ne")
    assert stream.read() == b"xt"
    assert skip_line(io.BytesIO(b"no end"), 4) == (6, False, b"")


@settings(deadline=None)
@given(TEXTS, st.integers(1, 9))
def test_lines_are_decoded_one_by_one_as_python_does(data, first):
    body = data.removeprefix(BOM) if first == 1 else data
    good, bad = [], []
    for number, raw in enumerate(body.removesuffix(b"\n").split(b"\n"), first):
        try:
            good.append((number, raw.decode()))
        except UnicodeDecodeError as error:
            bad.append((number, raw, error.start + 1))
    found = decode(data, first)
    assert list(zip(found.numbers, found.texts, strict=True)) == good
    assert [(n, raw) for n, raw, _ in found.invalid] == [(n, raw) for n, raw, _ in bad]
    for line, (_, raw, place) in zip(found.invalid, bad, strict=True):
        assert line.reason == f"not UTF-8: byte 0x{raw[place - 1]:02x} at byte {place}"
    assert found.count == len(good) + len(bad)


@settings(deadline=None)
@given(TEXTS, st.integers(1, 12))
def test_single_lines_are_numbered_and_cut(tmp_path_factory, data, limit):
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(data)
    expected = [
        (number, raw[:limit], len(raw))
        for number, raw in enumerate(lines_of(data.removeprefix(BOM)), 1)
    ]
    found = list(numbered(path, limit))
    assert [(line.number, line.raw, line.size_bytes) for line in found] == expected
    assert all(line.ended for line in found[:-1])
    assert not found or found[-1].ended == data.endswith(b"\n")


@settings(deadline=None)
@given(TEXTS, st.integers(1, 30))
def test_ranges_of_a_file_hold_whole_lines_and_all_of_them(tmp_path_factory, data, size):
    """Given a file, when cut into ranges, then the lines of the ranges are those of the file."""
    path = tmp_path_factory.mktemp("ranges") / "text"
    path.write_bytes(data)
    starts = line_starts(path, size, 1 << 20)
    ranges = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
    assert starts == sorted(set(starts))
    assert starts[0] == 0
    assert [line for each in ranges for line in lines_of(each)] == lines_of(data)


def test_a_range_does_not_begin_behind_a_line_that_is_too_long(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes(b"a\n" + b"x" * 100 + b"\nb\nc\n")
    assert line_starts(path, 10, 2) == [0]
    assert line_starts(path, 10, 1000) == [0, 103]
