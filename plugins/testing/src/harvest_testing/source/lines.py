"""Promises of formats whose units are lines: each is accounted for, at its own number.

What a source makes of a file is compared with what it makes of the file with a line less, a line
more, or other line ends.  Nothing of that needs to know what the lines mean.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from harvest import Partition, Source
from harvest.toolkit.texts import printable
from harvest_testing.promise import does_not_apply, promise, require

from .kit import SourceKit
from .reading import (
    Piece,
    in_short,
    planned,
    read_piece,
    require_raw,
    require_same,
    rows_as_lines,
)

TRIED = 12
"""Lines of a file that are taken out, doubled or damaged, one after the other."""

NUMBERS = "number lines as the file has them, from 1, before any is skipped or grouped into batches"
LOST = "count each line with ctx.read(1); let it become a row, or be rejected, filtered or folded"

ALONE = "let a unit that cannot be read cost no other, those of its block neither: reject it alone"
REJECTED = "reject"

NOISE = (
    b"  \x01 no line of yours \x7f  ",
    b"\t" + b"no line of yours, and a long one; " * 200 + b"\t",
    b"no line of yours, but a longer one than any" * 2_500,
    b"\x00",
    b'"',
    b"no line\r of \x0b\x0c\x1c\x1d\x1e yours \xc2\x85\xe2\x80\xa8\xe2\x80\xa9 at all",
)
"""Lines of no format: with blanks at both ends, longer than what is often cut, with a quote, with
all that is a line's end elsewhere."""

VARIED = 3_000
"""Lines whose numbers differ, to see whether what is said of them grows with them."""

SAID = 30
"""Notes and reasons that are plenty for any number of lines."""


@attrs.frozen
class _Shown:
    """What came of one file: texts of rows and rejects by position, and how many units it has."""

    at: Mapping[int, list[str]]
    units: int
    refused: str | None

    def moved(self, first: int, by: int, leave_out: int | None = None) -> list[str]:
        """Position and text of all units, those from ``first`` on moved by some lines."""
        return sorted(
            f"{number + by if number >= first else number}: {text}"
            for number, texts in self.at.items()
            if number != leave_out
            for text in texts
        )


class LinePromises(SourceKit):
    """The tests of formats of lines (``header_lines``)."""

    @promise("each line is one unit, and its number the position of what becomes of it", quick=True)
    def test_each_line_is_accounted_for(self, tmp_path: Path) -> None:
        location = self._location(tmp_path)
        for path in self._files(location):
            lines = _lines(path.read_bytes())
            shown = self._shown(location, path)
            self._require_all(path.name, lines, shown)
            for piece in self._pieces(location, path):
                for reject in piece.found.rejects if piece.found else ():
                    line = lines[reject.position - 1] if reject.position else b""
                    require_raw(path.name, line, reject)

    def _require_all(self, about: str, lines: list[bytes], shown: _Shown) -> None:
        header = self.header_lines or 0
        require(
            all(1 <= number <= len(lines) for number in shown.at),
            f"{about} has {len(lines)} lines, and rows or rejects at {sorted(shown.at)}",
            NUMBERS,
        )
        least = sum(bool(line.strip()) for line in lines[header:])
        require(
            least <= shown.units <= len(lines),
            f"{about} has {least} lines that are not blank below its header, and {shown.units} "
            "units are accounted for",
            LOST,
        )

    @promise(
        "a line that is not a unit costs itself alone, and is kept whole as a reject", quick=True
    )
    def test_a_damaged_line_costs_itself_alone(self, tmp_path: Path) -> None:
        location = self._location(tmp_path)
        for path in self._files(location):
            lines = self._sound_lines(location, path)
            path.write_bytes(b"".join(lines))
            shown = self._shown(location, path)
            header = self.header_lines or 0
            for number in {header, (header + len(lines)) // 2, len(lines)}:
                for noise in NOISE:
                    about = f"{path.name} with {in_short(noise)} below line {number}"
                    more = [*lines[:number], noise + b"\n", *lines[number:]]
                    self._require_others_kept(location, path, more, number + 1, shown, about)

    def _sound_lines(self, location: Path, path: Path) -> list[bytes]:
        """The header, and lines of which each gives rows by itself."""
        lines = _ended_lines(path)
        header, below = lines[: self.header_lines], lines[self.header_lines or 0 :]
        step = max(1, len(below) // TRIED)
        alone = {line: self._changed(location, path, [*header, line]) for line in below[::step]}
        sound = (
            line
            for line, shown in alone.items()
            if any(not text.startswith(REJECTED) for texts in shown.at.values() for text in texts)
        )
        return [*header, *sound]

    def _require_others_kept(
        self,
        location: Path,
        path: Path,
        lines: list[bytes],
        number: int,
        shown: _Shown,
        about: str,
    ) -> None:
        data = path.read_bytes()
        path.write_bytes(b"".join(lines))
        try:
            found = self._shown(location, path)
            pieces = self._pieces(location, path)
        finally:
            path.write_bytes(data)
        if found.refused is not None:
            return
        for piece in pieces:
            for reject in piece.found.rejects if piece.found else ():
                if reject.position == number:
                    require_raw(about, lines[number - 1], reject)
        expected, rest = shown.moved(number, 1), found.moved(1, 0, leave_out=number)
        require_same(rest, expected, ALONE, about=f"{about}: other lines come otherwise")

    @promise("a line more is one unit more, and later ones move down by one", quick=True)
    def test_a_line_can_be_added(self, tmp_path: Path) -> None:
        location = self._location(tmp_path)
        for path, lines, number, shown in self._tried(location):
            expected = shown.moved(number + 1, 1)
            for what, line, least in (
                ("a blank line", b"\n", 0),
                ("a line of no meaning", b"\x01 \x7f no line of yours \x02\n", 1),
                ("the same line again", lines[number - 1], 1),
            ):
                about = f"{path.name} with {what} below line {number}"
                found = self._changed(location, path, [*lines[:number], line, *lines[number:]])
                rest = found.moved(1, 0, leave_out=number + 1)
                require_same(rest, expected, NUMBERS, about=about)
                require(
                    least <= found.units - shown.units <= 1,
                    f"{about}: {shown.units} units before, {found.units} with it",
                    LOST,
                )

    @promise("what is said of lines does not grow with them: notes, and reasons to leave out",
             quick=True)  # fmt: skip
    def test_little_is_said_of_many_lines(self, tmp_path: Path) -> None:
        location = self._location(tmp_path)
        for path in self._files(location):
            lines = _ended_lines(path)
            path.write_bytes(b"".join(_varied(lines, self.header_lines or 0)))
            for name, value in {"": None, **(self.examples or {})}.items():
                said: set[str] = set()
                notes = 0
                for piece in self._pieces(location, path, **({name: value} if name else {})):
                    if piece.found is not None:
                        said.update((*piece.found.filtered, *piece.found.folded))
                        notes += len(piece.found.notes)
                require(
                    notes <= SAID and len(said) <= SAID,
                    f"{path.name} made {VARIED} lines{f', with {name} = {value!r}' * bool(name)}: "
                    f"{notes} notes, {len(said)} reasons to filter or fold: {sorted(said)[:3]}",
                    "note once how many there are, and let a reason name a kind, not a value: they "
                    "are held in memory and written into the manifest",
                )
            path.write_bytes(b"".join(lines))

    # --- what these tests are made of -------------------------------------------------------------

    def _location(self, directory: Path) -> Path:
        if self.header_lines is None:
            does_not_apply("units are lines where the class says so (header_lines = 0, or more)")
        return self.make_files(directory)

    def _files(self, location: Path) -> list[Path]:
        """Files of the sample that are read line by line: each is the origin of a partition."""
        origins = dict.fromkeys(p.origin for p in self.partitions(self.open(location)))
        return [path for path in map(Path, origins) if path.is_file()]

    def _planned(
        self, location: Path, path: Path, **more: Any
    ) -> Iterator[tuple[Source, Partition]]:
        origin, source = printable(str(path)), self.open(location, **more)
        return ((source, p) for p in planned(source) if printable(p.origin) == origin)

    def _pieces(self, location: Path, path: Path, **more: Any) -> list[Piece]:
        return self.checked([read_piece(*each) for each in self._planned(location, path, **more)])

    def _shown(self, location: Path, path: Path, **more: Any) -> _Shown:
        at: dict[int, list[str]] = defaultdict(list)
        units, refused = 0, None
        for piece in self._pieces(location, path, **more):
            if piece.found is None:
                refused = piece.refused
                continue
            units += piece.found.accounted
            for name, table in piece.found.tables.items():
                numbers = table["position"].to_pylist()
                texts = rows_as_lines(name, table.drop_columns(["origin", "position"]))
                for number, text in zip(numbers, texts, strict=True):
                    at[number].append(text)
            for reject in piece.found.rejects:
                require(
                    reject.position, f"{path.name}: a reject without position: {reject}", NUMBERS
                )
                raw = reject.raw.rstrip(b"\r\n")
                at[reject.position or 0].append(f"{REJECTED} {raw!r}")
        return _Shown({number: sorted(texts) for number, texts in at.items()}, units, refused)

    def _changed(self, location: Path, path: Path, lines: Sequence[bytes], **more: Any) -> _Shown:
        data = path.read_bytes()
        path.write_bytes(b"".join(lines))
        try:
            return self._shown(location, path, **more)
        finally:
            path.write_bytes(data)

    def _tried(self, location: Path) -> Iterator[tuple[Path, list[bytes], int, _Shown]]:
        """Each file with its lines, the number of one below the header, and what it gives."""
        for path in self._files(location):
            lines = _ended_lines(path)
            shown = self._shown(location, path)
            numbers = range((self.header_lines or 0) + 1, len(lines) + 1)
            step = max(1, -(-len(numbers) // TRIED))
            for number in sorted({*numbers[::step], *numbers[-1:]}):
                yield path, lines, number, shown


def _varied(lines: list[bytes], header: int) -> Iterator[bytes]:
    """A header, and lines below it over and over; of each second turn with other numbers."""
    chance = random.Random(4711)  # noqa: S311 - the same in every run
    yield from lines[:header]
    for turn in range(VARIED):
        again, place = divmod(turn, len(lines) - header)
        line = lines[header + place]
        if again % 2 and (found := list(re.finditer(rb"[0-9]+", line))):
            number = chance.choice(found)
            digits = b"%d" % chance.randrange(10 ** chance.randint(1, min(len(number[0]), 3)))
            line = line[: number.start()] + digits + line[number.end() :]
        yield line


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends; the last may have none."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _ended_lines(path: Path) -> list[bytes]:
    """The lines of a file, of which the last is given an end that it may lack.

    What a source makes of a last line without one is for a test of its own.
    """
    lines = _lines(path.read_bytes())
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
        path.write_bytes(b"".join(lines))
    return lines
