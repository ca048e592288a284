"""Shell completion for these commands, and types of options that several of them have."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import typer

from harvest import Setting
from harvest.commands.complete import Items, keys, named
from harvest.plugins import manager
from harvest.toolkit.completion import option


def _names(kind: str) -> Callable[[str], Items]:
    """Make a function that completes names of views, reports and so on, with their docs."""
    return lambda incomplete: named(incomplete, getattr(manager(), kind))


views, reports, rules, exporters = map(_names, ("views", "reports", "rules", "exporters"))


def schemas(incomplete: str) -> Items:
    """Complete names of record types and views."""
    return named(incomplete, manager().record_types()) + views(incomplete)


def query_settings(incomplete: str) -> Items:
    """Complete ``VIEW.KEY=`` of every view with settings."""
    views = manager().views
    of_views = {f"{n}.{key}": s for n, v in views.items() for key, s in v.settings.items()}
    return keys(incomplete, of_views.items())


def finding_settings(incomplete: str) -> Items:
    """Complete ``KEY=`` of views that rules read, and ``RULE.THRESHOLD=`` of every rule."""
    found = manager()
    limits = {
        f"{rule.name}.{name}": Setting(limit.doc)
        for rule in found.rules.values()
        for name, limit in rule.thresholds.items()
    }
    looked_at = sorted({rule.view for rule in found.rules.values()} & found.views.keys())
    of_views = {key: s for name in looked_at for key, s in found.views[name].settings.items()}
    return keys(incomplete, of_views.items()) + keys(incomplete, limits.items())


def own_settings(ctx: typer.Context, incomplete: str) -> Items:
    """Complete ``KEY=`` and values of the view or report named on the command line."""
    found = manager()
    declared: Mapping[str, Any] = found.reports if ctx.info_name == "report" else found.views
    # typer leaves earlier words unparsed while an option lacks its value
    words = [str(ctx.params.get("name")), *ctx.args]
    spec = next((declared[word] for word in words if word in declared), None)
    return keys(incomplete, spec.settings.items()) if spec is not None else []


def export_settings(ctx: typer.Context, incomplete: str) -> Items:
    """Complete ``KEY=`` and values of the exporter named on the command line."""
    spec = manager().exporters.get(str(ctx.params.get("form")))
    return keys(incomplete, spec.settings.items()) if spec is not None else []


def with_settings(incomplete: str) -> Items:
    """Complete names of sources, sinks, engines, views, reports, rules and exporters."""
    found = manager()
    kinds = (found.sources, found.sinks, found.engines, found.views, found.reports, found.rules,
             found.exporters)  # fmt: skip
    return list(dict.fromkeys(item for kind in kinds for item in named(incomplete, kind)))


rows_option = partial(option, min=1, max=4 * 10**9)  # polars counts rows with 32 bits
"""Return an option for a number of rows."""

Text = str | None
Texts = list[str] | None
JsonRows = Annotated[bool, option("--json", "Print one JSON object per row.")]
