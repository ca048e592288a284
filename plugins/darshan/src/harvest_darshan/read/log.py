"""Check a whole log before any of its rows is read."""

import hashlib
from collections.abc import Callable, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

import attrs

from ..config import DarshanConfig
from .autoperf import ApmpiRecords, ApxcRecords
from .container import HEADER_BYTES, DamagedError, Header, Module, parse_header
from .dxt import DxtRecords
from .fixed import FixedRecords
from .job import JOB_BYTES, Job, parse_job
from .layouts import FIXED
from .names import Names, parse_names
from .regions import Region, RegionReader
from .tables import Decoder
from .variable import HeatmapRecords, LustreRecords, MdhimRecords

NAMES_BYTES: Final = 512 << 20
"""Maximum size of the map of names, which is held in memory."""


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


class Failure(NamedTuple):
    """An unreadable part of a log.

    part: the module, or ``names``. raw: its first bytes.
    """

    part: str
    reason: str
    raw: bytes


@attrs.frozen
class CheckedLog:
    """A log whose header and job record are valid.

    decoders: decoders of the readable modules, by name. failures: the unreadable parts.
    sha256: SHA-256 of the file, in hexadecimal digits.
    """

    header: Header
    job: Job
    names: Names
    decoders: dict[str, Decoder]
    failures: list[Failure]
    sha256: str


def check_log(file: BufferedReader, path: Path, limits: DarshanConfig) -> CheckedLog:
    """Check all regions of an open log, so that reading its rows cannot fail later.

    Raises DamagedError if the header or the job record is unreadable. Damage elsewhere is
    reported in ``failures``.
    """
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
    return CheckedLog(header, job, names, decoders, failures, sha256)


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
                raise DamagedError("unknown module")
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
