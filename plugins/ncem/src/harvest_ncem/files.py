"""Receiver statuses, data, log and HDF5 files, one unit each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa

from harvest import ReadContext
from harvest.toolkit.frames import TEXT_MAP

from .config import NcemConfig
from .names import FileName, parse_name, readable
from .records import DataFile, ReceiverStatus
from .times import as_seconds, parse_times

__all__ = ["read_files", "read_statuses"]

LARGEST_STATUS = 1024 * 1024
"""Bytes of a receiver status, which has about 150; what is larger is none."""

STATUS_KEYS = {
    "time": str,
    "last_scan_number": int,
    "progress": (int, float),
    "UUID": str,
}


def read_statuses(
    folder: Path, names: Iterable[str], config: NcemConfig, ctx: ReadContext
) -> Iterator[tuple[type[ReceiverStatus], pa.Table]]:
    """The receiver statuses of a folder as a frame; damaged ones are rejected."""
    rows: list[dict[str, Any]] = []
    raws: list[bytes] = []
    for name in names:
        ctx.read(1)
        path = readable(str(folder / name))
        raw, reason = _bytes(folder / name)
        status: dict[str, Any] = {}
        if not reason:
            status, reason = _status(raw)
        if reason:
            ctx.reject(raw, reason, position=1, origin=path, record_type="ncem.receiver_status")
            continue
        told = _name(name)
        rows.append(
            {
                "text": status.pop("time"),
                "scan_number": told.scan_number,
                "receiver": told.receiver,
                "uuid": status.pop("UUID"),
                "progress": float(status.pop("progress")),
                "last_scan_number": status.pop("last_scan_number"),
                "shift": config.receiver_offset(told.receiver or 0),
                "extra": [{"key": k, "value": _text(v)} for k, v in status.items()] or None,
                "origin": path,
            }
        )
        raws.append(raw)
        ctx.advance(200)
    if not rows:
        return
    frame = pl.DataFrame(rows, schema=_STATUS_SCHEMA)
    parsed = parse_times(frame["text"], config.timezone)
    for note in parsed.notes(config.timezone):
        ctx.note(note)
    frame = frame.with_columns(
        parsed.times.alias("recorded_time"), parsed.reasons.alias("reason")
    ).with_row_index()
    for index, origin, reason, text in (
        frame.filter(pl.col("reason").is_not_null())
        .select("index", "origin", "reason", "text")
        .iter_rows()
    ):
        ctx.reject(
            raws[index],
            f"time {text!r}: {reason}",
            position=1,
            origin=origin,
            record_type="ncem.receiver_status",
        )
    good = frame.filter(pl.col("reason").is_null())
    if good.is_empty():
        return
    yield (
        ReceiverStatus,
        good.select(
            (pl.col("recorded_time") + pl.duration(microseconds="shift")).alias("time"),
            "scan_number",
            "receiver",
            "uuid",
            "progress",
            "last_scan_number",
            "recorded_time",
            as_seconds(pl.col("shift")).alias("clock_offset_s"),
            "extra",
            "origin",
            pl.lit(1, pl.Int64).alias("position"),
        ),
    )


_STATUS_SCHEMA = pl.Schema(
    {
        "text": pl.String(),
        "scan_number": pl.Int64(),
        "receiver": pl.Int64(),
        "uuid": pl.String(),
        "progress": pl.Float64(),
        "last_scan_number": pl.Int64(),
        "shift": pl.Int64(),
        "extra": TEXT_MAP,
        "origin": pl.String(),
    }
)


def _name(name: str) -> FileName:
    told = parse_name(readable(name))
    if told is None:
        raise AssertionError(f"{name} was planned, so its name is known")
    return told


def _bytes(path: Path) -> tuple[bytes, str | None]:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_STATUS + 1)
    except FileNotFoundError:
        return b"", "the file vanished before it was read"
    except OSError as error:
        return b"", f"the file cannot be read: {error.strerror}"
    if len(raw) > LARGEST_STATUS:
        return raw, f"larger than {LARGEST_STATUS} bytes, so no receiver status"
    return raw, None if raw.strip() else "the file is empty"


def _status(raw: bytes) -> tuple[dict[str, Any], str | None]:
    try:
        status = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return {}, f"damaged JSON: {error}"
    if not isinstance(status, dict):
        return {}, "the JSON is no object"
    for key, kind in STATUS_KEYS.items():
        if key not in status:
            return {}, f"key {key!r} is missing"
        value = status[key]
        if not isinstance(value, kind) or isinstance(value, bool):  # type: ignore[arg-type]
            return {}, f"{key} is {_text(value)}, not {_WORDS[key]}"
    if not -(2**63) <= status["last_scan_number"] < 2**63:
        return {}, "last_scan_number is out of range"
    return status, None


_WORDS = {
    "time": "a text",
    "last_scan_number": "a whole number",
    "progress": "a number",
    "UUID": "a text",
}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def read_files(
    folder: Path, names: Iterable[str], config: NcemConfig, ctx: ReadContext
) -> Iterator[tuple[type[DataFile], pl.DataFrame]]:
    """Data, log and HDF5 files of a folder as a frame: what name and file system tell."""
    rows: list[tuple[Any, ...]] = []
    for name in names:
        ctx.read(1)
        file = os.fspath(folder / name)
        path = readable(file)
        try:
            found = os.stat(file)  # noqa: PTH116 - many files, one call each
        except FileNotFoundError:
            reason = "the file vanished before it was looked at"
            ctx.reject(name, reason, position=1, origin=path, record_type="ncem.data_file")
            continue
        except OSError as error:
            reason = f"the file cannot be looked at: {error.strerror}"
            ctx.reject(name, reason, position=1, origin=path, record_type="ncem.data_file")
            continue
        told = _name(name)
        shift = config.site_offset("nersc" if told.kind == "h5" else "ncem")
        micros = found.st_mtime_ns // 1_000
        rows.append(
            (
                told.scan_number,
                told.distiller_id,
                told.kind,
                path,
                found.st_size,
                micros + shift,
                micros,
                shift / 1e6,
                told.module,
                told.uuid,
                told.suffix,
                told.stamp,
            )
        )
        ctx.advance(200)
    if rows:
        time = pl.Datetime("us", "UTC")
        yield (
            DataFile,
            pl.DataFrame(rows, schema=_FILE_SCHEMA, orient="row").with_columns(
                pl.col("modify_time", "recorded_time").cast(time),
                pl.col("path").alias("origin"),
                pl.lit(1, pl.Int64).alias("position"),
            ),
        )


_FILE_SCHEMA = pl.Schema(
    {
        "scan_number": pl.Int64(),
        "distiller_id": pl.Int64(),
        "kind": pl.String(),
        "path": pl.String(),
        "size_bytes": pl.Int64(),
        "modify_time": pl.Int64(),
        "recorded_time": pl.Int64(),
        "clock_offset_s": pl.Float64(),
        "module": pl.Int64(),
        "uuid": pl.String(),
        "suffix": pl.String(),
        "stamp": pl.String(),
    }
)
