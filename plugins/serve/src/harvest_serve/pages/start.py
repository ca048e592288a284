"""The first pages: the list of datasets, and the contents of one."""

from collections import Counter
from datetime import datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from harvest import HarvestError
from harvest.findings import Verdict
from harvest.toolkit.amounts import bytes_in_words, count_in_words

from .. import reports
from ..problems import Refused
from ..state import Place, Served, Snapshot, find_served
from ..tables import tables
from ..work import answer
from .render import last_run, respond, state_values
from .report import LONG_S

FIRST: Final = 5
"""Findings that are always shown; all of high severity are, too."""


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
    return respond(
        "start.html.j2",
        title=here.label,
        section="",
        summary=said if verdict is None else verdict.summary(),
        gaps=[] if verdict is None else verdict.gaps(),
        first=found[:cut],
        rest=found[cut:],
        more=_severities(found[cut:]),
        **values,
    )


def _severities(items: list[dict[str, Any]]) -> str:
    """Count findings by severity: ``2 medium, 8 low``."""
    found = [item["found"].finding.severity for item in items]
    return ", ".join(f"{found.count(each)} {each}" for each in dict.fromkeys(found))


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
    spans = {t.name: (t.first, t.last) for t in tables(snapshot) if t.first and t.last}
    moments = [each for span in spans.values() for each in span]
    views = sum(1 for each in tables(snapshot) if each.kind == "view")
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
