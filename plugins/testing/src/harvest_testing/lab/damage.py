"""Damage that files suffer: cut short, zeroed after a crash, in another encoding, concatenated.

Each kind of damage is a function of a file's bytes. It yields pairs of a description of the damage
and the damaged content, which are the same in every run.
"""

import contextlib
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

Corruption: TypeAlias = Callable[[bytes], Iterator[tuple[str, bytes]]]
"""A function from a file's content to pairs (description of the damage, damaged content)."""

_LONG = 1 << 20
_TRIED = 8

UNEVEN = b"9007199254740993"
"""2**53 + 1, the smallest positive integer that a float cannot represent."""


def truncated(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Cut the file short, as when the writer died or the disk was full."""
    size = len(data)
    for end in sorted({1, size // 3, size // 2, size * 9 // 10, size - 1}):
        if 0 < end < size:
            yield f"cut after {end} of {size} bytes", data[:end]


def flipped(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Flip one bit, as faulty storage or memory does."""
    chance = random.Random(4711)  # noqa: S311 - the same damage in every run
    for _ in range(min(8, len(data))):
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        yield f"bit {bit} of byte {at} flipped", bytes(damaged)


def zeroed(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Put zero bytes where the file system never wrote a block, or only reserved space."""
    size = len(data)
    third = size // 3
    yield f"bytes {third} to {2 * third} are zero", data[:third] + bytes(third) + data[2 * third :]
    yield "4096 zero bytes at the end", data + bytes(4096)
    yield "zero bytes throughout", bytes(size or 1)


def garbage(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Put random bytes instead of the content, after it, or into its middle."""
    noise = random.Random(815).randbytes(2048)  # noqa: S311 - the same damage in every run
    middle = len(data) // 2
    yield "random bytes instead", noise
    yield "random bytes at the end", data + noise
    yield f"random bytes at byte {middle}", data[:middle] + noise + data[middle:]


def long_line(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Insert a line of 1 MiB."""
    end = data.find(b"\n", len(data) // 2) + 1
    yield f"a line of {_LONG} bytes at byte {end}", data[:end] + b"x" * _LONG + b"\n" + data[end:]


def other_encoding(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Change the encoding or line ends, as in text from another system."""
    for at in sorted({len(data) * part // 8 for part in (1, 3, 4, 6, 7)}):
        yield f"bytes that are not UTF-8 at byte {at}", data[:at] + b"\xe9\xff" + data[at:]
    yield "line ends of another system", data.replace(b"\n", b"\r\n")
    yield "a byte order mark before it", b"\xef\xbb\xbf" + data
    yield "as UTF-16", data.decode("latin-1").encode("utf-16")
    for begin in list(re.finditer(rb'[:,\[]\s*"', data))[:_TRIED]:
        at = begin.end()
        yield (
            f"half a surrogate pair, as JSON writes it, at byte {at}",
            (data[:at] + rb"\ud83d" + data[at:]),
        )


def repeated(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Repeat the content or its second half, or leave out the first half."""
    yield "the whole content twice", data + data
    yield "the second half twice", data + data[len(data) // 2 :]
    yield "the first half left out", data[len(data) // 2 :]


def large_number(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Replace a number by one that a float cannot represent, or that no integer type can hold."""
    found = list(re.finditer(rb"[0-9]+", data))
    for number in found[:: max(1, len(found) // 5)][:5]:
        for digits in (UNEVEN, b"9" * 30, b"1" + b"0" * 400):
            what = digits.decode() if len(digits) < 40 else f"a number of {len(digits)} digits"
            changed = data[: number.start()] + digits + data[number.end() :]
            yield f"{what} at byte {number.start()}", changed


CORRUPTIONS: Mapping[str, Corruption] = {
    function.__name__: function
    for function in (
        truncated,
        flipped,
        zeroed,
        garbage,
        long_line,
        other_encoding,
        repeated,
        large_number,
    )
}
"""Kinds of damage by name; none of them can kill the process that reads the file."""


@contextlib.contextmanager
def mended(path: Path) -> Iterator[bytes]:
    """Yield a file's content, and restore content and times after the block."""
    data, times = path.read_bytes(), path.stat()
    try:
        yield data
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def damaged(files: Iterable[Path], every: int = 1) -> Iterator[tuple[Path, str]]:
    """Damage one file per suffix in every n-th way; yield (path, damage); restore it at the end."""
    for path in {path.suffix: path for path in reversed(list(files))}.values():
        with mended(path) as data:
            ways = [*truncated(data), *repeated(data), *garbage(data), *other_encoding(data)]
            for done, content in ways[::every]:
                path.write_bytes(content)
                yield path, done
