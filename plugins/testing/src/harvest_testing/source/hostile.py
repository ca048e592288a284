"""Promises about input that is damaged, empty, foreign, or has a name that nobody expects."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from harvest import (
    Collected,
    Detection,
    SourceError,
)
from harvest.toolkit.texts import printable
from harvest_testing.lab.damage import UNEVEN
from harvest_testing.lab.files import odd_names
from harvest_testing.promise import (
    BrokenPromise,
    promise,
    raises_nothing,
    require,
)

from .kit import SourceKit, copy_of, files_of, is_input
from .reading import (
    REPLACED,
    Piece,
    all_lines,
    planned,
    read_all,
    require_raw,
    require_same,
)

TRIED = 6
"""Files that are called otherwise."""

LOST = (
    "count every unit with ctx.read(), and reject what is none; or raise harvest.SourceError where "
    "the file as a whole is not yours"
)
FOREIGN = {
    "empty": b"",
    "a line": b"hello, world\n",
    "zero bytes": bytes(5000),
    "bytes": bytes(range(256)) * 20,
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "packed": b"\x1f\x8b\x08\0\0\0\0\0\0\3",
    "JSON": b'{"what": ["is", {"this": null}]}\n',
    "a table": b"a,b,c\n1,2,3\n",
}


ROUNDED = str(int(float(UNEVEN)))
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""Beginnings of files of gzip, bzip2, xz and zstd."""


class HostilePromises(SourceKit):
    """The tests that give the source what it should not get."""

    @promise("damaged input becomes rows and rejects; nothing is lost, nothing breaks", quick=True)
    def test_corrupt_input_becomes_rejects(self, tmp_path: Path, corruption: str) -> None:
        location = self.make_files(tmp_path)
        replaced = any(REPLACED in line for line in all_lines(self.read(location)))
        for path, done, content in self._damage_each(location, corruption):
            try:
                pieces = self._require_told(location, path, content)
                if corruption == "truncated":
                    _require_cut_seen(path, pieces)
                if not replaced:
                    _require_values_kept(content, pieces)
                _require_raw_kept(path, content, pieces)
            except BrokenPromise as error:
                error.seen = f"{path.name}, {done}:\n{error.seen}"
                raise

    def _damage_each(self, location: Path, corruption: str) -> Iterator[tuple[Path, str, bytes]]:
        """Each file of the sample damaged in each way, one after the other, then mended."""
        for path in files_of(location):
            data, times = path.read_bytes(), path.stat()
            for done, content in self.corruptions[corruption](data):
                path.write_bytes(content)
                yield path, done, content
            path.write_bytes(data)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _require_told(self, location: Path, path: Path, data: bytes) -> list[Piece]:
        source = self.open(location)
        try:
            partitions = planned(source)
        except SourceError as error:
            self._require_alone(location, path, error)
            return []
        mine = [p for p in partitions if is_input(path, p)]
        pieces = self.checked(read_all(source, mine or partitions))
        require(
            not mine or any(map(_tells, pieces)) or self.holds_nothing(path, data),
            f"its {len(data)} bytes give no row, no reject, no note and no error",
            LOST + ". Where such content holds nothing, say so in holds_nothing()",
        )
        return pieces

    def _require_alone(self, location: Path, path: Path, error: SourceError) -> None:
        """A directory may be refused for a damaged file only if there is nothing else to read."""
        if not location.is_dir():
            return
        away = path.rename(location.parent / "out of the way")
        try:
            others = planned(self.open(location))
        except SourceError:
            return
        finally:
            away.rename(path)
        require(
            not others,
            f"plan() refuses the directory, and with it {len(others)} sound partitions: {error}",
            "list the damaged file as a partition, and refuse it in read()",
        )

    @promise("an input without content gives no rows, and no failure", quick=True)
    def test_empty_input_gives_no_rows(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        for path in files_of(location):
            path.write_bytes(b"")
        try:
            pieces = self.read(location)
        except SourceError:
            return
        if not self.existence_is_a_row:
            for piece in pieces:
                require(
                    piece.found is None or not piece.found.written,
                    f"{piece.partition.origin}: rows of empty files",
                    "make rows of what is in a file alone; where that a file exists is worth a "
                    "row, set existence_is_a_row = True",
                )

    @promise("what is not there or nothing of its kind is refused with words", quick=True)
    def test_foreign_input_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        for path in (tmp_path / "absent", tmp_path / "folder"):
            self._require_refused(path)
        for name, content in FOREIGN.items():
            path = tmp_path / f"{name}.dat"
            path.write_bytes(content)
            try:
                pieces = self.read(path)
            except SourceError as error:
                require(
                    error.message, f"{name}: a SourceError without a message", "say what is amiss"
                )
                continue
            require(
                not content.strip() or any(map(_tells, pieces)),
                f"a file with {name} gives no row, no reject, no note and no error",
                LOST,
            )

    def _require_refused(self, path: Path) -> None:
        try:
            pieces = self.read(path)
        except SourceError as error:
            require(
                error.message and error.remedy,
                f"{path.name}: {error}",
                "give the SourceError a message, `where` and `remedy`",
            )
        else:
            require(
                not any(map(_tells, pieces)),
                f"{path.name} gives rows",
                "raise harvest.SourceError in plan() where there is nothing to read",
            )

    @promise("detect() answers for any path, with a reason, and raises nothing", quick=True)
    def test_detection_is_harmless(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        self._require_answer(tmp_path / "folder")
        os.mkfifo(tmp_path / "pipe")
        with os.fdopen(os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK), "r+b", 0) as pipe:
            size = pipe.write(bytes(1 << 16))
            self._require_answer(tmp_path / "pipe")
            require(
                len(pipe.read(size)) == size,
                "detect() reads a named pipe: it waits for who writes, and takes what comes",
                "give None for what is not a regular file (Path.is_file)",
            )
        answers = []
        for name, content in FOREIGN.items():
            path = tmp_path / f"{name}.dat"
            path.write_bytes(content)
            answers.append(self._require_answer(path))
        require(
            None in answers,
            f"detect() recognises {', '.join(FOREIGN)}, whatever a file is",
            "give None for what is not recognised, so that other sources get it",
        )

    def _require_answer(self, path: Path) -> Detection | None:
        with raises_nothing(
            f"detect({path.name!r}) raised ",
            "look at the first bytes only, and give None for what is not recognised",
        ):
            answer = self.open(path).detect(path)
        require(
            answer is None
            or (isinstance(answer, Detection) and 0 <= answer.confidence <= 1 and answer.reason),
            f"detect({path.name!r}) gives {answer!r}",
            "give None, or harvest.Detection(confidence from 0 to 1, reason)",
        )
        return answer

    @promise("names of any characters and bytes are read like others", quick=True)
    def test_names_of_any_bytes(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        expected = all_lines(self.read(location), location.parent)
        for odd in odd_names(tmp_path):
            places = [tmp_path / odd / location.name]
            if not location.is_dir() and not self.names_matter:
                places.append(tmp_path / odd / f"{odd}{location.name}")
            for place in places:
                copy = copy_of(location, place)
                found = all_lines(self.read(copy), copy.parent)
                found = [
                    line.replace(repr(printable(copy.name))[1:-1], location.name) for line in found
                ]
                require_same(
                    sorted(found),
                    expected,
                    "take paths as they are (os.fspath, pathlib) and never as text in a pattern, "
                    "a command or an encoding of your own",
                    about=f"at {os.fsencode(copy)!r}",
                )


def _require_cut_seen(path: Path, pieces: list[Piece]) -> None:
    """A compressed file that was cut short never ends as a whole one does."""
    with path.open("rb") as file:
        packed = file.read(6).startswith(PACKED)
    require(
        not packed
        or any(piece.found is None or piece.found.rejects or piece.found.notes for piece in pieces),
        "it was compressed, its end is missing, and nobody says so",
        "let EOFError and the like become a SourceError, or a reject of what is missing",
    )


def _require_raw_kept(path: Path, data: bytes, pieces: list[Piece]) -> None:
    """The text of a reject that has the letters of its line is that line."""
    lines = data.split(b"\n")
    for piece in pieces:
        for reject in piece.found.rejects if piece.found else ():
            number = reject.position if reject.origin == printable(str(path)) else None
            line = lines[number - 1] if number is not None and number <= len(lines) else b""
            if _letters(line) and _letters(line) == _letters(reject.raw):
                require_raw(path.name, line, reject)


def _letters(data: bytes) -> bytes:
    return re.sub(rb"\W", b"", data)


def _require_values_kept(data: bytes, pieces: list[Piece]) -> None:
    """What could not be read was not made to fit: no replaced characters, no rounded numbers."""
    values = [text for piece in pieces if piece.found for text in _texts(piece.found)]
    if REPLACED.encode() not in data and b"ufffd" not in data.lower():
        found = [text for text in values if REPLACED in text]
        require(
            not found,
            f"{found[:1]} holds U+FFFD, which the input does not",
            'decode with errors="strict" and reject what fails, or with "backslashreplace"',
        )
    if UNEVEN in data and ROUNDED.encode() not in data:
        found = [text for text in values if ROUNDED in text]
        require(
            not found,
            f"{UNEVEN.decode()} became {found[:1]}",
            "read whole numbers as int, and columns of them as int64, never through float",
        )


def _texts(found: Collected) -> Iterator[str]:
    """All texts and whole numbers of the rows, as text."""
    for table in found.tables.values():
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name not in ("origin", "position") and not pa.types.is_floating(column.type):
                yield from map(str, column.to_pylist())


def _tells(piece: Piece) -> bool:
    """Whether anything at all was said about a partition."""
    return piece.found is None or bool(piece.found.accounted or piece.found.notes)
