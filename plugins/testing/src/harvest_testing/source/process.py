"""Promises about the process: nothing global is changed or relied on, and a kill does no harm."""

from __future__ import annotations

import contextlib
import gzip
import locale
import os
import pickle
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

import harvest
from harvest import Partition, ReadContext, Source, SourceError
from harvest.model import record_type
from harvest.toolkit.texts import printable
from harvest_testing.lab.damage import deep
from harvest_testing.lab.globals import changes, snapshot
from harvest_testing.lab.process import done_in_process, in_process, peak_memory
from harvest_testing.promise import BrokenPromise, does_not_apply, promise, raises_nothing, require

from .inputs import damaged_copies
from .kit import SourceKit, copy_of, files_of
from .reading import all_lines, in_order, plan_lines, planned, read_all, require_same
from .runs import contents, harvest_into, kill_runs

MEGABYTE = 1 << 20
TIMES = (2, 12)
"""How large the inputs are between which the growth of memory is measured, at least."""

FULL_BATCH = 8 * MEGABYTE
"""Bytes of the smaller input, if it can be, so that it fills a source's batches, too."""

SEEDS = ("4711", "12")
"""Of hashes, by which sets have another order; with one alone, two things come in one by chance."""

KEPT = {"HOME", "LC_ALL", "PATH", "PYTHONPATH", "PYTHONUTF8", "TMPDIR", "TZ"}
"""Variables of the environment that another process keeps."""

LEAVE = "leave it, or put it back"

DAMAGED = b"none of yours"

LARGEST = 64 * MEGABYTE
"""Bytes of the largest input that is made to have more to read than memory is granted."""


SAME = (
    "rely on nothing that differs between machines: zone, locale, environment, CPUs, order of "
    "sets; nor on what was read before"
)

FIELDS = ("harvestKitA", "harvestKitB", "harvestKitC", "harvestKitD", "harvestKitE")

GZIP = b"\x1f\x8b"
BLANKS, MANY_BLANKS = 32 * MEGABYTE, 24
"""Blanks of a packed piece, and how many pieces come one after the other."""

LONG_FILE = 1 * MEGABYTE


@attrs.frozen
class _Elsewhere:
    """What another process read and planned, and what that changed in it."""

    lines: list[list[str]]
    plan: list[str]
    schemas: list[str]
    changed: list[str]
    same_settings: bool


class ProcessPromises(SourceKit):
    """The tests in which it matters which process reads, where, and for how long it lives."""

    @promise("environment, locale, random numbers and the like stay as they are", quick=True)
    def test_no_global_state(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        before = snapshot()
        first = in_order(self.read(location))
        _require_unchanged(before)
        before = snapshot(later=True)
        second = in_order(self.read(location))
        _require_unchanged(before)
        about = "a second reading in one process gives something else"
        require_same(second, first, "keep nothing in module or class variables", about=about)
        source = self.open(location)
        for partition in planned(source):
            ctx = ReadContext(printable(partition.origin), tmp_path, on_reject=lambda _: None)
            rows = iter(source.read(partition, ctx))
            before = snapshot()
            for _ in rows:
                _require_unchanged(before, "while rows are given")

    @promise("source, settings and partitions travel to other processes", quick=True)
    def test_it_can_be_pickled(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        partitions = self.partitions(source)
        with raises_nothing(
            "pickle says ",
            "keep no open file, connection, lambda or local class in source, settings, partitions",
        ):
            copies = pickle.loads(pickle.dumps((source, partitions)))  # noqa: S301 - made here
        require(
            copies[1] == partitions and copies[0].config == source.config,
            "partitions or settings are not equal to their copies",
            "keep plain values in them, and let settings be an attrs class",
        )
        expected = all_lines(read_all(source, partitions))
        found = all_lines(read_all(*copies))
        require_same(found, expected, "keep all that read() needs")

    @promise("another process, zone, locale, hash seed and number of CPUs give the same rows")
    def test_another_process_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        others = (self._accented(tmp_path), self._with_fields(tmp_path),
                  *damaged_copies(location, tmp_path))  # fmt: skip
        read = [(each, _planned_if_any(each)) for each in (source, *map(self.open, others))]
        longer = self.open(_longer(self.make(tmp_path, "longer")))
        expected = [_read_here(*each) for each in read]
        plan = plan_lines(_planned_if_any(longer))
        for turned, seed in enumerate(SEEDS):
            found = self._read_elsewhere((read, longer, self.settings), turned, tmp_path, seed)
            changed, same_settings = found.changed, found.same_settings
            require(not changed, f"importing or reading it, or what is damaged, changes {changed}",
                    LEAVE)  # fmt: skip
            about = f"with PYTHONHASHSEED={seed}"
            require(same_settings, f"{about}: the defaults of settings are others", SAME)
            for before, after in zip(expected, found.lines, strict=True):
                require_same(after, before, SAME, about=about)
            about = f"{about}, on one CPU: larger files are planned otherwise"
            require_same(found.plan, plan, SAME, about=about)
            require(
                found.schemas == _schemas(source),
                "the record types' schemas differ between processes",
                "declare columns in a fixed order",
            )

    def _read_elsewhere(self, work: Any, turned: int, scratch: Path, seed: str) -> _Elsewhere:
        ended = in_process(
            _read_there, pickle.dumps(work), bool(turned), scratch=scratch, cwd=Path("/"),
            environment={"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0",
                         "PYTHONHASHSEED": seed},
        )  # fmt: skip
        require(
            ended.status == 0,
            f"a worker process cannot read it (status {ended.status}):\n{_last(ended.errors)}",
            "let the class be importable by its module's name",
        )
        found: _Elsewhere = ended.result
        return found

    @promise("brackets within brackets, however many, do not end the process")
    def test_deep_nesting_is_refused(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        tried = []
        for path in {path.suffix: path for path in files_of(location)}.values():
            for number, (done, damaged) in enumerate(deep(path.read_bytes())):
                place = copy_of(location, tmp_path / f"{number}{path.suffix}" / location.name)
                (place / path.relative_to(location)).write_bytes(damaged)
                tried.append((f"{path.name}, {done}", self.open(place)))
        ended = in_process(_read_each, tried, scratch=tmp_path)
        require(
            ended.status == 0,
            f"the process ended with {ended.status}:\n{_last(ended.errors)}",
            "catch RecursionError as any error of the input, and leave the recursion limit alone",
        )

    @promise("after a kill, the next run leaves what an undisturbed one does")
    def test_killed_runs_resume(self, tmp_path: Path) -> None:
        location, whole = str(self.make(tmp_path)), tmp_path / "undisturbed"
        self.partitions(self.open(location))
        harvest_into(whole, self.source, location, self.settings)
        expected = contents(whole, self.source)
        outs = {step: tmp_path / f"killed at {step}" for step in ("write", "publish")}
        task = (outs, self.source, location, dict(self.settings))
        failures = done_in_process(kill_runs, *task, scratch=tmp_path)
        for step, out in outs.items():
            said = _last(failures.get(step, ""))
            require(
                step not in failures,
                f"a second run was to die at the first {step}:\n{said}",
                "keep no state beside the input or between runs",
            )
            harvest_into(out, self.source, location, self.settings)
            require_same(
                contents(out, self.source),
                expected,
                "keep all state in ctx.scratch, and none beside the input or between runs",
                about=f"killed at the first {step}",
            )

    @promise("memory does not grow with the input")
    def test_memory_is_bounded(self, tmp_path: Path) -> None:
        first, last = self._times(_size_of(self._enlarged(tmp_path, 1)))
        small_input, large_input = (self._enlarged(tmp_path, n) for n in (first, last))
        self._warn_unless_enough(_size_of(large_input) - _size_of(small_input))
        for location in (small_input, large_input) if self.header_lines is not None else ():
            for path in files_of(Path(location)):  # as many bytes of damaged lines, as long
                with path.open("r+b") as file:
                    line = DAMAGED.ljust(max(100, len(file.readline())) - 1) + b"\n"
                    size = file.seek(0, os.SEEK_END)
                    file.write(line * (size // len(line)))
        sources = [self.open(small_input), self.open(large_input)]
        limit = self.max_memory_mb * MEGABYTE
        small, large = done_in_process(_measure, sources, scratch=tmp_path)
        if large - small > limit:  # again, since an allocator now and then takes a block ahead
            small, large = done_in_process(_measure, sources, scratch=tmp_path)
        require(
            large - small <= limit,
            f"{last / first:.1f} times the input takes {(large - small) / MEGABYTE:.0f} MB more "
            f"({small / MEGABYTE:.0f} MB and {large / MEGABYTE:.0f} MB)",
            f"yield rows as they are read; {self.max_memory_mb} MB are granted (max_memory_mb)",
        )

    @promise("a small packed file takes no memory for all that comes out of it")
    def test_packed_input_is_bounded(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        packed = [p for p in files_of(location) if p.read_bytes().startswith(GZIP)]
        if not packed or self.header_lines is not None:
            does_not_apply("no input of the sample is a gzip file, or its units are lines")
        blanks = gzip.compress(b" " * BLANKS, mtime=0) * MANY_BLANKS
        for path in packed[:1]:
            sources = [self.open(location)]
            bomb = copy_of(location, tmp_path / "bomb" / location.name)
            with (bomb / path.relative_to(location)).open("ab") as file:
                file.write(blanks)
            sources.append(self.open(bomb))
            before, after = done_in_process(_measure, sources, SourceError, scratch=tmp_path)
            most = BLANKS * MANY_BLANKS // 2
            require(
                after - before <= most,
                f"{path.name} with {BLANKS * MANY_BLANKS // MEGABYTE} MB of blanks, packed into "
                f"{len(blanks) // 1024} KB, takes {(after - before) // MEGABYTE} MB more",
                "read a packed input piece by piece, or refuse one that is larger than a limit "
                "when it is unpacked",
            )

    def _accented(self, directory: Path) -> Path | str:
        """The sample with a letter in each file that ASCII does not have."""
        place = self.make(directory, "accented")
        for path in files_of(Path(place)) if Path(place).exists() else ():
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2] + "é".encode() + data[len(data) // 2 :])
        return place

    def _with_fields(self, directory: Path) -> Path | str:
        """The sample with several fields that the source does not know, if it has names."""
        place = self.make(directory, "with fields")
        for path in files_of(Path(place)) if Path(place).exists() else ():
            for name in FIELDS:
                more = self.add_field(path, path.read_bytes(), name, name)
                if more is not None:
                    path.write_bytes(more)
        return place

    def _enlarged(self, directory: Path, times: int) -> Path | str:
        place = directory / f"times {times}"
        place.mkdir()
        return self.enlarge(place, times)

    def _times(self, size: int) -> tuple[int, int]:
        """How large to make the two inputs: held in memory, the second is more than granted.

        size: bytes of an input of ``times`` 1.
        """
        if not size:
            return TIMES
        wanted = min(self.max_memory_mb * MEGABYTE * 5 // 4, LARGEST)
        first = max(TIMES[0], FULL_BATCH // size)
        return first, first + max(TIMES[1] - TIMES[0], wanted // size + 1)

    def _warn_unless_enough(self, added: int) -> None:
        if added < self.max_memory_mb * MEGABYTE:
            warnings.warn(
                f"max_memory_mb grants {self.max_memory_mb} MB, and the larger input has "
                f"{added / MEGABYTE:.0f} MB more: a source that holds all of it would pass; grant "
                "less, or let enlarge(directory, times) write more",
                stacklevel=2,
            )


def _size_of(location: Path | str) -> int:
    path = Path(location)
    return sum(p.stat().st_size for p in files_of(path)) if path.exists() else 0


def _require_unchanged(before: Mapping[str, Any], when: str = "") -> None:
    changed = changes(dict(before))
    require(not changed, f"reading changes {', '.join(changed)} {when}".rstrip(), LEAVE)


def _last(errors: str) -> str:
    return "\n".join(errors.strip().splitlines()[-5:])


def _planned_if_any(source: Source) -> list[Partition]:
    """The plan; none of a location that is refused."""
    with contextlib.suppress(SourceError):
        return planned(source)
    return []


def _longer(location: Path | str) -> Path | str:
    """A sample whose files are so long that one may cut them, of whatever content."""
    for path in files_of(Path(location)) if Path(location).exists() else ():
        data = path.read_bytes() or b"\n"
        path.write_bytes(data * (LONG_FILE // len(data) + 1))
    return location


def _read_here(
    source: Source, partitions: list[Partition], *, batch_rows: int | None = None
) -> list[str]:
    """All that is read and planned, in its order."""
    # what is read in a process that has planned nothing is what a worker reads
    read = in_order(read_all(source, partitions, batch_rows=batch_rows))
    return read + plan_lines(_planned_if_any(source))


def _read_each(sources: list[tuple[str, Source]]) -> None:
    for about, source in sources:
        with contextlib.suppress(SourceError):
            try:
                read_all(source)
            except BrokenPromise as error:
                raise SystemExit(f"{about}: {error.seen}") from error


def _read_there(packed: bytes, turned: bool) -> _Elsewhere:
    """The same on one CPU, by a locale of ASCII, by which texts are decoded, but for file names.

    packed: pickled sources with their partitions, one to be planned alone, and settings: so the
    source is imported here, and what that changes is seen.
    turned: one after the other from the last to the first, in batches of one row.
    """
    locale.setlocale(locale.LC_ALL, "C")
    for name in os.environ.keys() - KEPT:  # earlier readings may have set them
        del os.environ[name]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    before = snapshot()
    read, longer, settings = pickle.loads(packed)  # noqa: S301 - the kit's own
    again: list[list[str]] = []
    changed: set[str] = set(changes(before))
    for source, partitions in reversed(read) if turned else read:
        again.append(_read_here(source, partitions, batch_rows=1 if turned else None))
        changed.update(changes(before))  # another reading may put it back
    first = read[0][0]
    opened = type(first).configured(first.location, **settings)
    return _Elsewhere(
        lines=again[::-1] if turned else again,
        plan=plan_lines(_planned_if_any(longer)),
        schemas=_schemas(first),
        changed=sorted(changed),
        same_settings=opened.config == first.config,
    )


def _schemas(source: Source) -> list[str]:
    return [record_type(cls).arrow_schema.to_string() for cls in source.record_types]


def _measure(sources: list[Source], *refused: type[Exception]) -> list[int]:
    """Peak memory after reading each location, one after the other, row by row thrown away.

    refused: errors by which a partition may be refused as a whole.
    """
    peaks = []
    for source in sources:
        for partition in planned(source):
            with tempfile.TemporaryDirectory() as scratch:
                ctx = ReadContext(partition.origin, Path(scratch), on_reject=lambda reject: None)
                rows = 0
                with contextlib.suppress(*refused):
                    for _, table in harvest.tables(source, partition, ctx):
                        rows += table.num_rows
        peaks.append(peak_memory())
    return peaks
