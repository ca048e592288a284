"""The exporter planted-json: a JSON file with the rows of each record type."""

import json
from pathlib import Path
from typing import Any

import harvest
from harvest.toolkit.files import replacing


def write(dataset: harvest.Dataset, target: str, *, types: str | None = None) -> list[Path]:
    """Write all record types, or one; raises ValueError for one that is not there."""
    if types is not None and types not in dataset:
        raise ValueError(f"the dataset has no {types}; it has {', '.join(dataset)}")
    chosen = [name for name in sorted(dataset) if types in (None, name)]
    with replacing(Path(target)) as temporary, temporary.open("w", encoding="utf-8") as file:
        json.dump({name: rows(dataset, name) for name in chosen}, file, default=str)
    return [Path(target)]


def rows(dataset: harvest.Dataset, name: str) -> list[dict[str, Any]]:
    """The rows of a record type."""
    return dataset[name].collect().to_dicts()


harvest_exporters = harvest.declare(
    harvest.ExporterSpec(
        name="planted-json",
        doc="All rows as JSON.",
        write=write,
        settings={"types": harvest.Setting("one record type alone", str)},
    ),
)
