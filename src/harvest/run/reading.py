"""Reading one partition and staging what it gives, by itself or for a bundle to stage it.

A partition may be attempted twice at a time: a worker that was given up for lost may live on.
Each attempt therefore works in a directory of its own, and the first that is complete is put in
place, by one rename; the others are thrown away.
"""

from __future__ import annotations

import contextlib
import errno
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from harvest import interrupt
from harvest.errors import PluginError, SourceError, TooManyRejects
from harvest.model import RecordType
from harvest.plugins.context import ReadContext, Reject
from harvest.plugins.sink import PartFile, PartWriter
from harvest.plugins.source import Partition, Source
from harvest.toolkit import fault
from harvest.toolkit.files import flush
from harvest.toolkit.texts import printable

from .fingerprint import fingerprint
from .freeze import freezing
from .manifest import Part, write_part
from .rejects import RejectWriter
from .rows import typed_tables
from .staged import DONE, STAGING, parts_in
from .work import (
    ATTEMPTS,
    REJECTS,
    Progress,
    SourceRejected,
    Task,
    TaskResult,
    remove_tree,
    source_errors,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Reading", "Small", "make_attempt", "put_in_place", "result_of"]

_REPORT_EVERY_S = 0.2


class Reading:
    """The state of one task while it runs."""

    def __init__(self, task: Task, report: Callable[[Progress], None] | None):
        self.task = task
        self.meter = _Meter(report)
        self.places = [sink.state / STAGING / part.stem for sink, part in task.targets]
        attempt = secrets.token_hex(6)
        self.directories = [
            place.parent / ATTEMPTS / f"{place.name}-{attempt}" for place in self.places
        ]
        self.scratch = self.directories[0].with_name(f"scratch-{attempt}")

    def run(self) -> TaskResult:
        """Read it, and stage it by itself."""
        for directory in self.directories:
            make_attempt(directory)
        with self._stage() as stage:
            return self._alone(stage, self._read(stage))

    def run_in_bundle(self) -> TaskResult | Small:
        """Read it; unless its rows are few, stage it by itself."""
        with self._stage() as stage:
            outcome = self._read(stage)
            tables = stage.held()
            if tables is None:
                for directory in self.directories:
                    make_attempt(directory)
                return self._alone(stage, outcome)
            self.meter.flush()
            parts = [
                stage.described(number, outcome, files=(), rejects=None)
                for number in range(len(tables))
            ]
            return Small(self.task, parts, tables)

    @contextlib.contextmanager
    def _stage(self) -> Iterator[_Stage]:
        stage = _Stage(self.task, self.directories, self.scratch)
        try:
            yield stage
        except BaseException:
            stage.abort()
            for directory in self.directories:
                shutil.rmtree(directory, ignore_errors=True)
            raise
        finally:
            if self.scratch.exists():
                remove_tree(self.scratch)

    def _alone(self, stage: _Stage, outcome: _Outcome) -> TaskResult:
        staged = stage.finish(outcome)
        parts: list[Part] = []
        for part, attempt, place in zip(staged, self.directories, self.places, strict=True):
            parts += put_in_place([part], attempt, place)
        self.meter.flush()
        return result_of(self.task, parts)

    def _read(self, stage: _Stage) -> _Outcome:
        task, ctx = self.task, stage.context(self.meter.bytes)
        rows: dict[str, int] = {}
        limited = failed = False
        left = task.limit
        before = fingerprint(task.partition.inputs)
        fault.point("partition.begun")
        try:
            if task.unreadable is not None:
                raise SourceError(task.unreadable, where=printable(task.partition.origin))
            for kind, table in _guarded(task.source, task.partition, ctx):
                interrupt.check()
                piece = table if left is None else table.slice(0, left)
                stage.write(kind, piece)
                fault.point("partition.rows")
                rows[kind.name] = rows.get(kind.name, 0) + piece.num_rows
                self.meter.rows(piece.num_rows)
                if left is not None:
                    left -= piece.num_rows
                    if left <= 0:
                        limited = True
                        break
        except (SourceError, PluginError) as error:
            reason = error.message
            if isinstance(error, PluginError):
                if self._unchanged(before):
                    raise
                reason = "the input changed while it was read"
            if task.on_error == "fail":
                raise
            failed, rows = True, {}
            ctx = stage.restart(self.meter.bytes)
            ctx.reject(b"", reason)
        fault.point("partition.read")
        changed = not self._unchanged(before)
        if changed:
            ctx.note("the input changed while it was read; the next run reads it again")
        return _Outcome(ctx, rows, failed=failed, limited=limited, changed=changed)

    def _unchanged(self, before: str) -> bool:
        """Whether the inputs are still as they were when reading began, and when it was planned."""
        partition = self.task.partition
        planned = self.task.targets[0][1].fingerprint
        if partition.inputs and partition.fingerprint is None and planned != before:
            return False
        return fingerprint(partition.inputs) == before


@attrs.frozen
class _Outcome:
    ctx: ReadContext
    rows: dict[str, int]
    failed: bool = attrs.field(kw_only=True)
    limited: bool = attrs.field(kw_only=True)
    changed: bool = attrs.field(kw_only=True)

    def account(self, task: Task) -> int:
        """Input units read; raises PluginError when they do not add up."""
        ctx = self.ctx
        out = sum(self.rows.values()) + ctx.rejected
        out += sum(ctx.filtered_by.values()) + sum(ctx.folded_by.values())
        if ctx.units is None or self.failed or self.limited:
            return out
        if ctx.units != out:
            raise PluginError(
                f"source {task.source.name!r} read {ctx.units} units but accounts for {out} "
                "(rows + filtered + folded + rejected)",
                where=printable(task.partition.origin),
                remedy="report this to the plugin's author; nothing of this run was committed",
            )
        return ctx.units


class _Stage:
    """The staging directories of a task, one per sink, and their writers."""

    def __init__(self, task: Task, directories: list[Path], scratch: Path):
        self.task = task
        self.directories = directories
        self.scratch = scratch
        self._open()

    def _open(self) -> None:
        targets = zip(self.task.targets, self.directories, strict=True)
        self.writers: list[PartWriter] = [
            freezing(sink.writer(directory, part.stem), part.frozen)
            for (sink, part), directory in targets
        ]
        self.rejects = [
            RejectWriter(directory / REJECTS, self.task.source.name)
            for directory in self.directories
        ]

    def context(self, on_bytes: Callable[[int], None]) -> ReadContext:
        return ReadContext(
            printable(self.task.partition.origin),
            self.scratch,
            progress=on_bytes,
            on_reject=self._reject,
        )

    def _reject(self, reject: Reject) -> None:
        task = self.task
        if task.on_error == "fail":
            where = printable(reject.origin)
            if reject.position is not None:
                where += f", record {reject.position}"
            raise SourceRejected(
                reject.reason, where=where, remedy="mend the input, or use --on-error reject"
            )
        for writer in self.rejects:
            writer.add(reject)
        if task.max_rejects is not None and self.rejects[0].count > task.max_rejects:
            raise TooManyRejects(
                f"more than {task.max_rejects} rejects, the last one: {reject.reason}",
                where=printable(reject.origin),
                remedy="look at the input, or raise --max-rejects; nothing was committed",
            )

    def write(self, kind: RecordType, table: pa.Table) -> None:
        for writer in self.writers:
            writer.write(kind, table)

    def restart(self, on_bytes: Callable[[int], None]) -> ReadContext:
        """Throw away what was written of a partition that turned out to be unreadable."""
        self.abort()
        for directory in self.directories:
            if directory.exists():
                shutil.rmtree(directory)
                directory.mkdir()
        self._open()
        return self.context(on_bytes)

    def abort(self) -> None:
        for writer in self.writers:
            writer.abort()
        for rejects in self.rejects:
            rejects.abort()

    def held(self) -> list[Mapping[str, pa.Table]] | None:
        """For each sink all rows, if they are few and in no file yet, and there are no rejects."""
        if self.rejects[0].count:
            return None
        tables = []
        for writer in self.writers:
            held = writer.held()
            if held is None:
                return None
            tables.append(held)
        return tables

    def described(
        self,
        index: int,
        outcome: _Outcome,
        *,
        files: tuple[PartFile, ...],
        rejects: PartFile | None,
    ) -> Part:
        """A sink's part, with what was read of it."""
        ctx = outcome.ctx
        return attrs.evolve(
            self.task.targets[index][1],
            files=files,
            rows=dict(sorted(outcome.rows.items())),
            read=outcome.account(self.task),
            filtered=dict(sorted(ctx.filtered_by.items())),
            folded=dict(sorted(ctx.folded_by.items())),
            rejected=ctx.rejected,
            rejects=rejects,
            notes=tuple(printable(note.text) for note in ctx.notes),
            failed=outcome.failed,
            limited=outcome.limited,
            changed=outcome.changed,
        )

    def finish(self, outcome: _Outcome) -> tuple[Part, ...]:
        """Close, flush and describe everything; after this the work is safe."""
        outcome.account(self.task)
        parts = []
        for index, directory in enumerate(self.directories):
            files = _describe_all(directory, self.writers[index].close())
            rejects = None
            if self.rejects[index].close():
                name = REJECTS
                rejects = _describe(directory, name, "rejects", self.rejects[index].count)
            part = self.described(index, outcome, files=files, rejects=rejects)
            fault.point("partition.staged")
            # directories are not flushed: of what a power cut takes out of staging, the next run
            # finds that it is not there as described, and reads the partition again
            write_part(directory / DONE, part)
            fault.point("partition.done")
            parts.append(part)
        return tuple(parts)


@attrs.frozen
class Small:
    """A partition of few rows that are to be staged; for each of its sinks, part and rows."""

    task: Task
    parts: Sequence[Part]
    tables: Sequence[Mapping[str, pa.Table]]


def _guarded(
    source: Source, partition: Partition, ctx: ReadContext
) -> Iterator[tuple[RecordType, Any]]:
    """The source's tables; failures to read the input become SourceError."""
    tables = typed_tables(source, partition, ctx)
    while True:
        with source_errors(source, partition):
            item = next(tables, None)
        if item is None:
            return
        yield item


def _describe_all(directory: Path, written: Iterable[tuple[str, str, int]]) -> tuple[PartFile, ...]:
    """The files that a writer names; one that is named for several record types is read once."""
    known: dict[str, PartFile] = {}
    files = []
    for path, record_type, rows in written:
        if path not in known:
            known[path] = _describe(directory, path, record_type, rows)
        files.append(attrs.evolve(known[path], record_type=record_type, rows=rows))
    return tuple(files)


def _describe(directory: Path, path: str, record_type: str, rows: int) -> PartFile:
    size, digest = flush(directory / path)
    return PartFile(path=path, record_type=record_type, rows=rows, size_bytes=size, sha256=digest)


def put_in_place(parts: Sequence[Part], attempt: Path, place: Path) -> tuple[Part, ...]:
    """Make an attempt what is staged, unless another was faster: then take that."""
    while True:
        try:
            attempt.rename(place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            faster = parts_in(place)
            if not faster:  # left by a version without attempts, and never finished
                remove_tree(place)
                continue
            shutil.rmtree(attempt)
            return faster
        fault.point("partition.placed")
        return tuple(parts)


def make_attempt(directory: Path) -> None:
    """Make an attempt's directory."""
    try:
        directory.mkdir(exist_ok=True)
    except FileNotFoundError:  # the first one
        directory.mkdir(parents=True, exist_ok=True)


def result_of(task: Task, parts: Sequence[Part], bundle: str | None = None) -> TaskResult:
    """What became of a task; bundle: the directory that its parts are staged in with others."""
    return TaskResult(
        source=task.source.name,
        origin=printable(task.partition.origin),
        parts=tuple(parts),
        bundle=bundle,
    )


class _Meter:
    """Sums up progress and reports it a few times a second."""

    def __init__(self, report: Callable[[Progress], None] | None):
        self._report = report
        self._rows = 0
        self._bytes = 0
        self._last = time.monotonic()

    def rows(self, count: int) -> None:
        self._rows += count
        self._maybe()

    def bytes(self, size: int) -> None:
        self._bytes += size
        self._maybe()

    def _maybe(self) -> None:
        if self._report is not None and time.monotonic() - self._last >= _REPORT_EVERY_S:
            self.flush()

    def flush(self) -> None:
        if self._report is not None and (self._rows or self._bytes):
            self._report(Progress(self._rows, self._bytes))
            self._rows = self._bytes = 0
            self._last = time.monotonic()
