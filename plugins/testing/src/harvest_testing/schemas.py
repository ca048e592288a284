"""Columns of record types, kept beside the tests of a plugin: none is lost or changed unawares.

``pytest --harvest-update-schemas`` writes the file anew; ``git diff`` then shows what changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harvest.model import Record, RecordType, record_type

from .promise import require

UPDATE = "run pytest with --harvest-update-schemas, and look at what it writes"
_updating = False


def update_schemas() -> None:
    """Have files written instead of compared, for the rest of this process."""
    global _updating
    _updating = True


def check_schemas(path: Path, kinds: Sequence[type[Record]]) -> None:
    """Compare record types with those of a file: none may lose or change a column.

    A change is allowed together with a higher version of the record type; so are new columns that
    may be null.  Raises BrokenPromise otherwise.
    """
    now = {kind.name: _schema(kind) for kind in map(record_type, kinds)}
    if _updating:
        path.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
        return
    require(path.is_file(), f"missing file {path}", UPDATE)
    for name, known in json.loads(path.read_text("utf-8")).items():
        require(name in now, f"record type {name} is gone", "keep it among record_types")
        if now[name]["version"] > known["version"]:
            continue
        for column, kind in known["columns"].items():
            found = now[name]["columns"].get(column, "gone")
            require(
                found == kind,
                f"{name}.{column} was {kind}, and is {found}",
                "leave columns as they are; where their meaning must change, raise the record "
                "type's version and run pytest with --harvest-update-golden",
            )
        for column, kind in now[name]["columns"].items():
            require(
                column in known["columns"] or not kind.endswith("not null"),
                f"{name}.{column} is new and may not be null, but rows of before have none",
                "annotate new columns `X | None`",
            )


def _schema(kind: RecordType) -> dict[str, Any]:
    columns = {f.name: f"{f.type}{'' if f.nullable else ' not null'}" for f in kind.arrow_schema}
    return {"version": kind.version, "columns": columns}
