"""What a dataset holds, and what can be asked of it: for ``harvest show``, and in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harvest.plugins.building import names_for
from harvest.toolkit import html
from harvest.toolkit.amounts import bytes_in_words, count_in_words

if TYPE_CHECKING:
    from .dataset import Dataset


def summary(dataset: Dataset) -> dict[str, Any]:
    """Its size and runs, its record types with rows and times, its views and reports."""
    held = dataset.holdings()
    runs = [run for run in dataset.runs() if run["problem"] is None]
    parts, files = dataset.manifest.parts, dataset.manifest.files.distinct()
    sizes = {(file.path, file.offset): file.size_bytes for file in files}
    return {
        "dataset": str(dataset.sink.location),
        "rows": sum(each.rows for each in held),
        "inputs": dataset.accounts()["origin"].n_unique(),
        "size_bytes": sum(sizes.values()),
        "rejects": parts.total("rejected"),
        "runs": [{"run": run["run"], "ended": _minute(run["ended"])} for run in runs],
        "record_types": [
            {
                "name": each.record_type,
                "rows": each.rows,
                "inputs": each.origins,
                "sources": list(each.sources),
                "first": each.first and _minute(each.first.isoformat()),
                "last": each.last and _minute(each.last.isoformat()),
            }
            for each in held
        ],
        "views": dataset.views(),
        "reports": names_for(dataset.plugins.reports, dataset),
    }


def _minute(moment: str) -> str:
    """A time to the minute, in UTC as it is recorded."""
    return moment[:16].replace("T", " ")


def to_html(dataset: Dataset) -> str:
    """The summary for a notebook, with what to write in its cells."""
    found = summary(dataset)
    size = (
        f"{count_in_words(found['rows'], 'row')} from {count_in_words(found['inputs'], 'input')}, "
        f"{bytes_in_words(found['size_bytes'])}; {count_in_words(len(found['runs']), 'run')}"
    )
    kinds = [
        (f'dataset["{t["name"]}"]', t["rows"], t["inputs"], ", ".join(t["sources"]),
         t["first"], t["last"])
        for t in found["record_types"]
    ]  # fmt: skip
    plugins = dataset.plugins
    views = [(f'dataset.view("{name}")', plugins.view(name).doc) for name in found["views"]]
    reports = [(f'dataset.report("{name}")', plugins.report(name).doc) for name in found["reports"]]
    rejects = count_in_words(found["rejects"], "input unit")
    return html.joined(
        html.paragraph(f"Dataset {found['dataset']}: {size}", strong=True),
        html.table(
            ("record type", "rows", "inputs", "from", "first", "last"),
            kinds,
            right=("rows", "inputs"),
        ),
        html.paragraph(f"{rejects} could not be read: dataset.rejects()")
        if found["rejects"]
        else "",
        html.details(
            count_in_words(len(views), "view"), html.table(("view", "what it shows"), views)
        ),
        html.details(
            count_in_words(len(reports), "report"),
            html.table(("report", "what it shows"), reports),
        ),
        html.paragraph("What it means: dataset.findings()"),
    )
