"""List views, reports and rules, and find one with its dataset by the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs

import harvest
from harvest import DatasetError, Rule, UsageError
from harvest.commands.declared import names_for
from harvest.commands.tables import print_json, print_table
from harvest.plugins import manager
from harvest.toolkit.texts import shell_word

SHOWN: Final = 6
"""Most views or reports of a dataset that an error names."""

_SAID: Final = ("name", "doc", "view", "among", "where")
_BASIS: Final = ("numerator", "denominator", "judged", "unable")
"""Attributes of a rule with the basis of its verdict."""


def print_declared(kind: str, specs: Sequence[Any], *, json: bool) -> None:
    """Print views or reports with their descriptions and settings."""
    if json:
        print_json(
            [
                {
                    "name": s.name,
                    "doc": s.doc,
                    "settings": {n: each.doc for n, each in s.settings.items()},
                }
                for s in specs
            ]
        )
    else:
        print_table(
            (kind, "description", "settings"),
            [(s.name, s.doc, ", ".join(s.settings)) for s in specs],
            prose=("description", "settings"),
        )


def print_rules(rules: Sequence[Rule], *, json: bool) -> None:
    """Print rules with their descriptions and thresholds."""
    if json:
        print_json(
            [
                {
                    **{word: getattr(rule, word) for word in _SAID},
                    "thresholds": {n: attrs.asdict(each) for n, each in rule.thresholds.items()},
                    "advice": rule.advice,
                    "reference": rule.reference,
                    "basis": {word: getattr(rule, word) for word in _BASIS}
                    if rule.numerator
                    else None,
                    "reports": rule.reports,
                }
                for rule in rules
            ]
        )
        return
    print_table(
        ("rule", "what it looks for", "thresholds"),
        [
            (rule.name, rule.doc, ", ".join(f"{n} {t.value:g}" for n, t in rule.thresholds.items()))
            for rule in rules
        ],
        prose=("what it looks for", "thresholds"),
    )


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
