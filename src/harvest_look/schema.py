"""``harvest schema``: print record types and views in one of several formats."""

from collections.abc import Sequence
from typing import Any

from harvest import RecordType, UsageError, View
from harvest.commands.tables import print_json, print_table, print_text
from harvest.errors import suggestion
from harvest.plugins import manager

from .markdown import COLUMNS, markdown, rows_of
from .view_schema import SETTINGS, VIEW_COLUMNS, ViewSchema, view_schema

FORMATS = ("table", "json-schema", "arrow", "markdown")


def print_schema(name: str | None, form: str) -> int:
    """Print one record type or view, or all; formats other than a table list no views."""
    if form not in FORMATS:
        raise UsageError(f"unknown format {form!r}", remedy=suggestion(form, FORMATS))
    plugins = manager()
    views = plugins.views
    if name is None:
        _print_all(list(plugins.record_types().values()), list(views.values()), form)
    elif types := plugins.record_types([name]):
        _print_one(types[name], form)
    elif name in views:
        _print_one(view_schema(views[name], plugins), form)
    else:
        raise UsageError(
            f"unknown record type or view {name!r}",
            remedy=plugins.remedy(
                name, [*plugins.record_type_names(), *views], "record type", "view"
            ),
        )
    return 0


def _print_all(kinds: Sequence[RecordType], views: Sequence[View], form: str) -> None:
    if form == "json-schema":
        print_json({kind.name: kind.json_schema() for kind in kinds})
    elif form != "table":
        between = "\n" if form == "markdown" else ""
        print(between.join(_text(kind, form) for kind in kinds), end="")
    else:
        print_table(
            ("record type", "layer", "level", "columns", "description"),
            [(k.name, k.layer, k.level, len(k.columns), k.doc.partition("\n")[0]) for k in kinds],
            right=("columns",),
            prose=("description",),
        )
        print()
        print_table(
            ("view", "reads", "description"),
            [(view.name, ", ".join(view.requires), view.doc) for view in views],
            prose=("reads", "description"),
        )


def _print_one(found: RecordType | ViewSchema, form: str) -> None:
    if form == "json-schema":
        print_json(found.json_schema())
    elif form != "table":
        print(_text(found, form), end="")
    elif isinstance(found, RecordType):
        print(f"{found.name}, version {found.version}, layer {found.layer}, level {found.level}")
        _print_columns(found.doc, COLUMNS, rows_of(found))
    else:
        view = found.view
        read = f" of {', '.join(view.requires)}" if view.requires else ""
        print_text(f"{view.name}, a view{read}")
        _print_columns(view.doc, VIEW_COLUMNS, found.rows, found.settings)
        if found.unknown:
            print()
            print_text(f"no types are known without rows: {found.unknown}")


def _text(found: RecordType | ViewSchema, form: str) -> str:
    if form == "arrow":
        name = found.name if isinstance(found, RecordType) else found.view.name
        return f"# {name}\n{found.arrow_schema.to_string(show_schema_metadata=False)}\n\n"
    return markdown(found) if isinstance(found, RecordType) else found.markdown()


def _print_columns(
    doc: str,
    header: Sequence[str],
    columns: Sequence[Sequence[Any]],
    settings: Sequence[Sequence[Any]] = (),
) -> None:
    print_text(doc, indent="")
    print()
    if settings:
        print_table(SETTINGS, settings, prose=("meaning",))
        print()
    print_table(header, columns, prose=("meaning",))
