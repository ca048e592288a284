"""Policy lists for tests, and what is in them, read line by line in plain Python."""

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import harvest

NOW = datetime(2026, 1, 11, tzinfo=UTC)
DAY = timedelta(days=1)
_MARKS = {b"\\\\": b"\\", b"\\n": b"\n"}

Row = dict[str, Any]


def row(path: bytes, inode: int, **more: Any) -> Row:
    """A file of user 7, two years old, unless said otherwise."""
    plain = {"inode": inode, "generation": 5, "size": 4096, "kib": 16, "uid": 7, "kind": "F"}
    old = {"access": NOW - 730 * DAY, "modify": NOW - 730 * DAY}
    mode = {"F": "-", "D": "d", "L": "l"}[more.get("kind", "F")] + "rw-r--r--"
    return {"path": path, **plain, **old, "mode": mode, "nlink": 1, **more}


def write(path: Path, rows: Iterable[Row]) -> Path:
    """A list with one-letter keys, without ESCAPE."""
    lines = []
    for r in rows:
        keys = {"s": "size", "a": "kib", "u": "uid", "p": "mode", "nl": "nlink"}
        show = [f"{key}={r[name]}" for key, name in keys.items() if r[name] is not None]
        times = {"ac": "access", "mt": "modify"}
        show += [f"{key}={r[n]:%Y-%m-%d %H:%M:%S}" for key, n in times.items() if r[n]]
        raw = r["path"].replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
        head = f"<0> {r['inode']} {r['generation']} 0 {' '.join(show)} g=100 m={r['kind']}Au -- "
        lines.append(head.encode() + raw + b"\n")
    path.write_bytes(b"".join(lines))
    return path


def harvested(path: Path, rows: Iterable[Row]) -> harvest.Dataset:
    """A dataset beside a list of these rows."""
    harvest.run(f"gpfs:{write(path, rows)}", f"parquet:{path.parent / 'out'}")
    return harvest.open(path.parent / "out")


_PERCENT = re.compile(rb"(\d+) (\d+) 0  (\S+) -- (\S+)")
_KEYS = re.compile(rb"<0> (\d+) (\d+) 0 (.*?) -- (.*)", re.DOTALL)


def read(path: Path) -> list[Row]:
    """The rows of a list with one-letter keys, or with ESCAPE '%' and long keys."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        if match := _KEYS.fullmatch(line):
            show = re.sub(r"(\d) (\d\d:)", r"\1T\2", match[3].decode())
            said = dict(part.split("=", 1) for part in show.split())
            raw = re.sub(rb"\\[\\n]", lambda m: _MARKS[m[0]], match[4])
            keys = ("s", "u", "m", "ac", "mt")
        elif match := _PERCENT.fullmatch(line):
            show = unquote_to_bytes(match[3]).decode()
            said = dict(part.split("=", 1) for part in show.strip("|").split("|"))
            raw, keys = unquote_to_bytes(match[4]), ("size", "uid", "misc", "access", "modify")
        else:
            assert not line or line.startswith((b"[I]", b"#")), line
            continue
        size, uid, misc, access, modify = (said.get(key) for key in keys)
        times = [t and datetime.fromisoformat(t).replace(tzinfo=UTC) for t in (access, modify)]
        links = said.get("nl")
        found.append({
            "inode": int(match[1]), "generation": int(match[2]), "path": raw, "size": int(size),
            "uid": int(uid), "kind": misc[0], "access": times[0], "modify": times[1],
            "mode": said.get("p", ""), "nlink": None if links is None else int(links),
        })  # fmt: skip
    return found


def fits(path: bytes, pattern: str) -> bool:
    """Whether a pattern of a whole path, or of names anywhere in it, fits."""
    text = "".join({"*": ".*", "?": "."}.get(c) or re.escape(c) for c in pattern)
    start = "" if pattern.startswith("/") else "(?:.*/)?"
    shown = path.decode("utf-8", "replace")
    return re.fullmatch(f"{start}{text}(?:/.*)?", shown, re.DOTALL) is not None


def candidates(
    rows: Iterable[Row],
    *,
    age: int,
    now: datetime = NOW,
    above: int = 0,
    under: tuple[str, ...] = (),
    exclude: tuple[str, ...] = (),
    uids: tuple[int, ...] = (),
) -> list[list[Row]]:
    """The objects that could go, each as the rows of its paths, by a loop over the rows."""
    objects: dict[Any, list[Row]] = defaultdict(list)
    for r in rows:
        if r["kind"] == "F":
            objects[r["inode"], r["generation"]].append(r)
    limit, found = now - age * DAY, []
    for paths in objects.values():
        one = paths[0]
        old = all(one[name] is not None and one[name] < limit for name in ("access", "modify"))
        place = all(
            any(r["path"].startswith(f"{d}/".encode()) for d in under or ("",))
            and not any(fits(r["path"], pattern) for pattern in exclude)
            for r in paths
        )
        whole = one["nlink"] is None or one["nlink"] <= len(paths)
        if old and place and whole and one["size"] >= above and (not uids or one["uid"] in uids):
            found.append(sorted(paths, key=lambda r: r["path"]))
    return found
