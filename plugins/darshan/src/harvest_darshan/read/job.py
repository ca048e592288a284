"""Parse the job record: user, command, times and mounted file systems.

The record is a fixed structure, followed by the command line and the lines of the mount table.
"""

import re
import struct
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Final

from .. import records
from .container import DamagedError, Header, text_of
from .tables import Log

JOB_BYTES: Final = 4096
"""Maximum size of the job record, with command line and mounts."""

_METADATA: Final = 1024
_LAST_SECOND: Final = 253_402_300_799  # the end of the year 9999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# user_program_id<job>-<pid>_<month>-<day>-<second>-...; with the pid since Darshan 3.3
_FILE_NAME: Final = re.compile(r"_id\d+-(\d+)_\d+-\d+-\d+-")


def parse_job(data: bytes, header: Header, file_name: str) -> Log:
    """Parse the inflated bytes of the job record.

    The log has no names and decoders yet, and the row of its job lacks their columns.

    Raises DamagedError if it is too short or has impossible values.
    """
    exact = header.version >= "3.41"
    layout = struct.Struct(header.order + ("7q" if exact else "5q"))
    if len(data) < layout.size + _METADATA:
        raise DamagedError(f"the job record has only {len(data)} bytes")
    if exact:
        uid, start, start_ns, end, end_ns, nprocs, job_id = layout.unpack_from(data)
    else:
        uid, start, end, nprocs, job_id = layout.unpack_from(data)
        start_ns = end_ns = 0
    for name, value, least, most in (
        ("start time", start, 0, _LAST_SECOND),
        ("end time", end, 0, _LAST_SECOND),
        ("start nanoseconds", start_ns, 0, 999_999_999),
        ("end nanoseconds", end_ns, 0, 999_999_999),
        ("number of processes", nprocs, 1, 2**31),
    ):
        if not least <= value <= most:
            raise DamagedError(f"the job record is damaged: its {name} is {value}")
    metadata, unparsed = _metadata(text_of(data[layout.size : layout.size + _METADATA]))
    exe, *lines = text_of(data[layout.size + _METADATA :]).split("\n")
    seconds = (end - start) + (end_ns - start_ns) / 1e9
    job = records.Job(
        job_id=job_id,
        uid=uid,
        exe=exe or None,
        nprocs=nprocs,
        start_time=_time(start, start_ns),
        end_time=_time(end, end_ns) if end else None,
        # without nanoseconds both ends are truncated, and Darshan includes the last second
        run_time_s=(seconds if exact else seconds + 1.0) if end else None,
        log_version=header.version,
        hostname=None,
        pid=_pid(file_name),
        modules=[module.name for module in header.modules],
        partial_modules=[module.name for module in header.modules if module.partial],
        unread_modules=[],
        module_versions={module.name: module.version for module in header.modules},
        dxt_layout=None,
        compression=header.compression,
        metadata=metadata,
        sha256=None,
        extra=unparsed or None,
    )
    return Log(job, start * 10**9 + start_ns, [_mount(line) for line in lines if line])


def _pid(file_name: str) -> int | None:
    found = _FILE_NAME.search(PurePath(file_name).name)
    return int(found[1]) if found and len(found[1]) < 19 else None


def _time(seconds: int, nanoseconds: int) -> datetime:
    return _EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)


def _metadata(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Split lines ``key=value``; lines without a ``=``, or with a repeated key, are apart."""
    pairs: dict[str, str] = {}
    unparsed: dict[str, str] = {}
    for line in text.split("\n"):
        key, equals, value = line.partition("=")
        if equals and key not in pairs:
            pairs[key] = value
        elif line:
            unparsed[f"metadata_line_{len(unparsed) + 1}"] = line
    return pairs, unparsed


def _mount(line: str) -> records.Mount | str:
    fs_type, tab, point = line.partition("\t")
    return records.Mount(mount_point=point, fs_type=fs_type) if tab and fs_type and point else line
