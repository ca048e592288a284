"""The views ``gpfs.forecast`` and ``gpfs.quotas``: when groups reach a capacity or their quotas."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import polars as pl

from harvest import DatasetReader, UsageError
from harvest_toolkit.deferred import deferred
from harvest_toolkit.frames import fraction

from ..aggregation.groupings import parse_size, read_names
from ..views.common import INT, TEXT, aggregated_schema
from .history import TREND, History

_KINDS: Final = {"USR": "user", "GRP": "group", "FILESET": "fileset"}
_BY: Final = {"user": "uid", "group": "gid", "fileset": "fileset"}
_LIMITS: Final = ("soft_bytes", "hard_bytes", "soft_inodes", "hard_inodes")

Quota: TypeAlias = dict[str, Any]
"""What the view says of a quota, and ``number``: of the user or group, where the file says it."""


def read_quotas(path: Path) -> list[Quota]:
    """The quotas of a file: what ``mmrepquota -Y`` or ``mmlsquota -Y`` printed, or CSV.

    Raises UsageError for a file that cannot be read or is neither, with the line.
    """
    try:
        lines = Path(path).expanduser().read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the file of quotas cannot be read: {error}",
            where=str(path),
            remedy="name what `mmrepquota -Y` printed, or CSV with kind, name, soft, hard",
        ) from error
    printed = any(":HEADER:" in line for line in lines)
    rows, made = (_printed(lines), _of_printed) if printed else (_table(lines), _of_table)
    found = []
    for number, row in rows:
        try:
            found.append(made(row))
        except (ValueError, KeyError, UsageError) as error:
            said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise UsageError(
                said, where=f"{path}, line {number}", remedy="see the page on gpfs"
            ) from error
    return found


def _printed(lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a parsable listing: fields by the names of its header, each with its line."""
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        fields = [unquote(field) for field in line.split(":")]
        if ":HEADER:" in line:
            names = [name.lower() for name in fields]
        elif len(fields) > 3 and names:
            yield number, dict(zip(names, fields, strict=False))


def _of_printed(row: dict[str, str]) -> Quota:
    """Blocks are in KiB, and 0 is for no limit."""
    blocks = [parse_size(f"{row[name]}K") or None for name in ("blockquota", "blocklimit")]
    files = [int(row[name]) or None for name in ("filesquota", "fileslimit")]
    kind = _KINDS.get(row["quotatype"])
    if kind is None:
        raise ValueError(f"{row['quotatype']!r} is none of {', '.join(_KINDS)}")
    fileset = (row.get("filesetname") or None) if kind != "fileset" else None
    said = {"kind": kind, "name": row["name"], "number": int(row["id"]), "fileset": fileset}
    return said | dict(zip(_LIMITS, (*blocks, *files), strict=True))


def _table(lines: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of CSV: kind, name, soft and hard; perhaps fileset, soft_files and hard_files."""
    reader = csv.DictReader(lines)
    for row in reader:
        yield reader.line_num, {k.strip(): (v or "").strip() for k, v in row.items() if k}


def _of_table(row: dict[str, str]) -> Quota:
    if row["kind"] not in _BY:
        raise ValueError(f"{row['kind']!r} is none of {', '.join(_BY)}")
    sizes = [parse_size(row[name]) if row[name] else None for name in ("soft", "hard")]
    counts = [int(row[n]) if row.get(n) else None for n in ("soft_files", "hard_files")]
    number = int(row["name"]) if row["name"].isdigit() else None
    said = {"kind": row["kind"], "name": row["name"], "number": number}
    said |= {"fileset": row.get("fileset") or None}
    return said | dict(zip(_LIMITS, (*sizes, *counts), strict=True))


def quotas(
    dataset: DatasetReader,
    quotas: Path | None = None,
    measure: str | None = None,
    passwd: Path | None = None,
    group: Path | None = None,
) -> pl.LazyFrame:
    """The view ``gpfs.quotas``, the fullest first."""
    given = None if quotas is None else read_quotas(quotas)
    numbers = {
        kind: {name: number for number, name in reversed(read_names(path, file).items())}
        for kind, path, file in (("user", passwd, "passwd"), ("group", group, "group"))
    }
    texts = dict.fromkeys(("kind", "name", "fileset", "outlook"), TEXT)
    counts = dict.fromkeys(("used_bytes", *_LIMITS, "used_inodes"), INT)
    schema = {**texts, **counts, "used_share": pl.Float64(), **TREND}

    def compute() -> pl.DataFrame:
        if given is None:
            raise UsageError("no file of quotas is given", remedy="give it: quotas=FILE")
        known: dict[tuple[str, ...], History] = {}
        rows = []
        for quota in given:
            by = (_BY[quota["kind"]], *(("fileset",) if quota["fileset"] else ()))
            if by not in known:
                known[by] = History.of(dataset, by, measure)
            whose = quota["name"]
            if quota["kind"] != "fileset":
                whose = numbers[quota["kind"]].get(whose, quota["number"])
            rows.append(quota | _used(known[by], quota, whose))
        table = pl.DataFrame(rows, {n: kind for n, kind in schema.items() if n != "used_share"})
        of = pl.coalesce("hard_bytes", "soft_bytes")
        return table.with_columns(used_share=fraction("used_bytes", of)).sort(
            "used_share", "kind", "name", descending=[True, False, False], nulls_last=True
        )

    return deferred(compute, schema)


def _used(history: History, quota: Quota, whose: Any) -> dict[str, Any]:
    nothing, kind, soft = {"measure": history.measure}, quota["kind"], quota["soft_bytes"]
    if whose is None:
        return nothing | {"outlook": f"not known: no number of the {kind} is given"}
    if history.rows.is_empty():
        return nothing | {"outlook": f"not known: no scan says the {kind}s and their bytes"}
    group = (whose, quota["fileset"]) if quota["fileset"] else (whose,)
    said = history.trend(group, quota["hard_bytes"] or soft)
    if said["outlook"] != "full" and soft and (said["used_bytes"] or 0) >= soft:
        said["outlook"] = f"over the soft limit; {said['outlook']}"
    return said


def forecast(
    dataset: DatasetReader,
    by: Sequence[str],
    capacity: str | None = None,
    measure: str | None = None,
    **more: Any,
) -> pl.LazyFrame:
    """The view ``gpfs.forecast``: a row for the whole, or for each group of the last scan."""
    limit = None if capacity is None else parse_size(capacity)
    sums = {"used_bytes": INT, "outlook": TEXT, "capacity_bytes": INT, "used_share": pl.Float64()}
    schema = {**aggregated_schema(tuple(dict.fromkeys(by))), **sums, **TREND}

    def compute() -> pl.DataFrame:
        history = History.of(dataset, by, measure, **more)
        rows = [
            dict(zip(history.names, group, strict=True), capacity_bytes=limit)
            | history.trend(group, limit)
            for group in history.groups()
        ]
        table = pl.DataFrame(rows, {n: kind for n, kind in schema.items() if n != "used_share"})
        return table.with_columns(used_share=fraction("used_bytes", "capacity_bytes"))

    return deferred(compute, schema)
