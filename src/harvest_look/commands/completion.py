"""What the shell may complete for these commands, and options that several of them have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from harvest import Setting
from harvest.commands.complete import Items, keys, named
from harvest.plugins import manager


def _names(kind: str) -> Callable[[str], Items]:
    """What completes names of views, reports and so on, each with its line of documentation."""
    return lambda incomplete: named(incomplete, getattr(manager(), kind))


views, reports, rules, exporters = map(_names, ("views", "reports", "rules", "exporters"))


def schemas(incomplete: str) -> Items:
    """Names of record types and of views."""
    return named(incomplete, manager().record_types()) + views(incomplete)


def query_settings(incomplete: str) -> Items:
    """``VIEW.KEY=`` of every view that has settings."""
    views = manager().views
    of_views = {f"{n}.{key}": s for n, v in views.items() for key, s in v.settings.items()}
    return keys(incomplete, of_views.items())


def finding_settings(incomplete: str) -> Items:
    """``KEY=`` of the views that rules look at, and ``RULE.THRESHOLD=`` of every rule."""
    found = manager()
    limits = {
        f"{rule.name}.{name}": Setting(limit.doc)
        for rule in found.rules.values()
        for name, limit in rule.thresholds.items()
    }
    looked_at = {rule.view for rule in found.rules.values()} & found.views.keys()
    of_views = {key: s for name in looked_at for key, s in found.views[name].settings.items()}
    return keys(incomplete, of_views.items()) + keys(incomplete, limits.items())


def own_settings(ctx: typer.Context, incomplete: str) -> Items:
    """``KEY=`` of the view or report that the command line names before, then the values."""
    found = manager()
    declared: Mapping[str, Any] = found.reports if ctx.info_name == "report" else found.views
    # an option without its value yet leaves the words before it unread
    words = [str(ctx.params.get("name")), *ctx.args]
    spec = next((declared[word] for word in words if word in declared), None)
    return keys(incomplete, spec.settings.items()) if spec is not None else []


def export_settings(ctx: typer.Context, incomplete: str) -> Items:
    """``KEY=`` of the exporter that the command line names before, then the values."""
    spec = manager().exporters.get(str(ctx.params.get("form")))
    return keys(incomplete, spec.settings.items()) if spec is not None else []


def with_settings(incomplete: str) -> Items:
    """Names of sources, sinks, engines, views, reports, rules and exporters."""
    found = manager()
    kinds = (found.sources, found.sinks, found.engines, found.views, found.reports, found.rules,
             found.exporters)  # fmt: skip
    return list(dict.fromkeys(item for kind in kinds for item in named(incomplete, kind)))


JsonRows = Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")]


def setting_option(
    meaning: str, completion: Callable[..., Any], *, metavar: str = "KEY=VALUE"
) -> Any:
    """The option ``--set``, given once or more."""
    return typer.Option("--set", metavar=metavar, help=meaning, autocompletion=completion)
