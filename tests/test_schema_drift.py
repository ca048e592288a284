"""Schema drift as the sinks see it, whatever policy let the rows in: columns evolve, types do not.

Within an input, a column that a record type does not declare goes to ``extra`` and a cell of
another type is a reject.  Between the versions of a record type, a column that one of them lacks
is null; a column whose type has changed so that its values do not convert cannot be read as rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import polars as pl
import pytest

import harvest
from harvest import Int32, Record, RecordType, Sink, field, record, record_type
from harvest.model.arrow import table_of
from harvest_jsonl.sink import JsonlSink
from harvest_parquet.sink import ParquetSink
from harvest_testing import SinkDriver

SINKS: dict[str, Callable[[Path], Sink]] = {
    "parquet": lambda folder: ParquetSink(str(folder / "out")),
    "jsonl directory": lambda folder: JsonlSink(str(folder / "out")),
    "jsonl file": lambda folder: JsonlSink(str(folder / "out.jsonl")),
}


def version_of(number: int = 1, **columns: Any) -> type[Record]:
    """A record class ``drift.sample`` with these columns."""
    body: dict[str, Any] = {name: field(doc="A column.") for name in columns}
    made = type("Sample", (Record,), {**body, "__annotations__": columns, "__doc__": "A sample."})
    return record("drift.sample", layer="workflow", level="client", version=number)(made)


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


@attrs.frozen
class Few:
    """A nested column."""

    a: int


@attrs.frozen
class More:
    """Of a later version, with a field more."""

    a: int
    b: str | None = None


ONE = version_of(a=int)
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
EVOLUTIONS = {
    "a column more": (ONE, {"a": 1}, version_of(a=int, b=str), {"a": 2, "b": "x"}),
    "a column less": (version_of(a=int, b=str), {"a": 1, "b": "x"}, ONE, {"a": 2}),
    "columns in another order": (
        version_of(a=int, b=str), {"a": 1, "b": "x"}, version_of(b=str, a=int), {"a": 2, "b": "y"},
    ),
    "null allowed": (ONE, {"a": 1}, version_of(a=int | None), {"a": None}),
    "null no longer allowed": (version_of(a=int | None), {"a": None}, ONE, {"a": 2}),
    "a new version": (ONE, {"a": 1}, version_of(2, a=int), {"a": 2}),
}  # fmt: skip


@pytest.mark.parametrize("case", EVOLUTIONS)
def test_columns_evolve_in_every_sink(sink: Sink, case: str) -> None:
    # given rows of two versions of a record type in one dataset
    older, first, newer, second = EVOLUTIONS[case]
    rows_as = dataset(sink, (older, first), (newer, second))

    # then each version sees all rows: what a row lacks is null, what a version lacks is left out
    for cls in (older, newer):
        names = [c.name for c in record_type(cls).columns][:-3]
        expected = [{name: row.get(name) for name in names} for row in (first, second)]
        assert rows_as(record_type(cls)) == expected


def test_nested_fields_come_and_go_in_every_sink(sink: Sink) -> None:
    # given rows of two versions, of which the second has a field more in a nested column
    older, newer = version_of(piece=Few), version_of(piece=More)
    rows_as = dataset(sink, (older, {"piece": Few(1)}), (newer, {"piece": More(2, "x")}))

    # then each sees all rows with the fields that it has
    assert rows_as(record_type(older)) == [{"piece": {"a": 1}}, {"piece": {"a": 2}}]
    more = [{"piece": {"a": 1, "b": None}}, {"piece": {"a": 2, "b": "x"}}]
    assert rows_as(record_type(newer)) == more


def test_numbers_widen_in_every_sink(sink: Sink) -> None:
    # given a row of a narrow number, and one of the wide number that it became
    rows_as = dataset(sink, (version_of(a=Int32), {"a": 1}), (ONE, {"a": 2**40}))

    # then both are numbers of the wide type
    assert rows_as(record_type(ONE)) == [{"a": 1}, {"a": 2**40}]


TYPES = {
    "text to number": (version_of(a=str), {"a": "x"}, ONE, {"a": 2}),
    "number to time": (ONE, {"a": 1}, version_of(a=datetime), {"a": NEW_YEAR}),
    "number to list": (ONE, {"a": 1}, version_of(a=list[int]), {"a": [2]}),
    "truth to number": (version_of(a=bool), {"a": True}, ONE, {"a": 2}),
    "fraction to number": (version_of(a=float), {"a": 1.5}, ONE, {"a": 2}),
}  # fmt: skip


@pytest.mark.parametrize("case", TYPES)
def test_a_changed_type_is_refused_by_every_sink(sink: Sink, case: str) -> None:
    # given rows whose column has another type than today's, which its values do not fit
    older, first, newer, second = TYPES[case]
    rows_as = dataset(sink, (older, first), (newer, second))

    # then reading is an error: no sink makes up a value or leaves the row out
    with pytest.raises((harvest.DatasetError, pl.exceptions.PolarsError)):
        rows_as(record_type(newer))


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
