"""The meaning of the columns of a record type or view, for users of its rows in Python.

A view shows its columns on a dataset without rows, which has the sink ``Nowhere``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import polars as pl

from harvest.api.directory_sink import DirectorySink
from harvest.api.sink import PartFile, PartWriter
from harvest.columns import Column
from harvest.errors import UsageError
from harvest.model import RecordType
from harvest.model.frames import no_rows
from harvest.plugins.building import columns_of
from harvest.toolkit import html

if TYPE_CHECKING:
    from .dataset import Dataset

_WIDTH = 100


@attrs.frozen(repr=False)
class Description:
    """A record type or view: its name, the meaning of its rows, and its columns.

    A notebook shows it as a table, a shell as text.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]

    def __repr__(self) -> str:
        names = max((len(column.name) for column in self.columns), default=0)
        units = max((len(column.unit or "") for column in self.columns), default=0)
        lines = [self.name, *textwrap.wrap(" ".join(self.doc.split()), _WIDTH), ""]
        for column in self.columns:
            begin = f"{column.name:<{names}}  {column.unit or '':<{units}}  "
            indent = " " * len(begin)
            meaning = begin + " ".join((column.doc or "").split())
            lines += textwrap.wrap(meaning, _WIDTH, subsequent_indent=indent) or [column.name]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(column.name, column.unit, column.doc) for column in self.columns]
        return html.joined(
            html.paragraph(self.name, strong=True),
            html.paragraph(self.doc),
            html.table(("column", "unit", "meaning"), rows),
        )


def describe(dataset: Dataset, name: str, settings: Mapping[str, Any]) -> Description:
    """Describe a record type as declared, or the columns of a view with these settings."""
    plugins = dataset.plugins
    types = plugins.record_types([name])
    if name in types:
        kind = types[name]
        columns = [Column(c.name, unit=c.unit, doc=c.doc or None) for c in kind.columns]
        return Description(name, kind.doc, tuple(columns))
    if name not in plugins.views:
        raise UsageError(
            f"no record type and no view is named {name!r}",
            remedy=plugins.remedy(
                name, [*plugins.record_type_names(), *plugins.views], "record type", "view"
            ),
        )
    view = plugins.view(name)
    there = dataset.view(name, **settings).collect_schema().names()
    declared = columns_of(view, plugins)
    listed = [*(column for column in declared if column in there),
              *(column for column in there if column not in declared)]  # fmt: skip
    columns = [declared.get(column) or Column(column) for column in listed]
    return Description(name, view.doc, tuple(columns))


class Nowhere(DirectorySink):
    """A sink without content: every record type is an empty frame with its columns."""

    name = "nowhere"

    def writer(self, staging: Path, part: str) -> PartWriter:
        raise UsageError("a dataset without rows cannot be written")

    def scan(self, files: Sequence[PartFile], record_type: RecordType) -> pl.LazyFrame:
        return no_rows(record_type)
