"""The record type of GPFS policy lists."""

from datetime import datetime

import harvest
from harvest import Record, field


@harvest.record("gpfs.file", layer="system", level="process")
class GpfsFile(Record):
    """A path that a policy scan listed: a file, directory, link or other object.

    An inode with several hard links is listed once per path.  Columns that the list does not record
    are null.  Times are UTC, as the policy engine writes them.
    """

    inode: harvest.UInt64 = field(doc="Number of the inode; hard links share it.")
    generation: int | None = field(
        doc="Generation of the inode, which distinguishes reuses of its number."
    )
    snapshot_id: int | None = field(doc="Id of the scanned snapshot; 0 for the live file system.")
    path: str = field(
        role="subject",
        doc="Path, unescaped. Where path_raw is given, bytes that are not UTF-8 are shown as \\xNN "
        "and a backslash as \\\\.",
    )
    path_raw: bytes | None = field(doc="Exact bytes of the path where path differs from them.")
    kind: str | None = field(
        doc="file, directory, symlink or other; null where it is not recorded."
    )
    size_bytes: int | None = field(unit="bytes", doc="Logical size.")
    allocated_bytes: int | None = field(unit="bytes", doc="Allocated size (KB_ALLOCATED x 1024).")
    access_time: datetime | None = field(doc="Last access.")
    modify_time: datetime | None = field(role="time", doc="Last modification of the data.")
    change_time: datetime | None = field(doc="Last change of the inode.")
    create_time: datetime | None = field(doc="Creation.")
    uid: int | None = field(role="user", doc="Owner's number.")
    gid: int | None = field(doc="Group's number.")
    heat: float | None = field(doc="File heat from the policy engine.")
    pool: str | None = field(doc="Storage pool.")
    fileset: str | None = field(doc="Fileset.")
    mode: str | None = field(doc="Type and permissions, as `ls -l` writes them.")
    flags: str | None = field(doc="MISC_ATTRIBUTES, one letter each.")
    nlink: int | None = field(doc="Number of hard links.")
    scan_time: datetime | None = field(doc="When the scan was made; null where it is not recorded.")
