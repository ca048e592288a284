"""News about a dataset after a commit: findings, rejects, failed exports."""

import hashlib
import socket
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs
import orjson
import polars as pl
from polars.exceptions import PolarsError

from harvest import Column, Dataset, HarvestError, RunResult
from harvest.commands import remark
from harvest.commands.declared import columns_of
from harvest.commands.tables import how_many
from harvest.findings import SEVERITIES
from harvest.model.json import encode_frame
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line
from harvest_report.values import form_of, texts_of
from harvest_toolkit.choices import with_settings

from .config import Config

_SHOWN: Final = 20
"""Maximum number of inputs with rejects that a message names."""


@attrs.frozen
class News:
    """All facts to report about a dataset, each by a digest that decides whether it is new.

    about: the dataset and the run. findings: None if they are unknown.
    """

    about: Mapping[str, Any]
    findings: Mapping[str, dict[str, Any]] | None
    rejects: Mapping[str, dict[str, Any]]
    exports: Mapping[str, dict[str, Any]]
    tables: Mapping[str, dict[str, Any]]

    @property
    def keys(self) -> set[str]:
        """Digests of all facts."""
        return {*(self.findings or ()), *self.rejects, *self.exports, *self.tables}

    def message(self, said: Collection[str]) -> dict[str, Any] | None:
        """Return the facts that were not reported, as JSON values; None if there are none."""
        new = [
            [value for key, value in part.items() if key not in said]
            for part in (self.findings or {}, self.rejects, self.exports, self.tables)
        ]
        if not any(new):
            return None
        findings, rejects, exports, tables = new
        return {
            **self.about,
            "findings": findings,
            "rejected": sum(each["rejected"] for each in rejects),
            "rejects": rejects[:_SHOWN],
            "inputs_with_rejects": len(rejects),
            "failed_exports": exports,
            "table": tables[0] if tables else None,
        }


def news_of(dataset: Dataset, result: RunResult, config: Config) -> News:
    """Collect the facts to report about a dataset after a run."""
    place = printable_line(str(Path(dataset.sink.location).absolute()))
    return News(
        about={
            "dataset": place,
            "host": socket.gethostname(),
            "run": result.run,
            "time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "rows": result.rows,
        },
        findings=_findings(dataset, SEVERITIES[: SEVERITIES.index(config.severity) + 1]),
        rejects=_rejects(dataset),
        exports={
            _key("export", text): {"export": text, "reason": why}
            for text, why in result.exports.items()
            if why is not None
        },
        tables=_tables(dataset, config),
    )


def _key(*parts: Any) -> str:
    return hashlib.sha256(orjson.dumps(parts, default=str)).hexdigest()[:16]


def _findings(dataset: Dataset, severities: Collection[str]) -> dict[str, dict[str, Any]] | None:
    """Return findings, identified by rule, place and severity, as numbers change with each run.

    Returns None if the findings cannot be computed.
    """
    try:
        found = dataset.findings().to_dict()["findings"]
    except HarvestError as error:
        remark(f"notify: the rules failed, so no finding is sent: {error}")
        return None
    wanted = ["severity", "rule", "headline", "detail", "text", "advice"]
    wanted += ["view", "where", "certainty"]
    return {
        _key("finding", each["rule"], each["where"], each["severity"]): {
            name: each[name] for name in wanted
        }
        for each in found
        if each["severity"] in severities
    }


def _tables(dataset: Dataset, config: Config) -> dict[str, dict[str, Any]]:
    """Return the table of the configured view; equal rows are the same table.

    It has the rows as JSON values and as lines of text.
    """
    if config.view is None:
        return {}
    try:
        name, settings = with_settings(config.view, "notify.view")
        frame = dataset.view(name, **settings)
        if config.sort is not None:
            by = config.sort.removeprefix("-")
            how = {"descending": by != config.sort, "nulls_last": True, "maintain_order": True}
            frame = frame.sort(by, **how)
        if config.columns:
            frame = frame.select(config.columns)
        rows = frame.collect()
        first = rows.head(config.limit)
        known = columns_of(dataset.plugins.view(name), dataset.plugins)
        table = {
            "view": config.view,
            "total": rows.height,
            "rows": [orjson.loads(row) for row in encode_frame(first)],
            "lines": _lines(first, known),
        }
    except (HarvestError, PolarsError) as error:
        remark(f"notify: the view {config.view} is not sent: {error}")
        return {}
    return {_key("table", table): table}


def _lines(frame: pl.DataFrame, known: Mapping[str, Column]) -> list[str]:
    """Format the rows below their headings, with numbers right-aligned."""
    columns = []
    for values in frame:
        column = known.get(values.name) or Column(values.name)
        form, unit = form_of(column, values.dtype)
        head = f"{values.name} [{unit}]" if unit else values.name
        texts = [head, *texts_of(values.to_list(), form, scale=column.scale)]
        width = max(map(len, texts))
        is_number = values.dtype.is_numeric()
        columns.append([t.rjust(width) if is_number else t.ljust(width) for t in texts])
    return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]


def _rejects(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """Return inputs with rejects; an input with an unchanged number of rejects is not new."""
    found = dataset.accounts().group_by("source", "origin").agg(pl.col("rejected").sum())
    rows = found.filter(pl.col("rejected") > 0).sort("source", "origin").rows()
    return {
        _key("rejects", *row): {"source": row[0], "input": row[1], "rejected": int(row[2])}
        for row in rows
    }


def in_words(message: Mapping[str, Any]) -> tuple[str, str]:
    """Convert a message to the subject and text of a mail."""
    counts = {
        "new finding": len(message["findings"]),
        "reject": message["rejected"],
        "failed export": len(message["failed_exports"]),
    }
    parts = [count_in_words(count, word) for word, count in counts.items() if count]
    if message["table"]:
        parts.append(message["table"]["view"])
    dataset = message["dataset"]
    subject = f"harvest: {', '.join(parts)} in {dataset}"
    lines = [f"Dataset {dataset} on {message['host']}, run {message['run']}."]
    for each in message["findings"]:
        lines += ["", f"{each['severity'].upper()}: {each['headline']}"]
        lines += [f"  {text}" for text in (each["detail"], f"Next: {each['advice']}") if text]
    if message["findings"]:
        lines += ["", f"Evidence: harvest findings {dataset}"]
    for each in message["rejects"]:
        units = count_in_words(each["rejected"], "input unit")
        lines += ["", f"{each['input']}: {units} could not be read"]
    if (more := message["inputs_with_rejects"] - len(message["rejects"])) > 0:
        lines += ["", f"and {count_in_words(more, 'more input')}"]
    if message["rejects"]:
        lines += ["", f"Each with its reason: harvest rejects {dataset}"]
    for each in message["failed_exports"]:
        lines += ["", f"Not exported to {each['export']}: {each['reason']}"]
    if table := message["table"]:
        rows = how_many(len(table["rows"]), "row", table["total"])
        lines += ["", f"{table['view']}, {rows}:", "", *table["lines"]]
    return printable_line(subject), "\n".join(map(printable_line, lines)) + "\n"
