"""The layouts of records of fixed size, by module and version.

A record is a row of 8-byte words. Its layout lists the column of each word; None is padding.
Counters that a version does not have are not in its list. Source:
``darshan-util/darshan-*-logutils.c``, which converts old records to new ones.
"""

from collections.abc import Collection
from typing import Final

import attrs

from harvest import Record

from .. import records
from ..counters import COUNTERS, TIMERS

PADDING: Final = None


@attrs.frozen
class Layout:
    """The layout of a record of fixed size.

    words: the column of each 8-byte word; None is padding, or the second word of a UUID. A name
        with a ``+`` goes to ``extra``.
    """

    record: type[Record]
    words: tuple[str | None, ...]

    @property
    def size(self) -> int:
        """Size of a record in bytes."""
        return 8 * len(self.words)


def _layout(
    module: str,
    *,
    without: Collection[str] = (),
    before: tuple[str | None, ...] = (),
    after: tuple[str | None, ...] = (),
) -> Layout:
    """Build a layout from the newest one, without the counters that an older version lacks.

    before: words between the rank and the counters. after: words after the timers.
    """
    names = [n for n in COUNTERS[module] + TIMERS.get(module, ()) if n not in without]
    return Layout(records.OF_MODULE[module], ("record_id", "rank", *before, *names, *after))


def _ends(prefix: str) -> set[str]:
    """Name the two timestamps that the first versions of all modules lack."""
    return {f"{prefix}_F_CLOSE_START_TIMESTAMP", f"{prefix}_F_OPEN_END_TIMESTAMP"}


def _versions(*layouts: Layout) -> dict[int, Layout]:
    return dict(enumerate(layouts, start=1))


_POSIX_4: Final = {
    f"POSIX_{n}" for n in ("FILENOS", "DUPS", "RENAME_SOURCES", "RENAME_TARGETS", "RENAMED_FROM")
}
_POSIX_2 = _layout("POSIX", without=_POSIX_4 | _ends("POSIX"))
# Version 1 has four counters of buffered I/O without a column; they go to ``extra``.
_FOPEN: Final = ("+POSIX_FOPENS", "+POSIX_FREADS", "+POSIX_FWRITES", "+POSIX_FSEEKS")
_at = _POSIX_2.words.index("POSIX_MMAPS") + 1
_POSIX_1 = Layout(records.Posix, (*_POSIX_2.words[:_at], *_FOPEN, *_POSIX_2.words[_at:]))

_MPIIO_1 = _layout("MPI-IO", without=_ends("MPIIO"))
_H5F_3: Final = {"H5F_FLUSHES", "H5F_USE_MPIIO", "H5F_F_META_TIME"}
_PNETCDF: Final = ("record_id", "rank", "PNETCDF_INDEP_OPENS", "PNETCDF_COLL_OPENS")
_PNETCDF_ENDS: Final = tuple(
    f"PNETCDF_FILE_F_{event}_{end}_TIMESTAMP"
    for end in ("START", "END")
    for event in ("OPEN", "CLOSE")
)
_UUIDS: Final = ("pool_uuid", PADDING, "cont_uuid", PADDING)

FIXED: Final[dict[str, dict[int, Layout]]] = {
    "POSIX": _versions(
        _POSIX_1,
        _POSIX_2,
        _layout("POSIX", without=_POSIX_4),
        _layout("POSIX"),
    ),
    "STDIO": _versions(_layout("STDIO", without={"STDIO_FDOPENS"}), _layout("STDIO")),
    "MPI-IO": _versions(_MPIIO_1, _MPIIO_1, _layout("MPI-IO")),
    "H5F": _versions(
        _layout("H5F", without=_H5F_3 | _ends("H5F")),
        _layout("H5F", without=_H5F_3),
        _layout("H5F"),
    ),
    "H5D": _versions(_layout("H5D"), _layout("H5D", before=("H5D_FILE_REC_ID",))),
    "PNETCDF_FILE": _versions(
        Layout(records.PnetcdfFile, (*_PNETCDF, _PNETCDF_ENDS[0], _PNETCDF_ENDS[3])),
        Layout(records.PnetcdfFile, (*_PNETCDF, *_PNETCDF_ENDS)),
        _layout("PNETCDF_FILE"),
    ),
    "PNETCDF_VAR": _versions(_layout("PNETCDF_VAR", before=("PNETCDF_VAR_FILE_REC_ID",))),
    "BG/Q": _versions(_layout("BG/Q", before=(PADDING,)), _layout("BG/Q")),
    "DFS": _versions(_layout("DFS", after=_UUIDS)),
    "DAOS": _versions(_layout("DAOS", after=(*_UUIDS, "oid_hi", "oid_lo"))),
}
"""Layouts by module and version."""
