"""Findings and reports of a dataset, each computed once for a commit and its settings."""

import threading
from collections.abc import Mapping
from typing import Any

from harvest.commands.declared import names_for
from harvest.errors import suggestion
from harvest.findings import Verdict
from harvest_report import Report

from .problems import NotFound
from .settings import settings_in_words
from .state import Snapshot, kept

_drawing = threading.Lock()
"""matplotlib draws in one thread at a time."""


@kept
def findings(snapshot: Snapshot) -> Verdict:
    """Return the findings of all plugins' rules, as ``harvest findings`` does."""
    return snapshot.dataset.findings()


def reports(snapshot: Snapshot) -> list[dict[str, Any]]:
    """List the reports that the dataset can serve; those with all their record types come first."""
    declared = snapshot.dataset.plugins.reports
    return [
        {
            "name": name,
            "doc": declared[name].doc,
            "requires": declared[name].requires,
            "settings": settings_in_words(declared[name]),
        }
        for name in names_for(declared, snapshot.dataset)
    ]


@kept
def report(snapshot: Snapshot, name: str, settings: Mapping[str, Any] | None = None) -> Any:
    """Return a report as ``harvest.Dataset.report`` does: ``harvest_report.Report``, or another.

    Raises NotFound for an unknown report, or one whose record types are all missing; UsageError for
    settings that it does not take.
    """
    known = snapshot.dataset.plugins.reports
    if name not in known:
        raise NotFound(f"no report is named {name!r}", remedy=suggestion(name, known))
    if (kinds := known[name].requires) and not any(kind in snapshot.dataset for kind in kinds):
        raise NotFound(
            f"report {name!r} reads what is not in this dataset",
            remedy=f"it reads {', '.join(kinds)}",
        )
    with _drawing:
        return snapshot.report(name, settings or {})


@kept
def page(snapshot: Snapshot, name: str, settings: Mapping[str, Any] | None = None) -> str:
    """Return the HTML that ``harvest report -o FILE.html`` writes, without scripts.

    The page contains its style and pictures: send it with the policy ``guard.SANDBOX``. Raises as
    ``report``.
    """
    made = report(snapshot, name, settings)
    with _drawing:
        return str(made.html(interactive=False) if isinstance(made, Report) else made.html())
