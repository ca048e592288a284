"""Convert the items that a source yields to tables that a sink accepts.

A source may yield instances of record classes, whole tables, or a mix. Here they become tables of
the exact schema, with origin and position filled in, none larger than a batch. ``collect`` does so
without a dataset, and collects all that a source gives.
"""

import contextlib
import errno
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from harvest.api.from_file import file_of
from harvest.api.sink import Sink
from harvest.api.source import Partition, ReadContext, Reject, Source
from harvest.errors import HarvestError, PluginError, SourceError, out_of_files, raised_in
from harvest.model import BatchError, Record, RecordType, RecordTypeError, record_type
from harvest.model.arrow import BATCH_ROWS, batches, conform, table_of
from harvest.plugin_code import contained
from harvest.toolkit.texts import printable, printable_line

INSTANCE_ROWS = 8_192
"""Number of record instances that are collected into one table."""

_OUT_OF_SPACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS))


@contextlib.contextmanager
def source_errors(source: Source, partition: Partition) -> Iterator[None]:
    """Convert exceptions of a source to errors of the input or of the plugin."""
    try:
        with contained():
            yield
    except (OSError, SourceError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if isinstance(cause, OSError) and (out_of_files(cause) or cause.errno in _OUT_OF_SPACE):
            raise cause from None  # about own scratch or open files, not the input
        if isinstance(error, SourceError):
            raise
        raise SourceError(
            f"cannot be read: {error.strerror or error}",
            where=printable(error.filename or partition.origin),
            remedy="check that the file exists and may be read",
        ) from error
    except (HarvestError, MemoryError):
        raise
    except Exception as error:
        place = raised_in(error, {_package(source)})
        where = (printable(partition.origin), *getattr(error, "__notes__", ()))
        raise _failure("source", source, error, place, ", ".join(where)) from error


@contextlib.contextmanager
def sink_errors(sinks: Iterable[Sink]) -> Iterator[None]:
    """Convert exceptions in sinks' code to a PluginError that names plugin and line."""
    try:
        with contained():
            yield
    except (HarvestError, OSError, MemoryError):
        raise
    except Exception as error:
        homes = {_package(sink): sink for sink in sinks}
        place = raised_in(error, homes)
        if place is None:
            raise
        sink = homes[place[0]]
        raise _failure("sink", sink, error, place, str(sink.location)) from error


def _package(made: Source | Sink) -> str:
    return type(made).__module__.partition(".")[0]


def _failure(
    kind: str, made: Source | Sink, error: Exception, place: tuple[str, str] | None, where: str
) -> PluginError:
    line = f", in {place[1]}" if place else ""
    file = file_of(type(made))
    plugin = Path(file.path).name if file else _package(made)
    problem = f"{kind} {made.name!r} failed: {type(error).__name__}: {error}{line}"
    remedy = f"report this to the author of {plugin} (--debug shows the traceback)"
    return PluginError(problem, where=printable_line(where), remedy=remedy)


def tables(
    source: Source, partition: Partition, ctx: ReadContext, *, batch_rows: int | None = None
) -> Generator[tuple[RecordType, pa.Table], None, None]:
    """Yield the rows of a partition as a run takes them: (record type, table of its exact schema).

    Origin and position are filled in. Rejects, notes and counts go to ``ctx``.
    batch_rows: maximum number of rows of a table; by default 65,536, or 8,192 for instances of
        record classes.

    >>> source = GreetingSource.configured("hello.txt")  # doctest: +SKIP
    >>> for partition in source.plan():  # doctest: +SKIP
    ...     ctx = harvest.ReadContext(partition.origin, Path("."))
    ...     rows = sum(table.num_rows for _, table in harvest.tables(source, partition, ctx))

    Raises PluginError when the source yields something that its record types do not allow. Errors
    of the source itself are passed on. Closing the generator stops reading.
    """
    gatherer = _Gatherer(source, partition, batch_rows)
    try:
        for item in source.read(partition, ctx):
            if isinstance(item, Record):
                yield from gatherer.add(item)
            else:
                # keep the order in which a source yields its rows
                yield from gatherer.flush()
                yield from gatherer.table(item)
        yield from gatherer.flush()
    except (BatchError, RecordTypeError) as error:
        problem = f"source {source.name!r} broke its contract: {error}"
        remedy = "report this to the plugin's author"
        raise PluginError(problem, where=printable(partition.origin), remedy=remedy) from error
    except BaseException as error:
        last = gatherer.last
        error.add_note("before its first record" if last is None else f"after record {last}")
        raise


class _Gatherer:
    """Collector that turns instances into tables, and numbers rows that have no position."""

    def __init__(self, source: Source, partition: Partition, batch_rows: int | None):
        self.batch_rows = batch_rows or BATCH_ROWS
        self.instance_rows = batch_rows or INSTANCE_ROWS
        self.origin = printable(partition.origin)
        self.allowed = {record_type(cls).name for cls in source.record_types}
        self.waiting: dict[str, tuple[RecordType, list[Record]]] = {}
        self.count = 0
        self.next_position: dict[str, int] = {}
        self.last: int | None = None
        """Position of the last row that the source yielded."""

    def add(self, item: Record) -> Iterator[tuple[RecordType, pa.Table]]:
        kind = self._declared_type(type(item))
        if item.origin is None:
            item.origin = self.origin
        number = self.next_position.get(kind.name, 1)
        if item.position is None:
            item.position = number
        self.last = item.position
        self.next_position[kind.name] = number + 1
        self.waiting.setdefault(kind.name, (kind, []))[1].append(item)
        self.count += 1
        if self.count >= self.instance_rows:
            yield from self.flush()

    def flush(self) -> Iterator[tuple[RecordType, pa.Table]]:
        waiting, self.waiting, self.count = self.waiting, {}, 0
        for kind, items in waiting.values():
            yield kind, table_of(kind, items)

    def table(self, item: Any) -> Iterator[tuple[RecordType, pa.Table]]:
        if not (isinstance(item, tuple) and len(item) == 2):
            raise BatchError(
                "read() must yield instances of a record class or pairs of a record class and "
                f"Arrow data, not {type(item).__qualname__}"
            )
        kind = self._declared_type(item[0])
        first = self.next_position.get(kind.name, 1)
        table = conform(kind, item[1], origin=self.origin, position=first)
        self.next_position[kind.name] = first + table.num_rows
        if table.num_rows:
            self.last = table["position"][-1].as_py()
        for batch in batches(table, self.batch_rows):
            yield kind, batch

    def _declared_type(self, cls: type[Record]) -> RecordType:
        kind = record_type(cls)
        if kind.name not in self.allowed:
            raise BatchError(f"{kind.name} is not among its record_types")
        return kind


@attrs.define
class Collected:
    """The output of a source for a location or a partition.

    tables: rows by record type name.
    rejects, notes: as reported; filtered, ``folded``: number of units by reason.
    units: number of input units, as the source counted them; None if it never did.
    """

    tables: dict[str, pa.Table]
    rejects: list[Reject]
    notes: list[str]
    filtered: Counter[str]
    folded: Counter[str]
    units: int | None
    partitions: list[Partition]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a record type as dicts; an empty list if there are none."""
        return self.tables[name].to_pylist() if name in self.tables else []

    @property
    def written(self) -> int:
        """Number of rows of all types."""
        return sum(table.num_rows for table in self.tables.values())

    @property
    def accounted(self) -> int:
        """Sum of rows, rejects, filtered and merged units; equals ``units``."""
        return self.written + len(self.rejects) + self.filtered.total() + self.folded.total()


def collect(source: Source) -> Collected:
    """Plan and read all partitions of a source's location."""
    return _collect(source, [source.prepare(partition) for partition in source.plan()])


def collect_partition(
    source: Source, partition: Partition, *, batch_rows: int | None = None
) -> Collected:
    """Read one partition; ``batch_rows`` is as in ``harvest.tables``."""
    return _collect(source, [partition], batch_rows)


def _collect(
    source: Source, partitions: Iterable[Partition], batch_rows: int | None = None
) -> Collected:
    pieces: dict[str, list[pa.Table]] = {}
    found = Collected({}, [], [], Counter(), Counter(), None, list(partitions))
    for partition in found.partitions:
        with tempfile.TemporaryDirectory() as scratch:
            ctx = ReadContext(printable(partition.origin), Path(scratch))
            for kind, table in tables(source, partition, ctx, batch_rows=batch_rows):
                pieces.setdefault(kind.name, []).append(table)
        found.rejects += ctx.rejects
        found.notes += [note.text for note in ctx.notes]
        found.filtered += ctx.filtered_by
        found.folded += ctx.folded_by
        if ctx.units is not None:
            found.units = (found.units or 0) + ctx.units
    found.tables |= {name: pa.concat_tables(each) for name, each in pieces.items()}
    return found
