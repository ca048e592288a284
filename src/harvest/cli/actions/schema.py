"""``harvest schema``: record types in one of several forms."""

from __future__ import annotations

from collections.abc import Sequence

from harvest.cli.tables import print_json, print_table
from harvest.errors import UsageError, suggestion
from harvest.model import RecordType
from harvest.model.arrow import arrow_type
from harvest.plugins.registry import manager

__all__ = ["print_schema"]

FORMATS = ("table", "json-schema", "arrow", "markdown")


def print_schema(name: str | None, form: str) -> int:
    """Print all record types, or one."""
    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}", remedy=suggestion(form, FORMATS))
    types = manager().record_types()
    if name is not None and name not in types:
        raise UsageError(f"unknown record type {name!r}", remedy=suggestion(name, types))
    picked = [types[name]] if name is not None else list(types.values())
    if form == "json-schema":
        schemas = {kind.name: kind.json_schema() for kind in picked}
        print_json(schemas[name] if name is not None else schemas)
    elif form == "arrow":
        for kind in picked:
            print(f"# {kind.name}\n{kind.arrow_schema.to_string(show_schema_metadata=False)}\n")
    elif form == "markdown":
        print("\n".join(kind.markdown() for kind in picked), end="")
    elif name is None:
        _print_types(picked)
    else:
        _print_columns(picked[0])
    return 0


def _print_types(kinds: Sequence[RecordType]) -> None:
    print_table(
        ("record type", "layer", "level", "columns", "description"),
        [(k.name, k.layer, k.level, len(k.columns), k.doc.partition("\n")[0]) for k in kinds],
        right=("columns",),
        prose=("description",),
    )


def _print_columns(kind: RecordType) -> None:
    print(f"{kind.name}, version {kind.version}, layer {kind.layer}, level {kind.level}")
    print(f"{kind.doc}\n")
    print_table(
        ("column", "type", "unit", "role", "meaning"),
        [
            (
                c.name,
                str(arrow_type(c.python_type)) + ("" if c.nullable else ", required"),
                c.unit,
                c.role,
                c.doc,
            )
            for c in kind.columns
        ],
        prose=("meaning",),
    )
