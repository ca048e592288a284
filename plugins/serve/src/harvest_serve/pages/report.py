"""Reports: the list of them, one with its settings as a form, and its own page within."""

from __future__ import annotations

from collections.abc import Mapping
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
"""How long a report, or the rules, may take."""

_POLICY: Final = SANDBOX.replace("sandbox ", "sandbox allow-same-origin ")
"""The page around it may ask how high it is; a report itself runs no code that could ask."""


async def report_list(request: Request) -> Response:
    """The reports that the dataset can serve."""

    return await page(
        request,
        "reports.html.j2",
        lambda snapshot: {"reports": reports.reports(snapshot)},
        title="Reports",
        section="reports",
    )


async def report(request: Request) -> Response:
    """A report with its settings as a form."""
    name, given = request.path_params["report"], settings_of(request)

    def ask(snapshot: Snapshot) -> dict[str, Any]:
        declared = snapshot.dataset.plugins.reports
        problem = None
        try:
            reports.page(snapshot, name, given)
        except NotFound:
            raise
        except UsageError as error:
            problem = problem_of(error)
        return {
            "name": name,
            "doc": declared[name].doc,
            "settings": declared_settings(offered_settings(declared[name])),
            "problem": problem,
            "given": given,
            "alone": snapshot.to("report", name, "page", **as_parameters(given)),
        }

    return await page(
        request,
        "report.html.j2",
        ask,
        title=f"Report {name}",
        section="reports",
        time_s=LONG_S,
    )


async def report_page(request: Request) -> Response:
    """The page that ``harvest report -o FILE.html`` writes, in which no code runs."""
    name, given = request.path_params["report"], settings_of(request)
    found = await answer(
        request,
        find_served(request),
        lambda snapshot: reports.page(snapshot, name, given),
        time_s=LONG_S,
    )
    return HTMLResponse(found, headers={"content-security-policy": _POLICY})


def settings_of(request: Request) -> Mapping[str, str]:
    """The settings in an address."""
    return question(request.query_params.multi_items()).settings
