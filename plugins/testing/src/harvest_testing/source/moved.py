"""Promises about where and when a source reads: the same input is planned and read alike."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import TypeVar
from unittest import mock

from harvest import Source, SourceError
from harvest_testing.lab.globals import elsewhere, open_files
from harvest_testing.lab.guise import in_another_guise
from harvest_testing.promise import does_not_apply, promise, raises_nothing, require

from .inputs import bytes_read
from .kit import LONG_AGO, SourceKit, copy_of, files_of
from .reading import (
    in_order,
    is_content,
    is_row,
    plan_lines,
    planned,
    read_all,
    require_same,
    rows_from,
)

T = TypeVar("T")

SPARSE = 48 << 20
"""Bytes to which a file is made longer, with a hole."""

LOOKED_AT = 1 << 20
"""Bytes of a file that are plenty to recognise it."""

NEW = "renamed-"

ALIKE = (
    *("", "b/", "b_", "b-", "b.", "b ", "B", "b", "b/b/", "b_b_", "b__", "b%2F", "b/ ", "1", "01"),
    *("\u00e4", "a\u0308", f"{'b' * 150}1", f"{'b' * 150}2"),
)
"""What files' names begin with: as one path, as others, in other letters or forms, cut."""

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
        for path in files_of(location):
            other = copy / path.relative_to(location)
            with contextlib.suppress(SourceError):  # it may be nothing by itself
                alone = [partition.id for partition in planned(self.open(path))]
                found = [partition.id for partition in planned(self.open(other))]
                require_same(found, alone, remedy, about=f"a copy of {path.name} alone")
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

    @promise("a file more moves no other: ids and partitions of those that were there stay",
             quick=True)  # fmt: skip
    def test_a_file_more_moves_no_other(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        if not location.is_dir():
            does_not_apply("the sample is a file; give a directory to see what one more does")
        source = self.open(location)
        before = {(p.origin, p.id) for p in self.partitions(source)}
        rows = Counter(self._rows_of(location))
        for path in _one_of_each_kind(location):
            copy = copy_of(path, path.with_name(f"0{path.name}"))
            with contextlib.suppress(SourceError):
                again, plan = planned(source), planned(self.open(location))
                require(
                    again == plan,
                    f"with {copy.name} beside {path.name}, a source that has planned before plans "
                    f"{len(again)} partitions, and a new one {len(plan)}",
                    "list the files anew in each plan(): a watch plans again and again",
                )
                self._require_rows_kept(location, copy, rows)
                lost = sorted(before - {(p.origin, p.id) for p in plan})
                require(
                    not lost,
                    f"with {copy.name} beside {path.name}, partitions {lost} are gone",
                    "let an id name its input, and not how many there are: else what was "
                    "read of it is read again, and stays besides",
                )
            copy.unlink()

    def _require_rows_kept(self, location: Path, copy: Path, rows: Counter[str]) -> None:
        """Rows of the files that were there before a copy come as they did."""
        lost = [row for row in rows - Counter(self._rows_of(location)) if is_row(row)]
        require(
            not lost,
            f"with {copy.name} beside it, these rows come otherwise: {lost[:2]}",
            "number positions in each file from 1, and let no row depend on other files",
        )

    @promise("names that are nearly the same are of different inputs, and all of many files count",
             quick=True)  # fmt: skip
    def test_names_nearly_alike_are_told_apart(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        if not location.is_dir():
            does_not_apply("the sample is a file; give a directory to see what others in it do")
        for path in _one_of_each_kind(location):
            for names in (ALIKE, [f"many {n}/" for n in range(MANY)]):
                folder = path.parent / "a"
                for name in names:
                    copy_of(path, folder / f"{name}{path.name}")
                with contextlib.suppress(SourceError):
                    some = self.names_matter and names is ALIKE  # which need not be of its form
                    self._require_told_apart(location, folder, 0 if some else len(names))
                shutil.rmtree(folder)

    def _require_told_apart(self, location: Path, folder: Path, files: int) -> None:
        plan = [p for p in planned(self.open(location)) if any(_below(folder, f) for f in p.inputs)]
        found = {name for partition in plan for name in partition.inputs if _below(folder, name)}
        ids = Counter((p.origin, p.id) for p in plan)
        twice = [name for name, count in ids.items() if count > 1]
        require(not twice, f"two partitions are called {twice[:3]}",
                "make the id of the whole path below the location")  # fmt: skip
        require(
            not (found and files) or len(found) == files,
            f"of {files} files whose names differ little, {len(found)} are planned: "
            f"{sorted(found)[:3]}",
            "take every file for itself, however many there are",
        )

    @promise("pipes, sockets and directories of an input's name are passed over, and any thread "
             "reads", quick=True)  # fmt: skip
    def test_what_is_no_file_is_passed_over(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        expected = self._rows_of(location)
        for path in _one_of_each_kind(location):
            pipe, socket, folder = (path.with_name(f"{n}-{path.name}") for n in range(3))
            os.mkfifo(pipe)
            os.mknod(socket, stat.S_IFSOCK | 0o600)
            folder.mkdir()
            places = (pipe, socket, folder)
            call = partial(self._rows_beside, location, places)
            found = _in_a_thread(call, pipe)
            remedy = "read what is a file alone, and leave signals to the program: it has threads"
            about = f"with {pipe.name}, {socket.name} and {folder.name}, read by a thread"
            require_same(found, expected, remedy, about=about)
            pipe.unlink()
            socket.unlink()
            folder.rmdir()

    def _rows_beside(self, location: Path, places: tuple[Path, ...]) -> list[str]:
        with raises_nothing("detect() raised ", "ask path.is_file() first"):
            for place in places:
                self.open(location).detect(place)
        return self._rows_of(location)

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
        for path, content in product(files_of(location), (*FOREIGN, b"", b"\n")):
            for place in (path, tmp_path / "nameless"):
                place.write_bytes(content)
                answer = self.open(location).detect(place)
                require(
                    answer is None or answer.confidence <= 0.5,
                    f"detect({place.name!r}) is sure ({answer.confidence if answer else 0}, "
                    f"{answer.reason if answer else ''}) of a file of {content[:30]!r}",
                    "look at the content; by the name alone, a confidence of 0.5 at most",
                )


def _below(folder: Path, name: str) -> bool:
    return Path(name).is_relative_to(folder)


def _one_of_each_kind(location: Path) -> Iterator[Path]:
    """The last and the first file of each ending."""
    files = files_of(location)
    last, first = ({p.suffix: p for p in some} for some in (files, reversed(files)))
    yield from dict.fromkeys([*last.values(), *first.values()])


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


def _in_a_thread(call: Callable[[], T], pipe: Path) -> T:
    """What a call gives in a thread, which must not open a pipe; else the pipe ends for it."""
    answers: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    opened = False
    while thread.is_alive():
        thread.join(0.01)
        with contextlib.suppress(OSError):  # nobody is about to read it
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            opened = True
    require(
        not opened,
        f"{pipe.name!r} is a pipe, and is opened: without a writer that takes for ever",
        "let harvest.toolkit.files.walk_files list files, and ask is_file() in detect()",
    )
    if errors:
        raise errors[0]
    return answers[0]


def _package_of(cls: type) -> str:
    return cls.__module__.partition(".")[0]
