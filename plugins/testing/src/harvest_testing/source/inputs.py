"""Promises about inputs: all are named and reported, listed cheaply and in a fixed order."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

from harvest import Partition, SourceError
from harvest_testing.lab.damage import garbage, other_encoding, repeated, truncated
from harvest_testing.lab.failing import failing
from harvest_testing.promise import does_not_apply, promise, require

from .kit import SourceKit, copy_of, files_of, is_input
from .reading import (
    REJECTS,
    Piece,
    all_lines,
    difference,
    is_row,
    read_all,
    read_piece,
    require_same,
)

_Key: TypeAlias = tuple[str, str]
"""A partition's origin and id."""

_Partitions: TypeAlias = Mapping[_Key, tuple[Partition, list[str]]]
"""What came of each partition."""

PLANNED = (
    "let plan() list it as any other (harvest.toolkit.files.may_be): read() then reports why it "
    "cannot be read"
)

BLANK_BEFORE = "with an empty line before it"

LARGE = 16 << 20
"""Bytes of the inputs of which a plan, or a look for the format, may read but a part."""


class InputPromises(SourceKit):
    """The tests of what belongs to a partition, and of finding that out."""

    @promise("a partition names every file that its rows come from", quick=True)
    def test_inputs_are_complete(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        before = self._by_partition(location)
        for path in files_of(location):
            data, times = path.read_bytes(), path.stat()
            for changed in (*_other_byte(data), data[: len(data) // 2], b""):
                path.write_bytes(changed)
                self._require_named(path, before, self._by_partition(location))
            path.write_bytes(data)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _require_named(self, path: Path, before: _Partitions, after: _Partitions) -> None:
        for key, (partition, lines) in before.items():
            now, then = after.get(key, (partition, lines))
            own = partition.fingerprint is not None
            named = not own and (is_input(path, partition) or not partition.inputs)
            require(
                then == lines or not own or now.fingerprint != partition.fingerprint,
                f"{path.name} changes what comes of partition {partition.id!r}, and its "
                f"fingerprint stays {partition.fingerprint!r}",
                "make the fingerprint of all that is read; or give none, and name the files in "
                "`inputs`: else a later run keeps stale rows",
            )
            require(
                then == lines or named or now.fingerprint != partition.fingerprint,
                f"{path.name} changes what comes of partition {partition.id!r}, whose inputs "
                f"are {partition.inputs}:\n{difference(lines, then)}",
                "name all files that read() opens in the partition's inputs, or make a "
                "fingerprint of them; else a later run keeps stale rows",
            )

    def _by_partition(self, location: Path) -> _Partitions:
        try:
            pieces = read_all(self.open(location))
        except SourceError:
            return {}
        return {(p.partition.origin, p.partition.id): (p.partition, all_lines([p])) for p in pieces}

    @promise("an input that cannot be opened is reported", quick=True)
    def test_unreadable_input_is_reported(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        source = self.open(location)
        before = read_all(source, self.partitions(source))
        for path in files_of(location):
            mine = [piece for piece in before if is_input(path, piece.partition)]
            away = path.rename(tmp_path / "away")
            path.symlink_to(path.name)  # a link to itself, which not even root can open
            try:
                for piece in mine:
                    unread = read_piece(source, piece.partition)
                    self._require_reported(path, all_lines([piece]), unread)
            finally:
                path.unlink()
                away.rename(path)

    def _require_reported(self, path: Path, before: list[str], piece: Piece) -> None:
        """What cannot be opened is reported: by a reject or an error where it costs rows."""
        after = all_lines([piece])
        new = sorted(set(after) - set(before))
        if self.existence_is_a_row or any(line.startswith(REJECTS) for line in new):
            return
        rows, left = (sum(map(is_row, lines)) for lines in (before, after))
        noted = [line for line in new if line.startswith("note ")]
        require(
            noted and left >= rows,
            f"{path.name} cannot be opened, and partition {piece.partition.id!r} gives {left} of "
            f"{rows} rows, no reject of it and {len(noted)} notes",
            "let the OSError of open() pass: it becomes a reject of the partition; a note is for "
            "what costs no row",
        )

    @promise("an input that cannot be opened is planned and reported, and costs itself alone",
             quick=True)  # fmt: skip
    def test_unreadable_input_costs_itself_alone(self, tmp_path: Path) -> None:
        location = self.several_files(self.make_files(tmp_path))
        before = self._by_partition(location)
        for path in files_of(location):
            others = {key: lines for key, (partition, lines) in before.items()
                      if not is_input(path, partition)}  # fmt: skip
            mine = {key: lines for key, (_, lines) in before.items() if key not in others}
            for why in chain(_unreadable(path, tmp_path / "away"), failing(path)):
                self._require_costs_itself(path, f"{path.name} {why}", mine, others, location)

    def _require_costs_itself(
        self,
        path: Path,
        said: str,
        mine: Mapping[_Key, list[str]],
        others: Mapping[_Key, list[str]],
        location: Path,
    ) -> None:
        """mine, others: what comes of partitions that a file is an input of, and of others."""
        try:
            pieces = read_all(self.open(location))
        except SourceError as error:
            require(not others, f"{said}, and plan() refuses all: {error}", PLANNED)
            return
        found = {(p.partition.origin, p.partition.id): all_lines([p]) for p in pieces}
        for key, lines in others.items():
            about = f"{said}, and {key} comes out otherwise"
            require_same(found.get(key, []), lines, PLANNED, about=about)
        named = [piece for piece in pieces if is_input(path, piece.partition)]
        require(named or not mine, f"{said}, and plan() does not name it", PLANNED)
        for piece in named:
            before = mine.get((piece.partition.origin, piece.partition.id), [])
            if not path.is_file() or all_lines([piece]) != before:  # else opened in another way
                self._require_reported(path, before, piece)


def damaged(files: Iterable[Path]) -> Iterator[tuple[Path, str, bytes]]:
    """The first file of each ending, damaged in one way after the other, and mended at the end."""
    for path in {path.suffix: path for path in reversed(list(files))}.values():
        data, times = path.read_bytes(), path.stat()
        ways = [(BLANK_BEFORE, b"\n" + data), *truncated(data), *repeated(data)]
        for done, content in [*ways, *garbage(data), *other_encoding(data)]:
            path.write_bytes(content)
            yield path, done, content
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def damaged_copies(location: Path | str, directory: Path) -> Iterator[Path]:
    """Copies of a sample below a directory, if it has files, each damaged in another way."""
    top = Path(location)
    files = files_of(top) if top.exists() else []
    for number, _ in enumerate(islice(damaged(files), 0, None, 7)):
        yield copy_of(top, directory / f"damaged {number}" / top.name)


def _other_byte(data: bytes) -> Iterator[bytes]:
    """A content of the same size, with another digit or letter near its end and its beginning."""
    found = [at for at, byte in enumerate(data) if chr(byte).isascii() and chr(byte).isalnum()]
    for at in dict.fromkeys(found[-1:] + found[len(found) // 2 :][:1]):
        other = b"7" if data[at : at + 1] != b"7" else b"8"
        yield data[:at] + other + data[at + 1 :]


def bytes_read(call: Callable[[], object]) -> int:
    """How many bytes this process read from files meanwhile."""
    try:
        before = _read_so_far()
    except OSError as error:
        does_not_apply(f"this system does not count what a process reads: {error}")
    with contextlib.suppress(SourceError):  # such content need not be one of its inputs
        call()
    return _read_so_far() - before


def _read_so_far() -> int:
    counts = Path("/proc/self/io").read_text()
    return int(counts.partition("rchar:")[2].split(None, 1)[0])


def _unreadable(path: Path, away: Path) -> Iterator[str]:
    """Make a file one that cannot be opened, in one way after the other, and say in which."""
    path.rename(away)
    for target in (path.name, "nowhere"):
        path.symlink_to(target)
        yield f"is a link to {target}"
        path.unlink()
    away.rename(path)
