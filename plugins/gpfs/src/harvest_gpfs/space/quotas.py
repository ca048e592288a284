"""Reading quotas: output of ``mmrepquota -Y`` or ``mmlsquota -Y``, or CSV."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import attrs

from harvest import UsageError

from ..aggregation.groupings import NUMBER, parse_size

_KINDS: Final = {"USR": "user", "GRP": "group", "FILESET": "fileset"}


@attrs.frozen
class Quota:
    """A quota in the file; number: uid or gid, if the file has it."""

    kind: str
    name: str
    number: int | None
    fileset: str | None
    soft_bytes: int | None
    hard_bytes: int | None
    soft_inodes: int | None
    hard_inodes: int | None


def read_quotas(path: Path) -> list[Quota]:
    """Read the quotas in a file: output of ``mmrepquota -Y`` or ``mmlsquota -Y``, or CSV.

    Raises UsageError with the line number for an invalid line, or if the file cannot be read.
    """
    try:
        lines = Path(path).expanduser().read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the file of quotas cannot be read: {error}",
            where=str(path),
            remedy="name the output of `mmrepquota -Y`, or CSV with kind, name, soft, hard",
        ) from error
    printed = any(":HEADER:" in line for line in lines)
    rows, made = (_printed(lines), _of_printed) if printed else (_table(lines), _of_table)
    found = []
    devices: set[str | None] = set()
    for number, row in rows:
        try:
            devices.add(row.get("filesystemname"))
            if len(devices) > 1:
                raise ValueError("another file system: keep the lines of the scanned one")
            found.append(made(row))
        except (ValueError, KeyError, UsageError) as error:
            said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(
                said, where=f"{path}, line {number}", remedy="see the README of the plugin gpfs"
            ) from error
    return found


def _printed(lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Parse the rows of ``-Y`` output: line numbers, and fields by the names in the header."""
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        fields = [unquote(field) for field in line.split(":")]
        if ":HEADER:" in line:
            names = [name.lower() for name in fields]
        elif len(fields) > 3 and names:
            yield number, dict(zip(names, fields, strict=False))


def _of_printed(row: dict[str, str]) -> Quota:
    """Build a quota from ``-Y`` output: blocks are in KiB, and 0 means no limit."""
    soft, hard = (parse_size(f"{row[name]}K") or None for name in ("blockquota", "blocklimit"))
    soft_inodes, hard_inodes = (int(row[name]) or None for name in ("filesquota", "fileslimit"))
    if (kind := _KINDS.get(row["quotatype"])) is None:
        raise ValueError(f"the type {row['quotatype']!r} is none of {', '.join(_KINDS)}")
    fileset = (row.get("filesetname") or None) if kind != "fileset" else None
    return Quota(kind, row["name"], int(row["id"]), fileset, soft, hard, soft_inodes, hard_inodes)


def _table(lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Parse the rows of CSV: kind, name, soft, hard; optional fileset, soft_files, hard_files."""
    reader = csv.DictReader(lines)
    if "kind" not in map(str.strip, reader.fieldnames or ()):
        yield 1, {}  # a first line without names of columns is an error, also if it is the only one
    for row in reader:
        yield reader.line_num, {k.strip(): (v or "").strip() for k, v in row.items() if k}


def _of_table(row: dict[str, str]) -> Quota:
    kind, name, fileset = row["kind"], row["name"], row.get("fileset") or None
    if kind not in _KINDS.values():
        raise ValueError(f"the kind {kind!r} is none of {', '.join(_KINDS.values())}")
    soft, hard = (parse_size(row[name] or 0) or None for name in ("soft", "hard"))
    counts = (parse_size(row.get(name) or 0) or None for name in ("soft_files", "hard_files"))
    number = int(name) if NUMBER.fullmatch(name) else None
    return Quota(kind, name, number, fileset, soft, hard, *counts)
