"""Call a plugin's view, report or exporter on a dataset; explain the columns of a view.

A column's meaning comes from the view's declaration, and from the record types that it reads.
"""

import contextlib
from collections.abc import Container, Iterator, Mapping
from typing import Any

import attrs

from harvest.api.settings import typed
from harvest.api.spec import ExporterSpec, ReportSpec
from harvest.api.view import View
from harvest.columns import Column
from harvest.errors import UsageError, suggestion
from harvest.model import Int32, RecordType, UInt32, UInt64
from harvest.model.column import Column as RecordColumn
from harvest.toolkit.steps import step

from .registered import resolve
from .registry import PluginManager


def names_for(
    declared: Mapping[str, View] | Mapping[str, ReportSpec],
    kinds: Container[str],
    *,
    beyond: float = 0.0,
) -> list[str]:
    """Return the views or reports that are possible with the record types a dataset holds.

    The order is by the share of required record types that the dataset holds; those that require
    none come last. Otherwise the share must exceed ``beyond``, with at least ``fewest`` types, and
    of types with its own prefix, the dataset must hold one: of ``ncem`` for ``ncem.comparison``,
    which also reads Slurm's jobs.
    """
    shares: dict[str, float] = {}
    for name, spec in declared.items():
        held = [kind for kind in spec.requires if kind in kinds]
        share = len(held) / len(spec.requires) if spec.requires else 0.0
        own = {kind for kind in spec.requires if kind.startswith(f"{name.partition('.')[0]}.")}
        enough = share > beyond and len(held) >= spec.fewest and (not own or own & {*held})
        if enough or not spec.requires:
            shares[name] = share
    return sorted(shares, key=lambda name: (-shares[name], name))


def check_settings(
    kind: str, spec: View | ReportSpec | ExporterSpec, settings: Mapping[str, Any]
) -> None:
    """Raise UsageError for a setting that is not declared."""
    for key in settings:
        if key not in spec.settings:
            remedy = suggestion(key, spec.settings) if spec.settings else "it has none"
            raise UsageError(f"{kind} {spec.name!r} has no setting {key!r}", remedy=remedy)


def call(
    kind: str,
    spec: View | ReportSpec | ExporterSpec,
    target: Any,
    given: tuple[Any, ...],
    settings: Mapping[str, Any],
) -> Any:
    """Call a declared function with typed settings, and return its result.

    kind: word for messages, such as ``view``; target: the function, or ``module:attribute``. Raises
    UsageError for settings that are not declared or not accepted.
    """
    check_settings(kind, spec, settings)
    values = typed(spec.settings, settings, name=spec.name)
    function = resolve(target)
    with refusing(kind, spec, settings):
        return function(*given, **values)


@contextlib.contextmanager
def refusing(
    kind: str, spec: View | ReportSpec | ExporterSpec, settings: Mapping[str, Any]
) -> Iterator[None]:
    """Run the block as a step; with settings given, convert ValueError to UsageError.

    Without settings, a ValueError is raised unchanged.
    """
    step(f"{kind} {spec.name}")
    try:
        yield
    except ValueError as error:
        if not settings:
            raise
        said = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        raise UsageError(
            f"{kind} {spec.name!r} does not take {said}: {error}",
            remedy="; ".join(f"{key}: {spec.settings[key].doc}" for key in settings),
        ) from error


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
