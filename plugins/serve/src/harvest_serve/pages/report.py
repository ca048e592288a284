"""Reports: their list, and one with its settings as a form and its own page in a frame."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from harvest import UsageError
from harvest.commands.declared import settings_of as declared_settings

from .. import reports
from ..guard import SANDBOX
from ..problems import NotFound, problem_of
from ..questions import question
from ..settings import offered_settings
from ..state import Snapshot, find_served
from ..work import answer
from .asked import as_parameters
from .render import page

LONG_S: Final = 120.0
"""Seconds that a report, or the rules, may take."""

_POLICY: Final = SANDBOX.replace("sandbox ", "sandbox allow-same-origin ")
"""The frame's page may read the report's height; the report itself runs no code."""


@page("reports.html.j2", section="reports")
def report_list(snapshot: Snapshot, _: Request) -> dict[str, Any]:
    """List the reports that the dataset can serve."""
    return {"title": "Reports", "reports": reports.reports(snapshot)}


@page("report.html.j2", section="reports", time_s=LONG_S)
def report(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show a report with its settings as a form."""
    name, given = request.path_params["report"], settings_of(request)
    declared = snapshot.dataset.plugins.reports
    problem = None
    try:
        reports.page(snapshot, name, given)
    except NotFound:
        raise
    except UsageError as error:
        problem = problem_of(error)
    return {
        "title": f"Report {name}",
        "name": name,
        "doc": declared[name].doc,
        "settings": declared_settings(offered_settings(declared[name])),
        "problem": problem,
        "given": given,
        "alone": snapshot.to("report", name, "page", **as_parameters(given)),
    }


async def report_page(request: Request) -> Response:
    """Send the page that ``harvest report -o FILE.html`` writes, without code."""
    name, given = request.path_params["report"], settings_of(request)
    page_of = partial(reports.page, name=name, settings=given)
    found = await answer(request, find_served(request), page_of, time_s=LONG_S)
    return HTMLResponse(found, headers={"content-security-policy": _POLICY})


def settings_of(request: Request) -> Mapping[str, str]:
    """Return the settings in a request's address."""
    return question(request.query_params.multi_items()).settings
