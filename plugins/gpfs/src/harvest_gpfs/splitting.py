"""Splitting one list into parts that can be read, kept and moved separately.

Each part is a list with the original header. If the list ends with a trailer, each part does too,
with its own number of rows. Parts are consecutive ranges of lines; together they have all rows of
the list. A part gets its name only when it is complete, so an interrupted split can continue.
"""

import contextlib
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, Self

import attrs
import zstandard

from harvest import HarvestError, SourceError, UsageError
from harvest.toolkit.files import replacing, write_atomically
from harvest_toolkit.lines import blocks
from harvest_toolkit.streams import SUFFIXES, compression, open_stream

from .parse.counting import Before, after, is_remark, trailer_rows

COMPRESSIONS: Final = {"none": "", "gzip": ".gz", "zstd": ".zst"}
"""Compressions of parts, and the suffix of file names for each."""


def split(
    path: str | Path,
    directory: str | Path,
    parts: int,
    *,
    compress: str = "none",
    only: Sequence[int] | None = None,
    on_part: Callable[[Path], None] | None = None,
) -> list[Path]:
    """Split a list into parts in a directory; return their paths in order.

    path: the list, plain or compressed; a compressed one is unpacked twice, first for its length.
    parts: number of parts, of about equal size; some are empty if there are fewer lines.
    compress: compression of the parts: none, gzip or zstd.
    only: numbers, from 1, of the parts to write; default: all. Existing parts of the same list are
        kept.
    on_part: called with the path of each part when it exists.

        split("scan.list", "parts", 16)        # parts/scan.list.part-00001-of-00016, ...

    Raises UsageError for invalid arguments, SourceError if the list cannot be read, HarvestError if
    the directory holds parts of another list.
    """
    plan = Split.of(Path(path), Path(directory), parts, compress)
    numbers = range(1, parts + 1) if only is None else only
    for number in numbers:
        if not 1 <= number <= parts:
            raise UsageError(f"{number} is not a part of {parts}", remedy="parts begin with 1")
    plan.begin()
    there = [number for number in numbers if plan.path_of(number).exists()]
    for number in chain(there, plan.make([n for n in numbers if n not in there])):
        if on_part is not None:
            on_part(plan.path_of(number))
    return [plan.path_of(number) for number in range(1, parts + 1)]


@attrs.frozen(kw_only=True)
class Split:
    """Plan for splitting a list."""

    path: Path
    directory: Path
    parts: int
    compress: str
    packed: bool

    @classmethod
    def of(cls, path: Path, directory: Path, parts: int, compress: str) -> Self:
        """Check the arguments and build the plan; raises UsageError or SourceError."""
        path, directory = path.expanduser().absolute(), directory.expanduser().absolute()
        if not 1 <= parts <= 99_999:
            raise UsageError(f"{parts} parts cannot be made", remedy="give 1 to 99999")
        if compress not in COMPRESSIONS:
            remedy = "choose one of " + ", ".join(COMPRESSIONS)
            raise UsageError(f"parts cannot be compressed by {compress!r}", remedy=remedy)
        try:
            with path.open("rb") as file:
                packed = compression(file.read(4)) is not None
        except OSError as error:
            said, remedy = f"cannot be read: {error.strerror}", "name one list, plain or compressed"
            raise SourceError(said, where=str(path), remedy=remedy) from error
        return cls(path=path, directory=directory, parts=parts, compress=compress, packed=packed)

    def path_of(self, number: int) -> Path:
        """Return the path of a part, numbered from 1."""
        name = self.path.stem if self.path.suffix in SUFFIXES else self.path.name
        suffix = COMPRESSIONS[self.compress]
        return self.directory / f"{name}.part-{number:05}-of-{self.parts:05}{suffix}"

    def begin(self) -> None:
        """Create the directory; raise HarvestError if it has parts of another list."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            file, state = self.directory / f".{self.path.name}.split.json", self._state()
            try:
                found = json.loads(file.read_bytes())
            except (FileNotFoundError, ValueError):
                found = None
            if found == state:
                return
            stem = self.path_of(1).name.partition("00001-of-")[0]
            if any(entry.name.startswith(stem) for entry in self.directory.iterdir()):
                said = "parts of another list, or of an earlier state of this one, are there"
                remedy = "remove them, or choose another directory"
                raise HarvestError(said, where=str(self.directory), remedy=remedy)
            write_atomically(file, json.dumps(state).encode())
        except OSError as error:
            raise _unwritable(error, self.directory) from error

    def make(self, numbers: Sequence[int]) -> Iterator[int]:
        """Write parts in order; yield each number when its part is complete."""
        if not numbers:
            return
        size, header, trailed = self._measure()
        with open_stream(self.path) as stream:
            lines = _Lines(blocks(stream))
            for number in range(1, max(numbers) + 1):
                bound, closed = size * number // self.parts, trailed and number < self.parts
                chunks = lines.part(bound, closed=closed)
                if number in numbers:
                    self._write(self.path_of(number), b"" if number == 1 else header, chunks)
                    yield number
                for _ in chunks:  # skip the lines of a part that exists
                    pass

    def _state(self) -> dict[str, Any]:
        status = self.path.stat()
        return {
            "list": os.fsencode(self.path).decode("utf-8", "backslashreplace"),
            "size": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "parts": self.parts,
            "compress": self.compress,
        }

    def _measure(self) -> tuple[int, bytes, bool]:
        """Return the list's uncompressed bytes, header, and whether its format has a trailer."""
        with open_stream(self.path) as stream:
            chunks = blocks(stream)
            head = next(chunks, b"")
            size = sum(map(len, chunks), len(head)) if self.packed else self.path.stat().st_size
            if stream.trouble:
                raise SourceError(
                    f"{stream.trouble}, after {size} bytes of text",
                    where=str(self.path),
                    remedy="restore it from its origin; nothing was written",
                )
        header = b""
        for line in io.BytesIO(head):
            if not is_remark(line.rstrip(b"\n")) or trailer_rows(line.rstrip(b"\n")) is not None:
                break
            header += line if line.startswith(b"#") and line.endswith(b"\n") else b""
        return size, header, header.startswith(b"# cdm-policy-listing")

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


class _Lines:
    """Reader of a list's chunks of whole lines, part by part."""

    def __init__(self, chunks: Iterator[bytes]):
        self._chunks = chunks
        self._rest = b""
        self._place = 0
        self._listed = 0  # lines since the last trailer that list a file

    def part(self, bound: int, *, closed: bool) -> Iterator[bytes]:
        """Yield the lines of a part, with trailers that count the part's own rows.

        A trailer counts the rows since the last one. Rows in earlier parts are subtracted, so a
        wrong count stays wrong by the same number.
        bound: byte position; the part ends before the first line that starts there or later.
        closed: whether a trailer is added at the end of the part.
        """
        earlier, here, ended = self._listed, 0, False
        for chunk in self._until(bound):
            marked = b"# end rows=" in chunk
            for piece in io.BytesIO(chunk) if marked else [chunk]:
                due = trailer_rows(piece.rstrip(b"\n")) if marked else None
                if due is not None:
                    yield b"# end rows=%d\n" % (due - earlier if due >= earlier else due)
                    earlier, here, ended = 0, 0, True
                    continue
                here += after(Before(), piece).listed
                ended = ended and here == 0
                yield piece
        self._listed = earlier + here
        if closed and not ended:
            yield b"# end rows=%d\n" % here

    def _until(self, bound: int) -> Iterator[bytes]:
        """Yield chunks up to the first line that starts at ``bound`` or later."""
        while self._place < bound and (chunk := self._rest or next(self._chunks, b"")):
            self._rest = b""
            if self._place + len(chunk) > bound:
                # a line that starts before the bound belongs to this part
                end = chunk.find(b"\n", bound - 1 - self._place) + 1 or len(chunk)
                chunk, self._rest = chunk[:end], chunk[end:]
            self._place += len(chunk)
            yield chunk


def _compressor(file: IO[bytes], how: str) -> AbstractContextManager[IO[bytes]]:
    """Open a compressing writer on a file; closing the writer leaves the file open."""
    if how == "gzip":
        # omit name and time, so that equal parts have equal bytes
        return gzip.GzipFile("", "wb", 6, file, mtime=0)  # type: ignore[return-value]
    if how == "zstd":
        return zstandard.ZstdCompressor(3).stream_writer(file, closefd=False)
    return contextlib.nullcontext(file)


def _unwritable(error: OSError, path: Path) -> HarvestError:
    return HarvestError(
        f"cannot be written: {error.strerror}",
        where=str(error.filename or path),
        remedy="free space there, or choose another directory; finished parts are kept",
    )
