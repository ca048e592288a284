"""The columns of a record type."""

from __future__ import annotations

from typing import Any, Final

import attrs

from .vocabulary import Role

TAIL: Final = ("extra", "origin", "position")
"""The columns that end every table, in this order."""


@attrs.frozen
class Column:
    """One column of a record type.

    python_type is the annotation with ``None`` removed; nullable says whether it was there.
    """

    name: str
    python_type: Any
    nullable: bool
    role: Role | None = None
    unit: str | None = None
    doc: str = ""
