"""Names in a database: what a record type, a view or a column is called, and how SQL says it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import Final

LONGEST: Final = 63
"""Bytes of a name in PostgreSQL, which cuts longer ones."""

RESERVED: Final = frozenset(("tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"))
"""Names of columns that every table of PostgreSQL has already."""


def identifiers(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """A name of its own in a database for each of the names, itself wherever that can be.

    taken: names that there are already.  One that is too long or taken, or that a database does
    not take, is its beginning and a digest of the whole, so that it is the same every time.
    """
    found: dict[str, str] = {}
    used = set(taken)
    for name in names:
        fits = name and "\0" not in name and len(name.encode()) <= LONGEST and name not in used
        found[name] = name if fits else _shortened(name)
        used.add(found[name])
    return found


def _shortened(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    begin = name.replace("\0", "_").encode()[: LONGEST - len(digest) - 1].decode(errors="ignore")
    return f"{begin}_{digest}"


def quoted(*names: str) -> str:
    """A name as SQL takes it, whatever it holds; several are a path: schema and table."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    """A text as SQL takes it where there can be no parameter, such as a comment."""
    return "'" + text.replace("\0", "").replace("'", "''") + "'"
