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
    "longer than 200 characters": r"[^/]{201}",
}
_ODDITIES: Final = {
    "not UTF-8": _UNDECODABLE,
    # where path_raw is given, \\xNN stands for a byte, and a backslash is written twice
    "backslash": pl.when(_UNDECODABLE)
    .then(_PATH.str.contains(r"\\\\"))
    .otherwise(_PATH.str.contains("\\", literal=True)),
    **{name: _PATH.str.contains(pattern) for name, pattern in _PATTERNS.items()},
}
"""What makes a name odd, and whether a path shows it."""
_NOT_PLAIN: Final = _PATH.str.contains(r"(^|/)-|[^A-Za-z0-9/_.+,:=@-]")
"""What all odd paths show that are decoded and short: found by one pattern, before the others."""


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
        .filter(_UNDECODABLE | _NOT_PLAIN | (_PATH.str.len_bytes() > 200))
        .select(*columns, kinds_found.alias("oddities"))
        .filter(pl.col("oddities") != "")
        .select("path", "oddities", *columns[1:], pl.lit(found.scan.label).alias("scan"))
    )
