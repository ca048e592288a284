"""Promises about inputs: all are named and reported, listed cheaply and in a fixed order."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import harvest
from harvest import Partition, ReadContext, Reject, Source, SourceError
from harvest.toolkit.texts import printable
from harvest_testing.lab.damage import garbage, other_encoding, repeated, truncated
from harvest_testing.lab.failing import failing
from harvest_testing.promise import does_not_apply, promise, require

from .kit import LONG_AGO, SourceKit, copy_of, files_of, is_input
from .reading import (
    REJECTS,
    Piece,
    all_lines,
    difference,
    is_row,
    planned,
    read_all,
    read_piece,
    require_same,
)

_Key: TypeAlias = tuple[str, str]
"""A partition's origin and id."""

_Partitions: TypeAlias = Mapping[_Key, tuple[Partition, list[str]]]
"""What came of each partition."""

_Remark: TypeAlias = tuple[str, int | None, str]
"""Origin, position, and what a reject or note says."""

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

    @promise("what is said of one input of several names it, and its loss is said", quick=True)
    def test_damage_is_told_of_its_file(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        source = self.open(location)
        several = [p for p in self.partitions(source) if len(p.inputs) > 1]
        if not several:
            does_not_apply("no partition of the sample has several inputs")
        before = {p.id: _said(source, p) for p in several}
        files = [path for path in files_of(location) if any(is_input(path, p) for p in several)]
        for path, done, data in damaged(files):
            with contextlib.suppress(SourceError):
                for partition in planned(self.open(location)):
                    if partition.id in before and is_input(path, partition):
                        rows, known = before[partition.id]
                        left, said = _said(source, partition)
                        place, about = printable(str(path)), f"{path.name}, {done}"
                        _require_placed(path, about, said - known)
                        require(
                            said - known or left[place] or not rows[place]
                            or self.holds_nothing(path, data),
                            f"{about}: its {rows[place]} rows are gone, and nothing is said",
                            "reject what cannot be read of a file, whatever other files give",
                        )  # fmt: skip

    @promise("a directory that cannot be listed is reported", quick=True)
    def test_unlistable_directory_is_told(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        if not location.is_dir():
            does_not_apply(
                "the sample is a file; give a directory to see what one without rights does"
            )
        before = self._by_partition(location)
        folders = {Path(name).parent for p, _ in before.values() for name in p.inputs}
        for folder in sorted(folders):
            source = self.open(location)
            with _unlistable(folder), contextlib.suppress(SourceError, OSError):
                pieces = read_all(source, list(source.plan()))
                lost = before.keys() - {(p.partition.origin, p.partition.id) for p in pieces}
                new = set(all_lines(pieces)) - {
                    line for _, lines in before.values() for line in lines
                }
                require(
                    not lost or any(line.startswith((*REJECTS, "note ")) for line in new),
                    f"{folder} cannot be listed: partitions {sorted(lost)} are gone without a word",
                    "let the OSError of listing it pass, or make it a SourceError or a partition",
                )

    @promise("the content decides, not what was read before at the same place or by the same name",
             quick=True)  # fmt: skip
    def test_content_alone_decides(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        if any(path.is_symlink() for path in location.rglob("*")):
            does_not_apply("links lead from one copy of the sample to another")
        here, there, unknown = (
            copy_of(location, tmp_path / place / location.name)
            for place in ("here", "there", "unknown")
        )
        fresh = "" if self.names_matter else f"{tmp_path.name}-"
        renamed = {path: path.rename(path.with_name(fresh + path.name))
                   for path in files_of(unknown)}  # fmt: skip
        unknown = renamed.get(unknown, unknown)
        self._lines_at(here)
        for place in (there, unknown):
            _write_others(place)
        second = self._lines_at(there)
        expected = sorted(line.replace(fresh, "") for line in self._lines_at(unknown))
        _write_others(here)
        for about, found in (
            ("another file, read after the sample of its name", second),
            ("another file, written over the sample", self._lines_at(here)),
        ):
            remedy = "keep nothing by path or name between readings"
            require_same(found, expected, remedy, about=about)

    def _lines_at(self, place: Path) -> list[str]:
        try:
            return all_lines(self.read(place), place.parent)
        except SourceError as error:
            return [error.message.replace(str(place.parent), "<sample>")]

    @promise("planning lists inputs in a fixed order, whatever order the file system has",
             quick=True)  # fmt: skip
    def test_planning_is_sorted(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        if len(files_of(location)) < 2:
            does_not_apply("the sample is one file; give it two to see in which order they come")
        expected = self.partitions(self.open(location))
        for reverse in (False, True):
            with _listing(reverse=reverse):
                found = planned(self.open(location))
            require(
                found == expected,
                f"planned as {[p.id for p in expected]}, and as {[p.id for p in found]} where the "
                "directory is listed otherwise",
                "sort what a directory lists (harvest.toolkit.files.list_files does)",
            )

    @promise("planning and detecting read but a part of large inputs", quick=True)
    def test_planning_is_cheap(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        files = files_of(location)
        for path in files:
            data = path.read_bytes() or b"\n"
            path.write_bytes(data * (LARGE // len(files) // len(data) + 1))
        large = sum(path.stat().st_size for path in files)
        source = self.open(location)
        for doing, call in (
            ("plan()", lambda: list(source.plan())),
            ("detect()", lambda: [source.detect(path) for path in (location, *files)]),
        ):
            read = bytes_read(call)
            require(
                read <= large // 2,
                f"{doing} reads {read >> 20} MB of inputs of {large >> 20} MB",
                "look at the first bytes in detect(), at names and sizes in plan(); what must be "
                "counted before a partition is found by prepare(), for that partition alone",
            )

    @promise("byte ranges of a file cover it, each byte once", quick=True)
    def test_ranges_cover_the_input(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        ranges: dict[str, list[tuple[int, int]]] = {}
        for partition in self._partitions_of_all_sizes(location):
            if partition.start is not None or partition.stop is not None:
                size = partition.path.stat().st_size
                place = (partition.start or 0, size if partition.stop is None else partition.stop)
                ranges.setdefault(partition.origin, []).append(place)
        if not ranges:
            does_not_apply("no partition is a range of a file")
        require(
            self.partition_setting is not None,
            "partitions are ranges of files, and nothing says how to cut them otherwise",
            "name the setting that cuts files and some of its values in `partition_setting`",
        )

    def _partitions_of_all_sizes(self, location: Path) -> Iterator[Partition]:
        yield from self.partitions(self.open(location))
        if self.partition_setting is None:
            return
        setting, values = self.partition_setting
        for value in values:
            partitions = planned(self.open(location, **{setting: value}))
            _require_cover(f"{setting} = {value!r}", partitions)
            yield from partitions


def _write_others(location: Path) -> None:
    """Write other contents into the files of a sample: their lines backwards."""
    for path in files_of(location):
        data = path.read_bytes()
        lines = data.splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:1] + lines[:0:-1]) if b"\0" not in data else data * 2)
        os.utime(path, (LONG_AGO, LONG_AGO))


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


def _require_placed(path: Path, about: str, said: Counter[_Remark]) -> None:
    """What is said of a file that is one of several names it, and no position in a directory."""
    nowhere = [r for r in said if r[1] is not None and Path(r[0]).is_dir()]
    named = any(r[0] == printable(str(path)) or path.name in r[2] for r in said)
    require(
        not nowhere and (named or not said),
        f"{about}: of which file is {list(nowhere or said)[:1]}?",
        "give ctx.reject and ctx.note the file as origin, where it is one of several",
    )


def _said(source: Source, partition: Partition) -> tuple[Counter[str], Counter[_Remark]]:
    """Rows of a partition by their origin, and what is said of it."""
    rejects: list[Reject] = []
    rows: Counter[str] = Counter()
    origin = printable(partition.origin)
    with tempfile.TemporaryDirectory() as scratch:
        ctx = ReadContext(origin, Path(scratch), on_reject=rejects.append)
        try:
            for _, table in harvest.tables(source, partition, ctx):
                rows.update(table["origin"].to_pylist())
        except (SourceError, OSError) as error:
            return rows, Counter({(origin, None, f"{partition.inputs}: {error}"): 1})
    notes = [(note.origin, None, note.text) for note in ctx.notes]
    return rows, Counter([*notes, *((r.origin, r.position, r.reason) for r in rejects)])


def _other_byte(data: bytes) -> Iterator[bytes]:
    """A content of the same size, with another digit or letter near its end and its beginning."""
    found = [at for at, byte in enumerate(data) if chr(byte).isascii() and chr(byte).isalnum()]
    for at in dict.fromkeys(found[-1:] + found[len(found) // 2 :][:1]):
        other = b"7" if data[at : at + 1] != b"7" else b"8"
        yield data[:at] + other + data[at + 1 :]


def _require_cover(about: str, partitions: list[Partition]) -> None:
    for origin in {p.origin for p in partitions if p.start is not None or p.stop is not None}:
        mine = [p for p in partitions if p.origin == origin]
        size = mine[0].path.stat().st_size
        end = 0
        for start, stop, said in sorted(
            (p.start or 0, size if p.stop is None else p.stop, p.size_bytes) for p in mine
        ):
            require(
                start == end,
                f"{about}: a range begins at byte {start}, the one before ends at {end}",
                "let each range begin where the one before ends",
            )
            end = stop
            require(
                said == stop - start,
                f"{about}: the range of bytes {start} to {stop} says that it has {said} bytes",
                "give each range its own size_bytes, by which work is shared and progress shown",
            )
        require(
            end == size,
            f"{about}: the last range ends at byte {end} of {size}",
            "let the last range end with the file",
        )


@contextlib.contextmanager
def _listing(*, reverse: bool) -> Iterator[None]:
    """Directories list their entries by name, forwards or backwards, for a while."""
    scan, names = os.scandir, os.listdir

    class Scanned(contextlib.AbstractContextManager[Any]):
        def __init__(self, entries: Any):
            with entries:
                self.entries = iter(sorted(entries, key=lambda e: e.name, reverse=reverse))

        def __iter__(self) -> Iterator[Any]:
            return self.entries

        def __next__(self) -> Any:
            return next(self.entries)

        def __exit__(self, *_: object) -> None:
            self.close()

        def close(self) -> None:
            self.entries = iter(())

    def listed(*place: Any) -> list[Any]:
        return sorted(names(*place), reverse=reverse)

    with (
        mock.patch.object(os, "scandir", lambda *place: Scanned(scan(*place))),
        mock.patch.object(os, "listdir", listed),
    ):
        yield


@contextlib.contextmanager
def _unlistable(folder: Path) -> Iterator[None]:
    """A directory that nobody may list for a while, not even root."""
    real = os.path.realpath(folder)

    def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
        def listed(*place: Any) -> Any:
            if not any(isinstance(p, int) for p in place) and os.path.realpath(*place) == real:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), *place)
            return function(*place)

        return listed

    with (
        mock.patch.object(os, "scandir", refusing(os.scandir)),
        mock.patch.object(os, "listdir", refusing(os.listdir)),
    ):
        yield


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
