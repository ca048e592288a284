"""Policy lists for tests, written from rows that the tests know, and ways to read them.

The writer knows nothing of the parsers: a row is a dict of plain values, and what the source must
make of it is computed from these values alone.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import numpy as np
import pyarrow as pa

from harvest import Collected, collect
from harvest_gpfs.config import GpfsConfig
from harvest_gpfs.parse.columnar import SLACK, parse_block, table_of
from harvest_gpfs.parse.find import find_layout
from harvest_gpfs.parse.layout import Layout
from harvest_gpfs.parse.reading import merged
from harvest_gpfs.parse.reference import Damaged, parse
from harvest_gpfs.source import GpfsSource

STYLES = ("uab", "record", "ncar", "cdm")
ESCAPES = ("pct", "slash", "none")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = dict[str, Any]


def row(**values: Any) -> Row:
    """A row with plain values where none are given; ``path`` is bytes."""
    moment = datetime(2026, 1, 11, 12, 30, 45, 123456, tzinfo=UTC)
    plain = {
        "inode": 40961,
        "generation": 65537,
        "size": 935,
        "kib": 16,
        "access": moment,
        "create": moment - timedelta(days=400),
        "modify": moment - timedelta(days=3, microseconds=7),
        "uid": 10008,
        "gid": 20002,
        "heat": 0.0,
        "pool": "data",
        "flags": "FAu",
        "mode": "-rw-r--r--",
        "nlink": 1,
        "path": b"/data/project/file_1.txt",
    }
    assert values.keys() <= plain.keys()
    return plain | values


def escaped(raw: bytes, escape: str) -> bytes:
    """Bytes as ESCAPE '%', '%/' or none writes them."""
    if escape == "none":
        return raw.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    return quote_from_bytes(raw, safe="/" if escape == "slash" else "").encode()


def line(one: Row, style: str, escape: str) -> bytes:
    """The row as a line of a style, without its end."""

    def time(moment: datetime, fraction: bool = True) -> bytes:
        text = f"{moment.year:04}{moment:-%m-%d %H:%M:%S}"
        return (text + (f".{moment:%f}" if fraction else "")).encode()

    def pairs(*more: tuple[bytes, bytes]) -> bytes:
        mantissa, exponent = f"{one['heat']:+.14E}".split("E")
        heat = f"{mantissa}E{exponent[0]}{int(exponent[1:]):03}".encode()
        texts = [
            (b"size", b"%d" % one["size"]),
            (b"kballoc", b"%d" % one["kib"]),
            (b"access", time(one["access"])),
            (b"create", time(one["create"])),
            (b"modify", time(one["modify"])),
            (b"uid", b"%d" % one["uid"]),
            (b"gid", b"%d" % one["gid"]),
            (b"heat", heat),
            (b"pool", one["pool"].encode()),
            *more,
            (b"misc", one["flags"].encode()),
        ]
        text = b"".join(b"|" + key + b"=" + value for key, value in texts) + b"|"
        return text if escape == "none" else escaped(text, escape)

    path = escaped(one["path"], escape)
    begin = b"%d %d 0" % (one["inode"], one["generation"])
    if style == "uab":
        return begin + b"  " + pairs() + b" -- " + path
    if style == "ncar":
        show = (
            f"s={one['size']} a={one['kib']} u={one['uid']} g={one['gid']} m={one['flags']} "
            f"p={one['mode']}"
        ).encode()
        for key, name in ((b"ac", "access"), (b"mt", "modify"), (b"cr", "create")):
            show += b" " + key + b"=" + time(one[name], fraction=False)
        show += b" nl=%d" % one["nlink"]
        show = show if escape == "none" else escaped(show, escape)
        return b"<0> " + begin + b" " + show + b" -- " + path
    if style == "cdm":
        values = (
            *(b"%d" % one["size"], time(one["modify"]), time(one["access"]), time(one["create"])),
            *(b"%d" % one["uid"], b"%d" % one["gid"], one["mode"].encode(), b"root"),
            *(one["pool"].encode(), b"%d" % one["nlink"]),
        )
        show = b"|".join(values)
        return (
            begin + b"  " + (show if escape == "none" else escaped(show, escape)) + (b" -- " + path)
        )
    assert style == "record"
    relative = one["path"].split(b"/", 2)[-1]
    show = pairs((b"path", b"\1"))
    if escape == "none":
        show = show.replace(b"\1", one["path"])
    else:  # what a name holds is escaped once, like all of SHOW
        show, relative = show.replace(b"%01", path), escaped(relative, escape)
    return b"5001:000fffffffffffff:%016x:%x:0:2c172b:10002:0:%s:%s;%s" % (
        *(one["inode"], one["generation"]),
        *(counted(relative), counted(one["pool"].encode()), counted(show)),
    )


def counted(text: bytes) -> bytes:
    """A text behind its length; a minus sign says that escapes stand in it for newlines."""
    if b"\n" not in text:
        return b"%d!%s" % (len(text), text)
    text = escaped(text, "none")
    return b"-%d!%s" % (len(text), text)


CDM_HEADER = (
    b"# cdm-policy-listing v1\n# scope: filesystem\n"
    b"# fields: size|mtime|atime|ctime|uid|gid|mode|fileset|pool|nlink\n"
    b"# times: utc\n# generated: 2026-01-11T00:00:00Z\n"
)


def listing(rows: list[Row], style: str, escape: str) -> bytes:
    """A whole list, with header, banner and trailer where the style has them."""
    lines = b"".join(line(one, style, escape) + b"\n" for one in rows)
    if style == "ncar":
        return b"[I] GPFS policy scan\n" + lines
    if style == "cdm":
        return CDM_HEADER + lines + b"# end rows=%d\n" % len(rows)
    return lines


def expected(one: Row, style: str) -> Row:
    """What ``gpfs.file`` must have for a row in a style: the columns that the style carries."""
    kinds = {"F": "file", "D": "directory", "L": "symlink", "O": "other"}
    modes = {"-": "file", "d": "directory", "l": "symlink"}
    whole = lambda moment: moment.replace(microsecond=0)  # noqa: E731
    found = {
        "inode": one["inode"],
        "generation": one["generation"],
        "path": shown(one["path"]),
        "path_raw": one["path"] if shown(one["path"]).encode() != one["path"] else None,
        "size_bytes": one["size"],
        "uid": one["uid"],
        "gid": one["gid"],
    }
    by_flags = next((kinds[letter] for letter in one["flags"] if letter in kinds), None)
    by_mode = modes.get(one["mode"][0], "other")
    times = {f"{name}_time": one[name] for name in ("access", "modify", "create")}
    if style == "ncar":
        times = {name: whole(moment) for name, moment in times.items()}
        found |= {"mode": one["mode"], "nlink": one["nlink"], "flags": one["flags"]}
        found |= {"allocated_bytes": one["kib"] * 1024, "kind": by_flags or by_mode}
    elif style == "cdm":
        times = {**times, "change_time": times["create_time"], "create_time": None}
        found |= {"mode": one["mode"], "nlink": one["nlink"], "pool": one["pool"] or None}
        found |= {"fileset": "root", "kind": by_mode}
    else:
        found |= {"pool": one["pool"] or None, "flags": one["flags"] or None, "kind": by_flags}
        found |= {"allocated_bytes": one["kib"] * 1024}
        found |= {"heat": float(f"{one['heat']:+.14E}")}
    if style != "record":
        found["snapshot_id"] = 0
    return found | times


def shown(path: bytes) -> str:
    """A path as text: itself, or with bytes that are not UTF-8 written out."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return path.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")


# --- reading ---


def harvest(path: Path, **settings: Any) -> Collected:
    """All rows of a list, whose account must add up."""
    found = collect(GpfsSource(str(path), GpfsConfig(**settings)))
    assert found.units == found.accounted
    return found


def files(found: Collected) -> list[Row]:
    """The rows of a harvest."""
    return found.rows("gpfs.file")


def layout_of(data: bytes, **settings: Any) -> Layout:
    """The layout of a list."""
    layout = find_layout(data, GpfsConfig(**settings), where="list", name="list")
    assert layout is not None
    return layout


Read = tuple[pa.Table, list[tuple[int, str]], int]
"""Rows, rejects with their lines, and how many lines the columnar parser left to the reference."""


def by_reference(layout: Layout, lines: list[bytes]) -> Read:
    """Lines read by the reference parser alone."""
    rows, rejects = [], []
    for number, one in enumerate(lines, 1):
        try:
            rows.append((number, parse(layout, one)))
        except Damaged as error:
            rejects.append((number, str(error)))
    return table_of(layout, rows), rejects, len(lines)


def by_columns(layout: Layout, lines: list[bytes]) -> Read:
    """Lines read by the columnar parser, and its odd ones by the reference."""
    text = b"".join(one + b"\n" for one in lines)
    buffer = np.empty(len(text) + SLACK, np.uint8)
    table, odd, _ = parse_block(layout, text, buffer, 1)
    rows, rejects = [], []
    for number, start, stop in odd:
        try:
            rows.append((number, parse(layout, text[start:stop])))
        except Damaged as error:
            rejects.append((number, str(error)))
    return merged([table, *([table_of(layout, rows)] if rows else [])]), rejects, len(odd)
