"""Files and pipes opened alike: a pipe is read as it comes, and again until it is given forward."""

from __future__ import annotations

import gzip
import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harvest import SourceError
from harvest_toolkit.line_blocks import split
from harvest_toolkit.lines import blocks
from harvest_toolkit.live import forward, open_input
from harvest_toolkit.streams import open_stream


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """A path by which an open pipe is read, and the descriptor that writes into it."""
    reading, writing = os.pipe()
    path = tmp_path / "pipe"
    path.symlink_to(f"/dev/fd/{reading}")
    yield path, writing
    os.close(reading)


def test_what_is_there_is_given_though_more_may_come(pipe: tuple[Path, int]) -> None:
    path, writing = pipe
    os.write(writing, b"a first line\n")
    with open_input(path) as stream:
        assert stream.read(1 << 20) == b"a first line\n"
        os.write(writing, b"a second\n")
        assert stream.read(1 << 20) == b"a second\n"
        os.close(writing)
        assert stream.read(1 << 20) == b""
        forward(stream)


def test_it_is_opened_and_gone_back_in_until_it_is_given_forward(pipe: tuple[Path, int]) -> None:
    path, writing = pipe
    os.write(writing, b"0123456789")
    with open_input(path) as stream:
        assert stream.read(3) == b"012"
    with open_input(path) as stream:
        assert stream.read(4) == b"0123"
        stream.seek(0)
        forward(stream)
        assert stream.read(100) == b"0123456789"
        with pytest.raises(io.UnsupportedOperation):
            stream.seek(0)
        os.close(writing)
        assert stream.read(1) == b""


def test_more_than_is_kept_in_memory_is_given_again(pipe: tuple[Path, int]) -> None:
    path, writing = pipe
    text = os.urandom(9 << 20)

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    with open_input(path) as stream:
        first = b"".join(iter(lambda: stream.read(1 << 20), b""))
        stream.seek(0)
        again = b"".join(iter(lambda: stream.read(1 << 20), b""))
        forward(stream)
    writer.join()
    assert first == text
    assert again == text


def test_lines_of_a_pipe_are_those_of_a_file(pipe: tuple[Path, int], tmp_path: Path) -> None:
    path, writing = pipe
    text = b"".join(b"line %d\n" % number for number in range(4_000))
    (tmp_path / "file").write_bytes(text)
    os.write(writing, text)
    os.close(writing)
    found = []
    for place in (tmp_path / "file", path):
        with open_stream(place, once=True) as stream:
            found.append(b"".join(blocks(stream)))
    assert found == [text, text]
    assert len(split(text, 1)) == 4_000


@pytest.mark.parametrize("packed", [False, True])
def test_what_gzip_packed_is_unpacked(tmp_path: Path, *, packed: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(b"text\n") if packed else b"text\n")
    with open_input(path, unpack=True) as stream:
        assert stream.read() == b"text\n"
    assert stream.closed


def test_nothing_through_a_pipe_is_an_error(pipe: tuple[Path, int]) -> None:
    path, writing = pipe
    os.close(writing)
    with open_input(path) as stream:
        with pytest.raises(SourceError, match="nothing came"):
            stream.read(10)
        forward(stream)
