"""Names of users and groups from a passwd or group file that someone hands over.

A scan may come from another cluster, so this machine's own user database is never asked.
"""

from __future__ import annotations

from pathlib import Path

from harvest import UsageError

__all__ = ["read_names"]


def read_names(path: str | Path | None, kind: str) -> dict[int, str]:
    """Number -> name from a file of lines ``name:x:number:...``; none without a file.

    kind: ``passwd`` or ``group``, which both hold the number in the third field.
    Blank lines, comments and the lines of NIS (``+``, ``-``) are passed over.  Of several names
    for a number the first counts, as it does for the system.

    Raises UsageError for a file that cannot be read, and for another line, with its number.
    """
    if path is None:
        return {}
    try:
        text = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise UsageError(
            f"the {kind} file cannot be read: {error.strerror}",
            where=str(path),
            remedy=f"name a file made with `getent {kind}`",
        ) from error
    names: dict[int, str] = {}
    for number, raw in enumerate(text.split(b"\n"), 1):
        line = raw.decode("utf-8", "backslashreplace").rstrip("\r")
        if not line.strip() or line.startswith(("#", "+", "-")):
            continue
        fields = line.split(":")
        if len(fields) < 3 or not fields[0] or not (fields[2].isascii() and fields[2].isdigit()):
            raise UsageError(
                f"{line[:80]!r} is not a line of a {kind} file",
                where=f"{path}, line {number}",
                remedy="a line is name:x:number:...",
            )
        names.setdefault(int(fields[2]), fields[0])
    return names
