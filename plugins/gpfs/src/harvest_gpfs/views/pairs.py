"""Comparison of two scans object by object: changes summed by the groups before and after.

Objects are compared by inode, generation and time of creation. Each pass takes a share of the
inodes, so that only this share of two scans is in memory. A pass leaves only sums: a row for each
pair of groups (owner, directory and so on) in which objects were before and are after, and for each
combination of other changes. All changes by owner or by directory are sums over these few rows.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from ..aggregation.groupings import GROUPINGS, NO_DIRECTORY, Setting
from ..aggregation.listing import BUDGET, passes_for
from ..aggregation.on_polars import PolarsRows, available_memory

_KEY: Final = ("inode", "generation", "create_time")
_TIMES: Final = {"modified": "modify_time", "accessed": "access_time"}
_SEEN: Final = ("modified", "accessed", "renamed")
"""Changes of an object that is in both scans."""

_CHANGES: Final = ("created", "deleted", *_SEEN, "moved_in", "moved_out")
SUMS: Final = (
    *(name for change in _CHANGES for name in (change, f"{change}_bytes")),
    *("old_inodes", "old_bytes", "new_inodes", "new_bytes", "grown_bytes", "unmeasured"),
)
"""Counts and sums for each group.

Sums of bytes include only objects whose size is known in each scan that has them, so that growth
adds up. Other objects are ``unmeasured``.
"""

_FLOWS: Final = ("objects", "measured", "old_bytes", "new_bytes")
"""Sums over the objects of a flow; bytes are of measured objects."""

LEAST_PAIRED_ROWS = 4_000_000
"""Minimum number of rows of both scans that are compared together."""

_BYTES_PER_ROW = 900


def flows(
    old: PolarsRows, new: PolarsRows, rows: int, keys: Sequence[str], setting: Setting
) -> pl.DataFrame:
    """Sum objects by their groups before (``uid``) and after (``uid_new``), and by their changes.

    rows: number of rows in both scans; keys: names of groupings.
    Columns ``was`` and ``is``: whether the objects are in the earlier and in the later scan.
    Other changes are null if a list lacks the values that would decide.
    """
    known = _known(old) & _known(new)
    identity = [name for name in _KEY if name == "inode" or name in known]
    # each pass reads all rows: with more memory, fewer passes are needed
    budget = max(BUDGET * 2, available_memory() // 8)
    shares = passes_for(rows, least=LEAST_PAIRED_ROWS, bytes_each=_BYTES_PER_ROW, budget=budget)
    found: list[pl.DataFrame] = []
    for share in range(shares):
        every = [_share(rows, share, shares, keys, setting) for rows in (old, new)]
        sides = [side.filter(NO_DIRECTORY) for side in every]
        if "kind" not in known:
            # an object that is a directory in one list is one in the other, too
            folders = pl.concat(every).filter(kind="directory").select(identity)
            sides = [s.join(folders, on=identity, how="anti", nulls_equal=True) for s in sides]
        found.append(_flows(sides, identity, keys, known))
        # merge immediately: with many directories, each pass leaves many rows
        sums = (pl.col(name).sum() for name in _FLOWS)
        found = [pl.concat(found).group_by(_flow_keys(keys)).agg(sums)]
    return found[0]


def summed(found: pl.DataFrame, by: Sequence[str], setting: Setting) -> pl.DataFrame:
    """Sum all changes for each group, sorted by group; the columns are ``SUMS``.

    found: result of ``flows``; by: some of its keys, or empty for one group of all objects.
    A sum that does not fit an int64 is null.
    """
    for name in by:  # two numbers with one label become one group
        label = GROUPINGS[name].label(setting)
        for column in (name, f"{name}_new"):
            named = found.select(pl.col(column).alias(name)).select(label.alias(column))
            found = found.with_columns(named.to_series())
    elsewhere = (pl.col(name).ne_missing(pl.col(f"{name}_new")) for name in by)
    moved = pl.any_horizontal(pl.lit(value=False), *elsewhere) & pl.col("was") & pl.col("is")
    values = ("was", "is", *_SEEN, *_FLOWS, moved.alias("moved"))
    earlier = found.filter("was").select(*by, *values, later=pl.lit(value=False))
    groups_now = (pl.col(f"{name}_new").alias(name) for name in by)
    later = found.filter("is").select(*groups_now, *values, later=pl.lit(value=True))
    both, sums = pl.concat([earlier, later]), _sums()
    total = both.group_by(by).agg(sums).sort(by, nulls_last=True) if by else both.select(sums)
    return total.select(*by, *(pl.col(name).cast(pl.Int64, strict=False) for name in SUMS))


def _sums() -> list[pl.Expr]:
    """Sum the flows of a group as it was and, where ``later``, as it is."""
    old, new = pl.col("old_bytes"), pl.col("new_bytes")
    now, before = pl.col("later"), ~pl.col("later")
    parts = {
        "created": (now & ~pl.col("was"), new),
        "deleted": (before & ~pl.col("is"), old),
        **{name: (now & pl.col(name), new) for name in _SEEN},
        # moved objects count with their earlier size; their growth is counted separately
        "moved_in": (now & pl.col("moved"), old),
        "moved_out": (before & pl.col("moved"), old),
        "old": (before, old),
        "new": (now, new),
        "grown": (now & pl.col("was"), new - old),
    }
    gone_or_here = now | ~pl.col("is")
    unmeasured = (pl.col("objects") - pl.col("measured")).filter(gone_or_here).sum()
    sums = [unmeasured.alias("unmeasured")]
    for name, (test, size) in parts.items():
        count, measured = (pl.col(n).filter(test).sum() for n in ("objects", "measured"))
        # null instead of 0 if the objects have no known values
        known = (count > 0) | (test.null_count() == 0)
        bytes_known = known & ((count == 0) | (measured > 0))
        sums += [
            pl.when(known).then(count).alias(name if name in _CHANGES else f"{name}_inodes"),
            pl.when(bytes_known).then(size.filter(test).sum()).alias(f"{name}_bytes"),
        ]
    return sums


def _known(rows: PolarsRows) -> frozenset[str]:
    """Return columns that some rows of a scan have, and times with fractions of seconds.

    Some lists have no generations, others only whole seconds. This is decided per list, not per
    row, since a single file's time may be a whole second by chance.
    """
    fraction = {
        name: pl.col(column).dt.epoch("us") % 1_000_000 != 0 for name, column in _TIMES.items()
    }
    query = rows.frame.select(
        pl.col("generation", "create_time", "kind").is_not_null().any(),
        *(test.any().alias(name) for name, test in fraction.items()),
    )
    found = query.collect(engine="streaming").row(0, named=True)
    return frozenset(name for name, value in found.items() if value)


def _share(
    rows: PolarsRows, share: int, shares: int, keys: Sequence[str], setting: Setting
) -> pl.DataFrame:
    frame = rows.frame.filter(pl.col("inode") % shares == share) if shares > 1 else rows.frame
    return frame.select(
        *("inode", "generation", "path", "kind"),
        pl.col("create_time").dt.epoch("s"),  # some lists have no fractions
        pl.when(pl.col("size_bytes") >= 0).then("size_bytes").alias("size"),
        *(pl.col(column).alias(name) for name, column in _TIMES.items()),
        *(GROUPINGS[name].key(setting).alias(name) for name in keys),
    ).collect(engine="streaming")


def _flow_keys(keys: Sequence[str]) -> list[str]:
    return ["was", "is", *_SEEN, *keys, *(f"{name}_new" for name in keys)]


def _flows(
    sides: list[pl.DataFrame], identity: Sequence[str], keys: Sequence[str], known: frozenset[str]
) -> pl.DataFrame:
    # sort only objects with several rows, to take the first path of each
    inodes = [s["inode"].sort() for s in sides]
    repeated = pl.concat([each.filter(each == each.shift(1)) for each in inodes])
    again = pl.col("inode").is_in(repeated.unique().implode())
    one, several = ([s.drop("kind").filter(test) for s in sides] for test in (~again, again))
    firsts = (s.sort(s.columns, nulls_last=True) for s in several)
    first = [s.unique(identity, keep="first", maintain_order=True) for s in firsts]
    found = _renamed(several, identity).lazy()
    parts = [
        _paired(one, identity).with_columns(renamed=pl.col("path") != pl.col("path_new")),
        _paired(first, identity).join(found, on=identity, how="left", nulls_equal=True),
    ]
    pairs = pl.concat(parts).with_columns(pl.col("was", "is").is_not_null())
    stayed = pl.col("was") & pl.col("is")
    measured = (~pl.col("was") | pl.col("size").is_not_null()) & (
        ~pl.col("is") | pl.col("size_new").is_not_null()
    )
    size, size_new = (
        pl.when(measured).then(pl.col(n)).fill_null(0).cast(pl.Int128) for n in ("size", "size_new")
    )
    seen = {
        "modified": stayed & (_differs("modified", known) | (pl.col("size") != pl.col("size_new"))),
        "accessed": stayed & _differs("accessed", known),
        "renamed": stayed & pl.col("renamed").fill_null(value=False),
    }
    sums = (
        pairs.with_columns(**seen)
        .group_by(_flow_keys(keys))
        .agg(
            pl.len().cast(pl.Int128).alias("objects"),
            measured.sum().cast(pl.Int128).alias("measured"),
            size.sum().alias("old_bytes"),
            size_new.sum().alias("new_bytes"),
        )
    )
    return sums.collect(engine="streaming")


def _paired(sides: Sequence[pl.DataFrame], identity: Sequence[str]) -> pl.LazyFrame:
    """Join objects as they were and as they are (``_new``); sides have one row per object."""
    old, new = (side.lazy() for side in sides)
    was, now = old.with_columns(was=True), new.with_columns(**{"is": True})
    return was.join(now, on=identity, how="full", coalesce=True, nulls_equal=True, suffix="_new")


def _renamed(sides: Sequence[pl.DataFrame], identity: Sequence[str]) -> pl.DataFrame:
    """Return objects that lost a path and got another one."""
    old, new = sides
    on = [*identity, "path"]
    gone = old.join(new, on=on, how="anti", nulls_equal=True).select(identity).unique()
    came = new.join(old, on=on, how="anti", nulls_equal=True).select(identity).unique()
    both = gone.join(came, on=identity, how="semi", nulls_equal=True)
    return both.with_columns(pl.lit(value=True).alias("renamed"))


def _differs(name: str, known: frozenset[str]) -> pl.Expr:
    """Test whether two times differ; null if a list lacks one.

    Compares whole seconds if one of the scans has only these.
    """
    unit = 1 if name in known else 1_000_000
    old, new = (pl.col(column).dt.epoch("us") // unit for column in (name, f"{name}_new"))
    return old != new
