"""Schema drift as the sinks see it, whatever policy let the rows in: columns evolve, types do not.

Within an input, a column that a record type does not declare goes to ``extra`` and a cell of
another type is a reject.  Between the versions of a record type, a column that one of them lacks
is null; a column whose type has changed so that its values do not convert cannot be read as rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import harvest
from harvest import Record, RecordType, Sink, record_type
from harvest.model.arrow import table_of
from harvest_jsonl.sink import JsonlSink
from harvest_parquet.sink import ParquetSink
from harvest_testing import SinkDriver

SINKS: dict[str, Callable[[Path], Sink]] = {
    "parquet": lambda folder: ParquetSink(str(folder / "out")),
    "jsonl directory": lambda folder: JsonlSink(str(folder / "out")),
    "jsonl file": lambda folder: JsonlSink(str(folder / "out.jsonl")),
}


def dataset(sink: Sink, *rows: tuple[type[Record], dict[str, Any]]) -> Callable[..., Any]:
    """A dataset of one row per commit, each written by its own version of the class."""
    driver = SinkDriver(sink)
    for number, (cls, values) in enumerate(rows):
        row = cls(**values)
        row.origin, row.position = f"/part-{number}", 1
        driver.commit({f"part-{number}": [(record_type(cls), table_of(record_type(cls), [row]))]})

    def rows_as(kind: RecordType) -> list[dict[str, Any]]:
        found = driver.scan(kind).sort("origin").collect()
        return found.drop("extra", "origin", "position").to_dicts()

    return rows_as


@pytest.fixture(params=SINKS)
def sink(request: pytest.FixtureRequest, tmp_path: Path) -> Sink:
    return SINKS[request.param](tmp_path)


@pytest.mark.parametrize("location", ["parquet:{}/out", "jsonl:{}/out"])
def test_within_an_input_new_columns_go_to_extra_and_odd_cells_are_rejects(
    tmp_path: Path, location: str
) -> None:
    # given exports of one source: the second has a column more, and a cell of another type
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "128_128.csv").write_text("id,slurm_id,elapsed\n1,11,00:00:01\n")
    (folder / "256_256.csv").write_text(
        "id,slurm_id,elapsed,node\n2,22,00:00:02,n1\n3,soon,00:00:03,n2\n"
    )

    result = harvest.run(f"distiller:{folder}", location.format(tmp_path))

    # then both files are in one table, the new column in extra, the odd row among the rejects
    opened = harvest.open(tmp_path / "out")
    rows = opened["distiller.job"].sort("scan_id").collect().to_dicts()
    assert [(row["scan_id"], row["extra"] or []) for row in rows] == [
        (1, []),
        (2, [{"key": "node", "value": "n1"}]),
    ]
    (reject,) = opened.rejects()
    assert (reject["position"], reject["raw"]) == (3, b"3,soon,00:00:03,n2")
    assert result.exit_code == 3
