"""The view ``gpfs.odd_names``: paths that scripts stumble over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError

from ..common import frame_of, listing

__all__ = ["odd_names"]

_PATH, _UNDECODABLE = pl.col("path"), pl.col("path_raw").is_not_null()
_PATTERNS: Final = {
    "control character": r"[\x00-\x1f\x7f\u{80}-\u{9f}]",
    "invisible or bidirectional character": r"[\u{ad}\u{200b}-\u{200f}\u{2028}-\u{202e}"
    r"\u{2060}-\u{2069}\u{feff}]",
    "blank at an end": r"(^|/) |\s$|\s/",
    "begins with a dash": r"(^|/)-",
    "quote": r"""['"`]""",
    "shell character": r"[*?\[\]{}$&|;<>!()#~]",
    "percent code": r"%[0-9A-Fa-f]{2}",
}
_ODDITIES: Final = {
    "not UTF-8": _UNDECODABLE,
    # where path_raw is given, \\xNN stands for a byte, and a backslash is written twice
    "backslash": pl.when(_UNDECODABLE)
    .then(_PATH.str.contains(r"\\\\"))
    .otherwise(_PATH.str.contains("\\", literal=True)),
    **{name: _PATH.str.contains(pattern) for name, pattern in _PATTERNS.items()},
    # a pattern that is slow, and that few paths are long enough for
    "longer than 200 characters": pl.when(_PATH.str.len_bytes() > 200)
    .then(_PATH)
    .str.contains(r"[^/]{201}"),
}
"""What makes a name odd, and whether a path shows it."""
_SHORT: Final = _PATH.str.contains("|".join((r"\\", *_PATTERNS.values())))
"""What shows any oddity of a decoded name that is not long, by one pattern."""


def odd_names(dataset: DatasetReader, scan: str, kinds: Sequence[str] = ()) -> pl.LazyFrame:
    """The view ``gpfs.odd_names``: paths that scripts stumble over, in the dataset's order.

    kinds: only these oddities.
    """
    wanted = list(kinds) or list(_ODDITIES)
    for kind in wanted:
        if kind not in _ODDITIES:
            raise UsageError(f"no oddity {kind!r}", remedy="there are " + ", ".join(_ODDITIES))
    found = listing(dataset, scan)
    names = [pl.when(_ODDITIES[kind]).then(pl.lit(kind)) for kind in wanted]
    kinds_found = pl.concat_str(names, separator=", ", ignore_nulls=True)
    columns = ["path", "path_raw", "kind", "size_bytes", "uid", "inode", "origin", "position"]
    return (
        frame_of(found)
        .filter(_UNDECODABLE | _SHORT | _ODDITIES["longer than 200 characters"])
        .select(*columns, kinds_found.alias("oddities"))
        .filter(pl.col("oddities") != "")
        .select("path", "oddities", *columns[1:], pl.lit(found.scan.label).alias("scan"))
    )
