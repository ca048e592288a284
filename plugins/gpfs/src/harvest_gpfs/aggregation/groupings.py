"""What results can be grouped by.

A grouping is an expression over the columns of a row, the same for every backend.  What is costly
per row and cheap per group (a name for a number, the root before a directory) is done to groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import attrs
import polars as pl

from harvest import UsageError

from .bins import AgeBins, SizeBins

__all__ = ["DIRECTORY", "GROUPINGS", "Grouping", "Setting", "groupings_of", "inside"]


@attrs.frozen
class Setting:
    """What groupings refer to; picklable.

    root: the directory that top-level directories are counted from, with a slash at its end.
    top_depth, depth: components of ``top``, and of ``directory`` at most.
    now: what ages are counted from; None where no grouping needs it.
    cold_days: not accessed and not modified for so many days is cold.
    future_days: accessed or modified more than so many days after ``now`` is in the future: a
        scan takes a while, and clocks differ.
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
        """What ages are counted from."""
        assert self.now is not None
        return self.now


@attrs.frozen
class Grouping:
    """A column that results are grouped by.

    columns: of the record type, that it is computed from.
    key: of each row; groups are sorted by it.
    label: of each group, from its key ``pl.col(name)``.  Groups with one label become one where
        ``merges``.
    needs: ``root`` or ``now``, where it refers to that.
    """

    name: str
    doc: str
    columns: tuple[str, ...]
    key: Callable[[Setting], pl.Expr]
    label: Callable[[Setting], pl.Expr]
    merges: bool = False
    needs: str = ""


DIRECTORY: Final = "directory"


def inside(setting: Setting) -> pl.Expr:
    """Whether a path lies below the root, or is the root itself."""
    path = pl.col("path")
    if setting.root in ("", "/"):
        return path.str.starts_with(setting.root)
    return path.str.starts_with(setting.root) | (path == setting.root[:-1])


def _below(setting: Setting, depth: int) -> pl.Expr:
    """The first directories below the root, ``a/b``; empty for the root, null outside of it."""
    below = pl.col("path").str.strip_prefix(setting.root).str.splitn("/", depth + 1)
    fields = [below.struct.field(f"field_{number}") for number in range(depth + 1)]
    is_directory = pl.col("kind").eq_missing(pl.lit("directory"))
    names = [
        # a name is a directory's when something follows it
        pl.when(after.is_not_null() | is_directory).then(name)
        for name, after in pairwise(fields)
    ]
    # the root's own path, which does not begin with the root and its slash, begins with a slash
    joined = names[0].fill_null("") if depth == 1 else _joined(names, fields[0])
    return joined if setting.covered else pl.when(inside(setting)).then(joined)


def _joined(names: Sequence[pl.Expr], first: pl.Expr) -> pl.Expr:
    below = pl.concat_str(names, separator="/", ignore_nulls=True)
    return pl.when(first == "").then(pl.lit("")).otherwise(below)


def _absolute(name: str) -> Callable[[Setting], pl.Expr]:
    def label(setting: Setting) -> pl.Expr:
        below = pl.col(name)
        root = setting.root.rstrip("/") or setting.root or "."
        return pl.when(below == "").then(pl.lit(root)).otherwise(pl.lit(setting.root) + below)

    return label


def _named(names: Callable[[Setting], dict[int, str]], column: str) -> Callable[[Setting], pl.Expr]:
    """The name of a number, or the number as text where there is none."""

    def label(setting: Setting) -> pl.Expr:
        number = pl.col(column)
        known = names(setting)
        if not known:
            return number.cast(pl.String)
        given = number.replace_strict(
            list(known), list(known.values()), default=None, return_dtype=pl.String
        )
        return pl.coalesce(given, number.cast(pl.String))

    return label


def _bin_label(name: str, labels: Callable[[Setting], list[str]]) -> Callable[[Setting], pl.Expr]:
    def label(setting: Setting) -> pl.Expr:
        texts = labels(setting)
        return pl.col(name).replace_strict(
            list(range(len(texts))), texts, default=None, return_dtype=pl.String
        )

    return label


def _column(name: str, doc: str) -> Grouping:
    return Grouping(name, doc, (name,), lambda _: pl.col(name), _itself(name))


def _itself(name: str) -> Callable[[Setting], pl.Expr]:
    return lambda _: pl.col(name)


def _age(name: str, doc: str, column: str) -> Grouping:
    return Grouping(
        name,
        doc,
        (column,),
        lambda setting: setting.ages.number(pl.col(column), setting.moment()),
        _bin_label(name, lambda setting: setting.ages.labels),
        needs="now",
    )


def _cold(setting: Setting) -> pl.Expr:
    limit = setting.moment() - timedelta(days=setting.cold_days)
    # one late time settles it; a time that is not known may be late
    return (pl.col("access_time") < limit) & (pl.col("modify_time") < limit)


def _future(setting: Setting) -> pl.Expr:
    limit = setting.moment() + timedelta(days=setting.future_days)
    return (pl.col("access_time") > limit) | (pl.col("modify_time") > limit)


_EXTENSION = r"[^/]\.([A-Za-z0-9_+~-]{1,16})$"
"""What follows the last dot of a name, unless the name begins with it; odder ones are none."""


def _extension(_: Setting) -> pl.Expr:
    suffix = pl.col("path").str.extract(_EXTENSION, 1).str.to_lowercase()
    return pl.when(pl.col("kind").ne_missing(pl.lit("directory"))).then(suffix)


_ALL = (
    _column("uid", "Owner's number."),
    _column("gid", "Group's number."),
    Grouping(
        "user",
        "Owner's name by the passwd file given; the number where it has none.",
        ("uid",),
        lambda _: pl.col("uid"),
        _named(lambda setting: setting.user_names, "user"),
        merges=True,
    ),
    Grouping(
        "group",
        "Group's name by the group file given; the number where it has none.",
        ("gid",),
        lambda _: pl.col("gid"),
        _named(lambda setting: setting.group_names, "group"),
        merges=True,
    ),
    Grouping(
        "top",
        "Top-level directory: the first directories below the root, one unless top_depth says "
        "more; the root itself for what lies directly in it, null outside of it.",
        ("path", "kind"),
        lambda setting: _below(setting, setting.top_depth),
        _absolute("top"),
        needs="root",
    ),
    Grouping(
        DIRECTORY,
        "Each directory from the root down to depth, with all that lies below it; null outside of "
        "the root.",
        ("path", "kind"),
        lambda setting: _below(setting, setting.depth) if setting.depth else _at_root(setting),
        _absolute(DIRECTORY),
        needs="root",
    ),
    _column("fileset", "Fileset; null where the list does not show it."),
    _column("pool", "Storage pool."),
    _column("kind", "file, directory, symlink or other; null where nothing says."),
    Grouping(
        "extension",
        "Last suffix of the name, in lower case; null without one and for directories.",
        ("path", "kind"),
        _extension,
        _itself("extension"),
    ),
    Grouping(
        "size_bin",
        "Class of logical size; null where it is not known.",
        ("size_bytes",),
        lambda setting: setting.sizes.number(pl.col("size_bytes")),
        _bin_label("size_bin", lambda setting: setting.sizes.labels),
    ),
    _age(
        "access_age",
        "Class of time since the last access; null where it is not known.",
        "access_time",
    ),
    _age(
        "modify_age",
        "Class of time since the last modification; null where it is not known.",
        "modify_time",
    ),
    Grouping(
        "cold",
        "Whether neither access nor modification came within cold_days, 365 unless said otherwise; "
        "null where a time that is not known could be later.",
        ("access_time", "modify_time"),
        _cold,
        _itself("cold"),
        needs="now",
    ),
    Grouping(
        "future",
        "Whether access or modification came more than future_days, one unless said otherwise, "
        "after the time that ages are counted from; null where a time that is not known could be.",
        ("access_time", "modify_time"),
        _future,
        _itself("future"),
        needs="now",
    ),
    Grouping(
        "small",
        "Whether the logical size is below small_below, 64 KiB unless said otherwise; null where "
        "it is not known.",
        ("size_bytes",),
        lambda setting: pl.col("size_bytes") < setting.small_below,
        _itself("small"),
    ),
)


def _at_root(setting: Setting) -> pl.Expr:
    return pl.when(inside(setting)).then(pl.lit(""))


GROUPINGS: Final = {grouping.name: grouping for grouping in _ALL}
"""All groupings by name."""


def groupings_of(names: str | Sequence[str]) -> tuple[Grouping, ...]:
    """Groupings by name, from a list or a text with commas; none for one group of all.

    Raises UsageError for an unknown one.
    """
    listed = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    listed = [name for name in dict.fromkeys(listed) if name]
    for name in listed:
        if name not in GROUPINGS:
            raise UsageError(f"no grouping {name!r}", remedy="there are " + ", ".join(GROUPINGS))
    return tuple(GROUPINGS[name] for name in listed)
