"""Read one partition and stage its output; few rows are held, to be staged with others."""

import contextlib
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from harvest import fault, interrupt
from harvest.api.sink import PartFile, PartWriter, Sink
from harvest.api.source import Partition, ReadContext, Reject, Source
from harvest.errors import PluginError, SourceError, SourceRejected, TooManyRejects
from harvest.model import RecordType
from harvest.model.arrow import concat_tables, size_of
from harvest.storage import staging
from harvest.storage.fingerprint import fingerprint
from harvest.storage.part import Part, require_rows, write_parts
from harvest.storage.rejects import RejectWriter
from harvest.storage.staging import REJECTS, SMALL_BYTES, Small, Staged
from harvest.toolkit.files import flush
from harvest.toolkit.texts import excerpt, printable

from . import through_pipes
from .frozen import fit_frozen
from .rows import source_errors, tables
from .task import Meter, Task

REJECTS_NOTED = 20
"""Maximum number of a partition's rejects shown as notes where no dataset keeps them."""


def read_partition(task: Task, meter: Meter) -> list[Staged | Small]:
    """Read a partition; return for each sink the staged part, or a few rows to stage later."""
    before = task.fingerprint_before()
    with contextlib.ExitStack() as stages:
        stage = stages.enter_context(_Stage(task, meter))
        limited = failed = False
        fault.point("partition.begun")
        try:
            if task.unreadable is not None:
                raise SourceError(task.unreadable, where=printable(task.partition.origin))
            for kind, table in read_tables(task.source, task.partition, stage.ctx):
                interrupt.check()
                limited = stage.write(kind, table)
                fault.point("partition.rows")
                if limited:
                    break
        except (SourceError, PluginError) as error:
            reason = error.reason
            if isinstance(error, PluginError):
                if _is_unchanged(task, before):
                    raise
                reason = "the input changed while it was read"
            if task.on_error == "fail":
                raise
            failed = True
            if not stage.streams:  # streamed output cannot be taken back
                stage.discard()
                stage = stages.enter_context(_Stage(task, meter))
            stage.ctx.reject(b"", reason)
        fault.point("partition.read")
        changed = not _is_unchanged(task, before)
        if changed:
            stage.ctx.note("the input changed while it was read; the next run reads it again")
        return stage.finish(failed=failed, limited=limited, changed=changed)


def prepare_partition(source: Source, partition: Partition) -> Partition:
    """Call ``Source.prepare``, also for a pipe's content; raise as ``source_errors`` does."""
    with source_errors(source, partition):
        if partition.piped is not None:
            return through_pipes.prepare(source, partition)
        return source.prepare(partition)


def read_tables(
    source: Source, partition: Partition, ctx: ReadContext
) -> Iterator[tuple[RecordType, pa.Table]]:
    """Yield rows as ``tables`` does, also from a pipe; raise as ``source_errors`` does."""
    found = (tables if partition.piped is None else through_pipes.tables)(source, partition, ctx)
    while True:
        with source_errors(source, partition):
            item = next(found, None)
        if item is None:
            return
        yield item


def _is_unchanged(task: Task, before: str) -> bool:
    return not task.targets[0][1].changed and fingerprint(task.partition.inputs) == before


class _Stage(contextlib.AbstractContextManager["_Stage"]):
    """The output of a task on its way to its sinks.

    Few rows are held in memory; when they exceed the limit, each sink writes them to a staging
    directory. If a sink streams its output, no rows are held, and rejects are shown as notes.
    """

    def __init__(self, task: Task, meter: Meter):
        self.task = task
        self.meter = meter
        attempt = secrets.token_hex(6)
        self.sinks = [_SinkStage(sink, part, task, attempt) for sink, part in task.targets]
        self.scratch = self.sinks[0].directory.with_name(f"scratch-{attempt}")
        self.streams = any(sink.streams for sink in task.sinks)
        self.rows = Counter[str]()
        self.rejected = 0
        self.held: list[tuple[RecordType, pa.Table]] | None = None if self.streams else []
        self.held_bytes = 0
        self.ctx = ReadContext(
            printable(task.partition.origin),
            self.scratch,
            progress=meter.add,
            on_reject=self._reject,
        )

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if raised is not None:
            self.discard()
        if self.scratch.exists():
            staging.remove_tree(self.scratch)

    def _reject(self, reject: Reject) -> None:
        task = self.task
        if task.on_error == "fail":
            where = printable(reject.origin)
            if reject.position is not None:
                where += f", record {reject.position}"
            raise SourceRejected(
                reject.reason, where=where, remedy="fix the input, or use --on-error reject"
            )
        self.rejected += 1
        for each in self.sinks:
            each.rejects.add(reject)
        if self.streams and self.rejected <= REJECTS_NOTED:
            raw = excerpt(reject.raw.decode("utf-8", "backslashreplace"))
            place = "" if reject.position is None else f" {reject.position}"
            self.ctx.note(f"record{place} rejected: {reject.reason}: {raw!r}")
        if task.max_rejects is not None and self.rejected > task.max_rejects:
            problem = f"more than {task.max_rejects} rejects, the last one: {reject.reason}"
            remedy = "look at the input, or raise --max-rejects; nothing was committed"
            raise TooManyRejects(problem, where=printable(reject.origin), remedy=remedy)

    def write(self, kind: RecordType, table: pa.Table) -> bool:
        """Take rows up to the task's limit; return whether the limit is reached."""
        limit = self.task.limit
        if limit is not None:
            table = table.slice(0, limit - self.rows.total())
        self.rows[kind.name] += table.num_rows
        self.meter.add(rows=table.num_rows)
        ready = [(kind, table)]
        if self.held is not None:
            self.held += ready
            self.held_bytes += size_of(table)
            ready = []
            if self.held_bytes > SMALL_BYTES:
                ready, self.held = self.held, None
        for kind, table in ready:
            for each in self.sinks:
                each.write(kind, table)
        return limit is not None and self.rows.total() >= limit

    def discard(self) -> None:
        for each in self.sinks:
            each.discard()

    def finish(self, *, failed: bool, limited: bool, changed: bool) -> list[Staged | Small]:
        """Return the held rows, or close, flush and describe all files; then the work is safe."""
        ctx = self.ctx
        said: dict[str, Any] = {
            "rows": dict(sorted(self.rows.items())),
            "read": self._units(whole=not (failed or limited)),
            "filtered": dict(sorted(ctx.filtered_by.items())),
            "folded": dict(sorted(ctx.folded_by.items())),
            "rejected": ctx.rejected,
            "notes": tuple(printable(note.text) for note in ctx.notes),
            "failed": failed,
            "limited": limited,
            "changed": changed,
        }
        done: list[Staged | Small] = []
        for each in self.sinks:
            each.part = attrs.evolve(each.part, **said)
            if self.held is not None and each.sink.shares_files:
                done.append(each.small(self.held))
                continue
            for kind, table in self.held or ():
                each.write(kind, table)
            done.append(each.finish())
        return done

    def _units(self, *, whole: bool) -> int:
        """Count the input units; raise PluginError if those of a whole partition do not add up."""
        ctx, task = self.ctx, self.task
        out = self.rows.total() + ctx.rejected + ctx.filtered_by.total() + ctx.folded_by.total()
        if whole and ctx.units not in (None, out):
            raise PluginError(
                f"source {task.source.name!r} read {ctx.units} units but accounts for {out} "
                "(rows + filtered + merged + rejected)",
                where=printable(task.partition.origin),
                remedy="report this to the plugin's author; nothing of this run was committed",
            )
        return out


class _SinkStage:
    """The output of a task on its way to one sink: its staging directory and writers."""

    def __init__(self, sink: Sink, part: Part, task: Task, attempt: str):
        self.sink = sink
        self.part = part
        self.source = task.source.name
        self.place = sink.state / staging.STAGING / part.stem
        self.directory = self.place.parent / staging.ATTEMPTS / f"{part.stem}-{attempt}"
        self.writer: PartWriter | None = None
        self.given = Counter[str]()
        self.rejects = RejectWriter(self.directory / REJECTS, self.source)

    def _open(self) -> PartWriter:
        if self.writer is None:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.writer = self.sink.writer(self.directory, self.part.stem)
        return self.writer

    def write(self, kind: RecordType, table: pa.Table) -> None:
        self._open().write(*fit_frozen(kind, table, self.part.frozen))
        self.given[kind.name] += table.num_rows

    def small(self, held: Iterable[tuple[RecordType, pa.Table]]) -> Small:
        """Return the held rows by record type, with the dataset's columns."""
        tables: dict[str, list[pa.Table]] = {}
        for kind, table in held:
            fitting, rows = fit_frozen(kind, table, self.part.frozen)
            tables.setdefault(fitting.name, []).append(rows)
        joined = {name: concat_tables(each) for name, each in tables.items()}
        rejects = self._close_rejects(f"{self.part.stem}{REJECTS}")
        part = attrs.evolve(self.part, rejects=rejects)
        return Small(part, joined, self.rejects.path if rejects else None)

    def finish(self) -> Staged:
        files = _described(self.directory, self._open().close())
        where = printable(self.part.origin)
        require_rows(self.sink, self.given, files, does="reports", where=where)
        part = attrs.evolve(self.part, files=files, rejects=self._close_rejects(REJECTS))
        fault.point("partition.staged")
        # directories are not flushed: if a power cut loses staged files, the next run finds that
        # they do not match the description, and reads the partition again
        write_parts(self.directory / staging.DONE, [part])
        fault.point("partition.done")
        (placed,) = staging.put_in_place([part], self.directory, self.place)
        return placed

    def _close_rejects(self, path: str) -> PartFile | None:
        """Finish the file of rejects, if there is one; ``path`` is its later place in staging."""
        if not self.rejects.close():
            return None
        (file,) = _described(self.directory, [(REJECTS, "rejects", self.rejects.count)])
        return attrs.evolve(file, path=path)

    def discard(self) -> None:
        if self.writer is not None:
            self.writer.abort()
            self.writer = None
        self.rejects.abort()
        shutil.rmtree(self.directory, ignore_errors=True)


def _described(directory: Path, written: Sequence[tuple[str, str, int]]) -> tuple[PartFile, ...]:
    """Describe the files that a writer names; flush and hash one of several record types once."""
    flushed = {path: flush(directory / path) for path in {path for path, _, _ in written}}
    return tuple(
        PartFile(
            path=path, record_type=kind, rows=rows, size_bytes=flushed[path][0],
            sha256=flushed[path][1],
        )
        for path, kind, rows in written
    )  # fmt: skip
