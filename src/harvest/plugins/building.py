"""Call a plugin's view, report or exporter on a dataset, with settings."""

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
    """Return the views or reports that are possible with the record types a dataset holds.

    The order is by the share of required record types that the dataset holds; those that require
    none come last. Otherwise the share must exceed ``beyond``, with at least ``fewest`` types.
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
