"""What the columns of a view mean, from its declaration and from the record types it reads."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from harvest.api.column import Column
from harvest.api.view import View
from harvest.model import RecordType

from .registry import PluginManager

__all__ = ["columns_of", "columns_of_record"]


def columns_of(view: View, plugins: PluginManager) -> Mapping[str, Column]:
    """The columns that a view declares, by name, the most important first.

    Then those of the record types that it requires, which a view may pass on as they are.
    Raises PluginError where the declared columns cannot be imported.
    """
    declared = plugins.load_part(view, view.columns, f"the columns of {view.name!r}")
    types = plugins.record_types()
    passed_on = {
        name: column
        for kind in view.requires
        if kind in types
        for name, column in columns_of_record(types[kind]).items()
    }
    found = {column.name: _completed(column, passed_on.get(column.name)) for column in declared}
    return found | {name: column for name, column in passed_on.items() if name not in found}


def columns_of_record(kind: RecordType) -> Mapping[str, Column]:
    """The columns of a record type, by name; what identifies something is shown as an id."""
    return {
        column.name: Column(
            column.name,
            unit=column.unit,
            format="id" if column.role in _IDS else None,
            doc=column.doc or None,
        )
        for column in kind.columns
    }


_IDS = ("subject", "host", "pid", "thread", "user", "job")


def _completed(column: Column, known: Column | None) -> Column:
    """A declared column, with the meaning that a record type's column of its name has."""
    if column.doc is not None or known is None:
        return column
    return attrs.evolve(
        column,
        doc=known.doc,
        unit=column.unit or known.unit,
        format=column.format or known.format,
    )
