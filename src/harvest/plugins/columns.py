"""What the columns of a view mean, from its declaration and from the record types it reads."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from harvest.api.column import Column
from harvest.api.view import View

from .registry import PluginManager

__all__ = ["columns_of"]


def columns_of(view: View, plugins: PluginManager) -> Mapping[str, Column]:
    """The columns that a view declares, by name, the most important first.

    Then those of the record types that it requires, which a view may pass on as they are.
    Raises PluginError where the declared columns cannot be imported.
    """
    declared = plugins.load_part(view, view.columns, f"the columns of {view.name!r}")
    types = plugins.record_types()
    passed_on = {
        column.name: Column(column.name, unit=column.unit, doc=column.doc or None)
        for kind in view.requires
        if kind in types
        for column in types[kind].columns
    }
    found = {column.name: _completed(column, passed_on.get(column.name)) for column in declared}
    return found | {name: column for name, column in passed_on.items() if name not in found}


def _completed(column: Column, known: Column | None) -> Column:
    """A declared column, with the meaning that a record type's column of its name has."""
    if column.doc is not None or known is None:
        return column
    return attrs.evolve(column, doc=known.doc, unit=column.unit or known.unit)
