"""Reading receiver statuses, data, log and HDF5 files; each file is one unit of input."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from harvest import ReadContext
from harvest.model.frames import seconds
from harvest.toolkit.files import out_of_files
from harvest.toolkit.frames import TEXT_MAP
from harvest.toolkit.texts import printable

from .config import NcemConfig
from .recognition import LOOK_BYTES, FileName, parse_name
from .records import DataFile, ReceiverStatus
from .times import parse_times, zone_notes

LARGEST_STATUS = 1024 * 1024
"""Maximum bytes of a receiver status, which usually has about 150."""

USUAL_STATUS = 4096
"""Bytes that a status hardly ever exceeds."""

STATUS_KEYS = {
    "time": (str, "a text"),
    "last_scan_number": (int, "a whole number"),
    "progress": ((int, float), "a number"),
    "UUID": (str, "a text"),
}
"""Keys of a status, with the allowed types of each, and their description in words."""


def read_statuses(
    folder: Path, names: Iterable[str], config: NcemConfig, ctx: ReadContext
) -> Iterator[tuple[type[ReceiverStatus], pl.DataFrame]]:
    """Read the receiver statuses of a folder as a frame; damaged ones are rejected."""
    rows: list[dict[str, Any]] = []
    raws: list[bytes] = []
    for name in names:
        ctx.read(1)
        raw, reason = _content(folder / name)
        status, reason = ({}, reason) if reason else _status(raw)
        origin = printable(str(folder / name))
        if reason:
            ctx.reject(raw, reason, position=1, origin=origin, record_type="ncem.receiver_status")
            continue
        parts = _name(name)
        other = [(key, value) for key, value in status.items() if key not in STATUS_KEYS]
        rows.append(
            {
                "text": status["time"],
                "scan_number": parts.scan_number,
                "receiver": parts.receiver,
                "uuid": status["UUID"] or None,
                "progress": float(status["progress"]),
                "last_scan_number": status["last_scan_number"],
                "shift": config.receiver_offset(parts.receiver or 0),
                "extra": [{"key": key, "value": _text(value)} for key, value in other] or None,
                "origin": origin,
            }
        )
        raws.append(raw)
        ctx.advance(LOOK_BYTES)
    good = _with_times(pl.DataFrame(rows, schema=_STATUS_SCHEMA), raws, config, ctx)
    if good.is_empty():
        return
    yield (
        ReceiverStatus,
        good.select(
            *("scan_number", "receiver", "uuid", "progress", "last_scan_number"),
            *("recorded_time", "extra", "origin"),
            time=pl.col("recorded_time") + pl.duration(microseconds="shift"),
            undecided_times=pl.when("undecided").then(pl.lit("time")),
            clock_offset_s=seconds(pl.col("shift")),
            position=pl.lit(1, pl.Int64),
        ),
    )


def _with_times(
    rows: pl.DataFrame, raws: list[bytes], config: NcemConfig, ctx: ReadContext
) -> pl.DataFrame:
    """Parse the times of rows into ``recorded_time``; reject rows with an invalid time."""
    rows, zones = parse_times(rows, config.timezone)
    for note in zone_notes(zones, config.timezone):
        ctx.note(note)
    rows = rows.rename({"time": "recorded_time"}).with_row_index()
    bad = rows.filter(pl.col("reason").is_not_null())
    for index, origin, reason, text in bad.select("index", "origin", "reason", "text").iter_rows():
        ctx.reject(
            raws[index],
            f"time {text!r}: {reason}",
            position=1,
            origin=origin,
            record_type="ncem.receiver_status",
        )
    return rows.filter(pl.col("reason").is_null())


_STATUS_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("scan_number", "receiver", "last_scan_number", "shift"), pl.Int64()),
        **dict.fromkeys(("text", "uuid", "origin"), pl.String()),
        "progress": pl.Float64(),
        "extra": TEXT_MAP,
    }
)


def _name(name: str) -> FileName:
    found = parse_name(printable(name))
    if found is None:
        raise AssertionError(f"{name} was planned, so its name is known")
    return found


def _content(path: Path) -> tuple[bytes, str | None]:
    try:
        with path.open("rb") as file:
            raw = file.read(USUAL_STATUS)  # a larger buffer takes longer to allocate than the read
            if len(raw) == USUAL_STATUS:
                raw += file.read(LARGEST_STATUS + 1 - USUAL_STATUS)
    except FileNotFoundError:
        return b"", "the file vanished before it was read"
    except OSError as error:
        if out_of_files(error):
            raise
        return b"", f"the file cannot be read: {error.strerror}"
    if len(raw) > LARGEST_STATUS:
        return raw, f"larger than {LARGEST_STATUS} bytes, so not a receiver status"
    return raw, None if raw.strip() else "the file is empty"


def _status(raw: bytes) -> tuple[dict[str, Any], str | None]:
    try:
        status = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return {}, f"damaged JSON: {error}"
    if not isinstance(status, dict):
        return {}, "the JSON is not an object"
    for key, (kind, words) in STATUS_KEYS.items():
        if key not in status:
            return {}, f"key {key!r} is missing"
        value = status[key]
        if not isinstance(value, kind) or isinstance(value, bool):  # type: ignore[arg-type]
            return {}, f"{key} is {_text(value)}, not {words}"
    if not -(2**63) <= status["last_scan_number"] < 2**63:
        return {}, "last_scan_number is out of range"
    return status, None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def read_files(
    folder: Path, names: Iterable[str], config: NcemConfig, ctx: ReadContext
) -> Iterator[tuple[type[DataFile], pl.DataFrame]]:
    """Collect data, log and HDF5 files of a folder as a frame, from names and file metadata."""
    rows: list[tuple[Any, ...]] = []
    for name in names:
        ctx.read(1)
        file = os.fspath(folder / name)
        origin = printable(file)
        try:
            stat = os.stat(file)  # noqa: PTH116 - many files, one call each
        except OSError as error:
            reason = (
                "the file vanished before it was looked at"
                if isinstance(error, FileNotFoundError)
                else f"the file cannot be looked at: {error.strerror}"
            )
            ctx.reject(name, reason, position=1, origin=origin, record_type="ncem.data_file")
            continue
        parts = _name(name)
        shift = config.site_offset("nersc" if parts.kind == "h5" else "ncem")
        micros = stat.st_mtime_ns // 1_000
        rows.append(
            (
                *(parts.scan_number, parts.distiller_id, parts.kind, origin, stat.st_size),
                *(micros + shift, micros, shift / 1e6),
                *(parts.module, parts.uuid, parts.suffix, parts.stamp),
            )
        )
        ctx.advance(LOOK_BYTES)
    if rows:
        found = pl.DataFrame(rows, schema=_FILE_SCHEMA, orient="row").with_columns(
            pl.col("modify_time", "recorded_time").cast(pl.Datetime("us", "UTC")),
            origin="path",
            position=pl.lit(1, pl.Int64),
        )
        yield DataFile, found


_FILE_SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("scan_number", "distiller_id"), pl.Int64()),
        **dict.fromkeys(("kind", "path"), pl.String()),
        **dict.fromkeys(("size_bytes", "modify_time", "recorded_time"), pl.Int64()),
        "clock_offset_s": pl.Float64(),
        "module": pl.Int64(),
        **dict.fromkeys(("uuid", "suffix", "stamp"), pl.String()),
    }
)
