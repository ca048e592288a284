"""The first pages: the list of datasets, the contents of one, and a finding with its evidence."""

from collections import Counter
from datetime import datetime
from typing import Any, Final

import attrs
from starlette.requests import Request
from starlette.responses import Response

from harvest import HarvestError
from harvest.commands.tables import how_many
from harvest.findings import Verdict
from harvest.toolkit.amounts import bytes_in_words, count_in_words

from .. import reports, tables
from ..downloads import frame_of
from ..problems import NotFound, Refused
from ..questions import Question
from ..state import Place, Served, Snapshot, find_served
from ..work import answer
from .asked import as_parameters, downloads
from .render import last_run, page, respond, state_values
from .report import LONG_S
from .shown import page_table, without_empty

FIRST: Final = 5
"""Findings that are always shown; all of high severity are, too."""

EVIDENCE_ROWS: Final = 50


async def datasets(request: Request) -> Response:
    """Show the list of datasets, or the start page of a single one."""
    known: dict[str, Served] = request.app.state.served
    if len(known) == 1:
        request.scope["path_params"] = {"dataset": next(iter(known))}
        return await start(request)
    listed = [await _listed(request, each) for each in known.values()]
    return respond("datasets.html.j2", title="Datasets", datasets=listed)


async def _listed(request: Request, each: Served) -> dict[str, Any]:
    found = {"name": each.label, "location": str(each.location), "address": each.to("")}
    try:
        said = await answer(request, each, _size)
    except HarvestError as error:
        return {**found, "said": "", "problem": str(error)}
    return {**found, "said": said, "problem": None}


def _size(snapshot: Snapshot) -> str:
    found = snapshot.summary()
    if not found["runs"]:
        return "empty"
    return (
        f"{count_in_words(found['rows'], 'row')} of "
        f"{count_in_words(len(found['record_types']), 'record type')} from "
        f"{count_in_words(found['inputs'], 'input')}, {bytes_in_words(found['size_bytes'])}; "
        f"{count_in_words(len(found['runs']), 'run')}, the last on {found['runs'][-1]['ended']} UTC"
    )


async def start(request: Request) -> Response:
    """Show a dataset's findings, the worst first, and its contents."""
    here = find_served(request)
    verdict: Verdict | None = None
    said = ""
    commit = None
    try:
        commit, verdict = await answer(
            request, here, lambda at: (at.commit, reports.findings(at)), time_s=LONG_S
        )
    except Refused as error:
        said = f"The rules have not ended: {error}. They go on; show this page again later."
    values = await answer(request, here, _values)
    if commit not in (None, values["commit"]):
        # a commit came in between; the page must show one commit
        return await start(request)
    found = [] if verdict is None else finding_items(here, verdict)
    worst = sum(item["found"].finding.severity == "high" for item in found)
    cut = len(found) if len(found) <= FIRST + 1 else max(FIRST, worst)
    severities = Counter(item["found"].finding.severity for item in found[cut:])
    return respond(
        "start.html.j2",
        title=here.label,
        section="",
        summary=said if verdict is None else verdict.summary(),
        gaps=[] if verdict is None else verdict.gaps(),
        first=found[:cut],
        rest=found[cut:],
        more=", ".join(f"{count} {severity}" for severity, count in severities.items()),
        **values,
    )


def finding_items(here: Place, verdict: Verdict) -> list[dict[str, Any]]:
    """Return findings as pages list them, each with its address."""
    numbers: Counter[str] = Counter()
    items = []
    for number, each in enumerate(verdict.found, start=1):
        rule, rows = each.rule.name, count_in_words(each.evidence.rows, "row")
        numbers[rule] += 1
        address = here.to("finding", rule, str(numbers[rule]))
        items.append({"number": number, "found": each, "rows": rows, "address": address})
    return items


def _values(snapshot: Snapshot) -> dict[str, Any]:
    found = snapshot.summary()
    spans = {t.name: (t.first, t.last) for t in tables.tables(snapshot) if t.first and t.last}
    moments = [each for span in spans.values() for each in span]
    views = sum(1 for each in tables.tables(snapshot) if each.kind == "view")
    rejects, run = found["rejects"], last_run(snapshot)
    return {
        **state_values(snapshot),
        "size": _size(snapshot),
        "given": snapshot.dataset.given.in_words(),
        "held": [
            {**each, **_span(spans.get(each["name"]), moments)} for each in found["record_types"]
        ],
        "spans": bool(moments) and min(moments) < max(moments),
        "views": count_in_words(views, "view"),
        "reports": reports.reports(snapshot),
        "run": run,
        "done": _done(run) if run else "",
        "rejects": count_in_words(rejects, "input unit") if rejects else "",
    }


def _span(
    span: tuple[datetime, datetime] | None, moments: list[datetime]
) -> dict[str, str | tuple[str, str] | None]:
    """Describe a time span in words, and its start and length as percentages of that of all.

    The words are to the minute, or to the day if the span covers several days.
    """
    if span is None:
        return {"times": "", "span": None}
    begin, end = (f"{each:%Y-%m-%d %H:%M}" for each in span)
    if begin[:10] != end[:10]:
        times = f"{begin[:10]} to {end[:10]}"
    else:
        times = begin if begin == end else f"{begin} to {end[11:]}"
    whole = (max(moments) - min(moments)).total_seconds()
    if not whole:
        return {"times": times, "span": None}
    length = max(1.0, 100 * (span[1] - span[0]).total_seconds() / whole)
    start = min(100 * (span[0] - min(moments)).total_seconds() / whole, 100 - length)
    return {"times": times, "span": (f"{start:.2f}", f"{length:.2f}")}


def _done(record: dict[str, Any]) -> str:
    """Say in words what a run did."""
    if record["problem"] is not None or record["action"] != "run":
        return str(record["problem"] or record["action"])
    written = sum(each["written"] for each in record["account"])
    sources = ", ".join(dict.fromkeys(each["name"] for each in record["sources"]))
    read = count_in_words(record["partitions"], "partition")
    return f"{count_in_words(written, 'row')} of {read} from {sources}"


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
    wanted = Question(settings=given, condition=evidence.where, columns=names, limit=EVIDENCE_ROWS)
    rows, total = tables.rows(snapshot, evidence.view, wanted)
    shown, empty = without_empty(frame_of(rows))
    pairs = [*as_parameters(given).items(), ("condition", evidence.where)]
    some = [*pairs, ("columns", ",".join(names))]
    # the command that prints the evidence has the server's settings
    settings = snapshot.dataset.given.of(snapshot.dataset.plugins.views[evidence.view])
    whole = attrs.evolve(evidence, settings={**settings, **evidence.settings})
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
        "command": whole.command(str(snapshot.location)),
        "others": [
            (label, items[i]["address"])
            for label, i in (("Finding before", at - 1), ("Next finding", at + 1))
            if 0 <= i < len(items)
        ],
    }
