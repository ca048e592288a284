"""Splitting one list into parts that can be read, kept and moved each for itself.

A part is a list: it begins with the list's header, and where the list ends with a trailer, so does
each part, with its own number of rows.  Parts are ranges of the list's lines in their order; the
rows of all parts together are the list's.  A part appears under its name when it is complete, so
that splitting can be taken up again where it was cut short.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, Final

import attrs
import zstandard

from harvest import HarvestError, SourceError, UsageError
from harvest.toolkit.files import replacing, write_atomically
from harvest_toolkit.lines import BLOCK_BYTES, blocks
from harvest_toolkit.streams import compression, open_stream

from .parse.counting import Before, Counter, after, is_remark, trailer_rows

__all__ = ["COMPRESSIONS", "Split", "split"]

COMPRESSIONS: Final = {"none": "", "gzip": ".gz", "zstd": ".zst"}
"""How parts may be compressed, and how their names then end."""

_HEADER_BYTES: Final = 1 << 20
_PACKED: Final = (".gz", ".zst")


def split(
    path: str | Path,
    directory: str | Path,
    parts: int,
    *,
    compress: str = "none",
    only: Sequence[int] | None = None,
    on_part: Callable[[Path], None] | None = None,
) -> list[Path]:
    """Split a list into so many parts in a directory; gives the parts' paths in order.

    path: the list, plain, .gz or .zst; a compressed one is unpacked twice, first for its length.
    parts: how many; they are about equally large, and some are empty where there are fewer lines.
    compress: none, gzip or zstd, of the parts.
    only: numbers, from 1, of the parts to be made; all unless given.  Parts that are there from
        the same list are not made again.
    on_part: called with each part that is now there.

        split("scan.list", "parts", 16)        # parts/scan.list.part-00001-of-00016, ...

    Raises UsageError for what cannot be asked, SourceError for a list that cannot be read,
    HarvestError where the directory holds parts of another list.
    """
    plan = Split.of(Path(path), Path(directory), parts, compress)
    numbers = range(1, parts + 1) if only is None else only
    for number in numbers:
        if not 1 <= number <= parts:
            raise UsageError(f"{number} is not a part of {parts}", remedy="parts begin with 1")
    plan.begin()
    missing = [number for number in numbers if not plan.path_of(number).exists()]
    if on_part is not None:
        for number in numbers:
            if number not in missing:
                on_part(plan.path_of(number))
    for number in plan.make(missing):
        if on_part is not None:
            on_part(plan.path_of(number))
    return [plan.path_of(number) for number in range(1, parts + 1)]


@attrs.frozen(kw_only=True)
class Split:
    """What is to be made of a list."""

    path: Path
    directory: Path
    parts: int
    compress: str
    packed: bool

    @classmethod
    def of(cls, path: Path, directory: Path, parts: int, compress: str) -> Split:
        """Check what is asked; raises UsageError or SourceError."""
        path, directory = path.expanduser().absolute(), directory.expanduser().absolute()
        if not 1 <= parts <= 99_999:
            raise UsageError(f"{parts} parts cannot be made", remedy="ask for 1 to 99999")
        if compress not in COMPRESSIONS:
            raise UsageError(
                f"parts cannot be compressed by {compress!r}",
                remedy="choose one of " + ", ".join(COMPRESSIONS),
            )
        try:
            with path.open("rb") as file:
                packed = compression(file.read(4)) is not None
        except OSError as error:
            raise SourceError(
                f"cannot be read: {error.strerror}",
                where=str(path),
                remedy="name one list, plain, .gz or .zst",
            ) from error
        return cls(path=path, directory=directory, parts=parts, compress=compress, packed=packed)

    def path_of(self, number: int) -> Path:
        """Where a part lies; numbers are from 1."""
        name = self.path.name
        if name.endswith(_PACKED):
            name = name[: name.rindex(".")]
        suffix = COMPRESSIONS[self.compress]
        return self.directory / f"{name}.part-{number:05}-of-{self.parts:05}{suffix}"

    def begin(self) -> None:
        """Make the directory, and make sure that parts in it are this list's."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            state = self.directory / f".{self.path.name}.split.json"
            state_now = self._state()
            try:
                found = json.loads(state.read_bytes())
            except FileNotFoundError:
                found = None
            except ValueError:
                found = {}
            if found != state_now and self._others():
                raise HarvestError(
                    "parts of another list, or of an earlier state of this one, are there",
                    where=str(self.directory),
                    remedy="remove them, or choose another directory",
                )
            if found != state_now:
                write_atomically(state, json.dumps(state_now).encode())
        except OSError as error:
            raise _unwritable(error, self.directory) from error

    def make(self, numbers: Sequence[int]) -> Iterator[int]:
        """Write parts, one after the other; gives each number when its part is there."""
        if not numbers:
            return
        size, header, trailed = self._measure()
        bounds = [size * number // self.parts for number in range(self.parts + 1)]
        pieces = (self._unpacked if self.packed else self._plain)(bounds, numbers)
        for number, before, chunks in pieces:
            head = b"" if number == 1 else header
            closed = trailed and number < self.parts
            self._write(self.path_of(number), head, _renumber(chunks, before, closed=closed))
            yield number

    def _state(self) -> dict[str, Any]:
        status = self.path.stat()
        return {
            "list": os.fsencode(self.path).decode("utf-8", "backslashreplace"),
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "parts": self.parts,
            "compress": self.compress,
        }

    def _others(self) -> bool:
        stem = self.path_of(1).name.split(".part-")[0] + ".part-"
        return any(entry.name.startswith(stem) for entry in self.directory.iterdir())

    def _measure(self) -> tuple[int, bytes, bool]:
        """Unpacked bytes of the list, its header, and whether such lists end with a trailer."""
        with open_stream(self.path) as stream:
            head = bytearray()
            while len(head) < _HEADER_BYTES and (data := stream.read(BLOCK_BYTES)):
                head += data
            size = len(head)
            if self.packed:
                while data := stream.read(BLOCK_BYTES):
                    size += len(data)
            else:
                size = self.path.stat().st_size
            if stream.trouble:
                raise SourceError(
                    f"{stream.trouble}, after {size} bytes of text",
                    where=str(self.path),
                    remedy="restore it from its origin; nothing was written",
                )
        header = bytearray()
        for line in io.BytesIO(head):
            if not is_remark(line.rstrip(b"\n")) or trailer_rows(line.rstrip(b"\n")) is not None:
                break
            if line.startswith(b"#") and line.endswith(b"\n"):
                header += line
        return size, bytes(header), header.startswith(b"# cdm-policy-listing")

    def _plain(
        self, bounds: Sequence[int], numbers: Sequence[int]
    ) -> Iterator[tuple[int, Before, Iterator[bytes]]]:
        counter = Counter(self.path)
        for number in numbers:
            start, stop = (self._line_at(bounds[n]) for n in (number - 1, number))
            with open_stream(self.path, start, stop) as stream:
                yield number, counter.before(start), blocks(stream)

    def _line_at(self, place: int) -> int:
        """Where the first line begins at or after a place."""
        if place == 0:
            return 0
        with self.path.open("rb", buffering=0) as file:
            file.seek(place - 1)
            while data := file.read(1 << 20):
                end = data.find(b"\n")
                if end >= 0:
                    return file.tell() - len(data) + end + 1
            return file.tell()

    def _unpacked(
        self, bounds: Sequence[int], numbers: Sequence[int]
    ) -> Iterator[tuple[int, Before, Iterator[bytes]]]:
        with open_stream(self.path) as stream:
            cutter = _Cutter(blocks(stream))
            for number in range(1, self.parts + 1):
                before = cutter.before
                chunks = cutter.until(bounds[number])
                if number in numbers:
                    yield number, before, chunks
                for _ in chunks:  # of a part that is there already
                    pass

    def _write(self, path: Path, header: bytes, chunks: Iterator[bytes]) -> None:
        try:
            with (
                replacing(path) as temporary,
                temporary.open("wb") as file,
                _compressor(file, self.compress) as out,
            ):
                out.write(header)
                for chunk in chunks:
                    out.write(chunk)
        except OSError as error:
            raise _unwritable(error, path) from error


class _Cutter:
    """Goes through a list's chunks of whole lines and cuts them at places."""

    def __init__(self, chunks: Iterator[bytes]):
        self._chunks = chunks
        self._rest = b""
        self._place = 0
        self.before = Before()

    def until(self, bound: int) -> Iterator[bytes]:
        """Chunks up to the first line that begins at ``bound`` or later."""
        while self._place < bound:
            chunk = self._rest or next(self._chunks, b"")
            if not chunk:
                return
            self._rest = b""
            if self._place + len(chunk) > bound:
                # a line that begins before the bound is this part's
                end = chunk.find(b"\n", bound - 1 - self._place) + 1 or len(chunk)
                chunk, self._rest = chunk[:end], chunk[end:]
            self._place += len(chunk)
            self.before = after(self.before, chunk)
            yield chunk


def _renumber(chunks: Iterator[bytes], before: Before, *, closed: bool) -> Iterator[bytes]:
    """The chunks of a part, with trailers that speak of the part's own rows.

    A trailer counts the rows since the last one; those that lie in earlier parts are taken off, so
    that a number that was wrong stays wrong by as much.
    closed: whether the part gets a trailer of its own at its end.
    """
    earlier = before.listed - before.at_trailer
    here = Before()
    ended = False
    for chunk in chunks:
        marked = b"# end rows=" in chunk
        for piece in io.BytesIO(chunk) if marked else [chunk]:
            due = trailer_rows(piece.rstrip(b"\n")) if marked else None
            if due is not None:
                yield b"# end rows=%d\n" % (due - earlier if due >= earlier else due)
                earlier, here, ended = 0, Before(), True
                continue
            here = after(here, piece)
            ended = ended and here.listed == 0
            yield piece
    if closed and not ended:
        yield b"# end rows=%d\n" % here.listed


def _compressor(file: IO[bytes], how: str) -> AbstractContextManager[IO[bytes]]:
    """What compresses into a file, which stays open."""
    if how == "gzip":
        # without name and time, so that the same part has the same bytes
        return gzip.GzipFile("", "wb", 6, file, mtime=0)  # type: ignore[return-value]
    if how == "zstd":
        return zstandard.ZstdCompressor(3).stream_writer(file, closefd=False)
    return contextlib.nullcontext(file)


def _unwritable(error: OSError, path: Path) -> HarvestError:
    return HarvestError(
        f"cannot be written: {error.strerror}",
        where=str(error.filename or path),
        remedy="make room there, or choose another directory; parts that are there are kept",
    )
