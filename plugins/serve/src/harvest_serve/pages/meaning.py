"""The list of all tables, and the documentation of each one's rows and columns."""

from typing import Any

import attrs
from starlette.requests import Request

from harvest import UsageError
from harvest.commands.declared import settings_of as declared_settings

from .. import tables
from ..problems import NotFound
from ..settings import offered_settings
from ..state import Snapshot
from .render import page
from .report import settings_of


@page("meaning.html.j2", section="tables")
def meaning(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show a table's description, its place in the model, its columns and settings."""
    name, given = request.path_params["table"], settings_of(request)
    plugins = snapshot.dataset.plugins
    tables.check_table(snapshot, name)
    view, unknown = plugins.views.get(name), ""
    columns: list[dict[str, Any]] = []
    try:
        described = tables.describe(snapshot, name, given)
        columns = [attrs.asdict(each) for each in described.columns]
    except NotFound:
        raise
    except UsageError as error:
        unknown = str(error)
    if view is not None:
        doc, of = view.doc, f", of {', '.join(view.requires)}" if view.requires else ""
        kind = f"A view{of}"
    else:
        type_ = snapshot.dataset.record_type(name)
        roles = {column.name: column.role for column in type_.columns}
        columns = [{**each, "role": roles.get(each["name"])} for each in columns]
        doc = type_.doc
        kind = f"A record type, version {type_.version}; layer {type_.layer}, level {type_.level}"
    return {
        "title": name,
        "name": name,
        "kind": kind,
        "paragraphs": [each for each in doc.split("\n\n") if each.strip()],
        "columns": columns,
        "settings": declared_settings(view.settings) if view else (),
        "unknown": unknown,
    }


@page("tables.html.j2", section="tables")
def table_list(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """List all record types and views."""
    found, views = tables.tables(snapshot), snapshot.dataset.plugins.views
    return {
        "title": "Tables",
        "types": [each for each in found if each.kind == "record type"],
        "views": [
            (each, ", ".join(offered_settings(views[each.name])))
            for each in found
            if each.kind == "view"
        ],
    }
