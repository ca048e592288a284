"""The schema of a view: each column with its type, unit and meaning."""

from collections.abc import Mapping
from typing import Any, Final

import attrs
import pyarrow as pa

from harvest import Column, Dataset, HarvestError, View
from harvest.commands.declared import columns_of, settings_of
from harvest.model.describe import in_words, json_type
from harvest.model.frames import arrow_type_of
from harvest.plugins import PluginManager

from .markdown import described, section

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
