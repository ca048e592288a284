"""What the shell may complete: views, reports, rules, record types, and what can be set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from harvest import Setting
from harvest.commands.complete import Items, keys, named
from harvest.plugins import manager

__all__ = [
    "finding_settings",
    "own_settings",
    "query_settings",
    "reports",
    "rules",
    "schemas",
    "views",
]


def views(incomplete: str) -> Items:
    """Names of views, with what they hold."""
    return named(incomplete, manager().views)


def reports(incomplete: str) -> Items:
    """Names of reports, with what they show."""
    return named(incomplete, manager().reports)


def rules(incomplete: str) -> Items:
    """Names of rules, with what they look for."""
    return named(incomplete, manager().rules)


def schemas(incomplete: str) -> Items:
    """Names of record types and of views."""
    return named(incomplete, manager().record_types()) + views(incomplete)


def query_settings(incomplete: str) -> Items:
    """``VIEW.KEY=`` of every view that has settings."""
    views = manager().views
    of_views = {f"{n}.{key}": s for n, v in views.items() for key, s in v.settings.items()}
    return keys(incomplete, of_views)


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
    return keys(incomplete, of_views) + keys(incomplete, limits)


def own_settings(ctx: typer.Context, incomplete: str) -> Items:
    """``KEY=`` of the view or report that the command line names before, then the values."""
    found = manager()
    declared: Mapping[str, Any] = found.reports if ctx.info_name == "report" else found.views
    # an option without its value yet leaves the words before it unread
    words = [str(ctx.params.get("name")), *ctx.args]
    spec = next((declared[word] for word in words if word in declared), None)
    return keys(incomplete, spec.settings) if spec is not None else []
