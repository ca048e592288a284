"""Reading partitions one by one, and what must hold for whatever comes of one."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import attrs

from harvest.api.context import Reject
from harvest.api.source import Partition, Source
from harvest.errors import PluginError, SourceError
from harvest.pipeline.collect import Collected, collect_partition
from harvest.testing.promise import BrokenPromise, require
from harvest.toolkit.texts import printable

from .compare import lines_of

__all__ = ["Piece", "all_lines", "planned", "read_all", "read_piece", "require_sound"]

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
        plan = list(source.plan())
        partitions = [source.prepare(partition) for partition in plan]
    except SourceError:
        raise
    # a source under test may raise anything
    except Exception as error:  # noqa: BLE001
        _unexpected(f"plan() or prepare() of {_shown(source.location)}", error)
    for before, ready in zip(plan, partitions, strict=True):
        require(
            attrs.evolve(ready, options=before.options) == before,
            f"prepare() changed more than the options of {before.id}",
            "put what it finds into options, and leave what the partition is known by",
        )
    return partitions


def read_piece(source: Source, partition: Partition) -> Piece:
    """One partition, read as the core does; SourceError and OSError refuse it as a whole."""
    try:
        return Piece(partition, collect_partition(source, partition))
    except SourceError as error:
        require(error.message.strip(), "a SourceError without a message", "say what was found")
        return Piece(partition, None, error.message)
    except OSError as error:
        require(
            error.errno not in (errno.ENOSPC, errno.EDQUOT),
            f"{error}",
            "free space: this is no defect of the plugin",
        )
        return Piece(partition, None, str(error))
    except Exception as error:  # noqa: BLE001
        _unexpected(f"read() of partition {partition.id!r} of {partition.origin!r}", error)


def read_all(source: Source, partitions: Iterable[Partition] | None = None) -> list[Piece]:
    """Some partitions, or all that the location has."""
    return [read_piece(source, p) for p in (planned(source) if partitions is None else partitions)]


def all_lines(pieces: Iterable[Piece], root: Path | str | None = None) -> list[str]:
    """Everything that was found, for a comparison; see :mod:`harvest.testing.source.compare`."""
    lines = []
    for piece in pieces:
        if piece.found is None:
            lines.append(f"refused {(piece.refused or '').replace(_shown(root), '<sample>')}")
        else:
            lines += lines_of(piece.found, root)
    return sorted(lines)


def _shown(place: Path | str | None) -> str:
    return "\0" if place is None else printable(str(place))


def _unexpected(doing: str, error: Exception) -> NoReturn:
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
        _require_told(reject, place)


def _require_told(reject: Reject, place: str) -> None:
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
