"""Promises about where and when a source reads: the same input is planned and read alike."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TypeVar
from unittest import mock

from harvest import Source
from harvest_testing.lab.globals import elsewhere, open_files
from harvest_testing.promise import promise, require

from .inputs import bytes_read
from .kit import LONG_AGO, SourceKit, copy_of, files_of
from .reading import (
    in_order,
    is_content,
    plan_lines,
    read_all,
    require_same,
)

T = TypeVar("T")

SPARSE = 48 << 20
"""Bytes to which a file is made longer, with a hole."""

LOOKED_AT = 1 << 20
"""Bytes of a file that are plenty to recognise it."""

MANY = 300
"""Files of a directory that is large."""

FOREIGN = (b"\x93\0nothing of yours\xff\xfe\x01\n" * 9, b"nothing of yours, in words\n" * 9)


class MovedPromises(SourceKit):
    """The tests that read the same input from elsewhere, later, or with something beside it."""

    @promise("the same input is planned alike at another place", quick=True)
    def test_a_copy_is_planned_alike(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        expected = plan_lines(self.partitions(self.open(location)), location.parent)
        copy = copy_of(location, tmp_path / "another place" / location.name)
        found = plan_lines(self.partitions(self.open(copy)), copy.parent)
        remedy = (
            "make ids of names below the location, and fingerprints of what is read: a dataset "
            "outlives the place of its input"
        )
        require_same(found, expected, remedy, about="a copy elsewhere is planned otherwise")
        before = [(p.id, p.inputs) for p in self.partitions(self.open(copy))]
        for number, path in enumerate(files_of(copy)):  # the last is the oldest
            os.utime(path, (number, LONG_AGO - number))
        after = [(p.id, p.inputs) for p in self.partitions(self.open(copy))]
        require(
            after == before,
            f"planned as {before}, and as {after} when its files have other times",
            "sort files by their names",
        )

    @promise("time zone and working directory do not matter, and any path to the input serves",
             quick=True)  # fmt: skip
    def test_time_zone_and_directory_do_not_matter(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        above, name = location.parent, location.name
        expected = plan_lines(self.partitions(self.open(location)), above)
        rows = in_order(self.read(location), above)
        away = tmp_path / "linked"
        away.mkdir()
        (away / name).symlink_to(location)
        ways = {
            f"{away}/{name}": away,
            f"{above}/../{above.name}/{name}": above / ".." / above.name,
            **dict.fromkeys((name, f"~/{name}", f"{above}//{name}"), above),
            **({f"./{name}//": above} if location.is_dir() else {}),
        }
        for way, root in ways.items():
            home = mock.patch.dict(os.environ, {"HOME": str(above)})
            with home, elsewhere(above, "America/St_Johns"):
                source = self.open(way)
                partitions = self.partitions(source)
                _require_asked_alike(source, way, [root / f.relative_to(above)
                                                   for f in files_of(location)])  # fmt: skip
            # where it resolves links, all of it has the other path
            place = root if plan_lines(partitions, root) == expected else above
            found = plan_lines(partitions, place)
            remedy = "make ids of names below harvest.toolkit.files.input_path(self.location)"
            require_same(found, expected, remedy, about=f"for the location {way}")
            with elsewhere(away, "Pacific/Auckland"):
                found = in_order(self.checked(read_all(source, partitions)), place)
            remedy = "make paths absolute in plan(), and take naive times by a setting's zone"
            require_same(found, rows, remedy, about=f"for {way}, with TZ=Pacific/Auckland")

    def _rows_of(self, location: Path) -> list[str]:
        return [line for line in in_order(self.read(location), location) if is_content(line)]

    @promise("detect() reads the beginning of a file, whatever its name is, and closes it",
             quick=True)  # fmt: skip
    def test_detection_is_bounded(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        source = self.open(location)
        for path in files_of(location):
            data = path.read_bytes()
            for place in (path, tmp_path / "nameless"):
                for begin in (data, data.partition(b"\n")[0], *FOREIGN):  # a line without end, too
                    place.write_bytes(begin)
                    os.truncate(place, SPARSE)
                    read = bytes_read(partial(source.detect, place))
                    require(
                        read <= LOOKED_AT,
                        f"detect({place.name!r}) reads {read} bytes of a file of {SPARSE}, most of "
                        "it without a line's end",
                        "read a fixed number of bytes in detect(), not lines, and not until "
                        "something is found",
                    )
                    held = open_files(tmp_path)
                    require(
                        not held, f"detect() holds open: {held}", "open files in a `with` block"
                    )
            path.write_bytes(data)


def _require_asked_alike(source: Source, way: str, files: list[Path]) -> None:
    """``plan_files`` of all files gives what ``plan`` does."""
    plan, given = list(source.plan()), source.plan_files(files)
    some = plan if given is None else list(given)
    others = [p.id for p in some if p not in plan] + [p.id for p in plan if p not in some]
    require(
        not others,
        f"for the location {way}, plan() and plan_files() of all files differ in {others}",
        "take the location alike in both: with its links resolved, or without",
    )
