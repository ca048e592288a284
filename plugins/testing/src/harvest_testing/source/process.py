"""Promises about the process: a source neither changes global state nor depends on it."""

import contextlib
import locale
import os
import pickle
import tempfile
from itertools import islice, product
from pathlib import Path
from typing import Any

from harvest import Partition, ReadContext, Source, SourceError
from harvest.toolkit.texts import printable
from harvest_testing.lab.globals import (
    changes,
    leaving_nothing,
    require_closed,
    require_unchanged,
    snapshot,
)
from harvest_testing.lab.process import in_process
from harvest_testing.promise import BrokenPromise, promise, raises_nothing, require

from .hostile import damaged_copies
from .kit import SourceKit, files_of
from .reading import all_lines, in_order, plan_lines, planned, read_all, require_same

SEEDS = ("4711", "12")
"""Hash seeds, which change the order of sets; one seed alone may not reorder two items."""

SAME = (
    "rely on nothing that differs between machines: zone, locale, environment, order of sets; nor "
    "on what was read or planned before"
)


class ProcessPromises(SourceKit):
    """Tests that read in other processes and environments."""

    @promise("environment, locale, random numbers and similar state stay as they are", quick=True)
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

    @promise("the input is read, and nothing is changed, left, held open or printed", quick=True)
    def test_nothing_is_left_behind(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        remedy = "write temporary files to ctx.scratch, which the core removes"
        state = _state_of(location)
        with leaving_nothing(tmp_path, remedy):
            self.read(location)
            changed = [name for name, _ in set(_state_of(location).items()) ^ set(state.items())]
            require(not changed, f"files are new, changed or gone: {sorted(changed)}", remedy)
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
                    raise BrokenPromise(
                        "reading went on, or ended as whole, after a KeyboardInterrupt at a yield",
                        "catch the exceptions that you expect by name, Exception at most",
                    )


def _state_of(location: Path | str) -> dict[str, tuple[int, bytes]]:
    """Return modification time and content of each file of a location."""
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in files_of(location)}


def _read_here(
    source: Source, partitions: list[Partition], *, batch_rows: int | None = None
) -> list[str]:
    """Read partitions, then plan; return rows, rejects and partitions as lines, in order."""
    # read before planning, as a worker does, which has planned nothing
    read = in_order(read_all(source, partitions, batch_rows=batch_rows))
    return read + plan_lines(planned(source))


def _read_there(packed: bytes, turned: bool) -> tuple[list[list[str]], list[str]]:
    """Call ``_read_here`` with a minimal environment; also return names of changed process state.

    packed: pickled sources with their partitions, so that this process imports the source.
    turned: read from the last to the first, in batches of one row.
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
