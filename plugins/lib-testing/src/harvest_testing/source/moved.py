"""Promises about where and when a source reads: the same input is planned and read alike."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from harvest_testing.lab.globals import open_files
from harvest_testing.lab.guise import in_another_guise
from harvest_testing.promise import does_not_apply, promise, require

from .inputs import bytes_read
from .kit import SourceKit, copy_of, files_of
from .reading import in_order, is_content, plan_lines, read_all, require_same, rows_from

SPARSE = 48 << 20
"""Bytes to which a file is made longer, with a hole."""

LOOKED_AT = 1 << 20
"""Bytes of a file that are plenty to recognise it."""

NEW = "renamed-"

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

    @promise("rows come from what is in a file, and not from its name", quick=True)
    def test_a_renamed_file_gives_the_same(self, tmp_path: Path) -> None:
        if self.names_matter:
            does_not_apply("a file's name is part of the format (names_matter)")
        location = self.make_files(tmp_path)
        before = self.read(location)
        renamed = {
            path: path.rename(path.with_name(NEW + path.name)) for path in files_of(location)
        }
        after = self.read(renamed.get(location, location))
        for path, new in renamed.items():
            rows = sorted(row for piece in before for row in rows_from(path, piece))
            found = sorted(row for piece in after for row in rows_from(new, piece))
            about = f"{path.name} called {new.name}"
            if found:  # else it is found by its name
                require_same(found, rows, "take values from the content alone", about=about)

    @promise("day, host, user and process of the reading do not matter", quick=True)
    def test_another_day_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        expected = self._planned_and_read(location)
        with in_another_guise(_package_of(self.source)):
            found = self._planned_and_read(location)
        remedy = (
            "take no time, host, user or process into rows, ids and fingerprints; what a source "
            "needs to know of them is a setting"
        )
        require_same(found, expected, remedy, about="on another day, by another user and host")

    def _planned_and_read(self, location: Path | str) -> list[str]:
        source = self.open(location)
        partitions = self.partitions(source)
        return plan_lines(partitions) + in_order(self.checked(read_all(source, partitions)))

    @promise("a link to a directory that is being read is not followed", quick=True)
    def test_links_are_not_followed_round(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        if not location.is_dir():
            does_not_apply("the sample is a file; give a directory to see what links in it do")
        expected = self._rows_of(location)
        for target in (".", str(location)):
            link = location / "round"
            link.symlink_to(target, target_is_directory=True)
            found = self._rows_of(location)
            link.unlink()
            remedy = "let harvest.toolkit.files.walk_files list files: it follows no such link"
            require_same(found, expected, remedy, about=f"with a link round -> {target}")

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

    @promise("detect() is not sure of content that is not its own", quick=True)
    def test_detection_is_not_by_name_alone(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        for path in files_of(location):
            for content in FOREIGN:
                path.write_bytes(content)
                answer = self.open(location).detect(path)
                require(
                    answer is None or answer.confidence <= 0.5,
                    f"detect({path.name!r}) is sure ({answer.confidence if answer else 0}, "
                    f"{answer.reason if answer else ''}) of a file of {content[:30]!r}",
                    "look at the content; by the name alone, a confidence of 0.5 at most",
                )


def _package_of(cls: type) -> str:
    return cls.__module__.partition(".")[0]
