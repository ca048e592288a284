"""``harvest schema``."""

from __future__ import annotations

from typing import Annotated

import typer

from harvest.cli import complete

__all__ = ["schema"]

FORMATS = ("table", "json-schema", "arrow", "markdown")


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE",
            help="A record type; all when left out.",
            autocompletion=complete.record_types,
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str, typer.Option(help="table, json-schema, arrow or markdown.", metavar="FORMAT")
    ] = "table",
    json: Annotated[bool, typer.Option("--json", help="The same as --format json-schema.")] = False,
) -> int:
    """Show the record types, or the columns of one."""
    from harvest.cli.tables import print_json, print_table
    from harvest.errors import UsageError, suggestion
    from harvest.plugins.registry import manager

    chosen = "json-schema" if json else format
    if chosen not in FORMATS:
        raise UsageError(f"there is no format {chosen!r}", remedy=suggestion(chosen, FORMATS))
    types = manager().record_types()
    if name is not None and name not in types:
        raise UsageError(f"there is no record type {name!r}", remedy=suggestion(name, types))
    picked = [types[name]] if name is not None else list(types.values())
    if chosen == "json-schema":
        schemas = {kind.name: kind.json_schema() for kind in picked}
        print_json(schemas[name] if name is not None else schemas)
    elif chosen == "arrow":
        for kind in picked:
            print(f"# {kind.name}\n{kind.arrow_schema.to_string(show_schema_metadata=False)}\n")
    elif chosen == "markdown":
        print("\n".join(kind.markdown() for kind in picked), end="")
    elif name is None:
        print_table(
            ("record type", "layer", "level", "columns", "description"),
            [(k.name, k.layer, k.level, len(k.columns), k.doc.partition("\n")[0]) for k in picked],
            right=("columns",),
        )
    else:
        from harvest.model.arrow import arrow_type

        kind = picked[0]
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
        )
    return 0
