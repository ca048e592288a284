"""Read partitions one by one, and check what every result must fulfil.

To compare two readings, their rows, rejects, counts and notes are written as lines. The lines omit
the sample's own path, so that a copy of the sample elsewhere gives the same lines.
"""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import attrs
import polars as pl
import pyarrow as pa

import harvest
from harvest import Collected, PartFile, Partition, Source, SourceError, collect_partition
from harvest.model import RecordType
from harvest.model.arrow import concat_tables, conform
from harvest.model.frames import frame_of
from harvest.plugin_code import contained
from harvest.toolkit.texts import printable
from harvest_testing.promise import BrokenPromise, require

REJECTS = ("reject ", "refused ")
"""Prefixes of the lines that report unreadable input."""

SHOWN, WIDTH = 4, 300
"""Maximum number of lines that a difference shows, and characters of each."""

RAISES = (
    "raise harvest.SourceError where a partition cannot be read at all, and ctx.reject() the units "
    "that cannot; any other exception ends the user's whole run"
)
DECLARED = (
    "yield instances of the classes in record_types, or pairs of such a class and Arrow data with "
    "the columns that it declares; reject what no column of its type holds, such as 2**63"
)


@attrs.frozen
class Piece:
    """The result of one partition: rows and rejects, or the error that refused all of it."""

    partition: Partition
    found: Collected | None
    refused: str | None = None


def planned(source: Source) -> list[Partition]:
    """Plan and prepare the partitions of a location; raise SourceError without input."""
    try:
        with contained():
            plan = list(source.plan())
            partitions = [source.prepare(partition) for partition in plan]
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - a source under test may raise anything
        _break_promise(f"plan() or prepare() of {source.location!r}", error)
    for before, ready in zip(plan, partitions, strict=True):
        require(
            ready.origin.startswith("/") or "://" in ready.origin,
            f"partition {ready.id!r} of {source.location!r} has the origin {ready.origin!r}",
            "give an absolute path (harvest.toolkit.files.input_path makes one), or a URI",
        )
        require(
            attrs.evolve(ready, options=before.options) == before,
            f"prepare() changed more than the options of {before.id}",
            "put what it finds into options, and leave what the partition is known by",
        )
    return partitions


def read_piece(source: Source, partition: Partition, *, batch_rows: int | None = None) -> Piece:
    """Read one partition as the core does; a SourceError or OSError refuses all of it."""
    try:
        with contained():
            return Piece(partition, collect_partition(source, partition, batch_rows=batch_rows))
    except SourceError as error:
        require(error.message.strip(), "a SourceError without a message", "say what was found")
        return Piece(partition, None, error.message)
    except OSError as error:
        return Piece(partition, None, str(error))
    except Exception as error:  # noqa: BLE001
        _break_promise(f"read() of partition {partition.id!r} of {partition.origin!r}", error)


def read_all(
    source: Source, partitions: Iterable[Partition] | None = None, *, batch_rows: int | None = None
) -> list[Piece]:
    """Read the given partitions, or all of the location; batch_rows: as in ``harvest.tables``."""
    some = planned(source) if partitions is None else partitions
    return [read_piece(source, partition, batch_rows=batch_rows) for partition in some]


def _break_promise(doing: str, error: Exception) -> NoReturn:
    if isinstance(error, harvest.PluginError):
        raise BrokenPromise(error.message, DECLARED) from error
    raise BrokenPromise(f"{doing} raised {type(error).__name__}: {error}", RAISES) from error


def left_out(pieces: Iterable[Piece]) -> Counter[str]:
    """Count filtered and merged units by reason."""
    founds = (piece.found for piece in pieces if piece.found is not None)
    return sum((found.filtered + found.folded for found in founds), Counter())


def plan_lines(partitions: Iterable[Partition], root: Path | None = None) -> list[str]:
    """Describe partitions, one line each, with the path ``root`` replaced by ``<sample>``."""
    return [
        f"{without_place((p.id, p.origin, p.inputs, p.start, p.stop, p.size_bytes), root)!r} "
        f"{without_place(dict(p.options), root)!r} {without_place(p.fingerprint, root)!r}"
        for p in partitions
    ]


def all_lines(pieces: Iterable[Piece], root: Path | str | None = None) -> list[str]:
    """Return all results as sorted lines, to compare readings regardless of order."""
    return sorted(in_order(pieces, root))


def in_order(pieces: Iterable[Piece], root: Path | str | None = None) -> list[str]:
    """Return all results as lines, by partition, each kind of result in its order.

    root: the sample's path, which is replaced by ``<sample>`` in all values.
    """
    lines = []
    for piece in pieces:
        found = piece.found
        if found is None:
            lines.append(f"refused {without_place(piece.refused, root)}")
            continue
        for name, table in sorted(found.tables.items()):
            lines += rows_as_lines(name, table, root)
        for r in found.rejects:
            said = (r.origin, r.position, r.raw, r.reason, r.record_type)
            lines.append(f"reject {without_place(said, root)!r}")
        lines += [f"note {without_place(note, root)!r}" for note in found.notes]
        for what, counts in (("filtered", found.filtered), ("merged", found.folded)):
            lines += sorted(f"{what} {n} {without_place(why, root)!r}" for why, n in counts.items())
        lines.append(f"units {found.units}")
    return lines


def is_content(line: str) -> bool:
    """Whether a line is a row or a reject, and not a count or note of a partition."""
    return not line.startswith(("units ", "filtered ", "merged ", "note "))


def rows_as_lines(name: str, table: Any, root: Path | str | None = None) -> list[str]:
    """Return the rows of a table, one line each, in order."""
    return [f"{name} {without_place(row, root)!r}" for row in table.to_pylist()]


def without_place(value: Any, root: Path | str | None) -> Any:
    """Replace the sample's path by ``<sample>`` in all texts and bytes of a value."""
    if root is None:
        return value
    if isinstance(value, str):
        return value.replace(printable(os.fspath(root)), "<sample>")
    if isinstance(value, bytes):
        return value.replace(os.fsencode(root), b"<sample>")
    if isinstance(value, dict):
        return {without_place(key, root): without_place(item, root) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_place(item, root) for item in value]
    return value


def require_sound(piece: Piece) -> None:
    """Require that counts add up, rows are valid Arrow data, and each reject has a reason."""
    found, place = piece.found, f"{piece.partition.origin!r}"
    if found is None:
        return
    require(
        found.units is None or found.units == found.accounted,
        f"{place}: {found.units} units read, but {found.written} rows + {len(found.rejects)} "
        f"rejected + {(found.filtered + found.folded).total()} filtered or merged = "
        f"{found.accounted}",
        "call ctx.read(n) for every unit of the input, and see that each ends as a row, or in "
        "`ctx.reject`, `ctx.filtered` or `ctx.folded`",
    )
    for table in found.tables.values():
        table.validate(full=True)
    for reject in found.rejects:
        require(
            reject.reason.strip() and (reject.position is None or reject.position >= 1),
            f"{place}: a reject without a reason, or at a position below 1: {reject}",
            "say in ctx.reject what was found and what was expected; positions are line or record "
            "numbers and begin at 1",
        )


def require_places(pieces: Iterable[Piece]) -> None:
    """Require that positions begin at 1, and no two rows of a type share origin and position."""
    seen: Counter[tuple[str, str, int]] = Counter()
    for piece in pieces:
        for name, table in piece.found.tables.items() if piece.found else ():
            origins, positions = table["origin"].to_pylist(), table["position"].to_pylist()
            seen.update(zip([name] * len(origins), origins, positions, strict=True))
    odd = [place for place, count in seen.items() if count > 1 or place[2] < 1]
    require(
        not odd,
        f"of several rows, or below 1, are: {odd[:SHOWN]}",
        "set position to the line or record number, or leave it to the core",
    )


def require_same(
    found: Sequence[str], expected: Sequence[str], remedy: str, *, about: str = ""
) -> None:
    """Require that lines are equal and in the same order; about: begins the message."""
    if found != expected:
        shown = difference(expected, found) or "in another order"
        raise BrokenPromise(f"{about}:\n{shown}" if about else shown, remedy)


def difference(first: Iterable[str], second: Iterable[str]) -> str:
    """Describe lines that only one side has, the first few of each; empty if there are none."""
    one, other = Counter(first), Counter(second)
    shown = []
    for mark, lines in (("-", one - other), ("+", other - one)):
        missing = sorted(lines.elements())
        shown += [f"{mark} {line[:WIDTH]}" for line in missing[:SHOWN]]
        if len(missing) > SHOWN:
            shown.append(f"{mark} ... and {len(missing) - SHOWN} more")
    return "\n".join(shown)


class ArrowSink(harvest.DirectorySink):
    """The kit's own sink, a directory of Arrow streams: it needs no other plugin."""

    name: ClassVar[str] = "conformance"
    suffix: ClassVar[str] = ".arrow"

    def writer(self, staging: Path, part: str) -> harvest.PartWriter:
        return _ArrowWriter(self, staging, part)

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        paths = self.paths(f for f in files if f.record_type == record_type.name)
        found = (pa.ipc.open_stream(path.read_bytes()).read_all() for path in paths)
        tables = [conform(record_type, table) for table in found]
        empty = record_type.arrow_schema.empty_table()
        return frame_of(record_type, pa.concat_tables([empty, *tables])).lazy()


class _ArrowWriter(harvest.PartWriter):
    def __init__(self, sink: ArrowSink, staging: Path, part: str):
        self.sink, self.staging, self.part = sink, staging, part
        self.tables: dict[str, list[pa.Table]] = {}

    def write(self, record_type: RecordType, table: pa.Table) -> None:
        self.tables.setdefault(record_type.name, []).append(table)

    def close(self) -> Sequence[tuple[str, str, int]]:
        written = []
        for name, tables in self.tables.items():
            place = self.sink.place(name, self.part)
            rows = concat_tables(tables)
            (self.staging / place).parent.mkdir(parents=True)
            file = (self.staging / place).open("wb")  # Arrow cannot open paths that are not UTF-8
            with file, pa.ipc.new_stream(file, rows.schema) as stream:
                stream.write_table(rows)
            written.append((place, name, rows.num_rows))
        return written

    def abort(self) -> None:
        """Do nothing: no file is open."""
