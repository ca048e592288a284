"""Detection of a list's layout from its first lines and from settings.

Whether a list is percent-encoded is decided once per list, from its lines together. The clause
ESCAPE '%' of the policy language encodes SHOW and path in the same way. Each byte becomes ``%XX``,
except letters, digits, ``-_.~`` and those that the clause lists (``'%/'``: the slash). Without the
clause, a percent sign stays as it is. A single line may fit both, since ``a%20b`` and ``100%`` are
valid names, but all lines of a list follow one rule.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

import attrs

from harvest import SourceError

from ..config import GpfsConfig
from .counting import is_remark
from .layout import KNOWN, Escaping, Layout, Show, list_layout, record_layout
from .reference import Damaged, parse
from .show_clause import keyed, template

HEAD_BYTES: Final = 1 << 20
"""Bytes at the start of a list that are examined."""

LINES: Final = 200
"""Number of lines that a layout is tested on."""

ORDER: Final = "size|mtime|atime|ctime|uid|gid|mode|fileset|pool|nlink"
"""Values in listings with the header ``# cdm-policy-listing``, suggested if the header is lost."""

_LIST: Final = re.compile(rb"(<\d+> )?\d+ \d+ \d+( +)(?:-- |(.+?) -- )", re.DOTALL)
_RECORD: Final = re.compile(rb"(?:[0-9a-fA-F]+:){4}(?:[^:]*:){4}-?(\d{1,9})!")
_POOL: Final = re.compile(rb":-?(\d{1,9})!")
_SHOW: Final = re.compile(rb";-?\d{1,9}!")
_HEADER: Final = re.compile(rb"#\s*([\w-]+)\s*:\s*(.*?)\s*")
_DATE: Final = re.compile(r"(?<!\d)((?:19|20)\d\d)(-?)([01]\d)\2([0-3]\d)(?!\d)")


class _Seen(NamedTuple):
    """A line split into the parts around SHOW, SHOW itself, and the path as written."""

    record: bool
    prefixed: bool
    gap: bytes
    show: bytes | None
    path: bytes


def find_layout(
    head: bytes, config: GpfsConfig, *, where: str, name: str, escaping: Escaping | None = None
) -> Layout | None:
    """Find the layout of a list that starts with ``head``; None if ``head`` lists no file.

    name: name of the file, which may contain a date. escaping: known from an earlier call, if any.
    Raises SourceError, with ``where`` as the place, if the layout cannot be determined.
    """
    lines = _lines(head)
    header = _header(lines, where)
    listed = [line for line in lines if not is_remark(line)]
    if not listed:
        if len(head) >= HEAD_BYTES:
            raise _no_list(where, head)
        return None
    tried = listed[:LINES]
    if len(tried) > 1 and all(line.endswith(b"\r") for line in tried):
        raise SourceError(
            "lines end in CR LF, so the last byte of each path is in doubt",
            where=where,
            remedy="convert the list to plain line ends (dos2unix)",
        )
    seen = [found for found in map(_take_apart, tried) if found is not None]
    if not seen:
        raise _no_list(where, tried[0])
    escaping = escaping or find_escaping(head, config)
    layouts = _candidates(seen, config, header, escaping)
    if not layouts:
        raise SourceError(
            f"SHOW prints {_text(unquote_to_bytes(seen[0].show or b''))}, and neither keys nor a "
            f"'# fields:' header name its values; {_naming(tried, seen, escaping)}",
            where=where,
        )
    best = _best(layouts, tried, where, config)
    return attrs.evolve(
        best,
        scan_time=_scan_time(config, header, name, where),
        ends_with_trailer="cdm-policy-listing" in header,
    )


def _naming(lines: Sequence[bytes], seen: Sequence[_Seen], escaping: Escaping) -> str:
    """Advise how to name values without names; suggest the known order if it fits all lines."""
    for layout in _candidates(seen, GpfsConfig(show=ORDER), {}, escaping):
        with contextlib.suppress(Damaged):
            for line in lines:
                parse(layout, line)
            return f"if they stand in this order, which they fit, add --set gpfs.show='{ORDER}'"
    return "name them, as in --set gpfs.show='FILE_SIZE|USER_ID|...'"


def find_escaping(
    head: bytes, config: GpfsConfig, more: Callable[[], Iterable[bytes]] = tuple
) -> Escaping:
    """Determine whether a list that starts with ``head`` is percent-encoded.

    more: returns lines from elsewhere in the list, in case its first lines do not decide.
    """
    lines: Iterable[bytes] = _lines(head)
    shows: list[bytes] = []
    paths: list[bytes] = []
    rooted = False
    while True:
        for found in map(_take_apart, lines):
            if found is not None:
                shows += [found.show] if found.show else []
                paths.append(found.path)
                rooted = rooted or not found.record
        escaping = decide(shows, paths, config.escape, rooted=rooted)
        if escaping.sure or not (lines := list(more())):
            return escaping
        more = tuple


def _lines(head: bytes) -> list[bytes]:
    """Split the start of a list into whole lines; keep a single line without an end."""
    lines = head.split(b"\n")
    if len(lines) > 1 or len(head) >= HEAD_BYTES:
        lines.pop()  # truncated or empty
    return lines


def _no_list(where: str, line: bytes) -> SourceError:
    return SourceError(
        f"no policy list: {_text(line)} is neither INODE GENERATION SNAPSHOT SHOW -- PATH nor of "
        "the record format",
        where=where,
        remedy="check the location",
    )


def _text(raw: bytes) -> str:
    return repr(raw[:80].decode("utf-8", "backslashreplace"))


def _header(lines: Sequence[bytes], where: str) -> dict[str, str]:
    """Parse ``# key: value`` lines at the top; without a colon, the key is the first word."""
    header: dict[str, str] = {}
    for line in lines:
        if not is_remark(line):
            break
        if found := _HEADER.fullmatch(line):
            header.setdefault(found[1].decode().lower(), found[2].decode("utf-8", "replace"))
        elif line.startswith(b"#") and (words := line[1:].split()):
            header.setdefault(words[0].decode("utf-8", "replace"), "")
    if header.get("times", "utc").lower() not in ("utc", "gmt", "z"):
        raise SourceError(
            f"its header says that times are in {header['times']!r}",
            where=where,
            remedy="lists with times in UTC, as the policy engine writes them, can be read",
        )
    return header


def _take_apart(line: bytes) -> _Seen | None:
    if found := _LIST.match(line):
        return _Seen(False, found[1] is not None, found[2], found[3], line[found.end() :])
    if found := _RECORD.match(line):
        end = found.end() + int(found[1])
        path = line[found.end() : end]
        if pool := _POOL.match(line, end):
            end = pool.end() + int(pool[1])
            show = _SHOW.match(line, end)
            if show or end == len(line):
                return _Seen(True, False, b"", line[show.end() :] if show else None, path)
    return None


def _candidates(
    seen: Sequence[_Seen], config: GpfsConfig, header: dict[str, str], escaping: Escaping
) -> list[Layout]:
    pairs = (pair.partition("=") for pair in config.keys)
    keys = {key: KNOWN[name.lower()] for key, _, name in pairs}
    made = template(config.show) if config.show is not None else None
    if made is None and "fields" in header:
        with contextlib.suppress(ValueError):
            made = template(header["fields"])
    ways: Counter[tuple[bool, bool, bytes, Show | None, bytes]] = Counter()
    for record, prefixed, gap, show, _ in seen:
        if show is None:
            ways[record, prefixed, gap, None if record else (), b""] += 1
        elif made is not None:
            ways.update((record, prefixed, gap, *way) for way in made.written())
        elif (pair := keyed(show)) is not None:
            ways[record, prefixed, gap, *pair] += 1
    layouts = [
        record_layout(show, end, keys)
        if record
        else list_layout(show or (), end + b" ", keys, prefixed=prefixed, gap=gap)
        for (record, prefixed, gap, show, end), _ in ways.most_common(12)
    ]
    return [attrs.evolve(layout, escaping=escaping) for layout in layouts]


def _best(
    layouts: Sequence[Layout], lines: Sequence[bytes], where: str, config: GpfsConfig
) -> Layout:
    best, most, reason = layouts[0], 0, ""
    for layout in layouts:
        count = 0
        for line in lines:
            try:
                parse(layout, line)
                count += 1
            except Damaged as error:
                reason = reason or str(error)
        if count > most:
            best, most = layout, count
        if most * 2 > len(lines):
            break
    if most == 0:
        remedy = "name what SHOW prints by gpfs.show, or what keys mean by gpfs.keys"
        if config.show or config.keys or config.escape != "auto":
            remedy = "correct gpfs.show, gpfs.keys or gpfs.escape"
        raise SourceError(
            f"none of the first {len(lines)} lines can be read, the first one because: {reason}",
            where=where,
            remedy=remedy,
        )
    return best


def _scan_time(
    config: GpfsConfig, header: dict[str, str], name: str, where: str
) -> datetime | None:
    if config.scan_time is not None:
        return _utc(config.scan_time)
    if header.get("generated"):
        try:
            return _utc(datetime.fromisoformat(header["generated"]))
        except ValueError:
            raise SourceError(
                f"its header says 'generated: {header['generated']}', which is not a date and time",
                where=where,
                remedy="give the time of the scan by gpfs.scan_time",
            ) from None
    for found in _DATE.finditer(name):
        with contextlib.suppress(ValueError):
            return datetime(int(found[1]), int(found[3]), int(found[4]), tzinfo=UTC)
    return None


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def likeness(head: bytes) -> tuple[float, str] | None:
    """Return how likely a file is a policy list, and the reason; None if it is not."""
    if head.startswith(b"# cdm-policy-listing"):
        return 0.95, "header of a policy listing"
    listed = [line for line in _lines(head) if not is_remark(line)][:LINES]
    seen = [found for found in map(_take_apart, listed) if found is not None]
    if not listed or len(seen) * 10 < len(listed) * 9:
        return None
    try:
        layout = find_layout(head, GpfsConfig(), where="", name="")
    except SourceError as error:
        rooted = all(found.record or found.path.startswith((b"/", b"%2F")) for found in seen)
        return (0.4, f"lines of a policy list, but {error.message}") if rooted else None
    if layout is None:
        return None
    form = "record format" if layout.record else "policy list"
    shown = [step.name for step in layout.steps[3:]]
    return 0.95, f"{form} with {len(shown)} values" if shown else form


_ESCAPE: Final = re.compile(rb"%[0-9a-fA-F]{2}")
_RAW: Final = re.compile(rb"[^A-Za-z0-9_.~/%-]|%(?![0-9a-fA-F]{2})")
_SLASH: Final = re.compile(rb"%2[Ff]")
_ENCODED: Final = re.compile(rb"(?:[A-Za-z0-9_.~/-]|%[0-9A-F]{2})*")
_NEVER_ENCODED: Final = re.compile(rb"%(?:00|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])")


def decide(
    shows: Sequence[bytes], paths: Sequence[bytes], setting: str, *, rooted: bool
) -> Escaping:
    """Determine the escaping of a list from its SHOW texts and paths.

    setting: ``gpfs.escape``, which decides for paths unless it is ``auto``.
    rooted: paths start with a slash, encoded or not; in the record format they do not.
    SHOW decides if it contains an escape, or a byte that ESCAPE would encode. Paths decide if even
    their first slash is encoded. If SHOW has neither, like ``935``, paths decide, which may not be
    sure: no path proves that ``a%20b`` is not its literal name.
    """
    if setting == "none":
        return Escaping(show=False, path=False)
    show = _of_show(shows)
    if setting == "percent":
        return Escaping(show=show is not False, path=True)
    if rooted and sum(path.startswith((b"%2F", b"%2f")) for path in paths) * 2 > len(paths):
        return Escaping(show=show is not False, path=True)
    if show is not None:
        return Escaping(show=show, path=show)
    percent, sure = _of_paths(paths)
    return Escaping(show=percent, path=percent, sure=sure)


def _of_show(shows: Sequence[bytes]) -> bool | None:
    """Decide by majority of the SHOW texts that prove their encoding; None if undecided."""
    balance = 0
    for show in shows:
        if b" " not in show and b":" not in show and _ESCAPE.search(show):
            balance += 1
        elif _RAW.search(show):
            balance -= 1
    return balance > 0 if balance else None


def _of_paths(paths: Sequence[bytes]) -> tuple[bool, bool]:
    """Decide whether paths are percent-encoded; also return whether this is certain."""
    fitting = [path for path in paths if _fits(path)]
    with_escapes = any(b"%" in path for path in fitting)
    if len(fitting) < len(paths):
        return False, not with_escapes
    return with_escapes, False


def _fits(path: bytes) -> bool:
    """Check whether ESCAPE may have written a path: it always or never encodes a given byte."""
    if not _ENCODED.fullmatch(path) or _NEVER_ENCODED.search(path):
        return False
    return b"/" not in path or not _SLASH.search(path)
