"""Promises about the process: nothing global is changed or relied on, and a kill does no harm."""

from __future__ import annotations

import contextlib
import locale
import os
import pickle
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import harvest
from harvest import Partition, ReadContext, Source, SourceError
from harvest.model import record_type
from harvest_testing.lab.damage import deep
from harvest_testing.lab.globals import changes, snapshot
from harvest_testing.lab.process import done_in_process, in_process, peak_memory
from harvest_testing.promise import BrokenPromise, promise, raises_nothing, require

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

    @promise("another process, zone, locale and hash seed give the same rows")
    def test_another_process_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        read = [(self.open(location), self.partitions(source)), *self._accented(tmp_path)]
        expected = _read_here(read)
        broken = [self.open(place) for place in damaged_copies(location, tmp_path)]
        for seed in SEEDS:
            found, schemas, changed = self._read_elsewhere(read, broken, tmp_path, seed)
            require(not changed, f"reading, or what is damaged, changes {changed}", LEAVE)
            remedy = "rely on nothing that differs between machines: zone, locale, order of sets"
            require_same(found, expected, remedy, about=f"with PYTHONHASHSEED={seed}")
        require(
            schemas == _schemas(source),
            "the record types' schemas differ between processes",
            "declare columns in a fixed order",
        )

    def _read_elsewhere(self, read: Any, broken: list[Source], scratch: Path, seed: str) -> Any:
        ended = in_process(
            _read_there, read, broken, scratch=scratch, cwd=Path("/"),
            environment={"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0",
                         "PYTHONHASHSEED": seed},
        )  # fmt: skip
        require(
            ended.status == 0,
            f"a worker process cannot read it (status {ended.status}):\n{_last(ended.errors)}",
            "let the class be importable by its module's name",
        )
        return ended.result

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

    def _accented(self, directory: Path) -> list[tuple[Source, list[Partition]]]:
        """The sample with a letter in each file that ASCII does not have."""
        place = self.make(directory, "accented")
        for path in files_of(Path(place)) if Path(place).exists() else ():
            data = path.read_bytes()
            path.write_bytes(data[: len(data) // 2] + "é".encode() + data[len(data) // 2 :])
        source = self.open(place)
        try:
            return [(source, planned(source))]
        except SourceError:
            return []

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


def _require_unchanged(before: Mapping[str, Any]) -> None:
    changed = changes(dict(before))
    require(not changed, f"reading changes {', '.join(changed)}", LEAVE)


def _last(errors: str) -> str:
    return "\n".join(errors.strip().splitlines()[-5:])


def _read_here(read: list[tuple[Source, list[Partition]]]) -> list[str]:
    """All that is planned and read, in its order."""
    lines = []
    for source, partitions in read:
        # what is read in a process that has planned nothing is what a worker reads
        lines += in_order(read_all(source, partitions)) + plan_lines(planned(source))
    return lines


def _read_each(sources: list[tuple[str, Source]]) -> None:
    for about, source in sources:
        with contextlib.suppress(SourceError):
            try:
                read_all(source)
            except BrokenPromise as error:
                raise SystemExit(f"{about}: {error.seen}") from error


def _read_there(
    read: list[tuple[Source, list[Partition]]], broken: list[Source]
) -> tuple[list[str], list[str], list[str]]:
    """The same by a locale of ASCII, by which texts are decoded, but for the names of files.

    The schemas, too, and what the first readings of a process change in it.
    """
    locale.setlocale(locale.LC_ALL, "C")
    for name in os.environ.keys() - KEPT:  # earlier readings may have set them
        del os.environ[name]
    before = snapshot()
    lines = _read_here(read)
    _read_each([("damaged", source) for source in broken])
    return lines, _schemas(read[0][0]), changes(before)


def _schemas(source: Source) -> list[str]:
    return [record_type(cls).arrow_schema.to_string() for cls in source.record_types]


def _measure(sources: list[Source]) -> list[int]:
    """Peak memory after reading each location, one after the other, row by row thrown away."""
    peaks = []
    for source in sources:
        for partition in planned(source):
            with tempfile.TemporaryDirectory() as scratch:
                ctx = ReadContext(partition.origin, Path(scratch), on_reject=lambda reject: None)
                rows = 0
                for _, table in harvest.tables(source, partition, ctx):
                    rows += table.num_rows
        peaks.append(peak_memory())
    return peaks
