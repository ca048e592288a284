"""HTML from templates, which escape all data, and the values that all pages share."""

import re
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, Final

import jinja2
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from harvest.toolkit.amounts import share_in_words
from harvest.toolkit.texts import printable_line

from ..api import Asking
from ..problems import Problem
from ..state import Served, Snapshot, find_served
from ..work import TIME_S, answer

EVERY_MS: Final = 10_000
"""Interval at which a visible page checks for a new commit."""

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T_]\d\d:\d\d(?::\d\d)?)?")
_WORDS: Final = re.compile(r"``?([^`\n]+)``?")


def page(
    template: str, *, section: str, time_s: float = TIME_S
) -> Callable[[Asking], Callable[[Request], Awaitable[Response]]]:
    """Make a page of the current snapshot from a function that returns template values and
    ``title``.

    section: the entry at the top that it belongs to; time_s: as in ``answer``.
    """

    def decorate(ask: Asking) -> Callable[[Request], Awaitable[Response]]:
        async def answered(request: Request) -> Response:
            def values(snapshot: Snapshot) -> dict[str, Any]:
                return {**state_values(snapshot), **ask(snapshot, request)}

            given = request.query_params
            written = any(given.get(name, "").strip() for name in ("condition", "query"))
            served = find_served(request)
            found = await answer(request, served, values, time_s=time_s, written=written)
            return respond(template, section=section, **found)

        return answered

    return decorate


def respond(
    template: str,
    *,
    title: str,
    section: str = "",
    here: Served | Snapshot | None = None,
    commit: str = "",
    problem: Problem | None = None,
    **values: Any,
) -> Response:
    """Render a page from a template.

    section: the entry at the top that it belongs to; here: the page's dataset.
    commit: the commit that it shows, so that the page can check for a newer one.
    problem: an error, which sets the HTTP status, unless only a choice is missing.
    """
    known = {"title": title, "section": section, "here": here, "commit": commit}
    shown = _TEMPLATES.get_template(template).render(known, problem=problem, **values)
    return HTMLResponse(shown, 200 if problem is None or problem.settings else problem.status)


def state_values(snapshot: Snapshot) -> dict[str, Any]:
    """Return what every page shows of its snapshot; ``state`` names the commit for people."""
    record, state = last_run(snapshot), snapshot.commit[:12]
    if record is not None:
        state = f"{record['run']}, {moment(record.get('ended'))}".rstrip(", ")
    return {"here": snapshot, "commit": snapshot.commit, "state": state}


def last_run(snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the record of the run that made the current commit; None where none is recorded."""
    records = snapshot.keep("runs", snapshot.dataset.runs)
    return next((each for each in records if each["state"] == "in force"), None)


def moment(text: str | None) -> str:
    """Format a recorded time to the second, with its zone; empty for None."""
    return f"{text[:19].replace('T', ' ')} UTC" if text else ""


def problem_page(request: Request, problem: Problem) -> Response:
    """Render the error page: message, where, what to do, and what verify says."""
    here = request.app.state.served.get(request.path_params.get("dataset", ""))
    title = _sentence(problem.message)
    return respond("error.html.j2", title=title, section="error", here=here, problem=problem)


def prose(text: str) -> Markup:
    """Put a text on one line: dates do not break, and words in backticks become code."""
    shown = str(escape(printable_line(" ".join(text.split()))))
    shown = _WORDS.sub(r"<code>\1</code>", shown)
    return Markup(_DATE.sub(r'<span class="time">\g<0></span>', shown))  # noqa: S704 - escaped above


def _line(text: Any) -> str:
    return printable_line(str(text))


def _sentence(text: str) -> str:
    """Put a text on one line, with a capital unless its first word is a name."""
    first = text.partition(" ")[0]
    return _line(text[:1].upper() + text[1:] if first.isalpha() else text)


_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("harvest_serve"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {"line": _line, "prose": prose, "sentence": _sentence}
_TEMPLATES.filters |= {"moment": moment, "share": share_in_words}
_TEMPLATES.globals |= {"every_ms": EVERY_MS, "version": version("hpc-harvest")}
