"""The content of a dataset in numbers: rows, inputs, times and runs; also as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
import polars as pl

from harvest.api.settings import structure
from harvest.api.sink import Sink
from harvest.errors import DatasetError
from harvest.pipeline.record import read_record
from harvest.plugins.building import names_for
from harvest.storage.columns import ACCOUNT, NAMES, STATE
from harvest.storage.manifest import Manifest
from harvest.storage.parts import Parts
from harvest.toolkit import html
from harvest.toolkit.amounts import bytes_in_words, count_in_words

if TYPE_CHECKING:
    from .dataset import Dataset

_COLUMNS = {
    NAMES: ["source", "folder", "name"],
    STATE: ["plugin", "failed"],
    ACCOUNT: ["run", "rejected", "rows"],
}


def accounts_of(parts: Parts) -> pl.DataFrame:
    """Return a row for each part: source, origin, plugin, run, rejected, failed, rows, written.

    rows: by record type, as structs of ``of`` and ``count``; written: the sum of the counts.
    """
    frames = [
        pl.DataFrame(parts.table(name).select(columns).filter(parts.counting).unify_dictionaries())
        for name, columns in _COLUMNS.items()
    ]
    counts = pl.col("rows").list.eval(pl.element().struct.field("count"))
    return pl.concat(frames, how="horizontal").select(
        pl.col("source").cast(pl.String),
        pl.concat_str(pl.col("folder").cast(pl.String), "name").alias("origin"),
        pl.col("plugin").cast(pl.String),
        pl.col("run").cast(pl.String),
        pl.col("rejected", "failed", "rows"),
        counts.list.sum().alias("written"),
    )


def rows_by_type(accounts: pl.DataFrame) -> pl.DataFrame:
    """Return sources, plugins and number of origins for each record type (``of``) with rows."""
    held = accounts.select(
        "source", "plugin", "rows", origin=pl.col("origin").cast(pl.Categorical).to_physical()
    )
    return (
        held.explode("rows")
        .unnest("rows")
        .filter(pl.col("count") > 0)
        .group_by(pl.col("of").cast(pl.String))
        .agg(
            sources=pl.col("source").unique().sort(),
            plugins=pl.col("plugin").unique().sort(),
            origins=pl.col("origin").n_unique(),
        )
    )


@attrs.frozen(kw_only=True)
class Holding:
    """The rows of a record type in a dataset.

    rows, origins: number of rows, and of the inputs they come from; sources: their sources.
    first, last: first and last time in the rows; None if there are no times, or no installed plugin
        declares the type.
    """

    record_type: str
    rows: int
    origins: int
    sources: tuple[str, ...]
    first: datetime | None = None
    last: datetime | None = None


def holdings(dataset: Dataset) -> list[Holding]:
    """Return a holding for each record type with rows, by name."""
    counts = {name: rows for name, rows in dataset.record_types.items() if rows}
    read = {row["of"]: row for row in rows_by_type(accounts_of(dataset.manifest.parts)).to_dicts()}
    known = dataset.plugins.record_types(counts)
    spans = _spans(dataset, [name for name in counts if name in known])
    found = []
    for name, rows in sorted(counts.items()):
        first, last = spans.get(name, (None, None))
        origins, sources = read[name]["origins"], tuple(read[name]["sources"])
        found.append(Holding(record_type=name, rows=rows, origins=origins, sources=sources,
                             first=first, last=last))  # fmt: skip
    return found


def _spans(
    dataset: Dataset, names: Sequence[str]
) -> dict[str, tuple[datetime | None, datetime | None]]:
    queries = {}
    for name in names:
        roles = dataset.record_type(name).roles
        columns = [roles[role] for role in ("time", "end_time") if role in roles]
        if columns:
            queries[name] = dataset[name].select(
                first=pl.min_horizontal(pl.col(c).min() for c in columns),
                last=pl.max_horizontal(pl.col(c).max() for c in columns),
            )
    spans = zip(queries, pl.collect_all(queries.values()), strict=True)
    return {name: table.row(0) for name, table in spans}


def read_runs(sink: Sink, manifest: Manifest, skip: int = 0) -> list[dict[str, Any]]:
    """Return the records of all committed runs, oldest first, without the ``skip`` oldest.

    Each has a key ``state``: ``in force``, ``kept`` if it can be restored, or null. Its key
    ``problem`` is null, or says that the record is missing, damaged or given up: then nothing else
    is known.
    """
    states = dict.fromkeys(manifest.kept, "kept") | {manifest.run: "in force"}
    records = []
    for run in manifest.runs[skip:]:
        found: dict[str, Any] = {"run": run, "state": states.get(run), "problem": None}
        try:
            found = {**read_record(sink, manifest, run), **found}
        except DatasetError as error:
            found["problem"] = str(error)
        records.append(found)
    return records


def settings_used(
    sink: Sink, manifest: Manifest, source: str, setting: str, config: type
) -> list[Any]:
    """Return values of a setting in the runs that read a source's rows, earliest run first."""
    accounts = accounts_of(manifest.parts)
    held = accounts.filter(pl.col("source") == source, pl.col("written") > 0)
    values: list[Any] = []
    for run in sorted(held["run"].unique(), key=manifest.runs.index):
        given = read_record(sink, manifest, run)["settings"].get(source, {})
        mine = {
            key: value
            for key, value in given.items()
            if key.replace("-", "_").partition(".")[0] == setting
        }
        value = getattr(structure(config, mine, plugin=source), setting)
        if value not in values:
            values.append(value)
    return values


def summary(dataset: Dataset) -> dict[str, Any]:
    """Summarize a dataset: size, runs, record types with rows and times, views and reports."""
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
    """Format a time to the minute, in UTC as recorded."""
    return moment[:16].replace("T", " ")


def to_html(dataset: Dataset) -> str:
    """Format the summary for a notebook, with Python expressions for its cells."""
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
    lost = html.paragraph(f"{rejects} could not be read: dataset.rejects()")
    heads = ("record type", "rows", "inputs", "from", "first", "last")
    return html.joined(
        html.paragraph(f"Dataset {found['dataset']}: {size}", strong=True),
        html.table(heads, kinds, right=("rows", "inputs")),
        lost if found["rejects"] else "",
        *(
            html.details(count_in_words(len(rows), word), html.table((word, "what it shows"), rows))
            for word, rows in (("view", views), ("report", reports))
        ),
        html.paragraph("Next: dataset.findings()"),
    )
