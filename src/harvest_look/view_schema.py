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

from .markdown import prose, table


@attrs.frozen(kw_only=True)
class ViewColumn:
    """A column of a view.

    type: type of the values; None when unknown, with the reason in type_text.
    unit: unit of the values in JSON and CSV.
    """

    name: str
    type: pa.DataType | None
    type_text: str
    unit: str | None
    doc: str


@attrs.frozen(kw_only=True)
class ViewSchema:
    """A view and its columns in order; columns that need other settings come last.

    unknown: the reason when no types are known without rows; else empty.
    """

    view: View
    columns: tuple[ViewColumn, ...]
    unknown: str = ""

    @property
    def arrow_schema(self) -> pa.Schema:
        """Columns with a known type, with units and meanings as metadata."""
        fields = []
        for column in self.columns:
            if column.type is not None:
                words = {"harvest.doc": column.doc, "harvest.unit": column.unit}
                metadata = {key: word for key, word in words.items() if word}
                fields.append(pa.field(column.name, column.type, metadata=metadata))
        return pa.schema(fields)

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema (2020-12) of a row of ``harvest view --output rows.jsonl``."""
        properties = {}
        for column in self.columns:
            schema: dict[str, Any] = {}
            if column.type is not None:
                schema = {"anyOf": [json_type(column.type), {"type": "null"}]}
            properties[column.name] = schema | in_words(column.doc, column.unit)
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
        settings = [
            (f"`{s.name}`", prose(s.value), prose(s.default), prose(s.doc))
            for s in settings_of(self.view.settings)
        ]
        columns = [
            (f"`{c.name}`", prose(c.type_text), c.unit or "", prose(c.doc)) for c in self.columns
        ]
        lines = [
            f"{heading} {self.view.name}",
            "",
            prose(" ".join(self.view.doc.split())),
            "",
            *([f"Reads {needs}.", ""] if needs else []),
            *table(("setting", "value", "default", "meaning"), settings),
            *table(("column", "type", "unit", "meaning"), columns),
        ]
        return "\n".join([*lines, ""])


_UNITS: Final[Mapping[str | None, str]] = {"bytes": "bytes", "seconds": "s", "duration": "s"}
"""Units of values that are shown in words, by format."""


def view_schema(view: View, plugins: PluginManager) -> ViewSchema:
    """Return a view's columns with its default settings, then its other declared columns."""
    meanings = columns_of(view, plugins)
    declared = plugins.load_part(view, view.columns, f"the columns of {view.name!r}")
    kinds: dict[str, pa.DataType] = {}
    unknown = ""
    try:
        schema = Dataset.blank(plugins).view(view.name).collect_schema()
        kinds = {name: arrow_type_of(kind) for name, kind in schema.items()}
    except HarvestError as error:  # a view may need a setting, or refuse a dataset without rows
        unknown = str(error)
    why = "unknown without rows" if unknown else "depends on settings"
    names = dict.fromkeys((*kinds, *(column.name for column in declared)))
    return ViewSchema(
        view=view,
        columns=tuple(
            _column(meanings.get(name) or Column(name), kinds.get(name), why) for name in names
        ),
        unknown=unknown,
    )


def _column(meaning: Column, kind: pa.DataType | None, why: str) -> ViewColumn:
    unit = meaning.unit or _UNITS.get(meaning.format)
    return ViewColumn(
        name=meaning.name,
        type=kind,
        type_text=why if kind is None else str(kind),
        unit=unit if meaning.scale == 1 else None,
        doc=meaning.doc or "",
    )
