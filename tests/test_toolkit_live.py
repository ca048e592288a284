"""Files and pipes opened alike: a pipe is read as it comes, and again until it is given forward."""

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harvest_toolkit.live import forward, open_input


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
