"""Parse the job record: user, command, times and mounted file systems.

The record is a fixed structure, followed by the command line and the lines of the mount table.
"""

import re
import struct
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

import attrs

from .container import DamagedError, text_of

JOB_BYTES: Final = 4096
"""Maximum size of the job record, with command line and mounts."""

_METADATA: Final = 1024
_LAST_SECOND: Final = 253_402_300_799  # the end of the year 9999

# user_program_id<job>-<pid>_<month>-<day>-<second>-...; with the pid since Darshan 3.3
_FILE_NAME: Final = re.compile(r"_id\d+-(\d+)_\d+-\d+-\d+-")


@attrs.frozen
class Mount:
    """A mounted file system."""

    mount_point: str
    fs_type: str


@attrs.frozen
class Job:
    """The job record of a log.

    start_ns, end_ns: nanoseconds since 1970; end_ns is None if the log has no end.
    pid: process id of rank 0, from the name of the file; None if it has none.
    mounts: in the order of the log; a string is a line that is not a mount.
    unparsed: lines of the metadata without a ``=``, or with a repeated key.
    """

    uid: int
    start_ns: int
    end_ns: int | None
    run_time_s: float | None
    nprocs: int
    job_id: int
    pid: int | None
    exe: str
    metadata: Mapping[str, str]
    mounts: tuple[Mount | str, ...]
    unparsed: tuple[str, ...]


def parse_job(data: bytes, version: str, order: str, file_name: str) -> Job:
    """Parse the inflated bytes of the job record.

    Raises DamagedError if it is too short or has impossible values.
    """
    exact = version >= "3.41"
    layout = struct.Struct(order + ("7q" if exact else "5q"))
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
    ended = end != 0
    seconds = (end - start) + (end_ns - start_ns) / 1e9
    found = _FILE_NAME.search(PurePath(file_name).name)
    return Job(
        uid=uid,
        start_ns=start * 10**9 + start_ns,
        end_ns=end * 10**9 + end_ns if ended else None,
        # without nanoseconds both ends are truncated, and Darshan includes the last second
        run_time_s=(seconds if exact else seconds + 1.0) if ended else None,
        nprocs=nprocs,
        job_id=job_id,
        pid=int(found[1]) if found and len(found[1]) < 19 else None,
        exe=exe,
        metadata=metadata,
        mounts=tuple(_mount(line) for line in lines if line),
        unparsed=unparsed,
    )


def _metadata(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    pairs: dict[str, str] = {}
    unparsed = []
    for line in text.split("\n"):
        key, equals, value = line.partition("=")
        if equals and key not in pairs:
            pairs[key] = value
        elif line:
            unparsed.append(line)
    return pairs, tuple(unparsed)


def _mount(line: str) -> Mount | str:
    fs_type, tab, mount_point = line.partition("\t")
    return Mount(mount_point, fs_type) if tab and fs_type and mount_point else line
