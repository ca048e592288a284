"""Parse the header of a log, which locates its regions.

A log is an uncompressed header, followed by regions that are compressed separately: the job
record, the map of names, and one region per module. Darshan writes the header last, so the log of
a killed process may have regions but no header.

Source of the layout: ``include/darshan-log-format.h`` of Darshan 3.0 to 3.5.
"""

import struct
from typing import Final, Literal

import attrs

from ..counters import words

MAGIC: Final = 6567223
HEADER_BYTES: Final = 1328
"""Size of the largest header."""

VERSIONS: Final = ("3.00", "3.10", "3.20", "3.21", "3.41")
COMPRESSIONS: Final = ("zlib", "bzip2", "none")

_NEWEST: Final = words(
    "NULL POSIX MPI-IO H5F H5D PNETCDF_FILE PNETCDF_VAR BG/Q LUSTRE STDIO DXT_POSIX DXT_MPIIO",
    "MDHIM APXC APMPI HEATMAP DFS DAOS",
)
# modules that a later log version inserted into the numbering, and this version
_INSERTED: Final = {"PNETCDF_VAR": "3.41", "H5D": "3.20"}

ByteOrder = Literal["<", ">"]


class DamagedError(Exception):
    """Raised if a log or a region cannot be read; its text is the reason."""


@attrs.frozen
class Extent:
    """The position of a compressed region in the file, in bytes."""

    offset: int
    length: int

    @property
    def end(self) -> int:
        """Offset of the first byte after the region."""
        return self.offset + self.length


@attrs.frozen
class Module:
    """A module's entry in the header.

    name: Darshan's name, or ``module 40`` for an unknown number.
    version: version of the record format.
    partial: whether records are missing, because Darshan ran out of memory.
    """

    name: str
    version: int
    extent: Extent
    partial: bool


@attrs.frozen
class Header:
    """The header of a log.

    order: byte order of all numbers in the log, in the notation of ``struct`` and numpy.
    names: None if the log has no map of names.
    """

    version: str
    order: ByteOrder
    compression: str
    job: Extent
    names: Extent | None
    modules: tuple[Module, ...]


def text_of(data: bytes) -> str:
    """Decode a text of fixed size up to its first zero; bytes that are not UTF-8 become \\xNN."""
    return data.split(b"\0", 1)[0].decode("utf-8", "backslashreplace")


def has_magic(head: bytes) -> bool:
    """Return whether the first 16 bytes of a file are those of a log, in either byte order."""
    return len(head) >= 16 and head[:2] == b"3." and _order(head) is not None


def _order(head: bytes) -> ByteOrder | None:
    if struct.unpack_from("<q", head, 8)[0] == MAGIC:
        return "<"
    return ">" if struct.unpack_from(">q", head, 8)[0] == MAGIC else None


def parse_header(head: bytes, size: int) -> Header:
    """Parse the header of a log.

    head: the first :data:`HEADER_BYTES` of the file, or the whole file if it is shorter.
    size: size of the file in bytes.

    Raises DamagedError if this is not a readable header.
    """
    order, version = _order_and_version(head, size)
    wide = version >= "3.41"
    slots = 64 if wide else 16
    layout = struct.Struct(f"{order}{'7xQ' if wide else '3xI'}QQ{2 * slots}Q{slots}I")
    header_size = 17 + layout.size
    if len(head) < header_size:
        raise DamagedError(
            f"truncated: the header of version {version} has {header_size} bytes, the file {size}"
        )
    if head[16] >= len(COMPRESSIONS):
        raise DamagedError(f"unknown compression {head[16]}; known are {', '.join(COMPRESSIONS)}")
    flags, *numbers = layout.unpack_from(head, 17)
    names = Extent(numbers[0], numbers[1])
    modules = []
    known = [name for name in _NEWEST if version >= _INSERTED.get(name, "")]
    for slot in range(slots):
        extent = Extent(*numbers[2 + 2 * slot : 4 + 2 * slot])
        if extent.length:
            name = known[slot] if slot < len(known) else f"module {slot}"
            versions = numbers[2 + 2 * slots + slot]
            modules.append(Module(name, versions, extent, bool(flags >> slot & 1)))
    present = [e for e in (names, *(m.extent for m in modules)) if e.length]
    job_end = min((e.offset for e in present if e.offset >= header_size), default=size)
    return Header(
        version=version,
        order=order,
        compression=COMPRESSIONS[head[16]],
        job=Extent(header_size, min(job_end, size) - header_size),
        names=names if names.length else None,
        modules=tuple(modules),
    )


def _order_and_version(head: bytes, size: int) -> tuple[ByteOrder, str]:
    if size == 0:
        raise DamagedError("the file is empty")
    if not any(head):
        raise DamagedError(
            f"the first {len(head)} of {size} bytes are all zero: the process ended before "
            "Darshan wrote the header, so the places of the data are unknown"
        )
    if len(head) < 16:
        raise DamagedError(f"the file has only {size} bytes, less than any Darshan log")
    order = _order(head)
    if order is None:
        raise DamagedError(
            f"not a Darshan log: bytes 9 to 16 are {head[8:16].hex(' ')}, not the magic "
            f"number {MAGIC} in either byte order"
        )
    version = head[:8].split(b"\0")[0].decode("ascii", "replace")
    if version not in VERSIONS:
        raise DamagedError(
            f"unknown log format version {version!r}; known are {', '.join(VERSIONS)}"
        )
    return order, version
