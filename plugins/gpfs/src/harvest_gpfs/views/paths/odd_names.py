"""The view ``gpfs.odd_names``: paths that scripts stumble over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import polars as pl

from harvest import DatasetReader, UsageError

from ..common import frame_of, listing

__all__ = ["odd_names"]

_ODDITIES: Final = {
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
"""What makes a name odd, and the pattern of it in a path; see ``_oddities`` for all."""


def _oddities() -> dict[str, pl.Expr]:
    """For each oddity, whether a path shows it."""
    path, undecodable = pl.col("path"), pl.col("path_raw").is_not_null()
    tests = {name: path.str.contains(pattern) for name, pattern in _ODDITIES.items()}
    # where path_raw is given, \\xNN stands for a byte, and a backslash is written twice
    backslash = (
        pl.when(undecodable)
        .then(path.str.contains(r"\\\\"))
        .otherwise(path.str.contains("\\", literal=True))
    )
    return {"not UTF-8": undecodable, "backslash": backslash, **tests}


def odd_names(dataset: DatasetReader, scan: str, kinds: Sequence[str] = ()) -> pl.LazyFrame:
    """The view ``gpfs.odd_names``: paths that scripts stumble over, in the dataset's order.

    kinds: only these oddities.
    """
    tests = _oddities()
    wanted = list(kinds) or list(tests)
    for kind in wanted:
        if kind not in tests:
            raise UsageError(f"no oddity {kind!r}", remedy="there are " + ", ".join(tests))
    found = listing(dataset, scan)
    names = [pl.when(tests[kind]).then(pl.lit(kind)) for kind in wanted]
    kinds_found = pl.concat_str(names, separator=", ", ignore_nulls=True)
    columns = ["path", "path_raw", "kind", "size_bytes", "uid", "inode", "origin", "position"]
    return (
        frame_of(found)
        .select(*columns, kinds_found.alias("oddities"))
        .filter(pl.col("oddities") != "")
        .select("path", "oddities", *columns[1:], pl.lit(found.scan.label).alias("scan"))
    )
