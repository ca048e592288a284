"""Groupings of results.

A grouping is an expression over the columns of a row, the same for every backend. Operations that
are costly per row and cheap per group (a name for a number, the root before a directory) are
applied to groups. The names of users and groups come from files, never from this machine's user
database, since a scan may be of another cluster.

Classes of size and age have fixed limits, so that histograms are exact: parts add up.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import attrs
import polars as pl

from harvest import UsageError

from ..measures import AGES, DIRECTORY, SIZES

_UNITS: Final = ("", *"KMGTPE")
_SIZE: Final = re.compile(r"(\d{1,19})\s*([KMGTPE]?)(?:i?B)?", re.IGNORECASE)
_AGE: Final = re.compile(r"(\d{1,6})\s*([dwy]?)", re.IGNORECASE)
NUMBER: Final = re.compile(r"-?\d{1,18}", re.ASCII)
"""Number of a user or group."""
_DAYS: Final = {"": 1, "d": 1, "w": 7, "y": 365}


def parse_size(text: str | int) -> int:
    """Parse a size such as ``4096``, ``4K``, ``1MiB`` to bytes; units are powers of 1,024, up to E.

    >>> parse_size("64K")
    65536

    Raises UsageError for any other text, or if the size does not fit an int64.
    """
    found = _SIZE.fullmatch(str(text).strip())
    if found:
        number = int(found[1]) << 10 * _UNITS.index(found[2].upper())
        if number < 2**63:
            return number
    raise UsageError(f"{text!r} is not a size", remedy="write bytes, or 64K, 1M, 4G, 1T")


def parse_age(text: str | int) -> int:
    """Parse an age such as ``30d``, ``8w``, ``2y`` or ``30`` to days; a year is 365 days.

    >>> parse_age("2y")
    730

    Raises UsageError for any other text.
    """
    found = _AGE.fullmatch(str(text).strip())
    if found:
        days = int(found[1]) * _DAYS[found[2].lower()]
        if days < 200_000:
            return days
    raise UsageError(f"{text!r} is not an age", remedy="write 30d, 8w or 2y")


def _size_text(number: int) -> str:
    """Format bytes in the largest unit that divides them: ``64 KiB``, ``1,000 B``."""
    power = 0
    while power < len(_UNITS) - 1 and number and number % 1024 == 0:
        number //= 1024
        power += 1
    return f"{number:,} {_UNITS[power]}{'iB' if power else 'B'}"


def _age_text(days: int) -> str:
    number, unit = (days, "day") if days % 365 else (days // 365, "year")
    return f"{number} {unit}{'s' if number > 1 else ''}"


@attrs.frozen
class Bins:
    """Classes of values: one before all others, one up to each edge, one above the last edge.

    edges: upper limits; an edge belongs to the class below it.
    usual: default edges, as text.  read, write: functions that parse and format an edge.
    first: name of the first class, and its lower limit.
    """

    edges: tuple[int, ...]

    usual: ClassVar[str]
    what: ClassVar[str]
    read: ClassVar[Any]
    write: ClassVar[Any]
    first: ClassVar[tuple[str, int | None]]

    @classmethod
    def parse(cls, text: str | None = None) -> Self:
        """Parse edges separated by commas; raises UsageError for invalid ones."""
        text = cls.usual if text is None else text
        edges = tuple(map(cls.read, text.split(",")))
        if len(edges) > 100 or edges[0] < 1 or list(edges) != sorted(set(edges)):
            remedy = "give up to 100 rising upper ends above 0, separated by commas"
            raise UsageError(f"{text!r} are not classes of {cls.what}", remedy=remedy)
        return cls(edges)

    @property
    def labels(self) -> list[str]:
        texts = [self.write(edge) for edge in self.edges]
        inner = [f"{low} to {high}" for low, high in pairwise(texts)]
        return [self.first[0], f"up to {texts[0]}", *inner, f"above {texts[-1]}"]

    @property
    def bounds(self) -> list[tuple[int | None, int | None]]:
        """Lower and upper limit of each class, by class number."""
        return [(self.first[1], 0), *zip((0, *self.edges), (*self.edges, None), strict=False)]


class SizeBins(Bins):
    """Classes of size in bytes, the first for empty objects."""

    usual, what, read, write = SIZES, "size", staticmethod(parse_size), staticmethod(_size_text)
    first = ("empty", 0)

    def number(self, size: pl.Expr) -> pl.Expr:
        """Return the class number (Int8) of a size; null for a null size."""
        return reduce(operator.add, ((size > edge).cast(pl.Int8) for edge in (0, *self.edges)))


class AgeBins(Bins):
    """Classes of age in days of 24 hours before a given time, the first for later times."""

    usual, what, read, write = AGES, "age", staticmethod(parse_age), staticmethod(_age_text)
    first = ("in the future", None)

    def number(self, time: pl.Expr, now: datetime) -> pl.Expr:
        """Return the class number (Int8) of a time relative to ``now``; null for a null time."""
        moments = (now - timedelta(days=days) for days in self.edges)
        not_after = (time <= now, *(time < moment for moment in moments))
        return reduce(operator.add, (test.cast(pl.Int8) for test in not_after))


@attrs.frozen
class Setting:
    """Settings of groupings; picklable.

    root: directory that contains the top-level directories, with a slash at its end.
    covered: whether all paths are below root.
    top_depth, depth: number of directories in ``top``; maximum number in ``directory``.
    now: time that ages count from; None if no grouping needs it.
    cold_days: an object is cold if it was not accessed or modified for this many days.
    future_days: a time is in the future if it is more than this many days after ``now``: a scan
        takes a while, and clocks differ.
    small_below: bytes below which a file is small.
    """

    root: str = "/"
    covered: bool = False
    top_depth: int = 1
    depth: int = 2
    sizes: SizeBins = attrs.field(factory=SizeBins.parse)
    ages: AgeBins = attrs.field(factory=AgeBins.parse)
    now: datetime | None = None
    cold_days: int = 365
    future_days: int = 1
    small_below: int = 64 * 1024
    user_names: dict[int, str] = attrs.field(factory=dict)
    group_names: dict[int, str] = attrs.field(factory=dict)

    def moment(self) -> datetime:
        assert self.now is not None
        return self.now


Given = Callable[[Setting], pl.Expr]


@attrs.frozen
class Grouping:
    """A column that results are grouped by; ``measures`` has its description.

    columns: columns of the record type from which the key is computed.
    key: expression per row; default: the first column. Groups are sorted by it.
    label: expression per group from its key ``pl.col(name)``; default: the key itself. If
        ``merges``, groups with equal labels are merged.
    needs: ``root`` or ``now`` if the key depends on it.
    """

    name: str
    columns: tuple[str, ...]
    key: Given = attrs.Factory(lambda self: _itself(self.columns[0]), takes_self=True)
    label: Given = attrs.Factory(lambda self: _itself(self.name), takes_self=True)
    merges: bool = False
    needs: str = ""


def _itself(name: str) -> Given:
    return lambda _: pl.col(name)


def _below(setting: Setting, depth: int) -> pl.Expr:
    """Return the first directories below the root, ``a/b``; empty for the root, null outside it."""
    path, root = pl.col("path"), setting.root
    inside = path.str.starts_with(root)
    if root not in ("", "/"):
        inside |= path == root[:-1]
    if not depth:
        return pl.when(inside).then(pl.lit(""))
    is_directory = pl.col("kind").eq_missing(pl.lit("directory"))
    below = path.str.strip_prefix(root)
    # a name is a directory if something follows it
    below = pl.when(is_directory).then(below + "/").otherwise(below)
    # the root's own path lacks the root's final slash, so it still starts with a slash
    # a path has at most 4,096 bytes, so it has fewer names than this limit
    further = rf"(?:/[^/]*){{0,{min(depth, 5_000) - 1}}}" if depth > 1 else ""
    joined = below.str.extract(rf"^([^/]+{further})/").fill_null("")
    return joined if setting.covered else pl.when(inside).then(joined)


def text_of(number: str, texts: dict[int, str]) -> pl.Expr:
    """Replace each number in a column by its text; null if it has none."""
    return pl.col(number).replace_strict(
        list(texts), list(texts.values()), default=None, return_dtype=pl.String
    )


def _people(name: str, number: str, names: Callable[[Setting], dict[int, str]]) -> Grouping:
    """Define a grouping by the name of a number, or by the number as text if it has no name."""

    def label(setting: Setting) -> pl.Expr:
        return pl.coalesce(text_of(name, names(setting)), pl.col(name).cast(pl.String))

    return Grouping(name, (number,), label=label, merges=True)


def _age(name: str, column: str) -> Grouping:
    return Grouping(
        name,
        (column,),
        lambda setting: setting.ages.number(pl.col(column), setting.moment()),
        lambda setting: text_of(name, dict(enumerate(setting.ages.labels))),
        needs="now",
    )


def _place(name: str, depth: Callable[[Setting], int]) -> Grouping:
    def label(setting: Setting) -> pl.Expr:
        below = pl.col(name)
        root = setting.root.rstrip("/") or setting.root or "."
        return pl.when(below == "").then(pl.lit(root)).otherwise(pl.lit(setting.root) + below)

    def key(setting: Setting) -> pl.Expr:
        return _below(setting, depth(setting))

    return Grouping(name, ("path", "kind"), key, label, needs="root")


_TIMES: Final = ("access_time", "modify_time")


def _cold(setting: Setting) -> pl.Expr:
    limit = setting.moment() - timedelta(days=setting.cold_days)
    # one later time decides; an unknown time may be later
    return (pl.col("access_time") < limit) & (pl.col("modify_time") < limit)


def _future(setting: Setting) -> pl.Expr:
    limit = setting.moment() + timedelta(days=setting.future_days)
    return (pl.col("access_time") > limit) | (pl.col("modify_time") > limit)


NO_DIRECTORY: Final = pl.col("kind").ne_missing(pl.lit("directory"))
"""Test whether a row is of another kind than directory, or of unknown kind."""


def known_size(name: str) -> pl.Expr:
    """Return a size; null if negative, which is impossible."""
    return pl.when(pl.col(name) >= 0).then(pl.col(name))


_EXTENSION = r"[^/]\.([A-Za-z0-9_+~-]{1,16})$"
"""The text after the last dot of a name, unless the name starts with the dot; others have none."""


def _extension(_: Setting) -> pl.Expr:
    suffix = pl.col("path").str.extract(_EXTENSION, 1).str.to_lowercase()
    return pl.when(NO_DIRECTORY).then(suffix)


_ALL = (
    Grouping("uid", ("uid",)),
    Grouping("gid", ("gid",)),
    _people("user", "uid", lambda setting: setting.user_names),
    _people("group", "gid", lambda setting: setting.group_names),
    _place("top", lambda setting: setting.top_depth),
    _place(DIRECTORY, lambda setting: setting.depth),
    Grouping("fileset", ("fileset",)),
    Grouping("pool", ("pool",)),
    Grouping("kind", ("kind",)),
    Grouping("extension", ("path", "kind"), _extension),
    Grouping(
        "size_bin",
        ("size_bytes",),
        lambda setting: setting.sizes.number(known_size("size_bytes")),
        lambda setting: text_of("size_bin", dict(enumerate(setting.sizes.labels))),
    ),
    _age("access_age", "access_time"),
    _age("modify_age", "modify_time"),
    Grouping("cold", _TIMES, _cold, needs="now"),
    Grouping("future", _TIMES, _future, needs="now"),
    Grouping(
        "small", ("size_bytes",), lambda setting: known_size("size_bytes") < setting.small_below
    ),
)

GROUPINGS: Final = {grouping.name: grouping for grouping in _ALL}


def names_among(names: str | Sequence[str], known: Iterable[str], what: str) -> tuple[str, ...]:
    """Parse distinct names from a list or a comma list; raises UsageError for unknown ones."""
    listed = [n.strip() for n in names.split(",")] if isinstance(names, str) else names
    found = tuple(name for name in dict.fromkeys(listed) if name)
    for name in found:
        if name not in known:
            raise UsageError(f"no {what} {name!r}", remedy="use " + ", ".join(known))
    return found


def read_names(path: str | Path | None, kind: str) -> dict[int, str]:
    """Read names by number from a file of lines ``name:x:number:...``; empty without a file.

    kind: ``passwd`` or ``group``; both have the number in the third field.
    Blank lines, comments and NIS entries (``+``, ``-``) are ignored. If a number has several names,
    the first one counts, as in the system.

    Raises UsageError with the line number for an invalid line, or if the file cannot be read.
    """
    if path is None:
        return {}
    try:
        text = Path(path).expanduser().read_bytes().decode("utf-8-sig", "backslashreplace")
    except OSError as error:
        raise UsageError(
            f"the {kind} file cannot be read: {error.strerror}",
            where=str(path),
            remedy=f"name a file made with `getent {kind}`",
        ) from error
    names: dict[int, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not line.strip() or line.startswith(("#", "+", "-")):
            continue
        fields = line.split(":")
        if len(fields) < 3 or not fields[0] or not NUMBER.fullmatch(fields[2]):
            said, where = f"{line[:80]!r} is not a line of a {kind} file", f"{path}, line {number}"
            raise UsageError(said, where=where, remedy="a line is name:x:number:...")
        names.setdefault(int(fields[2]), fields[0])
    return names
