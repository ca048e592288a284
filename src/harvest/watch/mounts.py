"""Telling file systems that other machines write to, of which the kernel here notifies nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["network_file_system"]

MOUNTS = "/proc/self/mountinfo"

_NETWORK = frozenset(
    (
        "9p", "afs", "beegfs", "ceph", "cifs", "cvfs", "dvs", "fhgfs", "fuse", "fuseblk",
        "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs",
        "panfs", "pvfs2", "smb2", "smb3", "smbfs", "virtiofs", "wekafs",
    )
)  # fmt: skip
_ESCAPE = re.compile(r"\\([0-7]{3})")


def network_file_system(path: str, mounts: str = MOUNTS) -> str | None:
    """The type of a network file system that a path lies on, or that is mounted below it.

    None where there is none, or where the mounts are not told.  mounts: a file in the format of
    ``proc_pid_mountinfo(5)``.
    """
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    place = os.path.realpath(path)
    holding, kind_of_holding = "", ""
    for line in lines:
        point, kind = _mount(line)
        if _within(place, point):
            if len(point) >= len(holding):  # of two at one place the later one hides the other
                holding, kind_of_holding = point, kind
        elif _within(point, place) and _is_network(kind):
            return kind
    return kind_of_holding if _is_network(kind_of_holding) else None


def _mount(line: str) -> tuple[str, str]:
    """Mount point and type; any number of optional fields stands before the ``-``."""
    before, _, after = line.partition(" - ")
    point = _ESCAPE.sub(lambda found: chr(int(found[1], 8)), before.split(" ")[4])
    return point, after.split(" ")[0]


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _is_network(kind: str) -> bool:
    return kind in _NETWORK or kind.startswith("fuse.")
