"""Promises about inputs: each is planned and reported, with any name and at any path."""

import contextlib
import os
import unittest
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias
from unittest import mock

from harvest import Partition, Source, SourceError
from harvest.toolkit.texts import printable
from harvest_testing.lab.damage import mended
from harvest_testing.lab.files import odd_names
from harvest_testing.lab.globals import elsewhere
from harvest_testing.promise import promise, raises_nothing, require

from . import reading
from .kit import LONG_AGO, SourceKit, copy_of, files_of, is_input
from .reading import REJECTS, Piece, all_lines, plan_lines, read_all, require_same

_Key: TypeAlias = tuple[str, str]
"""A partition's origin and id."""

PLANNED = (
    "let plan() list it as any other (harvest.toolkit.files.may_be): read() then reports why it "
    "cannot be read"
)


class InputPromises(SourceKit):
    """Tests of the inputs of partitions, and of their paths."""

    @promise("a partition names every file that its rows come from", quick=True)
    def test_inputs_are_complete(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        before = self._by_partition(location)
        for path in files_of(location):
            with mended(path) as data:
                for changed in (*_other_byte(data), data[: len(data) // 2], b""):
                    path.write_bytes(changed)
                    after = self._by_partition(location)
                    for key, (partition, lines) in before.items():
                        now, then = after.get(key, (partition, lines))
                        own = partition.fingerprint is not None
                        known = is_input(path, partition) or not partition.inputs
                        require(
                            then == lines or now.fingerprint != partition.fingerprint
                            or (known and not own),
                            f"{path.name} changes what comes of partition {partition.id!r}, whose "
                            f"inputs are {partition.inputs}, and its fingerprint stays",
                            "name all files that read() opens in the partition's inputs, or make a "
                            "fingerprint of all that is read; else a later run keeps stale rows",
                        )  # fmt: skip

    def _by_partition(self, location: Path) -> dict[_Key, tuple[Partition, list[str]]]:
        try:
            pieces = read_all(self.open(location))
        except SourceError:
            return {}
        return {(p.partition.origin, p.partition.id): (p.partition, all_lines([p])) for p in pieces}

    def _require_reported(self, path: Path, before: list[str], piece: Piece) -> None:
        """Require a report of an unreadable file: a reject or an error if rows are lost."""
        after = all_lines([piece])
        new = sorted(set(after) - set(before))
        if self.existence_is_a_row or any(line.startswith(REJECTS) for line in new):
            return
        rows, left = (
            sum(reading.is_content(line) and not line.startswith(REJECTS) for line in lines)
            for lines in (before, after)
        )
        require(
            any(line.startswith("note ") for line in new) and left >= rows,
            f"{path.name} cannot be opened, and partition {piece.partition.id!r} gives {left} of "
            f"{rows} rows, and no reject or note of it",
            "let the OSError of open() pass: it becomes a reject of the partition; a note is for "
            "what costs no row",
        )

    @promise("an input that cannot be opened is planned and reported, and costs itself alone",
             quick=True)  # fmt: skip
    def test_unreadable_input_costs_itself_alone(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        with contextlib.suppress(unittest.SkipTest):
            location = self.several_files(location)
        source = self.open(location)
        pieces = read_all(source, self.partitions(source))
        before = {(p.partition.origin, p.partition.id): all_lines([p]) for p in pieces}
        for path in files_of(location):
            named = [p.partition for p in pieces if is_input(path, p.partition)]
            mine = {(p.origin, p.id): before[p.origin, p.id] for p in named}
            others = {key: lines for key, lines in before.items() if key not in mine}
            for target in (path.name, "nowhere"):  # a link to itself, and a broken link
                with mended(path):
                    path.unlink()
                    path.symlink_to(target)
                    for partition in named:  # planned while the file existed
                        known = mine[partition.origin, partition.id]
                        self._require_reported(path, known, reading.read_piece(source, partition))
                    about = f"{path.name} is a link to {target}"
                    self._require_costs_itself(location, path, about, mine, others)

    def _require_costs_itself(
        self,
        location: Path,
        path: Path,
        about: str,
        mine: Mapping[_Key, list[str]],
        others: Mapping[_Key, list[str]],
    ) -> None:
        """Compare lines of partitions of an unreadable file (mine), and of all others (others)."""
        try:
            pieces = read_all(self.open(location))
        except SourceError as error:
            require(not others, f"{about}, and plan() refuses all: {error}", PLANNED)
            return
        found = {(p.partition.origin, p.partition.id): all_lines([p]) for p in pieces}
        for key, lines in others.items():
            words = f"{about}, and {key} comes out otherwise"
            require_same(found.get(key, []), lines, PLANNED, about=words)
        named = [piece for piece in pieces if is_input(path, piece.partition)]
        require(named or not mine, f"{about}, and plan() does not name it", PLANNED)
        for piece in named:
            known = mine.get((piece.partition.origin, piece.partition.id), [])
            self._require_reported(path, known, piece)

    @promise("each file of a location is a location, too, or is refused in words", quick=True)
    def test_a_file_alone_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        pieces = self.read(location)
        for origin in dict.fromkeys(p.partition.origin for p in pieces if location.is_dir()):
            mine = [p for p in pieces if p.partition.origin == origin]
            if Path(origin).is_file() and all(p.partition.inputs == (origin,) for p in mine):
                try:
                    found = read_all(self.open(origin))
                except SourceError:  # it may read only directories
                    continue
                alone, among = ([_amounts(piece) for piece in some] for some in (found, mine))
                remedy = "let harvest.toolkit.files.input_path make the location a path"
                require_same(alone, among, remedy, about=f"{origin!r} alone")

    @promise("the same input has the same plan at another place", quick=True)
    def test_a_copy_is_planned_alike(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        expected = plan_lines(self.partitions(self.open(location)), location.parent)
        copy = copy_of(location, tmp_path / "another place" / location.name)
        found = plan_lines(self.partitions(self.open(copy)), copy.parent)
        remedy = (
            "sort files by their names, make ids of names below the location, and fingerprints of "
            "what is read: a dataset outlives the place of its input"
        )
        require_same(found, expected, remedy, about="a copy elsewhere is planned otherwise")
        before = [f"{p.id} {p.inputs}" for p in self.partitions(self.open(copy))]
        for number, path in enumerate(files_of(copy)):  # the last is the oldest
            os.utime(path, (number, LONG_AGO - number))
        after = [f"{p.id} {p.inputs}" for p in self.partitions(self.open(copy))]
        require_same(after, before, remedy, about="with other times of files")

    @promise("time zone and working directory do not matter, and any path to the input serves",
             quick=True)  # fmt: skip
    def test_time_zone_and_directory_do_not_matter(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        above, name = location.parent, location.name
        expected = plan_lines(self.partitions(self.open(location)), above)
        rows = reading.in_order(self.read(location), above)
        away = tmp_path / "linked"
        away.mkdir()
        (away / name).symlink_to(location)
        ways = {
            f"{away}/{name}": away,
            f"{above}/../{above.name}/{name}": above / ".." / above.name,
            **dict.fromkeys((name, f"~/{name}"), above),
        }
        for way, root in ways.items():
            home = mock.patch.dict(os.environ, {"HOME": str(above)})
            with home, elsewhere(above, "America/St_Johns"):
                source = self.open(way)
                partitions = self.partitions(source)
                _require_asked_alike(source, way, [root / f.relative_to(above)
                                                   for f in files_of(location)])  # fmt: skip
            # if the source resolves links, all its paths begin with the other directory
            place = root if plan_lines(partitions, root) == expected else above
            found = plan_lines(partitions, place)
            remedy = "make ids of names below harvest.toolkit.files.input_path(self.location)"
            require_same(found, expected, remedy, about=f"for the location {way}")
            with elsewhere(away, "Pacific/Auckland"):
                found = reading.in_order(self.checked(read_all(source, partitions)), place)
            remedy = "make paths absolute in plan(), and take naive times by a setting's zone"
            require_same(found, rows, remedy, about=f"for {way}, with TZ=Pacific/Auckland")

    @promise("names of any characters and bytes are read like others", quick=True)
    def test_names_of_any_bytes(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        expected = all_lines(self.read(location), location.parent)
        remedy = (
            "take paths as they are (os.fspath, pathlib) and never as text in a pattern, a command "
            "or an encoding of your own"
        )
        for odd in odd_names(tmp_path):
            places = [tmp_path / odd / location.name]
            if not location.is_dir() and not self.names_matter:
                places.append(tmp_path / odd / f"{odd}{location.name}")
            for copy in (copy_of(location, place) for place in places):
                with raises_nothing(f"at {os.fsencode(copy)!r} it raises ", remedy):
                    lines = all_lines(self.read(copy), copy.parent)
                name = repr(printable(copy.name))[1:-1]
                found = sorted(line.replace(name, location.name) for line in lines)
                require_same(found, expected, remedy, about=f"at {os.fsencode(copy)!r}")


def _amounts(piece: Piece) -> str:
    """Describe the number of rows and rejects of a partition, or its refusal."""
    if piece.found is None:
        return f"refused: {piece.refused}"
    rows = {name: table.num_rows for name, table in piece.found.tables.items()}
    return f"{rows} rows, {len(piece.found.rejects)} rejects"


def _require_asked_alike(source: Source, way: str, files: list[Path]) -> None:
    """Require that ``plan_files`` of all files returns the same partitions as ``plan``."""
    plan, given = list(source.plan()), source.plan_files(files)
    some = plan if given is None else list(given)
    others = [p.id for p in some if p not in plan] + [p.id for p in plan if p not in some]
    require(
        not others,
        f"for the location {way}, plan() and plan_files() of all files differ in {others}",
        "take the location in the same way in both: with its links resolved, or without",
    )


def _other_byte(data: bytes) -> Iterator[bytes]:
    """Yield contents of the same size with another letter or digit, near the end or middle."""
    found = [at for at, byte in enumerate(data) if chr(byte).isascii() and chr(byte).isalnum()]
    for at in dict.fromkeys(found[-1:] + found[len(found) // 2 :][:1]):
        other = b"7" if data[at : at + 1] != b"7" else b"8"
        yield data[:at] + other + data[at + 1 :]
