"""Promises about a sound sample: what is declared, what is counted, what does not matter."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import os
import unittest
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from harvest import Source, SourceError
from harvest_testing.declarations import class_problems
from harvest_testing.golden import check_schemas
from harvest_testing.promise import (
    BrokenPromise,
    does_not_apply,
    promise,
    raises_nothing,
    require,
)

from .kit import LONG_AGO, SourceKit, copy_of, files_of
from .reading import (
    Piece,
    all_lines,
    drained,
    is_content,
    left_out,
    planned,
    read_all,
    require_places,
    require_same,
)

TYPED = (
    "let harvest.toolkit.files.input_path make the location a path, and open what a partition "
    "names: its origin or inputs, which are absolute"
)

CUT = (
    *("test_unreadable_input_is_reported", "test_unreadable_input_costs_itself_alone"),
    *("test_inputs_are_complete", "test_partitions_are_independent", "test_it_can_be_pickled"),
    *("test_line_ends_do_not_matter", "test_a_damaged_line_costs_itself_alone"),
    "test_a_line_can_be_added",
)
"""What is tried of an input that is cut into small parts, too."""

CARRY = "carry what a block cuts off over to the next one"


class ReadingPromises(SourceKit):
    """The tests that read the sample as it is.

    schema_file: where the record types' columns are kept, for a comparison; None for none.
    """

    schema_file: ClassVar[Path | None] = None

    @promise("record types, columns and settings are declared and documented", quick=True)
    def test_schema_is_declared(self) -> None:
        problems = class_problems(self.source)
        require(not problems, "\n".join(problems), "declare and document it")

    @promise("no column of a record type changes or goes while its version stays", quick=True)
    def test_schema_is_stable(self) -> None:
        if self.schema_file is None:
            does_not_apply(
                "set schema_file = Path(__file__).with_name('schemas.json') to keep the columns"
            )
        check_schemas(self.schema_file, self.source.record_types)

    @promise("every unit read becomes a row or a reject, or is counted with a reason", quick=True)
    def test_accounting_adds_up(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        self.partitions(self.open(location))
        total = written = 0
        for piece in self.read(location):
            found = piece.found
            require(
                found is not None,
                f"the sample's partition {piece.partition.id!r} is refused: {piece.refused}",
                "mend sample() or read()",
            )
            assert found is not None
            total += found.accounted
            written += found.written
        require(written, "the sample gives no row at all", "write a sample that has some")
        require(
            self.units is None or total == self.units,
            f"{total} units are accounted for; the class says that the sample has {self.units}",
            "find the units that the source does not see or sees twice, or mend `units`",
        )

    @promise("record type, origin and position identify a row", quick=True)
    def test_rows_say_where_they_come_from(self, tmp_path: Path) -> None:
        pieces = self.read(self.make(tmp_path))
        require_places(pieces)
        for piece in pieces:
            for name, table in piece.found.tables.items() if piece.found else ():
                for origin in set(table["origin"].to_pylist()):
                    require(
                        origin.startswith("/") or "://" in origin,
                        f"{name}: origin {origin!r} is neither an absolute path nor a URI",
                        "leave origin empty, or give an absolute path or a URI",
                    )

    @promise("planning again gives the same partitions, each with an id of its own", quick=True)
    def test_planning_is_repeatable(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        partitions = self.partitions(source)
        require(
            # two partitions that are shuffled come in one order every other time
            all(planned(source) == partitions for _ in range(12)),
            "a second plan() differs from the first",
            "sort what a directory lists, and put no time or random number into a partition",
        )
        counts = Counter((p.id, p.origin) for p in partitions)
        twice = [key for key, count in counts.items() if count > 1]
        require(not twice, f"two partitions are called {twice}", "give each an id of its own")
        for path in {path for p in partitions for path in p.inputs}:
            require(Path(path).is_absolute(), f"input {path!r} is relative", "give absolute paths")
        for file in files_of(location)[:1] if isinstance(location, Path) else ():
            file.write_bytes(file.read_bytes() * 2)
            copy_of(file, file.with_name(f"new-{file.name}"))
            with contextlib.suppress(SourceError):  # it may refuse what is there twice
                require(
                    planned(self.open(location)) == planned(source),
                    f"{file.name} has grown, or a file is new, and a second plan() of one source "
                    "does not see it",
                    "look at the location in each plan(), and keep nothing of it in the source",
                )

    @promise("each file of a location is a location, too, or is refused in words", quick=True)
    def test_a_file_alone_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        pieces = self.read(location)
        for origin in dict.fromkeys(p.partition.origin for p in pieces if location.is_dir()):
            mine = [p for p in pieces if p.partition.origin == origin]
            if Path(origin).is_file() and all(p.partition.inputs == (origin,) for p in mine):
                with contextlib.suppress(SourceError):  # it may read directories alone
                    found = read_all(self.open(origin))
                    require_same(_amounts(found), _amounts(mine), TYPED, about=f"{origin!r} alone")

    @promise("of an input that is cut into small parts, all of this holds for each part",
             quick=True)  # fmt: skip
    def test_small_partitions_are_like_others(self, tmp_path: Path) -> None:
        setting, values = self.partition_setting or ("", ())
        sizes = [value for value in values if type(value) is int]
        if not sizes:
            does_not_apply("no setting cuts inputs by a number (partition_setting)")
        kit = copy.copy(self)
        kit.settings = {**self.settings, setting: min(sizes)}  # type: ignore[misc]
        for name in CUT:
            place = tmp_path / name
            place.mkdir()
            try:
                getattr(kit, name)(place)
            except unittest.SkipTest:
                continue
            except BrokenPromise as error:
                error.seen = f"{error.promise}; with {dict(kit.settings)}:\n{error.seen}"
                raise

    @promise("some files have the partitions of the plan, also one that is gone", quick=True)
    def test_some_files_are_planned_alike(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        partitions = self.partitions(source)
        files = sorted({f for p in partitions for f in p.inputs if Path(f).is_file()})
        if source.plan_files(map(Path, files)) is None:
            does_not_apply("plan_files() gives None for these files: runs list the whole location")
        setting, values = self.partition_setting or ("", ())
        ways = [{setting: value} for value in values]
        ways += [{name: value} for name, value in (self.examples or {}).items()]
        sources = [source, *(self.open(location, **way) for way in ways)]
        for each in sources:
            for file in files:
                _require_planned(each, file, {file})
            with contextlib.suppress(SourceError):  # a setting may leave nothing to read
                _require_all_planned(each, files)
        if not Path(location).is_dir():
            return  # where the location itself is gone, nobody asks
        for path in {Path(file).suffix: Path(file) for file in files}.values():
            places = [path.parent / f"folder below/{path.name}", path.parent / "another kind"]
            for place in [*places, path.parent / f".hidden/{path.name}"]:
                copy = copy_of(path, place)
                for each in sources:
                    _require_planned(each, str(copy), {str(copy)})
                copy.unlink()
        for partition in partitions:
            *others, file = partition.inputs or ("",)
            if Path(file).is_file():
                Path(file).unlink()
                _require_planned(source, file, set(others))

    @promise("partitions do not depend on each other, nor on the order of reading", quick=True)
    def test_partitions_are_independent(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        if len(self.partitions(self.open(location))) < 2:
            location = self.several_files(location)
        source = self.open(location)
        partitions = self.partitions(source)
        remedy = "keep nothing between partitions: each may be read in another process, or first"
        forwards = [all_lines([p]) for p in read_all(source, partitions)]
        for partition, lines in reversed([*zip(partitions, forwards, strict=True)]):
            found = all_lines(read_all(self.open(location), [partition]))
            about = f"partition {partition.id!r} read alone gives something else"
            require_same(found, lines, remedy, about=about)

    @promise("the bytes of a partition are reported as they are read, and no more than it has",
             quick=True)  # fmt: skip
    def test_progress_is_told(self, tmp_path: Path) -> None:
        source = self.open(self.make(tmp_path))
        for partition in self.partitions(source):
            counted, size = drained(source, partition), partition.size_bytes
            require(
                not (counted["rows"] and size) or size <= counted["bytes"] * 2 <= 2 * size,
                f"partition {partition.id!r} says that it has {size} bytes; when {counted['rows']} "
                f"rows of it had come, ctx.advance had reported {counted['bytes']}",
                "call ctx.advance(bytes) for each piece of the input that was read, as it lies in "
                "the file: else nobody sees how far a run is, and when it ends",
            )

    @promise("the size of batches does not change the rows", quick=True)
    def test_batch_size_does_not_matter(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        self._require_any_batches(location, "")
        for path in files_of(Path(location)) if Path(location).exists() else ():
            lines = path.read_bytes().splitlines(keepends=True)
            path.write_bytes(b"".join(lines + lines[self.header_lines :]))
        with contextlib.suppress(SourceError):
            self._require_any_batches(location, ", each file with its content twice")

    def _require_any_batches(self, location: Path | str, about: str) -> None:
        expected = all_lines(self.read(location))
        for rows in (1, 3):
            found = all_lines(self.checked(read_all(self.open(location), batch_rows=rows)))
            require_same(found, expected, CARRY, about=f"with tables of {rows}{about}")
        for target, values in self.blocks.items():
            for value in values:
                with _other_value(target, value):
                    found = all_lines(self.read(location))
                require_same(found, expected, CARRY, about=f"with {target} = {value}{about}")

    @promise("how inputs are cut into partitions does not change the rows, whatever the settings",
             quick=True)  # fmt: skip
    def test_partition_count_does_not_matter(self, tmp_path: Path) -> None:
        if self.partition_setting is None:
            does_not_apply("no setting cuts inputs into partitions (partition_setting)")
        setting, values = self.partition_setting
        location = self.make(tmp_path)
        for name, value in {setting: values[0], **(self.examples or {})}.items():
            read = [self.read(location, **{name: value, setting: cut}) for cut in values]
            refused = any(piece.found is None for pieces in read for piece in pieces)
            for cut, pieces in zip(values, read, strict=True):
                if refused and name != setting:
                    continue
                require_same(
                    _contents(pieces),
                    _contents(read[0]),
                    "let each partition begin and end at units, number positions as the file does, "
                    "and heed all settings",
                    about=f"{name} = {value!r}, with {setting} = {values[0]} and {cut}",
                )
            require(
                name != setting or len({len(pieces) for pieces in read}) > 1,
                f"all values of {setting} give {len(read[0])} partitions",
                "choose values in partition_setting that cut the sample differently",
            )

    @promise("the input is read and nothing else", quick=True)
    def test_the_input_is_left_as_it_is(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        before = _state_of(tmp_path)
        self.read(location)
        changed = sorted(path for path, _ in set(_state_of(tmp_path).items()) ^ set(before.items()))
        require(
            not changed,
            f"these files are new, changed or gone: {', '.join(changed)}",
            "write temporary files to ctx.scratch, which the core removes",
        )

    @promise("a copy of the input at another place, made at another time, gives the same rows",
             quick=True)  # fmt: skip
    def test_a_copy_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        copy = copy_of(location, tmp_path / "another place" / location.name)
        expected = all_lines(self.read(location), location.parent)
        for path in () if self.existence_is_a_row else files_of(copy):
            os.utime(path, (LONG_AGO, LONG_AGO))
        found = all_lines(self.read(copy), copy.parent)
        remedy = "take rows from the content alone; the place belongs into `origin`"
        require_same(found, expected, remedy)


def _amounts(pieces: list[Piece]) -> list[str]:
    """How many rows and rejects come of partitions, in their order, and which are refused."""
    return [
        f"{len(p.found.rejects)} rejects, "
        f"{ {name: table.num_rows for name, table in p.found.tables.items()} } rows"
        if p.found
        else f"refused: {p.refused}"
        for p in pieces
    ]


def _contents(pieces: list[Piece]) -> list[str]:
    """Rows and rejects, and how many units are filtered or folded, whatever the partitions are."""
    return [*filter(is_content, all_lines(pieces)), *map(str, sorted(left_out(pieces).items()))]


def _require_all_planned(source: Source, files: list[str]) -> None:
    whole, some = list(source.plan()), list(source.plan_files(map(Path, files)) or ())
    more = [p.id for p in some if p not in whole or some.count(p) > 1]
    fewer = [p.id for p in whole if p not in some and p.inputs]
    require(
        not (more or fewer),
        f"plan_files() of all files gives {more} besides what plan() gives, and lacks {fewer}",
        "give the same partitions, each once, however many files are asked for",
    )


def _require_planned(source: Source, file: str, inputs: set[str]) -> None:
    """``plan_files`` of a file gives what the plan has of each origin, at least of these inputs.

    What has a file as its only input may be given when that is gone: it is left out.
    """
    with raises_nothing(
        f"plan_files() of {file!r} raised ",
        "plan a file that cannot be opened as any other: read() reports why",
    ):
        given = source.plan_files([Path(file)])
    if given is None:
        return
    there = Path(file).exists()
    given = [partition for partition in given if there or partition.inputs != (file,)]
    try:
        plan = list(source.plan())
    except SourceError:  # nothing is left that it could be compared with
        return
    origins = {partition.origin for partition in given}
    require(
        all(p in plan for p in given)
        and all(p in given for p in plan if not inputs.isdisjoint(p.inputs)),
        f"plan_files() of {file!r} differs from what plan() gives for it",
        "give the same partitions, for a file that is gone those that it shared with others; "
        "None where a partition depends on more than its files",
    )
    lost = [p.id for p in plan if p.origin in origins and p not in given]
    require(
        not lost,
        f"plan_files() of {file!r} gives some partitions of an origin, and not {lost}",
        "give all that plan() has of this origin: others leave the dataset",
    )


def _other_value(target: str, value: int) -> contextlib.AbstractContextManager[Any]:
    """A constant, or the default of a function's parameter, of another value for a while."""
    module, _, name = target.partition(":")
    home = importlib.import_module(module)
    name, dot, parameter = name.partition(".")
    if not dot:
        return mock.patch.object(home, name, value)
    function = getattr(home, name)
    signature = inspect.signature(function)
    parameters = [
        p.replace(default=value) if p.name == parameter else p
        for p in signature.parameters.values()
    ]
    require(
        parameter in signature.parameters,
        f"{module}:{name} has no parameter {parameter!r}",
        "mend `blocks` of the test class",
    )
    given = [p for p in parameters if p.default is not p.empty]
    defaults = tuple(p.default for p in given if p.kind is not p.KEYWORD_ONLY)
    if signature.parameters[parameter].kind is inspect.Parameter.KEYWORD_ONLY:
        only = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}
        return mock.patch.object(function, "__kwdefaults__", only)
    return mock.patch.object(function, "__defaults__", defaults)


def _state_of(directory: Path) -> dict[str, tuple[int, bytes]]:
    files = {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in files_of(directory)}
    folders = (p for p in directory.rglob("*") if p.is_dir())
    return files | {f"{p}/": (0, b"") for p in folders}
