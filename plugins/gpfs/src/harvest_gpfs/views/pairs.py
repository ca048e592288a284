"""Comparison of two scans object by object: changes summed by the groups before and after.

Objects are compared by inode and generation. Each pass takes a share of the inodes, so that only
this share of two scans is in memory. A pass leaves only sums: a row for each pair of groups (owner,
directory and so on) in which objects were before and are after. All changes by owner or by
directory are sums over these few rows.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from ..aggregation.groupings import GROUPINGS, NO_DIRECTORY, Setting
from ..aggregation.listing import BUDGET, passes_for
from ..aggregation.on_polars import PolarsRows, available_memory

_KEY: Final = ("inode", "generation")
_TIMES: Final = {"modified": "modify_time", "accessed": "access_time"}
_CHANGES: Final = ["created", "deleted", "modified", "accessed", "renamed", "moved_in", "moved_out"]
SUMS: Final = (
    *(name for change in _CHANGES for name in (change, f"{change}_bytes")),
    *("old_inodes", "old_bytes", "new_inodes", "new_bytes", "grown_bytes", "unmeasured"),
)
"""Counts and sums for each group.

Sums of bytes include only objects whose size is known in each scan that has them, so that growth
adds up. Other objects are ``unmeasured``.
"""

_SEEN: Final = ("modified", "accessed", "renamed")
_SEEN_SUMS: Final = tuple(
    f"{name}{part}" for name in _SEEN for part in ("", "_bytes", " measured", " unknown")
)
_FLOWS: Final = ("objects", "measured", "old_bytes", "new_bytes", *_SEEN_SUMS)
_MEASURED: Final = {
    **{f"{name}_bytes": name for name in _CHANGES},
    "old_bytes": "old_inodes",
    "new_bytes": "new_inodes",
    "grown_bytes": "stayed",
}
"""Sums of bytes, and the count of objects that belongs to each."""

_AIDS: Final = (
    *("stayed", *(f"{name} measured" for name in _MEASURED.values())),
    *(f"{name} unknown" for name in _SEEN),
)

LEAST_PAIRED_ROWS = 4_000_000
"""Minimum number of rows of both scans that are compared together."""

_BYTES_PER_ROW = 900


def flows(
    old: PolarsRows, new: PolarsRows, rows: int, keys: Sequence[str], setting: Setting
) -> pl.DataFrame:
    """Sum objects by their groups before (``uid``) and after (``uid_new``).

    rows: number of rows in both scans; keys: names of groupings.
    Columns ``was`` and ``is``: whether the objects are in the earlier and in the later scan.
    """
    known = _known(old) & _known(new)
    identity = _KEY if "generation" in known else _KEY[:1]
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
    found = _labelled(found, by, setting)
    keys = list(by) or [_TOGETHER]
    if not by:
        found = found.with_columns(pl.lit(0).alias(n) for n in (_TOGETHER, f"{_TOGETHER}_new"))
    columns = (*SUMS, *_AIDS)
    both = pl.concat([_old_side(found, keys), _new_side(found, keys)], how="diagonal")
    total = both.group_by(keys).agg(pl.col(name).sum() for name in columns)
    if not by and total.is_empty():
        total = pl.DataFrame({name: [0] for name in (_TOGETHER, *columns)})
    total = _only_known(total).sort(keys, nulls_last=True)
    return total.select(*by, *(pl.col(name).cast(pl.Int64, strict=False) for name in SUMS))


def _only_known(total: pl.DataFrame) -> pl.DataFrame:
    """Set sums to null instead of 0 if their objects have no known values."""
    bytes_known = {
        size: (pl.col(count) == 0) | (pl.col(f"{count} measured") > 0)
        for size, count in _MEASURED.items()
    }
    counts_known = {name: (pl.col(name) > 0) | (pl.col(f"{name} unknown") == 0) for name in _SEEN}
    for name, known in counts_known.items():
        bytes_known[f"{name}_bytes"] &= known
    every = {**bytes_known, **counts_known}
    return total.with_columns(pl.when(known).then(n).alias(n) for n, known in every.items())


_TOGETHER = "all objects"


def _labelled(found: pl.DataFrame, by: Sequence[str], setting: Setting) -> pl.DataFrame:
    """Replace keys of groups by their labels; two numbers with one label become one group."""
    for name in by:
        label = GROUPINGS[name].label(setting)
        for column in (name, f"{name}_new"):
            named = found.select(pl.col(column).alias(name)).select(label.alias(column))
            found = found.with_columns(named.to_series())
    return found


def _moved(keys: Sequence[str]) -> pl.Expr:
    elsewhere = [pl.col(name).ne_missing(pl.col(f"{name}_new")) for name in keys]
    return pl.col("was") & pl.col("is") & pl.any_horizontal(elsewhere)


_EVERY: Final = pl.lit(value=True)


def _sums(size: str, test: pl.Expr, value: pl.Expr) -> list[pl.Expr]:
    """Sum bytes of the objects that pass a test; count these objects, and the measured ones.

    size: name of the sum; value: expression to sum.
    """
    count = _MEASURED[size]
    return [
        value.filter(test).sum().alias(size),
        pl.col("objects").filter(test).sum().alias(count),
        pl.col("measured").filter(test).sum().alias(f"{count} measured"),
    ]


def _unmeasured(test: pl.Expr) -> pl.Expr:
    return (pl.col("objects") - pl.col("measured")).filter(test).sum().alias("unmeasured")


def _old_side(found: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    gone, size = ~pl.col("is"), pl.col("old_bytes")
    grouped = found.filter("was").group_by(keys)
    return grouped.agg(
        *_sums("deleted_bytes", gone, size),
        *_sums("moved_out_bytes", _moved(keys), size),
        *_sums("old_bytes", _EVERY, size),
        _unmeasured(gone),
    )


def _new_side(found: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    stayed, size, was_size = pl.col("was"), pl.col("new_bytes"), pl.col("old_bytes")
    grouped = found.filter("is").group_by(pl.col(f"{name}_new").alias(name) for name in keys)
    return grouped.agg(
        *_sums("created_bytes", ~stayed, size),
        *(pl.col(name).sum() for name in _SEEN_SUMS),
        # moved objects count with their earlier size; their growth is counted separately
        *_sums("moved_in_bytes", _moved(keys), was_size),
        *_sums("new_bytes", _EVERY, size),
        *_sums("grown_bytes", stayed, size - was_size),
        _unmeasured(_EVERY),
    )


def _known(rows: PolarsRows) -> frozenset[str]:
    """Return what some rows of a scan have: ``generation``, ``kind``, or fractions of seconds.

    Some lists have no generations, others only whole seconds. This is decided per list, not per
    row, since a single file's time may be a whole second by chance.
    """
    fraction = {
        name: pl.col(column).dt.epoch("us") % 1_000_000 != 0 for name, column in _TIMES.items()
    }
    query = rows.frame.select(
        pl.col("generation", "kind").is_not_null().any(),
        *(test.any().alias(name) for name, test in fraction.items()),
    )
    found = query.collect(engine="streaming").row(0, named=True)
    return frozenset(name for name, value in found.items() if value)


def _share(
    rows: PolarsRows, share: int, shares: int, keys: Sequence[str], setting: Setting
) -> pl.DataFrame:
    frame = rows.frame.filter(pl.col("inode") % shares == share) if shares > 1 else rows.frame
    return frame.select(
        *(*_KEY, "path", "kind"),
        pl.when(pl.col("size_bytes") >= 0).then("size_bytes").alias("size"),
        *(pl.col(column).alias(name) for name, column in _TIMES.items()),
        *(GROUPINGS[name].key(setting).alias(name) for name in keys),
    ).collect(engine="streaming")


def _flow_keys(keys: Sequence[str]) -> list[str]:
    return ["was", "is", *keys, *(f"{name}_new" for name in keys)]


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
    sums = pairs.group_by(_flow_keys(keys)).agg(
        pl.len().cast(pl.Int128).alias("objects"),
        measured.sum().cast(pl.Int128).alias("measured"),
        size.sum().alias("old_bytes"),
        size_new.sum().alias("new_bytes"),
        *(
            value.sum().cast(pl.Int128).alias(f"{name}{part}")
            for name, test in seen.items()
            for part, value in (
                ("", test),
                ("_bytes", pl.when(test).then(size_new)),
                (" measured", test & measured),
                (" unknown", test.is_null()),
            )
        ),
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
