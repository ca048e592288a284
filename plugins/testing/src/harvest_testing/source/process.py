"""Promises about the process: nothing global is changed or relied on, and a kill does no harm."""

from __future__ import annotations

import contextlib
import locale
import os
import pickle
import signal
import tempfile
from itertools import islice, product
from pathlib import Path
from typing import Any

import harvest
from harvest import Partition, ReadContext, Source, SourceError
from harvest.toolkit.texts import printable
from harvest_testing.lab.globals import (
    changes,
    leaving_nothing,
    require_closed,
    require_unchanged,
    snapshot,
)
from harvest_testing.lab.process import done_in_process, in_process, peak_memory
from harvest_testing.promise import broken, promise, raises_nothing, require

from .hostile import damaged_copies
from .kit import SourceKit, files_of
from .reading import (
    ArrowSink,
    all_lines,
    contents,
    harvest_into,
    in_order,
    plan_lines,
    planned,
    read_all,
    require_same,
)

MEGABYTE = 1 << 20
LEAST = 2
"""Times that the smaller input is as large as the sample, at least."""
FULL_BATCH = 8 * MEGABYTE
"""Bytes of the smaller input, if it can be, so that it fills a source's batches, too."""
LARGEST = 64 * MEGABYTE
"""Bytes of the largest input that is made to have more to read than memory is granted."""

SEEDS = ("4711", "12")
"""Of hashes, by which sets have another order; with one alone, two things come in one by chance."""

SAME = (
    "rely on nothing that differs between machines: zone, locale, environment, order of sets; nor "
    "on what was read or planned before"
)


class ProcessPromises(SourceKit):
    """The tests in which it matters which process reads, where, and for how long it lives."""

    @promise("environment, locale, random numbers and the like stay as they are", quick=True)
    def test_no_global_state(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        before = snapshot()
        first = in_order(self.read(location))
        require_unchanged(before, "reading")
        before = snapshot(later=True)
        with raises_nothing("read again in one process: ", "keep nothing in class variables"):
            second = in_order(self.read(location))
        require_unchanged(before, "reading")
        about = "a second reading in one process gives something else"
        require_same(second, first, "keep nothing in module or class variables", about=about)
        source = self.open(location)
        for partition in planned(source):
            ctx = ReadContext(printable(partition.origin), tmp_path, on_reject=lambda _: None)
            rows = iter(source.read(partition, ctx))
            before = snapshot()
            for _ in rows:
                require_unchanged(before, "reading, while rows are given,")

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

    @promise("another process, zone, locale, environment and hash seed give the same rows")
    def test_another_process_gives_the_same(self, tmp_path: Path) -> None:
        source = self.open(self.make(tmp_path))
        read = [(source, self.partitions(source))]
        for copy in damaged_copies(source.location, tmp_path):
            with contextlib.suppress(SourceError):
                read.append((self.open(copy), planned(self.open(copy))))
        expected = [_read_here(*each) for each in read]
        for turned, seed in enumerate(SEEDS):
            ended = in_process(
                _read_there, pickle.dumps(read), bool(turned), scratch=tmp_path, cwd=Path("/"),
                environment={"TZ": "Pacific/Auckland", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0",
                             "PYTHONHASHSEED": seed},
            )  # fmt: skip
            require(
                ended.status == 0,
                f"a worker process cannot read it (status {ended.status}):\n{ended.errors[-900:]}",
                "let the class be importable by its module's name",
            )
            found, changed = ended.result
            require(not changed, f"importing or reading it changes {changed}", SAME)
            for before, after in zip(expected, found, strict=True):
                require_same(after, before, SAME, about=f"with PYTHONHASHSEED={seed}")

    @promise("reading leaves no file behind, wherever, and prints nothing", quick=True)
    def test_nothing_is_left_behind(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        remedy = "write temporary files to ctx.scratch, which the core removes"
        with leaving_nothing(tmp_path, remedy):
            self.read(location)
            for copy in damaged_copies(location, tmp_path):
                with contextlib.suppress(SourceError):
                    read_all(self.open(copy))
        require_closed(tmp_path)

    @promise("Ctrl-C ends reading wherever it is", quick=True)
    def test_interrupts_pass(self, tmp_path: Path) -> None:
        source = self.open(self.make(tmp_path))
        for partition, at in product(self.partitions(source), range(4)):
            with tempfile.TemporaryDirectory() as scratch:
                ctx = ReadContext(printable(partition.origin), Path(scratch))
                rows: Any = iter(source.read(partition, ctx))
                if len(list(islice(rows, at + 1))) <= at or not hasattr(rows, "throw"):
                    continue
                with contextlib.suppress(KeyboardInterrupt):
                    with contextlib.suppress(StopIteration):
                        rows.throw(KeyboardInterrupt())
                    broken(
                        "reading went on, or ended as whole, after a KeyboardInterrupt at a yield",
                        "catch the exceptions that you expect by name, Exception at most",
                    )

    @promise("after a kill, the next run leaves what an undisturbed one does")
    def test_killed_runs_resume(self, tmp_path: Path) -> None:
        location, whole = str(self.make(tmp_path)), tmp_path / "undisturbed"
        self.partitions(self.open(location))
        task = (self.source, location, {self.source.name: dict(self.settings)})
        harvest_into(ArrowSink, whole, *task)
        expected = contents(whole, self.source)
        remedy = "keep all state in ctx.scratch, and none beside the input or between runs"
        for step in ("write", "publish"):
            out = tmp_path / f"killed at {step}"
            ended = in_process(harvest_into, ArrowSink, out, *task, step, scratch=tmp_path)
            about = f"a run that was to die at the first {step} ended with {ended.status}"
            require(ended.status == -signal.SIGKILL, f"{about}:\n{ended.errors[-900:]}", remedy)
            harvest_into(ArrowSink, out, *task)
            found = contents(out, self.source)
            require_same(found, expected, remedy, about=f"killed at the first {step}")

    @promise("memory does not grow with the input")
    def test_memory_is_bounded(self, tmp_path: Path) -> None:
        size = _size_of(self._enlarged(tmp_path, 1))
        limit = self.max_memory_mb * MEGABYTE
        first = max(LEAST, FULL_BATCH // max(1, size))
        last = first + max(10, min(limit * 5 // 4, LARGEST) // max(1, size) + 1)
        sources = [self.open(self._enlarged(tmp_path, times)) for times in (first, last)]
        for _ in range(3):  # an allocator now and then takes a block ahead
            small, large = done_in_process(_measure, sources, scratch=tmp_path)
            if large - small <= limit:
                break
        require(
            large - small <= limit,
            f"{last / first:.1f} times the input takes {(large - small) / MEGABYTE:.0f} MB more "
            f"({small / MEGABYTE:.0f} MB and {large / MEGABYTE:.0f} MB)",
            f"yield rows as they are read; {self.max_memory_mb} MB are granted (max_memory_mb)",
        )

    def _enlarged(self, directory: Path, times: int) -> Path | str:
        place = directory / f"times {times}"
        place.mkdir()
        return self.enlarge(place, times)


def _size_of(location: Path | str) -> int:
    path = Path(location)
    return sum(p.stat().st_size for p in files_of(path)) if path.exists() else 0


def _read_here(
    source: Source, partitions: list[Partition], *, batch_rows: int | None = None
) -> list[str]:
    """All that is read and planned, in its order."""
    # what is read in a process that has planned nothing is what a worker reads
    read = in_order(read_all(source, partitions, batch_rows=batch_rows))
    return read + plan_lines(planned(source))


def _read_there(packed: bytes, turned: bool) -> tuple[list[list[str]], list[str]]:
    """The same where little is set in the environment; and what changes in the process.

    packed: pickled sources with their partitions, so the source is imported here.
    turned: one after the other from the last to the first, in batches of one row.
    """
    locale.setlocale(locale.LC_ALL, "C")
    for name in os.environ.keys() - {"HOME", "LC_ALL", "PATH", "PYTHONPATH", "TMPDIR", "TZ"}:
        del os.environ[name]  # earlier readings may have set them
    before = snapshot()
    read = pickle.loads(packed)  # noqa: S301 - the kit's own
    found = [
        _read_here(*each, batch_rows=1 if turned else None)
        for each in (reversed(read) if turned else read)
    ]
    return found[::-1] if turned else found, changes(before)


def _measure(sources: list[Source]) -> list[int]:
    """Peak memory after reading each location, one after the other, row by row thrown away."""
    peaks = []
    for source in sources:
        for partition in planned(source):
            with tempfile.TemporaryDirectory() as scratch:
                ctx = ReadContext(partition.origin, Path(scratch), on_reject=lambda reject: None)
                for _ in harvest.tables(source, partition, ctx):
                    pass
        peaks.append(peak_memory())
    return peaks
