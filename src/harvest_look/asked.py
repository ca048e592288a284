"""List views, reports and rules, and find one with its dataset by the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs

import harvest
from harvest import DatasetError, Rule, UsageError
from harvest.commands.declared import names_for
from harvest.commands.tables import print_json, print_table, values_of
from harvest.plugins import manager
from harvest.toolkit.texts import shell_word

SHOWN: Final = 6
"""Most views or reports of a dataset that an error names."""

_BASIS: Final = ("numerator", "denominator", "judged", "unable")
"""Attributes of a rule with the basis of its verdict."""


def print_declared(kind: str, specs: Sequence[Any], *, json: bool) -> None:
    """Print views or reports with their descriptions and settings."""
    if json:
        docs = [{name: each.doc for name, each in s.settings.items()} for s in specs]
        named = [values_of(s, "name", "doc") for s in specs]
        print_json([n | {"settings": d} for n, d in zip(named, docs, strict=True)])
    else:
        rows = [(s.name, s.doc, ", ".join(s.settings)) for s in specs]
        print_table((kind, "description", "settings"), rows, prose=("description", "settings"))


def print_rules(rules: Sequence[Rule], *, json: bool) -> None:
    """Print rules with their descriptions and thresholds."""
    if json:
        print_json([_described(rule) for rule in rules])
        return
    rows = []
    for rule in rules:
        limits = (f"{name} {limit.value:g}" for name, limit in rule.thresholds.items())
        rows.append((rule.name, rule.doc, ", ".join(limits)))
    heads = ("rule", "what it looks for", "thresholds")
    print_table(heads, rows, prose=heads[1:])


def _described(rule: Rule) -> dict[str, Any]:
    return {
        **values_of(rule, "name", "doc", "view", "among", "where"),
        "thresholds": {name: attrs.asdict(each) for name, each in rule.thresholds.items()},
        **values_of(rule, "advice", "reference"),
        "basis": values_of(rule, *_BASIS) if rule.numerator else None,
        "reports": rule.reports,
    }


def named(kind: str, name: str, dataset: Path | None) -> tuple[Any, Path]:
    """Return the view or report that the command line names, and its dataset.

    Raises UsageError when one of them is absent, or a dataset is given instead of the name.
    """
    plugins = manager()
    declared = getattr(plugins, f"{kind}s")
    if name in declared or not (there := _opened(name)):
        spec = getattr(plugins, kind)(name)
        if dataset is None:
            raise UsageError("no dataset given", remedy=f"write: harvest {kind} {name} DATASET")
        return spec, dataset
    meant = [str(dataset)] if str(dataset) in declared else names_for(declared, there)
    also = f", or another {kind}: {', '.join(meant[1:SHOWN])}" if len(meant) > 1 else ""
    problem = f"this is a dataset, where the name of a {kind} belongs"
    remedy = f"write: harvest {kind} {meant[0]} {shell_word(name)}{also}" if meant else None
    raise UsageError(problem, where=name, remedy=remedy)


def _opened(location: str) -> harvest.Dataset | None:
    try:
        return harvest.open(location)  # imports polars, which a list does not need
    except (DatasetError, UsageError):
        return None
