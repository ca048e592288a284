"""One log, opened: everything checked, ready to be given as rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Protocol

import attrs

from harvest import Record

from .autoperf import ApmpiRecords, ApxcRecords
from .container import HEADER_BYTES, Header, Module, parse_header
from .dxt import DxtRecords
from .errors import DamagedError
from .fixed import FixedRecords
from .job import JOB_BYTES, Job, parse_job
from .layouts import FIXED
from .names import Names, parse_names
from .regions import Limits, Region, RegionReader
from .striping import LustreRecords
from .tables import Log
from .variable import HeatmapRecords, MdhimRecords

__all__ = ["Decoder", "Failure", "OpenLog", "open_log"]

NAMES_BYTES: Final = 512 << 20
"""The map of names is held in memory; it may not be larger than this."""


class Decoder(Protocol):
    """A module's records, checked, whose number is known before any is given.

    rows: rows that ``batches`` will give.
    folded: records of the log that leave no row of their own.
    hosts: host by rank, where the records say.
    """

    rows: int
    folded: int
    hosts: dict[int, str]

    def batches(self, log: Log) -> Iterator[tuple[type[Record], Any]]:
        """The records as batches of rows."""


_DECODERS: Final[Mapping[str, Callable[[Module, Region, str], Decoder]]] = {
    **dict.fromkeys(FIXED, FixedRecords),
    "LUSTRE": LustreRecords,
    "HEATMAP": HeatmapRecords,
    "MDHIM": MdhimRecords,
    "APMPI": ApmpiRecords,
    "APXC": ApxcRecords,
    "DXT_POSIX": DxtRecords,
    "DXT_MPIIO": DxtRecords,
}


@attrs.frozen
class Failure:
    """A part of a log that cannot be read.

    part: the module, or ``names``; raw: the beginning of its bytes.
    """

    part: str
    reason: str
    raw: bytes


@attrs.frozen
class OpenLog:
    """A log whose header and job record are sound.

    decoders: by module name, those that could be read; failures: what could not.
    sha256: of the bytes of the file, in hexadecimal digits.
    """

    header: Header
    job: Job
    names: Names
    decoders: dict[str, Decoder]
    failures: tuple[Failure, ...]
    file: BinaryIO
    sha256: str

    def __enter__(self) -> OpenLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()


def open_log(path: Path, limits: Limits) -> OpenLog:
    """Open a log and check all of it; its rows can then be given without another surprise.

    Raises DamagedError when the header or the job record cannot be read; damage elsewhere is
    among the ``failures``.  Raises OSError when the file cannot be opened.
    """
    file = path.open("rb")
    try:
        size = path.stat().st_size
        header = parse_header(file.read(HEADER_BYTES), size)
        reader = RegionReader(file, size, header.compression, limits)
        try:
            data = reader.region(header.job, at_most=16 * JOB_BYTES).stream().take(JOB_BYTES)
        except DamagedError as error:
            raise DamagedError(f"the job record cannot be read: {error}") from error
        job = parse_job(bytes(data), header.version, header.order, path.name)
        failures: list[Failure] = []
        names = _names(header, reader, failures)
        decoders = _decoders(header, reader, failures)
        file.seek(0)
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except BaseException:
        file.close()
        raise
    return OpenLog(header, job, names, decoders, tuple(failures), file, sha256)


def _names(header: Header, reader: RegionReader, failures: list[Failure]) -> Names:
    if header.names is None:
        return Names()
    try:
        region = reader.region(header.names, at_most=NAMES_BYTES)
        data = region.data if region.data is not None else b""
        return parse_names(data, header.version, header.order)
    except DamagedError as error:
        failures.append(Failure("names", str(error), _raw(reader, header.names.offset)))
        return Names()


def _decoders(header: Header, reader: RegionReader, failures: list[Failure]) -> dict[str, Decoder]:
    decoders: dict[str, Decoder] = {}
    for module in header.modules:
        try:
            if module.name not in _DECODERS:
                raise DamagedError("no such module is known")
            region = reader.region(module.extent)
            decoders[module.name] = _DECODERS[module.name](module, region, header.order)
        except DamagedError as error:
            failures.append(Failure(module.name, str(error), _raw(reader, module.extent.offset)))
    return decoders


def _raw(reader: RegionReader, offset: int) -> bytes:
    if offset >= reader.size:
        return b""
    reader.file.seek(offset)
    return reader.file.read(4096)
