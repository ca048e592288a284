"""``harvest schema``: print record types and views in one of several formats.

The schema of a view has each column with its type, unit and meaning.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import pyarrow as pa

from harvest import Column, Dataset, HarvestError, RecordType, UsageError, View
from harvest.commands.declared import columns_of, settings_of
from harvest.commands.tables import print_json, print_table, print_text
from harvest.errors import suggestion
from harvest.model.describe import in_words, json_type
from harvest.model.frames import arrow_type_of
from harvest.plugins import PluginManager, manager

from .markdown import COLUMNS, described, markdown, rows_of, section

FORMATS = ("table", "json-schema", "arrow", "markdown")

SETTINGS: Final = ("setting", "value", "default", "meaning")
"""What ``ViewSchema.settings`` has of each setting."""
VIEW_COLUMNS: Final = ("column", "type", "unit", "meaning")
"""What ``ViewSchema.rows`` has of each column."""


@attrs.frozen(kw_only=True)
class ViewSchema:
    """A view and its columns in order; columns that need other settings come last.

    columns: with the units of values in JSON and CSV.
    types: the known types by column.
    unknown: the reason when no types are known without rows; else empty.
    """

    view: View
    columns: tuple[Column, ...]
    types: Mapping[str, pa.DataType]
    unknown: str = ""

    @property
    def settings(self) -> list[tuple[str, ...]]:
        """The view's settings, as ``SETTINGS`` names them."""
        return [(s.name, s.value, s.default, s.doc) for s in settings_of(self.view.settings)]

    @property
    def rows(self) -> list[tuple[str | None, ...]]:
        """The columns, as ``VIEW_COLUMNS`` names them."""
        why = "unknown without rows" if self.unknown else "depends on settings"
        return [(c.name, str(self.types.get(c.name, why)), c.unit, c.doc) for c in self.columns]

    @property
    def arrow_schema(self) -> pa.Schema:
        """Columns with a known type, with units and meanings as metadata."""
        fields = []
        for column in self.columns:
            if column.name in self.types:
                words = {"harvest.doc": column.doc, "harvest.unit": column.unit}
                metadata = {key: word for key, word in words.items() if word}
                fields.append(pa.field(column.name, self.types[column.name], metadata=metadata))
        return pa.schema(fields)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema (2020-12) of a row of ``harvest view --output rows.jsonl``."""
        properties = {}
        for column in self.columns:
            schema: dict[str, Any] = {}
            if column.name in self.types:
                schema = {"anyOf": [json_type(self.types[column.name]), {"type": "null"}]}
            properties[column.name] = schema | in_words(column.doc or "", column.unit)
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.view.name,
            "description": self.view.doc,
            "type": "object",
            "properties": properties,
            "x-requires": list(self.view.requires),
            "x-settings": {name: s.doc for name, s in self.view.settings.items()},
        }

    def markdown(self, heading: str = "##") -> str:
        """Return a section of documentation: record types read, settings and columns."""
        needs = ", ".join(f"`{kind}`" for kind in self.view.requires)
        reads = f"Reads {needs}." if needs else ""
        doc = " ".join(self.view.doc.split())
        tables = described(SETTINGS, self.settings), described(VIEW_COLUMNS, self.rows)
        return section(f"{heading} {self.view.name}", doc, reads, *tables) + "\n"


_UNITS: Final[Mapping[str | None, str]] = {"bytes": "bytes", "seconds": "s", "duration": "s"}
"""Units of values that are shown in words, by format."""


def view_schema(view: View, plugins: PluginManager) -> ViewSchema:
    """Return a view's columns with its default settings, then its other declared columns."""
    meanings = columns_of(view, plugins)
    declared = plugins.load_part(view, view.columns, f"the columns of {view.name!r}")
    types: dict[str, pa.DataType] = {}
    unknown = ""
    try:
        schema = Dataset.blank(plugins).view(view.name).collect_schema()
        types = {name: arrow_type_of(kind) for name, kind in schema.items()}
    except HarvestError as error:  # a view may need a setting, or refuse a dataset without rows
        unknown = str(error)
    names = dict.fromkeys((*types, *(column.name for column in declared)))
    columns = tuple(_in_data(meanings.get(name) or Column(name)) for name in names)
    return ViewSchema(view=view, columns=columns, types=types, unknown=unknown)


def _in_data(column: Column) -> Column:
    """Return a column with the unit of its undivided values, if that is known."""
    unit = column.unit or _UNITS.get(column.format)
    return attrs.evolve(column, unit=unit if column.scale == 1 else None)


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
