"""A finding on its own page, with its evidence as a table."""

from typing import Any, Final

import attrs
from starlette.requests import Request

from harvest.commands.tables import how_many
from harvest.findings import Found

from .. import reports, tables
from ..downloads import frame_of
from ..problems import NotFound
from ..questions import Question
from ..state import Snapshot
from .asked import as_parameters, downloads
from .render import page
from .report import LONG_S
from .shown import page_table, without_empty
from .start import finding_items

ROWS: Final = 50


@page("finding.html.j2", section="", time_s=LONG_S)
def finding(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show what a rule found, how certain it is, what to do next, and the evidence."""
    rule, number = request.path_params["rule"], request.path_params["number"]
    verdict = reports.findings(snapshot)
    items = finding_items(snapshot, verdict)
    address = snapshot.to("finding", rule, number)
    at = next((i for i, item in enumerate(items) if item["address"] == address), None)
    if at is None:
        raise NotFound(
            f"the rule {rule!r} has no finding {number} in this state of the dataset",
            where=f"commit {snapshot.commit}",
            remedy="see the findings at the start",
        )
    found = verdict.found[at]
    evidence = found.evidence
    given = {key: str(value) for key, value in evidence.settings.items()}
    names = tuple(evidence.first.columns)
    wanted = Question(settings=given, condition=evidence.where, columns=names, limit=ROWS)
    rows, total = tables.rows(snapshot, evidence.view, wanted)
    shown, empty = without_empty(frame_of(rows))
    pairs = [*as_parameters(given).items(), ("condition", evidence.where)]
    some = [*pairs, ("columns", ",".join(names))]
    return {
        "title": f"Finding of {rule}",
        "found": found,
        "reports": [
            name for name in found.rule.reports if name in snapshot.dataset.plugins.reports
        ],
        "counted": f"{how_many(rows.num_rows, 'row', total)} of {evidence.view}",
        "whole": snapshot.rows(evidence.view, pairs),
        "files": downloads(snapshot, evidence.view, some),
        "shown": page_table(shown, tables.declared_columns(snapshot, evidence.view)),
        "empty": empty,
        "caption": f"Rows of {evidence.view} for which the rule's condition holds",
        "command": _command(snapshot, found),
        "others": [
            (label, items[i]["address"])
            for label, i in (("Finding before", at - 1), ("Next finding", at + 1))
            if 0 <= i < len(items)
        ],
    }


def _command(snapshot: Snapshot, found: Found) -> str:
    """Return the command that prints the evidence, with the server's settings."""
    evidence = found.evidence
    given = snapshot.dataset.given.of(snapshot.dataset.plugins.views[evidence.view])
    whole = attrs.evolve(evidence, settings={**given, **evidence.settings})
    return whole.command(str(snapshot.location))
