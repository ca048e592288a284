"""HTML: templates with everything from data escaped, and what all pages have in common."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import attrs
import jinja2
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from harvest.toolkit.texts import printable_line

from ..problems import Problem
from ..state import Served, Snapshot

EVERY_MS: Final = 10_000
"""How often a page in sight asks whether its state is in force still."""

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T_]\d\d:\d\d(?::\d\d)?)?")
_WORDS: Final = re.compile(r"``?([^`\n]+)``?")


@attrs.frozen
class Here:
    """The dataset that a page is about."""

    name: str
    location: str

    def to(self, *places: str, **query: Any) -> str:
        """The address of one of its pages; query: values by name, those that are None left out."""
        path = "/".join(quote(place, safe="") for place in places)
        given = urlencode({key: value for key, value in query.items() if value is not None})
        return f"/d/{quote(self.name)}/{path}{'?' if given else ''}{given}"

    def rows(self, table: str, pairs: list[tuple[str, str]]) -> str:
        """The address of a table's page that shows what the pairs ask."""
        return f"{self.to('table', table)}{'?' if pairs else ''}{urlencode(pairs)}"


def here_of(served: Served | Snapshot) -> Here:
    """A dataset, or one of its states, as pages name it."""
    return Here(served.name, str(served.location))


def respond(
    template: str,
    *,
    title: str,
    here: Here | None = None,
    commit: str = "",
    state: str = "",
    section: str = "",
    problem: Problem | None = None,
    **values: Any,
) -> Response:
    """A page from a template.

    commit: names the state that it shows, which the page asks for again; state: the same for
    people.  section: which of the pages at the top it belongs to.
    problem: what went wrong, which gives the answer its status, unless all that lacks is a choice.
    """
    page = (
        _environment()
        .get_template(template)
        .render(
            title=title,
            here=here,
            commit=commit,
            state=state,
            section=section,
            problem=problem,
            **values,
        )
    )
    return HTMLResponse(page, 200 if problem is None or problem.settings else problem.status)


def state_in_words(snapshot: Snapshot) -> str:
    """Which state of a dataset a page shows: the run that made it, and when that was."""
    record = snapshot.keep("last run", lambda: last_run(snapshot))
    if record is None:
        return snapshot.commit[:12]
    return f"{record['run']}, {moment(record.get('ended'))}".rstrip(", ")


def last_run(snapshot: Snapshot) -> dict[str, Any] | None:
    """The record of the run that put a state in force; None where it has none."""
    records = snapshot.dataset.runs()
    return next((each for each in records if each["state"] == "in force"), None)


def snapshot_values(snapshot: Snapshot) -> dict[str, Any]:
    """What ``respond`` needs to know of the state that a page shows."""
    return {
        "here": here_of(snapshot),
        "commit": snapshot.commit,
        "state": state_in_words(snapshot),
    }


def moment(text: str | None) -> str:
    """A recorded time to the second, with its zone; empty for none."""
    return f"{text[:19].replace('T', ' ')} UTC" if text else ""


def problem_page(request: Request, problem: Problem) -> Response:
    """The page that says what went wrong: message, where, what to do, and what verify says."""
    known: dict[str, Served] = getattr(request.app.state, "served", {})
    name = request.path_params.get("dataset", "")
    return respond(
        "error.html.j2",
        title=_sentence(problem.message),
        section="error",
        here=here_of(known[name]) if name in known else None,
        problem=problem,
    )


def prose(text: str) -> Markup:
    """Text in one line: no date is broken, and words between backticks are code."""
    shown = str(escape(printable_line(" ".join(text.split()))))
    shown = _WORDS.sub(r"<code>\1</code>", shown)
    return Markup(_DATE.sub(r'<span class="time">\g<0></span>', shown))  # noqa: S704 - escaped above


def _static(name: str) -> str:
    return f"/static/{name}"


def _line(text: Any) -> str:
    return printable_line(str(text))


def _sentence(text: str) -> str:
    """Text in one line that begins with a capital, unless its first word is a name."""
    first = text.partition(" ")[0]
    return _line(text[:1].upper() + text[1:] if first.isalpha() else text)


_made: list[jinja2.Environment] = []


def _environment() -> jinja2.Environment:
    if not _made:
        made = jinja2.Environment(
            loader=jinja2.FileSystemLoader(Path(__file__).parent.with_name("templates")),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.filters |= {"line": _line, "prose": prose, "sentence": _sentence}
        made.globals |= {
            "static": _static,
            "home": "/",
            "every_ms": EVERY_MS,
            "version": version("hpc-harvest"),
        }
        _made.append(made)
    return _made[0]
