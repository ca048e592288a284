"""Names of tables and columns in a database, and how to quote them in SQL."""

import hashlib
from collections.abc import Collection, Iterable
from typing import Final

LONGEST: Final = 63
"""Longest name in PostgreSQL, in bytes; longer ones are cut."""

RESERVED: Final = frozenset(("tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"))
"""Names of system columns, which every table of PostgreSQL has."""


def identifiers(names: Iterable[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Give each name a unique identifier, unchanged where possible.

    taken: identifiers in use.  A name that is too long, in use or not allowed becomes its
    beginning and a digest of the whole, so it is the same every time.
    """
    found: dict[str, str] = {}
    used = set(taken)
    for name in names:
        fits = name and "\0" not in name and len(name.encode()) <= LONGEST and name not in used
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        begin = name.replace("\0", "_").encode()[: LONGEST - len(digest) - 1]
        found[name] = name if fits else f"{begin.decode(errors='ignore')}_{digest}"
        used.add(found[name])
    return found


def quoted(*names: str) -> str:
    """Quote a name for SQL; several names form a path, for example schema and table."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(text: str) -> str:
    """Quote a text for SQL where no parameter is allowed, for example in a comment."""
    return "'" + text.replace("\0", "").replace("'", "''") + "'"
