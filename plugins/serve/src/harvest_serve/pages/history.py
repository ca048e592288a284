"""The runs that wrote a dataset, and the rejects of their input."""

import itertools
from datetime import datetime
from typing import Any, Final

import polars as pl
from starlette.requests import Request

from harvest.errors import suggestion
from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words
from harvest.toolkit.texts import excerpt

from ..problems import NotFound
from ..questions import number
from ..state import Snapshot
from .render import moment, page

REJECTS: Final = 50
INPUTS: Final = 10
RAW: Final = 200
"""Characters of an input unit that are shown."""

COUNTS: Final = ("partitions", "read", "written", "filtered", "folded", "rejected")


@page("runs.html.j2", section="runs")
def runs(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show the runs, the last first."""
    records = snapshot.dataset.runs()
    kept = sum(1 for each in records if each["state"] == "kept")
    said = count_in_words(len(records), "run")
    if kept:
        size = bytes_in_words(snapshot.dataset.kept_bytes())
        states = count_in_words(kept, "earlier state")
        said += f"; {states} kept, in {size} in addition to the present one"
    return {
        "title": "Runs",
        "said": said,
        "runs": [_listed(each) for each in reversed(records)],
    }


def _listed(record: dict[str, Any]) -> dict[str, Any]:
    if record["problem"] is not None:
        return record
    took = datetime.fromisoformat(record["ended"]) - datetime.fromisoformat(record["started"])
    what = ", ".join(f"{each['name']}:{each['location']}" for each in record["sources"])
    counts = {
        name: sum(each[name] for each in record["account"]) for name in ("written", "rejected")
    }
    return {
        **record,
        **counts,
        "took": seconds_in_words(took.total_seconds()),
        "what": f"to {record['to']}" if record["action"] == "rollback" else what,
    }


@page("run.html.j2", section="runs")
def run(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show one run: the account of its input, and all that is recorded."""
    name = request.path_params["run"]
    records = {each["run"]: each for each in snapshot.dataset.runs()}
    if name not in records:
        raise NotFound(f"no run {name!r} was committed here", remedy=suggestion(name, records))
    record = records[name]
    return {
        "title": f"Run {name}",
        "unreadable": record["problem"],
        "account": record.get("account") or [],
        "counts": COUNTS,
        "facts": _facts(record),
    }


def _facts(record: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return what is recorded of a run, as ``harvest runs`` shows it."""
    facts = []
    for key, value in record.items():
        if key in ("account", "problem") or value in (None, [], {}):
            continue
        if key == "sources":
            value = [f"{each['name']}:{each['location']}" for each in value]
        elif key == "sink":
            value = f"{value['name']}:{value['location']}"
        elif key in ("started", "ended"):
            value = moment(value)
        elif key == "settings":
            value = [f"{name}.{k}={v}" for name, given in value.items() for k, v in given.items()]
        elif isinstance(value, dict):
            value = [f"{name}: {each}" for name, each in value.items()]
        values = value if isinstance(value, list) else [value]
        facts.append((key.replace("_", " "), [str(each) for each in values]))
    return facts


@page("rejects.html.j2", section="rejects")
def rejects(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Show rejects: their number by input, and each with its position and reason."""
    offset = number(request.query_params.get("offset"), "offset") or 0
    accounts = snapshot.dataset.accounts().filter(pl.col("rejected") > 0)
    inputs = (
        accounts.group_by("origin", "source")
        .agg(pl.col("rejected", "written").sum())
        .sort("rejected", "origin", descending=[True, False])
    )
    total = int(inputs["rejected"].sum() or 0)
    found = list(itertools.islice(snapshot.dataset.rejects(), offset, offset + REJECTS))
    last = offset + len(found)
    return {
        "title": "Rejects",
        "said": f"{count_in_words(total, 'input unit')} of "
        f"{count_in_words(inputs.height, 'input')} could not be read."
        if total
        else "Every input unit was read: nothing was rejected.",
        "by_source": inputs.head(INPUTS).to_dicts(),
        "more_inputs": inputs.height if inputs.height > INPUTS else 0,
        "rejects": [
            {**each, "raw": excerpt(each["raw"].decode("utf-8", "backslashreplace"), RAW)}
            for each in found
        ],
        "range": f"Rejects {offset + 1:,} to {last:,} of {total:,}",
        "before": snapshot.to("rejects", offset=max(0, offset - REJECTS)) if offset else "",
        "after": snapshot.to("rejects", offset=last) if last < total else "",
    }
