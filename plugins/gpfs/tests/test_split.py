"""Splitting lists: every part is a list, and all parts together are the whole one."""

import gzip
import io
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest import HarvestError, SourceError, UsageError
from harvest_gpfs import split

LINE = b"%d 65537 0  |size=%d|kballoc=16|uid=7| -- /data/u/file_%d\n"
HEADER = b"# cdm-policy-listing v1\n# fields: size|uid\n"
POSITIONAL = b"%d 65537 0  %d|7 -- /data/u/file_%d\n"


def lines(count: int, form: bytes = LINE) -> list[bytes]:
    return [form % (n, n * 3, n) for n in range(1, count + 1)]


def plain(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read()
    return data


def rows_of(location: Path, out: Path) -> tuple[list[tuple[Any, ...]], Any]:
    result = harvest.run(f"gpfs:{location}", f"parquet:{out}")
    frame = harvest.open(out)["gpfs.file"].select("inode", "size_bytes", "path")
    return sorted(frame.collect().rows()), result


@pytest.mark.parametrize(("packed", "compress"), [("", "none"), (".gz", "zstd"), (".zst", "gzip")])
def test_parts_hold_the_lines_in_their_order(tmp_path: Path, packed: str, compress: str) -> None:
    data = b"".join(lines(100))
    path = tmp_path / f"scan.list{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}[packed]
    path.write_bytes(pack(data))
    parts = split(path, tmp_path / "parts", 7, compress=compress)
    suffix = {"none": "", "gzip": ".gz", "zstd": ".zst"}[compress]
    assert [p.name for p in parts[:2]] == [
        f"scan.list.part-00001-of-00007{suffix}",
        f"scan.list.part-00002-of-00007{suffix}",
    ]
    assert b"".join(map(plain, parts)) == data
    assert all(plain(part).endswith(b"\n") for part in parts)
    assert max(len(plain(p)) for p in parts) < 2 * min(len(plain(p)) for p in parts)


@pytest.mark.slow
@given(
    pieces=st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"# end", b"")), max_size=30),
    last=st.binary(max_size=5),
    parts=st.integers(1, 9),
    packed=st.booleans(),
)
def test_any_bytes_are_cut_at_line_ends_alone(
    tmp_path_factory: Any, pieces: list[bytes], last: bytes, parts: int, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    data = b"1 1 0  -- /a\n" + b"".join(piece + b"\n" for piece in pieces)
    data += last.replace(b"\n", b"")
    path = folder / "list.gz" if packed else folder / "list"
    path.write_bytes(gzip.compress(data) if packed else data)
    made = [part.read_bytes() for part in split(path, folder / "parts", parts)]
    assert b"".join(made) == data
    filled = [part for part in made if part]
    assert all(part.endswith(b"\n") for part in filled[:-1])


@pytest.mark.parametrize(("parts", "packed"), [(1, False), (7, False), (2, True)])
def test_each_part_has_the_header_and_a_trailer_of_its_own(
    tmp_path: Path, packed: bool, parts: int
) -> None:
    data = HEADER + b"".join(lines(50, POSITIONAL)) + b"# end rows=50\n"
    path = tmp_path / ("scan.list.gz" if packed else "scan.list")
    path.write_bytes(gzip.compress(data) if packed else data)
    made = split(path, tmp_path / "parts", parts)
    for part in made:
        text = part.read_bytes()
        listed = text.count(b" -- ")
        assert text.startswith(HEADER)
        assert text.endswith(b"# end rows=%d\n" % listed)
    whole, _ = rows_of(path, tmp_path / "whole")
    found, result = rows_of(tmp_path / "parts", tmp_path / "out")
    assert found == whole
    assert len(found) == 50
    assert result.account.rejected == 0


def test_a_wrong_trailer_stays_wrong_by_as_much(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(HEADER + b"".join(lines(50, POSITIONAL)) + b"# end rows=53\n")
    made = split(path, tmp_path / "parts", 4)
    last = made[-1].read_bytes()
    assert last.endswith(b"# end rows=%d\n" % (last.count(b" -- ") + 3))
    _, result = rows_of(tmp_path / "parts", tmp_path / "out")
    assert result.account.rejected == 1


def test_a_list_cut_inside_a_line_stays_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(lines(20))[:-5])
    split(path, tmp_path / "parts", 3)
    found, result = rows_of(tmp_path / "parts", tmp_path / "out")
    assert len(found) == 19
    [reject] = harvest.open(tmp_path / "out").rejects()
    assert "incomplete" in reject["reason"]
    assert result.account.rejected == 1


def test_what_was_cut_short_is_taken_up_again(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(lines(90)))
    whole = [part.read_bytes() for part in split(path, tmp_path / "parts", 3)]
    second = tmp_path / "parts" / "scan.list.part-00002-of-00003"
    first = second.with_name("scan.list.part-00001-of-00003")
    kept = first.stat().st_mtime_ns
    second.unlink()
    assert [part.read_bytes() for part in split(path, tmp_path / "parts", 3)] == whole
    assert first.stat().st_mtime_ns == kept


@pytest.mark.slow
def test_what_a_killed_split_left_goes_at_the_next_call(tmp_path: Path) -> None:
    path, parts = tmp_path / "scan.list", tmp_path / "parts"
    path.write_bytes(b"".join(lines(400_000)))
    command = [sys.executable, "-m", "harvest", "gpfs", "split", path, parts, "-n", "3"]
    killed = subprocess.Popen([*command, "--compress", "gzip"], stdout=subprocess.DEVNULL)
    while not list(parts.glob(".*part*.tmp")):
        assert killed.poll() is None, "it ended before it could be killed"
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    assert list(parts.glob(".*part*.tmp"))

    subprocess.run([*command, "--compress", "gzip"], check=True, stdout=subprocess.DEVNULL)

    assert not list(parts.glob("*.tmp")) + list(parts.glob(".*.tmp"))
    made = sorted(parts.glob("scan.list.part-*"))
    assert b"".join(gzip.decompress(part.read_bytes()) for part in made) == path.read_bytes()


def test_one_part_can_be_made_alone(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(lines(90)))
    whole = [part.read_bytes() for part in split(path, tmp_path / "all", 3)]
    for number in (3, 1, 2):
        split(path, tmp_path / "each", 3, only=[number])
        made = sorted((tmp_path / "each").glob("scan*"))
        assert made[-1 if number == 3 else 0].name.startswith("scan.list.part-0000")
    assert [p.read_bytes() for p in sorted((tmp_path / "each").glob("scan*"))] == whole


def test_parts_of_a_list_that_changed_are_not_mixed_with_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(lines(90)))
    split(path, tmp_path / "parts", 3)
    path.write_bytes(b"".join(lines(91)))
    with pytest.raises(HarvestError, match="earlier state"):
        split(path, tmp_path / "parts", 3)
    with pytest.raises(HarvestError, match="another list"):
        split(path, tmp_path / "parts", 4)


def test_more_parts_than_lines_leave_some_empty(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(lines(2)))
    made = split(path, tmp_path / "parts", 5)
    assert sum(part.stat().st_size > 0 for part in made) == 2
    found, _ = rows_of(tmp_path / "parts", tmp_path / "out")
    assert len(found) == 2


def test_a_damaged_compressed_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scan.list.gz"
    path.write_bytes(gzip.compress(b"".join(lines(5000)))[:-2000])
    with pytest.raises(SourceError, match="nothing was written"):
        split(path, tmp_path / "parts", 3)
    assert not list((tmp_path / "parts").glob("scan*"))


def test_what_cannot_be_asked_is_told(tmp_path: Path) -> None:
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(lines(2)))
    with pytest.raises(UsageError, match="parts"):
        split(path, tmp_path / "parts", 0)
    with pytest.raises(UsageError, match="compressed by 'bzip2'"):
        split(path, tmp_path / "parts", 2, compress="bzip2")
    with pytest.raises(UsageError, match="3 is not a part of 2"):
        split(path, tmp_path / "parts", 2, only=[3])
    with pytest.raises(SourceError, match="cannot be read"):
        split(tmp_path / "absent", tmp_path / "parts", 2)
