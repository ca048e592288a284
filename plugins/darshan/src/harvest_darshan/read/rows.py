"""Yield the rows of a checked log, and count its units.

A unit is the job record, a mount, a name, a record of a module (for Lustre a component of a layout,
for DXT a segment), or an unreadable module.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from harvest import ReadContext
from harvest.toolkit.amounts import seconds_in_words

from .. import records
from .dxt import DxtRecords
from .job import Mount
from .log import CheckedLog
from .names import mount_finder
from .tables import BATCH_ROWS, Log, Rows, batch

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rows_of(opened: CheckedLog, ctx: ReadContext) -> Iterator[Rows]:
    """Yield all rows of a log; report its units, rejects and notes to ``ctx``."""
    job, names = opened.job, opened.names
    hosts = {rank: host for d in opened.decoders.values() for rank, host in d.hosts.items()}
    log = Log(ctx.origin, job, names.by_id, hosts)
    mounts = [mount for mount in job.mounts if isinstance(mount, Mount)]
    ctx.read(1 + len(job.mounts) + len(names.ids) + names.repeated + len(opened.failures))
    ctx.read(sum(d.rows + d.merged for d in opened.decoders.values()))
    ctx.folded(names.repeated, "repeated name")
    for name, decoder in opened.decoders.items():
        ctx.folded(decoder.merged, f"{name}: part of its other rows, or a record without content")
    for number, line in enumerate(job.mounts, start=1):
        if isinstance(line, str):
            ctx.reject(line, "not a mount: a type, a tab and a path expected", position=number,
                       record_type="darshan.mount")  # fmt: skip
    for part, reason, raw in opened.failures:
        ctx.reject(raw, f"{part}: {reason}", record_type=_type(part))
    partial = [module.name for module in opened.header.modules if module.partial]
    if partial:
        ctx.note(f"incomplete modules, because Darshan ran out of memory: {', '.join(partial)}")
    if job.end_ns is None or ctx.origin.endswith("_partial"):
        ctx.note(
            "Darshan did not finish the log, because its program was killed: records may be missing"
        )
    if job.run_time_s is not None and job.run_time_s < 0:
        ctx.note(
            f"the log ends {seconds_in_words(-job.run_time_s)} before it begins, because its clock "
            "was set back: its run time is unknown"
        )
    yield _job(opened, partial, log)
    if mounts:
        yield batch(records.Mount, _places(mounts), log)
    yield from _files(opened, mount_finder(mounts), log)
    for decoder in opened.decoders.values():
        yield from decoder.batches(log)
    if log.impossible:
        said = (
            f"{name} is {example}" + (f" and {count - 1:,} others" if count > 1 else "")
            for name, (example, count) in log.impossible.items()
        )
        ctx.note(f"impossible values, which views leave out: {'; '.join(said)}")


def _type(part: str) -> str | None:
    known = {"names": "file", "DXT_POSIX": "dxt_segment", "DXT_MPIIO": "dxt_segment"}
    word = known.get(part, part.lower().replace("-", "").replace("/", ""))
    return f"darshan.{word}" if not word.startswith("module ") else None


def _job(opened: CheckedLog, partial: list[str], log: Log) -> Rows:
    header, job = opened.header, opened.job
    hosts = set(log.hosts.values())
    dxt = opened.decoders.get("DXT_POSIX")
    row = records.Job(
        job_id=job.job_id,
        uid=job.uid,
        exe=job.exe or None,
        nprocs=job.nprocs,
        start_time=_time(job.start_ns),
        end_time=_time(job.end_ns) if job.end_ns is not None else None,
        run_time_s=job.run_time_s,
        log_version=header.version,
        hostname=hosts.pop() if len(hosts) == 1 else None,
        pid=job.pid,
        modules=[module.name for module in header.modules],
        partial_modules=partial,
        unread_modules=[f.part for f in opened.failures if f.part != "names"],
        module_versions={module.name: module.version for module in header.modules},
        dxt_layout=dxt.layout if isinstance(dxt, DxtRecords) else None,
        compression=header.compression,
        metadata=dict(job.metadata),
        sha256=opened.sha256,
    )
    if job.unparsed:
        row.extra = {f"metadata_line_{n}": line for n, line in enumerate(job.unparsed, 1)}
    return row


def _time(nanoseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def _places(mounts: Sequence[Mount | None]) -> dict[str, pa.Array]:
    return {
        "mount_point": pa.array([m and m.mount_point for m in mounts], pa.string()),
        "fs_type": pa.array([m and m.fs_type for m in mounts], pa.string()),
    }


def _files(opened: CheckedLog, mount_of: Callable[[str], Mount | None], log: Log) -> Iterator[Rows]:
    names = opened.names
    for start in range(0, len(names.ids), BATCH_ROWS):
        paths = names.paths[start : start + BATCH_ROWS]
        columns = {
            "record_id": pa.array(names.ids[start : start + BATCH_ROWS], pa.uint64()),
            "path": pa.array(paths, pa.string()),
            **_places([mount_of(path) for path in paths]),
        }
        yield batch(records.File, columns, log)
