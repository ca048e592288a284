"""Calling what a plugin declares over a dataset: a view, report or exporter, with settings."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping
from typing import Any

from harvest.api.settings import typed
from harvest.api.spec import ExporterSpec, ReportSpec
from harvest.api.view import View
from harvest.errors import UsageError, suggestion
from harvest.toolkit.steps import step

from .registered import resolve


def names_for(
    declared: Mapping[str, View] | Mapping[str, ReportSpec],
    kinds: Container[str],
    *,
    beyond: float = 0.0,
) -> list[str]:
    """Names of the views or reports that something can be asked of, given the record types held.

    First those of which every record type is held, then those that miss few; those that read any
    record types come last.  beyond: the share of its record types of which more must be held.  One
    that needs several (``fewest``) of them is left out where fewer are held.
    """
    shares: dict[str, float] = {}
    for name, spec in declared.items():
        held = sum(1 for kind in spec.requires if kind in kinds)
        share = held / len(spec.requires) if spec.requires else 0.0
        if (share > beyond and held >= spec.fewest) or not spec.requires:
            shares[name] = share
    return sorted(shares, key=lambda name: (-shares[name], name))


def check_settings(
    kind: str, spec: View | ReportSpec | ExporterSpec, settings: Mapping[str, Any]
) -> None:
    """Raise UsageError for a setting that is not declared."""
    for key in settings:
        if key not in spec.settings:
            raise UsageError(
                f"{kind} {spec.name!r} has no setting {key!r}",
                remedy=suggestion(key, spec.settings) if spec.settings else "it has none",
            )


def build(kind: str, spec: View | ReportSpec, dataset: Any, settings: Mapping[str, Any]) -> Any:
    """What the function of a view or report makes of a dataset; raises as ``call``."""
    return call(kind, spec, spec.build, (dataset,), settings)


def call(
    kind: str,
    spec: View | ReportSpec | ExporterSpec,
    target: Any,
    given: tuple[Any, ...],
    settings: Mapping[str, Any],
) -> Any:
    """What a declared function makes of what it is given.

    kind: what it is, for messages; target: the function, or what names it.
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
    """Within the block, which is a step, a ValueError is about the settings: it becomes UsageError.

    Where no setting is given it stays as it is.
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
