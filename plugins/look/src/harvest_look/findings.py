"""``harvest findings``: what rules conclude from a dataset, and the rules themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
from rich.console import Console

from harvest.commands.asking import answer
from harvest.commands.progress import working
from harvest.commands.settings import key_values
from harvest.commands.tables import print_json, print_table
from harvest.plugins import manager
from harvest_report.verdict import show_verdict

__all__ = ["list_rules", "show_findings"]


def show_findings(
    dataset: Path, rules: list[str] | None, settings: list[str] | None, *, json: bool
) -> int:
    """Print what the rules conclude from a dataset."""
    thresholds: dict[str, dict[str, Any]] = {}
    of_views: dict[str, str] = {}
    for key, value in key_values(settings).items():
        rule, dot, name = key.rpartition(".")
        if dot:
            thresholds.setdefault(rule, {})[name] = value
        else:
            of_views[key] = value
    with working("looking for findings"):
        verdict = answer(
            dataset, lambda opened: opened.findings(rules, thresholds=thresholds, **of_views)
        )
    if json:
        print_json(verdict.to_dict())
    else:
        show_verdict(verdict, Console(highlight=False), str(dataset))
    return 0


def list_rules(names: list[str] | None, *, json: bool) -> int:
    """Print the rules of all plugins, or those of these names, with their thresholds."""
    rules = [manager().rule(name) for name in names or manager().rules]
    if json:
        print_json(
            [
                {
                    "name": rule.name,
                    "doc": rule.doc,
                    "view": rule.view,
                    "among": rule.among,
                    "where": rule.where,
                    "thresholds": {
                        name: {"value": threshold.value, "doc": threshold.doc}
                        for name, threshold in rule.thresholds.items()
                    },
                    "advice": rule.advice,
                    "reference": rule.reference,
                    "basis": None if rule.basis is None else attrs.asdict(rule.basis),
                    "reports": list(rule.reports),
                }
                for rule in rules
            ]
        )
        return 0
    print_table(
        ("rule", "what it looks for", "thresholds"),
        [
            (rule.name, rule.doc, ", ".join(f"{n} {t.value:g}" for n, t in rule.thresholds.items()))
            for rule in rules
        ],
        prose=("what it looks for", "thresholds"),
    )
    return 0
