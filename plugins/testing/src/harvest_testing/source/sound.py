"""Promises about a valid sample: declarations, counts, and what must not change the rows."""

import contextlib
import copy
import importlib
import os
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from harvest import ReadContext, Source, SourceError, tables
from harvest.toolkit.texts import printable
from harvest_testing.declarations import class_problems
from harvest_testing.lab.damage import mended
from harvest_testing.promise import BrokenPromise, does_not_apply, promise, raises_nothing, require

from . import reading
from .kit import LONG_AGO, SourceKit, copy_of, files_of, is_input
from .reading import REJECTS, Piece, all_lines, is_content, left_out, read_all, require_same

CUT = (
    *("test_unreadable_input_costs_itself_alone", "test_inputs_are_complete"),
    *("test_partitions_are_independent", "test_it_can_be_pickled"),
    "test_a_damaged_line_costs_itself_alone",
)
"""Tests that are repeated with the input divided into small partitions."""

CARRY = "carry what a block cuts off over to the next one"
FIELD, VALUE = "unknownField", "Some Value 4711"


class ReadingPromises(SourceKit):
    """Tests that read the valid sample."""

    @promise("record types, columns and settings are declared and documented", quick=True)
    def test_schema_is_declared(self) -> None:
        problems = list(class_problems(self.source))
        require(not problems, "\n".join(problems), "declare and document it")

    @promise("every unit read becomes a row or a reject, or is counted with a reason", quick=True)
    def test_accounting_adds_up(self, tmp_path: Path) -> None:
        pieces = self.read(self.make(tmp_path))
        reading.require_places(pieces)
        refused = [piece.refused for piece in pieces if piece.found is None]
        require(not refused, f"the sample is refused: {refused}", "mend sample() or read()")
        rows = sum(piece.found.written for piece in pieces if piece.found)
        require(rows, "the sample gives no row at all", "write a sample that has some")
        total = sum(piece.found.accounted for piece in pieces if piece.found)
        require(
            self.units is None or total == self.units,
            f"{total} units are accounted for; the class says that the sample has {self.units}",
            "find the units that the source does not see or sees twice, or mend `units`",
        )

    @promise("units are filtered or merged for declared reasons", quick=True)
    def test_reasons_are_declared(self, tmp_path: Path) -> None:
        if self.counted is None:
            does_not_apply("it needs the reasons, which the plugin's own tests declare (counted)")
        found = left_out(self.read(self.make(tmp_path)))
        declared = {reason: count for reason, count in self.counted.items() if count}
        require(
            found == declared,
            f"units of the sample are counted as {found}; the class declares {declared}",
            "count the sample by hand and mend `counted` of the test class; what cannot be read "
            "belongs into ctx.reject",
        )

    @promise("each setting does something, loses no unit and moves no row", quick=True)
    def test_settings_have_an_effect(self, tmp_path: Path) -> None:
        names = [a.name for a in attrs.fields(self.source.Config)]
        if not names or self.examples is None:
            does_not_apply("it has no settings, or needs examples, which the plugin's tests have")
        cuts = {self.partition_setting[0]} if self.partition_setting else set()
        said = {*self.examples, *self.without_effect, *cuts}
        missing = [name for name in names if name not in said]
        require(
            not missing,
            f"no example of {', '.join(missing)}",
            "add a value that changes what comes of the sample to `examples` of the test class, or "
            "say in `without_effect` why there is none",
        )
        location = self.make(tmp_path)
        before = self.read(location)
        counted = self.units is not None or self.header_lines is not None
        for name, value in self.examples.items():
            try:
                changed = self.read(location, **{name: value})
            except SourceError:  # the setting may leave nothing to read
                continue
            require(
                all_lines(changed) != all_lines(before),
                f"{name} = {value!r} changes nothing of what comes of the sample",
                "let the setting do what it says, or mend `examples` of the test class",
            )
            # a setting may select inputs; compare those that are read both with and without it
            units, old = _units(changed), _units(before)
            refused = any(piece.found is None for piece in changed)
            require(
                refused
                or not counted
                or all(units[o] == old[o] for o in units.keys() & old.keys()),
                f"{name} = {value!r}: units accounted for are {units}, before {old}",
                "count what a setting leaves out with ctx.filtered(n, reason)",
            )
            places, were = _places(changed), _places(before)
            moved = [row for row, held in places.items() if held - were.get(row, held)]
            require(
                not moved,
                f"{name} = {value!r}: positions of rows are others: {moved[:1]}",
                "count positions through all that is read, whatever a setting leaves out",
            )

    @promise("a field that the source does not know is kept in `extra`, or noted", quick=True)
    def test_unknown_fields_are_kept(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        tried = False
        for path in files_of(location):
            with mended(path) as data:
                more = self.add_field(path, data, FIELD, VALUE)
                if more is None:
                    continue
                tried = True
                deeper = more.replace(f'"{VALUE}"'.encode(), f'{{"of": ["{VALUE}"]}}'.encode())
                for content in dict.fromkeys((more, deeper)):
                    path.write_bytes(content)
                    pieces = [p for p in self.read(location) if is_input(path, p.partition)]
                    lines = (line for line in all_lines(pieces) if not line.startswith(REJECTS))
                    kept = [line for line in lines if FIELD in line]
                    rows = sum(piece.found.written for piece in pieces if piece.found)
                    python = [line for line in kept if "{'of': [" in line]
                    require(
                        not rows or (kept and not python),
                        f"{path.name} with a field {FIELD!r} in each unit: no row or note has that "
                        f"name, or not as JSON: {python[:1]}",
                        "put what the record type does not declare into `extra`, as text by name; "
                        "what is not text is text as JSON (json.dumps)",
                    )
        if not tried:
            does_not_apply("the kit cannot add a field by name to this format (add_field)")

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
            (place := tmp_path / name).mkdir()
            try:
                with contextlib.suppress(unittest.SkipTest):
                    getattr(kit, name)(place)
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
        ways = [(setting, value) for value in values] + [*(self.examples or {}).items()]
        sources = [source, *(self.open(location, **{name: value}) for name, value in ways)]
        for each in sources:
            for file in files:
                _require_planned(each, file, {file})
            with contextlib.suppress(SourceError):  # a setting may leave nothing to read
                whole, some = list(each.plan()), list(each.plan_files(map(Path, files)) or ())
                lacking = [p.id for p in whole if p.inputs and p not in some]
                more = [p.id for p in some if p not in whole or some.count(p) > 1]
                require(
                    not lacking and not more,
                    f"plan_files() of all files gives {more} besides plan(), and lacks {lacking}",
                    "give the same partitions, each once, however many files are asked for",
                )
        if not Path(location).is_dir():
            return  # no caller asks about a location that does not exist
        for path in {Path(file).suffix: Path(file) for file in files}.values():
            for name in (f"folder below/{path.name}", "another kind", f".hidden/{path.name}"):
                other = copy_of(path, path.parent / name)
                for each in sources:
                    _require_planned(each, str(other), {str(other)})
                other.unlink()
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
        forwards = [all_lines([p]) for p in read_all(source, partitions)]
        for partition, lines in reversed([*zip(partitions, forwards, strict=True)]):
            found = all_lines(read_all(self.open(location), [partition]))
            remedy = "keep nothing between partitions: each may be read in another process"
            about = f"partition {partition.id!r} read alone gives something else"
            require_same(found, lines, remedy, about=about)

    @promise("the bytes of a partition are reported as they are read, and no more than it has",
             quick=True)  # fmt: skip
    def test_progress_is_told(self, tmp_path: Path) -> None:
        source = self.open(self.make(tmp_path))
        for partition in self.partitions(source):
            reported: list[int] = []
            with tempfile.TemporaryDirectory() as scratch:
                origin = printable(partition.origin)
                ctx = ReadContext(origin, Path(scratch), progress=reported.append)
                rows = sum(table.num_rows for _, table in tables(source, partition, ctx))
            size, total = partition.size_bytes, sum(reported)
            require(
                not (rows and size) or size <= total * 2 <= size * 2,
                f"partition {partition.id!r} says that it has {size} bytes; when {rows} rows of it "
                f"had come, ctx.advance had reported {total}",
                "call ctx.advance(bytes) for each piece of the input that was read, as it is in "
                "the file: else nobody sees how far a run is, and when it ends",
            )

    @promise("the size of batches does not change the rows", quick=True)
    def test_batch_size_does_not_matter(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        self._require_any_batches(location, "")
        for path in files_of(location):
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
            first, *others = (self.read(location, **{name: value, setting: cut}) for cut in values)
            if name != setting and any(piece.found is None for piece in first):
                continue
            for cut, pieces in zip(values[1:], others, strict=True):
                about = f"{name} = {value!r}, with {setting} = {values[0]} and {cut}"
                remedy = (
                    "let each partition begin and end at units, number positions as the file does, "
                    "and heed all settings"
                )
                require_same(_contents(pieces), _contents(first), remedy, about=about)

    @promise("a copy of the input at another place, made at another time, gives the same rows",
             quick=True)  # fmt: skip
    def test_a_copy_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        other = copy_of(location, tmp_path / "another place" / location.name)
        expected = all_lines(self.read(location), location.parent)
        for path in () if self.existence_is_a_row else files_of(other):
            os.utime(path, (LONG_AGO, LONG_AGO))
        found = all_lines(self.read(other), other.parent)
        remedy = "take rows from the content alone; the place belongs into `origin`"
        require_same(found, expected, remedy)


def _places(pieces: list[Piece]) -> dict[str, set[int]]:
    """Return the positions of rows, by origin, record type and other values."""
    found: dict[str, set[int]] = {}
    for piece in pieces:
        for name, table in piece.found.tables.items() if piece.found else ():
            for row in table.to_pylist():
                position = row.pop("position")
                found.setdefault(f"{piece.partition.origin} {name} {row}", set()).add(position)
    return found


def _units(pieces: list[Piece]) -> Counter[str]:
    units: Counter[str] = Counter()
    for piece in pieces:
        units[piece.partition.origin] += piece.found.accounted if piece.found else 0
    return units


def _contents(pieces: list[Piece]) -> list[str]:
    """Return rows, rejects, and counts of filtered and merged units, of all partitions."""
    return [
        *filter(is_content, all_lines(pieces)),
        *map(str, sorted(left_out(pieces).items())),
    ]


def _require_planned(source: Source, file: str, inputs: set[str]) -> None:
    """Require that ``plan_files`` of a file returns the plan's partitions of the same origins.

    inputs: files whose partitions must be returned, too. Ignores partitions of only a missing file.
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
    except SourceError:  # nothing is left to compare with
        return
    origins = {partition.origin for partition in given}
    wanted = [p for p in plan if p.origin in origins or not inputs.isdisjoint(p.inputs)]
    others = [p.id for p in given if p not in plan] + [p.id for p in wanted if p not in given]
    require(
        not others,
        f"plan_files() of {file!r} differs from what plan() gives for it, in {others}",
        "give the same partitions, all that plan() has of an origin, for a file that is gone those "
        "that it shared with others; None where a partition depends on more than its files",
    )


def _other_value(target: str, value: int) -> contextlib.AbstractContextManager[Any]:
    """Replace a constant, or the default of a function's parameter, within a block."""
    module, _, name = target.partition(":")
    home = importlib.import_module(module)
    name, dot, parameter = name.partition(".")
    if not dot:
        return mock.patch.object(home, name, value)
    function = getattr(home, name)
    only = {**function.__kwdefaults__, parameter: value}
    return mock.patch.object(function, "__kwdefaults__", only)
