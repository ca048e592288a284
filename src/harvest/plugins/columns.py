"""What the columns of a view mean, from its declaration and from the record types it reads."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from harvest.api.view import View
from harvest.columns import Column
from harvest.model import Int32, RecordType, UInt32, UInt64
from harvest.model.column import Column as RecordColumn

from .registry import PluginManager


def columns_of(view: View, plugins: PluginManager) -> Mapping[str, Column]:
    """The columns that a view declares, by name, those that people are shown first in front.

    Then those of the record types that it requires, which a view may pass on as they are.
    """
    declared = plugins.load_part(view, view.columns, f"the columns of {view.name!r}")
    types = plugins.record_types(view.requires)
    passed_on = {
        name: column
        for kind in view.requires
        if kind in types
        for name, column in columns_of_record(types[kind]).items()
    }
    named = {column.name: column for column in declared}
    found = {
        name: _completed(named[name], passed_on.get(name))
        for name in dict.fromkeys((*view.first, *named))
        if name in named
    }
    return found | {name: column for name, column in passed_on.items() if name not in found}


def columns_of_record(kind: RecordType) -> Mapping[str, Column]:
    """The columns of a record type, by name; what identifies something is shown as it is."""
    return {
        column.name: Column(
            column.name, unit=column.unit, format=_format(column), doc=column.doc or None
        )
        for column in kind.columns
    }


def _format(column: RecordColumn) -> str | None:
    """Of texts that identify something, ``id``; digits of what has no unit are not grouped.

    They may be a number of something, as an inode's, or few.
    """
    if column.role in _IDS:
        return "id"
    whole = column.python_type in (int, Int32, UInt32, UInt64)
    return "d" if whole and column.unit is None else None


_IDS = ("subject", "host", "pid", "thread", "user", "job")


def _completed(column: Column, known: Column | None) -> Column:
    """A declared column, with the meaning that a record type's column of its name has."""
    if column.doc is not None or known is None:
        return column
    return attrs.evolve(
        column, doc=known.doc, unit=column.unit or known.unit, format=column.format or known.format
    )
