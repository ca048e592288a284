"""Check a whole log before any of its rows is read, then yield its rows and count its units.

A unit is the job record, a mount, a name, a record of a module (for Lustre a component of a layout,
for DXT a segment), or an unreadable module.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final

import pyarrow as pa

from harvest import ReadContext
from harvest.toolkit.amounts import seconds_in_words

from .. import records
from .autoperf import ApmpiRecords, ApxcRecords
from .container import HEADER_BYTES, DamagedError, Header, Module, parse_header
from .dxt import DxtRecords
from .fixed import FIXED, FixedRecords
from .job import JOB_BYTES, parse_job
from .names import Names, mount_finder, parse_names
from .regions import DarshanConfig, Region, RegionReader
from .tables import BATCH_ROWS, Decoder, Failure, Log, Rows
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


def check_log(file: BufferedReader, path: Path, limits: DarshanConfig) -> Log:
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
    log = parse_job(bytes(data), header, path.name)
    _find_names(log, header, reader)
    _find_decoders(log, header, reader)
    hosts = set(log.hosts.values())
    dxt = log.decoders.get("DXT_POSIX")
    log.job.hostname = hosts.pop() if len(hosts) == 1 else None
    log.job.unread_modules = [failure.part for failure in log.failures if failure.part != "names"]
    log.job.dxt_layout = dxt.layout if isinstance(dxt, DxtRecords) else None
    file.seek(0)
    log.job.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return log


def _find_names(log: Log, header: Header, reader: RegionReader) -> None:
    if header.names is None:
        return
    try:
        region = reader.region(header.names, at_most=NAMES_BYTES)
        log.names = parse_names(region.data or b"", header.version, header.order)
    except DamagedError as error:
        log.failures.append(Failure("names", str(error), _raw(reader, header.names.offset)))


def _find_decoders(log: Log, header: Header, reader: RegionReader) -> None:
    for module in header.modules:
        try:
            if module.name not in _DECODERS:
                raise DamagedError("unknown module")
            region = reader.region(module.extent)
            decoder = _DECODERS[module.name](module, region, header.order)
        except DamagedError as error:
            raw = _raw(reader, module.extent.offset)
            log.failures.append(Failure(module.name, str(error), raw))
        else:
            log.decoders[module.name] = decoder
            log.hosts |= decoder.hosts


def _raw(reader: RegionReader, offset: int) -> bytes:
    if offset >= reader.size:
        return b""
    reader.file.seek(offset)
    return reader.file.read(4096)


def rows_of(log: Log, ctx: ReadContext) -> Iterator[Rows]:
    """Yield all rows of a log; report its units, rejects and notes to ``ctx``."""
    job, names = log.job, log.names
    mounts = [mount for mount in log.mounts if isinstance(mount, records.Mount)]
    ctx.read(1 + len(log.mounts) + len(names.ids) + names.repeated + len(log.failures))
    ctx.read(sum(d.rows + d.merged for d in log.decoders.values()))
    ctx.folded(names.repeated, "repeated name")
    for name, decoder in log.decoders.items():
        ctx.folded(decoder.merged, f"{name}: part of its other rows, or a record without content")
    for number, line in enumerate(log.mounts, start=1):
        if isinstance(line, str):
            ctx.reject(line, "not a mount: a type, a tab and a path expected", position=number,
                       record_type="darshan.mount")  # fmt: skip
    for part, reason, raw in log.failures:
        ctx.reject(raw, f"{part}: {reason}", record_type=_type(part))
    if job.partial_modules:
        cut = ", ".join(job.partial_modules)
        ctx.note(f"incomplete modules, because Darshan ran out of memory: {cut}")
    if job.end_time is None or ctx.origin.endswith("_partial"):
        ctx.note(
            "Darshan did not finish the log, because its program was killed: records may be missing"
        )
    if job.run_time_s is not None and job.run_time_s < 0:
        ctx.note(
            f"the log ends {seconds_in_words(-job.run_time_s)} before it begins, because its clock "
            "was set back: its run time is unknown"
        )
    yield job
    if mounts:
        yield records.Mount, pa.table(_places(mounts))
    yield from _files(names, mount_finder(mounts))
    for decoder in log.decoders.values():
        yield from decoder.batches(log)
    if log.impossible:
        said = (
            f"{name} is {example}" + (f" and {count - 1:,} more" if count > 1 else "")
            for name, (example, count) in log.impossible.items()
        )
        ctx.note(f"impossible values, which views leave out: {'; '.join(said)}")


def _type(part: str) -> str | None:
    known = {"names": "file", "DXT_POSIX": "dxt_segment", "DXT_MPIIO": "dxt_segment"}
    word = known.get(part, part.lower().replace("-", "").replace("/", ""))
    return f"darshan.{word}" if not word.startswith("module ") else None


def _places(mounts: Sequence[records.Mount | None]) -> dict[str, pa.Array]:
    return {
        "mount_point": pa.array([m and m.mount_point for m in mounts], pa.string()),
        "fs_type": pa.array([m and m.fs_type for m in mounts], pa.string()),
    }


def _files(names: Names, mount_of: Callable[[str], records.Mount | None]) -> Iterator[Rows]:
    for start in range(0, len(names.ids), BATCH_ROWS):
        paths = names.paths[start : start + BATCH_ROWS]
        columns = {
            "record_id": pa.array(names.ids[start : start + BATCH_ROWS], pa.uint64()),
            "path": pa.array(paths, pa.string()),
            **_places([mount_of(path) for path in paths]),
        }
        yield records.File, pa.table(columns)
