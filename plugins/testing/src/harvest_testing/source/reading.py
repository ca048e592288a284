"""Reading partitions one by one, and what must hold for whatever comes of one.

Two readings are the same when their lines are: rows, rejects, counts and notes, with the sample's
own path left out, so that a copy of the sample at another place gives the same lines.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from harvest import (
    Collected,
    Partition,
    PluginError,
    ReadContext,
    Reject,
    Source,
    SourceError,
    collect_partition,
    tables,
)
from harvest.plugin_code import contained
from harvest.toolkit.texts import printable
from harvest_testing.promise import BrokenPromise, broken, require

REPLACED = "\ufffd"
"""What decoders put where bytes are not text, unless they are asked not to."""

REJECTS = ("reject ", "refused ")
"""How lines of what was found begin that say what could not be read."""

RAW_LIMIT = 64 * 1024
"""Bytes of a rejected unit that the core keeps."""

_SHOWN = 4
_WIDTH = 300

RAISES = (
    "raise harvest.SourceError where a partition cannot be read at all, and ctx.reject() the units "
    "that cannot; any other exception ends the user's whole run"
)


DECLARED = (
    "yield instances of the classes in record_types, or pairs of such a class and Arrow data with "
    "the columns that it declares"
)


@attrs.frozen
class Piece:
    """What came of one partition: rows and rejects, or the error that refused it as a whole."""

    partition: Partition
    found: Collected | None
    refused: str | None = None


def planned(source: Source) -> list[Partition]:
    """The partitions of a location; raises SourceError where there is nothing to read."""
    try:
        with contained():
            plan = list(source.plan())
            partitions = [source.prepare(partition) for partition in plan]
    except SourceError:
        raise
    # a source under test may raise anything
    except Exception as error:  # noqa: BLE001
        _break_promise(f"plan() or prepare() of {_place_text(source.location)}", error)
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
    """One partition, read as the core does; SourceError and OSError refuse it as a whole."""
    try:
        with contained():
            found = collect_partition(source, partition, batch_rows=batch_rows)
            return Piece(partition, found)
    except SourceError as error:
        require(error.message.strip(), "a SourceError without a message", "say what was found")
        return Piece(partition, None, error.message)
    except OSError as error:
        require(
            error.errno not in (errno.ENOSPC, errno.EDQUOT),
            f"{error}",
            "free space: this is not a defect of the plugin",
        )
        return Piece(partition, None, str(error))
    except Exception as error:  # noqa: BLE001
        _break_promise(f"read() of partition {partition.id!r} of {partition.origin!r}", error)


def read_all(
    source: Source, partitions: Iterable[Partition] | None = None, *, batch_rows: int | None = None
) -> list[Piece]:
    """Some partitions, or all that the location has; batch_rows: as in ``harvest.tables``."""
    some = planned(source) if partitions is None else partitions
    return [read_piece(source, partition, batch_rows=batch_rows) for partition in some]


def drained(source: Source, partition: Partition) -> Counter[str]:
    """How many rows and rejects came of a partition, none held, and how many bytes it reported."""
    counted: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch, contextlib.suppress(SourceError, OSError):
        ctx = ReadContext(
            printable(partition.origin),
            Path(scratch),
            progress=lambda size: counted.update(bytes=size),
            on_reject=lambda _: counted.update(rejects=1),
        )
        for _, table in tables(source, partition, ctx):
            counted["rows"] += table.num_rows
    return counted


def left_out(pieces: Iterable[Piece]) -> Counter[str]:
    """How many units are filtered or folded, by reason."""
    founds = (piece.found for piece in pieces if piece.found is not None)
    return sum((found.filtered + found.folded for found in founds), Counter())


def plan_lines(partitions: Iterable[Partition], root: Path | None = None) -> list[str]:
    """Partitions, one line each, without what their place decides."""
    return [
        f"{without_place((p.id, p.origin, p.inputs, p.start, p.stop, p.size_bytes), root)!r} "
        f"{without_place(dict(p.options), root)!r} {without_place(p.fingerprint, root)!r}"
        for p in partitions
    ]


def all_lines(pieces: Iterable[Piece], root: Path | str | None = None) -> list[str]:
    """Everything that was found, for a comparison."""
    lines = []
    for piece in pieces:
        if piece.found is None:
            lines.append(f"refused {(piece.refused or '').replace(_place_text(root), '<sample>')}")
        else:
            lines += lines_of(piece.found, root)
    return sorted(lines)


def in_order(pieces: Iterable[Piece], root: Path | str | None = None) -> list[str]:
    """Everything that was found, each kind of it in the order in which it came."""
    lines = []
    for piece in pieces:
        if piece.found is None:
            lines += all_lines([piece], root)
            continue
        found = piece.found
        for name, table in sorted(found.tables.items()):
            lines += rows_as_lines(name, table, root)
        lines += [*_reject_lines(found, root), *_note_lines(found, root)]
        lines += sorted(_counts_lines(found, root))
    return lines


def is_content(line: str) -> bool:
    """Whether a line of these is a row or a reject, not a count or note of a partition."""
    return not line.startswith(("units ", "filtered ", "folded ", "note "))


def is_row(line: str) -> bool:
    """Whether a line of these is a row."""
    return is_content(line) and not line.startswith(REJECTS)


def _place_text(place: Path | str | None) -> str:
    return "\0" if place is None else printable(str(place))


def _break_promise(doing: str, error: Exception) -> NoReturn:
    if isinstance(error, PluginError):
        raise BrokenPromise(error.message, DECLARED) from error
    raise BrokenPromise(f"{doing} raised {type(error).__name__}: {error}", RAISES) from error


def require_sound(piece: Piece) -> None:
    """The account adds up, the rows are sound Arrow data, every reject says where and why."""
    if piece.found is None:
        return
    found, place = piece.found, f"{piece.partition.origin!r}"
    require(
        found.units is None or found.units == found.accounted,
        f"{place}: {found.units} units read, but {found.written} rows + {len(found.rejects)} "
        f"rejected + {sum(found.filtered.values())} filtered + {sum(found.folded.values())} folded "
        f"= {found.accounted}",
        "call ctx.read(n) for every unit of the input, and see that each ends as a row, or in "
        "ctx.reject, ctx.filtered or ctx.folded",
    )
    for table in found.tables.values():
        table.validate(full=True)
    for reject in found.rejects:
        _require_place_and_reason(reject, place)


def _require_place_and_reason(reject: Reject, place: str) -> None:
    require(
        reject.reason.strip(),
        f"{place}: a reject without a reason: {reject}",
        "say in ctx.reject what was found and what was expected",
    )
    require(
        reject.position is None or reject.position >= 1,
        f"{place}: a reject at position {reject.position}",
        "positions are line or record numbers and begin at 1",
    )


def require_raw(about: str, line: bytes, reject: Reject) -> None:
    """What is kept of a line is the line: whole, but for its end."""
    raw, kept = reject.raw.rstrip(b"\r\n"), line.rstrip(b"\r\n")
    require(
        raw == kept[:RAW_LIMIT] or raw == kept.removeprefix(b"\xef\xbb\xbf") == kept.strip(),
        f"{about}: the reject at position {reject.position} has raw {in_short(raw)}; line "
        f"{reject.position} is {in_short(kept)}",
        "give ctx.reject the line's own bytes, neither cut nor stripped, and its number",
    )


def in_short(data: bytes) -> str:
    """Bytes, of which long ones are cut, for a message."""
    return repr(data) if len(data) < 80 else f"{data[:40]!r}...{data[-20:]!r} ({len(data)} bytes)"


def require_places(pieces: Iterable[Piece]) -> None:
    """No two rows of a type have one origin and position, which begins at 1."""
    seen: Counter[tuple[str, str, int]] = Counter()
    for piece in pieces:
        for name, table in piece.found.tables.items() if piece.found else ():
            origins, positions = table["origin"].to_pylist(), table["position"].to_pylist()
            seen.update(zip([name] * len(origins), origins, positions, strict=True))
    for (name, origin, position), count in seen.items():
        where = f"{name}: {origin}, position {position}"
        require(position >= 1, where, "positions begin at 1")
        require(
            count == 1,
            f"{where}: {count} rows",
            "set position to the line or record number, or leave it to the core",
        )


def lines_of(found: Collected, root: Path | str | None = None) -> list[str]:
    """All that was found, one line each, in no order that a plan or a file name decides.

    root: the sample's place, shown as ``<sample>`` wherever a value holds it.
    """
    lines = [
        line for name, table in found.tables.items() for line in rows_as_lines(name, table, root)
    ]
    lines += [*_reject_lines(found, root), *_counts_lines(found, root), *_note_lines(found, root)]
    return sorted(lines)


def _reject_lines(found: Collected, root: Path | str | None) -> list[str]:
    return [
        f"reject {without_place((r.origin, r.position, r.raw, r.reason, r.record_type), root)!r}"
        for r in found.rejects
    ]


def _counts_lines(found: Collected, root: Path | str | None) -> list[str]:
    return [
        *(f"filtered {n} {without_place(why, root)!r}" for why, n in found.filtered.items()),
        *(f"folded {n} {without_place(why, root)!r}" for why, n in found.folded.items()),
        f"units {found.units}",
    ]


def _note_lines(found: Collected, root: Path | str | None) -> list[str]:
    return [f"note {without_place(note, root)!r}" for note in found.notes]


def rows_as_lines(name: str, table: Any, root: Path | str | None = None) -> list[str]:
    """The rows of a table, one line each, in their order."""
    return [f"{name} {without_place(row, root)!r}" for row in table.to_pylist()]


def rows_from(path: Path, piece: Piece) -> list[str]:
    """The rows of a piece that come from a file, without their places."""
    return [line for name, table in tables_from(path, piece) for line in rows_as_lines(name, table)]


def tables_from(path: Path, piece: Piece) -> Iterator[tuple[str, pa.Table]]:
    """The same as tables, by record type."""
    for name, table in piece.found.tables.items() if piece.found else ():
        mine = pc.equal(table["origin"].cast(pa.string()), printable(str(path)))
        yield name, table.filter(mine).drop_columns(["origin", "position"])


def without_place(value: Any, root: Path | str | None) -> Any:
    """A value with the sample's place taken out of its texts and bytes."""
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


def require_same(
    found: Sequence[str], expected: Sequence[str], remedy: str, *, about: str = ""
) -> None:
    """Lines are the same in the same order; about: what gave others, in words."""
    if found != expected:
        shown = difference(expected, found) or "in another order"
        broken(f"{about}:\n{shown}" if about else shown, remedy)


def difference(first: Iterable[str], second: Iterable[str]) -> str:
    """Lines that only one side has, the first few of each; empty where there are none."""
    one, other = Counter(first), Counter(second)
    shown = [*_only("-", one - other), *_only("+", other - one)]
    return "\n".join(shown)


def _only(mark: str, lines: Counter[str]) -> list[str]:
    missing = sorted(lines.elements())
    shown = [f"{mark} {line[:_WIDTH]}" for line in missing[:_SHOWN]]
    if len(missing) > _SHOWN:
        shown.append(f"{mark} ... and {len(missing) - _SHOWN} more")
    return shown
