"""The meaning of a view's columns, from its declaration and from the record types it reads."""

from collections.abc import Mapping

import attrs

from harvest.api.view import View
from harvest.columns import Column
from harvest.model import Int32, RecordType, UInt32, UInt64
from harvest.model.column import Column as RecordColumn

from .registry import PluginManager


def columns_of(view: View, plugins: PluginManager) -> Mapping[str, Column]:
    """Return a view's declared columns by name; those to show first come first.

    After them come the columns of required record types, which a view may pass on unchanged.
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
    """Return the columns of a record type, by name; identifiers are shown without formatting."""
    return {
        column.name: Column(
            column.name, unit=column.unit, format=_format(column), doc=column.doc or None
        )
        for column in kind.columns
    }


def _format(column: RecordColumn) -> str | None:
    """Return ``id`` for an identifier, ``d`` (no digit grouping) for a whole number without unit.

    Such a number may be an identifier, as an inode's, or small.
    """
    if column.role in _IDS:
        return "id"
    whole = column.python_type in (int, Int32, UInt32, UInt64)
    return "d" if whole and column.unit is None else None


_IDS = ("subject", "host", "pid", "thread", "user", "job")


def _completed(column: Column, known: Column | None) -> Column:
    if column.doc is not None or known is None:
        return column
    return attrs.evolve(
        column, doc=known.doc, unit=column.unit or known.unit, format=column.format or known.format
    )
