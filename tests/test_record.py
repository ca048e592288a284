"""Record types: declared as attrs classes, everything else derived."""

import pickle
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest

import harvest
from harvest import BatchError, Record, RecordTypeError, field, record_type
from harvest.model.arrow import batches, conform


@harvest.record("test.sample", layer="system", level="process", version=3)
class Sample(Record):
    """A sample."""

    time: datetime = field(role="time", doc="When it was taken.")
    name: str = field(role="subject", doc="What it is.")


KIND = record_type(Sample)
NOON = datetime(2024, 4, 19, 12, tzinfo=UTC)


def test_a_record_type_can_be_pickled():
    assert pickle.loads(pickle.dumps(KIND)) is KIND


def test_something_that_is_no_table_is_refused():
    with pytest.raises(BatchError, match="not list"):
        conform(KIND, [{"time": NOON}], origin="/in")


def test_a_column_that_is_not_declared_is_refused():
    table = pl.DataFrame({"time": [NOON], "name": ["x"], "position": [1], "surplus": [1]})
    with pytest.raises(BatchError, match="column 'surplus' is not declared by Sample"):
        conform(KIND, table, origin="/in")


def test_batches_are_slices_of_bounded_size():
    table = pa.table({"x": list(range(10))})
    assert [b["x"].to_pylist() for b in batches(table, 4)] == [
        [0, 1, 2, 3], [4, 5, 6, 7], [8, 9],
    ]  # fmt: skip
    assert list(batches(table.slice(0, 0))) == []


@pytest.mark.parametrize(
    "name", ["sample", "Test.sample", "test.", ".x", "a b.c", "../x.y", "a/b.c"]
)
def test_names_of_record_types_are_plain(name):
    with pytest.raises(RecordTypeError, match="record type name"):
        harvest.record(name, layer="job", level="job")


def test_unknown_layers_levels_and_roles_are_refused():
    with pytest.raises(RecordTypeError, match="layer 'space'"):
        harvest.record("a.b", layer="space", level="job")
    with pytest.raises(RecordTypeError, match="level 'cosmic'"):
        harvest.record("a.b", layer="job", level="cosmic")
    with pytest.raises(RecordTypeError, match="role 'hero'"):
        field(role="hero")


def test_a_column_of_several_types_is_refused():
    with pytest.raises(RecordTypeError, match="one type, with or without None"):

        @harvest.record("bad.union", layer="job", level="job")
        class Bad(Record):
            """Bad."""

            value: int | str | None = field(doc="x")


def test_a_role_is_played_by_one_column():
    with pytest.raises(RecordTypeError, match="both have role 'host'"):

        @harvest.record("bad.roles", layer="job", level="job")
        class Bad(Record):
            """Bad."""

            a: str = field(role="host", doc="x")
            b: str = field(role="host", doc="x")
