"""Writing a dataset as a folder of CSV files, with what their columns mean."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from harvest import Dataset
from harvest.toolkit.files import new_directory
from harvest_report.table_files import CSV_TIME, csv_columns

__all__ = ["DICTIONARY", "write"]

DICTIONARY = "data-dictionary.csv"


def write(dataset: Dataset, target: str, *, types: tuple[str, ...] = ()) -> list[Path]:
    """Write each record type, or some, to a new folder; raises ValueError for an absent one."""
    for name in types:
        if name not in dataset:
            raise ValueError(f"the dataset has no {name}; it has {', '.join(dataset)}")
    chosen = types or tuple(dataset)
    with new_directory(Path(target)) as folder:
        for name in chosen:
            rows = csv_columns(dataset[name].collect())
            rows.write_csv(folder / f"{name}.csv", datetime_format=CSV_TIME)
        meanings = [row for name in chosen for row in _meanings(dataset, name)]
        pl.DataFrame(meanings).write_csv(folder / DICTIONARY)
    return sorted(Path(target).iterdir())


def _meanings(dataset: Dataset, name: str) -> Iterator[dict[str, str]]:
    """A row of the dictionary for each column of a record type."""
    kind = dataset.record_type(name)
    for column in kind.columns:
        yield {
            "file": f"{name}.csv",
            "column": column.name,
            "type": str(kind.arrow_schema.field(column.name).type),
            "unit": column.unit or "",
            "meaning": " ".join(column.doc.split()),
        }
